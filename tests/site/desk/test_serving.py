"""The desk by HTTP: authentication, authorisation, and valid labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from medical_tasks.errors import IncompleteError
from medical_tasks.site.desk.labels import LabelStore
from medical_tasks.site.desk.pages import visible
from medical_tasks.site.desk.serving import HEADERS, app_of
from medical_tasks.site.desk.sheets import Sheet
from tests.site.desk.desk_sheets import a_desk, a_sheet

if TYPE_CHECKING:
    from starlette.testclient import TestClient

HERE = "http://127.0.0.1:7861"
OWN = {"origin": HERE, "content-type": "application/json"}


def client_of(app: Any, **more: Any) -> TestClient:
    from starlette.testclient import TestClient

    return TestClient(app, base_url=HERE, **more)


class Person:
    """A person's browser at a desk."""

    def __init__(self, folder: Path, name: str = "ann", sheet: Sheet | None = None):
        self.desk, tokens = a_desk(folder, sheet or a_sheet())
        self._app = app_of(self.desk)
        self._tokens = tokens
        self.name = name
        self.client = self.browser(name)

    def browser(self, name: str) -> TestClient:
        client = client_of(
            self._app,
            raise_server_exceptions=False,
            headers={"x-desk-person": name},
        )
        reply = client.get(f"/r/{self._tokens[name]}")
        assert reply.status_code == 200
        return client

    def get(self, path: str, name: str = "") -> Any:
        return self.browser(name or self.name).get(path)

    def post(self, path: str, content: object, name: str = "", **more: Any) -> Any:
        headers = {**OWN, **more.pop("headers", {})}
        client = self.browser(name or self.name)
        return client.post(path, json=content, headers=headers, **more)

    def label(self, number: int, value: str, name: str = "ann") -> Any:
        content = {
            "id": f"{name}{number}{value}",
            "item": f"p{number:04}",
            "value": value,
        }
        return self.post("/api/label", content, name)


@pytest.fixture
def ann(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_the_token_of_the_address_becomes_a_strict_cookie(ann: Person) -> None:
    token = ann._tokens["ann"]
    client = client_of(app_of(ann.desk))
    reply = client.get(f"/r/{token}")
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert token not in reply.text
    assert 'http-equiv="refresh" content="0; url=/"' in reply.text
    assert client.get("/").status_code == 200
    assert len(token) >= 43
    stored = (ann.desk.tokens._path).read_text()
    assert token not in stored


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/item?id=p0001"])
def test_requests_without_a_token_are_refused(ann: Person, path: str) -> None:
    client = client_of(app_of(ann.desk))
    assert client.get(path).status_code == 401
    client.cookies.set("desk-7861", "x" * 43)
    reply = client.get(path)
    assert reply.status_code == 401
    assert "address that you were given" in reply.text
    assert client.get("/r/wrong").status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example:7861", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil:7861"]
)
def test_another_host_is_refused(ann: Person, host: str) -> None:
    reply = ann.client.get("/", headers={"host": host})
    assert reply.status_code == 421
    assert "Questions" not in reply.text
    assert reply.headers["cache-control"] == "no-store"


def test_every_spelling_of_this_machine_is_served(ann: Person) -> None:
    for host in ("localhost:7861", "[::1]:7861", "LOCALHOST:7861"):
        assert ann.client.get("/", headers={"host": host}).status_code == 200


def test_every_reply_has_the_headers_and_scripts_have_their_hash(ann: Person) -> None:
    for path in ("/", "/nothing", "/api/state", "/r/wrong", "/labels.csv"):
        reply = ann.client.get(path)
        assert HEADERS.items() <= dict(reply.headers).items()
    page = ann.client.get("/").text
    assert "unsafe" not in HEADERS["content-security-policy"]
    assets = re.findall(r'(?:src|href)="(/assets/[^"]+)" integrity="sha384-', page)
    assert len(assets) == 2
    for address in assets:
        assert ann.client.get(address).status_code == 200
    assert ann.client.get("/assets/0/desk.js").status_code == 404
    assert not re.search(r"<script(?![^>]* src=)|<style|style=|onclick=", page)
    assert not re.search(r"https?://", page)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": ""},
        {"content-type": "text/plain"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_label_from_another_page_is_refused(
    ann: Person, headers: dict[str, str]
) -> None:
    content = {"id": "1", "item": "p0001", "value": "keep"}
    reply = ann.post("/api/label", content, headers=headers)
    assert reply.status_code == 403
    assert ann.desk.works["questions"].store.history == []


def test_a_page_of_somebody_else_in_the_same_browser_is_refused(ann: Person) -> None:
    reply = ann.post(
        "/api/label",
        {"id": "1", "item": "p0001", "value": "keep"},
        headers={"x-desk-person": "ben"},
    )
    assert reply.status_code == 409


def test_a_label_that_is_sent_twice_is_stored_once(ann: Person) -> None:
    first, second = ann.label(1, "keep").json(), ann.label(1, "keep").json()
    assert (first["fresh"], second["fresh"]) == (True, False)
    assert second["saved"] is True
    assert len(ann.desk.works["questions"].store.history) == 1


def test_omitted_fields_of_a_label_stay_unchanged(ann: Person) -> None:
    text = {"question": "Another?"}
    ann.post("/api/label", {"id": "1", "item": "p0001", "note": "n", "edits": text})
    ann.post("/api/label", {"id": "2", "item": "p0001", "value": "keep"})
    last = ann.desk.works["questions"].store.last("ann", "p0001")
    assert last is not None
    assert (last.value, last.note, last.edits) == ("keep", "n", text)


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        ({"item": "p0001", "value": "keep"}, 400, "needs its id"),
        ({"id": "1", "item": "p0099", "value": "keep"}, 422, "no such item"),
        ({"id": "1", "item": ["p0001"], "value": "keep"}, 422, "no such item"),
        ({"id": "1", "item": "p0001", "value": "maybe"}, 422, "no such choice"),
        ({"id": "1", "item": "p0001", "edits": {"x": "y"}}, 422, "no such field"),
        ({"id": "1", "item": "p0001", "note": "n" * 100_001}, 413, "100,000"),
        ({"id": "1", "item": "p0001", "edits": {"question": "q" * 20_001}}, 413, "Qu"),
        ({"id": "1" * 65, "item": "p0001"}, 413, "id has over 64"),
        (["no", "label"], 400, "no label"),
        ({"id": "1", "item": "p0001", "note": "n" * (1 << 20)}, 413, "too long"),
    ],
)
def test_invalid_labels_are_refused(
    ann: Person, content: object, status: int, message: str
) -> None:
    reply = ann.post("/api/label", content)
    assert reply.status_code == status
    assert message in reply.json()["said"]
    assert ann.desk.works["questions"].store.history == []


def test_a_note_of_100_000_characters_is_stored(ann: Person) -> None:
    note = "é\u202e<b>" * 20_000
    content = {"id": "1", "item": "p0001", "note": note}
    assert ann.post("/api/label", content).status_code == 200
    assert ann.get("/api/item?id=p0001").json()["note"] == note


def test_a_full_disk_is_reported_and_the_label_can_be_sent_again(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:

        def refuse(*_: object) -> None:
            raise IncompleteError("no space")

        full.setattr(LabelStore, "_write", refuse)
        assert ann.label(1, "keep").status_code == 507
    assert ann.label(1, "keep").json()["fresh"] is True


def test_raters_are_blind_to_each_other(tmp_path: Path) -> None:
    ann = Person(tmp_path, sheet=a_sheet(6, overlap=2))
    work = ann.desk.works["questions"]
    both = [name for name, own in work.sheet.assigned.items() if len(own) == 2]
    secret = {"id": "1", "item": both[0], "value": "drop", "note": "ben's own words"}
    assert ann.post("/api/label", secret, "ben").status_code == 200
    texts = "".join(
        ann.get(path).text for path in ("/", "/api/state", f"/api/item?id={both[0]}")
    )
    assert not re.search(r"\b(ben|eve)\b", texts)
    assert ann.get(f"/api/item?id={both[0]}").json()["opinions"] == []
    others = [name for name, own in work.sheet.assigned.items() if own == ("ben",)]
    assert ann.get(f"/api/item?id={others[0]}").status_code == 404
    for path in ("/api/agreement", "/labels.csv"):
        assert ann.get(path).status_code == 403


def test_the_adjudicator_sees_opinions_without_names(tmp_path: Path) -> None:
    eve = Person(tmp_path, "eve")
    assert eve.get("/api/state").json()["items"] == []
    for number in range(4):
        eve.label(number, "keep", "ann")
        eve.label(number, "keep" if number else "drop", "ben")
    assert eve.get("/api/state").json()["items"] == [["p0000", "", ""]]
    assert eve.get("/api/item?id=p0001").status_code == 404
    item = eve.get("/api/item?id=p0000").json()
    assert {opinion["value"] for opinion in item["opinions"]} == {"keep", "drop"}
    assert not re.search(r"\bann\b|\bben\b", str(item))
    agreement = eve.get("/api/agreement").json()
    assert "75 % of 4" in agreement["lines"][0]
    assert agreement["waiting"] == 1
    assert eve.get("/labels.csv").status_code == 409
    assert eve.label(0, "keep", "eve").status_code == 200
    text = eve.get("/labels.csv").text
    assert text.count("adjudicated") == 3
    assert "Troponin" not in text


def test_undo_by_http(ann: Person) -> None:
    ann.label(1, "keep")
    reply = ann.post("/api/undo", {"id": "u1"})
    assert (reply.json()["item"], reply.json()["value"]) == ("p0001", "")
    assert ann.post("/api/undo", {"id": "u1"}).status_code == 200
    assert ann.post("/api/undo", {"id": "u2"}).status_code == 422


def test_an_error_of_the_desk_quotes_nothing(
    ann: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("Troponin was 0.8")

    monkeypatch.setattr("medical_tasks.site.desk.pages.item_shown", broken)
    reply = ann.get("/api/item?id=p0001")
    assert reply.status_code == 500
    assert "Troponin" not in reply.text
    assert "RuntimeError" in caplog.text
    assert "Troponin" not in caplog.text


def test_invisible_characters_are_shown() -> None:
    assert visible("a\tb\nc é 中 \u200d") == "a\tb\nc é 中 \u200d"
    assert visible("\x00\x1b\x85\u202e\u2066\ud800") == (
        "[U+0000][U+001B][U+0085][U+202E][U+2066][U+D800]"
    )
