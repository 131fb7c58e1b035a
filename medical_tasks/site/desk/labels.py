"""The store of labels: an append-only file, each line on the disk before it is confirmed.

A label has the id that the page gave it, so that one which is sent twice is stored once.
Undoing adds a line too, so that the file is a full record.

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
    """A rater's label of an item; the last one counts.

    Attributes:
        id: drawn by the page, one for each action.
        item: the id of the item.
        rater: the rater's name.
        value: the value of the choice; "" for none yet, or none any more.
        note: the rater's remark.
        edits: the texts of the fields that the rater changed, by name.
        at: the time, ISO 8601 in UTC.
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
    """The present time, as labels store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LabelStore:
    """The labels of one sheet, in memory as on the disk.

    Attributes:
        path: the file; it is created with the first label.
        problems: messages about lines that were skipped.
        history: all labels in order.
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
                problem = _DAMAGED.format(path=self.path, number=number)
                self.problems.append(problem)
            elif label.id not in self._ids:
                self._keep(label)

    def last(self, rater: str, item: str) -> Label | None:
        """A rater's last label of an item; None if there is none."""
        return self._last.get((rater, item))

    def add(self, label: Label) -> bool:
        """Writes a label to the disk; returns False if the store has its id.

        Raises:
            IncompleteError: the label is not on the disk, and may be added again.
        """
        with self._lock:
            if label.id in self._ids:
                return False
            self._write(label)
            self._keep(label)
            return True

    def undo(self, identifier: str, rater: str) -> Label | None:
        """Takes back a rater's last choice, and returns the item's label after that.

        Note and edits stay, so that a key loses no words. Returns None if there is nothing
        to take back. A repeated id changes nothing.
        """
        with self._lock:
            if identifier in self._ids:
                return next(label for label in self.history if label.id == identifier)

            changes = self._changes.get(rater, [])
            if not changes:
                return None

            item, before = changes[-1]
            undoing = replace(
                self._last[rater, item],
                id=identifier,
                value=before,
                at=now(),
                undoes=True,
            )
            self._write(undoing)
            self._keep(undoing)
            return undoing

    def _keep(self, label: Label) -> None:
        key = (label.rater, label.item)
        before = self._last[key].value if key in self._last else ""
        changes = self._changes.setdefault(label.rater, [])
        if label.undoes and changes:
            changes.pop()
        elif label.value != before:
            changes.append((label.item, before))
        self._last[key] = label
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
                "or repair the folder; the page sends it again."
            ) from error


def _label(line: bytes) -> Label | None:
    """Parses a line; None if it is not whole."""
    try:
        values = json.loads(line)
        label = Label(**values)
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (label.id, label.item, label.rater, label.value, label.note, label.at)
    sound = all(isinstance(text, str) for text in texts)
    return label if sound and isinstance(label.edits, dict) else None


def check_names(path: Path, labels: LabelStore, raters: set[str]) -> None:
    """Refuses a store with labels of people who are not in the sheet."""
    strange = sorted({label.rater for label in labels.history} - raters)
    if strange:
        raise UsageError(
            f"{path}: has labels of {', '.join(strange)}, who are not reviewers of this sheet. "
            "Name the same reviewers as before, or move the file away."
        )
