"""Writes the made-up study of docs/meta_evaluation.md: `outputs.csv` and `preferences.csv` in the folder given.

    python measurements/meta_example.py FOLDER

Each output has a hidden quality; claim recall follows it closely, the small judge less
so, word overlap loosely; three annotators score and choose, with errors of their own.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

SYSTEMS = ("aspen", "birch", "cedar", "elder")
ANNOTATORS = ("ann", "ben", "cy")
ITEMS = 24


def main(folder: Path) -> None:
    generator = random.Random(7)
    outputs: list[list[object]] = [
        ["item", "system", "section", "claim_recall", "small_judge", "word_overlap"]
    ]
    outputs[0] += [f"human_{name}" for name in ANNOTATORS]
    preferences: list[list[object]] = [
        ["item", "system_a", "system_b", "annotator", "preferred"]
    ]
    for number in range(1, ITEMS + 1):
        item, quality = f"visit-{number}", {}
        for index, system in enumerate(SYSTEMS):
            claims = generator.randint(5, 9)
            true = quality[system] = min(
                1.0, max(0.0, generator.gauss(0.45 + 0.08 * index, 0.2))
            )
            row: list[object] = [item, system, "exam" if number % 2 else "plan"]
            row += [
                f"{found_share(generator, true, claims, error):.3f}"
                for error in (0.08, 0.2)
            ]
            row.append(
                f"{min(1.0, max(0.0, 0.3 + 0.3 * true + generator.gauss(0, 0.12))):.3f}"
            )
            row += [
                round(100 * found_share(generator, true, claims, 0.07))
                for _ in ANNOTATORS
            ]
            outputs.append(row)
        for index, first in enumerate(SYSTEMS):
            for second in SYSTEMS[index + 1 :]:
                for annotator in ANNOTATORS:
                    apart = quality[first] - quality[second] + generator.gauss(0, 0.1)
                    chosen = (
                        "tie" if abs(apart) < 0.03 else first if apart > 0 else second
                    )
                    preferences.append([item, first, second, annotator, chosen])
    for name, rows in (("outputs.csv", outputs), ("preferences.csv", preferences)):
        with (folder / name).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)


def found_share(
    generator: random.Random, true: float, claims: int, error: float
) -> float:
    """Draws the share of an output's claims that an annotator finds, with an error."""
    return (
        min(claims, max(0, round((true + generator.gauss(0, error)) * claims))) / claims
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
