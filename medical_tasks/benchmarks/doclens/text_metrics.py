"""The metrics DocLens is compared with: words, concepts, embeddings and radiology's entities shared with the reference.

Without an argument there are ROUGE, BLEU and the number of words; `bertscore`, `bleurt` and `radgraph` name a checkpoint each,
`umls` an index (docs/medcon.md). What computes a checkpoint's metric is imported when it is asked for. All compare whole texts, the
output without its citations. A reference that says nothing gives nan; an empty output has 0, but no precision.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import read_text
from medical_tasks.scoring.bleu_and_sari import sacrebleu_sentence
from medical_tasks.scoring.content_overlap import Medcon, medcon
from medical_tasks.scoring.rouge import rouge, rouge_tokens
from medical_tasks.scoring.umls.index import UmlsIndex
from medical_tasks.scoring.umls.matcher import Matcher

Pairs = Sequence[tuple[str, str]]
"""Output and reference of each item."""


_Computed = list[dict[str, float]]


def _bertscore(given: str, pairs: Pairs) -> _Computed:
    """F1, not rescaled, by a checkpoint's folder, `@` and a layer behind it where none is usual; 0 for an empty output."""
    from medical_tasks.models.bertscore import open_bertscore

    folder, layer = checkpoint_layer(given)
    with contextlib.closing(open_bertscore(folder, layer=layer)) as scorer:
        scores = scorer.score([output for output, _ in pairs], [reference for _, reference in pairs])
    _tell_cut("bertscore", scorer.truncated)
    return _referenced("bertscore", [score.f1 for score in scores], pairs)


def _bertscore_identity(given: str) -> dict[str, Any]:
    from medical_tasks.models.bertscore import bertscore_identity

    folder, layer = checkpoint_layer(given)
    return dict(bertscore_identity(folder, layer=layer))


def _bleurt(folder: str, pairs: Pairs) -> _Computed:
    """An empty output is a text like any other."""
    from medical_tasks.models.bleurt import open_bleurt

    with contextlib.closing(open_bleurt(Path(folder).expanduser())) as scorer:
        scores = scorer.score([(reference, output) for output, reference in pairs])
    _tell_cut("bleurt", scorer.truncated)
    return _referenced("bleurt", scores, pairs)


def _bleurt_identity(folder: str) -> dict[str, Any]:
    from medical_tasks.models.bleurt import bleurt_identity

    return dict(bleurt_identity(Path(folder).expanduser()))


def _radgraph(folder: str, pairs: Pairs) -> _Computed:
    """Partial reward; 0 where neither text has an entity, as published."""
    from medical_tasks.models.radgraph import f1_radgraph

    scores = f1_radgraph(Path(folder).expanduser(), [(reference, output) for output, reference in pairs])
    return _referenced("f1_radgraph", scores, pairs)


def _radgraph_identity(folder: str) -> dict[str, Any]:
    from medical_tasks.models.radgraph import radgraph_identity

    return dict(radgraph_identity(Path(folder).expanduser()))


def _referenced(name: str, values: Sequence[float], pairs: Pairs) -> _Computed:
    """Of each item, nan where the reference says nothing."""
    return [
        {name: value if reference.strip() else math.nan} for value, (_, reference) in zip(values, pairs, strict=True)
    ]


def _tell_cut(name: str, texts: int) -> None:
    if texts > 0:
        print(f"note: {name}: {texts} texts are longer than the checkpoint takes and were cut there", file=sys.stderr)


_LAYERS: Final = {("deberta", 48): 40, ("roberta", 24): 17, ("distilbert", 6): 5}
"""Kind and number of layers to layer: bert_score's choices for deberta-xlarge-mnli, roberta-large, distilbert-base-uncased."""


def checkpoint_layer(given: str) -> tuple[Path, int]:
    """Reads `FOLDER` or `FOLDER@LAYER`."""
    path, mark, written = given.rpartition("@")
    if mark and not Path(given).expanduser().is_dir():
        if not (written.isascii() and written.isdecimal()):
            raise UsageError(f"bertscore={given}: what stands behind @ is the number of a layer. Give FOLDER@LAYER.")
        return Path(path).expanduser(), int(written)
    folder = Path(given).expanduser()
    try:
        config = json.loads(read_text(folder / "config.json"))
    except OSError as error:
        raise MissingError(
            f"bertscore={given}: no checkpoint there ({system_reason(error)} for its config.json). Nothing is downloaded here. On "
            "a machine with internet: `hf download microsoft/deberta-xlarge-mnli --local-dir models/deberta-xlarge-mnli`; then "
            "bring the folder here and give its path."
        ) from error
    except ValueError as error:
        raise UsageError(f"{folder / 'config.json'}: not JSON. Download the checkpoint again.") from error
    told = config if isinstance(config, dict) else {}
    kind = str(told.get("model_type", "unknown"))
    layers = next((told[name] for name in ("num_hidden_layers", "n_layers", "n_layer") if name in told), None)
    if not isinstance(layers, int) or (kind, layers) not in _LAYERS:
        raise UsageError(
            f"bertscore={given}: no layer is usual for a checkpoint of the kind {kind} with {layers} layers. Give FOLDER@LAYER."
        )
    return folder, _LAYERS[kind, layers]


MEDCON_VARIANT: Final = "aci-bench"


def text_metrics(pairs: Pairs, arguments: Mapping[str, str]) -> _Computed:
    """Computes the metrics of texts."""
    made = [word_metrics(output, reference) for output, reference in pairs]
    for name, (compute, _) in _METRICS.items():
        if name in arguments and pairs:
            for row, more in zip(made, compute(arguments[name], pairs), strict=True):
                row.update(more)
    return made


def text_identity(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what of checkpoints and index decides the numbers, for the recipe; loads no weights."""
    return {name: identity(arguments[name]) for name, (_, identity) in _METRICS.items() if name in arguments}


def word_metrics(output: str, reference: str) -> dict[str, float]:
    """Compares two texts by their words: ROUGE without stemming, BLEU, and `words`, what stands between white space."""
    found = rouge(output, reference, variants=("rouge1", "rouge2", "rougeL", "rougeLsum"))
    values = {name: found[name].f1 for name in ("rouge1", "rouge2", "rougeLsum")}
    values["rougeL_recall"] = found["rougeL"].recall
    values["rougeL_precision"] = found["rougeL"].precision if rouge_tokens(output) else math.nan
    if not rouge_tokens(reference):
        values = dict.fromkeys(values, math.nan)
    values["bleu"] = sacrebleu_sentence(output, reference).score if reference.strip() else math.nan
    return values | {"words": float(len(output.split()))}


def medcon_metrics(reference: Mapping[str, frozenset[str]], output: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """Compares the concepts of two texts; nan where a side to divide by has none, but `medcon_official`, which is 0 there."""
    scores: Medcon = medcon(reference, output)
    return {
        "medcon": scores.concept_f1 if reference or output else math.nan,
        "medcon_recall": scores.concept_recall if reference else math.nan,
        "medcon_precision": scores.concept_precision if output else math.nan,
        "medcon_official": scores.f1,
    }


def _medcon(folder: str, pairs: Pairs) -> _Computed:
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


_METRICS: Final[Mapping[str, tuple[Callable[[str, Pairs], _Computed], Callable[[str], dict[str, Any]]]]] = {
    "bertscore": (_bertscore, _bertscore_identity),
    "umls": (_medcon, _medcon_identity),
    "bleurt": (_bleurt, _bleurt_identity),
    "radgraph": (_radgraph, _radgraph_identity),
}
"""Argument to what computes its metrics, and what decides their numbers; only the first loads weights."""
