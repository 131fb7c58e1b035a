from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.bertscore import (
    DISTILBERT_LAYER_4,
    BertScore,
    bertscore_identity,
    open_bertscore,
)
from tests.case_tables import json_of
from tests.models.tiny_alignscore import make_roberta
from tests.models.tiny_embedder import TEXTS
from tests.scoring.text_cases import triples
from tests.support import SHARED, needs_shared

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def scorer(bert: Path) -> Any:
    return open_bertscore(bert, layer=1)


def numbers(score: BertScore) -> list[float]:
    return [score.precision, score.recall, score.f1]


def plain(
    folder: Path, prediction: str, reference: str, layer: int, **options: Any
) -> list[float]:
    """Scores one pair by transformers alone; tokens that the tokenizer adds do not count."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    states = []
    for text in (prediction, reference):
        columns = tokenizer(text, truncation=True, return_tensors="pt", **options)
        with torch.no_grad():
            state = (
                model(**columns, output_hidden_states=True)
                .hidden_states[layer][0]
                .double()
            )
        states.append(state / state.norm(dim=1, keepdim=True))
    cosines = states[0] @ states[1].T
    precision = float(cosines.max(dim=1).values[1:-1].mean())
    recall = float(cosines.max(dim=0).values[1:-1].mean())
    return [precision, recall, 2 * precision * recall / (precision + recall)]


RECORDED = SHARED / "fixtures" / "bertscore"


def recorded() -> tuple[Any, Any]:
    """Opens the checkpoint of the recorded scores; returns it with the recording."""
    scorer = open_bertscore(RECORDED / "tiny-distilbert", layer=4)
    return scorer, json_of(RECORDED / "expected.json")


@pytest.mark.upstream
@needs_shared
def test_scores_are_those_recorded_from_the_reference() -> None:
    scorer, expected = recorded()
    cases = [case for case in expected["cases"] if "error" not in case]
    assert len(cases) >= 23
    scores = scorer.score(
        [case["prediction"] for case in cases], [case["references"] for case in cases]
    )
    for case, score in zip(cases, scores, strict=True):
        assert numbers(score) == pytest.approx(
            [case[name] for name in "PRF"], abs=1e-5
        ), case["id"]
        assert numbers(score.rescaled(DISTILBERT_LAYER_4)) == pytest.approx(
            [case[f"{name}_rescaled"] for name in "PRF"], abs=1e-5
        ), case["id"]
    assert scorer.truncated == 0
    baseline = expected["baseline_layer4_distilbert_base_uncased"]
    assert numbers(DISTILBERT_LAYER_4) == [baseline[name] for name in "PRF"]


@pytest.mark.upstream
@needs_shared
def test_a_long_text_is_cut_as_the_reference_cuts_it() -> None:
    scorer, expected = recorded()
    long = expected["over_length"]
    (score,) = scorer.score([long["prediction"]], [long["reference"]])
    assert numbers(score) == pytest.approx([long[name] for name in "PRF"], abs=1e-5)
    assert scorer.truncated == 1


@pytest.mark.upstream
@needs_shared
def test_texts_on_which_the_reference_crashes_have_nothing_in_common() -> None:
    scorer, expected = recorded()
    cases = [case for case in expected["cases"] if "error" in case]
    assert len(cases) >= 3
    for score in scorer.score(
        [case["prediction"] for case in cases], [case["references"] for case in cases]
    ):
        assert numbers(score) == [0.0, 0.0, 0.0]


@pytest.mark.upstream
@needs_shared
def test_a_batch_has_the_scores_of_the_references_batch() -> None:
    scorer, expected = recorded()
    batch = expected["batched_single_ref"]
    by_id = dict(zip(batch["ids"], batch["F"], strict=True))
    rows = [row for row in triples() if row["id"] in by_id]
    assert len(rows) >= 10
    scores = scorer.score(
        [row["prediction"] for row in rows], [row["references"][0] for row in rows]
    )
    assert [score.f1 for score in scores] == pytest.approx(
        [by_id[row["id"]] for row in rows], abs=1e-5
    )


def test_scores_are_those_of_each_pair_alone_by_transformers(
    bert: Path, scorer: Any
) -> None:
    for layer, opened in (
        (1, scorer),
        (0, open_bertscore(bert, layer=0)),
        (2, open_bertscore(bert, layer=2)),
    ):
        scores = opened.score(TEXTS, [*TEXTS[1:], TEXTS[0]])
        for prediction, reference, score in zip(
            TEXTS, [*TEXTS[1:], TEXTS[0]], scores, strict=True
        ):
            assert numbers(score) == pytest.approx(
                plain(bert, prediction, reference, layer), abs=1e-5
            )


def test_roberta_encodes_a_first_word_as_one_inside_a_text(tmp_path: Path) -> None:
    make_roberta(tmp_path / "r")
    score = open_bertscore(tmp_path / "r", layer=1).score(
        ["heparin was given"], ["Lasix was given"]
    )[0]
    assert numbers(score) == pytest.approx(
        plain(tmp_path / "r", " heparin was given", " Lasix was given", 1), abs=1e-5
    )


def test_identical_texts_and_texts_without_words(scorer: Any) -> None:
    assert numbers(scorer.score([TEXTS[1]], [f" {TEXTS[1]}\n"])[0]) == pytest.approx(
        [1, 1, 1], abs=1e-6
    )
    for prediction, reference in (
        ("", "no"),
        ("no", " \n"),
        ("", ""),
        ("\u200b", "\u200b"),
    ):
        assert numbers(scorer.score([prediction], [reference])[0]) == [0.0, 0.0, 0.0]
    assert scorer.score([], []) == []
    # Rounding keeps scores within the scale, and a lone surrogate is a character.
    assert sum(scorer._rows(["no [SEP] no"])["no [SEP] no"]["counts"]) > 3
    for text in (*TEXTS, ".", "no \ud800"):
        assert 1 - 1e-6 <= scorer.score([text], [text])[0].f1 <= 1


def test_rescaling_and_its_floor() -> None:
    baseline = BertScore(precision=0.5, recall=0.75, f1=0.6)
    score = BertScore(precision=0.75, recall=0.7, f1=0.8)
    assert numbers(score.rescaled(baseline)) == pytest.approx([0.5, -0.2, 0.5])
    assert numbers(score.rescaled(baseline, floor=0.0)) == pytest.approx(
        [0.5, 0.0, 0.5]
    )
    nothing = BertScore(precision=0.0, recall=0.0, f1=0.0)
    assert nothing.rescaled(DISTILBERT_LAYER_4).f1 == pytest.approx(-1.5088, abs=1e-4)
    assert numbers(nothing.rescaled(DISTILBERT_LAYER_4, floor=0)) == [0, 0, 0]


def test_batches_change_no_score(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from medical_tasks.models import bertscore

    predictions = [f"{text} {number}" for number in range(4) for text in TEXTS]
    references = predictions[::-1]
    batched = scorer.score(predictions, references)
    monkeypatch.setattr(bertscore, "_BLOCK", 3)
    split = scorer.score(predictions, references)
    for score, expected in zip(split, batched, strict=True):
        assert numbers(score) == pytest.approx(numbers(expected), abs=1e-5)


def test_several_references_count_by_the_best(scorer: Any) -> None:
    alone = [scorer.score([TEXTS[0]], [text])[0] for text in TEXTS[1:]]
    best = [max(column) for column in zip(*map(numbers, alone), strict=True)]
    (score,) = scorer.score([TEXTS[0]], [TEXTS[1:]])
    assert numbers(score) == pytest.approx(best, abs=1e-6)


def test_messages_about_wrong_input(bert: Path, scorer: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="references must hold at least one text"):
        scorer.score(["a"], [[]])
    with pytest.raises(ValueError, match="of the same length; got 1 and 2"):
        scorer.score(["a"], ["b", "c"])
    for layer in (-1, 3):
        with pytest.raises(
            UsageError, match=f"layer={layer}: tiny-bert has layers 0 to 2"
        ):
            open_bertscore(bert, layer=layer)
    with pytest.raises(
        MissingError, match="hf download distilbert/distilbert-base-uncased"
    ):
        open_bertscore(tmp_path / "none", layer=4)


def test_the_identity_has_what_decides_a_score(bert: Path, scorer: Any) -> None:
    identity = bertscore_identity(bert, layer=1)
    assert identity == scorer.identity
    assert (identity["model"], identity["layer"], identity["idf"]) == (
        "tiny-bert",
        "1",
        "false",
    )
    assert bertscore_identity(bert, layer=2) != identity
    assert str(bert.parent) not in json.dumps(identity)
