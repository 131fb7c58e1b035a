"""`medical-tasks construct medcalc`: rows like MedCalc-Bench's from notes of one's own (paper, section 2.2, appendix A.1).

Notes are taken for credentialed unless `--open` is given: then nothing leaves this machine unattested, and no open dataset is
built of them.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench import extraction
from medical_tasks.benchmarks.medcalc_bench.data import CREDENTIALED, OFFICIAL_COLUMNS, OWN, V1_TEST_SHA256, read_rows
from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.calculators import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.inputs import Flag, Input
from medical_tasks.data import construction
from medical_tasks.data.construction import SheetRow, check_answered, checked_seed, ranked, tell_private
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import IncompleteError, UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.io.files import WholeFile, readable
from medical_tasks.io.json_records import is_text
from medical_tasks.io.output import tell
from medical_tasks.io.sheets import folded, read_table
from medical_tasks.io.table import align
from medical_tasks.judges.case import CUT, UNREADABLE

NAMES: Final = {"note_id": ("note_id", "id"), "note": ("patient_note", "note", "text")}
_FILLED_IN: Final = ("index", "id", "reviewer", "note", "calculator", "attribute", "accepts", "value", "unit")
COLUMNS: Final = (*_FILLED_IN, "verdict", "correction", "comment")
ELIGIBLE: Final = "the calculator is meant for this patient"
ADJUDICATOR: Final = "adjudicator"
MOST: Final = 20
_FORM: Final = '{"note_id": "1", "note": "..."}'
_FILES: Final = "Give a file of notes to extract, of rows to check."
_NOTHING: Final = "not mentioned"
_EXTRACT, _PAIRS, _SHARES, _ENTITIES = "extract.json", "extracted.jsonl", "shares.json", "entities.jsonl"
_LINE: Final = dict.fromkeys(("id", "note_id", "calculator", "note", "entities"), construction.private_field(is_text()))

Opinions = dict[tuple[str, str, str], tuple[str, object]]
"""Reviewer, pair and attribute to the mark and the value that the reviewer leaves."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options that no other benchmark has."""
    group = parser.add_argument_group("medcalc")
    group.add_argument("--open", action="store_true", help="extract, check: the notes may go to any model")
    group.add_argument("--calculators", metavar="2,CrCl,...", help="extract, check: ids or names (default: all 55)")
    group.add_argument("--most", type=int, metavar="N", help=f"extract: notes a calculator at most (default {MOST})")
    group.add_argument("--forecast", action="store_true", help="extract, check: only say what asking would take")
    group.add_argument("--train", type=float, metavar="SHARE", help="release: of notes, for training (default 0.2)")


def read_notes(path: Path) -> dict[str, str]:
    """Reads notes by their ids, of a file of any form."""
    notes: dict[str, str] = {}
    for place, value in read_table(path, form=_FORM):
        given = value.items() if isinstance(value, dict) else ()
        cells = {folded(name): str(cell or "").strip() for name, cell in given}
        found = {ours: next((cells[name] for name in names if name in cells), "") for ours, names in NAMES.items()}
        if lost := [" or ".join(NAMES[name]) for name, cell in found.items() if not cell]:
            raise UsageError(f"{path}: {place}: {', '.join(lost)} is missing or empty. A record is like {_FORM}")
        if notes.setdefault(found["note_id"], found["note"]) != found["note"]:
            raise UsageError(f"{path}: {place}: its note_id names another note already. Give each note its own.")
    return notes


def _calculators(text: str | None) -> tuple[AnyCalculator, ...]:
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    return tuple(dict.fromkeys(find(int(name) if name.isdigit() else name) for name in names)) or CALCULATORS


def _asked(arguments: Namespace, settings: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Opens the model as a judge is opened, with its store of replies."""
    from medical_tasks.judges.base import JudgeOptions
    from medical_tasks.models.opener import full_name, parse_model_args
    from medical_tasks.runs.decomposing import Written, asked
    from medical_tasks.runs.judging import JudgeRequest

    tries, longest = arguments.tries, arguments.max_new_tokens
    check_least({"--tries": tries, "--max-new-tokens": longest, "--most": arguments.most})
    options = JudgeOptions(reasks=(tries or 3) - 1, reply_tokens=longest, forecast=arguments.forecast)
    args = parse_model_args(arguments.model_args or "")
    request = JudgeRequest(name=full_name(arguments.model), args=args, options=options)
    work = construction.make_folder(arguments.folder) / "asking"
    named = work.with_name(arguments.step)  # no file: what comes of the replies is written by the steps
    written = Written(out=named, work=work, private=policy.protecting())
    settings = {"source": file_sha256(arguments.source), **settings}
    return asked(request, written, settings, texts="notes", sources=[arguments.source])


def _extract(arguments: Namespace) -> int:
    from medical_tasks.models.usage import usage_said

    folder, seed = arguments.folder, checked_seed(arguments.seed)
    notes, calculators = read_notes(arguments.source), _calculators(arguments.calculators)
    more = 2 * len(notes) * len(calculators)
    tell(f"{len(notes):,} notes, {len(calculators)} calculators: {len(notes):,} questions, then {more:,} at most.")
    settings = {"calculators": [each.slug for each in calculators]}
    with _asked(arguments, settings) as session:
        made = extraction.extract(notes, calculators, session)
    if arguments.forecast:
        return 0
    lines = _drawn(made, notes, MOST if arguments.most is None else arguments.most, seed)
    if (folder / _SHARES).exists():
        known = construction.read_json(folder / _SHARES, step="medcalc sheet").get("pairs_sha256")
        if known != construction.lines_sha256(lines):
            raise UsageError(f"{folder}: sheets of other pairs were exported from here. Work in another --folder.")
    facts = {
        "notes": len(notes),
        "questions": made.passes,
        "dropped": dict(+made.dropped),
        "kept": dict(Counter(line["calculator"] for line in lines)),
        "usage": session.usage,
        "model": dict(session.identity),
        "sha256": construction.write_lines(folder / _PAIRS, lines),
    }
    own = {"open": arguments.open, "seed": seed, "failed": made.failed}
    construction.write_json(folder / _EXTRACT, {**settings, **facts, **own})
    tell("\n".join(align(("not kept", "pairs"), [(why, f"{n:,}") for why, n in made.dropped.most_common() if n])))
    passes = ", ".join(f"{count:,} about {label}" for label, count in made.passes.items())
    tell(f"{len(lines):,} pairs of {len(facts['kept'])} calculators are kept. Questions: {passes}.", **facts)
    tell(usage_said(session.usage))
    _tell_whose(folder)
    total, lack = sum(made.passes.values()), "questions have no usable reply"
    check_answered(made.failed, total, lack, then="The other pairs are written. " if lines else "", file=_EXTRACT)
    return 0


def _drawn(made: extraction.Extracted, notes: Mapping[str, str], most: int, seed: int) -> list[dict[str, str]]:
    """The pairs that are kept, at most so many of a calculator, in the order of calculators and notes."""
    of_each: dict[str, list[dict[str, str]]] = defaultdict(list)
    for calculator, name, entities in made.kept:
        line = {"id": f"{calculator.id}-{name}", "note_id": name, "calculator": calculator.slug, "note": notes[name]}
        of_each[calculator.slug].append({**line, "entities": json.dumps(entities)})
    made.dropped["over --most of a calculator"] += sum(max(len(lines) - most, 0) for lines in of_each.values())
    return [line for lines in of_each.values() for line in ranked(lines, seed, lambda line: line["id"])[:most]]


def _pairs(folder: Path, file: str = _PAIRS, step: str = "medcalc extract") -> dict[str, dict[str, Any]]:
    lines = [line.values for line in construction.read_lines(folder / file, _LINE, step=step)]
    read = ({"calculator": find(line["calculator"]), "entities": json.loads(line["entities"])} for line in lines)
    return {line["id"]: {**line, **more} for line, more in zip(lines, read, strict=True)}


def _is_open(folder: Path) -> bool:
    return bool(construction.read_json(folder / _EXTRACT, step="medcalc extract")["open"])


def _is_released(source: Path) -> bool:
    with readable(source, missing=_FILES, again=_FILES):
        return file_sha256(source) == V1_TEST_SHA256


def _tell_whose(folder: Path) -> int:
    return 0 if _is_open(folder) else tell_private(folder)


# Sheets: a row for each attribute, and one for whether the calculator is meant for the patient.


def _cells(pair: Mapping[str, Any]) -> dict[str, tuple[Input | None, object]]:
    items = {item.name: (item, pair["entities"].get(item.name)) for item in pair["calculator"].inputs}
    return {ELIGIBLE: (None, True), **items}


def _rows(cells: Sequence[tuple[Mapping[str, Any], str, str]], reviewer: str) -> list[dict[str, object]]:
    rows = []
    for number, (pair, attribute, comment) in enumerate(cells, start=1):
        item, value = _cells(pair)[attribute]
        value, unit = value if isinstance(value, list) and len(value) == 2 else (value, "")
        place = f"notes/{construction.file_name(pair['note_id'])}"
        told = (number, pair["id"], reviewer, place, pair["calculator"].name, attribute, extraction.accepts(item))
        shown = value if type(value) is float else _said(value)
        rows.append(dict(zip(COLUMNS, (*told, shown, unit, "", "", comment), strict=True)))
    return rows


def _said(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_said, value))
    if value is None or isinstance(value, bool):
        return _NOTHING if value is None else "yes" if value else "no"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _sheet(arguments: Namespace) -> int:
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    pairs, names = _pairs(folder), construction.parse_names(arguments.reviewers)
    if ADJUDICATOR in names:
        raise UsageError(f"--reviewers: {ADJUDICATOR} is who decides where two disagree. Give another name.")
    shares = construction.share_out(list(pairs), names, overlap=arguments.overlap or 0, seed=seed)
    made: dict[str, Any] = {
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
        rows = _rows([(pairs[key], attribute, "") for key in keys for attribute in _cells(pairs[key])], name)
        if not (sheets / f"{name}.csv").exists():  # somebody may be at work on it
            construction.write_sheet(sheets / f"{name}.csv", COLUMNS, rows)
        tell(f"{sheets / name}.csv: {len(keys):,} pairs, {len(rows):,} rows")
    tell(f"Mark each row o (right) or x, and put what is right into correction: a value with its unit, or {_NOTHING}.")
    return _tell_whose(folder)


def _import(arguments: Namespace) -> int:
    folder = arguments.folder
    pairs, shares = _pairs(folder), construction.read_json(folder / _SHARES, step="medcalc sheet")
    sheets = shares["sheets"]
    expected = {(name, key, each) for name, keys in sheets.items() for key in keys for each in _cells(pairs[key])}
    opinions: Opinions = {}
    problems: list[str] = []
    rows = [row for path in arguments.paths for row in construction.read_sheet(path, COLUMNS)]
    rows.sort(key=lambda row: row.cells["reviewer"].strip() == ADJUDICATOR)
    decisive = False
    for row in rows:
        name, pair, attribute = (row.cells[each].strip() for each in ("reviewer", "id", "attribute"))
        key = (name, pair, attribute)
        if name == ADJUDICATOR and not decisive:
            decisive, expected = True, expected | {(name, *cell) for cell in _disagreed(opinions)}
        if key not in expected or key in opinions:
            problem = "stands twice" if key in opinions else "is no row of these sheets"
            problems.append(f"{row.place('attribute')}: {problem}")
            continue
        problem, opinions[key] = _opinion(row, arguments.blank_keeps, *_cells(pairs[pair])[attribute])
        problems += [problem] if problem else []
    given = {name for name, *_ in opinions}
    absent = [name for name, keys in sheets.items() if keys and name not in given]
    if absent and not arguments.partial:
        problems.append(f"no sheet of {', '.join(absent)} is among the files; to go on without, add --partial")
    lost = Counter(key[0] for key in expected - opinions.keys() if key[0] in given)
    construction.refuse([*problems, *(f"the sheet of {name}: {count} rows are lost" for name, count in lost.items())])
    agreement = _agreement(opinions, pairs)
    for each in agreement:
        kappa = each["kappa"]["value"]
        tell(
            f"{' and '.join(each['reviewers'])}: the same value on {each['same']:,} of {each['cells']:,} attributes "
            f"({100 * each['same'] / each['cells']:.1f} %), Cohen's kappa of their verdicts "
            f"{'n/a' if kappa is None else f'{kappa:.3f}'}"
        )
    waiting = {cell: said for cell, said in _disagreed(opinions).items() if (ADJUDICATOR, *cell) not in opinions}
    if waiting:
        path = folder / "adjudication.csv"
        if not path.exists():  # somebody may be at work on it
            cells = [(pairs[key], attribute, "; ".join(said)) for (key, attribute), said in waiting.items()]
            construction.write_sheet(path, COLUMNS, _rows(cells, ADJUDICATOR))
        raise IncompleteError(
            f"{len(waiting):,} attributes wait for adjudication in {path}: what was extracted, and in comment what each says. "
            "Have it marked as the other sheets, and import all of them together."
        )
    return _finish(folder, opinions, pairs, shares["first"], {"agreement": agreement, "without": absent})


def _opinion(row: SheetRow, blank_keeps: bool, item: Input | None, value: object) -> tuple[str, tuple[str, object]]:
    """What is wrong with a row, "" where nothing is; its mark, and the value that its reviewer leaves."""
    mark = row.cells["verdict"].strip().casefold() or ("o" if blank_keeps else "")
    text: Any = row.cells["correction"].strip()
    if mark not in ("o", "x"):
        said = f"must be o (right) or x (wrong), got a text of {len(mark)} characters"
        return f"{row.place('verdict')}: {said}", ("", None)
    if mark == "o" or item is None or text.casefold() == _NOTHING:
        return "", (mark, value if mark == "o" else False if item is None else None)
    if isinstance(item, Flag):
        text = {"yes": True, "no": False}.get(text.casefold(), "?")
    found, why = extraction.usable(item, text)
    problem = f"{row.place('correction')}: is {why or 'empty'}; give {extraction.accepts(item)}, or {_NOTHING}"
    return (problem if found is None else ""), (mark, found)


def _disagreed(opinions: Opinions) -> dict[tuple[str, str], list[str]]:
    """What each reviewer says of the cells that they leave with different values."""
    said: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for (name, key, attribute), (_, value) in opinions.items():
        if name != ADJUDICATOR:
            said[key, attribute][name] = _said(value)
    several = {cell: each for cell, each in said.items() if len({*each.values()}) > 1}
    return {cell: [f"{name}: {text}" for name, text in each.items()] for cell, each in several.items()}


def _agreement(opinions: Opinions, pairs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compares each two reviewers on the cells that both marked; kappa's interval draws notes whole."""
    from medical_tasks.scoring.agreement import cohen_interval
    from medical_tasks.scoring.estimates import as_json

    made = []
    for names in combinations(sorted({name for name, *_ in opinions} - {ADJUDICATOR}), 2):
        both = [(key, cell) for name, key, cell in opinions if name == names[0] and (names[1], key, cell) in opinions]
        if both:
            (one, first), (other, second) = (
                zip(*(opinions[name, key, cell] for key, cell in both), strict=True) for name in names
            )
            clusters = [pairs[key]["note_id"] for key, _ in both]
            kappa = as_json(cohen_interval(one, other, classes=("o", "x"), clusters=clusters))
            same = sum(_said(a) == _said(b) for a, b in zip(first, second, strict=True))
            made.append({"reviewers": [*names], "cells": len(both), "same": same, "kappa": kappa})
    return made


def _finish(
    folder: Path, opinions: Opinions, pairs: Mapping[str, Any], first: Mapping[str, str], review: dict[str, Any]
) -> int:
    lines, dropped, changed = [], Counter[str](), 0
    for key, pair in pairs.items():
        by = {cell: ((ADJUDICATOR, key, cell), (first[key], key, cell)) for cell in _cells(pair)}
        final = {cell: next((opinions[who][1] for who in some if who in opinions), None) for cell, some in by.items()}
        meant = final.pop(ELIGIBLE)
        entities = {name: value for name, value in final.items() if value is not None}
        ended = {None: "not reviewed", False: "not eligible"}
        if reason := extraction.lacking(pair["calculator"], entities) if meant else ended[meant]:  # type: ignore[index]
            dropped[reason] += 1
        else:
            changed += entities != pair["entities"]
            lines.append({**pair, "calculator": pair["calculator"].slug, "entities": json.dumps(entities)})
    construction.write_lines(folder / _ENTITIES, lines)
    made = {"kept": len(lines), "changed": changed, "dropped": dict(dropped)}
    construction.write_json(folder / "review.json", {**review, **made})
    why = "".join(f", {count:,} {reason}" for reason, count in dropped.items())
    tell(f"{len(lines):,} of {len(pairs):,} pairs are kept, {changed:,} of them corrected{why}.", **made)
    return _tell_whose(folder)


def split_notes(pairs: Sequence[Mapping[str, Any]], *, train: float, seed: int) -> dict[str, list[Any]]:
    """Divides pairs into test and training ones; a note, white space and case aside, is in one of them."""
    texts = [" ".join(pair["note"].split()).casefold() for pair in pairs]
    every = ranked(list(dict.fromkeys(texts)), seed, str)
    training = set(every[: round(train * len(every))])
    sides: dict[str, list[Any]] = {"test": [], "train": []}
    for pair, text in zip(pairs, texts, strict=True):
        sides["train" if text in training else "test"].append(pair)
    return sides


def _release(arguments: Namespace) -> int:
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    share = 0.2 if arguments.train is None else arguments.train
    if not 0 <= share < 1:
        raise UsageError(f"--train must be from 0 to under 1, got {share}.")
    is_open, pairs = _is_open(folder), [*_pairs(folder, _ENTITIES, "medcalc import").values()]
    sides = split_notes(pairs, train=share, seed=seed)
    if not sides["test"]:
        raise UsageError(f"{folder}: no note is left for the test part. Give more notes, or a smaller --train.")
    place = construction.make_folder(folder / "release")
    shown: dict[str, Any] = {}
    for split, some in sides.items():
        start = 1 if split == "test" else 1 + len(sides["test"])
        kind = "Extracted" if is_open else CREDENTIALED
        rows = [_official(number, pair, kind) for number, pair in enumerate(some, start)]
        construction.write_lines(place / f"{split}.jsonl", rows)
        notes = len({row["Note ID"] for row in rows})
        tell(f"{place / split}.jsonl: {len(rows):,} rows of {notes:,} notes", **{split: len(rows)})
    for row in ranked(rows, seed, lambda row: row["Note ID"]):
        reply = {"step_by_step_thinking": row["Ground Truth Explanation"], "answer": row["Ground Truth Answer"]}
        example = {"Patient Note": row["Patient Note"], "input_parameters": json.loads(row["Relevant Entities"])}
        shown.setdefault(str(row["Calculator ID"]), {**example, "Response": reply})
    construction.write_json(place / "one_shot.json", shown)
    tell(f"{place / 'one_shot.json'}: an exemplar for {len(shown)} calculators", exemplars=len(shown))
    if is_open:
        tell(f"medical-tasks build medcalc_bench --config {OWN} --source {place / 'test.jsonl'}")
    return _tell_whose(folder)


def _official(number: int, pair: Mapping[str, Any], note_type: str) -> dict[str, Any]:
    from medical_tasks.benchmarks.medcalc_bench.fresh.rows import QUESTIONS

    entities, calculator = pair["entities"], pair["calculator"]
    question, result = QUESTIONS[calculator.id][0], calculator.calculate(entities)
    if "{" in question:  # of the one that converts a steroid
        source, target = (_said(entities[item.name]) for item in calculator.inputs)
        question = question.format(source=source, target=target)
    asked = (pair["note"], question, entities)
    row = synthetic_row(number, pair["note_id"], calculator, asked, result.answer_text, result.explanation)
    return {official: row[ours] for official, ours in OFFICIAL_COLUMNS.items()} | {"Note Type": note_type}


def _check(arguments: Namespace) -> int:
    from medical_tasks.scoring.estimates import as_json

    chosen = {each.id for each in _calculators(arguments.calculators)}
    check_least({"--max-samples": arguments.max_samples})
    rows = [
        row
        for row in read_rows("v1.0" if _is_released(arguments.source) else OWN, "test", {"test": arguments.source})
        if row["calculator_id"] in chosen and row["relevant_entities"] and row["note_type"] != "Template"
    ]
    rows = ranked(rows, checked_seed(arguments.seed), lambda row: str(row["row_number"]))[: arguments.max_samples]
    if not rows:
        raise UsageError(f"{arguments.source}: no row of these calculators has entities to compare with.")
    asked = [(str(row["row_number"]), row["patient_note"], find(row["calculator_id"])) for row in rows]
    unread = 0
    if arguments.model == "lexical":
        given = [extraction.lexical(note, calculator) for _, note, calculator in asked]
    elif arguments.folder is None:
        raise UsageError("construct medcalc check with a model needs --folder, where its replies are kept.")
    else:
        with _asked(arguments, {}) as session:
            outcomes = session.ask(
                [extraction.values_question(name, note, each.inputs, each) for name, note, each in asked]
            )
        if arguments.forecast:
            return 0
        lost = {
            each.id: each.reason for each in outcomes if getattr(each, "reason", UNREADABLE) not in (UNREADABLE, CUT)
        }
        check_answered(lost, len(rows), "rows have no reply", then="Nothing is compared. ", file="the folder")
        replies = [json.loads(getattr(each, "value", "{}")) for each in outcomes]
        given = [
            extraction.read_values(each.inputs, reply)[0] for (*_, each), reply in zip(asked, replies, strict=True)
        ]
        unread = sum(not hasattr(each, "value") for each in outcomes)
    found = extraction.figures(rows, given)
    lines = [(kind, *map(_share, some.values())) for kind, some in found.items()]
    tell("\n".join(align(("type", *found["all"]), lines)))
    content = {kind: {name: as_json(each) for name, each in some.items()} for kind, some in found.items()}
    said = f"{len(rows):,} rows, {arguments.model}. Without a usable reply, so that nothing is found: {unread:,}"
    tell(f"\n{said}", rows=len(rows), unread=unread, figures=content)
    return 0


def _share(each: Any) -> str:
    return "n/a" if each.n == 0 else f"{100 * each.value:.1f} ({100 * each.ci_low:.1f} to {100 * each.ci_high:.1f})"


def _guarded(step: Callable[[Namespace], int]) -> Callable[[Namespace], int]:
    """The step, under the guard unless its notes are open: as this command says, or the one that read them said."""

    def run(arguments: Namespace) -> int:
        folder, source = arguments.folder, arguments.source
        is_open = _is_open(folder) if source is None else arguments.open or _is_released(source)
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
