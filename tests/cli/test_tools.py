"""A run with tools from the command line: killed and resumed, scored again, refused, and its recipe."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC, MEDCALC_TOOLS
from medical_tasks.cli import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.io.store import content_key
from medical_tasks.models.base import Request
from medical_tasks.runs.runner import RunOptions, load_task_prompts, opening_request
from tests.fault_server import Call, Fault
from tests.models.toy_server import model_at
from tests.run_files import task_entry
from tests.support import ROOT
from tests.tool_server import Caller, Error, ToolServer
from tests.warm_process import WarmProcess, killed_when

pytestmark = pytest.mark.usefixtures("demo_home")
ITEMS = 8
RUN = (
    f"run --tasks medcalc_tools --config demo --max-samples {ITEMS} --out run "
    "--model openai-api/test-host/m --model-args concurrency=1,max_retries=0"
).split()
ERRORS: tuple[Error, ...] = ("no_call", "tool", "extra")


def caller() -> Caller:
    items = load_task_data(
        MEDCALC_TOOLS, DATASET, config="demo", max_samples=ITEMS
    ).items
    names = [item.id for item in items]
    return Caller(items, dict(zip(names, ERRORS, strict=False)))


def questions(calls: list[Call]) -> list[str]:
    return [json.dumps(call.body["messages"]) for call in calls]


def test_a_killed_run_resumes_and_asks_nothing_twice(
    warm_verbs: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, hung = threading.Event(), ITEMS + 3  # in the round after the calls

    def plan(call: Call) -> Fault | None:
        if call.number != hung:
            return None
        reached.set()
        return Fault.hang()

    with ToolServer(caller(), plan=plan) as server:
        monkeypatch.setenv("TEST_HOST_BASE_URL", server.base_url)
        killed_when(warm_verbs, reached, RUN)
        assert main(RUN) == 0
        assert main(RUN) == 0  # all answers are stored
        times = Counter(questions(server.calls))
    # only the request that was open when the run was killed is repeated
    twice = [question for question, count in times.items() if count > 1]
    assert twice == [questions(server.calls)[hung - 1]]
    assert len(times) == 2 * ITEMS - 1  # one item's model calls nothing

    task = task_entry("run", "medcalc_tools")
    values = {name: task["metrics"][name]["value"] for name in task["metrics"]}
    assert values["called"] == (ITEMS - 1) / ITEMS
    assert values["right_tool"] == (ITEMS - 2) / ITEMS
    assert values["all_arguments_right"] == (ITEMS - 3) / (ITEMS - 2)
    assert task["recipe"]["protocol"]["turns"] == 5
    settings = task["recipe"]["prompts"]["settings"]
    assert settings["tools"] == 10
    assert settings["tools_sha256"] == task["recipe"]["protocol"]["tools_sha256"]

    scored = ["score", "medcalc_tools", "--responses", "run", "--out", "scored"]
    assert main(scored) == 0
    assert task_entry("scored", "medcalc_tools")["metrics"] == task["metrics"]
    assert task_entry("scored", "medcalc_tools")["notes"] == task["notes"]
    assert main(["report", "run", "--out", "report.md"]) == 0
    assert "What came of the calls" in Path("report.md").read_text()


def test_the_reference_makes_the_right_calls_and_the_empty_one_none() -> None:
    for name, called in (("reference", 1.0), ("empty", 0.0)):
        run = ["run", "--tasks", "medcalc_tools", "--config", "demo"]
        assert main([*run, "--model", f"baseline/{name}", "--out", name]) == 0
        metrics = task_entry(name, "medcalc_tools")["metrics"]
        assert metrics["called"]["value"] == metrics["accuracy"]["value"] == called
        assert (metrics["result_used"]["value"] or 0.0) == called


def test_a_server_without_tools_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = Fault.status_code(400, "gemma does not support tools")
    with ToolServer(caller(), plan=lambda _: refusal) as server:
        monkeypatch.setenv("TEST_HOST_BASE_URL", server.base_url)
        assert main(RUN) == 2
    stderr = capsys.readouterr().err
    assert "does not support tools, which this task offers the model" in stderr
    assert "gemma does not support tools" in stderr
    assert "or a task without tools, such as medcalc" in stderr


def opening(task: Any, model: Any) -> Request:
    data = load_task_data(task, DATASET, config="demo", max_samples=1)
    options = RunOptions()
    prompts = load_task_prompts(task, options, data)
    return opening_request(task, prompts, data.items[0], model, options)


def test_tools_change_the_keys_of_their_own_questions_alone() -> None:
    with ToolServer(caller()) as server:
        model = model_at(server)
        plain, offered = opening(MEDCALC, model), opening(MEDCALC_TOOLS, model)
    content = {
        "model": dict(model.identity),
        "messages": list(plain.messages),
        "max_new_tokens": plain.max_new_tokens,
        "stop": [],
    }
    assert plain.key == content_key(content)
    content |= {"messages": list(offered.messages)}
    tools = [tool.sha256 for tool in offered.tools]
    assert tools
    assert offered.key == content_key({**content, "tools": tools})


def test_tools_as_json_for_other_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calc", "--tools"]) == 0
    tools = json.loads(capsys.readouterr().out)
    assert tools[0]["type"] == "function"
    assert "weight_kg" in str(tools)


@pytest.mark.slow
def test_any_agent_can_call_the_calculators_by_mcp() -> None:
    pytest.importorskip("mcp")
    import asyncio

    from mcp import ClientSession, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "medical_tasks", "calc", "--mcp"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )

    async def ask() -> None:
        async with (
            stdio_client(server) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert "body_mass_index" in [tool.name for tool in tools]
            right = {"weight_kg": 70, "height_cm": 175}
            called = await session.call_tool("body_mass_index", right)
            assert not called.is_error
            assert called.content[0].text == "Body Mass Index (BMI) = 22.8571 kg/m^2"
            for name, arguments, message in (
                ("body_mass_index", {"weight_kg": 70}, "missing required input"),
                ("no_such_rule", {}, "no calculator 'no_such_rule'"),
            ):
                refused = await session.call_tool(name, arguments)
                assert refused.is_error
                assert message in refused.content[0].text

    asyncio.run(ask())


def test_mcp_without_its_package_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["calc", "--mcp"]) == 3
    assert "calc --mcp needs the package mcp" in capsys.readouterr().err
