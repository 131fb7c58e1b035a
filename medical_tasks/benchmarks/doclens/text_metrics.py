"""The metrics DocLens is compared with: words, concepts, embeddings and radiology's entities shared with the reference.

Without an argument there are ROUGE, BLEU and the number of words; `bertscore`, `bleurt` and `radgraph` name a checkpoint each,
`umls` an index (docs/medcon.md). All compare whole texts, the output without its citations.

Where the reference says nothing there is nothing to be like: nan. An empty output has 0, but for precision, which it has not.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.doclens import text_models
from medical_tasks.benchmarks.doclens.text_models import Pairs
from medical_tasks.scoring.medcon import Medcon, medcon
from medical_tasks.scoring.rouge import rouge_tokens
from medical_tasks.scoring.text_overlap import rouge, sacrebleu_sentence
from medical_tasks.scoring.umls.index import UmlsIndex
from medical_tasks.scoring.umls.matcher import Matcher

__all__ = ["MEDCON_VARIANT", "TEXT_ARGUMENTS", "medcon_metrics", "text_identity", "text_metrics", "word_metrics"]

MEDCON_VARIANT: Final = "aci-bench"

_ROUGE: Final = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def text_metrics(pairs: Pairs, arguments: Mapping[str, str]) -> list[dict[str, float]]:
    """Computes the metrics of texts.

    Args:
        pairs: output, without its citations, and reference of each item.
        arguments: those of `TEXT_ARGUMENTS` that are given; each adds its metrics. Others are passed over.

    Returns:
        Metric to value, an item each, in order.

    Raises:
        MissingError: A checkpoint, or a package for it, is not on this machine.
        UsageError: It is no such checkpoint or index.
    """
    made = [word_metrics(output, reference) for output, reference in pairs]
    for name, compute in _COMPUTED.items():
        if name in arguments and pairs:
            for row, more in zip(made, compute(arguments[name], pairs), strict=True):
                row.update(more)
    return made


def text_identity(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what of checkpoints and index decides the numbers, for the recipe; loads no weights.

    Args:
        arguments: as in `text_metrics`.

    Raises:
        MissingError: As `text_metrics`.
        UsageError: As `text_metrics`.
    """
    return {name: identity(arguments[name]) for name, identity in _IDENTITIES.items() if name in arguments}


def word_metrics(output: str, reference: str) -> dict[str, float]:
    """Compares two texts by their words.

    Args:
        output: without its citations.
        reference: the right text.

    Returns:
        `rouge1`, `rouge2` and `rougeLsum` (F1, no stemming), `rougeL_recall`, `rougeL_precision`, `bleu`, and `words`, what
        stands between white space in the output.
    """
    found = rouge(output, reference, variants=_ROUGE)
    values = {name: found[name].f1 for name in ("rouge1", "rouge2", "rougeLsum")}
    values["rougeL_recall"] = found["rougeL"].recall
    values["rougeL_precision"] = found["rougeL"].precision if rouge_tokens(output) else math.nan
    if not rouge_tokens(reference):
        values = dict.fromkeys(values, math.nan)
    values["bleu"] = sacrebleu_sentence(output, reference).score if reference.strip() else math.nan
    return values | {"words": float(len(output.split()))}


def medcon_metrics(reference: Mapping[str, frozenset[str]], output: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """Compares the concepts of two texts.

    Args:
        reference: its terms with their concepts, as `umls.matcher.Matcher.concepts` finds them.
        output: likewise.

    Returns:
        `medcon`, `medcon_recall` and `medcon_precision` of the sets of concepts, nan where a side they divide by has none (of
        `medcon`: both sides), and `medcon_official` by the reference's formula, which is 0 there.
    """
    scores: Medcon = medcon(reference, output)
    return {
        "medcon": scores.concept_f1 if reference or output else math.nan,
        "medcon_recall": scores.concept_recall if reference else math.nan,
        "medcon_precision": scores.concept_precision if output else math.nan,
        "medcon_official": scores.f1,
    }


def _medcon(folder: str, pairs: Pairs) -> list[dict[str, float]]:
    with UmlsIndex(Path(folder).expanduser()) as index:
        matcher = Matcher(index, variant=MEDCON_VARIANT)
        return [medcon_metrics(matcher.concepts(reference), matcher.concepts(output)) for output, reference in pairs]


def _medcon_identity(folder: str) -> dict[str, Any]:
    with UmlsIndex(Path(folder).expanduser()) as index:
        told = index.info
    return {
        "variant": MEDCON_VARIANT,
        "source_sha256": told.source,
        "lowercase": told.lowercase,
        "ascii_only": told.ascii_only,
        "terms": told.terms,
        "types_sha256": hashlib.sha256(" ".join(told.types).encode()).hexdigest(),
    }


_COMPUTED: Final[Mapping[str, Callable[[str, Pairs], list[dict[str, float]]]]] = {
    "bertscore": text_models.bertscore,
    "umls": _medcon,
    "bleurt": text_models.bleurt,
    "radgraph": text_models.radgraph,
}
_IDENTITIES: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "bertscore": text_models.bertscore_told,
    "umls": _medcon_identity,
    "bleurt": text_models.bleurt_told,
    "radgraph": text_models.radgraph_told,
}

TEXT_ARGUMENTS: Final = tuple(_COMPUTED)
"""Scoring arguments that add metrics of texts."""
