"""Choices in other orders: does a model choose what a choice says, or where it stands?

A question is asked in several orders of its choices, each as an item of its own. A
model that reads the choices takes the same one in all of them; one that prefers a place
takes another choice whenever the order changes.

`order=all` asks the rotations of the order as given. Of five choices these are 5 of 120
orders, and the fewest in which each choice stands once in each place (a Latin square):

    as given   A B C D E        the id of the item ends in @ABCDE
    rotated    B C D E A        ... in @BCDEA, and so on

`order=N` asks N orders that a seed draws for each question: the rotations of a random
order, then those of another one. So the right choice stands in N different places while
N is at most the number of choices, and equally often in each if N is a multiple of it.

The control, `wording=paraphrase`, asks the first order once more in other words. What a
model changes there is what it changes for no reason at all.
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
"""Which choice, counted from 0 as given, stands in each place: (1, 2, 0) shows B, C, A."""

ORDER: Final[Mapping[str, str]] = {
    "order": "asks each question in several orders of its choices: all (each choice once in each "
    "place), or a number of random orders",
    "order_seed": "which random orders are drawn; 0 unless given",
}
"""What a task with choices takes beside its own arguments."""
ORDER_ARGUMENTS: Final[Mapping[str, str]] = {
    **ORDER,
    "wording": "paraphrase: asks one order of each question again in other words, a control for "
    "the changes between orders",
}
"""The same of a task whose prompts have a second wording."""

PARAPHRASE: Final = "paraphrase"
PLACE: Final = "place"
"""The breakdown by the place of the right choice."""
CHOSEN: Final = "chosen_place"
"""The breakdown by the place of the choice that was taken."""
PREFERENCE: Final = "place_preference"
"""Its figure."""
OTHER_ORDERS: Final = "no answer in another order"
"""Why what compares the orders of a question is open."""

_ALL: Final = "all"
_MOST_ORDERS: Final = 120
_LARGEST_SEED: Final = 10**9
_QUANTILE: Final = 1.959964  # of the normal distribution, for 95 %
_SMALLEST_P: Final = 0.001
_NOTHING: Final = -1  # the content of an answer that takes no choice
_WHOLE: Final = ("always_right", "flip_rate", "flip_rate_wording", "flip_excess")


# ---- 1. Which orders are asked ----


class Orders(NamedTuple):
    """Which orders of its choices each question is asked in.

    Attributes:
        number: how many random ones; None for the rotations of the order as given.
        seed: which random ones.
        paraphrased: whether the first is asked again in other words.
    """

    number: int | None = None
    seed: int = 0
    paraphrased: bool = False

    def of(self, name: str, choices: int) -> list[Order]:
        """The orders of a question, by its id and the number of its choices."""
        as_given = tuple(range(choices))
        if self.number is None:
            return list(_rotations(as_given))

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
    """The task whose questions are asked in the orders that the arguments name.

    Samples take all orders of a question, and there is a breakdown by the right
    choice's place. Without `order` it is the task itself.
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
    """Makes an item of each order of each question; the items themselves without `order`.

    Args:
        task: what `ordered_task` made.
        items: the questions, with their choices as given.
        choices: the field with the choices, a list of texts.
        answer: the field with the letter of the right one.

    Example:
        Question 7 has the choices x, y, z, of which B is right. One of its items with
        `order=all`:

            id="7@BCA", choices=["y", "z", "x"], answer="A", groups={"place": "A"}
    """
    orders = read_orders(task.name, task.options)
    if orders is None:
        return list(items)

    made: list[Item] = []
    for item in items:
        of_item = orders.of(item.id, len(item.fields[choices]))
        copies = [_copy(item, order, choices, answer) for order in of_item]
        if orders.paraphrased:
            copies.append(_control(copies[0]))

        made += copies

    return made


def _copy(item: Item, order: Order, choices: str, answer: str) -> Item:
    """The item with its choices in another order, and an id, letter and group to fit.

    Example: the item `q7`, whose right choice is A of A-C, in the order (1, 2, 0) shows
        B, C and A under the letters A, B and C. So its id is `q7@BCA`, and C is right.
    """
    given = item.fields[choices]
    letters = string.ascii_uppercase
    right = letters[order.index(letters.index(item.fields[answer]))]
    shown = "".join(letters[choice] for choice in order)
    fields = {
        **item.fields,
        choices: [given[choice] for choice in order],
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
    """Whether an item asks an order again in other words."""
    return item.fields.get("wording") == PARAPHRASE


# ---- 3. The metrics ----


def order_metrics(
    places: str, *, same_number: bool = True, paraphrased: bool = True
) -> tuple[MetricSpec, ...]:
    """The metrics of tasks in several orders.

    Args:
        places: the letters of the places, `ABCDE`.
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
    """What the metrics of whole questions share: they compare answers of several places."""
    return {"judged": False, "needs": needs, "read": True, "not_by": (PLACE,)}


# ---- 4. The values ----


class _Taken(NamedTuple):
    """What an answer takes.

    Attributes:
        content: the choice, counted as given, whatever place it stood in; negative for
            an answer that takes none, and for each unclear one another number.
        right: whether that is the right one.
    """

    content: int
    right: bool


class _Figure(NamedTuple):
    """A metric of a question: its smallest and largest value, equal where it is decided."""

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

    What is of a whole question stands on one of its answers, the first unclear one or
    else the first, and is nan on the others. An unclear answer counts as one that takes
    a choice of its own, which nobody else takes. With an answer missing, what it could
    change is open.

    Args:
        task: the task; without `order` the scores stay as they are.
        items: the answered items, those of a question in any number.
        scores: theirs, whose `parsed` is the letter of the choice that was taken.
        right: the metric that says whether an answer is right.

    Example:
        Of five orders the answers take the contents x, x, x, x and y, of which x is
        right. The question is not always right; 4 of its 10 pairs of orders differ:
        `always_right` is 0, `flip_rate` 0.4.
    """
    orders = read_orders(task.name, task.options)
    if orders is None:
        return list(scores)

    questions: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        questions.setdefault(item.fields["question_id"], []).append(number)

    made = list(scores)
    for name, numbers in questions.items():
        group = [items[number] for number in numbers]
        own = [scores[number] for number in numbers]
        wanted = orders.of(name, len(items[numbers[0]].fields["order"]))
        figures = _of_question(group, own, wanted, right)
        if orders.paraphrased:
            figures |= _beside_wording(figures["flip_rate"], group, own, wanted, right)

        carrier = next((n for n, score in enumerate(own) if score.unclear), 0)
        for place, number in enumerate(numbers):
            whole = figures if place == carrier else {}
            made[number] = _with_values(task, group[place], own[place], whole)

    return made


def _of_question(
    items: Sequence[Item],
    scores: Sequence[ItemScore],
    wanted: Sequence[Order],
    right: str,
) -> dict[str, _Figure]:
    """The metrics of one question, of the answers that there are."""
    taken = [
        answer
        for number, (item, score) in enumerate(zip(items, scores, strict=True))
        if not is_control(item)
        and (answer := _taken(item, score, number, right)) is not None
    ]
    return {
        "always_right": _always_right(taken, len(wanted)),
        "flip_rate": _flip_rate([answer.content for answer in taken], len(wanted)),
    }


def _beside_wording(
    flips: _Figure,
    items: Sequence[Item],
    scores: Sequence[ItemScore],
    wanted: Sequence[Order],
    right: str,
) -> dict[str, _Figure]:
    """What changes with the wording alone: between the first order and its control."""
    pair = [
        _taken(item, score, number, right)
        for number, (item, score) in enumerate(zip(items, scores, strict=True))
        if item.fields["order"] == wanted[0]
    ]
    contents = [answer.content for answer in pair if answer is not None]
    by_wording = _flip_rate(contents, 2)

    return {
        "flip_rate_wording": by_wording,
        "flip_excess": flips.less(by_wording),
    }


def _taken(item: Item, score: ItemScore, number: int, right: str) -> _Taken | None:
    """What an answer takes; None where that is not decided."""
    if right not in score.values:
        return None
    is_right = score.values[right] == 1.0
    if score.unclear:
        return _Taken(_NOTHING - 1 - number, is_right)
    place = _place(item, score)
    content = _NOTHING if place is None else item.fields["order"][place]
    return _Taken(content, is_right)


def _place(item: Item, score: ItemScore) -> int | None:
    """The place of the choice that an answer takes; None for no choice of the question."""
    letters = string.ascii_uppercase[: len(item.fields["order"])]
    return letters.index(score.parsed) if score.parsed in tuple(letters) else None


def _always_right(taken: Sequence[_Taken], wanted: int) -> _Figure:
    if not all(answer.right for answer in taken):
        return _Figure(0.0, 0.0)
    return _Figure(float(len(taken) == wanted), 1.0)


def _flip_rate(contents: Sequence[int], wanted: int) -> _Figure:
    """The share of pairs of orders with other contents."""
    pairs = math.comb(wanted, 2)
    known = math.comb(len(contents), 2)
    alike = sum(math.comb(times, 2) for times in Counter(contents).values())
    return _Figure((known - alike) / pairs, (pairs - alike) / pairs)


def _with_values(
    task: TaskSpec, item: Item, score: ItemScore, whole: Mapping[str, _Figure]
) -> ItemScore:
    """An answer's score with the metrics of its place, and of its question where it carries them."""
    declared = {metric.name: metric for metric in task.metrics}
    if is_control(item):
        # It stands beside the first order and is none itself.
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


def _chosen_place(score: ItemScore) -> int | None:
    """The place that an answer takes, by its values: summaries keep no texts of answers."""
    for number, letter in enumerate(string.ascii_lowercase):
        if score.values.get(f"place_preference_{letter}", math.nan) > 0:
            return number

    return None


def _preferences(item: Item, score: ItemScore) -> dict[str, float]:
    """For each place, how much more often it was chosen than by chance: once, or not."""
    places = len(item.fields["order"])
    chosen = None if is_control(item) else _place(item, score)
    of_place: dict[str, float] = {}
    for number, letter in enumerate(string.ascii_lowercase):
        counts = chosen is not None and number < places
        value = float(chosen == number) - 1 / places if counts else math.nan
        of_place[f"place_preference_{letter}"] = value
    return of_place


# ---- 5. Whether a place is preferred ----


def place_p_values(
    items: Sequence[Item], scores: Mapping[str, ItemScore]
) -> dict[str, tuple[float, float]]:
    """Of each place's letter the exact p-value of no preference, alone and adjusted by Holm.

    Args:
        items: of a task in several orders; controls do not count.
        scores: theirs by id; an answer that takes no choice does not count.
    """
    from medical_tasks.scoring.paired import holm  # slow
    from medical_tasks.scoring.place_tests import Seen, place_p_value

    seen: dict[int, dict[str, list[Seen]]] = {}
    for item in items:
        score = scores.get(item.id)
        # Items that were not asked in an order tell nothing about places.
        order: Order | None = item.fields.get("order")
        if score is None or order is None or is_control(item):
            continue

        place = _chosen_place(score)
        for number, standing in enumerate(order):
            questions = seen.setdefault(number, {})
            if place is not None:
                answers = questions.setdefault(item.fields["question_id"], [])
                answers.append((standing, order[place]))

    p_values = [place_p_value(list(seen[number].values())) for number in sorted(seen)]
    pairs = zip(p_values, holm(p_values), strict=True)
    return dict(zip(string.ascii_uppercase, pairs, strict=False))


# ---- 6. A report's table ----


def preference_table(entry: ResultEntry) -> list[Table]:
    """A table of how often each place was chosen, with p values; none without orders.

    Args:
        entry: the task's, of `results.json`.
    """
    from medical_tasks.scoring.paired import holm  # slow

    places = {
        letter: figures[PREFERENCE]
        for letter, figures in entry["breakdown"].get(CHOSEN, {}).items()
        if figures[PREFERENCE]["value"] is not None
    }
    if not places:
        return []

    # Results of several repeats have no exact ones.
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
    """The two-sided p value of no preference, which is 0.05 where an end of the interval is 0."""
    value = figure["value"]
    end = figure["ci_low"] if value > 0 else figure["ci_high"]
    if value == end:
        return 1.0
    return math.erfc(_QUANTILE * abs(value / (value - end)) / math.sqrt(2))
