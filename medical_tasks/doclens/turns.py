"""The turns of a dialogue between doctor and patient, numbered from 0: what a note's citations point to."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["begins_turn", "numbered_dialogue", "split_turns"]

_ROLE = re.compile(r"\[[A-Za-z]\w*\]")
"""Who speaks stands before a turn: `[doctor]`, `[patient]`, `[patient_guest]`."""


def begins_turn(line: str) -> bool:
    """Says whether a line begins with a speaker."""
    return _ROLE.match(line) is not None


def split_turns(dialogue: str) -> list[str]:
    """Splits a dialogue where somebody begins to speak.

    A line that names nobody goes on with the turn before it, line feed included; DocLens numbers its files this way.

    Args:
        dialogue: the whole dialogue.

    Returns:
        The turns, each with its speaker; joined by line feeds they are the dialogue. None for an empty dialogue.
    """
    turns: list[str] = []
    for line in dialogue.split("\n") if dialogue else []:
        if turns and not begins_turn(line):
            turns[-1] += f"\n{line}"
        else:
            turns.append(line)
    return turns


def numbered_dialogue(turns: Sequence[str]) -> str:
    """Puts each turn's number before it, as in DocLens's files: `[0][doctor] ...`, one turn behind the other.

    Args:
        turns: as `split_turns` returns them.

    Returns:
        The numbered dialogue.
    """
    return "\n".join(f"[{number}]{turn}" for number, turn in enumerate(turns))
