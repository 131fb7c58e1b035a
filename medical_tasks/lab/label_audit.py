"""The command `audit`; its options are `Audit` in `lab.options`.

| verdict | meaning |
|---|---|
| agrees | right by the published rule: decimals within the row's limits, all else exactly |
| wrong | not right; or the rule has no answer, and the label is outside everything the inputs could mean |
| convention | right only by a named convention of the calculator |
| not computable | the rule has no answer, or a unit is implausible, and nothing refutes the label |

The audit does not read the notes. In v1.0 the entities alone prove 158 of the 179 wrong
labels; two are white cells "per L", wrong per L and per µL. The other 19 have a note in
`reason`: 13 rows of the cardiac risk index contradict themselves about cerebrovascular
disease (the rule's own item counts), and 6 solid tumors of the Charlson index have no
stage (wrong as localized and as metastatic).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CorrectedLabels,
    built_labels,
    labels_of_file,
)
from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.benchmarks.medcalc_bench.declarations import MEDCALC_BENCH
from medical_tasks.benchmarks.medcalc_bench.gold import (
    answer_text,
    decimal_or_none,
    entities_of,
    is_not_computable,
    label_agrees,
    recompute,
    score_steps,
)
from medical_tasks.benchmarks.medcalc_bench.golds import golds_of
from medical_tasks.calculators import (
    Answer,
    AnyCalculator,
    CalculatorInputError,
    Result,
    find,
)
from medical_tasks.calculators.inputs import Choice, Input, Quantity, fold
from medical_tasks.calculators.steps import quiet
from medical_tasks.data.dataset_source import steps_to_get
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.io.tables import write_table
from medical_tasks.io.user_folders import datasets_home
from medical_tasks.lab.options import Audit
from medical_tasks.lab.v1_labels import label as v1_label
from medical_tasks.spec import Row

__all__ = ["audit_file", "run", "summary", "write_audit"]

_DATASETS = ("medcalc", "medcalc_bench")


def run(arguments: Audit) -> int:
    """Audits the file, writes the rows and prints the counts."""
    source: Path = arguments.source
    out: Path = arguments.out
    if arguments.dataset not in _DATASETS:
        raise UsageError(
            f"cannot audit {arguments.dataset!r}: only the labels of medcalc can be recomputed."
        )

    if out.exists() and source.exists() and out.samefile(source):
        raise UsageError(f"{out}: is the source itself. Give --out another name.")

    rows = write_audit(audit_file(source, _labels(arguments.corrected)), out)
    header, *counts = summary(rows)
    counted = [dict(zip(header, counts_row, strict=True)) for counts_row in counts]
    lines = [*align(header, counts), f"\n{len(rows)} rows in {out}"]
    by_corrected: dict[str, object] = {}
    if by_verdict := corrected_summary(rows):
        first, *others = by_verdict
        lines += ["", "By the corrected labels:", "", *align(first, others)]
        by_corrected["corrected"] = [
            dict(zip(first, counts_row, strict=True)) for counts_row in others
        ]

    tell("\n".join(lines), rows=len(rows), out=out, counts=counted, **by_corrected)
    return 0


def _labels(file: Path | None) -> CorrectedLabels | None:
    """Reads the corrected labels from a file, or from the built dataset."""
    if file is None:
        return built_labels(datasets_home() / MEDCALC_BENCH.name, MEDCALC_BENCH)
    if not file.is_file():
        raise MissingError(f"{file}: no such file. {steps_to_get(MEDCALC_BENCH)}")
    return labels_of_file(file)


Verdict: TypeAlias = Literal["agrees", "wrong", "convention", "not computable"]
VERDICTS: Final[tuple[Verdict, ...]] = (
    "agrees",
    "wrong",
    "convention",
    "not computable",
)
COLUMNS: Final = (
    "row",
    "calculator",
    "label",
    "recomputed",
    "verdict",
    "reason",
    "corrected",
    "label_by_corrected",
    "recomputed_by_corrected",
)
Right: TypeAlias = Literal["right", "wrong", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRow:
    """A row of the dataset with the audit of its label.

    Attributes:
        row: Its number in the official file.
        label: The released label.
        verdict: `agrees`, `wrong`, `convention` or `not computable`.
        label_by_corrected: Whether the label is right by the corrected one.
        recomputed_by_corrected: Whether the published rule's answer is.
    """

    row: int
    calculator_id: int
    calculator: str
    label: str
    recomputed: str  # the published rule's answer, "" if it has none
    verdict: Verdict
    reason: str  # one line for a clinician
    corrected: str = ""  # the corrected label, which may be "N/A"; "" if there is none
    label_by_corrected: Right = ""
    recomputed_by_corrected: Right = ""


def audit_row(row: Row, labels: CorrectedLabels | None = None) -> AuditedRow:
    """Audits one row; a label or limit that cannot be read raises `UsageError`.

    Example: a creatinine clearance with the label 65.5297883557 agrees with the
    published rule's 65.52978836, and its reason adds that creatinine was rounded from
    1.38 to 1.4 mg/dL. With the label 999 it is wrong, and the reason has the derivation:
    `(140 − 61) × 82.422 × 1 / (72 × 1.38006)`.
    """
    audited = _by_rule(row)
    golds = golds_of(row, labels)
    if golds.corrected is None:
        return audited

    return replace(
        audited,
        corrected=golds.corrected.answer,
        label_by_corrected=_right(golds.label_and_corrected),
        recomputed_by_corrected=_right(golds.rule_and_corrected),
    )


def _right(agrees: bool | None) -> Right:
    if agrees is None:
        return ""
    return "right" if agrees else "wrong"


def _by_rule(row: Row) -> AuditedRow:
    """Audits a row by the published rule alone.

    The cases, in order: the rule has no answer; it agrees; it agrees under a known
    convention of the calculator; the label is wrong, with its probable origin.
    """
    try:
        result = recompute(row)
    except CalculatorInputError as error:
        verdict, reason = _without_answer(row, error)
        return _audited(row, None, verdict, reason)

    if label_agrees(row, result.answer):
        same = (
            "a value within the row's limits"
            if isinstance(result.answer, float)
            else "the same"
        )
        quirks = label_quirks(row, result)
        also = (
            f"; in the label, without effect on the verdict: {'; '.join(quirks)}"
            if quirks
            else ""
        )
        return _audited(row, result, "agrees", f"The published rule gives {same}{also}")

    convention = _convention(row)
    if convention is not None:
        reason = (
            f"Label follows a convention: {convention}. Published rule: {derivation(result)}. "
            f"{result.source}"
        )
        return _audited(row, result, "convention", reason)

    why, named = origin(row, result)
    label = str(row["ground_truth_answer"])
    sentences = [why, f"Published rule: {derivation(result, named=named)}, not {label}"]
    sentences += [f"Note: {doubt}" for doubt in doubts(row, result)]

    return _audited(row, result, "wrong", f"{'. '.join(sentences)}. {result.source}")


def _audited(
    row: Row, result: Result | None, verdict: Verdict, reason: str
) -> AuditedRow:
    return AuditedRow(
        row=int(row["row_number"]),
        calculator_id=int(row["calculator_id"]),
        calculator=str(row["calculator_name"]),
        label=str(row["ground_truth_answer"]),
        recomputed="" if result is None else answer_text(result.answer),
        verdict=verdict,
        reason=" ".join(reason.split()),
    )


def _convention(row: Row) -> str | None:
    """Returns the convention under which the rule gives the label, or None."""
    for convention in find(int(row["calculator_id"])).conventions:
        try:
            result = recompute(row, frozenset({convention.name}))
        except CalculatorInputError:
            continue
        if label_agrees(row, result.answer):
            return f"{convention.name}, {convention.description.removesuffix('.')}"
    return None


def _without_answer(row: Row, error: CalculatorInputError) -> tuple[Verdict, str]:
    """Returns the verdict on a row for which the published rule has no answer.

    It is `wrong` only if every possible meaning of the entities gives another answer
    than the label; if one gives the label, the row is not computable.
    """
    problem = str(error).removeprefix(f"{row['calculator_name']}: ")
    why = f"The published rule has no answer: {problem}"
    try:
        entry = find(int(row["calculator_id"]))
        entities = entities_of(row)
    except CalculatorInputError:
        return "not computable", why

    convention = _convention(row)
    if convention is not None:
        return (
            "convention",
            f"Label follows a convention: {convention}. {why}. {entry.source}",
        )

    possible = _possible(entry, entities)
    label = str(row["ground_truth_answer"])
    if not possible or any(label_agrees(row, answer) for answer in possible):
        return "not computable", why

    quirks = label_quirks(row)
    label_note = f"Label: {'; '.join(quirks)}. " if quirks else ""
    span = " to ".join(
        dict.fromkeys((answer_text(possible[0]), answer_text(possible[-1])))
    )

    return (
        "wrong",
        f"{label_note}{why}. Whatever was meant, the answer is {span}, not {label}. {entry.source}",
    )


def _possible(entry: AnyCalculator, entities: Mapping[str, object]) -> list[float]:
    """Returns every possible answer, ascending.

    Parts that could not be tested and implausible units leave several.

    Example:
        An eye response that was not testable may be any of the four, so that a coma score
        has four answers. A number with an implausible unit may be in that unit, or in the
        one that makes it usual.

    Returns:
        The answers; empty if nothing is known of an ambiguous entity, or if one of the
        combinations has no number.
    """
    alternatives = {
        name: _alternatives(entry, name, raw) for name, raw in entities.items()
    }
    ambiguous = {
        name: others for name, others in alternatives.items() if others is not None
    }
    if not all(ambiguous.values()):
        return []

    answers: set[float] = set()
    for combination in itertools.product(*ambiguous.values()):
        try:
            answer = entry.calculate(
                {**entities, **dict(zip(ambiguous, combination, strict=True))}
            ).answer
        except CalculatorInputError:
            return []

        if not isinstance(answer, int | float):
            return []

        answers.add(answer)

    return sorted(answers)


def _alternatives(entry: AnyCalculator, name: str, raw: object) -> list[object] | None:
    """Returns the possible meanings of an ambiguous entity.

    None for an unambiguous one, empty if nothing is known.
    """
    item = entry.input_named(name)
    try:
        if isinstance(item, Choice) and item.read(raw, quiet) is None:
            return [word for word, value in item.words.items() if value is not None]

        if (
            isinstance(item, Quantity)
            and item.doubt(raw, item.read(raw, quiet)) is not None
        ):
            meant = item.measure.meant(raw)
            return [raw, list(meant)] if meant else []
    except CalculatorInputError:
        return []

    return None


def audit_file(
    source: Path, labels: CorrectedLabels | None = None
) -> Iterator[AuditedRow]:
    """Audits an official CSV file of any release; raises for a missing or different file."""
    if not source.exists():
        raise MissingError(f"{source}: no such file. {steps_to_get(MEDCALC_BENCH)}")

    if source.is_dir():
        raise UsageError(
            f"{source}: is a folder. Give --source the official CSV file itself, such as "
            "test_data.csv."
        )

    # The file shows its own release; a name that is no release makes the reader accept
    # the columns of any.
    for row in read_rows("official", "test", {"test": source}):
        yield audit_row(row, labels)


def write_audit(rows: Iterable[AuditedRow], out: Path) -> list[AuditedRow]:
    """Writes audited rows as CSV, atomically."""
    written = list(rows)
    write_table(
        out,
        (COLUMNS, *([getattr(row, column) for column in COLUMNS] for row in written)),
    )
    return written


def summary(rows: Sequence[AuditedRow]) -> list[tuple[str, ...]]:
    """Returns a table: a header, a row a calculator with the counts of `VERDICTS`, the totals."""
    table: list[tuple[str, ...]] = [("id", "calculator", "output", "rows", *VERDICTS)]
    names = {row.calculator_id: row.calculator for row in rows}
    counts = Counter((row.calculator_id, row.verdict) for row in rows)
    for calculator_id, name in sorted(names.items()):
        row_counts = [counts[calculator_id, verdict] for verdict in VERDICTS]
        output: str
        try:
            output = find(calculator_id).output
        except CalculatorInputError:
            output = "unknown"

        table.append(
            (
                str(calculator_id),
                name,
                output,
                str(sum(row_counts)),
                *map(str, row_counts),
            )
        )

    totals = Counter(row.verdict for row in rows)
    table.append(
        ("", "all", "", str(len(rows)), *(str(totals[verdict]) for verdict in VERDICTS))
    )
    return table


def corrected_summary(rows: Sequence[AuditedRow]) -> list[tuple[str, ...]]:
    """Compares released labels and recomputed values with the corrected labels, if any."""
    labelled = [row for row in rows if row.corrected]
    if not labelled:
        return []

    header: tuple[str, ...] = (
        "verdict",
        "rows",
        "N/A",
        "label right",
        "recomputed right",
        "of",
    )
    table = [header]
    for verdict in (*VERDICTS, "all"):
        selected = [row for row in labelled if verdict in (row.verdict, "all")]
        counts = (
            len(selected),
            sum(is_not_computable(row.corrected) for row in selected),
            sum(row.label_by_corrected == "right" for row in selected),
            sum(row.recomputed_by_corrected == "right" for row in selected),
            sum(row.recomputed_by_corrected != "" for row in selected),
        )
        table.append((verdict, *map(str, counts)))

    return table


_ROUNDED: Final = re.compile(
    r"(?P<name>.+): \S+ \S+ became (?P<value>\S+) (?P<unit>\S+) "
    r"by rounding each step \(exactly \S+\)"
)
_SCORES: Final = re.compile(r" scores (?P<points>[0-9]+)")
_COUNTED: Final = re.compile(
    r"(?P<name>.+): the text .+ counts as (?P<how>present|absent)"
)
_MOVED: Final = 0.01
"""A rounding that changes the published answer by less than this share does not explain a label.
"""


def derivation(result: Result, *, named: frozenset[str] = frozenset()) -> str:
    """Returns the derivation of the answer in one line.

    `named` are folded first words of items to show even without points.
    """
    entry = find(result.calculator_id)
    answer = f"{answer_text(result.answer)} {entry.unit}".strip()
    counted = score_steps(result.explanation)
    if not counted:
        return _equation(entry, result)

    shown = [
        (what, points)
        for what, points in counted
        if points or _first_word(what) in named
    ]
    terms = [
        f"{'−' if points < 0 else '+'} {abs(points):g} ({what})"
        for what, points in shown
    ]
    return f"{' '.join(terms).removeprefix('+ ') or 'no item gives a point'} = {answer}"


def _equation(entry: AnyCalculator, result: Result) -> str:
    """Returns the last two lines of a formula's working, without those that repeat inputs."""
    read = tuple(f"{item.name}{sign}" for item in entry.inputs for sign in (" =", ":"))
    steps = result.explanation.splitlines()[:-1]
    lines = [
        line for line in steps if not line.startswith((*read, "Not used:", "Warning:"))
    ]
    return "; ".join(line.removesuffix(".") for line in lines[-2:])


def _first_word(text: str) -> str:
    return fold(re.split(r"[ :]", text, maxsplit=1)[0])


def label_quirks(row: Row, result: Result | None = None) -> list[str] | None:
    """Explains the label by the label rules of v1.0; None if they do not reproduce it.

    Quirks that change nothing are left out.
    """
    entities = entities_of(row)
    try:
        v1_result = v1_label(int(row["calculator_id"]), entities)
    except CalculatorInputError:
        return None

    if not label_agrees(row, v1_result.answer):
        return None

    notes = v1_result.note.split("; ") if v1_result.note else []
    if result is not None:
        notes = [
            note
            for note in (_compared(note, result) for note in notes)
            if note is not None
        ]
        decisive = [note for note in notes if _matters(note, entities, result)]
        notes = decisive or notes

    return [
        note.replace(", the rule knew only", ", the label's program knew only")
        for note in notes
    ]


def _compared(note: str, result: Result) -> str | None:
    """Completes a remark on a label; None if our own calculation does the same.

    A remark on different points gets our number, as in `2 points instead of 1`.
    """
    finding = _COUNTED.fullmatch(note)
    if finding is not None:
        item = find(result.calculator_id).input_named(finding["name"])
        same = item is not None and result.used.get(item.parameter) is (
            finding["how"] == "present"
        )
        return None if same else note

    scores = _SCORES.search(note)
    if scores is None:
        return note

    steps = score_steps(result.explanation)
    counted = [
        points for what, points in steps if _first_word(what) == _first_word(note)
    ]
    if len(counted) != 1:
        return note
    if counted[0] == float(scores["points"]):
        return None

    return f"{note[: scores.end()]} instead of {counted[0]:g}{note[scores.end() :]}"


def _matters(note: str, entities: Mapping[str, object], result: Result) -> bool:
    """Whether a quirk matters: a rounded conversion only if it changes the published answer."""
    rounded = _ROUNDED.fullmatch(note)
    if rounded is None:
        return True

    entry = find(result.calculator_id)
    item = entry.input_named(rounded["name"])
    if item is None or item.parameter not in result.used:
        return True

    try:
        moved = _recalculated(
            entry, entities, item, [float(rounded["value"]), rounded["unit"]]
        )
    except CalculatorInputError:
        return True

    if isinstance(moved, float) and isinstance(result.answer, float):
        return abs(moved - result.answer) > _MOVED * abs(result.answer)

    return moved != result.answer


def _recalculated(
    entry: AnyCalculator, entities: Mapping[str, object], item: Input, value: object
) -> Answer:
    """Recalculates the published answer with another value of one input.

    The row may have the input under any of its names.
    """
    others = {
        name: raw
        for name, raw in entities.items()
        if entry.input_named(name) is not item
    }
    return entry.calculate({**others, item.name: value}).answer


def origin(row: Row, result: Result) -> tuple[str, frozenset[str]]:
    """Explains the origin of a label that differs from the published answer.

    Returns:
        A sentence without its full stop, and the folded first words of the named items.
    """
    quirks = label_quirks(row, result)
    if quirks:
        return f"Label: {'; '.join(quirks)}", frozenset(map(_first_word, quirks))
    if quirks is not None:
        return "Label: its program rounds every step", frozenset()

    label, distance = (
        decimal_or_none(row["ground_truth_answer"]),
        "another value than the published one",
    )
    if isinstance(result.answer, float) and label is not None and result.answer:
        share = float(100 * (label / Decimal(result.answer) - 1))
        distance = f"{abs(share):.1f} % {'above' if share > 0 else 'below'} the published value"

    return f"Label: {distance}, its derivation is none that is known here", frozenset()


def doubts(row: Row, result: Result) -> list[str]:
    """Returns remarks on the row's own entities: the verdict is only as right as they are."""
    entities = entities_of(row)
    if result.calculator_id == 17:
        return _two_strokes(entities, result)
    return _tumor(row, entities, result) if result.calculator_id == 32 else []


def _two_strokes(entities: Mapping[str, object], result: Result) -> list[str]:
    other = entities.get("Cerebrovascular disease history")
    counted = result.used["cerebrovascular_disease"]
    if other is None or bool(other) == counted:
        return []
    return [
        "the row states cerebrovascular disease twice; counted is 'History of cerebrovascular "
        f"disease' ({counted}), the rule's own item, and not 'Cerebrovascular disease history' "
        f"({other})"
    ]


def _tumor(row: Row, entities: Mapping[str, object], result: Result) -> list[str]:
    """Returns a remark on a solid tumor of unknown stage: the result for the other stage."""
    if entities.get("Solid tumor") is not True:
        return []

    entry = find(result.calculator_id)
    most = _recalculated(
        entry,
        entities,
        next(i for i in entry.inputs if i.name == "Solid tumor"),
        "Metastatic",
    )
    judged = "agrees with that" if label_agrees(row, most) else "is wrong then too"

    return [
        "solid tumor 'True' is counted as localized, the least it can mean; metastatic would give "
        f"{most}, and the label {judged}"
    ]
