"""What the judge of EHRNoteQA is asked (paper, appendix E.1, figures 8 to 10): whether a model's answer is right.

The authors released no text for `evidence`. The model's answer stands last, so that servers cache the notes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.ehrnoteqa.prompts import (
    PROMPT_SETS,
    check_template,
    fill_template,
    read_prompt_dict,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged
from medical_tasks.judges.base import JudgePrompts
from medical_tasks.judges.reading import quoted
from medical_tasks.spec import Message, TaskSpec, texts_sha256

OPEN: Final = "open"
EVIDENCE: Final = "evidence"
CHOICE: Final = "choice"

OFFICIAL_KEYS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    OPEN: ("openended", ("note", "question", "correct_answer", "output")),
    CHOICE: ("multichoice", ("output", "choices", "answer")),
}
"""For each question of the authors' its key in their dict, and the slots of its text."""

_OWN: Final[Mapping[str, str]] = packaged(__file__, "judge_prompts.json")
AGAIN: Final = (
    "That could not be read: {problem}. Reply with the one JSON object asked for, nothing before it and nothing "
    "after it."
)
OFFICIAL_SCORE_AGAIN: Final = (
    'That could not be read: {problem}. Say it again; the first line is "Score: 0" or "Score: 1" and nothing else.'
)
OFFICIAL_CHOICE_AGAIN: Final = 'That could not be read: {problem}. Reply with the one word "yes" or "no".'

# Names alone: the forms of ours have braces of their own.
_SLOT: Final = re.compile(r"\{(note|question|correct_answer|evidence|choices|answer|output)\}")


def load_judge_prompts(task: TaskSpec, name: str = "own", upstream: Path | None = None) -> JudgePrompts:
    """Loads the texts `open`, `evidence` and `choice`; of `official` the second is ours."""
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown set of judge prompts {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    texts = dict(_OWN)
    if name == "official":
        path, prompts = read_prompt_dict(upstream, "evaluation")
        for kind, (key, slots) in OFFICIAL_KEYS.items():
            texts[kind] = check_template(prompts.get(key), slots, where=f"{path}, {key!r}")
    said = (AGAIN, OFFICIAL_SCORE_AGAIN, OFFICIAL_CHOICE_AGAIN)
    return JudgePrompts(name=name, sha256=texts_sha256(*chain.from_iterable(texts.items()), *said), texts=texts)


def speaks_officially(prompts: JudgePrompts, kind: str) -> bool:
    """Says whether a question is asked, and its reply read, in the authors' form."""
    return prompts.name == "official" and kind in OFFICIAL_KEYS


def again(prompts: JudgePrompts, kind: str) -> str:
    """What is said when a reply to a question of this kind cannot be read; `{problem}` is filled in later."""
    if not speaks_officially(prompts, kind):
        return AGAIN
    return OFFICIAL_CHOICE_AGAIN if kind == CHOICE else OFFICIAL_SCORE_AGAIN


def template(prompts: JudgePrompts, kind: str) -> str:
    """The hash of the texts behind one kind of question; a change of another kind leaves it as it is."""
    return texts_sha256(prompts.texts[kind], again(prompts, kind))


def messages(prompts: JudgePrompts, kind: str, *, output: str, **values: str) -> tuple[Message, ...]:
    """Fills the slots of one kind of question; the notes are those of `note_blocks`."""
    text = prompts.texts[kind]
    if speaks_officially(prompts, kind):
        content = fill_template(text, {**values, "output": output})
    else:
        # All slots at once: what stands in a note or an answer is never a slot.
        filled = {**values, "output": quoted(output)}
        content = _SLOT.sub(lambda slot: filled[slot[1]], text)
    return ({"role": "user", "content": content},)
