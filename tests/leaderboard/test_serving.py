"""The real server on a real socket: pages, uploads and their limits, and isolation of visitors."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard import serving
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.door import HEADERS, LONGEST_HEAD
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS
from tests.leaderboard.made_packages import accepted, package
from tests.leaderboard.served_pages import Served, served

pytest.importorskip("uvicorn", reason="uvicorn is not installed (pip install .[space])")
ZIP = {"content-type": "application/zip"}


class Space:
    """A running server and its store."""

    def __init__(self, running: Served, board: Board) -> None:
        self.served, self.board, self.address = running, board, running.address

    def send(self, content: bytes, query: str = "", **headers: str) -> httpx.Response:
        return httpx.post(
            f"{self.address}/submit{query}", content=content, headers={**ZIP, **headers}
        )


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    board = Board(LocalStorage(tmp_path_factory.mktemp("store")))
    accepted(board, package("First", right=20, of=40))
    assert isinstance(board.storage, LocalStorage)
    folder = tmp_path_factory.mktemp("space")
    with served(Path(board.storage.folder), folder=folder) as running:
        yield Space(running, board)


def raw_status(space: Space, head: str, body: bytes = b"") -> int:
    """Sends a request that no library corrects; returns the status of the answer."""
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    with socket.create_connection(("127.0.0.1", space.served.port)) as line:
        line.sendall(
            f"{head} HTTP/1.1\r\nHost: space\r\nConnection: close\r\n{length}\r\n".encode()
            + body
        )
        return int(b"".join(iter(lambda: line.recv(1 << 16), b"")).split()[1])


def test_pages_have_etags_and_gzip_encoding(space: Space) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/leaderboard.js", "text/javascript"),
        ("/data/board.json", "application/json"),
    ):
        answer = httpx.get(space.address + path)
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (
            200,
            kind,
        )
        assert answer.headers["content-encoding"] == "gzip"
        assert {
            name.decode(): value.decode() for name, value in HEADERS
        }.items() <= dict(answer.headers).items()
        plain = httpx.get(space.address + path, headers={"accept-encoding": "identity"})
        assert plain.content == answer.content
        again = httpx.get(
            space.address + path, headers={"if-none-match": answer.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
    (submission,) = space.board.submissions("accepted")
    assert isinstance(space.board.storage, LocalStorage)
    submissions = Path(space.board.storage.folder, "submissions")
    stored = (submissions / submission.id / "package.zip").read_bytes()
    answer = httpx.get(f"{space.address}/packages/{submission.id}.zip")
    assert answer.content == stored


@pytest.mark.parametrize(
    "path",
    ["/.results.jsonl", "/data/../.results.jsonl", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd",
     "/packages/", "/nothing", "/data/board.json.gz/x", "/.results.jsonl.gz", "/index.html%00", "/index.html/", "/data//board.json",
     f"/{'long' * 100}", f"/{'long/' * 5000}", "/%FF%FE", "/%ED%A0%80"],
)  # fmt: skip
def test_nothing_but_the_pages_is_served(space: Space, path: str) -> None:
    assert raw_status(space, f"GET {path}") in (400, 404)


@pytest.fixture(scope="module")
def app(space: Space, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The server's application and the names of its pages; a file next to their folder is not served."""
    folder = tmp_path_factory.mktemp("here") / "site"
    application = serving.server_of(str(space.board.storage.folder), folder).config.app  # type: ignore[attr-defined]
    folder.with_name("beside.html").write_text("beside")
    names = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return application, {name for name in names if not name.startswith(".")}


PARTS = (
    "index.html", "data", "board.json", "packages", "submit", "beside.html", "..", ".", "", "\0", "long" * 80, "%2e%2e", "\\", "~",
    "C:", "ü", "\ud800", "\u202e", "index.html.gz",
)  # fmt: skip


@given(
    parts=st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=6),
    query=st.binary(max_size=30)
    | st.integers(LONGEST_HEAD, LONGEST_HEAD + 9).map(bytes),
    method=st.sampled_from(["GET", "HEAD"]),
)
@example(parts=["\n"], query=b"", method="GET")
@example(parts=["\n", ""], query=b"\x80", method="GET")
def test_every_address_is_a_page_or_an_error(
    app: Any, parts: list[str], query: bytes, method: str
) -> None:
    serve, pages = app
    name = "/".join(parts)
    scope = {
        "type": "http",
        "method": method,
        "path": f"/{name}",
        "query_string": query,
        "headers": [],
    }
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    asyncio.run(serve(scope, receive, send))
    there = (name or "index.html") in pages
    expected = 431 if len(query) > LONGEST_HEAD else 200 if there else 404
    assert messages[0]["status"] == expected
    assert b"beside" not in b"".join(
        message.get("body", b"") for message in messages[1:]
    )


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(space: Space, method: str) -> None:
    assert raw_status(space, f"{method} /") == 405
    assert raw_status(space, f"{method} /submit") == 405
    assert raw_status(space, "POST /", b"x") == 405


def test_a_package_is_checked_then_submitted_and_recognised(space: Space) -> None:
    content = package("Fresh", right=30, of=40)
    reply = space.send(content).json()
    assert reply["state"] == "sound"
    assert reply["shown"]["facts"][0] == ["Model", "Fresh"]
    assert reply["shown"]["rows"][0] == [
        "medcalc",
        "accuracy",
        "75.0 %",
        "59.8 to 85.8",
        "40/40",
    ]
    assert space.board.submissions("pending") == []
    reply = space.send(content, "?confirm=yes").json()
    (waiting,) = space.board.submissions("pending")
    assert reply == {
        "state": "submitted",
        "said": [
            f"Its id is {waiting.id}. It is number 1 of 1 in the queue. A maintainer decides."
        ],
    }
    assert {
        space.send(content, query).json()["state"] for query in ("", "?confirm=yes")
    } == {"known"}
    # The submission is in the queue's page at once, or after the next update.
    for _ in range(200):
        if waiting.id in httpx.get(f"{space.address}/data/queue.json").text:
            break
    else:
        assert isinstance(space.board.storage, LocalStorage)
        store = str(space.board.storage.folder)
        pages = serving.Pages(store, Path(space.served.folder, "again"))
        pages.update()
        assert waiting.id in (pages.folder / "data" / "queue.json").read_text()
    space.board.decide(waiting.id, "rejected", by="keeper", reason="A test.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the package is not a zip file"),
        (b"<script>alert(1)</script>", "the package is not a zip file"),
        (package("A", of=40)[:-30], "truncated"),
        (package("A", of=40, recipe={"max_samples": 40}), "only 40 items were asked"),
    ],
    ids=["empty", "text", "cut", "not taken here"],
)
def test_a_bad_package_is_refused_and_nothing_is_kept(
    space: Space, data: bytes, message: str
) -> None:
    before = len(space.board.submissions())
    for query in ("", "?confirm=yes"):
        reply = space.send(data, query).json()
        assert reply["state"] == "refused"
        assert message in " ".join(reply["said"])
    assert len(space.board.submissions()) == before
    assert [
        path
        for path in (space.served.folder / "temporary").rglob("*")
        if path.suffix == ".zip" and "packages" not in path.parts
    ] == []


def test_another_site_cannot_submit_for_a_visitor(space: Space) -> None:
    content = package("Forged", of=40)
    for kind in (
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
    ):
        assert (
            space.send(content, "?confirm=yes", **{"content-type": kind}).status_code
            == 415
        )
    assert not [
        submission
        for submission in space.board.submissions()
        if submission.submitter.model == "Forged"
    ]


def test_requests_are_bounded(space: Space) -> None:
    half = "a" * (LONGEST_HEAD // 2)
    assert raw_status(space, f"GET /?{half}{half[:-200]}") == 200
    assert raw_status(space, f"GET /?{half}{half}") == 431
    assert raw_status(space, f"GET /?{half} HTTP/1.1\r\nX-Long: {half}\r\nX:") == 431
    too_long = DEFAULT_LIMITS.package_bytes + 1
    assert (
        raw_status(space, f"POST /submit HTTP/1.1\r\nContent-Length: {too_long}\r\nX:")
        == 413
    )
    assert httpx.get(space.address).status_code == 200


def test_a_used_port_is_reported(space: Space, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=f"port {space.served.port} of 127.0.0.1 cannot be listened on"
    ):
        serving.serve(str(tmp_path), "127.0.0.1", space.served.port)


@pytest.mark.parametrize("address", ["own", "same"])
def test_fifty_slow_uploads_do_not_block_another(space: Space, address: str) -> None:
    """Each has sent its headers and a byte, and continues byte by byte; nobody waits for a deadline."""
    slow: list[socket.socket] = []
    try:
        for number in range(50):
            line = socket.create_connection(("127.0.0.1", space.served.port))
            slow.append(line)
            whose = f"X-Forwarded-For: 8.8.8.{number if address == 'own' else 0}\r\n"
            kind = "Content-Type: application/zip\r\nContent-Length: 90000\r\n"
            line.sendall(
                f"POST /submit HTTP/1.1\r\nHost: space\r\n{whose}{kind}\r\n-".encode()
            )
        answered = pages = 0
        for _ in range(20):
            for line in slow:
                with contextlib.suppress(OSError):  # ended by the server
                    line.sendall(b"-")
            forwarded = {
                "x-forwarded-for": "8.8.4.4" if address == "own" else "8.8.8.0"
            }
            answered += (
                space.send(b"PK\3\4".ljust(100_000), **forwarded).status_code == 200
            )
            pages += httpx.get(space.address).status_code == 200
        assert (answered, pages) == (20, 20)
    finally:
        for line in slow:
            line.close()


def test_the_log_has_no_value_of_a_visitor_and_few_lines(space: Space) -> None:
    before = len(space.served.log())
    for _ in range(200):
        raw_status(space, "visitor-value /")
        raw_status(space, "POST /submit?confirm=visitor-value", b"visitor-value")
    added = space.served.log()[before:]
    assert len(added) < 40, added
    assert not [line for line in added if "visitor-value" in line]


def test_a_server_error_names_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    board = Board(LocalStorage(tmp_path / "store"))

    def full(*arguments: object) -> None:
        raise MissingError(f"{tmp_path}: the disk is full")

    monkeypatch.setattr(Board, "submit", full)
    reply: Any = serving._answered(serving._submit, board, package(of=40))
    assert reply["said"] == [
        "The server could not store it now. Upload it again later, or tell the maintainers."
    ]
    assert f"{tmp_path}: the disk is full" in caplog.text


def test_pages_are_updated_and_survive_a_missing_store(tmp_path: Path) -> None:
    store, folder = tmp_path / "store", tmp_path / "site"
    board = Board(LocalStorage(store))
    board.submit(package("One", of=40))
    pages = serving.Pages(str(store), folder)
    pages.update()
    queue = folder / "data" / "queue.json"
    assert '"One"' in queue.read_text()
    modified = queue.stat().st_mtime_ns
    pages.update()
    assert queue.stat().st_mtime_ns == modified
    board.submit(package("Two", of=40))
    pages.update()
    assert '"Two"' in queue.read_text()
    # A missing folder is not an empty store, and the pages stay.
    store.rename(tmp_path / "elsewhere")
    with pytest.raises(MissingError, match="show submissions, but the store has none"):
        pages.update()
    assert (
        '"Two"' in gzip.decompress(queue.with_suffix(".json.gz").read_bytes()).decode()
    )


def test_an_unreadable_store_is_reported_and_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from starlette.testclient import TestClient

    def out_of_reach(*arguments: object) -> list[str]:
        raise MissingError(f"{tmp_path}: cannot be listed")

    with monkeypatch.context() as broken:
        broken.setattr(LocalStorage, "names", out_of_reach)
        app: Any = serving.server_of(
            str(tmp_path / "store"), tmp_path / "site"
        ).config.app
        answer = TestClient(app).get("/")
        assert (answer.status_code, str(tmp_path) in answer.text) == (503, False)
        assert f"{tmp_path}: cannot be listed" in caplog.text
    serving.Pages(str(tmp_path / "store"), tmp_path / "site").try_update()
    assert TestClient(app).get("/").status_code == 200


def test_settings() -> None:
    assert serving.settings_of({"MEDICAL_TASKS_LEADERBOARD_STORE": "x"}) == (
        "x",
        "127.0.0.1",
        7860,
    )
    environment = {
        "MEDICAL_TASKS_LEADERBOARD_STORE": "x",
        "MEDICAL_TASKS_LEADERBOARD_PORT": "81",
    }
    assert serving.settings_of(environment) == ("x", "127.0.0.1", 81)
    assert serving.settings_of({**environment, "SPACE_ID": "me/board"}) == (
        "x",
        "0.0.0.0",
        7860,
    )
    with pytest.raises(UsageError, match="MEDICAL_TASKS_LEADERBOARD_STORE is not set"):
        serving.settings_of({})
    for port in ("0", "65536", "x", "٣", "-1"):
        with pytest.raises(UsageError, match="is a port from 1 to 65535"):
            serving.settings_of({**environment, "MEDICAL_TASKS_LEADERBOARD_PORT": port})
