"""Numbers on the terminal and in Markdown: with interval and coverage, and no text in them that a program would act on."""

from __future__ import annotations

import re
from typing import Any

import pytest

from medical_tasks.io.table import align
from medical_tasks.report.markdown import (
    cell,
    code,
    markdown_table,
    render_markdown,
    render_report,
)
from medical_tasks.report.page_data import ReportData
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.table import Cell, Cells
from medical_tasks.report.tables import plain_table
from medical_tasks.report.terminal import render_table
from medical_tasks.runs.numbers import interval, percent
from medical_tasks.spec import MetricSpec, Plot, PlotPoint
from tests.case_tables import tables
from tests.report.page_samples import published as results_of_papers

CASES: dict[str, Any] = tables(__file__, "markdown")


PAPER = "Comparable with the paper: no (own prompts; 10 of 20 items answered)."


def metric(
    value: float | None, low: float | None = 0.1, high: float | None = 0.3
) -> dict[str, Any]:
    return {
        "value": value,
        "ci_low": low,
        "ci_high": high,
        "n": 10,
        "bound_low": 0.15,
        "bound_high": 0.4,
    }


def results(
    unscored: dict[str, int] | None = None, value: float | None = 0.2
) -> dict[str, Any]:
    missing = sum((unscored or {}).values())
    return {
        "tasks": {
            "toy": {
                "metrics": {
                    "right": metric(value)
                    if value is not None
                    else metric(None, None, None)
                },
                "coverage": {
                    "asked": 10 + missing,
                    "answered": 10,
                    "scored": 10,
                    "unscored": unscored or {},
                },
                "breakdown": {"kind": {"a|b": {"right": metric(0.2)}}},
                "paper": {
                    "comparable": False,
                    "why": ["own prompts", "10 of 20 items answered"],
                },
                "recipe": {"model": {"name": "hf/toy"}, "task_version": "1-A"},
            }
        }
    }


def test_the_table_is_aligned_and_notes_missing_items() -> None:
    lines = align(
        ("a", "b", "c", "d"), [("long", "x", "y", "1"), ("s", "longer", "z", "1000")]
    )
    assert lines == [
        "a     b       c     d",
        "----  ------  -  ----",
        "long  x       y     1",
        "s     longer  z  1000",
    ]
    assert (percent(0.12345), percent(0.0), percent(None)) == ("12.3", "0.0", "n/a")
    assert (interval(metric(0.2)), interval(metric(None, None, None))) == (
        "10.0 to 30.0",
        "n/a",
    )
    text = render_table(results({"no answer: timeout": 2}))
    header, rule, row, paper, note = text.split("\n")
    assert paper == f"hf/toy, toy: {PAPER}"
    assert len(rule) == len(row) >= len(header)
    assert (
        row.split()
        == "hf/toy toy right 20.0 % 10.0 to 30.0 10 10/12 15.0 to 40.0".split()
    )
    assert (
        note
        == "hf/toy, toy: not scored: 2 x no answer: timeout. With them right is 15.0 to 40.0."
    )
    # What cannot be computed is not zero.
    assert render_table(results(value=None)).split("\n")[2].split()[3:5] == [
        "n/a",
        "n/a",
    ]


def judged(*, comparable: bool) -> dict[str, Any]:
    run = results({"judge: http 500": 1})
    entry = run["tasks"]["toy"]
    entry["metrics"]["words"] = {**metric(63.14, 60.0, 70.0), "unit": "number"}
    entry["breakdown"] = {}
    name = "openai-api/x/y" if comparable else "lexical"
    entry["judge"] = {**CASES["judge"], "name": name, "comparable": comparable}
    if not comparable:
        for value in entry["metrics"].values():
            value["comparable"] = False
    return run


def test_a_judged_task_shows_coverage_bounds_cost_and_check() -> None:
    text = render_table(judged(comparable=True))
    assert "bounds" in text.split("\n")[0]
    assert "15.0 to 40.0" in text
    # a count is no percentage
    assert re.search(r"words \(number\) +63\.1 +60\.0 to 70\.0", text)
    assert (
        "judge openai-api/x/y: 1,588 of 1,589 verdicts (missing: 1 x judge: http 500); 1,000 replies from the store; "
        "600 calls made; 1,200 votes saved of 5 each." in text
    )
    assert (
        "judge: 1,600 requests, 9,000 prompt tokens, 1,000 output tokens, 8.0 s (125.0 output tokens a second), $ 1.50; "
        "replies of earlier commands included; forecast with nothing in the store: 1,589 to 4,767 calls, about 8,000 to "
        "24,000 prompt tokens, at most 2,000 to 6,000 output tokens, about $ 2.00 to 6.00."
        in text
    )
    assert "judge x was never checked" in text
    run = judged(comparable=True)
    assert "1,588 of 1,589 verdicts" in render_markdown(run)
    # Replies that gave no verdict are not missing where no score lacks one.
    run["tasks"]["toy"]["coverage"] = {
        "asked": 12,
        "answered": 12,
        "scored": 12,
        "unscored": {},
    }
    table = render_table(run)
    assert (
        "1,588 verdicts (no score lacks one; replies that gave none: 1 x judge: http 500)"
        in table
    )
    assert "of 1,589" not in table


def test_missing_official_figures_are_explained_below_the_table() -> None:
    run = judged(comparable=False)
    run["tasks"]["toy"]["paper"]["official"] = "no official figures: own prompts"
    assert (
        f"hf/toy, toy: {PAPER}\nhf/toy, toy: no official figures: own prompts."
        in render_table(run)
    )
    assert f"**{PAPER}**\n\n**no official figures: own prompts.**" in render_markdown(
        run
    )
    # Results without the field do not count as comparable.
    del run["tasks"]["toy"]["paper"]
    assert "toy: Comparable with the paper: not known" in render_table(run)


def test_an_average_that_lacks_metrics_is_marked() -> None:
    run = results()
    run["tasks"]["toy"]["metrics"]["right"]["missing_components"] = ["other"]
    assert "right [partial]" in render_table(run)


def estimated_and_ended() -> dict[str, Any]:
    run = results({"judge: http 500": 2})
    entry = run["tasks"]["toy"]
    entry["breakdown"] = {}
    ended = "official script ends: no citations (1 of 12 items)"
    entry["metrics"] = {
        "right": {**metric(0.2), "n": 12, "scored": 10, "estimated": 2},
        "rate": {
            **metric(0.2),
            "unit": "per answer",
            "n": 12,
            "scored": 10,
            "estimated": 2,
        },
        "rouge": {**metric(0.2), "n": 12},
        "cited_official": {
            **metric(None, None, None),
            "n": 0,
            "bound_low": None,
            "bound_high": None,
            "reason": ended,
        },
        "blank": {
            **metric(None, None, None),
            "n": 0,
            "reason": "nothing to count on any item",
        },
    }
    return run


@pytest.mark.parametrize("render", [render_table, render_markdown])
def test_each_metric_has_its_own_coverage_unit_and_reason(render: Any) -> None:
    text = render(estimated_and_ended())
    lines = {line.replace("|", " ").split()[0 if render is render_markdown else 2]: line for line in text.split("\n")
             if len(line.replace("|", " ").split()) > 5 and "/12" in line}  # fmt: skip
    assert [name for name in ("right", "rate", "rouge") if "10/12" in lines[name]] == [
        "right",
        "rate",
    ]
    assert "12/12" in lines["rouge"]
    assert "20.0 %" in lines["right"]
    assert " 0.20 " in lines["rate"]
    assert "%" not in lines["rate"]
    assert "rate (per answer)" in lines["rate"]
    assert (
        "cited_official: n/a, official script ends: no citations (1 of 12 items)."
        in text
    )
    assert "right, rate: 2 of 12 items lack verdicts; known ones replace them." in text
    assert "blank: n/a" not in text  # its own cell states it


HOSTILE = "<img src=x onerror=alert(1)> ![p](http://e.example/p.png) [a](javascript:x) ![q][r] | `x`\n\n# Heading\n```"


def value(number: float | None, **more: Any) -> dict[str, Any]:
    ends = (
        {"ci_low": None, "ci_high": None}
        if number is None
        else {"ci_low": number / 2, "ci_high": number}
    )
    return {
        "value": number,
        "n": 4,
        "bound_low": number,
        "bound_high": number,
        **ends,
        **more,
    }


def entry(
    model: str = "hf/toy",
    unscored: dict[str, int] | None = None,
    number: float | None = 0.25,
) -> dict[str, Any]:
    missing = sum((unscored or {}).values())
    return {
        "n_items": 4 + missing,
        "metrics": {"words": value(61.26, unit="number"), "accuracy": value(number)},
        "coverage": {
            "asked": 4 + missing,
            "answered": 4,
            "scored": 4,
            "unscored": unscored or {},
        },
        "breakdown": {
            "kind": {"a|b": {"accuracy": value(0.5)}, "c": {"accuracy": value(None)}}
        },
        "recipe": {"model": {"name": model}, "task_version": "1-A"},
        "paper": {
            "comparable": False,
            "why": ["own prompts", "10 of 20 items answered"],
        },
    }


def task(run: str, scored: dict[str, Any], **more: Any) -> ReportTask:
    accuracy = MetricSpec(name="accuracy", kind="proportion", description="right")
    metrics = (
        accuracy,
        MetricSpec(name="words", kind="mean", description="length", unit="number"),
    )
    about: dict[str, Any] = {
        "name": "toy",
        "title": "A toy",
        "benchmark": "Toys",
        "access": "open",
        "folder": f"runs/{run}",
    }
    return ReportTask(**about, run=run, entry=scored, metrics=metrics, items=(), **more)


def report(*tasks: ReportTask, notes: tuple[str, ...] = ()) -> str:
    return render_report(
        ReportData(title="Mine", tasks=tasks, suite="medical-tasks 0", notes=notes)
    )


def test_the_headline_comes_first_with_interval_and_coverage() -> None:
    text = report(
        task("one", entry(unscored={"no answer: timeout": 2})),
        task("two", entry("hf/other", number=None)),
    )
    assert (
        "| toy | accuracy | one | 25.0 % | 12.5 to 25.0 | 4 | 4/6 | 25.0 to 25.0 | higher |"
        in text
    )
    assert "| toy | accuracy | two | n/a | n/a | 4 | 4/4 | n/a | higher |" in text
    assert (
        "| words (number) | one | 61.3 | 30.6 to 61.3 | 4 | 4/6 | 61.3 to 61.3 | higher |"
        in text
    )
    assert (
        f"one:\n\n**{PAPER}**\n\nNot scored, and not counted as wrong:\n\n- 2 x no answer: timeout"
        in text
    )
    assert text.count("## toy\n") == 1


def test_breakdowns_of_several_runs_share_a_table() -> None:
    text = report(task("one", entry()), task("two", entry()))
    rows = [
        line for line in text.splitlines() if line.startswith(("| a\\|b |", "| c |"))
    ]
    assert [row.split(" | ")[1] for row in rows] == ["one", "two", "one", "two"]
    assert rows[0] == "| a\\|b | one | 50.0 % | 25.0 to 50.0 | 4 |"
    assert rows[2] == "| c | one | n/a | n/a | 4 |"
    assert "| kind | accuracy | 95 % interval | n |" in report(task("one", entry()))


def test_published_results_name_their_differences_and_plots_are_tables() -> None:
    published = results_of_papers(CASES["published"])
    text = report(task("one", entry(), published=published))
    link = "[Toys, table 2](https://toys.example/paper)"
    assert f"| GPT-4 | 1-shot | 50.9 | – | 1,047 |  | {link} | note 1 |" in text
    assert "| Old |  | – | 80.0 | – | people | A talk | none named |" in text
    assert "\n1. Other rows. Another prompt.\n" in text
    assert "Published" not in report(task("one", entry()))
    point = PlotPoint(label="7", value=0.5, low=0.25, high=0.75, n=12)
    plot = Plot(
        title="By size",
        x_label="Size",
        y_label="Accuracy",
        points=(point,),
        note="Of all.",
    )
    text = report(task("one", entry(), plots=(plot,)))
    rows = "| Size | Accuracy % | interval | n |\n|---|---|---|---|\n| 7 | 50.0 | 25.0 to 75.0 | 12 |"
    assert f"### By size\n\n{rows}" in text
    assert "\nOf all.\n" in text


@pytest.mark.parametrize("render", ["report", "run"])
def test_no_text_becomes_html_a_picture_a_link_or_a_heading(render: str) -> None:
    hostile = entry(HOSTILE, unscored={HOSTILE: 1})
    hostile["breakdown"] = (
        {HOSTILE: {HOSTILE: {"accuracy": value(0.5)}}} if render == "report" else {}
    )
    hostile["recipe"]["note"] = HOSTILE
    text = (
        report(task(HOSTILE, hostile), notes=(HOSTILE,))
        if render == "report"
        else render_markdown({"tasks": {"t": hostile}})
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
    shown: list[Cells] = [
        [Cell("a", href="https://b")],
        [Cell("a", href="javascript:b")],
        ["[a](b)"],
    ]
    rows = markdown_table(plain_table("", ("x",), shown)).splitlines()[2:]
    assert rows == ["| [a](https://b) |", "| a |", "| [a]&#40;b) |"]
