from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rich.markup import render

from medical_tasks.benchmarks.medcalc_bench.spec import DATASET, MEDCALC
from medical_tasks.cli.entry import main
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
