from __future__ import annotations

import shutil
from pathlib import Path

from medical_tasks.leaderboard.board import Board, entries_of
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.storage import open_storage
from tests.support import ROOT


def test_the_example_store_is_whole_and_has_real_entries(tmp_path: Path) -> None:
    store = shutil.copytree(ROOT / "space" / "example-store", tmp_path / "store")
    board = Board(open_storage(str(store)))
    assert not check_store(board).problems
    shown = {(entry.task, entry.model): entry for entry in entries_of(board, published=False)}
    assert {task for task, _ in shown} == {"medcalc_direct", "kqa"}
    assert len(shown) == 3
    # A judge that was not asked again leaves an entry unverified.
    assert {entry.state for (task, _), entry in shown.items() if task != "kqa"} == {"verified"}
    # Reading a package computes its results from its items anew.
    assert all(board.package(made.id).manifest.id == made.id for made in board.submissions())
