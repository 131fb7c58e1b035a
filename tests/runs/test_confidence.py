"""Stated confidence: the question, the reading of the answer, and the reported figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import medical_tasks as mt
from medical_tasks.benchmarks.ehrnoteqa.scoring import probability_score
from medical_tasks.catalog import tasks as all_tasks
from medical_tasks.errors import UsageError
from medical_tasks.models.base import ChoiceScores
from medical_tasks.report.confidence import confidence_notes, confidence_plots
from medical_tasks.report.markdown import render_markdown
from medical_tasks.runs.confidence import (
    UNCLEAR,
    UNDECIDED,
    UNREAD,
    ConfidenceFigures,
    asking_for_confidence,
    check_askable,
    confidence_cells,
    confidence_figures,
    with_confidence,
)
from medical_tasks.runs.results import read_items, read_results
from medical_tasks.scoring.stated_confidence import INSTRUCTION
from medical_tasks.spec import (
    Item,
    ItemScore,
    Message,
    MetricSpec,
    Probabilities,
    PromptSet,
    TaskSpec,
)
from tests.conftest import Serving
from tests.fault_server import Call
from tests.run_files import task_entry, write_responses
from tests.support import toy_task

TASK = toy_task(
    MetricSpec(name="right", kind="proportion", description="right", read=True)
)


def item(name: str) -> Item:
    return Item(id=name, fields={}, groups={}, cluster=name)


def score(name: str, right: float | None, confidence: float | None) -> ItemScore:
    values = {} if right is None else {"right": right}
    item_score = ItemScore(id=name, values=values, unscored=None if values else "judge")
    return with_confidence(item_score, confidence)


def figures(*repeats: Sequence[ItemScore], task: TaskSpec = TASK) -> ConfidenceFigures:
    by_id = [{score.id: score for score in repeat} for repeat in repeats]
    names = dict.fromkeys(name for scores in by_id for name in scores)
    items = [item(name) for name in names]
    return confidence_figures(task, items, by_id, source="asked")


def test_the_instruction_ends_the_last_question_and_is_in_the_hash() -> None:
    chat: tuple[Message, ...] = (
        {"role": "system", "content": "You are a physician."},
        {"role": "user", "content": "What is the BMI?\n"},
    )
    plain = PromptSet(name="own", sha256="0" * 64, render=lambda item: chat)
    prompts = asking_for_confidence(plain)
    first, last = prompts.render(item("1"))
    assert first == chat[0]
    assert last["content"] == f"What is the BMI?\n\n{INSTRUCTION}"
    assert prompts.sha256 != plain.sha256
    assert "confidence_sha256" in prompts.settings
    prefill: Message = {"role": "assistant", "content": "{"}
    with pytest.raises(UsageError, match="itself begins the model's answer"):
        asking_for_confidence(
            replace(plain, render=lambda item: (*chat, prefill))
        ).render(item("1"))


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("medcalc", "baseline/reference", "asked nothing.*Leave it out"),
        ("medcalc_code", "hf/m", "medcalc_code continue after the first answer"),
        ("ehrnoteqa_mc_prob_index_level1", "hf/m", "report confidence without it"),
    ],
)
def test_tasks_and_models_without_stated_confidence_are_refused(
    task: str, model: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check_askable([all_tasks()[task]], model)


def test_answers_that_do_not_count_are_counted_by_reason() -> None:
    unclear = ItemScore(
        id="u", values={"right": 0.0}, unclear="two", limits={"right": (0.0, 1.0)}
    )
    result = figures(
        [
            score("a", 1.0, 0.9),
            score("b", 0.0, 0.6),
            score("c", 1.0, None),
            score("d", None, 0.8),
            with_confidence(unclear, 0.7),
        ]
    )
    assert (result["answers"], result["stated"], result["n"]) == (5, 4, 2)
    assert result["left_out"] == {UNREAD: 1, UNDECIDED: 1, UNCLEAR: 1}
    assert result["mean_confidence"]["value"] == pytest.approx(0.75)
    assert result["accuracy"]["value"] == 0.5
    # (0.1² + 0.6²) / 2, and 0.5 * 0.5 by the base rate
    assert result["brier"]["value"] == pytest.approx(0.185)
    assert result["brier"]["reference"] == 0.25
    assert result["auroc"]["value"] == 1.0
    (only_bin,) = result["bins"]
    assert (only_bin["n"], only_bin["low"], only_bin["high"]) == (2, 0.6, 0.9)


def test_repeats_count_each_answer_in_the_cluster_of_its_item() -> None:
    once = [score(str(n), float(n % 3 > 0), 0.8) for n in range(60)]
    single, three = figures(once), figures(once, once, once)
    assert three["n"] == 180
    widths = [
        result["brier"]["ci_high"] - result["brier"]["ci_low"]  # type: ignore[operator]
        for result in (single, three)
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    repeats = [{"1": score("1", 1.0, confidence)} for confidence in (0.9, None, 0.6)]
    assert confidence_cells("1", repeats) == {
        "confidence": pytest.approx(0.75),
        "confidence_repeat_1": 0.9,
        "confidence_repeat_2": None,
        "confidence_repeat_3": 0.6,
    }


def test_shares_have_a_curve_alone_and_averages_nothing() -> None:
    share = toy_task(MetricSpec(name="right", kind="mean", description="share"))
    result = figures([score("a", 0.8, 0.9), score("b", 0.2, 0.1)], task=share)
    assert "ece" not in result
    assert "auroc" not in result
    assert result["aurc"]["value"] == pytest.approx((0.2 + 0.5) / 2)
    assert "right is a share of each answer" in result["reason"]
    average = toy_task(MetricSpec(name="right", kind="average", description="x"))
    result = figures([score("a", 0.8, 0.9)], task=average)
    assert "curve" not in result
    assert "no value of a single answer" in result["reason"]


def test_no_answer_counts() -> None:
    result = figures([score("a", 1.0, None)])
    assert (result["n"], "ece" in result) == (0, False)
    assert confidence_notes({"confidence": result}) == [
        "confidence (a line that it was asked for), of 0 of 1 answers (left out: 1 x no "
        "confidence)."
    ]
    assert confidence_plots({"confidence": result}) == []


def choice(answer: str, gold: str) -> ItemScore:
    task = all_tasks()["ehrnoteqa_mc_prob_index_level1"]
    fields = {"answer": gold, "choices": ["one", "two", "three"]}
    question = Item(id=gold, fields=fields, groups={}, cluster="1")
    return with_confidence(probability_score(task, question, answer), None)


def test_choices_have_the_softmax_of_the_sums_that_decide() -> None:
    # ln 6/10, 3/10, 1/10 of a third of all probability
    text = ChoiceScores(
        logprobs=(-1.609438, -2.302585, -3.401197), tokens=(1, 2, 3)
    ).to_text()
    choice_score = choice(text, "B")
    assert choice_score.probabilities == Probabilities(
        shares=pytest.approx((0.6, 0.3, 0.1), abs=1e-6),  # type: ignore[arg-type]
        right=1,
    )
    assert choice_score.confidence == pytest.approx(0.6)
    accuracy = toy_task(MetricSpec(name="accuracy", kind="proportion", description=""))
    by_choice = figures([choice_score], task=accuracy)
    # 0.6² + 0.7² + 0.1², and 2/3 by equal shares
    assert by_choice["brier_choices"]["value"] == pytest.approx(0.86)
    assert by_choice["brier_choices"]["reference"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ('{"logprobs": [-0.01, null, null], "tokens": [1, 1, 1], "below": -12}', True),
        ('{"logprobs": [-0.9, -1.2, null], "tokens": [1, 1, 1], "below": -3}', False),
        ('{"logprobs": [null, null, null], "tokens": [1, 1, 1], "below": -3}', False),
        ("", False),
    ],
)
def test_confidence_needs_choices_that_could_change_it(
    text: str, is_known: bool
) -> None:
    assert (choice(text, "A").confidence is not None) == is_known


def answer(call: Call) -> str:
    """A confidence that depends on the length of the question, stated in words in one of three."""
    assert INSTRUCTION.splitlines()[-1] in call.prompt
    length = len(call.prompt)
    confidence = "high" if length % 3 == 0 else f"{50 + length % 50}%"
    return f'{{"answer": "95"}}\nConfidence: {confidence}'


@pytest.mark.usefixtures("demo_home")
def test_a_run_from_question_to_report(serving: Serving, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving() as server:
        results = mt.run(
            "medcalc_direct", "openai-api/test-host/m", config="demo", confidence="asked",
            max_samples=12, out=out,
        )  # fmt: skip
        question_count = len(server.calls)
    entry = task_entry(out, "medcalc_direct")
    rows = read_items(out)
    # The confidence is never read as the answer; 95 does not answer a question for a date.
    assert {row["parsed"] for row in rows} == {"", "95"}
    stated = [row["confidence"] for row in rows if row["confidence"] is not None]
    assert entry["confidence"]["stated"] == len(stated)
    assert 0 < len(stated) < len(rows) == question_count
    assert entry["recipe"]["confidence"] == "asked"
    assert "the model was also asked how sure it is" in entry["paper"]["why"]
    assert results.folder == out
    # Scored again from the store, without a server, the figures are the same.
    again = tmp_path / "again"
    mt.score("medcalc_direct", out, config="demo", out=again)
    rescored = task_entry(again, "medcalc_direct")
    assert rescored["confidence"] == entry["confidence"]
    report_path = mt.report(out, out=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report_path
    assert "Risk and coverage" in page
    assert "mt-diagonal" in page
    assert "Mean confidence" in page
    assert "AUROC" in confidence_notes(entry)[0]
    assert confidence_notes(entry)[0] in render_markdown(read_results(out))


@pytest.mark.usefixtures("demo_home")
def test_confidence_in_a_file_of_answers_and_a_run_without_it(tmp_path: Path) -> None:
    answers: Mapping[str, str] = {
        str(n): f"The answer is 25.\nConfidence: {n}0%" for n in range(1, 10)
    }
    responses = tmp_path / "answers.jsonl"
    write_responses(responses, answers)
    out = tmp_path / "scored"
    mt.score("medcalc_direct", responses, config="demo", confidence="asked", out=out)
    entry = task_entry(out, "medcalc_direct")
    assert entry["confidence"]["stated"] == 9
    run = tmp_path / "run"
    mt.run("medcalc_direct", "baseline/reference", config="demo", out=run)
    entry = task_entry(run, "medcalc_direct")
    assert "confidence" not in entry
    assert "confidence" not in read_items(run)[0]


@pytest.mark.usefixtures("demo_home")
def test_shards_and_repeats_have_the_figures_of_a_single_run(
    serving: Serving, tmp_path: Path
) -> None:
    with serving():
        shards = {"whole": None, "1": "1/2", "2": "2/2"}
        for name, shard in shards.items():
            mt.run(
                "medcalc_direct", "openai-api/test-host/m", config="demo", confidence="asked",
                out=tmp_path / name, shard=shard,
            )  # fmt: skip
        mt.run(
            "medcalc_direct", "openai-api/test-host/m", config="demo", confidence="asked",
            out=tmp_path / "again", repeats=2,
        )  # fmt: skip
    mt.merge(tmp_path / "1", tmp_path / "2", out=tmp_path / "merged")
    whole, merged, again = (
        task_entry(tmp_path / name, "medcalc_direct")["confidence"]
        for name in ("whole", "merged", "again")
    )
    assert merged == whole
    assert again["answers"] == 2 * whole["answers"]
    assert again["brier"]["value"] == pytest.approx(whole["brier"]["value"])
    row = read_items(tmp_path / "again")[0]
    assert row["confidence_repeat_2"] == row["confidence"]
    # Brier scores are compared like any mean over items, except in runs with repeats.
    compared = mt.compare(tmp_path / "whole", tmp_path / "merged")
    assert "confidence_brier" in json.dumps(dict(compared))
    repeated = mt.compare(tmp_path / "whole", tmp_path / "again")
    assert "confidence_brier" not in json.dumps(dict(repeated))
