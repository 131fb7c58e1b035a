"""Ceilings on the cost, tokens and time of a run: where it stops, what it keeps, and how it resumes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.models.budget import Amount, RunBudget
from medical_tasks.models.stand_ins import make_toy_model
from tests.fault_server import Call, Fault, FaultServer
from tests.run_files import task_entry

pytestmark = pytest.mark.usefixtures("demo_home")

READ, WRITTEN = 1_000, 100  # tokens that the server reports for each answer
LONGEST = 200
PRICES = "price_in=1,price_out=10"  # USD 0.002 an answer


MESSAGE = {"role": "assistant", "content": "The answer is 5."}
ANSWER = Fault.message(MESSAGE, prompt_tokens=READ, completion_tokens=WRITTEN)


def priced(call: Call) -> Fault:
    return ANSWER


def run(server: FaultServer, *more: str, args: str = PRICES) -> int:
    words = (
        f"run --tasks medcalc --config demo --max-new-tokens {LONGEST} --out r".split()
    )
    named = f"--model openai-api/host/m --model-args base_url={server.base_url},{args}".split()
    return main([*words, *named, *more])


def unscored() -> dict[str, int]:
    return dict(task_entry("r", "medcalc")["coverage"]["unscored"])


def test_a_run_stops_at_a_ceiling_of_cost_and_resumes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with FaultServer(priced) as server:
        assert run(server, "--max-cost", "0.02") == 5
        stopped = len(server.calls)
        # Each estimate is above an answer's cost, so the last answer that would fit may
        # be left out.
        assert stopped in (8, 9, 10)
        error = capsys.readouterr().err
        assert (
            f"asking 31 questions, up to {LONGEST} tokens each, at {server.base_url}\n"
            in error
        )
        assert (
            f"before --max-cost 0.02 was passed: {stopped} answered, {31 - stopped} not asked"
            in error
        )
        assert (
            "the same command with a higher one, or without it, continues from here."
            in error
        )
        assert unscored() == {"no answer: budget spent": 31 - stopped}
        usage = task_entry("r", "medcalc")["usage"]
        assert usage["cost_usd"] == pytest.approx(stopped * 0.002)

        # Earlier commands' costs count: the same ceiling admits nothing more, a higher
        # one does.
        assert run(server, "--max-cost", "0.02") == 5
        assert len(server.calls) == stopped
        assert run(server, "--max-cost", "0.04") == 5
        assert len(server.calls) in (18, 19, 20)
        assert run(server) == 0
        assert len(server.calls) == 31  # nothing was asked twice


def test_ceilings_of_tokens_count_retries_and_requests_in_flight() -> None:
    # nobody knows whether these were paid, so their estimates are booked
    lost = [Fault.no_choices()] * 3
    with FaultServer([*lost, *[ANSWER] * 40]) as server:
        assert run(server, "--max-tokens-total", "12000", args="concurrency=4") == 5
        entry = task_entry("r", "medcalc")
        answered = entry["coverage"]["answered"]
        assert answered * (READ + WRITTEN) < 12_000
        assert len(server.calls) == answered + len(lost)


def test_a_ceiling_of_minutes_is_of_a_single_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with FaultServer(priced) as server:
        assert run(server, "--max-minutes", "0") == 5
        assert server.calls == []
        assert "The same command continues from there." in capsys.readouterr().err
        assert run(server, "--max-minutes", "60") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--model openai-api/host/m --max-cost 5", "--max-cost 5 needs the prices of openai-api/host/m, in USD"),
        ("--model baseline/empty --max-cost 5", "baseline/empty is asked nothing, so --max-cost has no meaning"),
        ("--model openai-api/host/m --max-tokens-total -1", "--max-tokens-total must be 0 or more, got -1"),
    ],
)  # fmt: skip
def test_ceilings_that_cannot_be_kept_are_refused(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--tasks", "medcalc", "--config", "demo", *words.split()]) == 2
    assert message in capsys.readouterr().err


def spend(budget: RunBudget, costs: Sequence[Amount], estimate: Amount) -> int:
    """Spends until the budget admits nothing more; returns the number of requests."""
    for number, used in enumerate(costs):
        if not budget.admit(estimate):
            return number
        budget.settle(estimate, used)
    return len(costs)


def test_a_budget_counts_everything_that_was_spent() -> None:
    estimate = Amount(100, 50, cost=1.0)
    assert spend(RunBudget(max_cost=3.0), [Amount(10, 10, cost=0.5)] * 9, estimate) == 5
    budget = RunBudget(max_tokens=200)
    budget.book(Amount(40, 11))
    assert not budget.admit(estimate)
    assert budget.refused_by == "--max-tokens-total 200"


def test_a_model_in_this_process_stops_between_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_toy_model(tmp_path / "toy", ["What is the patient's creatinine clearance?"])
    words = "run --tasks medcalc --config demo --max-new-tokens 8 --max-samples 9 --out r".split()
    local = [*words, "--model", "hf/toy", "--model-args", "batch_size=2"]
    assert main([*local, "--max-minutes", "0"]) == 5
    assert unscored() == {"no answer: budget spent": 9}
    assert capsys.readouterr().err.startswith(
        "loading hf/toy\nasking 9 questions, up to 8 tokens"
    )
    # the toy's words have many tokens
    assert main([*local, "--max-tokens-total", "8000"]) == 5
    entry = task_entry("r", "medcalc")
    usage = entry["usage"]
    assert 0 < entry["coverage"]["answered"] < 9
    assert (usage["prompt_tokens"] or 0) + (usage["output_tokens"] or 0) <= 8_000
    assert main(local) == 0
