"""A file in the form of K-QA's physicians' labels, with texts of our own.

A statement ends in a letter for each physician, E, N or C, and then in what a judge is
to say of it: "... (EEN, judge N)".
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

HEADER = (
    "",
    "Question",
    "llm_x",
    "answer",
    "claim",
    "category_x",
    "majority_label",
    "label_0",
    "label_1",
    "label_2",
)
WORDS = {"E": "Entailment", "N": "Neutral", "C": "Contradiction"}
JUDGED = re.compile(r"\(([ENC]{3}), judge ([ENCX])\)")

# Answers with the marks of their statements: 10 statements, majority 4 E, 4 N, 2 C, six
# of them unanimous; the judge is right on 8.
MARKS = (
    ("EEE E", "EEN N", "NNN N"),
    ("NNE N", "CCC C", "EEE E"),
    ("NNN N", "CCN N", "ECE E", "NNN N"),
)


def rows(marks: tuple[tuple[str, ...], ...] = MARKS) -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    for number, of_answer in enumerate(marks):
        for place, mark in enumerate(of_answer):
            labels, judge = mark.split()
            majority = max("ENC", key=labels.count)
            values = (
                str(len(made)),
                f"What helps against complaint {number}?",
                "model-a",
                f"Rest helps against complaint {number}. So does warm tea, as a rule.",
                f"Remedy {place} helps against complaint {number} ({labels}, judge {judge})",
                "Must_have" if place % 2 == 0 else "Nice_to_have",
                WORDS[majority],
                *(WORDS[label] for label in labels),
            )
            made.append(dict(zip(HEADER, values, strict=True)))
    return made


def write(path: Path, made: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, HEADER)
        writer.writeheader()
        writer.writerows(made)
    return path


def said(statement: str) -> str:
    """What the judge is to say: E, N, C, or X for nothing that can be read."""
    found = JUDGED.search(statement)
    assert found is not None
    return found[2]
