from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.benchmarks.kqa.scoring import statement_plots
from medical_tasks.judges.checks import check_key, record_check
from medical_tasks.report.collect import component_plots, judge_plots, level_plots
from medical_tasks.spec import MetricSpec


def value(number: float | None, low: float | None, high: float | None, unit: str = "") -> dict[str, Any]:
    return {"value": number, "ci_low": low, "ci_high": high, "n": 9, **({"unit": unit} if unit else {})}


def row(parsed: str, cluster: str) -> dict[str, Any]:
    return {"id": cluster, "cluster": cluster, "parsed": parsed}


def test_statements_are_counted_where_all_of_an_answer_are_decided() -> None:
    rows = [
        row("must 3/4, nice 1/2, contradicted 1", "a"),
        row("must 0/2, nice 0/0, contradicted 2", "b"),
        row("must 1 to 2/3, nice 0/1, contradicted 0", "c"),
        row("must 1/3, contradicted 0", "d"),
        row("", "e"),
    ]
    (plot,) = statement_plots(rows)
    assert [(point.label, point.value, point.n) for point in plot.points] == [
        ("must-have, said", 3 / 6, 6),
        ("nice-to-have, said", 1 / 2, 2),
        ("of both, contradicted", 3 / 8, 8),
    ]
    assert plot.note.startswith("Over all statements")
    assert "3 answers are left out" in plot.note
    assert statement_plots([]) == []
    assert statement_plots(rows[2:]) == []


def test_components_of_an_average_and_what_is_not_reported() -> None:
    metrics = [
        MetricSpec(name="overall", kind="average", description="", of=("bleu", "sari", "medcon")),
        MetricSpec(name="bleu", kind="mean", description=""),
        MetricSpec(name="sari", kind="mean", description=""),
    ]
    entry = {"metrics": {"overall": value(0.3, 0.2, 0.4), "bleu": value(0.1, 0.0, 0.2), "sari": value(0.5, 0.4, 0.6)}}
    (plot,) = component_plots(entry, metrics)
    assert [(point.label, point.value) for point in plot.points] == [("bleu", 0.1), ("sari", 0.5), ("overall", 0.3)]
    assert plot.note == "Not reported, and not part of overall: medcon."
    entry["metrics"] |= {"bleu": value(None, None, None), "sari": value(1.5, 1.0, 2.0)}
    assert component_plots(entry, metrics) == []  # no value, and no share: one point is no comparison
    assert component_plots(entry, metrics[1:]) == []


def test_levels_need_two_of_one_kind() -> None:
    tasks = [task_spec(f"ehrnoteqa_mc_level{level}") for level in (1, 2)]
    entries = {task.name: {"metrics": {"accuracy": value(0.5, 0.2, 0.8)}} for task in tasks}
    entries["ehrnoteqa_open_level1"] = entries[tasks[0].name]
    (plot,) = level_plots(tasks[0], entries)
    assert [point.label for point in plot.points] == ["1", "2"]
    assert level_plots(tasks[1], entries) == []
    assert level_plots(task_spec("ehrnoteqa_open_level1"), entries) == []
    assert level_plots(task_spec("medcalc"), {"medcalc": entries[tasks[0].name]}) == []
    entries[tasks[1].name] = {"metrics": {"accuracy": value(None, None, None)}}
    assert level_plots(tasks[0], entries) == []


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path))


JUDGE = {"backend": "openai-api", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
RECIPE = {
    **JUDGE,
    "name": "openai-api/host/m",
    "comparable": True,
    "votes": 5,
    "reasks": 2,
    "reply_tokens": None,
    "mode": "single",
    "prompts": {"set": "own", "sha256": "0" * 64},
}


def recorded(kappa: tuple[float, float, float], **asked: Any) -> None:
    names = ("value", "ci_low", "ci_high")
    check = {
        "set": "kqa",
        "date": "2025-01-02",
        "judge": "openai-api/host/m",
        "pairs": 1589,
        "scored": 1500,
        "ways": 3,
        "accuracy": dict(zip(names, (0.8, 0.78, 0.82), strict=True)),
        "kappa": dict(zip(names, kappa, strict=True)),
        "pairwise": 0.77,
    }
    assert record_check(check_key(JUDGE, votes=5, **asked), check)


def test_the_judges_agreement_is_drawn_where_a_check_of_this_very_judge_is_on_record() -> None:
    task, entry = task_spec("kqa"), {"recipe": {"judge": RECIPE}}
    assert judge_plots(task, entry) == []
    recorded((0.6, 0.5, 0.7))
    (plot,) = judge_plots(task, entry)
    assert [(p.label, p.value, p.low, p.high, p.n) for p in plot.points] == [
        ("accuracy", 0.8, 0.78, 0.82, 1500),
        ("kappa", 0.6, 0.5, 0.7, 1500),
    ]
    assert "1500 of 1589 pairs" in plot.note
    assert "physicians agree pairwise 0.770" in plot.note
    assert judge_plots(task, {"recipe": {"judge": {**RECIPE, "votes": 1}}}) == []
    assert judge_plots(task, {"recipe": {"judge": {**RECIPE, "model": "other"}}}) == []
    assert judge_plots(task, {"recipe": {}}) == []


def test_what_is_no_share_is_said_and_not_drawn() -> None:
    recorded((-0.1, -0.2, 0.1))
    (plot,) = judge_plots(task_spec("kqa"), {"recipe": {"judge": RECIPE}})
    assert [point.label for point in plot.points] == ["accuracy"]
    assert "kappa -0.10" in plot.note
