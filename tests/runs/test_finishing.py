"""Bounds of a judged run with missing answers: what the truth may turn out to be lies between them."""

from __future__ import annotations

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.runs.finishing import _unanswered_limits
from medical_tasks.runs.results import summarise
from medical_tasks.spec import Item, ItemScore


def test_an_item_that_may_be_an_abstention_cannot_hold_down_the_mean_of_the_answered() -> None:
    groups = dict.fromkeys(KQA.groups, "all")
    items = [
        Item(id=f"{size}", fields={"must_have": ("s",) * size, "nice_to_have": ()}, groups=groups, cluster=f"{size}")
        for size in (8, 2)
    ]
    values = {"hallucination_rate": 8.0, "hallucination_rate_answered": 8.0}
    scores = {"8": ItemScore(id="8", values=values)}
    entry = summarise(KQA, items, scores, {"2": "timeout"}, recipe={}, unanswered_limits=_unanswered_limits(KQA, items))
    metrics = entry["metrics"]
    # Had the model abstained from the other, the mean of the answered would stay at 8; of all, it falls to 5 at most.
    assert (
        metrics["hallucination_rate_answered"]["bound_low"],
        metrics["hallucination_rate_answered"]["bound_high"],
    ) == (4.0, 8.0)
    assert (metrics["hallucination_rate"]["bound_low"], metrics["hallucination_rate"]["bound_high"]) == (4.0, 5.0)
