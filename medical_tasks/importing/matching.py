"""Which item of a task a published answer is to: by its id where the question agrees, or by its texts.

What an item asks is taken from its own question: the fields of it that stand there in
every item, such as note and question of MedCalc-Bench. A published question is an
item's where it holds all of these. Blanks, quotation marks, letter case and forms of
Unicode may differ.
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
"""How an answer was matched: `id and bare question` where the source has no documents to compare,
`id alone` where it has no question."""

_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d\u2032\u2033", "''\"\"'\"")
_QUESTION: Final = "question"
_ID_NAMES: Final = ("id", "number", "key", "index", "no")
_LONGEST_ID: Final = 200
_ANCHOR: Final = 40
"""Characters of an item's longest text by which candidates are looked up."""
_BARE: Final = 1.5
"""A question that is at most so many times as long as the item's own has no documents in it."""
_ENOUGH: Final = 0.9
"""The share of a list's texts (sentences of a dialogue) that a question must hold: another harness
may have cut them otherwise."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """The item of an answer; None where there is none, or several could be it."""

    answer: PublishedAnswer
    item: str | None
    way: Way


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What an item asks: texts that must all be there, and lists of which most must."""

    texts: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...] = ()
    question: str = ""

    @property
    def longest(self) -> str:
        return max(
            (*self.texts, *(text for each in self.lists for text in each)), key=len
        )

    def within(self, question: str) -> bool:
        """Whether a question holds it."""
        if not all(text in question for text in self.texts):
            return False
        return all(
            sum(text in question for text in each) >= _ENOUGH * len(each)
            for each in self.lists
        )

    @property
    def whole(self) -> str:
        return "\0".join((*self.texts, *(text for each in self.lists for text in each)))

    def is_bare_in(self, question: str) -> bool:
        """Whether a question is this one without its documents."""
        bare = len(question) <= _BARE * len(self.question)
        return bare and bool(self.question) and self.question in question

    def is_part_of(self, other: _Asked) -> bool:
        """Whether whatever holds the other holds this too, and it is shorter."""
        return len(self.whole) < len(other.whole) and self.within(other.whole)


@dataclass
class Questions:
    """The questions of a task's items, by which published ones are known."""

    task: TaskSpec
    items: Sequence[Item]
    _asked: dict[str, _Asked] = field(init=False)
    _by_anchor: dict[str, list[str]] = field(init=False)
    _anchor: int = field(init=False)

    def __post_init__(self) -> None:
        """Indexes the items by how their longest text begins, to find candidates."""
        self._asked = dict(_asked_texts(self.task, self.items))
        self._by_anchor = {}
        self._anchor = min(
            (len(asked.longest) for asked in self._asked.values()), default=_ANCHOR
        )
        self._anchor = min(self._anchor, _ANCHOR)
        for name, asked in self._asked.items():
            self._by_anchor.setdefault(asked.longest[: self._anchor], []).append(name)

    def matches(self, answers: Sequence[PublishedAnswer]) -> list[Match]:
        """Finds the items of answers."""
        ids = {item.id for item in self.items}
        return [self._match(answer, ids) for answer in answers]

    def _match(self, answer: PublishedAnswer, ids: Collection[str]) -> Match:
        """The item of one answer, by the first of its questions that settles it.

        Example: an answer names the id 7. Where its question holds all that item 7
        asks, it is that item (`id`). Where it holds what item 9 alone asks, it is 9
        (`text`): ids of another harness may count otherwise. Where it holds neither,
        the id counts only if the question is the item's own without its documents.
        """
        named = [name for name in dict.fromkeys(answer.ids) if name in ids]
        questions = [question for question in map(folded, answer.questions) if question]
        if not questions or not self._asked:
            # Without a question only what is surely an id counts.
            item = next((name for name in answer.ids[:1] if name in ids), None)
            return Match(
                answer=answer, item=item, way="id alone" if item else "unknown"
            )

        several = False
        for question in questions:
            holding = self._holding(question)
            by_id = [name for name in named if name in holding]
            if by_id:
                return Match(answer=answer, item=by_id[0], way="id")
            if len(holding) == 1:
                return Match(answer=answer, item=holding[0], way="text")

            several = several or len(holding) > 1
            bare = [name for name in named if self._asked[name].is_bare_in(question)]
            if bare:
                return Match(answer=answer, item=bare[0], way="id and bare question")

        way: Way = "ambiguous" if several else "asks otherwise" if named else "unknown"
        return Match(answer=answer, item=None, way=way)

    def _holding(self, question: str) -> list[str]:
        """The items that a question holds, but for those that are parts of another one."""
        found = [
            name
            for name in self._candidates(question)
            if self._asked[name].within(question)
        ]
        return [
            name
            for name in found
            if not any(
                self._asked[name].is_part_of(self._asked[other])
                for other in found
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
    """How many answers were matched in which way, or why not; what is 0 is left out."""
    return dict(Counter(match.way for match in matches))


def folded(text: str) -> str:
    r"""A text however its blanks, quotation marks, letters and characters were written.

    Example: `folded("Mr. Roe\u2019s  FiO\u2082")` is `"mr.roe'sfio2"`.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return "".join(plain.split()).casefold()


def _asked_texts(task: TaskSpec, items: Sequence[Item]) -> Iterator[tuple[str, _Asked]]:
    """The texts by which each item's question is known, folded; none where there are no such."""
    names = _asked_fields(task, items)
    for item in items:
        texts = [
            folded(value)
            for name in names
            if isinstance(value := item.fields.get(name), str)
        ]
        lists = [_list(item.fields.get(name)) for name in names]
        asked = _Asked(
            texts=tuple(filter(None, texts)),
            lists=tuple(each for each in lists if each),
            question=folded(str(item.fields.get(_QUESTION) or ""))
            if _QUESTION in names
            else "",
        )
        if asked.texts or asked.lists:
            yield item.id, asked


def _asked_fields(task: TaskSpec, items: Sequence[Item]) -> list[str]:
    """The fields that stand in the question of every item that has them, and tell items apart."""
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
    except MedicalTasksError:  # its questions need documents, which are not here
        return [name for name in names if "question" in name.casefold()]

    return [name for name in names if _stands_in(name, items, questions)]


def _stands_in(name: str, items: Sequence[Item], questions: Sequence[str]) -> bool:
    """Whether a field's text stands in the question of every item that has one."""
    some = False
    for item, question in zip(items, questions, strict=True):
        value = item.fields.get(name)
        texts = (folded(value),) if isinstance(value, str) else _list(value)
        if not all(text in question for text in texts):
            return False
        some = some or any(texts)
    return some


def _list(value: object) -> tuple[str, ...]:
    """The texts of a list of texts, folded; none of anything else."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(each, str) for each in value
    ):
        return ()
    return tuple(filter(None, map(folded, value)))


def id_values(record: Mapping[str, object]) -> tuple[str, ...]:
    """The values of a row that may be an item's id, by the names of their fields.

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
    """The texts of a row as one text, in which an item's are looked for."""
    texts = [value for value in record.values() if isinstance(value, str)]
    lists = [value for value in record.values() if isinstance(value, list)]
    texts += [each for value in lists for each in value if isinstance(each, str)]
    return "\n".join(texts)
