"""Asking how sure a model is: what is asked, what is taken off, and what is reported."""

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
from tests.support import toy_task

TASK = toy_task(
    MetricSpec(name="right", kind="proportion", description="right", read=True)
)


def item(name: str, cluster: str = "") -> Item:
    return Item(id=name, fields={}, groups={}, cluster=cluster or name)


def score(name: str, right: float | None, sure: float | None) -> ItemScore:
    values = {} if right is None else {"right": right}
    made = ItemScore(id=name, values=values, unscored=None if values else "judge")
    return with_confidence(made, sure)


def figures(*repeats: Sequence[ItemScore], task: TaskSpec = TASK) -> ConfidenceFigures:
    by_id = [{each.id: each for each in repeat} for repeat in repeats]
    items = [
        item(name) for name in dict.fromkeys(name for one in by_id for name in one)
    ]
    return confidence_figures(task, items, by_id, source="asked")


def test_the_instruction_ends_the_last_question_and_the_hash_says_so() -> None:
    chat: tuple[Message, ...] = (
        {"role": "system", "content": "You are a physician."},
        {"role": "user", "content": "What is the BMI?\n"},
    )
    plain = PromptSet(name="own", sha256="0" * 64, render=lambda item: chat)
    asked = asking_for_confidence(plain)
    first, last = asked.render(item("1"))
    assert first == chat[0]
    assert last["content"] == f"What is the BMI?\n\n{INSTRUCTION}"
    assert asked.sha256 != plain.sha256
    assert "confidence_sha256" in asked.settings
    begun: Message = {"role": "assistant", "content": "{"}
    with pytest.raises(UsageError, match="itself begins the model's answer"):
        asking_for_confidence(
            replace(plain, render=lambda item: (*chat, begun))
        ).render(item("1"))


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("medcalc", "baseline/reference", "asked nothing.*Leave it out"),
        ("medcalc_code", "hf/m", "medcalc_code continue after the first answer"),
        ("ehrnoteqa_mc_prob_index_level1", "hf/m", "report confidence without it"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(
    task: str, model: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check_askable([all_tasks()[task]], model)


def test_answers_that_do_not_count_are_counted_by_reason() -> None:
    unclear = ItemScore(
        id="u", values={"right": 0.0}, unclear="two", limits={"right": (0.0, 1.0)}
    )
    found = figures(
        [
            score("a", 1.0, 0.9),
            score("b", 0.0, 0.6),
            score("c", 1.0, None),
            score("d", None, 0.8),
            with_confidence(unclear, 0.7),
        ]
    )
    assert (found["answers"], found["stated"], found["n"]) == (5, 4, 2)
    assert found["left_out"] == {UNREAD: 1, UNDECIDED: 1, UNCLEAR: 1}
    assert found["mean_confidence"]["value"] == pytest.approx(0.75)
    assert found["accuracy"]["value"] == 0.5
    # (0.1² + 0.6²) / 2, and 0.5 * 0.5 by the base rate
    assert found["brier"]["value"] == pytest.approx(0.185)
    assert found["brier"]["reference"] == 0.25
    assert found["auroc"]["value"] == 1.0
    (one,) = found["bins"]
    assert (one["n"], one["low"], one["high"]) == (2, 0.6, 0.9)


def test_repeats_count_each_answer_in_the_cluster_of_its_item() -> None:
    once = [score(str(n), float(n % 3 > 0), 0.8) for n in range(60)]
    alone, three = figures(once), figures(once, once, once)
    assert three["n"] == 180
    widths = [
        each["brier"]["ci_high"] - each["brier"]["ci_low"]  # type: ignore[operator]
        for each in (alone, three)
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    repeats = [{"1": score("1", 1.0, sure)} for sure in (0.9, None, 0.6)]
    assert confidence_cells("1", repeats) == {
        "confidence": pytest.approx(0.75),
        "confidence_repeat_1": 0.9,
        "confidence_repeat_2": None,
        "confidence_repeat_3": 0.6,
    }


def test_shares_have_a_curve_alone_and_averages_nothing() -> None:
    share = toy_task(MetricSpec(name="right", kind="mean", description="share"))
    found = figures([score("a", 0.8, 0.9), score("b", 0.2, 0.1)], task=share)
    assert "ece" not in found
    assert "auroc" not in found
    assert found["aurc"]["value"] == pytest.approx((0.2 + 0.5) / 2)
    assert "right is a share of each answer" in found["reason"]
    average = toy_task(MetricSpec(name="right", kind="average", description="x"))
    found = figures([score("a", 0.8, 0.9)], task=average)
    assert "curve" not in found
    assert "no value of a single answer" in found["reason"]


def test_no_answer_counts() -> None:
    found = figures([score("a", 1.0, None)])
    assert (found["n"], "ece" in found) == (0, False)
    assert confidence_notes({"confidence": found}) == [
        "confidence (a line that it was asked for), of 0 of 1 answers (left out: 1 x no "
        "confidence)."
    ]
    assert confidence_plots({"confidence": found}) == []


def choice(answer: str, gold: str) -> ItemScore:
    task = all_tasks()["ehrnoteqa_mc_prob_index_level1"]
    fields = {"answer": gold, "choices": ["one", "two", "three"]}
    asked = Item(id=gold, fields=fields, groups={}, cluster="1")
    return with_confidence(probability_score(task, asked, answer), None)


def test_choices_have_the_softmax_of_the_sums_that_decide() -> None:
    # ln 6/10, 3/10, 1/10 of a third of all probability
    written = ChoiceScores(
        logprobs=(-1.609438, -2.302585, -3.401197), tokens=(1, 2, 3)
    ).to_text()
    found = choice(written, "B")
    assert found.probabilities == Probabilities(
        shares=pytest.approx((0.6, 0.3, 0.1), abs=1e-6),  # type: ignore[arg-type]
        right=1,
    )
    assert found.confidence == pytest.approx(0.6)
    accuracy = toy_task(MetricSpec(name="accuracy", kind="proportion", description=""))
    by_choice = figures([found], task=accuracy)
    # 0.6² + 0.7² + 0.1², and 2/3 by equal shares
    assert by_choice["brier_choices"]["value"] == pytest.approx(0.86)
    assert by_choice["brier_choices"]["reference"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ('{"logprobs": [-0.01, null, null], "tokens": [1, 1, 1], "below": -12}', True),
        ('{"logprobs": [-0.9, -1.2, null], "tokens": [1, 1, 1], "below": -3}', False),
        ('{"logprobs": [null, null, null], "tokens": [1, 1, 1], "below": -3}', False),
        ("", False),
    ],
)
def test_choices_that_a_server_does_not_report_matter_where_they_could(
    written: str, known: bool
) -> None:
    assert (choice(written, "A").confidence is not None) == known


def answer(call: Call) -> str:
    """Is surer of longer questions; one in three says it in words."""
    assert INSTRUCTION.splitlines()[-1] in call.prompt
    length = len(call.prompt)
    sure = "high" if length % 3 == 0 else f"{50 + length % 50}%"
    return f'{{"answer": "95"}}\nConfidence: {sure}'


@pytest.mark.usefixtures("demo_home")
def test_a_run_from_question_to_report(serving: Serving, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving() as server:
        results = mt.run(
            "medcalc_direct", "openai-api/test-host/m", config="demo", confidence="asked",
            max_samples=12, out=out,
        )  # fmt: skip
        asked = len(server.calls)
    entry = read_results(out)["tasks"]["medcalc_direct"]
    rows = read_items(out)
    # Never the confidence; for a date 95 is no answer.
    assert {row["parsed"] for row in rows} == {"", "95"}
    stated = [row["confidence"] for row in rows if row["confidence"] is not None]
    assert entry["confidence"]["stated"] == len(stated)
    assert 0 < len(stated) < len(rows) == asked
    assert entry["recipe"]["confidence"] == "asked"
    assert "the model was also asked how sure it is" in entry["paper"]["why"]
    assert results.folder == out
    # Scored again from the store, without a server, it says the same.
    again = tmp_path / "again"
    mt.score("medcalc_direct", out, config="demo", out=again)
    assert (
        read_results(again)["tasks"]["medcalc_direct"]["confidence"]
        == (entry["confidence"])
    )
    made = mt.report(out, out=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert made
    assert "Risk and coverage" in page
    assert "mt-diagonal" in page
    assert "Mean confidence" in page
    assert "AUROC" in confidence_notes(entry)[0]
    assert confidence_notes(entry)[0] in render_markdown(read_results(out))


@pytest.mark.usefixtures("demo_home")
def test_answers_of_a_file_and_a_run_that_was_not_asked(tmp_path: Path) -> None:
    answers: Mapping[str, str] = {
        str(n): f"The answer is 25.\nConfidence: {n}0%" for n in range(1, 10)
    }
    given = tmp_path / "answers.json"
    records = [{"id": name, "response": text} for name, text in answers.items()]
    given.write_text(json.dumps(records), encoding="utf-8")
    out = tmp_path / "scored"
    mt.score("medcalc_direct", given, config="demo", confidence="asked", out=out)
    found = read_results(out)["tasks"]["medcalc_direct"]["confidence"]
    assert found["stated"] == 9
    run = tmp_path / "run"
    mt.run("medcalc_direct", "baseline/reference", config="demo", out=run)
    entry = read_results(run)["tasks"]["medcalc_direct"]
    assert "confidence" not in entry
    assert "confidence" not in read_items(run)[0]


@pytest.mark.usefixtures("demo_home")
def test_parts_and_repeats_say_it_as_one_run_does(
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
        read_results(tmp_path / name)["tasks"]["medcalc_direct"]["confidence"]
        for name in ("whole", "merged", "again")
    )
    assert merged == whole
    assert again["answers"] == 2 * whole["answers"]
    assert again["brier"]["value"] == pytest.approx(whole["brier"]["value"])
    row = read_items(tmp_path / "again")[0]
    assert row["confidence_repeat_2"] == row["confidence"]
    # Their Brier scores are compared as any mean over items, but for runs with repeats.
    compared = mt.compare(tmp_path / "whole", tmp_path / "merged")
    assert "confidence_brier" in json.dumps(dict(compared))
    repeated = mt.compare(tmp_path / "whole", tmp_path / "again")
    assert "confidence_brier" not in json.dumps(dict(repeated))
