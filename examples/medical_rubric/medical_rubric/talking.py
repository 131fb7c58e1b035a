"""What is asked: one reply, or a visit in which a second model plays the patient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from medical_tasks.spec import (
    Ask,
    Dialogue,
    Done,
    Item,
    Message,
    PromptSet,
    Records,
    Turn,
    texts_sha256,
)

TURNS = 3
QUESTION = "You answer messages of patients. Write the reply to this one:\n\n{message}"
PATIENT = (
    "Play a patient who talks with a clinician. Say in one or two sentences what you are asked, and "
    "nothing that you were not told here: {facts}"
)


def load_prompts() -> PromptSet:
    """The one set there is, `own`."""

    def render(item: Item) -> tuple[Message, ...]:
        return (Message(role="user", content=QUESTION.format(message=item.fields["message"])),)

    return PromptSet(name="own", sha256=texts_sha256(QUESTION, PATIENT), render=render)


class Visit:
    """Clinician and patient in turns, until the clinician has replied `TURNS` times."""

    identity: Mapping[str, object] = {"name": "visit", "turns": TURNS}

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Asks the patient after each reply of the clinician, and the clinician after that."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        said = dialogue.replies.get("patient", ())
        talk = list(dialogue.opening)
        for place, reply in enumerate(dialogue.answers):
            talk.append(Message(role="assistant", content=reply))
            talk += [Message(role="user", content=text) for text in said[place : place + 1]]
        if len(dialogue.answers) == TURNS:
            return Done(dialogue.answers[-1], conversation=tuple(talk))
        if len(said) == len(dialogue.answers):
            return Ask(tuple(talk))
        return Ask(_patients_side(dialogue.item, talk[1:]), role="patient")


def _patients_side(item: Item, talk: Sequence[Message]) -> tuple[Message, ...]:
    """The chat as the patient sees it, whose own messages are the assistant's."""
    told = Message(role="system", content=PATIENT.format(facts=item.fields["facts"]))
    texts = [item.fields["message"], *(message["content"] for message in talk)]
    roles: Sequence[Literal["assistant", "user"]] = ("assistant", "user")
    return (told, *(Message(role=roles[n % 2], content=text) for n, text in enumerate(texts)))
