"""The same answers get the same score from our runner, `score`, lighteval, inspect and evaluate."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.declarations import DATASET as KQA_DATASET
from medical_tasks.benchmarks.kqa.prompts import gold_response as kqa_gold
from medical_tasks.benchmarks.kqa.prompts import load_prompts as kqa_prompts
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response, load_prompts
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.catalog import tasks
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.runs.confidence import asking_for_confidence
from medical_tasks.runs.results import read_results
from medical_tasks.spec import Item, PromptSet, TaskSpec
from tests.case_tables import json_of
from tests.fault_server import Fault, FaultServer
from tests.harness.commands import (
    demo_environment,
    endpoint,
    inspect_eval,
    log_means,
    only_log,
    run,
)
from tests.run_files import task_entry
from tests.support import ROOT
from tests.warm_process import WarmProcess

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Script:
    """The demo's questions and an answer to each: right, right in another form, wrong, empty, unreadable."""

    home: Path
    data: Path
    items: Mapping[str, list[Item]]
    answers: Mapping[str, str]
    file: Path

    def by_id(self, task: TaskSpec) -> dict[str, str]:
        prompts: PromptSet = task.benchmark.load_prompts(task)
        return {
            item.id: self.answers[prompts.render(item)[0]["content"]]
            for item in self.items[task.name]
        }


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


def _kqa_answer(number: int, item: Item) -> str:
    gold: str = kqa_gold(KQA, item)
    statement: str = item.fields["must_have"][0]
    wrong = [
        "",
        "I don't know.",
        f"It is not true that {statement}",
        "Please see a doctor.",
    ]
    forms = [gold, gold[: len(gold) // 2], *wrong, statement]
    return forms[number % len(forms)]


@pytest.fixture(scope="module")
def script(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Script:
    home = tmp_path_factory.mktemp("parity")
    items = load_task_data(MEDCALC, DATASET, data=demos, config="demo").items
    prompts = load_prompts(MEDCALC)
    answers = {
        prompts.render(item)[0]["content"]: _answer(number, item)
        for number, item in enumerate(items)
    }
    assert len(answers) == len(items) >= 24
    questions = load_task_data(KQA, KQA_DATASET, data=demos, config="demo").items
    asking = kqa_prompts(KQA)
    answers |= {
        asking.render(item)[0]["content"]: _kqa_answer(n, item)
        for n, item in enumerate(questions)
    }
    assert len(answers) == len(items) + len(questions) >= 37
    file = home / "answers.json"
    file.write_text(json.dumps(answers), encoding="utf-8")
    return Script(
        home=home,
        data=demos,
        items={"medcalc": items, "kqa": questions},
        answers=answers,
        file=file,
    )


def _environment(script: Script, **more: str) -> dict[str, str]:
    return demo_environment(
        script.data,
        MEDICAL_TASKS_CONFIG="demo",
        MEDICAL_TASKS_HOME=str(script.home / "cache"),
        HF_HOME=str(script.home / "hf"),
        SCRIPTED_ANSWERS=str(script.file),
        **more,
    )


def _run(warm: WarmProcess, words: list[str], script: Script, **variables: str) -> None:
    run(warm, words, cwd=script.home, environment=_environment(script, **variables))


def _run_ours(words: list[str], script: Script, **variables: str) -> None:
    """Runs a command of this suite in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _environment(script, **variables).items():
            patch.setenv(name, value)
        assert main(words) == 0


def _metrics(folder: Path, task: TaskSpec) -> dict[str, float]:
    metrics = task_entry(folder, task.name)["metrics"]
    return {name: metric["value"] for name, metric in metrics.items()}


@pytest.fixture(scope="module")
def expected(script: Script) -> dict[str, dict[str, float]]:
    """The metrics that `score` computes from the answers."""
    metrics = {}
    for task in (MEDCALC, KQA):
        file = script.home / f"{task.name}.jsonl"
        lines = [
            json.dumps({"id": key, "response": text})
            for key, text in script.by_id(task).items()
        ]
        file.write_text("\n".join(lines), encoding="utf-8")
        words = [
            "score",
            task.name,
            "--config",
            "demo",
            "--data",
            str(script.data),
            "--responses",
            str(file),
        ]
        assert main([*words, "--out", str(script.home / "scored" / task.name)]) == 0
        metrics[task.name] = _metrics(script.home / "scored" / task.name, task)
    assert (
        0 < metrics["medcalc"]["accuracy_official"] < metrics["medcalc"]["accuracy"] < 1
    )
    assert (
        0
        < metrics["kqa"]["comprehensiveness"]
        < metrics["kqa"]["comprehensiveness_answered"]
        < 1
    )
    return metrics


def _shown(values: dict[str, float]) -> dict[str, float]:
    """The metrics under the names that harnesses use for the lexical judge."""
    return {
        name if name == "words" else f"{name}_not_comparable": value
        for name, value in values.items()
    }


def test_lighteval_command(
    script: Script, expected: dict[str, dict[str, float]]
) -> None:
    out = script.home / "lighteval"
    model = str(ROOT / "tests" / "harness" / "scripted_model.py")
    words = [
        "medical_tasks",
        "lighteval",
        "custom",
        "scripted",
        model,
        "medical|medcalc,medical|kqa",
    ]
    done = subprocess.run(
        [sys.executable, "-m", *words, "--output-dir", str(out), "--save-details"],
        capture_output=True,
        text=True,
        env=_environment(script),
        cwd=script.home,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (file,) = out.glob("results/**/results_*.json")
    results = json_of(file)["results"]
    medcalc = results["medical:medcalc|0"]
    assert {name: medcalc[name] for name in expected["medcalc"]} == pytest.approx(
        expected["medcalc"]
    )
    judged = results["medical:kqa|0"]
    expected_kqa = _shown(expected["kqa"]) | {"judged": 1.0}
    assert {name: judged[name] for name in expected_kqa} == pytest.approx(expected_kqa)
    assert "comprehensiveness" not in judged
    # What lighteval kept of it is imported to the same figures.
    (details,) = out.glob("details/**/details_medical:medcalc*.parquet")
    words = [
        "import",
        "lighteval",
        str(details),
        "--task",
        "medcalc",
        "--config",
        "demo",
    ]
    folder = script.home / "imported" / "lighteval"
    assert main([*words, "--data", str(script.data), "--out", str(folder)]) == 0
    assert _metrics(folder, MEDCALC) == pytest.approx(expected["medcalc"])
    assert _imported(folder) == (
        "imported/scripted",
        {"id": len(script.items["medcalc"])},
    )


def _imported(folder: Path) -> tuple[str, dict[str, int]]:
    """The model's name and how answers were matched, of an imported run."""
    recipe = task_entry(folder, "medcalc")["recipe"]
    return recipe["model"]["name"], recipe["imported"]["matched"]


_TABLE = """
import json
from medical_tasks.lighteval_tasks import TASKS_TABLE

print(json.dumps([[config.name, config.hf_repo, config.hf_subset] for config in TASKS_TABLE]))
try:
    TASKS_TABLE[0].prompt_function({"__few_shots": True, "__index": 0}, "medical:medcalc")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_lighteval_finds_every_task_and_leaks_no_example(
    warm: WarmProcess, script: Script
) -> None:
    file = script.home / "table.py"
    file.write_text(_TABLE, encoding="utf-8")
    done = warm.run([file], cwd=script.home, environment=_environment(script))
    assert done.returncode == 0, done.stderr[-3000:]
    table, refusal = done.stdout.splitlines()[-2:]
    offered = [
        task for task in tasks().values() if not task.protocol and not task.baseline
    ]
    names = [name for name, _, _ in json.loads(table)]
    assert sorted(names) == sorted(
        name for task in offered for name in (task.name, task.harness_name)
    )
    sources = {(folder, config) for _, folder, config in json.loads(table)}
    assert sources == {(str(script.data / task.dataset), "demo") for task in offered}
    # lighteval would take its worked examples from the evaluated questions.
    assert refusal.startswith(
        "UsageError medical:medcalc: worked examples are part of a task here"
    )


def test_inspect_and_our_runner_on_one_endpoint(
    warm: WarmProcess, script: Script, expected: dict[str, dict[str, float]]
) -> None:
    with FaultServer(answer=lambda call: script.answers[call.prompt]) as server:
        variables = endpoint(server)
        logs = script.home / "logs"
        words = inspect_eval("medical_tasks/medcalc", "medical_tasks/kqa", logs=logs)
        _run(warm, [*words, "-T", "config=demo"], script, **variables)
        call_count = len(server.calls)
        assert call_count == len(script.answers)
        files = sorted(logs.glob("*.json"))
        assert len(files) == 2
        for file in files:
            log: dict[str, Any] = json_of(file)
            judged = log["eval"]["task"].endswith("kqa")
            assert log_means(log) == pytest.approx(
                _shown(expected["kqa"]) if judged else expected["medcalc"]
            )
            if judged:
                continue
            words = [
                "import",
                "inspect",
                str(file),
                "--task",
                "medcalc",
                "--config",
                "demo",
            ]
            folder = script.home / "imported" / "inspect"
            assert main([*words, "--data", str(script.data), "--out", str(folder)]) == 0
            assert _metrics(folder, MEDCALC) == pytest.approx(expected["medcalc"])
            model = "imported/openai-api/script/m"
            assert _imported(folder) == (model, {"id": len(script.items["medcalc"])})
        words = [
            "run",
            "--tasks",
            "medcalc,kqa",
            "--config",
            "demo",
            "--model",
            "openai-api/script/m",
        ]
        _run_ours([*words, "--out", str(script.home / "ours")], script, **variables)
        assert len(server.calls) == 2 * call_count
        # The questions are the same, byte for byte.
        assert sorted(server.prompts[:call_count]) == sorted(
            server.prompts[call_count:]
        )
    for task in (MEDCALC, KQA):
        assert _metrics(script.home / "ours", task) == expected[task.name]


def test_confidence_is_the_same_in_inspect_and_our_runner(
    warm: WarmProcess, script: Script
) -> None:
    asking = asking_for_confidence(MEDCALC.benchmark.load_prompts(MEDCALC))
    replies = {}
    for number, item in enumerate(script.items["medcalc"]):
        right = gold_response(MEDCALC, item) if number % 3 else "The answer is -7."
        sure = ("90%", "60 %", "high", "0.35")[number % 4]
        prompt = asking.render(item)[-1]["content"]
        replies[prompt] = f"{right}\nConfidence: {sure}"
    with FaultServer(answer=lambda call: replies[call.prompt]) as server:
        variables = endpoint(server)
        logs = script.home / "asked-logs"
        words = inspect_eval("medical_tasks/medcalc", logs=logs)
        words += ["-T", "config=demo", "-T", "confidence=asked"]
        _run(warm, words, script, **variables)
        call_count = len(server.calls)
        assert call_count == len(script.items["medcalc"])
        words = ["run", "--tasks", "medcalc", "--model", "openai-api/script/m"]
        words += ["--config", "demo", "--confidence", "asked"]
        _run_ours([*words, "--out", str(script.home / "asked")], script, **variables)
        assert sorted(server.prompts[:call_count]) == sorted(
            server.prompts[call_count:]
        )
    entry = read_results(script.home / "asked")["tasks"]["medcalc"]
    ours = entry["confidence"]
    log = only_log(logs)
    theirs = {
        score["name"]: {
            metric["name"]: metric["value"] for metric in score["metrics"].values()
        }
        for score in log["results"]["scores"]
    }
    accuracy = entry["metrics"]["accuracy"]["value"]
    assert theirs["accuracy"]["mean"] == pytest.approx(accuracy)
    confidence = theirs["confidence"]
    assert confidence["n"] == ours["n"] < call_count
    for name in ("mean_confidence", "accuracy", "ece", "brier", "auroc", "aurc"):
        for key, end in ((name, "value"), (f"{name}_ci_high", "ci_high")):
            assert confidence[key] == pytest.approx(ours[name][end])
    assert confidence["ece_plug_in"] == pytest.approx(ours["ece"]["plug_in"])


_PLAIN = """
import json
from pathlib import Path
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes

def plain(name):
    rows = json.loads(Path(name + ".json").read_text(encoding="utf-8"))
    return Task(dataset=MemoryDataset([Sample(target="x", **row) for row in rows]), scorer=includes())

@task
def plain_medcalc():
    return plain("plain-medcalc")

@task
def plain_kqa():
    return plain("plain-kqa")

@task
def strange_medcalc():
    return plain("strange-medcalc")

@task
def strange_kqa():
    return plain("strange-kqa")
"""


@pytest.fixture(scope="module")
def plain_logs(warm: WarmProcess, script: Script) -> Path:
    """Logs of inspect on the questions of both tasks, asked by tasks of no name here; `strange-` ones with an unknown id."""
    home = script.home
    (home / "plain.py").write_text(_PLAIN, encoding="utf-8")
    for task in (MEDCALC, KQA):
        prompts = task.benchmark.load_prompts(task)
        rows: list[dict[str, Any]] = [
            {"id": item.id, "input": prompts.render(item)[0]["content"]}
            for item in script.items[task.name]
        ]
        if task is KQA:  # as the Hub's `eval.yaml` makes samples
            rows = [
                {"input": row["input"], "metadata": {"id": row["id"]}} for row in rows
            ]
        strange = {**rows[0], "id": "strange", "metadata": {}}
        for name, samples in (("plain", rows), ("strange", [strange])):
            file = home / f"{name}-{task.name}.json"
            file.write_text(json.dumps(samples), encoding="utf-8")
    logs = home / "plain-logs"
    with FaultServer(answer=lambda call: script.answers[call.prompt]) as server:
        words = inspect_eval("plain.py", logs=logs)
        _run(warm, words, script, **endpoint(server))
    return logs


@pytest.mark.parametrize("task", [MEDCALC, KQA], ids=lambda task: task.name)
def test_logs_of_inspect_score_to_our_numbers(
    task: TaskSpec,
    warm: WarmProcess,
    script: Script,
    expected: dict[str, dict[str, float]],
    plain_logs: Path,
    tmp_path: Path,
) -> None:
    """`inspect score --scorer medical_tasks/TASK` on answers to another task, and on an exported run."""
    words = ["--action", "overwrite", "--overwrite", "--model", "mockllm/model"]
    words = [
        "inspect_ai",
        "score",
        "--scorer",
        f"medical_tasks/{task.name}",
        "-S",
        "config=demo",
        *words,
    ]
    answers = [
        "--responses",
        str(script.home / f"{task.name}.jsonl"),
        "--data",
        str(script.data),
    ]
    scored = [
        "export",
        str(script.home / "scored" / task.name),
        "--to",
        "inspect-log",
        *answers,
    ]
    assert main([*scored, "--out", str(tmp_path / "exported")]) == 0
    (plain,) = plain_logs.glob(f"*_plain-{task.name}_*.json")
    (exported,) = (tmp_path / "exported").glob("*.json")
    for file in (plain, exported):
        _run(warm, [*words, str(file)], script)
        assert log_means(json_of(file)) == pytest.approx(
            expected["medcalc"] if task is MEDCALC else _shown(expected["kqa"])
        )
    (strange,) = plain_logs.glob(f"*_strange-{task.name}_*.json")
    refused = warm.run(
        ["-m", *words, str(strange)], cwd=script.home, environment=_environment(script)
    )
    assert refused.returncode != 0
    output = " ".join((refused.stdout + refused.stderr).split())
    assert (
        f"{task.name}: sample 'strange' of the log is no item of the task, whose ids look like"
        in output
    )


def test_a_reply_without_choices_is_not_scored_by_inspect(
    warm: WarmProcess, script: Script
) -> None:
    """inspect reads such a reply as an empty output; its solver must fail the sample instead of scoring it."""
    usage = {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": usage,
    }
    with FaultServer(lambda call: Fault.json_body(body)) as server:
        logs = script.home / "logs-no-choices"
        words = inspect_eval("medical_tasks/medcalc", logs=logs)
        words += ["-T", "config=demo", "--limit", "1"]
        variables = _environment(script, **endpoint(server))
        warm.run(["-m", *words], cwd=script.home, environment=variables)
    log = only_log(logs)
    assert log["status"] == "error"
    assert log["samples"]
    assert all(not sample.get("scores") for sample in log.get("samples", []))
