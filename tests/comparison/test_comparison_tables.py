"""Items that changed, and how a comparison is shown."""

from __future__ import annotations

from typing import Any

from medical_tasks.comparison.compared import Compared, Selection
from medical_tasks.comparison.comparing import compare_pairs
from medical_tasks.comparison.tables import (
    add_flips,
    as_markdown,
    as_text,
    flipped_items,
    run_names,
    sections,
)
from tests.comparison.comparison_cases import (
    HARM,
    RIGHT,
    SHARE,
    TASKS,
    WORDS,
    compared,
    row,
    rows,
)

NO, YES = 0.0, 1.0


def ids(flips: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    return {name: [item["id"] for item in items] for name, items in flips.items()}


def test_flips_are_in_the_order_of_ids_and_those_of_other_metrics_by_size() -> None:
    keys = ["10", "9", "b2", "b10", "same"]
    a = [
        row(key, right)
        for key, right in zip(keys, (NO, NO, YES, YES, YES), strict=True)
    ]
    b = [
        row(key, right)
        for key, right in zip(keys, (YES, YES, NO, NO, YES), strict=True)
    ]
    flips = flipped_items(RIGHT, a, b, most=9, parsed=True)
    assert ids(flips) == {"improved": ["9", "10"], "worsened": ["b2", "b10"]}
    assert flips["improved"][0] == {
        "id": "9",
        "a": 0.0,
        "b": 1.0,
        "parsed_a": "answer 9",
        "parsed_b": "answer 9",
    }
    assert ids(flipped_items(HARM, a, b, most=9, parsed=True)) == ids(flips)
    assert ids(flipped_items(RIGHT, a, b, most=1, parsed=True)) == {
        "improved": ["9"],
        "worsened": ["b2"],
    }
    a, b = (
        rows([0.1, 0.1, 0.9, 0.5, None, 0.2]),
        rows([0.2, 0.9, 0.2, 0.5, 0.5, 0.2 + 1e-15]),
    )
    assert ids(flipped_items(WORDS, a, b, most=9, parsed=False)) == {
        "improved": ["1", "0"],
        "worsened": ["2"],
    }
    a, b = rows([0.5]), [row("0", 0.0, share_of=0.0)]
    assert ids(flipped_items(SHARE, a, b, most=9, parsed=False)) == {
        "improved": [],
        "worsened": [],
    }


def test_answers_of_redacted_rows_and_of_closed_tasks_are_not_shown() -> None:
    a, b = [row("0", NO)], [row("0", YES)]
    assert set(flipped_items(RIGHT, a, b, most=9, parsed=False)["improved"][0]) == {
        "id",
        "a",
        "b",
    }
    redacted = [{**b[0], "response_sha256": "0" * 64}]
    assert set(
        flipped_items(RIGHT, a, redacted, most=9, parsed=True)["improved"][0]
    ) == {
        "id",
        "a",
        "b",
    }


def shown(
    a: list[dict[str, Any]],
    b: list[dict[str, Any]],
    *,
    label: str = "a",
    **settings: Any,
) -> tuple[str, str]:
    model = {"model": {"name": label}}
    runs = [compared(a, label, **model), compared(b, "b", **model)]
    pairs = compare_pairs(runs, TASKS, selection=Selection(by="all"))
    add_flips(pairs[0], runs, TASKS, most=9, parsed=["toy"], **settings)
    return as_text(run_names(runs), sections(pairs)), as_markdown(
        run_names(runs), sections(pairs)
    )


def test_the_first_metric_is_listed_unless_others_are_requested() -> None:
    text, _ = shown(rows([NO, YES]), rows([YES, YES]))
    assert "toy, right: wrong -> right (improved), 1 item" in text
    assert "toy, harm" not in text
    text, _ = shown(
        rows([NO, YES]), rows([YES, YES]), metrics=["harm", "words", "both"]
    )
    assert "toy, harm: yes -> no (improved), 1 item" in text
    assert "toy, harm: no -> yes (worsened), 0 items" in text
    assert "toy, words: improved most, 1 item" in text
    assert "toy, both" not in text


def test_a_small_group_shows_a_note_in_place_of_an_interval() -> None:
    text, _ = shown(rows([NO, YES]), rows([YES, YES]))
    (line,) = [
        line for line in text.splitlines() if line.split()[:2] == ["odd", "right"]
    ]
    assert (
        " ".join(line.split())
        == "odd right none 50.0 % 100.0 % +50.0 too few to tell: 2 n/a n/a n/a 1 0 1"
    )
    assert "No group has enough: conclude nothing group by group." in text
    assert "only 2 pairs, fewer than 10: the interval is rough" in text


def test_hostile_text_is_escaped_in_text_and_markdown() -> None:
    evil = "<script>alert(1)</script>|[x](javascript:1)`\x1b[2J\u202e\n# head"
    a = [row("0", NO, parsed=evil, group_kind=evil), row("1|<b>", NO, parsed=evil)]
    b = [row("0", YES, parsed=evil, group_kind=evil), row("1|<b>", YES, parsed=evil)]
    text, page = shown(a, b, label=evil)
    for output in (text, page):
        assert "\x1b" not in output
        assert "\u202e" not in output
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\n# head" not in page
    tables = [line for line in page.splitlines() if line.startswith("|")]
    assert len(tables) > 10
    widths = [len(line.replace("\\|", "").split("|")) for line in tables]
    assert set(widths) == {14, 15, 7}  # the headline, the breakdowns, the items


def test_a_run_without_rows_of_the_task() -> None:
    empty = Compared(label="e", results=compared([]).results, rows=[])
    pairs = compare_pairs([empty, empty], TASKS, selection=Selection(by="all"))
    assert "n/a" in as_text(run_names([empty, empty]), sections(pairs))
