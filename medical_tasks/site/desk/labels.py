"""The store of labels: lines that are only ever added, each on the disk before anybody is told.

A label has the id that the page gave it, so that one which is sent twice is kept once.
Undoing is a line too: what a rater saw and when can be told later.

    {"id": "k3-17", "item": "p7", "rater": "ann", "value": "keep", "note": "", ...}
    {"id": "k3-18", "item": "p7", "rater": "ann", "value": "", "undoes": true, ...}
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from medical_tasks.errors import IncompleteError, UsageError, system_reason
from medical_tasks.io.files import append_line, make_folder, read_bytes, readable

_AGAIN: Final = "Give the command again; what was labelled before is kept."
_DAMAGED: Final = (
    "{path}: line {number} is not whole, as a kill or a full disk leaves it; it is read past. "
    "Nothing that the page called saved is lost."
)


@dataclass(frozen=True, kw_only=True)
class Label:
    """What a rater says of an item at one moment; the last one counts.

    Attributes:
        id: drawn by the page, one for each thing done there.
        item: its id.
        rater: who.
        value: of the choice; "" for none yet, or none any more.
        note: in the rater's own words.
        edits: field to text, of the fields that the rater changed.
        at: when, ISO 8601 in UTC.
        undoes: whether it takes back the rater's last choice.
    """

    id: str
    item: str
    rater: str
    value: str = ""
    note: str = ""
    edits: Mapping[str, str] = field(default_factory=dict)
    at: str = ""
    undoes: bool = False


def now() -> str:
    """The time of a label."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LabelStore:
    """Labels of one sheet, in memory as they are on the disk.

    Attributes:
        path: of the file; made at the first label.
        problems: what was read past, for people.
        history: all of it, in order.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.history: list[Label] = []
        self._ids: set[str] = set()
        self._last: dict[tuple[str, str], Label] = {}
        self._changes: dict[str, list[tuple[str, str]]] = {}
        self._lock = threading.Lock()
        self._read()

    def _read(self) -> None:
        if not self.path.exists():
            return

        with readable(self.path, missing=_AGAIN, again=_AGAIN):
            content = read_bytes(self.path)

        for number, line in enumerate(content.split(b"\n"), start=1):
            if not line.strip():
                continue

            label = _label(line)
            if label is None:
                said = _DAMAGED.format(path=self.path, number=number)
                self.problems.append(said)
            elif label.id not in self._ids:
                self._keep(label)

    def last(self, rater: str, item: str) -> Label | None:
        """What a rater says of an item now; None where nothing was ever said."""
        return self._last.get((rater, item))

    def add(self, label: Label) -> bool:
        """Puts a label on the disk; False where one of that id is there already.

        `IncompleteError`: it is not on the disk, and the same label may be given again.
        """
        with self._lock:
            if label.id in self._ids:
                return False
            self._write(label)
            self._keep(label)
            return True

    def undo(self, identifier: str, rater: str) -> Label | None:
        """Takes a rater's last choice back, and says what is true of its item now.

        Note and edits stay: words are not lost by a key. None where there is nothing to
        take back. An id that was given before changes nothing more.
        """
        with self._lock:
            if identifier in self._ids:
                return next(each for each in self.history if each.id == identifier)

            changes = self._changes.get(rater, [])
            if not changes:
                return None

            item, before = changes[-1]
            made = replace(
                self._last[rater, item],
                id=identifier,
                value=before,
                at=now(),
                undoes=True,
            )
            self._write(made)
            self._keep(made)
            return made

    def _keep(self, label: Label) -> None:
        place = (label.rater, label.item)
        before = self._last[place].value if place in self._last else ""
        changes = self._changes.setdefault(label.rater, [])
        if label.undoes and changes:
            changes.pop()
        elif label.value != before:
            changes.append((label.item, before))
        self._last[place] = label
        self._ids.add(label.id)
        self.history.append(label)

    def _write(self, label: Label) -> None:
        line = json.dumps(dataclasses.asdict(label), ensure_ascii=True).encode()
        make_folder(self.path.parent)
        try:
            append_line(self.path, line, mode=0o600)
        except OSError as error:
            raise IncompleteError(
                f"{self.path}: the label is not saved ({system_reason(error)}). Free some space "
                "or mend the folder; the page sends it again."
            ) from error


def _label(line: bytes) -> Label | None:
    """Reads a line; None where it is not whole."""
    try:
        values = json.loads(line)
        label = Label(**values)
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (label.id, label.item, label.rater, label.value, label.note, label.at)
    sound = all(isinstance(each, str) for each in texts)
    return label if sound and isinstance(label.edits, dict) else None


def check_names(path: Path, labels: LabelStore, raters: set[str]) -> None:
    """Refuses a store with labels of people whom the sheet does not know."""
    strange = sorted({label.rater for label in labels.history} - raters)
    if strange:
        raise UsageError(
            f"{path}: has labels of {', '.join(strange)}, who are no reviewers of this sheet. "
            "Give the reviewers as before, or move the file away."
        )
