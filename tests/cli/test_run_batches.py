"""Commands that ask in batches: killed at each step, interrupted or refused, and nothing is paid for twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import medical_tasks as mt
from medical_tasks.benchmarks.kqa.judge_check import ANNOTATIONS_FILE
from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from tests.benchmarks.kqa.physicians_csv import MARKS, rows, write
from tests.case_tables import json_of
from tests.fault_server import Call
from tests.models.fake_batches import FakeBatches, Refused
from tests.run_files import task_entry
from tests.warm_process import WarmProcess, killed_when

pytestmark = pytest.mark.usefixtures("demo_home")
ITEMS = 6
BATCHED = ITEMS - 1  # the first question is asked on its own
ASK = (
    f"run --tasks medcalc --config demo --max-samples {ITEMS} --out run --batch "
    "--model openai-api/test-host/m --model-args batch_poll=0.01,max_retries=0"
).split()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBatches]:
    with FakeBatches() as opened:
        monkeypatch.setenv("TEST_HOST_BASE_URL", opened.base_url)
        yield opened


KillAt = Callable[..., None]


@pytest.fixture
def kill_at(server: FakeBatches, warm_verbs: WarmProcess) -> KillAt:
    """Kills a command at a step of the server."""

    def kill(
        step: str, when: str, *, passing: int = 0, words: Sequence[str] = ASK
    ) -> None:
        server.hold(step, when, passing=passing)
        try:
            killed_when(warm_verbs, server.reached, words)
        finally:
            server.let_go()

    return kill


# The step at which the command is killed, and the requests of both commands together.
# The first question is always asked on its own.
STEPS = [
    ("upload", "before", {"chat": 2, "upload": 2, "create": 1}),
    (
        "upload",
        "after",
        {"chat": 1, "upload": 1, "create": 1},
    ),  # the file is found by its name
    ("create", "before", {"chat": 1, "upload": 1, "create": 2}),
    (
        "create",
        "after",
        {"chat": 1, "upload": 1, "create": 1},
    ),  # the batch is found by its upload
    ("look", "after", {"chat": 1, "upload": 1, "create": 1}),
    ("content", "before", {"chat": 1, "upload": 1, "create": 1}),
    ("content", "after", {"chat": 1, "upload": 1, "create": 1}),
]


@pytest.mark.parametrize(("step", "when", "expected"), STEPS)
def test_a_command_killed_at_a_step_resumes_and_pays_nothing_twice(
    server: FakeBatches,
    step: str,
    when: str,
    expected: dict[str, int],
    kill_at: KillAt,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kill_at(step, when)
    assert main(ASK) == 0
    assert {name: server.did(name) for name in expected} == expected
    assert len(server.asked) == ITEMS
    assert not server.paid_twice
    entry = task_entry("run", "medcalc")
    assert entry["coverage"]["answered"] == ITEMS
    (batch,) = entry["recipe"]["generation"]["batches"]
    left = ITEMS - expected["chat"]
    assert batch == {"id": "batch_1", "requests": left, "status": "completed"}
    # With all answers stored nothing is asked, also without the option.
    assert "note:" not in capsys.readouterr().err
    before = list(server.steps)
    assert main([word for word in ASK if word != "--batch"]) == 0
    assert server.steps == before


def refuse_odd_lengths(body: Any) -> Refused | None:
    """Refuses some questions, by their length."""
    length = len(body["messages"][-1]["content"])
    return Refused(400, "Invalid value.") if length % 2 else None


def batches() -> list[dict[str, Any]]:
    recipe = task_entry("run", "medcalc")["recipe"]
    records: list[dict[str, Any]] = recipe["generation"]["batches"]
    return records


def test_a_command_killed_between_two_files_of_results_keeps_what_it_has(
    server: FakeBatches, kill_at: KillAt, capsys: pytest.CaptureFixture[str]
) -> None:
    server.line = refuse_odd_lengths
    kill_at("content", "before", passing=1)
    assert main(ASK) == 5
    assert len(server.asked) == ITEMS
    assert not server.paid_twice
    stderr = capsys.readouterr().err
    assert "x http 400 (HTTP 400: Invalid value.)" in stderr
    # Only failed questions, which cost nothing, are asked again by the same command.
    server.line = lambda _: None
    failed = task_entry("run", "medcalc")["coverage"]["unscored"]
    assert main(ASK) == 0
    assert 0 < len(server.asked) - ITEMS == sum(failed.values()) < ITEMS
    assert [batch["status"] for batch in batches()] == ["completed"] * 2


def test_ctrl_c_leaves_a_batch_running_and_the_same_command_resumes(
    server: FakeBatches,
) -> None:
    server.looks = 10**6
    server.hold("look", "after", passing=3)
    process = subprocess.Popen(
        [sys.executable, "-m", "medical_tasks", *ASK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.reached.wait(100)
        process.send_signal(signal.SIGINT)
        server.let_go()
        _, stderr = process.communicate(timeout=100)
    finally:
        process.kill()
        server.let_go()
    assert process.returncode == 130
    assert f"batch batch_1: {BATCHED} requests sent" in stderr
    assert (
        "done, in progress; Ctrl-C leaves it running; the same command resumes"
        in stderr
    )
    assert f"To cancel it: POST {server.base_url}/batches/batch_1/cancel" in stderr
    assert "Traceback" not in stderr
    assert json_of(Path("run/batches.json"))["batches"][0]["batch"] == "batch_1"
    server.looks = 1
    assert main(ASK) == 0
    assert server.did("create") == 1


def test_an_abandoned_batch_is_named(
    server: FakeBatches, kill_at: KillAt, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_at("create", "after")
    kill_at("look", "after")
    assert main([word for word in ASK if word != "--batch"]) == 0
    stderr = capsys.readouterr().err
    assert (
        "note: batch_1, a batch of 5 requests that an earlier command made, is left"
        in stderr
    )
    assert server.did("chat") == 1 + BATCHED


@pytest.mark.parametrize("state", ["expired", "cancelled"])
def test_unanswered_questions_of_a_batch_are_asked_in_a_new_one(
    server: FakeBatches, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.ends = (state, 3)
    assert main(ASK) == 5
    stderr = capsys.readouterr().err
    assert (
        f"batch batch_1: {state}, 3 of {BATCHED} answered; {BATCHED - 3} x batch {state}"
        in stderr
    )
    assert f"{BATCHED - 3} x no answer: batch {state}" in stderr
    server.ends = ("completed", 0)
    assert main(ASK) == 0
    assert [batch["requests"] for batch in batches()] == [BATCHED, BATCHED - 3 - 1]
    assert len(set(server.asked)) == ITEMS


def test_a_lost_reply_creates_no_second_batch(
    server: FakeBatches,
) -> None:
    server.lose("create")
    server.lose("look", 2)
    assert main(ASK) == 0
    assert server.did("create") == server.did("list") == 1
    assert server.did("look") == 3


def test_requests_are_split_by_batch_size(
    server: FakeBatches,
) -> None:
    words = [word.replace("0.01", "0.01,batch_size=3") for word in ASK]
    assert main(words) == 0
    assert [batch["requests"] for batch in batches()] == [3, 2]


def test_a_ceiling_of_tokens_applies_to_batches(server: FakeBatches) -> None:
    ceiling = 1_200
    assert (
        main([*ASK, "--max-new-tokens", "64", "--max-tokens-total", str(ceiling)]) == 5
    )
    entry = task_entry("run", "medcalc")
    usage, answered = entry["usage"], entry["coverage"]["answered"]
    assert usage["prompt_tokens"] + usage["output_tokens"] <= ceiling
    assert 1 < answered == len(server.asked) < ITEMS
    assert main([*ASK, "--max-new-tokens", "64"]) == 0
    assert len(server.asked) == ITEMS


def test_repeats_are_asked_together(server: FakeBatches) -> None:
    assert main([*ASK, "--repeats", "3"]) == 0
    assert [batch["requests"] for batch in batches()] == [3 * ITEMS - 1]
    assert len(server.asked) == 3 * ITEMS


def refuse_old_parameters(body: Any) -> Refused | None:
    """Refuses the parameters that current reasoning models refuse."""
    message = "Unsupported parameter: '{}' is not supported with this model."
    for name in ("max_tokens", "temperature", "verbosity"):
        if name in body:
            return Refused(400, message.format(name), "unsupported_parameter")
    return None


def test_refused_parameters_are_found_before_a_batch_is_created(
    server: FakeBatches, capsys: pytest.CaptureFixture[str]
) -> None:
    server.line = refuse_old_parameters
    with_verbosity = [
        word.replace("0.01", '0.01,extra_body={"verbosity": "low"}') for word in ASK
    ]
    assert main([*with_verbosity, "--out", "refused"]) == 2
    assert "refuses a setting" in capsys.readouterr().err
    assert server.did("upload") == 0
    assert main(ASK) == 0
    assert (server.did("chat"), server.did("create")) == (6, 1)
    generation = task_entry("run", "medcalc")["recipe"]["generation"]
    assert generation["adapted"] == {
        "max_tokens": "max_completion_tokens",
        "temperature": "left out",
    }
    assert {frozenset(call.body) for call in server.calls} == {
        frozenset({"model", "messages", "max_completion_tokens"})
    }


def test_batches_above_the_limit_of_an_account_are_sent_one_after_another(
    server: FakeBatches, capsys: pytest.CaptureFixture[str]
) -> None:
    server.most_waiting = 4
    words = [word.replace("0.01", "0.01,batch_size=2") for word in ASK]
    assert main(words) == 0
    stderr = capsys.readouterr().err
    assert (
        "batch batch_3: too much at once for this account; sent again after another"
        in stderr
    )
    assert [batch["requests"] for batch in batches()] == [2, 2, 1]
    assert not server.paid_twice


def test_a_server_that_does_not_list_its_batches_is_not_asked_twice(
    server: FakeBatches, kill_at: KillAt, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_at("create", "after")
    server.unlisted = True
    assert main(ASK) == 3
    assert "does not list its batches (HTTP 404" in capsys.readouterr().err
    assert server.did("create") == 1
    Path("run/batches.json").unlink()
    assert main(ASK) == 0


def test_a_batch_of_another_account_is_not_found(
    server: FakeBatches, kill_at: KillAt, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_at("look", "before")
    server.batches.clear()
    assert main(ASK) == 3
    assert (
        "does not have batch_1, a batch of this run, or its results"
        in capsys.readouterr().err
    )


REFUSALS: list[tuple[dict[str, Any], int, str]] = [
    (
        {"without": 404},
        2,
        "does not support batches (HTTP 404: there is nothing here). Leave out --batch",
    ),
    ({"without": 405}, 2, "does not support batches (HTTP 405"),
    (
        {"ends": ("failed", "model_not_found")},
        2,
        "did not accept batch_1 (model_not_found: not accepted). None of its requests was sent to the model.",
    ),
    (
        {"ends": ("failed", "token_limit_exceeded")},
        3,
        "does not accept so large a batch now (token_limit_exceeded: not accepted).",
    ),
]


@pytest.mark.parametrize(("settings", "code", "message"), REFUSALS)
def test_a_provider_without_batches_is_named_and_asked_again_once_it_has_them(
    server: FakeBatches,
    settings: dict[str, Any],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    defaults = {name: getattr(server, name) for name in settings}
    vars(server).update(settings)
    assert main(ASK) == code
    assert message.format(url=server.base_url) in capsys.readouterr().err
    vars(server).update(defaults)
    assert main(ASK) == 0
    assert not server.paid_twice


JUDGED = (
    "run --tasks kqa --config demo --model baseline/reference --judge openai-api/test-host/j --votes 3 --out judged "
    "--judge-batch --judge-args batch_poll=0.01,n_choices=true"
).split()


def verdict(call: Call) -> str:
    """An unreadable reply first, and a verdict when asked again."""
    again = len(call.body["messages"]) > 1
    return (
        json.dumps({"reason": "so it says", "verdict": "entailed"})
        if again
        else "I cannot say"
    )


def test_a_judge_is_asked_in_a_batch_per_round(
    server: FakeBatches, kill_at: KillAt
) -> None:
    server._answer = verdict
    kill_at("create", "after", words=JUDGED)
    assert main(JUDGED) == 0
    judge = task_entry("judged", "kqa")["judge"]
    question_count = judge["verdicts"]["asked"]
    assert judge["verdicts"]["decided"] == question_count > 0
    # Two votes on a question share a request, also when they are asked again.
    assert [batch["requests"] for batch in judge["batches"]] == [
        question_count - 1,
        question_count - 1,
    ]
    assert {call.body["n"] for call in server.calls} == {2}
    assert not server.paid_twice


def test_a_judge_is_checked_in_batches(server: FakeBatches) -> None:
    server._answer = lambda call: json.dumps({"reason": "r", "verdict": "entailed"})
    write(Path(ANNOTATIONS_FILE), rows(MARKS))
    words = "judge-check kqa --judge openai-api/test-host/j --source . --out check --judge-batch".split()
    assert main([*words, "--judge-args", "batch_poll=0.01"]) == 0
    pairs = json_of(Path("check/check.json"))["scored"]
    assert (server.did("chat"), server.did("create")) == (1, 1)
    assert len(server.asked) == pairs


def test_the_budget_of_a_judge_applies_to_batches(server: FakeBatches) -> None:
    server._answer = verdict
    assert main([*JUDGED, "--max-judge-calls", "5"]) == 5
    judge = task_entry("judged", "kqa")["judge"]
    assert len(server.asked) == judge["calls"] == 5
    assert "judge: budget spent" in judge["verdicts"]["unscored"]


WRONG = [
    (
        "--model baseline/reference --batch",
        "--batch: baseline/reference is not asked in batches",
    ),
    ("--model hf/somewhere --batch", "--batch: hf/somewhere is not asked in batches"),
    (
        "--model baseline/reference --judge-batch",
        "--judge-batch: lexical is not asked in batches",
    ),
    (
        "--model openai-api/h/m --batch --model-args base_url=http://127.0.0.1:9/v1,batch_size=0",
        "model argument batch_size must be a whole number from 1 to 50000, got '0'",
    ),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_use(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--tasks", "kqa", "--config", "demo", *words.split()]) == 2
    assert message in capsys.readouterr().err


def test_a_batch_needs_a_single_address(
    server: FakeBatches,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_HOST_BASE_URL", f"{server.base_url} http://127.0.0.1:9/v1")
    assert main(ASK) == 2
    assert "--batch: a batch has one address, got 2" in capsys.readouterr().err
    assert server.steps == []


def test_credentialed_data_is_never_put_into_a_batch(
    server: FakeBatches, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "run --tasks ehrnoteqa_open_level1 --config demo --model openai-api/test-host/m --out run".split()
    attested = ["--allow-remote", "127.0.0.1", "--attest-zero-retention"]
    for option in ("--batch", "--judge-batch"):
        judge = ["--judge", "openai-api/test-host/j"]
        assert main([*words, *judge, *attested, option]) == 4
        stderr = capsys.readouterr().err
        assert (
            f"{option} is refused, since it would store every question in a file"
            in stderr
        )
        assert "whatever is attested" in stderr
    answers = {"id": "10000017", "response": "a"}
    Path("answers.jsonl").write_text(json.dumps(answers))
    words = "score ehrnoteqa_open_level1 --config demo --responses answers.jsonl --out run".split()
    assert main([*words, *judge, *attested, "--judge-batch"]) == 4
    assert server.steps == []
    assert not Path("run").exists()


def test_a_damaged_journal_is_refused(
    server: FakeBatches, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ASK) == 0
    Path("run/batches.json").write_text('{"batches": [{"id": 1}]}')
    Path("run/answers.sqlite").unlink()
    assert main(ASK) == 2
    assert "batches.json: not the journal of a run's batches" in capsys.readouterr().err


def test_python_asks_in_batches_and_its_errors_use_its_option_names(
    server: FakeBatches,
) -> None:
    options: dict[str, Any] = {"config": "demo", "max_samples": 2, "batch": True}
    results = mt.run(
        "medcalc", "openai-api/test-host/m", model_args={"batch_poll": 0.01}, **options
    )
    assert results["medcalc"].coverage["answered"] == 2
    server.without = 404
    with pytest.raises(UsageError, match="Leave out batch"):
        mt.run(
            "medcalc",
            "openai-api/test-host/n",
            model_args={"batch_poll": 0.01},
            **options,
        )


def test_a_ceiling_is_checked_before_a_batch_is_sent(
    server: FakeBatches, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*ASK, "--max-new-tokens", "500"]
    assert main([*words, "--max-tokens-total", "1600"]) == 5
    paid = len(server.asked)
    assert 1 < paid < ITEMS
    coverage = task_entry("run", "medcalc")["coverage"]
    assert coverage["unscored"]["no answer: budget spent"] == ITEMS - paid
    assert "before --max-tokens-total 1600 was passed" in capsys.readouterr().err
    assert main(words) == 0
    assert len(server.asked) == ITEMS  # nothing was paid twice
