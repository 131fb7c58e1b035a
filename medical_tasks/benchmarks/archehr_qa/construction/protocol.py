"""One question a message, asked again with what was wrong while the reply cannot be used.

A reply is strict JSON of the right form; what is wrong with another is told without quoting it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction.files import one_line
from medical_tasks.benchmarks.archehr_qa.construction.prompts import follow_up
from medical_tasks.io.json_records import is_text
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import read_object
from medical_tasks.spec import Ask, Dialogue, Done, MultiStep, Records, TaskSpec, Turn

_CODE: Final = re.compile(r"[A-Z0-9][A-Z0-9.]{1,8}")
_LONGEST_DESCRIPTION: Final = 300  # in characters; the longest official one has fewer


def open_protocol(task: TaskSpec) -> MultiStep:
    """Opens the protocol; `options["tries"]` says how often it may be asked."""
    return UntilReadable(tries=int(task.options["tries"]))


class UntilReadable:
    """Asks until a reply can be read."""

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


@dataclass(frozen=True, kw_only=True)
class NamedCode:
    """A code in capitals, with or without its dot, and what it means."""

    code: str
    description: str


def read_codes(reply: str) -> tuple[NamedCode, ...] | Unreadable:
    """Reads a reply; a code that is named twice counts once, with its first description."""
    found = read_object(reply, {"codes": _codes})
    if isinstance(found, Unreadable):
        return found
    codes: dict[str, NamedCode] = {}
    for each in found["codes"]:
        code = each["code"].strip().upper()
        codes.setdefault(code, NamedCode(code=code, description=one_line(each["description"])))
    return tuple(codes.values())


def _codes(value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list of objects"
    return next((problem for each in value if (problem := _code(each)) is not None), None)


def _code(value: Any) -> str | None:
    if not isinstance(value, Mapping) or set(value) != {"code", "description"}:
        return "must hold objects with the keys code, description and no others"
    if not isinstance(value["code"], str) or not _CODE.fullmatch(value["code"].strip().upper()):
        return "must hold codes of 2 to 9 letters, digits and dots"
    description = value["description"]
    if not is_text().holds(description) or not one_line(description) or len(description) > _LONGEST_DESCRIPTION:
        return f"must hold descriptions of 1 to {_LONGEST_DESCRIPTION} characters"
    return None
