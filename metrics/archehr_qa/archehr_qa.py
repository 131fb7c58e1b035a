"""The metrics of ArchEHR-QA as an `evaluate` metric.

A thin layer over `medical_tasks.benchmarks.archehr_qa.metric`.

archehr_qa = evaluate.load("metrics/archehr_qa")    # or
evaluate.load(medical_tasks.metric_path("archehr_qa")) archehr_qa.compute(predictions=["He had a
stroke. |1|"], references=[{"sentence_ids": ["1"], "relevance": ["essential"], ...}])
"""

from __future__ import annotations

import evaluate  # noqa: F401, TID253 - `evaluate.load` reads here what the module needs

from medical_tasks.benchmarks.archehr_qa.metric import METRIC_COLUMNS, score_answers
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.harness.evaluate_metric import benchmark_metric

_DESCRIPTION = """\
Whether an answer to a patient's question cites the sentences of the note that the answer needs (factuality), and how like a
clinician's answer, and the questions with the essential sentences, it is (relevance: BLEU, ROUGE-Lsum and SARI; BERTScore, MEDCON
and AlignScore with a checkpoint or an index that you name). Nothing is downloaded or sent.
"""

_INPUTS = """\
Args:
    predictions: list of str, the answers: sentences one a line, each with the ids it cites at its end, |1,2|.
    references: list of dicts, one for each prediction:
        patient_narrative, clinician_question: str.
        sentence_ids, sentences: lists of str, the note's.
        relevance: list of str, of each sentence essential, supplementary or not-relevant; empty where it is not known.
        clinician_answer: str, without citations; "" where there is none.
    official: bool, whether the figures by the shared task's script are computed too. Default False.
    bertscore: str, folder of distilbert-base-uncased. Default: no BERTScore.
    umls: str, folder of a UMLS index (medical-tasks umls build). Default: no MEDCON.
    alignscore: str, CKPT:FOLDER, checkpoint and backbone. Default: no AlignScore.
Returns:
    factuality: float, F1 over all cases together, with _precision, _recall; factuality_macro, mean over cases; factuality_lenient.
    bleu, rougeLsum, sari, bertscore, medcon, alignscore, overall_relevance, overall_score: float, against clinicians' answers; with
        _notes at the end against the questions and the essential sentences.
    valid, words: float, share of answers in the official form, and mean number of words.
    For each of them _ci_low and _ci_high (95 %, score intervals), _bound_low and _bound_high; nan where nothing counts.
    reasons: dict of metric to why it is nan; the official script has no figures where an answer cites nothing.
    missing_components: list of str, metrics that the overall figures lack; with any, they compare with nobody's.
    coverage: dict of answers, cited and valid.
"""

ArchehrQa = benchmark_metric(
    ANSWER_TASKS[0],
    description=_DESCRIPTION,
    inputs=_INPUTS,
    columns=METRIC_COLUMNS,
    row={
        "patient_narrative": "text",
        "clinician_question": "text",
        "clinician_answer": "text",
        "sentence_ids": "texts",
        "sentences": "texts",
        "relevance": "texts",
    },
    score=score_answers,
)
