r"""Scores the answers of ArchEHR-QA: what they cite, how like the references they are, their form.

Soni and Demner-Fushman 2025, https://arxiv.org/abs/2506.04156; reference
implementations: https://github.com/soni-sarvesh/archehr-qa (771b948) and
https://github.com/soni-sarvesh/archehr-qa-2026 (344b67e).

    medical-tasks score archehr_together --responses answers.jsonl

`_official` is the scripts' reading, bug for bug; `spec.ENDS` ends it. `parsed` quotes
no text. Micro figures add up over cases before they divide, macro figures are means.
BERTScore may be below 0, and MEDCON above 1.

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
"""What `parsed` and `why` are made of, beside numbers."""


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    arguments: Mapping[str, str] | None = None,
    readings: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the replies to a task's items; any text has a score.

    Each of the `scoring_arguments` adds its metrics.

    `readings`: item id to the ids of the sentences that a reply cites, as somebody read
    it.
    """
    given = arguments or {}
    check_scoring_args(task, given)
    check_lengths(task, items, responses)
    if len({item.id for item in items}) != len(items):
        raise UsageError(
            f"{task.name}: two items have the same id. Give each item one response."
        )

    kind = _kind(task)
    if kind == "cited":
        return _cited_answers(task, items, responses, given, readings or {})
    if kind == "evidence":
        return _evidence(task, items, responses, readings or {})

    return (_alignment if kind == "alignment" else _texts)(
        task, items, responses, given
    )


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, object]:
    """Says what decides the metrics that a task's `scoring_arguments` add, for the recipe.

    Loads no weights.
    """
    check_scoring_args(task, arguments)
    return text_metrics.identity_of_models(_MODELS, arguments)


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
    """Limits of MEDCON, which has no largest value.

    At most all of the reference's terms are shared, so however many synonyms they have,
    F1 stays below 2.
    """
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
    given: Mapping[str, str],
    readings: Mapping[str, str],
) -> list[ItemScore]:
    """Scores answers that cite sentences of the note: by what they cite, and by their words.

    Everything is read twice: as a person would, and as the official script does, which
    cuts and cleans an answer in its own way. Where a person has read an unclear reply
    (`readings`), its citations are what that person saw.
    """
    answers = [
        replace(answer, citations=_read_as(item, readings[item.id]), unclear="")
        if item.id in readings
        else answer
        for item, answer in zip(items, _answers(items, responses), strict=True)
    ]
    theirs = [
        official_answer(without_reasoning(response).strip()) for response in responses
    ]
    texts = [answer.text for answer in answers]
    compared = {
        "": list(map(answer_comparison, items, texts)),
        _NOTES: list(map(notes_comparison, items, texts)),
        OFFICIAL: [
            notes_comparison(item, answer.text)
            for item, answer in zip(items, theirs, strict=True)
        ],
    }
    scores: list[ItemScore] = []
    for item, answer, official, values in zip(
        items,
        answers,
        theirs,
        relevance_values(compared, given, wanted=_names(task)),
        strict=True,
    ):
        labels = labels_of(item)
        values |= {"valid": float(not answer.problems), "words": float(answer.words)}
        scores.append(
            _score(
                task,
                item,
                values,
                [
                    {
                        which: count(
                            cited, positives(labels, lenient=which == "lenient")
                        )
                        if labels
                        else None
                        for which in ("strict", "lenient")
                    }
                    for cited in (answer.citations, official.citations)
                ],
                ended=bool(labels)
                and not (official.citations and has_bleu(official.text)),
                parsed=_cited(answer.citations, item, f"words {answer.words}"),
                problems=answer.problems,
                unclear=answer.unclear,
            )
        )

    return scores


def _read_as(item: Item, reading: str) -> tuple[str, ...]:
    """The sentences that somebody read in a reply."""
    return read_ids(reading, item.fields["sentence_ids"])


def _texts(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    given: Mapping[str, str],
) -> list[ItemScore]:
    """Scores texts without citations, answers or questions, by their words.

    Ours and the official script's differ in where they cut a text that is too long.
    """
    replies = [without_reasoning(response).strip() for response in responses]
    compare: Callable[[Item, str], Comparison | None]
    has_figure: Callable[[str], bool]
    if task.options["form"] == "answer":
        answers = _answers(items, responses)
        ours, words = (
            [answer.text for answer in answers],
            [answer.words for answer in answers],
        )
        compare, limit, has_figure = (
            partial(answer_comparison, narrative=True),
            WORD_LIMIT,
            has_bleu,
        )
    else:
        words_of = [unfenced(text).split() for text in replies]
        # A clinician's question may be longer than the limit itself: it has full marks
        # here, and not by the script.
        most = [
            max(QUESTION_WORDS, len(str(item.fields["clinician_question"]).split()))
            for item in items
        ]
        ours, words = (
            [
                " ".join(words_kept[:of])
                for words_kept, of in zip(words_of, most, strict=True)
            ],
            list(map(len, words_of)),
        )
        compare, limit, has_figure = question_comparison, QUESTION_WORDS, bool

    theirs = [official_text(text, limit) for text in replies]
    compared = {
        "": list(map(compare, items, ours)),
        OFFICIAL: list(map(compare, items, theirs)),
    }
    metrics = relevance_values(compared, given, wanted=_names(task))

    return [
        _score(
            task,
            item,
            {**values, "words": float(of)},
            ended=not has_figure(text),
            parsed=f"words {of}",
        )
        for item, values, text, of in zip(items, metrics, theirs, words, strict=True)
    ]


def _evidence(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    readings: Mapping[str, str],
) -> list[ItemScore]:
    """Scores lists of sentences' ids by which of them are needed.

    The official script has no figure for a list that names a sentence which is not in
    the note.
    """
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        known, labels = item.fields["sentence_ids"], labels_of(item)
        reply = read_evidence(response, known)
        official = official_ids(response, reply.found)
        if item.id in readings:
            reply = Reply(found=_read_as(item, readings[item.id]))

        scores.append(
            _score(
                task,
                item,
                {},
                [_named_counts(labels, ids) for ids in (reply.found, official)],
                ended=not set(official) <= set(known),
                parsed=_cited(reply.found, item),
                problems=reply.problems,
                unclear=reply.unclear,
            )
        )

    return scores


def _alignment(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    given: Mapping[str, str],
) -> list[ItemScore]:
    """Scores links of an answer's sentences to the note's, pair by pair.

    Example: sentence 1 of the answer rests on 2 and 3 of the note. A reply that links
    it to 2 and 4 has one of two pairs, and one that is wrong: precision and recall are
    1/2.
    """
    scores: list[ItemScore] = []
    for item, response in zip(items, responses, strict=True):
        known, rests = item.fields["sentence_ids"], item.fields["answer_citations"]
        names = item.fields.get("answer_sentence_ids") or [
            str(place) for place, _ in enumerate(rests, start=1)
        ]
        reply = read_alignment(response, known, names)
        official = official_alignment(response, reply.found)
        gold = [
            (name, cited.strip())
            for name, ids in zip(names, rests, strict=False)
            for cited in str(ids).split(",")
            if cited.strip()
        ]
        named = (
            reply.found,
            [(name, cited) for name, ids in official for cited in ids],
        )
        counts = [{"strict": count(pairs, gold) if rests else None} for pairs in named]
        ended = not all(
            name in names and set(ids) <= set(known) for name, ids in official
        )
        parsed = f"pairs {len(reply.found)}"
        scores.append(
            _score(
                task,
                item,
                {},
                counts,
                ended=ended,
                parsed=parsed,
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
    """Counts by the rule of 2026, where supplementary sentences are passed over.

    The sentences that are right to cite are the same in both readings.
    """
    right, either = positives(labels, lenient=False), positives(labels, lenient=True)
    kept = set(ids) - (set(either) - set(right))
    return {
        which: count(some, right) if labels else None
        for which, some in (("strict", ids), ("lenient", kept))
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
    """Puts together an item's score.

    Args:
        task: the subtask.
        item: the case.
        values: scores of text, by metric.
        counts: verdicts on citations: ours, then the official script's.
        ended: whether the organizers' script stops at the reply (`ENDS`).
        parsed: what was read, for whoever looks at the item.
        problems: what is wrong with the reply's form.
        unclear: why it leaves open what it cites; its metrics then have limits.

    Returns:
        The score; without official figures where the script stops, since a submission
        with such a reply has none.
    """
    every: dict[str, float] = dict(values)
    weights: dict[str, float] = {}
    for theirs, counted in enumerate(counts):
        shares, of = factuality_values(_kind(task), counted, official=bool(theirs))
        every |= shares
        weights |= of

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
    """What the figures could be of a reply that leaves open which sentences it cites.

    Pooled shares are of the cited sentences, too, and their number is as open: the
    limits of their numerators are wide enough for any, at the denominator that is
    counted.

    Example: "one of 2 and 4" counts as citing nothing that the note has; recall of two
    right sentences lies between 0 and 1, whichever were meant.
    """
    sentences = len(item.fields["sentence_ids"])
    right = len(positives(labels_of(item), lenient=True))
    limits: dict[str, tuple[float, float]] = {}
    for metric in (each for each in task.metrics if each.read):
        weight = weights.get(metric.name, 0.0)
        if metric.kind == "ratio" and weight and "recall" not in metric.name:
            limits[metric.name] = (-sentences / weight, max(1.0, 2 * right / weight))
        elif not math.isnan(values.get(metric.name, math.nan)):
            limits[metric.name] = (0.0, 1.0)

    return limits


def _cited(ids: Iterable[str], item: Item, *more: str) -> str:
    """`ids 1 2, unknown 1, words 40`.

    An id that the note does not have can be any word, and is only counted.
    """
    listed = list(ids)
    known = [cited for cited in listed if cited in item.fields["sentence_ids"]]
    shown = " ".join(known[:_SHOWN]) + (
        f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    )
    unknown = (
        [f"unknown {len(listed) - len(known)}"] if len(listed) > len(known) else []
    )

    return ", ".join((f"ids {shown}" if known else "no ids", *unknown, *more))


@dataclass(frozen=True, kw_only=True, slots=True)
class OfficialAnswer:
    """An answer as the script has it; without citations it ends with an error.

    Attributes:
        text: at most 75 words between spaces.
        citations: each once, in order of first mention; spaces are part of them.
    """

    text: str
    citations: tuple[str, ...]


def official_answer(answer: str) -> OfficialAnswer:
    """Reads an answer (what a submission has as `answer`) as the script does.

    Ids stay as they stand (`|1, 2|` cites `1` and ` 2`), and the citations of what is
    cut off count.
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
            sentences.append(
                sentence if sentence.endswith(SENTENCE_ENDS) else f"{sentence}."
            )

    text = " ".join(sentences)
    words = [word for word in text.split(" ") if word.strip()]
    if len(words) > WORD_LIMIT:
        text = " ".join(words[:WORD_LIMIT])

    return OfficialAnswer(text=text, citations=tuple(dict.fromkeys(citations)))


def official_text(prediction: str, limit: int) -> str:
    """Reads a question or an answer of 2026.

    As it is, or its first words where it has more than the limit; "" ends the script.
    """
    words = prediction.split()
    return prediction.strip() if len(words) <= limit else " ".join(words[:limit])


def has_bleu(text: str) -> bool:
    """Whether BLEU has a figure.

    Of a text without tokens (also `<skipped>`) it divides by zero, which ends the
    script.
    """
    return bool(tokenize_13a(text))


def official_ids(reply: str, otherwise: Sequence[str]) -> tuple[str, ...]:
    """The ids that a submission with this reply has.

    Those of a JSON list of ids, as submissions have it, else `otherwise`.
    """
    value = _json_list(reply)
    return tuple(value if _are_texts(value) else otherwise)


def official_alignment(
    reply: str, otherwise: Sequence[tuple[str, str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The answer's sentences that a submission with this reply has, each with its evidence.

    Like `official_ids`.
    """
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
    """The list that a reply is as a whole; None of any other.

    What is JSON as it stands has no reasoning.
    """
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

_PARTS: Final = ("f1", "precision", "recall")


@dataclass(frozen=True, slots=True)
class Counts:
    """How cited and right sentences meet.

    Cited and right, cited and not right, right and not cited.
    """

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
    """The sentences that are right to cite, in the note's order.

    Lenient takes supplementary ones too.
    """
    right = (ESSENTIAL, SUPPLEMENTARY) if lenient else (ESSENTIAL,)
    return tuple(sentence for sentence, label in labels.items() if label in right)


def count(cited: Collection[Hashable], right: Collection[Hashable]) -> Counts:
    """Counts a case; what is cited twice counts once.

    Example: cited are 2, 3 and 9, right are 2 and 4: one hit, two wrong, one missed.
    """
    named, true = frozenset(cited), frozenset(right)
    return Counts(
        hits=len(named & true), wrong=len(named - true), missed=len(true - named)
    )


def factuality_values(
    kind: str, counted: Mapping[str, Counts | None], *, official: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Makes an item's metrics of its counts, and the denominators of pooled ones.

    Micro figures add counts up over cases before they divide, so that each needs its
    denominator as a weight; macro figures are means of the cases' own shares. Example:
    of cases with 1 of 2 and 3 of 3 cited sentences right, micro precision is 4/5, macro
    precision 3/4.

    Args:
        kind: kind of task, which names the metrics.
        counted: `strict` or `lenient` to the counts; None where nothing can be right.
        official: whether a share of nothing is 0, as in the scripts, and not nan; in
            the subtask of evidence it is 1 where nothing is named and nothing right.
    """
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    suffix = OFFICIAL if official else ""
    for which, counts in counted.items():
        ratios = {} if counts is None else counts.ratios()
        nothing = math.nan
        if official and counts is not None:
            nothing = float(kind == "evidence" and counts == Counts())

        for part in _PARTS:
            above, below = ratios.get(part, (0, 0))
            micro, macro = (
                f"{share_name(kind, which, how, part)}{suffix}"
                for how in ("micro", "macro")
            )
            values[micro] = values[macro] = above / below if below else nothing
            weights[micro] = float(below)

    if kind != "cited":
        headline = f"{share_name(kind, 'strict', 'micro', 'f1')}{suffix}"
        values[f"overall_score{suffix}"], weights[f"overall_score{suffix}"] = (
            values[headline],
            weights[headline],
        )

    return values, weights


WORD_METRICS: Final = ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari")
"""The metrics that need nothing but words."""

_APART: Final = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A text and what it is held against.

    Attributes:
        prediction: without citations.
        reference: of all metrics but SARI.
        source: SARI's source, the text that is rewritten.
        target: SARI's reference.
    """

    prediction: str
    reference: str
    source: str
    target: str


def labels_of(item: Item) -> dict[str, str]:
    """Id of each sentence of the note to its label, in the note's order.

    Empty where the key has none.
    """
    labels = item.fields["relevance"]
    return dict(zip(item.fields["sentence_ids"], labels, strict=True)) if labels else {}


def answer_comparison(
    item: Item, prediction: str, *, narrative: bool = False
) -> Comparison | None:
    """Compares with the clinician's answer, None where it is not released.

    SARI's source is the questions or `narrative`.
    """
    source = (
        str(item.fields["patient_narrative"]).strip() if narrative else _questions(item)
    )
    return _compared(item.fields["clinician_answer"], prediction, source)


def notes_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds an answer against the questions and the essential sentences.

    None where it is not known which these are.
    """
    labels = labels_of(item)
    if not labels:
        return None

    texts = dict(
        zip(item.fields["sentence_ids"], item.fields["sentences"], strict=True)
    )
    essential = "\n".join(
        str(texts[sentence]).strip() for sentence in positives(labels, lenient=False)
    )
    asked = _questions(item)

    return Comparison(
        prediction=prediction,
        reference=f"{asked}{_APART}{essential}",
        source=asked,
        target=essential,
    )


def question_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds a question against the clinician's, of what the patient wrote.

    None where there is none.
    """
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
    wanted: Collection[str],
) -> list[dict[str, float]]:
    """Computes the metrics of texts for each item, each of equal comparisons once.

    `compared`: by the ending of the metrics' names, an entry an item; None without a
    reference, which gives nan.
    """
    modelled_names = [
        metric.name for argument, metric in _MODELS.items() if argument in arguments
    ]
    names = {
        suffix: [
            name
            for name in (*WORD_METRICS, *modelled_names)
            if f"{name}{suffix}" in wanted
        ]
        for suffix in compared
    }
    different: dict[Comparison, set[str]] = {}
    for suffix, some in compared.items():
        for comparison in some:
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
    """Computes those of `WORD_METRICS` that are named, 0-1.

    BLEU is not smoothed: 0 without a run of four tokens in common.
    """
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
    """Computes the metrics by checkpoints and indexes that are given, in the order of the texts."""
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
    """The baseline is of one encoder; of another one's numbers it makes nonsense.

    What does not load is told when it is opened.
    """
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
"""Scoring argument to the metric it adds."""
