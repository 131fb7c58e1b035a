"""A judge for DocLens that takes what our prompts ask apart, and decides it by looking whether one text stands in the other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from medical_tasks.benchmarks.doclens.pieces import read_sentences
from medical_tasks.judges.base import Question, Unreadable, Unscored, Verdict
from medical_tasks.spec import Item

__all__ = ["PerfectJudge", "cited_by_itself", "said_in", "text_item"]


def said_in(text: str, said: str) -> bool:
    """Whether a text holds what is said, white space apart."""
    return " ".join(said.split()) in " ".join(text.split())


@dataclass
class PerfectJudge:
    """Implements `judges.base.Judge`.

    Attributes:
        entails: whether a text entails something said; None is a server's failure.
        asked: what it was asked, round by round.
    """

    entails: Callable[[str, str], bool | None] = said_in
    asked: list[list[Question]] = field(default_factory=list)
    name: str = "scripted/perfect"
    comparable: bool = True
    reads: Literal["prompt", "pair"] = "prompt"

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        self.asked.append(list(questions))
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Verdict | Unscored:
        if self.reads == "pair":
            said = None if question.pair is None else self.entails(question.pair.premise, question.pair.hypothesis)
            value: Any = said
        else:
            reply = self._reply(str(question.messages[-1]["content"]))
            value = None if reply is None else question.read(json.dumps(reply))
            assert not isinstance(value, Unreadable), value
        if value is None:
            return Unscored(id=question.id, reason="judge: http 500")
        return Verdict(id=question.id, value=value, votes=(value,))

    def _reply(self, content: str) -> Mapping[str, Any] | None:
        if "\n\nQuestion A:\n" in content:
            first, second = (_texts(content, f"Question {name}")[0] for name in "AB")
            said = self.entails(first, second)
            return None if said is None else {"explanation": "So.", "entailed": said}
        if "\n\nCited, each behind its number:\n" in content:
            return self._cited(_named(content, "Cited, each behind its number"), _texts(content, "Sentence")[0])
        (text,) = _texts(content, "Text")
        if "\n\nClaims, each behind its id:\n" in content:
            verdicts = {
                name: self.entails(text, claim) for name, claim in _named(content, "Claims, each behind its id")
            }
            entries = [
                {"id": name, "explanation": "So.", "entailed": said}
                for name, said in verdicts.items()
                if said is not None
            ]
            return {"verdicts": entries} if entries else None
        if "\n\nClaim:\n" in content:
            said = self.entails(text, _texts(content, "Claim")[0])
            return None if said is None else {"explanation": "So.", "entailed": said}
        return {"claims": list(dict.fromkeys(one.text for one in read_sentences(text)))[:30]}

    def _cited(self, cited: Sequence[tuple[str, str]], sentence: str) -> Mapping[str, Any] | None:
        said = self.entails(" ".join(text for _, text in cited), sentence)
        if said is None:
            return None
        alone = [int(number) for number, text in cited if self.entails(text, sentence)]
        provenance = alone or [int(number) for number, _ in cited]
        return {"explanation": "So.", "provenance": provenance if said else [], "entailed": said}


def _named(content: str, title: str) -> list[tuple[str, str]]:
    lines = content.rpartition(f"\n\n{title}:\n")[2].split("\n\n")[0].split("\n")
    return [(name, json.loads(text)) for name, _, text in (line.partition(": ") for line in lines)]


def _texts(content: str, title: str) -> list[str]:
    found = re.search(rf"\n\n{title}:\n(.*?)(?:\n\n|$)", content)
    assert found is not None, title
    return [json.loads(found[1])]


def cited_by_itself(text: str, first: int = 0) -> tuple[str, list[str]]:
    """Writes a text whose sentences cite a source that is they themselves.

    Args:
        text: without citations.
        first: number of the source's sentence that the first one cites.

    Returns:
        The text with a citation a sentence, and the sentences.
    """
    sentences = read_sentences(text)
    cited = "".join(
        f"{one.raw.rstrip()} [{first + place}]{one.raw[len(one.raw.rstrip()) :]}" for place, one in enumerate(sentences)
    )
    return cited, [one.text for one in sentences]


def text_item(name: str, *, reference: str, sentences: Sequence[str], form: str = "text", **fields: Any) -> Item:
    """Makes an item of a task."""
    section = fields.pop("section", "")
    known = {"form": form, "reference": reference, "sentences": list(sentences), **fields}
    return Item(id=name, fields=known, groups={"section": section} if section else {}, cluster=name)
