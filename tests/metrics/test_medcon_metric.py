"""The metric as users load it: by path, offline, over an index that the test builds."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.scoring.content_overlap import medcon
from medical_tasks.scoring.umls.index import UmlsIndex, build_index
from medical_tasks.scoring.umls.matcher import Matcher
from tests.case_tables import json_of
from tests.support import ROOT, SHARED, needs_shared

pytestmark = pytest.mark.skipif(
    find_spec("spacy") is None, reason="spaCy (extra medcon) is not installed"
)

FOLDER = ROOT / "metrics" / "medcon"
FIXTURE = SHARED / "fixtures" / "umls"
STRINGS = (
    (1, "Heart failure"),
    (1, "congestive heart failure"),
    (2, "furosemide"),
    (3, "swelling"),
)


@pytest.fixture
def index(tmp_path: Path) -> str:
    rows = [
        f"C{concept:07d}|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|{text}|0|O|256|\n"
        for concept, text in STRINGS
    ]
    (tmp_path / "MRCONSO.RRF").write_text("".join(rows))
    (tmp_path / "MRSTY.RRF").write_text(
        "".join(f"C{number:07d}|T047|A1|Name|AT1||\n" for number in (1, 2, 3))
    )
    build_index(tmp_path, tmp_path / "index")
    return str(tmp_path / "index")


def test_the_example_of_the_card_and_synonyms(
    metric: Any, index: str, card: str
) -> None:
    prediction, reference = (
        "He has congestive heart failure and takes furosemide.",
        "Heart failure, on furosemide.",
    )
    assert prediction in card
    assert reference in card
    result = metric.compute(
        predictions=[prediction], references=[reference], index=index
    )
    assert (result["medcon"], result["precision"], result["concept_f1"]) == (1, 1, 1)
    assert (result["concept_f1_ci_low"], result["concept_f1_ci_high"]) == (0, 1)
    # A reference with two terms of one concept: 2 of 1 and 2 of 2; the sets are the
    # same.
    rows = {
        "predictions": ["furosemide", "Heart failure", "nothing", "swelling"],
        "references": ["swelling", "Heart failure or congestive heart failure", "", ""],
    }
    result = metric.compute(**rows, index=index, variant="archehr")
    assert result["scores"] == [0, pytest.approx(4 / 3), 0, 0]
    assert result["concept_scores"] == [0, 1, 0, 0]
    assert result["medcon"] == pytest.approx(1 / 3)
    assert (result["precision"], result["recall"]) == (0.5, 0.25)
    assert (
        result["concept_f1"],
        result["concept_precision"],
        result["concept_recall"],
    ) == (
        0.25,
        0.25,
        0.25,
    )
    assert result["medcon_ci_low"] <= result["medcon"] <= result["medcon_ci_high"]
    assert result["without_concepts"] == 1
    recipe = result["recipe"]
    assert (
        recipe["variant"],
        recipe["lowercase"],
        recipe["terms"],
        recipe["types"],
    ) == (
        "archehr",
        False,
        4,
        66,
    )
    assert len(recipe["source"]) == 64


@pytest.mark.upstream
@needs_shared
@pytest.mark.parametrize("variant", ["aci-bench", "archehr"])
def test_the_numbers_of_the_package_on_the_recorded_pairs(
    variant: str, metric: Any, tmp_path: Path
) -> None:
    recorded = json_of(FIXTURE / "medcon_expected.json")
    pairs = [
        (recorded["texts"][pair["reference"]], recorded["texts"][pair["prediction"]])
        for pair in recorded["configs"][0]["pairs"]
    ]
    assert len(pairs) == 28
    build_index(FIXTURE, tmp_path / "index")
    with UmlsIndex(tmp_path / "index") as umls:
        matcher = Matcher(umls, variant=variant)
        expected = [
            medcon(matcher.concepts(reference), matcher.concepts(prediction))
            for reference, prediction in pairs
        ]
    assert len({score.f1 for score in expected}) > 5
    result = metric.compute(
        predictions=[prediction for _, prediction in pairs],
        references=[reference for reference, _ in pairs],
        index=str(tmp_path / "index"),
        variant=variant,
    )
    assert result["scores"] == pytest.approx([score.f1 for score in expected], abs=1e-9)
    assert result["concept_recall"] == pytest.approx(
        sum(score.concept_recall for score in expected) / len(expected)
    )


def test_without_rows_and_bad_input(metric: Any, index: str, tmp_path: Path) -> None:
    result = metric.compute(predictions=[], references=[], index=index)
    assert (result["scores"], result["concept_scores"], result["without_concepts"]) == (
        [],
        [],
        0,
    )
    assert all(
        math.isnan(result[name])
        for name in (
            "medcon",
            "recall",
            "concept_f1",
            "medcon_ci_low",
            "concept_f1_ci_high",
        )
    )
    with pytest.raises(UsageError, match="holds no UMLS index"):
        metric.compute(predictions=["a"], references=["a"], index=str(tmp_path))
    with pytest.raises(
        UsageError, match="variant must be one of aci-bench, archehr, got 'mine'"
    ):
        metric.compute(predictions=["a"], references=["a"], index=index, variant="mine")
