from __future__ import annotations

import hashlib
import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from medical_tasks.benchmarks.catalog import task_spec, tasks
from medical_tasks.leaderboard.board import Board, entries_of, event_name, package_name, published_entries
from medical_tasks.leaderboard.ranking import rank_ranges
from medical_tasks.leaderboard.records import Entry
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.report.published.figures import all_published
from tests.leaderboard.made_packages import package


class Clock:
    """A day later each time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(days=1)
        return self.now


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(LocalStorage(tmp_path), clock=Clock())


def accepted(board: Board, content: bytes, replaces: str = "") -> str:
    name = board.submit(content).id
    board.decide(name, "accepted", by="A", replaces=replaces)
    return name


def submitted(board: Board) -> list[Entry]:
    return entries_of(board, published=False)


def test_only_accepted_ones_are_shown(board: Board) -> None:
    board.submit(package("pending"))
    board.decide(board.submit(package("rejected")).id, "rejected", by="A", reason="x")
    name = accepted(board, package("accepted", right=4))
    (entry,) = submitted(board)
    assert (entry.model, entry.organisation, entry.task, entry.benchmark) == (
        "accepted",
        "An organisation",
        "medcalc",
        "MedCalc-Bench",
    )
    assert (entry.state, entry.submission, entry.at, entry.differences) == ("unverified", name, "2026-01-05", ())
    assert entry.metrics["accuracy"]["value"] == 0.8
    assert entry.breakdown["category"]["physical"]["accuracy"]["n"] == 5
    assert entry.coverage == {"asked": 5, "answered": 5, "scored": 5, "unscored": {}}
    assert entry.recipe["task_version"] == "2-A"


def test_accepted_by_verification_is_verified(board: Board) -> None:
    name = board.submit(package()).id
    board.decide(name, "accepted", by="A", verified={"package": name, "matches": True, "checks": []})
    assert [entry.state for entry in submitted(board)] == ["verified"]


def test_verdicts_on_trust_are_not_verified(board: Board) -> None:
    name = board.submit(package()).id
    (task,) = board.submission(name).tasks
    report = {"package": name, "matches": True, "checks": [], "on_trust": [task]}
    board.decide(name, "accepted", by="A", verified=report)
    assert [entry.state for entry in submitted(board)] == ["unverified"]
    board.decide(name, "rejected", by="A", reason="x")
    board.decide(name, "accepted", by="A", reason="without a look")
    assert [entry.state for entry in submitted(board)] == ["unverified"]


def test_a_submission_takes_the_place_that_it_was_given(board: Board) -> None:
    first = accepted(board, package(right=1))
    other = accepted(board, package(right=2, organisation="Somebody else"))
    setting = accepted(board, package(right=3, recipe={"prompts": {"set": "official", "sha256": "cd" * 32}}), first)
    newest = accepted(board, package("a MODEL", right=4), setting)
    assert [entry.submission for entry in submitted(board)] == [newest, setting, other]
    board.decide(newest, "rejected", by="A", reason="withdrawn")
    assert [entry.submission for entry in submitted(board)] == [setting, other, first]
    assert len(board.submissions()) == 4


def test_a_marked_one_is_shown_without_a_rank(board: Board) -> None:
    accepted(board, package("whole", of=20, right=10))
    accepted(board, package("partly", of=20, right=19, unanswered=1))
    entries = submitted(board)
    assert [(entry.model, len(entry.differences)) for entry in entries] == [("partly", 1), ("whole", 0)]
    assert [str(place) for place in rank_ranges(entries, task_spec("medcalc").metrics[0])] == ["None", "1"]


def test_a_package_changed_in_the_store_is_left_out_and_told(board: Board) -> None:
    name, sound = accepted(board, package("changed")), accepted(board, package("sound"))
    Path(board.storage.folder, package_name(name)).write_bytes(package("forged"))  # type: ignore[attr-defined]
    fresh = Board(board.storage)
    assert [entry.submission for entry in submitted(fresh)] == [sound]
    assert "not the file that was submitted" in fresh.damaged[name]


@pytest.mark.parametrize("results", [None, "{", "[]", '{"tasks": {}}', '{"tasks": {"medcalc": {"recipe": {}}}}'])
def test_a_package_forged_together_with_its_event_is_left_out(board: Board, results: str | None) -> None:
    name = accepted(board, package("forged"))
    folder, made = Path(board.storage.folder), io.BytesIO()  # type: ignore[attr-defined]
    if results is not None:
        with zipfile.ZipFile(made, "w") as file:
            file.writestr("results.json", results)
    was = hashlib.sha256((folder / package_name(name)).read_bytes()).hexdigest()
    (folder / package_name(name)).write_bytes(made.getvalue())
    event = folder / event_name(name, 1)
    event.write_text(event.read_text().replace(was, hashlib.sha256(made.getvalue()).hexdigest()))
    fresh = Board(board.storage)
    assert submitted(fresh) == []
    assert "no package with results" in fresh.damaged[name] or "has no results of medcalc" in fresh.damaged[name]


def test_published_results_are_reported_and_have_no_interval(board: Board) -> None:
    accepted(board, package())
    entries = entries_of(board)
    order = list(tasks())
    assert [order.index(entry.task) for entry in entries] == sorted(order.index(entry.task) for entry in entries)
    reported = [entry for entry in entries if entry.state == "reported"]
    assert reported == sorted(published_entries(), key=lambda entry: order.index(entry.task))
    assert len(reported) == len(all_published())
    assert len(reported) > 10
    for entry in reported:
        assert entry.submission == entry.at == ""
        assert entry.url.startswith("https://")
        assert entry.coverage is None
        assert all(metric["value"] is not None and metric["ci_low"] is None for metric in entry.metrics.values())
        assert rank_ranges([entry], tasks()[entry.task].metrics[0]) == [None]
