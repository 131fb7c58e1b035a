"""Two real processes under torchrun give the tokens of one. Every test asserts how many processes ran.

They start from a process with torch imported; tests/runs/test_run_local.py has two that
start from scratch.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.models.base import ChoiceScores
from tests.case_tables import json_of
from tests.support import ROOT
from tests.warm_process import WarmProcess, torchrun

pytestmark = pytest.mark.slow

WORKER = Path(__file__).with_name("data_parallel_worker.py")
COUNTS = "13,1,2"
"""An odd number of questions, fewer than there are processes, and as many."""


ENVIRONMENT = {
    **{
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ACCELERATE", "WORLD_SIZE"))
    },
    "PYTHONPATH": str(ROOT),
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "ACCELERATE_USE_CPU": "true",
}


def run(
    warm: WarmProcess, toy: Path, out: Path, *, processes: int
) -> list[dict[str, Any]]:
    out.mkdir()
    command = [str(WORKER), str(toy), str(out), COUNTS]
    if processes > 1:
        command = [*torchrun(processes), *warm.asking, *command]
    process = warm.run(command, cwd=ROOT, environment=ENVIRONMENT)
    assert process.returncode == 0, process.stderr
    reports = [json_of(path) for path in sorted(out.glob("rank*.json"))]
    assert [report["world"] for report in reports] == [processes] * processes
    return reports


def check_choices(
    alone: dict[str, Any], main: dict[str, Any], other: dict[str, Any]
) -> None:
    assert other == {"1": [{}, {}], "8": [{}, {}]}
    # One text at a time, number for number; eight at a time, sums of floating-point
    # numbers may differ.
    assert main["1"] == alone["1"]
    for size in ("1", "8"):
        for scores, expected, count in zip(
            main[size], alone["1"], (13, 1), strict=True
        ):
            assert scores.keys() == expected.keys()
            assert scores.pop("long") == "prompt too long"
            assert len(scores) == count
            for key, text in scores.items():
                actual, reference = (
                    ChoiceScores.from_text(text),
                    ChoiceScores.from_text(expected[key]),
                )
                assert actual.tokens == reference.tokens
                assert actual.logprobs == pytest.approx(reference.logprobs, abs=1e-4)


def test_two_processes_give_the_tokens_of_one(
    warm: WarmProcess, toy_model: Path, tmp_path: Path
) -> None:
    (alone,) = run(warm, toy_model, tmp_path / "one", processes=1)
    main, other = run(warm, toy_model, tmp_path / "two", processes=2)
    assert [len(one_run["answers"]) for one_run in alone["runs"]] == [13, 1, 2]
    assert main["runs"] == alone["runs"]
    assert (alone["is_main"], main["is_main"], other["is_main"]) == (True, True, False)
    # Only the main process receives results, failures included.
    assert all(
        one_run["failures"] == {"long": "prompt too long"} for one_run in main["runs"]
    )
    assert other["runs"] == [{"answers": {}, "failures": {}}] * 3
    check_choices(alone["choices"], main["choices"], other["choices"])
    # Every process computes request keys from the identity.
    assert alone["identity"] == main["identity"] == other["identity"]
