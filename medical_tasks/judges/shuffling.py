"""Measures how a judge's verdicts depend on the order of what it reads; see `judge-check --orders`.

Two orders should not matter, or hardly: that of the statements in a batch, and that of
the sentences in an answer. Each is shuffled separately, with all other text unchanged.
Shuffled sentences may change the meaning of "it" or "then", so that their flips are an
upper limit; flips from shuffled statements are the judge's alone.
A judge that samples also changes verdicts in the same order (`judge-check --again`); one
that reads single statements has no order of statements.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

import numpy as np

from medical_tasks.judges.base import Judge, Unscored
from medical_tasks.scoring import agreement
from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.means import mean_interval
from medical_tasks.scoring.sentences import punkt_spans

if TYPE_CHECKING:
    from medical_tasks.judges.check_figures import CheckPair
    from medical_tasks.judges.checks import View

What: TypeAlias = Literal["statements", "sentences"]
"""The kind of things that are shuffled."""

Labels: TypeAlias = Sequence[str | None]
_T = TypeVar("_T")
_PARTS: Final = ("first third", "middle", "last third")


@dataclass(frozen=True)
class Shuffle:
    """One shuffle.

    Attributes:
        what: the statements of a batch, or the sentences of an answer.
        number: its number, from 1.
    """

    what: What
    number: int


@dataclass(frozen=True)
class Shuffled:
    """A judge's labels after a shuffle.

    Attributes:
        labels: the label of each pair, in the pairs' order.
        places: the position of each pair's statement in its list, from 0 to 1; empty if
            sentences were shuffled.
    """

    labels: Sequence[str | Unscored]
    places: Sequence[float] = ()


AskShuffled: TypeAlias = Callable[
    [Judge, Literal["single", "batched"], Shuffle], Shuffled
]
"""Asks a judge, in one of two modes, for the label of each pair."""


# ---- 1. Shuffling ----


def shuffled(things: Sequence[_T], name: str, shuffle: Shuffle) -> list[_T]:
    """Reorders things by a hash of their name and the shuffle's number.

    The order always changes if there are at least two.
    """
    order = sorted(
        range(len(things)), key=lambda index: _digest(name, shuffle.number, index)
    )
    if order == list(range(len(things))):
        order = order[1:] + order[:1]
    return [things[index] for index in order]


def _digest(*values: object) -> bytes:
    text = "\0".join(map(str, values))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def shuffled_sentences(text: str, name: str, shuffle: Shuffle) -> str:
    """Shuffles the sentences of an answer; the text between them stays.

    Example: "It heals. Rest helps! See a doctor." may become "See a doctor. It heals.
    Rest helps!".
    """
    spans = list(_sentences(text))
    sentences = shuffled([text[start:end] for start, end in spans], name, shuffle)
    pieces: list[str] = []
    previous = 0
    for (start, end), sentence in zip(spans, sentences, strict=True):
        pieces += [text[previous:start], sentence]
        previous = end

    return "".join([*pieces, text[previous:]])


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence; a sentence ends with its line."""
    start = 0
    for line in text.splitlines(keepends=True):
        for begin, end in punkt_spans(line):
            sentence = line[begin:end]
            first = begin + len(sentence) - len(sentence.lstrip())
            last = begin + len(sentence.rstrip())
            if first < last:
                yield start + first, start + last
        start += len(line)


def place_in(number: int, of: int) -> float:
    """Position of a statement in a list: the middle of its share, 0.5 for the only one.

    Example:
        >>> [place_in(number, 4) for number in range(4)], place_in(0, 1)
        ([0.125, 0.375, 0.625, 0.875], 0.5)
    """
    return (number + 0.5) / of


# ---- 2. Figures ----


def order_figures(
    pairs: Sequence[CheckPair],
    as_given: Labels,
    others: Sequence[Labels],
    places: Sequence[Sequence[float]],
    view: View,
) -> dict[str, object]:
    """Computes the figures of a judge that was asked in several orders, as JSON values.

    Args:
        pairs: the labelled pairs.
        as_given: the judge's labels in the original order.
        others: its labels in each shuffle.
        places: the positions of the statements in each shuffle; empty for sentences.
        view: the classes to compare.
    """
    orders = [_merged(labels, view) for labels in (as_given, *others)]
    gold = [None if pair.gold is None else view.of(pair.gold) for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    rates = [_flips(labels) for labels in zip(*orders, strict=True)]
    flips = mean_interval([rate.share for rate in rates], clusters=clusters)
    ends = [
        math.fsum(values) / len(rates)
        for values in zip(*(rate.ends for rate in rates), strict=True)
    ]
    figures: dict[str, object] = {
        "orders": len(orders),
        "flips": as_json(flips),
        "bounds": ends,
        "with_people": [
            _beside_people(gold, labels, clusters, view) for labels in orders
        ],
    }
    if places:
        figures["by_place"] = accuracy_by_place(gold, orders[1:], places, clusters)

    return figures


def _merged(labels: Labels, view: View) -> list[str | None]:
    return [None if label is None else view.of(label) for label in labels]


@dataclass(frozen=True)
class _Rate:
    """The share of pairs of orders in which a label differs.

    Attributes:
        share: the share over the orders with a label; nan with fewer than two.
        ends: its smallest and largest value, whatever the missing labels are.
    """

    share: float
    ends: tuple[float, float]


def _flips(labels: Sequence[str | None]) -> _Rate:
    """How often two orders give different labels.

    Example: with yes, yes and no, two of three pairs of orders differ, 2/3. With yes, no
    and a missing label, the one known pair differs, 1.0, and the share lies between 1/3
    and 3/3, whatever the missing label is.
    """
    present = [label for label in labels if label is not None]
    pairs, all_pairs = math.comb(len(present), 2), math.comb(len(labels), 2)
    alike = sum(math.comb(times, 2) for times in Counter(present).values())
    share = (pairs - alike) / pairs if pairs else math.nan

    return _Rate(share, ((pairs - alike) / all_pairs, (all_pairs - alike) / all_pairs))


def _beside_people(
    gold: Sequence[str | None], labels: Labels, clusters: Sequence[str], view: View
) -> Mapping[str, object]:
    """Accuracy and kappa on the pairs that people decided."""
    decided = [number for number, label in enumerate(gold) if label is not None]
    human = [str(gold[number]) for number in decided]
    judged = [labels[number] for number in decided]
    names = [clusters[number] for number in decided]
    kappa = agreement.cohen_interval(
        human, judged, classes=view.classes, clusters=names
    )
    accuracy = agreement.accuracy_interval(human, judged, clusters=names)
    return {"accuracy": as_json(accuracy), "kappa": as_json(kappa)}


def accuracy_by_place(
    gold: Sequence[str | None],
    orders: Sequence[Labels],
    places: Sequence[Sequence[float]],
    clusters: Sequence[str],
) -> dict[str, dict[str, float | int | None]]:
    """Accuracy by the position of a statement, over the shuffles alone.

    In the original order important statements come first, so that the effects of
    position and statement cannot be separated.

    Args:
        gold: people's label of each pair, None where they are evenly divided.
        orders: the judge's labels in each shuffle.
        places: the position of each pair's statement in each shuffle, from 0 to 1.
        clusters: the answer that each pair is about.
    """
    human: list[str] = []
    judged: list[str | None] = []
    thirds: list[int] = []
    names: list[str] = []
    for labels, positions in zip(orders, places, strict=True):
        for number, position in enumerate(positions):
            label = gold[number]
            if label is not None:
                human.append(label)
                judged.append(labels[number])
                thirds.append(min(int(position * len(_PARTS)), len(_PARTS) - 1))
                names.append(clusters[number])

    figures: dict[str, dict[str, float | int | None]] = {}
    for number, title in enumerate(_PARTS):
        inside = [row for row, third in enumerate(thirds) if third == number]
        accuracy = agreement.accuracy_interval(
            [human[row] for row in inside],
            [judged[row] for row in inside],
            clusters=[names[row] for row in inside],
        )
        figures[title] = as_json(accuracy)

    decided = np.array([float(label is not None) for label in judged])
    right = np.array([float(a == b) for a, b in zip(human, judged, strict=True)])
    first = decided * (np.array(thirds) == 0)
    last = decided * (np.array(thirds) == len(_PARTS) - 1)
    difference = bootstrap_statistic(
        [right * first, first, right * last, last],
        lambda a, n, b, m: b / m - a / n,
        clusters=names,
        limits=(-1.0, 1.0),
    )
    figures["last less first"] = as_json(difference)

    return figures
