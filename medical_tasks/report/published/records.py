"""A result that a paper reports, as it stands beside a user's own: reported by its authors, verified by nobody here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["PublishedResult"]


@dataclass(frozen=True, kw_only=True)
class PublishedResult:
    """One model's row of one table of a paper.

    Attributes:
        model: the model's name as the paper writes it.
        setting: what else tells it from the table's other rows (`1-shot, full note`, `RAG`); "" for nothing.
        task: name of our task that asks the same.
        metrics: our metric's name to the value, 0-1 (a count or cosine in its own unit).
        breakdown: our breakdown's name to group to metrics, likewise; empty where the paper has none.
        source: where it stands: the paper in short and the table (`K-QA, table 4`).
        link: the paper's address.
        n_items: how many items it is over, None where the paper does not say.
        judge: the judge that decided it, "" for none.
        differences: how the paper's setting differs from what this suite does, a sentence each; what a reader must know before
            setting the numbers side by side.
        beside: for a metric that follows the authors' script, the one of ours that asks the same (`accuracy_official` to
            `accuracy`): where a reader looks for the figure in a table of headline metrics. The two do not count alike.
    """

    model: str
    task: str
    metrics: Mapping[str, float]
    source: str
    link: str
    setting: str = ""
    breakdown: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    n_items: int | None = None
    judge: str = ""
    differences: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
