"""Claims of a file are joined to the texts they are of."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.judging import Unit
from medical_tasks.benchmarks.doclens.measures import FULL, ClaimRecord
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.scoring import join_claims, read_joined
from medical_tasks.errors import UsageError
from tests.support import SHARED, needs_shared


def _unit(name: str, *, section: str = FULL, reference: str = "", output: str = "", item: str = "") -> Unit:
    return Unit(
        id=name,
        item=item or name,
        section=section,
        form="text" if section == FULL else "note",
        output=output,
        reference=reference,
        sources=(),
    )


def test_a_text_decides_whatever_the_id() -> None:
    records = [
        ClaimRecord(id="1", claims={FULL: ("of two",)}, texts={FULL: "Two  lines\n here."}),
        ClaimRecord(id="2", claims={FULL: ("of one",)}, texts={FULL: "One line."}),
    ]
    units = [_unit("1", reference="One line."), _unit("2", reference="Two lines here. ")]
    assert join_claims(records, units, side="reference") == {"1": ("of one",), "2": ("of two",)}


def test_of_equal_texts_that_of_the_same_id_counts() -> None:
    records = [ClaimRecord(id=name, claims={FULL: (name,)}, texts={FULL: "Normal."}) for name in ("1", "2")]
    units = [_unit(name, reference="Normal.") for name in ("2", "3")]
    assert join_claims(records, units, side="reference") == {"2": ("2",), "3": ("1",)}


def test_without_texts_the_id_decides() -> None:
    records = [ClaimRecord(id="7", claims={"subjective": ("a",), "objective_exam": ()})]
    units = [
        _unit("7/subjective", section="subjective", reference="Cough.", item="7"),
        _unit("7/objective_exam", section="objective_exam", reference="Lungs.", item="7/objective_exam"),
    ]
    # The first as a part of a note, the second as an item of its own; no claims of a text is zero claims.
    assert join_claims(records, units, side="reference") == {"7/subjective": ("a",), "7/objective_exam": ()}


def test_an_output_is_found_with_and_without_its_citations() -> None:
    records = [
        ClaimRecord(id="1", claims={FULL: ("a",)}, texts={FULL: "No fever [1]."}),
        ClaimRecord(id="2", claims={FULL: ("b",)}, texts={FULL: "Rash gone."}),
    ]
    units = [_unit("1", output="No fever."), _unit("2", output="Rash gone [0][4].")]
    assert join_claims(records, units, side="output") == {"1": ("a",), "2": ("b",)}


@pytest.mark.parametrize("blank", ["", "  \n", "#####EMPTY#####"])
def test_a_blank_text_has_no_claims_and_needs_no_record(blank: str) -> None:
    records = [ClaimRecord(id="1", claims={FULL: ("a",)}, texts={FULL: "No fever."})]
    assert join_claims(records, [_unit("1", reference=blank)], side="reference") == {"1": ()}


def test_what_is_not_found_is_named_by_id_alone() -> None:
    records = [ClaimRecord(id="1", claims={FULL: ("a",)}, texts={FULL: "No fever."})]
    units = [_unit(f"v{place}", reference=f"Secret {place}.") for place in range(7)]
    with pytest.raises(UsageError, match=r"claims of the reference of v0, v1, v2, v3, v4 and 2 more:") as told:
        join_claims(records, units, side="reference")
    assert "Secret" not in str(told.value)
    assert "fever" not in str(told.value)


def test_a_text_the_file_holds_is_not_joined_by_id() -> None:
    records = [ClaimRecord(id="1", claims={FULL: ("a",)}, texts={FULL: "No fever."})]
    with pytest.raises(UsageError, match="no claims of the output of 1"):
        join_claims(records, [_unit("1", output="Fever.")], side="output")


def test_claims_of_a_blank_text_are_those_of_another() -> None:
    records = [ClaimRecord(id="1", claims={FULL: ("a",)})]
    with pytest.raises(UsageError, match="has claims of the output of 1, which is blank"):
        join_claims(records, [_unit("1")], side="output")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text(json.dumps([{"example_id": 1, "output": "No fever.", "subclaims_output": ["a", "b"]}]))
    assert read_joined(path, [_unit("1", output="No fever [0].")], side="output") == {"1": ("a", "b")}
    with pytest.raises(UsageError, match=r"claims\.json: no claims of the output of 2"):
        read_joined(path, [_unit("2", output="Rash.")], side="output")


@pytest.mark.upstream
@needs_shared
def test_the_released_claims_are_those_of_the_right_visits() -> None:
    folder = SHARED / "data"
    with (folder / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv").open(newline="") as file:
        notes = {row["encounter_id"]: row["note"] for row in csv.DictReader(file)}
    units = [
        _unit(f"{visit}/{section}", section=section, reference=text, item=visit)
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
