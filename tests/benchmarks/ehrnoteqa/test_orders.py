"""EHRNoteQA's choices in several orders, from prompts to a run's files."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest

from medical_tasks.benchmarks.ehrnoteqa.prompts import (
    FORMS,
    INTRODUCTION,
    PARAPHRASED,
    gold_response,
    load_prompts,
)
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from medical_tasks.runs.results import read_results
from medical_tasks.scoring.choice_orders import is_control
from tests.benchmarks.common import write_jsonl
from tests.benchmarks.ehrnoteqa.tiny_items import demo_items, task_of
from tests.support import user_message

ORDERS = {"order": "all", "wording": "paraphrase"}
FORMS_WITH_CHOICES = ("mc", "mc_prob_index")


# Hashes of ids, prompts, continuations and groups at commit 7daf8967, before there were orders.
BEFORE = {
    "mc": "41f7d025dd6bd84751cbc7e7d75b25a82f57eb0c48d19e525e2798fa6c6c1794",
    "mc_prob_index": "3effd836d980204185c0f91773f4bcbff2d316e83db0b57c49e83f958a3275dc",
    "mc_prob_value": "72040057862b8caa04920d3ce9eedab49beb95a3d63aa327137b5945dcb15835",
}


@pytest.mark.parametrize("form", BEFORE)
def test_without_an_order_prompts_are_unchanged(form: str) -> None:
    task = task_of(form)
    prompts = load_prompts(task)
    rendered = [
        [
            item.id,
            prompts.render(item),
            prompts.continuations(item) if prompts.continuations else None,
            item.cluster,
            dict(item.groups),
        ]
        for item in demo_items(task)
    ]
    text = json.dumps([prompts.sha256, rendered])
    assert hashlib.sha256(text.encode()).hexdigest() == BEFORE[form]


@pytest.mark.parametrize("form", FORMS_WITH_CHOICES)
def test_prompts_of_another_order(form: str) -> None:
    task = task_of(form).asked_with(ORDERS)
    first_item, second, *_, control = demo_items(task)[:6]
    prompts, usual = load_prompts(task), load_prompts(task_of(form))
    plain = user_message(usual, demo_items(task_of(form))[0])
    # The first order is that of a run without orders, so that its stored answers are used.
    assert user_message(prompts, first_item) == plain
    first, *others = first_item.fields["choices"]
    turned = "\n".join(
        f"{letter}. {text}"
        for letter, text in zip("ABCDE", [*others, first], strict=True)
    )
    assert turned in user_message(prompts, second)
    words = PARAPHRASED[form]
    assert user_message(prompts, control) == plain.replace(
        INTRODUCTION, words["introduction"]
    ).replace(FORMS[form], words["last"])
    assert is_control(control)
    assert prompts.sha256 != usual.sha256


def test_orders_need_our_prompts_with_choices() -> None:
    for form in ("open", "mc_prob_value"):
        assert not task_of(form).item_arguments
    with pytest.raises(UsageError, match="second wording of our prompts"):
        load_prompts(task_of("mc").asked_with(ORDERS), "official")


@pytest.mark.parametrize("form", FORMS_WITH_CHOICES)
def test_gold_has_full_marks_in_every_order(form: str) -> None:
    task = task_of(form).asked_with(ORDERS)
    items = demo_items(task)
    answers = [gold_response(task, item) for item in items]
    readings: dict[str, str] | None = {} if form == "mc" else None
    scores = score_items(task, items, answers, readings=readings)
    expected = {
        "always_right": 1.0,
        "flip_rate": 0.0,
        "flip_rate_wording": 0.0,
        "flip_excess": 0.0,
    }
    for name, best in expected.items():
        values = [score.values[name] for score in scores]
        assert [value for value in values if not math.isnan(value)] == [best] * 8
    right = "letter_accuracy" if form == "mc" else "accuracy"
    values = [score.values[right] for score in scores]
    assert [value for value in values if not math.isnan(value)] == [1.0] * 40


RUN = ["--judge", "lexical", "--config", "demo", "--out"]
TASK = "ehrnoteqa_mc_level1"


def _metrics(run: Path) -> dict[str, float | None]:
    metrics = read_results(run)["tasks"][TASK]["metrics"]
    return {name: figure["value"] for name, figure in metrics.items()}


@pytest.mark.usefixtures("demo_home")
def test_shards_files_and_sheets_reproduce_the_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random = ["run", "--tasks", TASK, "--model", "baseline/random"]
    drawn = ["--task-args", "order=3,order_seed=4"]
    assert main([*random, *drawn, *RUN, "whole"]) == 0
    whole = _metrics(here / "whole")
    assert {"accuracy", "always_right", "flip_rate"} <= whole.keys()
    assert "flip_rate_wording" not in whole
    # Shards keep the orders of a question together.
    for shard in ("1", "2"):
        assert (
            main([*random, *drawn, "--shard", f"{shard}/2", *RUN, f"part{shard}"]) == 0
        )
    merged = ["merge", "part1", "part2", "--judge", "lexical", "--out", "merged"]
    assert main(merged) == 0
    assert _metrics(here / "merged") == whole
    # A run without orders has other items.
    assert main([*random, *RUN, "plain"]) == 0
    capsys.readouterr()
    assert main(["compare", "whole", "plain"]) == 2
    assert "their questions were made otherwise: order 3" in capsys.readouterr().err
    import pandas as pd

    # Answers from a file, one of which is unclear until a person reads it.
    rows = pd.read_parquet(here / "whole" / "items.parquet")
    answers = [
        {"id": name, "response": "A or B." if not number else "The answer is C."}
        for number, name in enumerate(rows["id"])
    ]
    write_jsonl(here / "answers.jsonl", answers)
    score = ["score", TASK, "--responses", "answers.jsonl", *drawn, *RUN]
    assert main([*score, "scored"]) == 0
    entry = read_results(here / "scored")["tasks"][TASK]
    chosen = entry["breakdown"]["chosen_place"]["C"]["place_preference"]
    assert chosen["value"] == pytest.approx(0.8)
    assert chosen["bound_low"] < 0.8
    # The test of positions works without the answers' texts.
    assert chosen["p"] < chosen["p_holm"] < 0.01
    assert entry["metrics"]["flip_rate"]["value"] == 1.0
    assert main(["adjudicate", "scored", "--responses", "answers.jsonl", "--out", "sheet.csv"]) == 0  # fmt: skip
    sheet = pd.read_csv(here / "sheet.csv", dtype=str, keep_default_na=False)
    assert len(sheet) == 1
    first = pd.read_parquet(here / "scored" / "items.parquet").iloc[1]
    shown = sheet["id"][0].partition("@")[2]
    same = first["id"].partition("@")[2][2]  # the second order's choice C
    sheet["reading"] = "ABCDE"[shown.index(same)]
    sheet.to_csv(here / "sheet.csv", index=False)
    assert main([*score, "decided", "--adjudicated", "sheet.csv"]) == 0
    decided = read_results(here / "decided")["tasks"][TASK]["metrics"]["flip_rate"]
    # One of three pairs of the first question agrees, of eight questions.
    assert decided["value"] == pytest.approx(1 - 1 / 3 / 8)
    assert decided["bound_low"] == decided["value"]
