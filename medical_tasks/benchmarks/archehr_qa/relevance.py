"""Relevance: how like its references an answer is, by six metrics (paper, section Evaluation; formulas of the scoring script).

There are two references: the clinician's answer, and the questions with the note's essential sentences, always in the note's order.
SARI compares with the question as its source, and of the second reference takes the essential sentences alone. Everything is 0-1,
but for BERTScore, which is below 0 where texts are less alike than the baseline, and MEDCON, which synonyms bring above 1.

BLEU, ROUGE and SARI need nothing; `relevance_models` has the others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.archehr_qa.factuality import positives
from medical_tasks.benchmarks.archehr_qa.relevance_models import MODEL_METRICS, Texts, model_metrics
from medical_tasks.scoring.text_overlap import bleu, rouge, sari
from medical_tasks.spec import Item

__all__ = [
    "WORD_METRICS",
    "Comparison",
    "answer_comparison",
    "labels_of",
    "notes_comparison",
    "question_comparison",
    "relevance_values",
    "word_metrics",
]

WORD_METRICS: Final = ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari")
"""The metrics that need nothing but words."""

_PERCENT: Final = 100
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
    """Id of each sentence of the note to its label, in the note's order; empty where the key has none."""
    labels = item.fields["relevance"]
    return dict(zip(item.fields["sentence_ids"], labels, strict=True)) if labels else {}


def answer_comparison(item: Item, prediction: str, *, narrative: bool = False) -> Comparison | None:
    """Holds an answer against the clinician's; None where that is not released.

    Args:
        item: the item.
        prediction: the answer's text.
        narrative: whether SARI's source is the patient's message alone (2026), without the clinician's question.
    """
    reference = str(item.fields["clinician_answer"]).strip()
    if not reference:
        return None
    source = str(item.fields["patient_narrative"]).strip() if narrative else _questions(item)
    return Comparison(prediction=prediction, reference=reference, source=source, target=reference)


def notes_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds an answer against the questions and the essential sentences; None where it is not known which these are."""
    labels = labels_of(item)
    if not labels:
        return None
    texts = dict(zip(item.fields["sentence_ids"], item.fields["sentences"], strict=True))
    essential = "\n".join(str(texts[sentence]).strip() for sentence in positives(labels, lenient=False))
    questions = _questions(item)
    return Comparison(
        prediction=prediction, reference=f"{questions}{_APART}{essential}", source=questions, target=essential
    )


def question_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds a question against the clinician's, of what the patient wrote; None where there is none."""
    reference = str(item.fields["clinician_question"]).strip()
    if not reference:
        return None
    source = str(item.fields["patient_narrative"]).strip()
    return Comparison(prediction=prediction, reference=reference, source=source, target=reference)


def relevance_values(
    compared: Mapping[str, Sequence[Comparison | None]], arguments: Mapping[str, str], *, wanted: Collection[str]
) -> list[dict[str, float]]:
    """Computes the metrics. Each checkpoint and the index are opened once, and what is compared twice is computed once.

    Args:
        compared: ending of the metrics' names to what is compared, an item each; None for an item without a reference.
        arguments: those of `bertscore`, `umls` and `alignscore` that are given; others' metrics are left out.
        wanted: names of the metrics.

    Returns:
        Metric to value, an item each; nan where there is no reference.

    Raises:
        MissingError: A checkpoint, an index or a package is not on this machine.
        UsageError: It is none.
    """
    given = [metric for argument, metric in MODEL_METRICS.items() if argument in arguments]
    names = {suffix: [name for name in (*WORD_METRICS, *given) if f"{name}{suffix}" in wanted] for suffix in compared}
    different: dict[Comparison, set[str]] = {}
    for suffix, some in compared.items():
        for each in some:
            if each is not None:
                different.setdefault(each, set()).update(names[suffix])
    texts: list[Texts] = list(dict.fromkeys((each.prediction, each.reference) for each in different))
    modelled = dict(zip(texts, model_metrics(texts, arguments), strict=True))
    found = {
        each: word_metrics(each, words) | modelled[each.prediction, each.reference] for each, words in different.items()
    }
    return [
        {
            f"{name}{suffix}": math.nan if each is None else found[each][name]
            for suffix, each in zip(compared, row, strict=True)
            for name in names[suffix]
        }
        for row in zip(*compared.values(), strict=True)
    ]


def word_metrics(comparison: Comparison, names: Collection[str]) -> dict[str, float]:
    """Computes those of `WORD_METRICS` that are named, 0-1.

    An empty text has BLEU and ROUGE 0, and the SARI that it has by its formula. BLEU is not smoothed: 0 without a run of four
    tokens in common, so also of a reference of fewer than four tokens against itself.
    """
    rouges = [name for name in names if name.startswith("rouge")]
    made = rouge(comparison.prediction, comparison.reference, variants=rouges) if rouges else {}
    values = {name: overlap.f1 for name, overlap in made.items()}
    if "bleu" in names:
        values["bleu"] = bleu(comparison.prediction, comparison.reference).score
    if "sari" in names:
        values["sari"] = sari(comparison.source, comparison.prediction, comparison.target).score / _PERCENT
    return values


def _questions(item: Item) -> str:
    narrative, question = (str(item.fields[name]).strip() for name in ("patient_narrative", "clinician_question"))
    return f"{narrative}{_APART}{question}"
