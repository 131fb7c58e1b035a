"""SARI as an `evaluate` metric: a thin layer over `medical_tasks.scoring.bleu_and_sari`.

sari = evaluate.load("metrics/sari")                # or
evaluate.load(medical_tasks.metric_path("sari")) sari.compute(sources=[question],
predictions=[answer], references=[[reference, reference]])
"""

from __future__ import annotations

from typing import Any

import datasets  # noqa: TID253  (a metric module is only ever loaded by evaluate)
import evaluate  # noqa: TID253

from medical_tasks.scoring.bleu_and_sari import sari, sari_corpus
from medical_tasks.scoring.means import mean_interval

_DESCRIPTION = """\
What a rewriting of a source keeps, deletes and adds, compared with references: the mean of three parts over n-grams of one to four
words, 0-100, mean over rows. The number is that of `evaluate`'s own SARI; nothing is downloaded for it.
"""

_CITATION = """\
@article{xu2016sari,
  title   = {Optimizing Statistical Machine Translation for Text Simplification},
  author  = {Wei Xu and Courtney Napoles and Ellie Pavlick and Quanze Chen and Chris Callison-Burch},
  journal = {Transactions of the Association for Computational Linguistics},
  volume  = {4},
  pages   = {401--415},
  year    = {2016},
  url     = {https://aclanthology.org/Q16-1029}
}
"""

_INPUTS = """\
Args:
    sources: list of str, the texts that are rewritten.
    predictions: list of str, one for each source.
    references: list of lists of str, at least one for each source; they are pooled.
    confidence: float, of the interval. Default 0.95.
Returns:
    sari, keep, delete, add: float in 0-100, nan without rows.
    sari_ci_low, sari_ci_high: 95 % interval over the rows.
    scores: list of float, SARI of each row.
"""


class Sari(evaluate.Metric):
    """SARI with its parts and an interval."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {
                    "sources": text,
                    "predictions": text,
                    "references": datasets.Sequence(text),
                }
            ),
            reference_urls=["https://aclanthology.org/Q16-1029"],
        )

    def _compute(
        self,
        *,
        sources: list[str],
        predictions: list[str],
        references: list[list[str]],
        confidence: float = 0.95,
    ) -> dict[str, Any]:
        found = sari_corpus(sources, predictions, references)
        rows = [
            sari(*row).score
            for row in zip(sources, predictions, references, strict=True)
        ]
        interval = mean_interval(rows, confidence=confidence, limits=(0, 100))
        return {
            "sari": found.score,
            "keep": found.keep,
            "delete": found.delete,
            "add": found.add,
            "sari_ci_low": interval.ci_low,
            "sari_ci_high": interval.ci_high,
            "scores": rows,
        }
