"""The means over ANLI's rounds and MedNLI: how DocLens makes them, and how `judge-check nli` does."""

from __future__ import annotations

import math
from typing import Final

import pytest

from medical_tasks.judges.check_figures import CheckPair, check_figures, render_check

PAIRS: Final = {"R1": 1000, "R2": 1000, "R3": 1200, "MedNLI": 1422}
MEANS: Final = {"ANLI, mean of rounds": ("R1", "R2", "R3"), "mean of the four sets": tuple(PAIRS)}

# DocLens, table 4 (two classes): R1, R2, R3, MedNLI, "Average"; and table 1's "ANLI". The "Weight AVG" there is this "Average".
TABLE_4: Final = {
    "TRUE": ((78.8, 69.1, 67.3, 81.9), 74.3, 71.5),
    "Mistral": ((68.9, 69.2, 70.8, 84.8), 73.4, 69.6),
    "Mistral + JSON": ((68.2, 65.6, 69.7, 87.8), 72.8, 67.8),
    "Mistral + CoT": ((70.6, 69.6, 71.7, 87.2), 74.8, 70.6),
    "Mistral + JSON + CoT": ((71.5, 66.8, 71.7, 87.3), 74.3, 70.0),
    "GPT-4": ((88.7, 84.5, 85.1, 92.8), 87.8, 86.1),
    "GPT-4 + JSON": ((91.4, 86.3, 85.4, 91.0), 88.5, 87.7),
    "GPT-4 + CoT": ((90.0, 84.9, 85.2, 91.6), 88.2, 86.7),
    "GPT-4 + JSON + CoT": ((90.6, 86.2, 85.6, 91.8), 88.6, 87.5),
}


def plain(shares: tuple[float, ...]) -> float:
    return math.fsum(shares) / len(shares)


def by_pairs(shares: tuple[float, ...]) -> float:
    counts = tuple(PAIRS.values())[: len(shares)]
    return math.fsum(share * n for share, n in zip(shares, counts, strict=True)) / sum(counts)


def fits(value: float, published: float) -> bool:
    """Equal to the one decimal that is printed, whichever way halves were rounded."""
    return abs(value - published) <= 0.05 + 1e-9


def test_the_published_average_weighs_the_four_sets_alike() -> None:
    # So ANLI weighs three times what MedNLI does. In one row of nine the printed average is another one.
    off = [name for name, (shares, average, _) in TABLE_4.items() if not fits(plain(shares), average)]
    assert off == ["GPT-4 + CoT"]
    # Weighing by the number of pairs gives none of them.
    fitting = [name for name, (shares, average, _) in TABLE_4.items() if fits(by_pairs(shares), average)]
    assert fitting == []
    # The odd row is what table 1's own two columns give, weighed by pairs: (3200 * 86.7 + 1422 * 91.6) / 4622.
    assert fits((3200 * 86.7 + 1422 * 91.6) / 4622, 88.2)


def test_the_published_anli_is_the_mean_of_the_rounds() -> None:
    off = [name for name, (shares, _, anli) in TABLE_4.items() if not fits(plain(shares[:3]), anli)]
    assert off == ["TRUE"]
    # That row's is weighed by pairs, and its average cannot be had from it: (3 * 71.5 + 81.9) / 4 = 74.1.
    assert fits(by_pairs(TABLE_4["TRUE"][0][:3]), 71.5)
    assert not fits((3 * 71.5 + 81.9) / 4, 74.3)


def made(right: dict[str, int], *, without: str = "") -> tuple[list[CheckPair], list[str | None]]:
    """As many pairs as the sets have, so many of each right; every other gold label is neutral."""
    pairs, given = [], list[str | None]()
    for group, n in PAIRS.items():
        for k in range(n):
            gold = "neutral" if k % 2 else "entailment"
            pairs.append(CheckPair(id=f"{group}-{k}", gold=gold, cluster=f"{group}-{k // 3}", group=group))
            other = "entailment" if k % 2 else "not_entailment"
            hit = "not_entailment" if k % 2 else "entailment"
            given.append(None if group == without else hit if k < right[group] else other)
    return pairs, given


def test_a_row_of_the_table() -> None:
    # TRUE's row in counts: 788 of 1000, 691 of 1000, 808 of 1200, 1165 of 1422.
    right = {"R1": 788, "R2": 691, "R3": 808, "MedNLI": 1165}
    pairs, given = made(right)
    figures = check_figures(pairs, given, ways=2, averages=MEANS)
    shares = [right[name] / n for name, n in PAIRS.items()]
    anli, four = (figures["averages"]["two_way"][name] for name in MEANS)
    assert anli["value"] == pytest.approx(plain(tuple(shares[:3])))
    assert four["value"] == pytest.approx(plain(tuple(shares)))
    assert fits(100 * four["value"], 74.3)
    assert (anli["n"], four["n"], four["groups"]) == (3200, 4622, list(PAIRS))
    assert four["ci_low"] < four["value"] < four["ci_high"]
    # The pooled accuracy is the one that weighs by pairs; it is another number.
    pooled = figures["two_way"]["accuracy"]["value"]
    assert pooled == pytest.approx(sum(right.values()) / 4622)
    assert not fits(100 * pooled, 74.3)
    assert figures["groups"]["R3"]["two_way"]["accuracy"]["value"] == pytest.approx(808 / 1200)
    assert "three_way" not in figures["averages"]


def test_a_set_without_a_verdict_leaves_no_average() -> None:
    pairs, given = made(dict.fromkeys(PAIRS, 700), without="MedNLI")
    anli, four = (check_figures(pairs, given, ways=2, averages=MEANS)["averages"]["two_way"][name] for name in MEANS)
    assert (four["value"], four["ci_low"]) == (None, None)
    assert anli["value"] == pytest.approx((0.7 + 0.7 + 700 / 1200) / 3)


def test_the_table_shows_them() -> None:
    pairs, given = made({"R1": 900, "R2": 850, "R3": 900, "MedNLI": 1300})
    figures = check_figures(pairs, given, ways=2, averages=MEANS)
    check = {
        "judge": {"name": "j", "comparable": True},
        "set": "nli",
        "pairs": len(pairs),
        "clusters": 1,
        "scored": len(pairs),
        "unscored": {},
        "votes": 1,
        "figures": figures,
        "cost": {"calls": 0, "from_store": 0, "prompt_tokens": 0, "output_tokens": 0, "tokens_estimated": False, "seconds": 0.0},
    }  # fmt: skip
    lines = [line.split("  ") for line in render_check(check).splitlines()]
    rows = {line[0]: [cell.strip() for cell in line if cell.strip()] for line in lines}
    assert rows["ANLI, mean of rounds"][1:4] == ["entailed or not", "R1 + R2 + R3", "0.833"]
    assert rows["mean of the four sets"][2:4] == ["R1 + R2 + R3 + MedNLI", "0.854"]
