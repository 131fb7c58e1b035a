"""Text metrics by name: of words, and by checkpoints and indexes on this machine (docs/text_metrics.md)."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from medical_tasks.errors import MissingError, UsageError, did_you_mean
from medical_tasks.models.alignscore import alignscore_identity, open_alignscore
from medical_tasks.models.bertscore import BertScore, bertscore_identity, open_bertscore
from medical_tasks.models.bleurt import bleurt_identity, open_bleurt
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.embedder import (
    CLINICAL_BERT,
    MINILM,
    embedder_identity,
    open_embedder,
)
from medical_tasks.models.encoder import find_folder
from medical_tasks.models.radgraph import f1_radgraph, radgraph_identity
from medical_tasks.scoring.bleu_and_sari import (
    MAX_ORDER,
    bleu,
    bleu_sums,
    sacrebleu_sentence,
    sari,
)
from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.content_overlap import medcon
from medical_tasks.scoring.estimates import Estimate, Floats
from medical_tasks.scoring.means import mean_interval
from medical_tasks.scoring.rouge import rouge
from medical_tasks.scoring.text_pairs import References, as_references, exact_match
from medical_tasks.scoring.umls.index import UmlsIndex
from medical_tasks.scoring.umls.matcher import Matcher

Pairs = Sequence[tuple[str, str]]
"""The prediction and reference of each item."""

_ROUGE: Final = re.compile(r"(rouge(?:[1-9]|L|Lsum))(?:_(precision|recall))?")
_OF_WORDS: Final[Mapping[str, Callable[[str, References], float]]] = {
    "bleu": lambda prediction, references: bleu(prediction, references).score,
    "sacrebleu": lambda prediction, references: (
        sacrebleu_sentence(prediction, references).score
    ),
    "exact_match": exact_match,
}
POOLED: Final = ("bleu_corpus", "sacrebleu_corpus")
WORD_METRICS: Final = (
    "rouge1",
    "rouge2",
    "rougeL",
    "rougeLsum",
    *_OF_WORDS,
    *POOLED,
    "sari",
)
"""Metrics that need only texts; `sari` also needs sources. ROUGE has further orders, `_precision` and `_recall`."""


def word_metrics(
    prediction: str, references: References, names: Collection[str], *, source: str = ""
) -> dict[str, float]:
    """Computes the named metrics of words, except the pooled ones, 0-1. BLEU is not smoothed."""
    rouges = {name: match for name in names if (match := _ROUGE.fullmatch(name))}
    scores = (
        rouge(
            prediction,
            references,
            variants=list({match[1] for match in rouges.values()}),
        )
        if rouges
        else {}
    )
    values = {
        name: getattr(scores[match[1]], match[2] or "f1")
        for name, match in rouges.items()
    }
    values |= {
        name: metric(prediction, references)
        for name, metric in _OF_WORDS.items()
        if name in names
    }
    if "sari" in names:
        values["sari"] = sari(source, prediction, references).score / 100

    return values


_Score = TypeVar("_Score")


class _Open(Protocol):
    """An open checkpoint, which counts the texts that it cut."""

    truncated: int

    def close(self) -> None: ...


def _scored(
    name: str, what: str, scorer: _Open, score: Callable[[], list[_Score]]
) -> list[_Score]:
    """Scores with an open checkpoint, closes it, and prints how many texts were cut."""
    with closing(scorer):
        scores = score()
    if scorer.truncated > 0:
        count = (
            f"{scorer.truncated} {what} were too long for the checkpoint and were cut"
        )
        print(f"note: {name}: {count}", file=sys.stderr)
    return scores


def bertscores(folder: str | Path, layer: int, pairs: Pairs) -> list[BertScore]:
    """Computes BERTScore, not rescaled."""
    predictions, references = (
        [prediction for prediction, _ in pairs],
        [reference for _, reference in pairs],
    )
    scorer = open_bertscore(folder, layer=layer)
    return _scored(
        "bertscore", "texts", scorer, lambda: scorer.score(predictions, references)
    )


_LAYERS: Final = {("deberta", 48): 40, ("roberta", 24): 17, ("distilbert", 6): 5}
"""Maps kind and number of layers to bert_score's layer for deberta-xlarge-mnli, roberta-large, distilbert-base-uncased."""


def checkpoint_layer(argument: str) -> tuple[Path, int]:
    """Parses `FOLDER` or `FOLDER@LAYER`."""
    folder_text, mark, layer = argument.rpartition("@")
    if mark and not Path(argument).expanduser().is_dir():
        if not (layer.isascii() and layer.isdecimal()):
            raise UsageError(
                f"bertscore={argument}: a layer's number follows @. Give FOLDER@LAYER."
            )

        return Path(folder_text).expanduser(), int(layer)

    folder = Path(argument).expanduser()
    checkpoint = find_folder(folder, f". {MESSAGES['bertscore_layer']}")
    kind = str(checkpoint.setting("model_type") or "unknown")
    layers = checkpoint.setting("num_hidden_layers", "n_layers", "n_layer")
    if not isinstance(layers, int) or (kind, layers) not in _LAYERS:
        raise UsageError(
            f"bertscore={argument}: no layer is usual for a checkpoint of the kind {kind} with "
            f"{layers} layers. Give FOLDER@LAYER."
        )

    return folder, _LAYERS[kind, layers]


def concept_pairs(
    folder: str, variant: str, pairs: Pairs
) -> list[tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]]:
    """Finds the concepts of each reference and of its prediction, for MEDCON."""
    with UmlsIndex(Path(folder).expanduser()) as index:
        matcher = Matcher(index, variant=variant)
        concepts = {
            text: matcher.concepts(text)
            for text in dict.fromkeys(text for pair in pairs for text in pair)
        }
    return [
        (concepts[reference], concepts[prediction]) for prediction, reference in pairs
    ]


def medcon_identity(folder: str, variant: str) -> dict[str, object]:
    """Returns what decides MEDCON's numbers."""
    with UmlsIndex(Path(folder).expanduser()) as index:
        info = index.info

    return {
        "variant": variant,
        "source_sha256": info.source,
        "lowercase": info.lowercase,
        "ascii_only": info.ascii_only,
        "terms": info.terms,
        "types_sha256": hashlib.sha256(" ".join(info.types).encode()).hexdigest(),
    }


def alignscores(argument: str, pairs: Pairs) -> list[float]:
    """Computes AlignScore of each prediction (the claim) by its reference (the context)."""
    predictions, references = (
        [prediction for prediction, _ in pairs],
        [reference for _, reference in pairs],
    )
    scorer = open_alignscore(**_align_files(argument))
    return _scored(
        "alignscore", "pairs", scorer, lambda: scorer.score(references, predictions)
    )


def bleurts(folder: str, pairs: Pairs) -> list[float]:
    """Computes BLEURT."""
    scorer = open_bleurt(folder)
    return _scored("bleurt", "texts", scorer, lambda: scorer.score(_turned(pairs)))


def align_identity(argument: str) -> dict[str, object]:
    """Returns what decides AlignScore's numbers."""
    return {**alignscore_identity(**_align_files(argument)), "mode": "nli_sp"}


def _align_files(argument: str) -> dict[str, str]:
    parts = argument.split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise UsageError(MESSAGES["alignscore_argument"].format(given=argument))
    return dict(zip(("checkpoint", "backbone", "sentences"), parts, strict=False))


def similarities(
    name: str, folder: str | Path, pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """Computes the cosine of each pair of texts by a local checkpoint (paper, section 4.3 and table 5).

    An empty text scores 0: leaving it out would reward not answering.
    """
    example = CLINICAL_BERT if name == "clinical_bert" else MINILM
    with closing(open_embedder(folder, example=example)) as embedder:
        vectors = embedder.embed([text for pair in pairs for text in pair])

    if embedder.truncated:
        distinct = len({text.strip() for pair in pairs for text in pair})
        count = f"{embedder.truncated} of {distinct} texts are longer than {embedder.max_length} tokens and were cut"
        print(f"note: {name}: {count}", file=sys.stderr)

    answers, references = (
        vectors[::2].astype(np.float64),
        vectors[1::2].astype(np.float64),
    )
    dot, answer_squares, reference_squares = (
        np.einsum("ij,ij->i", left, right)
        for left, right in (
            (answers, references),
            (answers, answers),
            (references, references),
        )
    )
    lengths = answer_squares * reference_squares
    # Lengths are 1 or 0 up to rounding; dividing makes equal texts score exactly 1.
    cosines = np.divide(
        dot, np.sqrt(lengths), out=np.zeros(len(pairs)), where=lengths > 0
    )

    return [float(cosine) for cosine in np.clip(cosines, -1.0, 1.0)]


def _turned(pairs: Pairs) -> list[tuple[str, str]]:
    return [(reference, prediction) for prediction, reference in pairs]


@dataclass(frozen=True)
class ModelMetric:
    """A metric that needs a checkpoint or an index on this machine.

    Attributes:
        name: of the metric.
        argument_help: what its argument is.
        compute: computes it from the argument and the pairs.
        identity: returns what decides its numbers, for the recipe; loads no weights.
        limits: its range, None if unbounded.
        unit: as `MetricSpec.unit`.
    """

    name: str
    argument_help: str
    compute: Callable[[str, Pairs], list[float]]
    identity: Callable[[str], Mapping[str, object]]
    limits: tuple[float, float] | None = (0.0, 1.0)
    unit: str = ""


_COSINES: Final = (-1.0, 1.0)
MODEL_METRICS: Final[Mapping[str, ModelMetric]] = {
    "bertscore": ModelMetric(
        "bertscore",
        "FOLDER or FOLDER@LAYER, an encoder's checkpoint",
        lambda argument, pairs: [
            score.f1 for score in bertscores(*checkpoint_layer(argument), pairs)
        ],
        lambda argument: bertscore_identity(*checkpoint_layer(argument)),
        limits=_COSINES,
        unit="cosine",
    ),
    "umls": ModelMetric(
        "medcon",
        "FOLDER, an index made by: medical-tasks umls build",
        lambda folder, pairs: [
            medcon(*concepts).f1
            for concepts in concept_pairs(folder, "aci-bench", pairs)
        ],
        partial(medcon_identity, variant="aci-bench"),
        limits=(0.0, 2.0),  # synonyms can bring it above 1
    ),
    "alignscore": ModelMetric(
        "alignscore",
        "CKPT:FOLDER, checkpoint and backbone",
        alignscores,
        align_identity,
    ),
    "bleurt": ModelMetric(
        "bleurt",
        "FOLDER, a BLEURT checkpoint",
        bleurts,
        bleurt_identity,
        limits=None,
        unit="score",
    ),
    "radgraph": ModelMetric(
        "f1_radgraph",
        "FOLDER, a RadGraph checkpoint",
        lambda folder, pairs: f1_radgraph(folder, _turned(pairs)),
        radgraph_identity,
    ),
    **{
        name: ModelMetric(
            name,
            f"FOLDER, a {of} checkpoint",
            partial(similarities, name),
            embedder_identity,
            limits=_COSINES,
            unit="cosine",
        )
        for name, of in (
            ("sentence_bert", "Sentence-BERT"),
            ("clinical_bert", "ClinicalBERT"),
        )
    },
}
"""Maps an argument to the metric that needs it."""


def metrics_of_models(
    models: Mapping[str, ModelMetric], arguments: Mapping[str, str], pairs: Pairs
) -> list[dict[str, float]]:
    """Computes the metrics whose arguments are given; one row per pair."""
    columns = {
        metric.name: metric.compute(arguments[name], pairs)
        for name, metric in models.items()
        if name in arguments and pairs
    }
    return [
        {name: column[row] for name, column in columns.items()}
        for row in range(len(pairs))
    ]


def identity_of_models(
    models: Mapping[str, ModelMetric], arguments: Mapping[str, str]
) -> dict[str, Any]:
    """Returns what decides the numbers of these metrics, for the recipe; loads no weights."""
    return {
        name: dict(metric.identity(arguments[name]))
        for name, metric in models.items()
        if name in arguments
    }


def chosen_metrics(
    names: Sequence[str] | None, arguments: Mapping[str, str], *, sourced: bool
) -> tuple[str, ...]:
    """Returns the metrics to compute, by default all that are possible.

    Args:
        names: the metrics that the user chose; None for the default.
        arguments: of `MODEL_METRICS`.
        sourced: whether the texts have sources.
    """
    needs = {metric.name: argument for argument, metric in MODEL_METRICS.items()}
    strange = next((name for name in arguments if name not in MODEL_METRICS), None)
    if strange is not None:
        raise UsageError(
            f"text metrics have no argument {strange!r}.{did_you_mean(strange, MODEL_METRICS)} "
            f"Arguments: {', '.join(MODEL_METRICS)}."
        )

    with_argument = [MODEL_METRICS[name].name for name in arguments]
    if names is None:
        return (
            *(name for name in WORD_METRICS if sourced or name != "sari"),
            *with_argument,
        )

    for name in names:
        _check_metric(name, with_argument, sourced=sourced)

    unused = next((name for name in with_argument if name not in names), None)
    if unused is not None:
        raise UsageError(
            f"{needs[unused]}: is given, and {unused} is not among the metrics. Add it or leave it "
            "out."
        )

    return tuple(dict.fromkeys(names))


def _check_metric(name: str, with_argument: Sequence[str], *, sourced: bool) -> None:
    """Rejects an unknown metric, and one that lacks its checkpoint or the sources."""
    needs = {metric.name: argument for argument, metric in MODEL_METRICS.items()}
    available = (*WORD_METRICS, *needs)
    if name in needs and name not in with_argument:
        argument = needs[name]
        raise MissingError(
            f"{name}: needs {argument}={MODEL_METRICS[argument].argument_help}. Give it with "
            f"--task-args {argument}=..."
        )

    if name not in available and not _ROUGE.fullmatch(name):
        raise UsageError(
            f"no text metric {name!r}.{did_you_mean(name, available)} There are {', '.join(available)}."
        )

    if name == "sari" and not sourced:
        raise UsageError(
            "sari: compares with the source of a text too. Name its column with --source."
        )


def score_texts(
    predictions: Sequence[str],
    references: Sequence[References],
    metrics: Sequence[str],
    *,
    sources: Sequence[str] | None = None,
    clusters: Sequence[Hashable] | None = None,
    arguments: Mapping[str, str] | None = None,
    seed: int = 0,
) -> tuple[dict[str, Estimate], dict[str, list[float]]]:
    """Scores texts.

    With several references, metrics by checkpoints take the best one; metrics of words
    have rules of their own.

    Returns:
        Each metric's value with its 95 % interval, and the values of each text, except
        for the pooled metrics.
    """
    rows = list(
        zip(predictions, references, sources or [""] * len(predictions), strict=True)
    )
    words = [
        word_metrics(prediction, alternatives, metrics, source=source)
        for prediction, alternatives, source in rows
    ]
    columns = {
        name: [row[name] for row in words]
        for name in metrics
        if words and name in words[0]
    }
    texts = [(prediction, alternatives) for prediction, alternatives, _ in rows]
    estimates: dict[str, Estimate] = {}
    for name, best in _best_by_models(texts, arguments or {}).items():
        limits = next(
            metric.limits for metric in MODEL_METRICS.values() if metric.name == name
        )
        columns[name] = best
        estimates[name] = mean_interval(best, clusters=clusters, limits=limits)

    for name in metrics:
        if name in POOLED:
            theirs = name.startswith("sacre")
            sums = [
                bleu_sums(prediction, alternatives, sacrebleu=theirs)
                for prediction, alternatives in texts
            ]
            statistic = partial(pooled_bleu, sacrebleu=theirs)
            estimates[name] = bootstrap_statistic(
                list(zip(*sums, strict=True)), statistic, clusters=clusters, seed=seed
            )
        elif name not in estimates:
            estimates[name] = mean_interval(columns[name], clusters=clusters)

    return {name: estimates[name] for name in metrics}, columns


def _best_by_models(
    texts: Sequence[tuple[str, References]], arguments: Mapping[str, str]
) -> dict[str, list[float]]:
    """Computes each text's value by its best reference, for the metrics with arguments."""
    pairs = [
        (prediction, reference)
        for prediction, references in texts
        for reference in as_references(prediction, references)
    ]
    rows = iter(metrics_of_models(MODEL_METRICS, arguments, pairs))
    by_text = [
        [next(rows) for _ in as_references(prediction, references)]
        for prediction, references in texts
    ]
    names = [MODEL_METRICS[argument].name for argument in arguments]

    return {
        name: [max(row[name] for row in values) for values in by_text] for name in names
    }


def pooled_bleu(*sums: Floats, sacrebleu: bool = False) -> Floats:
    """Computes BLEU from sums of `bleu_sums`, exactly as `bleu_corpus` or `sacrebleu_corpus`."""
    matches, totals, (prediction_tokens, reference_tokens) = (
        np.array(sums[:MAX_ORDER]),
        np.array(sums[MAX_ORDER:-2]),
        sums[-2:],
    )
    if sacrebleu:  # the k-th order without a match counts as 1 / 2^k of an n-gram
        none = (matches == 0) & (totals > 0)
        matches = np.where(
            none & matches.any(axis=0), 0.5 ** none.cumsum(axis=0), matches
        )

    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.minimum(
            1.0, np.exp(1 - reference_tokens / prediction_tokens)
        ) * np.exp(np.log(matches / totals).mean(axis=0))

    return np.where(matches.all(axis=0), score, 0.0)
