"""The `demo` configuration: synthetic cases that run every task without a download.

Written for this package; they describe nobody. They have the release's shapes: relatives who write, forum spelling, headings that
are sentences of their own, marks of de-identification, labels of all three kinds, and answers with sentences that rest on nothing.
"""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.demo_case import DemoCase
from medical_tasks.benchmarks.archehr_qa.demo_dev_cases import DEV_CASES
from medical_tasks.benchmarks.archehr_qa.demo_test_cases import TEST_2026_CASES, TEST_CASES

__all__ = ["DEMO_CASES"]

DEMO_CASES: dict[str, tuple[DemoCase, ...]] = {
    "dev": DEV_CASES,
    "test": TEST_CASES,
    "test_2026": TEST_2026_CASES,
}
"""Split to its cases, in order."""
