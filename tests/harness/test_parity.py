"""The same answers give the same score through every door: our runner, `score`, lighteval, inspect, evaluate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.catalog import tasks
from medical_tasks.cli import main
from medical_tasks.medcalc_bench.prompts import gold_response, load_prompts
from medical_tasks.medcalc_bench.spec import DATASET, MEDCALC
from medical_tasks.spec import Item
from medical_tasks.task_data import load_task_data
from tests.fault_server import Fault, FaultServer
from tests.support import ROOT

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Script:
    """The demo's questions and an answer to each: right, right in other dress, wrong, silent, unreadable."""

    home: Path
    items: list[Item]
    answers: Mapping[str, str]
    file: Path

    @property
    def by_id(self) -> dict[str, str]:
        prompts = load_prompts(MEDCALC)
        return {item.id: self.answers[prompts.render(item)[0]["content"]] for item in self.items}


def _answer(number: int, item: Item) -> str:
    gold = item.fields["ground_truth_answer"]
    forms = [
        gold_response(MEDCALC, item),
        f"Working it out, the final answer is **{gold}**.",
        '{"step_by_step_thinking": "no", "answer": "999999"}',
        "",
        "I cannot say \u2014 1/0 {",
        f'```json\n{{"answer": "{gold}"}}\n```',
    ]
    return forms[number % len(forms)]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Script:
    home = tmp_path_factory.mktemp("parity")
    assert main(["build", "medcalc_bench", "--config", "demo", "--out", str(home / "medcalc_bench")]) == 0
    items = load_task_data(MEDCALC, DATASET, data=home, config="demo").items
    prompts = load_prompts(MEDCALC)
    answers = {prompts.render(item)[0]["content"]: _answer(number, item) for number, item in enumerate(items)}
    assert len(answers) == len(items) >= 24
    file = home / "answers.json"
    file.write_text(json.dumps(answers), encoding="utf-8")
    return Script(home=home, items=items, answers=answers, file=file)


def _environment(script: Script, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INSPECT")}
    return kept | {
        "MEDICAL_TASKS_DATA": str(script.home),
        "MEDICAL_TASKS_CONFIG": "demo",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(script.home / "hf"),
        "SCRIPTED_ANSWERS": str(script.file),
        **more,
    }


def _run(words: list[str], script: Script, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        env=_environment(script, **environment),
        cwd=script.home,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def expected(script: Script) -> dict[str, float]:
    """What `score` makes of the answers."""
    file = script.home / "responses.jsonl"
    lines = [json.dumps({"id": key, "response": text}) for key, text in script.by_id.items()]
    file.write_text("\n".join(lines), encoding="utf-8")
    words = ["score", "medcalc", "--config", "demo", "--data", str(script.home), "--responses", str(file)]
    assert main([*words, "--out", str(script.home / "scored")]) == 0
    metrics = json.loads((script.home / "scored" / "results.json").read_text())["tasks"]["medcalc"]["metrics"]
    values = {name: metric["value"] for name, metric in metrics.items()}
    assert 0 < values["accuracy_official"] < values["accuracy"] < 1
    return values


def test_lighteval_command(script: Script, expected: dict[str, float]) -> None:
    out = script.home / "lighteval"
    model = str(ROOT / "tests" / "harness" / "scripted_model.py")
    _run(
        ["medical_tasks", "lighteval", "custom", "scripted", model, "medical|medcalc", "--output-dir", str(out)], script
    )
    (file,) = out.glob("results/**/results_*.json")
    found = json.loads(file.read_text())["results"]["medical:medcalc|0"]
    assert {name: found[name] for name in expected} == pytest.approx(expected)


_TABLE = """
import json
from medical_tasks.lighteval_tasks import TASKS_TABLE

print(json.dumps([[config.name, config.hf_repo, config.hf_subset] for config in TASKS_TABLE]))
try:
    TASKS_TABLE[0].prompt_function({"__few_shots": True, "__index": 0}, "medical:medcalc")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_lighteval_finds_every_task_and_leaks_no_example(script: Script) -> None:
    environment = _environment(script)
    done = subprocess.run(
        [sys.executable, "-c", _TABLE], capture_output=True, text=True, env=environment, timeout=240, check=True
    )
    table, refusal = done.stdout.splitlines()[-2:]
    offered = [task for task in tasks().values() if not task.protocol]
    names = [name for name, _, _ in json.loads(table)]
    assert sorted(names) == sorted(name for task in offered for name in (task.name, task.harness_name))
    sources = {(folder, config) for _, folder, config in json.loads(table)}
    assert sources == {(str(script.home / "medcalc_bench"), "demo")}
    # lighteval would take its worked examples from the questions that are being asked.
    assert refusal.startswith("UsageError medical:medcalc: worked examples are part of a task here")


def test_inspect_and_our_runner_on_one_endpoint(script: Script, expected: dict[str, float]) -> None:
    with FaultServer(answer=lambda call: script.answers[call.prompt]) as server:
        variables = {"SCRIPT_BASE_URL": server.base_url, "SCRIPT_API_KEY": "x"}
        logs = script.home / "logs"
        words = ["eval", "medical_tasks/medcalc", "--model", "openai-api/script/m", "-T", "config=demo"]
        words += ["--log-dir", str(logs), "--log-format", "json", "--display", "none"]
        _run(["inspect_ai", *words], script, **variables)
        asked = len(server.calls)
        assert asked == len(script.items)
        (file,) = logs.glob("*.json")
        log: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        scores = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}
        assert scores == pytest.approx(expected)
        words = ["run", "--tasks", "medcalc", "--config", "demo", "--model", "openai-api/script/m", "--out", "ours"]
        _run(["medical_tasks", *words], script, **variables)
        assert len(server.calls) == 2 * asked
        # Byte for byte the same questions.
        assert sorted(server.prompts[:asked]) == sorted(server.prompts[asked:])
    metrics = json.loads((script.home / "ours" / "results.json").read_text())["tasks"]["medcalc"]["metrics"]
    assert {name: metric["value"] for name, metric in metrics.items()} == expected


def test_inspect_scores_no_reply_without_choices(script: Script) -> None:
    """inspect's model reads such a reply as an empty output; its solver must go on failing the sample, not score it."""
    usage = {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [], "usage": usage}
    with FaultServer(lambda call: Fault.json_body(body)) as server:
        logs = script.home / "logs-no-choices"
        words = ["inspect_ai", "eval", "medical_tasks/medcalc", "--model", "openai-api/script/m", "-T", "config=demo"]
        words += ["--limit", "2", "--log-dir", str(logs), "--log-format", "json", "--display", "none"]
        environment = _environment(script, SCRIPT_BASE_URL=server.base_url, SCRIPT_API_KEY="x")
        subprocess.run(
            [sys.executable, "-m", *words], env=environment, cwd=script.home, timeout=240, capture_output=True
        )
    (file,) = logs.glob("*.json")
    log: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert log["status"] == "error"
    assert log["samples"]
    assert all(not sample.get("scores") for sample in log.get("samples", []))
