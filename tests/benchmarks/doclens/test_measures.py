"""The four metrics by hand and by their properties, and files of claims."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judge_prompts import read_made
from medical_tasks.benchmarks.doclens.measures import (
    MAX_CLAIMS,
    METRICS,
    ClaimRecord,
    Limits,
    Section,
    SentenceVerdict,
    Side,
    claim_rows,
    meqsum_section,
    read_claim_file,
    section_tallies,
    total,
)
from medical_tasks.benchmarks.doclens.official_scoring import official_claims
from medical_tasks.benchmarks.doclens.pieces import SECTIONS as NOTE_SECTIONS
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Unreadable
from tests.benchmarks.doclens.task_items import SECTION_VERDICTS, as_tuples, cases
from tests.support import SHARED, needs_shared

NAN = (math.nan, math.nan)
KNOWN = {"t": True, "f": False, "?": None}


def _claims(letters: str | None) -> tuple[bool | None, ...] | None:
    return None if letters is None else tuple(KNOWN[letter] for letter in letters)


def _section(reference: str | None, output: str | None, *sentences: str) -> Section:
    """A section in letters.

    A sentence is its letter and those of its citations (`t:tf`).
    """
    verdicts = tuple(
        SentenceVerdict(
            entailed=KNOWN[sentence[0]], supports=_claims(sentence[2:]) or ()
        )
        for sentence in sentences
    )
    return Section(
        reference_claims=_claims(reference),
        output_claims=_claims(output),
        sentences=verdicts,
    )


def _limits(*sections: Section) -> list[Limits]:
    tallies = total(
        section_tallies(section, str(number)) for number, section in enumerate(sections)
    )
    assert tuple(tallies) == METRICS
    return [tally.limits for tally in tallies.values()]


def _same(first: Sequence[float], second: Sequence[float]) -> bool:
    return all(
        x == y or (math.isnan(x) and math.isnan(y))
        for x, y in zip(first, second, strict=True)
    )


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        # Claims 2 of 3 and 1 of 2; sentences 2 of 4 (the third cites nothing);
        # citations 3 of 5.
        (
            ("ttf", "tf", "t:ttf", "t:t", "f:", "f:f"),
            [(2 / 3, 2 / 3), (0.5, 0.5), (0.5, 0.5), (3 / 5, 3 / 5)],
        ),
        (
            ("t?f?", "??", "t:t?", "?:?f"),
            [(0.25, 0.75), (0.0, 1.0), (0.5, 1.0), (0.25, 0.75)],
        ),  # missing verdicts give limits
        (
            ("fff", ""),
            [(0.0, 0.0), NAN, (0.0, 0.0), NAN],
        ),  # an empty output has recall 0 and no precision
        (("", ""), [NAN] * 4),
        (
            ("", "ff", "f:"),
            [NAN, (0.0, 0.0), (0.0, 0.0), NAN],
        ),  # an empty reference, and no citations
    ],
)
def test_metrics_calculated_by_hand(
    section: tuple[str, ...], expected: list[Limits]
) -> None:
    assert all(map(_same, _limits(_section(*section)), expected))


def test_missing_claims_may_be_up_to_thirty_and_an_unsupported_sentence_has_no_support() -> (
    None
):
    with pytest.raises(
        ValueError,
        match="no citation supports a sentence that its citations do not entail",
    ):
        SentenceVerdict(entailed=False, supports=(None,))
    missing = _section("t", None, "t:t")
    assert _limits(missing)[1] == (0.0, 1.0)
    # With two more claims of which one is entailed: 1 of 32 to 31 of 32.
    assert _limits(missing, _section("t", "tf", "t:t"))[1] == (1 / 32, 31 / 32)
    assert _limits(_section(None, "t", "t:t"))[0] == (0.0, 1.0)


def test_metrics_pool_claims_not_examples() -> None:
    # The authors' case "gpt_two_sections", pooled in a section and over all; but a
    # ratio of 0 claims is nan, not 0.
    subjective = _section("tft", "tttf", "t:tft", "f:f"), _section("ff", "t", "f:")
    plan = _section("t", "", "t:tt"), _section("", "")
    assert [limits[0] for limits in _limits(*subjective)] == [0.4, 0.8, 1 / 3, 0.5]
    recall, precision, *cited = _limits(*plan)
    assert (recall, cited) == ((1.0, 1.0), [(1.0, 1.0)] * 2)
    assert math.isnan(precision[0])  # 0 in the authors' script
    assert [limits[0] for limits in _limits(*subjective, *plan)] == [
        0.5,
        0.8,
        0.5,
        2 / 3,
    ]


@pytest.mark.parametrize(
    ("recall", "precision", "same", "values"),
    [
        (True, False, False, ((1, 1), (0, 0))),
        (False, True, False, ((0, 0), (1, 1))),
        (False, False, True, ((1, 1), (1, 1))),
        (False, False, False, ((0, 0), (0, 0))),
        (None, True, False, ((0, 1), (1, 1))),
        # A verdict that both questions are the same decides, whatever else is missing.
        (None, None, True, ((1, 1), (1, 1))),
        # Without it, only the claim that is not entailed stays open.
        (True, False, None, ((1, 1), (0, 1))),
    ],
)
def test_claims_of_a_question(
    recall: bool | None,
    precision: bool | None,
    same: bool | None,
    values: tuple[Limits, Limits],
) -> None:
    assert (
        tuple(
            _limits(meqsum_section(recall=recall, precision=precision, same=same))[:2]
        )
        == values
    )


@given(st.lists(SECTION_VERDICTS, max_size=4))
def test_limits_are_between_0_and_1_and_do_not_depend_on_the_order(
    sections: list[Section],
) -> None:
    reversed_sections = [
        Section(
            reference_claims=_reversed(section.reference_claims),
            output_claims=_reversed(section.output_claims),
            sentences=tuple(
                SentenceVerdict(
                    entailed=sentence.entailed, supports=sentence.supports[::-1]
                )
                for sentence in section.sentences[::-1]
            ),
        )
        for section in sections[::-1]
    ]
    limits = _limits(*sections)
    assert all(
        0 <= low <= high <= 1 or (math.isnan(low) and math.isnan(high))
        for low, high in limits
    )
    assert all(map(_same, limits, _limits(*reversed_sections)))


def _reversed(claims: tuple[bool | None, ...] | None) -> tuple[bool | None, ...] | None:
    return None if claims is None else claims[::-1]


@given(SECTION_VERDICTS)
def test_limits_are_those_of_all_completions(section: Section) -> None:
    # Every completion gives a value between the limits, and some reach
    # them.
    if section.reference_claims is None or section.output_claims is None:
        return
    for index, claims in ((0, section.reference_claims), (1, section.output_claims)):
        low, high = _limits(section)[index]
        values = [
            _limits(Section(reference_claims=filled, output_claims=filled))[index]
            for filled in _filled(claims)
        ]
        assert all(low_ == high_ or math.isnan(low_) for low_, high_ in values)
        if claims:
            assert (min(values)[0], max(values)[0]) == (low, high)


def _filled(claims: tuple[bool | None, ...]) -> list[tuple[bool, ...]]:
    return list(
        itertools.product(
            *[(False, True) if claim is None else (claim,) for claim in claims]
        )
    )


@given(SECTION_VERDICTS, st.data())
def test_a_better_verdict_never_lowers_the_score(
    section: Section, data: st.DataObject
) -> None:
    better = Section(
        reference_claims=_improved(section.reference_claims, data),
        output_claims=_improved(section.output_claims, data),
        sentences=tuple(
            SentenceVerdict(
                entailed=True, supports=_improved(sentence.supports, data) or ()
            )
            if data.draw(st.booleans())
            else sentence
            for sentence in section.sentences
        ),
    )
    for (low, high), (other_low, other_high) in zip(
        _limits(section), _limits(better), strict=True
    ):
        assert math.isnan(low) is math.isnan(other_low)
        assert math.isnan(low) or (low <= other_low and high <= other_high)


def _improved(
    claims: tuple[bool | None, ...] | None, data: st.DataObject
) -> tuple[bool | None, ...] | None:
    return (
        None
        if claims is None
        else tuple(True if data.draw(st.booleans()) else claim for claim in claims)
    )


SECRET = "Mr. Nobody was admitted"


def _write(folder: Path, content: Any) -> Path:
    path = folder / "claims.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("side", "row", "record"),
    [
        (
            "reference",
            {
                "example_id": 7,
                "reference": "A and B.",
                "subclaims_reference": ["A.", "B."],
                "other": 1,
            },
            {
                "id": "7",
                "claims": {"full": ["A.", "B."]},
                "texts": {"full": "A and B."},
            },
        ),
        (
            "output",
            {
                "example_id": "x",
                "input": "[0] A.",
                "output_plan": "A.",
                "subclaims_output_plan": ["A."],
                "subclaims_output_exam": [],
                "subclaims_reference_plan": ["Z."],
            },
            {
                "id": "x",
                "claims": {"plan": ["A."], "exam": []},
                "texts": {"plan": "A."},
                "source": "[0] A.",
            },
        ),
        # The mark of an empty section is not the section's text.
        (
            "reference",
            {
                "example_id": "x",
                "reference_exam": "#####EMPTY#####",
                "subclaims_reference_exam": [],
            },
            {"id": "x", "claims": {"exam": []}, "texts": {"exam": ""}},
        ),
    ],
)
def test_records_of_claims_are_read(
    tmp_path: Path, side: Side, row: dict[str, Any], record: dict[str, Any]
) -> None:
    expected = ClaimRecord(**record | {"claims": as_tuples(record["claims"])})
    assert read_claim_file(_write(tmp_path, [row]), side=side) == (expected,)


@pytest.mark.upstream
@needs_shared
def test_the_released_file_is_read_and_written(tmp_path: Path) -> None:
    records = read_claim_file(
        SHARED / "data" / "doclens" / "ACI-Bench-TestSet-1_clean.claim_min1max30.json"
    )
    assert len(records) == 40
    assert all(
        tuple(record.claims) == tuple(record.texts) == NOTE_SECTIONS
        for record in records
    )
    # A section has claims if it has a text, and not more than the maximum.
    pairs = [
        (record.texts[section], record.claims[section])
        for record in records
        for section in NOTE_SECTIONS
    ]
    assert all(bool(text) is bool(claims) for text, claims in pairs)
    assert max(len(claims) for _, claims in pairs) == 25 <= MAX_CLAIMS
    assert read_claim_file(_write(tmp_path, claim_rows(records))) == records


@pytest.mark.parametrize(
    ("content", "message"), cases("measures", "test_files_of_another_form_are_refused")
)
def test_files_of_another_form_are_refused(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as error:
        read_claim_file(_write(tmp_path, content))
    assert SECRET not in str(error.value)
    with pytest.raises(UsageError, match="No such file"):
        read_claim_file(tmp_path / "none.json")
    (tmp_path / "claims.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_claim_file(tmp_path / "claims.json")


@pytest.mark.parametrize(
    ("reply", "claims"),
    cases("measures", "test_claims_are_read_from_replies", tuples=True),
)
def test_claims_are_read_from_replies(reply: str, claims: tuple[str, ...]) -> None:
    assert _read_claims(reply) == list(claims)


@pytest.mark.parametrize(
    ("reply", "problem"), cases("measures", "test_unreadable_replies")
)
def test_unreadable_replies(reply: str, problem: str) -> None:
    read = read_made(reply)
    assert isinstance(read, Unreadable)
    assert problem in read.problem


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=30))
def test_no_claim_is_lost(claims: list[str]) -> None:
    read = _read_claims(json.dumps({"claims": claims}))
    assert read == list(dict.fromkeys(" ".join(claim.split()) for claim in claims))


def _read_claims(reply: str) -> Any:
    read = read_made(reply)
    return read if isinstance(read, Unreadable) else json.loads(read)


@pytest.mark.parametrize(
    ("reply", "claims"), cases("measures", "test_official_reading_of_claims")
)
def test_official_reading_of_claims(reply: str, claims: list[str]) -> None:
    assert official_claims(reply) == claims
