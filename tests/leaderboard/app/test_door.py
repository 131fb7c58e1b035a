"""What of Gradio's server is open, and that uploads cannot fill the disk."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.app.door import LONGEST_CALL, LONGEST_UPLOAD, Door
from medical_tasks.leaderboard.app.uploads import FOLDER_VARIABLE, make_room, own_folder

BODY = b'{"data":[]}'


def asked(
    folder: Path, path: str, *, chunks: tuple[bytes, ...] = (BODY,), said: int = -1, seconds: float = 60.0
) -> tuple[int, bytes]:
    """Posts to an app that reads all of a body and answers 200, or 500 to what breaks it off; the status, and what it read."""
    told: list[int] = []
    waiting = list(chunks)
    read = b""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal read
        more = True
        while more:
            try:
                message = await receive()
            except Exception:
                # As the framework does: it answers before it raises.
                await send({"type": "http.response.start", "status": 500})
                raise
            read += message["body"]
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    headers = [(b"content-length", str(said).encode())] if said >= 0 else []
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(Door(app, folder=folder, seconds=seconds)(scope, receive, send))
    (status,) = told
    return status, read


@pytest.mark.parametrize(
    ("path", "most"), [("/gradio_api/upload", LONGEST_UPLOAD), ("/gradio_api/queue/join", LONGEST_CALL)]
)
def test_a_body_is_bounded_whatever_it_says_of_itself(tmp_path: Path, path: str, most: int) -> None:
    assert asked(tmp_path, path, said=most)[0] == 200
    assert asked(tmp_path, path, said=most + 1) == (413, b"")
    halves = (BODY.ljust(most // 2), b" " * (most // 2))
    assert asked(tmp_path, path, chunks=halves)[0] == 200
    assert asked(tmp_path, path, chunks=(*halves, b"  "))[0] == 413
    # And it comes, or its place is free again.
    assert asked(tmp_path, path, chunks=(), seconds=0.0) == (408, b"")


def test_an_event_is_passed_on_as_texts_and_uploads(tmp_path: Path) -> None:
    path = f"{tmp_path}/{'a' * 64}/package.zip"
    file = {
        "path": path,
        "url": "http://127.0.0.1:9/",
        "is_stream": True,
        "meta": {"_type": "gradio.FileData", "more": 1},
    }
    sent = {
        "data": ["text", None, file],
        "fn_index": 3,
        "session_hash": "s",
        "event_data": {"query": "?a"},
        "simple_format": True,
    }
    status, read = asked(tmp_path, "/gradio_api/queue/join", chunks=tuple(json.dumps(sent).encode().partition(b"meta")))
    assert status == 200
    assert json.loads(read) == {
        "data": ["text", None, {"path": path, "meta": {"_type": "gradio.FileData"}}],
        "fn_index": 3,
        "session_hash": "s",
        "event_data": {"query": "?a"},
    }


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
