"""A file in the form of K-QA's physicians' labels, with texts of our own.

A statement ends in a letter for each physician, E, N or C, and the letter of the judge's
verdict: "... (EEN, judge N)".
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.benchmarks.common import write_csv

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
    table: list[dict[str, str]] = []
    for number, of_answer in enumerate(marks):
        for index, mark in enumerate(of_answer):
            labels, judge = mark.split()
            majority = max("ENC", key=labels.count)
            values = (
                str(len(table)),
                f"What helps against complaint {number}?",
                "model-a",
                f"Rest helps against complaint {number}. So does warm tea, as a rule.",
                f"Remedy {index} helps against complaint {number} ({labels}, judge {judge})",
                "Must_have" if index % 2 == 0 else "Nice_to_have",
                WORDS[majority],
                *(WORDS[label] for label in labels),
            )
            table.append(dict(zip(HEADER, values, strict=True)))
    return table


def write(path: Path, table: list[dict[str, str]]) -> Path:
    return write_csv(path, HEADER, table)


def expected_letter(statement: str) -> str:
    """The judge's verdict: E, N, C, or X for an unreadable reply."""
    match = JUDGED.search(statement)
    assert match is not None
    return match[2]
