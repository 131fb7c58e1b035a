"""Choices in other orders: does a model select a choice for its content or its position?

A question is asked in several orders of its choices, each as an item of its own. A
model that reads the choices selects the same one in every order; a model that prefers a
position selects another choice whenever the order changes.

`order=all` asks the rotations of the original order. For five choices these are 5 of
120 orders, the fewest in which each choice is once in each position (a Latin square):

    as given   A B C D E        the id of the item ends in @ABCDE
    rotated    B C D E A        ... in @BCDEA, and so on

`order=N` asks N random orders of each question, drawn by a seed: the rotations of one
random order, then those of another. So the right choice is in N different positions if
N is at most the number of choices, and equally often in each if N is a multiple of it.

The control, `wording=paraphrase`, asks the first order again in other words. A change
of the answer there has no reason in the order.

Two answers take the same choice if they select the same text, whatever its letter;
selecting none is the same each time. An unclear answer counts as a choice that no other
answer makes, with bounds; an item without an answer leaves open what it could change.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias, TypedDict

from medical_tasks.errors import UsageError
from medical_tasks.spec import (
    Item,
    ItemScore,
    MetricSpec,
    ResultEntry,
    Table,
    TaskSpec,
    unclear_limits,
)

__all__ = [
    "CHOSEN",
    "ORDER",
    "ORDER_ARGUMENTS",
    "PARAPHRASE",
    "PLACE",
    "PREFERENCE",
    "Order",
    "Orders",
    "in_orders",
    "is_control",
    "order_metrics",
    "ordered_task",
    "place_p_values",
    "preference_table",
    "read_orders",
    "with_order_values",
]

Order: TypeAlias = tuple[int, ...]
"""The index of the choice in each position, in the original order: (1, 2, 0) shows B, C, A."""

ORDER: Final[Mapping[str, str]] = {
    "order": "asks each question in several orders of its choices: all (each choice once in each "
    "place), or a number of random orders",
    "order_seed": "which random orders are drawn; 0 unless given",
}
"""Arguments of every task with choices."""
ORDER_ARGUMENTS: Final[Mapping[str, str]] = {
    **ORDER,
    "wording": "paraphrase: asks one order of each question again in other words, a control for "
    "the changes between orders",
}
"""The same arguments for a task whose prompts have a second wording."""

PARAPHRASE: Final = "paraphrase"
PLACE: Final = "place"
"""The breakdown by the position of the right choice."""
CHOSEN: Final = "chosen_place"
"""The breakdown by the position of the selected choice."""
PREFERENCE: Final = "place_preference"
"""The figure of that breakdown."""
OTHER_ORDERS: Final = "no answer in another order"
"""The reason why a comparison of a question's orders is undecided."""

_ALL: Final = "all"
_MOST_ORDERS: Final = 120
_LARGEST_SEED: Final = 10**9
_QUANTILE: Final = 1.959964  # of the normal distribution, for 95 %
_SMALLEST_P: Final = 0.001
_NOTHING: Final = -1  # the content of an answer that makes no choice
_WHOLE: Final = ("always_right", "flip_rate", "flip_rate_wording", "flip_excess")


# ---- 1. Which orders are asked ----


class Orders(NamedTuple):
    """The orders of its choices in which each question is asked.

    Attributes:
        number: the number of random orders; None for the rotations of the original order.
        seed: selects the random orders.
        paraphrased: whether the first order is asked again in other words.
    """

    number: int | None = None
    seed: int = 0
    paraphrased: bool = False

    def of(self, name: str, choices: int) -> list[Order]:
        """Returns the orders of a question from its id and the number of its choices."""
        if self.number is None:
            return list(_rotations(tuple(range(choices))))

        most = math.factorial(choices)
        if self.number > most:
            raise UsageError(
                f"--task-args order={self.number}: item {name} has {choices} choices, which have "
                f"only {most} orders. Give at most that, or order=all."
            )

        drawn = itertools.chain.from_iterable(
            _rotations(base) for base in self._bases(name, choices)
        )
        return list(itertools.islice(drawn, self.number))

    def _bases(self, name: str, choices: int) -> Iterator[Order]:
        """Random orders, no two of which are rotations of one another."""
        seen: set[Order] = set()
        for draw in itertools.count():
            base = tuple(
                sorted(
                    range(choices),
                    key=lambda choice: _digest(self.seed, name, draw, choice),
                )
            )
            start = base.index(0)
            cycle = base[start:] + base[:start]
            if cycle not in seen:
                seen.add(cycle)
                yield base


def _digest(*parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def _rotations(order: Order) -> Iterator[Order]:
    for start in range(len(order)):
        yield order[start:] + order[:start]


def read_orders(task: str, arguments: Mapping[str, str]) -> Orders | None:
    """Reads `order`, `order_seed` and `wording` of `--task-args`; None without an order."""
    order, seed, wording = (arguments.get(name) for name in ORDER_ARGUMENTS)
    if order is None:
        for name in ("order_seed", "wording"):
            if name in arguments:
                raise UsageError(
                    f"{task}: {name}={arguments[name]} is about the orders of the choices, and "
                    "no order is given. Add order=all, or leave it out."
                )

        return None

    if wording not in (None, PARAPHRASE):
        raise UsageError(f"{task}: wording must be {PARAPHRASE}, got {wording!r}.")

    if order == _ALL and seed is not None:
        raise UsageError(
            f"{task}: order=all draws nothing, so that order_seed={seed} has no meaning. Leave it "
            "out, or give order a number."
        )

    number = None
    if order != _ALL:
        rule = f"{_ALL}, or a whole number from 2 to {_MOST_ORDERS}"
        number = _whole(task, "order", order, rule=rule, low=2, high=_MOST_ORDERS)

    rule = f"a whole number from 0 to {_LARGEST_SEED}"
    drawn = 0
    if seed is not None:
        drawn = _whole(task, "order_seed", seed, rule=rule, low=0, high=_LARGEST_SEED)

    return Orders(number=number, seed=drawn, paraphrased=wording is not None)


def _whole(task: str, name: str, text: str, *, rule: str, low: int, high: int) -> int:
    """Reads a whole number from `low` to `high`; `rule` says so in the message.

    Text longer than the largest number is refused before it is read: `int` takes long,
    and at some length an error, over very many digits.
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(high))
    if not is_number or not low <= int(text) <= high:
        raise UsageError(f"{task}: {name} must be {rule}, got {text!r}.")
    return int(text)


# ---- 2. The items ----


def ordered_task(task: TaskSpec, arguments: Mapping[str, str]) -> TaskSpec:
    """Returns the task with its questions asked in the orders that the arguments name.

    Samples draw all orders of a question together, and there is a breakdown by the
    position of the right choice. Without `order`, the task is returned unchanged.
    """
    if read_orders(task.name, arguments) is None:
        return task

    set_ = {name: arguments[name] for name in ORDER_ARGUMENTS if name in arguments}
    paper = task.paper
    if paper is not None:
        differs = "each question was asked in several orders of its choices"
        paper = replace(
            paper, differs="; ".join(filter(None, (paper.differs, differs)))
        )

    return replace(
        task,
        paper=paper,
        groups=(*task.groups, PLACE),
        cluster=task.cluster or "question",
        drawn_whole=True,
        options={**task.options, **set_},
    )


def in_orders(
    task: TaskSpec,
    items: Sequence[Item],
    *,
    choices: str = "choices",
    answer: str = "answer",
) -> list[Item]:
    """Returns an item for each order of each question; the items themselves without `order`.

    Args:
        task: the result of `ordered_task`.
        items: the questions, with their choices in the original order.
        choices: the field with the choices, a list of texts.
        answer: the field with the letter of the right choice.

    Example:
        Question 7 has the choices x, y and z; B is right. One of its items with
        `order=all`:

            id="7@BCA", choices=["y", "z", "x"], answer="A", groups={"place": "A"}
    """
    orders = read_orders(task.name, task.options)
    if orders is None:
        return list(items)

    copies: list[Item] = []
    for item in items:
        item_orders = orders.of(item.id, len(item.fields[choices]))
        item_copies = [_copy(item, order, choices, answer) for order in item_orders]
        copies += item_copies
        if orders.paraphrased:
            copies.append(_control(item_copies[0]))

    return copies


def _copy(item: Item, order: Order, choices: str, answer: str) -> Item:
    """Returns the item with its choices in another order, and a matching id, letter and group.

    Example: the item `q7`, whose right choice is A of A-C, in the order (1, 2, 0) shows
        B, C and A under the letters A, B and C. So its id is `q7@BCA`, and C is right.
    """
    original = item.fields[choices]
    letters = string.ascii_uppercase
    right = letters[order.index(letters.index(item.fields[answer]))]
    shown = "".join(letters[choice] for choice in order)
    fields = {
        **item.fields,
        choices: [original[choice] for choice in order],
        answer: right,
        "order": order,
        "question_id": item.id,
    }

    return replace(
        item,
        id=f"{item.id}@{shown}",
        fields=fields,
        groups={**item.groups, PLACE: right},
    )


def _control(first: Item) -> Item:
    fields = {**first.fields, "wording": PARAPHRASE}
    return replace(first, id=f"{first.id}.{PARAPHRASE}", fields=fields)


def is_control(item: Item) -> bool:
    """Whether an item repeats an order in other words."""
    return item.fields.get("wording") == PARAPHRASE


# ---- 3. The metrics ----


def order_metrics(
    places: str, *, same_number: bool = True, paraphrased: bool = True
) -> tuple[MetricSpec, ...]:
    """Returns the metrics of tasks with several orders.

    Args:
        places: the letters of the positions, `ABCDE`.
        same_number: whether every question has that many choices.
        paraphrased: whether the task's prompts have a second wording.
    """
    low, high = (-1 / len(places), 1 - 1 / len(places)) if same_number else (-0.5, 1.0)
    common = _common(needs="order")

    return (
        MetricSpec(
            name="always_right",
            kind="proportion",
            description="Questions whose right choice is taken in every order.",
            **common,
        ),
        MetricSpec(
            name="flip_rate",
            kind="mean",
            description="Share of the pairs of orders of a question in which other choices are "
            "taken.",
            higher_is_better=False,
            **common,
        ),
        *(_wording_metrics() if paraphrased else ()),
        *(
            MetricSpec(
                name=f"place_preference_{letter.lower()}",
                kind="mean",
                description=f"How much more often place {letter} is chosen than if no place "
                "mattered, as a share of the answers that choose.",
                higher_is_better=False,
                limits=(low, high),
                part=(CHOSEN, letter),
                whole=PREFERENCE,
                if_right=True,
                judged=False,
                needs="order",
                read=True,
            )
            for letter in places
        ),
    )


def _wording_metrics() -> tuple[MetricSpec, ...]:
    control = "the control wording=paraphrase"
    common = _common(needs="wording")
    return (
        MetricSpec(
            name="flip_rate_wording",
            kind="mean",
            description=f"Questions whose choice changes with the wording alone ({control}).",
            higher_is_better=False,
            **common,
        ),
        MetricSpec(
            name="flip_excess",
            kind="mean",
            description=f"flip_rate less flip_rate_wording, paired by question ({control}).",
            higher_is_better=False,
            limits=(-1.0, 1.0),
            **common,
        ),
    )


class _Common(TypedDict):
    judged: bool
    needs: str
    read: bool
    not_by: tuple[str, ...]


def _common(*, needs: str) -> _Common:
    """Fields shared by the metrics of whole questions, which compare several positions."""
    return {"judged": False, "needs": needs, "read": True, "not_by": (PLACE,)}


# ---- 4. The values ----


class _Taken(NamedTuple):
    """The choice that an answer selects.

    Attributes:
        content: its index in the original order; negative if the answer selects none,
            and a different number for each unclear answer.
        right: whether it is the right choice.
    """

    content: int
    right: bool


class _Figure(NamedTuple):
    """A metric of a question: its smallest and largest value, equal if it is decided."""

    low: float
    high: float

    @property
    def decided(self) -> bool:
        return self.low == self.high

    def less(self, other: _Figure) -> _Figure:
        return _Figure(self.low - other.high, self.high - other.low)


def with_order_values(
    task: TaskSpec, items: Sequence[Item], scores: Sequence[ItemScore], *, right: str
) -> list[ItemScore]:
    """Adds the metrics of `order_metrics` to the scores of a task's answers.

    One answer of each question carries the metrics of the whole question: the first
    unclear answer or else the first. They are nan for the others. An unclear answer
    counts as a choice that no other answer selects. If an answer is missing, metrics
    that it could change are undecided.

    Args:
        task: the task; without `order` the scores are returned unchanged.
        items: the answered items, any number of each question.
        scores: their scores; `parsed` is the letter of the selected choice.
        right: the metric that tells whether an answer is right.

    Example:
        In five orders the answers select x, x, x, x and y; x is right. The question is
        not always right; 4 of its 10 pairs of orders differ: `always_right` is 0,
        `flip_rate` 0.4.
    """
    orders = read_orders(task.name, task.options)
    if orders is None:
        return list(scores)

    questions: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        questions.setdefault(item.fields["question_id"], []).append(position)

    with_values = list(scores)
    for name, positions in questions.items():
        group = [items[position] for position in positions]
        answers = [scores[position] for position in positions]
        requested = orders.of(name, len(items[positions[0]].fields["order"]))
        figures = _question_figures(group, answers, requested, right)
        if orders.paraphrased:
            figures |= _wording_figures(
                figures["flip_rate"], group, answers, requested, right
            )

        carrier = next(
            (index for index, score in enumerate(answers) if score.unclear), 0
        )
        for index, position in enumerate(positions):
            carried = figures if index == carrier else {}
            with_values[position] = _with_values(
                task, group[index], answers[index], carried
            )

    return with_values


def _question_figures(
    items: Sequence[Item],
    scores: Sequence[ItemScore],
    requested: Sequence[Order],
    right: str,
) -> dict[str, _Figure]:
    """The metrics of one question, from the available answers."""
    taken = [
        answer
        for number, (item, score) in enumerate(zip(items, scores, strict=True))
        if not is_control(item)
        and (answer := _taken(item, score, number, right)) is not None
    ]
    return {
        "always_right": _always_right(taken, len(requested)),
        "flip_rate": _flip_rate([answer.content for answer in taken], len(requested)),
    }


def _wording_figures(
    flips: _Figure,
    items: Sequence[Item],
    scores: Sequence[ItemScore],
    requested: Sequence[Order],
    right: str,
) -> dict[str, _Figure]:
    """Compares the first order with its control, which differs in the wording alone."""
    pair = [
        _taken(item, score, number, right)
        for number, (item, score) in enumerate(zip(items, scores, strict=True))
        if item.fields["order"] == requested[0]
    ]
    contents = [answer.content for answer in pair if answer is not None]
    by_wording = _flip_rate(contents, 2)

    return {
        "flip_rate_wording": by_wording,
        "flip_excess": flips.less(by_wording),
    }


def _taken(item: Item, score: ItemScore, number: int, right: str) -> _Taken | None:
    """The choice that an answer selects; None if it is undecided."""
    if right not in score.values:
        return None
    is_right = score.values[right] == 1.0
    if score.unclear:
        return _Taken(_NOTHING - 1 - number, is_right)
    position = _position_taken(item, score)
    content = _NOTHING if position is None else item.fields["order"][position]
    return _Taken(content, is_right)


def _position_taken(item: Item, score: ItemScore) -> int | None:
    """The position of the choice that an answer selects; None if it selects none."""
    letters = string.ascii_uppercase[: len(item.fields["order"])]
    return letters.index(score.parsed) if score.parsed in tuple(letters) else None


def _always_right(taken: Sequence[_Taken], requested: int) -> _Figure:
    if not all(answer.right for answer in taken):
        return _Figure(0.0, 0.0)
    return _Figure(float(len(taken) == requested), 1.0)


def _flip_rate(contents: Sequence[int], requested: int) -> _Figure:
    """The share of pairs of orders with different contents."""
    pairs = math.comb(requested, 2)
    answered = math.comb(len(contents), 2)
    alike = sum(math.comb(times, 2) for times in Counter(contents).values())
    return _Figure((answered - alike) / pairs, (pairs - alike) / pairs)


def _with_values(
    task: TaskSpec, item: Item, score: ItemScore, whole: Mapping[str, _Figure]
) -> ItemScore:
    """Adds the metrics of its position, and those of its question if it carries them."""
    declared = {metric.name: metric for metric in task.metrics}
    if is_control(item):
        # It repeats the first order and is no order of its own.
        score = replace(
            score,
            values=dict.fromkeys(declared, math.nan),
            limits={},
            counts={},
            weights={},
            unscored=None,
        )

    values = {**score.values, **_preferences(item, score)}
    values |= dict.fromkeys(_WHOLE, math.nan)
    limits = dict(score.limits)
    unscored = score.unscored
    for name, figure in whole.items():
        if figure.decided:
            values[name] = figure.low
        elif name in declared:
            del values[name]
            limits[name] = (figure.low, figure.high)
            unscored = unscored or OTHER_ORDERS

    values = {name: value for name, value in values.items() if name in declared}
    if score.unclear:
        own = [metric for metric in task.metrics if metric.needs in ORDER_ARGUMENTS]
        if is_control(item):
            own = [metric for metric in own if not metric.part]

        limits |= unclear_limits(own, values)

    return replace(score, values=values, limits=limits, unscored=unscored)


def _position_chosen(score: ItemScore) -> int | None:
    """The position that an answer selects, from its values: summaries store no answers."""
    for number, letter in enumerate(string.ascii_lowercase):
        if score.values.get(f"place_preference_{letter}", math.nan) > 0:
            return number

    return None


def _preferences(item: Item, score: ItemScore) -> dict[str, float]:
    """For each position, its selection (0 or 1) minus the share expected by chance."""
    places = len(item.fields["order"])
    chosen = None if is_control(item) else _position_taken(item, score)
    preferences: dict[str, float] = {}
    for position, letter in enumerate(string.ascii_lowercase):
        applies = chosen is not None and position < places
        value = float(chosen == position) - 1 / places if applies else math.nan
        preferences[f"place_preference_{letter}"] = value
    return preferences


# ---- 5. Whether a place is preferred ----


def place_p_values(
    items: Sequence[Item], scores: Mapping[str, ItemScore]
) -> dict[str, tuple[float, float]]:
    """Returns for each position's letter the exact p-value of no preference, raw and after Holm.

    Args:
        items: items of a task with several orders; controls do not count.
        scores: scores by item id; an answer that selects no choice does not count.
    """
    from medical_tasks.scoring.paired import holm  # slow
    from medical_tasks.scoring.place_tests import Seen, place_p_value

    seen: dict[int, dict[str, list[Seen]]] = {}
    for item in items:
        score = scores.get(item.id)
        # Items without an order say nothing about positions.
        order: Order | None = item.fields.get("order")
        if score is None or order is None or is_control(item):
            continue

        chosen = _position_chosen(score)
        for position, standing in enumerate(order):
            questions = seen.setdefault(position, {})
            if chosen is not None:
                answers = questions.setdefault(item.fields["question_id"], [])
                answers.append((standing, order[chosen]))

    p_values = [
        place_p_value(list(seen[position].values())) for position in sorted(seen)
    ]
    pairs = zip(p_values, holm(p_values), strict=True)
    return dict(zip(string.ascii_uppercase, pairs, strict=False))


# ---- 6. A report's table ----


def preference_table(entry: ResultEntry) -> list[Table]:
    """Returns a table of how often each position was chosen, with p-values; none without orders.

    Args:
        entry: the task's entry in `results.json`.
    """
    from medical_tasks.scoring.paired import holm  # slow

    places = {
        letter: figures[PREFERENCE]
        for letter, figures in entry["breakdown"].get(CHOSEN, {}).items()
        if figures[PREFERENCE]["value"] is not None
    }
    if not places:
        return []

    # Results of several repeats have no exact p-values.
    exact = all("p_holm" in figure for figure in places.values())
    adjusted = (
        [figure["p_holm"] for figure in places.values()]
        if exact
        else holm([_p_value(figure) for figure in places.values()])
    )
    rows = [
        (
            letter,
            f"{100 * figure['value']:+.1f}",
            f"{100 * figure['ci_low']:+.1f} to {100 * figure['ci_high']:+.1f}",
            f"{p:.3f}" if p >= _SMALLEST_P else f"< {_SMALLEST_P}",
        )
        for (letter, figure), p in zip(places.items(), adjusted, strict=True)
    ]
    table = Table(
        title="Preference for a place among the choices",
        header=("place", "preference, points", "95 % interval", "p, Holm"),
        rows=tuple(rows),
        note="How much more often answers choose a place than if none mattered. Each choice stands "
        "in the places equally often, so that what the choices say cancels out.",
    )

    return [table]


def _p_value(figure: Mapping[str, float]) -> float:
    """The two-sided p-value of no preference, which is 0.05 if an end of the interval is 0."""
    value = figure["value"]
    end = figure["ci_low"] if value > 0 else figure["ci_high"]
    if value == end:
        return 1.0
    return math.erfc(_QUANTILE * abs(value / (value - end)) / math.sqrt(2))
