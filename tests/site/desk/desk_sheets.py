"""Invented sheets for tests of the desk, and a desk in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from medical_tasks.site.desk.labels import LabelStore
from medical_tasks.site.desk.serving import Desk, Place, listening, server_of
from medical_tasks.site.desk.sheets import (
    Choice,
    Field,
    Item,
    Passage,
    Sheet,
    read_sheet,
    sentences_of,
)
from medical_tasks.site.desk.tokens import Tokens
from medical_tasks.site.desk.work import Work

CHOICES = (
    Choice(key="k", value="keep", label="Keep the question"),
    Choice(key="x", value="drop", label="Drop it", edits=False),
)
NOTE = "Admitted with chest pain. Troponin was 0.8. He went home on day 4.\nNo fever."


def an_item(number: int, *, note: str = NOTE, **more: str) -> Item:
    """Item `p0007`, with a note of which the second sentence is marked."""
    passage = Passage(
        title="Note 1 of 1", sentences=sentences_of(note), cited=frozenset({1})
    )
    field = Field(name="question", label="Question", text=f"What was {number}?")
    return Item(
        id=f"p{number:04}",
        prompt=more.get("prompt", f"Does the note answer question {number}?"),
        passages=(passage,),
        answer=more.get("answer", "0.8"),
        editable=(field,),
        stratum="even" if number % 2 == 0 else "odd",
    )


def a_sheet(items: int = 4, *, overlap: int | None = None, note: str = NOTE) -> Sheet:
    """A sheet for Ann and Ben, with Eve as adjudicator."""
    return Sheet(
        name="questions",
        title="Questions to check",
        instruction="Keep what the note answers.",
        choices=CHOICES,
        items=tuple(an_item(number, note=note) for number in range(items)),
        raters=("ann", "ben"),
        adjudicator="eve",
        overlap=overlap,
        seed=3,
        marked="they share most words with the answer",
    )


def a_desk(folder: Path, sheet: Sheet, port: int = 7861) -> tuple[Desk, dict[str, str]]:
    """A desk on a sheet, and the tokens by person."""
    work = Work(sheet, LabelStore(folder / f"{sheet.name}.labels.jsonl"))
    tokens = Tokens(folder)
    drawn = dict(tokens.draw(work.people))
    place = Place(host="127.0.0.1", port=port)
    return Desk({sheet.name: work}, tokens, place), drawn


def main(sheet: str, folder: str, port: str) -> None:
    """Serves a sheet until it is killed; prints the port when it listens."""
    with listening("127.0.0.1", int(port)) as listener:
        taken = listener.getsockname()[1]
        desk, _ = a_desk(Path(folder), read_sheet(Path(sheet)), taken)
        print(taken, flush=True)
        server_of(desk).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
