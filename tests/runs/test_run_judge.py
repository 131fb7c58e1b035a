"""A run's judge: refused settings, reused verdicts, and the recipe in the results."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from medical_tasks.runs.judging import default_mode, default_votes
from medical_tasks.runs.results import read_items
from tests.case_tables import cases, tabled
from tests.fault_server import Fault, FaultServer
from tests.run_files import edited_entry, task_entry, write_responses

pytestmark = pytest.mark.usefixtures("demo_home")

DEMO = ["--config", "demo"]
SERVED = ["run", "--tasks", "kqa", *DEMO, "--model", "openai-api/some-host/m"]
REFERENCE = ["run", "--tasks", "kqa", *DEMO, "--model", "baseline/reference"]
ANSWERS = cases(__file__, "ANSWERS")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with FaultServer() as server:
        monkeypatch.setenv("SOME_HOST_BASE_URL", server.base_url)
        monkeypatch.setenv("SOME_HOST_API_KEY", "k")
        yield server


@pytest.fixture
def authors(tmp_path: Path) -> Path:
    folder = tmp_path / "authors" / "evaluation" / "prompts"
    folder.mkdir(parents=True)
    for name in ("is_entails.txt", "is_contradict.txt"):
        (folder / name).write_text(
            "{question} {llm_answer} {answer} {gt_answer} {statement}", encoding="utf-8"
        )
    return tmp_path / "authors"


@tabled("words", "code", "message")
def test_judges_are_refused_before_the_model_answers(
    words: list[str],
    code: int,
    message: str,
    model: FaultServer,
    authors: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("v.jsonl").write_text("", encoding="utf-8")
    assert main([*SERVED, *words, "--out", "r"]) == code
    assert message in capsys.readouterr().err
    assert model.calls == []


def test_recorded_verdicts_of_a_judge_of_entailment_give_the_same_scores() -> None:
    assert main([*REFERENCE, "--out", "reference"]) == 0
    ids = [row["id"] for row in read_items(Path("reference"))]
    answers = dict(zip(ids, itertools.cycle(ANSWERS), strict=False))
    write_responses("a.jsonl", answers)
    score = ["score", "kqa", *DEMO, "--responses", "a.jsonl"]
    assert main([*score, "--out", "first"]) == 0
    # The judge was never asked whether the unsure answers are abstentions, nor is that in
    # its file.
    assert (
        main([*score, "--judge", "recorded/first/verdicts.jsonl", "--out", "again"])
        == 0
    )
    first, again = task_entry("first", "kqa"), task_entry("again", "kqa")
    assert {name: metric["value"] for name, metric in first["metrics"].items()} == {
        name: metric["value"] for name, metric in again["metrics"].items()
    }
    assert again["coverage"] == first["coverage"]


def test_requests_with_a_refused_key_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FaultServer(lambda call: Fault.status_code(401)) as server:
        monkeypatch.setenv("SOME_HOST_BASE_URL", server.base_url)
        monkeypatch.setenv("SOME_HOST_API_KEY", "k")
        words = ["--judge", "openai-api/some-host/j", "--judge-args", "concurrency=4"]
        assert main([*REFERENCE, *words, "--out", "r"]) == 5
        # A request that was about to be sent when the run ended counts, too.
        assert task_entry("r", "kqa")["judge"]["calls"] >= len(server.calls) > 0


@tabled("words")
def test_further_processes_of_a_distributed_run_ask_and_write_nothing(
    words: list[str],
    model: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.jsonl").write_text("", encoding="utf-8")
    Path("r").mkdir()
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main([*words, "--out", "r"]) == 0
    assert model.calls == []
    assert list(Path("r").iterdir()) == []
    assert capsys.readouterr().out == ""


def test_answers_to_other_prompts_need_another_folder(
    model: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SERVED, "--out", "one"]) == 0
    assert main([*SERVED, "--max-new-tokens", "7", "--out", "two"]) == 0
    assert main(["score", "kqa", "--responses", "one", "--out", "s"]) == 0
    assert main(["score", "kqa", "--responses", "one", "--out", "s"]) == 0
    assert main(["score", "kqa", "--responses", "two", "--out", "s"]) == 2
    assert "holds another run (asked:" in capsys.readouterr().err


def test_a_damaged_recipe_is_refused(
    model: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SERVED, "--out", "one"]) == 0
    recipe = task_entry("one", "kqa")["recipe"]
    damaged_recipes: list[Any] = [
        {name: recipe[name] for name in recipe if name != "data"},
        {name: recipe[name] for name in recipe if name != "prompts"},
        [],
    ]
    for damaged in damaged_recipes:
        with edited_entry(Path("one"), "kqa") as entry:
            entry["recipe"] = damaged
        assert main(["score", "kqa", "--responses", "one", "--out", "s"]) == 2
        assert "the recipe is damaged" in capsys.readouterr().err


def test_overwritten_results_leave_no_verdicts() -> None:
    assert main([*REFERENCE, "--out", "reference"]) == 0
    ids = [row["id"] for row in read_items(Path("reference"))]
    score = ["score", "kqa", *DEMO, "--responses", "a.jsonl", "--out", "s"]
    for answer, there in (("Rest.", True), ("", False)):
        write_responses("a.jsonl", dict.fromkeys(ids, answer))
        assert main(score) == 0
        assert Path("s/verdicts.jsonl").exists() == there


FIVE_VOTES = replace(KQA, name="five_votes", votes=5)


@tabled("name", "args", "votes")
def test_the_default_votes_of_a_task(
    name: str, args: dict[str, str], votes: int
) -> None:
    assert default_votes(name, args, [FIVE_VOTES]) == votes
    assert default_votes(name, args, [replace(FIVE_VOTES, judge=False), KQA]) == 1


def test_tasks_with_different_judging_need_separate_runs() -> None:
    batched = replace(KQA, name="other", judging="batched")
    assert default_mode([KQA]) == default_mode([]) == "single"
    assert default_mode([batched]) == "batched"
    with pytest.raises(UsageError, match=r"kqa single, other batched.*give --judging"):
        default_mode([KQA, batched])
    with pytest.raises(
        UsageError,
        match=r"\(five_votes 5, kqa 1\)\. Run them one by one, or give --votes",
    ):
        default_votes("openai-api/h/m", {}, [FIVE_VOTES, KQA])
