"""Prompts of MedCalc-Bench: direct, chain of thought, one-shot (paper, section 3.1), open book, code (appendix D).

Ours are written from the protocol's facts: the note and the question are given, the answer is asked for as a JSON object
with the keys of the paper's output format. Everything is in one user message, so that lighteval (which has no system
prompt of a task's own), inspect and our own runner send the same text. Worked examples are our own, for all 55 calculators:
drawn with keys of their own (`exemplar:<calculator id>`), which no seed of the `fresh` configuration can give, so that the
example of a calculator is never one of its questions. With `official` the authors' messages, a system message among them, are
read from a checkout the user has (`official_prompts`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.official_prompts import of_calculator, read_code, read_questions
from medical_tasks.errors import UsageError
from medical_tasks.spec import Example, Item, Message, PromptSet, TaskSpec

__all__ = ["PROMPT_SETS", "follow_up", "gold_response", "load_prompts", "own_exemplars"]

PROMPT_SETS = ("own", "official")

INTRODUCTION = (
    "You support a clinician with a medical calculation. Below are a patient note and a question about it. Take the values "
    "that the calculation needs from the note, apply the standard published formula or scoring rule, and give the result. "
    "A finding that the note does not mention counts as absent."
)

ANSWER_FORM = (
    "The answer is a bare number without its unit for scores and measurements, a date as MM/DD/YYYY where a date is asked "
    "for, and for a gestational age the pair of whole weeks and remaining days, as in (12 weeks, 3 days)."
)

DIRECT = (
    'Do not show any reasoning. Reply with nothing but one JSON object of this form:\n{"answer": "<the final answer>"}'
)

CHAIN_OF_THOUGHT = (
    "Reason step by step: name the formula or the criteria, list the values found in the note, convert units where needed, "
    "then compute. Reply with one JSON object of this form, and nothing after it:\n"
    '{"step_by_step_thinking": "<your reasoning>", "answer": "<the final answer>"}'
)

EXAMPLE = (
    "Here is a worked example of the same calculation for another patient.\n\n{example}\n\nNow the patient in question."
)

REFERENCE = (
    "The calculation follows this specification. In it the number behind a finding or a class is its points, and a list of "
    "classes gives the value at which each begins unless it says otherwise; values in another unit are converted as the "
    "brackets say.\n\n{specification}"
)

QUESTION = "Patient note:\n{note}\n\nQuestion:\n{question}"


PROGRAM: Final = (
    "Do not compute anything yourself. Write a Python program that sets out the values found in the note, converts units "
    "where needed, and computes the answer. It can use Python's standard library and nothing else: no other packages, no "
    "files, no network, no input. The last thing it prints is the answer, alone on its line. Reply with the whole program "
    "in one block of this form:\n```python\n<the program>\n```\nThe program will be run. What it prints is your answer; if "
    "it fails, you will see the error and can correct it."
)

NO_PROGRAM: Final = "Your reply has no program in it."
NO_OUTPUT: Final = "Your program ran and printed nothing."
FAILED: Final = "Your program was run and failed:\n\n{error}"
AGAIN: Final = "Reply with the whole corrected program, in one block that begins with ```python and ends with ```."
NOTHING_SAID: Final = "(an empty reply)"


@dataclass(frozen=True, kw_only=True)
class Exemplar:
    """A worked example: the note, what is asked about it, and what a model should reply."""

    note: str
    question: str
    reply: str


def load_prompts(task: TaskSpec, name: str = "own", upstream: Path | None = None) -> PromptSet:
    """Makes the prompts of a task.

    Args:
        task: `options["style"]` is `direct`, `cot`, `one_shot`, `open_book` or `code`.
        name: `own` or `official`.
        upstream: for `official`, a checkout of the authors' repository.

    Returns:
        The prompts; rendering an item whose calculator has no exemplar raises `MissingError`.

    Raises:
        UsageError: Unknown set, or `official` for a task that has none.
        MissingError: The authors' files are not there, or not as they are known.
    """
    style = task.options["style"]
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    if name == "official":
        return _official(task, upstream)
    exemplars: Mapping[str, Exemplar] = own_exemplars() if style == "one_shot" else {}
    form = {"direct": DIRECT, "code": PROGRAM}.get(style, CHAIN_OF_THOUGHT)
    texts = [INTRODUCTION, ANSWER_FORM, form, EXAMPLE, QUESTION]
    texts += ["\n".join((key, each.note, each.question, each.reply)) for key, each in sorted(exemplars.items())]
    texts += _further_texts(style)

    def render(item: Item) -> tuple[Message, ...]:
        parts = [INTRODUCTION, ANSWER_FORM, form]
        if style == "one_shot":
            shown = of_calculator(exemplars, item)
            question = QUESTION.format(note=shown.note, question=shown.question)
            parts.append(EXAMPLE.format(example=f"{question}\n\nReply:\n{shown.reply}"))
        if style == "open_book":
            parts.append(_reference(item))
        parts.append(QUESTION.format(note=item.fields["patient_note"], question=item.fields["question"]))
        return ({"role": "user", "content": "\n\n".join(parts)},)

    def example(item: Item) -> Example:
        shown = of_calculator(exemplars, item)
        asked = (item.fields["patient_note"], item.fields["question"])
        return Example(reply=shown.reply, shown=(shown.note, shown.question), asked=asked)

    return PromptSet(name=name, sha256=_digest(texts), render=render, example=example if style == "one_shot" else None)


def _official(task: TaskSpec, upstream: Path | None) -> PromptSet:
    style = task.options["style"]
    if style == "open_book":
        raise UsageError(
            f"{task.name} has no official prompts: the authors do not ask with the calculator's specification. Use --prompts own."
        )
    render: Callable[[Item], tuple[Message, ...]]
    if style == "code":
        code = read_code(upstream)
        render, texts, files, example = code.render, code.texts, code.files, None
    else:
        asked = read_questions(style, upstream)
        render, texts, files = asked.render, asked.texts, asked.files
        example = asked.example if style == "one_shot" else None
    return PromptSet(
        name="official", sha256=_digest(texts), render=render, settings={"files": dict(files)}, example=example
    )


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def follow_up(problem: str) -> str:
    """Makes the message of `medcalc_code` that asks for another program.

    Args:
        problem: what was wrong with the last one, in a sentence or with the error's text.
    """
    return f"{problem}\n\n{AGAIN}"


@lru_cache(maxsize=1)
def own_exemplars() -> Mapping[str, Exemplar]:
    """Draws our worked example of every calculator.

    Returns:
        Calculator id, as text, to its example; all 55, the same on every machine.
    """
    from medical_tasks.benchmarks.medcalc_bench.fresh import draw_item
    from medical_tasks.calculators import CALCULATORS

    exemplars: dict[str, Exemplar] = {}
    for calculator in CALCULATORS:
        item = draw_item(calculator, f"exemplar:{calculator.id}")
        answer = item.result.answer
        # As the prompt asks for it: a bare number with the digits of the last step, or (12 weeks, 3 days).
        text = f"{answer:.6g}" if isinstance(answer, float) else str(answer)
        if isinstance(answer, tuple):
            text = f"({', '.join(answer)})"
        reply = {"step_by_step_thinking": item.result.explanation, "answer": text}
        exemplars[str(calculator.id)] = Exemplar(
            note=item.note, question=item.question, reply=json.dumps(reply, ensure_ascii=False)
        )
    return MappingProxyType(exemplars)


def _further_texts(style: str) -> list[str]:
    """What the hash of a style covers beside the texts that all have."""
    if style == "code":
        return [PROGRAM, NO_PROGRAM, NO_OUTPUT, FAILED, AGAIN, NOTHING_SAID]
    if style == "open_book":
        from medical_tasks.benchmarks.medcalc_bench.open_book import specifications

        return [REFERENCE, *(f"{key}\n{text}" for key, text in sorted(specifications().items()))]
    return []


def _reference(item: Item) -> str:
    from medical_tasks.benchmarks.medcalc_bench.open_book import render_specification

    return REFERENCE.format(specification=render_specification(int(item.fields["calculator_id"])))


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as a model that follows the format would.

    Args:
        task: decides whether the explanation stands before the answer; for programs it is the answer they print.
        item: the item.

    Returns:
        The JSON object asked for.
    """
    answer = item.fields["ground_truth_answer"]
    if task.options["style"] in ("direct", "code"):
        return json.dumps({"answer": answer}, ensure_ascii=False)
    return json.dumps(
        {"step_by_step_thinking": item.fields["ground_truth_explanation"], "answer": answer}, ensure_ascii=False
    )
