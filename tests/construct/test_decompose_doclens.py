from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.data import OwnText, load_items, read_aci_rows
from medical_tasks.benchmarks.doclens.measures import read_claim_file
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.scoring import join_claims, text_units
from medical_tasks.construct.decompose.doclens import (
    Passage,
    built_references,
    claims_text,
    outputs,
    own_references,
    run,
)
from medical_tasks.construct.options import Decompose
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Unscored
from medical_tasks.runs.responses import Answer
from tests.benchmarks.doclens.task_items import BY_NAME

NOTE = "CHIEF COMPLAINT\n\nCough [0].\n\nPLAN\n\nRest [1, 2]."


def own(reference: str, **sections: str) -> OwnText:
    return OwnText(
        id="1", source="[0] a", sentences=["a"], reference=reference, sections=sections
    )


def short(parts: list[Passage]) -> dict[str, str]:
    return {part.name: " ".join(part.text.split()) for part in parts}


def test_references_of_ones_own() -> None:
    assert short(
        own_references([own("It rains [3].", plan="none")], BY_NAME["doclens_own"])
    ) == {"1/full": "It rains."}
    assert short(own_references([own(NOTE)], BY_NAME["aci_bench"])) == {
        "1/subjective": "CHIEF COMPLAINT Cough.",
        "1/objective_exam": "",
        "1/objective_results": "",
        "1/assessment_and_plan": "PLAN Rest.",
    }
    # The record's own sections are taken as they are, whatever its headings say.
    found = own_references(
        [own(NOTE, subjective="Cough.", objective_exam="")],
        BY_NAME["aci_bench_section"],
    )
    assert short(found) == dict.fromkeys(
        (f"1/{section}" for section in SECTIONS), ""
    ) | {"1/subjective": "Cough."}
    with pytest.raises(
        UsageError,
        match="example_id 1: a note has the sections subjective, .* others as well",
    ):
        own_references([own(NOTE, plan="x")], BY_NAME["aci_bench"])


def answer(name: str, text: str | None) -> Answer:
    return Answer(id=name, text=text, position="record 1")


def test_outputs() -> None:
    answers = [
        answer("1", "<think>Hm.</think> It rains [3]."),
        answer("2", None),
        answer("3", " "),
    ]
    assert short(outputs(answers, BY_NAME["doclens_own"])) == {
        "1/full": "It rains.",
        "3/full": "",
    }
    assert (
        short(outputs([answer("1", NOTE)], BY_NAME["aci_bench"]))[
            "1/assessment_and_plan"
        ]
        == "PLAN Rest."
    )
    section = outputs(
        [answer("V1/subjective", "Cough [0].")], BY_NAME["aci_bench_section"]
    )
    assert section == [
        Passage(record="V1/subjective", section="subjective", text="Cough.")
    ]
    for name in ("V1", "V1/plan"):
        with pytest.raises(
            UsageError,
            match=r"record 1: an id of aci_bench_section is ENCOUNTER/SECTION",
        ):
            outputs([answer(name, "Cough.")], BY_NAME["aci_bench_section"])


def test_questions_are_claims_already() -> None:
    with pytest.raises(UsageError, match="meqsum: a question is one claim"):
        run(Decompose(side="output", task="meqsum", out=Path("claims.json")))


@pytest.mark.parametrize("name", ["aci_bench", "aci_bench_section"])
def test_the_file_is_the_one_that_scoring_reads(name: str, tmp_path: Path) -> None:
    items = load_items(BY_NAME[name], list(read_aci_rows("demo", "test1", {})))
    parts = built_references(items)
    assert len(parts) == 4 * 6
    assert len({part.name for part in parts}) == len(parts)
    claims: dict[str, tuple[str, ...] | Unscored] = {
        part.name: (f"Claim of {part.name}.", "Another.") for part in parts if part.text
    }
    file = tmp_path / "claims.json"
    file.write_text(claims_text(parts, claims, side="reference"), encoding="utf-8")
    units = [unit for item in items for unit in text_units(item, "")]
    joined = join_claims(read_claim_file(file), units, side="reference")
    assert joined == {
        unit.id: claims.get(part.name, ())
        for unit, part in zip(units, parts, strict=True)
    }
    assert sum(map(bool, joined.values())) == len(claims) > 12


def test_what_was_not_taken_apart_is_not_there(tmp_path: Path) -> None:
    parts = [
        Passage(record=record, section="full", text=text)
        for record, text in (("1", "a"), ("2", "b"), ("3", ""))
    ]
    made: dict[str, tuple[str, ...] | Unscored] = {
        "1/full": Unscored(id="1/full", reason="judge: timeout"),
        "2/full": ("b",),
    }
    file = tmp_path / "claims.json"
    file.write_text(claims_text(parts, made, side="output"), encoding="utf-8")
    records = read_claim_file(file, side="output")
    assert [
        (record.id, dict(record.claims), dict(record.texts)) for record in records
    ] == [
        ("2", {"full": ("b",)}, {"full": "b"}),
        ("3", {"full": ()}, {"full": ""}),
    ]
