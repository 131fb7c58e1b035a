"""A judge for DocLens that takes what our prompts ask apart, and decides it by looking whether one text stands in the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from medical_tasks.benchmarks.doclens.pieces import read_sentences
from medical_tasks.judges.base import Question, Unreadable, Unscored, Verdict
from medical_tasks.spec import Item
from tests.benchmarks.doclens.doclens_judges import Asked, asked, cited, made, verdict, verdicts


def said_in(text: str, said: str) -> bool:
    """Whether a text holds what is said, white space apart."""
    return " ".join(said.split()) in " ".join(text.split())


@dataclass
class PerfectJudge:
    """Implements `judges.base.Judge`."""

    entails: Callable[[str, str], bool | None] = said_in  # None is a server's failure
    asked: list[list[Question]] = field(default_factory=list)  # round by round
    name: str = "scripted/perfect"
    comparable: bool = True
    reads: Literal["prompt", "pair"] = "prompt"

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        self.asked.append(list(questions))
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Verdict | Unscored:
        if self.reads == "pair":
            value: Any = (
                None if question.pair is None else self.entails(question.pair.premise, question.pair.hypothesis)
            )
        else:
            reply = self._reply(asked(question))
            value = None if reply is None else question.read(reply)
            assert not isinstance(value, Unreadable), value
        if value is None:
            return Unscored(id=question.id, reason="judge: http 500")
        return Verdict(id=question.id, value=value, votes=(value,))

    def _reply(self, about: Asked) -> str | None:
        if about.kind == "make":
            return made(*list(dict.fromkeys(one.text for one in read_sentences(about.text)))[:30])
        if about.kind == "claims":
            known = {name: self.entails(about.text, claim) for name, claim in about.things.items()}
            answered = {name: said for name, said in known.items() if said is not None}
            return verdicts(answered) if answered else None
        said = self.entails(" ".join(about.things.values()) if about.kind == "citation" else about.text, about.about)
        if said is None or about.kind != "citation":
            return None if said is None else verdict(said)
        alone = [int(number) for number, text in about.things.items() if self.entails(text, about.about)]
        return cited(said, *((alone or map(int, about.things)) if said else ()))


def cited_by_itself(text: str, first: int = 0) -> tuple[str, list[str]]:
    """Writes a text whose sentences cite a source that is they themselves, from number `first` on; and the sentences."""
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
