"""Does a judge's verdict change with the order of what it reads? See `judge-check --orders`.

Two things have an order that should not matter, or hardly: the statements of a batch,
and the sentences of the answer. Each is shuffled apart from the other, and what stays
in its place is the same text. An answer whose sentences are shuffled may lose the sense
of "it" or "then", so that its flips are a limit from above; those of statements are the
judge's alone.
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
"""What is shuffled."""

Labels: TypeAlias = Sequence[str | None]
_T = TypeVar("_T")
_PARTS: Final = ("first third", "middle", "last third")


@dataclass(frozen=True)
class Shuffle:
    """A way to shuffle.

    Attributes:
        what: the statements that are asked about together, or the answer's sentences.
        number: which shuffle, from 1.
    """

    what: What
    number: int


@dataclass(frozen=True)
class Shuffled:
    """A judge's labels on what was shuffled.

    Attributes:
        labels: of each pair, in the pairs' order.
        places: where in its list each pair's statement stood, from 0 to 1; none where
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
    """Puts things in another order, drawn by their name and the shuffle's number.

    Two and more never stay as they were.
    """
    places = sorted(
        range(len(things)), key=lambda place: _digest(name, shuffle.number, place)
    )
    if places == list(range(len(things))):
        places = places[1:] + places[:1]
    return [things[place] for place in places]


def _digest(*parts: object) -> bytes:
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def shuffled_sentences(text: str, name: str, shuffle: Shuffle) -> str:
    """An answer with its sentences in another order; what stands between them stays.

    Example: "It heals. Rest helps! See a doctor." may become "See a doctor. It heals.
    Rest helps!".
    """
    spans = list(_sentences(text))
    words = shuffled([text[start:end] for start, end in spans], name, shuffle)
    made: list[str] = []
    behind = 0
    for (start, end), sentence in zip(spans, words, strict=True):
        made += [text[behind:start], sentence]
        behind = end

    return "".join([*made, text[behind:]])


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, none of which goes on in the next line."""
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
    """Where a statement stands in a list: the middle of its share, 0.5 for the only one."""
    return (number + 0.5) / of


# ---- 2. Figures ----


def order_figures(
    pairs: Sequence[CheckPair],
    as_given: Labels,
    others: Sequence[Labels],
    places: Sequence[Sequence[float]],
    view: View,
) -> dict[str, object]:
    """What is reported of a judge that was asked in several orders, as JSON values.

    Args:
        pairs: the labelled pairs.
        as_given: the judge's labels in the order as given.
        others: those in each shuffle.
        places: of each shuffle, where the statements stood; empty for sentences.
        view: the classes to compare in.
    """
    orders = [_merged(labels, view) for labels in (as_given, *others)]
    gold = [None if pair.gold is None else view.of(pair.gold) for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    rates = [_flips(labels) for labels in zip(*orders, strict=True)]
    flips = mean_interval([rate.known for rate in rates], clusters=clusters)
    ends = [
        math.fsum(each) / len(rates)
        for each in zip(*(r.ends for r in rates), strict=True)
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
        known: over the orders with a label; nan with fewer than two.
        ends: its smallest and largest value, whatever the missing labels are.
    """

    known: float
    ends: tuple[float, float]


def _flips(labels: Sequence[str | None]) -> _Rate:
    """How often two orders of the choices give different labels.

    Example: of yes, yes and no two of three pairs of orders differ, 2/3. Of yes, no and
    a missing label the one known pair differs, 1.0, and the share lies between 1/3 and
    3/3, whatever the missing label is.
    """
    given = [label for label in labels if label is not None]
    pairs, all_pairs = math.comb(len(given), 2), math.comb(len(labels), 2)
    alike = sum(math.comb(times, 2) for times in Counter(given).values())
    known = (pairs - alike) / pairs if pairs else math.nan

    return _Rate(known, ((pairs - alike) / all_pairs, (all_pairs - alike) / all_pairs))


def _beside_people(
    gold: Sequence[str | None], labels: Labels, clusters: Sequence[str], view: View
) -> Mapping[str, object]:
    """Accuracy and kappa on the pairs that people decided."""
    kept = [number for number, true in enumerate(gold) if true is not None]
    true = [str(gold[number]) for number in kept]
    said = [labels[number] for number in kept]
    names = [clusters[number] for number in kept]
    kappa = agreement.cohen_interval(true, said, classes=view.classes, clusters=names)
    accuracy = agreement.accuracy_interval(true, said, clusters=names)
    return {"accuracy": as_json(accuracy), "kappa": as_json(kappa)}


def accuracy_by_place(
    gold: Sequence[str | None],
    orders: Sequence[Labels],
    places: Sequence[Sequence[float]],
    clusters: Sequence[str],
) -> dict[str, dict[str, float | int | None]]:
    """Accuracy by where a statement stood, over the shuffles alone.

    As given, important statements stand first, so that place and statement are mixed.

    Args:
        gold: of each pair the label of people, None where they are evenly divided.
        orders: the judge's labels in each shuffle.
        places: of each shuffle, where each pair's statement stood, from 0 to 1.
        clusters: the answer that each pair is about.
    """
    true: list[str] = []
    said: list[str | None] = []
    parts: list[int] = []
    names: list[str] = []
    for labels, own in zip(orders, places, strict=True):
        for number, place in enumerate(own):
            label = gold[number]
            if label is not None:
                true.append(label)
                said.append(labels[number])
                parts.append(min(int(place * len(_PARTS)), len(_PARTS) - 1))
                names.append(clusters[number])

    figures: dict[str, dict[str, float | int | None]] = {}
    for part, title in enumerate(_PARTS):
        inside = [row for row, each in enumerate(parts) if each == part]
        accuracy = agreement.accuracy_interval(
            [true[row] for row in inside],
            [said[row] for row in inside],
            clusters=[names[row] for row in inside],
        )
        figures[title] = as_json(accuracy)

    decided = np.array([float(label is not None) for label in said])
    right = np.array([float(a == b) for a, b in zip(true, said, strict=True)])
    first = decided * (np.array(parts) == 0)
    last = decided * (np.array(parts) == len(_PARTS) - 1)
    difference = bootstrap_statistic(
        [right * first, first, right * last, last],
        lambda a, n, b, m: b / m - a / n,
        clusters=names,
        limits=(-1.0, 1.0),
    )
    figures["last less first"] = as_json(difference)

    return figures
