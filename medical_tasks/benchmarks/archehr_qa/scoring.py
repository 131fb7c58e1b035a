"""Scores the answers of ArchEHR-QA: what they cite, how like the references they are, and their form; `parsed` quotes no text.

`_official` is the scripts' reading, bug for bug (2025, archehr-qa 771b948; 2026, archehr-qa-2026 344b67e); `spec.ENDS` ends it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.measures import (
    Comparison,
    Counts,
    answer_comparison,
    count,
    factuality_values,
    labels_of,
    model_identity,
    notes_comparison,
    positives,
    question_comparison,
    relevance_values,
)
from medical_tasks.benchmarks.archehr_qa.parsing import (
    NO_IDS,
    PROBLEMS,
    SENTENCE_ENDS,
    Answer,
    read_alignment,
    read_answer,
    read_evidence,
    unfenced,
)
from medical_tasks.benchmarks.archehr_qa.prompts import QUESTION_WORDS
from medical_tasks.benchmarks.archehr_qa.spec import ENDS, OFFICIAL, WORD_LIMIT
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.errors import UsageError
from medical_tasks.scoring.bleu_and_sari import tokenize_13a
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Item, ItemScore, TaskSpec

_NOTES: Final = "_notes"
_MOST_MEDCON: Final = 2.0
_SHOWN: Final = 60

NOTE_WORDS: Final = frozenset(
    " ".join(("ids no unknown words and more pairs", *PROBLEMS, NO_IDS, *ENDS.values())).replace(":", " ").split()
)
"""What `parsed` and `why` are made of, beside numbers."""


def score_items(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], *, arguments: Mapping[str, str] | None = None
) -> list[ItemScore]:
    """Scores the replies to a task's items; any text has a score. Each of the `scoring_arguments` adds its metrics."""
    given = arguments or {}
    check_scoring_args(task, given)
    check_lengths(task, items, responses)
    if len({item.id for item in items}) != len(items):
        raise UsageError(f"{task.name}: two items have the same id. Give each item one response.")
    return _SCORED[_kind(task)](task, items, responses, given)


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what decides the metrics that a task's `scoring_arguments` add, for the recipe; loads no weights."""
    check_scoring_args(task, arguments)
    return model_identity(arguments)


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
    """MEDCON shares at most all of the reference's terms, so however many synonyms it has, F1 stays below 2."""
    return dict.fromkeys((name for name in _names(task) if name.startswith("medcon")), (0.0, _MOST_MEDCON))


def _kind(task: TaskSpec) -> str:
    return "cited" if "steps" in task.options else task.options["form"]


def _cited_answers(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]
) -> list[ItemScore]:
    answers = _answers(items, responses)
    theirs = [official_answer(spoken(response).strip()) for response in responses]
    texts = [answer.text for answer in answers]
    compared = {
        "": list(map(answer_comparison, items, texts)),
        _NOTES: list(map(notes_comparison, items, texts)),
        OFFICIAL: [notes_comparison(item, answer.text) for item, answer in zip(items, theirs, strict=True)],
    }
    scores: list[ItemScore] = []
    for item, answer, official, values in zip(
        items, answers, theirs, relevance_values(compared, given, wanted=_names(task)), strict=True
    ):
        labels = labels_of(item)
        values |= {"valid": float(not answer.problems), "words": float(answer.words)}
        scores.append(
            _score(
                task,
                item,
                values,
                [_cited_counts(labels, cited) for cited in (answer.citations, official.citations)],
                ended=bool(labels) and not (official.citations and has_bleu(official.text)),
                parsed=_cited(answer.citations, item, f"words {answer.words}"),
                problems=answer.problems,
            )
        )
    return scores


def _texts(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]
) -> list[ItemScore]:
    said = [spoken(response).strip() for response in responses]
    compare: Callable[[Item, str], Comparison | None]
    has_figure: Callable[[str], bool]
    if task.options["form"] == "answer":
        answers = _answers(items, responses)
        ours, words = [answer.text for answer in answers], [answer.words for answer in answers]
        compare, limit, has_figure = partial(answer_comparison, narrative=True), WORD_LIMIT, has_bleu
    else:
        asked = [unfenced(text).split() for text in said]
        # A clinician's question may be longer than the limit itself: it has full marks here, and not by the script.
        most = [max(QUESTION_WORDS, len(str(item.fields["clinician_question"]).split())) for item in items]
        ours, words = [" ".join(each[:of]) for each, of in zip(asked, most, strict=True)], list(map(len, asked))
        compare, limit, has_figure = question_comparison, QUESTION_WORDS, bool
    theirs = [official_text(text, limit) for text in said]
    compared = {"": list(map(compare, items, ours)), OFFICIAL: list(map(compare, items, theirs))}
    found = relevance_values(compared, given, wanted=_names(task))
    return [
        _score(task, item, {**values, "words": float(of)}, ended=not has_figure(text), parsed=f"words {of}")
        for item, values, text, of in zip(items, found, theirs, words, strict=True)
    ]


def _evidence(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]
) -> list[ItemScore]:
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        known, labels = item.fields["sentence_ids"], labels_of(item)
        reply = read_evidence(response, known)
        official = official_ids(response, reply.ids)
        counts = [_named_counts(labels, ids) for ids in (reply.ids, official)]
        ended, parsed = not set(official) <= set(known), _cited(reply.ids, item)
        scores.append(_score(task, item, {}, counts, ended=ended, parsed=parsed, problems=reply.problems))
    return scores


def _alignment(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], given: Mapping[str, str]
) -> list[ItemScore]:
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        known, rests = item.fields["sentence_ids"], item.fields["answer_citations"]
        names = item.fields.get("answer_sentence_ids") or [str(place) for place, _ in enumerate(rests, start=1)]
        reply = read_alignment(response, known, names)
        official = official_alignment(response, reply.pairs)
        gold = [
            (name, cited.strip())
            for name, ids in zip(names, rests, strict=False)
            for cited in str(ids).split(",")
            if cited.strip()
        ]
        named = (reply.pairs, [(name, cited) for name, ids in official for cited in ids])
        counts = [{"strict": count(pairs, gold) if rests else None} for pairs in named]
        ended = not all(name in names and set(ids) <= set(known) for name, ids in official)
        parsed = f"pairs {len(reply.pairs)}"
        scores.append(_score(task, item, {}, counts, ended=ended, parsed=parsed, problems=reply.problems))
    return scores


def _answers(items: Sequence[Item], responses: Sequence[str]) -> list[Answer]:
    return [read_answer(response, item.fields["sentence_ids"]) for item, response in zip(items, responses, strict=True)]


def _cited_counts(labels: Mapping[str, str], cited: Sequence[str]) -> dict[str, Counts | None]:
    return {
        which: count(cited, positives(labels, lenient=which == "lenient")) if labels else None
        for which in ("strict", "lenient")
    }


def _named_counts(labels: Mapping[str, str], ids: Sequence[str]) -> dict[str, Counts | None]:
    """By the rule of 2026: where supplementary sentences are passed over, the right ones are the same."""
    right, either = positives(labels, lenient=False), positives(labels, lenient=True)
    kept = set(ids) - (set(either) - set(right))
    return {which: count(some, right) if labels else None for which, some in (("strict", ids), ("lenient", kept))}


def _names(task: TaskSpec) -> frozenset[str]:
    return frozenset(metric.name for metric in task.metrics)


def _score(
    task: TaskSpec,
    item: Item,
    values: Mapping[str, float],
    counts: Sequence[Mapping[str, Counts | None]] = (),
    *,
    ended: bool,
    parsed: str,
    problems: Sequence[str] = (),
) -> ItemScore:
    every: dict[str, float] = dict(values)
    weights: dict[str, float] = {}
    for theirs, counted in enumerate(counts):
        shares, of = factuality_values(_kind(task), counted, official=bool(theirs))
        every |= shares
        weights |= of
    if ended:
        every = {name: value for name, value in every.items() if not name.endswith(OFFICIAL)}
    why = "; ".join((*problems, *([ENDS[_kind(task)]] if ended else [])))
    return ItemScore(id=item.id, values=every, parsed=parsed, why=why, weights=weights)


def _cited(ids: Iterable[str], item: Item, *more: str) -> str:
    """`ids 1 2, unknown 1, words 40`. An id that the note does not have can be any word, and is only counted."""
    each = list(ids)
    known = [cited for cited in each if cited in item.fields["sentence_ids"]]
    shown = " ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
    unknown = [f"unknown {len(each) - len(known)}"] if len(each) > len(known) else []
    return ", ".join((f"ids {shown}" if known else "no ids", *unknown, *more))


_SCORED: Final[
    Mapping[str, Callable[[TaskSpec, Sequence[Item], Sequence[str], Mapping[str, str]], list[ItemScore]]]
] = {"cited": _cited_answers, "answer": _texts, "question": _texts, "evidence": _evidence, "alignment": _alignment}


@dataclass(frozen=True, kw_only=True, slots=True)
class OfficialAnswer:
    """An answer as the script has it; without citations it ends with an error."""

    text: str  # at most 75 words between spaces
    citations: tuple[str, ...]  # each once, in order of first mention; spaces are part of them


def official_answer(answer: str) -> OfficialAnswer:
    """Reads an answer (what a submission has as `answer`) as the script does.

    Ids stay as they stand (`|1, 2|` cites `1` and ` 2`), and the citations of what is cut off count.
    """
    sentences: list[str] = []
    citations: list[str] = []
    for line in answer.strip().split("\n"):
        if not line.strip():
            continue
        parts = line.rsplit("|", 2)
        if len(parts) == 3:  # text, ids and what stands behind them
            citations += [cited for cited in parts[1].split(",") if cited.strip()]
            line = parts[0]
        sentence = line.strip()
        if sentence:
            sentences.append(sentence if sentence.endswith(SENTENCE_ENDS) else f"{sentence}.")
    text = " ".join(sentences)
    words = [word for word in text.split(" ") if word.strip()]
    if len(words) > WORD_LIMIT:
        text = " ".join(words[:WORD_LIMIT])
    return OfficialAnswer(text=text, citations=tuple(dict.fromkeys(citations)))


def official_text(prediction: str, limit: int) -> str:
    """Reads a question or an answer of 2026: as it is, or its first words where it has more than the limit; "" ends the script."""
    words = prediction.split()
    return prediction.strip() if len(words) <= limit else " ".join(words[:limit])


def has_bleu(text: str) -> bool:
    """Whether BLEU has a figure; of a text without tokens (also `<skipped>`) it divides by zero, which ends the script."""
    return bool(tokenize_13a(text))


def official_ids(reply: str, otherwise: Sequence[str]) -> tuple[str, ...]:
    """The ids that a submission with this reply has: those of a JSON list of ids, as submissions have it, else `otherwise`."""
    value = _json_list(reply)
    return tuple(value if _are_texts(value) else otherwise)


def official_alignment(reply: str, otherwise: Sequence[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The answer's sentences that a submission with this reply has, each with its evidence; like `official_ids`."""
    value = _json_list(reply)
    if isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("answer_id"), str) and _are_texts(each.get("evidence_id"))
        for each in value
    ):
        return tuple((each["answer_id"], tuple(each["evidence_id"])) for each in value)
    return tuple((answer, (cited,)) for answer, cited in otherwise)


def _json_list(reply: str) -> Any:
    """The list that a reply is as a whole; None of any other. What is JSON as it stands has no reasoning."""
    for text in (reply.strip(), spoken(reply).strip()):
        try:
            value = json.loads(text) if text.startswith("[") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):
            return value
    return None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
