"""The turns of a dialogue between doctor and patient, numbered from 0: what a note's citations point to."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["begins_turn", "numbered_dialogue", "split_turns"]

_SPEAKER = re.compile(r"\s*\[\s*([A-Za-z]\w*)\s*\]")
_HEARD = frozenset(
    "background cough coughing coughs crosstalk foreign garbled inaudible indiscernible laugh laughing laughs laughter music noise "
    "overlapping pause silence sigh sighs sound static unclear unintelligible".split()
)
"""What transcribers write in brackets and is nobody who speaks."""


def begins_turn(line: str) -> bool:
    """Says whether a line begins with a speaker: `[doctor]`, `[patient_guest]`, in any case, with spaces around the name or not."""
    speaker = _SPEAKER.match(line)
    return speaker is not None and speaker[1].lower() not in _HEARD


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
