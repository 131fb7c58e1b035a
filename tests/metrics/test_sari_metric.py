"""The metric as users load it: by path, offline."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.metrics.conftest import shortened
from tests.support import ROOT

FOLDER = ROOT / "metrics" / "sari"
SOURCE = "The patient was given furosemide in order to treat the swelling of his legs."
PREDICTION = "He got furosemide to treat leg swelling."
REFERENCES = [
    "He was given furosemide to treat his leg swelling.",
    "Furosemide was given for swollen legs.",
]


def test_the_example_of_the_card_and_other_input(
    metric: Any, card: str, card_output: str
) -> None:
    result = metric.compute(
        sources=[SOURCE], predictions=[PREDICTION], references=[REFERENCES]
    )
    for name in ("sari", "keep", "delete", "add"):
        assert f"'{name}': {shortened(result[name], 4)}" in card_output, name
    assert (result["sari_ci_low"], result["sari_ci_high"]) == (0, 100)
    assert result["sari"] == pytest.approx(
        (result["keep"] + result["delete"] + result["add"]) / 3
    )
    assert all(text in card for text in (SOURCE, PREDICTION, *REFERENCES))
    result = metric.compute(sources=[], predictions=[], references=[])
    assert result.pop("scores") == []
    assert len(result) == 6
    assert all(math.isnan(value) for value in result.values())
    with pytest.raises(ValueError, match="references must hold at least one text"):
        metric.compute(sources=["a"], predictions=["a"], references=[[]])
