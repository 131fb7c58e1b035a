"""Invented sheets for tests of the desk, and a desk in a separate process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Self

from medical_tasks.site.desk.labels import LabelStore
from medical_tasks.site.desk.serving import Address, Desk
from medical_tasks.site.desk.sheets import (
    Choice,
    Field,
    Item,
    Passage,
    Sheet,
    sentences_of,
)
from medical_tasks.site.desk.tokens import Tokens
from medical_tasks.site.desk.work import Work
from tests.support import ROOT

CHOICES = (
    Choice(key="k", value="keep", label="Keep the question"),
    Choice(key="x", value="drop", label="Drop it", edits=False),
)
NOTE = "Admitted with chest pain. Troponin was 0.8. He went home on day 4.\nNo fever."


def an_item(number: int, *, note: str = NOTE) -> Item:
    """An item such as `p0007`, with a note whose second sentence is marked."""
    passage = Passage(
        title="Note 1 of 1", sentences=sentences_of(note), cited=frozenset({1})
    )
    field = Field(name="question", label="Question", text=f"What was {number}?")
    return Item(
        id=f"p{number:04}",
        prompt=f"Does the note answer question {number}?",
        passages=(passage,),
        answer="0.8",
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


def a_desk(folder: Path, sheet: Sheet) -> tuple[Desk, dict[str, str]]:
    """A desk for a sheet, and the tokens by person."""
    work = Work(sheet, LabelStore(folder / f"{sheet.name}.labels.jsonl"))
    tokens = Tokens(folder)
    drawn = dict(tokens.draw(work.people))
    address = Address(host="127.0.0.1", port=7861)
    return Desk({sheet.name: work}, tokens, address), drawn


class DeskProcess:
    """`medical-tasks site review` on a sheet or a site, in a separate process, always on the same port.

    Attributes:
        addresses: by person; only the first start prints them.
        port: the same at every start.
    """

    def __init__(self, sheet: Path, home: Path, *more: str) -> None:
        target = [str(sheet)] if sheet.is_dir() else ["--open", str(sheet)]
        self._command = ["site", "review", *target, *more]
        self._environment = {
            **os.environ,
            "MEDICAL_TASKS_HOME": str(home),
            "PYTHONPATH": str(ROOT),
        }
        self.port = 0
        self.addresses: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts it and waits until it listens."""
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "medical_tasks",
                *self._command,
                "--port",
                str(self.port),
            ],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if match := re.match(r"for (\w+): (http\S+)", line):
                self.addresses[match[1]] = match[2]
            if match := re.match(r"review desk: http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(match[1])
            if line.startswith(("Each address", "Everybody has")):
                return
        raise AssertionError("the desk did not start")

    def kill(self) -> None:
        """Kills it without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def stop(self) -> int:
        """Terminates it as a system shutdown does; returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        self._process.communicate()
        code, self._process = self._process.returncode, None
        return code

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
