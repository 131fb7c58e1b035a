"""From the demo's notes to a verdict, its evidence and a later look, by the commands alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.site.folder import open_site
from medical_tasks.site.history import history
from tests.site.walk import STEPS, give, new, states


def worse_answers(folder: Path, place: Path) -> Path:
    """The candidate's file of answers, every second one of another item."""
    with (folder / "demo" / "answers_candidate.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [row["response"] for row in rows]
    for number in range(0, len(rows), 2):
        rows[number]["response"] = texts[number - 1]
    path = place / "later.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_verdict_its_evidence_and_a_later_look(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new(here / "ward", "calculator", "--patients", "30")
    for step, *words in STEPS:
        if "demo/labels_labels.csv" not in words:
            assert give(folder, step, *words) == 0, (step, capsys.readouterr().err)
    code = give(folder, "gate")
    site = open_site(folder)
    (line,) = history(site.gates)
    assert code == {"GO": 0, "NO-GO": 6, "INCONCLUSIVE": 7}[line.content["verdict"]]
    assert main(["gate", str(site.policy), str(site.runs / "candidate")]) == code
    assert give(folder, "evidence") == 3
    assert "site check" in capsys.readouterr().err
    assert give(folder, "check") == 0
    assert give(folder, "evidence") == 0
    lines = json.loads((site.evidence / "evidence.json").read_text())["lines"]
    measured = {each["key"] for each in lines if each["status"] == "measured"}
    assert {"chai-answers", "chai-parity", "ruaih-decision", "nhs-groups"} <= measured
    assert {"ruaih-monitoring", "chai-calibration"}.isdisjoint(measured)
    found = states(folder, capsys)
    assert (found["gate"], found["evidence"], found["monitor"]) == (
        "done",
        "done",
        "waiting",
    )
    assert give(folder, "monitor") == 2  # its answers are a file: nobody can be asked
    assert "--answers FILE" in capsys.readouterr().err
    later = worse_answers(folder, here)
    begun = site.monitor / "2026-01-01"  # a look that was killed before it was counted
    begun.mkdir(parents=True, exist_ok=True)
    assert give(folder, "monitor", "--answers", str(later)) == 7
    assert "accuracy: worse by -" in capsys.readouterr().out
    assert history(site.gates)[-1].content["run"] == "monitor/2026-01-01"
    assert states(folder, capsys)["evidence"] == "stale"
