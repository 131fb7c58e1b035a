"""The metrics of DocLens as an `evaluate` metric: a thin layer over `medical_tasks.benchmarks.doclens.metric`.

doclens = evaluate.load("metrics/doclens")          # or evaluate.load(medical_tasks.metric_path("doclens"))
doclens.compute(predictions=["No fracture [0]."], references=[{"reference": "No fracture.", "sentences": ["No fracture is seen."]}])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets  # noqa: TID253  (a metric module is only ever loaded by evaluate)
import evaluate  # noqa: TID253

from medical_tasks.benchmarks.doclens.data import METRIC_COLUMNS
from medical_tasks.benchmarks.doclens.declarations import OWN
from medical_tasks.benchmarks.doclens.metric import score_texts
from medical_tasks.harness.evaluate_rows import DatasetRows

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


class Doclens(DatasetRows, evaluate.Metric):
    """Claim and citation metrics, with intervals, bounds and coverage."""

    columns = METRIC_COLUMNS

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        row = {"reference": text, "sentences": datasets.Sequence(text)}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=OWN.citation,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": row}),
            homepage=OWN.homepage,
            reference_urls=[OWN.paper],
        )

    def _compute(
        self,
        *,
        predictions: list[str],
        references: list[Mapping[str, Any]],
        form: str = "text",
        verdicts: Sequence[Mapping[str, Any]] | None = None,
        judge: str = "lexical",
        reference_claims: Sequence[Any] | None = None,
        output_claims: Sequence[Any] | None = None,
        citations: bool = True,
    ) -> dict[str, Any]:
        return score_texts(
            predictions,
            references,
            form=form,
            verdicts=verdicts,
            judge=judge,
            reference_claims=reference_claims,
            output_claims=output_claims,
            citations=citations,
        )
