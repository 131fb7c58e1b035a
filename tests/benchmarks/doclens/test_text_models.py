"""The metrics that checkpoints compute, with tiny ones: which text is which, and where there is nothing."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.text_metrics import text_identity, text_metrics
from medical_tasks.errors import MissingError
from medical_tasks.models.bertscore import open_bertscore
from medical_tasks.models.bleurt import open_bleurt
from tests.models.tiny_bleurt import make_word_bleurt
from tests.support import SHARED, needs_shared

PAIRS = [("No fracture.", "There is no fracture of the hip."), ("", "Normal."), ("Normal.", ""), ("Normal.", "Normal.")]


@pytest.mark.upstream
@needs_shared
def test_bertscore() -> None:
    folder = SHARED / "fixtures" / "bertscore" / "tiny-distilbert"
    values = [row["bertscore"] for row in text_metrics(PAIRS, {"bertscore": f"{folder}@4"})]
    scorer = open_bertscore(folder, layer=4)
    wanted = scorer.score([PAIRS[0][0]], [PAIRS[0][1]])[0].f1
    scorer.close()
    assert values == pytest.approx([wanted, 0.0, math.nan, 1.0], abs=1e-5, nan_ok=True)
    assert text_identity({"bertscore": f"{folder}@4"})["bertscore"]["layer"] == "4"
    assert text_identity({"bertscore": str(folder)})["bertscore"]["layer"] == "5"


def test_bleurt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bleurt").mkdir()
    make_word_bleurt(tmp_path / "bleurt")
    folder = str(tmp_path / "bleurt")
    long = ("Normal. " * 40, "Normal.")
    values = [row["bleurt"] for row in text_metrics([*PAIRS, long], {"bleurt": folder})]
    wanted = open_bleurt(folder).score([(reference, output) for output, reference in (*PAIRS, long)])
    wanted[2] = math.nan
    assert values == pytest.approx(wanted, abs=1e-5, nan_ok=True)
    assert values[0] != pytest.approx(open_bleurt(folder).score([PAIRS[0]])[0])  # which is which matters
    assert "note: bleurt: 1 texts are longer" in capsys.readouterr().err
    assert text_identity({"bleurt": folder})["bleurt"]


@pytest.mark.skipif(importlib.util.find_spec("radgraph") is not None, reason="the package radgraph is installed")
def test_radgraph_without_its_package(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="needs the package radgraph"):
        text_metrics(PAIRS, {"radgraph": str(tmp_path)})
    with pytest.raises(MissingError, match="needs the package radgraph"):
        text_identity({"radgraph": str(tmp_path)})
