"""Reads a user's documents as plain text, and cuts them into passages for retrieval.

| file | text |
|---|---|
| `.txt`, `.md` | unchanged; the title is the first Markdown heading, or the file's name |
| `.html`, `.htm` | the text that a browser would show, by the standard library's parser |
| `.jsonl` | one document per line: `{"text": ..., "title"?: ..., "url"?: ...}`; other keys are ignored |

The order of the documents is always the same. A passage has a limited number of words,
and ends at the end of a paragraph if possible.

- **Documents** are below the folder, without hidden files and links to folders. Their
  text is sent to the model: keep private text from remote ones. Files that are not
  UTF-8 are decoded with a note; `.jsonl` must be UTF-8.
- Without `documents`, `MEDICAL_TASKS_DOCUMENTS` names the folder (also one with a comma
  in its name). Without both, the demo's nine texts are used, for the demo's questions
  only.
- **Passages** have at most `chunk_words` words (default 150, 20 to 2,000), end at a
  paragraph border in their second half if there is one, and overlap by at most a fifth.
"""

from __future__ import annotations

import json
import os
import re
import sys
from bisect import bisect_left
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import read_bytes, readable
from medical_tasks.io.json_records import is_text

SUFFIXES = (".txt", ".md", ".html", ".htm", ".jsonl")

_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_CHARSET = re.compile(
    rb"""<meta\s[^>]{0,200}charset=["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE
)
_HEAD = 4096
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text with blank lines between its paragraphs.

    Attributes:
        name: unique name: the path under the folder, with `/` as separator; for JSON
            Lines, a colon and the line number follow.
        url: its address, "" if unknown.
    """

    name: str
    title: str
    text: str
    url: str = ""


def read_documents(root: Path) -> list[Document]:
    """Reads every document with text in a folder and its subfolders, or a single file.

    Hidden files are skipped. The documents are in the order of their paths.
    """
    try:
        exists = root.exists()
    except OSError as error:
        raise UsageError(
            f"documents={root}: cannot be read ({system_reason(error)}). Give another folder."
        ) from error

    if not exists:
        raise MissingError(
            f"documents={root}: there is no such folder. Give the folder that holds your "
            f"documents ({', '.join(SUFFIXES)})."
        )

    paths = list(_files(root))
    readable_paths = [path for path in paths if path.suffix.lower() in SUFFIXES]
    if not readable_paths:
        kinds = sorted({path.suffix.lower() or "no suffix" for path in paths})
        contents = (
            f"it holds files of other kinds ({', '.join(kinds[:4])})"
            if kinds
            else "it is empty"
        )
        raise UsageError(
            f"documents={root}: no document to retrieve from, {contents}. Documents are "
            f"{', '.join(SUFFIXES)} files; convert "
            "others to text first."
        )

    base = root if root.is_dir() else root.parent
    documents = [
        document
        for path in readable_paths
        for document in _read(path, _printable(path.relative_to(base)))
        if document.text.strip()
    ]
    if not documents:
        raise UsageError(
            f"documents={root}: no text in any of the {len(readable_paths)} documents (the first "
            f"is {_printable(readable_paths[0])}). Give a folder whose files hold text."
        )

    return documents


def _files(root: Path) -> Iterator[Path]:
    """All files in the order of their paths.

    A link to a folder is not followed, as it may lead back up.
    """
    if root.is_file():
        yield root
        return

    def fail(error: OSError) -> None:
        raise UsageError(
            f"{error.filename}: cannot be read ({system_reason(error)})."
        ) from error

    paths: list[Path] = []
    for folder, folders, names in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(folder) / name for name in names if not name.startswith(".")]

    # Sorted by parts, not by the path's text, so that a folder's files stay together
    # whatever character follows its name.
    yield from sorted(
        (path for path in paths if path.is_file()), key=lambda path: path.parts
    )


def _printable(path: Path) -> str:
    """The path as text that any file can hold; bytes that are not UTF-8 are escaped."""
    return (
        path.as_posix()
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
    )


def _read(path: Path, name: str) -> list[Document]:
    """Reads a file: an HTML page, a text, or JSON Lines with a document per line.

    The title is the page's title, the first Markdown heading, or derived from the file's
    name.
    """
    with readable(path):
        content = read_bytes(path)

    suffix = path.suffix.lower()
    text = _decoded(path, content, suffix).replace("\r\n", "\n").replace("\r", "\n")
    if suffix == ".jsonl":
        return list(_lines(path, name, text))

    if suffix in (".html", ".htm"):
        title, visible = html_text(text)
        return [Document(name=name, title=title or _title(path), text=visible)]

    heading = _HEADING.search(text) if suffix == ".md" else None
    return [
        Document(name=name, title=heading[1] if heading else _title(path), text=text)
    ]


def _decoded(path: Path, content: bytes, suffix: str) -> str:
    """Decodes UTF-8, else the encoding of a byte order mark or of a page's declaration, else Windows-1252.

    Another encoding than UTF-8 is noted. Windows-1252 has all printable characters of
    Latin-1. JSON Lines are UTF-8 by their standard.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{content[error.start]:02x} at position {error.start}"

    declared = _CHARSET.search(content[:_HEAD]) if suffix in (".html", ".htm") else None
    encoding = (
        "utf-16"
        if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        else declared[1].decode()
        if declared
        else "cp1252"
    )
    try:
        text = "" if suffix == ".jsonl" else content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        text = ""

    if not text or _CONTROL.search(text):
        raise UsageError(
            f"{path}: not UTF-8 ({wrong}). Convert it, or move it out of the folder."
        )

    print(
        f"note: {path}: not UTF-8 ({wrong}), read as {encoding}. Convert it if its letters come "
        "out wrong.",
        file=sys.stderr,
    )
    return text


def _title(path: Path) -> str:
    return _printable(Path(path.stem)).replace("_", " ").replace("-", " ")


def _lines(path: Path, name: str, text: str) -> Iterator[Document]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue

        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}: line {number} is not a whole JSON object ({error})."
            ) from error

        if not isinstance(values, dict) or "text" not in values:
            raise UsageError(
                f'{path}: line {number} is not a JSON object with "text". Write one document a '
                f'line, as {{"text": "...", '
                '"title": "...", "url": "..."}.'
            )

        yield Document(
            name=f"{name}:{number}",
            title=_text(path, number, values, "title") or _title(path),
            text=_text(path, number, values, "text").replace("\r\n", "\n"),
            url=_text(path, number, values, "url"),
        )


def _text(path: Path, number: int, values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    if value is None and key != "text":
        return ""
    if not is_text(blank=True).holds(value):
        raise UsageError(
            f"{path}: line {number}, {key!r} must be a text, got {repr(value)[:60]}."
        )
    return str(value)


# Elements that a browser does not show, and elements that begin a paragraph.
_HIDDEN = frozenset({"script", "style", "noscript", "template", "head", "svg"})
_BLOCKS = frozenset(
    "address article aside blockquote body caption dd details div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr html legend li main nav ol optgroup option p pre section select summary table "
    "tbody td textarea tfoot th "
    "thead tr ul".split()
)


def html_text(page: str) -> tuple[str, str]:
    """Extracts a page's title, "" if it has none, and its paragraphs with blank lines between them.

    Example:
        >>> html_text("<title>Flu</title><p>Rest <b>a lot</b>.<script>f()</script>")
        ('Flu', 'Rest a lot.')
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.read()


class _Reader(HTMLParser):
    """Collects a page's visible text.

    Attributes:
        _hidden: the open elements whose text is not shown, the innermost last.
        _paragraphs: the texts of each paragraph; every block element begins a new one, at
            its start and its end.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._hidden: list[str] = []
        self._in_title = False
        self._title: list[str] = []
        self._paragraphs: list[list[str]] = [[]]

    def read(self) -> tuple[str, str]:
        paragraphs = (" ".join("".join(texts).split()) for texts in self._paragraphs)
        text = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
        return " ".join("".join(self._title).split()), text

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skips `<![...>` as browsers do.

        Some releases of the standard library fail an assertion on an unknown keyword.
        """
        end = self.rawdata.find(">", i)
        return end + 1 if end >= 0 else -1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._hidden.clear()  # a head that was never closed ends here
        if tag == "title" and "svg" not in self._hidden:
            self._in_title = True
        elif tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self._paragraphs.append([])
        elif tag == "br":
            self._paragraphs[-1].append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _HIDDEN and tag != "title":
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        elif tag in _BLOCKS:
            self._paragraphs.append([])

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._hidden:
            self._paragraphs[-1].append(data)


OVERLAP = 5
"""A passage repeats up to one word in so many from the one before, so that a sentence that is cut
is whole in one of them."""

# Text without spaces (some scripts, encoded pictures) is cut too, since one "word" could
# fill the whole prompt.
_WORD = re.compile(r"\S{1,40}")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A passage of a document; its id is the document's name, `#`, and its number from 1."""

    id: str
    document: Document
    text: str


def chunk_documents(documents: Iterable[Document], chunk_words: int) -> Iterator[Chunk]:
    """Cuts documents into passages; every word is in at least one.

    A passage ends at the last paragraph border in its second half, else after
    `chunk_words` words. The next one begins at the first paragraph border within the
    overlap, else with the overlap.

    Example: a text of 250 words with its only border after word 120, cut at 150, gives
    the words 1 to 120 and 121 to 250.
    """
    for document in documents:
        for number, text in enumerate(_passages(document.text, chunk_words), start=1):
            yield Chunk(id=f"{document.name}#{number}", document=document, text=text)


def _passages(text: str, size: int) -> Iterator[str]:
    """Cuts a text into passages of at most `size` words, with an overlap.

    Example, with 8 words a passage: twelve words give the words 1 to 8 and 8 to 12. With
    a blank line after word 6 they give 1 to 6 and 7 to 12, without a repeated word: a
    passage ends with a paragraph that ends in its second half.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    starts = [start for start, _ in spans]
    # words that begin a paragraph
    borders = {bisect_left(starts, match.end()) for match in _BLANK_LINE.finditer(text)}
    start = 0
    while start < len(spans):
        end = min(start + size, len(spans))
        if end < len(spans):
            # The last border that leaves more than half a passage.
            end = next(
                (
                    index
                    for index in range(end, start + size // 2, -1)
                    if index in borders
                ),
                end,
            )

        yield text[spans[start][0] : spans[end - 1][1]]
        if end == len(spans):
            return

        earliest = end - size // OVERLAP
        start = next(
            (index for index in range(earliest, end + 1) if index in borders), earliest
        )
