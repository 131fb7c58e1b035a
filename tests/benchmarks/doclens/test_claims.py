"""Files of claims, and claims that a model wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.measures import (
    FULL,
    MAX_CLAIMS,
    ClaimRecord,
    claim_rows,
    read_claim_file,
    read_claims_reply,
)
from medical_tasks.benchmarks.doclens.official_reading import official_claims
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Unreadable
from tests.support import SHARED, needs_shared

SECRET = "Mr. Nobody was admitted"


def _write(folder: Path, content: Any) -> Path:
    path = folder / "claims.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_text_without_sections(tmp_path: Path) -> None:
    path = _write(
        tmp_path, [{"example_id": 7, "reference": "A and B.", "subclaims_reference": ["A.", "B."], "other": 1}]
    )
    assert read_claim_file(path) == (ClaimRecord(id="7", claims={FULL: ("A.", "B.")}, texts={FULL: "A and B."}),)


def test_claims_of_outputs_by_section(tmp_path: Path) -> None:
    row = {
        "example_id": "x",
        "input": "[0] A.",
        "output_plan": "A.",
        "subclaims_output_plan": ["A."],
        "subclaims_output_exam": [],
        "subclaims_reference_plan": ["Z."],
    }
    (record,) = read_claim_file(_write(tmp_path, [row]), side="output")
    assert record == ClaimRecord(id="x", claims={"plan": ("A.",), "exam": ()}, texts={"plan": "A."}, source="[0] A.")


def test_the_mark_of_an_empty_section_is_no_text(tmp_path: Path) -> None:
    row = {"example_id": "x", "reference_exam": "#####EMPTY#####", "subclaims_reference_exam": []}
    (record,) = read_claim_file(_write(tmp_path, [row]))
    assert record.texts == {"exam": ""}


@pytest.mark.upstream
@needs_shared
def test_the_released_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = SHARED / "data" / "doclens" / "ACI-Bench-TestSet-1_clean.claim_min1max30.json"
    records = read_claim_file(path)
    assert len(records) == 40
    assert all(tuple(record.claims) == tuple(record.texts) == SECTIONS for record in records)
    counts = {section: sum(len(record.claims[section]) for record in records) for section in SECTIONS}
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert counts == {section: sum(len(row[f"subclaims_reference_{section}"]) for row in rows) for section in SECTIONS}
    assert sum(counts.values()) == 1287
    # A section has claims if it has a text, and not more than asked for.
    pairs = [(record.texts[section], record.claims[section]) for record in records for section in SECTIONS]
    assert all(bool(text) is bool(claims) for text, claims in pairs)
    assert sum(not text for text, _ in pairs) == 8
    assert max(len(claims) for _, claims in pairs) == 25 <= MAX_CLAIMS
    assert read_claim_file(_write(tmp_path, claim_rows(records))) == records


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "a JSON list of examples is needed; got an object of 0"),
        ([], "a JSON list of examples is needed; got a list of 0"),
        ([SECRET], "example 1: an object is needed; got a text of 23 characters"),
        ([{"subclaims_reference": []}], "example 1: example_id must be a text or a whole number; got null"),
        ([{"example_id": True, "subclaims_reference": []}], "example_id must be .* got true"),
        ([{"example_id": "x"}], "no subclaims_reference or subclaims_reference_SECTION. Make the claims first"),
        (
            [{"example_id": "x", "subclaims_reference": SECRET}],
            "subclaims_reference: a list of claims is needed; got a text",
        ),
        ([{"example_id": "x", "subclaims_reference": ["A.", " "]}], "claim 2 must be a text that is not blank"),
        ([{"example_id": "x", "subclaims_reference_plan": [3]}], "subclaims_reference_plan: claim 1 must be a text"),
        (
            [{"example_id": "x", "subclaims_reference": [], "reference": [SECRET]}],
            "the text of full must be a text; got a list of 1",
        ),
        ([{"example_id": "x", "subclaims_reference": []}] * 2, "example_id x stands twice"),
    ],
)
def test_files_of_another_form(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        read_claim_file(_write(tmp_path, content))
    assert SECRET not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_claim_file(tmp_path / "none.json")
    path = tmp_path / "text.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not JSON in UTF-8"):
        read_claim_file(path)


@pytest.mark.parametrize(
    ("reply", "claims"),
    [
        ('{"claims": ["A.", "B."]}', ("A.", "B.")),
        ('```json\n{"claims": ["A."]}\n```', ("A.",)),
        ('{"claims": [" A\\n b. ", "A b.", "C."]}', ("A b.", "C.")),
        ('{"claims": ["Claim 2: is quoted"]}', ("Claim 2: is quoted",)),
    ],
)
def test_replies(reply: str, claims: tuple[str, ...]) -> None:
    assert read_claims_reply(reply) == claims


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Claim 1: A.", "no JSON"),
        ('["A."]', "key claims"),
        ('{"claims": ["A."], "more": 1}', "key claims"),
        ('{"claims": "A."}', "list of strings"),
        ('{"claims": ["A.", ""]}', "list of strings"),
        ('{"claims": ["A.", 3]}', "list of strings"),
        ('{"claims": []}', "1 to 30 claims are asked for; there are 0"),
        (json.dumps({"claims": [f"{n}." for n in range(31)]}), "there are 31"),
        ('Here: {"claims": ["A."]}', "not one JSON value"),
        ("", "no JSON"),
    ],
)
def test_replies_that_cannot_be_read(reply: str, problem: str) -> None:
    read = read_claims_reply(reply)
    assert isinstance(read, Unreadable)
    assert problem in read.problem


def test_thirty_claims_may_be() -> None:
    assert len(read_claims_reply(json.dumps({"claims": [f"{n}." for n in range(30)]}))) == 30  # type: ignore[arg-type]


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=30))
@settings(deadline=None, max_examples=50)
def test_no_claim_is_lost(claims: list[str]) -> None:
    read = read_claims_reply(json.dumps({"claims": claims}))
    assert read == tuple(dict.fromkeys(" ".join(claim.split()) for claim in claims))


@pytest.mark.parametrize(
    ("reply", "claims"),
    [
        ("Here they are: Claim 1: A.\nClaim 2: B.", ["A.", "B."]),
        ("Claim 1: over\ntwo lines", ["overtwo lines"]),
        ("claim 1: A.", []),
        ("Claim 1:A.", []),
        ("1. A.\n2. B.", []),
        ("Claim 1: Claim 2: B.", ["", "B."]),
        ("Claim 1: see Claim 12: b", ["see ", "b"]),
        ("", []),
    ],
)
def test_official_claims(reply: str, claims: list[str]) -> None:
    assert official_claims(reply) == claims
