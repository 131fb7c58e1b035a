"""A draft in two steps (paper, appendix C.2): a question with its answer, then five choices for it.

A reply that cannot be used is asked for again, with what was wrong, a bounded number of times a step. Which step a dialogue is
in follows from its answers alone, so a run that was stopped comes to the same place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.construction.prompts import choices_messages, follow_up
from medical_tasks.benchmarks.ehrnoteqa.construction.replies import DraftedQuestion, read_choices, read_question
from medical_tasks.judges.base import Unreadable
from medical_tasks.spec import Ask, Dialogue, Done, MultiStep, Records, TaskSpec, Turn

__all__ = ["TwoSteps", "open_protocol"]


def open_protocol(task: TaskSpec) -> MultiStep:
    """Opens the protocol; `options["tries"]` says how often a step may be asked."""
    return TwoSteps(tries=int(task.options["tries"]))


class TwoSteps:
    """Question first, choices second.

    Args:
        tries: most replies of a step.
    """

    def __init__(self, *, tries: int) -> None:
        self.tries = tries
        self.identity: Mapping[str, Any] = {"name": "two steps", "tries": tries}

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Says how each dialogue goes on; a final answer is a JSON object, of the draft or of what failed."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        messages, question, problem, tries = dialogue.opening, None, "", 0
        counts: list[int] = []
        for reply in dialogue.answers:
            tries += 1
            found = read_question(reply) if question is None else read_choices(reply)
            if isinstance(found, Unreadable):
                problem = found.problem
                messages = follow_up(messages, reply, problem)
            elif isinstance(found, DraftedQuestion):
                question, messages = (
                    found,
                    choices_messages(dialogue.item.fields["notes"], found.question, found.answer),
                )
                counts.append(tries)
                tries, problem = 0, ""
            elif question is not None:
                counts.append(tries)
                return Done(json.dumps({"question": asdict(question), "choices": asdict(found), "tries": counts}))
        if tries >= self.tries:
            step = "question" if question is None else "choices"
            return Done(json.dumps({"failed": f"{step}: {problem}"}))
        return Ask(messages)
