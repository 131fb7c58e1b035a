"""`score-text` and `mt.score_text`: the text metrics on a table of predictions and references."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.errors import MedicalTasksError
from medical_tasks.models.text_metrics import (
    MODEL_METRICS,
    POOLED,
    WORD_METRICS,
    score_texts,
)
from medical_tasks.scoring.bleu_and_sari import bleu_corpus, sacrebleu_corpus
from medical_tasks.scoring.means import mean_interval
from tests.case_tables import cases, json_of
from tests.models.tiny_bleurt import PAIRS, make_word_bleurt
from tests.scoring.text_cases import triples
from tests.support import needs_shared

_NAMES = ("who", "response", "gold", "second", "source")
_TEXTS = (
    ("a", "No acute fracture is seen.", "There is no acute fracture.", "", "X-ray?"),
    (
        "a",
        "The rash; it has gone.",
        "The rash has resolved.",
        "The rash; it has gone.",
        "Rash?",
    ),
    ("b", "", "Take it with food.", "", "How?"),
)
ROWS = [dict(zip(_NAMES, texts, strict=True)) for texts in _TEXTS]


@needs_shared
@pytest.mark.upstream
def test_recorded_numbers_of_the_reference_implementations() -> None:
    rows = [row for row in triples() if all(map(str.strip, row["references"]))]
    assert len(rows) > 20
    expected: dict[str, Any] = {
        "rouge1": lambda recorded: recorded["rouge"]["rouge1"]["f"],
        "rougeL_recall": lambda recorded: recorded["rouge"]["rougeL"]["r"],
        "rougeLsum_precision": lambda recorded: recorded["rouge"]["rougeLsum"]["p"],
        "bleu": lambda recorded: recorded["evaluate_bleu"].get("bleu", 0.0),
        "sacrebleu": lambda recorded: recorded["sacrebleu_sentence"] / 100,
        "sari": lambda recorded: recorded["sari"] / 100,
        "exact_match": lambda recorded: recorded["exact_match_first_ref"],
    }
    single = [row for row in rows if len(row["references"]) == 1]
    Path("t.jsonl").write_text(
        "\n".join(json.dumps(row | {"reference": row["references"]}) for row in single),
        "utf-8",
    )
    results = mt.score_text("t.jsonl", metrics=expected)
    for name, recorded_value in expected.items():
        values = [recorded_value(row["expected"]) for row in single]
        actual = [row[name] for row in results["rows"]]
        assert actual == pytest.approx(values, abs=1e-9), name
        mean = sum(values) / len(values)
        assert results.metrics[name].value == pytest.approx(mean)
    predictions = [row["prediction"] for row in rows]
    references = [row["references"] for row in rows]
    pooled, _ = score_texts(predictions, references, POOLED)
    for name, corpus_metric in (
        ("bleu_corpus", bleu_corpus),
        ("sacrebleu_corpus", sacrebleu_corpus),
    ):
        assert pooled[name].value == pytest.approx(
            corpus_metric(predictions, references).score, abs=1e-12
        )
        for row in rows:  # also where orders have no match, or no n-gram
            pair = [row["prediction"]], [row["references"]]
            assert score_texts(*pair, [name])[0][name].value == pytest.approx(
                corpus_metric(*pair).score, abs=1e-12
            )


def test_command_and_python_give_the_same_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Path("t.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, ROWS[0], delimiter=";")
        writer.writeheader()
        writer.writerows(ROWS)
    words = ["score-text", "t.csv", "--reference", "gold,second", "--cluster", "who"]
    assert main([*words, "--json", "--out", "out.json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert results == json_of(Path("out.json"))
    assert list(results["metrics"]) == list(WORD_METRICS)
    # either of two references may match
    assert results["metrics"]["exact_match"]["value"] == pytest.approx(1 / 3)
    assert results["notes"] == [
        "1 of 3 predictions are empty; they are scored as they are."
    ]
    assert not [
        text
        for row in ROWS
        for text in (row["response"], row["gold"])
        if text and text in json.dumps(results)
    ]
    values = [row["rougeL"] for row in results["rows"]]
    interval = mean_interval(values, clusters=["a", "a", "b"])
    assert results["metrics"]["rougeL"] == {
        "value": interval.value,
        "ci_low": interval.ci_low,
        "ci_high": interval.ci_high,
        "n": 3,
    }
    import pandas as pd

    for table in (ROWS, pd.DataFrame(ROWS).replace("", None), "t.csv"):
        assert (
            mt.score_text(table, reference="gold,second", cluster="who")["metrics"]
            == results["metrics"]
        )
    plain = mt.score_text(
        ["The rash; it has gone."],
        [["a", "The rash; it has gone."]],
        metrics="exact_match",
    )
    assert plain.metrics["exact_match"].value == 1.0
    assert "texts  prediction  exact_match  100.0 %" in repr(plain)
    assert list(plain.table["n"]) == [1]


def test_a_checkpoint_scores_the_best_reference(tmp_path: Path) -> None:
    make_word_bleurt(tmp_path / "bleurt")
    args = {"bleurt": str(tmp_path / "bleurt")}
    prediction, similar = PAIRS[0]
    values = [
        mt.score_text([prediction], [reference], metrics="bleurt", task_args=args)
        .metrics["bleurt"]
        .value
        for reference in (similar, "no")
    ]
    both = mt.score_text(
        [prediction], [["no", similar]], metrics=["bleurt"], task_args=args
    )
    assert abs(values[0] - values[1]) > 1e-4  # type: ignore[operator]
    assert both.metrics["bleurt"].value == pytest.approx(max(values), abs=1e-6)  # type: ignore[type-var]
    assert both["models"]["bleurt"] == MODEL_METRICS["bleurt"].identity(args["bleurt"])


@pytest.mark.parametrize(("options", "message"), cases(__file__, "WRONG"))
def test_wrong_use(options: dict[str, Any], message: str) -> None:
    plain = [{name: row[name] for name in ("response", "gold")} for row in ROWS]
    with pytest.raises(MedicalTasksError, match=message):
        mt.score_text(**{"table": plain, **options})
