"""The text of an HTML page, by the standard library alone."""

from __future__ import annotations

from html.parser import HTMLParser

__all__ = ["html_text"]

# What a browser does not show, and what begins a paragraph of its own.
_HIDDEN = frozenset({"script", "style", "noscript", "template", "head", "svg"})
_BLOCKS = frozenset(
    "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr html legend li main nav ol optgroup option p pre section select summary table tbody td textarea tfoot th "
    "thead tr ul".split()
)


def html_text(page: str) -> tuple[str, str]:
    """Takes the tags off a page.

    Args:
        page: HTML, well-formed or not.

    Returns:
        Its title, "" when it has none, and its paragraphs divided by blank lines.
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.title, reader.text


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._hidden: list[str] = []
        self._in_title = False
        self._title: list[str] = []
        self._paragraphs: list[list[str]] = [[]]

    @property
    def title(self) -> str:
        return " ".join("".join(self._title).split())

    @property
    def text(self) -> str:
        paragraphs = (" ".join("".join(parts).split()) for parts in self._paragraphs)
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skips `<![...>` as browsers do; some releases of the standard library fail an assertion on an unknown keyword."""
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
