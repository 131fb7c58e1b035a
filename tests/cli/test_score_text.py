"""`score-text` and `mt.score_text`: a table of predictions and references by the text metrics of the suite."""

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
ROWS = [dict(zip(_NAMES, each, strict=True)) for each in _TEXTS]


@needs_shared
@pytest.mark.upstream
def test_recorded_numbers_of_the_reference_implementations() -> None:
    known_rows = [row for row in triples() if all(map(str.strip, row["references"]))]
    assert len(known_rows) > 20
    expected: dict[str, Any] = {
        "rouge1": lambda told: told["rouge"]["rouge1"]["f"],
        "rougeL_recall": lambda told: told["rouge"]["rougeL"]["r"],
        "rougeLsum_precision": lambda told: told["rouge"]["rougeLsum"]["p"],
        "bleu": lambda told: told["evaluate_bleu"].get("bleu", 0.0),
        "sacrebleu": lambda told: told["sacrebleu_sentence"] / 100,
        "sari": lambda told: told["sari"] / 100,
        "exact_match": lambda told: told["exact_match_first_ref"],
    }
    one = [row for row in known_rows if len(row["references"]) == 1]
    Path("t.jsonl").write_text(
        "\n".join(json.dumps(row | {"reference": row["references"]}) for row in one),
        "utf-8",
    )
    found = mt.score_text("t.jsonl", metrics=expected)
    for name, told in expected.items():
        values = [told(row["expected"]) for row in one]
        assert [row[name] for row in found["rows"]] == pytest.approx(
            values, abs=1e-9
        ), name
        assert found.metrics[name].value == pytest.approx(sum(values) / len(values))
    said, known = (
        [row["prediction"] for row in known_rows],
        [row["references"] for row in known_rows],
    )
    pooled, _ = score_texts(said, known, POOLED)
    for name, whole in (
        ("bleu_corpus", bleu_corpus),
        ("sacrebleu_corpus", sacrebleu_corpus),
    ):
        assert pooled[name].value == pytest.approx(whole(said, known).score, abs=1e-12)
        for row in known_rows:  # also where orders have no match, or no n-gram
            pair = [row["prediction"]], [row["references"]]
            assert score_texts(*pair, [name])[0][name].value == pytest.approx(
                whole(*pair).score, abs=1e-12
            )


def test_every_door_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("t.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, ROWS[0], delimiter=";")
        writer.writeheader()
        writer.writerows(ROWS)
    words = ["score-text", "t.csv", "--reference", "gold,second", "--cluster", "who"]
    assert main([*words, "--json", "--out", "out.json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json_of(Path("out.json"))
    assert list(told["metrics"]) == list(WORD_METRICS)
    # any of two references will do
    assert told["metrics"]["exact_match"]["value"] == pytest.approx(1 / 3)
    assert told["notes"] == [
        "1 of 3 predictions are empty; they are scored as they are."
    ]
    assert not [
        text
        for row in ROWS
        for text in (row["response"], row["gold"])
        if text and text in json.dumps(told)
    ]
    values = [row["rougeL"] for row in told["rows"]]
    interval = mean_interval(values, clusters=["a", "a", "b"])
    assert told["metrics"]["rougeL"] == {
        "value": interval.value,
        "ci_low": interval.ci_low,
        "ci_high": interval.ci_high,
        "n": 3,
    }
    import pandas as pd

    for table in (ROWS, pd.DataFrame(ROWS).replace("", None), "t.csv"):
        assert (
            mt.score_text(table, reference="gold,second", cluster="who")["metrics"]
            == told["metrics"]
        )
    plain = mt.score_text(
        ["The rash; it has gone."],
        [["a", "The rash; it has gone."]],
        metrics="exact_match",
    )
    assert plain.metrics["exact_match"].value == 1.0
    assert "texts  prediction  exact_match  100.0 %" in repr(plain)
    assert list(plain.table["n"]) == [1]


def test_a_checkpoint_takes_the_best_reference(tmp_path: Path) -> None:
    make_word_bleurt(tmp_path / "bleurt")
    args = {"bleurt": str(tmp_path / "bleurt")}
    said, near = PAIRS[0]
    values = [
        mt.score_text([said], [one], metrics="bleurt", task_args=args)
        .metrics["bleurt"]
        .value
        for one in (near, "no")
    ]
    both = mt.score_text([said], [["no", near]], metrics=["bleurt"], task_args=args)
    assert abs(values[0] - values[1]) > 1e-4  # type: ignore[operator]
    assert both.metrics["bleurt"].value == pytest.approx(max(values), abs=1e-6)  # type: ignore[type-var]
    assert both["models"]["bleurt"] == MODEL_METRICS["bleurt"].identity(args["bleurt"])


@pytest.mark.parametrize(("options", "message"), cases(__file__, "WRONG"))
def test_wrong_use(options: dict[str, Any], message: str) -> None:
    plain = [{name: row[name] for name in ("response", "gold")} for row in ROWS]
    with pytest.raises(MedicalTasksError, match=message):
        mt.score_text(**{"table": plain, **options})
