"""The figures are those of the papers' tables, all of them and no others."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest

from medical_tasks.report.published.figures import all_published
from tests.support import SHARED, needs_shared

pytestmark = [pytest.mark.upstream, needs_shared]

TABLES = SHARED / "data" / "paper_tables"
# Source, task, model, setting, metric, group of the breakdown ("" for the whole), and
# the figure as printed.
Key = tuple[str, str, str, str, str, str]
SHOTS = {
    "0": "",
    "1": "_one_shot",
    "2": "_two_shot",
    "6": "_six_shot",
    "12": "_twelve_shot",
}
CATEGORIES = ("lab", "physical", "date", "dosage", "risk", "severity", "diagnosis")


def rows(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def medcalc() -> Iterator[tuple[Key, float]]:
    names = {
        "zero_shot_direct": "medcalc_direct",
        "zero_shot_cot": "medcalc",
        "one_shot_cot": "medcalc_one_shot",
    }
    for row in rows("medcalc_table2"):
        start = (
            "MedCalc-Bench, table 2",
            names[row["prompting"]],
            row["model"],
            row["size"].replace("N/A", ""),
        )
        for group in ("overall", *CATEGORIES):
            yield (
                (*start, "accuracy_official", group.replace("overall", "")),
                float(row[group]) / 100,
            )
    for row in rows("medcalc_table15"):
        if row["setting"] == "zero_shot_cot":  # table 2 has it
            continue
        start = ("MedCalc-Bench, table 15", "medcalc_code", row["model"], "")
        for group in ("overall", *CATEGORIES):
            yield (
                (*start, "accuracy_official", group.replace("overall", "")),
                float(row[group]) / 100,
            )


def ehrnoteqa() -> Iterator[tuple[Key, float]]:
    for row in rows("ehrnoteqa_table4"):
        for form, column in (("mc", "multi_choice"), ("open", "open_ended")):
            for level in (1, 2):
                if printed := row[f"{column}_level{level}"]:
                    start = (
                        f"EHRNoteQA, table 4 (level {level})",
                        f"ehrnoteqa_{form}_level{level}",
                        row["model"],
                    )
                    yield (*start, "", "accuracy", ""), float(printed) / 100
    for row in rows("ehrnoteqa_table15"):
        for kind in ("index", "value"):
            task = f"ehrnoteqa_mc_prob_{kind}_level1"
            key = (
                "EHRNoteQA, table 15 (probabilities)",
                task,
                row["model"],
                "",
                "accuracy",
                "",
            )
            yield key, float(row[f"multi_choice_prob_{kind}"]) / 100
        for name in ("bleu", "rouge_l"):
            key = (
                "EHRNoteQA, table 15 (text metrics)",
                "ehrnoteqa_open_level1",
                row["model"],
                "",
                name,
                "",
            )
            yield key, float(row[f"open_ended_{name}"])


def kqa() -> Iterator[tuple[Key, float]]:
    names = {
        "comprehensiveness": "comprehensiveness_official",
        "hallucination": "hallucination_official",
    }
    for row in rows("kqa_table4"):
        model, _, setting = row["model"].partition("+")
        task = "_".join(["kqa", *setting.lower().split("+")]).rstrip("_")
        for column in ("comprehensiveness", "hallucination", "percent_responded"):
            yield (
                (
                    "K-QA, table 4",
                    task,
                    model,
                    setting,
                    names.get(column, "answered"),
                    "",
                ),
                float(row[column]) / 100,
            )


def doclens() -> Iterator[tuple[Key, float]]:
    names = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")
    claims = {name: f"{name}_official" for name in names}
    texts = {
        "rougeL_as_reported": "rougeLsum",
        "rougeL": "rougeLsum",
        "medcon": "medcon_official",
    }
    files = {
        "doclens_table20_aci_existing_metrics": "aci_bench",
        "doclens_table21_aci_gpt4": "aci_bench",
        "doclens_table22_aci_mistral": "aci_bench",
        "doclens_table23_aci_true": "aci_bench",
        "doclens_table28_mimic_existing_metrics": "mimic_rrs",
        "doclens_table29_mimic_gpt4": "mimic_rrs",
        "doclens_table32_meqsum_existing_metrics": "meqsum",
        "doclens_table33_meqsum_gpt4": "meqsum",
    }
    for name, family in files.items():
        source = f"DocLens, table {name.split('_')[1].removeprefix('table')}"
        for row in rows(name):
            model, setting = row.pop("model").removesuffix(")").rsplit(" (", 1)
            shots = (
                setting.rpartition(", ")[2].removesuffix("-shot")
                if "-shot" in setting
                else "0"
            )
            task = (
                family
                + ("_section" if setting.startswith("section") else "")
                + SHOTS[shots]
            )
            described = setting.replace("full", "full note").replace(
                "section", "by section"
            )
            for column, printed in row.items():
                if printed:
                    metric = (claims | texts).get(column, column)
                    yield (
                        (source, task, model, described, metric, ""),
                        float(printed) / 100,
                    )


def archehr() -> Iterator[tuple[Key, float]]:
    names = {"rouge": "rougeLsum", "overall_score_human": "overall_score"}
    parts = {"p": "_precision", "r": "_recall", "f1": ""}
    for row in rows("archehr_table3"):
        task, model = (
            f"archehr_{row.pop('approach')}",
            row.pop("model").replace("none", "Heuristic"),
        )
        for column, printed in row.items():
            metric = names.get(column, column)
            if column.startswith("essential"):
                which = (
                    "factuality_lenient"
                    if column.startswith("essential_supplementary")
                    else "factuality"
                )
                mean, component = column.split("_")[-2:]
                metric = (
                    which
                    + ("_macro" if mean == "macro" else "")
                    + parts[component]
                    + "_official"
                )
            yield (
                ("ArchEHR-QA, table 3", task, model, "", metric, ""),
                float(printed) / 100,
            )


def test_the_figures_are_exactly_those_of_the_tables() -> None:
    printed = dict(
        entry
        for table in (medcalc, ehrnoteqa, kqa, doclens, archehr)
        for entry in table()
    )
    assert len(printed) == 921
    here: dict[Key, float] = {}
    for result in all_published():
        if result.source.endswith(", teams"):  # from abstracts and repositories
            continue
        start = (result.source, result.task, result.model, result.setting)
        here |= {(*start, name, ""): value for name, value in result.metrics.items()}
        for groups in result.breakdown.values():
            here |= {
                (*start, name, group): value
                for group, metrics in groups.items()
                for name, value in metrics.items()
            }
    assert here.keys() == printed.keys()
    assert {
        key: here[key] for key in here if abs(here[key] - printed[key]) > 1e-12
    } == {}
