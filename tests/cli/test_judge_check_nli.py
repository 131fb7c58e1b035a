"""judge-check on ANLI and MedNLI together, and the styles of the reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.judges.checks import last_check
from tests.cli.wrong_use import refuse, wrong_use
from tests.fault_server import Call, FaultServer

CHAT = "openai-api/test-host/m"
WORDS = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def answer(call: Call) -> str:
    """Says of a pair the label its hypothesis begins with, in the form asked for."""
    prompt = str(call.body["messages"][0]["content"])
    label = WORDS[prompt.partition('Hypothesis:\n"')[2][0]]
    if "not_entailment" in prompt and label != "entailment":
        label = "not_entailment"
    if '"reason"' in prompt:
        return json.dumps({"reason": "r", "label": label})
    if "JSON object" in prompt:
        return json.dumps({"label": label})
    return f"I think so.\nAnswer: {label}" if "Answer: <" in prompt else label


@pytest.fixture(autouse=True)
def pairs_of_both(here: Path) -> None:
    for name, said in (("R1", "enc"), ("R2", "eee"), ("R3", "ene")):
        lines = [
            {"uid": f"{name}-{n}", "context": f"Context {n}.", "hypothesis": f"{word} is it", "label": label}
            for n, (label, word) in enumerate(zip("enc", said, strict=True))
        ]
        path = Path("anli_v1.0") / name / "test.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    pairs = [
        {"gold_label": WORDS[label], "pairID": f"p{n}", "sentence1": f"Premise {n}.", "sentence2": f"{word} is it"}
        for n, (label, word) in enumerate(zip("enc", "ene", strict=True))
    ]
    Path("mli_test_v1.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs), encoding="utf-8")


def check(*more: str, judge: str = CHAT, chosen: str = "nli") -> int:
    source = ["--source", "mli_test_v1.jsonl" if chosen == "mednli" else "anli_v1.0"]
    return main(["judge-check", chosen, "--judge", judge, *source, "--out", "check", *more])


def content() -> dict[str, Any]:
    return dict(json.loads(Path("check/check.json").read_text(encoding="utf-8")))


def test_the_rounds_mednli_and_their_means(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--mednli", "mli_test_v1.jsonl", "--ways", "2") == 0
    found = content()
    assert (found["pairs"], found["ways"], found["style"], found["prompts"]["set"]) == (12, 2, "json_cot", "own")
    accuracy = {name: part["two_way"]["accuracy"]["value"] for name, part in found["figures"]["groups"].items()}
    assert accuracy == pytest.approx({"R1": 1.0, "R2": 1 / 3, "R3": 2 / 3, "MedNLI": 2 / 3})
    means = found["figures"]["averages"]["two_way"]
    assert means["ANLI, mean of rounds"]["value"] == pytest.approx(2 / 3)
    assert means["mean of the four sets"]["value"] == pytest.approx((1 + 1 / 3 + 2 / 3 + 2 / 3) / 4)
    assert found["source"].keys() == {"R1/test.jsonl", "R2/test.jsonl", "R3/test.jsonl", "mli_test_v1.jsonl"}
    assert "mean of the four sets" in capsys.readouterr().out
    assert last_check(found["judge"]["identity"]) is not None


def test_means_of_anli_only_where_all_rounds_are_there(server: FaultServer) -> None:
    assert check(chosen="anli") == 0
    averages = content()["figures"]["averages"]
    assert set(averages) == {"three_way", "two_way"}
    assert set(averages["two_way"]) == {"ANLI, mean of rounds"}
    assert check("--round", "R2", chosen="anli") == 0
    assert "averages" not in content()["figures"]


def test_both_together_stay_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--mednli", "mli_test_v1.jsonl", judge="openai-api/far-host/m") == 4
    assert "may not be sent to judge.example:9" in capsys.readouterr().err


@pytest.mark.parametrize("style", ["json", "cot", "plain"])
def test_a_style_is_asked_for_read_and_filed_apart(style: str, server: FaultServer) -> None:
    assert check("--style", style, chosen="anli") == 0
    found = content()
    assert (found["scored"], found["style"], found["prompts"]["set"]) == (9, style, f"own_{style}")
    assert found["figures"]["three_way"]["accuracy"]["value"] == pytest.approx((3 + 1 + 2) / 9)
    assert last_check(found["judge"]["identity"]) is None  # benchmarks do not ask so
    asked = len(server.calls)
    assert check(chosen="anli") == 0
    assert len(server.calls) == 2 * asked  # another style is another question
    assert last_check(found["judge"]["identity"]) is not None


@wrong_use("judge_check_nli")
def test_wrong_use(line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    refuse(line, code, message, capsys)
    assert not Path("check/check.json").exists()
