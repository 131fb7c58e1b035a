"""The questions about a text, put to a judge with our prompts or the authors', and to a judge of entailment as a pair."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal

from medical_tasks.benchmarks.doclens import judge_prompts as own
from medical_tasks.benchmarks.doclens import judge_reading as reading
from medical_tasks.benchmarks.doclens import judge_texts as texts
from medical_tasks.benchmarks.doclens import official_judge_reading as official_reading
from medical_tasks.benchmarks.doclens import official_prompts as official
from medical_tasks.judges.base import JudgePrompts, Label, Pair, Question, Unreadable
from medical_tasks.judges.reading import quoted
from medical_tasks.spec import Message

__all__ = ["ENTAILS", "QuestionMaker", "claim_pair"]

ENTAILS: Final[dict[Label, bool]] = {
    "entailment": True,
    "neutral": False,
    "contradiction": False,
    "not_entailment": False,
}
"""What the label of a judge of entailment says: entailed or not."""

_MAKE_TOKENS: Final = 2048
_REPLY_TOKENS: Final = 512
_ENTRY_TOKENS: Final = {"json_cot": 96, "json": 32}
_NUMBER_TOKENS: Final = 8

_SPEAKER: Final = re.compile(r"\A\[([A-Za-z]\w{0,30})\] ?")

_Read = Callable[[str], Any | Unreadable]


def claim_pair(text: str, claim: str) -> Pair:
    """Makes a judge of entailment's question; the value is whether it is entailed."""
    return Pair(premise=text, hypothesis=claim, values=ENTAILS)


class QuestionMaker:
    """Makes questions of one set of prompts and one style.

    Args:
        prompts: ours or the authors'.
        style: one of `judge_prompts.STYLES`, that the prompts have.
    """

    def __init__(self, prompts: JudgePrompts, style: str) -> None:
        self._prompts = prompts
        self._style = style
        self._official = prompts.name == "official"
        self._explained = texts.explains(style)

    def make(self, name: str, *, text: str, form: str, section: str) -> Question:
        """Asks for the claims of a text; the value is a JSON list."""
        if self._official:
            file = self._file("make", form=form, section=section)
            messages = official.official_make_messages(file, judged=text)
            return _question(
                name, messages, file, official_reading.AGAIN_CLAIMS, official_reading.read_official_made, _MAKE_TOKENS
            )
        messages = own.own_messages(self._prompts, "make", self._style, form=form, text=quoted(text))
        return _question(name, messages, self._prompts.texts["make"], texts.JSON_AGAIN, reading.read_made, _MAKE_TOKENS)

    def claims(self, name: str, *, text: str, claims: Sequence[str], form: str) -> Question:
        """Asks about several claims; the value is a verdict by place, None for what the reply leaves out."""
        tokens = _REPLY_TOKENS + _ENTRY_TOKENS[self._style] * len(claims)
        if self._official:
            file = self._file("claims", form=form)
            messages = official.official_claim_messages(file, form=form, judged=text, claims=claims)
            # Each of their entries repeats its claim.
            tokens += sum(map(len, claims)) // 2
            read = official_reading.read_official_batch(claims)
            return _question(name, messages, file, official_reading.AGAIN_JSON, read, tokens)
        ids = [f"c{number}" for number in range(1, len(claims) + 1)]
        messages = own.own_messages(
            self._prompts,
            "claims",
            self._style,
            form=form,
            text=quoted(text),
            claims=own.quoted_lines(list(zip(ids, claims, strict=True))),
        )
        return self._own(name, "claims", messages, reading.read_batch(ids, explained=self._explained), tokens)

    def claim(self, name: str, *, text: str, claim: str, form: str) -> Question:
        """Asks about one claim; the value is a bool."""
        pair = claim_pair(text, claim)
        if self._official:
            file = self._file("claims", form=form)
            messages = official.official_claim_messages(file, form=form, judged=text, claims=[claim])
            read = official_reading.read_official_lines if self._in_lines else _only(claim)
            return _question(name, messages, file, self._official_again, read, _REPLY_TOKENS, pair)
        messages = own.own_messages(
            self._prompts, "claim", self._style, form=form, text=quoted(text), claim=quoted(claim)
        )
        return self._own(name, "claim", messages, self._read_verdict, _REPLY_TOKENS, pair)

    def questions(self, name: str, kind: Literal["question", "same"], *, first: str, second: str) -> Question:
        """Asks whether a question is a case of another, or the same; the value is a bool. Sameness has no pair."""
        pair = claim_pair(first, second) if kind == "question" else None
        if self._official:
            file = self._file(kind, form="question")
            messages = official.official_pair_messages(file, first=first, second=second)
            read = official_reading.read_official_lines if self._in_lines else official_reading.read_official_object
            return _question(name, messages, file, self._official_again, read, _REPLY_TOKENS, pair)
        messages = own.own_messages(
            self._prompts, kind, self._style, form="question", first=quoted(first), second=quoted(second)
        )
        return self._own(name, kind, messages, self._read_verdict, _REPLY_TOKENS, pair)

    def citation(
        self, name: str, *, sentence: str, cited: Sequence[tuple[int, str]], form: str, section: str
    ) -> Question:
        """Asks about a sentence and what it cites, given by number and text; the value is a `judge_reading.Cited`."""
        numbers = [number for number, _ in cited]
        tokens = _REPLY_TOKENS + _NUMBER_TOKENS * len(numbers)
        read: _Read
        if self._official:
            file = self._file("citation", form=form, section=section)
            messages = official.official_citation_messages(file, form=form, sentence=sentence, cited=cited)
            read = (
                official_reading.read_official_cited_lines(numbers)
                if self._in_lines
                else official_reading.read_official_cited(numbers)
            )
            return _question(name, messages, file, self._official_again, read, tokens)
        kind = "summary" if form == "question" else "citation"
        messages = own.own_messages(
            self._prompts,
            kind,
            self._style,
            form=form,
            cited=own.quoted_lines([(str(number), _turn(text, form)) for number, text in cited]),
            sentence=quoted(sentence),
        )
        read = (
            reading.read_cited_lines(numbers)
            if self._in_lines
            else reading.read_cited_object(numbers, explained=self._explained)
        )
        return self._own(name, kind, messages, read, tokens)

    @property
    def _in_lines(self) -> bool:
        return not texts.as_json(self._style)

    @property
    def _official_again(self) -> str:
        return official_reading.AGAIN_LINES if self._in_lines else official_reading.AGAIN_JSON

    @property
    def _read_verdict(self) -> _Read:
        if self._in_lines:
            return reading.read_verdict_lines
        return partial(reading.read_verdict_object, explained=self._explained)

    def _file(self, kind: official.Kind, *, form: str, section: str = "") -> str:
        return self._prompts.texts[official.official_file(kind, self._style, form=form, section=section)]

    def _own(
        self, name: str, kind: str, messages: tuple[Message, ...], read: _Read, tokens: int, pair: Pair | None = None
    ) -> Question:
        text = self._prompts.texts[texts.key(kind, self._style)]
        return _question(name, messages, text, own.again(self._style), read, tokens, pair)


def _turn(text: str, form: str) -> str:
    """A turn of a dialogue with its speaker in words: in brackets it would be escaped, which is no good reading."""
    return _SPEAKER.sub(r"\1: ", text) if form in ("note", "section") else text


def _only(claim: str) -> _Read:
    """Reads a list that has one entry."""
    read_list = official_reading.read_official_batch([claim])

    def read(text: str) -> bool | Unreadable:
        value = read_list(text)
        if isinstance(value, Unreadable):
            return value
        return Unreadable("there is no verdict") if value[0] is None else value[0]

    return read


def _question(
    name: str,
    messages: tuple[Message, ...],
    text: str,
    again: str,
    read: _Read,
    tokens: int,
    pair: Pair | None = None,
) -> Question:
    return Question(
        id=name,
        messages=messages,
        template=hashlib.sha256(f"{text}\0{again}".encode()).hexdigest(),
        read=read,
        again=again,
        max_tokens=tokens,
        pair=pair,
    )
