"""What was changed in a store from outside is told and left out; what others put there changes nothing."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.leaderboard.board import Board, event_name, package_name
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.records import DamagedError
from medical_tasks.leaderboard.storage import LocalStorage
from tests.leaderboard.made_packages import package

PACKAGE = package()
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def board_at(folder: Path, moment: datetime = NOON) -> Board:
    return Board(LocalStorage(folder), clock=lambda: moment)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return board_at(tmp_path / "board")


def _edit(key: str, value: Any) -> Any:
    return lambda content: json.dumps({**json.loads(content), key: value}).encode()


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("event", lambda content: b"{", "not valid JSON"),
        ("event", lambda content: b"[" * 100_000, "not valid JSON"),
        ("event", lambda content: b"[]", "not an event; its entries must be at, by, format"),
        ("event", _edit("more", 1), "not an event"),
        ("event", _edit("format", 3), "format 3, this version reads 2"),
        ("event", _edit("state", "good"), "state 'good' is none of pending, accepted, rejected"),
        ("event", _edit("state", ["pending"]), "is none of"),
        ("event", _edit("state", "accepted"), "begins with accepted, not with pending"),
        ("event", _edit("at", "yesterday"), "`at` must be a time like"),
        ("event", _edit("by", "\x1b[2J"), "`by` and `reason` must be texts of one line"),
        ("event", _edit("verified", {}), "`verified` must be null or"),
        ("event", lambda content: content.replace(b'"parameters": null', b'"parameters": NaN'), "not valid JSON"),
        ("event", lambda content: content.replace(b'"parameters": null', b'"parameters": 1e999'), "not valid JSON"),
        (
            "event",
            lambda content: content.replace(b'"parameters": null', b'"parameters": 1' + b"0" * 400),
            "wrong kind",
        ),
        ("event", lambda content: content.replace(b'"A model"', b'"\\ud800"'), "wrong kind"),
        ("event", lambda content: content.replace(b'"A model"', b'"' + b"x" * 1001 + b'"'), "wrong kind"),
        ("event", _edit("at", "2026-13-31T12:00:00Z"), "`at` must be a time like"),
        ("event 2", _edit("verified", {"matches": False}), "`verified` must be null or"),
        ("event 2", _edit("verified", {"matches": True, "on_trust": 1}), "`verified` must be null or"),
        (
            "event 2",
            _edit("verified", {"matches": True, "package": "f" * 16}),
            "event 2 has the verification of another",
        ),
        ("event", _edit("submission", {}), "`submission` must have submitter, tasks"),
        ("event", _edit("submission", None), "`submission` must have"),
        ("package", lambda content: content + b" ", "not the file that was submitted"),
        ("package", lambda content: package("Another"), "not the file that was submitted"),
        ("package", None, "is not there, but events of it are"),
        ("event 2", _edit("state", "pending"), "event 2 makes it pending after pending, which is not allowed"),
        ("event 1", None, "an event is missing; there are events"),
    ],
)
def test_what_was_changed_in_the_store_is_told_and_left_out(board: Board, file: str, change: Any, message: str) -> None:
    name = board.submit(PACKAGE).id
    sound = board.submit(package("Another sound one"))
    if file in ("event 1", "event 2"):
        board.decide(name, "accepted", by="A")
    number = 2 if file == "event 2" else 1
    place = Path(board.storage.folder, package_name(name) if file == "package" else event_name(name, number))  # type: ignore[attr-defined]
    if change is None:
        place.unlink()
    else:
        place.write_bytes(change(place.read_bytes()))
    fresh = Board(board.storage)
    (problem,) = check_store(fresh).problems
    assert message in problem
    if file != "package" or change is None:
        assert fresh.submissions() == [sound]
        assert message in fresh.damaged[name]
        with pytest.raises(DamagedError, match=re.escape(message)):
            fresh.submission(name)
    else:
        assert len(fresh.submissions()) == 2
        for read in (fresh.package, fresh.results):
            with pytest.raises(DamagedError, match="not the file that was submitted"):
                read(name)


@pytest.mark.parametrize("unseen", ["package", "event"])
def test_what_is_written_while_the_store_is_listed_is_not_taken_for_damage(
    board: Board, monkeypatch: pytest.MonkeyPatch, unseen: str
) -> None:
    made = board.submit(PACKAGE)
    board.decide(made.id, "accepted", by="A")
    left_out = package_name(made.id) if unseen == "package" else event_name(made.id, 1)
    fresh = Board(board.storage)
    real = board.storage.names
    # The walk through all folders came too early for one of the files.
    monkeypatch.setattr(
        board.storage, "names", lambda prefix="": [name for name in real(prefix) if prefix or name != left_out]
    )
    assert [one.state for one in fresh.submissions()] == ["accepted"]
    assert fresh.damaged == {}


def test_files_of_others_are_told_and_change_nothing(board: Board) -> None:
    board.submit(PACKAGE)
    board.storage.create("submissions/readme.txt", b"hello")
    found = check_store(Board(board.storage))
    assert (found.problems, found.strangers, found.packages, found.events) == ((), ("submissions/readme.txt",), 1, 1)
    assert len(board.submissions()) == 1
