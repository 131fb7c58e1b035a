"""The two accuracies of MedCalc-Bench as an `evaluate` metric: a thin layer over `medical_tasks.benchmarks.medcalc_bench.scoring`.

medcalc = evaluate.load("metrics/medcalc")          # or evaluate.load(medical_tasks.metric_path("medcalc"))
medcalc.compute(predictions=[reply], references=[{"calculator_id": 2, "answer": "25.238", "lower": ..., "upper": ...}])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import datasets  # noqa: TID253  (a metric module is only ever loaded by evaluate)
import evaluate  # noqa: TID253

from medical_tasks.benchmarks.medcalc_bench.data import METRIC_COLUMNS
from medical_tasks.benchmarks.medcalc_bench.declarations import MEDCALC_BENCH
from medical_tasks.benchmarks.medcalc_bench.official import official_decision
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.harness.evaluate_rows import DatasetRows
from medical_tasks.scoring.intervals import wilson_interval

_DESCRIPTION = """\
Share of replies to MedCalc-Bench questions that give the right answer: exactly for scores, within the row's limits (5 %) for
measurements, to the day for dates. Two numbers: `accuracy` reads the final answer in whatever form it is written;
`accuracy_official` is the decision of the authors' script. Neither runs a reply as code.
"""

_INPUTS = """\
Args:
    predictions: list of str, the models' raw replies.
    references: list of dicts, one for each prediction: the dataset's rows, with its official or its built columns, or
        calculator_id: int, `Calculator ID`.
        answer: str, `Ground Truth Answer` or `ground_truth_answer`.
        lower: str, `Lower Limit` or `lower_limit`.
        upper: str, `Upper Limit` or `upper_limit`.
    confidence: float, of the intervals. Default 0.95.
Returns:
    accuracy, accuracy_official: float in 0-1, nan without rows.
    accuracy_ci_low, accuracy_ci_high, accuracy_official_ci_low, accuracy_official_ci_high: Wilson intervals. They take the
        rows as independent; `medical-tasks run` and `score` report intervals that know about shared notes.
    n: int, number of rows.
"""


class Medcalc(DatasetRows, evaluate.Metric):
    """MedCalc-Bench accuracy, sane and official, with Wilson intervals."""

    columns = METRIC_COLUMNS

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        row = {
            "calculator_id": datasets.Value("int64"),
            "answer": text,
            "lower": text,
            "upper": text,
        }
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=MEDCALC_BENCH.citation,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": row}),
            homepage=MEDCALC_BENCH.homepage,
            reference_urls=[MEDCALC_BENCH.paper],
        )

    def _compute(
        self,
        *,
        predictions: list[str],
        references: list[Mapping[str, Any]],
        confidence: float = 0.95,
    ) -> dict[str, float]:
        right = {"accuracy": 0, "accuracy_official": 0}
        for reply, row in zip(predictions, references, strict=True):
            calculator_id = int(row["calculator_id"])
            limits = {"gold": row["answer"], "lower": row["lower"], "upper": row["upper"]}
            right["accuracy"] += decide(reply, calculator_id=calculator_id, **limits).correct
            right["accuracy_official"] += official_decision(
                reply, calculator_id=calculator_id, **limits
            ).correct
        n = len(predictions)
        result: dict[str, float] = {}
        for name, count in right.items():
            low, high = wilson_interval(count, n, confidence=confidence)
            result |= {
                name: count / n if n else float("nan"),
                f"{name}_ci_low": low,
                f"{name}_ci_high": high,
            }
        return {**result, "n": n}
