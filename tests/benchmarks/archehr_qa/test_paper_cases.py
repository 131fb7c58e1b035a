"""The paper's worked cases: what answers cite, what is relevant, and the figures that the paper prints (table 1, tables S1, S2).

Table S2 prints no labels. Its clinicians' answers cite every essential sentence, as the guidelines ask; how many supplementary ones
there are, and how many of them are cited, follows from the lenient figures. Sentences are ours, citations and figures the paper's.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from tests.benchmarks.archehr_qa.asked_items import TASK, small_item

# Citations by line, essential sentences, supplementary ones; strict and lenient precision, recall and F1 in percent. Table 1's case
# has its labels and table S1 its answers, without figures: those of the last three are by hand.
CASES = json.loads(Path(__file__).with_name("cases").joinpath("paper_cases.json").read_text(encoding="utf-8"))[
    "figures"
]
PARTS = ("_precision", "_recall", "")


def answer_of(lines: list[str]) -> str:
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
