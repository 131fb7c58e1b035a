"""Metrics of whole texts, with and without checkpoints."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.scoring import (
    checkpoint_layer,
    medcon_metrics,
    text_identity,
    text_metrics,
    word_metrics,
)
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.bertscore import open_bertscore
from medical_tasks.models.bleurt import open_bleurt
from medical_tasks.scoring.umls.index import build_index
from tests.models.tiny_bleurt import make_word_bleurt
from tests.support import SHARED, needs_shared

OVERLAP = ("rouge1", "rouge2", "rougeLsum", "rougeL_recall", "rougeL_precision", "bleu")


def test_by_hand() -> None:
    values = word_metrics("No acute fracture.", "No fracture")
    # 2 of 3 words and 2 of 2; no pair of words; in order both.
    assert values["rouge1"] == pytest.approx(0.8)
    assert values["rouge2"] == 0.0
    assert values["rougeL_recall"] == 1.0
    assert values["rougeL_precision"] == pytest.approx(2 / 3)
    assert values["words"] == 3.0


def test_lines_count_for_the_sum_alone() -> None:
    values = word_metrics("a b\nc d", "c d\na b")
    assert values["rougeLsum"] == 1.0
    assert values["rougeL_recall"] == 0.5


def test_an_empty_output_has_recall_0_and_no_precision() -> None:
    values = word_metrics("", "No fracture")
    assert math.isnan(values.pop("rougeL_precision"))
    assert set(values.values()) == {0.0}


@pytest.mark.parametrize("output", ["", "Normal."])
@pytest.mark.parametrize("reference", ["", " \n"])
def test_without_a_reference_there_is_nothing_to_be_like(output: str, reference: str) -> None:
    values = word_metrics(output, reference)
    assert values.pop("words") == len(output.split())
    assert all(math.isnan(value) for value in values.values())
    assert tuple(values) == OVERLAP


def test_medcon_by_hand() -> None:
    # Two synonyms of one concept in the reference: above 1 by the reference's formula, 1 for the concepts.
    twice = {"heart attack": frozenset({"C1"}), "myocardial infarction": frozenset({"C1"})}
    once = {"heart attack": frozenset({"C1"})}
    assert medcon_metrics(twice, once) == {
        "medcon": 1.0,
        "medcon_recall": 1.0,
        "medcon_precision": 1.0,
        "medcon_official": pytest.approx(4 / 3),  # precision 2/1, recall 2/2
    }
    one_of_two = medcon_metrics({"a": frozenset({"C1"}), "b": frozenset({"C2"})}, once)
    assert (one_of_two["medcon_recall"], one_of_two["medcon_precision"]) == (0.5, 1.0)
    assert one_of_two["medcon"] == pytest.approx(2 / 3)


def test_medcon_of_nothing() -> None:
    some = {"a": frozenset({"C1"})}
    names = ("medcon", "medcon_recall", "medcon_precision", "medcon_official")
    for reference, output, wanted in (
        ({}, {}, (math.nan, math.nan, math.nan, 0.0)),
        (some, {}, (0.0, 0.0, math.nan, 0.0)),
        ({}, some, (0.0, math.nan, 0.0, 0.0)),
    ):
        found = medcon_metrics(reference, output)
        assert [found[name] for name in names] == pytest.approx(wanted, nan_ok=True)


def test_nothing_but_words_without_arguments() -> None:
    rows = text_metrics([("a", "a"), ("", "")], {"style": "json"})
    assert [set(row) for row in rows] == [{*OVERLAP, "words"}] * 2
    assert text_metrics([], {"umls": "nowhere"}) == []
    assert text_identity({"style": "json"}) == {}


def test_umls_is_told_apart(tmp_path: Path) -> None:
    source = tmp_path / "umls"
    source.mkdir()
    row = "C0000001|ENG|P|L1|PF|S1|Y|A1||||SNOMEDCT_US|PT|1|{}|0|N|256|"
    (source / "MRCONSO.RRF").write_text(row.format("heart attack") + "\n", encoding="utf-8")
    (source / "MRSTY.RRF").write_text("C0000001|T047|B2.2.1.2.1|Disease or Syndrome|AT1|256|\n", encoding="utf-8")
    build_index(source, tmp_path / "index")
    arguments = {"umls": str(tmp_path / "index")}
    pytest.importorskip("spacy")
    (row_made,) = text_metrics([("a heart attack", "heart attack was seen")], arguments)
    assert (row_made["medcon"], row_made["medcon_official"]) == (1.0, 1.0)
    told = text_identity(arguments)["umls"]
    assert (told["variant"], told["terms"]) == ("aci-bench", 1)
    assert len(told["source_sha256"]) == len(told["types_sha256"]) == 64
    json.dumps(told)


def test_layers(tmp_path: Path) -> None:
    def folder(name: str, config: str) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(config, encoding="utf-8")
        return str(tmp_path / name)

    xlarge = folder("a", '{"model_type": "deberta", "num_hidden_layers": 48}')
    small = folder("b", '{"model_type": "distilbert", "n_layers": 6}')
    named = folder("c@2", '{"model_type": "roberta", "num_hidden_layers": 24}')
    for given, place, layer in ((xlarge, xlarge, 40), (small, small, 5), (f"{small}@4", small, 4), (named, named, 17)):
        assert checkpoint_layer(given) == (Path(place), layer)
    other = folder("d", '{"model_type": "bert", "num_hidden_layers": 3}')
    for given, message in (
        (other, r"of the kind bert with 3 layers\. Give FOLDER@LAYER"),
        (f"{other}@last", "what stands behind @ is the number of a layer"),
        (folder("e", "["), "not JSON"),
    ):
        with pytest.raises(UsageError, match=message):
            checkpoint_layer(given)
    with pytest.raises(MissingError, match="Nothing is downloaded here"):
        checkpoint_layer(str(tmp_path / "nowhere"))


PAIRS = [("No fracture.", "There is no fracture of the hip."), ("", "Normal."), ("Normal.", ""), ("Normal.", "Normal.")]


@pytest.mark.upstream
@needs_shared
def test_bertscore() -> None:
    folder = SHARED / "fixtures" / "bertscore" / "tiny-distilbert"
    values = [row["bertscore"] for row in text_metrics(PAIRS, {"bertscore": f"{folder}@4"})]
    scorer = open_bertscore(folder, layer=4)
    wanted = scorer.score([PAIRS[0][0]], [PAIRS[0][1]])[0].f1
    scorer.close()
    assert values == pytest.approx([wanted, 0.0, math.nan, 1.0], abs=1e-5, nan_ok=True)
    assert text_identity({"bertscore": f"{folder}@4"})["bertscore"]["layer"] == "4"
    assert text_identity({"bertscore": str(folder)})["bertscore"]["layer"] == "5"


def test_bleurt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bleurt").mkdir()
    make_word_bleurt(tmp_path / "bleurt")
    folder = str(tmp_path / "bleurt")
    long = ("Normal. " * 40, "Normal.")
    values = [row["bleurt"] for row in text_metrics([*PAIRS, long], {"bleurt": folder})]
    wanted = open_bleurt(folder).score([(reference, output) for output, reference in (*PAIRS, long)])
    wanted[2] = math.nan
    assert values == pytest.approx(wanted, abs=1e-5, nan_ok=True)
    assert values[0] != pytest.approx(open_bleurt(folder).score([PAIRS[0]])[0])  # which is which matters
    assert "note: bleurt: 1 texts are longer" in capsys.readouterr().err
    assert text_identity({"bleurt": folder})["bleurt"]


@pytest.mark.skipif(importlib.util.find_spec("radgraph") is not None, reason="the package radgraph is installed")
def test_radgraph_without_its_package(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="needs the package radgraph"):
        text_metrics(PAIRS, {"radgraph": str(tmp_path)})
    with pytest.raises(MissingError, match="needs the package radgraph"):
        text_identity({"radgraph": str(tmp_path)})
