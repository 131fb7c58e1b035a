"""Wells' criteria for deep vein thrombosis."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from medical_tasks.calculators import find
from medical_tasks.calculators.clots_and_bleeding import wells_dvt

FINDINGS = [name for name in inspect.signature(wells_dvt).parameters if name != "say"]


def points(*present: str) -> int:
    findings: dict[str, Any] = {name: name in present for name in FINDINGS}
    return wells_dvt(**findings)


@pytest.mark.parametrize("finding", FINDINGS)
def test_each_finding_counts(finding: str) -> None:
    assert points(finding) == (-2 if finding == "alternative_diagnosis" else 1)


def test_the_ends_and_the_shared_item() -> None:
    assert len(FINDINGS) == 11
    assert points() == 0
    assert points("bedridden", "major_surgery") == 1
    assert points(*(name for name in FINDINGS if name != "alternative_diagnosis")) == 9
    assert points(*FINDINGS) == 7


def test_the_names_of_both_releases() -> None:
    entry = find(16)
    for name in ("Bedridden recently >3 days or major surgery within 12 weeks", "Bedridden recently >3 days"):
        item = entry.input_named(name)
        assert item is not None
        assert item.parameter == "bedridden"
