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


def test_it_scores_as_the_package_does_and_says_with_what(
    metric: Any, tmp_path: Path
) -> None:
    file, backbone = make_alignscore(tmp_path)
    places = {"checkpoint": str(file), "backbone": str(backbone)}
    result = metric.compute(predictions=CLAIMS, references=CONTEXTS, **places)
    scorer = open_alignscore(file, backbone=backbone)
    wanted = scorer.score(CONTEXTS, CLAIMS)
    assert result["scores"] == pytest.approx(wanted, abs=1e-6)
    assert result["alignscore"] == pytest.approx(sum(wanted) / len(wanted))
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
        predictions=CLAIMS, references=CONTEXTS, mode="reg", sentences="punkt", **places
    )
    assert other["scores"] == pytest.approx(
        scorer.score(CONTEXTS, CLAIMS, mode="reg"), abs=1e-5
    )
    assert (other["recipe"]["mode"], other["recipe"]["sentences"]) == (
        "reg",
        "punkt untrained",
    )
    empty = metric.compute(predictions=[], references=[], **places)
    assert math.isnan(empty["alignscore"])
    assert empty["scores"] == []
    assert (
        metric.compute(predictions=[""], references=["a"], **places)["alignscore"]
        == 0.0
    )


def test_a_checkpoint_that_is_not_there_is_said_with_the_steps_of_the_card(
    metric: Any, tmp_path: Path
) -> None:
    with pytest.raises(MissingError, match="Nothing is downloaded here") as told:
        metric.compute(
            predictions=["a"],
            references=["b"],
            checkpoint=str(tmp_path / "AlignScore-base.ckpt"),
        )
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    steps = [
        line.strip()
        for line in card.splitlines()
        if line.strip().startswith("hf download")
    ]
    assert len(steps) == 2
    assert all(step in str(told.value) for step in steps)
