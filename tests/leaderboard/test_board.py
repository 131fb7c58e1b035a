"""The board: submissions, decisions, entries, and stores that were changed from outside."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.catalog import task_spec, tasks
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.admission import (
    AlreadySubmittedError,
    QueueFullError,
    QueueLimits,
)
from medical_tasks.leaderboard.board import (
    Board,
    entries_of,
    event_name,
    package_name,
    published_entries,
)
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.ranking import rank_ranges
from medical_tasks.leaderboard.records import DamagedError, Entry, Submission
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import (
    PackageError,
    ReadLimits,
)
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.report.published.figures import all_published
from tests.leaderboard.made_packages import accepted, cases, package

CASES = cases("board")

PACKAGE = package()
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def board_at(folder: Path, moment: datetime = NOON) -> Board:
    return Board(LocalStorage(folder), clock=lambda: moment)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return board_at(tmp_path / "board")


def states(submission: Submission) -> list[str]:
    return [event.state for event in submission.history]


def test_a_submitted_package_is_pending(board: Board) -> None:
    submission = board.submit(PACKAGE)
    assert (submission.state, submission.tasks, submission.submitter.model) == (
        "pending",
        ("medcalc",),
        "A model",
    )
    assert submission.history[0].at == "2026-01-31T12:00:00Z"
    assert board.storage.names() == [
        event_name(submission.id, 1),
        package_name(submission.id),
    ]
    other = Board(board.storage)
    assert (
        other.submissions()
        == other.submissions("pending")
        == [other.submission(submission.id)]
        == [submission]
    )
    assert other.submissions("accepted") == []
    assert other.package(submission.id).manifest.id == submission.id
    assert other.results(submission.id) == other.package(submission.id).results


def test_the_same_package_is_refused_with_its_state(board: Board) -> None:
    submission = board.submit(PACKAGE)
    with pytest.raises(
        AlreadySubmittedError,
        match=f"submitted before, 2026-01-31T12:00:00Z, as {submission.id}; it is pending",
    ) as caught:
        board.submit(PACKAGE)
    assert caught.value.submission == submission
    board.decide(submission.id, "rejected", by="Ann", reason="another data set")
    with pytest.raises(
        AlreadySubmittedError,
        match="it is rejected since .*: another data set. Nothing needs to be done",
    ):
        board.submit(PACKAGE)
    assert len(board.submissions()) == 1


@pytest.mark.parametrize(
    ("before", "state", "named", "message"), CASES["invalid_decisions"]
)
def test_invalid_decisions(
    board: Board, before: list[Any], state: Any, named: dict[str, Any], message: str
) -> None:
    name = board.submit(PACKAGE).id
    for earlier in before:
        board.decide(name, earlier, by="A", reason="because")
    was = board.submission(name)
    with pytest.raises(UsageError, match=message.replace("(by A)", r"\(by A\)")):
        board.decide(name, state, **named)
    assert board.submission(name) == was


def test_events_store_the_verification(board: Board) -> None:
    name = board.submit(PACKAGE).id
    report = {
        "package": name,
        "matches": True,
        "checks": [{"name": "content", "outcome": "match", "detail": "as stated"}],
    }
    decided = board.decide(name, "accepted", by="A", verified=report)
    assert decided.history[-1].verified == report
    for wrong in ({**report, "matches": False}, {**report, "matches": 1}):
        other = board.submit(package(f"model {wrong['matches']}")).id
        with pytest.raises(
            UsageError, match="needs a verification of this package that matches"
        ):
            board.decide(
                other, "accepted", by="A", verified={**wrong, "package": other}
            )


def test_a_second_decision_is_refused(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = board.submit(PACKAGE).id
    late = Board(board.storage)
    stale = late.submission(name)
    board.decide(name, "accepted", by="Ann")
    seen = iter([stale])
    real = late.submission
    monkeypatch.setattr(
        late,
        "submission",
        lambda submission_id: next(seen, None) or real(submission_id),
    )
    with pytest.raises(
        UsageError,
        match=r"it is accepted since .* \(by Ann\). Nothing of yours was kept",
    ):
        late.decide(name, "rejected", by="Ben", reason="late")
    assert states(board.submission(name)) == ["pending", "accepted"]


def test_times_never_decrease(tmp_path: Path) -> None:
    name = board_at(tmp_path).submit(PACKAGE).id
    decided = board_at(tmp_path, NOON - timedelta(days=1)).decide(
        name, "accepted", by="A"
    )
    assert decided.history[-1].at == decided.history[0].at


def refused_submission(board: Board) -> Submission:
    with pytest.raises(AlreadySubmittedError, match="it is pending") as caught:
        board.submit(PACKAGE)
    return caught.value.submission


def test_a_lost_event_is_restored(board: Board) -> None:
    name = board.submit(PACKAGE).id
    Path(board.storage.folder, event_name(name, 1)).unlink()  # type: ignore[attr-defined]
    for see in (
        lambda fresh: fresh.submissions()[0],
        lambda fresh: fresh.submission(name),
        lambda fresh: fresh.decide(name, "accepted", by="A"),
        refused_submission,
    ):
        mended: Submission = see(Board(board.storage))
        assert states(mended)[0] == "pending"
        assert mended.submitter.model == "A model"
        assert check_store(Board(board.storage)).problems == ()
        for number in (1, 2):
            Path(board.storage.folder, event_name(name, number)).unlink(missing_ok=True)  # type: ignore[attr-defined]
    waiting = check_store(Board(board.storage))
    assert (waiting.problems, waiting.waiting, waiting.events) == ((), (name,), 0)


def test_a_full_store_is_readable_and_completed_later(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = board.storage.create
    full = True

    def create(name: str, content: bytes) -> None:
        if full and name.startswith("events/"):
            raise MissingError("No space left on device")
        real(name, content)

    monkeypatch.setattr(board.storage, "create", create)
    name = board.submit(PACKAGE).id  # the package is safe
    for same_store in (board, Board(board.storage)):
        assert [submission.id for submission in same_store.submissions("pending")] == [
            name
        ]
        assert same_store.submission(name).submitter.model == "A model"
        assert same_store.package(name).manifest.id == name
        with pytest.raises(MissingError, match="No space left"):
            same_store.decide(name, "accepted", by="A")
        with pytest.raises(AlreadySubmittedError):
            same_store.submit(PACKAGE)
    assert board.storage.names() == [package_name(name)]
    full = False
    assert states(board.decide(name, "accepted", by="A")) == ["pending", "accepted"]
    assert check_store(Board(board.storage)).problems == ()


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (QueueLimits(count=2), "2 submissions are pending, 2 may be. Nothing of this package was kept: submit it again"),
        (QueueLimits(of_submitter=2), "2 submissions of An ORGANISATION are pending, 2 may be"),
        (QueueLimits(total_bytes=2 * len(PACKAGE) + 999), r"have [\d,]+ bytes and this package [\d,]+, [\d,]+ may be together"),
    ],
)  # fmt: skip
def test_limits_of_pending_submissions(
    board: Board, queue: QueueLimits, message: str
) -> None:
    few = Board(board.storage, queue=queue)
    first, second = (few.submit(package(name)).id for name in ("a", "b"))
    Path(board.storage.folder, event_name(first, 1)).unlink()  # type: ignore[attr-defined]
    before = [name for name in board.storage.names() if name != event_name(first, 1)]
    for same_store in (few, Board(board.storage, queue=queue)):
        with pytest.raises(QueueFullError, match=message):
            same_store.submit(package("c", organisation="An ORGANISATION"))
        with pytest.raises(AlreadySubmittedError):
            same_store.submit(package("a"))
        assert [
            name for name in board.storage.names() if name != event_name(first, 1)
        ] == before
    few.decide(second, "rejected", by="A", reason="room")
    assert few.submit(package("c", organisation="An ORGANISATION")).state == "pending"
    assert Board(board.storage).submit(package("d")).state == "pending"


def test_submitters_without_an_organisation_are_counted_by_model(board: Board) -> None:
    few = Board(board.storage, queue=QueueLimits(of_submitter=1))
    few.submit(package("a", organisation=""))
    few.submit(package("b", organisation=""))
    with pytest.raises(QueueFullError, match="1 submissions of A are pending"):
        few.submit(package("A", organisation=""))


def changed_content(content: bytes, change: Any) -> bytes:
    """Returns changed content: with other entries (a dict), with a replaced text (a list), or by the name of a change."""
    if isinstance(change, dict):
        return json.dumps({**json.loads(content), **change}).encode()
    if isinstance(change, list):
        old, new, *times = change
        return content.replace(old.encode(), new.encode() * (times or [1])[0])
    return {"longer": content + b" ", "another": package("Another")}.get(
        change, str(change).encode()
    )


@pytest.mark.parametrize(("file", "change", "message"), CASES["damaged_files"])
def test_damaged_files_are_reported_and_left_out(
    board: Board, file: str, change: Any, message: str
) -> None:
    name = board.submit(PACKAGE).id
    sound = board.submit(package("Another sound one"))
    if file in ("event 1", "event 2"):
        board.decide(name, "accepted", by="A")
    number = 2 if file == "event 2" else 1
    path = Path(
        board.storage.folder,  # type: ignore[attr-defined]
        package_name(name) if file == "package" else event_name(name, number),
    )
    if change is None:
        path.unlink()
    else:
        path.write_bytes(changed_content(path.read_bytes(), change))
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
def test_files_written_during_a_listing_are_not_damage(
    board: Board, monkeypatch: pytest.MonkeyPatch, unseen: str
) -> None:
    name = accepted(board, PACKAGE)
    left_out = package_name(name) if unseen == "package" else event_name(name, 1)
    fresh = Board(board.storage)
    real = board.storage.names
    # The listing of all folders came too early for one of the files.
    monkeypatch.setattr(
        board.storage,
        "names",
        lambda prefix="": [name for name in real(prefix) if prefix or name != left_out],
    )
    assert [submission.state for submission in fresh.submissions()] == ["accepted"]
    assert fresh.damaged == {}


@pytest.fixture
def daily(tmp_path: Path) -> Board:
    """A board whose clock advances by a day at each reading."""
    days = itertools.count(1)
    return Board(
        LocalStorage(tmp_path),
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=next(days)),
    )


def submitted_entries(board: Board) -> list[Entry]:
    return entries_of(board, published=False)


def test_only_accepted_submissions_are_shown(daily: Board) -> None:
    daily.submit(package("pending"))
    daily.decide(daily.submit(package("rejected")).id, "rejected", by="A", reason="x")
    name = accepted(daily, package("accepted", right=4))
    (entry,) = submitted_entries(daily)
    assert (entry.model, entry.organisation, entry.task, entry.benchmark) == (
        "accepted",
        "An organisation",
        "medcalc",
        "MedCalc-Bench",
    )
    assert (entry.state, entry.submission, entry.at, entry.differences) == (
        "unverified",
        name,
        "2026-01-05",
        (),
    )
    assert entry.metrics["accuracy"]["value"] == 0.8
    assert entry.breakdown["category"]["physical"]["accuracy"]["n"] == 5
    assert entry.coverage == {
        "asked": 5,
        "answered": 5,
        "scored": 5,
        "unscored": {},
        "unclear": {},
    }
    assert entry.recipe["task_version"] == "3-A"


def test_size_limits_apply_only_to_new_packages(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        PackageError, match=r"has 1,0\d\d bytes, and at most 1,000 are taken"
    ):  # it is not even read
        Board(LocalStorage(tmp_path), limits=ReadLimits(package_bytes=1000)).submit(
            b"x" * 1001
        )
    long = package(
        recipe={"model": {"name": "hf/org/model", "files": ["a" * 2_000] * 1_000}}
    )
    wide = Board(LocalStorage(tmp_path), limits=ReadLimits(ratio=1_000))
    name = accepted(wide, long)
    with pytest.raises(PackageError, match="at most 200 to 1 are taken"):
        read_package(long)
    later = Board(LocalStorage(tmp_path))
    assert (
        [entry.submission for entry in submitted_entries(later)],
        later.damaged,
    ) == (
        [name],
        {},
    )


def test_verdicts_on_trust_are_not_verified(daily: Board) -> None:
    name = daily.submit(package()).id
    (task,) = daily.submission(name).tasks
    report = {"package": name, "matches": True, "checks": [], "on_trust": [task]}
    daily.decide(name, "accepted", by="A", verified=report)
    assert [entry.state for entry in submitted_entries(daily)] == ["unverified"]
    daily.decide(name, "rejected", by="A", reason="x")
    daily.decide(name, "accepted", by="A", reason="without a look")
    assert [entry.state for entry in submitted_entries(daily)] == ["unverified"]


def test_a_submission_replaces_another(daily: Board) -> None:
    first = accepted(daily, package(right=1))
    other = accepted(daily, package(right=2, organisation="Somebody else"))
    setting = accepted(
        daily,
        package(right=3, recipe={"prompts": {"set": "official", "sha256": "cd" * 32}}),
        replaces=first,
    )
    newest = accepted(daily, package("a MODEL", right=4), replaces=setting)
    assert [entry.submission for entry in submitted_entries(daily)] == [
        newest,
        setting,
        other,
    ]
    daily.decide(newest, "rejected", by="A", reason="withdrawn")
    assert [entry.submission for entry in submitted_entries(daily)] == [
        setting,
        other,
        first,
    ]
    assert len(daily.submissions()) == 4


def test_a_marked_result_has_no_rank(daily: Board) -> None:
    accepted(daily, package("whole", of=20, right=10))
    accepted(daily, package("partly", of=20, right=19, unanswered=1))
    entries = submitted_entries(daily)
    assert [(entry.model, len(entry.differences)) for entry in entries] == [
        ("partly", 1),
        ("whole", 0),
    ]
    assert [
        str(ranks) for ranks in rank_ranges(entries, task_spec("medcalc").metrics[0])
    ] == [
        "None",
        "1",
    ]


@pytest.mark.parametrize(
    "results",
    [None, "{", "[]", '{"tasks": {}}', '{"tasks": {"medcalc": {"recipe": {}}}}'],
)
def test_a_package_forged_together_with_its_event_is_left_out(
    daily: Board, results: str | None
) -> None:
    name = accepted(daily, package("forged"))
    folder, archive = Path(daily.storage.folder), io.BytesIO()  # type: ignore[attr-defined]
    if results is not None:
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("results.json", results)
    was = hashlib.sha256((folder / package_name(name)).read_bytes()).hexdigest()
    (folder / package_name(name)).write_bytes(archive.getvalue())
    event = folder / event_name(name, 1)
    event.write_text(
        event.read_text().replace(was, hashlib.sha256(archive.getvalue()).hexdigest())
    )
    fresh = Board(daily.storage)
    assert submitted_entries(fresh) == []
    assert (
        "no package with results" in fresh.damaged[name]
        or "has no results of medcalc" in fresh.damaged[name]
    )


def test_published_results_are_reported_and_have_no_interval(daily: Board) -> None:
    accepted(daily, package())
    entries = entries_of(daily)
    order = list(tasks())
    assert [order.index(entry.task) for entry in entries] == sorted(
        order.index(entry.task) for entry in entries
    )
    reported = [entry for entry in entries if entry.state == "reported"]
    assert reported == sorted(
        published_entries(), key=lambda entry: order.index(entry.task)
    )
    assert len(reported) == len(all_published())
    assert len(reported) > 10
    for entry in reported:
        assert entry.submission == entry.at == ""
        assert entry.url.startswith("https://")
        assert entry.coverage is None
        assert all(
            metric["value"] is not None and metric["ci_low"] is None
            for metric in entry.metrics.values()
        )
        assert rank_ranges([entry], tasks()[entry.task].metrics[0]) == [None]
