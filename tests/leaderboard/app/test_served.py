"""The real app on a real socket: what answers, what never asks another host, and that one visitor's fault stays theirs."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.app.door import HEADERS, LONGEST_CALL, LONGEST_HEAD, PAGE_POLICY, POLICY
from medical_tasks.leaderboard.app.serving import serve
from tests.leaderboard.app.space_process import Served, served
from tests.leaderboard.made_packages import cases
from tests.support import ROOT

TESTED = "6.31.0"
CASES = cases("served")
ROUTES = CASES["routes"]
OPEN, CLOSED = ({tuple(route.split()) for route in CASES[kind]} for kind in ("open", "closed"))


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    pytest.importorskip("gradio", reason="gradio is not installed (pip install .[space])")
    with served(tmp_path_factory.mktemp("store"), folder=tmp_path_factory.mktemp("space")) as running:
        yield running


def send(space: Served, head: str, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
    """Sends a request as it is written, which no library puts right; status, headers and body of the answer."""
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    with socket.create_connection(("127.0.0.1", space.port)) as line:
        line.sendall(f"{head} HTTP/1.1\r\nHost: space\r\nConnection: close\r\n{length}\r\n".encode() + body)
        answer = b"".join(iter(lambda: line.recv(1 << 16), b""))
    top, _, rest = answer.partition(b"\r\n\r\n")
    status, *lines = top.decode("latin-1").split("\r\n")
    return int(status.split()[1]), dict(one.lower().split(": ", 1) for one in lines), rest


def test_every_route_of_the_framework_is_decided_on(space: Served) -> None:
    assert version("gradio") == TESTED, "another Gradio: compare its table of routes with OPEN and CLOSED"
    assert f"gradio=={TESTED}\n" in (ROOT / "space/requirements.txt").read_text()
    assert f"sdk_version: {TESTED}\n" in (ROOT / "space/README.md").read_text()
    told = " ".join((ROOT / "docs/leaderboard_space.md").read_text().split())
    assert f"Gradio {TESTED}, the pinned version: {len(OPEN)} open, {len(CLOSED)} closed" in told
    assert (len(OPEN), len(CLOSED), len(space.routes)) == (11, 68, 79)
    assert space.routes == OPEN | CLOSED


def test_the_door_is_open_for_what_is_listed_and_for_nothing_else(space: Served) -> None:
    statuses = {}
    for method, path in OPEN | CLOSED:
        filled = re.sub(r"\{[^}]+\}", "1", path)
        status, headers, body = send(space, f"{method} {filled}")
        closed = status == 404 and headers["content-type"] == "text/plain; charset=utf-8"
        assert body.startswith(b"There is nothing here") or not closed or method == "HEAD"
        assert headers["content-security-policy"] == (PAGE_POLICY if path == "/" else POLICY).decode().lower()
        statuses[method, path] = closed
    # Of these two folders only scripts and styles are.
    partly = {("GET", "/assets/{path:path}"), ("GET", "/static/{path:path}")}
    assert {route for route, closed in statuses.items() if not closed} == OPEN - partly
    for other in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY", "HEAD"):
        assert send(space, f"{other} /theme.css")[0] == 404


def test_the_pages_get_their_own_scripts_and_styles_alone(space: Served) -> None:
    page = send(space, "GET /")
    asked = re.findall(rb'(?:src|href)="\./?(/?assets/[^"]+)"', page[2])
    assert len(asked) == 2
    for path in [*(f"/{one.decode().lstrip('/')}" for one in asked), "/static/js/iframeResizer.contentWindow.min.js"]:
        status, headers, _ = send(space, f"GET {path}")
        kind = "text/css" if path.endswith(".css") else "javascript"
        assert (status, kind in headers["content-type"]) == (200, True), path
        assert headers["content-security-policy"] == POLICY.decode()
        assert {name.decode(): headers[name.decode()] for name, _ in HEADERS} == {
            name.decode(): value.decode() for name, value in HEADERS
        }
    for path in (
        "/static/img/logo.svg",
        "/assets/../index.html",
        "/assets/%2e%2e/index.html",
        "/static/js/../img/logo.svg",
    ):
        assert send(space, f"GET {path}")[0] == 404


def addresses(space: Served, kept: str) -> list[str]:
    """Ways to write an address, at which the app itself would answer, or a file, which something may read as one."""
    return [written.format(port=space.port, upload=space.uploads / kept) for written in CASES["addresses"]]


def once(text: str) -> str:
    return quote(text, safe="/:=@[]!$&'()*+,;~")


def all_of(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


ENCODINGS: tuple[Callable[[str], str], ...] = (
    once,
    all_of,
    lambda text: all_of(text).replace("%", "%25"),
    lambda text: all_of(text).lower(),
    lambda text: once(all_of(text)),
)


def test_no_address_is_fetched_or_looked_up_however_it_is_written(space: Served) -> None:
    written = addresses(space, upload(space))
    turns = itertools.cycle(ENCODINGS)
    family = {f"{CASES['routes'][0]}{encode(one)}" for one in written for encode in ENCODINGS}
    family |= {f"{route}{next(turns)(one)}" for route in ROUTES for one in written}
    family |= {f"{all_of(route)}{once(one)}" for route in ROUTES[:2] for one in written}
    assert len(family) > 1000
    answers = {target: send(space, f"GET {target}") for target in sorted(family)}
    assert {status for status, _, _ in answers.values()} == {404}
    assert {body for _, _, body in answers.values()} == {b"There is nothing here: the leaderboard is at /."}
    for method in ("HEAD", "POST", "OPTIONS"):
        assert {send(space, f"{method} {target}")[0] for target in sorted(family)[::40]} == {404}
    # What no encoding makes a request of is refused before it is read as one; the host of a proxy's request says nothing here.
    for target in (f"/gradio_api/file= http://127.0.0.1:{space.port}/x.png", "/gradio_api/file=http：//x"):
        assert send(space, f"GET {target}")[0] in (400, 404)
    assert send(space, f"GET http://127.0.0.1:{space.port}/x.png")[0] == 404


def test_an_event_names_texts_and_uploads_alone(space: Served) -> None:
    kept = upload(space)
    named = [*addresses(space, kept), f"{kept}/../b", f"{kept}/b", f"{space.uploads}/a.zip"]
    bodies: list[Any] = [
        None, [], {}, {"data": None}, {"data": {"a": 1}}, {"data": "a"}, {"data": [1]}, {"data": [{"path": [kept]}]},
    ]  # fmt: skip
    for address, place in itertools.chain(
        zip(named, itertools.cycle(range(6)), strict=False), ((named[0], one) for one in range(6))
    ):
        file = {"path": address, "meta": {"_type": "gradio.FileData"}}
        data = (
            file, [file], {"a": file}, {"value": file}, file | {"is_stream": True}, {"url": address, "meta": file["meta"]},
        )[place]  # fmt: skip
        bodies += [{"data": [data]}, {"data": ["", None, data]}]
    assert len(bodies) > 100
    for body in bodies:
        whole = {"fn_index": 0, "session_hash": "s"} | body if isinstance(body, dict) else body
        sent = json.dumps(whole).encode("utf-16" if len(bodies) % 3 else "utf-8")
        status, _, said = send(space, "POST /gradio_api/queue/join", sent)
        assert (status, said[:24]) == (400, b"An event of a page sends"), body
    for odd in (b"\xff", b"[" * 100_000, b'{"data":[NaN]}', b'{"data":[],"data":[[]]}', b"1" * 10_000):
        assert send(space, "POST /gradio_api/queue/join", odd)[0] == 400
    # Beside what an event works on nothing is read as a file, and a text stays one.
    file = {"path": named[0], "url": named[0], "meta": {"_type": "gradio.FileData"}}
    for text in named[:3]:
        assert '"success":false' in call(space, upload_event(space), [text], event_data=[file], trigger_id=1)
    # And what is an upload is one; once judged, it is gone.
    assert "is not a zip file" in call(space, upload_event(space), [file | {"path": kept}])
    assert kept not in [path.name for path in space.left()]


def test_no_reply_names_a_place_of_the_server_and_the_log_no_value_of_a_visitor(emptied: Served) -> None:
    before = len(emptied.log())
    kept = upload(emptied, name="visitor-value.html")
    assert re.fullmatch(r"[0-9a-f]{64}\.zip", kept)
    replies = [call(emptied, upload_event(emptied), [{"path": kept}]), httpx.get(emptied.address).text]
    functions = [int(one["id"]) for one in config_of(emptied)["dependencies"]]
    assert len(functions) > 10
    for function in (*functions, -1, 10**6):
        for data in ([], ["visitor-value"] * 9, ["visitor-value"]):
            body = {"data": data, "fn_index": function, "session_hash": "visitor-value"}
            replies.append(httpx.post(f"{emptied.address}/gradio_api/queue/join", json=body).text)
    replies += told(emptied, "visitor-value")
    for _ in range(200):
        send(emptied, "visitor-value /")
        assert send(emptied, "POST /gradio_api/queue/join", b'{"visitor-value"')[0] == 400
    assert len(replies) > 50
    assert not [one for one in replies if str(emptied.uploads.parent) in one]
    added = emptied.log()[before:]
    assert 0 < len(added) < 40, added
    assert not [line for line in added if "visitor-value" in line]


def config_of(space: Served) -> Any:
    """What the page is told of the app."""
    found = re.search(r"window\.gradio_config = (.*?);</script>", httpx.get(space.address).text, re.DOTALL)
    assert found
    return json.loads(found[1])


FORM = "Content-Type: multipart/form-data; boundary=edge\r\n"


def upload(space: Served, *, name: str = "a.zip") -> str:
    """Uploads what begins as a package does; its name on the server."""
    (kept,) = (
        httpx.post(f"{space.address}/gradio_api/upload", files={"files": (name, b"PK\3\4")}).raise_for_status().json()
    )
    return str(kept)


def upload_event(space: Served) -> int:
    (upload,) = [
        one for one in config_of(space)["dependencies"] if [where[1] for where in one["targets"]] == ["upload"]
    ]
    return int(upload["id"])


def call(space: Served, function: int, data: list[object], **more: object) -> str:
    """Calls a function of the app as its page does; everything it answers."""
    session = "test-session"
    body = {"data": data, "fn_index": function, "session_hash": session, "trigger_id": None, "event_data": None} | more
    joined = httpx.post(f"{space.address}/gradio_api/queue/join", json=body)
    assert joined.status_code == 200, joined.text
    return "\n".join(told(space, session))


def told(space: Served, session: str) -> Iterator[str]:
    """What a session's events answer, until all are done."""
    where = f"{space.address}/gradio_api/queue/data"
    with httpx.stream("GET", where, params={"session_hash": session}, timeout=30) as stream:
        for line in stream.iter_lines():
            yield line
            if "close_stream" in line:
                break


def test_the_page_asks_no_other_host_and_keeps_visitors_apart(space: Served) -> None:
    answer = httpx.get(space.address)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == PAGE_POLICY.decode()
    # What a browser fetches by itself; links, and what is only told about the page, are not among it.
    fetched = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]*)"', answer.text)
    assert len(fetched) > 2
    assert [address for address in fetched if re.match(r"(https?:)?//", address)] == []
    assert "fonts.googleapis" not in answer.text
    assert "medicalTasksSpace" in answer.text
    config = config_of(space)
    assert config["analytics_enabled"] is False
    assert config["space_id"] is None
    # Nothing is offered to programs: what there is to get is in the pages and the store.
    assert {one["api_visibility"] for one in config["dependencies"]} == {"private"}


@pytest.fixture
def emptied(space: Served) -> Served:
    for path in space.left():
        path.unlink()
    return space


@pytest.mark.parametrize("address", ["own", "same"])
def test_fifty_slow_uploads_do_not_keep_an_honest_one_out(emptied: Served, address: str) -> None:
    """Each has sent its headers and a byte, and goes on byte by byte; nobody waits for a deadline."""
    slow: list[socket.socket] = []
    try:
        for number in range(50):
            line = socket.create_connection(("127.0.0.1", emptied.port))
            slow.append(line)
            whose = f"X-Forwarded-For: 8.8.8.{number if address == 'own' else 0}\r\n"
            line.sendall(
                f"POST /gradio_api/upload HTTP/1.1\r\nHost: space\r\n{whose}{FORM}Content-Length: 90000\r\n\r\n-".encode()
            )
        served_ones = pages = 0
        for _ in range(20):
            for line in slow:
                with contextlib.suppress(OSError):  # ended by the server
                    line.sendall(b"-")
            forwarded = {"X-Forwarded-For": "8.8.4.4" if address == "own" else "8.8.8.0"}
            files = {"files": ("a.zip", b"PK\3\4".ljust(100_000))}
            answer = httpx.post(f"{emptied.address}/gradio_api/upload", files=files, headers=forwarded)
            served_ones += answer.status_code == 200
            pages += httpx.get(emptied.address).status_code == 200
        assert (served_ones, pages) == (20, 20)
    finally:
        for line in slow:
            line.close()


def test_what_breaks_off_leaves_nothing(emptied: Served) -> None:
    with socket.create_connection(("127.0.0.1", emptied.port)) as line:
        head = f"POST /gradio_api/upload HTTP/1.1\r\nHost: space\r\n{FORM}Content-Length: 90000\r\n\r\n"
        line.sendall(f'{head}--edge\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nPK\3\4'.encode())
    assert upload(emptied) in [path.name for path in emptied.left()]
    assert len(emptied.left()) == 1


def test_a_request_is_bounded_from_its_first_line_on_and_a_taken_port_is_told(space: Served, tmp_path: Path) -> None:
    half = "a" * (LONGEST_HEAD // 2)
    assert send(space, f"GET /?{half}{half[:-200]}")[0] == 200
    assert send(space, f"GET /?{half}{half}")[0] == 431
    assert send(space, f"GET /?{half} HTTP/1.1\r\nX-Long: {half}\r\nX:")[0] == 431
    assert send(space, f"POST /gradio_api/queue/join HTTP/1.1\r\nContent-Length: {LONGEST_CALL + 1}\r\nX:")[0] == 413
    # And the app goes on.
    assert httpx.get(space.address).status_code == 200
    # Before anything heavy is imported.
    with pytest.raises(UsageError, match=f"port {space.port} of 127.0.0.1 cannot be listened on"):
        serve(str(tmp_path), "127.0.0.1", space.port)
