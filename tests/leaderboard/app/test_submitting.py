"""Uploads: read within the limit, refused without a trace, submitted once."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError
from medical_tasks.leaderboard.app.door import upload_path
from medical_tasks.leaderboard.app.serving import check, introduction, refused, submit
from medical_tasks.leaderboard.board import Board, Content
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS
from tests.leaderboard.app.page_samples import HOSTILE
from tests.leaderboard.app.test_pages import rows
from tests.leaderboard.made_packages import package
from tests.report.page_reading import PageReader

TOKEN = f"{'ab' * 32}.zip"


@pytest.fixture
def content(tmp_path: Path) -> Content:
    # A clock of whole seconds: what comes in the same one is told apart by its hash alone.
    seconds = itertools.count()
    start = datetime(2026, 1, 1, tzinfo=UTC)
    board = Board(LocalStorage(tmp_path / "store"), clock=lambda: start + timedelta(seconds=next(seconds)))
    return Content(board, lifetime=0.0)


def put(folder: Path, data: bytes) -> Path:
    path = folder / TOKEN
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_sound_package_is_shown_and_waits(tmp_path: Path) -> None:
    path = put(tmp_path, package("My model", right=20, of=40))
    step = check(path)
    assert step.waits
    assert path.is_file()
    assert "The package is sound" in step.html
    assert rows(step.html, "submit-numbers")[0] == ["medcalc", "accuracy", "50.0 %35.2 to 64.8", "40/40"]


def test_submitting_gives_a_place_in_the_queue_and_keeps_no_upload(tmp_path: Path, content: Content) -> None:
    first = submit(content, put(tmp_path / "1", package("One", of=40)))
    assert "It is number 1 of 1 in the queue." in first.html
    second = submit(content, put(tmp_path / "2", package("Two", of=40)))
    assert "It is number 2 of 2 in the queue." in second.html
    again = submit(content, put(tmp_path / "3", package("Two", of=40)))
    assert "This package was submitted before" in again.html
    assert not any(step.waits for step in (first, second, again))
    assert [path for path in tmp_path.rglob("*.zip") if "store" not in path.parts] == []
    assert len(content.snapshot().pending()) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the package is not a zip file"),
        (b"<script>alert(1)</script>", "the package is not a zip file"),
        (package("A", of=40)[:-30], "cut off"),
        (package("A", of=40, recipe={"max_samples": 40}), "only 40 items were asked"),
    ],
    ids=["empty", "text", "cut", "not taken here"],
)
def test_a_bad_package_is_refused_and_nothing_is_kept(tmp_path: Path, content: Content, data: bytes, said: str) -> None:
    for act in (check, lambda path: submit(content, path)):
        path = put(tmp_path, data)
        step = act(path)
        assert said in step.html
        assert "Nothing of it was kept." in step.html
        assert not step.waits
        assert not path.exists()
    assert content.snapshot().submissions == {}
    assert not (tmp_path / "store").exists()


def test_more_than_the_limit_is_not_read(tmp_path: Path) -> None:
    path = put(tmp_path, b"x" * 2048)
    step = check(path, replace(DEFAULT_LIMITS, package_bytes=1024))
    assert "at most 1,024 are taken" in step.html
    assert not path.exists()


def test_a_refusal_quotes_harmlessly() -> None:
    assert not {"img", "script"} & set(PageReader(refused(HOSTILE)).elements)
    assert "at most 32 MiB" in introduction()


def test_only_uploads_are_uploads(tmp_path: Path) -> None:
    good = put(tmp_path, b"x")
    (tmp_path / "secret").write_text("s")
    assert upload_path({"path": str(good)}, tmp_path) == good
    gone = f"{'cd' * 32}.zip"
    paths = [
        None,
        "",
        good.name,
        "/etc/passwd",
        f"{tmp_path}/secret",
        f"{tmp_path}/x/../{good.name}",
        f"{tmp_path}/{gone}",
    ]
    odd: list[object] = [None, str(good), {}, *({"path": path} for path in paths)]
    for value in odd:
        with pytest.raises(MissingError, match="not here any more"):
            upload_path(value, tmp_path)


@pytest.mark.parametrize("act", ["check", "submit"])
def test_a_fault_of_the_server_tells_no_place_and_keeps_nothing(
    tmp_path: Path, content: Content, act: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*given: object) -> None:
        raise MissingError(f"{tmp_path}: the disk is full")

    monkeypatch.setattr("medical_tasks.leaderboard.app.serving.check_admission", full)
    monkeypatch.setattr(Board, "submit", full)
    path = put(tmp_path, package(of=40))
    step = check(path) if act == "check" else submit(content, path)
    assert "The server could not store it now." in step.html
    assert str(tmp_path) not in step.html
    assert f"{tmp_path}: the disk is full" in caplog.text
    assert not path.exists()
