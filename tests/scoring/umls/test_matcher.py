"""The matcher of UMLS concepts: recorded results of QuickUMLS, tokens of spaCy, windows and phrases."""

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


def test_a_missing_spacy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
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
    def test_recorded_concepts_spans_and_scores(self, tmp_path: Path) -> None:
        fixture = json_of(FIXTURE / "medcon_expected.json")
        assert set(fixture["semantic_types"]) == MEDCON_TYPES
        texts = fixture["texts"]
        pairs = 0
        for config in fixture["configs"]:
            folding = Folding(
                lowercase=config["lowercase_install"],
                ascii_only=config["normalize_unicode_install"],
            )
            variant = "aci-bench" if config["ignore_syntax_effective"] else "archehr"
            lexicon = fixture["pos_lexicon"] if config["pos_lexicon"] else {}
            build_index(FIXTURE, tmp_path / "index", folding=folding)
            with UmlsIndex(tmp_path / "index") as umls:
                matcher = Matcher(umls, variant=variant, parts=lexicon)
                concepts = [matcher.concepts(text) for text in texts]
                matches = [matcher.matches(text) for text in texts]
            for text, by_term, spans, expected in zip(
                texts, concepts, matches, config["results"], strict=True
            ):
                sorted_concepts = {term: sorted(ids) for term, ids in by_term.items()}
                assert sorted_concepts == expected["concepts"], text
                assert [(span.start, span.end) for span in spans] == [
                    (span["start"], span["end"]) for span in expected["matches"]
                ], text
            for pair in config["pairs"]:
                reference, prediction = pair["reference"], pair["prediction"]
                score = medcon(concepts[reference], concepts[prediction])
                assert score.f1 == pytest.approx(pair["medcon"], abs=1e-9)
                pairs += 1
        assert pairs >= 84

    def test_tokens_are_those_of_spacy(self, spacy: Any) -> None:
        tokenize = tokenizer({})
        spacy_tokenizer = spacy.blank("en").tokenizer
        # Twice, since the tokenizer caches words.
        for text in [*TEXTS, *TEXTS]:
            expected = [
                (token.idx, token.idx + len(token.text), token.text)
                for token in spacy_tokenizer(text)
            ]
            tokens = [(start, end, word.text) for start, end, word in tokenize(text)]
            assert tokens == expected

    def test_windows(self) -> None:
        text = "of a b, low"
        windows = every_window(text, tokenizer({})(text))
        assert [window for _, _, window in windows] == [
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

    def test_phrases(self) -> None:
        text = "swelling of the leg, 12 mm"
        with_classes = phrases(text, tokenizer(CLOSED_CLASSES)(text))
        assert [phrase for _, _, phrase in with_classes] == [
            "swelling",
            "swelling of leg",
            "leg",
            "leg, 12",
            "leg, 12 mm",
            "12 mm",
        ]
        plain = [phrase for _, _, phrase in phrases(text, tokenizer({})(text))]
        assert "swelling of the leg" in plain
        assert "of the leg" in plain  # a phrase may begin with a stop word
        assert "of" not in plain

    def test_the_longest_match_wins_and_capitals_match_lower_case(
        self, tmp_path: Path
    ) -> None:
        terms = ["heart failure", "heart", "failure of heart", "copd"]
        (tmp_path / "MRSTY.RRF").write_text("C0000001|T047|\n")
        (tmp_path / "MRCONSO.RRF").write_text(
            "".join(f"C0000001|ENG{'|' * 13}{term}|0||\n" for term in terms)
        )
        build_index(tmp_path, tmp_path / "index")
        with UmlsIndex(tmp_path / "index") as umls:
            matcher = Matcher(umls, variant="aci-bench")
            matches = matcher.matches("COPD and heart failure of heart")
            assert [match.term for match in matches] == [
                "failure of heart",
                "heart",
                "copd",
            ]
            matches = matcher.matches("HEART FAILURE. Heart failure")
            assert [match.term for match in matches] == ["heart failure"]
            with pytest.raises(
                UsageError,
                match="variant must be one of aci-bench, archehr, got 'both'",
            ):
                Matcher(umls, variant="both")
