from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.report.html_parts import escaped, link
from medical_tasks.report.page import render_page, script_json
from medical_tasks.report.page_data import ReportData, ReportItem, ReportVerdict
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.spec import Plot, PlotPoint
from tests.report.page_reading import PageReader
from tests.report.page_samples import calculation, judged

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "comment": "<!-- <script> --!> ]]>",
    "quotes": '" onload="alert(1)" x=\'',
    "lines": "a\u2028b\u2029c\r\nd\re",
    "surrogate": "lone \ud800 and \udfff",
    "direction": "\u202eevil\u2066 \u200f",
    "control": "nul \x00 bell \x07 escape \x1b[31m",
    "markup": "<img src=x onerror=alert(1)> &lt; &#60; &amp",
    "style": "</style><style>*{display:none}",
    "noscript": "</noscript></textarea></title>",
    "template": "{{7*7}} ${7*7} %s {0}",
}


def everywhere(text: str) -> ReportData:
    """A report with the text in every place that a model, a judge, a paper or a user can reach."""
    task = calculation(items=2)
    item = ReportItem(
        id=text,
        groups={text: text},
        values={"accuracy": 1.0},
        question=text,
        answer=text,
        gold=text,
        parsed=text,
        why=text,
        unscored=text,
        answer_sha256=text,
        verdicts=(ReportVerdict(id=text, value=text, unscored=text, text=text, votes=(text, text)),),
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
    reported = PublishedResult(
        model=text,
        setting=text,
        task=text,
        metrics={"accuracy": 0.5, text: 0.5},
        breakdown={text: {text: {"accuracy": 0.5}}},
        source=text,
        link=text,
        judge=text,
        differences=(text, text),
    )
    plot = Plot(
        title=text,
        x_label=text,
        y_label=text,
        note=text,
        points=(PlotPoint(label=text, value=0.5, low=0.4, high=0.6, n=3),),
    )
    whole = replace(
        task,
        **dict.fromkeys(("run", "folder", "name", "title", "benchmark", "access", "texts"), text),
        entry=entry,
        metrics=(replace(task.metrics[0], description=text),),
        items=(item,),
        published=(reported,),
        plots=(plot,),
    )
    return ReportData(title=text, tasks=(whole,), suite=text, notes=(text,))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_text_wherever_it_stands(name: str) -> None:
    text = HOSTILE[name]
    page = render_page(everywhere(text))
    page.encode("utf-8")
    read, plain = PageReader(page), PageReader(render_page(everywhere("plain words")))
    assert read.faults == []
    # The same elements as with plain words: nothing of the text became one.
    assert read.elements == plain.elements
    assert read.scripts == plain.scripts
    assert [read.metas[0], read.metas[1:]] == [plain.metas[0], plain.metas[1:]]
    assert [item["href"] for item in read.links if not item["href"].startswith("#")] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_reads_back_equal_from_the_items(name: str) -> None:
    text = HOSTILE[name]
    (data,) = PageReader(render_page(everywhere(text))).data.values()
    (item,) = data["runs"][0]["items"]
    for key in "iqaepwuh":
        assert data["strings"][item[key]] == text, key
    ((_, _, _, words, votes),) = item["d"]
    assert [data["strings"][number] for number in (words, *votes)] == [text] * 3
    # The text stands there once, however often it is meant.
    assert data["strings"].count(text) == 1


def test_a_long_answer_comes_through_whole() -> None:
    text = "".join(f"{number} <b>&amp;</b> ü𝛼\u2028" for number in range(40_000))
    assert len(text) > 700_000
    task = calculation(items=2)
    page = render_page(
        ReportData(title="Long", tasks=[replace(task, items=[replace(task.items[0], answer=text)])], suite="")
    )
    (data,) = PageReader(page).data.values()
    assert text in data["strings"]


@settings(deadline=None, max_examples=60)
@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none(), st.lists, max_leaves=6))
def test_json_in_a_page_reads_back_equal(value: Any) -> None:
    written = script_json({"value": value, "more": ["</script>", "<!--"]})
    assert not set("<>&\u2028\u2029") & set(written)
    written.encode("utf-8")
    assert json.loads(written)["value"] == _joined(value)


def _joined(value: Any) -> Any:
    """Two halves of a pair that stand side by side are one character for every reader of JSON."""
    return json.loads(json.dumps(value))


def test_json_refuses_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"v": float("nan")})


@settings(deadline=None, max_examples=60)
@given(st.text())
def test_escaped_text_can_be_stored_and_opens_nothing(text: str) -> None:
    written = escaped(text)
    written.encode("utf-8")
    assert not set("<>\"'\x00\x1b") & set(written)
    assert escaped(written) == written


def test_the_unseen_is_written_visibly() -> None:
    assert escaped("\ud800\x00\x1b") == "\\ud800\\x00\\x1b"
    assert escaped("a\r\nb\tc") == "a\nb\tc"


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>",
        "//example.org",
        "file:///etc/passwd",
        "https://a b",
        'https://a" onclick="x',
        "#a b",
        "",
    ],
)
def test_only_the_web_and_the_page_itself_are_linked(address: str) -> None:
    assert link("<words>", address) == "&lt;words&gt;"


def test_links_to_the_web_carry_no_referrer() -> None:
    assert link("a", "https://e.org/?a=1&b=2") == '<a href="https://e.org/?a=1&amp;b=2" rel="noreferrer noopener">a</a>'
    assert link("a", "#task-x") == '<a href="#task-x">a</a>'


def test_attributes_of_hostile_metrics_stay_attributes() -> None:
    more: Mapping[str, Any] = {"unit": '"><b>'}
    page = render_page(everywhere(str(more["unit"])))
    assert "<b>" not in page.split("</head>")[1].split("<script>")[0]
