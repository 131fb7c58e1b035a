"""The ways of asking for a grounded answer (paper, Validation and figure 2): together, answer first, evidence first.

Together: the answer with its citations in one reply. Answer first: the answer, then, in a second step, the same with citations.
Evidence first: as together, with no more of the note than the sentences most like the questions, which the prompts choose.

A step's reply is taken when nothing is wrong with it; otherwise the step's question is put again with what is wrong
below it, up to so many tries. The last try's reply is taken as it is. Everything follows from the replies so far, so nothing is
kept between two rounds, and a resumed run comes to the same questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.evidence import Chooser, open_chooser, read_arguments
from medical_tasks.benchmarks.archehr_qa.prompts import (
    cited_faults,
    feedback_text,
    question_text,
    uncited_faults,
    written_sentences,
)
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Ask, Dialogue, Done, Message, MultiStep, Records, TaskSpec, Turn

VERSION: Final = 1


def open_protocol(task: TaskSpec, *, arguments: Mapping[str, str] | None = None) -> MultiStep:
    """Opens the protocol of a task; the arguments are the same as the prompts are given."""
    settings = read_arguments(task, arguments or {})
    chooser = None
    if task.protocol == "evidence_first":
        chooser = open_chooser(settings.embedder, settings.evidence)
    return GroundedAnswer(task.protocol, tries=settings.tries, chooser=chooser)


class GroundedAnswer:
    """Asks for an answer in one step or two (`answer_first`); the chooser says which sentences were shown, None when all were."""

    def __init__(self, steps: str, *, tries: int, chooser: Chooser | None = None) -> None:
        self.tries = tries
        self._two_steps = steps == "answer_first"
        self._chooser = chooser
        self.identity: Mapping[str, Any] = {"name": steps, "version": VERSION, "tries": tries}

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Takes each last reply, or says what is wrong with it."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        fields = dialogue.item.fields
        known = self._chooser.choose(dialogue.item) if self._chooser else tuple(fields["sentence_ids"])
        opening, replies = dialogue.opening, dialogue.answers
        answer: tuple[str, ...] | None = None
        if self._two_steps:
            taken = self._taken(replies, lambda reply: uncited_faults(reply, known))
            if taken is None:
                last = replies[-1]
                return self._again(opening, last, uncited_faults(last, known), len(replies))
            answer = written_sentences(replies[taken], known)
            if not answer:
                return Done(replies[taken])  # nothing to cite
            question = question_text("cite", dialogue.item, answer=answer)
            opening, replies = ({"role": "user", "content": question},), replies[taken + 1 :]
            if not replies:
                return Ask(opening)
        faults = cited_faults(replies[-1], known, answer=answer)
        if not faults or len(replies) >= self.tries:
            return Done(replies[-1])
        return self._again(opening, replies[-1], faults, len(replies))

    def _taken(self, replies: Sequence[str], faults: Callable[[str], list[str]]) -> int | None:
        """Place of the reply that ended the first step; None while it goes on."""
        for place, reply in enumerate(replies[: self.tries]):
            if not faults(reply) or place + 1 == self.tries:
                return place
        return None

    def _again(self, opening: tuple[Message, ...], reply: str, faults: Sequence[str], asked: int) -> Ask:
        said = feedback_text(spoken(reply).strip(), faults, number=asked + 1, tries=self.tries)
        *before, question = opening
        return Ask((*before, {"role": question["role"], "content": f"{question['content']}\n\n{said}"}))
