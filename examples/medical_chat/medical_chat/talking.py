"""What is asked, turn by turn, in our words or the authors', and how earlier turns are shown."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from medical_chat.declarations import DATASET, LETTERS
from medical_chat.scoring import final_text, letter_of
from medical_tasks import spec
from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.upstream_source import fill, parse_python, read_file, template_of
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged

NOTES: Final = "{discharge summaries}"
TEXTS: Final = packaged(__file__, "prompts.json")
"""Of each text our own, and where the authors' stands; behind a colon, how a Python file calls it."""
FORMS: Final = {"choice": ("choice",), "open": ("content", "source", "source_question")}


def load_texts(name: str, upstream: Path | None, wanted: Sequence[str]) -> dict[str, str]:
    """The texts of a set, by name: ours, or the authors' out of their checkout."""
    if name not in spec.Benchmark.prompt_sets:
        raise UsageError(f"unknown set of prompts {name!r}. Sets: own, official.")
    return {
        kind: TEXTS[kind]["own"] if name == "own" else _official(upstream, TEXTS[kind]["official"])
        for kind in wanted
    }


def _official(upstream: Path | None, place: str) -> str:
    """One of the authors' texts; Python files are read as data, never run."""
    file, _, name = place.partition(":")
    path = repository_file(upstream, file, repository=DATASET.homepage)

    def unknown(expected: str) -> UsageError:
        return UsageError(f"{path}: expected {expected}. Get the repository again.")

    if not name:
        text = read_file(path).decode("utf-8", "replace").replace("\r\n", "\n")
        if NOTES in text and ("{question}" in text or "{qas}" in text):
            return text
        raise unknown(f"a text with {NOTES} and what is asked in it")
    for node in parse_python(path, unknown).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return fill(template_of(node.value, {}, unknown), {})
    raise unknown(f"a text named {name}")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fills all slots at once, so that what stands in a note is no slot."""
    slots = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({slots})\}}", lambda slot: values[slot[1]], template)


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
        if source_question := self.texts.pop("source_question", ""):
            self.texts["source"] = self.texts["source"].replace("{question}", source_question)
        self.sha256 = spec.texts_sha256(*self.texts.values())
        self.identity: Mapping[str, Any] = {"name": self.form, "texts": self.sha256}

    def opening(self, item: spec.Item) -> tuple[spec.Message, ...]:
        """The first turn."""
        return (say("user", self._asked(item, 0)),)

    def next_turns(self, dialogues: Sequence[spec.Dialogue], records: object) -> list[spec.Turn]:
        """Asks the next turn of each dialogue; its end is all answers by their turns."""
        return [self._next(dialogue.item, dialogue.answers) for dialogue in dialogues]

    def _next(self, item: spec.Item, answers: Sequence[str]) -> spec.Turn:
        chat: list[spec.Message] = []
        for place, reply in enumerate(answers):
            chat += self._past(item, place, reply)
        keys = [turn["key"] for turn in item.fields["turns"]]
        if len(answers) == len(keys):
            replies = json.dumps(dict(zip(keys, answers, strict=True)), ensure_ascii=False)
            return spec.Done(replies, conversation=tuple(chat))
        return spec.Ask((*chat, say("user", self._asked(item, len(answers)))))

    def _asked(self, item: spec.Item, place: int, *, past: bool = False) -> str:
        """What is or was asked: only the first turn shows the notes, and none that is past choices."""
        turn = item.fields["turns"][place]
        kind = "source" if "-" in turn["key"] else "content"
        head, _, rest = self.texts.get("choice", self.texts.get(kind, "")).partition(NOTES)
        if past and self.form == "choice":
            rest = "\n\n" + next(line for line in rest.splitlines() if "{question}" in line)
        slots = (f"choice_{letter.lower()}" for letter in LETTERS)
        values = dict(zip(slots, turn["choices"], strict=True))
        values |= {"discharge summaries": note_blocks(item), "question": turn["question"]}
        return filled(rest.strip() if place else head + NOTES + rest, values)

    def _past(self, item: spec.Item, place: int, reply: str) -> list[spec.Message]:
        """A turn as later ones see it; of a choice with the text of what was chosen."""
        said = final_text(reply) or "N/A"
        if letter := letter_of(reply) if self.form == "choice" else "":
            choices = item.fields["turns"][place]["choices"]
            said = f"{letter}: {choices[LETTERS.index(letter)]}"
        return [say("user", self._asked(item, place, past=True)), say("assistant", said)]
