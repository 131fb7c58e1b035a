"""Judged tasks from the command line; a judge's failures change no number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.runs.comparability import NO_OFFICIAL_FIGURES
from medical_tasks.runs.results import read_items
from tests.cli.wrong_use import refuse, wrong_use
from tests.conftest import Serving
from tests.fault_server import Call, Fault, FaultServer, randomly
from tests.run_files import task_entry, write_responses

pytestmark = pytest.mark.usefixtures("demo_home")
ANSWER = "Paracetamol at the usual dose is safe for most adults, and drinking water helps with the headache."
N_ITEMS = 13
VERDICTS = 80
JUDGED = "comprehensiveness hallucination_rate contradicted".split()
FAULTS = (
    Fault.status_code(500),
    Fault.status_code(503),
    Fault.rate_limit(retry_after="0"),
    Fault.not_json(),
    Fault.no_choices(),
    Fault.null_content(),
    Fault.cut(),
    Fault.message({"role": "assistant", "content": "The answer is True."}),
    Fault.message(
        {
            "role": "assistant",
            "content": '{"verdict": "entailed"} {"verdict": "contradicted"}',
        }
    ),
)


def label(statement: str) -> str:
    return ("entailed", "contradicted", "neither")[
        sha256(statement.encode()).digest()[0] % 3
    ]


def answer(call: Call) -> str:
    """Decides by the statement alone; the reason quotes a decoy verdict."""
    content = str(call.body["messages"][0]["content"])
    statement = content.partition("Statement:\n")[2].partition("\n\n")[0]
    return json.dumps(
        {
            "reason": 'It says {"verdict": "neither"}. Score: 1',
            "verdict": label(statement),
        }
    )


OpenServer = Callable[..., FaultServer]


@pytest.fixture
def open_server(serving: Serving) -> Iterator[OpenServer]:
    """Starts servers that run until the test ends; the last one is asked."""
    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(serving(*args, **kwargs))


RUN = ["run", "--tasks", "kqa", "--model", "baseline/reference", "--config", "demo"]
ASK = ["--judge", "openai-api/test-host/scripted"]
# Short waits; a question has fewer faults than retries.
QUICK = ["--judge-args", "timeout=5,max_retries=6,total_time=20"]


def values(folder: str) -> dict[str, Any]:
    metrics = task_entry(folder, "kqa")["metrics"]
    return {name: metric["value"] for name, metric in metrics.items()}


def verdicts(folder: str) -> dict[str, str]:
    lines = Path(folder, "verdicts.jsonl").read_text().splitlines()
    return {row["id"]: row["value"] for row in map(json.loads, lines)}


def test_failures_of_one_request_in_five_change_no_number(
    open_server: OpenServer,
) -> None:
    open_server()
    assert main([*RUN, *ASK, "--out", "calm"]) == 0
    faulty = open_server(randomly(0.2, FAULTS, seed=3, at_most=2))
    assert main([*RUN, *ASK, *QUICK, "--out", "storm"]) == 0
    assert len(faulty.calls) > VERDICTS
    assert values("calm") == values("storm")
    assert 0 < values("calm")["comprehensiveness"] < 1
    judge = task_entry("storm", "kqa")["judge"]
    assert judge["verdicts"] == {"asked": VERDICTS, "decided": VERDICTS, "unscored": {}}
    assert judge["calls"] == len(faulty.calls)
    assert verdicts("storm") == verdicts("calm")
    assert len(verdicts("storm")) == VERDICTS


def test_a_judge_that_is_down_leaves_no_score_and_the_next_run_finishes(
    open_server: OpenServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    is_down = True
    server = open_server(lambda call: Fault.refuse() if is_down else None)
    assert main([*RUN, *ASK, *QUICK, "--out", "r"]) == 5
    shown = capsys.readouterr()
    down = task_entry("r", "kqa")
    for name in JUDGED:
        metric = down["metrics"][name]
        assert (metric["value"], metric["ci_low"], metric["n"]) == (None, None, 0)
    comprehensiveness = down["metrics"]["comprehensiveness"]
    assert comprehensiveness["bound_low"] == 0.0
    assert comprehensiveness["bound_high"] == 1.0
    most = down["metrics"]["hallucination_rate"]["bound_high"]
    assert most == VERDICTS / N_ITEMS  # every statement contradicted, and no more
    assert down["coverage"]["scored"] == 0
    assert sum(down["coverage"]["unscored"].values()) == N_ITEMS
    assert down["judge"]["verdicts"]["decided"] == 0
    assert "nothing answers at" in shown.err
    assert "n/a" in shown.out
    assert all(row["comprehensiveness"] is None for row in read_items(tmp_path / "r"))
    # the run gives up instead of waiting for each question
    assert len(server.calls) < 7 * VERDICTS
    is_down = False
    server.calls.clear()
    assert main([*RUN, *ASK, *QUICK, "--out", "r"]) == 0
    # Every question once; on a busy machine the client may send some of them again.
    assert len({json.dumps(call.body) for call in server.calls}) == VERDICTS
    assert task_entry("r", "kqa")["coverage"]["scored"] == N_ITEMS
    server.calls.clear()
    assert main([*RUN, *ASK, *QUICK, "--out", "r"]) == 0
    assert server.calls == []


def test_usage_and_cost_cover_all_requests_of_model_and_judge(
    open_server: OpenServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server = open_server()
    model = (
        "--model openai-api/test-host/subject --model-args price_in=0.15,price_out=0.6"
    )
    judge_prices = ["--judge-args", "price_in=2,price_out=8"]
    run = [*RUN[:3], *model.split(), *RUN[5:], *ASK, *judge_prices, "--out"]
    assert main([*run, "r", "--max-judge-calls", "30"]) == 5
    assert main([*run, "r"]) == 0
    once = task_entry("r", "kqa")
    for usage, name, prices in (
        (once["usage"], "subject", (0.15, 0.6)),
        (once["judge"]["usage"], "scripted", (2.0, 8.0)),
    ):
        calls = [call for call in server.calls if call.body["model"] == name]
        prompt_tokens = sum(len(call.prompt.split()) for call in calls)
        output_tokens = sum(len(answer(call).split()) for call in calls)
        assert usage["requests"] == len(calls)
        assert usage["prompt_tokens"] == prompt_tokens
        assert usage["output_tokens"] == output_tokens
        cost = (prompt_tokens * prices[0] + output_tokens * prices[1]) / 1e6
        assert usage["cost_usd"] == pytest.approx(cost, rel=0, abs=1e-12)
    assert once["judge"]["forecast"]["requests"] == [VERDICTS, 3 * VERDICTS]
    assert f"judge: {VERDICTS} requests, " in capsys.readouterr().out
    server.calls.clear()
    assert main([*run, "r"]) == 0
    assert server.calls == []
    again = task_entry("r", "kqa")
    assert again["usage"] == once["usage"]
    assert again["judge"]["forecast"] == once["judge"]["forecast"]
    assert again["judge"]["usage"]["cost_usd"] == once["judge"]["usage"]["cost_usd"]
    capsys.readouterr()
    assert main(["compare", "r", "r"]) == 0
    per_answer = (
        f"{once['usage']['output_tokens'] / N_ITEMS:,.1f} output tokens, under $ 0.0001"
    )
    assert f"kqa, an answer: A {per_answer}; B {per_answer}." in capsys.readouterr().out


def test_a_forecast_asks_nothing_and_a_budget_stops_judging(
    open_server: OpenServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = open_server()
    assert main([*RUN, *ASK, "--forecast", "--votes", "3", "--out", "r"]) == 0
    assert f"{VERDICTS} verdicts, 0 in the store; 160 to " in capsys.readouterr().err
    assert server.calls == []
    assert not (tmp_path / "r").exists()
    assert main([*RUN, *ASK, "--max-judge-calls", "30", "--out", "r"]) == 5
    assert len(server.calls) == 30
    unfinished = task_entry("r", "kqa")
    assert unfinished["judge"]["verdicts"]["unscored"] == {
        "judge: budget spent": VERDICTS - 30
    }
    before = unfinished["metrics"]["comprehensiveness"]
    score = ["score", "kqa", "--responses", "r", *ASK, "--out", "s"]
    assert main([*score, "--max-judge-calls", "10"]) == 5
    assert main([*score, "--forecast"]) == 0
    assert (
        f"{VERDICTS} verdicts, 10 in the store; 70 to 210 calls"
        in capsys.readouterr().err
    )
    server.calls.clear()
    assert before["bound_low"] < before["bound_high"]
    assert main([*RUN, *ASK, "--max-judge-calls", "50", "--out", "r"]) == 0
    assert len(server.calls) == VERDICTS - 30
    after = task_entry("r", "kqa")["metrics"]["comprehensiveness"]
    assert before["bound_low"] <= after["value"] <= before["bound_high"]


def test_answers_of_a_run_are_judged_again_by_another(open_server: OpenServer) -> None:
    assert main([*RUN, "--out", "words"]) == 0
    assert task_entry("words", "kqa")["recipe"]["judge"]["name"] == "lexical"
    server = open_server()
    score = ["score", "kqa", "--responses", "words", *ASK, "--out"]
    assert main([*score, "again"]) == 0
    assert len(server.calls) == VERDICTS
    assert task_entry("again", "kqa")["recipe"]["model"]["name"] == "baseline/reference"
    assert main([*RUN, *ASK, "--out", "direct"]) == 0
    assert values("again") == values("direct")
    assert main(["compare", "words", "again"]) == 0
    # A judge that reasons may reply at length.
    longer = [*RUN, *ASK, "--judge-reply-tokens", "4096", "--max-samples", "2"]
    assert main([*longer, "--out", "longer"]) == 0
    sizes = [call.body["max_tokens"] for call in server.calls]
    assert set(sizes[: 2 * VERDICTS]) == {512}
    assert set(sizes[2 * VERDICTS :]) == {4096}
    assert task_entry("longer", "kqa")["recipe"]["judge"]["reply_tokens"] == 4096
    # Recorded verdicts give the same numbers without any judge.
    server = open_server()
    assert (
        main([*RUN, "--judge", "recorded/direct/verdicts.jsonl", "--out", "read"]) == 0
    )
    assert server.calls == []
    assert values("read") == values("direct")


def test_a_run_forecasts_judging_before_the_model_is_asked(
    open_server: OpenServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server = open_server(
        answer=lambda call: answer(call) if "Statement:" in call.prompt else ANSWER
    )
    model = "run --tasks kqa --config demo --model openai-api/test-host/model".split()
    words = [*model, *ASK, "--out", "r"]
    assert main(words) == 0
    stderr = capsys.readouterr().err
    assert (
        stderr.index("judging would take:")
        < stderr.index(f"{VERDICTS} verdicts, 0 in the store")
        < stderr.index("answers:")
    )
    assert len(server.calls) == N_ITEMS + VERDICTS
    assert main(words) == 0
    assert "judging would take" not in capsys.readouterr().err


def test_the_lexical_judge_is_marked_wherever_its_numbers_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*RUN, "--out", "r"]) == 0
    out = capsys.readouterr().out
    assert "_official" not in out.partition("baseline/reference, kqa:")[0]
    line = "Comparable with the paper: no (no model answered; the judge was asked with own prompts; judge lexical"
    assert f"baseline/reference, kqa: {line} compares words" in out
    assert f"baseline/reference, kqa: {NO_OFFICIAL_FIGURES}." in out
    assert "never checked" in out
    assert f"**{line}" in Path("r/report.md").read_text()
    kqa_entry = task_entry("r", "kqa")
    assert kqa_entry["paper"]["comparable"] is False
    assert kqa_entry["recipe"]["judge"]["comparable"] is False
    assert [
        name
        for name, metric in kqa_entry["metrics"].items()
        if metric.get("comparable", True)
    ] == ["words"]
    assert main(["compare", "r", "r"]) == 0
    assert f"A, kqa: {line}" in capsys.readouterr().out


def test_official_prompts_give_official_figures_over_all_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], open_server: OpenServer
) -> None:
    for name in ("is_entails.txt", "is_contradict.txt"):
        text = f"{name}: Q {{question}} P {{llm_answer}} H {{answer}}\nAnswer:"
        (tmp_path / name).write_text(text)

    def entailed_alone(call: Call) -> str:
        content = str(call.body["messages"][0]["content"])
        return f"The answer is {content.startswith('is_entails')}."

    ids = mt.load("kqa", config="demo")["test"]["id"]
    write_responses("nine.jsonl", dict.fromkeys(ids[:9], ANSWER))
    open_server(answer=entailed_alone)
    judging = ["--prompts", "official", "--upstream", ".", *ASK, *QUICK]
    score = ["score", "kqa", "--config", "demo", "--responses", "nine.jsonl"]
    assert main([*score, *judging, "--out", "o"]) == 0
    out = capsys.readouterr().out
    assert NO_OFFICIAL_FIGURES not in out
    assert (
        "judge openai-api/test-host/scripted, the paper's is gpt-4 or gpt-4-8k" in out
    )
    official = {
        name: (metric["value"], metric["n"])
        for name, metric in task_entry("o", "kqa")["metrics"].items()
        if name.endswith("_official")
    }
    assert official == {
        "comprehensiveness_official": (9 / N_ITEMS, N_ITEMS),
        "comprehensiveness_norm_official": (1.0, 9),
        "hallucination_official": (0.0, N_ITEMS),
        "hallucination_norm_official": (0.0, 9),
    }
    # The items' values add up to the figure.
    rows = [row["comprehensiveness_official"] for row in read_items(Path("o"))]
    assert sum(rows) / len(rows) == 9 / N_ITEMS
    # With this suite's prompts there is no official figure, in rows, columns or gates.
    assert main([*score, "--out", "own"]) == 0
    for name in ("results.json", "report.md"):
        assert "_official" not in Path("own", name).read_text()
    assert not [
        name for row in read_items(Path("own")) for name in row if "_official" in name
    ]
    Path("policy.toml").write_text(
        '[tasks.kqa]\nconfig = "demo"\n'
        '[[rule]]\ntask = "kqa"\nmetric = "comprehensiveness_official"\nat_least = 0.1\n'
    )
    capsys.readouterr()
    assert main(["gate", "policy.toml", "own"]) == 7
    out = capsys.readouterr().out
    assert NO_OFFICIAL_FIGURES in out.partition("Comparable")[0]
    assert "own, kqa: Comparable with the paper: no (unknown prompts" in out


@wrong_use("run_judged")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(line, code, message, capsys)
