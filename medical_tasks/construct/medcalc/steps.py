"""`medical-tasks construct medcalc`.

Rows like MedCalc-Bench's from notes of one's own (paper, section 2.2, appendix A.1).

Notes are taken for credentialed unless `--open` is given: then nothing leaves this
machine unattested, and they are built as `medcalc_own`.
"""

from __future__ import annotations

import json
from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import eq
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
import medical_tasks.options as declared
from medical_tasks.benchmarks.medcalc_bench.data import (
    CREDENTIALED,
    OFFICIAL_COLUMNS,
    OWN,
    V1_TEST_SHA256,
    read_own_rows,
    read_rows,
)
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.calculators import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.inputs import Flag, Input, fold, is_missing
from medical_tasks.construct.contract import Construction
from medical_tasks.construct.medcalc import extraction
from medical_tasks.construct.medcalc.forms import (
    LINE_FIELDS,
    Pair,
    PairLine,
    PairShares,
    ReviewerAgreement,
)
from medical_tasks.construct.options import (
    MedcalcCheck,
    MedcalcExtract,
    MedcalcImport,
    MedcalcRelease,
    MedcalcSheet,
)
from medical_tasks.construct.shared import check_answered, checked_seed, ranked
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import IncompleteError, UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.io.files import WholeFile, make_folder, readable
from medical_tasks.io.output import tell, tell_private
from medical_tasks.io.table import align
from medical_tasks.io.tables import (
    TableRow,
    folded,
    has_columns,
    read_sheet,
    read_table,
    refuse,
    write_sheet,
)
from medical_tasks.models.usage import Usage, usage_said
from medical_tasks.runs.asking import open_construction_model
from medical_tasks.scoring.agreement import cohen_interval
from medical_tasks.scoring.estimates import Estimate, as_json
from medical_tasks.spec import UNANSWERED, Row

COLUMNS: Final = (
    "index", "id", "reviewer", "note", "calculator", "attribute",
    "accepts", "value", "unit", "verdict", "correction", "comment",
)  # fmt: skip
ELIGIBLE: Final = "the calculator is meant for this patient"
ADJUDICATOR: Final = "adjudicator"
MOST: Final = 20
_NAMES: Final = {"note_id": ("note_id", "id"), "note": ("patient_note", "note", "text")}
_FORM: Final = '{"note_id": "1", "note": "..."}'
_FILES: Final = "Give a file of notes to extract, of rows to check."
_NOTHING: Final = "not mentioned"
LEXICAL: Final = "lexical"
"""The model of `extract` and `check` that asks nobody: attributes by names and usual words."""
_TRUTHS: Final = {"yes": True, "no": False}
_EXTRACT, _PAIRS, _SHARES, _ENTITIES = (
    "extract.json",
    "extracted.jsonl",
    "shares.json",
    "entities.jsonl",
)

Pairs = Mapping[str, Pair]
"""Id of a pair to the pair."""
Cell = tuple[str, str]
"""Pair and attribute."""
Marks = dict[str, dict[Cell, tuple[str, object]]]
"""Reviewer and cell to the mark and the value that the reviewer leaves."""


def read_notes(path: Path) -> dict[str, str]:
    """Reads notes by their ids, of a file of any form."""
    notes: dict[str, str] = {}
    knows = has_columns(*map("|".join, _NAMES.values()))
    for row in read_table(path, record=_FORM, knows=knows).rows:
        cells = {
            folded(name): str(cell or "").strip() for name, cell in row.cells.items()
        }
        found = {
            ours: next((cells[name] for name in names if name in cells), "")
            for ours, names in _NAMES.items()
        }
        if lost := [
            " or ".join(_NAMES[name]) for name, cell in found.items() if not cell
        ]:
            raise UsageError(
                f"{path}: {row.at}: {', '.join(lost)} is missing or empty. A record is like {_FORM}"
            )

        if notes.setdefault(found["note_id"], found["note"]) != found["note"]:
            raise UsageError(
                f"{path}: {row.at}: its note_id names another note already. Give each note its own."
            )

    return notes


def _calculators(text: str | None) -> tuple[AnyCalculator, ...]:
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    return (
        tuple(
            dict.fromkeys(find(int(name) if name.isdigit() else name) for name in names)
        )
        or CALCULATORS
    )


class _Outcome(NamedTuple):
    """What an extractor, a model or words alone, made of notes.

    Attributes:
        failed: Question to the reason why it has no usable reply.
        usage: None where nothing was asked.
    """

    made: extraction.Extracted
    recipe: Mapping[str, object]
    failed: Mapping[str, str]
    usage: Usage | None


def _by_words(
    arguments: MedcalcExtract,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    settings: Mapping[str, object],
) -> _Outcome:
    """Extracts without a model; options of one are refused, since they would do nothing."""
    for option in ("model_args", "tries", "max_new_tokens", "forecast"):
        if option in declared.given(arguments):
            said = f"--{option.replace('_', '-')}"
            raise UsageError(
                f"{said}: --model {LEXICAL} asks no model. Leave {said} out."
            )

    tell(
        f"{len(notes):,} notes, {len(calculators)} calculators, by words alone. "
        "No model judges who is eligible: the reviewers must."
    )
    recipe = {**settings, "model": {"name": LEXICAL}}
    outcome = make_folder(arguments.folder) / _EXTRACT
    if outcome.is_file():
        before = construction.read_json(outcome, step="medcalc extract")
        if any(before.get(name) != value for name, value in recipe.items()):
            raise UsageError(
                f"{arguments.folder}: pairs were extracted there with other settings. "
                "Give another --folder."
            )

    return _Outcome(extraction.extract_by_words(notes, calculators), recipe, {}, None)


def _by_model(
    arguments: MedcalcExtract,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    settings: Mapping[str, object],
) -> _Outcome:
    """Attributes as a model reads them.

    It is asked once about each note, then up to twice about each pair of a note and a
    calculator.
    """
    more = 2 * len(notes) * len(calculators)
    tell(
        f"{len(notes):,} notes, {len(calculators)} calculators: {len(notes):,} questions, then "
        f"{more:,} at most."
    )
    with open_construction_model(
        arguments.model,
        arguments,
        settings,
        step=f"{arguments.benchmark} {arguments.step}",
        into=arguments.folder,
        forecast=arguments.forecast,
        what="pairs",
    ) as model:
        made = extraction.extract(notes, calculators, model)

    return _Outcome(made, model.recipe, model.failed, model.session.usage)


def _extract(arguments: MedcalcExtract) -> int:
    """Extracts pairs of note and calculator, and writes those that are kept.

    What is left out is told by reason: a user must see whether notes lack values, or
    the model could not be read.
    """
    folder, seed, most = arguments.folder, checked_seed(arguments.seed), arguments.most
    check_least({"--most": most})
    notes, calculators = (
        read_notes(arguments.source),
        _calculators(arguments.calculators),
    )
    settings = {
        "calculators": [each.slug for each in calculators],
        "source": file_sha256(arguments.source),
    }
    extractor = _by_words if arguments.model == LEXICAL else _by_model
    outcome = extractor(arguments, notes, calculators, settings)
    if arguments.forecast:
        return 0

    made = outcome.made
    lines = _drawn(made, notes, MOST if most is None else most, seed)
    refusal = f"{folder}: sheets of other pairs were exported from here. Work in another --folder."
    annotation.check_exported(
        folder / _SHARES, "pairs_sha256", lines, step="medcalc sheet", refusal=refusal
    )
    kept = Counter(line["calculator"] for line in lines)
    facts: dict[str, object] = {
        "notes": len(notes),
        "questions": made.passes,
        "dropped": +made.dropped,
        "kept": kept,
    }
    facts |= {
        "usage": outcome.usage,
        "sha256": construction.write_lines(folder / _PAIRS, lines),
    }
    own = {"open": arguments.open, "seed": seed, "failed": outcome.failed}
    construction.write_json(folder / _EXTRACT, {**outcome.recipe, **facts, **own})
    tell(
        "\n".join(
            align(
                ("not kept", "pairs"),
                [(why, f"{n:,}") for why, n in made.dropped.most_common() if n],
            )
        )
    )
    passes = ", ".join(
        f"{count:,} about {label}" for label, count in made.passes.items()
    )
    questions = f"Questions: {passes}." if passes else "No model was asked."
    tell(
        f"{len(lines):,} pairs of {len(kept)} calculators are kept. {questions}",
        **facts,
    )
    if outcome.usage is not None:
        tell(usage_said(outcome.usage))

    _tell_whose(folder)
    then = "The other pairs are written. " if lines else ""
    check_answered(
        outcome.failed,
        made.passes.total(),
        "questions have no usable reply",
        then=then,
        file=_EXTRACT,
    )

    return 0


def _drawn(
    made: extraction.Extracted, notes: Mapping[str, str], most: int, seed: int
) -> list[PairLine]:
    """The pairs that are kept, in the order of calculators and notes.

    Args:
        made: What was extracted. Pairs that are too many are counted among its dropped
            ones.
        notes: Name to text.
        most: How many pairs of a calculator are kept; the seed draws them.
        seed: Decides which.
    """
    of_each: dict[str, list[PairLine]] = defaultdict(list)
    for calculator, name, entities in made.kept:
        pair = Pair(
            id=f"{calculator.id}-{name}",
            note_id=name,
            calculator=calculator,
            note=notes[name],
            entities=entities,
        )
        of_each[calculator.slug].append(pair.line(entities))

    made.dropped["over --most of a calculator"] += sum(
        max(len(lines) - most, 0) for lines in of_each.values()
    )
    return [
        line
        for lines in of_each.values()
        for line in ranked(lines, seed, lambda line: line["id"])[:most]
    ]


def _pairs(folder: Path, file: str = _PAIRS, step: str = "medcalc extract") -> Pairs:
    records = construction.read_lines(folder / file, LINE_FIELDS, step=step)
    return {pair.id: pair for pair in map(Pair.read, records)}


def _is_open(folder: Path) -> bool:
    return bool(
        construction.read_json(folder / _EXTRACT, step="medcalc extract")["open"]
    )


def _is_released(source: Path) -> bool:
    with readable(source, missing=_FILES, again=_FILES):
        return file_sha256(source) == V1_TEST_SHA256


def _tell_whose(folder: Path) -> int:
    return 0 if _is_open(folder) else tell_private(folder)


# Sheets: a row for each attribute, and one for whether the calculator is meant for the
# patient.


def _cells(pair: Pair) -> dict[str, tuple[Input | None, object]]:
    items = {
        item.name: (item, pair.entities.get(item.name))
        for item in pair.calculator.inputs
    }
    return {ELIGIBLE: (None, True), **items}


def _rows(
    pairs: Pairs, cells: Iterable[tuple[Cell, str]], reviewer: str
) -> Iterator[dict[str, object]]:
    """The rows of a reviewer's sheet, an attribute of a note in each."""
    for number, ((key, attribute), comment) in enumerate(cells, start=1):
        pair = pairs[key]
        item, value = _cells(pair)[attribute]
        value, unit = (
            value if isinstance(value, list) and len(value) == 2 else (value, "")
        )
        place = f"notes/{construction.file_name(pair.note_id)}"
        accepts = item.expects if item else "yes or no"
        told = (number, key, reviewer, place, pair.calculator.name, attribute, accepts)
        shown = value if type(value) is float else _said(value)
        yield dict(zip(COLUMNS, (*told, shown, unit, "", "", comment), strict=True))


def _said(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_said, value))
    if value is None or isinstance(value, bool):
        return _NOTHING if value is None else "yes" if value else "no"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _sheet(arguments: MedcalcSheet) -> int:
    """Writes sheets for reviewers, and the notes beside them."""
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    pairs, names = _pairs(folder), annotation.parse_names(arguments.reviewers)
    if ADJUDICATOR in names:
        raise UsageError(
            f"--reviewers: {ADJUDICATOR} is who decides where two disagree. Give another name."
        )

    shares = annotation.shared_sheets(
        list(pairs), names, overlap=arguments.overlap or 0, seed=seed
    )
    made: PairShares = {"pairs_sha256": file_sha256(folder / _PAIRS), **shares}
    refusal = (
        f"{folder}: sheets were exported with other settings. Repeat that command, or move them "
        "away."
    )
    annotation.keep_once(folder / _SHARES, made, step="medcalc sheet", refusal=refusal)
    sheets = make_folder(folder / "sheets")
    make_folder(sheets / "notes")
    for pair in pairs.values():
        with WholeFile(
            sheets / "notes" / construction.file_name(pair.note_id), private=True
        ) as part:
            part.write(pair.note + "\n")

    cells = {
        name: [((key, each), "") for key in keys for each in _cells(pairs[key])]
        for name, keys in shares["sheets"].items()
    }
    annotation.write_sheets(
        sheets, COLUMNS, {name: _rows(pairs, own, name) for name, own in cells.items()}
    )
    for name, own in cells.items():
        tell(
            f"{sheets / name}.csv: {len(shares['sheets'][name]):,} pairs, {len(own):,} rows"
        )

    tell(
        "Mark each row o (right) or x, and put what is right into correction: a value with its "
        f"unit, or {_NOTHING}."
    )
    return _tell_whose(folder)


def _import(arguments: MedcalcImport) -> int:
    """Reads marked sheets back, and writes the pairs that are kept.

    Where two reviewers leave different values, an adjudicator decides first; until then
    no pair is written, and the step ends with exit code 5.
    """
    folder = arguments.folder
    # no earlier review is released for one that does not end
    (folder / _ENTITIES).unlink(missing_ok=True)
    pairs = _pairs(folder)
    shares: PairShares = construction.read_json(folder / _SHARES, step="medcalc sheet")
    rows = [
        row
        for path in arguments.paths
        for row in read_sheet(path, COLUMNS, numbers="correction")
    ]
    place = folder / "adjudication.csv"
    if place.exists() and ADJUDICATOR not in {_reviewed(row)[0] for row in rows}:
        rows += read_sheet(place, COLUMNS)

    marks, absent = _read_marks(arguments, rows, pairs, shares["sheets"])
    decided = marks.pop(ADJUDICATOR, {})
    agreement = [*_agreement(marks, pairs)]
    _adjudicated(place, rows, pairs, marks, decided)
    lines: list[PairLine] = []
    dropped, changed = Counter[str](), 0
    # what nobody decided is the same in all of them
    left = ChainMap(decided, *marks.values())
    for key, pair in pairs.items():
        found = {
            each: left[key, each][1] for each in _cells(pair) if (key, each) in left
        }
        meant = found.pop(ELIGIBLE, None)
        entities = {name: value for name, value in found.items() if value is not None}
        unmeant = "not reviewed" if meant is None else "not eligible"
        if (
            reason := extraction.lacking(pair.calculator, entities)
            if meant
            else unmeant
        ):
            dropped[reason] += 1
        else:
            changed += entities != pair.entities
            lines.append(pair.line(entities))

    construction.write_lines(folder / _ENTITIES, lines)
    made = {"kept": len(lines), "changed": changed, "dropped": dict(dropped)}
    construction.write_json(
        folder / "review.json", {"agreement": agreement, "without": absent, **made}
    )
    why = "".join(f", {count:,} {reason}" for reason, count in dropped.items())
    tell(
        f"{len(lines):,} of {len(pairs):,} pairs are kept, {changed:,} of them corrected{why}.",
        **made,
    )

    return _tell_whose(folder)


def _reviewed(row: TableRow) -> tuple[str, Cell]:
    name, key, attribute = (
        row.cells[each].strip() for each in ("reviewer", "id", "attribute")
    )
    return name, (key, attribute)


def _read_marks(
    arguments: MedcalcImport,
    rows: Iterable[TableRow],
    pairs: Pairs,
    sheets: Mapping[str, Sequence[str]],
) -> tuple[Marks, list[str]]:
    """What all sheets say, and whose are not there; an adjudicator may decide any cell.

    Problems are told together.
    """
    expected = {
        name: {(key, each) for key in keys for each in _cells(pairs[key])}
        for name, keys in sheets.items()
    }
    expected[ADJUDICATOR] = set().union(*expected.values())
    marks: Marks = {}
    problems: list[str] = []
    for row in rows:
        name, cell = _reviewed(row)
        if cell not in expected.get(name, ()) or cell in marks.get(name, ()):
            known = (
                "appears twice"
                if cell in marks.get(name, ())
                else "is no row of these sheets"
            )
            problems.append(f"{row.place('attribute')}: {known}")
        elif name != ADJUDICATOR or row.cells["verdict"].strip():
            problem, opinion = _opinion(
                row, arguments.blank_keeps, *_cells(pairs[cell[0]])[cell[1]]
            )
            marks.setdefault(name, {})[cell] = opinion
            problems += [problem] if problem else []

    absent, unsaid = annotation.missing_sheets(sheets, marks, partial=arguments.partial)
    lost = {
        name: len(expected[name] - own.keys())
        for name, own in marks.items()
        if name != ADJUDICATOR
    }
    said = [
        f"the sheet of {name}: {count} rows are lost"
        for name, count in lost.items()
        if count
    ]
    refuse([*problems, *unsaid, *said])

    return marks, absent


def _adjudicated(
    path: Path,
    rows: Iterable[TableRow],
    pairs: Pairs,
    marks: Marks,
    decided: Collection[Cell],
) -> None:
    """Ends where values differ that nobody decided.

    The adjudicator's sheet has all of them, with what was written into it.
    """
    said = _disagreed(marks)
    if not (waiting := said.keys() - set(decided)):
        return

    held = {
        cell: row.cells
        for row in rows
        for name, cell in [_reviewed(row)]
        if name == ADJUDICATOR
    }
    comments = {
        cell: held[cell]["comment"] if cell in held else ""
        for cell in dict.fromkeys((*said, *decided))
    }
    for cell, each in said.items():
        new, old = (
            "; ".join(f"{name}: {text}" for name, text in each.items()),
            comments[cell],
        )
        comments[cell] = old if new in old else f"{new}; before: {old}" if old else new

    made = zip(comments, _rows(pairs, comments.items(), ADJUDICATOR), strict=True)
    told = {
        cell: {name: cells[name] for name in ("verdict", "correction")}
        for cell, cells in held.items()
    }
    filled = (
        {**row, "note": f"sheets/{row['note']}", **told.get(cell, {})}
        for cell, row in made
    )
    write_sheet(path, COLUMNS, filled)
    raise IncompleteError(
        f"{len(waiting):,} attributes wait for adjudication in {path}: what was extracted, and in "
        "comment what each says. Have it marked as the other sheets, and import all of them "
        "together."
    )


def _opinion(
    row: TableRow, blank_keeps: bool, item: Input | None, value: object
) -> tuple[str, tuple[str, object]]:
    """What is wrong with a row, "" where nothing is.

    Its mark, and the value that its reviewer leaves.
    """
    mark = row.cells["verdict"].strip().casefold() or ("o" if blank_keeps else "")
    text = " ".join(row.cells["correction"].split())
    if mark not in ("o", "x"):
        return annotation.unknown_mark(
            row, "verdict", "o (right) or x (wrong)", mark
        ), ("", None)

    if mark == "o" or item is None:
        same, told = (
            ("what was extracted", _said(value)) if mark == "o" else ("no", "no")
        )
        rule = f"empty or {same} beside {mark}"
        said = annotation.unknown_mark(row, "correction", rule, text)
        return ("" if text.casefold() in ("", told.casefold()) else said), (
            mark,
            value if mark == "o" else False,
        )

    if fold(text) and is_missing(text):
        return "", (mark, None)

    correction = _TRUTHS.get(text.casefold(), "?") if isinstance(item, Flag) else text
    found, why = extraction.usable(item, correction)
    problem = (
        f"{row.place('correction')}: is {why or 'without a value'}; give {item.expects}, or "
        f"{_NOTHING}"
    )

    return (problem if found is None else ""), (mark, found)


def _disagreed(marks: Marks) -> dict[Cell, dict[str, str]]:
    """What each reviewer says of the cells that they leave with different values."""
    said: dict[Cell, dict[str, str]] = defaultdict(dict)
    for name, own in marks.items():
        for cell, (_, value) in own.items():
            said[cell][name] = _said(value)
    return {cell: each for cell, each in said.items() if len({*each.values()}) > 1}


def _agreement(marks: Marks, pairs: Pairs) -> Iterator[ReviewerAgreement]:
    """Compares each two reviewers on the cells that both marked.

    Kappa's interval draws notes whole.
    """
    for names, both, one, other in annotation.pairs_of_people(marks):
        (first, values), (second, others) = (
            zip(*one, strict=True),
            zip(*other, strict=True),
        )
        clusters = [pairs[key].note_id for key, _ in both]
        kappa = cohen_interval(first, second, classes=("o", "x"), clusters=clusters)
        same = sum(map(eq, map(_said, values), map(_said, others)))
        tell(
            f"{' and '.join(names)}: the same value on {same:,} of {len(both):,} attributes "
            f"({100 * same / len(both):.1f} %), Cohen's kappa of their verdicts "
            f"{f'{kappa.value:.3f}' if kappa.value == kappa.value else 'n/a'}"
        )
        yield {
            "reviewers": names,
            "cells": len(both),
            "same": same,
            "kappa": as_json(kappa),
        }


def split_notes(
    pairs: Sequence[Pair], *, train: float, seed: int
) -> dict[str, list[Pair]]:
    """Divides pairs into test and training ones.

    A note, white space and case aside, is in one of them.
    """
    texts = [" ".join(pair.note.split()).casefold() for pair in pairs]
    every = ranked(list(dict.fromkeys(texts)), seed, str)
    training = set(every[: round(train * len(every))])
    sides: dict[str, list[Pair]] = {"test": [], "train": []}
    for pair, text in zip(pairs, texts, strict=True):
        sides["train" if text in training else "test"].append(pair)

    return sides


def _release(arguments: MedcalcRelease) -> int:
    """Writes the pairs as rows of the dataset, and an exemplar for each calculator.

    The exemplars come from the training part, so that no test note is in a prompt.
    """
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    share = 0.2 if arguments.train is None else arguments.train
    if not 0 <= share < 1:
        raise UsageError(f"--train must be from 0 to under 1, got {share}.")

    is_open, pairs = (
        _is_open(folder),
        [*_pairs(folder, _ENTITIES, "medcalc import").values()],
    )
    sides = split_notes(pairs, train=share, seed=seed)
    if not sides["test"]:
        raise UsageError(
            f"{folder}: no note is left for the test part. Give more notes, or a smaller --train."
        )

    place = make_folder(folder / "release")
    shown: dict[str, object] = {}
    for split, some in sides.items():
        start = 1 if split == "test" else 1 + len(sides["test"])
        kind = "Extracted" if is_open else CREDENTIALED
        rows = [
            _official(number, pair, kind) for number, pair in enumerate(some, start)
        ]
        construction.write_lines(place / f"{split}.jsonl", rows)
        notes = len({row["Note ID"] for row in rows})
        tell(
            f"{place / split}.jsonl: {len(rows):,} rows of {notes:,} notes",
            **{split: len(rows)},
        )

    for row in ranked(rows, seed, lambda row: row["Note ID"]):
        reply = {
            "step_by_step_thinking": row["Ground Truth Explanation"],
            "answer": row["Ground Truth Answer"],
        }
        example = {
            "Patient Note": row["Patient Note"],
            "input_parameters": json.loads(row["Relevant Entities"]),
        }
        shown.setdefault(str(row["Calculator ID"]), {**example, "Response": reply})

    construction.write_json(place / "one_shot.json", shown)
    tell(
        f"{place / 'one_shot.json'}: an exemplar for {len(shown)} calculators",
        exemplars=len(shown),
    )
    dataset = "medcalc_bench" if is_open else "medcalc_own"
    tell(
        f"medical-tasks build {dataset} --config {OWN} --source {place / 'test.jsonl'}"
    )

    return _tell_whose(folder)


def _official(number: int, pair: Pair, note_type: str) -> Row:
    from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs

    entities, calculator = pair.entities, pair.calculator
    asked, result = (
        (pair.note, named_drugs(QUESTIONS[calculator.id][0], entities), entities),
        calculator.calculate(entities),
    )
    row = synthetic_row(
        number, pair.note_id, calculator, asked, result.answer_text, result.explanation
    )

    return {official: row[ours] for official, ours in OFFICIAL_COLUMNS.items()} | {
        "Note Type": note_type
    }


def _check(arguments: MedcalcCheck) -> int:
    """Measures how well an extractor finds the entities of rows whose entities are known."""
    check_least({"--max-samples": arguments.max_samples})
    rows = _rows_to_check(arguments)
    notes = {
        str(row["row_number"]): (row["patient_note"], find(row["calculator_id"]))
        for row in rows
    }
    unread = 0
    if arguments.model == LEXICAL:
        given = [
            extraction.lexical(note, calculator) for note, calculator in notes.values()
        ]
    else:
        given, unread = _values_of_model(arguments, arguments.folder, notes)
        if arguments.forecast:
            return 0

    found = extraction.figures(rows, given)
    shares = [(kind, *map(_share, some.values())) for kind, some in found.items()]
    tell("\n".join(align(("type", *found["all"]), shares)))
    content = {
        kind: {name: as_json(each) for name, each in some.items()}
        for kind, some in found.items()
    }
    tell(
        f"\n{len(rows):,} rows, {arguments.model}. Without a usable reply, so that nothing is "
        f"found: {unread:,}",
        rows=len(rows),
        unread=unread,
        figures=content,
    )

    return 0


def _rows_to_check(arguments: MedcalcCheck) -> Sequence[Row]:
    """The rows whose entities are known and were read from a note, drawn by the seed.

    Rows of templates are left out: their notes say attributes in the calculators' own
    words.
    """
    source, chosen = (
        arguments.source,
        {each.id for each in _calculators(arguments.calculators)},
    )
    read: Iterable[Row]
    if _is_released(source):
        read = read_rows("v1.0", "test", {"test": source})
    else:
        read = read_own_rows(source, credentialed=policy.protecting())

    known = (
        row
        for row in read
        if row["relevant_entities"] and row["note_type"] != "Template"
    )
    rows = [row for row in known if row["calculator_id"] in chosen]
    if not rows:
        raise UsageError(
            f"{source}: no row of these calculators has entities to compare with."
        )

    drawn = ranked(
        rows, checked_seed(arguments.seed), lambda row: str(row["row_number"])
    )
    return drawn[: arguments.max_samples]


def _values_of_model(
    arguments: MedcalcCheck,
    folder: Path | None,
    notes: Mapping[str, tuple[str, AnyCalculator]],
) -> tuple[list[extraction.Entities], int]:
    """The entities that a model finds in each note, and how many notes have no usable reply.

    A reply that cannot be used counts as nothing found; no reply at all ends the step,
    since asking again may bring one.
    """
    if folder is None:
        raise UsageError(
            "construct medcalc check with a model needs --folder, where its replies are kept."
        )

    with open_construction_model(
        arguments.model,
        arguments,
        {"source": file_sha256(arguments.source)},
        step=f"{arguments.benchmark} {arguments.step}",
        into=folder,
        forecast=arguments.forecast,
        what="values",
    ) as model:
        replies = model.ask(
            [
                extraction.values_question(name, note, calculator.inputs, calculator)
                for name, (note, calculator) in notes.items()
            ]
        )

    if arguments.forecast:
        return [], 0

    lost = {
        name: why for name, why in model.failed.items() if why.startswith(UNANSWERED)
    }
    check_answered(
        lost,
        len(notes),
        "rows have no reply",
        then="Nothing is compared. ",
        file="the folder",
    )
    given = [
        extraction.read_values(calculator.inputs, replies.get(name, {}))[0]
        for name, (_, calculator) in notes.items()
    ]

    return given, len(model.failed)


def _share(each: Estimate) -> str:
    return (
        "n/a"
        if each.n == 0
        else f"{100 * each.value:.1f} ({100 * each.ci_low:.1f} to {100 * each.ci_high:.1f})"
    )


_Step = TypeVar(
    "_Step", MedcalcExtract, MedcalcSheet, MedcalcImport, MedcalcRelease, MedcalcCheck
)


def _guarded(step: Callable[[_Step], int], arguments: _Step) -> int:
    """Does a step, under the guard unless its notes are open.

    They are open where this command says so, or the one that read them did.
    """
    folder, source = arguments.folder, None
    attestation = policy.NOTHING_ATTESTED
    if isinstance(arguments, MedcalcExtract | MedcalcCheck):
        source, attestation = arguments.source, policy.attestation_from(arguments)
        is_open = arguments.open or _is_released(source)
    else:
        is_open = _is_open(arguments.folder)

    rule = (
        f"{source or folder}: notes are taken for credentialed unless --open says that they may "
        "go anywhere"
    )
    subject = policy.Subject(
        name="construct medcalc",
        dataset="medcalc_bench",
        access="credentialed",
        rule=rule,
    )
    with policy.protect([] if is_open else [subject], attestation):
        return step(arguments)


CONSTRUCTION = Construction(
    dataset=DATASET,
    steps={
        "extract": partial(_guarded, _extract),
        "sheet": partial(_guarded, _sheet),
        "import": partial(_guarded, _import),
        "release": partial(_guarded, _release),
        "check": partial(_guarded, _check),
    },
)
