"""Concepts and MEDCON equal QuickUMLS's on the checked texts; spans follow the variant; tokens are spaCy's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.scoring.content_overlap import medcon
from medical_tasks.scoring.umls.index import (
    MEDCON_TYPES,
    Folding,
    UmlsIndex,
    build_index,
)
from medical_tasks.scoring.umls.matcher import (
    CLOSED_CLASSES,
    STOP_WORDS,
    Matcher,
    every_window,
    phrases,
    tokenizer,
)
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared

FIXTURE = SHARED / "fixtures" / "umls"
TEXTS = [
    "",
    "   ",
    "a\nb ",
    " leading, and  double   spaces\n\nlines \n of\ttabs ",
    "C-reactive protein of 12.5mg/dL; 2+ edema (Dr. Who's) isn't 10%.",
]


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        MissingError,
        match=r"spaCy is not installed: pip install 'spacy>=3.8'; no model",
    ):
        tokenizer({})
    assert len(STOP_WORDS) == 179 + 1  # as in the reference


class TestWithSpacy:
    @pytest.fixture(autouse=True)
    def spacy(self) -> Any:
        return pytest.importorskip(
            "spacy", reason="spaCy (extra medcon) is not installed"
        )

    @pytest.mark.upstream
    @needs_shared
    def test_every_result_and_pair_score_of_the_fixture(self, tmp_path: Path) -> None:
        told = json_of(FIXTURE / "medcon_expected.json")
        assert set(told["semantic_types"]) == MEDCON_TYPES
        pairs = 0
        for config in told["configs"]:
            folding = Folding(
                lowercase=config["lowercase_install"],
                ascii_only=config["normalize_unicode_install"],
            )
            build_index(FIXTURE, tmp_path / "index", folding=folding)
            with UmlsIndex(tmp_path / "index") as umls:
                variant = (
                    "aci-bench" if config["ignore_syntax_effective"] else "archehr"
                )
                matcher = Matcher(
                    umls,
                    variant=variant,
                    parts=told["pos_lexicon"] if config["pos_lexicon"] else {},
                )
                found = [matcher.concepts(text) for text in told["texts"]]
                spans = [
                    [(each.start, each.end) for each in matcher.matches(text)]
                    for text in told["texts"]
                ]
            for text, concepts, places, expected in zip(
                told["texts"], found, spans, config["results"], strict=True
            ):
                assert {
                    term: sorted(each) for term, each in concepts.items()
                } == expected["concepts"], text
                assert places == [
                    (each["start"], each["end"]) for each in expected["matches"]
                ], text
            for pair in config["pairs"]:
                score = medcon(found[pair["reference"]], found[pair["prediction"]])
                assert score.f1 == pytest.approx(pair["medcon"], abs=1e-9)
                pairs += 1
        assert pairs >= 84

    def test_tokens_are_those_of_the_whole_text(self, spacy: Any) -> None:
        cut = tokenizer({})
        whole = spacy.blank("en").tokenizer
        for text in [*TEXTS, *TEXTS]:
            expected = [
                (each.idx, each.idx + len(each.text), each.text) for each in whole(text)
            ]
            assert [
                (start, end, word.text) for start, end, word in cut(text)
            ] == expected

    def test_windows_and_phrases(self) -> None:
        text = "of a b, low"
        assert [
            stretch for _, _, stretch in every_window(text, tokenizer({})(text))
        ] == [
            "of a",
            "of a b",
            "of a b,",
            "of a b, low",
            "a b",
            "a b,",
            "a b, low",
            "b, low",
            ", low",
            "low",
        ]
        text = "swelling of the leg, 12 mm"
        stretches = [
            stretch for _, _, stretch in phrases(text, tokenizer(CLOSED_CLASSES)(text))
        ]
        assert stretches == [
            "swelling",
            "swelling of leg",
            "leg",
            "leg, 12",
            "leg, 12 mm",
            "12 mm",
        ]
        plain = [stretch for _, _, stretch in phrases(text, tokenizer({})(text))]
        assert "swelling of the leg" in plain
        assert "of the leg" in plain  # a stop word may begin what is longer than itself
        assert "of" not in plain

    def test_the_longest_wins_and_capitals_find_small_letters(
        self, tmp_path: Path
    ) -> None:
        rows = ["heart failure", "heart", "failure of heart", "copd"]
        (tmp_path / "MRSTY.RRF").write_text("C0000001|T047|\n")
        (tmp_path / "MRCONSO.RRF").write_text(
            "".join(f"C0000001|ENG{'|' * 13}{each}|0||\n" for each in rows)
        )
        build_index(tmp_path, tmp_path / "index")
        with UmlsIndex(tmp_path / "index") as umls:
            matcher = Matcher(umls, variant="aci-bench")
            assert [
                each.term for each in matcher.matches("COPD and heart failure of heart")
            ] == [
                "failure of heart",
                "heart",
                "copd",
            ]
            assert [
                each.term for each in matcher.matches("HEART FAILURE. Heart failure")
            ] == ["heart failure"]
            with pytest.raises(
                UsageError,
                match="variant must be one of aci-bench, archehr, got 'both'",
            ):
                Matcher(umls, variant="both")
