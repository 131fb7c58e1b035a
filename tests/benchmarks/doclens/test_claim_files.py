"""Claims of a file are joined to the texts they are of."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.measures import ClaimRecord
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.scoring import join_claims, read_joined
from medical_tasks.errors import UsageError
from tests.benchmarks.doclens.doclens_judges import unit
from tests.benchmarks.doclens.task_items import cases
from tests.support import SHARED, needs_shared


@pytest.mark.parametrize(
    ("side", "records", "units", "found"), [row for row in cases("claim_files") if isinstance(row, list)]
)
def test_claims_are_joined(side: Any, records: list[dict[str, Any]], units: list[dict[str, Any]], found: Any) -> None:
    given = [
        ClaimRecord(**{**one, "claims": {name: tuple(claims) for name, claims in one["claims"].items()}})
        for one in records
    ]
    wanted = [unit(**{"name": one.pop("id"), **one}) for one in [dict(each) for each in units]]
    if isinstance(found, dict):
        assert join_claims(given, wanted, side=side) == {name: tuple(claims) for name, claims in found.items()}
    else:
        with pytest.raises(UsageError, match=found) as told:
            join_claims(given, wanted, side=side)
        assert "Secret" not in str(told.value)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text(json.dumps([{"example_id": 1, "output": "No fever.", "subclaims_output": ["a", "b"]}]))
    assert read_joined(path, [unit("1", output="No fever [0].")], side="output") == {"1": ("a", "b")}
    with pytest.raises(UsageError, match=r"claims\.json: no claims of the output of 2"):
        read_joined(path, [unit("2", output="Rash.")], side="output")


@pytest.mark.upstream
@needs_shared
def test_the_released_claims_are_those_of_the_right_visits() -> None:
    folder = SHARED / "data"
    with (folder / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv").open(newline="") as file:
        notes = {row["encounter_id"]: row["note"] for row in csv.DictReader(file)}
    units = [
        unit(f"{visit}/{section}", section=section, form="note", reference=text, item=visit)
        for visit, note in notes.items()
        for section, text in divide_note(note).items()
    ]
    assert len(units) == 160
    path = folder / "doclens" / "ACI-Bench-TestSet-1_clean.claim_min1max30.json"
    joined = read_joined(path, units, side="reference")
    assert sum(map(len, joined.values())) == 1287
    assert [name for name, claims in joined.items() if not claims] == [
        unit.id for unit in units if not unit.reference.strip()
    ]
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    own = {row["example_id"]: tuple(row["subclaims_reference_assessment_and_plan"]) for row in rows}
    assert len(own) == 40
    # By id every one of them would be another visit's.
    assert not any(own[visit] == joined[f"{visit}/{SECTIONS[-1]}"] for visit in own)
