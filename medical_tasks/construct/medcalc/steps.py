"""`medical-tasks construct medcalc`: rows like MedCalc-Bench's from one's own notes.

The method is the paper's (section 2.2, appendix A.1). Unless `--open` is given, notes are
treated as credentialed: without an attestation nothing leaves this machine, and the rows
are built as `medcalc_own`.
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
"""The value of `--model` for extraction without a model, by attributes' names and usual words."""
_TRUTHS: Final = {"yes": True, "no": False}
_EXTRACT, _PAIRS, _SHARES, _ENTITIES = (
    "extract.json",
    "extracted.jsonl",
    "shares.json",
    "entities.jsonl",
)

Pairs = Mapping[str, Pair]
"""Pairs by id."""
Cell = tuple[str, str]
"""Pair and attribute."""
Marks = dict[str, dict[Cell, tuple[str, object]]]
"""Reviewer and cell to the mark and the reviewer's value."""


def read_notes(path: Path) -> dict[str, str]:
    """Reads notes by id from a table in any supported format."""
    notes: dict[str, str] = {}
    knows = has_columns(*map("|".join, _NAMES.values()))
    for row in read_table(path, record=_FORM, knows=knows).rows:
        cells = {
            folded(name): str(cell or "").strip() for name, cell in row.cells.items()
        }
        fields = {
            ours: next((cells[name] for name in names if name in cells), "")
            for ours, names in _NAMES.items()
        }
        if missing := [
            " or ".join(_NAMES[name]) for name, cell in fields.items() if not cell
        ]:
            raise UsageError(
                f"{path}: {row.at}: {', '.join(missing)} is missing or empty. A record is like {_FORM}"
            )

        if notes.setdefault(fields["note_id"], fields["note"]) != fields["note"]:
            raise UsageError(
                f"{path}: {row.at}: its note_id is that of another note. Give each note its own."
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
    """The outcome of an extraction, by a model or by words alone.

    Attributes:
        failed: Question to the reason why it has no usable reply.
        usage: None if no model was asked.
    """

    extracted: extraction.Extracted
    recipe: Mapping[str, object]
    failed: Mapping[str, str]
    usage: Usage | None


def _by_words(
    arguments: MedcalcExtract,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    settings: Mapping[str, object],
) -> _Outcome:
    """Extracts without a model; refuses a model's options, which would have no effect."""
    for option in ("model_args", "tries", "max_new_tokens", "forecast"):
        if option in declared.set_values(arguments):
            option_name = f"--{option.replace('_', '-')}"
            raise UsageError(
                f"{option_name}: --model {LEXICAL} asks no model. Leave {option_name} out."
            )

    tell(
        f"{len(notes):,} notes, {len(calculators)} calculators, by words alone. "
        "No model judges eligibility: the reviewers must."
    )
    recipe = {**settings, "model": {"name": LEXICAL}}
    outcome = make_folder(arguments.folder) / _EXTRACT
    if outcome.is_file():
        previous = construction.read_json(outcome, step="medcalc extract")
        if any(previous.get(name) != value for name, value in recipe.items()):
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
    """Extracts with a model.

    The model is asked once about each note, then up to twice about each pair of a note
    and a calculator.
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
        extracted = extraction.extract(notes, calculators, model)

    return _Outcome(extracted, model.recipe, model.failed, model.session.usage)


def _extract(arguments: MedcalcExtract) -> int:
    """Extracts pairs of note and calculator, and writes those that are kept.

    Dropped pairs are reported by reason, so that the user sees whether notes lack values
    or replies were unreadable.
    """
    folder, seed, most = arguments.folder, checked_seed(arguments.seed), arguments.most
    check_least({"--most": most})
    notes, calculators = (
        read_notes(arguments.source),
        _calculators(arguments.calculators),
    )
    settings = {
        "calculators": [calculator.slug for calculator in calculators],
        "source": file_sha256(arguments.source),
    }
    extractor = _by_words if arguments.model == LEXICAL else _by_model
    outcome = extractor(arguments, notes, calculators, settings)
    if arguments.forecast:
        return 0

    extracted = outcome.extracted
    lines = _drawn(extracted, notes, MOST if most is None else most, seed)
    refusal = f"{folder}: sheets of other pairs were exported from here. Work in another --folder."
    annotation.check_exported(
        folder / _SHARES, "pairs_sha256", lines, step="medcalc sheet", refusal=refusal
    )
    kept = Counter(line["calculator"] for line in lines)
    facts: dict[str, object] = {
        "notes": len(notes),
        "questions": extracted.passes,
        "dropped": +extracted.dropped,
        "kept": kept,
    }
    facts |= {
        "usage": outcome.usage,
        "sha256": construction.write_lines(folder / _PAIRS, lines),
    }
    unreported = {"open": arguments.open, "seed": seed, "failed": outcome.failed}
    construction.write_json(
        folder / _EXTRACT, {**outcome.recipe, **facts, **unreported}
    )
    tell(
        "\n".join(
            align(
                ("not kept", "pairs"),
                [(why, f"{n:,}") for why, n in extracted.dropped.most_common() if n],
            )
        )
    )
    passes = ", ".join(
        f"{count:,} about {label}" for label, count in extracted.passes.items()
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
        extracted.passes.total(),
        "questions have no usable reply",
        then=then,
        file=_EXTRACT,
    )

    return 0


def _drawn(
    extracted: extraction.Extracted, notes: Mapping[str, str], most: int, seed: int
) -> list[PairLine]:
    """Draws the pairs to keep, in the order of calculators.

    Args:
        extracted: All extracted pairs. Surplus pairs are counted among its dropped ones.
        notes: Name to text.
        most: The most pairs kept for each calculator.
        seed: Decides which pairs are drawn.
    """
    by_calculator: dict[str, list[PairLine]] = defaultdict(list)
    for calculator, name, entities in extracted.kept:
        pair = Pair(
            id=f"{calculator.id}-{name}",
            note_id=name,
            calculator=calculator,
            note=notes[name],
            entities=entities,
        )
        by_calculator[calculator.slug].append(pair.line(entities))

    extracted.dropped["over --most of a calculator"] += sum(
        max(len(lines) - most, 0) for lines in by_calculator.values()
    )
    return [
        line
        for lines in by_calculator.values()
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


# Sheets have a row for each attribute, and a row for the patient's eligibility.


def _cells(pair: Pair) -> dict[str, tuple[Input | None, object]]:
    items = {
        item.name: (item, pair.entities.get(item.name))
        for item in pair.calculator.inputs
    }
    return {ELIGIBLE: (None, True), **items}


def _rows(
    pairs: Pairs, cells: Iterable[tuple[Cell, str]], reviewer: str
) -> Iterator[dict[str, object]]:
    """Yields the rows of a reviewer's sheet, one for each attribute of a pair."""
    for number, ((key, attribute), comment) in enumerate(cells, start=1):
        pair = pairs[key]
        item, value = _cells(pair)[attribute]
        value, unit = (
            value if isinstance(value, list) and len(value) == 2 else (value, "")
        )
        yield {
            "index": number,
            "id": key,
            "reviewer": reviewer,
            "note": f"notes/{construction.file_name(pair.note_id)}",
            "calculator": pair.calculator.name,
            "attribute": attribute,
            "accepts": item.expects if item else "yes or no",
            "value": value if type(value) is float else _cell_text(value),
            "unit": unit,
            "verdict": "",
            "correction": "",
            "comment": comment,
        }


def _cell_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell_text, value))
    if value is None or isinstance(value, bool):
        return _NOTHING if value is None else "yes" if value else "no"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _sheet(arguments: MedcalcSheet) -> int:
    """Writes sheets for reviewers, and the notes beside them."""
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    pairs, names = _pairs(folder), annotation.parse_names(arguments.reviewers)
    if ADJUDICATOR in names:
        raise UsageError(
            f"--reviewers: {ADJUDICATOR} is the name of the person who decides if reviewers "
            "disagree. Give another name."
        )

    shares = annotation.shared_sheets(
        list(pairs), names, overlap=arguments.overlap or 0, seed=seed
    )
    kept_shares: PairShares = {"pairs_sha256": file_sha256(folder / _PAIRS), **shares}
    refusal = (
        f"{folder}: sheets were exported with other settings. Repeat that command, or move them "
        "away."
    )
    annotation.keep_once(
        folder / _SHARES, kept_shares, step="medcalc sheet", refusal=refusal
    )
    sheets = make_folder(folder / "sheets")
    make_folder(sheets / "notes")
    for pair in pairs.values():
        with WholeFile(
            sheets / "notes" / construction.file_name(pair.note_id), private=True
        ) as stream:
            stream.write(pair.note + "\n")

    cells = {
        name: [
            ((key, attribute), "") for key in keys for attribute in _cells(pairs[key])
        ]
        for name, keys in shares["sheets"].items()
    }
    annotation.write_sheets(
        sheets,
        COLUMNS,
        {
            name: _rows(pairs, cell_comments, name)
            for name, cell_comments in cells.items()
        },
    )
    for name, cell_comments in cells.items():
        tell(
            f"{sheets / name}.csv: {len(shares['sheets'][name]):,} pairs, {len(cell_comments):,} rows"
        )

    tell(
        "Mark each row o (right) or x (wrong), and write the right value with its unit into "
        f"correction, or {_NOTHING}."
    )
    return _tell_whose(folder)


def _import(arguments: MedcalcImport) -> int:
    """Reads marked sheets, and writes the pairs that are kept.

    If reviewers disagree about a value, an adjudicator must decide. Until then no pair is
    written, and the step ends with exit code 5.
    """
    folder = arguments.folder
    # Otherwise `release` would use an earlier review after an unfinished one.
    (folder / _ENTITIES).unlink(missing_ok=True)
    pairs = _pairs(folder)
    shares: PairShares = construction.read_json(folder / _SHARES, step="medcalc sheet")
    rows = [
        row
        for path in arguments.paths
        for row in read_sheet(path, COLUMNS, numbers="correction")
    ]
    adjudication = folder / "adjudication.csv"
    if adjudication.exists() and ADJUDICATOR not in {_reviewed(row)[0] for row in rows}:
        rows += read_sheet(adjudication, COLUMNS)

    marks, absent = _read_marks(arguments, rows, pairs, shares["sheets"])
    decided = marks.pop(ADJUDICATOR, {})
    agreement = [*_agreement(marks, pairs)]
    _adjudicated(adjudication, rows, pairs, marks, decided)
    lines: list[PairLine] = []
    dropped, changed = Counter[str](), 0
    # The reviewers agree on all cells that the adjudicator did not decide.
    final = ChainMap(decided, *marks.values())
    for key, pair in pairs.items():
        values = {
            attribute: final[key, attribute][1]
            for attribute in _cells(pair)
            if (key, attribute) in final
        }
        eligible = values.pop(ELIGIBLE, None)
        entities = {name: value for name, value in values.items() if value is not None}
        if eligible:
            reason = extraction.lacking(pair.calculator, entities)
        else:
            reason = "not reviewed" if eligible is None else "not eligible"

        if reason:
            dropped[reason] += 1
        else:
            changed += entities != pair.entities
            lines.append(pair.line(entities))

    construction.write_lines(folder / _ENTITIES, lines)
    counts = {"kept": len(lines), "changed": changed, "dropped": dict(dropped)}
    construction.write_json(
        folder / "review.json", {"agreement": agreement, "without": absent, **counts}
    )
    why = "".join(f", {count:,} {reason}" for reason, count in dropped.items())
    tell(
        f"{len(lines):,} of {len(pairs):,} pairs are kept, {changed:,} of them corrected{why}.",
        **counts,
    )

    return _tell_whose(folder)


def _reviewed(row: TableRow) -> tuple[str, Cell]:
    name, key, attribute = (
        row.cells[column].strip() for column in ("reviewer", "id", "attribute")
    )
    return name, (key, attribute)


def _read_marks(
    arguments: MedcalcImport,
    rows: Iterable[TableRow],
    pairs: Pairs,
    sheets: Mapping[str, Sequence[str]],
) -> tuple[Marks, list[str]]:
    """Reads the marks of all sheets, and lists the people whose sheets are missing.

    The adjudicator may decide any cell. All problems are reported at once.
    """
    expected = {
        name: {(key, attribute) for key in keys for attribute in _cells(pairs[key])}
        for name, keys in sheets.items()
    }
    expected[ADJUDICATOR] = set().union(*expected.values())
    marks: Marks = {}
    problems: list[str] = []
    for row in rows:
        name, cell = _reviewed(row)
        if cell not in expected.get(name, ()) or cell in marks.get(name, ()):
            is_repeated = cell in marks.get(name, ())
            fault = "appears twice" if is_repeated else "is no row of these sheets"
            problems.append(f"{row.location('attribute')}: {fault}")
        elif name != ADJUDICATOR or row.cells["verdict"].strip():
            problem, opinion = _opinion(
                row, arguments.blank_keeps, *_cells(pairs[cell[0]])[cell[1]]
            )
            marks.setdefault(name, {})[cell] = opinion
            problems += [problem] if problem else []

    absent, absence_problems = annotation.missing_sheets(
        sheets, marks, partial=arguments.partial
    )
    lost = {
        name: len(expected[name] - own_marks.keys())
        for name, own_marks in marks.items()
        if name != ADJUDICATOR
    }
    lost_problems = [
        f"the sheet of {name}: {count} rows are lost"
        for name, count in lost.items()
        if count
    ]
    refuse([*problems, *absence_problems, *lost_problems])

    return marks, absent


def _adjudicated(
    path: Path,
    rows: Iterable[TableRow],
    pairs: Pairs,
    marks: Marks,
    decided: Collection[Cell],
) -> None:
    """Ends the step if reviewers' values differ and the adjudicator has not decided.

    Then the adjudicator's sheet is written with all such cells, keeping its marks.
    """
    disagreed = _disagreed(marks)
    if not (waiting := disagreed.keys() - set(decided)):
        return

    sheet_cells = {
        cell: row.cells
        for row in rows
        for name, cell in [_reviewed(row)]
        if name == ADJUDICATOR
    }
    comments = {
        cell: sheet_cells[cell]["comment"] if cell in sheet_cells else ""
        for cell in dict.fromkeys((*disagreed, *decided))
    }
    for cell, opinions in disagreed.items():
        comment = "; ".join(f"{name}: {text}" for name, text in opinions.items())
        earlier = comments[cell]
        if comment not in earlier:
            comments[cell] = f"{comment}; before: {earlier}" if earlier else comment

    marked = {
        cell: {name: cells[name] for name in ("verdict", "correction")}
        for cell, cells in sheet_cells.items()
    }
    rows_by_cell = zip(
        comments, _rows(pairs, comments.items(), ADJUDICATOR), strict=True
    )
    filled = (
        {**row, "note": f"sheets/{row['note']}", **marked.get(cell, {})}
        for cell, row in rows_by_cell
    )
    write_sheet(path, COLUMNS, filled)
    raise IncompleteError(
        f"{len(waiting):,} attributes wait for adjudication in {path}, which has the extracted "
        "values and, in comment, each reviewer's value. Have it marked like the other sheets, "
        "and import all of them together."
    )


def _opinion(
    row: TableRow, blank_keeps: bool, item: Input | None, value: object
) -> tuple[str, tuple[str, object]]:
    """Reads the problem of a row, "" if it has none, its mark, and the reviewer's value."""
    mark = row.cells["verdict"].strip().casefold() or ("o" if blank_keeps else "")
    text = " ".join(row.cells["correction"].split())
    if mark not in ("o", "x"):
        return annotation.unknown_mark(
            row, "verdict", "o (right) or x (wrong)", mark
        ), ("", None)

    if mark == "o":
        rule = "empty or what was extracted beside o"
        return _superfluous(row, text, rule, _cell_text(value)), (mark, value)
    if item is None:
        return _superfluous(row, text, "empty or no beside x", "no"), (mark, False)
    if fold(text) and is_missing(text):
        return "", (mark, None)

    correction = _TRUTHS.get(text.casefold(), "?") if isinstance(item, Flag) else text
    usable_value, reason = extraction.usable(item, correction)
    if usable_value is not None:
        return "", (mark, usable_value)

    return (
        f"{row.location('correction')}: is {reason or 'without a value'}; give {item.expects}, or "
        f"{_NOTHING}"
    ), (mark, None)


def _superfluous(row: TableRow, text: str, rule: str, accepted: str) -> str:
    """Refuses a correction that would contradict its mark; "" if it does not."""
    if text.casefold() in ("", accepted.casefold()):
        return ""
    return annotation.unknown_mark(row, "correction", rule, text)


def _disagreed(marks: Marks) -> dict[Cell, dict[str, str]]:
    """Returns each reviewer's value of the cells on which they disagree."""
    opinions: dict[Cell, dict[str, str]] = defaultdict(dict)
    for name, own_marks in marks.items():
        for cell, (_, value) in own_marks.items():
            opinions[cell][name] = _cell_text(value)
    return {
        cell: texts for cell, texts in opinions.items() if len({*texts.values()}) > 1
    }


def _agreement(marks: Marks, pairs: Pairs) -> Iterator[ReviewerAgreement]:
    """Compares each pair of reviewers on the cells that both marked.

    The interval of kappa draws whole notes.
    """
    for names, both, first_opinions, second_opinions in annotation.pairs_of_people(
        marks
    ):
        (first, values), (second, others) = (
            zip(*first_opinions, strict=True),
            zip(*second_opinions, strict=True),
        )
        clusters = [pairs[key].note_id for key, _ in both]
        kappa = cohen_interval(first, second, classes=("o", "x"), clusters=clusters)
        agreed = sum(map(eq, map(_cell_text, values), map(_cell_text, others)))
        tell(
            f"{' and '.join(names)}: the same value on {agreed:,} of {len(both):,} attributes "
            f"({100 * agreed / len(both):.1f} %), Cohen's kappa of their verdicts "
            f"{f'{kappa.value:.3f}' if kappa.value == kappa.value else 'n/a'}"
        )
        yield {
            "reviewers": names,
            "cells": len(both),
            "same": agreed,
            "kappa": as_json(kappa),
        }


def split_notes(
    pairs: Sequence[Pair], *, train: float, seed: int
) -> dict[str, list[Pair]]:
    """Splits pairs into a test and a training part.

    Pairs of the same note, ignoring white space and case, are in the same part.
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

    Exemplars come from the training part, so that no test note is in a prompt.
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

    release = make_folder(folder / "release")
    exemplars: dict[str, object] = {}
    for split, side in sides.items():
        start = 1 if split == "test" else 1 + len(sides["test"])
        kind = "Extracted" if is_open else CREDENTIALED
        rows = [
            _official(number, pair, kind) for number, pair in enumerate(side, start)
        ]
        construction.write_lines(release / f"{split}.jsonl", rows)
        notes = len({row["Note ID"] for row in rows})
        tell(
            f"{release / split}.jsonl: {len(rows):,} rows of {notes:,} notes",
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
        exemplars.setdefault(str(row["Calculator ID"]), {**example, "Response": reply})

    construction.write_json(release / "one_shot.json", exemplars)
    tell(
        f"{release / 'one_shot.json'}: an exemplar for {len(exemplars)} calculators",
        exemplars=len(exemplars),
    )
    dataset = "medcalc_bench" if is_open else "medcalc_own"
    tell(
        f"medical-tasks build {dataset} --config {OWN} --source {release / 'test.jsonl'}"
    )

    return _tell_whose(folder)


def _official(number: int, pair: Pair, note_type: str) -> Row:
    from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs

    entities, calculator = pair.entities, pair.calculator
    question, result = (
        (pair.note, named_drugs(QUESTIONS[calculator.id][0], entities), entities),
        calculator.calculate(entities),
    )
    row = synthetic_row(
        number,
        pair.note_id,
        calculator,
        question,
        result.answer_text,
        result.explanation,
    )

    return {official: row[ours] for official, ours in OFFICIAL_COLUMNS.items()} | {
        "Note Type": note_type
    }


def _check(arguments: MedcalcCheck) -> int:
    """Measures an extractor on rows whose entities are known."""
    check_least({"--max-samples": arguments.max_samples})
    rows = _rows_to_check(arguments)
    notes = {
        str(row["row_number"]): (row["patient_note"], find(row["calculator_id"]))
        for row in rows
    }
    unread = 0
    if arguments.model == LEXICAL:
        predicted = [
            extraction.lexical(note, calculator) for note, calculator in notes.values()
        ]
    else:
        predicted, unread = _values_of_model(arguments, arguments.folder, notes)
        if arguments.forecast:
            return 0

    figures = extraction.figures(rows, predicted)
    shares = [
        (kind, *map(_share, estimates.values())) for kind, estimates in figures.items()
    ]
    tell("\n".join(align(("type", *figures["all"]), shares)))
    content = {
        kind: {name: as_json(estimate) for name, estimate in estimates.items()}
        for kind, estimates in figures.items()
    }
    tell(
        f"\n{len(rows):,} rows, {arguments.model}. Without a usable reply, counted as without "
        f"entities: {unread:,}",
        rows=len(rows),
        unread=unread,
        figures=content,
    )

    return 0


def _rows_to_check(arguments: MedcalcCheck) -> Sequence[Row]:
    """Draws rows whose entities are known, with the seed.

    Rows made from templates are left out, since their notes name attributes in the
    calculators' own words.
    """
    source, chosen = (
        arguments.source,
        {calculator.id for calculator in _calculators(arguments.calculators)},
    )
    read: Iterable[Row]
    if _is_released(source):
        read = read_rows("v1.0", "test", {"test": source})
    else:
        read = read_own_rows(source, credentialed=policy.protecting())

    annotated = (
        row
        for row in read
        if row["relevant_entities"] and row["note_type"] != "Template"
    )
    rows = [row for row in annotated if row["calculator_id"] in chosen]
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
    """Returns a model's entities for each note, and the number of unusable replies.

    An unusable reply counts as no entities. A missing reply ends the step, since the next
    request may succeed.
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
    predicted = [
        extraction.read_values(calculator.inputs, replies.get(name, {}))[0]
        for name, (_, calculator) in notes.items()
    ]

    return predicted, len(model.failed)


def _share(estimate: Estimate) -> str:
    return (
        "n/a"
        if estimate.n == 0
        else f"{100 * estimate.value:.1f} ({100 * estimate.ci_low:.1f} to {100 * estimate.ci_high:.1f})"
    )


_Step = TypeVar(
    "_Step", MedcalcExtract, MedcalcSheet, MedcalcImport, MedcalcRelease, MedcalcCheck
)


def _guarded(step: Callable[[_Step], int], arguments: _Step) -> int:
    """Runs a step, under the guard unless its notes are open.

    Notes are open if this command or the one that extracted them says so.
    """
    folder, source = arguments.folder, None
    attestation = policy.NOTHING_ATTESTED
    if isinstance(arguments, MedcalcExtract | MedcalcCheck):
        source, attestation = arguments.source, policy.attestation_from(arguments)
        is_open = arguments.open or _is_released(source)
    else:
        is_open = _is_open(arguments.folder)

    rule = (
        f"{source or folder}: notes are treated as credentialed unless --open says that they may "
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
