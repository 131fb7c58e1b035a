"""Judges for EHRNoteQA with scripted replies, a reader of their prompts, and a file like the authors' judge prompts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.ehrnoteqa.prompts import gold_response
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.judges.base import Call, JudgeOptions, Judging, Question
from medical_tasks.spec import Item, ItemScore, TaskSpec
from tests.benchmarks.common import judge_session
from tests.benchmarks.ehrnoteqa.tiny_items import task_of, write_checkout
from tests.judges.scripted import ScriptedBackend

OPEN_TEMPLATE = (
    "Mark it {{0 or 1}}.\nNotes:\n{note}\nAsked: {question}\nRight: {correct_answer}\n"
    "Output:\n{output}\nScore: {{score}}"
)
CHOICE_TEMPLATE = "Output:\n{output}\nChoices:\n{choices}\nRight:\n{answer}\nyes or no?"
JUDGE_SOURCE = (
    f'PROMPT_DICT = {{\n\t"openended" : '
    f"(\n\t\t{OPEN_TEMPLATE[:9]!r}\n\t\t{OPEN_TEMPLATE[9:]!r}\n\t),\n"
    f'\t"multichoice": ({CHOICE_TEMPLATE!r}\n\t)\n}}\n\n\ndef get_prompt(method):\n\traise '
    "SystemExit\n"
)
"""A file in the form of the authors': a dict of adjacent strings in brackets, and a function."""


@dataclass(frozen=True)
class PromptContent:
    """The content of one of our judge prompts."""

    kind: str
    right: str
    output: str


def prompt_content(question: Question) -> PromptContent:
    (message,) = question.messages[:1]
    content = str(message["content"])
    _, sign, rest = content.partition("\n\nAnswer of the model, a JSON string:\n")
    assert sign
    line, _, end = rest.partition("\n\n")
    assert end == "Now reply with the JSON object."
    before = content[: -len(sign) - len(rest)]
    for kind, label in (
        ("open", "Right answer"),
        ("evidence", "Marked evidence"),
        ("choice", "Right choice"),
    ):
        _, sign, right = before.rpartition(f"\n\n{label}:\n")
        if sign:
            return PromptContent(kind, right, json.loads(line))
    raise AssertionError("not one of our judge prompts")


def reply(kind: str, right: bool, reason: str = "So it says.") -> str:
    if kind == "choice":
        return json.dumps({"reason": reason, "verdict": "yes" if right else "no"})
    return json.dumps({"reason": reason, "score": int(right)})


def by_text(question: Question) -> bool:
    """The perfect judge of answers that begin with the gold."""
    content = prompt_content(question)
    gold = content.right.replace("\n- ", "\n").removeprefix("- ")
    return content.output == gold or content.output.startswith(f"{gold}\n")


def perfect(call: Call) -> str:
    return reply(prompt_content(call.question).kind, by_text(call.question))


def paper_votes(call: Call) -> str:
    """Three votes of five for any answer."""
    return reply(prompt_content(call.question).kind, call.vote in (0, 2, 4))


def golds(task: TaskSpec, items: Sequence[Item]) -> list[str]:
    return [gold_response(task, item) for item in items]


@dataclass
class Scored:
    scores: list[ItemScore]
    backend: ScriptedBackend

    @property
    def score(self) -> ItemScore:
        (score,) = self.scores
        return score


def judge(
    folder: Path,
    form: str,
    items: Sequence[Item],
    responses: Sequence[str],
    script: Callable[[Call], Any],
    *,
    reads: Any = "prompt",
    prompts: str = "own",
    votes: int = 1,
    reasks: int = 1,
    level: int = 1,
) -> Scored:
    """Scores answers with a scripted judge in a real session."""
    task = task_of(form, level)
    subfolder = Path(tempfile.mkdtemp(dir=folder))
    texts = load_judge_prompts(
        task,
        prompts,
        write_judge_checkout(subfolder) if prompts == "official" else None,
    )
    backend = ScriptedBackend(script, reads=reads)
    options = JudgeOptions(votes=votes, reasks=reasks)
    with judge_session(subfolder, backend, options) as session:
        scores = score_items(
            task, items, responses, judging=Judging(judge=session, prompts=texts)
        )
    return Scored(scores, backend)


def write_judge_checkout(folder: Path, source: str = JUDGE_SOURCE) -> Path:
    return write_checkout(folder, source, subfolder="evaluation")
