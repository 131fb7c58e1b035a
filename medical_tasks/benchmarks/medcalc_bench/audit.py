"""Checks the labels of MedCalc-Bench against the published rules.

    medical-tasks audit medcalc --source test_data.csv --out audit.csv

Each row's own entities go through the published calculator, and the answer is compared with the row's label by the dataset's
own tolerance. The verdicts:

- `agrees`: the label is right by the published rule.
- `wrong`: it is not. So is a label for inputs that allow no answer, or have a unit that cannot be meant, when it lies outside
  everything they could mean.
- `convention`: it is right when a named convention of the calculator is followed, which is not the published rule.
- `not computable`: the published rule has no answer for these entities, and nothing refutes the label.

An audit is of labels against entities; whether the note says what the entities say is another question.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.audit_reasons import derivation, doubts, label_quirks, origin
from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.benchmarks.medcalc_bench.recomputed import answer_text, entities_of, label_agrees, recompute
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC_BENCH
from medical_tasks.calculators import AnyCalculator, CalculatorInputError, Result, find
from medical_tasks.calculators.inputs import Choice, Quantity
from medical_tasks.calculators.trace import quiet
from medical_tasks.data.construction_cells import table_cell
from medical_tasks.data.dataset_source import steps_to_get
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import WholeFile

__all__ = ["COLUMNS", "VERDICTS", "AuditedRow", "Verdict", "audit_file", "audit_row", "summary", "write_audit"]

Verdict: TypeAlias = Literal["agrees", "wrong", "convention", "not computable"]
VERDICTS: Final[tuple[Verdict, ...]] = ("agrees", "wrong", "convention", "not computable")
COLUMNS: Final = ("row", "calculator", "label", "recomputed", "verdict", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRow:
    """A row's label and what the published rule makes of its entities.

    Attributes:
        row: the row's number in its release.
        calculator_id: the dataset's id.
        calculator: the dataset's name of it.
        label: as released.
        recomputed: the published rule's answer, "" where it has none.
        verdict: see the module.
        reason: one line for a clinician.
    """

    row: int
    calculator_id: int
    calculator: str
    label: str
    recomputed: str
    verdict: Verdict
    reason: str


def audit_row(row: Mapping[str, Any]) -> AuditedRow:
    """Audits one row.

    Args:
        row: as built from an official file (`medcalc_bench.data.COLUMNS`).

    Raises:
        UsageError: The label or a limit cannot be read.
    """
    try:
        result = recompute(row)
    except CalculatorInputError as error:
        verdict, reason = _without_answer(row, error)
        return _audited(row, None, verdict, reason)
    if label_agrees(row, result.answer):
        return _audited(row, result, "agrees", _agreement(row, result))
    convention = _convention(row)
    if convention is not None:
        reason = f"Label follows a convention: {convention}. Published rule: {derivation(result)}. {result.source}"
        return _audited(row, result, "convention", reason)
    why, named = origin(row, result)
    label = str(row["ground_truth_answer"])
    sentences = [why, f"Published rule: {derivation(result, named=named)}, not {label}"]
    sentences += [f"Note: {doubt}" for doubt in doubts(row, result)]
    return _audited(row, result, "wrong", f"{'. '.join(sentences)}. {result.source}")


def _audited(row: Mapping[str, Any], result: Result | None, verdict: Verdict, reason: str) -> AuditedRow:
    return AuditedRow(
        row=int(row["row_number"]),
        calculator_id=int(row["calculator_id"]),
        calculator=str(row["calculator_name"]),
        label=str(row["ground_truth_answer"]),
        recomputed="" if result is None else answer_text(result.answer),
        verdict=verdict,
        reason=" ".join(reason.split()),
    )


def _agreement(row: Mapping[str, Any], result: Result) -> str:
    same = "a value within the row's limits" if isinstance(result.answer, float) else "the same"
    quirks = label_quirks(row, result)
    also = f"; in the label, without effect on the verdict: {'; '.join(quirks)}" if quirks else ""
    return f"The published rule gives {same}{also}"


def _convention(row: Mapping[str, Any]) -> str | None:
    """The convention under which the label is right, in words."""
    for convention in find(int(row["calculator_id"])).conventions:
        try:
            result = recompute(row, frozenset({convention.name}))
        except CalculatorInputError:
            continue
        if label_agrees(row, result.answer):
            return f"{convention.name}, {convention.description.removesuffix('.')}"
    return None


def _without_answer(row: Mapping[str, Any], error: CalculatorInputError) -> tuple[Verdict, str]:
    """The verdict where the published rule has no answer."""
    problem = str(error).removeprefix(f"{row['calculator_name']}: ")
    why = f"The published rule has no answer: {problem}"
    try:
        entry = find(int(row["calculator_id"]))
        entities = entities_of(row)
    except CalculatorInputError:
        return "not computable", why
    convention = _convention(row)
    if convention is not None:
        return "convention", f"Label follows a convention: {convention}. {why}. {entry.source}"
    possible = _possible(entry, entities)
    label = str(row["ground_truth_answer"])
    if not possible or any(label_agrees(row, answer) for answer in possible):
        return "not computable", why
    quirks = label_quirks(row)
    made = f"Label: {'; '.join(quirks)}. " if quirks else ""
    span = " to ".join(dict.fromkeys((answer_text(possible[0]), answer_text(possible[-1]))))
    return "wrong", f"{made}{why}. Whatever was meant, the answer is {span}, not {label}. {entry.source}"


def _possible(entry: AnyCalculator, entities: Mapping[str, object]) -> list[float]:
    """Every answer that parts which could not be tested, and units which cannot be meant, leave open; ascending."""
    open_to = {
        name: others for name, raw in entities.items() if (others := _alternatives(entry, name, raw)) is not None
    }
    if not all(open_to.values()):
        return []
    found: set[float] = set()
    for combination in itertools.product(*open_to.values()):
        try:
            answer = entry.calculate({**entities, **dict(zip(open_to, combination, strict=True))}).answer
        except CalculatorInputError:
            return []
        if not isinstance(answer, int | float):
            return []
        found.add(answer)
    return sorted(found)


def _alternatives(entry: AnyCalculator, name: str, raw: object) -> list[object] | None:
    """What an entity may have meant, where it does not say; None where it does, empty where nothing can be known.

    A part that could not be tested may be of any class; a value whose unit cannot be meant stays one of the readings.
    """
    item = entry.input_named(name)
    try:
        if isinstance(item, Choice) and item.read(raw, quiet) is None:
            return [word for word, value in item.words.items() if value is not None]
        if isinstance(item, Quantity) and item.doubt(raw, item.read(raw, quiet)) is not None:
            meant = item.measure.meant(raw)
            return [raw, list(meant)] if meant else []
    except CalculatorInputError:
        return []
    return None


def audit_file(source: Path) -> Iterator[AuditedRow]:
    """Audits an official CSV file, of any release.

    Args:
        source: the file.

    Yields:
        One entry a row, in the file's order.

    Raises:
        MissingError: There is no such file.
        UsageError: It is a folder, or not a whole file of the official form; the message names line and column.
    """
    if not source.exists():
        raise MissingError(f"{source}: no such file. {steps_to_get(MEDCALC_BENCH)}")
    if source.is_dir():
        raise UsageError(f"{source}: is a folder. Give --source the official CSV file itself, such as test_data.csv.")
    # The file says by itself what it is; a name of no release makes the reader accept what any of them has.
    for row in read_rows("official", "test", {"test": source}):
        yield audit_row(row)


def write_audit(rows: Iterable[AuditedRow], out: Path) -> list[AuditedRow]:
    """Writes audited rows as CSV.

    Args:
        rows: from `audit_file`.
        out: where to; the file appears when it is whole.

    Returns:
        The rows.

    Raises:
        IncompleteError: The file cannot be written.
    """
    written: list[AuditedRow] = []
    with WholeFile(out) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([table_cell(getattr(row, column)) for column in COLUMNS])
            written.append(row)
    return written


def summary(rows: Sequence[AuditedRow]) -> list[tuple[str, ...]]:
    """Counts verdicts by calculator.

    Args:
        rows: audited rows.

    Returns:
        A header; for each calculator, by id: id, name, output, rows and the count of each of `VERDICTS`; the totals.
    """
    table: list[tuple[str, ...]] = [("id", "calculator", "output", "rows", *VERDICTS)]
    names = {row.calculator_id: row.calculator for row in rows}
    counts = Counter((row.calculator_id, row.verdict) for row in rows)
    for calculator_id, name in sorted(names.items()):
        found = [counts[calculator_id, verdict] for verdict in VERDICTS]
        table.append((str(calculator_id), name, _output(calculator_id), str(sum(found)), *map(str, found)))
    totals = Counter(row.verdict for row in rows)
    table.append(("", "all", "", str(len(rows)), *(str(totals[verdict]) for verdict in VERDICTS)))
    return table


def _output(calculator_id: int) -> str:
    try:
        return find(calculator_id).output
    except CalculatorInputError:
        return "unknown"
