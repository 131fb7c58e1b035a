"""Prompts of MedCalc-Bench: direct, chain of thought, one-shot (paper, section 3.1), open book, code (appendix D).

Ours are written from the protocol's facts: the note and the question are given, the answer is asked for as a JSON object
with the keys of the paper's output format. Everything is in one user message, so that lighteval (which has no system
prompt of a task's own), inspect and our own runner send the same text. Worked examples are our own, for all 55
calculators; with `official` they come from the authors' file in a checkout the user has (`exemplars`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.medcalc_bench import code_prompts
from medical_tasks.medcalc_bench.exemplars import Exemplar, official_exemplars, own_exemplars
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

__all__ = ["PROMPT_SETS", "gold_response", "load_prompts"]

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


def load_prompts(task: TaskSpec, name: str = "own", upstream: Path | None = None) -> PromptSet:
    """Makes the prompts of a task.

    Args:
        task: `options["style"]` is `direct`, `cot`, `one_shot`, `open_book` or `code`.
        name: `own` or `official`.
        upstream: for `official`, a checkout of the authors' repository.

    Returns:
        The prompts; rendering an item whose calculator has no exemplar raises `MissingError`.

    Raises:
        UsageError: Unknown set, `official` for a task that has none, or a file not of the expected form.
        MissingError: The authors' file is not there.
    """
    style = task.options["style"]
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    exemplars: Mapping[str, Exemplar] = {}
    if style == "one_shot":
        exemplars = official_exemplars(upstream) if name == "official" else own_exemplars()
    elif name == "official":
        raise UsageError(
            f"{task.name} has no official prompts: the authors' files hold worked examples only. Use --prompts own, or the "
            "task medcalc_one_shot."
        )
    form = {"direct": DIRECT, "code": code_prompts.PROGRAM}.get(style, CHAIN_OF_THOUGHT)
    texts = [INTRODUCTION, ANSWER_FORM, form, EXAMPLE, QUESTION]
    # A question of None is the item's own: the hash of the official set stays what it was.
    texts += [
        "\n".join(part for part in (key, exemplar.note, exemplar.question, exemplar.reply) if part is not None)
        for key, exemplar in sorted(exemplars.items())
    ]
    texts += _further_texts(style)

    def render(item: Item) -> tuple[Message, ...]:
        parts = [INTRODUCTION, ANSWER_FORM, form]
        if style == "one_shot":
            parts.append(EXAMPLE.format(example=_example_text(item, exemplars)))
        if style == "open_book":
            parts.append(_reference(item))
        parts.append(QUESTION.format(note=item.fields["patient_note"], question=item.fields["question"]))
        return ({"role": "user", "content": "\n\n".join(parts)},)

    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return PromptSet(name=name, sha256=digest, render=render)


def _further_texts(style: str) -> list[str]:
    """What the hash of a style covers beside the texts that all have."""
    if style == "code":
        return list(code_prompts.TEXTS)
    if style == "open_book":
        from medical_tasks.medcalc_bench.open_book import specifications

        return [REFERENCE, *(f"{key}\n{text}" for key, text in sorted(specifications().items()))]
    return []


def _reference(item: Item) -> str:
    from medical_tasks.medcalc_bench.open_book import render_specification

    return REFERENCE.format(specification=render_specification(int(item.fields["calculator_id"])))


def _example_text(item: Item, exemplars: Mapping[str, Exemplar]) -> str:
    key = str(item.fields["calculator_id"])
    if key not in exemplars:
        raise MissingError(
            f"item {item.id}: no worked example for calculator {key} ({item.fields['calculator_name']}); there is one for "
            f"each of {', '.join(sorted(exemplars, key=int))}. Leave such items out, or use the task medcalc."
        )
    exemplar = exemplars[key]
    question = QUESTION.format(note=exemplar.note, question=exemplar.question or item.fields["question"])
    return f"{question}\n\nReply:\n{exemplar.reply}"


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
