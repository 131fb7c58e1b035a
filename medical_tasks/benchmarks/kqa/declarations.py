"""Declares K-QA's datasets and metrics; `spec` declares its tasks."""

from __future__ import annotations

import math
from dataclasses import replace

from medical_tasks.spec import JUDGE_REPLY_MISSING, DatasetSpec, MetricSpec, Official

DATASET = DatasetSpec(
    name="kqa",
    title="K-QA",
    access="open",
    licence="MIT",
    homepage="https://github.com/Itaymanes/K-QA",
    paper="https://arxiv.org/abs/2401.14493",
    citation="""\
@inproceedings{manes2024kqa,
  title     = {{K-QA}: A Real-World Medical {Q\\&A} Benchmark},
  author    = {Itay Manes and Naama Ronn and David Cohen and Ran Ilan Ber and Zehavi Horowitz-Kugler and
               Gabriel Stanovsky},
  booktitle = {Proceedings of the 23rd Workshop on Biomedical Natural Language Processing},
  pages     = {277--294},
  year      = {2024},
  url       = {https://aclanthology.org/2024.bionlp-1.22}
}""",
    configs=("answered", "questions", "own", "demo"),
    default_config="answered",
    how_to_get=(
        "medical-tasks build kqa --fetch (or with --config questions), which fetches the "
        "official files",
        "by hand, answered: download dataset/questions_w_answers.jsonl from "
        "https://github.com/Itaymanes/K-QA",
        "by hand, questions: download dataset/questions.jsonl from there",
        "then: medical-tasks build kqa --source FOLDER_OR_FILE --config answered (or questions)",
        "questions of your own (CSV, XLSX, parquet, JSON Lines): medical-tasks build kqa "
        "--source FILE --config own",
        "without any download: medical-tasks build kqa --config demo",
    ),
    version="1.0.0",
)

KQA_OWN = replace(
    DATASET,
    name="kqa_own",
    title="K-QA's form for credentialed questions",
    access="credentialed",
    licence="other",
    configs=("own", "demo"),
    default_config="own",
    how_to_get=(
        "write questions with statements (CSV, XLSX, parquet, JSON Lines), or let "
        "medical-tasks site or decompose draft them",
        "then: medical-tasks build kqa_own --source FILE",
        "without any file: medical-tasks build kqa_own --config demo",
    ),
)
"""Questions of a hospital's own patients, which stay on its machine."""

# The authors' script divides Comp and Hall by the number of the benchmark's questions,
# whatever was answered, and their `_norm` by the number of answers.
_OF_ALL = Official(unanswered="counts as 0", undecided=JUDGE_REPLY_MISSING)
_OF_ANSWERS = Official(unanswered="left out", undecided=JUDGE_REPLY_MISSING)

METRICS = (
    MetricSpec(
        name="comprehensiveness",
        kind="mean",
        description="Share of the must-have statements that the answer entails; an abstention "
        "has none.",
        verdict="entailment",
    ),
    MetricSpec(
        name="hallucination_rate",
        kind="mean",
        description="Statements, of either importance, that the answer contradicts, per question.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="per answer",
        verdict="contradiction",
    ),
    MetricSpec(
        name="comprehensiveness_answered",
        kind="mean",
        description="As comprehensiveness, over the questions that were answered.",
        verdict="entailment",
    ),
    MetricSpec(
        name="hallucination_rate_answered",
        kind="mean",
        description="As hallucination_rate, over the questions that were answered.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="per answer",
        verdict="contradiction",
    ),
    MetricSpec(
        name="contradicted",
        kind="proportion",
        description="Questions whose answer contradicts at least one statement.",
        higher_is_better=False,
        verdict="several",
    ),
    MetricSpec(
        name="answered",
        kind="proportion",
        description="Questions that were answered, neither left empty nor abstained from.",
    ),
    MetricSpec(
        name="words",
        kind="mean",
        description="Words an answer has, over the questions that were answered.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="number",
        judged=False,
    ),
    MetricSpec(
        name="comprehensiveness_official",
        kind="mean",
        description="Comp as the authors' script reads the judge's replies, over all questions.",
        official=_OF_ALL,
    ),
    MetricSpec(
        name="comprehensiveness_norm_official",
        kind="mean",
        description="Comp as the authors' script, over the questions with an answer.",
        official=_OF_ANSWERS,
    ),
    MetricSpec(
        name="hallucination_official",
        kind="mean",
        description="Hall as the authors' script reads the judge's replies: statements per "
        "question, over all questions.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="per answer",
        official=_OF_ALL,
    ),
    MetricSpec(
        name="hallucination_norm_official",
        kind="mean",
        description="Hall as the authors' script, over the questions with an answer.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="per answer",
        official=_OF_ANSWERS,
    ),
)
