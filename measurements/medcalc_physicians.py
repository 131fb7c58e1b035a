"""MedCalc-Bench v1.0 and `audit` compared with corrected labels, and with the answers of physicians.

    python -m measurements.medcalc_physicians --source CSV --corrected CSV --physicians XLSX

The first file is the test set of v1.0. The others are of
junzeye/validate-medcalc-labels on GitHub: `data/medcalc_v1_corrected.csv` and
`data/phase3/y_new_and_sampled_MD_evals.xlsx`. Three licensed physicians answered 50
rows from note and question alone. Printed are, as Markdown: where the golds of the rows
with a corrected label agree, how often each answer agrees with the physicians, and
whether audit flags the labels that they reject.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CorrectedLabels,
    labels_of_file,
)
from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.benchmarks.medcalc_bench.gold import (
    NOT_COMPUTABLE,
    answer_kind,
    is_not_computable,
)
from medical_tasks.benchmarks.medcalc_bench.golds import golds_of
from medical_tasks.errors import UsageError
from medical_tasks.io.tables import read_table
from medical_tasks.lab.label_audit import VERDICTS, audit_row
from medical_tasks.scoring.intervals import wilson_interval

PHYSICIANS: Final = "y* (Physician label)"
ORIGINAL: Final = "y_orig"
PIPELINE: Final = "y_new"
_FORM: Final = "XLSX with the columns uid, y_orig, y_new and y* (Physician label)"
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_TOLERANCE: Final = 0.05
_LARGEST_SCORE: Final = 20
_NEAR_ZERO: Final = 0.05

Value = float | None
"""An answer as a number; None where the note does not allow one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A row that the physicians answered."""

    row: Mapping[str, Any]  # of v1.0
    physicians: Value
    original: Value
    pipeline: Value

    def agrees(self, value: Value) -> bool:
        """Whether an answer agrees with the physicians': scores exactly, measurements within 5 %."""
        if value is None or self.physicians is None:
            return value is self.physicians
        if answer_kind(int(self.row["calculator_id"])) == "integer":
            return value == self.physicians
        return abs(value - self.physicians) <= _TOLERANCE * abs(self.physicians)

    def agrees_loosely(self, value: Value) -> bool:
        """Whether it agrees by the criterion of the labels' authors: small scores may differ by a point."""
        if value is None or self.physicians is None:
            return value is self.physicians
        if all(
            map(_looks_like_a_score, (self.physicians, self.original, self.pipeline))
        ):
            return abs(value - self.physicians) <= 1
        if self.physicians == 0:
            return abs(value) <= _NEAR_ZERO
        return abs(value - self.physicians) <= _TOLERANCE * abs(self.physicians)


def _looks_like_a_score(value: Value) -> bool:
    return value is None or (value.is_integer() and abs(value) <= _LARGEST_SCORE)


def number_of(cell: object) -> Value:
    """Reads an answer of the table: a number, with or without its unit, or "N/A"."""
    text = str(cell).strip()
    if is_not_computable(text.upper()):
        return None
    match = _NUMBER.match(text)
    if match is None:
        raise UsageError(
            f"{text!r}: neither a number nor {NOT_COMPUTABLE}. Check the table."
        )
    return float(match[0])


def reviewed_rows(path: Path, rows: Mapping[int, Mapping[str, Any]]) -> list[Reviewed]:
    """Reads the rows that have a physician's answer."""
    reviewed = []
    for line in read_table(path).rows:
        cells = line.cells
        if missing := {"uid", ORIGINAL, PIPELINE, PHYSICIANS} - set(cells):
            raise UsageError(
                f"{path}: {line.at}: no column {', '.join(sorted(missing))}. Give {_FORM}."
            )
        if str(cells[PHYSICIANS] or "").strip():
            physicians, original, pipeline = (
                number_of(cells[column]) for column in (PHYSICIANS, ORIGINAL, PIPELINE)
            )
            row = rows[int(float(cells["uid"]))]
            review = Reviewed(
                row=row, physicians=physicians, original=original, pipeline=pipeline
            )
            reviewed.append(review)
    return reviewed


def golds_lines(
    rows: Iterable[Mapping[str, Any]], labels: CorrectedLabels
) -> Iterator[str]:
    """Writes how often released label, published rule and corrected label agree."""
    pairs = [(row, golds) for row in rows if (golds := golds_of(row, labels)).corrected]
    agreed = [(row, golds) for row, golds in pairs if golds.label_and_rule]
    wrong = [(row, golds) for row, golds in pairs if audit_row(row).verdict == "wrong"]
    contradicted = [
        (row, golds) for row, golds in agreed if not golds.label_and_corrected
    ]
    others = [row for row, golds in contradicted if not golds.not_computable]
    dates = [row for row in others if answer_kind(int(row["calculator_id"])) == "date"]
    yield from _table(
        ("of the rows with a corrected label", "rows", "of"),
        [
            (
                "N/A: the note does not allow an answer",
                _count(pairs, "not_computable"),
                len(pairs),
            ),
            (
                "the released label is right by it",
                _count(pairs, "label_and_corrected"),
                len(pairs),
            ),
            (
                "the rule's value is right by it",
                _count(pairs, "rule_and_corrected"),
                sum(golds.rule is not None for _, golds in pairs),
            ),
            (
                "audit calls the released label wrong, and the corrected label contradicts it too",
                len(wrong) - _count(wrong, "label_and_corrected"),
                len(wrong),
            ),
            (
                "label and rule agree (accuracy_agreed), and the corrected label contradicts both",
                len(contradicted),
                len(agreed),
            ),
            ("of these: N/A", len(contradicted) - len(others), len(contradicted)),
            ("of these: another value", len(others), len(contradicted)),
            ("of these other values: dates", len(dates), len(others)),
        ],
    )
    names = Counter(str(row["calculator_name"]) for row in others)
    most = ", ".join(f"{name} {count}" for name, count in names.most_common(5))
    yield ""
    yield f"Other values, by calculator, the five with the most: {most}."


def _count(pairs: Sequence[tuple[Mapping[str, Any], Any]], name: str) -> int:
    return sum(bool(getattr(golds, name)) for _, golds in pairs)


def agreement_lines(
    reviewed: Sequence[Reviewed], labels: CorrectedLabels
) -> Iterator[str]:
    """Writes how often each answer agrees with the physicians."""
    released, recomputed, pipeline, corrected = [], [], [], []
    for review in reviewed:
        golds = golds_of(review.row, labels)
        released.append((review, review.original))
        pipeline.append((review, review.pipeline))
        if golds.rule is not None:
            recomputed.append((review, number_of(golds.rule.answer)))
        if golds.corrected is not None:
            corrected.append((review, number_of(golds.corrected.answer)))
    answers = (
        ("released label of v1.0", released),
        ("published rule on the released entities", recomputed),
        ("the labels' pipeline, before the physicians", pipeline),
        ("corrected label, which the physicians' answers went into", corrected),
    )
    header = (
        "answer",
        "agrees",
        "of",
        "share",
        "95 % interval",
        "by the authors' criterion",
    )
    yield from _table(
        header,
        [
            (
                name,
                (right := sum(review.agrees(value) for review, value in pairs)),
                len(pairs),
                *_share(right, len(pairs)),
                sum(review.agrees_loosely(value) for review, value in pairs),
            )
            for name, pairs in answers
        ],
    )


def audit_lines(reviewed: Sequence[Reviewed]) -> Iterator[str]:
    """Writes how many of the labels that the physicians reject are flagged by audit."""
    verdicts = [(audit_row(review.row).verdict, review) for review in reviewed]
    rows = []
    for verdict in VERDICTS:
        some = [review for audit, review in verdicts if audit == verdict]
        accepted = sum(review.agrees(review.original) for review in some)
        not_computable = sum(review.physicians is None for review in some)
        rows.append(
            (verdict, len(some), accepted, len(some) - accepted, not_computable)
        )
    header = (
        "audit's verdict",
        "rows",
        "label accepted",
        "label rejected",
        "of these N/A",
    )
    yield from _table(header, rows)
    yield ""
    for name, is_accepted in (("rejected", False), ("accepted", True)):
        audits = [
            audit
            for audit, review in verdicts
            if review.agrees(review.original) is is_accepted
        ]
        flagged = sum(audit != "agrees" for audit in audits)
        share, limits = _share(flagged, len(audits))
        description = f"{flagged} of the {len(audits)} labels that are {name}"
        yield f"Audit flags {description}: {share} ({limits})."


def _share(right: int, n: int) -> tuple[str, str]:
    low, high = wilson_interval(right, n)
    return f"{right / n:.1%}".replace("%", " %"), f"{low * 100:.1f} to {high * 100:.1f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)


def report(source: Path, corrected: Path, physicians: Path) -> list[str]:
    """Lists all lines of the report."""
    rows = {
        row["row_number"]: row for row in read_rows("v1.0", "test", {"test": source})
    }
    labels = labels_of_file(corrected)
    reviewed = reviewed_rows(physicians, rows)
    return [
        *golds_lines(rows.values(), labels),
        "",
        *agreement_lines(reviewed, labels),
        "",
        *audit_lines(reviewed),
    ]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("source", "corrected", "physicians"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    options = parser.parse_args()
    print("\n".join(report(options.source, options.corrected, options.physicians)))


if __name__ == "__main__":
    main()
