"""The relevance metrics that a checkpoint or an index computes: BERTScore, MEDCON, AlignScore. Each is imported when asked for."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_text

__all__ = ["BERTSCORE_LAYER", "MEDCON_VARIANT", "MODEL_METRICS", "Texts", "model_identity", "model_metrics"]

Texts = tuple[str, str]
"""A prediction and its reference."""

BERTSCORE_LAYER: Final = 4
MEDCON_VARIANT: Final = "archehr"

_ENCODER: Final = "distilbert"


def model_metrics(texts: Sequence[Texts], arguments: Mapping[str, str]) -> list[dict[str, float]]:
    """Computes the metrics that something is given for.

    Args:
        texts: what is compared.
        arguments: those of `MODEL_METRICS` that are given. Others are passed over.

    Returns:
        Metric to value, in the order of the texts.

    Raises:
        MissingError: A checkpoint, an index or a package is not on this machine.
        UsageError: It is none.
    """
    rows: list[dict[str, float]] = [{} for _ in texts]
    for argument, compute in _COMPUTED.items():
        if argument in arguments and texts:
            for row, value in zip(rows, compute(arguments[argument], texts), strict=True):
                row[MODEL_METRICS[argument]] = value
    return rows


def model_identity(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what of checkpoints and index decides the numbers, for the recipe; loads no weights.

    Args:
        arguments: as in `model_metrics`.

    Raises:
        MissingError: As `model_metrics`.
        UsageError: As `model_metrics`.
    """
    return {name: identity(arguments[name]) for name, identity in _IDENTITIES.items() if name in arguments}


def _bertscore(folder: str, texts: Sequence[Texts]) -> list[float]:
    from medical_tasks.models.bertscore import DISTILBERT_LAYER_4, open_bertscore

    _check_encoder(folder)
    scorer = open_bertscore(folder, layer=BERTSCORE_LAYER)
    try:
        scores = scorer.score([prediction for prediction, _ in texts], [reference for _, reference in texts])
    finally:
        scorer.close()
    _tell_cut("bertscore", "texts", scorer.truncated)
    return [score.rescaled(DISTILBERT_LAYER_4).f1 for score in scores]


def _bertscore_identity(folder: str) -> dict[str, Any]:
    from medical_tasks.models.bertscore import DISTILBERT_LAYER_4, bertscore_identity

    _check_encoder(folder)
    return {**bertscore_identity(folder, layer=BERTSCORE_LAYER), "rescaled_f1": DISTILBERT_LAYER_4.f1}


def _check_encoder(folder: str) -> None:
    """The baseline is of one encoder; of another one's numbers it makes nonsense. What does not load is told when it is opened."""
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
            f"bertscore: {folder} is an encoder of the kind {kind!r}, and the baseline that its numbers are rescaled by is that of "
            "distilbert-base-uncased. Give a folder of that checkpoint."
        )


def _medcon(folder: str, texts: Sequence[Texts]) -> list[float]:
    from medical_tasks.scoring.medcon import medcon
    from medical_tasks.scoring.umls.index import UmlsIndex
    from medical_tasks.scoring.umls.matcher import Matcher

    with UmlsIndex(Path(folder).expanduser()) as index:
        matcher = Matcher(index, variant=MEDCON_VARIANT)
        known = {text: matcher.concepts(text) for text in dict.fromkeys(text for pair in texts for text in pair)}
    return [medcon(known[reference], known[prediction]).f1 for prediction, reference in texts]


def _medcon_identity(folder: str) -> dict[str, Any]:
    from medical_tasks.scoring.umls.index import UmlsIndex

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


def _alignscore(given: str, texts: Sequence[Texts]) -> list[float]:
    from medical_tasks.models.alignscore import open_alignscore

    scorer = open_alignscore(**_align_files(given))
    try:
        scores = scorer.score([reference for _, reference in texts], [prediction for prediction, _ in texts])
    finally:
        scorer.close()
    _tell_cut("alignscore", "pairs", scorer.truncated)
    return scores


def _alignscore_identity(given: str) -> dict[str, Any]:
    from medical_tasks.models.alignscore import alignscore_identity

    return {**alignscore_identity(**_align_files(given)), "mode": "nli_sp"}


def _align_files(given: str) -> dict[str, str]:
    """`CKPT:FOLDER`, and behind another colon how sentences are split."""
    parts = given.split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise UsageError(
            f"alignscore must be CKPT:FOLDER (the checkpoint's file and its backbone's folder, without colons in their names), or "
            f"CKPT:FOLDER:SENTENCES (medical, punkt, or a folder of NLTK's punkt_tab); got {given!r}."
        )
    return dict(zip(("checkpoint", "backbone", "sentences"), parts, strict=False))


def _tell_cut(name: str, what: str, count: int) -> None:
    if count > 0:
        print(f"note: {name}: {count} {what} are longer than the checkpoint takes and were cut there", file=sys.stderr)


MODEL_METRICS: Final[Mapping[str, str]] = {"bertscore": "bertscore", "umls": "medcon", "alignscore": "alignscore"}
"""Scoring argument to the metric it adds."""

_COMPUTED: Final[Mapping[str, Callable[[str, Sequence[Texts]], list[float]]]] = {
    "bertscore": _bertscore,
    "umls": _medcon,
    "alignscore": _alignscore,
}
_IDENTITIES: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "bertscore": _bertscore_identity,
    "umls": _medcon_identity,
    "alignscore": _alignscore_identity,
}
