"""Scores the answers of ArchEHR-QA: what they cite, how like the references they are, and their form.

Factuality is pooled: on each case a share and its denominator. Where there is no denominator the value is nan and the weight 0;
so it is on a case whose key is not released. Relevance is a mean over cases (`relevance`). `_official` figures are by the script's
reading; an answer that cites nothing ends the script, so that they are absent there, and the task has no such figure.
The averages (overall relevance, overall score) are made of totals, by `results`.

Nothing in `parsed` and `why` quotes a text: ids of the note, counts, and classes of problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.archehr_qa.factuality import Counts, count, factuality_values, positives
from medical_tasks.archehr_qa.official import NO_FIGURE, official_answer
from medical_tasks.archehr_qa.parsing import PROBLEMS, Answer, read_answer
from medical_tasks.archehr_qa.relevance import (
    Comparison,
    answer_comparison,
    labels_of,
    notes_comparison,
    question_comparison,
    relevance_values,
)
from medical_tasks.archehr_qa.relevance_models import model_identity
from medical_tasks.archehr_qa.reply_text import unfenced
from medical_tasks.archehr_qa.subtask_replies import NO_IDS, read_alignment, read_evidence
from medical_tasks.errors import UsageError
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["NOTE_WORDS", "score_items", "scoring_identity", "unanswered_limits"]

_NOTES: Final = "_notes"
_OFFICIAL: Final = "_official"
_MOST_MEDCON: Final = 2.0
_SHOWN: Final = 60

NOTE_WORDS: Final = frozenset(
    " ".join(("ids no unknown words and more pairs", *PROBLEMS, NO_IDS, NO_FIGURE)).replace(":", " ").split()
)
"""What `parsed` and `why` are made of, beside numbers."""


def score_items(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], *, arguments: Mapping[str, str] | None = None
) -> list[ItemScore]:
    """Scores the replies to a task's items.

    Args:
        task: a task of the benchmark; its options decide what a reply is.
        items: the items, with the dataset's columns in `fields`.
        responses: the model's raw text for each item, in the same order.
        arguments: of the task's `scoring_arguments`; each adds its metrics.

    Returns:
        A score an item. Any text has one.

    Raises:
        UsageError: There are not as many responses as items, two items have one id, or an argument is unknown or wrong; names
            ids, quotes no text.
        MissingError: A checkpoint, an index or a package for an argument is not there.
    """
    given = arguments or {}
    _check_arguments(task, given)
    if len(items) != len(responses):
        raise UsageError(
            f"{task.name}: {len(items)} items but {len(responses)} responses. Give one response for each item."
        )
    if len({item.id for item in items}) != len(items):
        raise UsageError(f"{task.name}: two items have the same id. Give each item one response.")
    # Answers of tasks with steps cite; those of the subtask do not.
    kind = "cited" if "steps" in task.options else task.options["form"]
    return _SCORED[kind](items, responses, given)


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what decides the metrics that a task's `scoring_arguments` add, for the recipe; loads no weights.

    Args:
        task: a task of the benchmark.
        arguments: name to value.

    Returns:
        For each argument the identity of its checkpoint or index, JSON values.

    Raises:
        UsageError: An argument that the task does not take, or a wrong value.
        MissingError: A checkpoint, an index or a package is not there.
    """
    _check_arguments(task, arguments)
    return model_identity(arguments)


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
    """What metrics could be on an item without an answer, where that is less than the metric's own limits.

    Args:
        task: any task of the benchmark.
        item: the item.

    Returns:
        Limits of MEDCON: shared terms are at most all of the reference's, so however many synonyms it has, F1 stays below 2.
    """
    names = [metric.name for metric in task.metrics if metric.name in ("medcon", f"medcon{_NOTES}")]
    return dict.fromkeys(names, (0.0, _MOST_MEDCON))


def _check_arguments(task: TaskSpec, arguments: Mapping[str, str]) -> None:
    unknown = [name for name in arguments if name not in task.scoring_arguments]
    if unknown:
        known = ", ".join(task.scoring_arguments) or "none"
        raise UsageError(f"{task.name}: its scoring takes no argument {unknown[0]!r}. Arguments: {known}.")


def _cited_answers(items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]) -> list[ItemScore]:
    answers = _answers(items, responses)
    scores: list[ItemScore] = []
    for item, response, answer, relevance in zip(
        items, responses, answers, _answer_relevance(items, answers, given), strict=True
    ):
        labels = labels_of(item)
        values, weights = factuality_values(_counted(labels, answer.citations))
        official = official_answer(spoken(response).strip()).citations
        theirs, their_weights = factuality_values(_counted(labels, official), suffix=_OFFICIAL, of_nothing=0.0)
        values |= relevance | {"valid": float(not answer.problems), "words": float(answer.words)}
        ends = bool(labels) and not official
        scores.append(
            ItemScore(
                id=item.id,
                values=values if ends else values | theirs,
                parsed=_cited(answer.citations, item, f"words {answer.words}"),
                # The answer is scored; it is the official script that has no figure for it.
                why="; ".join((*answer.problems, *([NO_FIGURE] if ends else []))),
                weights=weights | their_weights,
            )
        )
    return scores


def _plain_answers(items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]) -> list[ItemScore]:
    answers = _answers(items, responses)
    return [
        ItemScore(id=item.id, values={**relevance, "words": float(answer.words)}, parsed=f"words {answer.words}")
        for item, answer, relevance in zip(items, answers, _answer_relevance(items, answers, given), strict=True)
    ]


def _questions(items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]) -> list[ItemScore]:
    asked = [" ".join(unfenced(spoken(response).strip()).split()) for response in responses]
    found = relevance_values(list(map(question_comparison, items, asked)), given, suffixes=[""] * len(asked))
    return [
        ItemScore(id=item.id, values=values, parsed=f"words {len(question.split())}")
        for item, question, values in zip(items, asked, found, strict=True)
    ]


def _evidence(items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]) -> list[ItemScore]:
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        reply = read_evidence(response, item.fields["sentence_ids"])
        values, weights = factuality_values(_counted(labels_of(item), reply.ids), macro=False)
        parsed, why = _cited(reply.ids, item), "; ".join(reply.problems)
        scores.append(ItemScore(id=item.id, values=values, parsed=parsed, why=why, weights=weights))
    return scores


def _alignment(items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]) -> list[ItemScore]:
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        reply = read_alignment(response, item.fields["sentence_ids"])
        gold = [
            (number, cited.strip())
            for number, ids in enumerate(item.fields["answer_citations"], start=1)
            for cited in str(ids).split(",")
            if cited.strip()
        ]
        counts = count(reply.pairs, gold) if item.fields["answer_citations"] else None
        values, weights = factuality_values({"": counts}, macro=False)
        parsed, why = f"pairs {len(reply.pairs)}", "; ".join(reply.problems)
        scores.append(ItemScore(id=item.id, values=values, parsed=parsed, why=why, weights=weights))
    return scores


def _answers(items: Sequence[Item], responses: Sequence[str]) -> list[Answer]:
    return [read_answer(response, item.fields["sentence_ids"]) for item, response in zip(items, responses, strict=True)]


def _answer_relevance(
    items: Sequence[Item], answers: Sequence[Answer], given: Mapping[str, str]
) -> list[dict[str, float]]:
    """Against both references, in one go: a checkpoint is opened once."""
    texts = [answer.text for answer in answers]
    both: list[Comparison | None] = [*map(answer_comparison, items, texts), *map(notes_comparison, items, texts)]
    found = relevance_values(both, given, suffixes=[""] * len(items) + [_NOTES] * len(items))
    return [one | other for one, other in zip(found[: len(items)], found[len(items) :], strict=True)]


def _counted(labels: Mapping[str, str], cited: Sequence[str]) -> dict[str, Counts | None]:
    """Strict and lenient."""
    return {
        which: count(cited, positives(labels, lenient=lenient)) if labels else None
        for which, lenient in (("", False), ("_lenient", True))
    }


def _cited(ids: Iterable[str], item: Item, *more: str) -> str:
    """`ids 1 2, unknown 1, words 40`. An id that the note does not have can be any word, and is only counted."""
    each = list(ids)
    known = [cited for cited in each if cited in item.fields["sentence_ids"]]
    shown = " ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
    parts = [
        f"ids {shown}" if known else "no ids",
        f"unknown {len(each) - len(known)}" if len(each) > len(known) else "",
    ]
    return ", ".join(part for part in (*parts, *more) if part)


_SCORED: Final[Mapping[str, Callable[[Sequence[Item], Sequence[str], Mapping[str, str]], list[ItemScore]]]] = {
    "cited": _cited_answers,
    "answer": _plain_answers,
    "question": _questions,
    "evidence": _evidence,
    "alignment": _alignment,
}
