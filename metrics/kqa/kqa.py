"""The metrics of K-QA as an `evaluate` metric.

A thin layer over `medical_tasks.benchmarks.kqa.metric`.

kqa = evaluate.load("metrics/kqa")                  # or
evaluate.load(medical_tasks.metric_path("kqa")) kqa.compute(predictions=[answer],
references=[{"must_have": [...], "nice_to_have": [...]}], verdicts=[[...]])
"""

from __future__ import annotations

import evaluate  # noqa: F401, TID253 - `evaluate.load` reads here what the module needs

from medical_tasks.benchmarks.kqa.data import METRIC_COLUMNS
from medical_tasks.benchmarks.kqa.metric import score_answers
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.harness.evaluate_metric import benchmark_metric

_DESCRIPTION = """\
How much of what a physician would have said an answer to a patient's question says (comprehensiveness: share of must-have
statements it entails), and how much it gets wrong (hallucination rate: statements it contradicts, a question). Statements are
labelled by the verdicts you give, or by word overlap, whose numbers are not comparable with anybody's.
"""

_INPUTS = """\
Args:
    predictions: list of str, the answers.
    references: list of dicts, one for each prediction, released rows (`Must_have`) or built ones:
        must_have: list of str, statements an answer has to make.
        nice_to_have: list of str, statements that supplement it.
    verdicts: list of lists, for each prediction a label a statement, must-have first: "entailment", "neutral",
        "contradiction", "not_entailment" (of a two-way judge), None (missing). Default: the lexical judge's.
    weights: {"must_have": w, "nice_to_have": w}, or for each prediction a weight a statement; adds `weighted`.
    relation: of `weighted`: "entails" (default), "contradicts", "does not contradict", "does not entail", "is neutral",
        "is not neutral".
    normalised: bool, divide `weighted` by the sum of weights. Default False.
Returns:
    comprehensiveness, hallucination_rate, their `_answered` forms, contradicted, answered, words: float, nan where nothing
        counts. For each of them _ci_low and _ci_high (95 %: Wilson for shares of answers, else score intervals), _bound_low
        and _bound_high (what missing verdicts could make of it).
    reasons: dict of metric to why it is nan.
    judge: who labelled the statements.
    coverage: dict of answers, statements, missing.
"""

Kqa = benchmark_metric(
    KQA,
    description=_DESCRIPTION,
    inputs=_INPUTS,
    columns=METRIC_COLUMNS,
    row={"must_have": "texts", "nice_to_have": "texts"},
    score=score_answers,
)
