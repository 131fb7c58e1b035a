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
from medical_tasks.leaderboard.app import door as doors

BODY = b'{"data":[]}'
EDGE = b"a-line"


def file_parts(*contents: bytes, name: str = "a.zip") -> bytes:
    """A body with files in it, as a browser sends them."""
    head = f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode()
    return b"".join(b"--%b\r\n%b%b\r\n" % (EDGE, head, content) for content in contents) + b"--%b--\r\n" % EDGE


def asked(
    door: doors.Door | Path,
    path: str,
    *,
    chunks: tuple[bytes, ...] = (BODY,),
    said: int = -1,
    limits: doors.Limits | None = None,
    head: Any = (),
) -> tuple[int, bytes]:
    """Posts through a door to an app that reads all of a body and answers 200, or 500 to what breaks it off; status and answer."""
    told: list[Any] = []
    waiting = list(chunks)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        more, read = True, b""
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
        await send({"type": "http.response.body", "body": read})

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        told.append(message)

    headers = [(b"content-type", b"multipart/form-data; boundary=" + EDGE), *head]
    headers += [(b"content-length", str(said).encode())] if said >= 0 else []
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    scope["client"] = ("10.0.0.9", 1)
    if isinstance(door, Path):
        door = doors.Door(app, folder=door, limits=limits)
    asyncio.run(door(scope, receive, send))
    start, *rest = told
    return start["status"], b"".join(message["body"] for message in rest)


def test_a_body_is_bounded_whatever_it_says_of_itself(tmp_path: Path) -> None:
    event, upload = "/gradio_api/queue/join", "/gradio_api/upload"
    assert asked(tmp_path, event, said=doors.LONGEST_CALL)[0] == 200
    halves = (BODY.ljust(doors.LONGEST_CALL // 2), b" " * (doors.LONGEST_CALL // 2))
    assert asked(tmp_path, event, chunks=halves)[0] == 200
    assert asked(tmp_path, event, chunks=(*halves, b"  "))[0] == 413
    most = file_parts(b"PK\3\4".ljust(doors.LONGEST_UPLOAD - len(file_parts(b""))))
    assert asked(tmp_path, upload, chunks=(most[:-9], most[-9:]))[0] == 200
    assert asked(tmp_path, upload, chunks=(most, b" "))[0] == 413
    for path, longest in ((event, doors.LONGEST_CALL), (upload, doors.LONGEST_UPLOAD)):
        assert asked(tmp_path, path, said=longest + 1)[0] == 413
        # And it comes, or its place is free again: all of it in time, and without a pause.
        for limits in (doors.Limits(seconds=0.0), doors.Limits(idle=0.0)):
            assert asked(tmp_path, path, chunks=(), limits=limits)[0] == 408
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "body",
    [
        file_parts(b"<script>1</script>"),
        file_parts(b""),
        file_parts(b"PK\3\4a", b"PK\3\4b"),
        file_parts(),
        file_parts(b"PK\3\4").replace(b"; filename", b"; other"),
        b"no parts",
    ],
    ids=["html named .zip", "empty", "two", "none", "a field", "no form"],
)
def test_only_a_package_is_kept_by_its_content(tmp_path: Path, body: bytes) -> None:
    status, said = asked(tmp_path, "/gradio_api/upload", chunks=(body,))
    assert (status, list(tmp_path.iterdir())) == (400, [])
    assert str(tmp_path).encode() not in said
    # Its name says nothing, and is not kept: the answer is another one, without a place of the server.
    status, said = asked(tmp_path, "/gradio_api/upload", chunks=(file_parts(b"PK\3\4", name="/etc/x.html"),))
    (kept,) = tmp_path.iterdir()
    assert (status, json.loads(said), kept.read_bytes()) == (200, [kept.name], b"PK\3\4")


def test_packages_of_one_address_push_out_their_own_alone(tmp_path: Path) -> None:
    door = doors.Door(None, folder=tmp_path, proxied=True, limits=doors.Limits(share=2))  # type: ignore[arg-type]

    def sent(content: bytes, *forwarded: str) -> str:
        head = [(b"x-forwarded-for", one.encode()) for one in forwarded]
        ((name,),) = [
            json.loads(asked(door, "/gradio_api/upload", chunks=(file_parts(b"PK\3\4" + content),), head=head)[1])
        ]
        return str(name)

    other = sent(b"other", "8.8.4.4")
    # What a visitor writes before the proxies' words counts for nothing, nor does the rest of one's own IPv6 network.
    first = sent(b"1", "8.8.4.4, 8.8.8.8, 10.0.0.1")
    assert (tmp_path / sent(b"2", "9.9.9.9, nonsense", "8.8.8.8")).exists()
    assert (tmp_path / first).exists()
    sent(b"3", "8.8.8.8")
    assert not (tmp_path / first).exists()
    assert (tmp_path / other).exists()
    named = [sent(b"v6", f"2001:4860::{n}") for n in range(3)]
    assert [(tmp_path / name).exists() for name in named] == [False, True, True]
    assert len(list(tmp_path.iterdir())) == 5


def test_an_event_is_passed_on_as_texts_and_uploads(tmp_path: Path) -> None:
    name = f"{'a' * 64}.zip"
    upload = {
        "path": name,
        "url": "http://127.0.0.1:9/",
        "is_stream": True,
        "meta": {"_type": "gradio.FileData", "more": 1},
    }
    kept = {"path": str(tmp_path / name), "meta": {"_type": "gradio.FileData"}}
    said = {"fn_index": 3, "session_hash": "s", "event_data": {"query": "?a"}}
    sent = json.dumps({"data": ["text", None, upload], **said, "simple_format": True})
    status, read = asked(tmp_path, "/gradio_api/queue/join", chunks=tuple(sent.encode().partition(b"meta")))
    assert (status, json.loads(read)) == (200, {"data": ["text", None, kept], **said})


def test_old_uploads_go_and_then_the_oldest(tmp_path: Path) -> None:
    made = []
    for size, age in ((10, 3700), (60, 300), (60, 200)):
        made.append(tmp_path / f"{age}.zip")
        made[-1].write_bytes(b"\0" * size)
        os.utime(made[-1], (time.time() - age,) * 2)
    doors.make_room(tmp_path, most_bytes=120, oldest_s=3600)
    assert [path.exists() for path in made] == [False, True, True]
    doors.make_room(tmp_path, most_bytes=119, oldest_s=3600)
    assert [path.exists() for path in made] == [False, False, True]


def test_uploads_have_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(doors.FOLDER_VARIABLE, str(tmp_path))
    folder = doors.own_folder()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    assert doors.own_folder() == folder == Path(os.environ[doors.FOLDER_VARIABLE])
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        doors.own_folder()
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(doors.FOLDER_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UsageError, match="no folder for uploads can be made"):
        doors.own_folder()
