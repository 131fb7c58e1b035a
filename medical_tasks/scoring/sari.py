"""SARI: what a rewriting keeps, deletes and adds, 0-100 as everybody reports it.

Source: Xu et al. (2016), Optimizing statistical machine translation for text simplification, section 4, in the form of
`evaluate` (keep recall over all n-grams that source and reference share; corpus value = mean of the sentences').
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.scoring.ngrams import Ngrams, count_ngrams
from medical_tasks.scoring.text_pairs import References, as_references, as_segments, mean
from medical_tasks.scoring.tokens_13a import tokenize_13a

__all__ = ["Sari", "sari", "sari_corpus"]

ORDERS = (1, 2, 3, 4)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sari:
    """SARI and its parts, each 0-100, each a mean over n-grams of one to four tokens.

    Attributes:
        score: mean of the parts.
        keep: F1 of what the prediction takes over from the source.
        delete: precision of what it leaves out.
        add: F1 of what it adds.
    """

    score: float
    keep: float
    delete: float
    add: float


def sari(source: str, prediction: str, references: References) -> Sari:
    """SARI of one prediction. Case does not count.

    0/0 is 1: nothing kept where nothing was to be kept is right. So short and empty texts score high: an empty prediction of an
    empty reference 100, an empty prediction of anything around 40.

    Args:
        source: the text that is rewritten (ArchEHR-QA: the question).
        prediction: any text.
        references: one text or several, pooled.

    Raises:
        ValueError: no reference, or the source is not a text.
    """
    if not isinstance(source, str):
        raise ValueError(f"source must be a text; got {type(source).__name__}")
    known = as_references(prediction, references)
    old, new, *true = (tokenize_13a(text.lower()) or [""] for text in (source, prediction, *known))
    orders = [
        _parts(count_ngrams(old, n), count_ngrams(new, n), [count_ngrams(tokens, n) for tokens in true]) for n in ORDERS
    ]
    keep, delete, add = (100 * mean(column) for column in zip(*orders, strict=True))
    return Sari(score=(keep + delete + add) / 3, keep=keep, delete=delete, add=add)


def sari_corpus(sources: Sequence[str], predictions: Sequence[str], references: Sequence[References]) -> Sari:
    """Plain means over the predictions of what `sari` finds; `nan` for no predictions.

    Args:
        sources: one text an item.
        predictions: one text an item.
        references: one text, or several, an item.

    Raises:
        ValueError: lengths differ, or as `sari`.
    """
    segments = as_segments(predictions, references)
    if isinstance(sources, str) or len(sources) != len(segments):
        raise ValueError(f"sources must hold one text a prediction ({len(segments)}); got {len(sources)}")
    rows = [sari(source, text, known) for source, (text, known) in zip(sources, segments, strict=True)]
    return Sari(
        score=mean(row.score for row in rows),
        keep=mean(row.keep for row in rows),
        delete=mean(row.delete for row in rows),
        add=mean(row.add for row in rows),
    )


def _parts(old: Ngrams, new: Ngrams, references: Sequence[Ngrams]) -> tuple[float, float, float]:
    """Keep, delete and add of one order, each 0-1."""
    pooled: Ngrams = Counter()
    for counts in references:
        pooled.update(counts)
    # Source and prediction count once a reference, so that they weigh what the pooled references weigh.
    often = len(references)
    before = Counter({gram: count * often for gram, count in old.items()})
    after = Counter({gram: count * often for gram, count in new.items()})

    kept, keepable = before & after, before & pooled
    well_kept = kept & pooled
    keep = _f1(_mean_share(well_kept, kept), _ratio(well_kept.total(), keepable.total()))

    deleted = before - after
    delete = _mean_share(deleted - pooled, deleted)

    added, addable = new.keys() - old.keys(), pooled.keys() - old.keys()
    well_added = len(added & pooled.keys())
    add = _f1(_ratio(well_added, len(added)), _ratio(well_added, len(addable)))
    return keep, delete, add


def _mean_share(good: Ngrams, done: Ngrams) -> float:
    """Over the distinct n-grams that something was done to, the mean share that was right; 1 of none."""
    return mean(good[gram] / count for gram, count in done.items()) if done else 1.0


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
