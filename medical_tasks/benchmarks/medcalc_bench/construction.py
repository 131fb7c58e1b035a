"""`medical-tasks construct medcalc`: rows like MedCalc-Bench's from notes of one's own (paper, section 2.2, appendix A.1).

Notes are taken for credentialed unless `--open` is given: then nothing leaves this machine unattested, and nothing is built of them
under the name of the open dataset.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.data import (
    CREDENTIALED,
    OFFICIAL_COLUMNS,
    OWN,
    V1_TEST_SHA256,
    read_own_rows,
    read_rows,
)  # fmt: skip
from medical_tasks.benchmarks.medcalc_bench.extraction import (
    Extracted,
    classes_of,
    extract,
    figures,
    lacking,
    lexical,
    usable,
    values_question,
)  # fmt: skip
from medical_tasks.calculators import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.inputs import Choice, Flag, Input
from medical_tasks.data import construction
from medical_tasks.data.construction import SheetRow, check_answered, checked_seed, read_sheet, refuse, tell_private
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import IncompleteError, UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.io.files import WholeFile
from medical_tasks.io.json_records import is_text
from medical_tasks.io.output import tell
from medical_tasks.io.sheets import folded, read_table
from medical_tasks.io.table import align

NAMES: Final = {"note_id": ("note_id", "id"), "note": ("patient_note", "note", "text")}
COLUMNS: Final = (
    "index", "id", "reviewer", "note", "calculator", "attribute", "accepts", "value", "unit", "verdict", "correction",
    "comment",
)  # fmt: skip
ELIGIBLE: Final = "the calculator is meant for this patient"
ADJUDICATOR: Final = "adjudicator"
MOST: Final = 20
_FORM: Final = '{"note_id": "1", "note": "..."}'
_NOTHING: Final = "not mentioned"
_OTHERS: Final = "was begun with other settings ({}). Repeat that command to go on, or work in another --folder."
_EXTRACT, _PAIRS, _SHARES, _ENTITIES, _ADJUDICATION = (
    "extract.json", "extracted.jsonl", "shares.json", "entities.jsonl", "adjudication.csv",
)  # fmt: skip
_LINE: Final = {
    name: construction.private_field(is_text()) for name in ("id", "note_id", "calculator", "note", "entities")
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options that no other benchmark has."""
    group = parser.add_argument_group("medcalc")
    group.add_argument(
        "--open", action="store_true", help="extract, check: the notes are open, and may go to any model"
    )
    group.add_argument("--calculators", metavar="2,CrCl,...", help="extract, check: ids or names (default: all 55)")
    group.add_argument("--most", type=int, metavar="N", help=f"extract: notes a calculator at most (default {MOST})")
    group.add_argument("--forecast", action="store_true", help="extract, check: only say what asking would take")
    group.add_argument(
        "--train", type=float, metavar="SHARE", help="release: share of notes for training (default 0.2)"
    )


def read_notes(path: Path) -> dict[str, str]:
    """Reads notes by their ids, of a file of any form."""
    notes: dict[str, str] = {}
    for place, value in read_table(path, form=_FORM):
        cells = (
            {folded(name): str(cell or "").strip() for name, cell in value.items()} if isinstance(value, dict) else {}
        )
        found = {ours: next((cells[name] for name in names if name in cells), None) for ours, names in NAMES.items()}
        if lost := [" or ".join(NAMES[name]) for name, cell in found.items() if not cell]:
            raise UsageError(f"{path}: {place}: {', '.join(lost)} is missing or empty. A record is like {_FORM}")
        if notes.setdefault(str(found["note_id"]), str(found["note"])) != found["note"]:
            raise UsageError(f"{path}: {place}: its note_id names another note already. Give each note its own.")
    return notes


def _calculators(text: str | None) -> tuple[AnyCalculator, ...]:
    # An unknown one is a UsageError of its own.
    chosen = [find(int(name) if name.strip().isdigit() else name.strip()) for name in (text or "").split(",") if text]
    return tuple(dict.fromkeys(chosen)) or CALCULATORS


def _rank(*parts: object) -> bytes:
    return hashlib.sha256(":".join(map(str, parts)).encode()).digest()


@contextlib.contextmanager
def _asked(arguments: Namespace, folder: Path, settings: Mapping[str, Any], label: str) -> Iterator[Any]:
    """Opens the model as a judge is opened, with its store of replies."""
    from medical_tasks.judges.base import JudgeOptions
    from medical_tasks.judges.session import NEUTRAL_JUDGE_ARGS, open_session
    from medical_tasks.models.opener import deciding_args, full_name, parse_model_args
    from medical_tasks.runs.folder import locked, open_run_folder

    tries, longest = arguments.tries or 3, arguments.max_new_tokens
    check_least({"--tries": arguments.tries, "--max-new-tokens": longest, "--most": getattr(arguments, "most", None)})
    name, args = full_name(arguments.model), parse_model_args(arguments.model_args or "")
    deciding = deciding_args(name, args, neutral=NEUTRAL_JUDGE_ARGS)
    made = {**settings, "model": name, "args": deciding, "tries": tries, "max_new_tokens": longest}
    options = JudgeOptions(reasks=tries - 1, reply_tokens=longest, forecast=arguments.forecast)
    run = open_run_folder(construction.make_folder(folder) / label, made, private=policy.protecting(), refusal=_OTHERS)
    how: dict[str, Any] = {"store": run.answers, "log_dir": run.logs, "label": label, "must_read": True}
    with locked(run), open_session(name, args, options, **how) as session:
        yield session


def _extract(arguments: Namespace) -> int:
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    notes, calculators = read_notes(arguments.source), _calculators(arguments.calculators)
    most = MOST if arguments.most is None else arguments.most
    tell(
        f"{len(notes):,} notes, {len(calculators)} calculators: {len(notes):,} questions about attributes, and at most "
        f"{2 * len(notes) * len(calculators):,} more about eligibility and values."
    )
    settings = {"source": file_sha256(arguments.source), "calculators": [each.slug for each in calculators]}
    with _asked(arguments, folder, settings, "asking") as session:
        made = extract(notes, calculators, session)
    if arguments.forecast:
        tell("Nothing was asked and nothing is written.", foreseen=session.foreseen)
        return 0
    lines = _drawn(made, notes, most, seed)
    if (folder / _SHARES).exists():
        known = construction.read_json(folder / _SHARES, step="medcalc sheet")["pairs_sha256"]
        if known != construction.lines_sha256(lines):
            raise UsageError(
                f"{folder}: sheets of other pairs were exported from here. Move {_SHARES} and the folder sheets away first, or "
                "work in another --folder."
            )
    by_calculator = Counter(line["calculator"] for line in lines)
    facts = {
        "notes": len(notes), "kept": len(lines), "by_calculator": dict(by_calculator), "dropped": dict(+made.dropped),
        "questions": made.passes, "asked_again": session.stats.reasked, "usage": session.usage,
    }  # fmt: skip
    recipe = {**settings, "seed": seed, "most": most, "model": dict(session.identity), "open": arguments.open}
    digest = construction.write_lines(folder / _PAIRS, lines)
    construction.write_json(folder / _EXTRACT, {"recipe": recipe, **facts, "failed": made.failed, "sha256": digest})
    from medical_tasks.models.usage import usage_said

    rows = [(reason, f"{count:,}") for reason, count in made.dropped.most_common() if count]
    tell("\n".join(align(("not kept", "pairs"), rows)))
    passes = ", ".join(f"{count:,} about {label}" for label, count in made.passes.items())
    tell(f"{len(lines):,} pairs of {len(by_calculator)} calculators are kept. Questions: {passes}.", **facts)
    tell(usage_said(session.usage))
    if not arguments.open:
        tell_private(folder)
    total, lack = sum(made.passes.values()), "questions have no usable reply"
    check_answered(made.failed, total, lack, then="The other pairs are written. ", file=_EXTRACT)
    return 0


def _drawn(made: Extracted, notes: Mapping[str, str], most: int, seed: int) -> list[dict[str, str]]:
    """The pairs that are kept, at most so many of a calculator, in the order of calculators and notes."""
    of_each: dict[str, list[dict[str, str]]] = defaultdict(list)
    for calculator, name, entities in made.kept:
        line = {"id": f"{calculator.id}-{name}", "note_id": name, "calculator": calculator.slug, "note": notes[name]}
        of_each[calculator.slug].append({**line, "entities": json.dumps(entities)})
    made.dropped["over the most of a calculator"] += sum(max(len(lines) - most, 0) for lines in of_each.values())
    drawn = {slug: sorted(lines, key=lambda line: _rank(seed, line["id"]))[:most] for slug, lines in of_each.items()}
    return [line for slug, lines in of_each.items() for line in lines if line in drawn[slug]]


def _pairs(folder: Path, file: str = _PAIRS, step: str = "medcalc extract") -> dict[str, dict[str, Any]]:
    lines = construction.read_lines(folder / file, _LINE, step=step)
    return {
        line.values["id"]: {
            **line.values,
            "calculator": find(line.values["calculator"]),
            "entities": json.loads(line.values["entities"]),
        }
        for line in lines
    }


def _is_open(folder: Path) -> bool:
    return bool(construction.read_json(folder / _EXTRACT, step="medcalc extract")["recipe"]["open"])


# Sheets: a row for each attribute, and one for whether the calculator is meant for the patient.


def _cells(pair: Mapping[str, Any]) -> dict[str, tuple[Input | None, object]]:
    items = {item.name: (item, pair["entities"].get(item.name)) for item in pair["calculator"].inputs}
    return {ELIGIBLE: (None, True), **items}


def _row(number: int, pair: Mapping[str, Any], attribute: str, reviewer: str, comment: str = "") -> dict[str, object]:
    item, value = _cells(pair)[attribute]
    accepts = "yes or no" if item is None else ", ".join(classes_of(item)) if isinstance(item, Choice) else item.expects
    number_of, unit = value if isinstance(value, list) and len(value) == 2 else (value, "")
    cells = {
        "index": number, "id": pair["id"], "reviewer": reviewer, "calculator": pair["calculator"].name,
        "note": f"notes/{construction.file_name(pair['note_id'])}", "attribute": attribute, "accepts": accepts,
        "value": _said(number_of), "unit": unit, "comment": comment,
    }  # fmt: skip
    return {**dict.fromkeys(COLUMNS, ""), **cells}


def _said(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_said, value))
    if value is None or isinstance(value, bool):
        return {None: _NOTHING, True: "yes", False: "no"}[value]
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _sheet(arguments: Namespace) -> int:
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    pairs, names = _pairs(folder), construction.parse_names(arguments.reviewers)
    if ADJUDICATOR in names:
        raise UsageError(f"--reviewers: {ADJUDICATOR} is who decides where two disagree. Give another name.")
    shares = construction.share_out(list(pairs), names, overlap=arguments.overlap or 0, seed=seed)
    made = {
        "pairs_sha256": construction.text_sha256(folder / _PAIRS),
        "sheets": {name: construction.sheet_order(shares, name, seed=seed) for name in names},
        "first": {key: chosen[0] for key, chosen in shares.items()},
    }
    if (folder / _SHARES).exists() and construction.read_json(folder / _SHARES, step="medcalc sheet") != made:
        raise UsageError(f"{folder}: sheets were exported with other settings. Repeat that command, or move them away.")
    construction.write_json(folder / _SHARES, made)
    sheets = construction.make_folder(folder / "sheets")
    construction.make_folder(sheets / "notes")
    for pair in pairs.values():
        with WholeFile(sheets / "notes" / construction.file_name(pair["note_id"]), private=True) as part:
            part.write(pair["note"] + "\n")
    for name, keys in made["sheets"].items():
        cells = [(pairs[key], attribute) for key in keys for attribute in _cells(pairs[key])]
        if not (sheets / f"{name}.csv").exists():  # somebody may be at work on it
            rows = [_row(number, *cell, name) for number, cell in enumerate(cells, start=1)]
            construction.write_sheet(sheets / f"{name}.csv", COLUMNS, rows)
        tell(f"{sheets / name}.csv: {len(keys):,} pairs, {len(cells):,} rows")
    tell(f"Mark each row o (right) or x, and put what is right into correction: a value with its unit, or {_NOTHING}.")
    return 0 if _is_open(folder) else tell_private(folder)


Cell = tuple[str, str]  # a pair and an attribute


def _import(arguments: Namespace) -> int:
    folder = arguments.folder
    pairs, shares = _pairs(folder), construction.read_json(folder / _SHARES, step="medcalc sheet")
    expected = {
        (name, key, attribute)
        for name, keys in shares["sheets"].items()
        for key in keys
        for attribute in _cells(pairs[key])
    }
    opinions: dict[tuple[str, str, str], object] = {}
    marks: dict[tuple[str, str, str], str] = {}
    problems: list[str] = []
    rows = [row for path in arguments.paths for row in read_sheet(path, COLUMNS)]
    rows.sort(key=lambda row: row.cells["reviewer"] == ADJUDICATOR)
    disagreed: dict[Cell, dict[str, object]] | None = None
    for row in rows:
        key = (row.cells["reviewer"].strip(), row.cells["id"].strip(), row.cells["attribute"].strip())
        if key[0] == ADJUDICATOR and disagreed is None:
            disagreed = _disagreed(opinions)
            expected |= {(ADJUDICATOR, *cell) for cell in disagreed}
        if key not in expected or key in marks:
            problems.append(
                f"{row.place('attribute')}: {'stands twice' if key in marks else 'is no row of these sheets'}"
            )
            continue
        marks[key] = row.cells["verdict"].strip().casefold() or ("o" if arguments.blank_keeps else "")
        item, value = _cells(pairs[key[1]])[key[2]]
        problem, opinions[key] = _opinion(row, marks[key], item, value)
        problems += [problem] if problem else []
    given = {name for name, *_ in marks}
    absent = [name for name, keys in shares["sheets"].items() if keys and name not in given]
    if absent and not arguments.partial:
        problems.append(f"no sheet of {', '.join(absent)} is among the files; to go on without, add --partial")
    lost = Counter(name for name, *cell in expected if name in given and (name, *cell) not in marks)
    problems += [f"the sheet of {name}: {count} rows are lost" for name, count in lost.items()]
    refuse(problems)
    agreement = _agreement(opinions, marks, pairs)
    for each in agreement:
        kappa = each["kappa"]["value"]
        tell(
            f"{' and '.join(each['reviewers'])}: the same value on {each['same']:,} of {each['cells']:,} attributes "
            f"({100 * each['same'] / each['cells']:.1f} %), Cohen's kappa of their verdicts "
            f"{'n/a' if kappa is None else f'{kappa:.3f}'}"
        )
    waiting = {cell: said for cell, said in _disagreed(opinions).items() if (ADJUDICATOR, *cell) not in opinions}
    construction.write_json(
        folder / "review.json", {"agreement": agreement, "waiting": len(waiting), "without": absent}
    )
    if waiting:
        _adjudicate(folder / _ADJUDICATION, waiting, pairs)
    return _finish(folder, opinions, pairs, shares["first"], agreement)


def _opinion(row: SheetRow, mark: str, item: Input | None, value: object) -> tuple[str, object]:
    """What is wrong with a row, "" where nothing is, and the value that its reviewer leaves."""
    if mark not in ("o", "x"):
        return f"{row.place('verdict')}: must be o (right) or x (wrong), got a text of {len(mark)} characters", None
    if mark == "o" or item is None:
        return "", value if mark == "o" else False
    text: object = row.cells["correction"].strip()
    if text == _NOTHING:
        return "", None
    if isinstance(item, Flag):
        text = {"yes": True, "no": False, "true": True, "false": False}.get(str(text).casefold(), "")
    found, why = usable(item, text)
    if found is None:
        why = why or "nothing"
        return f"{row.place('correction')}: is {why}; give {item.expects}, or {_NOTHING}", None
    return "", found


def _disagreed(opinions: Mapping[tuple[str, str, str], object]) -> dict[Cell, dict[str, object]]:
    said: dict[Cell, dict[str, object]] = defaultdict(dict)
    for (name, *cell), value in opinions.items():
        if name != ADJUDICATOR:
            said[cell[0], cell[1]][name] = value
    return {cell: each for cell, each in said.items() if len({_said(value) for value in each.values()}) > 1}


def _agreement(
    opinions: Mapping[tuple[str, str, str], object], marks: Mapping[tuple[str, str, str], str], pairs: Mapping[str, Any]
) -> list[dict[str, Any]]:
    from medical_tasks.scoring.agreement import cohen_interval
    from medical_tasks.scoring.estimates import as_json

    made = []
    cells = {
        name: [key[1:] for key in marks if key[0] == name] for name in sorted({key[0] for key in marks} - {ADJUDICATOR})
    }
    for one, other in combinations(cells, 2):
        both = [cell for cell in cells[one] if (other, *cell) in marks]
        if both:
            verdicts = [[marks[name, *cell] for cell in both] for name in (one, other)]
            notes = [pairs[key]["note_id"] for key, _ in both]
            same = sum(_said(opinions[one, *cell]) == _said(opinions[other, *cell]) for cell in both)
            kappa = as_json(cohen_interval(*verdicts, classes=("o", "x"), clusters=notes))
            made.append({"reviewers": [one, other], "cells": len(both), "same": same, "kappa": kappa})
    return made


def _adjudicate(path: Path, waiting: Mapping[Cell, Mapping[str, object]], pairs: Mapping[str, Any]) -> None:
    if not path.exists():  # somebody may be at work on it
        rows = []
        for number, ((key, attribute), said) in enumerate(waiting.items(), start=1):
            comment = "; ".join(f"{name}: {_said(value)}" for name, value in said.items())
            rows.append(_row(number, pairs[key], attribute, ADJUDICATOR, comment))
        construction.write_sheet(path, COLUMNS, rows)
    raise IncompleteError(
        f"{len(waiting):,} attributes wait for adjudication in {path}: what was extracted, and in comment what each says. "
        "Have it marked as the other sheets, and import all of them together."
    )


def _finish(
    folder: Path, opinions: Mapping[Any, object], pairs: Mapping[str, Any], first: Mapping[str, str], agreement: Any
) -> int:
    lines, dropped = [], Counter[str]()
    for key, pair in pairs.items():
        final: dict[str, object] = {}
        for attribute in _cells(pair):
            who = next((name for name in (ADJUDICATOR, first[key]) if (name, key, attribute) in opinions), None)
            final[attribute] = opinions[who, key, attribute] if who else None
        entities = {name: value for name, value in final.items() if name != ELIGIBLE and value is not None}
        eligible = {None: "not reviewed", False: "not eligible"}.get(final[ELIGIBLE], "")  # type: ignore[call-overload]
        if reason := eligible or lacking(pair["calculator"], entities):
            dropped[reason] += 1
            continue
        lines.append({**pair, "calculator": pair["calculator"].slug, "entities": json.dumps(entities)})
    changed = sum(json.loads(line["entities"]) != pairs[line["id"]]["entities"] for line in lines)
    digest = construction.write_lines(folder / _ENTITIES, lines)
    made = {"kept": len(lines), "changed": changed, "dropped": dict(dropped), "sha256": digest}
    construction.write_json(folder / "review.json", {"agreement": agreement, **made})
    why = "".join(f", {count:,} {reason}" for reason, count in dropped.items())
    tell(f"{len(lines):,} of {len(pairs):,} pairs are kept, {changed:,} of them corrected{why}.", **made)
    return 0 if _is_open(folder) else tell_private(folder)


def split_notes(pairs: Sequence[Mapping[str, Any]], *, train: float, seed: int) -> tuple[list[Any], list[Any]]:
    """Divides pairs into test and training ones; a note, white space and case aside, is in one of them."""
    texts = [" ".join(pair["note"].split()).casefold() for pair in pairs]
    ranked = sorted(dict.fromkeys(texts), key=lambda text: _rank(seed, text))
    training = set(ranked[: round(train * len(ranked))])
    sides: tuple[list[Any], list[Any]] = ([], [])
    for pair, text in zip(pairs, texts, strict=True):
        sides[text in training].append(pair)
    return sides


def _release(arguments: Namespace) -> int:
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    share = 0.2 if arguments.train is None else arguments.train
    if not 0 <= share < 1:
        raise UsageError(f"--train must be from 0 to under 1, got {share}.")
    pairs = [*_pairs(folder, _ENTITIES, "medcalc import").values()]
    sides = dict(zip(("test", "train"), split_notes(pairs, train=share, seed=seed), strict=True))
    if not sides["test"]:
        raise UsageError(f"{folder}: no note is left for the test part. Give more notes, or a smaller --train.")
    place = construction.make_folder(folder / "release")
    start = 1
    for split, some in sides.items():
        path = place / f"{split}.jsonl"
        construction.write_lines(path, [_official(number, pair) for number, pair in enumerate(some, start=start)])
        start += len(some)
        # What `build` will make of them: gold, limits and explanation are computed in one place.
        rows = read_own_rows(path, credentialed=True) if some else []
        named = [{official: row[ours] for official, ours in OFFICIAL_COLUMNS.items()} for row in rows]
        kind = "Extracted" if _is_open(folder) else CREDENTIALED
        construction.write_lines(path, [{**row, "Note Type": kind} for row in named])
        tell(f"{path}: {len(named):,} rows of {len({row['Note ID'] for row in named}):,} notes", **{split: len(named)})
        if split == "train":
            shown: dict[str, Any] = {}
            for row in sorted(named, key=lambda row: _rank(seed, row["Note ID"])):
                reply = {"step_by_step_thinking": row["Ground Truth Explanation"], "answer": row["Ground Truth Answer"]}
                entities = json.loads(row["Relevant Entities"])
                example = {"Response": reply, "Patient Note": row["Patient Note"], "input_parameters": entities}
                shown.setdefault(str(row["Calculator ID"]), example)
            construction.write_json(place / "one_shot.json", shown)
            tell(f"{place / 'one_shot.json'}: an exemplar for {len(shown)} calculators", exemplars=len(shown))
    if not _is_open(folder):
        return tell_private(folder)
    tell(f"medical-tasks build medcalc_bench --config {OWN} --source {place / 'test.jsonl'}")
    return 0


def _official(number: int, pair: Mapping[str, Any]) -> dict[str, Any]:
    from medical_tasks.benchmarks.medcalc_bench.fresh.rows import QUESTIONS

    entities, calculator = pair["entities"], pair["calculator"]
    question = QUESTIONS[calculator.id][0]
    if "{" in question:  # of the one that converts a steroid
        source, target = (entities[item.name] for item in calculator.inputs)
        question = question.format(source=_said(source), target=target)
    return {
        "Row Number": number, "Calculator ID": calculator.id, "Note ID": pair["note_id"], "Question": question,
        "Patient Note": pair["note"], "Relevant Entities": entities,
    }  # fmt: skip


def _check(arguments: Namespace) -> int:
    chosen = {each.id for each in _calculators(arguments.calculators)}
    check_least({"--max-samples": arguments.max_samples})
    known = file_sha256(arguments.source) == V1_TEST_SHA256
    every = (
        read_rows("v1.0", "test", {"test": arguments.source})
        if known
        else read_own_rows(arguments.source, credentialed=True)
    )
    rows = [row for row in every if row["note_type"] != "Template" and row["calculator_id"] in chosen]
    rows = [row for row in rows if row["relevant_entities"] and row["note_type"] != "Synthetic"] or rows
    rows.sort(key=lambda row: _rank(checked_seed(arguments.seed), row["row_number"]))
    rows = rows[: arguments.max_samples]
    if not rows:
        raise UsageError(f"{arguments.source}: no row of these calculators has entities to compare with.")
    calculators = [find(row["calculator_id"]) for row in rows]
    given = [lexical(row["patient_note"], each) for row, each in zip(rows, calculators, strict=True)]
    unread = 0
    if arguments.model != "lexical":
        if arguments.folder is None:
            raise UsageError("construct medcalc check with a model needs --folder, where its replies are kept.")
        questions = [
            values_question(str(row["row_number"]), row["patient_note"], each.inputs, each)
            for row, each in zip(rows, calculators, strict=True)
        ]
        with _asked(arguments, arguments.folder, {"source": file_sha256(arguments.source)}, "check") as session:
            outcomes = session.ask(questions)
        if arguments.forecast:
            return 0
        read = [json.loads(each.value) if hasattr(each, "value") else {} for each in outcomes]
        given = [
            {item.name: v for item in each.inputs if (v := usable(item, values.get(item.name))[0]) is not None}
            for each, values in zip(calculators, read, strict=True)
        ]
        unread = sum(not hasattr(each, "value") for each in outcomes)
    found = figures(rows, given)
    header = ("type", *found["all"])
    table = [(label, *(_share(each) for each in some.values())) for label, some in found.items()]
    tell("\n".join(align(header, table)))
    from medical_tasks.scoring.estimates import as_json

    content = {label: {name: as_json(each) for name, each in some.items()} for label, some in found.items()}
    tell(
        f"\n{len(rows):,} rows, {arguments.model}; rows without a usable reply, in which nothing is found: {unread:,}",
        rows=len(rows), unread=unread, figures=content,
    )  # fmt: skip
    return 0


def _share(each: Any) -> str:
    return "n/a" if each.n == 0 else f"{100 * each.value:.1f} ({100 * each.ci_low:.1f} to {100 * each.ci_high:.1f})"


def _guarded(step: Callable[[Namespace], int]) -> Callable[[Namespace], int]:
    """The step, under the guard unless its notes are open: as this command says, or the one that read them said."""

    def run(arguments: Namespace) -> int:
        folder, source = arguments.folder, arguments.source
        if source is None:
            is_open = _is_open(folder)
        else:
            is_open = arguments.open or (source.is_file() and file_sha256(source) == V1_TEST_SHA256)
        rule = f"{source or folder}: notes are taken for credentialed unless --open says that they may go anywhere"
        subject = policy.Subject(name="construct medcalc", dataset="medcalc_bench", access="credentialed", rule=rule)
        with policy.protect([] if is_open else [subject], policy.attestation_from(arguments)):
            return step(arguments)

    return run


_MODEL: Final = ("model_args", "tries", "max_new_tokens", "open", "calculators", "forecast", "seed")
_GUARD: Final = ("allow_remote", "attest_zero_retention")
STEPS: dict[str, tuple[Callable[[Namespace], int], tuple[str, ...], tuple[str, ...]]] = {
    "extract": (_guarded(_extract), ("folder", "source", "model"), ("most", *_MODEL, *_GUARD)),
    "sheet": (_guarded(_sheet), ("folder", "reviewers"), ("overlap", "seed")),
    "import": (_guarded(_import), ("folder", "paths"), ("blank_keeps", "partial")),
    "release": (_guarded(_release), ("folder",), ("train", "seed")),
    "check": (_guarded(_check), ("source", "model"), ("folder", "max_samples", *_MODEL, *_GUARD)),
}
"""Name to function, options it needs, options it takes."""
