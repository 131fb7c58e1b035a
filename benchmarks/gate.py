"""How often a gate and the test of equivalence are wrong: `python benchmarks/gate.py [--draws 1000]`.

Runs whose true value stands exactly on a rule's limit: GO and NO-GO are both errors there, and each may be at most 5 %. One rule,
and ten rules at once, on independent items and on notes of five items that are right or wrong together. Equivalence: two models
whose true difference is exactly the margin; "equivalent" may be said in at most 5 %.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from medical_tasks.comparison.gating import GO, NO_GO, Finding
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.scoring.paired import equivalence


def answers(rng: np.random.Generator, share: float, items: int, together: int) -> np.ndarray:
    """Right or wrong, items of a note mostly alike."""
    notes = rng.random(items // together) < share
    own = rng.random(items) < share
    return (
        np.where(rng.random(items) < 0.6, np.repeat(notes, together), own).astype(float)
        if together > 1
        else own * 1.0
    )


def verdicts(
    rng: np.random.Generator, share: float, items: int, together: int, rules: int
) -> set[str]:
    """The verdicts of so many rules on runs that stand on their limit."""
    found = set()
    clusters = np.repeat(np.arange(items // together), together).tolist() if together > 1 else None
    for _ in range(rules):
        made = proportion_interval(answers(rng, share, items, together), clusters=clusters)
        finding = Finding(
            run="",
            rule="",
            group="",
            value=made.value,
            low=made.ci_low,
            high=made.ci_high,
            limit=share,
        )
        found.add(finding.decided(rules).verdict)
    return found


def main() -> None:
    """Prints the shares of wrong verdicts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    print("share  items  a note  rules  wrong GO %  wrong NO-GO %")
    for share, items, together, rules in (
        (0.5, 200, 1, 1), (0.9, 200, 1, 1), (0.5, 200, 5, 1), (0.8, 1000, 5, 1), (0.5, 200, 1, 10), (0.8, 200, 5, 10),
    ):  # fmt: skip
        rng = np.random.default_rng(7)
        counted: Counter[str] = Counter()
        for _ in range(draws):
            found = verdicts(rng, share, items, together, rules)
            counted["go"] += found == {GO}
            counted["no"] += NO_GO in found
        print(
            f"{share:5} {items:6} {together:7} {rules:6} {100 * counted['go'] / draws:11.1f} {100 * counted['no'] / draws:14.1f}"
        )
    print("\nmargin  items  wrongly equivalent %  rightly equivalent %")
    for margin, items in ((0.05, 400), (0.1, 200)):
        rng = np.random.default_rng(7)
        said = [0, 0]
        for _ in range(draws):
            first = rng.random(items)
            noise = rng.random(items)
            for place, apart in enumerate((margin, 0.0)):
                a, b = first < 0.7, np.where(noise < 0.9, first, rng.random(items)) < 0.7 - apart
                said[place] += equivalence(a * 1.0, b * 1.0, margin)[0] < 0.05
        print(f"{margin:6} {items:6} {100 * said[0] / draws:21.1f} {100 * said[1] / draws:21.1f}")


if __name__ == "__main__":
    main()
