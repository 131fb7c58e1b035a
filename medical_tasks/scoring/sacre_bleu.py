"""sacreBLEU with its standard settings: 13a, mixed case, exponential smoothing; here 0-1, not 0-100.

Source: Post (2018), A call for clarity in reporting BLEU scores; the library's 2.6.0 gives the same numbers. Smoothing: Chen and
Cherry (2014), method 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from medical_tasks.scoring.bleu import MAX_ORDER, Bleu, brevity_penalty
from medical_tasks.scoring.ngrams import clipped_matches
from medical_tasks.scoring.text_pairs import References, as_references, as_segments
from medical_tasks.scoring.tokens_13a import tokenize_13a

__all__ = ["sacrebleu_corpus", "sacrebleu_sentence"]


def sacrebleu_sentence(prediction: str, references: References, *, lowercase: bool = False) -> Bleu:
    """SacreBLEU of one prediction, over the orders that it is long enough for ("effective order").

    So a one-word prediction can score 1 here and 0 in `sacrebleu_corpus`. Nothing in common scores 0, an empty text on
    either side too.

    Args:
        prediction: any text.
        references: one text or several.
        lowercase: ignore case.

    Raises:
        ValueError: no reference.
    """
    return _score([(prediction, as_references(prediction, references))], lowercase, effective_order=True)


def sacrebleu_corpus(predictions: Sequence[str], references: Sequence[References], *, lowercase: bool = False) -> Bleu:
    """SacreBLEU with matches and lengths pooled over the predictions; the closest reference sets the length.

    Args:
        predictions: one text an item.
        references: one text, or several, an item; not necessarily as many for each.
        lowercase: ignore case.

    Raises:
        ValueError: lengths differ, or an item has no reference.
    """
    return _score(as_segments(predictions, references), lowercase, effective_order=False)


def _score(segments: Sequence[tuple[str, tuple[str, ...]]], lowercase: bool, *, effective_order: bool) -> Bleu:
    matches, totals = [0] * MAX_ORDER, [0] * MAX_ORDER
    prediction_length = reference_length = 0
    for text, known in segments:
        said, *true = (_tokens(one, lowercase) for one in (text, *known))
        prediction_length += len(said)
        reference_length += min(map(len, true), key=lambda length: (abs(length - len(said)), length))
        for n in range(1, MAX_ORDER + 1):
            matches[n - 1] += clipped_matches(said, true, n)
            totals[n - 1] += max(len(said) - n + 1, 0)
    precisions = _smoothed(matches, totals)
    orders = sum(total > 0 for total in totals) if effective_order else MAX_ORDER
    penalty = brevity_penalty(prediction_length, reference_length)
    if not segments:
        score = math.nan
    elif not any(matches) or min(precisions[:orders]) == 0:
        score = 0.0
    else:
        score = penalty * math.exp(math.fsum(map(math.log, precisions[:orders])) / orders)
    return Bleu(
        score=score,
        precisions=precisions,
        brevity_penalty=penalty,
        length_ratio=prediction_length / reference_length if reference_length else math.nan,
        prediction_length=prediction_length,
        reference_length=reference_length,
    )


def _tokens(text: str, lowercase: bool) -> list[str]:
    # The library cuts white space off the end first, so that a last "-" before a line break stays.
    return tokenize_13a((text.lower() if lowercase else text).rstrip())


def _smoothed(matches: Sequence[int], totals: Sequence[int]) -> tuple[float, ...]:
    """Precisions; the k-th order without a match counts as 1 / 2^k of an n-gram. All 0 when there is no match at all."""
    if not any(matches):
        return (0.0,) * len(matches)
    precisions, half = [], 1.0
    for hits, total in zip(matches, totals, strict=True):
        if total and not hits:
            half /= 2
        precisions.append((hits or half) / total if total else 0.0)
    return tuple(precisions)
