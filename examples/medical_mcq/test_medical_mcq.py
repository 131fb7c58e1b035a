"""The benchmark's own test, in its package: gold in, full marks out."""

from __future__ import annotations

import json
from pathlib import Path

from medical_mcq.spec import BENCHMARK, TASK
from medical_tasks.spec import Answer

ROWS = json.loads((Path(__file__).parent / "medical_mcq" / "demo.json").read_text("utf-8"))
ITEMS = BENCHMARK.load_items(TASK, ROWS)


def test_gold_answers_score_the_maximum() -> None:
    """Every row's gold is right by its own scorer."""
    answers = [Answer(text=BENCHMARK.gold_response(TASK, item)) for item in ITEMS]
    scores = BENCHMARK.score_items(TASK, ITEMS, answers)
    assert [score.values for score in scores] == [{"accuracy": 1.0}] * len(ROWS)


def test_the_last_letter_counts_and_no_letter_is_wrong() -> None:
    """What the prompt asks for is what is read."""
    letter = ITEMS[0].fields["answer"]
    texts = (f"Answer: {letter}", f"Answer: E\nanswer: **{letter}**", f"It is {letter}.", "")
    answers = [Answer(text=text) for text in texts]
    scores = BENCHMARK.score_items(TASK, ITEMS[:1] * len(texts), answers)
    assert [score.values["accuracy"] for score in scores] == [1.0, 1.0, 0.0, 0.0]
