"""From the demo's notes to a verdict, its evidence and a later look, by commands alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.site.folder import open_site
from medical_tasks.site.history import history
from tests.case_tables import json_of
from tests.site.walk import STEPS, make_demo, run_step, states


def worse_answers(folder: Path, out: Path) -> Path:
    """Writes the candidate's answers, of which every second one is another item's."""
    with (folder / "demo" / "answers_candidate.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [row["response"] for row in rows]
    for number in range(0, len(rows), 2):
        rows[number]["response"] = texts[number - 1]
    path = out / "later.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_verdict_its_evidence_and_a_later_look(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_demo(here / "ward", "calculator", "--patients", "30")
    for step, *words in STEPS:
        if "demo/labels_labels.csv" not in words:
            assert run_step(folder, step, *words) == 0, (step, capsys.readouterr().err)
    code = run_step(folder, "gate")
    site = open_site(folder)
    (gate_line,) = history(site.gates)
    assert (
        code == {"GO": 0, "NO-GO": 6, "INCONCLUSIVE": 7}[gate_line.content["verdict"]]
    )
    assert main(["gate", str(site.policy), str(site.runs / "candidate")]) == code
    assert run_step(folder, "evidence") == 3
    assert "site check" in capsys.readouterr().err
    assert run_step(folder, "check") == 0
    assert run_step(folder, "evidence") == 0
    lines = json_of(site.evidence / "evidence.json")["lines"]
    measured = {line["key"] for line in lines if line["status"] == "measured"}
    assert {"chai-answers", "chai-parity", "ruaih-decision", "nhs-groups"} <= measured
    assert {"ruaih-monitoring", "chai-calibration"}.isdisjoint(measured)
    kinds = states(folder, capsys)
    assert kinds["gate"] == kinds["evidence"] == "done"
    assert kinds["monitor"] == "waiting"
    assert (
        run_step(folder, "monitor") == 2
    )  # its answers are in a file, so there is no model to ask
    assert "--answers FILE" in capsys.readouterr().err
    later = worse_answers(folder, here)
    unfinished = (
        site.monitor / "2026-01-01"
    )  # a look that was killed before it was recorded
    unfinished.mkdir(parents=True, exist_ok=True)
    assert run_step(folder, "monitor", "--answers", str(later)) == 7
    assert "accuracy: worse by -" in capsys.readouterr().out
    assert history(site.gates)[-1].content["run"] == "monitor/2026-01-01"
    assert states(folder, capsys)["evidence"] == "stale"
