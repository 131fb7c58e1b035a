from __future__ import annotations

import json
import math
import random
from typing import Final

import pytest

from medical_tasks.judges.base import Label
from medical_tasks.judges.check_figures import (
    CheckPair,
    check_figures,
    render_check,
    same_labels,
    subset,
)
from medical_tasks.judges.checks import CORRECTNESS
from medical_tasks.scoring.intervals import wilson_interval
from tests.case_tables import tables

CASES = tables(__file__, "judge_check")
GOLD: tuple[Label, ...] = (
    "entailment",
    "neutral",
    "contradiction",
    "neutral",
    "entailment",
    "neutral",
)


def pairs(*, people: bool = False, groups: bool = False) -> list[CheckPair]:
    return [
        CheckPair(
            id=f"p{n}",
            gold=label,
            cluster=f"a{n // 2}",
            ratings=(label, label, "neutral") if people else (),
            group=f"g{n % 2}" if groups else "",
        )
        for n, label in enumerate(GOLD)
    ]


def rendered(figures: dict[str, object], **changes: object) -> str:
    usage = {"requests": 6, "prompt_tokens": 5, "output_tokens": None, "seconds": None}
    check = {
        "set": "kqa", "judge": {"name": "j", "comparable": True}, "pairs": 6, "clusters": 3, "scored": 6, "unscored": {},
        "figures": figures, "votes": 3, "usage": usage,
        "cost": {"calls": 0, "from_store": 0, "votes_saved": 2, "seconds": 0.1}, **changes,
    }  # fmt: skip
    return render_check(json.loads(json.dumps(check, allow_nan=False)))


def test_figures_of_perfect_labels() -> None:
    figures = check_figures(pairs(people=True), GOLD)
    # The third physician rates all six neutral: right on three pairs, and with two
    # classes on the contradiction too.
    for way, third in (("three_way", 3 / 6), ("two_way", 4 / 6)):
        assert (
            figures[way]["accuracy"]["value"] == figures[way]["kappa"]["value"] == 1.0
        )
        assert figures[way]["bounds"] == [1.0, 1.0]
        assert figures[way]["accuracy"]["ci_low"] < 1.0
        assert all(
            of_class["recall"] == of_class["precision"] == 1.0
            for of_class in figures[way]["classes"].values()
        )
        assert figures[way]["with_people"]["agreement"] == [1.0, 1.0, third]
    text = rendered(figures)
    assert "judge with each person, agreement  three classes      0.833" in text
    assert "2 votes saved of 3 each" in text
    assert "judge: 6 requests, 5 prompt tokens; replies of" in text


def test_figures_without_any_label() -> None:
    figures = check_figures(pairs(people=True), [None] * 6)
    three = figures["three_way"]
    assert three["accuracy"]["value"] is None
    assert three["kappa"]["value"] is None
    assert three["bounds"] == [0.0, 1.0]
    assert [row[-1] for row in three["confusion"]["counts"]] == [2, 3, 1]
    assert figures["people"]["three_way"]["unanimous"] == 3
    text = rendered(figures, scored=0, unscored={"judge: timeout": 6})
    assert (
        "0 of 6 pairs have a verdict (without: 6 x judge: timeout; with them accuracy would be 0.000 to 1.000)"
        in text
    )
    assert "n/a" in text


def test_a_judge_of_two_classes_has_no_figures_for_three() -> None:
    labels: list[Label | None] = [
        "entailment",
        "not_entailment",
        "not_entailment",
        "not_entailment",
        None,
        "entailment",
    ]
    figures = check_figures(pairs(people=True, groups=True), labels)
    assert figures["three_way"] is None
    assert figures["two_way"]["confusion"]["counts"] == [[1, 0, 1], [1, 3, 0]]
    assert figures["two_way"]["accuracy"]["value"] == 0.8
    # People are counted in three classes all the same.
    assert set(figures["people"]["three_way"]["majority"]) == {
        "entailment",
        "neutral",
        "contradiction",
    }
    # It is a judge of two classes also in a group that it labels entailment throughout.
    assert all(group["three_way"] is None for group in figures["groups"].values())
    text = rendered(figures)
    assert "there are no figures for three classes" in text
    assert "judge: neutral" not in text


def test_one_label_throughout_has_a_kappa_of_zero() -> None:
    figures = check_figures(pairs(), ["entailment"] * 6, ways=2)
    assert figures["three_way"] is None
    assert figures["people"] is None
    assert figures["two_way"]["kappa"]["value"] == 0.0


def test_agreement_of_single_and_batched_verdicts() -> None:
    single: list[Label | None] = [
        "entailment",
        "neutral",
        None,
        "neutral",
        "contradiction",
        "neutral",
    ]
    batched: list[Label | None] = [
        "entailment",
        "neutral",
        "neutral",
        None,
        "neutral",
        "neutral",
    ]
    comparison = same_labels(pairs(), single, batched)
    assert (
        comparison["pairs"],
        comparison["agreement"]["value"],
        comparison["agreement"]["n"],
    ) == (
        4,
        0.75,
        4,
    )
    assert comparison["table"] == [[1, 0, 0], [0, 2, 0], [0, 1, 0]]
    nothing = same_labels(pairs(), single, [None] * 6)
    assert (
        nothing["pairs"],
        nothing["agreement"]["value"],
        nothing["kappa"]["value"],
    ) == (
        0,
        None,
        None,
    )
    text = rendered(check_figures(pairs(), single), single_vs_batched=nothing)
    assert "the same label on n/a (n/a) of 0 pairs" in text


@pytest.mark.parametrize("most", [1, 3, 6, 100, None])
def test_a_subset_depends_on_ids_alone(most: int | None) -> None:
    everything = pairs()
    mixed = random.Random(1).sample(everything, len(everything))
    chosen = subset(everything, most)
    assert {pair.id for pair in subset(mixed, most)} == {pair.id for pair in chosen}
    assert len(chosen) == min(most or 6, 6)
    # their own order
    assert [pair.id for pair in chosen] == sorted(pair.id for pair in chosen)
    assert {pair.id for pair in subset(everything, 1)} <= {pair.id for pair in chosen}


def test_a_class_of_few_pairs_has_a_wide_interval() -> None:
    """Without clusters it is Wilson's: recall 1 of 11 contradictions, precision 1 of 2; none for a class without pairs."""
    gold: list[Label] = ["contradiction"] * 12
    gold += ["neutral"] * 8
    labels: list[Label | None] = ["neutral"] * 20
    labels[0], labels[11], labels[12] = "contradiction", None, "contradiction"
    alone = [
        CheckPair(id=str(n), gold=label, cluster=str(n)) for n, label in enumerate(gold)
    ]
    classes = check_figures(alone, labels)["three_way"]["classes"]
    contradiction = classes["contradiction"]
    assert contradiction["recall"] == 1 / 11  # the one without a label counts nowhere
    assert contradiction["recall_interval"] == pytest.approx(wilson_interval(1, 11))
    assert contradiction["precision"] == 1 / 2
    assert contradiction["precision_interval"] == pytest.approx(wilson_interval(1, 2))
    assert (
        classes["entailment"]["recall_interval"]
        == classes["entailment"]["precision_interval"]
        == [None, None]
    )
    assert "recall   95 % interval" in rendered(check_figures(alone, labels))


def answers(*rows: str, gold: str) -> list[CheckPair]:
    """Pairs from the ratings of each answer (1, 0 or a blank) and their majority (a blank for none)."""
    words = {"1": "correct", "0": "incorrect", " ": None}
    return [
        CheckPair(
            id=str(n),
            gold=words[best],
            cluster=str(n),
            ratings=tuple(words[mark] for mark in row),
        )
        for n, (row, best) in enumerate(zip(rows, gold, strict=True))
    ]


def test_answers_without_a_majority() -> None:
    # Answers with a majority, and several raters, are tested by commands in tests/cli.
    figures = check_figures(
        answers("10", "01", gold="  "),
        ["correct"] * 2,
        ways=2,
        views=(CORRECTNESS,),
        names=("a", "b"),
    )
    assert figures["correctness"]["accuracy"]["value"] is None
    assert figures["correctness"]["bounds"] == [None, None]
    assert figures["people"]["correctness"]["majority"] == {}
    assert [rater["agreement"]["value"] for rater in figures["raters"]["judge"]] == [
        0.5,
        0.5,
    ]
    assert "n/a" in rendered(figures)


@pytest.mark.parametrize(("kappa", "verdict", "interval"), CASES["a_judge_at_chance"])
def test_a_judge_at_chance_has_a_warning(
    kappa: list[float | None], verdict: str, interval: str
) -> None:
    figures = check_figures(pairs(people=True), GOLD)
    figures["two_way"]["kappa"] |= {"ci_low": 0.2}
    figures["three_way"]["kappa"] |= dict(
        zip(("value", "ci_low", "ci_high"), kappa, strict=True)
    )
    warnings = [
        line for line in rendered(figures).splitlines() if line.startswith("warning: ")
    ]
    message = (
        f"warning: {verdict} (three classes): kappa is {kappa[0]:.3f} and {interval}. "
        if verdict
        else ""
    )
    step = "Report no scores of this judge; choose another, or check it on more pairs."
    assert warnings == ([message + step] if verdict else [])


PAIRS: Final = {"R1": 1000, "R2": 1000, "R3": 1200, "MedNLI": 1422}
MEANS: Final = {
    "ANLI, mean of rounds": ("R1", "R2", "R3"),
    "mean of the four sets": tuple(PAIRS),
}


def labelled_sets(
    right: dict[str, int], *, without: str = ""
) -> tuple[list[CheckPair], list[str | None]]:
    """As many pairs as the sets have, `right` of each labelled correctly; every other gold label is neutral."""
    pairs, labels = [], list[str | None]()
    for group, n in PAIRS.items():
        for k in range(n):
            gold = "neutral" if k % 2 else "entailment"
            pairs.append(
                CheckPair(
                    id=f"{group}-{k}",
                    gold=gold,
                    cluster=f"{group}-{k // 3}",
                    group=group,
                )
            )
            other = "entailment" if k % 2 else "not_entailment"
            hit = "not_entailment" if k % 2 else "entailment"
            labels.append(
                None if group == without else hit if k < right[group] else other
            )
    return pairs, labels


def test_averages_reproduce_a_row_of_trues_table() -> None:
    # TRUE's row in counts: 788 of 1000, 691 of 1000, 808 of 1200, 1165 of 1422.
    right = {"R1": 788, "R2": 691, "R3": 808, "MedNLI": 1165}
    pairs, labels = labelled_sets(right)
    figures = check_figures(pairs, labels, ways=2, averages=MEANS)
    shares = [right[name] / n for name, n in PAIRS.items()]
    anli, four = (figures["averages"]["two_way"][name] for name in MEANS)
    assert anli["value"] == pytest.approx(math.fsum(shares[:3]) / 3)
    assert four["value"] == pytest.approx(math.fsum(shares) / 4)
    assert 100 * four["value"] == pytest.approx(74.3, abs=0.05)
    assert (anli["n"], four["n"], four["groups"]) == (3200, 4622, list(PAIRS))
    assert four["ci_low"] < four["value"] < four["ci_high"]
    # The pooled accuracy weighs sets by their pairs, and is another number.
    pooled = figures["two_way"]["accuracy"]["value"]
    assert pooled == pytest.approx(sum(right.values()) / 4622)
    assert 100 * pooled != pytest.approx(74.3, abs=0.05)
    assert figures["groups"]["R3"]["two_way"]["accuracy"]["value"] == pytest.approx(
        808 / 1200
    )
    assert "three_way" not in figures["averages"]


def test_an_average_over_a_set_without_a_verdict_is_undefined() -> None:
    pairs, labels = labelled_sets(dict.fromkeys(PAIRS, 700), without="MedNLI")
    anli, four = (
        check_figures(pairs, labels, ways=2, averages=MEANS)["averages"]["two_way"][
            name
        ]
        for name in MEANS
    )
    assert (four["value"], four["ci_low"]) == (None, None)
    assert anli["value"] == pytest.approx((0.7 + 0.7 + 700 / 1200) / 3)
