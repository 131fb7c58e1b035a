"""Documents from the files of a folder: order, formats, and refused files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.documents import Document, html_text, read_documents
from medical_tasks.benchmarks.kqa.prompts import open_retriever
from medical_tasks.errors import MissingError, UsageError
from tests.benchmarks.kqa.kqa_judges import cases


def test_files_of_every_format_are_read_in_a_stable_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("hidden")
    (tmp_path / ".hidden.txt").write_text("hidden")
    (tmp_path / "b" / "lay_text-one.TXT").write_bytes(b"\xef\xbb\xbfplain\r\n\r\ntext")
    (tmp_path / "b" / "page.html").write_text(
        "<title>A  page</title><p>one<p>two &amp; three<script>no()</script>"
    )
    (tmp_path / "b.md").write_text("intro\n\n## The *title* ##\n\nmore\n")
    (tmp_path / "a.jsonl").write_text(
        '{"text": "first", "title": "T", "url": "https://x.example", "id": 7}\n\n{"text": '
        '"second"}\n{"text": ""}\n'
    )
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert read_documents(tmp_path) == [
        Document(name="a.jsonl:1", title="T", text="first", url="https://x.example"),
        Document(name="a.jsonl:3", title="a", text="second"),
        Document(name="b/lay_text-one.TXT", title="lay text one", text="plain\n\ntext"),
        Document(name="b/page.html", title="A page", text="one\n\ntwo & three"),
        Document(
            name="b.md",
            title="The *title*",
            text="intro\n\n## The *title* ##\n\nmore\n",
        ),
    ]
    assert read_documents(tmp_path / "b.md")[0].name == "b.md"


@pytest.mark.parametrize(("page", "title", "text"), cases("documents")["pages"])
def test_title_and_text_of_html(page: str, title: str, text: str) -> None:
    assert html_text(page) == (title, text)


@given(st.text(alphabet="<>/!-=\"'&[] abpscrite\n", max_size=60))
def test_any_page_is_read(page: str) -> None:
    title, text = html_text(page)
    assert "\n\n\n" not in text
    assert title == title.strip()


@pytest.mark.parametrize(("name", "content", "message"), cases("documents")["unusable"])
def test_unusable_documents_are_refused(
    tmp_path: Path, name: str | None, content: str, message: str
) -> None:
    if name is not None:
        (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError, match=message):
        open_retriever("kqa_rag", {"documents": str(tmp_path)})


@pytest.mark.parametrize(
    ("name", "content", "text", "encoding"),
    [
        (
            "a.txt",
            "Fièvre à 39 °C – «café»".encode("latin-1", "replace"),
            "Fièvre à 39 °C ? «café»",
            "cp1252",
        ),
        (
            "a.md",
            "dose ≤ 5 – “x”".replace("≤", "<").encode("cp1252"),
            "dose < 5 – “x”",
            "cp1252",
        ),
        ("a.txt", "naïve".encode("utf-16"), "naïve", "utf-16"),
        (
            "a.html",
            "<meta charset='iso-8859-2'><body>łódź".encode("iso-8859-2"),
            "łódź",
            "iso-8859-2",
        ),
    ],
)
def test_other_encodings_are_read_with_a_note(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    text: str,
    encoding: str,
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.txt").write_text("plain", encoding="utf-8")
    assert [document.text for document in read_documents(tmp_path)] == [text, "plain"]
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith(f"note: {tmp_path / name}: not UTF-8 (byte 0x")
    assert f"read as {encoding}. Convert it if" in message


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"documents=a+: cannot be read \(.*too long.*\)\. Give another folder\.",
    ):
        read_documents(Path("a" * 5000))
    with pytest.raises(
        UsageError, match=r"kqa_rag: documents=~no-such-user/x: there is no such user\."
    ):
        open_retriever("kqa_rag", {"documents": "~no-such-user/x"})
    with pytest.raises(
        MissingError,
        match=r"documents=.*absent: there is no such folder. Give the folder that holds your",
    ):
        open_retriever("kqa_rag", {"documents": str(tmp_path / "absent")})


def test_an_unreadable_file_or_subfolder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("x")
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith(("a.txt", "closed")):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("medical_tasks.benchmarks.kqa.documents.read_bytes", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(
        UsageError, match=r"a.txt: cannot be read \(Permission denied\)"
    ):
        read_documents(tmp_path)
    (tmp_path / "closed").mkdir()
    with pytest.raises(
        UsageError, match=r"closed: cannot be read \(Permission denied\)"
    ):
        read_documents(tmp_path)


def test_a_file_name_that_is_not_utf8_becomes_valid_json(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"odd\xff.txt")).write_text("x")
    (document,) = read_documents(tmp_path)
    assert (document.name, document.title) == ("odd\\xff.txt", "odd\\xff")
    json.dumps(document.name).encode()
