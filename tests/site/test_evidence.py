"""`site evidence`: every line is measured or names the way to measure it, and claims nothing else."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, RefusedError, UsageError
from medical_tasks.site import checking
from medical_tasks.site.deciding import MEASURES, run_hashes
from medical_tasks.site.evidence.facts import Facts, Figure
from medical_tasks.site.evidence.lines import FRAMEWORKS, LINES
from medical_tasks.site.evidence.writing import answer_lines, write_evidence
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.history import append
from medical_tasks.site.options import Check
from tests.case_tables import json_of
from tests.run_files import edited_entry
from tests.site.share_cases import write_check
from tests.site.site_cases import gated, make_site, score

FIGURE = {"value": 0.9, "ci_low": 0.8, "ci_high": 0.95, "n": 80}
FINDING = {
    "rule": "accuracy at least 0.5",
    "group": "female",
    "value": 0.9,
    "low": 0.8,
    "high": 0.95,
    "unit": "",
    "verdict": "GO",
}
LOOK = {
    "look": 1,
    "planned": 12,
    "changed": "",
    "measures": {
        "accuracy": {
            "verdict": "same",
            "gated": {
                "difference": 0.0,
                "ci_low": -0.1,
                "ci_high": 0.1,
                "n": 80,
                "unit": "",
            },
        }
    },
}


@pytest.fixture
def site(home: Path, tmp_path: Path) -> Site:
    """A site whose runs are scored, before any other step."""
    return make_site(tmp_path / "site", home, wrong={"candidate": (3, 4)})


def edit_results(site: Site, name: str, **entry: Any) -> None:
    """Adds entries to the results of a run."""
    with edited_entry(site.runs / name, "medcalc") as results:
        results |= entry


def run_entry(site: Site, run: str = "candidate") -> dict[str, Any]:
    """The results of a run of the site."""
    results = json_of(site.runs / run / "results.json")
    return dict(results["tasks"]["medcalc"])


def edit_recipe(site: Site, run: str, section: str, **values: Any) -> None:
    """Changes values in a section of a run's recipe."""
    recipe = run_entry(site, run)["recipe"]
    recipe[section] = {**(recipe.get(section) or {}), **values}
    edit_results(site, run, recipe=recipe)


def check_now(site: Site) -> None:
    assert checking.run(Check(step="check", folder=site.path)) == 0


def status(site: Site) -> Mapping[str, str]:
    return {line.key: line.status for line in answer_lines(Facts(open_site(site.path)))}


def figures_of(site: Site, key: str) -> Sequence[Figure]:
    """The figures of a line."""
    lines = answer_lines(Facts(open_site(site.path)))
    return next(line for line in lines if line.key == key).figures


def evaluate_chart_qa(site: Site) -> None:
    """Changes the use to one whose answers a judge scores."""
    settings = site.path / "site.toml"
    text = settings.read_text(encoding="utf-8").replace("calculator", "chart-qa")
    settings.write_text(text, encoding="utf-8")


def measure_all(site: Site, home: Path) -> None:
    """Measures everything that the lines of a calculator require."""
    name = "runs/candidate"
    runs = {name: run_hashes(site.path / name)}
    append(site.gates, "gate", {"verdict": "GO", "runs": runs, "findings": [FINDING]})
    append(site.gates, "look", {**LOOK, "series": runs[name]["items"]})
    note_step(site, "check", figures={"found": 0, "unread": 0})
    for extra in ("repeats", "confidence"):
        score(home, site.runs / extra, (3,))
    metrics = run_entry(site, "repeats")["metrics"]
    metrics["accuracy"]["repeats"] = {"k": 3, "values": [0.9, 0.95, 0.9]}
    edit_results(site, "repeats", metrics=metrics)
    edit_results(site, "confidence", confidence={"metric": "accuracy", "ece": FIGURE})
    pooled = site.path / "pooled"
    pooled.mkdir()
    largest = {"value": 0.08, "low": -0.02, "high": 0.18}
    pooled_line = {
        "who": "candidate",
        "metric": "accuracy",
        "by": "",
        "group": "",
        "sites": ["a", "b"],
        "unit": "",
        "largest_difference": largest,
        "by_words": False,
    }
    content = {
        "tasks": {"medcalc": {"lines": [pooled_line]}},
        "sites": [{"sha256": "0" * 64}, {"sha256": "1" * 64}],
    }
    site.share.mkdir()
    (site.share / "site_share.json").write_text('{"sha256": "%s"}' % ("1" * 64))
    (pooled / "pool.json").write_text(json.dumps(content), encoding="utf-8")


REMOVED = {
    "pooled/pool.json": ["chai-sites"],
    "runs/confidence": ["chai-calibration"],
    "runs/repeats": ["chai-repeats", "act-robustness"],
    "share/site_share.json": ["chai-sites"],
    "runs/baseline": ["ruaih-comparator"],
    "sample": ["chai-parity", "ruaih-bias", "act-groups"],
    "gates.jsonl": [
        "ruaih-decision",
        "ruaih-monitoring",
        "act-log",
        "nhs-control",
        "nhs-groups",
        "nhs-surveillance",
    ],
}


def test_lines_without_their_source_are_not_done(site: Site, home: Path) -> None:
    measure_all(site, home)
    before = status(site)
    assert "not done" not in before.values()
    for name, keys in REMOVED.items():
        path, away = site.path / name, site.path / "away"
        path.rename(away)
        now = status(site)
        assert [key for key in now if now[key] != before[key]] == keys, name
        assert {now[key] for key in keys} == {"not done"}
        away.rename(path)
    shutil.rmtree(site.runs / "candidate")
    with pytest.raises(MissingError):
        status(site)


def test_a_figure_without_a_value_measures_nothing(site: Site) -> None:
    nothing = {**FIGURE, "value": None, "ci_low": None, "ci_high": None, "n": 0}
    metrics = {
        name: {**metric, **nothing}
        for name, metric in run_entry(site)["metrics"].items()
    }
    edit_results(site, "candidate", metrics=metrics)
    statuses = status(site)
    for key in (
        "chai-answers",
        "chai-harm",
        "ruaih-validation",
        "act-accuracy",
        "nhs-rate",
    ):
        assert statuses[key] == "not done"


def test_a_check_that_finds_text_does_not_prove_privacy(site: Site) -> None:
    note_step(site, "check", figures={"found": 0, "unread": 0})
    assert status(site)["ruaih-data"] == "measured"
    note_step(site, "check", figures={"found": 2, "unread": 0})
    assert status(site)["ruaih-data"] == "not done"


def test_twenty_four_evaluations_are_not_twenty_five(site: Site) -> None:
    evaluate_chart_qa(site)
    alpha = {"value": 0.8, "ci_low": 0.7, "ci_high": 0.9, "n": 80}
    for count, expected in ((24, "not done"), (25, "measured")):
        evaluations = {"n": count, "metrics": {}, "verdicts": {"alpha": alpha}}
        edit_results(site, "candidate", evaluations=evaluations)
        assert status(site)["chai-reliability"] == expected


def test_the_agreement_of_two_people_is_that_of_their_labels(site: Site) -> None:
    """Of 20 items both keep 12, both drop 4 and differ on 4: kappa (0.8 - 0.58) / 0.42."""
    evaluate_chart_qa(site)
    rows = ["item,stratum,rater,value,at,final,how"]
    for item in range(20):
        ann = "keep" if item < 14 else "drop"
        ben = "keep" if item < 12 or item in (14, 15) else "drop"
        for name, value in (("ann", ann), ("ben", ben), ("eve", "keep")):
            rows.append(f"{item},,{name},{value},2026-01-01T00:00:00Z,,")
    assert status(site)["chai-raters"] == "not done"
    site.review.mkdir()
    (site.review / "items.csv").write_text("\n".join(rows), encoding="utf-8")
    kappa, raw = figures_of(site, "chai-raters")
    assert raw.value == pytest.approx(0.8)
    assert kappa.value == pytest.approx((0.8 - 0.58) / 0.42)
    assert kappa.low is not None
    assert kappa.value is not None
    assert kappa.low < kappa.value
    assert "ann" not in json.dumps([kappa, raw])


def test_runs_on_two_swapped_values_are_a_counterfactual(
    site: Site, home: Path
) -> None:
    evaluate_chart_qa(site)
    for value, wrong in (("female", (1, 2, 3)), ("male", (1,))):
        score(home, site.runs / value, wrong)
        before = [run_entry(site, value)["recipe"]["data"]["rows_sha256"]]
        swap = {"changed": f"sex={value}", "of_rows_sha256": before}
        edit_recipe(site, value, "data", rows_sha256=value, swap=swap)
        if value == "female":
            assert status(site)["chai-counterfactual"] == "not done"
    (figure,) = figures_of(site, "chai-counterfactual")
    assert figure.name == "accuracy: sex male minus female"
    assert figure.value == pytest.approx(2 / 80)
    assert figure.low is not None
    assert figure.low < 2 / 80


def test_runs_on_other_rows_or_of_other_models_measure_nothing(
    site: Site, home: Path
) -> None:
    measure_all(site, home)
    assert status(site)["chai-calibration"] == "measured"
    edit_recipe(site, "confidence", "data", rows_sha256="0" * 64)
    assert status(site)["chai-calibration"] == "not done"
    # A run on swapped notes measures nothing about the notes themselves.
    before = [run_entry(site)["recipe"]["data"]["rows_sha256"]]
    swap = {"changed": "sex=male", "of_rows_sha256": before}
    edit_recipe(site, "confidence", "data", swap=swap)
    assert status(site)["chai-calibration"] == "not done"
    assert status(site)["chai-repeats"] == "measured"
    edit_recipe(site, "repeats", "model", name="openai-api/local/other")
    assert status(site)["chai-repeats"] == "not done"


def test_a_gate_and_a_look_of_an_earlier_run_measure_nothing(
    site: Site, home: Path
) -> None:
    measure_all(site, home)
    keys = ("ruaih-decision", "ruaih-monitoring", "nhs-control", "nhs-groups")
    assert {status(site)[key] for key in keys} == {"measured"}
    # Another gate of the same run, by another preset, keeps its looks.
    name = "runs/candidate"
    again = {"verdict": "GO", "runs": {name: run_hashes(site.path / name)}}
    append(site.gates, "gate", {**again, "findings": [FINDING]})
    assert {status(site)[key] for key in keys} == {"measured"}
    score(home, site.runs / "candidate", (1, 2, 3))
    assert {status(site)[key] for key in keys} == {"not done"}
    # A gate of the new run does not include the looks at the earlier one.
    again["runs"] = {name: run_hashes(site.path / name)}
    append(site.gates, "gate", {**again, "findings": [FINDING]})
    assert status(site)["ruaih-decision"] == "measured"
    assert status(site)["ruaih-monitoring"] == "not done"


def test_differences_of_hospitals_count_only_on_deciding_metrics(
    site: Site, home: Path
) -> None:
    measure_all(site, home)
    path = site.path / "pooled" / "pool.json"
    text = path.read_text(encoding="utf-8")
    for metric, expected in (
        ("accuracy_corrected", "not done"),  # MedCalc-Bench's, by corrected labels
        ("answer_rate", "not done"),
        ("accuracy", "measured"),
    ):
        path.write_text(text.replace('"accuracy"', f'"{metric}"'), encoding="utf-8")
        assert status(site)["chai-sites"] == expected, metric


def test_a_judge_by_words_measures_nothing_and_is_named(site: Site, home: Path) -> None:
    measure_all(site, home)
    before = status(site)
    metrics = run_entry(site)["metrics"]
    metrics["accuracy"]["comparable"] = False
    edit_results(site, "candidate", metrics=metrics)
    edit_recipe(site, "candidate", "judge", name="lexical", comparable=False)
    now = status(site)
    changed = {key for key in now if now[key] != before[key]}
    assert {"chai-answers", "chai-parity", "ruaih-bias", "nhs-hazards"} <= changed
    assert {now[key] for key in changed} == {"not done"}
    # These lines are of other runs, whose recipes do not mention the judge.
    assert {"chai-calibration", "chai-repeats", "chai-sites"}.isdisjoint(changed)
    check_now(site)
    write_evidence(open_site(site.path))
    with (site.evidence / "evidence.csv").open(encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["item"] == "correctness")
    assert float(row["value"]) == pytest.approx(78 / 80)
    assert row["words"] == "a judge by words: its numbers stand for nothing"
    assert "name a model as judge" in row["how"]


def test_a_check_of_another_judge_is_no_agreement(site: Site) -> None:
    gold = ["correct"] * 30 + ["incorrect"] * 30
    write_check(site.checks / "judge", "medcalc_bench", gold=gold, judge=gold)
    settings = {"votes": 1, "mode": "single", "prompts": {"set": "own"}}
    for name, count in (("other", 0), ("a-judge", 1)):
        judge = {"name": f"openai-api/host/{name}", "comparable": True, **settings}
        edit_recipe(site, "candidate", "judge", **judge)
        assert len(Facts(open_site(site.path)).checks) == count


def test_the_files_have_the_same_lines_and_no_path(site: Site, home: Path) -> None:
    measure_all(site, home)
    check_now(site)
    lines = write_evidence(open_site(site.path))
    content = json_of(site.evidence / "evidence.json")
    assert [line["key"] for line in content["lines"]] == [line.key for line in lines]
    tripod = [line for line in lines if line.framework == "TRIPOD-LLM"]
    assert len(tripod) == 19
    with (site.evidence / "evidence.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(max(1, len(line.figures)) for line in lines)
    accuracy = next(row for row in rows if row["item"] == "correctness")
    assert float(accuracy["value"]) == pytest.approx(78 / 80)
    assert accuracy["source"] == "runs/candidate/results.json"
    assert accuracy["n"] == "80"
    page = (site.evidence / "index.html").read_text(encoding="utf-8")
    for framework in FRAMEWORKS:
        assert f">{framework}</h2>" in page
    assert "97.5" in page
    assert content["history"]["head"] in page
    assert not re.search(r"(?:src|href)=\"?(?!#|data:)[^\" >]", page)
    for path in site.evidence.iterdir():
        assert str(home.parent) not in path.read_text(encoding="utf-8"), path


def test_no_file_has_text_of_an_answer(site: Site) -> None:
    gated(site)
    check_now(site)
    write_evidence(open_site(site.path))
    for path in site.evidence.iterdir():
        assert "987654" not in path.read_text(encoding="utf-8"), path


def test_nothing_is_written_without_a_clean_check(site: Site) -> None:
    gated(site)
    with pytest.raises(MissingError, match="site check"):
        write_evidence(open_site(site.path))
    check_now(site)
    (site.runs / "more.txt").write_text("something", encoding="utf-8")
    with pytest.raises(RefusedError, match="older than runs"):
        write_evidence(open_site(site.path))
    assert not site.evidence.exists()


def test_nothing_is_written_after_a_changed_history(site: Site) -> None:
    gated(site)
    site.gates.write_bytes(site.gates.read_bytes().replace(b"GO", b"NO"))
    check_now(site)
    with pytest.raises(UsageError, match="history that was changed"):
        write_evidence(open_site(site.path))
    assert not site.evidence.exists()


def test_lines_have_unique_keys_and_name_a_command() -> None:
    keys = [line.key for line in LINES]
    assert len(keys) == len(set(keys)) > 0
    assert {use for line in LINES for use in line.uses} <= set(MEASURES)
    assert {line.framework for line in LINES} < set(FRAMEWORKS)
    for line in LINES:
        assert "medical-tasks" in line.how, line.key
