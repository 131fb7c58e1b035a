"""What a paragraph of a SQuAD-form file must hold: a note and questions about it, each with passages that answer it.

    paragraph    {"context": text or list of lines, "qas": [question, ...]}
    question     {"question": text or list of paraphrases, "answers": [answer, ...]}; SQuAD 2 may say "is_impossible"
    answer       {"text": text}

and in emrQA's own form

    answer       {"text": text or list of texts, "evidence": the line, or lines, in which the text stands}

Other members are passed over. The files are credentialed: messages show no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.squad_stream import Paragraph
from medical_tasks.errors import UsageError
from medical_tasks.io.json_records import is_text

__all__ = ["SquadPlace", "SquadQuestion"]

_TEXT = is_text(blank=True)


@dataclass(frozen=True)
class SquadPlace:
    """Where in the file one is, for messages, and the checks of what is there.

    Attributes:
        path: the file.
        paragraph: of it.
        question: number of the paragraph's question, from 1; 0 for the paragraph itself.
    """

    path: Path
    paragraph: Paragraph
    question: int = 0

    def wrong(self, field: str, rule: str, value: Any) -> UsageError:
        """Makes the error for a field that breaks a rule; of the value it tells type and length."""
        where = f"line {self.paragraph.line}, entry {self.paragraph.entry}, paragraph {self.paragraph.number}"
        if self.question:
            where += f", question {self.question}"
        got = "nothing" if value is None else f"a {type(value).__name__} of {len(repr(value))} characters"
        return UsageError(f"{self.path}: {where}, field {field!r}: {rule}, got {got}.")

    def mapping(self, value: Any) -> Mapping[str, Any]:
        """Checks that what stands here is an object."""
        if not isinstance(value, dict):
            raise self.wrong("qas" if self.question else "paragraphs", "must be a list of objects", value)
        return value

    def listed(self, content: Mapping[str, Any], field: str) -> list[Any]:
        """Returns a field that must be a list."""
        value = content.get(field)
        if not isinstance(value, list):
            raise self.wrong(field, "must be a list", value)
        return value

    def texts(self, field: str, value: Any) -> list[str]:
        """Checks a field that is a text or a list of texts; returns the list."""
        texts = value if isinstance(value, list) else [value]
        if not all(map(_TEXT.holds, texts)):
            raise self.wrong(field, "must be a text or a list of texts", value)
        return texts

    def note(self, content: Mapping[str, Any]) -> str:
        """Returns a paragraph's note, its lines joined."""
        lines = self.texts("context", content.get("context"))
        # Some of emrQA's files keep the lines' ends, others not.
        text = ("" if any(line.endswith("\n") for line in lines) else "\n").join(lines)
        if not text.strip():
            raise self.wrong("context", "must not be empty", content["context"])
        return text

    def questions(self, content: Mapping[str, Any]) -> Iterator[SquadQuestion]:
        """Yields a paragraph's questions."""
        for number, value in enumerate(self.listed(content, "qas"), start=1):
            place = SquadPlace(self.path, self.paragraph, number)
            yield SquadQuestion(place, place.mapping(value))


@dataclass(frozen=True)
class SquadQuestion:
    """A question of a paragraph.

    Attributes:
        place: where it is.
        content: as it stands in the file.
    """

    place: SquadPlace
    content: Mapping[str, Any]

    def asked(self) -> str:
        """Returns what is asked, of paraphrases the first."""
        texts = self.place.texts("question", self.content.get("question"))
        asked = next((text.strip() for text in texts if text.strip()), "")
        if not asked:
            raise self.place.wrong("question", "must not be empty", self.content["question"])
        return asked

    def evidence(self) -> list[str]:
        """Returns the distinct passages that answer it.

        Where an answer has `evidence` that is the passage, and its text is another one only if it does not stand in there
        (emrQA's "yes" or "current smoker").
        """
        if self.content.get("is_impossible") is True:
            return []
        passages: dict[str, None] = {}
        for answer in self.place.listed(self.content, "answers"):
            if not isinstance(answer, dict):
                raise self.place.wrong("answers", "must be a list of objects", answer)
            if "text" not in answer and "evidence" not in answer:
                raise self.place.wrong("answers", "must each have a text", answer)
            lines = self._stripped("evidence", answer.get("evidence", ""))
            texts = self._stripped("text", answer.get("text", ""))
            passages |= dict.fromkeys((*lines, *(text for text in texts if not _stands_in(text, lines))))
        return list(passages)

    def _stripped(self, field: str, value: Any) -> list[str]:
        return [text.strip() for text in self.place.texts(field, value) if text.strip()]


def _stands_in(text: str, lines: list[str]) -> bool:
    """Whether the lines have the words of the text, one after another."""
    words, within = (" ".join(each.split()).casefold() for each in (text, " ".join(lines)))
    place = within.find(words)
    while place >= 0:
        around = within[max(place - 1, 0) : place] + within[place + len(words) : place + len(words) + 1]
        if not any(map(str.isalnum, around)):
            return True
        place = within.find(words, place + 1)
    return False
