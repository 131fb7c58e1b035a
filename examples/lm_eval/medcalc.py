"""The functions that `medcalc.yaml` calls."""

from typing import Any

import medical_tasks
from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response, load_prompts
from medical_tasks.benchmarks.medcalc_bench.scoring import score_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.spec import Item

_PROMPTS = load_prompts(MEDCALC)


def rows(config: str = "v1.0", **_: Any) -> dict[str, Any]:
    """Loads the dataset by split; fetches and builds it if it is missing."""
    return {"test": medical_tasks.load("medcalc_bench", config=config, split="test")}


def question(doc: dict[str, Any]) -> str:
    """The task's one message of the user."""
    (message,) = _PROMPTS.render(_item(doc))
    return message["content"]


def gold(doc: dict[str, Any]) -> str:
    """An answer that scores the maximum."""
    return gold_response(MEDCALC, _item(doc))


def scored(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """The metrics that every row has; the others are n/a for some, and lm_eval has no mean of those."""
    (score,) = score_items(MEDCALC, [_item(doc)], results)
    return {name: score.values[name] for name in ("accuracy", "accuracy_official")}


def _item(doc: dict[str, Any]) -> Item:
    (item,) = load_items(MEDCALC, [doc])
    return item
