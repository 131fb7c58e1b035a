"""The metrics of texts that a checkpoint computes: BERTScore, BLEURT, F1-RadGraph. Each is imported when it is asked for."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.doclens.bertscore_layer import checkpoint_layer

__all__ = ["Pairs", "bertscore", "bertscore_told", "bleurt", "bleurt_told", "radgraph", "radgraph_told"]

Pairs = Sequence[tuple[str, str]]
"""Output and reference of each item."""


def bertscore(given: str, pairs: Pairs) -> list[dict[str, float]]:
    """Computes BERTScore's F1, not rescaled; 0 for an empty output.

    Args:
        given: a checkpoint's folder, `@` and a layer behind it where none is usual.
        pairs: the texts.

    Returns:
        `bertscore` of each item, nan where the reference says nothing.

    Raises:
        MissingError: The checkpoint or a package is not there.
        UsageError: It is no such checkpoint.
    """
    from medical_tasks.models.bertscore import open_bertscore

    folder, layer = checkpoint_layer(given)
    scorer = open_bertscore(folder, layer=layer)
    try:
        scores = scorer.score([output for output, _ in pairs], [reference for _, reference in pairs])
    finally:
        scorer.close()
    _tell_cut("bertscore", scorer.truncated)
    return _referenced("bertscore", [score.f1 for score in scores], pairs)


def bertscore_told(given: str) -> dict[str, Any]:
    """Says what makes its numbers what they are; loads no weights. Raises as `bertscore`."""
    from medical_tasks.models.bertscore import bertscore_identity

    folder, layer = checkpoint_layer(given)
    return dict(bertscore_identity(folder, layer=layer))


def bleurt(folder: str, pairs: Pairs) -> list[dict[str, float]]:
    """Computes BLEURT; an empty output is a text like any other. Takes, returns and raises as `bertscore`."""
    from medical_tasks.models.bleurt import open_bleurt

    scorer = open_bleurt(Path(folder).expanduser())
    try:
        scores = scorer.score([(reference, output) for output, reference in pairs])
    finally:
        scorer.close()
    _tell_cut("bleurt", scorer.truncated)
    return _referenced("bleurt", scores, pairs)


def bleurt_told(folder: str) -> dict[str, Any]:
    """As `bertscore_told`."""
    from medical_tasks.models.bleurt import bleurt_identity

    return dict(bleurt_identity(Path(folder).expanduser()))


def radgraph(folder: str, pairs: Pairs) -> list[dict[str, float]]:
    """Computes `f1_radgraph` (partial reward); 0 where neither text has an entity, as published. Else as `bertscore`."""
    from medical_tasks.models.radgraph import f1_radgraph

    scores = f1_radgraph(Path(folder).expanduser(), [(reference, output) for output, reference in pairs])
    return _referenced("f1_radgraph", scores, pairs)


def radgraph_told(folder: str) -> dict[str, Any]:
    """As `bertscore_told`."""
    from medical_tasks.models.radgraph import radgraph_identity

    return dict(radgraph_identity(Path(folder).expanduser()))


def _referenced(name: str, values: Sequence[float], pairs: Pairs) -> list[dict[str, float]]:
    return [
        {name: value if reference.strip() else math.nan} for value, (_, reference) in zip(values, pairs, strict=True)
    ]


def _tell_cut(name: str, texts: int) -> None:
    if texts > 0:
        print(f"note: {name}: {texts} texts are longer than the checkpoint takes and were cut there", file=sys.stderr)
