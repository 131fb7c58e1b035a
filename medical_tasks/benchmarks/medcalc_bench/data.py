"""MedCalc-Bench from its official CSV files (v1.0, v1.2, Verified), and as items of a task.

A file without exactly the fourteen columns (paper, appendix B.2) is refused: two built
forms never have the same version. The file of corrected labels has columns of its own
(`corrected.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CORRECTED,
    CORRECTED_PIN,
    V1,
    note_cluster,
    read_corrected_rows,
)
from medical_tasks.benchmarks.medcalc_bench.declarations import (
    FAIR,
    MEDCALC_BENCH,
    MEDCALC_OWN,
)
from medical_tasks.benchmarks.medcalc_bench.demo import (
    DEMO_ROWS,
    FAIR_DEMO_ROWS,
    decimal_limits,
    demo_rows,
    fair_demo_rows,
)
from medical_tasks.benchmarks.medcalc_bench.gold import (
    AnswerKind,
    answer_kind,
    calculated,
    canonical_entities,
    label_agrees,
    parse_entities,
)
from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs
from medical_tasks.calculators import AnyCalculator, CalculatorInputError, find
from medical_tasks.data.dataset_source import (
    BuildOption,
    DatasetSource,
    Generated,
    OfficialFile,
    Pin,
)
from medical_tasks.errors import UsageError
from medical_tasks.harness.evaluate_rows import Columns
from medical_tasks.io.columns import Column
from medical_tasks.io.csv_files import read_csv
from medical_tasks.io.files import packaged
from medical_tasks.io.json_records import named, shown
from medical_tasks.io.tables import cell_text, folded, has_columns, read_table
from medical_tasks.plugins import generator
from medical_tasks.spec import Item, Row, TaskSpec

CATEGORIES = ("lab", "physical", "date", "dosage", "risk", "severity", "diagnosis")
OUTPUT_TYPES = ("decimal", "integer", "date")

# Later releases name two categories otherwise than v1.0 and the paper's tables.
_LATER_CATEGORIES = {"lab test": "lab", "dosage conversion": "dosage"}

# Official name to ours; the built table keeps the order.
OFFICIAL_COLUMNS = {
    "Row Number": "row_number",
    "Calculator ID": "calculator_id",
    "Calculator Name": "calculator_name",
    "Category": "category",
    "Output Type": "output_type",
    "Note ID": "note_id",
    "Note Type": "note_type",
    "Patient Note": "patient_note",
    "Question": "question",
    "Relevant Entities": "relevant_entities",
    "Ground Truth Answer": "ground_truth_answer",
    "Lower Limit": "lower_limit",
    "Upper Limit": "upper_limit",
    "Ground Truth Explanation": "ground_truth_explanation",
}

METRIC_COLUMNS: Columns = {
    "calculator_id": ("Calculator ID",),
    "answer": ("Ground Truth Answer", "ground_truth_answer"),
    "lower": ("Lower Limit", "lower_limit"),
    "upper": ("Upper Limit", "upper_limit"),
}
"""What `metrics/medcalc` reads of a row, by its official and its built columns."""

COLUMNS = (
    Column(
        name="row_number",
        dtype="int64",
        description="Number of the row in its release; unique, the item's id",
    ),
    Column(
        name="calculator_id",
        dtype="int64",
        description="Number of the calculator, 2 to 69; 55 are in use",
    ),
    Column(name="calculator_name", description="Name of the calculator"),
    Column(name="category", description=f"One of {', '.join(CATEGORIES)}"),
    Column(
        name="output_type",
        description="`decimal`, `integer` or `date`; a gestational age is either of the last two",
    ),
    Column(
        name="note_id",
        description=(
            "Open-Patients id; a bare number for written and template notes, one series a "
            "calculator; in `corrected` a hash of the note"
        ),
    ),
    Column(
        name="note_type",
        description=(
            "Where the note is from: Extracted, Template, Handwritten; Synthetic in `demo`, "
            "`fresh`; Twin: KIND in `twins`; Fair: GROUP; EXPECTED in `fair`; empty in `corrected`"
        ),
    ),
    Column(name="patient_note", description="The note"),
    Column(name="question", description="What is to be calculated"),
    Column(
        name="relevant_entities",
        description=(
            "Values that the note gives, canonical JSON: name to value or [value, unit]; "
            "empty in `corrected`"
        ),
    ),
    Column(
        name="ground_truth_answer",
        description=(
            "Gold answer as released: a number, MM/DD/YYYY or ('W weeks', 'D days'); "
            "in `corrected` also N/A, and ages in days"
        ),
    ),
    Column(
        name="lower_limit",
        description="Smallest right answer: 95 % of the gold for decimals, else the gold",
    ),
    Column(
        name="upper_limit",
        description="Largest right answer: 105 % of the gold for decimals, else the gold",
    ),
    Column(
        name="ground_truth_explanation",
        description="Step by step derivation of the gold answer; empty in `corrected`",
    ),
    Column(
        name="source_category", description="Category exactly as the release writes it"
    ),
)

# The file of v1.0, so that it is not built under another release's name.
V1_TEST_SHA256 = "c2d23097f8bdb7ae4a77dbf4a5a767335df7303998d7c7664a73a29fd8e2b31a"

_INTEGER = re.compile(r"[0-9]{1,9}")
_DATE_OR_AGE = re.compile(
    r"(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])/\d{4}|\('\d+ weeks?', '\d+ days?'\)"
)
_SHOWN_CHARS = 60

OWN = "own"
CREDENTIALED = "Credentialed"  # note type of rows constructed from notes that may not go to any model
_OWN_FORM = '{"Calculator ID": 2, "Patient Note": "...", "Relevant Entities": {"age": [60, "years"]}}'
_AGE = re.compile(r"\(?'?([0-9]{1,2}) weeks?'?,?(?: and)? ?'?([0-6]) days?'?\)?")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_FORMS: Mapping[AnswerKind, str] = {
    "decimal": "a number", "integer": "a whole number", "date": "MM/DD/YYYY", "gestational_age": "('W weeks', 'D days')"
}  # fmt: skip
_SHOWN_ROWS = 100


def read_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    """Reads the rows of a configuration.

    A file that is not whole is a `UsageError` with row, column and value.
    """
    if config == "demo":
        yield from fair_demo_rows() if split == FAIR else demo_rows()
        return

    path = files[split]
    if config == OWN:
        yield from read_own_rows(path)
        return

    if config == CORRECTED:
        yield from read_corrected_rows(path)
        return

    rows: dict[int, int] = {}
    for row in read_csv(
        path, tuple(OFFICIAL_COLUMNS), release=f"MedCalc-Bench {config} test set"
    ):
        typed = _typed_row(_Row(f"{path}: row {row.number}", row.cells), config)
        number = typed["row_number"]
        if number in rows:
            raise UsageError(
                f"{path}: Row Number {number} appears in row {rows[number]} and again in row "
                f"{row.number}; it must be unique. Download the file again."
            )

        rows[number] = row.number
        yield typed


class _Row(NamedTuple):
    """A row's cells by the official names, and what a message about one says."""

    where: str  # `FILE: row 3`
    cells: dict[str, str]
    again: str = "Download the file again."
    private: bool = False  # nothing of it is quoted

    def wrong(self, column: str, rule: str) -> UsageError:
        value = self.cells[column]
        got = repr(
            value if len(value) <= _SHOWN_CHARS else value[:_SHOWN_CHARS] + "..."
        )
        number = self.cells["Row Number"]
        if self.private:
            rule, got, number = "breaks the rule of its column", shown(value), "n/a"
        return UsageError(
            f"{self.where}, Row Number {number}, column {column!r}: {rule}, got {got}. {self.again}"
        )


def read_credentialed_rows(
    config: str, split: str, files: Mapping[str, Path]
) -> Iterator[Row]:
    """Reads the rows of `medcalc_own`."""
    yield from (
        demo_rows()
        if config == "demo"
        else read_own_rows(files[split], credentialed=True)
    )


def _typed_row(row: _Row, config: str) -> dict[str, Any]:
    """A row of an official file, checked and typed.

    Later releases renamed two categories; rows get the names of v1.0, so that groups
    can be compared, and `source_category` keeps the name as it was. Names of a later
    release in a file that is built as v1.0 mean another file.
    """
    cells, wrong = row.cells, row.wrong
    typed: dict[str, Any] = {
        ours: cells[official] for official, ours in OFFICIAL_COLUMNS.items()
    }
    for column in ("Row Number", "Calculator ID"):
        if not _INTEGER.fullmatch(cells[column]):
            raise wrong(column, "expected a whole number")

        typed[OFFICIAL_COLUMNS[column]] = int(cells[column])

    for column in ("Calculator Name", "Note ID", "Patient Note", "Question"):
        if not cells[column].strip():
            raise wrong(column, "must not be empty")

    category = cells["Category"].strip().lower()
    typed["category"] = _LATER_CATEGORIES.get(category, category)
    if typed["category"] not in CATEGORIES:
        raise wrong(
            "Category",
            f"expected one of {', '.join((*CATEGORIES, *_LATER_CATEGORIES))}",
        )

    if config == "v1.0" and cells["Category"] not in CATEGORIES:
        raise wrong(
            "Category",
            "this name is from a later release than v1.0, which has 'lab' and 'dosage'",
        )

    kind = cells["Output Type"]
    if kind not in OUTPUT_TYPES:
        raise wrong("Output Type", f"expected one of {', '.join(OUTPUT_TYPES)}")

    for column in ("Ground Truth Answer", "Lower Limit", "Upper Limit"):
        if not _is_answer(cells[column], kind):
            raise wrong(column, f"expected {_rule(kind)} for output type {kind}")

    try:
        if cells["Relevant Entities"] or config != OWN:
            typed["relevant_entities"] = canonical_entities(cells["Relevant Entities"])
    except ValueError as error:
        raise wrong("Relevant Entities", f"cannot be read ({error})") from error

    typed["source_category"] = cells["Category"]
    return typed


def read_own_rows(path: Path, *, credentialed: bool = False) -> list[dict[str, Any]]:
    """Reads a user's own rows, of any of the official columns; what is absent is computed, and wrong rows are reported together.

    A row with all of the columns is from a release: its label stands, and if its entities
    give another answer, stderr says so. Nothing of `credentialed` rows is quoted; rows
    that say so of themselves are refused otherwise, since MedCalc-Bench is open.
    """
    rows: dict[int, dict[str, Any]] = {}
    problems, doubted = [], []
    fold, column_names = cache(folded), {*OFFICIAL_COLUMNS.values(), "source_category"}
    knows = has_columns(
        "patient_note", numbers="ground_truth_answer|(lower|upper)_limit"
    )
    table = read_table(path, record=_OWN_FORM, knows=knows)
    for number, record in enumerate(table.rows, start=1):
        try:
            named_cells = {
                name: cell for name, cell in record.cells.items() if name.strip()
            }
            if unknown := sorted(
                name for name in named_cells if fold(name) not in column_names
            ):
                raise UsageError(
                    f"{path}: no column of the dataset: {', '.join(map(named, unknown))}. Remove "
                    "it."
                )

            if len(
                folds := {fold(name): cell for name, cell in named_cells.items()}
            ) < len(named_cells):
                raise UsageError(
                    f"{path}: two columns are one of the dataset (`Row Number`, `row_number`). "
                    "Drop one."
                )

            where = f"{path}: {record.at}"
            cells = {
                name: _own_cell(where, name, folds.get(ours))
                for name, ours in OFFICIAL_COLUMNS.items()
            }
            cells["Row Number"] = cells["Row Number"] or str(number)
            if fold(cells["Note Type"]) == fold(CREDENTIALED) and not credentialed:
                raise UsageError(
                    f"{path}: rows of credentialed notes; rows of medcalc_bench go to any model. "
                    "Build them as medcalc_own."
                )

            row, doubt = _own_row(_Row(where, cells, "Correct the row.", credentialed))
            if rows.setdefault(row["row_number"], row) is not row:
                raise UsageError(
                    f"{where}: Row Number {row['row_number']} appears twice. Number each row, or "
                    "none."
                )

            doubted += [record.at] * doubt
        except UsageError as error:
            problems.append(str(error))

    if problems := list(dict.fromkeys(problems)):
        more = [f"and {len(problems) - _SHOWN_ROWS} more problems"] * (
            len(problems) > _SHOWN_ROWS
        )
        raise UsageError("\n".join([*problems[:_SHOWN_ROWS], *more]))

    if doubted:
        print(
            f"note: {path}: {len(doubted)} released labels that their entities do not support "
            f"are kept ({doubted[0]} is the first). `medical-tasks audit medcalc` lists those of "
            "a CSV file; accuracy_agreed leaves them out.",
            file=sys.stderr,
        )

    return list(rows.values())


def _own_cell(where: str, column: str, value: object) -> str:
    if not isinstance(value, dict | list):
        return str(cell_text(value) or "")
    if column != "Relevant Entities":
        raise UsageError(
            f"{where}, column {column!r}: must be one value, got {shown(value)}. Correct the row."
        )
    if isinstance(value, dict):  # a parquet file has every name in every row
        value = {name: member for name, member in value.items() if member is not None}
    return json.dumps(value, ensure_ascii=False)


def _own_row(row: _Row) -> tuple[dict[str, Any], bool]:
    """Fills in what a row lacks, and says whether its label is doubtful.

    From the calculator come its facts and the question, from the entities the gold with
    its limits.
    """
    cells = row.cells
    released = all(cells.values())
    _tidy(row)
    calculator = _own_calculator(row)
    kind = answer_kind(calculator.id)
    _read_golds(row, kind)
    question, doubt = _apply_rule(row, calculator, keep_label=released)
    if doubt and not released:
        raise doubt

    least, most = _own_limits(row, kind)
    usual = {
        "Category": calculator.category, "Output Type": calculator.output, "Note Type": "Own",
        "Note ID": f"own-{hashlib.sha256(cells['Patient Note'].encode()).hexdigest()[:16]}", "Lower Limit": least,
        "Upper Limit": most, "Question": "" if "{" in question else question,
    }  # fmt: skip
    category = cells["Category"].lower()
    for column, text in (
        ("Category", _LATER_CATEGORIES.get(category, category)),
        ("Output Type", cells["Output Type"]),
    ):
        if text not in ("", usual[column]):
            raise row.wrong(column, f"must be {usual[column]} for {calculator.name}")

    cells.update({name: cells[name] or text for name, text in usual.items()})
    cells.update(
        {"Calculator ID": str(calculator.id), "Calculator Name": calculator.name}
    )
    return _typed_row(row, OWN), doubt is not None


def _tidy(row: _Row) -> None:
    """Strips the cells that hold no running text, and refuses text that no file can hold."""
    cells, wrong = row.cells, row.wrong
    for column, text in cells.items():
        if not text.isascii() and any(
            "\ud800" <= letter <= "\udfff" for letter in text
        ):
            raise wrong(column, "holds a lone surrogate, which no UTF-8 file can")

        if column in ("Row Number", "Calculator ID"):
            # as pandas writes a column with gaps
            cells[column] = re.sub(r"^([0-9]+)\.0+$", r"\1", text.strip())
        elif not column.endswith(("Note", "Question", "Explanation")):
            cells[column] = text.strip()


def _read_golds(row: _Row, kind: AnswerKind) -> None:
    """Writes the answer and limits that are given as the dataset writes them."""
    for column in ("Ground Truth Answer", "Lower Limit", "Upper Limit"):
        if not row.cells[column]:
            continue
        answer = _own_answer(row.cells[column], kind)
        if answer is None:
            raise row.wrong(column, f"expected {_FORMS[kind]}")
        row.cells[column] = answer


def _apply_rule(
    row: _Row, calculator: AnyCalculator, *, keep_label: bool
) -> tuple[str, UsageError | None]:
    """Applies the calculator to the entities that are given.

    Fills in answer and explanation, unless the label is to be kept.

    Returns:
        The question, with the drugs of the entities, and what is wrong with entities or
        label.
    """
    cells = row.cells
    question = QUESTIONS[calculator.id][0]
    if not cells["Relevant Entities"]:
        return question, None

    try:
        parsed = parse_entities(cells["Relevant Entities"])
        entities = calculator.named(parsed.items())
        result = calculated(calculator, entities)
    except (CalculatorInputError, ValueError) as error:
        return question, row.wrong(
            "Relevant Entities", f"cannot be calculated with ({error})"
        )

    gold = cells["Ground Truth Answer"]
    label = {
        "ground_truth_answer": gold,
        "lower_limit": cells["Lower Limit"],
        "upper_limit": cells["Upper Limit"],
    }
    doubt = None
    if gold and not label_agrees(label, result.answer):
        rule = f"must agree with the entities, which give {result.answer_text}"
        doubt = row.wrong("Ground Truth Answer", rule)

    if not keep_label:
        cells["Ground Truth Answer"] = result.answer_text
        cells["Ground Truth Explanation"] = (
            cells["Ground Truth Explanation"] or result.explanation
        )

    cells["Relevant Entities"] = json.dumps(parsed)  # read sooner than a Python literal
    return named_drugs(question, entities), doubt


def _own_limits(row: _Row, kind: AnswerKind) -> tuple[str, str]:
    """The usual limits of the row's answer, which must lie within those that are given."""
    gold = row.cells["Ground Truth Answer"]
    if not gold:
        raise row.wrong("Ground Truth Answer", "this or Relevant Entities is needed")
    least, most = decimal_limits(gold) if kind == "decimal" else (gold, gold)
    low, high = row.cells["Lower Limit"] or least, row.cells["Upper Limit"] or most
    if not _holds(low, gold, high, kind):
        rule = f"must hold with the Upper Limit, {high}, the gold answer {gold}"
        raise row.wrong("Lower Limit", rule)
    return least, most


def _own_calculator(row: _Row) -> AnyCalculator:
    """The calculator of a user's row, by its id, its name, or both if they agree."""
    number, name = row.cells["Calculator ID"], row.cells["Calculator Name"]
    if number and not _INTEGER.fullmatch(number):
        raise row.wrong("Calculator ID", "expected a whole number")

    calculators = set()
    for column, key in (("Calculator ID", int(number or 0)), ("Calculator Name", name)):
        if row.cells[column]:
            try:
                calculators.add(find(key))
            except CalculatorInputError as error:
                raise row.wrong(
                    column, f"must be one of the 55 calculators ({error})"
                ) from None

    if len(calculators) != 1:
        rule = (
            "must be the one of Calculator ID"
            if calculators
            else "this or Calculator ID is needed"
        )
        raise row.wrong("Calculator Name", rule)

    return calculators.pop()


def _own_answer(text: str, kind: AnswerKind) -> str | None:
    """An answer or limit in the dataset's form; None where it is none of its kind."""
    if kind == "gestational_age":
        age = _AGE.fullmatch(text)
        return f"('{age[1]} weeks', '{age[2]} days')" if age else None

    if kind == "date":
        for form in ("%m/%d/%Y", "%Y-%m-%d"):
            with contextlib.suppress(ValueError):
                date = datetime.strptime(text, form)
                return text if "/" in text else f"{date:%m/%d/%Y}"

        return None

    return text if _NUMBER.fullmatch(text) and _is_answer(text, kind) else None


def _holds(low: str, gold: str, high: str, kind: AnswerKind) -> bool:
    """Whether limits are right for a gold: around it for measurements, else the same."""
    if kind in ("decimal", "integer"):
        ends = sorted(map(float, (low, high)))
        return ends[0] <= float(gold) <= ends[1] and (
            kind == "decimal" or ends[0] == ends[1]
        )
    return (
        len({tuple(map(int, re.findall("[0-9]+", text))) for text in (low, gold, high)})
        == 1
    )


def _rule(kind: str) -> str:
    return (
        "a number"
        if kind == "decimal"
        else "a whole number, MM/DD/YYYY or ('W weeks', 'D days')"
    )


def _is_answer(text: str, output_type: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return output_type != "decimal" and _DATE_OR_AGE.fullmatch(text) is not None
    return math.isfinite(number) and (output_type == "decimal" or number.is_integer())


def load_items(task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
    """Makes one item a row."""
    # Only who asks questions needs the reader of answers, which comes with it.
    from medical_tasks.benchmarks.medcalc_bench.fair import member_of

    items = []
    # one for all rows of a calculator
    kinds: dict[tuple[str, ...], Mapping[str, str | tuple[str, ...]]] = {}
    for row in filter(partial(task.benchmark.keeps, task), rows):
        kind = str(row.get("note_type")).partition("Twin: ")[2] or "base"
        facts = {
            "kind": kind,
            "category": row["category"],
            "calculator": row["calculator_name"],
        }
        member = member_of(row)
        groups = kinds.setdefault(
            (*facts.values(), member.written),
            {
                group: named
                for group, named in {**facts, **member.breakdown}.items()
                if group in task.groups
            },
        )
        cluster = str(row["note_id"])
        if cluster.isdigit():  # no Open-Patients id, which names one note: every calculator counts such notes from 1
            cluster = note_cluster(str(row["patient_note"]))

        items.append(
            Item(
                id=str(row["row_number"]),
                fields=row,
                groups=groups,
                cluster=cluster,
                asking=2 if member.variant == "same" else 1,
            )
        )

    return items


def _test_file(*places: str, pin: Pin | None = None) -> dict[str, OfficialFile]:
    return {
        "test": OfficialFile(
            places=places, description="the test set, a CSV file", pin=pin
        )
    }


FRESH_OPTIONS = (
    BuildOption(
        name="seed",
        description="the number that decides which questions are drawn; keep to yourself the one you evaluate with",
        lowest=0,
        highest=2**63 - 1,
    ),
    BuildOption(
        name="n",
        description=(
            "the number of questions; of fresh ones 55 hold each calculator once, twins come in "
            "families of up to 7, fair ones of up to 10"
        ),
        lowest=1,
        highest=1_000_000,
        default=1100,
    ),
    BuildOption(
        name="level",
        description="1 for short, plain notes, 2 for notes with earlier results, relatives' values and copied text",
        lowest=1,
        highest=2,
        default=2,
    ),
)


def _generated(split: str, options: Mapping[str, int], *, name: str) -> Iterator[Row]:
    return iter(generator(name)(split, options))


SOURCE = DatasetSource(
    spec=MEDCALC_BENCH,
    summary=(
        "MedCalc-Bench asks for medical calculations: each row has a patient note, a question for "
        "one of 55 calculators (equations, scores, dates, dose conversions), the gold answer with "
        "the limits inside which an answer counts as right, and the gold derivation. This is its "
        "test set in a uniform, typed form."
    ),
    changes=(
        "Columns have lower-case names with underscores; their texts are as released.",
        "`relevant_entities`, a Python literal in the release, is canonical JSON.",
        "`category` has the names of v1.0 in every configuration (`lab test` is `lab`, `dosage "
        "conversion` is `dosage`); the released name is kept in `source_category`.",
        "`demo` is not from the release: it was written for this package and is under the package's licence, Apache-2.0.",
        "`own` holds a user's rows, golds computed from their entities; rows with all columns, "
        "as of a released training set, keep theirs. Their terms are those of the notes.",
        "`corrected` has the labels of Ye et al. (https://arxiv.org/abs/2512.19691) for rows of "
        "v1.0, under the MIT licence: id, category and output type are those of the calculator's "
        "name, and limits are the answer itself where it is no measurement; columns that their "
        "file does not have are empty.",
        "`fresh` is not from the release either: this package generates it from a seed, with "
        "notes of its own and the answers of its own calculators, under the same licence; so is "
        "`twins`, families of such notes that differ in one thing, and `fair`, families that "
        "differ in one attribute of the patient.",
    ),
    licence_note="The paper (appendix B.1) adds that the data may be distributed for non-commercial purposes.",
    columns=COLUMNS,
    key="row_number",
    # Families ask one note twice, so they are no rows of the other tasks.
    splits={
        **dict.fromkeys(MEDCALC_BENCH.configs, ("test",)),
        "demo": ("test", FAIR),
        FAIR: (FAIR,),
    },
    # Sizes of the releases: paper, abstract (v1.0); README of ncbi-nlp/MedCalc-Bench
    # (v1.2) and card of nsk7153/MedCalc-Bench-Verified on the Hub.
    published_rows={
        V1: {"test": 1047},
        CORRECTED: {"test": 887},
        "v1.2": {"test": 1100},
        "verified": {"test": 1100},
        "demo": {"test": DEMO_ROWS, FAIR: FAIR_DEMO_ROWS},
    },
    # v1.0 is closed. The later two are still corrected by their authors, who may add
    # rows.
    living=frozenset({"v1.2", "verified"}),
    files={
        V1: _test_file(
            "test_data_v1.csv",
            "MedCalc-Bench/dataset/test_data.csv",
            pin=Pin(
                "ncbi-nlp/MedCalc-Bench",
                "5523b7785c004912e76ca4db19efbd7367b23c40",
                "dataset/test_data.csv",
                4_001_702,
                V1_TEST_SHA256,
            ),
        ),
        CORRECTED: {
            "test": OfficialFile(
                places=("medcalc_v1_corrected.csv", CORRECTED_PIN.checkout_path),
                description="the corrected labels with their questions, a CSV file",
                pin=CORRECTED_PIN,
            )
        },
        "v1.2": _test_file(
            "test_data_v1.2.csv",
            *(
                f"MedCalc-Bench/{name}/test_data.csv"
                for name in ("dataset", "datasets")
            ),
            pin=Pin(
                "ncbi-nlp/MedCalc-Bench",
                "20b10f9d66a8c3b0356ae3138533f5ec91666b6a",
                "datasets/test_data.csv",
                size=None,
                blob="0aabdb731ede27c04357a5cd01623462ede5b972",
            ),
        ),
        # No SHA-256 of these two is published; a git blob is named by the SHA-1 of its
        # content.
        "verified": _test_file(
            "test_data_verified.csv",
            "MedCalc-Bench-Verified/datasets/test_data.csv",
            pin=Pin(
                "nikhilk7153/MedCalc-Bench-Verified",
                "0eb59609f413e08a0980aec0103b7e63c275bca8",
                "datasets/test_data.csv",
                size=None,
                blob="69434f83a55555929e7c02913ddd9b187fa538b4",
            ),
        ),
        "demo": {},
        OWN: {
            "test": OfficialFile(
                places=("rows.csv",),
                description="your rows: CSV, XLSX, parquet or JSON Lines",
            )
        },
        "fresh": {},
        "twins": {},
        "fair": {},
    },
    generated={
        "fresh": Generated(
            options=FRESH_OPTIONS, rows=partial(_generated, name="medcalc_fresh")
        ),
        "twins": Generated(
            options=FRESH_OPTIONS[:2], rows=partial(_generated, name="medcalc_twins")
        ),
        "fair": Generated(
            options=FRESH_OPTIONS[:2], rows=partial(_generated, name="medcalc_fair")
        ),
    },
    known_files={V1_TEST_SHA256: V1, CORRECTED_PIN.sha256: CORRECTED},
    read=read_rows,
    published="2024-06-17",
    creators=(
        "Nikhil Khandekar",
        "Qiao Jin",
        "Guangzhi Xiong",
        "Soren Dunn",
        "Serina S Applebaum",
        "Zain Anwar",
        "Maame Sarfo-Gyamfi",
        "Conrad W Safranek",
        "Abid A Anwar",
        "Andrew Zhang",
        "Aidan Gilson",
        "Maxwell B Singer",
        "Amisha Dave",
        "Andrew Taylor",
        "Aidong Zhang",
        "Qingyu Chen",
        "Zhiyong Lu",
    ),
    task_categories=("question-answering",),
    tags=("medical", "clinical", "calculation", "benchmark"),
    responsible_ai=packaged(__file__, "responsible_ai.json")["medcalc_bench"],
)

OWN_SOURCE = replace(
    SOURCE,
    spec=MEDCALC_OWN,
    summary=(
        "Rows in MedCalc-Bench's form about credentialed notes: what `medical-tasks construct "
        "medcalc` makes of them, or rows that their holder wrote. As with `own` of MedCalc-Bench, "
        "golds are computed from the entities."
    ),
    changes=(
        "`demo` was written for this package and is under the package's licence, Apache-2.0.",
    ),
    licence_note="Rows of `own` are under the terms of their notes.",
    splits=dict.fromkeys(MEDCALC_OWN.configs, ("test",)),
    published_rows={"demo": {"test": DEMO_ROWS}},
    files={config: SOURCE.files[config] for config in MEDCALC_OWN.configs},
    living=frozenset(),
    generated={},
    known_files={},
    read=read_credentialed_rows,
    creators=("The medical-tasks developers",),
    responsible_ai=packaged(__file__, "responsible_ai.json")["medcalc_own"],
)

SOURCES = (SOURCE, OWN_SOURCE)
