"""Which batches of a run are under way, and which have ended: ids and keys, no text.

The journal is written before each step of a batch, so that a command that was killed is
gone on with (`models.batches`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, read_text, readable
from medical_tasks.io.store import Store

JOURNAL: Final = "batches.json"
"""The journal's name, in the folder of the answers."""
UNDER_WAY: Final = "under way"
"""The status of a batch that has not ended, as far as is known."""


@dataclass(kw_only=True)
class Entry:
    """A batch in the journal.

    Attributes:
        id: made here before anything is sent; in the upload's name and the batch's
            metadata.
        address: the base URL.
        model: the model's name there.
        purpose: `model` or `judge`.
        made: when, in seconds.
        keys: of each request; none once the batch has ended.
        file: the upload's id, "" where it is not known.
        batch: the batch's id, "" where it is not known.
        status: how the batch has ended, "" while it has not.
        requests: how many there were.
        answered: how many were, when it had ended.
        adapted: settings that the server refuses, and what was sent instead.
    """

    id: str
    address: str
    model: str
    purpose: str
    made: int
    keys: list[list[str]]
    requests: int
    file: str = ""
    batch: str = ""
    status: str = ""
    answered: int = 0
    adapted: dict[str, str] = field(default_factory=dict)

    @property
    def upload_name(self) -> str:
        """What the file of requests is called at the provider."""
        return f"medical-tasks-{self.id}.jsonl"

    def all_keys(self) -> set[str]:
        """The keys of all its requests."""
        return {key for keys in self.keys for key in keys}


class Journal:
    """The batches of a run, in a file that is always whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self.read()

    def read(self) -> None:
        """Reads the file anew, where there is one."""
        if self.path.exists():
            with readable(self.path, again="Move it away to ask anew."):
                self.entries = _read_entries(self.path, read_text(self.path))

    def add(self, entry: Entry) -> None:
        """Notes a batch that is about to be made."""
        self.entries.append(entry)
        self.save()

    def drop(self, entry: Entry) -> None:
        """Forgets a batch that was never made."""
        self.entries.remove(entry)
        self.save()

    def save(self) -> None:
        """Writes the file anew."""
        with WholeFile(self.path, private=True) as file:
            file.write(
                json.dumps({"batches": [asdict(each) for each in self.entries]}) + "\n"
            )


def _read_entries(path: Path, text: str) -> list[Entry]:
    try:
        return [Entry(**each) for each in json.loads(text)["batches"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(
            f"{path}: not the journal of a run's batches, or a damaged one. It lists the "
            "batches that are under way: restore it, or move it away to ask anew what has no answer yet."
        ) from None


def batches_of(answers: Path, purpose: str, kind: str) -> list[dict[str, str | int]]:
    """What results say of the batches behind a store of answers; none where it has no journal.

    Args:
        answers: the store.
        purpose: `model` or `judge`.
        kind: of the store's records of it.
    """
    journal = Journal(answers.with_name(JOURNAL))
    return [
        {
            "id": each.batch,
            "requests": each.requests,
            "status": _status(each, answers, kind),
        }
        for each in journal.entries
        if each.batch and each.purpose == purpose
    ]


def _status(entry: Entry, answers: Path, kind: str) -> str:
    """How a batch has ended, as far as is known; its end is noted after its answers are kept."""
    if entry.status or not answers.exists():
        return entry.status or UNDER_WAY
    with Store(answers) as store:
        keys = entry.all_keys()
        return (
            "completed" if len(store.get_many(kind, keys)) == len(keys) else UNDER_WAY
        )


def note_left(answers: Path, purpose: str, kind: str, *, option: str) -> None:
    """Says which batches are under way where a command goes on without them: they are paid for."""
    for each in batches_of(answers, purpose, kind):
        if each["status"] == UNDER_WAY:
            print(
                f"note: {each['id']}, a batch of {each['requests']} requests that an earlier "
                f"command made, is left, and what it has is asked again: {option} goes on with it",
                file=sys.stderr,
            )
