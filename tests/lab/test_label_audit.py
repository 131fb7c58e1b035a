from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.benchmarks.medcalc_bench.demo import demo_rows, synthetic_row
from medical_tasks.benchmarks.medcalc_bench.gold import (
    answer_text,
    label_agrees,
    recompute,
    recompute_or_none,
    score_steps,
)
from medical_tasks.calculators import CALCULATORS, calculate, find
from medical_tasks.errors import UsageError
from medical_tasks.lab.label_audit import (
    COLUMNS,
    VERDICTS,
    AuditedRow,
    audit_file,
    audit_row,
    derivation,
    label_quirks,
    summary,
    write_audit,
)
from tests.benchmarks.medcalc_bench.official_csv import V1
from tests.case_tables import tables
from tests.support import ROOT, needs_shared

TABLES: dict[str, Any] = tables(__file__)


def row(
    calculator_id: int, entities: dict[str, Any], label: str, **fields: Any
) -> dict[str, Any]:
    """Builds a row; the limits are 5 % around a decimal label, otherwise the label itself."""
    columns = synthetic_row(1, "1", find(calculator_id), ("", "", entities), label, "")
    return {**columns, "relevant_entities": json.dumps(entities), **fields}


COMA, PATCH = TABLES["coma"], TABLES["patch"]


@pytest.mark.parametrize(
    ("why", "calculator_id", "entities", "label", "verdict", "recomputed", "phrases"),
    TABLES["verdicts"],
)
def test_verdicts_and_their_reasons(
    why: str,
    calculator_id: int,
    entities: dict[str, Any],
    label: str,
    verdict: str,
    recomputed: str,
    phrases: list[str],
) -> None:
    audited = audit_row(row(calculator_id, entities, label))
    assert (audited.verdict, audited.label, audited.recomputed) == (
        verdict,
        label,
        recomputed,
    ), why
    assert [text for text in phrases if text not in audited.reason] == []
    assert phrases or "Whatever was meant" not in audited.reason


@pytest.mark.parametrize("calculator_id", [1, 70, 999])
def test_an_unknown_calculator(calculator_id: int) -> None:
    unknown = {
        **row(21, COMA, "12"),
        "calculator_id": calculator_id,
        "calculator_name": "Apgar",
    }
    audited = audit_row(unknown)
    assert (audited.verdict, audited.recomputed) == ("not computable", "")
    assert f"no calculator {calculator_id}" in audited.reason
    assert summary([audited])[1] == (
        str(calculator_id),
        "Apgar",
        "unknown",
        "1",
        "0",
        "0",
        "0",
        "1",
    )


def test_unreadable_rows() -> None:
    for text in (None, "", "[]", "nonsense", "[" * 10_000):
        audited = audit_row(row(21, COMA, "12", relevant_entities=text))
        assert audited.verdict == "not computable"
        assert "relevant_entities: expected a JSON object" in audited.reason
    with pytest.raises(UsageError, match="the gold answer 'twelve' is no number"):
        audit_row(row(21, COMA, "12", ground_truth_answer="twelve"))
    assert recompute_or_none(row(49, PATCH, "240")) is None
    assert recompute_or_none({"calculator_id": 21}) is None
    assert (
        recompute(row(49, PATCH, "240"), frozenset({"fentanyl-patch-by-dose"})).answer
        == 240
    )


@pytest.mark.parametrize(
    ("label", "lower", "upper", "answer", "agrees"), TABLES["label_agreement"]
)
def test_label_agreement(
    label: str, lower: Any, upper: Any, answer: Any, agrees: bool
) -> None:
    """Decimals within the limits, other answers exactly."""
    answer = tuple(answer) if isinstance(answer, list) else answer
    entry = {"ground_truth_answer": label, "lower_limit": lower, "upper_limit": upper}
    assert label_agrees(entry, answer) is agrees


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (18.0, "18"),
        (25.2380123456789, "25.23801235"),
        (4, "4"),
        ("05/30/2024", "05/30/2024"),
        (1e-05, "1e-05"),
    ],
)
def test_answers_are_written_as_in_the_dataset(answer: Any, text: str) -> None:
    assert answer_text(answer) == text


def test_the_demo_labels_all_agree() -> None:
    """Every record of the demo was derived by hand, and the points of its scores add up to its labels."""
    verdicts = Counter(audit_row(entry).verdict for entry in demo_rows())
    assert verdicts == {"agrees": len(demo_rows())}
    scores = 0
    for entry in demo_rows():
        result = recompute(entry)
        if counted := score_steps(result.explanation):
            scores += 1
            assert sum(points for _, points in counted) == result.answer
            assert derivation(result).endswith(f"= {answer_text(result.answer)}")
        else:
            assert " = " in derivation(result)
    assert scores >= 10


def test_derivations_of_scores() -> None:
    result = calculate(4, {"age": [30, "years"], "sex": "Male"})
    assert derivation(result) == "no item gives a point = 0"
    assert derivation(result, named=frozenset({"age"})) == "0 (Age 30 is under 65) = 0"
    # Grade of kidney disease as text: both count it. Diabetes: the label counts 1 for
    # 2.
    entities = TABLES["quirks_without_effect_are_left_out"]
    entry = row(32, entities, "5")
    assert recompute(entry).answer == 6  # 1 + 2 + 2 + 1
    (quirk,) = label_quirks(entry, recompute(entry)) or []
    assert quirk.startswith(
        "Diabetes mellitus criteria for CCI rule: 'End-organ damage' scores 1 instead of 2"
    )
    assert label_quirks({**entry, "ground_truth_answer": "4"}) is None


def test_the_written_file(tmp_path: Path) -> None:
    audited = [audit_row(row(21, COMA, "16")), audit_row(row(49, PATCH, "240"))]
    assert write_audit(iter(audited), tmp_path / "out.csv") == audited
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert tuple(header) == COLUMNS
    first = ("row", "calculator", "label", "recomputed", "verdict", "reason")
    assert (
        *first,
        "corrected",
        "label_by_corrected",
        "recomputed_by_corrected",
    ) == COLUMNS
    assert rows == [
        [str(getattr(entry, column)) for column in COLUMNS] for entry in audited
    ]
    assert not any("\n" in cell for cells in rows for cell in cells)

    def broken() -> Any:
        yield audit_row(row(21, COMA, "16"))
        raise UsageError("line 3 is damaged")

    with pytest.raises(UsageError, match="line 3 is damaged"):
        write_audit(broken(), tmp_path / "broken.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


# The real labels of v1.0.


@cache
def v1_audit() -> tuple[AuditedRow, ...]:
    return tuple(audit_file(V1))


def audited_as(verdict: str) -> list[AuditedRow]:
    return [entry for entry in v1_audit() if entry.verdict == verdict]


def count_by_calculator(rows: Iterable[AuditedRow]) -> Counter[int]:
    return Counter(entry.calculator_id for entry in rows)


@pytest.mark.upstream
@needs_shared
def test_the_audit_of_v1() -> None:
    """An independent audit of the file had the same result.

    179 labels are wrong, 13 and 6 follow a convention, and 849 agree with the rules. Ten
    of the 849 rest on an impossible unit, such as an albumin of 3.2 mg/dL.
    """
    assert Counter(entry.verdict for entry in v1_audit()) == {
        "agrees": 839,
        "wrong": 179,
        "convention": 19,
        "not computable": 10,
    }
    unknown = audited_as("not computable")
    assert [entry.row for entry in unknown] == [
        284,
        595,
        753,
        772,
        780,
        785,
        790,
        794,
        820,
        824,
    ]
    assert all(entry.reason.endswith("Check the unit") for entry in unknown)
    assert count_by_calculator(audited_as("convention")) == {33: 13, 49: 6}
    assert count_by_calculator(audited_as("wrong")) == {
        3: 2,
        7: 2,
        13: 15,
        15: 15,
        17: 13,
        21: 20,
        23: 4,
        27: 3,
        28: 20,
        29: 2,
        32: 16,
        36: 20,
        43: 19,
        44: 2,
        46: 16,
        51: 10,
    }


@pytest.mark.upstream
@needs_shared
def test_reasons_of_wrong_labels() -> None:
    wrong = audited_as("wrong")
    assert wrong
    for entry in wrong:
        assert entry.reason.startswith("Label: ")
        assert "is none that is known" not in entry.reason
        assert entry.reason.endswith(find(entry.calculator_id).source)
        assert f"not {entry.label}. " in entry.reason
        assert len(entry.reason) < 1200
    # Without an answer: four comas with a part that could not be tested, two counts of
    # white cells per L. The others show how the right answer comes about.
    unanswered = [entry for entry in wrong if not entry.recomputed]
    assert count_by_calculator(unanswered) == {21: 4, 51: 2}
    # Ambiguous entities: 13 contradict themselves, 6 have a tumor of unknown stage.
    noted = [entry for entry in wrong if "Note: " in entry.reason]
    assert count_by_calculator(noted) == {17: 13, 32: 6}


@pytest.mark.upstream
@needs_shared
def test_points_of_scores_add_up_to_the_answer() -> None:
    counted = 0
    for scored in read_rows("v1.0", "test", {"test": V1}):
        result = recompute_or_none(scored)
        if (
            result is None
            or find(result.calculator_id).output != "integer"
            or isinstance(result.answer, tuple)
        ):
            continue
        counted += 1
        assert (
            sum(points for _, points in score_steps(result.explanation))
            == result.answer
        )
    # four comas have no total, three counts of white cells no unit
    assert counted == 18 * 20 - 4 - 3


@pytest.mark.upstream
@needs_shared
def test_the_page_has_rows_of_the_table() -> None:
    text = (ROOT / "docs" / "medcalc_audit.md").read_text(encoding="utf-8")
    table = summary(v1_audit())
    assert len(table) == len(CALCULATORS) + 2
    assert table[0] == ("id", "calculator", "output", "rows", *VERDICTS)
    lines_of_page = {
        tuple(re.split(r"  +", line.strip()))
        for line in text.splitlines()
        if line.startswith("    ")
    }
    shown = [tuple(filter(None, cells)) for cells in table if cells[3] != cells[4]]
    assert len(shown) == 25
    rows_of_page = {
        cells for cells in lines_of_page if len(cells) >= 6 and cells[0] != "--"
    }
    assert rows_of_page <= set(shown)
    # the header, the nine calculators that it shows, and the totals
    assert len(rows_of_page) == 11
