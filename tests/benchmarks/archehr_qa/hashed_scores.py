"""One hash of many scores; run as a module it prints it, for processes with other hashes of strings."""

from __future__ import annotations

import hashlib
import json

from medical_tasks.benchmarks.archehr_qa.prompts import gold_response
from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from tests.benchmarks.archehr_qa.fixture_cases import demo_items

__all__ = ["digest"]


def digest() -> str:
    """All numbers of partly right answers to the demo's cases, to the last bit."""
    items = demo_items()
    gold = [gold_response(ANSWER_TASKS[0], item) for item in items]
    scores = score_items(ANSWER_TASKS[0], items, [f"{text[:200]} |5,1-3,99|" for text in gold])
    rows = [[score.id, score.parsed, sorted(score.values.items()), sorted(score.weights.items())] for score in scores]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


if __name__ == "__main__":
    print(digest())
