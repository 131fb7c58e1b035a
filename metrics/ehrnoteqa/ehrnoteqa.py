"""The metrics of EHRNoteQA as an `evaluate` metric: a thin layer over `medical_tasks.benchmarks.ehrnoteqa.metric`.

ehrnoteqa = evaluate.load("metrics/ehrnoteqa")      # or evaluate.load(medical_tasks.metric_path("ehrnoteqa"))
ehrnoteqa.compute(predictions=[answer], references=[{"choices": [...], "answer": "D"}], format="mc", verdicts=[[1, 1, 0]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets  # noqa: TID253  (a metric module is only ever loaded by evaluate)
import evaluate  # noqa: TID253

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.benchmarks.ehrnoteqa.metric import score_answers
from medical_tasks.benchmarks.ehrnoteqa.questions import METRIC_COLUMNS
from medical_tasks.harness.evaluate_rows import DatasetRows

_DESCRIPTION = """\
Whether answers to clinicians' questions about discharge summaries are right, as in EHRNoteQA: by the mode of a judge's votes, which
you give, or by word overlap, whose numbers are not comparable with anybody's. Beside it, for open answers, ROUGE-L, BLEU and exact
match; for five choices the letter read by rules; and accuracy by the probabilities of letters or of choices' texts.
"""

_INPUTS = """\
Args:
    predictions: list of str, the answers; of the formats prob_index and prob_value each one line of JSON,
        {"logprobs": [a sum of log-probabilities a choice], "tokens": [its number of tokens]}.
    references: list, one for each prediction: the right answer (str, format open alone), or a dict, such as a row:
        choices: list of five str; released rows have `choice_A` to `choice_E`.
        answer: str, letter of the right one.
    format: "open" (default), "mc", "prob_index" or "prob_value".
    verdicts: for each prediction 1 (right), 0 (wrong) or None (nobody said), or a list of these, votes of which the mode counts.
        Default: `judge` decides.
    judge: "lexical" (default), or "nli/" and the folder of a model of entailment.
    sentence_bert, clinical_bert: folder of a checkpoint; adds the metric of that name to the format open.
Returns:
    open: accuracy, rouge_l, bleu, exact_match; mc: accuracy, letter_accuracy; prob_index: accuracy, gold_probability;
        prob_value: these and accuracy_per_token, accuracy_per_character. Each a float, nan where nothing counts, with _ci_low and
        _ci_high (95 %: Wilson for shares of answers, else score intervals), _bound_low and _bound_high (what missing
        verdicts could make of it).
    reasons: dict of metric to why it is nan.
    judge: who decided.
    coverage: dict of answers, missing.
"""


class Ehrnoteqa(DatasetRows, evaluate.Metric):
    """Accuracy by verdicts, letters or probabilities, and text metrics, with intervals, bounds and coverage."""

    columns = METRIC_COLUMNS

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        choices = {"choices": datasets.Sequence(text), "answer": text}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=DATASET.citation,
            inputs_description=_INPUTS,
            features=[
                datasets.Features({"predictions": text, "references": choices}),
                datasets.Features({"predictions": text, "references": text}),
            ],
            homepage=DATASET.homepage,
            reference_urls=[DATASET.paper],
        )

    def _compute(
        self,
        *,
        predictions: list[str],
        references: list[str | Mapping[str, Any]],
        format: str = "open",  # noqa: A002
        verdicts: Sequence[Any] | None = None,
        judge: str = "lexical",
        sentence_bert: str | None = None,
        clinical_bert: str | None = None,
    ) -> dict[str, Any]:
        given = {"sentence_bert": sentence_bert, "clinical_bert": clinical_bert}
        return score_answers(
            predictions,
            references,
            format=format,
            verdicts=verdicts,
            judge=judge,
            arguments={name: folder for name, folder in given.items() if folder is not None},
        )
