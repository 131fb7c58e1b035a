"""Relevance: how like its references an answer is, by six metrics (paper, section Evaluation; formulas of the scoring script).

There are two references: the clinician's answer, and the questions with the note's essential sentences, always in the note's order.
SARI compares with the question as its source, and of the second reference takes the essential sentences alone. Everything is 0-1,
but for BERTScore, which is below 0 where texts are less alike than the baseline, and MEDCON, which synonyms bring above 1.

BLEU, ROUGE-Lsum and SARI need nothing; `relevance_models` has the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.archehr_qa.factuality import positives
from medical_tasks.archehr_qa.relevance_models import MODEL_METRICS, Texts, model_metrics
from medical_tasks.scoring.text_overlap import bleu, rouge, sari
from medical_tasks.spec import Item

__all__ = [
    "RELEVANCE",
    "Comparison",
    "answer_comparison",
    "labels_of",
    "notes_comparison",
    "question_comparison",
    "relevance_values",
    "word_metrics",
]

WORD_METRICS: Final = ("bleu", "rougeLsum", "sari")
RELEVANCE: Final = (*WORD_METRICS, *MODEL_METRICS.values())
"""The metrics, those of a model or an index after those of words."""

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


def answer_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds an answer against the clinician's; None where that is not released."""
    reference = str(item.fields["clinician_answer"]).strip()
    if not reference:
        return None
    return Comparison(prediction=prediction, reference=reference, source=_questions(item), target=reference)


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
    comparisons: Sequence[Comparison | None], arguments: Mapping[str, str], *, suffixes: Sequence[str]
) -> list[dict[str, float]]:
    """Computes the metrics. Each checkpoint and the index are opened once.

    Args:
        comparisons: what is compared; None for what has no reference.
        arguments: those of `bertscore`, `umls` and `alignscore` that are given; each adds its metric.
        suffixes: of the metrics' names, one a comparison.

    Returns:
        Metric to value, a comparison each; all nan for None.

    Raises:
        MissingError: A checkpoint, an index or a package is not on this machine.
        UsageError: It is none.
    """
    present = [each for each in comparisons if each is not None]
    texts: list[Texts] = [(each.prediction, each.reference) for each in present]
    rows = [word_metrics(each) | more for each, more in zip(present, model_metrics(texts, arguments), strict=True)]
    names = [*WORD_METRICS, *(metric for argument, metric in MODEL_METRICS.items() if argument in arguments)]
    found = iter(rows)
    return [
        {
            f"{name}{suffix}": value
            for name, value in (dict.fromkeys(names, math.nan) if each is None else next(found)).items()
        }
        for each, suffix in zip(comparisons, suffixes, strict=True)
    ]


def word_metrics(comparison: Comparison) -> dict[str, float]:
    """Computes `bleu`, `rougeLsum` (F1) and `sari`, 0-1.

    An empty text has BLEU and ROUGE-Lsum 0, and the SARI that it has by its formula. BLEU is not smoothed: 0 without a run of four
    tokens in common, so also of a reference of fewer than four tokens against itself.
    """
    return {
        "bleu": bleu(comparison.prediction, comparison.reference).score,
        "rougeLsum": rouge(comparison.prediction, comparison.reference, variants=("rougeLsum",))["rougeLsum"].f1,
        "sari": sari(comparison.source, comparison.prediction, comparison.target).score / _PERCENT,
    }


def _questions(item: Item) -> str:
    narrative, question = (str(item.fields[name]).strip() for name in ("patient_narrative", "clinician_question"))
    return f"{narrative}{_APART}{question}"
