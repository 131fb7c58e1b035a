"""Answers that others published: runs made of the files of other harnesses.

HELM, inspect, lm-evaluation-harness, lighteval and Every Eval Ever. A module a format
reads files into `published.Published`; `matching` finds the items that were answered;
`runs.imported` scores.

A wing: optional, registered by an entry point (`VERBS`), and nothing outside imports
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
