"""A planted preference for choice A: is it found, with the right size, and is none found where there is none?

    OMP_NUM_THREADS=1 python measurements/order.py [simulations per row]
    OMP_NUM_THREADS=1 python measurements/order.py many [simulations per row]
    OMP_NUM_THREADS=1 python measurements/order.py judges [simulations per row]
    OMP_NUM_THREADS=1 python measurements/order.py texts

A simulated model answers 200 questions in all five orders, and the first order again in
other words. It has an opinion of each question, right with a chance that differs from
question to question (beta, mean 0.6), and takes it; but with chance `noise` it takes
any choice at random, and with chance `planted` / 0.8 it takes place A whatever stands
there, so that A is chosen `planted` points more often than by chance. The control in
other words has the noise alone. Each simulation draws new questions. Truths are
computed, not simulated.

`many`: the same figures by the same intervals and test without items and scores, which
takes a tenth of the time, of the first 500 simulations and of all. A question's answers
are added up first, which makes the same intervals as clusters of one size do.

`judges`: a judge of 50 answers with 8 statements each, in four shuffled orders, is right
on 4 of 5 and loses `planted` points in the last third of a list.

`texts`: one such model answers the demo's questions in words and by probabilities, and
is scored by the benchmark's own scorer; the figures must be those of the choices that
it took.
"""

from __future__ import annotations

import itertools
import math
import string
import sys
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from medical_tasks.benchmarks.ehrnoteqa.data import load_items, read_rows
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.judges.shuffling import accuracy_by_place, place_in
from medical_tasks.models.base import ChoiceScores
from medical_tasks.runs.results import TaskEntry
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.choice_orders import (
    CHOSEN,
    in_orders,
    is_control,
    ordered_task,
    preference_table,
    with_order_values,
)
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.scoring.paired import holm
from medical_tasks.scoring.place_tests import place_p_value
from medical_tasks.spec import Item, ItemScore, TaskSpec

QUESTIONS, PLACES = 200, 5
ANSWERS, STATEMENTS, SHUFFLES, RIGHT = 50, 8, 4, 0.8
SKILL, STRENGTH = 0.6, 2.0
ARGUMENTS = {"order": "all", "wording": "paraphrase"}
SIGNIFICANT = 0.05
FEW = 500
"""The first simulations, whose shares are reported beside those of all."""
Choices = npt.NDArray[np.intp]


def task_of(form: str) -> TaskSpec:
    """Returns a task of EHRNoteQA in all orders, without the breakdowns that need notes."""
    task = next(task for task in TASKS if task.options["format"] == form)
    return ordered_task(replace(task, groups=()), ARGUMENTS)


def questions(task: TaskSpec, count: int) -> list[Item]:
    """Makes invented questions in all orders, the right choice of each at another place."""
    letters = string.ascii_uppercase[:PLACES]
    plain = [
        Item(
            id=str(number),
            fields={"choices": list("vwxyz"), "answer": letters[number % PLACES]},
            groups={},
            cluster=str(number),
        )
        for number in range(count)
    ]
    return in_orders(task, plain)


def chosen_places(
    generator: np.random.Generator, items: list[Item], planted: float, noise: float
) -> Choices:
    """Draws the place that the model chooses in each item."""
    names = [item.fields["question_id"] for item in items]
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    numbers = np.array([number_of[name] for name in names])
    orders = np.array([item.fields["order"] for item in items])
    controls = np.array([is_control(item) for item in items])
    # The model's content for each question, numbered in the released order. Which one is
    # right does not matter, since each content visits each place.
    skill = generator.beta(SKILL * STRENGTH, (1 - SKILL) * STRENGTH, len(number_of))
    knows = generator.random(len(number_of)) < skill
    first = dict(zip(reversed(names), reversed(items), strict=True))
    right = np.array([_right_content(first[name]) for name in number_of])
    other = (right + generator.integers(1, PLACES, len(right))) % PLACES
    opinion = np.where(knows, right, other)[numbers]
    guess = generator.integers(0, PLACES, len(items))
    guesses = generator.random(len(items)) < noise
    content = np.where(guesses, guess, opinion)
    choices = (orders == content[:, None]).argmax(axis=1)
    drawn = generator.random(len(items)) < planted / (1 - 1 / PLACES)
    return np.where(drawn & ~controls, 0, choices)


def _right_content(item: Item) -> int:
    order: tuple[int, ...] = item.fields["order"]
    return order[string.ascii_uppercase.index(item.fields["answer"])]


def scored(task: TaskSpec, items: list[Item], places: Choices) -> TaskEntry:
    """Scores the chosen places; returns the entry of `results.json`."""
    letters = string.ascii_uppercase
    plain = [
        ItemScore(
            id=item.id,
            values={
                "accuracy": float(letters[choice] == item.fields["answer"]),
                "gold_probability": 0.0,
            },
            parsed=letters[choice],
        )
        for item, choice in zip(items, places, strict=True)
    ]
    scores = with_order_values(task, items, plain, right="accuracy")
    by_id = {score.id: score for score in scores}
    return summarise(task, items, by_id, {}, recipe={})


def truths(planted: float, noise: float) -> dict[str, float]:
    """Computes what the figures estimate.

    An answer takes place A with chance d, else it guesses with chance `noise`, else it
    takes the opinion, which stands in each place once.
    """
    drawn = planted / (1 - 1 / PLACES)
    # For each order: the chances of the opinion's content and of every other content,
    # where the opinion stands at A and where it does not.
    keeps, guess = (1 - drawn) * (1 - noise), (1 - drawn) * noise / PLACES
    base = np.full((PLACES, PLACES), guess)  # order, content; the opinion is content 0
    base[:, 0] += keeps
    for order in range(PLACES):
        base[order, order] += drawn  # the content that the rotation shows at A
    alike = [
        float(base[first] @ base[second])
        for first in range(PLACES)
        for second in range(first + 1, PLACES)
    ]
    right = SKILL * np.prod(base[:, 0])
    # A wrong opinion may still be right by chance in every order.
    right += (1 - SKILL) * np.prod(base[:, 1])
    flips = 1 - float(np.mean(alike))
    control = np.full(PLACES, noise / PLACES)
    control[0] += 1 - noise
    by_wording = 1 - float(np.mean(base @ control))
    return {
        "place_preference": planted,
        "always_right": float(right),
        "flip_rate": flips,
        "flip_rate_wording": by_wording,
        "flip_excess": flips - by_wording,
    }


def main(simulations: int) -> None:
    """Prints a row for each planted preference and noise."""
    task = task_of("mc_prob_index")
    items = questions(task, QUESTIONS)
    print(
        "planted noise | A found | flagged: A, any | held: A always flips wording excess"
    )
    for planted in (0.0, 0.05, 0.2):
        for noise in (0.1, 0.4):
            generator = np.random.default_rng(int(1000 * planted + 100 * noise))
            print(
                f"{planted:7.2f} {noise:5.1f} | {_row(generator, task, items, planted, noise, simulations)}",
                flush=True,
            )


def _row(
    generator: np.random.Generator,
    task: TaskSpec,
    items: list[Item],
    planted: float,
    noise: float,
    simulations: int,
) -> str:
    truth = truths(planted, noise)
    values: list[float] = []
    held: dict[str, list[bool]] = {name: [] for name in truth}
    flags = np.zeros((simulations, 2))
    for number in range(simulations):
        places = chosen_places(generator, items, planted, noise)
        entry = scored(task, items, places)
        figures = dict(entry["metrics"])
        figures["place_preference"] = entry["breakdown"][CHOSEN]["A"][
            "place_preference"
        ]
        values.append(float(figures["place_preference"]["value"] or 0.0))
        for name, value in truth.items():
            low, high = figures[name]["ci_low"], figures[name]["ci_high"]
            held[name].append(
                low is not None and high is not None and low <= value <= high
            )
        (table,) = preference_table(entry)
        small = [_p_of(row[-1]) < SIGNIFICANT for row in table.rows]
        flags[number] = small[0], any(small)
    shares = " ".join(f"{np.mean(hits):.3f}" for hits in held.values())
    flagged = f"{flags[:, 0].mean():.3f} {flags[:, 1].mean():.3f}"
    return f"{np.mean(values):+.4f} | {flagged} | {shares}"


def many(simulations: int) -> None:
    """Prints the coverage of the intervals, and which places are flagged."""
    items = questions(task_of("mc_prob_index"), QUESTIONS)
    orders = np.array([item.fields["order"] for item in items])
    shown = orders.reshape(QUESTIONS, PLACES + 1, PLACES)
    right = np.array([_right_content(item) for item in items[:: PLACES + 1]])
    print("planted noise | flagged: A, any | held: A always flips wording excess")
    for planted in (0.0, 0.05, 0.2):
        for noise in (0.1, 0.4):
            generator = np.random.default_rng(int(1000 * planted + 100 * noise) + 7)
            truth = list(truths(planted, noise).values())
            held: list[list[bool]] = []
            flagged: list[tuple[bool, bool]] = []
            for _ in range(simulations):
                drawn = chosen_places(generator, items, planted, noise)
                taken = drawn.reshape(QUESTIONS, PLACES + 1)
                intervals = _intervals(taken, shown, right)
                pairs = zip(intervals, truth, strict=True)
                held.append(
                    [
                        interval.ci_low <= true <= interval.ci_high
                        for interval, true in pairs
                    ]
                )
                p = _p_values(taken[:, :PLACES], shown[:, :PLACES])
                flagged.append((p[0] < SIGNIFICANT, min(p) < SIGNIFICANT))
            shares = " ".join(
                f"{100 * np.mean(column[:FEW]):.1f}/{100 * np.mean(column):.1f}"
                for column in np.array(held).T
            )
            often = " ".join(f"{100 * share:.1f}" for share in np.mean(flagged, axis=0))
            print(f"{planted:7.2f} {noise:5.1f} | {often} | {shares}", flush=True)


def _intervals(taken: Choices, shown: Choices, right: Choices) -> list[Estimate]:
    """Computes the figures, in the order of `truths`, from the places chosen in each order and control."""
    content = np.take_along_axis(shown, taken[:, :, np.newaxis], axis=2)[:, :, 0]
    contents, control = content[:, :PLACES], content[:, PLACES]
    pairs = list(itertools.combinations(range(PLACES), 2))
    flips = np.mean(
        [contents[:, first] != contents[:, second] for first, second in pairs], axis=0
    )
    wording = (contents[:, 0] != control).astype(float)
    preferred = (taken[:, :PLACES] == 0).mean(axis=1) - 1 / PLACES
    always = (contents == right[:, np.newaxis]).all(axis=1).astype(float)
    return [
        mean_interval(preferred, limits=(-1 / PLACES, 1 - 1 / PLACES)),
        proportion_interval(always),
        mean_interval(flips),
        mean_interval(wording),
        mean_interval(flips - wording, limits=(-1.0, 1.0)),
    ]


def _p_values(taken: Choices, shown: Choices) -> list[float]:
    """Computes the p-value of no preference for each place, adjusted by Holm."""
    content = np.take_along_axis(shown, taken[:, :, np.newaxis], axis=2)[:, :, 0]
    contents = content.tolist()
    p_values = []
    for position in range(PLACES):
        standing = shown[:, :, position].tolist()
        p_values.append(
            place_p_value(
                [
                    list(zip(standing_row, chosen_row, strict=True))
                    for standing_row, chosen_row in zip(standing, contents, strict=True)
                ]
            )
        )
    return holm(p_values)


def _p_of(cell: str) -> float:
    return float(cell.removeprefix("< "))


def judges(simulations: int) -> None:
    """Prints a row for each planted weakness of a judge at the end of its lists."""
    print("planted | last less first | it is significant | held: difference")
    for planted in (0.0, 0.05, 0.2):
        generator = np.random.default_rng(int(1000 * planted) + 1)
        values: list[float] = []
        held: list[bool] = []
        flagged: list[bool] = []
        for _ in range(simulations):
            difference = _judged(generator, planted)
            low, high = difference["ci_low"], difference["ci_high"]
            if difference["value"] is None or low is None or high is None:
                raise ValueError("a difference of full lists has an interval")
            values.append(difference["value"])
            held.append(low <= -planted <= high)
            flagged.append(not low <= 0 <= high)
        print(
            f"{planted:7.2f} | {np.mean(values):+.4f} | {np.mean(flagged):.3f} | {np.mean(held):.3f}",
            flush=True,
        )


def _judged(
    generator: np.random.Generator, planted: float
) -> dict[str, float | int | None]:
    """Returns the difference of the last third and the first in one simulated check."""
    clusters = [str(answer) for answer in range(ANSWERS) for _ in range(STATEMENTS)]
    gold = ["entailment"] * len(clusters)
    # Some answers are easier, and a statement is about as hard in every order.
    ease = generator.beta(12, 3, ANSWERS).repeat(STATEMENTS)
    strength = 4.0
    chance = generator.beta(ease * strength, (1 - ease) * strength)
    places: list[list[float]] = []
    orders: list[list[str]] = []
    for _ in range(SHUFFLES):
        numbers = [
            number
            for _ in range(ANSWERS)
            for number in generator.permutation(STATEMENTS)
        ]
        own = [place_in(int(number), STATEMENTS) for number in numbers]
        late = np.array(own) > 2 / 3
        # At the end, right verdicts are lost until accuracy falls by `planted`.
        right = generator.random(len(own)) < chance * (1 - late * planted / RIGHT)
        orders.append(list(np.where(right, "entailment", "neutral")))
        places.append(own)
    return accuracy_by_place(gold, orders, places, clusters)["last less first"]


def texts() -> None:
    """Scores one model's words and probabilities, and compares with its choices."""
    for form, planted in (("mc", 0.2), ("mc_prob_index", 0.2)):
        task = next(task for task in TASKS if task.options["format"] == form)
        task = ordered_task(task, ARGUMENTS)
        items = load_items(task, list(read_rows("demo", "test", {})))
        generator = np.random.default_rng(7)
        places = chosen_places(generator, items, planted, 0.1)
        letters = [string.ascii_uppercase[choice] for choice in places]
        if form == "mc":
            answers = [
                f"The answer is {letter}. {item.fields['choices'][choice]}"
                for item, letter, choice in zip(items, letters, places, strict=True)
            ]
        else:
            answers = [_probabilities(int(choice)) for choice in places]
        scores = score_items(
            task, items, answers, readings={} if form == "mc" else None
        )
        read = [score.parsed for score in scores]
        if read != letters:
            raise ValueError(f"{form}: {read} was read where {letters} was taken")
        figure = [score.values["place_preference_a"] for score in scores]
        preference = np.nanmean(figure)
        counted = [
            letter == "A"
            for letter, item in zip(letters, items, strict=True)
            if not is_control(item)
        ]
        planned = float(np.mean(counted)) - 1 / PLACES
        if not math.isclose(preference, planned, abs_tol=1e-12):
            raise ValueError(
                f"{form}: {preference} was found where {planned} was planned"
            )
        print(
            f"{form}: {len(items)} answers read as taken; preference for A {preference:+.3f}"
        )


def _probabilities(choice: int) -> str:
    logprobs = tuple(-0.1 if other == choice else -3.0 for other in range(PLACES))
    return ChoiceScores(logprobs=logprobs, tokens=(1,) * PLACES).to_text()


if __name__ == "__main__":
    words = sys.argv[1:]
    times = int(words[-1]) if words and words[-1].isdigit() else 500
    if words[:1] == ["texts"]:
        texts()
    elif words[:1] == ["many"]:
        many(times)
    elif words[:1] == ["judges"]:
        judges(times)
    else:
        main(times)
