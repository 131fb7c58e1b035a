"""The two accuracies of MedCalc-Bench as an `evaluate` metric.

A thin layer over the scorer of its task.

medcalc = evaluate.load("metrics/medcalc")          # or
evaluate.load(medical_tasks.metric_path("medcalc")) medcalc.compute(predictions=[reply],
references=[{"calculator_id": 2, "answer": "25.238", "lower": ..., "upper": ...}])
"""

from __future__ import annotations

from functools import partial

import evaluate  # noqa: F401, TID253 - `evaluate.load` reads here what the module needs

from medical_tasks.benchmarks.medcalc_bench.data import METRIC_COLUMNS
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.harness.evaluate_metric import (
    benchmark_metric,
    reporting_only,
    score_rows,
)
from medical_tasks.harness.evaluate_rows import Row

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


def _fields(reference: Row) -> Row:
    """The columns of a built row, without the values by which its label is recomputed."""
    return {
        "calculator_id": reference["calculator_id"],
        "ground_truth_answer": reference["answer"],
        "lower_limit": reference["lower"],
        "upper_limit": reference["upper"],
        "relevant_entities": "{}",
    }


Medcalc = benchmark_metric(
    MEDCALC,
    description=_DESCRIPTION,
    inputs=_INPUTS,
    columns=METRIC_COLUMNS,
    row={"calculator_id": "number", "answer": "text", "lower": "text", "upper": "text"},
    score=partial(
        score_rows,
        reporting_only(MEDCALC, "accuracy", "accuracy_official"),
        fields=_fields,
    ),
)
