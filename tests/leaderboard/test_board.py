from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.admission import AdmissionError, AlreadySubmittedError, QueueFullError, QueueLimits
from medical_tasks.leaderboard.board import Board, event_name, package_name
from medical_tasks.leaderboard.hub_store import HubStorage
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.records import Submission
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import PackageError, ReadLimits
from tests.leaderboard.fake_hub import REPO, TOKEN, FakeHub
from tests.leaderboard.made_packages import package

PACKAGE = package()
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def board_at(folder: Path, moment: datetime = NOON) -> Board:
    return Board(LocalStorage(folder), clock=lambda: moment)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return board_at(tmp_path / "board")


def states(submission: Submission) -> list[str]:
    return [event.state for event in submission.history]


def test_a_package_is_taken(board: Board) -> None:
    made = board.submit(PACKAGE)
    assert (made.state, made.tasks, made.submitter.model) == ("pending", ("medcalc",), "A model")
    assert made.history[0].at == "2026-01-31T12:00:00Z"
    assert board.storage.names() == [event_name(made.id, 1), package_name(made.id)]
    other = Board(board.storage)
    assert other.submissions() == other.submissions("pending") == [other.submission(made.id)] == [made]
    assert other.submissions("accepted") == []
    assert other.package(made.id).manifest.id == made.id
    assert other.results(made.id) == other.package(made.id).results


def test_the_same_package_is_told_with_its_state(board: Board) -> None:
    made = board.submit(PACKAGE)
    with pytest.raises(
        AlreadySubmittedError, match=f"submitted before, 2026-01-31T12:00:00Z, as {made.id}; it is pending"
    ) as told:
        board.submit(PACKAGE)
    assert told.value.submission == made
    board.decide(made.id, "rejected", by="Ann", reason="another data set")
    with pytest.raises(
        AlreadySubmittedError, match="it is rejected since .*: another data set. Nothing needs to be done"
    ):
        board.submit(PACKAGE)
    assert len(board.submissions()) == 1


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"no zip", PackageError, "zip"),
        (PACKAGE[:-30], PackageError, "zip"),
        (package(recipe={"max_samples": 5}), AdmissionError, "only 5 items were asked"),
    ],
)
def test_of_a_refused_package_nothing_is_kept(
    board: Board, content: bytes, error: type[UsageError], message: str
) -> None:
    with pytest.raises(error, match=message):
        board.submit(content)
    assert board.storage.names() == []
    assert not Path(board.storage.folder).exists()  # type: ignore[attr-defined]


def test_a_package_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    small = Board(LocalStorage(tmp_path), limits=ReadLimits(package_bytes=1000))
    with pytest.raises(PackageError, match=r"has 1,0\d\d bytes, 1,000 are allowed"):
        small.submit(b"x" * 1001)


def test_decisions_and_their_history(board: Board) -> None:
    name = board.submit(PACKAGE).id
    assert states(board.decide(name, "accepted", by="Ann")) == ["pending", "accepted"]
    withdrawn = board.decide(name, "rejected", by="Ben", reason="wrong model")
    assert (withdrawn.history[-1].by, withdrawn.history[-1].reason) == ("Ben", "wrong model")
    again = board.decide(name, "accepted", by="Ann", reason="it was right")
    assert states(again) == ["pending", "accepted", "rejected", "accepted"]
    assert Board(board.storage).submission(name) == again


@pytest.mark.parametrize(
    ("before", "state", "named", "message"),
    [
        ([], "pending", {"by": "A"}, "is pending since .* cannot become pending. It can become accepted or rejected"),
        (
            ["accepted"],
            "accepted",
            {"by": "A"},
            "is accepted since .* (by A) and cannot become accepted. It can become rejected",
        ),
        (["rejected"], "rejected", {"by": "A", "reason": "x"}, "cannot become rejected. It can become accepted"),
        ([], "accepted", {"by": " "}, "--by is needed here and is empty"),
        ([], "rejected", {"by": "A"}, "--reason is needed here and is empty"),
        (["accepted"], "rejected", {"by": "A"}, "--reason is needed here"),
        (["rejected"], "accepted", {"by": "A"}, "--reason is needed here"),
        ([], "accepted", {"by": "A\nB"}, "--by must be one line without control characters, got 'A\\\\nB'"),
        ([], "accepted", {"by": "A" * 97}, "--by has 97 characters, 96 are allowed"),
        ([], "rejected", {"by": "A", "reason": "x" * 501}, "--reason has 501 characters, 500 are allowed"),
        (
            [],
            "accepted",
            {"by": "A", "verified": {"package": "f" * 16, "matches": True}},
            "a verification goes with accepting",
        ),
    ],
)
def test_what_cannot_be_decided(
    board: Board, before: list[Any], state: Any, named: dict[str, Any], message: str
) -> None:
    name = board.submit(PACKAGE).id
    for each in before:
        board.decide(name, each, by="A", reason="because")
    was = board.submission(name)
    with pytest.raises(UsageError, match=message.replace("(by A)", r"\(by A\)")):
        board.decide(name, state, **named)
    assert board.submission(name) == was


def test_a_verification_is_kept_in_the_event(board: Board) -> None:
    name = board.submit(PACKAGE).id
    report = {
        "package": name,
        "matches": True,
        "checks": [{"name": "content", "outcome": "match", "detail": "as stated"}],
    }
    made = board.decide(name, "accepted", by="A", verified=report)
    assert made.history[-1].verified == report
    for wrong in ({**report, "matches": False}, {**report, "matches": 1}):
        other = board.submit(package(f"model {wrong['matches']}")).id
        with pytest.raises(UsageError, match="is of this package and matches"):
            board.decide(other, "accepted", by="A", verified={**wrong, "package": other})


def test_of_decisions_at_the_same_moment_one_wins(board: Board) -> None:
    name = board.submit(PACKAGE).id
    barrier, lost = threading.Barrier(6), list[str]()

    def decide(number: int) -> None:
        own = Board(board.storage)
        barrier.wait()
        try:
            own.decide(name, "accepted" if number % 2 else "rejected", by=f"person {number}", reason="x")
        except UsageError as error:
            lost.append(str(error))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(decide, range(6)))
    found = board.submission(name)
    # Rejected may follow accepted, and the other way round: each event is one person's, and nobody's was lost without a word.
    assert len(found.history) - 1 + len(lost) == 6
    assert len({event.by for event in found.history}) == len(found.history)
    assert all("somebody else decided at the same moment" in text or "cannot become" in text for text in lost)


def test_a_decision_that_comes_second_is_told(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    name = board.submit(PACKAGE).id
    late = Board(board.storage)
    known = late.submission(name)
    board.decide(name, "accepted", by="Ann")
    seen = iter([known])
    real = late.submission
    monkeypatch.setattr(late, "submission", lambda each: next(seen, None) or real(each))
    with pytest.raises(UsageError, match=r"it is accepted since .* \(by Ann\). Nothing of yours was kept"):
        late.decide(name, "rejected", by="Ben", reason="late")
    assert states(board.submission(name)) == ["pending", "accepted"]


def test_times_do_not_go_back(tmp_path: Path) -> None:
    name = board_at(tmp_path).submit(PACKAGE).id
    made = board_at(tmp_path, NOON - timedelta(days=1)).decide(name, "accepted", by="A")
    assert made.history[-1].at == made.history[0].at


def test_the_newest_come_first(tmp_path: Path) -> None:
    for hours, model in ((1, "b"), (3, "c"), (2, "a")):
        board_at(tmp_path, NOON + timedelta(hours=hours)).submit(package(model))
    assert [one.submitter.model for one in board_at(tmp_path).submissions()] == ["c", "a", "b"]


def _told_of(board: Board) -> Submission:
    with pytest.raises(AlreadySubmittedError, match="it is pending") as told:
        board.submit(PACKAGE)
    return told.value.submission


def test_a_package_whose_event_was_lost_gets_it_when_it_is_seen(board: Board) -> None:
    name = board.submit(PACKAGE).id
    Path(board.storage.folder, event_name(name, 1)).unlink()  # type: ignore[attr-defined]
    for see in (
        lambda one: one.submissions()[0],
        lambda one: one.submission(name),
        lambda one: one.decide(name, "accepted", by="A"),
        _told_of,
    ):
        mended: Submission = see(Board(board.storage))
        assert states(mended)[0] == "pending"
        assert mended.submitter.model == "A model"
        assert check_store(Board(board.storage)).problems == ()
        for number in (1, 2):
            Path(board.storage.folder, event_name(name, number)).unlink(missing_ok=True)  # type: ignore[attr-defined]
    waiting = check_store(Board(board.storage))
    assert (waiting.problems, waiting.waiting, waiting.events) == ((), (name,), 0)


def test_a_full_store_is_shown_and_mended_later(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    real = board.storage.create
    full = True

    def create(name: str, content: bytes) -> None:
        if full and name.startswith("events/"):
            raise MissingError("No space left on device")
        real(name, content)

    monkeypatch.setattr(board.storage, "create", create)
    name = board.submit(PACKAGE).id  # the package is safe
    for one in (board, Board(board.storage)):
        assert [each.id for each in one.submissions("pending")] == [name]
        assert one.submission(name).submitter.model == "A model"
        assert one.package(name).manifest.id == name
        with pytest.raises(MissingError, match="No space left"):
            one.decide(name, "accepted", by="A")
        with pytest.raises(AlreadySubmittedError):
            one.submit(PACKAGE)
    assert board.storage.names() == [package_name(name)]
    full = False
    assert states(board.decide(name, "accepted", by="A")) == ["pending", "accepted"]
    assert check_store(Board(board.storage)).problems == ()


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (
            QueueLimits(count=2),
            "2 submissions are pending, 2 may be. Nothing of this package was kept: submit it again",
        ),
        (QueueLimits(of_submitter=2), "2 submissions of An ORGANISATION are pending, 2 may be"),
        (
            QueueLimits(total_bytes=2 * len(PACKAGE) + 999),
            r"have [\d,]+ bytes and this package [\d,]+, [\d,]+ may be together",
        ),
    ],
)
def test_what_waits_has_a_limit(board: Board, queue: QueueLimits, message: str) -> None:
    few = Board(board.storage, queue=queue)
    first, second = (few.submit(package(name)).id for name in ("a", "b"))
    Path(board.storage.folder, event_name(first, 1)).unlink()  # type: ignore[attr-defined]
    before = [name for name in board.storage.names() if name != event_name(first, 1)]
    for one in (few, Board(board.storage, queue=queue)):
        with pytest.raises(QueueFullError, match=message):
            one.submit(package("c", organisation="An ORGANISATION"))
        with pytest.raises(AlreadySubmittedError):
            one.submit(package("a"))
        assert [name for name in board.storage.names() if name != event_name(first, 1)] == before
    few.decide(second, "rejected", by="A", reason="room")
    assert few.submit(package("c", organisation="An ORGANISATION")).state == "pending"
    assert Board(board.storage).submit(package("d")).state == "pending"


def test_those_who_name_no_organisation_wait_by_model(board: Board) -> None:
    few = Board(board.storage, queue=QueueLimits(of_submitter=1))
    few.submit(package("a", organisation=""))
    few.submit(package("b", organisation=""))
    with pytest.raises(QueueFullError, match="1 submissions of A are pending"):
        few.submit(package("A", organisation=""))


def test_what_is_not_there(board: Board) -> None:
    with pytest.raises(MissingError, match=f"{'f' * 16}: no such submission"):
        board.submission("f" * 16)
    for name in ("../../etc", "F" * 16, "f" * 15, ""):
        with pytest.raises(UsageError, match="no id of a submission"):
            board.submission(name)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as server:
        yield server


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_it_works_on_the_hub_too(hub: FakeHub) -> None:
    first = Board(HubStorage(REPO, TOKEN, endpoint=hub.endpoint, first_wait_s=0.001))
    name = first.submit(PACKAGE).id
    other = Board(HubStorage(REPO, TOKEN, endpoint=hub.endpoint, first_wait_s=0.001))
    assert states(other.decide(name, "accepted", by="A")) == ["pending", "accepted"]
    assert first.submission(name).state == "accepted"
    hub.faults["commit"] = ["lost"]
    assert first.submit(package("Another")).state == "pending"
    assert check_store(other).problems == ()
    assert len(hub.commits) == 1 + 5


def _submit(folder: str, model: str) -> str:
    """Runs in another process: submits a package, and says what it was told."""
    try:
        return Board(LocalStorage(Path(folder))).submit(package(model)).id
    except AlreadySubmittedError:
        return ""


def _submit_by_threads(folder: str, models: list[str]) -> list[str]:
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(lambda model: _submit(folder, model), models))


@pytest.mark.slow
def test_of_submissions_at_the_same_time_none_is_lost_and_none_doubled(tmp_path: Path) -> None:
    # Each of 8 packages is submitted by two processes, by four threads in each.
    models = [f"model {number}" for number in range(8)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        told = list(processes.map(_submit_by_threads, [str(tmp_path)] * 2, [models] * 2))
    taken = [name for each in told for name in each if name]
    board = Board(LocalStorage(tmp_path))
    assert len(taken) == len(set(taken)) == 8
    assert {one.id for one in board.submissions()} == set(taken)
    found = check_store(board)
    assert (found.packages, found.events, found.problems, found.strangers) == (8, 8, (), ())
