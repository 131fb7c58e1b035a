"""MEDCON as an `evaluate` metric.

A thin layer over `medical_tasks.scoring.umls` and
`medical_tasks.scoring.content_overlap`.

medcon = evaluate.load("metrics/medcon")            # or
evaluate.load(medical_tasks.metric_path("medcon")) medcon.compute(predictions=[note],
references=[reference], index="umls-index")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets  # noqa: TID253  (a metric module is only ever loaded by evaluate)
import evaluate  # noqa: TID253

from medical_tasks.scoring.content_overlap import medcon
from medical_tasks.scoring.means import mean_interval
from medical_tasks.scoring.umls.index import UmlsIndex
from medical_tasks.scoring.umls.matcher import Matcher

_DESCRIPTION = """\
How many of a reference's medical concepts a text has. Concepts are found by looking stretches of both texts up in your own UMLS, of
which `medical-tasks umls build` makes the index. The published number, and the F1 of the two sets of concepts; means over rows.
"""

_CITATION = """\
@article{yim2023acibench,
  title   = {{ACI-BENCH}: a Novel Ambient Clinical Intelligence Dataset for Benchmarking Automatic Visit Note Generation},
  author  = {Wen-wai Yim and Yujuan Fu and Asma {Ben Abacha} and Neal Snider and Thomas Lin and Meliha Yetisgen},
  journal = {Scientific Data},
  volume  = {10},
  number  = {586},
  year    = {2023},
  url     = {https://www.nature.com/articles/s41597-023-02487-3}
}
"""

_INPUTS = """\
Args:
    predictions: list of str.
    references: list of str, one for each prediction.
    index: str, folder that `medical-tasks umls build` made of your UMLS, default umls-index.
    variant: "aci-bench" (default), or "archehr" with QuickUMLS's rules of syntax.
    confidence: float, of the intervals. Default 0.95.
Returns:
    medcon, precision, recall: float, by the published formula; synonyms in a reference can bring medcon and precision above 1.
    concept_f1, concept_precision, concept_recall: float in 0-1, of the two sets of concepts.
    medcon_ci_low, medcon_ci_high, concept_f1_ci_low, concept_f1_ci_high: 95 % intervals over the rows.
    scores, concept_scores: lists of float, medcon and concept_f1 of each row; 0 where a side has no concept.
    without_concepts: int, rows in which neither side has one.
    recipe: dict, what makes the numbers what they are: the index's source, folding and types, and the variant.
"""

_MEANS = {
    "medcon": "f1",
    "precision": "precision",
    "recall": "recall",
    "concept_f1": "concept_f1",
    "concept_precision": "concept_precision",
    "concept_recall": "concept_recall",
}


class MedconMetric(evaluate.Metric):
    """MEDCON over an index of the user's UMLS, with intervals and its recipe."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": text}),
            reference_urls=["https://www.nature.com/articles/s41597-023-02487-3"],
        )

    def _compute(
        self,
        *,
        predictions: list[str],
        references: list[str],
        index: str = "umls-index",
        variant: str = "aci-bench",
        confidence: float = 0.95,
    ) -> dict[str, Any]:
        with UmlsIndex(Path(index).expanduser()) as umls:
            matcher = Matcher(umls, variant=variant)
            concepts = [
                (matcher.concepts(reference), matcher.concepts(prediction))
                for prediction, reference in zip(predictions, references, strict=True)
            ]
            info = umls.info
        rows = [medcon(reference, prediction) for reference, prediction in concepts]
        columns = {
            name: [float(getattr(row, attribute)) for row in rows]
            for name, attribute in _MEANS.items()
        }
        limits = {"concept_f1": (0, 1)}
        estimates = {
            name: mean_interval(column, confidence=confidence, limits=limits.get(name))
            for name, column in columns.items()
        }
        result: dict[str, Any] = {
            name: estimate.value for name, estimate in estimates.items()
        }
        for name in ("medcon", "concept_f1"):
            result[f"{name}_ci_low"] = estimates[name].ci_low
            result[f"{name}_ci_high"] = estimates[name].ci_high
        return {
            **result,
            "scores": columns["medcon"],
            "concept_scores": columns["concept_f1"],
            "without_concepts": sum(
                not reference and not prediction for reference, prediction in concepts
            ),
            "recipe": {
                "kind": "medcon",
                "variant": variant,
                "source": info.source,
                "lowercase": info.lowercase,
                "ascii_only": info.ascii_only,
                "terms": info.terms,
                "types": len(info.types),
            },
        }
