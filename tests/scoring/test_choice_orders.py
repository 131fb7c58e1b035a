"""Choices in other orders: which orders a question gets, and the metrics of its answers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.choice_orders import (
    ORDER_ARGUMENTS,
    PARAPHRASE,
    Orders,
    in_orders,
    is_control,
    order_metrics,
    ordered_task,
    place_p_values,
    preference_table,
    read_orders,
    with_order_values,
)
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec
from tests.support import toy_task

ACCURACY = MetricSpec(
    name="accuracy", kind="proportion", description="right", read=True, judged=False
)
QUESTION = Item(
    id="q", fields={"choices": list("vwxyz"), "answer": "B"}, groups={}, cluster="p"
)
LETTERS = "ABCDE"


def _task(**arguments: str) -> TaskSpec:
    task = toy_task(
        ACCURACY,
        *order_metrics(LETTERS),
        arguments=ORDER_ARGUMENTS,
        item_arguments=frozenset(ORDER_ARGUMENTS),
    )
    return ordered_task(task, arguments)


def _scored(
    task: TaskSpec, items: Sequence[Item], letters: Mapping[str, str]
) -> dict[str, ItemScore]:
    """Scores the letters of items; "?" is an unclear answer, and items without a letter have no answer."""
    answered = [item for item in items if item.id in letters]
    item_scores = []
    for item in answered:
        letter = letters[item.id]
        unclear = letter == "?"
        item_scores.append(
            ItemScore(
                id=item.id,
                values={"accuracy": float(letter == item.fields["answer"])},
                parsed="" if unclear else letter,
                unclear="several choices" if unclear else "",
                limits={"accuracy": (0.0, 1.0)} if unclear else {},
            )
        )
    scores = with_order_values(task, answered, item_scores, right="accuracy")
    return {score.id: score for score in scores}


def _letters_of(items: Sequence[Item], contents: str) -> dict[str, str]:
    """Returns the letters of contents, one an item; "-" is no choice, "?" unclear, and a blank no answer."""
    letters = {}
    for item, content in zip(items, contents, strict=True):
        choices = item.fields["choices"]
        if content in choices:
            letters[item.id] = LETTERS[choices.index(content)]
        elif content != " ":
            letters[item.id] = content.replace("-", "")
    return letters


def _values_of_question(scores: Mapping[str, ItemScore]) -> dict[str, Any]:
    """Returns the values, or their limits, of the question, which the score of one answer carries."""
    names = ("always_right", "flip_rate", "flip_rate_wording", "flip_excess")
    values: dict[str, Any] = {}
    for name, score in itertools.product(names, scores.values()):
        value = score.values.get(name)
        if value is None or not math.isnan(value):
            assert name not in values
            values[name] = score.limits[name] if value is None else value
    return values


@given(
    choices=st.integers(2, 6), number=st.integers(2, 120), seed=st.integers(0, 10**9)
)
def test_random_orders_differ_and_put_choices_at_positions_evenly(
    choices: int, number: int, seed: int
) -> None:
    orders = Orders(number=number, seed=seed)
    if number > math.factorial(choices):
        with pytest.raises(UsageError, match=f"has {choices} choices, which have only"):
            orders.of("q", choices)
        return
    drawn = orders.of("q", choices)
    assert len(set(drawn)) == len(drawn) == number
    assert drawn == Orders(number=number, seed=seed).of("q", choices)
    for choice in range(choices):
        counter = Counter(order.index(choice) for order in drawn)
        counts = [counter[position] for position in range(choices)]
        assert max(counts) - min(counts) <= 1


def test_all_orders_are_the_rotations_and_ids_name_them() -> None:
    items = in_orders(_task(order="all", wording=PARAPHRASE), [QUESTION])
    assert [item.id for item in items] == [
        "q@ABCDE", "q@BCDEA", "q@CDEAB", "q@DEABC", "q@EABCD", "q@ABCDE.paraphrase",
    ]  # fmt: skip
    assert [item.fields["answer"] for item in items] == list("BAEDCB")
    assert [item.groups for item in items] == [{"place": right} for right in "BAEDCB"]
    assert {item.cluster for item in items} == {"p"}
    for item in items:
        right = LETTERS.index(item.fields["answer"])
        assert item.fields["choices"][right] == "w"
    assert [is_control(item) for item in items] == [False] * 5 + [True]


def test_without_an_order_nothing_changes() -> None:
    task = _task()
    assert ordered_task(task, {}) is task
    assert in_orders(task, [QUESTION]) == [QUESTION]
    score = ItemScore(id="q", values={"accuracy": 1.0}, parsed="B")
    assert with_order_values(task, [QUESTION], [score], right="accuracy") == [score]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": "some"}, "order must be all, or a whole number from 2 to 120, got"),
        ({"order": "1"}, "from 2 to 120, got '1'"),
        ({"order": "121"}, "from 2 to 120, got '121'"),
        ({"order": "all", "order_seed": "3"}, "order=all draws nothing"),
        ({"order": "3", "order_seed": "-1"}, "order_seed must be a whole number"),
        ({"order": "all", "wording": "other"}, "wording must be paraphrase, got 'other'"),
        ({"wording": "paraphrase"}, "no order is given. Add order=all"),
        ({"order_seed": "3"}, "order_seed=3 is about the orders"),
    ],
)  # fmt: skip
def test_arguments_that_are_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_orders("toy", arguments)


# Of the answers of a question, w is right.
@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ("wwwww", {"always_right": 1.0, "flip_rate": 0.0}),
        # 4 of 10 pairs differ
        ("wwwwx", {"always_right": 0.0, "flip_rate": 0.4}),
        # wrong each time, and always the same
        ("xxxxx", {"always_right": 0.0, "flip_rate": 0.0}),
        ("vwxyz", {"always_right": 0.0, "flip_rate": 1.0}),
        # no choice counts as a content of its own, the same each time
        ("ww---", {"always_right": 0.0, "flip_rate": 0.6}),
        # without the last answer: 0 of 6 pairs differ, and 4 of 10 may
        ("wwww ", {"always_right": (0.0, 1.0), "flip_rate": (0.0, 0.4)}),
        # one wrong answer decides whether all are right
        ("xwww ", {"always_right": 0.0, "flip_rate": (0.3, 0.7)}),
    ],
)
def test_values_of_a_question_by_hand(contents: str, expected: dict[str, Any]) -> None:
    task = _task(order="all")
    items = in_orders(task, [QUESTION])
    scores = _scored(task, items, _letters_of(items, contents))
    values = _values_of_question(scores)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value)
    has_limits = any(isinstance(value, tuple) for value in expected.values())
    reasons = [score.unscored for score in scores.values() if score.unscored]
    assert reasons == ["no answer in another order"] * has_limits


def test_an_unclear_answer_counts_as_the_worst_that_it_may_be() -> None:
    task = _task(order="all")
    items = in_orders(task, [QUESTION])
    scores = _scored(task, items, _letters_of(items, "ww?ww"))
    carrier = scores["q@CDEAB"]
    assert carrier.values["always_right"] == 0.0
    assert carrier.values["flip_rate"] == pytest.approx(0.4)
    assert carrier.could_be("always_right") == (0.0, 1.0)
    assert carrier.could_be("flip_rate") == pytest.approx((0.0, 0.4))
    # Its position is open as well, so the preference has limits alone.
    assert math.isnan(carrier.values["place_preference_a"])
    assert carrier.could_be("place_preference_a") == pytest.approx((-0.2, 0.8))


def test_the_paraphrase_is_compared_with_the_first_order_alone() -> None:
    task = _task(order="all", wording=PARAPHRASE)
    items = in_orders(task, [QUESTION])
    scores = _scored(task, items, _letters_of(items, "wwwwxx"))
    assert _values_of_question(scores) == pytest.approx(
        {
            "always_right": 0.0,
            "flip_rate": 0.4,
            "flip_rate_wording": 1.0,
            "flip_excess": -0.6,
        }
    )
    control = scores["q@ABCDE.paraphrase"]
    assert all(math.isnan(value) for value in control.values.values())
    without_control = _scored(task, items, _letters_of(items, "wwwwx "))
    values = _values_of_question(without_control)
    assert values["flip_rate_wording"] == (0.0, 1.0)
    assert values["flip_excess"] == pytest.approx((-0.6, 0.4))


@given(st.text("vwxyz", min_size=5, max_size=5))
def test_laws_of_order_metrics(contents: str) -> None:
    task = _task(order="all")
    items = in_orders(task, [QUESTION])
    scores = list(_scored(task, items, _letters_of(items, contents)).values())
    for metric in task.metrics:
        for score in scores:
            value = score.values[metric.name]
            assert math.isnan(value) or metric.limits[0] <= value <= metric.limits[1]
    # The preferences of an answer for the positions add up to 0.
    names = [f"place_preference_{letter.lower()}" for letter in LETTERS]
    for score in scores:
        assert math.fsum(score.values[name] for name in names) == pytest.approx(0.0)
    if len(set(contents)) == 1:  # the same content each time: no position is preferred
        for name in names:
            mean = math.fsum(score.values[name] for score in scores) / len(scores)
            assert mean == pytest.approx(0.0)


def test_p_values_of_positions_come_from_permutations() -> None:
    task = _task(order="all", wording=PARAPHRASE)
    items = in_orders(task, [QUESTION])
    always_a = _scored(task, items, dict.fromkeys((item.id for item in items), "A"))
    p_values = place_p_values(items, always_a)
    # Of 120 permutations of five contents over five orders one has A five times, and 44
    # never have a certain other position.
    assert p_values["A"] == pytest.approx((2 / 120, 10 / 120))
    assert p_values["B"] == pytest.approx((88 / 120, 1.0))
    same_content = _scored(task, items, _letters_of(items, "wwwwww"))
    assert set(place_p_values(items, same_content).values()) == {(1, 1)}
    # Unclear answers have no position to permute.
    unclear = _scored(task, items, dict.fromkeys((item.id for item in items), "?"))
    assert place_p_values(items, unclear) == dict.fromkeys(LETTERS, (1.0, 1.0))
    entry = summarise(task, items, always_a, {}, recipe={})
    figure = entry["breakdown"]["chosen_place"]["A"]["place_preference"]
    assert (figure["p"], figure["p_holm"]) == p_values["A"]
    (table,) = preference_table(entry)
    assert [row[-1] for row in table.rows] == ["0.083", *["1.000"] * 4]


def test_the_table_has_holms_p_values_of_the_intervals() -> None:
    def figure(value: float, low: float, high: float) -> dict[str, Any]:
        return {"place_preference": {"value": value, "ci_low": low, "ci_high": high}}

    places = {"A": figure(0.05, 0.0, 0.1), "B": figure(0.0, -0.1, 0.1)}
    (table,) = preference_table({"breakdown": {"chosen_place": places}})
    # An interval that ends at 0 has p 0.05; Holm doubles the smaller of two.
    assert [row[-1] for row in table.rows] == ["0.100", "1.000"]
    assert table.rows[0][1:3] == ("+5.0", "+0.0 to +10.0")
    assert preference_table({"breakdown": {}}) == []
