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


def own_text(reference: str, **sections: str) -> OwnText:
    return OwnText(
        id="1", source="[0] a", sentences=["a"], reference=reference, sections=sections
    )


def texts_by_name(passages: list[Passage]) -> dict[str, str]:
    return {passage.name: " ".join(passage.text.split()) for passage in passages}


def test_own_references() -> None:
    assert texts_by_name(
        own_references([own_text("It rains [3].", plan="none")], BY_NAME["doclens_own"])
    ) == {"1/full": "It rains."}
    assert texts_by_name(own_references([own_text(NOTE)], BY_NAME["aci_bench"])) == {
        "1/subjective": "CHIEF COMPLAINT Cough.",
        "1/objective_exam": "",
        "1/objective_results": "",
        "1/assessment_and_plan": "PLAN Rest.",
    }
    # A record's own sections are used as they are, whatever its headings.
    passages = own_references(
        [own_text(NOTE, subjective="Cough.", objective_exam="")],
        BY_NAME["aci_bench_section"],
    )
    assert texts_by_name(passages) == dict.fromkeys(
        (f"1/{section}" for section in SECTIONS), ""
    ) | {"1/subjective": "Cough."}
    with pytest.raises(
        UsageError,
        match="example_id 1: a note has the sections subjective, .* others as well",
    ):
        own_references([own_text(NOTE, plan="x")], BY_NAME["aci_bench"])


def answer(name: str, text: str | None) -> Answer:
    return Answer(id=name, text=text, position="record 1")


def test_outputs() -> None:
    answers = [
        answer("1", "<think>Hm.</think> It rains [3]."),
        answer("2", None),
        answer("3", " "),
    ]
    assert texts_by_name(outputs(answers, BY_NAME["doclens_own"])) == {
        "1/full": "It rains.",
        "3/full": "",
    }
    assert (
        texts_by_name(outputs([answer("1", NOTE)], BY_NAME["aci_bench"]))[
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


def test_meqsum_needs_no_decomposition() -> None:
    with pytest.raises(UsageError, match="meqsum: a question is one claim"):
        run(Decompose(side="output", task="meqsum", out=Path("claims.json")))


@pytest.mark.parametrize("name", ["aci_bench", "aci_bench_section"])
def test_scoring_reads_the_written_file(name: str, tmp_path: Path) -> None:
    items = load_items(BY_NAME[name], list(read_aci_rows("demo", "test1", {})))
    passages = built_references(items)
    assert len(passages) == 4 * 6
    assert len({passage.name for passage in passages}) == len(passages)
    claims: dict[str, tuple[str, ...] | Unscored] = {
        passage.name: (f"Claim of {passage.name}.", "Another.")
        for passage in passages
        if passage.text
    }
    file = tmp_path / "claims.json"
    file.write_text(claims_text(passages, claims, side="reference"), encoding="utf-8")
    units = [unit for item in items for unit in text_units(item, "")]
    joined = join_claims(read_claim_file(file), units, side="reference")
    assert joined == {
        unit.id: claims.get(passage.name, ())
        for unit, passage in zip(units, passages, strict=True)
    }
    assert sum(map(bool, joined.values())) == len(claims) > 12


def test_failed_records_are_omitted(tmp_path: Path) -> None:
    passages = [
        Passage(record=record, section="full", text=text)
        for record, text in (("1", "a"), ("2", "b"), ("3", ""))
    ]
    claims: dict[str, tuple[str, ...] | Unscored] = {
        "1/full": Unscored(id="1/full", reason="judge: timeout"),
        "2/full": ("b",),
    }
    file = tmp_path / "claims.json"
    file.write_text(claims_text(passages, claims, side="output"), encoding="utf-8")
    records = read_claim_file(file, side="output")
    assert [
        (record.id, dict(record.claims), dict(record.texts)) for record in records
    ] == [
        ("2", {"full": ("b",)}, {"full": "b"}),
        ("3", {"full": ()}, {"full": ""}),
    ]
