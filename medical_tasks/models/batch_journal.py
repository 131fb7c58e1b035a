"""The journal of a run's batches, under way or ended: ids and keys, no text.

It is written before each step of a batch, so that a killed command can be resumed
(`models.batches`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, read_text, readable
from medical_tasks.io.store import Store

JOURNAL: Final = "batches.json"
"""The journal's name, in the folder of the answers."""
UNDER_WAY: Final = "under way"
"""The status of a batch that is not known to have ended."""
_STORED: Final = {"created": "made"}
"""Fields with another name in the file."""


@dataclass(kw_only=True)
class Entry:
    """A batch in the journal.

    Attributes:
        id: generated before anything is sent; part of the upload's name and the batch's
            metadata.
        address: the base URL.
        model: the model's name there.
        purpose: `model` or `judge`.
        created: when, in seconds since 1970.
        keys: of each request; none once the batch has ended.
        requests: the number of requests.
        file: the upload's id, "" where unknown.
        batch: the batch's id, "" where unknown.
        status: how the batch has ended, "" while it has not.
        answered: how many requests were answered when it had ended.
        adapted: settings that the server refuses, and what was sent instead.
    """

    id: str
    address: str
    model: str
    purpose: str
    created: int
    keys: list[list[str]]
    requests: int
    file: str = ""
    batch: str = ""
    status: str = ""
    answered: int = 0
    adapted: dict[str, str] = field(default_factory=dict)

    @property
    def upload_name(self) -> str:
        """The name of the file of requests at the provider."""
        return f"medical-tasks-{self.id}.jsonl"

    def all_keys(self) -> set[str]:
        """Returns the keys of all its requests."""
        return {key for keys in self.keys for key in keys}


class Journal:
    """The batches of a run, in a file that is always whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self.read()

    def read(self) -> None:
        """Reads the file again, if there is one."""
        if self.path.exists():
            with readable(self.path, again="Move it away to ask again."):
                self.entries = _read_entries(self.path, read_text(self.path))

    def add(self, entry: Entry) -> None:
        """Records a batch that is about to be created."""
        self.entries.append(entry)
        self.save()

    def drop(self, entry: Entry) -> None:
        """Removes a batch that was never created."""
        self.entries.remove(entry)
        self.save()

    def save(self) -> None:
        """Writes the file again."""
        records = [_renamed(asdict(entry), _STORED) for entry in self.entries]
        with WholeFile(self.path, private=True) as file:
            file.write(json.dumps({"batches": records}) + "\n")


def _renamed(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}


def _read_entries(path: Path, text: str) -> list[Entry]:
    fields = {stored: name for name, stored in _STORED.items()}
    try:
        records = json.loads(text)["batches"]
        return [Entry(**_renamed(record, fields)) for record in records]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            f"{path}: not the journal of a run's batches, or a damaged one. It lists the "
            "batches that are under way: restore it, or move it away to ask the unanswered "
            "questions again."
        ) from None


def batches_of(answers: Path, purpose: str, kind: str) -> list[dict[str, str | int]]:
    """Describes the batches behind a store of answers, for results; none without a journal.

    Args:
        answers: the store.
        purpose: `model` or `judge`.
        kind: the kind of its records in the store.
    """
    journal = Journal(answers.with_name(JOURNAL))
    return [
        {
            "id": entry.batch,
            "requests": entry.requests,
            "status": _status(entry, answers, kind),
        }
        for entry in journal.entries
        if entry.batch and entry.purpose == purpose
    ]


def _status(entry: Entry, answers: Path, kind: str) -> str:
    """Returns how a batch has ended, as far as is known.

    Its end is recorded after its answers are stored.
    """
    if entry.status or not answers.exists():
        return entry.status or UNDER_WAY
    with Store(answers) as store:
        keys = entry.all_keys()
        return (
            "completed" if len(store.get_many(kind, keys)) == len(keys) else UNDER_WAY
        )


def note_left(answers: Path, purpose: str, kind: str, *, option: str) -> None:
    """Prints which batches are under way when a command continues without them: they are paid for."""
    for batch in batches_of(answers, purpose, kind):
        if batch["status"] == UNDER_WAY:
            print(
                f"note: {batch['id']}, a batch of {batch['requests']} requests that an earlier "
                f"command made, is left, and what it has is asked again: {option} resumes it",
                file=sys.stderr,
            )
