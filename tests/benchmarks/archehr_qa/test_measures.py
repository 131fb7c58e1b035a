"""Factuality by hand, degenerate, and laws; relevance by hand and with tiny checkpoints."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa import scoring
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.scoring import (
    WORD_METRICS,
    Comparison,
    Counts,
    Texts,
    answer_comparison,
    count,
    factuality_values,
    labels_of,
    model_metrics,
    notes_comparison,
    official_answer,
    question_comparison,
    relevance_values,
    word_metrics,
)
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.alignscore import open_alignscore
from medical_tasks.models.bertscore import DISTILBERT_LAYER_4, open_bertscore
from medical_tasks.models.text_metrics import identity_of_models
from medical_tasks.scoring.umls.index import Folding, build_index
from tests.benchmarks.archehr_qa.asked_items import (
    checked_items,
    demo_items,
    small_item,
)
from tests.models.tiny_alignscore import make_alignscore
from tests.support import SHARED, needs_shared

_SETS = st.frozensets(st.integers(0, 8))


@given(st.lists(st.tuples(_SETS, _SETS), min_size=1, max_size=6))
def test_laws(cases: list[tuple[frozenset[int], frozenset[int]]]) -> None:
    counts = [count(cited, right) for cited, right in cases]
    rows = [factuality_values("cited", {"strict": each}) for each in counts]
    sums = [
        sum(part)
        for part in zip(
            *((each.hits, each.wrong, each.missed) for each in counts), strict=True
        )
    ]
    together = Counts(*sums).ratios()
    for name, part in (
        ("factuality", "f1"),
        ("factuality_precision", "precision"),
        ("factuality_recall", "recall"),
    ):
        above = sum(
            values[name] * weights[name] for values, weights in rows if weights[name]
        )
        # items add up to the pooled share
        assert above == pytest.approx(together[part][0])
        assert sum(weights[name] for _, weights in rows) == together[part][1]
        assert all(0 <= values[name] <= 1 for values, weights in rows if weights[name])
    for (cited, right), each in zip(cases, counts, strict=True):
        swapped = count(right, cited)
        assert (swapped.hits, swapped.wrong, swapped.missed) == (
            each.hits,
            each.missed,
            each.wrong,
        )
        assert (factuality_values("cited", {"strict": each})[0]["factuality"] == 1) == (
            cited == right != frozenset()
        )


WORDS = ("bleu", "rougeLsum", "sari")
PAIRS = [
    ("A stone blocked it.", "A stone blocked the duct."),
    ("", "Normal."),
    ("Normal.", "Normal."),
]


def test_what_is_compared() -> None:
    item = small_item(
        relevance=[
            "not-relevant",
            "essential",
            "supplementary",
            "essential",
            "essential",
        ]
    )
    questions = "Mum had fevers. Why?\n\nWhat was the cause of her fever?"
    essential = "A stone blocked the duct.\nIt was taken out.\nShe ate."
    assert notes_comparison(item, "x") == Comparison(
        prediction="x",
        reference=f"{questions}\n\n{essential}",
        source=questions,
        target=essential,
    )
    answer = item.fields["clinician_answer"]
    assert answer_comparison(item, "x") == Comparison(
        prediction="x", reference=answer, source=questions, target=answer
    )
    alone = Comparison(
        prediction="x", reference=answer, source="Mum had fevers. Why?", target=answer
    )
    assert answer_comparison(item, "x", narrative=True) == alone
    asked = item.fields["clinician_question"]
    assert question_comparison(item, "x") == Comparison(
        prediction="x", reference=asked, source="Mum had fevers. Why?", target=asked
    )
    none = small_item(relevance=[], clinician_answer=" ", clinician_question="")
    assert labels_of(none) == {}
    assert [
        compare(none, "x")
        for compare in (notes_comparison, answer_comparison, question_comparison)
    ] == [None] * 3
    bare = notes_comparison(small_item(relevance=["not-relevant"] * 5), "x")
    assert bare is not None  # as the script has it: the questions alone
    assert (bare.reference, bare.target) == (f"{questions}\n\n", "")


def test_words_by_hand() -> None:
    reference = "a b c d e f"
    found = word_metrics(
        Comparison(
            prediction="a b c d", reference=reference, source="x y", target=reference
        ),
        WORDS,
    )
    # every run of words is there; only brevity costs
    assert found["bleu"] == pytest.approx(math.exp(1 - 6 / 4))
    assert found["rougeLsum"] == pytest.approx(2 * 4 / (4 + 6))
    # Nothing to keep; all is deleted rightly; of 6, 5, 4 and 3 runs 4, 3, 2 and 1 are
    # added, none of them wrongly.
    added = [
        2 * right / (right + all_) for right, all_ in ((4, 6), (3, 5), (2, 4), (1, 3))
    ]
    assert found["sari"] == pytest.approx((1 + 1 + sum(added) / 4) / 3)
    empty = word_metrics(
        Comparison(prediction="", reference=reference, source="x y", target=reference),
        WORDS,
    )
    assert (empty["bleu"], empty["rougeLsum"]) == (0.0, 0.0)
    assert 0 < empty["sari"] < found["sari"]
    for text, source in (
        ("Was it?", ""),
        ("It fell.", "Why did he go?"),
    ):  # fewer than four tokens
        short = Comparison(prediction=text, reference=text, source=source, target=text)
        assert word_metrics(short, WORDS) == {
            "bleu": 0.0,
            "rougeLsum": 1.0,
            "sari": 1.0,
        }
    # A clinician's answer against itself.
    items = demo_items()
    others = [item.fields["clinician_answer"] for item in items]
    for item in items:
        answer = item.fields["clinician_answer"]
        own = read_answer(answer, item.fields["sentence_ids"]).text
        comparison = answer_comparison(item, own)
        assert comparison is not None
        found = word_metrics(comparison, WORDS)
        assert (found["bleu"], found["rougeLsum"]) == (1.0, 1.0)
        # Where the question repeats words, the formula takes a little off the reference
        # itself.
        assert 0.95 < found["sari"] <= 1
        shorter = [" ".join(own.split()[:most]) for most in (0, 10, 30)]
        for other in [*shorter, *(other for other in others if other != answer)]:
            assert (
                word_metrics(replace(comparison, prediction=other), WORDS)["sari"]
                < found["sari"]
            )


@pytest.mark.upstream
@needs_shared
def test_the_reference_runs_lie_around_the_order_of_the_document() -> None:
    # Eight seeds of the script, whose order of sentences is that of a set: SARI 66.4505
    # to 66.5200 on these cases.
    items, answers = checked_items()
    found = [
        word_metrics(comparison, WORDS)["sari"]
        for item, answer in zip(items, answers, strict=True)
        if (comparison := notes_comparison(item, official_answer(answer).text))
        is not None
    ]
    assert len(found) == 12
    assert 66.4505 <= round(100 * sum(found) / 12, 4) <= 66.5200


def test_what_is_wanted_and_given_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    some = Comparison(prediction="a", reference="a", source="b", target="a")
    reported = {"bleu", "sari", "rougeL_official", "medcon", "medcon_official"}
    assert relevance_values(
        {"": [some, None], "_official": [None, some]}, {}, reported=reported
    ) == [
        {
            "bleu": 0.0,
            "sari": 1.0,
            "rougeL_official": pytest.approx(math.nan, nan_ok=True),
        },
        {
            "bleu": pytest.approx(math.nan, nan_ok=True),
            "sari": pytest.approx(math.nan, nan_ok=True),
            "rougeL_official": 1.0,
        },
    ]
    # What is given for nothing is not opened.
    models = {"umls": "nowhere", "bertscore": "nowhere", "alignscore": "a:b"}
    (row,) = relevance_values(
        {"": [None]},
        models,
        reported={*WORD_METRICS, "bertscore", "medcon", "alignscore"},
    )
    assert list(row) == [*WORD_METRICS, "bertscore", "medcon", "alignscore"]
    assert relevance_values({"": []}, {"umls": "nowhere"}, reported=reported) == []
    # The same texts are computed once, whatever they are compared for.
    asked: list[Sequence[Texts]] = []

    def computed(
        texts: Sequence[Texts], arguments: Mapping[str, str]
    ) -> list[dict[str, float]]:
        asked.append(texts)
        return [{"medcon": 0.5} for _ in texts]

    monkeypatch.setattr(scoring, "model_metrics", computed)
    rows = relevance_values(
        {"": [some, replace(some, source="c")], "_official": [some, None]},
        {"umls": "x"},
        reported=reported,
    )
    assert asked == [[("a", "a")]]
    assert [row["medcon"] for row in rows] == [0.5, 0.5]


@pytest.mark.upstream
@needs_shared
def test_bertscore() -> None:
    folder = SHARED / "fixtures" / "bertscore" / "tiny-distilbert"
    values = [
        row["bertscore"] for row in model_metrics(PAIRS, {"bertscore": str(folder)})
    ]
    scorer = open_bertscore(folder, layer=4)
    (raw,) = scorer.score([PAIRS[0][0]], [PAIRS[0][1]])
    scorer.close()
    assert values[0] == pytest.approx((raw.f1 - 0.6014007) / (1 - 0.6014007), abs=1e-5)
    # an empty text: below 0, as in the reference
    assert values[1] == pytest.approx(-0.6014007 / (1 - 0.6014007))
    assert values[2] == pytest.approx(1.0, abs=1e-5)
    told = identity_of_models(scoring._MODELS, {"bertscore": str(folder)})["bertscore"]
    assert (told["layer"], told["rescaled_f1"]) == ("4", DISTILBERT_LAYER_4.f1)
    json.dumps(told)


def test_alignscore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint, backbone = make_alignscore(tmp_path)
    given = f"{checkpoint}:{backbone}"
    values = [row["alignscore"] for row in model_metrics(PAIRS, {"alignscore": given})]
    scorer = open_alignscore(checkpoint, backbone=backbone)
    assert values == pytest.approx(
        scorer.score([right for _, right in PAIRS], [said for said, _ in PAIRS]),
        abs=1e-5,
    )
    backwards = scorer.score([PAIRS[0][0]], [PAIRS[0][1]])
    scorer.close()
    # the reference is the context
    assert values[0] != pytest.approx(backwards[0], abs=1e-7)
    assert values[1] == 0.0
    model_metrics([("A stone.", "word " * 400)], {"alignscore": given})
    assert "note: alignscore: 1 pairs were too long" in capsys.readouterr().err
    told = {
        rules: identity_of_models(scoring._MODELS, {"alignscore": f"{given}{rules}"})[
            "alignscore"
        ]
        for rules in ("", ":punkt")
    }
    assert told[""]["mode"] == "nli_sp"
    assert told[""]["sentences"] != told[":punkt"]["sentences"]


def test_medcon(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="spaCy (extra medcon) is not installed")
    strings = [(1, "heart attack"), (1, "myocardial infarction"), (2, "fever")]
    terms = (
        f"C{concept:07d}|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|{text}|0|O|256|\n"
        for concept, text in strings
    )
    (tmp_path / "MRCONSO.RRF").write_text("".join(terms))
    (tmp_path / "MRSTY.RRF").write_text(
        "".join(f"C{each:07d}|T047|A1|Name|AT1||\n" for each in (1, 2))
    )
    build_index(tmp_path, tmp_path / "index", folding=Folding(lowercase=True))
    arguments = {"umls": str(tmp_path / "index")}
    pairs = [
        ("He had a heart attack.", "Heart attack, a large myocardial infarction."),
        ("Heart attack and fever.", "Heart attack and fever."),
        ("He was well.", "Fever."),
        ("", ""),
    ]
    # Both terms of the reference are said, by one term of the prediction: precision
    # 2/1, recall 2/2.
    expected = [4 / 3, 1.0, 0.0, 0.0]
    assert [row["medcon"] for row in model_metrics(pairs, arguments)] == pytest.approx(
        expected
    )
    told = identity_of_models(scoring._MODELS, arguments)["umls"]
    assert (told["variant"], told["terms"], told["lowercase"]) == ("archehr", 3, True)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (
            {"bertscore": "nowhere"},
            MissingError,
            "nowhere: no folder with a config.json",
        ),
        (
            {"alignscore": "nowhere.ckpt:folder"},
            MissingError,
            "nowhere.ckpt: no such file",
        ),
        (
            {"alignscore": "nowhere.ckpt"},
            UsageError,
            "alignscore must be CKPT:FOLDER .* got 'nowhere.ckpt'",
        ),
        ({"alignscore": "a::b"}, UsageError, "alignscore must be CKPT:FOLDER"),
        (
            {},
            UsageError,
            "an encoder of the kind 'roberta'.*Give a folder of that checkpoint",
        ),
    ],
)
def test_what_is_not_there_or_of_another_kind(
    tmp_path: Path, arguments: dict[str, str], error: type[Exception], said: str
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    given = arguments or {"bertscore": str(tmp_path)}
    with pytest.raises(error, match=said):
        model_metrics(PAIRS, given)
    with pytest.raises(error, match=said):
        identity_of_models(scoring._MODELS, given)
