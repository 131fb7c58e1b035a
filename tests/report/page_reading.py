"""Reads the structure of a page as a browser does, and lists its faults."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "input", "br", "hr", "img"}
LOADS = {
    "src",
    "srcset",
    "data",
    "action",
    "poster",
    "background",
    "formaction",
    "xlink:href",
}


class PageReader(HTMLParser):
    """What a page holds.

    Attributes:
        faults: of its structure.
        ids: of its elements.
        scripts: content of each `<script>` that runs.
        data: content of each JSON block, by its id.
        text: all that is shown.
        links: where its `<a>` lead.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.ids: Counter[str] = Counter()
        self.references: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.data: dict[str, Any] = {}
        self.text = ""
        self.links: list[dict[str, str]] = []
        self.metas: list[dict[str, str]] = []
        self.headings: list[int] = []
        self.elements: Counter[str] = Counter()
        self._open: list[tuple[str, dict[str, str]]] = []
        self._fields: list[dict[str, str]] = []
        self.feed(str(page))
        self.close()
        self._finish()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements[tag] += 1
        if len(attributes) != len(attrs):
            self.faults.append(f"<{tag}> names an attribute twice")
        if "id" in attributes:
            self.ids[attributes["id"]] += 1
        for name in ("for", "aria-labelledby", "aria-describedby"):
            self.references += [
                (f"{tag} {name}", reference)
                for reference in attributes.get(name, "").split()
            ]
        if tag == "a":
            self.links.append(attributes)
        if tag == "meta":
            self.metas.append(attributes)
        if tag in {"input", "select"}:
            self._fields.append(attributes)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.headings.append(int(tag[1]))
        for name, value in attributes.items():
            if name in LOADS or (
                name == "href" and tag != "a" and not value.startswith("data:")
            ):
                self.faults.append(f"<{tag} {name}={value!r}> loads something")
            if name.startswith("on") or name == "style":
                self.faults.append(f"<{tag}> has {name}, which the policy forbids")
        if tag not in VOID:
            self._open.append((tag, attributes))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.faults.append(
                f"</{tag}> closes {self._open[-1][0] if self._open else 'nothing'}"
            )
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        tag, attributes = self._open[-1] if self._open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.data[attributes["id"]] = json.loads(data)
        elif tag == "script":
            self.scripts.append(data)
        elif tag != "style":
            self.text += data

    def _finish(self) -> None:
        self.faults += [f"<{tag}> is never closed" for tag, _ in self._open]
        self.faults += [
            f"id {name!r} stands {count} times"
            for name, count in self.ids.items()
            if count > 1
        ]
        self.faults += [
            f"{what} names {reference!r}, which is not there"
            for what, reference in self.references
            if reference not in self.ids
        ]
        labelled = {
            reference for what, reference in self.references if what == "label for"
        }
        self.faults += [
            f"a field without a label: {field}"
            for field in self._fields
            if field.get("id") not in labelled
        ]
        for before, after in zip(self.headings, self.headings[1:], strict=False):
            if after > before + 1:
                self.faults.append(f"h{after} follows h{before}")
        self.faults += [
            f"a link to {link['href']!r}"
            for link in self.links
            if link["href"][:1] == "#" and link["href"][1:] not in self.ids
        ]
