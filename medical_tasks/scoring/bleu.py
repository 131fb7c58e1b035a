"""BLEU as `evaluate` computes it (the form of TensorFlow's NMT tutorial): no smoothing by default, 0-1.

Source: Papineni et al. (2002), BLEU: a method for automatic evaluation of machine translation, section 2. The sibling with
smoothing and another rule for several references is in `sacre_bleu`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.scoring.ngrams import clipped_matches
from medical_tasks.scoring.text_pairs import References, as_references, as_segments
from medical_tasks.scoring.tokens_13a import tokenize_13a

__all__ = ["MAX_ORDER", "Bleu", "bleu", "bleu_corpus"]

MAX_ORDER = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Bleu:
    """BLEU and what it is made of.

    Attributes:
        score: brevity penalty times the geometric mean of the precisions, 0-1; `nan` when there was nothing to score.
        precisions: of n-grams of each order, 0-1; 0 where the predictions have none.
        brevity_penalty: 0-1; below 1 when the predictions are shorter than the references.
        length_ratio: tokens of the predictions over tokens of the references; `nan` when those have none.
        prediction_length: tokens of all predictions.
        reference_length: tokens of the references that set the length.
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    length_ratio: float
    prediction_length: int
    reference_length: int


def bleu(prediction: str, references: References, *, smooth: bool = False, max_order: int = MAX_ORDER) -> Bleu:
    """BLEU of one prediction: `bleu_corpus` of a corpus of one.

    A prediction that shares no run of four tokens with a reference scores exactly 0 unless `smooth`; so does every text of
    fewer than four tokens, the reference itself included.

    Args:
        prediction: any text; case counts.
        references: one text or several.
        smooth: add one to matches and n-grams of every order.
        max_order: longest n-gram.

    Raises:
        ValueError: no reference, or max_order below 1.
    """
    return bleu_corpus([prediction], [as_references(prediction, references)], smooth=smooth, max_order=max_order)


def bleu_corpus(
    predictions: Sequence[str],
    references: Sequence[References],
    *,
    smooth: bool = False,
    max_order: int = MAX_ORDER,
) -> Bleu:
    """BLEU with matches and lengths pooled over the predictions, which is not the mean of their scores.

    With several references the shortest sets the length (sacreBLEU takes the closest). Where `evaluate` divides by zero the
    score is defined: 0 when all predictions or all references are empty.

    Args:
        predictions: one text an item.
        references: one text, or several, an item; not necessarily as many for each.
        smooth: see `bleu`.
        max_order: see `bleu`.

    Raises:
        ValueError: lengths differ, an item has no reference, or max_order is below 1.
    """
    if max_order < 1:
        raise ValueError(f"max_order must be at least 1; got {max_order}")
    segments = as_segments(predictions, references)
    matches, totals = [0] * max_order, [0] * max_order
    prediction_length = reference_length = longest = 0
    for text, known in segments:
        said, true = tokenize_13a(text), [tokenize_13a(reference) for reference in known]
        prediction_length += len(said)
        reference_length += min(map(len, true))
        longest = max(longest, *map(len, true))
        for n in range(1, max_order + 1):
            matches[n - 1] += clipped_matches(said, true, n)
            totals[n - 1] += max(len(said) - n + 1, 0)
    precisions = tuple(_share(hits, total, smooth) for hits, total in zip(matches, totals, strict=True))
    penalty = brevity_penalty(prediction_length, reference_length)
    if not segments:
        score = math.nan
    elif not prediction_length or not longest or min(precisions) == 0:
        score = 0.0
    else:
        score = penalty * math.exp(math.fsum(map(math.log, precisions)) / max_order)
    return Bleu(
        score=score,
        precisions=precisions,
        brevity_penalty=penalty,
        length_ratio=prediction_length / reference_length if reference_length else math.nan,
        prediction_length=prediction_length,
        reference_length=reference_length,
    )


def brevity_penalty(prediction_length: int, reference_length: int) -> float:
    """What being shorter than the reference costs, 0-1. Being longer costs precision already."""
    if prediction_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / prediction_length) if prediction_length else 0.0


def _share(hits: int, total: int, smooth: bool) -> float:
    if smooth:
        return (hits + 1) / (total + 1)
    return hits / total if total else 0.0
