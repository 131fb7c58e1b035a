"""BLEU as `evaluate` (TensorFlow's NMT tutorial) and as sacreBLEU 2.6.0 compute it, SARI, and NIST's 13a tokenizer.

BLEU: Papineni et al. (2002), section 2; sacreBLEU: Post (2018), with smoothing 3 of
Chen and Cherry (2014). SARI: Xu et al. (2016), section 4, in the form of `evaluate`
(keep recall over all n-grams that source and reference share; corpus value = mean of
the sentences'). The scale is 0-1, SARI's 0-100.

A pooled BLEU is not the mean of single ones. BLEU of an empty side is 0, where `evaluate`
divides by zero. With several references BLEU clips at the largest count of an n-gram; the
shortest sets the length in `bleu`, the closest in sacreBLEU; SARI pools them. SARI is
around 40 without a prediction, 50 without a reference, and 100 without both. A corpus
without items is `nan`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.scoring.text_pairs import (
    Ngrams,
    References,
    as_references,
    as_segments,
    clipped_matches,
    count_ngrams,
    harmonic,
    mean,
)

MAX_ORDER = 4
_Segment = tuple[list[str], list[list[str]]]
"""The tokens of a prediction, and of each of its references."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bleu:
    """BLEU and its components.

    Attributes:
        precisions: of n-grams of each order, 0-1; 0 where the predictions have none.
        brevity_penalty: 0-1; below 1 when the predictions are shorter than the
            references.
        length_ratio: tokens of the predictions over tokens of the references; `nan`
            when those have none.
        prediction_length: tokens of all predictions.
        reference_length: tokens of the references that set the length.
    """

    # brevity penalty times the geometric mean of the precisions, 0-1; `nan` without
    # predictions
    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    length_ratio: float
    prediction_length: int
    reference_length: int


def bleu(prediction: str, references: References, *, smooth: bool = False) -> Bleu:
    """BLEU of one prediction, as a corpus of one. Case counts.

    It is exactly 0 if no four consecutive tokens match, unless `smooth` adds one to the
    matches and n-grams of every order.
    """
    return bleu_corpus(
        [prediction], [as_references(prediction, references)], smooth=smooth
    )


def bleu_corpus(
    predictions: Sequence[str],
    references: Sequence[References],
    *,
    smooth: bool = False,
) -> Bleu:
    """BLEU with matches and lengths pooled over the predictions; not the mean of their scores.

    The shortest of several references sets the length (sacreBLEU uses the closest). If
    all predictions or all references are empty, the score is 0, where `evaluate`
    divides by zero.
    """
    texts = as_segments(predictions, references)
    segments = [
        (tokenize_13a(text), [tokenize_13a(reference) for reference in item_references])
        for text, item_references in texts
    ]
    matches, totals = _matches(segments)
    pairs = zip(matches, totals, strict=True)
    precisions = [
        (hits + 1) / (of + 1) if smooth else hits / of if of else 0.0
        for hits, of in pairs
    ]
    empty = not any(tokens for tokens, _ in segments) or not any(
        any(reference_tokens) for _, reference_tokens in segments
    )
    reference_length = sum(
        min(map(len, reference_tokens)) for _, reference_tokens in segments
    )

    return _bleu(segments, reference_length, precisions, MAX_ORDER, nothing=empty)


def _matches(segments: Sequence[_Segment]) -> tuple[list[int], list[int]]:
    """Counts matched n-grams and all n-grams of the predictions by order, pooled."""
    orders = range(1, MAX_ORDER + 1)
    matches = [
        sum(clipped_matches(tokens, references, n) for tokens, references in segments)
        for n in orders
    ]

    return matches, [
        sum(max(len(tokens) - n + 1, 0) for tokens, _ in segments) for n in orders
    ]


def _bleu(
    segments: Sequence[_Segment],
    reference_length: int,
    precisions: Sequence[float],
    orders: int,
    *,
    nothing: bool,
) -> Bleu:
    """Combines precisions and brevity penalty (Papineni et al. 2002, section 2.3).

    Args:
        segments: the predictions' tokens, with those of their references; without any
            the score is `nan`.
        reference_length: in tokens, of all references that count.
        precisions: of n-grams of length 1, 2, ...
        orders: how many of these lengths count.
        nothing: whether no n-gram matched at all; the score is then 0, although
            smoothing makes every precision positive.
    """
    prediction_length = sum(len(tokens) for tokens, _ in segments)
    penalty = brevity_penalty(prediction_length, reference_length)
    if not segments:
        score = math.nan
    elif nothing or min(precisions[:orders]) == 0:
        score = 0.0
    else:
        score = penalty * math.exp(
            math.fsum(map(math.log, precisions[:orders])) / orders
        )

    return Bleu(
        score=score,
        precisions=tuple(precisions),
        brevity_penalty=penalty,
        length_ratio=prediction_length / reference_length
        if reference_length
        else math.nan,
        prediction_length=prediction_length,
        reference_length=reference_length,
    )


def brevity_penalty(prediction_length: int, reference_length: int) -> float:
    """The penalty for being shorter than the reference, 0-1; being longer costs precision."""
    if prediction_length >= reference_length:
        return 1.0
    return (
        math.exp(1 - reference_length / prediction_length) if prediction_length else 0.0
    )


def sacrebleu_sentence(prediction: str, references: References) -> Bleu:
    """SacreBLEU of one prediction, over the n-gram orders it is long enough for ("effective order")."""
    return _sacrebleu(
        [(prediction, as_references(prediction, references))], effective_order=True
    )


def sacrebleu_corpus(
    predictions: Sequence[str], references: Sequence[References]
) -> Bleu:
    """SacreBLEU with matches and lengths pooled over the predictions.

    The closest reference sets the length.
    """
    return _sacrebleu(as_segments(predictions, references), effective_order=False)


def _sacrebleu(
    texts: Sequence[tuple[str, tuple[str, ...]]], *, effective_order: bool
) -> Bleu:
    """BLEU by sacreBLEU's tokenizer and smoothing.

    With `effective_order`, only n-gram orders that the predictions are long enough for
    count: a sentence of two words is not penalised for having no 4-grams.
    """
    # The library strips trailing white space first, so a final "-" before a line break
    # stays.
    segments = [
        (
            tokenize_13a(text.rstrip()),
            [tokenize_13a(reference.rstrip()) for reference in item_references],
        )
        for text, item_references in texts
    ]
    matches, totals = _matches(segments)
    reference_length = sum(
        _reference_length(tokens, references) for tokens, references in segments
    )
    orders = sum(total > 0 for total in totals) if effective_order else MAX_ORDER

    return _bleu(
        segments,
        reference_length,
        _smoothed(matches, totals),
        orders,
        nothing=not any(matches),
    )


def bleu_sums(
    prediction: str, references: References, *, sacrebleu: bool = False
) -> tuple[int, ...]:
    """The counts that a pooled BLEU sums over texts.

    They are the matches and the n-grams of each order, then the lengths of prediction
    and reference.
    """
    texts = (prediction, *as_references(prediction, references))
    tokens, *reference_tokens = (
        tokenize_13a(text.rstrip() if sacrebleu else text) for text in texts
    )
    matches, totals = _matches([(tokens, reference_tokens)])

    return (
        *matches,
        *totals,
        len(tokens),
        _reference_length(tokens, reference_tokens)
        if sacrebleu
        else min(map(len, reference_tokens)),
    )


def _reference_length(
    prediction: Sequence[str], references: Sequence[Sequence[str]]
) -> int:
    """The length of the closest reference, the shorter in case of a tie, as in sacreBLEU."""
    return min(
        map(len, references), key=lambda length: (abs(length - len(prediction)), length)
    )


def _smoothed(matches: Sequence[int], totals: Sequence[int]) -> tuple[float, ...]:
    """Precisions in which the k-th order without a match counts as 1 / 2^k of an n-gram.

    All are 0 if there is no match at all.
    """
    if not any(matches):
        return (0.0,) * len(matches)

    precisions, half = [], 1.0
    for hits, total in zip(matches, totals, strict=True):
        if total and not hits:
            half /= 2

        precisions.append((hits or half) / total if total else 0.0)

    return tuple(precisions)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sari:
    """SARI and its parts, each 0-100, each a mean over n-grams of one to four tokens.

    Attributes:
        score: mean of the parts.
        keep: F1 of what the prediction keeps from the source.
        delete: precision of what it deletes.
        add: F1 of what it adds.
    """

    score: float
    keep: float
    delete: float
    add: float


def sari(source: str, prediction: str, references: References) -> Sari:
    """SARI of one prediction, ignoring case. 0/0 is 1, so short and empty texts score high.

    `source` is the text to be rewritten (ArchEHR-QA: the question); several references
    are pooled.
    """
    if not isinstance(source, str):
        raise ValueError(f"source must be a text; got {type(source).__name__}")

    reference_texts = as_references(prediction, references)
    old, new, *reference_tokens = (
        tokenize_13a(text.lower()) or [""]
        for text in (source, prediction, *reference_texts)
    )
    orders = [
        _parts(
            count_ngrams(old, n),
            count_ngrams(new, n),
            [count_ngrams(tokens, n) for tokens in reference_tokens],
        )
        for n in range(1, MAX_ORDER + 1)
    ]
    keep, delete, add = (100 * mean(column) for column in zip(*orders, strict=True))

    return Sari(score=(keep + delete + add) / 3, keep=keep, delete=delete, add=add)


def sari_corpus(
    sources: Sequence[str], predictions: Sequence[str], references: Sequence[References]
) -> Sari:
    """The means over the predictions of `sari`; `nan` without predictions."""
    segments = as_segments(predictions, references)
    if isinstance(sources, str) or len(sources) != len(segments):
        raise ValueError(
            f"sources must hold one text a prediction ({len(segments)}); got {len(sources)}"
        )

    rows = [
        sari(source, text, item_references)
        for source, (text, item_references) in zip(sources, segments, strict=True)
    ]
    return Sari(
        **{
            field: mean(getattr(row, field) for row in rows)
            for field in ("score", "keep", "delete", "add")
        }
    )


def _parts(
    old: Ngrams, new: Ngrams, references: Sequence[Ngrams]
) -> tuple[float, float, float]:
    """Keep, delete and add of one order, each 0-1."""
    pooled: Ngrams = Counter()
    for counts in references:
        pooled.update(counts)

    # Source and prediction count once for each reference, so that they weigh as much as
    # the pooled references.
    often = len(references)
    before = Counter({gram: count * often for gram, count in old.items()})
    after = Counter({gram: count * often for gram, count in new.items()})

    kept, keepable = before & after, before & pooled
    well_kept = kept & pooled
    keep = harmonic(
        _mean_share(well_kept, kept), _ratio(well_kept.total(), keepable.total())
    )

    deleted = before - after
    delete = _mean_share(deleted - pooled, deleted)

    added, addable = new.keys() - old.keys(), pooled.keys() - old.keys()
    well_added = len(added & pooled.keys())
    add = harmonic(_ratio(well_added, len(added)), _ratio(well_added, len(addable)))

    return keep, delete, add


def _mean_share(good: Ngrams, done: Ngrams) -> float:
    """The mean share of correct operations over the distinct n-grams; 1 without any."""
    return mean(good[gram] / count for gram, count in done.items()) if done else 1.0


def _ratio(count: int, total: int) -> float:
    return count / total if total else 1.0


# In this order: "&amp;lt;" becomes "<".
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

# Applied one after the other to the whole text. A match consumes both characters, so the
# second of two neighbouring marks can remain unsplit; published numbers depend on it.
_STEPS = (
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),  # ASCII marks other than ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # . and , unless after a digit ...
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # ... and before one
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # - after a digit
)


def tokenize_13a(text: str) -> list[str]:
    """Splits a text into words, numbers and punctuation marks.

    Case is kept, apostrophes stay inside words, "2.35" and "12,500" stay whole. The
    literal "<skipped>" and hyphens before a line break are deleted, and the entities of
    the four characters " & < > are decoded.
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)

    text = f" {text} "
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)

    return text.split()
