"""A draft question for each sampled patient, by any model of ours, under the data guard (paper, section 3.2).

The two steps go through the runner like a task of several questions: every reply is in the private store as soon as it is there,
so the same command goes on where it was stopped. Only when all patients have been asked are the drafts written, whole.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa.construction import files
from medical_tasks.benchmarks.ehrnoteqa.construction.patients import Patient, load_patients
from medical_tasks.benchmarks.ehrnoteqa.construction.prompts import load_prompts
from medical_tasks.benchmarks.ehrnoteqa.construction.protocol import open_protocol
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET
from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import UsageError
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.runs.asking import AskingOptions, Construction, ask_model, check_counts
from medical_tasks.spec import Item, MultiStep, PromptSet, TaskSpec

__all__ = ["DraftOptions", "drafting_task", "generate_drafts", "shuffled"]

TEMPERATURE: Final = "1"
"""The paper's; GPT-4's other settings were left as they were."""

MAX_NEW_TOKENS: Final = 1_500
TRIES: Final = 3


@dataclass(frozen=True, kw_only=True)
class DraftOptions:
    """How drafts are made.

    Attributes:
        model: as `run --model` names it.
        model_args: settings of its backend; temperature is 1 unless it is among them.
        tries: most replies of a step.
        seed: shuffles the choices.
        max_new_tokens: longest reply.
    """

    model: str
    model_args: Mapping[str, str]
    tries: int = TRIES
    seed: int = 0
    max_new_tokens: int = MAX_NEW_TOKENS


class _Drafting(Construction):
    def load_prompts(self, task: TaskSpec, *given: Any, **settings: Any) -> PromptSet:
        return load_prompts(task)

    def open_protocol(self, task: TaskSpec, **settings: Any) -> MultiStep:
        return open_protocol(task)


def drafting_task(tries: int) -> TaskSpec:
    """Describes drafting as a task, for the runner; it is in no catalogue, since nothing of it is scored."""
    return TaskSpec(
        name="construct_ehrnoteqa",
        title="Draft questions in the manner of EHRNoteQA",
        benchmark=_Drafting(),
        dataset=DATASET.name,
        split="test",
        metrics=(),
        version="1-A",
        generation_size=MAX_NEW_TOKENS,
        options={"tries": str(tries)},
        protocol="two steps",
    )


def generate_drafts(folder: Path, options: DraftOptions) -> dict[str, Any] | None:
    """Drafts a question for each patient and writes them.

    Args:
        folder: of the construction.
        options: how.

    Returns:
        Content of `drafts.json`: recipe, figures and who has no draft, no text; None in all but the main process.

    Raises:
        MissingError: There is no sample, or the model is not there.
        RefusedError: The model is not on this machine.
        UsageError: Bad option, other settings than an earlier command's here, or sheets of other drafts were exported.
    """
    check_counts((("--tries", options.tries), ("--max-new-tokens", options.max_new_tokens)))
    patients = load_patients(folder)
    task = drafting_task(options.tries)
    sample = files.text_sha256(folder / files.NOTES)
    data = TaskData(
        items=[Item(id=each.id, fields={"notes": each.notes}, groups={}, cluster=each.id) for each in patients],
        config="own",
        folder=folder,
        revision={"name": DATASET.name, "config": "own", "sample_sha256": sample},
    )
    asking = AskingOptions(
        model=options.model,
        model_args={"temperature": TEMPERATURE, **options.model_args},
        max_new_tokens=options.max_new_tokens,
    )
    settings = {
        "construct": DATASET.name,
        "sample": sample,
        "prompts": load_prompts(task).sha256,
        "seed": options.seed,
    }
    answered = ask_model(
        folder / files.GENERATION,
        task,
        data,
        asking,
        settings=settings,
        finished=folder / files.DRAFTS_RECIPE,
        step="ehrnoteqa generate",
        what="drafts",
    )
    return None if answered is None else _written(folder, patients, answered, options)


def _written(folder: Path, patients: Sequence[Patient], answered: Any, options: DraftOptions) -> dict[str, Any]:
    drafts: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for patient in patients:
        if patient.id not in answered.responses:
            failed[patient.id] = redact_reason(f"no answer: {answered.unanswered[patient.id]}")
            continue
        outcome = json.loads(answered.responses[patient.id])
        if "failed" in outcome:
            failed[patient.id] = outcome["failed"]
        else:
            drafts.append(_draft(patient, outcome, options.seed))
    _check_sheets(folder, drafts)
    digest = files.write_lines(folder / files.DRAFTS, drafts)
    recipe = {
        name: answered.recipe[name] for name in ("suite", "prompts", "model", "generation", "protocol", "packages")
    }
    made = {
        "schema_version": 1,
        "recipe": {**recipe, "sample_sha256": answered.recipe["data"]["sample_sha256"], "seed": options.seed},
        "patients": len(patients),
        "drafted": len(drafts),
        "failed": dict(Counter(failed.values()).most_common()),
        "failed_patients": failed,
        "figures": _figures(drafts),
        "sha256": digest,
    }
    files.write_json(folder / files.DRAFTS_RECIPE, made)
    return made


def _check_sheets(folder: Path, drafts: Sequence[Mapping[str, Any]]) -> None:
    """Clinicians may be at work on sheets of the drafts as they are."""
    place = folder / files.SHARES
    if not place.exists():
        return
    known = files.read_json(place, step="sheet").get("drafts_sha256")
    if known != files.lines_sha256(drafts):
        raise UsageError(
            f"{folder}: sheets of other drafts were exported from here, and somebody may be reviewing them. The drafts are left as "
            "they are. Move the sheets and shares.json away first, or work in another --folder."
        )


def shuffled(choices: Sequence[str], answer: str, *, key: str) -> tuple[list[str], str, str]:
    """Puts choices into an order that a key decides: models favour places when they write choices.

    Args:
        choices: in the model's order.
        answer: letter of the right one there.
        key: seed and id.

    Returns:
        The choices, the right one's new letter, and the letters they had before, in the new order.
    """
    order = random.Random(key).sample(range(len(choices)), len(choices))  # noqa: S311  # an order, not a secret
    new = LETTERS[order.index(LETTERS.index(answer))]
    return [choices[place] for place in order], new, "".join(LETTERS[place] for place in order)


def _draft(patient: Patient, outcome: Mapping[str, Any], seed: int) -> dict[str, Any]:
    question, drafted = outcome["question"], outcome["choices"]
    choices, answer, written = shuffled(drafted["choices"], drafted["answer"], key=f"{seed}:{patient.id}")
    return {
        "id": patient.id,
        "question": question["question"],
        "choices": choices,
        "answer": answer,
        "drafted_answer": question["answer"],
        "question_reason": question["reason"],
        "choices_reason": drafted["reason"],
        "written_order": written,
        "tries": outcome["tries"],
    }


def _figures(drafts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What can be seen of the drafts without reading them: is the right choice told by its place or its length?"""
    places = Counter(draft["answer"] for draft in drafts)
    written = Counter(draft["written_order"][LETTERS.index(draft["answer"])] for draft in drafts)
    right = [len(draft["choices"][LETTERS.index(draft["answer"])]) for draft in drafts]
    longest = sum(
        all(
            length > len(choice)
            for place, choice in enumerate(draft["choices"])
            if place != LETTERS.index(draft["answer"])
        )
        for draft, length in zip(drafts, right, strict=True)
    )
    every = sum(len(choice) for draft in drafts for choice in draft["choices"])
    wrong = len(drafts) * (len(LETTERS) - 1)
    return {
        "right_place": {letter: places[letter] for letter in LETTERS},
        "right_place_as_written": {letter: written[letter] for letter in LETTERS},
        "right_is_longest": longest,
        "mean_characters": {
            "right": round(sum(right) / len(right), 1) if right else None,
            "wrong": round((every - sum(right)) / wrong, 1) if wrong else None,
        },
        "asked_again": sum(sum(draft["tries"]) - 2 for draft in drafts),
    }
