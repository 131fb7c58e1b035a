"""The metrics of DocLens as an `evaluate` metric.

A thin layer over `medical_tasks.benchmarks.doclens.metric`.

doclens = evaluate.load("metrics/doclens")          # or
evaluate.load(medical_tasks.metric_path("doclens")) doclens.compute(predictions=["No fracture
[0]."], references=[{"reference": "No fracture.", "sentences": ["No fracture is seen."]}])
"""

from __future__ import annotations

import evaluate  # noqa: F401, TID253 - `evaluate.load` reads here what the module needs

from medical_tasks.benchmarks.doclens.data import METRIC_COLUMNS
from medical_tasks.benchmarks.doclens.declarations import OWN
from medical_tasks.benchmarks.doclens.metric import score_texts
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.harness.evaluate_metric import benchmark_metric

_DESCRIPTION = """\
Whether a generated medical text says all that its reference says (claim recall), nothing else (claim precision), and whether what
it cites of its source bears it out (citation recall) and is needed (citation precision). Claims and sentences are judged by the
verdicts you give, by a model of entailment, or by word overlap, whose numbers are not comparable with anybody's.
"""

_INPUTS = """\
Args:
    predictions: list of str, the texts, with citations such as [0], [1, 2] or [3-5].
    references: list of dicts, one for each prediction: rows of its datasets, released or built, or
        reference: str.
        sentences: list of str, the source's, whose places from 0 are what is cited.
    form: "text" (default), "note" (a clinical note, judged by its four sections) or "question" (one short question, one claim).
    verdicts: for each prediction a dict, of a note one a section: reference_claims and output_claims (lists of 1, 0 or None), and
        sentences (list of dicts: entailed, and supports, a list with an entry a citation). Default: `judge` decides.
    judge: "lexical" (default), or "nli/" and the folder of a model of entailment.
    reference_claims, output_claims: for each text its claims (list of str; of a note a dict from section to list). Default: its
        sentences.
    citations: bool, whether the texts were to cite. Default True.
Returns:
    claim_recall, claim_precision, citation_recall, citation_precision: float, pooled over all texts, nan where nothing counts; of
        notes also by section (claim_recall_subjective). For each of them _ci_low and _ci_high (95 %, score intervals),
        _bound_low and _bound_high (what missing verdicts could make of it).
    reasons: dict of metric to why it is nan.
    judge: who decided.
    coverage: dict of texts and missing.
"""

Doclens = benchmark_metric(
    next(task for task in TASKS if task.dataset == OWN.name),
    description=_DESCRIPTION,
    inputs=_INPUTS,
    columns=METRIC_COLUMNS,
    row={"reference": "text", "sentences": "texts"},
    score=score_texts,
)
