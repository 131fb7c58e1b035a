"""Markdown of a report: every number with its interval and coverage, and no text in it that a reader's program would act on."""

from __future__ import annotations

import re
from typing import Any

import pytest

from medical_tasks.report.markdown import Ready, cell, code, render_markdown, render_report, table
from medical_tasks.report.page_data import ReportData, ReportTask
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.spec import MetricSpec, Plot, PlotPoint

HOSTILE = "<img src=x onerror=alert(1)> ![p](http://e.example/p.png) [a](javascript:x) ![q][r] | `x`\n\n# Heading\n```"


def value(number: float | None, **more: Any) -> dict[str, Any]:
    ends = {"ci_low": None, "ci_high": None} if number is None else {"ci_low": number / 2, "ci_high": number}
    return {"value": number, "n": 4, "bound_low": number, "bound_high": number, **ends, **more}


def entry(model: str = "hf/toy", unscored: dict[str, int] | None = None, number: float | None = 0.25) -> dict[str, Any]:
    missing = sum((unscored or {}).values())
    return {
        "n_items": 4 + missing,
        "metrics": {"words": value(61.26, unit="number"), "accuracy": value(number)},
        "coverage": {"asked": 4 + missing, "answered": 4, "scored": 4, "unscored": unscored or {}},
        "breakdown": {"kind": {"a|b": {"accuracy": value(0.5)}, "c": {"accuracy": value(None)}}},
        "recipe": {"model": {"name": model}, "task_version": "1-A"},
    }


def task(run: str, told: dict[str, Any], **more: Any) -> ReportTask:
    metrics = (
        MetricSpec(name="accuracy", kind="proportion", description="right"),
        MetricSpec(name="words", kind="mean", description="length", unit="number"),
    )
    return ReportTask(
        run=run,
        folder=f"runs/{run}",
        name="toy",
        title="A toy",
        benchmark="Toys",
        access="open",
        entry=told,
        metrics=metrics,
        items=(),
        **more,
    )


def report(*tasks: ReportTask, notes: tuple[str, ...] = ()) -> str:
    return render_report(ReportData(title="Mine", tasks=tasks, suite="medical-tasks 0", notes=notes))


def test_the_headline_comes_first_with_interval_and_coverage() -> None:
    text = report(task("one", entry(unscored={"no answer: timeout": 2})), task("two", entry("hf/other", number=None)))
    assert "| toy | one | `hf/toy` | accuracy | 25.0 % | 12.5 to 25.0 | 4 | 4/6 | 25.0 to 25.0 |" in text
    assert "| toy | two | `hf/other` | accuracy | n/a | n/a | 4 | 4/4 | n/a |" in text
    assert "| one | words (number) | 61.3 | 30.6 to 61.3 | 4 | 4/6 | 61.3 to 61.3 |" in text
    assert "one:\n\nNot scored, and not counted as wrong:\n\n- 2 x no answer: timeout" in text
    assert text.count("## toy\n") == 1


def test_breakdowns_of_several_runs_share_a_table() -> None:
    text = report(task("one", entry()), task("two", entry()))
    rows = [line for line in text.splitlines() if line.startswith(("| a\\|b |", "| c |"))]
    assert [row.split(" | ")[1] for row in rows] == ["one", "two", "one", "two"]
    assert rows[0] == "| a\\|b | one | 4 | 50.0 (25.0 to 50.0) |"
    assert rows[2] == "| c | one | 4 | n/a (n/a) |"
    assert "| kind | n | accuracy (interval) |" in report(task("one", entry()))


def test_published_results_say_what_is_different_there() -> None:
    published = (
        PublishedResult(
            model="GPT-4",
            setting="1-shot",
            task="toy",
            metrics={"accuracy": 0.509},
            source="Toys, table 2",
            link="https://toys.example/paper",
            n_items=1047,
            differences=("Other rows.", "Another prompt."),
        ),
        PublishedResult(
            model="Old", task="toy", metrics={"words": 80.0}, source="A talk", link="http://x", judge="people"
        ),
    )
    text = report(task("one", entry(), published=published))
    link = "[Toys, table 2](https://toys.example/paper)"
    assert f"| GPT-4 | 1-shot | 50.9 | not told | 1047 |  | {link} | note 1 |" in text
    assert "| Old |  | not told | 80.0 | not told | people | A talk | none named |" in text
    assert "\n1. Other rows. Another prompt.\n" in text
    assert "Published" not in report(task("one", entry()))


def test_plots_are_tables() -> None:
    point = PlotPoint(label="7", value=0.5, low=0.25, high=0.75, n=12)
    plot = Plot(title="By size", x_label="Size", y_label="Accuracy", points=(point,), note="Of all.")
    text = report(task("one", entry(), plots=(plot,)))
    assert (
        "### By size\n\n| Size | Accuracy % | interval | n |\n|---|---|---|---|\n| 7 | 50.0 | 25.0 to 75.0 | 12 |"
        in text
    )
    assert "\nOf all.\n" in text


@pytest.mark.parametrize("render", ["report", "run"])
def test_no_text_becomes_html_a_picture_a_link_or_a_heading(render: str) -> None:
    told = entry(HOSTILE, unscored={HOSTILE: 1})
    told["breakdown"] = {HOSTILE: {HOSTILE: {"accuracy": value(0.5)}}} if render == "report" else {}
    told["recipe"]["note"] = HOSTILE
    text = (
        report(task(HOSTILE, told), notes=(HOSTILE,)) if render == "report" else render_markdown({"tasks": {"t": told}})
    )
    outside = re.sub(r"```json\n.*?\n```", "", text, flags=re.DOTALL)
    assert "```" not in outside
    outside = re.sub(r"`[^`\n]*`", "", outside)
    assert "<img" not in outside
    assert "](http" not in outside
    assert "](java" not in outside
    assert "![" not in outside
    assert "`" not in outside  # all of code, and in pairs
    assert "\n# Heading" not in text
    assert text.count("\n```json\n") == text.count("\n```\n") == 1


def test_cells() -> None:
    assert cell(" a\n b | <c> ") == "a b \\| &lt;c>"
    assert cell("\\| \\` ![") == "&#92;\\| &#92;&#96; !&#91;"
    assert code("a`b|c\nd") == "`a'b\\|c d`"
    assert table(("x",), [(Ready("[a](https://b)"),), ("[a](b)",)])[2:] == ["| [a](https://b) |", "| [a]&#40;b) |"]
