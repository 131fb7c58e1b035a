"""The metric as users load it: by path, offline, with a checkpoint on this machine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError
from medical_tasks.models.alignscore import alignscore_identity, open_alignscore
from tests.models.tiny_alignscore import CLAIMS, CONTEXTS, make_alignscore
from tests.support import ROOT

FOLDER = ROOT / "metrics" / "alignscore"


def test_the_metric_scores_like_the_package_and_records_its_recipe(
    metric: Any, tmp_path: Path
) -> None:
    file, backbone = make_alignscore(tmp_path)
    model_files = {"checkpoint": str(file), "backbone": str(backbone)}
    result = metric.compute(predictions=CLAIMS, references=CONTEXTS, **model_files)
    scorer = open_alignscore(file, backbone=backbone)
    expected = scorer.score(CONTEXTS, CLAIMS)
    assert result["scores"] == pytest.approx(expected, abs=1e-6)
    assert result["alignscore"] == pytest.approx(sum(expected) / len(expected))
    assert (
        0
        <= result["alignscore_ci_low"]
        <= result["alignscore"]
        <= result["alignscore_ci_high"]
        <= 1
    )
    assert result["truncated"] == scorer.truncated >= 1
    assert result["recipe"] == {
        **alignscore_identity(file, backbone=backbone),
        "mode": "nli_sp",
    }
    other = metric.compute(
        predictions=CLAIMS,
        references=CONTEXTS,
        mode="reg",
        sentences="punkt",
        **model_files,
    )
    assert other["scores"] == pytest.approx(
        scorer.score(CONTEXTS, CLAIMS, mode="reg"), abs=1e-5
    )
    assert (other["recipe"]["mode"], other["recipe"]["sentences"]) == (
        "reg",
        "punkt untrained",
    )
    empty = metric.compute(predictions=[], references=[], **model_files)
    assert math.isnan(empty["alignscore"])
    assert empty["scores"] == []
    assert (
        metric.compute(predictions=[""], references=["a"], **model_files)["alignscore"]
        == 0.0
    )


def test_a_missing_checkpoint_is_refused_with_the_steps_of_the_card(
    metric: Any, card: str, tmp_path: Path
) -> None:
    with pytest.raises(MissingError, match="Nothing is downloaded here") as caught:
        metric.compute(
            predictions=["a"],
            references=["b"],
            checkpoint=str(tmp_path / "AlignScore-base.ckpt"),
        )
    steps = [
        line.strip()
        for line in card.splitlines()
        if line.strip().startswith("hf download")
    ]
    assert len(steps) == 2
    assert all(step in str(caught.value) for step in steps)
