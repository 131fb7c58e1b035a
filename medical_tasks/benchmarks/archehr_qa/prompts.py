"""How the questions of ArchEHR-QA are put (paper, Validation and figure 2; the texts are in `prompt_texts`).

One message of the user: what is given, what to do, how to reply, then the patient's message, the clinician's question and the
sentences of the note behind their numbers. What the protocols ask after that (`protocol`) is made of the same parts.

The paper describes the prompts of its approaches and prints none of them (table S3 is another step's), so there is no set to load.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa import feedback, gold, prompt_texts
from medical_tasks.benchmarks.archehr_qa.evidence import note_sentences, one_line, open_chooser
from medical_tasks.benchmarks.archehr_qa.prompt_texts import TEXTS
from medical_tasks.benchmarks.archehr_qa.task_arguments import read_arguments
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

__all__ = ["PROMPT_SETS", "gold_response", "load_prompts", "question_text"]

PROMPT_SETS: Final = ("own",)

_GOLD: Final[Mapping[str, Callable[[Item], str]]] = {
    "question": gold.gold_question,
    "evidence": gold.gold_evidence,
    "answer": gold.gold_answer,
    "alignment": gold.gold_alignment,
}
_TRIED: Final = ("together", "answer_first", "evidence_first")
_SECOND_STEP: Final[Mapping[str, str]] = {"answer_first": "cite"}


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None, *, arguments: Mapping[str, str] | None = None
) -> PromptSet:
    """Makes the prompts of a task.

    Args:
        task: `options["steps"]` says how an answer and its citations are asked for; without it `options["form"]` what is asked.
        name: `own`; there is no other set.
        upstream: not used.
        arguments: of `TaskSpec.arguments`.

    Returns:
        The prompts. Those of `evidence_first` have the sentences chosen for an item as its `sources`, and `settings` that say how
        they are chosen.

    Raises:
        UsageError: Another set, an argument with a wrong value, or a task that no model is asked.
        MissingError: A checkpoint is not on this machine.
    """
    if name == "official":
        raise UsageError(
            f"{task.name} has no official prompts: the paper describes its prompts and prints none of them. Use --prompts own."
        )
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    kind = task.options.get("steps") or task.options["form"]
    if kind not in TEXTS:
        raise UsageError(
            f"{task.name} is answered without a model. Use --model baseline/heuristic, or a task for models such as "
            "archehr_together."
        )
    settings = read_arguments(task, arguments or {})
    if kind == "evidence_first":
        chooser = open_chooser(settings.embedder, settings.evidence)
        return PromptSet(
            name=name,
            sha256=_digest(kind),
            render=lambda item: _asked(question_text(kind, item, shown=chooser.choose(item))),
            settings=chooser.settings,
            sources=chooser.choose,
        )
    return PromptSet(name=name, sha256=_digest(kind), render=lambda item: _asked(question_text(kind, item)))


def question_text(
    kind: str, item: Item, *, shown: Collection[str] | None = None, answer: Collection[str] | None = None
) -> str:
    """Writes one question.

    Args:
        kind: a key of `prompt_texts.TEXTS`.
        item: what it is about.
        shown: ids of the note's sentences that are shown; all by default.
        answer: for `cite`, the sentences that are to be cited; `alignment` has the clinician's.

    Returns:
        The question. What an item does not have (a clinician's question, say) is left out with its label.
    """
    texts, fields = TEXTS[kind], item.fields
    message = fields["patient_narrative"].strip() or fields["patient_question"].strip()
    parts = [texts.given, texts.task, texts.form, _part(prompt_texts.PATIENT, message)]
    if kind != "question":
        ids = zip(fields["sentence_ids"], note_sentences(item), strict=True)
        note = [_numbered(each, text) for each, text in ids if shown is None or each in shown]
        parts.append(_part(prompt_texts.CLINICIAN, one_line(fields["clinician_question"])))
        parts.append(_part(prompt_texts.NOTE, "\n".join(note)))
    if kind == "alignment":
        written = enumerate(map(one_line, fields["answer_sentences"]), start=1)
        parts.append(_part(prompt_texts.ANSWER, "\n".join(_numbered(str(number), text) for number, text in written)))
    elif answer is not None:
        parts.append(_part(prompt_texts.ANSWER, "\n".join(answer)))
    return "\n\n".join(part for part in parts if part)


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer; see `gold` for each form.

    Args:
        task: decides the form.
        item: the item.

    Returns:
        The gold; "" where it is not released.
    """
    if "steps" in task.options:
        return gold.gold_cited_answer(item)
    return _GOLD[task.options["form"]](item)


def _asked(text: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": text},)


def _part(label: str, text: str) -> str:
    return label.format(text=text) if text else ""


def _numbered(number: str, text: str) -> str:
    return prompt_texts.SENTENCE.format(number=number, text=text)


def _digest(kind: str) -> str:
    """Hashes all texts of a task's questions: of both its steps, and of what is said about a faulty reply."""
    kinds = [kind, _SECOND_STEP[kind]] if kind in _SECOND_STEP else [kind]
    said = [part for each in kinds for part in (each, TEXTS[each].given, TEXTS[each].task, TEXTS[each].form)]
    labels = (
        prompt_texts.PATIENT,
        prompt_texts.CLINICIAN,
        prompt_texts.NOTE,
        prompt_texts.ANSWER,
        prompt_texts.SENTENCE,
    )
    told = feedback.SAID if kind in _TRIED else ()
    return hashlib.sha256("\0".join((*said, *labels, *told)).encode()).hexdigest()
