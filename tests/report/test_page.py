"""The page: sound, self-contained, and with no text in it that a browser would act on."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.report.html_parts import escaped, link
from medical_tasks.report.page import render_page
from medical_tasks.report.page_data import (
    ReportData,
    ReportItem,
    ReportVerdict,
    script_json,
)
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.spec import Plot, PlotPoint, Table, View
from tests.case_tables import tabled, tables
from tests.report.page_reading import PageReader
from tests.report.page_samples import (
    calculation,
    credentialed,
    empty,
    judged,
    published,
    sample_report,
)

SAMPLE = sample_report()


@pytest.fixture(scope="module")
def page() -> str:
    return render_page(SAMPLE)


@pytest.fixture(scope="module")
def read(page: str) -> PageReader:
    return PageReader(page)


def page_of(*tasks: Any, **more: Any) -> PageReader:
    return PageReader(
        render_page(ReportData(title="Report", tasks=tasks, suite="suite 1", **more))
    )


def test_the_structure_of_the_page_is_sound(page: str, read: PageReader) -> None:
    assert page.count('class="mt-point mt-published"') > 2
    assert read.faults == []
    assert read.elements["table"] > 10
    assert read.elements["caption"] == read.elements["table"]
    assert read.elements["svg"] > 20
    assert [
        read.elements[name] for name in ("main", "nav", "header", "footer", "h1")
    ] == [1] * 5


def test_the_page_forbids_requests_and_runs_its_own_scripts_alone(
    read: PageReader,
) -> None:
    policy = next(
        meta["content"]
        for meta in read.metas
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in read.scripts
    ]
    assert len(hashes) == 6
    assert rules["script-src"].split() == hashes
    assert "unsafe" not in policy
    assert "http" not in policy
    # Links lead to papers alone, and tell them nothing.
    outside = [link for link in read.links if not link["href"].startswith("#")]
    assert {link["href"] for link in outside} == {"https://example.org/paper"}
    assert all("noreferrer" in link["rel"] for link in outside)


def test_texts_of_a_recipe_are_safe_with_their_quotes_as_they_are() -> None:
    task = calculation(items=2)
    named = replace(
        task,
        entry={**task.entry, "recipe": {"model": {"name": '</pre><b a="1">&quot;'}}},
    )
    text = render_page(ReportData(title="Report", tasks=[named], suite="suite 1"))
    assert '"name": "&lt;/pre&gt;&lt;b a=\\"1\\"&gt;&amp;quot;"' in text
    assert "<b a=" not in text


def test_every_number_is_shown_with_its_interval_and_coverage(read: PageReader) -> None:
    entry = SAMPLE.tasks[0].entry["metrics"]["accuracy"]
    for written in (
        f"{100 * entry['value']:.1f}",
        f"{100 * entry['ci_low']:.1f} to {100 * entry['ci_high']:.1f}",
        "38/40",
        "20.0 or more",
        "0.200 to 0.310",
        "Comparable with the paper: no (judge lexical compares words, the paper's is gpt-4)",
        "lower",
        # Published results are shown too, with their source and differences.
        *(
            "Invented-70B",
            "one example",
            "A Paper of Ours, table 2",
            "takes the last number",
            "1,047",
        ),
        "50.9 %, n = 1,047, reported",
        "31.0",  # the paper's figure for a group of a breakdown
    ):
        assert written in read.text, written


def test_nothing_scored_is_not_zero() -> None:
    read = page_of(empty())
    assert read.faults == []
    assert "n/a" in read.text
    assert "0.0" not in read.text.split("Recipe")[0]
    assert "This report holds no items of this task." in read.text
    assert read.data == {}
    read = page_of()
    assert read.faults == []
    assert "No runs." in read.text
    assert "Nothing was scored." in read.text


def test_no_number_is_ever_nan() -> None:
    task = calculation(items=4)
    nan, inf = float("nan"), float("inf")
    broken = {
        "value": nan,
        "ci_low": nan,
        "ci_high": inf,
        "n": 0,
        "bound_low": 0.1,
        "bound_high": inf,
    }
    entry = {
        **task.entry,
        "metrics": {"accuracy": broken},
        "breakdown": {"category": {"dates": {"accuracy": broken}}},
    }
    items = [replace(task.items[0], values={"accuracy": float("nan")})]
    read = page_of(replace(task, entry=entry, items=items))
    assert read.faults == []
    assert "nan" not in read.text.lower().replace("pregnan", "")
    assert "inf " not in read.text
    assert "10.0 or more" in read.text
    (data,) = read.data.values()
    assert data["runs"][0]["v"] == [[None]]
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"v": nan})


def test_one_run_with_nothing_and_with_much_published() -> None:
    read = page_of(replace(calculation(), published=()))
    assert read.faults == []
    assert "Published results" not in read.text.replace(
        "Published results are as their authors", ""
    )
    assert "Read this first" not in read.text
    many = tuple(
        replace(result, model=f"{result.model} {number}")
        for number in range(4)
        for result in published()
    )
    read = page_of(replace(calculation(), published=many))
    assert read.faults == []
    assert "Filter published results by words" in read.text
    # Twelve results of one paper share its note.
    assert read.ids["task-calculate-published-note-1"] == 1
    assert "task-calculate-published-note-2" not in read.ids


def test_credentialed_items_have_no_texts() -> None:
    read = page_of(credentialed())
    (data,) = read.data.values()
    assert "Texts of credentialed data are not shown" in read.text
    assert data["runs"][0]["texts"]
    assert {name for name in "isvgqaepwuhd" if data["runs"][0][name]} == {
        "i",
        "s",
        "v",
        "g",
        "h",
    }
    # A note about one run names that run.
    some, whole = credentialed("one"), replace(credentialed("two"), texts="")
    assert "one: Texts of credentialed data are not shown" in page_of(some, whole).text
    assert "one: Texts" not in page_of(some, replace(some, run="two")).text


def test_tasks_with_odd_names_have_distinct_ids() -> None:
    tasks = [replace(empty(), name=name) for name in ("a b", "a_b", "3", "<i>", "")]
    read = page_of(*tasks, judged())
    assert read.faults == []
    assert (
        sum(name.startswith("task-") and name.endswith("-h") for name in read.ids)
        == 6 + 1
    )  # the judged one has items


def test_runs_and_papers_are_compared_by_one_metric_on_the_same_items() -> None:
    (first, *_) = published()
    official = {"accuracy_official": 0.619}
    theirs = replace(
        first,
        metrics=official,
        breakdown={},
        beside={"accuracy_official": "accuracy"},
        configs=("v1",),
    )
    # What counts by the authors' rule alone is in the table and not in the chart.
    read = page_of(replace(calculation(), published=(theirs,)))
    assert read.faults == []
    assert "accuracy_official, %" in read.text
    assert "61.9 %, n = 1,047, reported" not in read.text
    assert "1 published results below are not drawn" in read.text
    # A run that has the authors' number too is drawn by it, beneath its own.
    ours = replace(calculation(), published=(theirs,))
    value = ours.entry["metrics"]["accuracy"]
    ours.entry["metrics"]["accuracy_official"] = {**value, "value": 0.25}
    read = page_of(ours)
    assert f"{100 * value['value']:.1f} % accuracy 95 % interval" in read.text
    assert (
        "Drawn by accuracy_official, the authors' rule, by which papers count; the figures above are accuracy."
        in read.text
    )
    assert re.search(r"25\.0 % \([^)]*\), n = \d+", read.text)
    assert "61.9 %, n = 1,047, reported, A Paper of Ours, table 2" in read.text
    # Where a run is not comparable with the paper, the paper's figure is marked; the
    # legend explains the mark.
    assert read.text.count("[other setting]") > 1
    alike = {"comparable": True, "why": ["all 1,047 items"]}
    beside = replace(ours, entry={**ours.entry, "paper": alike})
    assert page_of(beside).text.count("[other setting]") == 1
    # Not beside other items, nor beside a judge that compares words.
    ours.entry["recipe"]["data"]["config"] = "demo"
    assert "61.9 %, n = 1,047, reported" not in page_of(ours).text
    ours.entry["recipe"]["data"]["config"] = "v1"
    assert "61.9 %, n = 1,047, reported" in page_of(ours).text
    ours.entry["metrics"]["accuracy_official"]["comparable"] = False
    assert "61.9 %, n = 1,047, reported" not in page_of(ours).text


def test_views_of_a_paper_draw_groups_families_of_tasks_and_a_plane() -> None:
    shots = View(
        title="By shot",
        metrics=("accuracy",),
        tasks={"zero": "no example", "one": "one example"},
    )
    views = (shots, View(title="Across", metrics=("words", "accuracy"), plane=True))
    by = View(title="By category", metrics=("accuracy",), by="category")
    runs = [calculation(run, seed=seed) for seed, run in enumerate(("small", "large"))]
    zero = [replace(run, name="zero", views=(*views, by)) for run in runs]
    read = page_of(*zero, *(replace(run, name="one", views=views) for run in runs))
    assert read.faults == []
    # A family is shown with its first task; groups keep the numbers of their breakdown.
    assert read.text.count("By shot: accuracy") == 1
    assert re.search(r"no example.*one example", read.text)
    accuracy = runs[1].entry["breakdown"]["category"]["dates"]["accuracy"]
    assert re.search(
        rf"dates.*large {100 * accuracy['value']:.1f} % \({100 * accuracy['ci_low']:.1f} to ",
        read.text,
    )
    assert "small: words (number) 23.4 (20.1 to 27.0), n = 40; accuracy " in read.text
    assert read.ids["task-zero-view2-table"] == 1
    assert "By shot" not in page_of(*zero).text  # one task of a family is no comparison


HOSTILE: dict[str, str] = tables(__file__, "hostile_texts")


def everywhere(text: str) -> ReportData:
    """A report with the text in every place that a model, a judge, a paper or a user can reach."""
    task = calculation(items=2)
    item = ReportItem(
        **dict.fromkeys(
            (
                "id",
                "question",
                "answer",
                "gold",
                "parsed",
                "why",
                "unscored",
                "answer_sha256",
            ),
            text,
        ),
        groups={text: text},
        values={"accuracy": 1.0},
        verdicts=(
            ReportVerdict(
                id=text, value=text, unscored=text, text=text, votes=(text, text)
            ),
        ),
    )
    accuracy = task.entry["metrics"]["accuracy"]
    entry = {
        **task.entry,
        "coverage": {"asked": 1, "answered": 1, "scored": 0, "unscored": {text: 1}},
        "breakdown": {text: {text: {"accuracy": accuracy, text: accuracy}}},
        "metrics": {"accuracy": accuracy, text: {**accuracy, "unit": text}},
        "recipe": {"model": {"name": text}, text: [text]},
        "judge": {**judged().entry["judge"], "name": text, "check": text},
    }
    texts: dict[str, Any] = dict.fromkeys(
        ("model", "setting", "task", "source", "link", "judge"), text
    )
    reported = PublishedResult(
        **texts,
        metrics={"accuracy": 0.5, text: 0.5},
        breakdown={text: {text: {"accuracy": 0.5}}},
        differences=(text, text),
    )
    point = PlotPoint(label=text, value=0.5, low=0.4, high=0.6, n=3)
    plot = Plot(title=text, x_label=text, y_label=text, note=text, points=(point,))
    table = Table(title=text, header=(text,), rows=((text,),), note=text)
    whole = replace(
        task,
        **dict.fromkeys(
            ("run", "folder", "name", "title", "benchmark", "access", "texts"), text
        ),
        entry=entry,
        metrics=(replace(task.metrics[0], description=text),),
        items=(item,),
        tables=(table,),
        published=(reported,),
        plots=(plot,),
        views=(View(title=text, metrics=("accuracy", text), by=text),),
    )
    return ReportData(title=text, tasks=(whole,), suite=text, notes=(text,))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_stays_text_everywhere_and_reads_back_equal(
    name: str,
) -> None:
    text = HOSTILE[name]
    page = render_page(everywhere(text))
    page.encode("utf-8")
    read, plain = PageReader(page), PageReader(render_page(everywhere("plain words")))
    assert read.faults == []
    # The same elements as with plain words: nothing of the text became one.
    assert read.elements == plain.elements
    assert read.scripts == plain.scripts
    assert [read.metas[0], read.metas[1:]] == [plain.metas[0], plain.metas[1:]]
    assert [
        item["href"] for item in read.links if not item["href"].startswith("#")
    ] == []
    (data,) = read.data.values()
    run = data["runs"][0]
    for key in "iqaepwuh":
        assert data["strings"][run[key][0]] == text, key
    (((_, _, _, words, votes),),) = run["d"]
    assert [data["strings"][number] for number in (words, *votes)] == [text] * 3
    # The text is stored once, however often it is used.
    assert data["strings"].count(text) == 1


@given(
    st.recursive(
        st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        st.lists,
        max_leaves=6,
    )
)
def test_json_in_a_page_reads_back_equal(value: Any) -> None:
    written = script_json({"value": value, "more": ["</script>", "<!--"]})
    assert not set("<>&\u2028\u2029") & set(written)
    written.encode("utf-8")
    # Two adjacent surrogates of a pair are one character for every reader of JSON.
    assert json.loads(written)["value"] == json.loads(json.dumps(value))


@given(st.text())
def test_escaped_text_can_be_stored_and_opens_nothing(text: str) -> None:
    written = escaped(text)
    written.encode("utf-8")
    assert not set("<>\"'\x00\x1b") & set(written)
    assert escaped(written) == written


def test_invisible_characters_are_shown_and_links_carry_no_referrer() -> None:
    assert escaped("\ud800\x00\x1b") == "\\ud800\\x00\\x1b"
    assert escaped("a\r\nb\tc") == "a\nb\tc"
    assert (
        link("a", "https://e.org/?a=1&b=2")
        == '<a href="https://e.org/?a=1&amp;b=2" rel="noreferrer noopener">a</a>'
    )
    assert link("a", "#task-x") == '<a href="#task-x">a</a>'


@tabled("address")
def test_only_the_web_and_the_page_itself_are_linked(address: str) -> None:
    assert link("<words>", address) == "&lt;words&gt;"
