"""Cosine similarity of an answer's and the right answer's embeddings, by a local checkpoint (paper, section 4.3).

The paper sets its judge beside two such measures, Sentence-BERT and ClinicalBERT, and finds that both follow clinicians' own
scores less closely (table 5). It names no checkpoint of the first; docs/embeddings.md says which are meant here and how to get
them. Nothing is downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from medical_tasks.models.embedder import CLINICAL_BERT, MINILM, embedder_identity, open_embedder

CHECKPOINTS: Final[Mapping[str, str]] = {"sentence_bert": MINILM, "clinical_bert": CLINICAL_BERT}
"""For each metric the repository that is meant, at its revision in `models.embedder.REVISIONS`."""


def similarities(name: str, folder: str | Path, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Computes the cosine of each pair of texts; the checkpoint is opened once, and each distinct text is read once.

    Texts that are longer than the checkpoint takes are cut, as Sentence-BERT does; how many there are is told on stderr.

    Returns:
        One number a pair, -1 to 1, in order. It is 1 for equal texts, and 0 where a text is empty: an answer that says nothing
        is like nothing, and leaving it out would reward not answering.
    """
    embedder = open_embedder(folder, example=CHECKPOINTS.get(name, MINILM))
    try:
        vectors = embedder.embed([text for pair in pairs for text in pair])
    finally:
        embedder.close()
    if embedder.truncated:
        distinct = len({text.strip() for pair in pairs for text in pair})
        print(
            f"note: {name}: {embedder.truncated} of {distinct} texts are longer than {embedder.max_length} tokens and were cut "
            "there",
            file=sys.stderr,
        )
    answers, right = vectors[::2].astype(np.float64), vectors[1::2].astype(np.float64)
    lengths = _dot(answers, answers) * _dot(right, right)
    # Lengths are 1 or 0; divided by all the same, so that equal texts have exactly 1.
    cosines = np.divide(_dot(answers, right), np.sqrt(lengths), out=np.zeros(len(pairs)), where=lengths > 0)
    return [float(cosine) for cosine in np.clip(cosines, -1.0, 1.0)]


def similarity_identity(folder: str | Path) -> dict[str, Any]:
    """Says what of a checkpoint makes its numbers what they are, for the recipe; reads its files and loads no weights."""
    return dict(embedder_identity(folder))


def _dot(one: np.ndarray[Any, np.dtype[np.float64]], other: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
    return np.einsum("ij,ij->i", one, other)
