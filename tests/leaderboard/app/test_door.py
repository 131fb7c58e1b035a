"""What of Gradio's server is open, and that uploads cannot fill the disk."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.app.door import LONGEST_CALL, LONGEST_UPLOAD, Door
from medical_tasks.leaderboard.app.upload_room import FOLDER_VARIABLE, make_room, own_folder


def asked(folder: Path, path: str, *, method: str = "POST", chunks: tuple[bytes, ...] = (b"",), said: int = -1) -> int:
    """Asks an app that reads all of a body and answers 200; the status."""
    told: list[int] = []
    waiting = list(chunks)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            continue
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    headers = [(b"content-length", str(said).encode())] if said >= 0 else []
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    asyncio.run(Door(app, folder=folder)(scope, receive, send))
    (status,) = told
    return status


@pytest.mark.parametrize("path", ["/", "/config", "/theme.css", "/assets/index.js", "/gradio_api/queue/data"])
def test_what_the_pages_ask_for_is_open(tmp_path: Path, path: str) -> None:
    assert asked(tmp_path, path, method="GET") == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/gradio_api/dev/reload"),
        ("GET", "/gradio_api/proxy=http://127.0.0.1:9/"),
        ("GET", "/gradio_api/deep_link"),
        ("GET", "/gradio_api/upload"),
        ("POST", "/gradio_api/process_recording"),
        ("POST", "/gradio_api/component_server"),
        ("POST", "/gradio_api/vibe-edit/"),
        ("POST", "/gradio_api/run/predict"),
        ("POST", "/"),
        ("DELETE", "/"),
    ],
)
def test_what_they_do_not_ask_for_is_closed(tmp_path: Path, method: str, path: str) -> None:
    assert asked(tmp_path, path, method=method) == 404


@pytest.mark.parametrize(
    ("path", "most"), [("/gradio_api/upload", LONGEST_UPLOAD), ("/gradio_api/queue/join", LONGEST_CALL)]
)
def test_a_body_is_bounded_whatever_it_says_of_itself(tmp_path: Path, path: str, most: int) -> None:
    assert asked(tmp_path, path, said=most) == 200
    assert asked(tmp_path, path, said=most + 1) == 413
    half = b"\0" * (most // 2)
    assert asked(tmp_path, path, chunks=(half, half)) == 200
    assert asked(tmp_path, path, chunks=(half, half, b"\0\0")) == 413


def upload(folder: Path, name: str, *, size: int, age: float) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\0" * size)
    then = time.time() - age
    os.utime(path, (then, then))
    os.utime(path.parent, (then, then))
    return path


def test_old_and_broken_uploads_go_and_then_the_oldest(tmp_path: Path) -> None:
    broken = upload(tmp_path, "tmpbroken", size=10, age=4000)
    old = upload(tmp_path, f"{'a' * 64}/old.zip", size=10, age=3700)
    first = upload(tmp_path, f"{'b' * 64}/first.zip", size=60, age=300)
    second = upload(tmp_path, f"{'c' * 64}/second.zip", size=60, age=200)
    make_room(tmp_path, most_bytes=120, oldest_s=3600)
    assert [path.exists() for path in (broken, old, first, second)] == [False, False, True, True]
    make_room(tmp_path, most_bytes=119, oldest_s=3600)
    assert [path.exists() for path in (first, second)] == [False, True]


def test_uploads_have_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    folder = own_folder()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    assert own_folder() == folder == Path(os.environ[FOLDER_VARIABLE])
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        own_folder()
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UsageError, match="no folder for uploads can be made"):
        own_folder()
