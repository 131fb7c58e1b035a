"""How the judge's replies about K-QA are read, and the questions that are made of them. Nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from medical_tasks.benchmarks.kqa import judge_prompts as prompts_of
from medical_tasks.benchmarks.kqa.official import counts_as_contradiction, label_is_true
from medical_tasks.judges.base import JudgePrompts, Label, Pair, Question, Unreadable
from medical_tasks.judges.reading import boolean, free_text, one_of, read_closing_claim, read_json, read_object

__all__ = [
    "BATCH_LABELS",
    "abstention_question",
    "batched_question",
    "official_question",
    "read_answered",
    "read_batched",
    "read_single",
    "single_question",
]

_WORDS: Final[Mapping[str, Label]] = {
    "entailed": "entailment",
    "contradicted": "contradiction",
    "neither": "neutral",
}
"""The words asked for, and the labels they stand for; `neither` says no more than that."""

BATCH_LABELS = tuple[tuple[str, Label], ...]
"""Value of a batched verdict: id and label of each statement there is a verdict on."""

_VERDICT: Final = {"reason": free_text, "verdict": one_of(*_WORDS)}
_ENTRY: Final = {"id": free_text, **_VERDICT}
_ALL_LABELS: Final[Mapping[Label, Any]] = {
    "entailment": "entailment",
    "neutral": "neutral",
    "contradiction": "contradiction",
    "not_entailment": "not_entailment",
}
_ENTAILS: Final[Mapping[Label, Any]] = {
    "entailment": True,
    "neutral": False,
    "contradiction": False,
    "not_entailment": False,
}
_CONTRADICTS: Final[Mapping[Label, Any]] = {"entailment": False, "neutral": False, "contradiction": True}
_REPLY_TOKENS: Final = 512
_ENTRY_TOKENS: Final = 96


def read_single(text: str) -> Label | Unreadable:
    """Reads the verdict on one statement."""
    value = read_object(text, _VERDICT)
    return value if isinstance(value, Unreadable) else _WORDS[value["verdict"]]


def read_answered(text: str) -> bool | Unreadable:
    """Reads whether there is an answer at all."""
    value = read_object(text, {"reason": free_text, "answered": boolean})
    return value if isinstance(value, Unreadable) else bool(value["answered"])


def read_batched(ids: Sequence[str]) -> Callable[[str], BATCH_LABELS | Unreadable]:
    """Makes a reader of verdicts on several statements.

    Args:
        ids: the statements that were asked about.

    Returns:
        The reader. Its value holds a label for each statement that got one, in the order of `ids`; ids that were not asked
        about or stand twice make the reply unreadable, and so does a reply without any verdict.
    """

    def read(text: str) -> BATCH_LABELS | Unreadable:
        value = read_json(text)
        if isinstance(value, Unreadable):
            return value
        if not isinstance(value, dict) or set(value) != {"verdicts"} or not isinstance(value["verdicts"], list):
            return Unreadable("the reply needs to be an object with the key verdicts, a list, and no others")
        if not value["verdicts"]:
            return Unreadable("verdicts is empty")
        labels: dict[str, Label] = {}
        for entry in value["verdicts"]:
            if not isinstance(entry, dict) or set(entry) != set(_ENTRY):
                return Unreadable(f"each verdict needs the keys {', '.join(_ENTRY)} and no others")
            for key, check in _ENTRY.items():
                broken = check(entry[key])
                if broken is not None:
                    return Unreadable(f"{key} {broken}")
            name = entry["id"]
            if name not in ids:
                return Unreadable("a verdict has an id that was not asked about")
            if name in labels:
                return Unreadable(f"{name} stands twice")
            labels[name] = _WORDS[entry["verdict"]]
        return tuple((name, labels[name]) for name in ids if name in labels)

    return read


def single_question(prompts: JudgePrompts, name: str, *, question: str, answer: str, statement: str) -> Question:
    """Asks for one statement; the value is a label."""
    answer = answer.strip()
    messages = prompts_of.single_messages(prompts, question=question, answer=answer, statement=statement)
    return Question(
        id=name,
        messages=messages,
        template=prompts_of.template(prompts, prompts_of.SINGLE),
        read=read_single,
        again=prompts_of.AGAIN,
        max_tokens=_REPLY_TOKENS,
        pair=Pair(premise=answer, hypothesis=statement.strip(), values=_ALL_LABELS),
    )


def batched_question(
    prompts: JudgePrompts, name: str, *, question: str, answer: str, statements: Sequence[tuple[str, str]]
) -> Question:
    """Asks for several statements, given with their ids; the value is a tuple of ids and labels."""
    messages = prompts_of.batched_messages(prompts, question=question, answer=answer.strip(), statements=statements)
    return Question(
        id=name,
        messages=messages,
        template=prompts_of.template(prompts, prompts_of.BATCHED),
        read=read_batched([statement_id for statement_id, _ in statements]),
        again=prompts_of.AGAIN,
        max_tokens=_REPLY_TOKENS + _ENTRY_TOKENS * len(statements),
    )


def abstention_question(prompts: JudgePrompts, name: str, *, question: str, answer: str) -> Question:
    """Asks whether there is an answer at all; the value is a bool. Judges of entailment cannot be asked."""
    return Question(
        id=name,
        messages=prompts_of.abstention_messages(prompts, question=question, answer=answer.strip()),
        template=prompts_of.template(prompts, prompts_of.ABSTENTION),
        read=read_answered,
        again=prompts_of.AGAIN,
        max_tokens=_REPLY_TOKENS,
    )


def official_question(
    prompts: JudgePrompts, name: str, kind: str, *, question: str, answer: str, statement: str
) -> tuple[Question, Question]:
    """Asks one of the authors' two questions (`entails`, `contradicts`); the values are bools.

    Returns:
        The question as it is read sanely, and as their script decides it, on the first reply. Both share that reply.
    """
    messages = prompts_of.official_messages(prompts, kind, question=question, answer=answer, statement=statement)
    sane = Question(
        id=name,
        messages=messages,
        template=prompts_of.template(prompts, kind),
        read=partial(read_closing_claim, of_statement=kind == "entails"),
        again=prompts_of.OFFICIAL_AGAIN,
        max_tokens=_REPLY_TOKENS,
        pair=Pair(
            premise=answer.strip(),
            hypothesis=statement.strip(),
            values=_ENTAILS if kind == "entails" else _CONTRADICTS,
        ),
    )
    theirs = label_is_true if kind == "entails" else counts_as_contradiction
    return sane, replace(sane, id=f"{name}/official", read=theirs, once=True, pair=None)
