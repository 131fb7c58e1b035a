"""Factuality and relevance, the two halves of the paper's section Evaluation.

Micro figures add up over cases before they divide, macro figures are means. BERTScore may be below 0, and MEDCON above 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.spec import OFFICIAL, share_name
from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_text
from medical_tasks.models import text_metrics
from medical_tasks.models.bertscore import DISTILBERT_LAYER_4, bertscore_identity
from medical_tasks.models.text_metrics import MODEL_METRICS, ModelMetric, bertscores, concept_pairs, medcon_identity
from medical_tasks.scoring.content_overlap import medcon
from medical_tasks.spec import Item

ESSENTIAL: Final = "essential"
SUPPLEMENTARY: Final = "supplementary"

_PARTS: Final = ("f1", "precision", "recall")


@dataclass(frozen=True, slots=True)
class Counts:
    """How cited and right sentences meet: cited and right, cited and not right, right and not cited."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    def ratios(self) -> dict[str, tuple[int, int]]:
        """Numerator and denominator of `precision`, `recall` and `f1`."""
        cited, right = self.hits + self.wrong, self.hits + self.missed
        return {"precision": (self.hits, cited), "recall": (self.hits, right), "f1": (2 * self.hits, cited + right)}


def positives(labels: Mapping[str, str], *, lenient: bool) -> tuple[str, ...]:
    """The sentences that are right to cite, in the note's order; lenient takes supplementary ones too."""
    right = (ESSENTIAL, SUPPLEMENTARY) if lenient else (ESSENTIAL,)
    return tuple(sentence for sentence, label in labels.items() if label in right)


def count(cited: Collection[Hashable], right: Collection[Hashable]) -> Counts:
    """Counts a case; what is cited twice counts once."""
    said, true = frozenset(cited), frozenset(right)
    return Counts(hits=len(said & true), wrong=len(said - true), missed=len(true - said))


def factuality_values(
    kind: str, counted: Mapping[str, Counts | None], *, official: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Makes an item's metrics of its counts, and the denominators of pooled ones; a count of None has nothing to be right.

    A share of nothing is nan; `official` it is 0, and 1 in the subtask of evidence where nothing is named and nothing right.
    """
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    suffix = OFFICIAL if official else ""
    for which, counts in counted.items():
        ratios = {} if counts is None else counts.ratios()
        nothing = math.nan
        if official and counts is not None:
            nothing = float(kind == "evidence" and counts == Counts())
        for part in _PARTS:
            above, below = ratios.get(part, (0, 0))
            micro, macro = (f"{share_name(kind, which, how, part)}{suffix}" for how in ("micro", "macro"))
            values[micro] = values[macro] = above / below if below else nothing
            weights[micro] = float(below)
    if kind != "cited":
        headline = f"{share_name(kind, 'strict', 'micro', 'f1')}{suffix}"
        values[f"overall_score{suffix}"], weights[f"overall_score{suffix}"] = values[headline], weights[headline]
    return values, weights


WORD_METRICS: Final = ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari")
"""The metrics that need nothing but words."""

_APART: Final = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A text and what it is held against."""

    prediction: str  # without citations
    reference: str  # of all metrics but SARI
    source: str  # SARI's source, the text that is rewritten
    target: str  # SARI's reference


def labels_of(item: Item) -> dict[str, str]:
    """Id of each sentence of the note to its label, in the note's order; empty where the key has none."""
    labels = item.fields["relevance"]
    return dict(zip(item.fields["sentence_ids"], labels, strict=True)) if labels else {}


def answer_comparison(item: Item, prediction: str, *, narrative: bool = False) -> Comparison | None:
    """Compares with the clinician's answer, None where it is not released; SARI's source is the questions or `narrative`."""
    source = str(item.fields["patient_narrative"]).strip() if narrative else _questions(item)
    return _compared(item.fields["clinician_answer"], prediction, source)


def notes_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds an answer against the questions and the essential sentences; None where it is not known which these are."""
    labels = labels_of(item)
    if not labels:
        return None
    texts = dict(zip(item.fields["sentence_ids"], item.fields["sentences"], strict=True))
    essential = "\n".join(str(texts[sentence]).strip() for sentence in positives(labels, lenient=False))
    asked = _questions(item)
    return Comparison(prediction=prediction, reference=f"{asked}{_APART}{essential}", source=asked, target=essential)


def question_comparison(item: Item, prediction: str) -> Comparison | None:
    """Holds a question against the clinician's, of what the patient wrote; None where there is none."""
    return _compared(item.fields["clinician_question"], prediction, str(item.fields["patient_narrative"]).strip())


def _compared(reference: object, prediction: str, source: str) -> Comparison | None:
    text = str(reference).strip()
    return Comparison(prediction=prediction, reference=text, source=source, target=text) if text else None


def relevance_values(
    compared: Mapping[str, Sequence[Comparison | None]], arguments: Mapping[str, str], *, wanted: Collection[str]
) -> list[dict[str, float]]:
    """Computes an item's metrics by ending of their names, nan without a reference (None), each of equal comparisons once."""
    given = [metric.name for argument, metric in _MODELS.items() if argument in arguments]
    names = {suffix: [name for name in (*WORD_METRICS, *given) if f"{name}{suffix}" in wanted] for suffix in compared}
    different: dict[Comparison, set[str]] = {}
    for suffix, some in compared.items():
        for each in some:
            if each is not None:
                different.setdefault(each, set()).update(names[suffix])
    texts: list[Texts] = list(dict.fromkeys((each.prediction, each.reference) for each in different))
    modelled = dict(zip(texts, model_metrics(texts, arguments), strict=True))
    found = {
        each: word_metrics(each, words) | modelled[each.prediction, each.reference] for each, words in different.items()
    }
    return [
        {
            f"{name}{suffix}": math.nan if each is None else found[each][name]
            for suffix, each in zip(compared, row, strict=True)
            for name in names[suffix]
        }
        for row in zip(*compared.values(), strict=True)
    ]


def word_metrics(comparison: Comparison, names: Collection[str]) -> dict[str, float]:
    """Computes those of `WORD_METRICS` that are named, 0-1. BLEU is not smoothed: 0 without a run of four tokens in common."""
    values = text_metrics.word_metrics(comparison.prediction, comparison.reference, {*names} - {"sari"})
    if "sari" in names:
        values |= text_metrics.word_metrics(
            comparison.prediction, comparison.target, ("sari",), source=comparison.source
        )
    return values


def _questions(item: Item) -> str:
    narrative, question = (str(item.fields[name]).strip() for name in ("patient_narrative", "clinician_question"))
    return f"{narrative}{_APART}{question}"


Texts = tuple[str, str]
"""A prediction and its reference."""

BERTSCORE_LAYER: Final = 4
MEDCON_VARIANT: Final = "archehr"

_ENCODER: Final = "distilbert"


def model_metrics(texts: Sequence[Texts], arguments: Mapping[str, str]) -> list[dict[str, float]]:
    """Computes the metrics by checkpoints and indexes that are given, in the order of the texts."""
    return text_metrics.metrics_of_models(_MODELS, arguments, texts)


def model_identity(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what of checkpoints and index decides the numbers, for the recipe; loads no weights."""
    return text_metrics.identity_of_models(_MODELS, arguments)


def _bertscore(folder: str, texts: Sequence[Texts]) -> list[float]:
    _check_encoder(folder)
    return [score.rescaled(DISTILBERT_LAYER_4).f1 for score in bertscores(folder, BERTSCORE_LAYER, texts)]


def _bertscore_identity(folder: str) -> dict[str, Any]:
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
    return [medcon(*each).f1 for each in concept_pairs(folder, MEDCON_VARIANT, texts)]


_MODELS: Final[Mapping[str, ModelMetric]] = {
    "bertscore": replace(MODEL_METRICS["bertscore"], compute=_bertscore, identity=_bertscore_identity),
    "umls": replace(MODEL_METRICS["umls"], compute=_medcon, identity=partial(medcon_identity, variant=MEDCON_VARIANT)),
    "alignscore": MODEL_METRICS["alignscore"],
}
"""Scoring argument to the metric it adds."""
