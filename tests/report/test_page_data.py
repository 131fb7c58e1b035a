from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.report.page_data import (
    LENGTHS,
    ReportItem,
    ReportVerdict,
    cut_middle,
    decision,
    fit_texts,
    size_of,
)
from medical_tasks.report.texts import TaskTexts, report_items
from medical_tasks.spec import MetricSpec


def item(
    name: str, question: str = "", answer: str = "", judged: str = ""
) -> ReportItem:
    verdicts = (ReportVerdict(id="v", value="true", text=judged),) if judged else ()
    return ReportItem(
        id=name,
        groups={},
        values={"accuracy": 1.0},
        question=question,
        answer=answer,
        verdicts=verdicts,
        parsed="7",
    )


@pytest.mark.parametrize(
    ("value", "unclear", "unscored", "word"),
    [
        (1.0, "", "", "right"),
        (0.0, "", "", "wrong"),
        (0.0, "a bound", "", "unclear"),
        (0.5, "a bound", "", "partly"),  # of repeats, of which one is unclear
        (None, "", "judge: timeout", "unscored"),
    ],
)
def test_each_item_has_one_decision(
    value: float | None, unclear: str, unscored: str, word: str
) -> None:
    shown = ReportItem(
        id="1", groups={}, values={"right": value}, unclear=unclear, unscored=unscored
    )
    metric = MetricSpec(name="right", kind="proportion", description="")
    assert decision(shown, metric) == word


@pytest.mark.parametrize(
    ("text", "length", "cut"),
    [
        ("", 4, ""),
        ("abcd", 4, "abcd"),
        ("abcdefg", 4, "ab\n[... 3 characters left out ...]\nfg"),
        ("abcdefg", 3, "ab\n[... 4 characters left out ...]\ng"),
        ("x" * 2000, 2, "x\n[... 1,998 characters left out ...]\nx"),
    ],
)
def test_a_text_is_cut_in_its_middle_with_a_note(
    text: str, length: int, cut: str
) -> None:
    assert cut_middle(text, length) == cut


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 0), ("ab", 4), ("a\nb", 6), ("<b>", 15), ("é", 4), ("\udc80", 5)],
)
def test_the_size_is_that_of_the_text_in_a_page(text: str, size: int) -> None:
    assert size_of(text) == size


def test_all_texts_are_cut_to_the_largest_length_at_which_all_fit() -> None:
    texts = [
        ("t", [item(str(number), str(number) + "q" * 13_000) for number in range(10)])
    ]
    (fitted,) = fit_texts(texts, 31_500)
    assert (fitted.length, fitted.cut, fitted.emptied) == (3000, 10, 0)
    assert all("10,001 characters left out" in shown.question for shown in fitted.items)
    assert fit_texts(texts, sys.maxsize)[0].items == tuple(texts[0][1])
    # What fits stays as it is.
    whole = [item("1", "q" * 5000, "a"), item("2", "", "b", "because")]
    (fitted,) = fit_texts([("t", whole)], 100_000)
    assert (list(fitted.items), fitted.cut, fitted.emptied) == (whole, 0, 0)


def test_the_last_items_lose_their_texts_where_the_smallest_length_is_too_much() -> (
    None
):
    texts = [item(str(number), str(number) * 900) for number in range(10)]
    (fitted,) = fit_texts([("t", texts)], 3400)
    assert [bool(shown.question) for shown in fitted.items] == [True] * 4 + [False] * 6
    assert (fitted.length, fitted.cut, fitted.emptied) == (LENGTHS[-1], 4, 6)
    assert [shown.values for shown in fitted.items] == [shown.values for shown in texts]
    assert fitted.items[-1].parsed == "7"


def test_runs_of_a_task_share_their_questions_and_lose_the_same_items() -> None:
    runs = [
        ("t", [item(str(n), str(n) * 700, f"{run}{n}") for n in range(4)])
        for run in "ab"
    ]
    # A question has 702 bytes, two answers have 8.
    first, second = fit_texts(runs, 3 * 710)
    assert [bool(shown.question) for shown in first.items] == [True, True, True, False]
    assert [bool(shown.answer) for shown in second.items] == [True, True, True, False]


def test_room_that_a_small_task_leaves_goes_to_a_large_one() -> None:
    small = ("small", [item("1", "s" * 100)])
    large = ("large", [item(str(n), str(n) * 500) for n in range(10)])
    fitted = fit_texts([large, small], 102 + 7 * 502)
    assert [task.emptied for task in fitted] == [3, 0]


def test_long_parsed_answers_and_reasons_are_cut() -> None:
    (shown,) = report_items(
        [{"id": "1", "parsed": "9" * 5000, "why": "w" * 5000}],
        [],
        TaskTexts(),
        {},
        note_words=None,
    )
    assert len(shown.parsed) < 400
    assert len(shown.why) < 400


TEXTS = st.sampled_from(["", "é<&>\n", "ab", "q" * 900, "q" * 4000, "z" * 20_000])
ITEMS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), ITEMS), max_size=4),
    st.integers(min_value=0, max_value=30_000),
)
def test_a_report_never_exceeds_its_text_limit(
    runs: list[tuple[str, list[tuple[str, ...]]]], room: int
) -> None:
    tasks = [
        (name, [item(str(n), *texts) for n, texts in enumerate(items)])
        for name, items in runs
    ]
    fitted = fit_texts(tasks, room)
    assert [[shown.id for shown in fit.items] for fit in fitted] == [
        [shown.id for shown in items] for _, items in tasks
    ]
    stored = {
        (name, text)
        for (name, _), fit in zip(tasks, fitted, strict=True)
        for shown in fit.items
        for text in (
            shown.question,
            shown.answer,
            *(verdict.text for verdict in shown.verdicts),
        )
    }
    assert sum(size_of(text) for _, text in stored) <= room
    for (_, items), fit in zip(tasks, fitted, strict=True):
        changed = sum(old != new for old, new in zip(items, fit.items, strict=True))
        assert changed == fit.cut + fit.emptied


@given(st.text(max_size=40))
def test_no_text_takes_more_than_its_size(text: str) -> None:
    written = json.dumps(text, ensure_ascii=False)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    assert len(written.encode("utf-8", "surrogatepass")) == (size_of(text) or 2)
