"""Matches published answers with the items of a task, by id if the question agrees, or by text.

An item is identified by those of its fields that are part of the question of every item,
such as note and question in MedCalc-Bench. A published question is that of an item if it
contains all of these. Blanks, quotation marks, letter case and Unicode forms may differ.
The id decides among items with the same texts, or alone if the source has no question. An
id with another question, as in another version of the data, does not match.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from medical_tasks.data.task_data import prompt_set
from medical_tasks.errors import MedicalTasksError
from medical_tasks.importing.published import PublishedAnswer
from medical_tasks.spec import Item, TaskSpec

Way = Literal[
    "id",
    "text",
    "id and bare question",
    "id alone",
    "ambiguous",
    "asks otherwise",
    "unknown",
]
"""How an answer was matched: `id and bare question` if the source has no documents to compare,
`id alone` if it has no question."""

_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d\u2032\u2033", "''\"\"'\"")
_QUESTION: Final = "question"
_ID_NAMES: Final = ("id", "number", "key", "index", "no")
_LONGEST_ID: Final = 200
_ANCHOR: Final = 40
"""The number of characters of an item's longest text that candidates are looked up by."""
_BARE: Final = 1.5
"""A question at most this many times as long as the item's own contains no documents."""
_ENOUGH: Final = 0.9
"""The share of a list's texts (sentences of a dialogue) that a question must contain: another
harness may have split them differently."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """An answer with its item; None if there is none, or if it is ambiguous."""

    answer: PublishedAnswer
    item: str | None
    way: Way


@dataclass(frozen=True, kw_only=True)
class _ItemTexts:
    """The texts of an item: a question must contain all `texts`, and most of each of `lists`."""

    texts: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...] = ()
    question: str = ""

    @property
    def longest(self) -> str:
        return max(
            (*self.texts, *(text for texts in self.lists for text in texts)), key=len
        )

    def within(self, question: str) -> bool:
        """Whether a question contains the item's texts."""
        if not all(text in question for text in self.texts):
            return False
        return all(
            sum(text in question for text in texts) >= _ENOUGH * len(texts)
            for texts in self.lists
        )

    @property
    def whole(self) -> str:
        return "\0".join(
            (*self.texts, *(text for texts in self.lists for text in texts))
        )

    def is_bare_in(self, question: str) -> bool:
        """Whether a question is the item's own without its documents."""
        bare = len(question) <= _BARE * len(self.question)
        return bare and bool(self.question) and self.question in question

    def is_part_of(self, other: _ItemTexts) -> bool:
        """Whether every question that contains the other item contains this shorter one too.

        Example:
            An item about "aspirin" is part of one about "aspirin in pregnancy": a question that
            contains the longer text is not ambiguous, but that of the longer item.
        """
        return len(self.whole) < len(other.whole) and self.within(other.whole)


@dataclass
class Questions:
    """The questions of a task's items, to identify published questions.

    Comparing each question with each item would be slow. So each item is filed under the
    first 40 characters of its longest text (its anchor), all anchors of one length; a
    question looks up every piece of that length that it contains, and only the items it
    meets there are compared in full.
    """

    task: TaskSpec
    items: Sequence[Item]
    _texts_of_item: dict[str, _ItemTexts] = field(init=False)
    _by_anchor: dict[str, list[str]] = field(init=False)
    _anchor: int = field(init=False)

    def __post_init__(self) -> None:
        """Indexes the items by the beginning of their longest text, to find candidates."""
        self._texts_of_item = dict(_item_texts(self.task, self.items))
        self._by_anchor = {}
        self._anchor = min(
            (len(texts.longest) for texts in self._texts_of_item.values()),
            default=_ANCHOR,
        )
        self._anchor = min(self._anchor, _ANCHOR)
        for name, texts in self._texts_of_item.items():
            self._by_anchor.setdefault(texts.longest[: self._anchor], []).append(name)

    def matches(self, answers: Sequence[PublishedAnswer]) -> list[Match]:
        """Finds the item of each answer."""
        ids = {item.id for item in self.items}
        return [self._match(answer, ids) for answer in answers]

    def _match(self, answer: PublishedAnswer, ids: Collection[str]) -> Match:
        """Finds the item of one answer, by the first of its questions that decides.

        Example: an answer has the id 7. If its question contains the texts of item 7, it
        is that item (`id`). If it contains the texts of item 9 alone, it is 9 (`text`):
        another harness may number items differently. If it contains neither, the id
        counts only if the question is the item's own without its documents.
        """
        named = [name for name in dict.fromkeys(answer.ids) if name in ids]
        questions = [question for question in map(folded, answer.questions) if question]
        if not questions or not self._texts_of_item:
            # Without a question, only a certain id counts.
            item = next((name for name in answer.ids[:1] if name in ids), None)
            return Match(
                answer=answer, item=item, way="id alone" if item else "unknown"
            )

        is_ambiguous = False
        for question in questions:
            items = self._items_in(question)
            items_by_id = [name for name in named if name in items]
            if items_by_id:
                return Match(answer=answer, item=items_by_id[0], way="id")
            if len(items) == 1:
                return Match(answer=answer, item=items[0], way="text")

            is_ambiguous = is_ambiguous or len(items) > 1
            bare_items = [
                name for name in named if self._texts_of_item[name].is_bare_in(question)
            ]
            if bare_items:
                return Match(
                    answer=answer, item=bare_items[0], way="id and bare question"
                )

        way: Way = (
            "ambiguous" if is_ambiguous else "asks otherwise" if named else "unknown"
        )
        return Match(answer=answer, item=None, way=way)

    def _items_in(self, question: str) -> list[str]:
        """Returns the items that a question contains, except those that are part of another."""
        candidates = [
            name
            for name in self._candidates(question)
            if self._texts_of_item[name].within(question)
        ]
        return [
            name
            for name in candidates
            if not any(
                self._texts_of_item[name].is_part_of(self._texts_of_item[other])
                for other in candidates
                if other != name
            )
        ]

    def _candidates(self, question: str) -> list[str]:
        size = self._anchor
        starts = {
            question[at : at + size] for at in range(max(1, len(question) - size + 1))
        }
        return [
            name
            for start in starts
            if start in self._by_anchor
            for name in self._by_anchor[start]
        ]


def counts(matches: Sequence[Match]) -> dict[str, int]:
    """Counts the answers by way of matching, or by the reason for no match."""
    return dict(Counter(match.way for match in matches))


def folded(text: str) -> str:
    r"""Normalises blanks, quotation marks, letter case and Unicode characters of a text.

    Example: `folded("Mr. Roe\u2019s  FiO\u2082")` is `"mr.roe'sfio2"`.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return "".join(plain.split()).casefold()


def _item_texts(
    task: TaskSpec, items: Sequence[Item]
) -> Iterator[tuple[str, _ItemTexts]]:
    """Yields the folded texts that identify each item's question, for items that have any."""
    names = _identifying_fields(task, items)
    for item in items:
        texts = [
            folded(value)
            for name in names
            if isinstance(value := item.fields.get(name), str)
        ]
        lists = [_folded_list(item.fields.get(name)) for name in names]
        item_texts = _ItemTexts(
            texts=tuple(filter(None, texts)),
            lists=tuple(texts for texts in lists if texts),
            question=folded(str(item.fields.get(_QUESTION) or ""))
            if _QUESTION in names
            else "",
        )
        if item_texts.texts or item_texts.lists:
            yield item.id, item_texts


def _identifying_fields(task: TaskSpec, items: Sequence[Item]) -> list[str]:
    """Returns the fields that are in the question of every item with them, and differ between items."""
    names = [
        name
        for name in dict.fromkeys(name for item in items for name in item.fields)
        if len(items) == 1 or len({repr(item.fields.get(name)) for item in items}) > 1
    ]
    try:
        prompts = prompt_set(task, "own", None, arguments={})
        questions = [
            folded(" ".join(message["content"] for message in prompts.render(item)))
            for item in items
        ]
    except MedicalTasksError:  # the questions need documents that are not available
        return [name for name in names if "question" in name.casefold()]

    return [name for name in names if _is_in_every_question(name, items, questions)]


def _is_in_every_question(
    name: str, items: Sequence[Item], questions: Sequence[str]
) -> bool:
    """Whether the text of a field is in the question of every item that has one."""
    has_text = False
    for item, question in zip(items, questions, strict=True):
        value = item.fields.get(name)
        texts = (folded(value),) if isinstance(value, str) else _folded_list(value)
        if not all(text in question for text in texts):
            return False
        has_text = has_text or any(texts)
    return has_text


def _folded_list(value: object) -> tuple[str, ...]:
    """Returns the folded texts of a list of texts; none for any other value."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(element, str) for element in value
    ):
        return ()
    return tuple(filter(None, map(folded, value)))


def id_values(record: Mapping[str, object]) -> tuple[str, ...]:
    """Returns the values of a row that may be an item's id, by the names of their fields.

    Example: `id_values({"Row Number": 7, "Question": "...", "answer": "12"})` is
    `("7",)`.
    """
    values = (value for name, value in record.items() if _names_an_id(name))
    return tuple(str(value) for value in values if _may_be_id(value))


def _names_an_id(name: str) -> bool:
    return folded(name).endswith(_ID_NAMES)


def _may_be_id(value: object) -> bool:
    plain = isinstance(value, str | int) and not isinstance(value, bool)
    return plain and len(str(value)) <= _LONGEST_ID


def text_values(record: Mapping[str, object]) -> str:
    """Joins the texts of a row, to search them for those of an item."""
    texts = [value for value in record.values() if isinstance(value, str)]
    lists = [value for value in record.values() if isinstance(value, list)]
    texts += [
        element for value in lists for element in value if isinstance(element, str)
    ]
    return "\n".join(texts)
