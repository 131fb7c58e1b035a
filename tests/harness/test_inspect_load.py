"""What inspect is told of mistakes, and what is known of a judge before a model answers."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import pytest
from rich.markup import render

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.benchmarks.medcalc_bench.spec import DATASET, MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.harness.judging import HarnessJudge, harness_request
from tests.warm_process import WarmProcess

CASES = json.loads(Path(__file__).with_name("cases").joinpath("inspect_load.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("config", "prompts", "message"), CASES["test_a_users_mistake_is_inspects_own_kind_of_message"]
)
def test_a_users_mistake_is_inspects_own_kind_of_message(
    tmp_path: Path, config: str, prompts: str, message: str
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks.harness.inspect_adapter import load

    folder = tmp_path / "with [brackets]"
    assert main(["build", "medcalc_bench", "--config", "demo", "--out", str(folder)]) == 0
    with pytest.raises(PrerequisiteError) as caught:
        load(MEDCALC, DATASET, config=config, data=str(folder), prompts=prompts, upstream=None)
    # As inspect prints it: rich swallows square brackets that are not escaped.
    told = render(str(caught.value.message)).plain
    assert message.format(folder=folder) in told
    assert "written -T config=demo" in told


@pytest.mark.slow
def test_the_command_shows_no_traceback(tmp_path: Path, warm: WarmProcess) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INSPECT")}
    words = ["-m", "inspect_ai", "eval", "medical_tasks/medcalc", "--model", "mockllm/model", "-T", "config=nope"]
    done = warm.run(words, cwd=tmp_path, environment=environment | {"MEDICAL_TASKS_DATA": str(tmp_path)})
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    assert "has no configuration 'nope'" in " ".join(told.split())


def test_a_judged_task_takes_its_documents_judge_and_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks import _registry

    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "kqa"
    assert main(["build", "kqa", "--config", "demo", "--out", str(folder)]) == 0
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.txt").write_text("Ibuprofen and lisinopril together can harm the kidneys.\n")
    made = _registry.kqa_rag(config="demo", data=str(folder), documents=str(tmp_path / "documents"), top_k=1)
    assert any("harm the kidneys" in str(sample.input) for sample in made.dataset)
    with pytest.raises(PrerequisiteError, match="top_k"):
        _registry.kqa_rag(config="demo", data=str(folder), top_k=0)
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE_VOTES", "none")
    with pytest.raises(PrerequisiteError, match="MEDICAL_TASKS_JUDGE_VOTES must be a whole number from 1, got 'none'"):
        _registry.kqa(config="demo", data=str(folder))


def judge() -> HarnessJudge:
    return HarnessJudge(harness_request())


def test_verdicts_of_a_judge_that_is_not_comparable_are_not_comparable_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not judge().comparable
    file = tmp_path / "verdicts.jsonl"
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", f"recorded/{file}")
    for about, comparable in (({"comparable": False}, False), ({}, True)):
        file.write_text(json.dumps({"id": "i/must/0", "value": "neutral", **about}), encoding="utf-8")
        assert judge().comparable is comparable


def test_what_a_judge_lacks_is_said_before_a_model_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))
    one = judge()
    one.check(KQA)
    assert copy.deepcopy(one) is one
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE_VOTES", "3")
    with pytest.raises(UsageError, match="gives the same reply each time"):
        judge().check(KQA)
    monkeypatch.delenv("MEDICAL_TASKS_JUDGE_VOTES")
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", "openai-api/no-such-host/model")
    with pytest.raises(MissingError, match="NO_SUCH_HOST_BASE_URL"):
        judge().check(KQA)
    monkeypatch.setenv("MEDICAL_TASKS_JUDGE", f"recorded/{tmp_path / 'none.jsonl'}")
    with pytest.raises(MissingError, match="cannot read the recorded verdicts"):
        judge().check(KQA)
