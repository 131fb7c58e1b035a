"""Annotation sheets: a row a sentence of the note, and rows for the question and the answer (section Question and Answer Creation).

Sheets that are there are never written over: somebody may have edited them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files, rounds
from medical_tasks.benchmarks.archehr_qa.construction.cases import OwnCase, write_cases
from medical_tasks.benchmarks.archehr_qa.construction.choosing import chosen_cases
from medical_tasks.data.construction_cells import write_sheet
from medical_tasks.data.construction_shares import share_out, sheet_order
from medical_tasks.errors import UsageError

__all__ = ["COLUMNS", "KINDS", "export_sheets", "sheet_rows"]

COLUMNS: Final = (
    "index", "round", "case_id", "reviewer", "kind", "number", "paragraph", "text", "relevance", "citations", "comment",
)  # fmt: skip
KINDS: Final = ("patient", "focus", "question", "sentence", "answer")
_FOCUS_ROWS: Final = 4
_ANSWER_ROWS: Final = 8


def sheet_rows(case: OwnCase) -> Iterator[dict[str, object]]:
    """Makes the rows of a case, with what was annotated before; the columns `index`, `round` and `reviewer` are not among them."""
    said = case.annotation
    yield _row(case, "patient", "1", text=case.narrative)
    for number in range(max(_FOCUS_ROWS, len(said.phrases) + 1)):
        yield _row(case, "focus", str(number + 1), text=said.phrases[number] if number < len(said.phrases) else "")
    yield _row(case, "question", "1", text=said.question)
    for sentence in case.sentences:
        label = said.labels.get(sentence.id, "")
        yield _row(case, "sentence", sentence.id, paragraph=sentence.paragraph, text=sentence.text, relevance=label)
    for number in range(max(_ANSWER_ROWS, len(said.answer) + 1)):
        there = said.answer[number] if number < len(said.answer) else None
        cited = f"|{','.join(there.citations)}|" if there and there.citations else ""
        yield _row(case, "answer", str(number + 1), text=there.text if there else "", citations=cited)


def _row(case: OwnCase, kind: str, number: str, **cells: str) -> dict[str, object]:
    empty = dict.fromkeys(("paragraph", "text", "relevance", "citations", "comment"), "")
    return {"case_id": case.id, "kind": kind, "number": number, **empty, **cells}


def export_sheets(
    folder: Path, reviewers: Sequence[str], *, chosen: Sequence[Path] = (), overlap: int = 0, seed: int = 0
) -> dict[str, Any]:
    """Writes a sheet a reviewer, for the next round.

    The first round takes the pairs that were chosen, with whole notes; each further one what the round before left. `shares.json`
    comes first and sheets that are there stay as they are, so a stopped export goes on.

    Args:
        folder: where the construction lies.
        reviewers: their names.
        chosen: edited sheets of candidates, for the first round.
        overlap: how many cases everybody gets.
        seed: decides who gets what.

    Returns:
        Content of `shares.json`, with the number of the round: ids and names, no text.

    Raises:
        MissingError: Something that an earlier step writes is not there.
        UsageError: Sheets of this round were exported of other cases or with other settings.
    """
    number = rounds.latest_imported(folder) + 1
    place, before = rounds.round_folder(folder, number), rounds.round_folder(folder, number - 1)
    if number == 1:
        cases = _first_cases(folder, before, chosen)
    elif chosen:
        raise UsageError(
            f"construct archehr sheet takes no PATH for round {number}: cases are chosen before the first round."
        )
    else:
        cases = rounds.cases_of(folder, number - 1)
    shares = share_out(list(cases), reviewers, overlap=overlap, seed=seed)
    made: dict[str, Any] = {
        "schema_version": 1,
        "round": number,
        "cases_sha256": files.text_sha256(before / rounds.CASES),
        "reviewers": list(reviewers),
        "overlap": overlap,
        "seed": seed,
        "sheets": {name: sheet_order(shares, name, seed=seed) for name in reviewers},
        "first": {identifier: names[0] for identifier, names in shares.items()},
    }
    files.make_folder(place)
    recipe = place / rounds.SHARES
    if not recipe.exists():
        files.write_json(recipe, made)
    elif files.read_json(recipe, step="sheet") != made:
        raise UsageError(
            f"{place}: sheets of round {number} were exported of other cases or with other settings, and somebody may be at work "
            "on them. Repeat that command, or move this folder away to export them anew."
        )
    sheets = files.make_folder(place / rounds.SHEETS)
    files.write_guidelines(sheets)
    for name in reviewers:
        path = sheets / f"{name}.csv"
        if not path.exists():
            write_sheet(path, COLUMNS, _all_rows(cases, made["sheets"][name], {"round": number, "reviewer": name}))
    return made


def _first_cases(folder: Path, place: Path, chosen: Sequence[Path]) -> Mapping[str, OwnCase]:
    """The cases of round 0, written where nobody has sheets of them yet."""
    cases = chosen_cases(folder, chosen)
    if rounds.latest_exported(folder) == 0:
        files.make_folder(place)
        write_cases(place / rounds.CASES, cases)
        return {case.id: case for case in cases}
    there = rounds.cases_of(folder, 0)
    if list(there.values()) != cases:
        raise UsageError(
            f"{rounds.round_folder(folder, 1)}: sheets of other cases were exported, and somebody may be at work on them. Choose "
            "as before, or move round_0 and round_1 away to begin anew."
        )
    return there


def _all_rows(
    cases: Mapping[str, OwnCase], ids: Sequence[str], about: Mapping[str, object]
) -> Iterator[dict[str, object]]:
    rows = (row for identifier in ids for row in sheet_rows(cases[identifier]))
    for index, row in enumerate(rows, start=1):
        yield {**row, **about, "index": index}
