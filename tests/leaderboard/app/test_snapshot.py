"""When the store is read again, and what is shown while it cannot be."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError
from medical_tasks.leaderboard.app.pages import page_at
from medical_tasks.leaderboard.app.parts import Address
from medical_tasks.leaderboard.app.snapshot import Content
from medical_tasks.leaderboard.board import Board, entries_of
from medical_tasks.leaderboard.records import Entry
from medical_tasks.leaderboard.storage import LocalStorage
from tests.leaderboard.made_packages import package


class Counted:
    """Counts how often entries are made, and may be out of reach."""

    def __init__(self, folder: Path) -> None:
        self.board = Board(LocalStorage(folder))
        self.reads = 0
        self.now = 0.0
        self.broken = False
        self.content = Content(self.board, lifetime=5.0, clock=lambda: self.now, read=self.read)

    def read(self, board: Board) -> Sequence[Entry]:
        self.reads += 1
        if self.broken:
            raise MissingError("store <out> of reach")
        return entries_of(board, published=False)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    made = Counted(tmp_path / "store")
    made.board.submit(package("One", of=40))
    return made


def test_an_unchanged_store_is_read_once(counted: Counted) -> None:
    for now in (0.0, 1.0, 6.0, 60.0):
        counted.now = now
        assert len(counted.content.snapshot().submissions) == 1
    assert counted.reads == 1


def test_a_change_is_seen_after_the_lifetime_or_at_once_when_told(counted: Counted) -> None:
    assert counted.content.snapshot().entries == ()
    (waiting,) = counted.content.snapshot().pending()
    counted.board.decide(waiting.id, "accepted", by="keeper")
    assert counted.content.snapshot().entries == ()
    counted.now = 5.0
    assert [entry.model for entry in counted.content.snapshot().entries] == ["One"]
    counted.board.submit(package("Two", of=40))
    counted.content.forget()
    assert len(counted.content.snapshot().submissions) == 2


def test_a_store_out_of_reach_is_said_above_what_was(counted: Counted, caplog: pytest.LogCaptureFixture) -> None:
    counted.broken = True
    html = page_at(counted.content, Address(view="queue")).html
    assert "The leaderboard&#x27;s store cannot be read now" in html
    assert "of reach" not in html  # it may name a place of the server, whose log has it
    assert "store <out> of reach" in caplog.text
    assert "Nothing can be shown." in html
    counted.broken = False
    counted.now = 6.0
    assert "cannot be read" not in page_at(counted.content, Address(view="queue")).html
    counted.broken = True
    counted.now = 12.0
    counted.board.submit(package("Two", of=40))
    html = page_at(counted.content, Address(view="queue")).html
    assert "cannot be read now" in html
    assert "1 pending" in html


def test_a_store_that_is_gone_is_no_empty_store(
    counted: Counted, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counted.content.snapshot()
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    counted.now = 6.0
    html = page_at(counted.content, Address(view="queue")).html
    assert "all of its 2 files are gone" in caplog.text
    assert "cannot be read now" in html
    assert "1 pending" in html
    (tmp_path / "elsewhere").rename(tmp_path / "store")
    counted.now = 12.0
    assert "cannot be read" not in page_at(counted.content, Address(view="queue")).html


def test_while_one_reads_the_others_see_what_was(counted: Counted) -> None:
    counted.content.snapshot()
    started, go_on = threading.Event(), threading.Event()

    def slow(board: Board) -> Sequence[Entry]:
        started.set()
        assert go_on.wait(10)
        return entries_of(board, published=False)

    counted.content._read = slow
    counted.board.submit(package("Two", of=40))
    counted.content.forget()
    reader = threading.Thread(target=counted.content.snapshot)
    reader.start()
    assert started.wait(10)
    assert len(counted.content.snapshot().submissions) == 1
    go_on.set()
    reader.join()
    assert len(counted.content.snapshot().submissions) == 2
