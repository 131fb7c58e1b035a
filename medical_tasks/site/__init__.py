"""A hospital's own evaluation: from its notes to GO or NO-GO, with the evidence.

`medical-tasks site STEP FOLDER` does one step after the other in one folder, whose only
file a person edits is `site.toml`. Everything is orchestrated here and done elsewhere:
construction in `construct`, answers and scores in `runs`, verdicts in `comparison`.

A wing: optional, registered by an entry point (`VERBS`), and nothing outside imports
it. It is the one that imports the other wings.
"""

from __future__ import annotations

from medical_tasks.plugins import Verb

VERBS = (
    Verb(
        name="site",
        group="Evaluate",
        summary="a hospital's own evaluation in one folder: from its notes to GO or NO-GO, step by step",
        options="medical_tasks.site.options:SITE",
        run="medical_tasks.site.command:run",
    ),
)
