"""`run --forecast`: the calls, tokens and cost of a run, estimated before anything is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.models.stand_ins import make_toy_model
from tests.fault_server import Fault, FaultServer

pytestmark = pytest.mark.usefixtures("demo_home")

NOBODY = "http://nobody.invalid/v1"
RUN = "run --tasks medcalc --config demo --max-new-tokens 100 --out r --model openai-api/host/m"


def run(url: str, *more: str) -> int:
    model_args = f"base_url={url},served=m,price_in=1,price_out=10"
    return main([*RUN.split(), "--model-args", model_args, *more])


def test_a_forecast_counts_stored_and_open_questions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(NOBODY, "--forecast") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(
        "medcalc with openai-api/host/m: 31 questions, 0 in the store, 31 to ask; "
    )
    assert (
        " prompt tokens (an estimate), at most 3,100 output tokens, at most $ 0.0"
        in captured.out
    )
    assert captured.out.endswith("Nobody was asked, nothing is written.\n")
    assert captured.err == ""
    assert not Path("r").exists()

    answer = Fault.message({"role": "assistant", "content": "5"})
    with FaultServer(
        lambda call: answer if call.number <= 11 else Fault.status_code(400)
    ) as server:
        assert run(server.base_url) == 5
    capsys.readouterr()
    assert run(NOBODY, "--forecast", "--json") == 0
    forecast = json.loads(capsys.readouterr().out)["tasks"]["medcalc"]
    assert (forecast["questions"], forecast["stored"], forecast["to_ask"]) == (
        31,
        11,
        20,
    )
    assert forecast["output_tokens_at_most"] == 2_000
    cost = (forecast["prompt_tokens"] + 10 * 2_000) / 1e6
    assert forecast["cost_usd_at_most"] == pytest.approx(cost)

    by_python = mt.forecast(
        "medcalc",
        "openai-api/host/m",
        config="demo",
        max_new_tokens=100,
        out="r",
        model_args={"base_url": NOBODY, "served": "m", "price_in": 1, "price_out": 10},
    )
    assert by_python["tasks"]["medcalc"] == forecast


def test_tokens_are_counted_with_the_tokenizer_where_it_is_available(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_toy_model(tmp_path / "toy", ["What is the patient's creatinine clearance?"])

    def forecast(*words: str) -> dict[str, object]:
        assert main([*words, "--forecast", "--json"]) == 0
        entry: dict[str, object] = json.loads(capsys.readouterr().out)["tasks"][
            "medcalc"
        ]
        return entry

    local = forecast(
        *"run --tasks medcalc --config demo --max-new-tokens 100 --model hf/toy".split()
    )
    assert local["tokens_by"] == "tokenizer"
    assert local["cost_usd_at_most"] is None
    model_args = f"base_url={NOBODY},tokenizer=toy"
    served = forecast(*RUN.split(), "--model-args", model_args)
    assert served == local


def test_a_protocol_asks_more_and_a_baseline_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "run --tasks medcalc_code --config demo --forecast --model".split()
    assert (
        main([*words, "openai-api/host/m", "--model-args", f"base_url={NOBODY}"]) == 0
    )
    assert "Each item's first question; what follows depends" in capsys.readouterr().out
    assert main([*words, "baseline/empty"]) == 0
    assert "baseline/empty is asked nothing." in capsys.readouterr().out
