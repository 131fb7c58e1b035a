"""The paper's worked cases: what answers cite, what is relevant, and the figures that the paper prints (table 1, tables S1, S2).

Table S2 prints no labels. Its clinicians' answers cite every essential sentence, as the guidelines ask; how many supplementary ones
there are, and how many of them are cited, follows from the lenient figures. Sentences are ours, citations and figures the paper's.
"""

from __future__ import annotations

import pytest

from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from tests.benchmarks.archehr_qa.fixture_cases import TASK, small_item

# Citations by line, essential sentences, supplementary ones; strict and lenient precision, recall and F1 in percent.
CASES = {
    "23, fenced": (("```answer", "5,6", "6", "```"), {5, 6}, set(), (100, 100, 100), (100, 100, 100)),
    "39": (("9", "13,14", "15"), {7, 8, 9, 14, 15, 16}, set(), (75.0, 50.0, 60.0), (75.0, 50.0, 60.0)),
    "118": (
        ("26,35", "26", "24,25", "18,21,23", "2"),
        {9, 18, 19, 23, 24, 26, 33, 34, 35, 36},
        {21, 3, 4, 5, 6, 7, 8},
        (62.5, 50.0, 55.6),
        (75.0, 35.3, 48.0),
    ),
    "99": (
        ("4,6,9,10,11", "", "", "24,27,28"),
        {2, 3, 21},
        {4, 6, 9, 10, 11, 5, 7, 8, 12, 13, 14, 15, 16},
        (0, 0, 0),
        (62.5, 31.3, 41.7),
    ),
    # Table 1's case has its labels and table S1 its answers, without figures: these are by hand.
    "together, Llama 4": (("1,2", "2", "3"), {1, 2}, {3}, (66.7, 100, 80.0), (100, 100, 100)),
    "answer first, Llama 3": (("1,2", ""), {1, 2}, {3}, (100, 100, 100), (100, 66.7, 80.0)),
    "heuristic": (("1", "2", "4"), {1, 2}, {3}, (66.7, 100, 80.0), (66.7, 66.7, 66.7)),
}
PARTS = ("_precision", "_recall", "")


def answer_of(lines: tuple[str, ...]) -> str:
    """An answer of our own that cites as the paper's does; what is fenced there is fenced."""
    return "\n".join(
        line if line.startswith("```") else f"Sentence {place} says it.{f' |{line}|' if line else ''}"
        for place, line in enumerate(lines)
    )


@pytest.mark.parametrize("name", CASES)
def test_the_papers_figures(name: str) -> None:
    lines, essential, supplementary, *printed = CASES[name]
    ids = [str(number) for number in range(1, 37)]
    marks = dict.fromkeys(map(str, essential), "essential") | dict.fromkeys(map(str, supplementary), "supplementary")
    labels = {each: marks.get(each, "not-relevant") for each in ids}
    item = small_item(sentence_ids=ids, sentences=[f"Line {each}." for each in ids], relevance=list(labels.values()))
    (score,) = score_items(TASK["together"], [item], [answer_of(lines)])
    for which, told in zip(("", "_lenient"), printed, strict=True):
        for part, percent in zip(PARTS, told, strict=True):
            for reading in ("", "_official"):
                assert abs(100 * score.values[f"factuality{which}{part}{reading}"] - percent) < 0.0501
