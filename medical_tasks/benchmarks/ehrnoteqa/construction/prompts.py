"""How a model is asked for a draft: first a question with its answer, then five choices (paper, appendix C.2).

The texts are ours. The right choice's place is not left to the model: `protocol.shuffled` reorders the choices.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa.prompts import note_blocks
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.errors import UsageError
from medical_tasks.judges.reading import quoted
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

_TEXTS: Final[Mapping[str, str]] = json.loads(Path(__file__).with_name("prompts.json").read_text(encoding="utf-8"))


def load_prompts(task: TaskSpec, name: str = "own", upstream: Path | None = None) -> PromptSet:
    """Makes the prompts of the drafting task; they are ours alone."""
    if name != "own":
        raise UsageError(f"{task.name}: has the prompt set own alone, got {name!r}.")

    def render(item: Item) -> tuple[Message, ...]:
        return question_messages(item.fields["notes"])

    return PromptSet(
        name="own", sha256=hashlib.sha256("\0".join((*_TEXTS.values(), LETTERS)).encode()).hexdigest(), render=render
    )


def question_messages(notes: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Asks for a question and its answer."""
    return _user(_TEXTS["setting"], _TEXTS["question_task"], _TEXTS["question_form"], note_blocks(notes))


def choices_messages(notes: Sequence[Mapping[str, Any]], question: str, answer: str) -> tuple[Message, ...]:
    """Asks for five choices to a question."""
    case = _TEXTS["case"].format(question=quoted(question), answer=quoted(answer))
    return _user(_TEXTS["setting"], _TEXTS["choices_task"], _TEXTS["choices_form"], case, note_blocks(notes))


def follow_up(messages: Sequence[Message], reply: str, problem: str) -> tuple[Message, ...]:
    """Asks once more, saying what was wrong with the reply."""
    said: Message = {"role": "assistant", "content": reply if reply.strip() else _TEXTS["nothing_said"]}
    return (*messages, said, {"role": "user", "content": _TEXTS["again"].format(problem=problem)})


def _user(*parts: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": "\n\n".join(parts)},)
