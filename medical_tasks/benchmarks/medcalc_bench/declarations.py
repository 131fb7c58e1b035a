"""What the modules of MedCalc-Bench share: its datasets and metrics. The tasks are in `spec`."""

from __future__ import annotations

from dataclasses import replace

from medical_tasks.spec import DatasetSpec, MetricSpec, Official

FAIR = "fair"
"""Configuration of families that differ in one attribute of the patient, and the split that they are in."""

MEDCALC_BENCH = DatasetSpec(
    name="medcalc_bench",
    title="MedCalc-Bench",
    access="open",
    licence="CC-BY-SA-4.0",
    homepage="https://github.com/ncbi-nlp/MedCalc-Bench",
    paper="https://arxiv.org/abs/2406.12036",
    citation="""\
@inproceedings{khandekar2024medcalcbench,
  title     = {MedCalc-Bench: Evaluating Large Language Models for Medical Calculations},
  author    = {Nikhil Khandekar and Qiao Jin and Guangzhi Xiong and Soren Dunn and Serina S Applebaum and Zain Anwar and
               Maame Sarfo-Gyamfi and Conrad W Safranek and Abid A Anwar and Andrew Zhang and Aidan Gilson and
               Maxwell B Singer and Amisha Dave and Andrew Taylor and Aidong Zhang and Qingyu Chen and Zhiyong Lu},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  url       = {https://arxiv.org/abs/2406.12036}
}

@misc{ye2025stewardship,
  title     = {Scalable Stewardship of an LLM-Assisted Clinical Benchmark with Physician Oversight},
  author    = {Junze Ye and Daniel Tawfik and Alex J. Goodell and Nikhil V. Kotha and
               Mark K. Buyyounouski and Mohsen Bayati},
  year      = {2025},
  note      = {The labels of the configuration corrected},
  url       = {https://arxiv.org/abs/2512.19691}
}""",
    configs=(
        "v1.0",
        "corrected",
        "v1.2",
        "verified",
        "own",
        "demo",
        "fresh",
        "twins",
        "fair",
    ),
    default_config="v1.0",
    how_to_get=(
        "medical-tasks build medcalc_bench --fetch (v1.0; another with --config corrected, v1.2 or "
        "verified), which fetches the official file",
        "by hand, v1.0: download test_data.csv from https://huggingface.co/datasets/ncbi/MedCalc-Bench-v1.0",
        "by hand, corrected: download data/medcalc_v1_corrected.csv from "
        "https://github.com/junzeye/validate-medcalc-labels",
        "by hand, v1.2: download test_data.csv from https://huggingface.co/datasets/ncbi/MedCalc-Bench-v1.2",
        "by hand, verified: download datasets/test_data.csv from https://github.com/nikhilk7153/MedCalc-Bench-Verified",
        "then: medical-tasks build medcalc_bench --source FOLDER_OR_FILE --config v1.0 (or "
        "corrected, v1.2, verified)",
        "rows of your own (CSV, XLSX; of credentialed notes as medcalc_own): medical-tasks build "
        "medcalc_bench --source FILE --config own",
        "without any download: medical-tasks build medcalc_bench --config demo",
        "without any download, new questions for all 55 calculators: medical-tasks build "
        "medcalc_bench --config fresh --seed 7 --n 1100 (families of notes that differ in one "
        "thing: --config twins; in one attribute of the patient: --config fair)",
    ),
    version="1.5.0",
)

DATASET = MEDCALC_BENCH

MEDCALC_OWN = replace(
    MEDCALC_BENCH,
    name="medcalc_own",
    title="MedCalc-Bench's form for credentialed notes",
    access="credentialed",
    licence="other",
    configs=("own", "demo"),
    default_config="own",
    how_to_get=(
        "make rows of your notes: docs/medcalc_construction.md, or write them (CSV, XLSX, "
        "parquet, JSON Lines)",
        "then: medical-tasks build medcalc_own --source FILE",
        "without any file: medical-tasks build medcalc_own --config demo",
    ),
    version="1.0.0",
)

LABEL_METRICS = (
    MetricSpec(
        name="accuracy",
        kind="proportion",
        description="Answers that are right: within the row's limits, the exact score, the date, or the weeks and days.",
        read=True,
    ),
    MetricSpec(
        name="right_number_wrong_unit",
        kind="proportion",
        description="Of the right answers, those whose stated unit is another than the one asked for.",
        higher_is_better=False,
        read=True,
        if_right=True,
    ),
    MetricSpec(
        name="accuracy_official",
        kind="proportion",
        description="The authors' decision, reproduced bug for bug without evaluating any text as code.",
        official=Official(unanswered="left out"),
    ),
    MetricSpec(
        name="accuracy_recomputed",
        kind="proportion",
        description="Answers that are right by the published rule's value for the row's entities, where it has one.",
        read=True,
    ),
    MetricSpec(
        name="accuracy_agreed",
        kind="proportion",
        description="As accuracy, over the rows whose label agrees with the published rule's value.",
        read=True,
    ),
)

CORRECTED_LABELS = "corrected"
METRICS = (
    *LABEL_METRICS,
    MetricSpec(
        name="accuracy_corrected",
        kind="proportion",
        description="Answers that are right by the corrected labels, over the rows that have one.",
        needs=CORRECTED_LABELS,
        read=True,
    ),
)

TOOL_METRICS = (
    *METRICS,
    MetricSpec(
        name="called",
        kind="proportion",
        description="Answers before which a tool was called.",
    ),
    MetricSpec(
        name="right_tool",
        kind="proportion",
        description="Answers before which the right tool was called.",
    ),
    MetricSpec(
        name="arguments_right",
        kind="ratio",
        description="Of all arguments of the right tool's last calls, those that are right, in value and unit.",
    ),
    MetricSpec(
        name="all_arguments_right",
        kind="proportion",
        description="Of the right tool's last calls, those without a wrong, missing or added argument.",
    ),
    MetricSpec(
        name="result_used",
        kind="proportion",
        description="Of the answers after a result of the right tool, those that are it, where rule and label agree.",
        read=True,
    ),
)

TWIN_METRICS = (
    MetricSpec(
        name="accuracy",
        kind="proportion",
        description="Right replies to all members: the answer, or the notice of what the note lacks or contradicts.",
    ),
    MetricSpec(
        name="necessary_update",
        kind="proportion",
        description="Where the right reply changes, replies that are right and other than that to the base, where it was asked.",
    ),
    MetricSpec(
        name="unwarranted_change",
        kind="proportion",
        description="Where the right reply stays, replies other than that to the base, where it was asked.",
        higher_is_better=False,
    ),
    MetricSpec(
        name="answer_without_evidence",
        kind="proportion",
        description="Where a needed value is not in the note, replies that give an answer nevertheless.",
        higher_is_better=False,
    ),
)

FAIR_METRICS = (
    MetricSpec(
        name="accuracy",
        kind="proportion",
        description="Right answers to all members of the families.",
        read=True,
    ),
    MetricSpec(
        name="unwarranted_change",
        kind="proportion",
        description="Of swaps whose right answer stays, those with another answer than the model's own to the base.",
        higher_is_better=False,
        read=True,
    ),
    MetricSpec(
        name="missed_change",
        kind="proportion",
        description="Of swaps whose right answer moves, wrong answers that are the model's own to the base.",
        higher_is_better=False,
        read=True,
    ),
    MetricSpec(
        name="noise_same",
        kind="proportion",
        description="Of notes asked once more, those with another answer.",
        higher_is_better=False,
        read=True,
    ),
    MetricSpec(
        name="noise_paraphrase",
        kind="proportion",
        description="Of notes in other words, those with another answer.",
        higher_is_better=False,
        read=True,
    ),
    MetricSpec(
        name="excess_change",
        kind="mean",
        description="Unwarranted change less the change on the family's paraphrase: above 0, attributes move more than words do.",
        higher_is_better=False,
        limits=(-1.0, 1.0),
        read=True,
    ),
)
