r"""Scores ArchEHR-QA's answers: their citations, their similarity to the references, and their form.

Soni and Demner-Fushman 2025, https://arxiv.org/abs/2506.04156; reference
implementations: https://github.com/soni-sarvesh/archehr-qa (771b948) and
https://github.com/soni-sarvesh/archehr-qa-2026 (344b67e).

    medical-tasks score archehr_together --responses answers.jsonl

`_official` metrics follow the scripts, bug for bug; answers of `declarations.ENDS` stop
a script. `parsed` quotes no text. Micro figures add up cases before they divide, macro
figures are means. BERTScore may be below 0, and MEDCON above 1.

| 2025 | here | script, and `_official` |
|---|---|---|
| ids | trimmed, ranges expanded | verbatim: `\|1, 2\|` cites `1` and ` 2`, which is wrong |
| `\|1\|\|2\|`, two cited sentences in a line | both | the last |
| text after the last bar | read | dropped |
| `[1]` | a citation | text |
| citations beyond 75 words | do not count | count |
| words | split at white space | split at spaces only |
| a share of nothing | `nan`, not in the mean | 0, in the mean |

| 2026 | here | scripts, and `_official` |
|---|---|---|
| question | unfenced; cut at 15 words, or at the length of a longer clinician's question | verbatim, cut at 15 words |
| answer | citations removed, full stops added | verbatim |
| ids | any list found, `01` is 1; unknown ones are wrong | verbatim; an unknown one ends the script |
| evidence, nothing named and nothing essential | `nan`, not in the mean | 1, in the mean |
| alignment, a share of nothing | `nan`, not in the mean | 0, in the mean |
| alignment, a key without citations | not compared | 0, 0, 0 |

Where a script ends with an error, all `_official` metrics of the submission are n/a,
and `why` names the items. The 2025 script ends at an answer without citations or words;
those of 2026 at an empty question or answer, an answer without a BLEU token
(`<skipped>`), an evidence id that the note lacks, and an unknown `answer_id` or id in
an alignment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeGuard

from medical_tasks.benchmarks.archehr_qa.declarations import (
    ENDS,
    OFFICIAL,
    WORD_LIMIT,
    share_name,
)
from medical_tasks.benchmarks.archehr_qa.parsing import (
    NO_IDS,
    OPEN_GROUP,
    PROBLEMS,
    SENTENCE_ENDS,
    Answer,
    Reply,
    read_alignment,
    read_answer,
    read_evidence,
    read_ids,
    unfenced,
)
from medical_tasks.benchmarks.archehr_qa.prompts import QUESTION_WORDS
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_text
from medical_tasks.models import text_metrics
from medical_tasks.models.bertscore import DISTILBERT_LAYER_4, bertscore_identity
from medical_tasks.models.text_metrics import (
    MODEL_METRICS,
    ModelMetric,
    bertscores,
    concept_pairs,
    medcon_identity,
)
from medical_tasks.scoring.bleu_and_sari import tokenize_13a
from medical_tasks.scoring.content_overlap import medcon
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.spec import Item, ItemScore, TaskSpec

_NOTES: Final = "_notes"
_MOST_MEDCON: Final = 2.0
_SHOWN: Final = 60

NOTE_WORDS: Final = frozenset(
    " ".join(
        (
            "ids no unknown words and more pairs",
            *PROBLEMS,
            NO_IDS,
            OPEN_GROUP,
            *ENDS.values(),
        )
    )
    .replace(":", " ")
    .split()
)
"""The words of `parsed` and `why`, beside numbers."""


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    arguments: Mapping[str, str] | None = None,
    readings: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the replies to a task's items; any text has a score.

    Args:
        task: one of the benchmark's tasks.
        items: its cases.
        responses: the model's replies, one for each case.
        arguments: the values of `TaskSpec.scoring_arguments`, each of which adds metrics.
        readings: maps item ids to the ids of the cited sentences, as a person read them
            in the reply.
    """
    arguments = arguments or {}
    check_scoring_args(task, arguments)
    check_lengths(task, items, responses)
    if len({item.id for item in items}) != len(items):
        raise UsageError(
            f"{task.name}: two items have the same id. Give each item one response."
        )

    kind = _kind(task)
    if kind == "cited":
        return _cited_answers(task, items, responses, arguments, readings or {})
    if kind == "evidence":
        return _evidence(task, items, responses, readings or {})
    if kind == "alignment":
        return _alignment(task, items, responses)

    return _texts(task, items, responses, arguments)


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, object]:
    """The identity of everything that determines the metrics of a task's `scoring_arguments`; loads no weights."""
    check_scoring_args(task, arguments)
    return text_metrics.identity_of_models(_MODELS, arguments)


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
    """Limits of MEDCON: at most all of the reference's terms are shared, so that F1 stays below 2."""
    return dict.fromkeys(
        (name for name in _names(task) if name.startswith("medcon")),
        (0.0, _MOST_MEDCON),
    )


def _kind(task: TaskSpec) -> str:
    return "cited" if "steps" in task.options else task.options["form"]


def _cited_answers(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    arguments: Mapping[str, str],
    readings: Mapping[str, str],
) -> list[ItemScore]:
    """Scores answers that cite sentences of the note, by their citations and their words.

    Everything is read twice: by our reader, and by the official script's rules, which
    cut and clean an answer differently. If a person read an unclear reply (`readings`),
    that person's citations count.
    """
    answers = [
        replace(answer, citations=_read_as(item, readings[item.id]), unclear="")
        if item.id in readings
        else answer
        for item, answer in zip(items, _answers(items, responses), strict=True)
    ]
    official_answers = [
        official_answer(without_reasoning(response).strip()) for response in responses
    ]
    texts = [answer.text for answer in answers]
    compared = {
        "": list(map(answer_comparison, items, texts)),
        _NOTES: list(map(notes_comparison, items, texts)),
        OFFICIAL: [
            notes_comparison(item, answer.text)
            for item, answer in zip(items, official_answers, strict=True)
        ],
    }
    metrics = relevance_values(compared, arguments, reported=_names(task))
    scores: list[ItemScore] = []
    for item, answer, official, values in zip(
        items, answers, official_answers, metrics, strict=True
    ):
        labels = labels_of(item)
        values |= {"valid": float(not answer.problems), "words": float(answer.words)}
        stops_script = not (official.citations and has_bleu(official.text))
        scores.append(
            _score(
                task,
                item,
                values,
                [
                    _cited_counts(labels, cited)
                    for cited in (answer.citations, official.citations)
                ],
                ended=bool(labels) and stops_script,
                parsed=_cited(answer.citations, item, f"words {answer.words}"),
                problems=answer.problems,
                unclear=answer.unclear,
            )
        )

    return scores


def _cited_counts(
    labels: Mapping[str, str], cited: Sequence[str]
) -> dict[str, Counts | None]:
    """Counts by the rule of 2025, where a lenient reading also expects supplementary sentences."""
    return {
        which: count(cited, positives(labels, lenient=which == "lenient"))
        if labels
        else None
        for which in ("strict", "lenient")
    }


def _read_as(item: Item, reading: str) -> tuple[str, ...]:
    """The sentences that a person read in a reply."""
    return read_ids(reading, item.fields["sentence_ids"])


def _texts(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    arguments: Mapping[str, str],
) -> list[ItemScore]:
    """Scores texts without citations, answers or questions, by their words.

    Our metrics and the official ones cut a text that is too long at different points.
    """
    replies = [without_reasoning(response).strip() for response in responses]
    compare: Callable[[Item, str], Comparison | None]
    has_figure: Callable[[str], bool]
    if task.options["form"] == "answer":
        answers = _answers(items, responses)
        texts = [answer.text for answer in answers]
        counts = [answer.words for answer in answers]
        compare = partial(answer_comparison, narrative=True)
        limit, has_figure = WORD_LIMIT, has_bleu
    else:
        words = [unfenced(reply).split() for reply in replies]
        texts = list(map(_shortened_question, items, words))
        counts = list(map(len, words))
        compare, limit, has_figure = question_comparison, QUESTION_WORDS, bool

    official = [official_text(reply, limit) for reply in replies]
    compared = {
        "": list(map(compare, items, texts)),
        OFFICIAL: list(map(compare, items, official)),
    }
    metrics = relevance_values(compared, arguments, reported=_names(task))

    return [
        _score(
            task,
            item,
            {**values, "words": float(n_words)},
            ended=not has_figure(text),
            parsed=f"words {n_words}",
        )
        for item, values, text, n_words in zip(
            items, metrics, official, counts, strict=True
        )
    ]


def _shortened_question(item: Item, words: Sequence[str]) -> str:
    """The first words of a question, up to the limit or, unlike in the script, to the clinician's own length."""
    own_length = len(str(item.fields["clinician_question"]).split())
    return " ".join(words[: max(QUESTION_WORDS, own_length)])


def _evidence(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    readings: Mapping[str, str],
) -> list[ItemScore]:
    """Scores lists of sentence ids by which of them are needed.

    The official script has no figure for a list with a sentence that the note lacks.
    """
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        sentence_ids, labels = item.fields["sentence_ids"], labels_of(item)
        reply = read_evidence(response, sentence_ids)
        official = official_ids(response, reply.cited)
        if item.id in readings:
            reply = Reply(cited=_read_as(item, readings[item.id]))

        scores.append(
            _score(
                task,
                item,
                {},
                [_named_counts(labels, ids) for ids in (reply.cited, official)],
                ended=not set(official) <= set(sentence_ids),
                parsed=_cited(reply.cited, item),
                problems=reply.problems,
                unclear=reply.unclear,
            )
        )

    return scores


def _alignment(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str]
) -> list[ItemScore]:
    """Scores links of an answer's sentences to the note's, pair by pair.

    Example: sentence 1 of the answer is based on 2 and 3 of the note. A reply that links
    it to 2 and 4 has one of two pairs, and a wrong one: precision and recall are 1/2.
    """
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        sentence_ids = item.fields["sentence_ids"]
        citations = item.fields["answer_citations"]
        names = item.fields.get("answer_sentence_ids") or [
            str(number) for number, _ in enumerate(citations, start=1)
        ]
        reply = read_alignment(response, sentence_ids, names)
        official = official_alignment(response, reply.cited)
        official_pairs = [(name, cited) for name, ids in official for cited in ids]
        gold = [
            (name, cited.strip())
            for name, ids in zip(names, citations, strict=False)
            for cited in str(ids).split(",")
            if cited.strip()
        ]
        counts = [
            {"strict": count(pairs, gold) if citations else None}
            for pairs in (reply.cited, official_pairs)
        ]
        ended = not all(
            name in names and set(ids) <= set(sentence_ids) for name, ids in official
        )
        scores.append(
            _score(
                task,
                item,
                {},
                counts,
                ended=ended,
                parsed=f"pairs {len(reply.cited)}",
                problems=reply.problems,
            )
        )

    return scores


def _answers(items: Sequence[Item], responses: Sequence[str]) -> list[Answer]:
    return [
        read_answer(response, item.fields["sentence_ids"])
        for item, response in zip(items, responses, strict=True)
    ]


def _named_counts(
    labels: Mapping[str, str], ids: Sequence[str]
) -> dict[str, Counts | None]:
    """Counts by the rule of 2026, where the lenient reading ignores supplementary sentences.

    The expected sentences are the same in both readings.
    """
    right, either = positives(labels, lenient=False), positives(labels, lenient=True)
    kept = set(ids) - (set(either) - set(right))
    return {
        which: count(cited, right) if labels else None
        for which, cited in (("strict", ids), ("lenient", kept))
    }


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
    unclear: str = "",
) -> ItemScore:
    """Builds an item's score.

    Args:
        task: the subtask.
        item: the case.
        values: metrics of texts.
        counts: counts of citations: ours, then the official script's.
        ended: whether the organizers' script stops at the reply (`ENDS`).
        parsed: the parsed reply, for people who look at the item.
        problems: problems of the reply's form.
        unclear: why it leaves open what it cites; its metrics then have limits.

    Returns:
        The score; without official figures if the script stops, since a submission with
        such a reply has none.
    """
    every: dict[str, float] = dict(values)
    weights: dict[str, float] = {}
    for own_counts, is_official in zip(counts, (False, True), strict=False):
        shares, denominators = factuality_values(
            _kind(task), own_counts, official=is_official
        )
        every |= shares
        weights |= denominators

    if ended:
        every = {
            name: value for name, value in every.items() if not name.endswith(OFFICIAL)
        }

    why = "; ".join((*problems, *([ENDS[_kind(task)]] if ended else [])))
    return ItemScore(
        id=item.id,
        values=every,
        parsed=parsed,
        why=why,
        unclear=unclear,
        limits=_open_limits(task, item, every, weights) if unclear else {},
        weights=weights,
    )


def _open_limits(
    task: TaskSpec,
    item: Item,
    values: Mapping[str, float],
    weights: Mapping[str, float],
) -> dict[str, tuple[float, float]]:
    """The limits of a reply that leaves open which sentences it cites.

    The number of cited sentences, the denominator of pooled shares, is unknown too: the
    limits of their numerators are wide enough for any, at the counted denominator.

    Example: "one of 2 and 4" counts as citing nothing in the note; recall of two right
    sentences lies between 0 and 1, whichever were meant.
    """
    sentences = len(item.fields["sentence_ids"])
    right = len(positives(labels_of(item), lenient=True))
    limits: dict[str, tuple[float, float]] = {}
    for metric in filter(lambda metric: metric.read, task.metrics):
        weight = weights.get(metric.name, 0.0)
        if metric.kind == "ratio" and weight and "recall" not in metric.name:
            limits[metric.name] = (-sentences / weight, max(1.0, 2 * right / weight))
        elif not math.isnan(values.get(metric.name, math.nan)):
            limits[metric.name] = (0.0, 1.0)

    return limits


def _cited(ids: Iterable[str], item: Item, *more: str) -> str:
    """`ids 1 2, unknown 1, words 40`; an id that the note lacks may be any word, and is only counted."""
    listed = list(ids)
    in_note = [cited for cited in listed if cited in item.fields["sentence_ids"]]
    shown = " ".join(in_note[:_SHOWN])
    if len(in_note) > _SHOWN:
        shown += f" and {len(in_note) - _SHOWN} more"

    n_unknown = len(listed) - len(in_note)
    unknown = [f"unknown {n_unknown}"] if n_unknown else []
    return ", ".join((f"ids {shown}" if in_note else "no ids", *unknown, *more))


@dataclass(frozen=True, kw_only=True, slots=True)
class OfficialAnswer:
    """An answer as the script reads it; without citations the script stops with an error.

    Attributes:
        text: at most 75 words, separated by spaces.
        citations: the cited ids without repeats, in order of first mention; spaces are
            part of them.
    """

    text: str
    citations: tuple[str, ...]


def official_answer(answer: str) -> OfficialAnswer:
    """Reads the `answer` of a submission as the script does.

    Ids keep their spaces (`|1, 2|` cites `1` and ` 2`), and citations of text that is
    cut off count.
    """
    sentences: list[str] = []
    citations: list[str] = []
    for line in answer.strip().split("\n"):
        if not line.strip():
            continue

        pieces = line.rsplit("|", 2)
        if len(pieces) == 3:  # text, ids and the rest
            citations += [cited for cited in pieces[1].split(",") if cited.strip()]
            line = pieces[0]

        sentence = line.strip()
        if sentence:
            sentences.append(
                sentence if sentence.endswith(SENTENCE_ENDS) else f"{sentence}."
            )

    text = " ".join(sentences)
    words = [word for word in text.split(" ") if word.strip()]
    if len(words) > WORD_LIMIT:
        text = " ".join(words[:WORD_LIMIT])

    return OfficialAnswer(text=text, citations=tuple(dict.fromkeys(citations)))


def official_text(prediction: str, limit: int) -> str:
    """Reads a question or an answer of 2026: unchanged, or its first words up to the limit; "" stops the script."""
    words = prediction.split()
    return prediction.strip() if len(words) <= limit else " ".join(words[:limit])


def has_bleu(text: str) -> bool:
    """Whether BLEU is defined; a text without tokens (also `<skipped>`) stops the script with a division by zero."""
    return bool(tokenize_13a(text))


def official_ids(reply: str, otherwise: Sequence[str]) -> tuple[str, ...]:
    """The ids of a submission with this reply: a JSON list of ids as in submissions, else `otherwise`."""
    value = _json_list(reply)
    return tuple(value if _are_texts(value) else otherwise)


def official_alignment(
    reply: str, otherwise: Sequence[tuple[str, str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The answer's sentences with their evidence in a submission with this reply; see `official_ids`."""
    value = _json_list(reply)
    if isinstance(value, list) and all(
        isinstance(link, dict)
        and isinstance(link.get("answer_id"), str)
        and _are_texts(link.get("evidence_id"))
        for link in value
    ):
        return tuple((link["answer_id"], tuple(link["evidence_id"])) for link in value)

    return tuple((answer, (cited,)) for answer, cited in otherwise)


def _json_list(reply: str) -> object:
    """The JSON list of a reply, before reasoning is removed or after; None for any other reply."""
    for text in (reply.strip(), without_reasoning(reply).strip()):
        try:
            value = json.loads(text) if text.startswith("[") else None
        except (ValueError, RecursionError):
            continue

        if isinstance(value, list):
            return value

    return None


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


ESSENTIAL: Final = "essential"
SUPPLEMENTARY: Final = "supplementary"

_RATIOS: Final = ("f1", "precision", "recall")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of sentences: cited and right, cited and wrong, right but missed."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    def ratios(self) -> dict[str, tuple[int, int]]:
        """Numerator and denominator of `precision`, `recall` and `f1`."""
        cited, right = self.hits + self.wrong, self.hits + self.missed
        return {
            "precision": (self.hits, cited),
            "recall": (self.hits, right),
            "f1": (2 * self.hits, cited + right),
        }


def positives(labels: Mapping[str, str], *, lenient: bool) -> tuple[str, ...]:
    """The sentences that are right to cite, in the note's order; `lenient` includes supplementary ones."""
    right = (ESSENTIAL, SUPPLEMENTARY) if lenient else (ESSENTIAL,)
    return tuple(sentence for sentence, label in labels.items() if label in right)


def count(cited: Collection[Hashable], right: Collection[Hashable]) -> Counts:
    """Counts a case; repeated citations count once.

    Example: cited are 2, 3 and 9, right are 2 and 4: one hit, two wrong, one missed.
    """
    named, true = frozenset(cited), frozenset(right)
    return Counts(
        hits=len(named & true), wrong=len(named - true), missed=len(true - named)
    )


def factuality_values(
    kind: str, counted: Mapping[str, Counts | None], *, official: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Computes an item's metrics from its counts, and the denominators of pooled ones.

    Micro figures add up the cases' counts before they divide, so that each needs its
    denominator as a weight; macro figures are means of the cases' shares. Example: of
    cases with 1 of 2 and 3 of 3 cited sentences right, micro precision is 4/5, macro
    precision 3/4.

    Args:
        kind: kind of task, which determines the metrics' names.
        counted: the counts by `strict` and `lenient`; None if nothing can be right.
        official: whether an empty share is 0, as in the scripts, instead of nan; in the
            subtask of evidence it is 1 if nothing is named and nothing right.
    """
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    suffix = OFFICIAL if official else ""
    for which, counts in counted.items():
        ratios = {} if counts is None else counts.ratios()
        nothing = math.nan
        if official and counts is not None:
            nothing = float(kind == "evidence" and counts == Counts())

        for ratio in _RATIOS:
            numerator, denominator = ratios.get(ratio, (0, 0))
            share = numerator / denominator if denominator else nothing
            micro = f"{share_name(kind, which, 'micro', ratio)}{suffix}"
            macro = f"{share_name(kind, which, 'macro', ratio)}{suffix}"
            values[micro] = values[macro] = share
            weights[micro] = float(denominator)

    if kind != "cited":
        headline = f"{share_name(kind, 'strict', 'micro', 'f1')}{suffix}"
        values[f"overall_score{suffix}"] = values[headline]
        weights[f"overall_score{suffix}"] = weights[headline]

    return values, weights


WORD_METRICS: Final = ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari")
"""The metrics that need only words."""

_APART: Final = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A text and its references.

    Attributes:
        prediction: the text without citations.
        reference: the reference of all metrics but SARI.
        source: SARI's source, the rewritten text.
        target: SARI's reference.
    """

    prediction: str
    reference: str
    source: str
    target: str


def labels_of(item: Item) -> dict[str, str]:
    """The labels of the note's sentences by id, in order; empty if the key has none."""
    labels = item.fields["relevance"]
    return dict(zip(item.fields["sentence_ids"], labels, strict=True)) if labels else {}


def answer_comparison(
    item: Item, prediction: str, *, narrative: bool = False
) -> Comparison | None:
    """Compares with the clinician's answer, None if it is not released; SARI's source is the questions or the narrative."""
    source = (
        str(item.fields["patient_narrative"]).strip() if narrative else _questions(item)
    )
    return _compared(item.fields["clinician_answer"], prediction, source)


def notes_comparison(item: Item, prediction: str) -> Comparison | None:
    """Compares an answer with the questions and the essential sentences, None if these are unknown."""
    labels = labels_of(item)
    if not labels:
        return None

    texts = dict(
        zip(item.fields["sentence_ids"], item.fields["sentences"], strict=True)
    )
    essential = "\n".join(
        str(texts[sentence]).strip() for sentence in positives(labels, lenient=False)
    )
    both_questions = _questions(item)

    return Comparison(
        prediction=prediction,
        reference=f"{both_questions}{_APART}{essential}",
        source=both_questions,
        target=essential,
    )


def question_comparison(item: Item, prediction: str) -> Comparison | None:
    """Compares a question about the patient's narrative with the clinician's, None if there is none."""
    return _compared(
        item.fields["clinician_question"],
        prediction,
        str(item.fields["patient_narrative"]).strip(),
    )


def _compared(reference: object, prediction: str, source: str) -> Comparison | None:
    text = str(reference).strip()
    return (
        Comparison(prediction=prediction, reference=text, source=source, target=text)
        if text
        else None
    )


def relevance_values(
    compared: Mapping[str, Sequence[Comparison | None]],
    arguments: Mapping[str, str],
    *,
    reported: Collection[str],
) -> list[dict[str, float]]:
    """Computes the metrics of texts for each item, and equal comparisons only once.

    Args:
        compared: one comparison per item, by the suffix of the metrics' names; None
            without a reference, which gives nan.
        arguments: checkpoints and indexes, by argument.
        reported: names of the metrics to compute.
    """
    modelled_names = [
        metric.name for argument, metric in _MODELS.items() if argument in arguments
    ]
    names = {
        suffix: [
            name
            for name in (*WORD_METRICS, *modelled_names)
            if f"{name}{suffix}" in reported
        ]
        for suffix in compared
    }
    different: dict[Comparison, set[str]] = {}
    for suffix, comparisons in compared.items():
        for comparison in comparisons:
            if comparison is not None:
                different.setdefault(comparison, set()).update(names[suffix])

    texts: list[Texts] = list(
        dict.fromkeys(
            (comparison.prediction, comparison.reference) for comparison in different
        )
    )
    modelled = dict(zip(texts, model_metrics(texts, arguments), strict=True))
    computed = {
        comparison: word_metrics(comparison, words)
        | modelled[comparison.prediction, comparison.reference]
        for comparison, words in different.items()
    }

    return [
        {
            f"{name}{suffix}": math.nan
            if comparison is None
            else computed[comparison][name]
            for suffix, comparison in zip(compared, row, strict=True)
            for name in names[suffix]
        }
        for row in zip(*compared.values(), strict=True)
    ]


def word_metrics(comparison: Comparison, names: Collection[str]) -> dict[str, float]:
    """Computes the named ones of `WORD_METRICS`, from 0 to 1; BLEU is not smoothed: 0 without four common tokens in a row."""
    values = text_metrics.word_metrics(
        comparison.prediction, comparison.reference, {*names} - {"sari"}
    )
    if "sari" in names:
        values |= text_metrics.word_metrics(
            comparison.prediction,
            comparison.target,
            ("sari",),
            source=comparison.source,
        )

    return values


def _questions(item: Item) -> str:
    narrative, question = (
        str(item.fields[name]).strip()
        for name in ("patient_narrative", "clinician_question")
    )
    return f"{narrative}{_APART}{question}"


Texts = tuple[str, str]
"""A prediction and its reference."""

BERTSCORE_LAYER: Final = 4
MEDCON_VARIANT: Final = "archehr"

_ENCODER: Final = "distilbert"


def model_metrics(
    texts: Sequence[Texts], arguments: Mapping[str, str]
) -> list[dict[str, float]]:
    """Computes the metrics of the given checkpoints and indexes, in the order of the texts."""
    return text_metrics.metrics_of_models(_MODELS, arguments, texts)


def _bertscore(folder: str, texts: Sequence[Texts]) -> list[float]:
    _check_encoder(folder)
    return [
        score.rescaled(DISTILBERT_LAYER_4).f1
        for score in bertscores(folder, BERTSCORE_LAYER, texts)
    ]


def _bertscore_identity(folder: str) -> dict[str, object]:
    _check_encoder(folder)
    return {
        **bertscore_identity(folder, layer=BERTSCORE_LAYER),
        "rescaled_f1": DISTILBERT_LAYER_4.f1,
    }


def _check_encoder(folder: str) -> None:
    """Refuses another encoder than that of the baseline; errors of loading appear when it is opened."""
    path = Path(folder).expanduser() / "config.json"
    if not path.is_file():
        return

    try:
        config = json.loads(read_text(path))
    except ValueError:
        return

    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind != _ENCODER:
        raise UsageError(
            f"bertscore: {folder} is an encoder of the kind {kind!r}, and the baseline that its "
            "numbers are rescaled by is that of "
            "distilbert-base-uncased. Give a folder of that checkpoint."
        )


_MODELS: Final[Mapping[str, ModelMetric]] = {
    "bertscore": replace(
        MODEL_METRICS["bertscore"], compute=_bertscore, identity=_bertscore_identity
    ),
    "umls": replace(
        MODEL_METRICS["umls"],
        compute=lambda folder, texts: [
            medcon(*concept_pair).f1
            for concept_pair in concept_pairs(folder, MEDCON_VARIANT, texts)
        ],
        identity=partial(medcon_identity, variant=MEDCON_VARIANT),
    ),
    "alignscore": MODEL_METRICS["alignscore"],
}
"""The metrics that scoring arguments add."""
