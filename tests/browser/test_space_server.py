"""The real app on a real socket: what it sends, what it refuses, and that one visitor's fault stays theirs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.app.headers import HEADERS
from medical_tasks.leaderboard.app.settings import Settings
from medical_tasks.submission_package.limits import DEFAULT_LIMITS
from tests.browser.space_process import served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    pytest.importorskip("gradio", reason="gradio is not installed (pip install .[space])")
    uploads = tmp_path_factory.mktemp("uploads")
    with served(tmp_path_factory.mktemp("store"), uploads=uploads) as address:
        yield address, uploads


def test_the_page_asks_no_other_host(server: tuple[str, Path]) -> None:
    answer = httpx.get(server[0])
    assert answer.status_code == 200
    for name, value in HEADERS:
        assert answer.headers[name.decode()] == value.decode()
    # What a browser fetches by itself; links, and what is only told about the page, are not among it.
    fetched = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]*)"', answer.text)
    assert len(fetched) > 2
    assert [address for address in fetched if re.match(r"(https?:)?//", address)] == []
    assert "fonts.googleapis" not in answer.text
    assert "medicalTasksSpace" in answer.text


def test_settings_that_keep_visitors_apart(server: tuple[str, Path]) -> None:
    config = httpx.get(f"{server[0]}/config").json()
    assert config["analytics_enabled"] is False
    assert config["space_id"] is None
    assert httpx.get(f"{server[0]}/monitoring").status_code in (403, 404)
    assert httpx.get(f"{server[0]}/openapi.json").status_code == 404
    assert {one["api_visibility"] for one in config["dependencies"]} == {"private"}
    # Nothing is offered to programs: what there is to get is in the pages and the store.
    assert httpx.get(f"{server[0]}/gradio_api/info").json() == {"named_endpoints": {}, "unnamed_endpoints": {}}


def test_an_upload_beyond_the_limit_leaves_nothing(server: tuple[str, Path]) -> None:
    address, uploads = server
    answer = httpx.post(
        f"{address}/gradio_api/upload",
        files={"files": ("a.zip", b"\0" * (DEFAULT_LIMITS.package_bytes + 1))},
        timeout=30,
    )
    assert answer.status_code == 413
    assert [path for path in uploads.rglob("*") if path.is_file()] == []


def test_an_upload_that_breaks_off_goes_with_the_next_ones(server: tuple[str, Path]) -> None:
    address, uploads = server
    halves = httpx.post(f"{address}/gradio_api/upload", files={"other": ("a.zip", b"\0")})
    assert halves.json() == []
    (left,) = [path for path in uploads.rglob("*") if path.is_file()]
    os.utime(left, (0, 0))
    # Every upload looks for what is over.
    httpx.post(f"{address}/gradio_api/upload", files={"files": ("b.zip", b"\0")}).raise_for_status()
    assert [path.name for path in uploads.rglob("*") if path.is_file()] == ["b.zip"]


def test_a_path_that_was_never_uploaded_is_not_read(server: tuple[str, Path]) -> None:
    address, _ = server
    config = httpx.get(f"{address}/config").json()
    (upload,) = [one for one in config["dependencies"] if [where[1] for where in one["targets"]] == ["upload"]]
    for path in ("/etc/passwd", "http://127.0.0.1:9/a.zip", "", "../x"):
        said = call(address, upload["id"], [{"path": path, "meta": {"_type": "gradio.FileData"}}])
        # Gradio refuses some by itself, and ours refuses the rest.
        assert "not here any more" in said or '"success":false' in said, path
        assert "root:" not in said
    # And the app goes on.
    assert httpx.get(address).status_code == 200


def call(address: str, function: int, data: list[object]) -> str:
    """Calls a function of the app as its page does; everything it answers."""
    session = "test-session"
    body = {"data": data, "fn_index": function, "session_hash": session, "trigger_id": None, "event_data": None}
    joined = httpx.post(f"{address}/gradio_api/queue/join", json=body)
    assert joined.status_code == 200, joined.text
    told = []
    with httpx.stream(
        "GET", f"{address}/gradio_api/queue/data", params={"session_hash": session}, timeout=30
    ) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                told.append(line)
                if json.loads(line.removeprefix("data:"))["msg"] == "process_completed":
                    break
    return "\n".join(told)


def test_a_taken_port_is_told(server: tuple[str, Path], tmp_path: Path) -> None:
    from medical_tasks.leaderboard.app.serving import launch

    port = int(server[0].rsplit(":", 1)[1])
    # Before anything heavy is imported.
    with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 cannot be listened on"):
        launch(Settings(store=str(tmp_path), port=port))
