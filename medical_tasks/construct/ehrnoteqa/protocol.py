"""Drafts a question for each sampled patient (paper, section 3.2, appendix C.2).

A model writes a question with its answer, then five choices for it.

A reply that is not strict JSON is requested again, a bounded number of times. Drafts are
written after all requests have ended.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.notes import NoteRow
from medical_tasks.benchmarks.ehrnoteqa.prompts import note_blocks
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.construct.ehrnoteqa import files
from medical_tasks.construct.ehrnoteqa.files import load_patients
from medical_tasks.construct.ehrnoteqa.forms import (
    Draft,
    DraftedChoices,
    DraftedQuestion,
    DraftFigures,
    Drafts,
)
from medical_tasks.construct.options import EhrnoteqaGenerate
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.io.files import one_line, packaged
from medical_tasks.io.json_records import is_text
from medical_tasks.judges.base import Question, Unreadable
from medical_tasks.judges.reading import free_text, one_of, quoted, read_object
from medical_tasks.runs.asking import open_construction_model
from medical_tasks.spec import Message

TEMPERATURE: Final = "1"
"""The paper's; GPT-4's other settings were left as they were."""

MAX_NEW_TOKENS: Final = 1_500

_TEXTS: Final[Mapping[str, str]] = packaged(__file__, "prompts.json")
_TEMPLATE: Final = hashlib.sha256(
    "\0".join((*_TEXTS.values(), LETTERS)).encode()
).hexdigest()


def generate_drafts(arguments: EhrnoteqaGenerate) -> Drafts:
    """Drafts a question for each patient, and returns the content of `drafts.json`."""
    folder, seed = arguments.folder, construction.checked_seed(arguments.seed)
    patients = load_patients(folder)
    settings = {
        "prompts": _TEMPLATE,
        "sample": file_sha256(folder / files.NOTES),
        "seed": seed,
    }
    usual = {"temperature": TEMPERATURE}
    with open_construction_model(
        arguments.model,
        arguments,
        settings,
        step=f"{arguments.benchmark} {arguments.step}",
        into=arguments.folder,
        what="drafts",
        finished=files.DRAFTS_RECIPE,
        args=usual,
    ) as model:
        first = [
            _question(patient.id, question_messages(patient.notes), read_question)
            for patient in patients
        ]
        questions = model.ask(first, step="question: ")
        tries = model.tries
        second = [
            _question(
                patient.id,
                choices_messages(
                    patient.notes, question["question"], question["answer"]
                ),
                read_choices,
            )
            for patient in patients
            if (question := questions.get(patient.id))
        ]
        choices = model.ask(second, step="choices: ")

    drafts = [
        _draft(
            name, questions[name], drafted, seed, tries=[tries[name], model.tries[name]]
        )
        for name, drafted in choices.items()
    ]
    refusal = (
        f"{folder}: sheets of other drafts were exported from here, and somebody may be reviewing "
        "them. The drafts were not changed. Move the sheets and shares.json away first, or "
        "work in another --folder."
    )
    annotation.check_exported(
        folder / files.SHARES,
        "drafts_sha256",
        drafts,
        step="ehrnoteqa sheet",
        refusal=refusal,
    )
    digest = construction.write_lines(folder / files.DRAFTS, drafts)
    outcome: Drafts = {
        "schema_version": 1,
        "recipe": model.recipe,
        "patients": len(patients),
        "drafted": len(drafts),
        "failed": dict(Counter(model.failed.values()).most_common()),
        "failed_patients": model.failed,
        "figures": _figures(drafts),
        "sha256": digest,
    }
    construction.write_json(folder / files.DRAFTS_RECIPE, outcome)

    return outcome


def shuffled(
    choices: Sequence[str], answer: str, *, key: str
) -> tuple[list[str], str, str]:
    """Shuffles choices in an order that depends on a key.

    A model tends to put the right choice at the same position, so the position is drawn.

    Args:
        choices: Texts in the model's order.
        answer: Letter of the right choice in that order.
        key: Seed of the order; equal keys give equal orders.

    Returns:
        The texts in the new order, the new letter of the right choice, and the old
        letters in the new order.

    Example:
        If the drawn order is 2, 0, 1, `shuffled(["x", "y", "z"], "B", key="7")` returns
        `(["z", "x", "y"], "C", "CAB")`.
    """
    # An order, not a secret.
    order = random.Random(key).sample(range(len(choices)), len(choices))  # noqa: S311
    new = LETTERS[order.index(LETTERS.index(answer))]

    return (
        [choices[index] for index in order],
        new,
        "".join(LETTERS[index] for index in order),
    )


def _draft(
    name: str,
    question: DraftedQuestion,
    drafted: DraftedChoices,
    seed: int,
    *,
    tries: list[int],
) -> Draft:
    choices, answer, written = shuffled(
        drafted["choices"], drafted["answer"], key=f"{seed}:{name}"
    )
    return {
        "id": name,
        "question": question["question"],
        "choices": choices,
        "answer": answer,
        "drafted_answer": question["answer"],
        "question_reason": question["reason"],
        "choices_reason": drafted["reason"],
        "written_order": written,
        "tries": tries,
    }


def _figures(drafts: Sequence[Draft]) -> DraftFigures:
    """Measures whether position or length gives the right choice away."""
    places = Counter(draft["answer"] for draft in drafts)
    written = Counter(
        draft["written_order"][LETTERS.index(draft["answer"])] for draft in drafts
    )
    right = [len(draft["choices"][LETTERS.index(draft["answer"])]) for draft in drafts]
    lengths = [sorted(map(len, draft["choices"])) for draft in drafts]
    longest = sum(
        length == last > before
        for length, (*_, before, last) in zip(right, lengths, strict=True)
    )
    every = sum(map(sum, lengths))
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


MAX_QUESTION: Final = 1_000
MAX_ANSWER: Final = 2_000
MAX_CHOICE: Final = 1_000
"""The longest accepted texts, in characters."""

_LABEL = re.compile(r"\(?([A-E])\s?[.:)]\s", re.IGNORECASE)


def same_text(text: str) -> str:
    """Normalises case, white space and a final full stop, to compare texts."""
    return one_line(text).casefold().rstrip(".")


def read_question(reply: str) -> DraftedQuestion | Unreadable:
    """Reads the reply to `prompts.question_messages`: `question`, `answer`, `reason`."""
    record = read_object(
        reply, {"question": free_text, "answer": free_text, "reason": free_text}
    )
    if isinstance(record, Unreadable):
        return record

    question, answer = one_line(record["question"]), one_line(record["answer"])
    for name, text, most in (
        ("question", question, MAX_QUESTION),
        ("answer", answer, MAX_ANSWER),
    ):
        if len(text) > most:
            return Unreadable(f"{name} must have at most {most:,} characters")

    if not all(map(is_text().holds, (question, answer, record["reason"]))):
        return Unreadable("the texts hold signs that cannot be written")

    return {"question": question, "answer": answer, "reason": record["reason"].strip()}


def read_choices(reply: str) -> DraftedChoices | Unreadable:
    """Reads the reply to `prompts.choices_messages`: `choices`, `answer`, `reason`."""
    record = read_object(
        reply, {"choices": _choices, "answer": one_of(*LETTERS), "reason": free_text}
    )
    if isinstance(record, Unreadable):
        return record

    choices = [one_line(record["choices"][letter]) for letter in LETTERS]
    if any(len(choice) > MAX_CHOICE for choice in choices):
        return Unreadable(f"each choice must have at most {MAX_CHOICE:,} characters")
    if len(set(map(same_text, choices))) < len(choices):
        return Unreadable("two choices are the same; all five must differ")

    labels = [_LABEL.match(choice) for choice in choices]
    if all(
        label and label[1].upper() == letter
        for label, letter in zip(labels, LETTERS, strict=True)
    ):
        return Unreadable("choices must not begin with their letter")

    if not all(map(is_text().holds, (*choices, record["reason"]))):
        return Unreadable("the texts hold signs that cannot be written")

    return {
        "choices": choices,
        "answer": record["answer"],
        "reason": record["reason"].strip(),
    }


def _choices(value: object) -> str | None:
    if not isinstance(value, Mapping) or set(value) != set(LETTERS):
        return f"must be an object with the keys {', '.join(LETTERS)} and no others"
    return (
        None
        if all(free_text(text) is None for text in value.values())
        else "must be five texts"
    )


# How a model is asked for a draft. The texts are ours. The position of the right choice
# is not left to the model: see `shuffled`.


def question_messages(notes: Sequence[NoteRow]) -> tuple[Message, ...]:
    """Asks for a question and its answer."""
    return _user(
        _TEXTS["setting"],
        _TEXTS["question_task"],
        _TEXTS["question_form"],
        note_blocks(notes),
    )


def choices_messages(
    notes: Sequence[NoteRow], question: str, answer: str
) -> tuple[Message, ...]:
    """Asks for five choices to a question."""
    case = _TEXTS["case"].format(question=quoted(question), answer=quoted(answer))
    return _user(
        _TEXTS["setting"],
        _TEXTS["choices_task"],
        _TEXTS["choices_form"],
        case,
        note_blocks(notes),
    )


def _question(
    name: str, messages: tuple[Message, ...], read: Callable[[str], object]
) -> Question:
    again = _TEXTS["again"]
    return Question(
        id=name,
        messages=messages,
        template=_TEMPLATE,
        read=read,
        again=again,
        max_tokens=MAX_NEW_TOKENS,
    )


def _user(*parts: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": "\n\n".join(parts)},)
