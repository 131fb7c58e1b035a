"""`judge-check` on ANLI and MedNLI, and the styles of the reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.judges.checks import describe, last_check
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.fault_server import Call, FaultServer
from tests.run_files import contains

CHAT = "openai-api/test-host/m"
CANARY = "The canary of the patient in bed four sang until the early morning hours of Sunday."
WORDS = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def answer(call: Call) -> str:
    """Gives a pair the label its hypothesis begins with, in the requested form; the reason quotes MedNLI's premises."""
    prompt = str(call.body["messages"][0]["content"])
    label = WORDS[prompt.partition('Hypothesis:\n"')[2][0]]
    if "not_entailment" in prompt and label != "entailment":
        label = "not_entailment"
    if '"reason"' in prompt:
        return json.dumps({"reason": CANARY, "label": label})
    if "JSON object" in prompt:
        return json.dumps({"label": label})
    return f"I think so.\nAnswer: {label}" if "Answer: <" in prompt else label


@pytest.fixture(autouse=True)
def pairs_of_both(here: Path) -> None:
    for name, verdicts in (("R1", "enc"), ("R2", "eee"), ("R3", "enn")):
        lines = [
            {
                "uid": f"{name}-{n}",
                "context": f"Context {n}.",
                "hypothesis": f"{word} is it",
                "label": label,
            }
            for n, (label, word) in enumerate(zip("enc", verdicts, strict=True))
        ]
        path = Path("anli_v1.0") / name / "test.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(
            "".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8"
        )
    pairs = [
        {
            "gold_label": WORDS[label],
            "pairID": f"p{n}",
            "sentence1": f"{CANARY} Premise {n}.",
            "sentence2": f"{word} is it",
        }
        for n, (label, word) in enumerate(zip("enc", "ene", strict=True))
    ]
    Path("mli_test_v1.jsonl").write_text(
        "".join(f"{json.dumps(pair)}\n" for pair in pairs), encoding="utf-8"
    )


def check(*more: str, judge: str = CHAT, dataset: str = "nli") -> int:
    source = ["--source", "mli_test_v1.jsonl" if dataset == "mednli" else "anli_v1.0"]
    return main(
        ["judge-check", dataset, "--judge", judge, *source, "--out", "check", *more]
    )


def content(folder: str = "check") -> dict[str, Any]:
    return dict(json_of(Path(folder) / "check.json"))


def test_the_rounds_mednli_and_their_means_in_two_classes(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("--mednli", "mli_test_v1.jsonl", "--ways", "2") == 0
    report = content()
    assert (report["pairs"], report["ways"]) == (12, 2)
    assert (report["style"], report["prompts"]["set"]) == ("json_cot", "own")
    figures = report["figures"]
    assert figures["three_way"] is None
    assert figures["two_way"]["confusion"]["counts"] == [[4, 0, 0], [3, 5, 0]]
    accuracy = {
        name: group["two_way"]["accuracy"]["value"]
        for name, group in figures["groups"].items()
    }
    assert accuracy == pytest.approx(
        {"R1": 1.0, "R2": 1 / 3, "R3": 1.0, "MedNLI": 2 / 3}
    )
    means = figures["averages"]["two_way"]
    assert means["ANLI, mean of rounds"]["value"] == pytest.approx(7 / 9)
    assert means["mean of the four sets"]["value"] == pytest.approx(
        (1 + 1 / 3 + 1 + 2 / 3) / 4
    )
    assert report["source"].keys() == {
        "R1/test.jsonl",
        "R2/test.jsonl",
        "R3/test.jsonl",
        "mli_test_v1.jsonl",
    }
    assert all(
        "not_entailment" in call.prompt and "neutral" not in call.prompt
        for call in server.calls
    )
    assert "mean of the four sets" in capsys.readouterr().out
    assert "entailed or not" in describe(
        last_check(report["judge"]["identity"], name="kqa"), judge=CHAT, name="kqa"
    )


def test_anli_in_three_classes(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(dataset="anli") == 0
    report = content()
    assert (report["pairs"], report["clusters"]) == (9, 3)
    figures = report["figures"]
    # Wrong: n-e and c-e of R2, and c-n of R3, which is right in two classes.
    assert figures["three_way"]["accuracy"]["value"] == pytest.approx(6 / 9)
    assert figures["two_way"]["accuracy"]["value"] == pytest.approx(7 / 9)
    assert sorted(figures["groups"]) == ["R1", "R2", "R3"]
    assert figures["groups"]["R2"]["two_way"]["accuracy"]["n"] == 3
    assert figures["people"] is None
    assert set(figures["averages"]) == {"three_way", "two_way"}
    assert set(figures["averages"]["two_way"]) == {"ANLI, mean of rounds"}
    assert report["source"].keys() == {
        "R1/test.jsonl",
        "R2/test.jsonl",
        "R3/test.jsonl",
    }
    assert "R3" in capsys.readouterr().out
    assert "accuracy 0.67" in describe(
        last_check(report["judge"]["identity"], name="kqa"), judge=CHAT, name="kqa"
    )
    # A single round has neither groups nor means.
    assert check("--round", "R2", dataset="anli") == 0
    assert content()["figures"].keys() & {"groups", "averages"} == set()


def test_mednli_stays_on_this_machine(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for dataset, more in (
        ("mednli", []),
        ("nli", ["--mednli", "mli_test_v1.jsonl", "--out", "both"]),
    ):
        assert check(*more, judge="openai-api/far-host/m", dataset=dataset) == 4
        refused = capsys.readouterr()
        assert "may not be sent to judge.example:9" in refused.err
        assert "MIMIC-III" in refused.err
    assert check("--out", "local", dataset="mednli") == 0
    assert len(server.calls) == 3
    assert "canary" in server.calls[0].prompt
    assert content("local")["figures"]["three_way"]["accuracy"][
        "value"
    ] == pytest.approx(2 / 3)
    # The reply quotes the sentence; it is in the private store and nowhere else.
    captured = capsys.readouterr()
    assert "canary" not in refused.out + refused.err + captured.out + captured.err
    # refused commands leave nothing behind
    assert not {"check", "both"} & {path.name for path in Path().iterdir()}
    for folder in ("local", "home"):
        assert not contains(folder, b"canary")
    assert contains("private", b"canary")


@pytest.mark.parametrize("style", ["json", "cot", "plain"])
def test_a_style_is_asked_for_read_and_recorded_separately(
    style: str, server: FaultServer
) -> None:
    assert check("--style", style, "--sensitivity", dataset="anli") == 0
    report = content()
    agreement = report["turned"]["agreement"]
    assert (agreement["value"], agreement["n"]) == (1.0, 9)
    last_prompt = server.calls[-1].prompt
    assert last_prompt.rindex("contradiction") < last_prompt.rindex("entailment")
    assert (report["scored"], report["style"]) == (9, style)
    assert report["prompts"]["set"] == f"own_{style}"
    assert report["figures"]["three_way"]["accuracy"]["value"] == pytest.approx(
        (3 + 1 + 2) / 9
    )
    # benchmarks do not ask so
    assert last_check(report["judge"]["identity"], name="kqa") is None
    call_count = len(server.calls)
    assert check(dataset="anli") == 0
    assert len(server.calls) == call_count * 3 // 2  # another style is another question
    assert last_check(report["judge"]["identity"], name="kqa") is not None


@wrong_use("judge_check_nli")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(line, code, message, capsys)
    assert not Path("check/check.json").exists()
