"""The visit: the model asks, a second model answers as the patient, and the model decides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, Literal

from medical_patient.spec import MOST
from medical_tasks.spec import (
    Answer,
    Ask,
    Dialogue,
    Done,
    Item,
    ItemScore,
    Message,
    PromptSet,
    Turn,
    texts_sha256,
)

OPENING: Final = (
    "You take a patient's history in writing. Ask one short question at a time. When you know "
    f"enough, write READY and nothing else; after {MOST} questions you must decide.\n\n"
    "The patient writes: {complaint}"
)
DECIDE: Final = (
    "The visit is over. {question}\n\n{choices}\n\nReply with the letter of one choice and "
    "nothing else."
)
PATIENT: Final = (
    "Play a patient who writes with a clinician. Answer in one or two plain sentences what you "
    "are asked. You know only this, and tell of it only what you are asked:\n{facts}"
)
_LETTER: Final = re.compile(r"\W*(?:answer\W*)?([A-D])\b", re.IGNORECASE)


def prompts() -> PromptSet:
    """The one set there is, `own`."""
    return PromptSet(name="own", sha256=texts_sha256(OPENING, DECIDE, PATIENT), render=_opening)


def _opening(item: Item) -> tuple[Message, ...]:
    return (_message("user", OPENING.format(complaint=item.fields["complaint"])),)


def _message(role: Literal["user", "assistant", "system"], text: str) -> Message:
    return Message(role=role, content=text)


class Visit:
    """Questions and answers in turns, until the model is ready or has asked enough."""

    identity: Mapping[str, object] = {"name": "visit", "questions": MOST}

    def next_turns(self, dialogues: Sequence[Dialogue], records: object) -> list[Turn]:
        """Asks the patient after each question, and the model after each of its answers."""
        return [self._next(dialogue) for dialogue in dialogues]

    def _next(self, dialogue: Dialogue) -> Turn:
        answers, replies = dialogue.answers, dialogue.replies.get("patient", ())
        questions = tuple(takewhile(lambda text: not _is_ready(text), answers[:MOST]))
        is_ready = len(questions) < len(answers[:MOST])
        if len(replies) < len(questions):
            return Ask(_patients_side(dialogue.item, questions, replies), role="patient")
        chat = list(dialogue.opening)
        for question, reply in zip(questions, replies, strict=True):
            chat += [_message("assistant", question), _message("user", reply)]
        if not is_ready and len(questions) < MOST:
            return Ask(tuple(chat))
        # The patient does not reply to READY, so the decision follows an empty reply.
        chat += [_message("assistant", "READY"), _message("user", "")] * is_ready
        last = chat.pop()["content"]
        chat.append(_message("user", f"{last}\n\n{_decision(dialogue.item)}".strip()))
        if len(answers) == len(questions) + is_ready:
            return Ask(tuple(chat))
        return Done(answers[-1], conversation=(*chat, _message("assistant", answers[-1])))


def _is_ready(text: str) -> bool:
    return text.strip(" .*\n").upper() == "READY"


def _decision(item: Item) -> str:
    pairs = zip("ABCD", item.fields["choices"], strict=True)
    choices = "\n".join(f"{letter}. {text}" for letter, text in pairs)
    return DECIDE.format(question=item.fields["question"], choices=choices)


def _patients_side(
    item: Item, questions: Sequence[str], replies: Sequence[str]
) -> tuple[Message, ...]:
    """Writes the chat for the patient's model, whose own messages are the assistant's."""
    facts = "\n".join(f"- {fact['text']}" for fact in item.fields["facts"])
    chat = [_message("system", PATIENT.format(facts=facts))]
    for before, question in zip((item.fields["complaint"], *replies), questions, strict=True):
        chat += [_message("assistant", before), _message("user", question)]
    return tuple(chat)


def score(item: Item, answer: Answer) -> ItemScore:
    """Scores the letter and the visit; without a visit, the figures of the visit are nan."""
    match = _LETTER.match(answer.text)
    letter = match[1].upper() if match else ""
    values = {"accuracy": float(letter == item.fields["answer"])}
    visit = [message["content"].casefold() for message in answer.conversation[1:-1]]
    elicited = [
        any(word in " ".join(visit[1::2]) for word in fact["words"])
        for fact in item.fields["facts"]
    ]
    questions = sum(not _is_ready(text) for text in visit[::2])
    values |= {
        "facts": sum(elicited) / len(elicited) if visit else float("nan"),
        "questions": float(questions) if visit else float("nan"),
    }
    return ItemScore(id=item.id, values=values, parsed=letter)
