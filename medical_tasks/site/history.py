"""The history of decisions: an append-only file of hash-chained lines.

Each line holds the SHA-256 of the whole line before it (`before`), and of its own
content (`sha256`), so that an edited, removed or moved line is found by its number.
Nothing is ever rewritten: a half-written line, as a kill leaves it, stays, and the next
one follows it.

    {"sha256": "9f3c...", "before": "0000...", "line": 1, "at": "2026-01-31T12:00:00Z", "kind": "gate", ...}
    {"sha256": "1b7a...", "before": "e41d...", "line": 2, "at": "2026-02-28T12:00:00Z", "kind": "look", ...}

A chain shows changes to a part of it. It cannot show that somebody rewrote the whole
file or cut off its last lines, since both leave a valid chain. Against that, keep the
head elsewhere, which is the hash of the last line: the evidence prints it, and
`verified(path, heads=...)` reports a head that is gone.

Example:
    >>> line = append(Path("gates.jsonl"), "gate", {"verdict": "GO"})
    >>> verified(Path("gates.jsonl")).head == line.digest
    True
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from medical_tasks.errors import IncompleteError, UsageError, system_reason
from medical_tasks.io.files import (
    append_line,
    folder_lock,
    found_at,
    read_bytes,
    readable,
)
from medical_tasks.runs.results import Json

FIRST: Final = "0" * 64
"""The hash before the first line."""
WHAT_A_CHAIN_CANNOT_SHOW: Final = (
    "A chain of hashes cannot show that the whole file was rewritten, or that its last "
    "lines were cut off. Keep the head elsewhere: in the minutes, or with somebody else."
)
_FORM: Final = re.compile(
    rb'\{"sha256": "([0-9a-f]{64})", "before": "([0-9a-f]{64})", "line": ([0-9]+), '
)
_CONTENT: Final = len(b'{"sha256": "", ') + 64
"""Where the content begins, of which a line holds the hash."""
_SHOWN: Final = 12


class Line(NamedTuple):
    """A line of the history.

    Attributes:
        number: counted from 1.
        digest: the SHA-256 of the whole line, without its end.
        at: when it was added, as `2026-01-31T12:00:00Z`.
        kind: `gate` or `look`.
        content: the record of the gate or look.
    """

    number: int
    digest: str
    at: str
    kind: str
    content: Json


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The result of checking a history.

    Attributes:
        lines: the number of lines.
        head: the hash of the last line; `FIRST` if there is none.
        problems: a sentence for each problem; empty if the chain is sound.
        torn: the numbers of half-written lines.
    """

    lines: int
    head: str
    problems: tuple[str, ...] = ()
    torn: tuple[int, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.problems

    @property
    def summary(self) -> str:
        """The result as text."""
        if self.problems:
            return "\n".join(self.problems)
        torn = "".join(f"; line {number} is half written" for number in self.torn)
        lines = f"{self.lines:,} line" + ("" if self.lines == 1 else "s")
        return f"{lines}, head {self.head[:_SHOWN]}{torn}"


def append(path: Path, kind: str, content: Json) -> Line:
    """Adds a line, and returns when it is on the disk.

    Args:
        path: the history; it is created if there is none.
        kind: the kind of the line.
        content: JSON values by name, other than the names that each line has.

    Raises:
        UsageError: the chain is broken.
        IncompleteError: the line cannot be written.
    """
    reserved = {"sha256", "before", "line", "at", "kind"} & content.keys()
    if reserved:
        raise ValueError(f"a line has a {min(reserved)} of its own")

    with folder_lock(path, opened=_opened):
        chain = verified(path)
        if not chain.sound:
            raise UsageError(
                f"{path}: nothing is added to a history that was changed. {chain.summary} Restore "
                "it from a copy, or move it away and say so in the minutes."
            )

        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        number = chain.lines + 1
        named = {"before": chain.head, "line": number, "at": at, "kind": kind}
        text = _line({**named, **content})
        _add(path, text)

    return Line(number, hashlib.sha256(text).hexdigest(), at, kind, dict(content))


def verified(path: Path, *, heads: Iterable[str] = ()) -> Chain:
    """Checks every line of a history, in milliseconds for thousands of lines.

    Args:
        path: the history; a missing file has no lines.
        heads: hashes of lines, whole or their first 12 digits, that were noted elsewhere
            and must be in it.
    """
    texts = _texts(path)
    problems: list[str] = []
    torn: list[int] = []
    before = FIRST
    digests: list[str] = []
    for number, text in enumerate(texts, start=1):
        start = _begun(text)
        digest = hashlib.sha256(text).hexdigest()
        digests.append(digest)
        if start is None:
            if number == len(texts) or _follows(texts[number], digest):
                torn.append(number)
            else:
                problems.append(f"{path}: line {number} is no line of a history.")
        else:
            problems += _problems(path, number, text, start, before)

        before = digest

    for head in heads:
        if not any(digest.startswith(head.lower()) for digest in (*digests, FIRST)):
            problems.append(
                f"{path}: no line has the hash {head[:_SHOWN]}, which was noted elsewhere: the "
                "file was rewritten, or its last lines were cut off."
            )

    return Chain(
        lines=len(texts), head=before, problems=tuple(problems), torn=tuple(torn)
    )


def history(path: Path) -> list[Line]:
    """The whole lines of a history, oldest first.

    Raises:
        UsageError: the chain is broken.
    """
    chain = verified(path)
    if not chain.sound:
        raise UsageError(
            f"{chain.summary} Restore the file from a copy; this one cannot be used."
        )

    return [
        _read(number, text)
        for number, text in enumerate(_texts(path), start=1)
        if number not in chain.torn
    ]


def _opened(path: Path) -> int:
    """Opens the history for locking; creates it if needed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _failed(path, error) from error


def _add(path: Path, text: bytes) -> None:
    """Appends a line, after ending one that was left half written."""
    try:
        append_line(path, text)
    except OSError as error:
        raise _failed(path, error) from error


def _failed(path: Path, error: OSError) -> IncompleteError:
    return IncompleteError(
        f"{path}: no line can be added ({system_reason(error)}). Free some space or correct the "
        "folder's rights, and give the command again."
    )


def _line(content: Json) -> bytes:
    """A line's text, with the hash of its content in front."""
    rest = json.dumps(content, ensure_ascii=True, allow_nan=False)[1:].encode("ascii")
    return b'{"sha256": "%s", %s' % (hashlib.sha256(rest).hexdigest().encode(), rest)


def _texts(path: Path) -> Sequence[bytes]:
    """The lines of the file without their ends, and a last one without an end."""
    if found_at(path) != "file":
        return ()
    with readable(path):
        content = read_bytes(path)
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _begun(text: bytes) -> re.Match[bytes] | None:
    """Parses the start of a line; None if it has not the form of one or is cut off."""
    return _FORM.match(text) if text.endswith(b"}") else None


def _follows(text: bytes, digest: str) -> bool:
    """Whether a line states that the line before it has this hash."""
    start = _begun(text)
    return start is not None and start[2].decode() == digest


def _problems(
    path: Path, number: int, text: bytes, start: re.Match[bytes], before: str
) -> Sequence[str]:
    """The problems of a line that has the right form."""
    own, stated_before, stated_number = start.groups()
    if hashlib.sha256(text[_CONTENT:]).hexdigest().encode() != own:
        return [
            f"{path}: line {number} was changed: its content has another hash than it says."
        ]

    if int(stated_number) != number:
        return [
            f"{path}: line {number} says that it is line {int(stated_number)}: lines before it were "
            "removed, added or moved."
        ]

    if stated_before.decode() != before:
        actual = f"line {number - 1} has {before[:_SHOWN]}" if number > 1 else "none is"
        return [
            f"{path}: line {number} was written after a line with the hash "
            f"{stated_before.decode()[:_SHOWN]}, and {actual}: line {max(1, number - 1)} was changed or "
            "put in its place."
        ]

    return []


def _read(number: int, text: bytes) -> Line:
    content = json.loads(text)
    digest = hashlib.sha256(text).hexdigest()
    for name in ("sha256", "before", "line"):
        del content[name]
    return Line(number, digest, content.pop("at"), content.pop("kind"), content)
