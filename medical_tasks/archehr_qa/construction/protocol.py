"""One question a message, asked again with what was wrong while the reply cannot be used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from medical_tasks.archehr_qa.construction.prompts import follow_up
from medical_tasks.archehr_qa.construction.replies import read_codes
from medical_tasks.judges.base import Unreadable
from medical_tasks.protocol import Ask, Dialogue, Done, MultiStep, Records, Turn
from medical_tasks.spec import TaskSpec

__all__ = ["UntilReadable", "open_protocol"]


def open_protocol(task: TaskSpec) -> MultiStep:
    """Opens the protocol; `options["tries"]` says how often it may be asked."""
    return UntilReadable(tries=int(task.options["tries"]))


class UntilReadable:
    """Asks until a reply can be read.

    Args:
        tries: most replies.
    """

    def __init__(self, *, tries: int) -> None:
        self.tries = tries
        self.identity: Mapping[str, Any] = {"name": "until readable", "tries": tries}

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Says how each dialogue goes on; a final answer is a JSON object, of the codes or of what failed."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        messages, problem = dialogue.opening, ""
        for reply in dialogue.answers:
            found = read_codes(reply)
            if not isinstance(found, Unreadable):
                return Done(json.dumps({"codes": [asdict(each) for each in found], "tries": len(dialogue.answers)}))
            problem = found.problem
            messages = follow_up(messages, reply, problem)
        if len(dialogue.answers) >= self.tries:
            return Done(json.dumps({"failed": problem}))
        return Ask(messages)
