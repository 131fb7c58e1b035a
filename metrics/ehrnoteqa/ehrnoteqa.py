"""The metrics of EHRNoteQA as an `evaluate` metric.

A thin layer over `medical_tasks.benchmarks.ehrnoteqa.metric`.

ehrnoteqa = evaluate.load("metrics/ehrnoteqa")      # or
evaluate.load(medical_tasks.metric_path("ehrnoteqa")) ehrnoteqa.compute(predictions=[answer],
references=[{"choices": [...], "answer": "D"}], format="mc", verdicts=[[1, 1, 0]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import evaluate  # noqa: F401, TID253 - `evaluate.load` reads here what the module needs

from medical_tasks.benchmarks.ehrnoteqa.metric import score_answers
from medical_tasks.benchmarks.ehrnoteqa.questions import METRIC_COLUMNS
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.harness.evaluate_metric import benchmark_metric

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


def _scored(
    predictions: Sequence[str],
    references: Sequence[str | Mapping[str, object]],
    *,
    sentence_bert: str | None = None,
    clinical_bert: str | None = None,
    **options: object,
) -> Mapping[str, object]:
    """Takes the folders of checkpoints as options of their own."""
    folders = {"sentence_bert": sentence_bert, "clinical_bert": clinical_bert}
    arguments = {name: folder for name, folder in folders.items() if folder is not None}
    return score_answers(predictions, references, arguments=arguments, **options)  # type: ignore[arg-type]


Ehrnoteqa = benchmark_metric(
    TASKS[0],
    description=_DESCRIPTION,
    inputs=_INPUTS,
    columns=METRIC_COLUMNS,
    row={"choices": "texts", "answer": "text"},
    or_text=True,
    score=_scored,
)
