"""Research on benchmarks and metrics: label audits, error types, metric evaluation, correlation.

This wing is optional and registered by an entry point (`VERBS`); nothing outside imports
it.
"""

from __future__ import annotations

from medical_tasks.plugins import Verb

VERBS = (
    Verb(
        name="errors",
        group="Look",
        summary="classify the errors of a finished MedCalc-Bench run, and report accuracy by number "
        "of attributes",
        options="medical_tasks.lab.options:Errors",
        run="medical_tasks.lab.error_report:run",
    ),
    Verb(
        name="correlate",
        group="Look",
        summary="rank correlation of scores of models, such as benchmarks and clinicians: Spearman, "
        "Kendall, intervals",
        options="medical_tasks.lab.options:Correlate",
        run="medical_tasks.lab.correlate_command:run",
    ),
    Verb(
        name="meta",
        group="Look",
        summary="evaluate metrics: agreement with people's preferences and scores, and with each "
        "other, output by output",
        options="medical_tasks.lab.options:Meta",
        run="medical_tasks.lab.meta_command:run",
    ),
    Verb(
        name="audit",
        group="Look",
        summary="check a dataset's labels against the published rules",
        options="medical_tasks.lab.options:Audit",
        run="medical_tasks.lab.label_audit:run",
    ),
)
