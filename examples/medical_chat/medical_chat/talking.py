"""The prompts of each turn, in our words or the authors', and earlier turns as history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from medical_chat.declarations import DATASET, LETTERS
from medical_chat.scoring import final_text, letter_of
from medical_tasks import spec
from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.upstream_source import named_text, read_file
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged
from medical_tasks.judges.judged import filled

NOTES: Final = "{discharge summaries}"
TEXTS: Final = packaged(__file__, "prompts.json")
"""Of each text our own, and where the authors' stands; behind a colon, how a Python file calls it."""
FORMS: Final = {"choice": ("choice",), "open": ("content", "source", "source_question")}


def load_texts(name: str, upstream: Path | None, kinds: Sequence[str]) -> dict[str, str]:
    """Loads the texts of a set, by kind: ours, or the authors' from their checkout."""
    if name not in spec.Benchmark.prompt_sets:
        raise UsageError(f"unknown set of prompts {name!r}. Sets: own, official.")
    texts = {kind: TEXTS[kind][name] for kind in kinds}
    if name == "own":
        return texts
    return {kind: _official(upstream, source) for kind, source in texts.items()}


def _official(upstream: Path | None, source: str) -> str:
    """Reads one of the authors' texts; Python files are read as data, never run."""
    file, _, name = source.partition(":")
    path = repository_file(upstream, file, repository=DATASET.homepage)
    if name:
        return named_text(path, name)
    text = read_file(path).decode("utf-8", "replace").replace("\r\n", "\n")
    if NOTES in text and ("{question}" in text or "{qas}" in text):
        return text
    expected = f"expected a text with {NOTES} and what is asked in it"
    raise UsageError(f"{path}: {expected}. Get the repository again.")


def say(role: Literal["system", "user", "assistant"], content: str) -> spec.Message:
    """One message."""
    return spec.Message(role=role, content=content)


def note_blocks(item: spec.Item) -> str:
    """The notes between marks with the numbers by which sources name them."""
    notes = enumerate(item.fields["notes"], start=1)
    return "\n\n".join(f"[note #{n} start]\n{text}\n[note #{n} end]" for n, text in notes)


class Conversation:
    """Turn after turn, with the model's own answers as history."""

    def __init__(self, task: spec.TaskSpec, asking: spec.Asking) -> None:
        self.form = task.options["form"]
        self.texts = load_texts(asking.prompts, asking.upstream, FORMS[self.form])
        if self.form == "open":
            values = {"question": self.texts.pop("source_question")}
            self.texts["source"] = filled(self.texts["source"], values)
        self.sha256 = spec.texts_sha256(*self.texts.values())
        self.identity: Mapping[str, object] = {"name": self.form, "texts": self.sha256}

    def opening(self, item: spec.Item) -> tuple[spec.Message, ...]:
        """The first turn."""
        return (say("user", self._question_text(item, 0)),)

    def next_turns(self, dialogues: Sequence[spec.Dialogue], records: object) -> list[spec.Turn]:
        """Asks the next turn of each dialogue; at the end returns all answers by turn."""
        return [self._next(dialogue.item, dialogue.answers) for dialogue in dialogues]

    def _next(self, item: spec.Item, answers: Sequence[str]) -> spec.Turn:
        chat: list[spec.Message] = []
        for index, reply in enumerate(answers):
            chat += self._past(item, index, reply)
        keys = [turn["key"] for turn in item.fields["turns"]]
        if len(answers) < len(keys):
            return spec.Ask((*chat, say("user", self._question_text(item, len(answers)))))
        replies = dict(zip(keys, answers, strict=True))
        text = json.dumps(replies, ensure_ascii=False)
        return spec.Done(text, conversation=tuple(chat))

    def _question_text(self, item: spec.Item, index: int, *, past: bool = False) -> str:
        """Writes a turn's question: only the first shows the notes, a past one no choices."""
        turn = item.fields["turns"][index]
        kind = "source" if "-" in turn["key"] else "content"
        text = self.texts["choice" if self.form == "choice" else kind]
        head, _, rest = text.partition(NOTES)
        if past and self.form == "choice":
            lines = (line for line in rest.splitlines() if "{question}" in line)
            rest = f"\n\n{next(lines)}"
        slots = (f"choice_{letter.lower()}" for letter in LETTERS)
        values = dict(zip(slots, turn["choices"], strict=True))
        values |= {"question": turn["question"], "discharge summaries": note_blocks(item)}
        return filled(rest.strip() if index else head + NOTES + rest, values)

    def _past(self, item: spec.Item, index: int, reply: str) -> list[spec.Message]:
        """Writes a past turn for the history; a chosen letter gets the text of its choice."""
        answer = final_text(reply) or "N/A"
        if letter := letter_of(reply) if self.form == "choice" else "":
            choices = item.fields["turns"][index]["choices"]
            answer = f"{letter}: {choices[LETTERS.index(letter)]}"
        question = self._question_text(item, index, past=True)
        return [say("user", question), say("assistant", answer)]
