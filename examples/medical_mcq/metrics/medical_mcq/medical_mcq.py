"""The accuracy of Medical MCQ as an `evaluate` metric."""

from __future__ import annotations

import datasets  # noqa: TID253
import evaluate  # noqa: TID253

from medical_tasks.benchmarks.medical_mcq.scoring import letter_of
from medical_tasks.benchmarks.medical_mcq.spec import DATASET


class MedicalMCQ(evaluate.Metric):
    """Share of answers with the right letter."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": text})
        return evaluate.MetricInfo(
            description="Share of answers with the right letter.",
            citation=DATASET.citation,
            inputs_description="predictions: answers; references: letters.",
            features=features,
        )

    def _compute(self, *, predictions: list[str], references: list[str]) -> dict[str, float]:
        right = [
            letter_of(answer) == letter
            for answer, letter in zip(predictions, references, strict=True)
        ]
        return {"accuracy": sum(right) / len(right)}
