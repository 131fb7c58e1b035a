"""Which batches of a run are under way, and which have ended: ids and keys, no text.

The journal is written before each step of a batch, so that a command that was killed is gone on
with (`models.batches`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, read_text, readable

JOURNAL: Final = "batches.json"
"""The journal's name, in the folder of the answers."""


@dataclass(kw_only=True)
class Entry:
    """A batch in the journal.

    Attributes:
        id: made here before anything is sent; in the upload's name and the batch's metadata.
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
        if path.exists():
            with readable(path, again="Move it away to ask anew."):
                self.entries = _read_entries(path, read_text(path))

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
            file.write(json.dumps({"batches": [asdict(each) for each in self.entries]}) + "\n")


def _read_entries(path: Path, text: str) -> list[Entry]:
    try:
        return [Entry(**each) for each in json.loads(text)["batches"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(
            f"{path}: not the journal of a run's batches, or a damaged one. Batches that are under "
            "way stand in it: restore it, or move it away to ask anew what has no answer yet."
        ) from None


def batches_of(answers: Path, purpose: str) -> list[dict[str, str | int]]:
    """What results say of the batches behind a store of answers; none where it has no journal."""
    journal = Journal(answers.with_name(JOURNAL))
    return [
        {"id": each.batch, "requests": each.requests, "status": each.status or "under way"}
        for each in journal.entries
        if each.batch and each.purpose == purpose
    ]
