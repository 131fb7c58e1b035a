"""The `demo` configuration of ACI-BENCH: synthetic visits that run every task of clinical notes without a download.

Their shapes are those of the release: a turn over two lines, a guest who speaks, commands to the device, headings of several
wordings. Each note has all four sections.
"""

from __future__ import annotations

from medical_tasks.doclens.demo_test_visits import TEST_VISITS
from medical_tasks.doclens.demo_visit import DemoVisit
from medical_tasks.doclens.demo_visits import EXAMPLE_VISITS

__all__ = ["demo_visits"]


def demo_visits(split: str) -> list[DemoVisit]:
    """Returns the visits of a split, in order.

    Args:
        split: `train`, `validation` or `test1`.

    Returns:
        Its visits.
    """
    return [visit for visit in (*EXAMPLE_VISITS, *TEST_VISITS) if visit.split == split]
