"""Imports published answers from the files of other harnesses as runs.

The formats are those of HELM, inspect, lm-evaluation-harness, lighteval and Every Eval
Ever. One module per format reads files into `published.Published`; `matching` finds the
answered items; `runs.imported` scores them.

This wing is optional and registered by an entry point (`VERBS`); nothing outside imports
it.
"""

from __future__ import annotations

from medical_tasks.plugins import Verb

VERBS = (
    Verb(
        name="import",
        group="Evaluate",
        summary="score answers that another harness collected: HELM, inspect, lm-eval, lighteval, "
        "Every Eval Ever",
        options="medical_tasks.importing.options:Import",
        run="medical_tasks.importing.command:run",
    ),
)
