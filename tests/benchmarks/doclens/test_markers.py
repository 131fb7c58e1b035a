"""What is a citation marker, what is prose, and that taking markers out takes nothing else."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.pieces import MAX_RANGE, cited_ids, find_markers, remove_citations
from tests.support import SHARED, needs_shared

TEXTS = st.text(alphabet="aB 1205[],;-–. \n", max_size=60)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("He improved [3].", (3,)),
        ("He improved [3][4] [5].", (3, 4, 5)),
        ("He improved [3, 4;5].", (3, 4, 5)),
        ("He improved [3-5].", (3, 4, 5)),
        ("He improved [3–5, 9].", (3, 4, 5, 9)),
        ("He improved [ 3 — 5 ].", (3, 4, 5)),
        ("He improved [0], again [0] and [007].", (0, 7)),
        ("He improved [4-4].", (4,)),
        ("[[3]]", (3,)),
    ],
)
def test_markers(text: str, ids: tuple[int, ...]) -> None:
    assert cited_ids(text) == ids


@pytest.mark.parametrize(
    "prose",
    [
        "5 mg",
        "A1c [8.2 -> 6.9]",
        "1. First, 2) second",
        "5+5 mg, 3+ pulses",
        "index [-1]",
        "as in [note 3]",
        "a list []",
        "[3",
        "3]",
        "[3.]",
        "[3,]",
        "[1-2-3]",
        "pressure [120-80]",
        "[0-5000]",
        "[1234567]",
        "[1\n2]",
        "(3)",
        "【3】",
        "",
    ],
)
def test_prose_holds_no_marker(prose: str) -> None:
    assert find_markers(prose) == []
    assert remove_citations(prose) == prose


def test_the_widest_range() -> None:
    assert cited_ids(f"[1-{MAX_RANGE}]") == tuple(range(1, MAX_RANGE + 1))
    assert cited_ids(f"[0-{MAX_RANGE}]") == ()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("He improved [1].", "He improved."),
        ("He improved [1] [2] today", "He improved today"),
        ("List [1,2] y", "List y"),  # the authors leave ",2"
        ("x [1-3] y", "x y"),  # the authors leave "-3"
        (" [4] lead", "lead"),
        ("a\n  [4] lead", "a\nlead"),
        ("[1]\n[2]", "\n"),
        ("array[0]", "array"),
        ("keep ] bracket | bar", "keep ] bracket | bar"),  # the authors take both signs away
        ("A1c [8.2 -> 6.9] better [3]", "A1c [8.2 -> 6.9] better"),  # the authors leave ".2 -> 6.9"
        ("[1]", ""),
        ("", ""),
    ],
)
def test_removal(text: str, left: str) -> None:
    assert remove_citations(text) == left


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_only_markers_and_spaces_beside_them_go(text: str) -> None:
    cut, start = "", 0
    for marker in find_markers(text):
        cut += text[start : marker.start]
        start = marker.end
    cut += text[start:]
    left = remove_citations(text)
    assert "".join(left.split()) == "".join(cut.split())
    assert left.count("\n") == text.count("\n")


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_markers_stand_where_they_say(text: str) -> None:
    end = 0
    for marker in find_markers(text):
        assert end <= marker.start
        end = marker.end
        assert re.fullmatch(r"\[[0-9 ,;–-]+\]", text[marker.start : end])
        numbers = {int(digits) for digits in re.findall("[0-9]+", text[marker.start : end])}
        assert {marker.ids[0], marker.ids[-1]} <= numbers
        assert numbers <= set(marker.ids)


@pytest.mark.upstream
@needs_shared
def test_where_the_authors_remove_more_or_less() -> None:
    cases = json.loads((SHARED / "fixtures" / "doclens" / "expected.json").read_text(encoding="utf-8"))[
        "remove_citations"
    ]
    differing = {case["text"]: remove_citations(case["text"]) for case in cases}
    assert len(differing) == 9
    # Lists are whole markers, the space at the beginning goes with its marker, a bracket of the prose stays.
    assert {
        text for text, left in differing.items() if left != next(c for c in cases if c["text"] == text)["expected"]
    } == {
        "List [1,2] y",
        " [4] lead",
        "keep ] bracket",
    }
