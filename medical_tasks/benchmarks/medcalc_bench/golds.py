"""Where a row's golds agree: the released label, the published rule's value, the corrected label.

The rule's value rests on the entities that the release extracted from the note, the
corrected label on the note itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CorrectedLabel,
    CorrectedLabels,
    agrees_with_answer,
    agrees_with_label,
)
from medical_tasks.benchmarks.medcalc_bench.gold import label_agrees, recompute_or_none
from medical_tasks.calculators import Result
from medical_tasks.runs.numbers import interval, valued
from medical_tasks.spec import ResultEntry, Row, Table

__all__ = ["RowGolds", "golds_of", "golds_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGolds:
    """The golds of one row, and which of them agree; None where one of the two is missing.

    Attributes:
        rule: the published rule's answer; None where it has none for the row's
            entities.
        corrected: the corrected label; None where the row has none.
        label_and_rule: whether the rule's answer is right by the label.
        label_and_corrected: whether the label is right by the corrected one.
        rule_and_corrected: whether the rule's answer is right by the corrected label.
    """

    rule: Result | None
    corrected: CorrectedLabel | None
    label_and_rule: bool | None
    label_and_corrected: bool | None
    rule_and_corrected: bool | None

    @property
    def not_computable(self) -> bool:
        """Whether the corrected label is "N/A"."""
        return self.corrected is not None and self.corrected.not_computable


def golds_of(row: Row, labels: CorrectedLabels | None) -> RowGolds:
    """Compares the golds of a row; a label that cannot be read is a `UsageError`."""
    rule = recompute_or_none(row)
    corrected = None if labels is None else labels.of(row)
    by_rule = None if rule is None else label_agrees(row, rule.answer)
    by_corrected = None if corrected is None else agrees_with_label(corrected, row)
    both = None
    if corrected is not None and rule is not None:
        both = agrees_with_answer(corrected, rule.answer)

    return RowGolds(
        rule=rule,
        corrected=corrected,
        label_and_rule=by_rule,
        label_and_corrected=by_corrected,
        rule_and_corrected=both,
    )


_HEADER: Final = (
    "gold",
    "metric",
    "accuracy",
    "interval",
    "n",
    "agrees with the label",
    "agrees with the rule's value",
    "agrees with the corrected label",
)
_SAME: Final = "itself"


def golds_table(
    entry: ResultEntry, rows: Iterable[Row], labels: CorrectedLabels | None
) -> Table | None:
    """The accuracy by each gold, and how many rows two golds agree on; None where all agree."""
    golds = [golds_of(row, labels) for row in rows]
    label_rule = [gold.label_and_rule for gold in golds]
    label_corrected = [gold.label_and_corrected for gold in golds]
    rule_corrected = [gold.rule_and_corrected for gold in golds]
    if False not in (*label_rule, *label_corrected, *rule_corrected):
        return None

    agreed = [gold.rule_and_corrected for gold in golds if gold.label_and_rule]
    agreement = {
        "accuracy": (_SAME, _agreeing(label_rule), _agreeing(label_corrected)),
        "accuracy_recomputed": (
            _agreeing(label_rule),
            _SAME,
            _agreeing(rule_corrected),
        ),
        "accuracy_agreed": ("all", "all", _agreeing(agreed)),
        "accuracy_corrected": (
            _agreeing(label_corrected),
            _agreeing(rule_corrected),
            _SAME,
        ),
    }
    metrics = entry["metrics"]
    lines = [
        (
            _GOLDS[name],
            name,
            valued(metrics[name]),
            interval(metrics[name]),
            f"{metrics[name]['n']:,}",
            *agreement[name],
        )
        for name in _GOLDS
        if name in metrics
    ]

    return Table(title="Golds", header=_HEADER, rows=tuple(lines), note=_note(golds))


_GOLDS: Final = {
    "accuracy": "released label",
    "accuracy_recomputed": "published rule",
    "accuracy_agreed": "label and rule, where they agree",
    "accuracy_corrected": "corrected label",
}


def _agreeing(decisions: Sequence[bool | None]) -> str:
    comparable = [decision for decision in decisions if decision is not None]
    return f"{sum(comparable):,} of {len(comparable):,}" if comparable else "n/a"


def _note(golds: Sequence[RowGolds]) -> str:
    labelled = [row for row in golds if row.corrected is not None]
    if not labelled:
        return (
            "The published rule is applied to the entities that the release extracted."
        )

    unanswerable = sum(row.not_computable for row in labelled)
    agreed = [row for row in labelled if row.label_and_rule]
    contradicted = [row for row in agreed if not row.label_and_corrected]
    not_computable = sum(row.not_computable for row in contradicted)

    return (
        f"{unanswerable:,} of the {len(labelled):,} corrected labels are N/A: the note does not "
        "allow an answer, and only a reply that says so is right. Where label and rule agree, the "
        f"corrected label contradicts both on {len(contradicted):,} of {len(agreed):,} rows, on "
        f"{not_computable:,} of them with N/A. The rule is applied to the entities that the "
        "release extracted, the corrected labels rest on the notes (docs/medcalc_audit.md)."
    )
