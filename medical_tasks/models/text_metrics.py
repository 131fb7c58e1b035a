"""Text metrics by name.

Of words, and by checkpoints and indexes on this machine (docs/text_metrics.md).
"""

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
"""Prediction and reference of each item."""

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
"""What needs nothing but texts; `sari` a source too. ROUGE has further orders, and `_precision` and `_recall`."""


def word_metrics(
    prediction: str, references: References, names: Collection[str], *, source: str = ""
) -> dict[str, float]:
    """Computes the metrics of words that are named, but for the pooled ones, 0-1.

    BLEU is not smoothed.
    """
    rouges = {name: match for name in names if (match := _ROUGE.fullmatch(name))}
    found = (
        rouge(
            prediction,
            references,
            variants=list({match[1] for match in rouges.values()}),
        )
        if rouges
        else {}
    )
    values = {
        name: getattr(found[match[1]], match[2] or "f1")
        for name, match in rouges.items()
    }
    values |= {
        name: of(prediction, references)
        for name, of in _OF_WORDS.items()
        if name in names
    }
    if "sari" in names:
        values["sari"] = sari(source, prediction, references).score / 100

    return values


_Score = TypeVar("_Score")


class _Open(Protocol):
    """An open checkpoint, which counts what it cut."""

    truncated: int

    def close(self) -> None: ...


def _scored(
    name: str, what: str, scorer: _Open, score: Callable[[], list[_Score]]
) -> list[_Score]:
    """Scores with an open checkpoint, closes it, and says which texts were longer than it takes."""
    with closing(scorer):
        scores = score()
    if scorer.truncated > 0:
        count = f"{scorer.truncated} {what} are longer than the checkpoint takes and were cut there"
        print(f"note: {name}: {count}", file=sys.stderr)
    return scores


def bertscores(folder: str | Path, layer: int, pairs: Pairs) -> list[BertScore]:
    """Computes BERTScore, not rescaled."""
    said, true = (
        [prediction for prediction, _ in pairs],
        [reference for _, reference in pairs],
    )
    scorer = open_bertscore(folder, layer=layer)
    return _scored("bertscore", "texts", scorer, lambda: scorer.score(said, true))


_LAYERS: Final = {("deberta", 48): 40, ("roberta", 24): 17, ("distilbert", 6): 5}
"""Kind and number of layers to layer: bert_score's choices for deberta-xlarge-mnli, roberta-large, distilbert-base-uncased."""


def checkpoint_layer(given: str) -> tuple[Path, int]:
    """Reads `FOLDER` or `FOLDER@LAYER`."""
    path, mark, written = given.rpartition("@")
    if mark and not Path(given).expanduser().is_dir():
        if not (written.isascii() and written.isdecimal()):
            raise UsageError(
                f"bertscore={given}: a layer's number follows @. Give FOLDER@LAYER."
            )

        return Path(path).expanduser(), int(written)

    folder = Path(given).expanduser()
    checkpoint = find_folder(folder, f". {MESSAGES['bertscore_layer']}")
    kind = str(checkpoint.setting("model_type") or "unknown")
    layers = checkpoint.setting("num_hidden_layers", "n_layers", "n_layer")
    if not isinstance(layers, int) or (kind, layers) not in _LAYERS:
        raise UsageError(
            f"bertscore={given}: no layer is usual for a checkpoint of the kind {kind} with "
            f"{layers} layers. Give FOLDER@LAYER."
        )

    return folder, _LAYERS[kind, layers]


def concept_pairs(
    folder: str, variant: str, pairs: Pairs
) -> list[tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]]:
    """Finds the concepts of each reference and of its prediction, for MEDCON."""
    with UmlsIndex(Path(folder).expanduser()) as index:
        matcher = Matcher(index, variant=variant)
        known = {
            text: matcher.concepts(text)
            for text in dict.fromkeys(text for pair in pairs for text in pair)
        }
    return [(known[reference], known[prediction]) for prediction, reference in pairs]


def medcon_identity(folder: str, variant: str) -> dict[str, object]:
    """Says what decides MEDCON's numbers."""
    with UmlsIndex(Path(folder).expanduser()) as index:
        told = index.info

    return {
        "variant": variant,
        "source_sha256": told.source,
        "lowercase": told.lowercase,
        "ascii_only": told.ascii_only,
        "terms": told.terms,
        "types_sha256": hashlib.sha256(" ".join(told.types).encode()).hexdigest(),
    }


def alignscores(given: str, pairs: Pairs) -> list[float]:
    """Computes AlignScore of each prediction, the claim, by its reference, the context."""
    said, true = (
        [prediction for prediction, _ in pairs],
        [reference for _, reference in pairs],
    )
    scorer = open_alignscore(**_align_files(given))
    return _scored("alignscore", "pairs", scorer, lambda: scorer.score(true, said))


def bleurts(folder: str, pairs: Pairs) -> list[float]:
    """Computes BLEURT."""
    scorer = open_bleurt(folder)
    return _scored("bleurt", "texts", scorer, lambda: scorer.score(_turned(pairs)))


def align_identity(given: str) -> dict[str, object]:
    """Says what decides AlignScore's numbers."""
    return {**alignscore_identity(**_align_files(given)), "mode": "nli_sp"}


def _align_files(given: str) -> dict[str, str]:
    parts = given.split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise UsageError(MESSAGES["alignscore_argument"].format(given=given))
    return dict(zip(("checkpoint", "backbone", "sentences"), parts, strict=False))


def similarities(
    name: str, folder: str | Path, pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """Computes the cosine of each pair of texts by a local checkpoint (paper, section 4.3 and table 5).

    An empty text has 0: an answer that says nothing is like nothing, and leaving it out
    would reward not answering.
    """
    example = CLINICAL_BERT if name == "clinical_bert" else MINILM
    with closing(open_embedder(folder, example=example)) as embedder:
        vectors = embedder.embed([text for pair in pairs for text in pair])

    if embedder.truncated:
        distinct = len({text.strip() for pair in pairs for text in pair})
        said = f"{embedder.truncated} of {distinct} texts are longer than {embedder.max_length} tokens and were cut there"
        print(f"note: {name}: {said}", file=sys.stderr)

    answers, right = vectors[::2].astype(np.float64), vectors[1::2].astype(np.float64)
    dot, answered, wanted = (
        np.einsum("ij,ij->i", *two)
        for two in ((answers, right), (answers, answers), (right, right))
    )
    lengths = answered * wanted
    # Lengths are 1 or 0; divided by all the same, so that equal texts have exactly 1.
    cosines = np.divide(
        dot, np.sqrt(lengths), out=np.zeros(len(pairs)), where=lengths > 0
    )

    return [float(cosine) for cosine in np.clip(cosines, -1.0, 1.0)]


def _turned(pairs: Pairs) -> list[tuple[str, str]]:
    return [(reference, prediction) for prediction, reference in pairs]


@dataclass(frozen=True)
class ModelMetric:
    """A metric by what the user has on this machine."""

    name: str
    given: str  # what its argument is
    compute: Callable[[str, Pairs], list[float]]
    # what decides its numbers, for the recipe; loads no weights
    identity: Callable[[str], Mapping[str, object]]
    limits: tuple[float, float] | None = (0.0, 1.0)
    unit: str = ""  # as `MetricSpec.unit`


_COSINES: Final = (-1.0, 1.0)
MODEL_METRICS: Final[Mapping[str, ModelMetric]] = {
    "bertscore": ModelMetric(
        "bertscore",
        "FOLDER or FOLDER@LAYER, an encoder's checkpoint",
        lambda given, pairs: [
            score.f1 for score in bertscores(*checkpoint_layer(given), pairs)
        ],
        lambda given: bertscore_identity(*checkpoint_layer(given)),
        limits=_COSINES,
        unit="cosine",
    ),
    "umls": ModelMetric(
        "medcon",
        "FOLDER, an index made by: medical-tasks umls build",
        lambda folder, pairs: [
            medcon(*each).f1 for each in concept_pairs(folder, "aci-bench", pairs)
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
"""Argument to the metric that needs it."""


def metrics_of_models(
    models: Mapping[str, ModelMetric], arguments: Mapping[str, str], pairs: Pairs
) -> list[dict[str, float]]:
    """Computes the metrics whose arguments are given, a row a pair."""
    given = {
        each.name: each.compute(arguments[name], pairs)
        for name, each in models.items()
        if name in arguments and pairs
    }
    return [
        {name: column[place] for name, column in given.items()}
        for place in range(len(pairs))
    ]


def identity_of_models(
    models: Mapping[str, ModelMetric], arguments: Mapping[str, str]
) -> dict[str, Any]:
    """Says what of checkpoints and index decides the numbers, for the recipe; loads no weights."""
    return {
        name: dict(each.identity(arguments[name]))
        for name, each in models.items()
        if name in arguments
    }


def chosen_metrics(
    names: Sequence[str] | None, arguments: Mapping[str, str], *, sourced: bool
) -> tuple[str, ...]:
    """Says which metrics are computed, by default all that can be; `arguments`.

    Of `MODEL_METRICS`.
    """
    needs = {metric.name: argument for argument, metric in MODEL_METRICS.items()}
    strange = next((each for each in arguments if each not in MODEL_METRICS), None)
    if strange is not None:
        raise UsageError(
            f"text metrics take no argument {strange!r}.{did_you_mean(strange, MODEL_METRICS)} "
            f"They take: {', '.join(MODEL_METRICS)}."
        )

    given = [MODEL_METRICS[each].name for each in arguments]
    if names is None:
        return (*(each for each in WORD_METRICS if sourced or each != "sari"), *given)

    for name in names:
        _check_metric(name, given, sourced=sourced)

    unused = next((each for each in given if each not in names), None)
    if unused is not None:
        raise UsageError(
            f"{needs[unused]}: is given, and {unused} is not among the metrics. Add it or leave it "
            "out."
        )

    return tuple(dict.fromkeys(names))


def _check_metric(name: str, given: Sequence[str], *, sourced: bool) -> None:
    """Refuses a metric that there is not, or that lacks its checkpoint or the sources."""
    needs = {metric.name: argument for argument, metric in MODEL_METRICS.items()}
    known = (*WORD_METRICS, *needs)
    if name in needs and name not in given:
        argument = needs[name]
        raise MissingError(
            f"{name}: needs {argument}={MODEL_METRICS[argument].given}. Give it with "
            f"--task-args {argument}=..."
        )

    if name not in known and not _ROUGE.fullmatch(name):
        raise UsageError(
            f"no text metric {name!r}.{did_you_mean(name, known)} There are {', '.join(known)}."
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
    """Scores texts; of several references the best counts by checkpoints, as words say otherwise.

    Returns:
        Each metric's value with its 95 % interval, and of all but the pooled ones each
        text's own.
    """
    rows = list(
        zip(predictions, references, sources or [""] * len(predictions), strict=True)
    )
    words = [
        word_metrics(said, known, metrics, source=source)
        for said, known, source in rows
    ]
    columns = {
        name: [row[name] for row in words]
        for name in metrics
        if words and name in words[0]
    }
    texts = [(said, known) for said, known, _ in rows]
    estimates: dict[str, Estimate] = {}
    for name, best in _best_by_models(texts, arguments or {}).items():
        limits = next(
            each.limits for each in MODEL_METRICS.values() if each.name == name
        )
        columns[name] = best
        estimates[name] = mean_interval(best, clusters=clusters, limits=limits)

    for name in metrics:
        if name in POOLED:
            theirs = name.startswith("sacre")
            sums = [bleu_sums(said, known, sacrebleu=theirs) for said, known in texts]
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
    """Each text's value by its best reference, by the metrics of the checkpoints given."""
    pairs = [(said, one) for said, known in texts for one in as_references(said, known)]
    found = iter(metrics_of_models(MODEL_METRICS, arguments, pairs))
    by_text = [
        [next(found) for _ in as_references(said, known)] for said, known in texts
    ]
    names = [MODEL_METRICS[argument].name for argument in arguments]

    return {
        name: [max(each[name] for each in values) for values in by_text]
        for name in names
    }


def pooled_bleu(*sums: Floats, sacrebleu: bool = False) -> Floats:
    """BLEU of what `bleu_sums` adds up to, number for number that of `bleu_corpus` or `sacrebleu_corpus`."""
    matches, totals, (said, true) = (
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
        score = np.minimum(1.0, np.exp(1 - true / said)) * np.exp(
            np.log(matches / totals).mean(axis=0)
        )

    return np.where(matches.all(axis=0), score, 0.0)
