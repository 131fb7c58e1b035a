from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.annotations import ANNOTATIONS_FILE
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts, single_question
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.cli.entry import main
from medical_tasks.judges.checks import describe, last_check
from tests.benchmarks.kqa.physicians_csv import JUDGED, MARKS, rows, write
from tests.cli.conftest import Serving
from tests.cli.wrong_use import refuse, wrong_use
from tests.fault_server import Call, Fault, FaultServer
from tests.support import SHARED, needs_shared

CHAT = "openai-api/test-host/m"
WORDS = {"E": "entailed", "N": "neither", "C": "contradicted"}


def answer(call: Call) -> str:
    """Says of each statement what is written in it."""
    prompt = str(call.body["messages"][0]["content"])
    marks = [found[2] for found in JUDGED.finditer(prompt)]
    if "X" in marks and len(marks) == 1:
        return "I cannot tell."
    if '"verdicts"' in prompt:
        verdicts = [
            {"id": f"s{n}", "reason": "r", "verdict": WORDS[mark]}
            for n, mark in enumerate(marks, start=1)
            if mark != "X"
        ]
        return json.dumps({"verdicts": verdicts})
    return json.dumps({"reason": "r", "verdict": WORDS[marks[0]]})


def kqa(*more: str, judge: str = CHAT, made: tuple[tuple[str, ...], ...] = MARKS) -> int:
    write(Path(ANNOTATIONS_FILE), rows(made))
    return main(["judge-check", "kqa", "--judge", judge, "--source", ".", "--out", "check", *more])


def check() -> dict[str, Any]:
    return dict(json.loads(Path("check/check.json").read_text(encoding="utf-8")))


def test_a_judge_against_physicians(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert kqa() == 0
    found = check()
    three, two = found["figures"]["three_way"], found["figures"]["two_way"]
    # By hand from the marks: EEN is called N, CCN is called N, the other eight are right.
    assert (found["pairs"], found["clusters"], found["scored"], found["unscored"]) == (10, 3, 10, {})
    assert (three["accuracy"]["value"], three["accuracy"]["n"]) == (0.8, 10)
    assert three["confusion"]["counts"] == [[3, 1, 0, 0], [0, 4, 0, 0], [0, 1, 1, 0]]
    assert [three["classes"][name]["recall"] for name in ("entailment", "neutral", "contradiction")] == [0.75, 1.0, 0.5]
    assert three["classes"]["neutral"]["precision"] == pytest.approx(4 / 6)
    # Expected agreement (4*3 + 4*6 + 2*1) / 100 = 0.38.
    assert three["kappa"]["value"] == pytest.approx((0.8 - 0.38) / 0.62)
    assert two["confusion"]["counts"] == [[3, 1, 0], [0, 6, 0]]
    people = found["figures"]["people"]["three_way"]
    assert people["unanimous"] == 6
    assert people["majority"] == {"entailment": 4, "neutral": 4, "contradiction": 2}
    # Six rows with 3 of 3 pairs equal, four with 1 of 3.
    assert people["pairwise_agreement"]["value"] == pytest.approx((6 + 4 / 3) / 10)
    # The third differs on EEN, NNE and CCN, the second on ECE; that leaves the two others without a reference.
    assert people["leave_one_out"]["no_majority"] == [4, 3, 1]
    said = capsys.readouterr().out
    assert "people, pairwise agreement" in said
    assert "0.733" in said
    assert "10 of 10 pairs have a verdict" in said
    # Each is asked as scoring asks.
    prompts = load_judge_prompts(KQA)
    assert found["prompts"] == {"set": "own", "sha256": prompts.sha256}
    assert len(server.calls) == 10
    assert {call.prompt for call in server.calls} == {
        single_question(prompts, "q", question=row["Question"], answer=row["answer"], statement=row["claim"]).messages[
            0
        ]["content"]
        for row in rows()
    }
    # Again: no call, the same figures, and `run` knows of it.
    assert kqa() == 0
    assert len(server.calls) == 10
    assert check()["figures"] == found["figures"]
    told = describe(last_check(found["judge"]["identity"]), judge=CHAT)
    assert "checked on kqa (10 pairs, " in told
    assert "accuracy 0.80" in told
    assert "physicians agree pairwise 0.733" in told


def test_pairs_without_a_verdict(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    marks = (("EEE E", "NNN X", "NNN N"), ("CCC C", "NNN N"))
    assert kqa(made=marks) == 5
    captured = capsys.readouterr()
    assert "1 of 5 pairs have no verdict (1 x judge: unreadable reply" in captured.err
    found = check()
    three = found["figures"]["three_way"]
    assert (found["scored"], three["accuracy"]["value"], three["accuracy"]["n"]) == (4, 1.0, 4)
    assert three["bounds"] == [0.8, 1.0]
    assert three["confusion"]["counts"] == [[1, 0, 0, 0], [0, 2, 0, 1], [0, 0, 1, 0]]
    assert "with them accuracy would be 0.800 to 1.000" in captured.out
    assert "checked on kqa (4 of 5 pairs" in describe(last_check(found["judge"]["identity"]), judge=CHAT)


def test_a_check_goes_on_where_it_stopped(serving: Serving) -> None:
    with serving():
        pass
    assert kqa("--judge-args", "max_retries=0") == 3  # nobody listens
    assert not Path("check/check.json").exists()
    assert last_check({}) is None
    down = True

    def plan(call: Call) -> Fault | None:
        return Fault.status_code(400, "no") if down and "complaint 1 " in call.prompt else None

    with serving(plan) as server:
        assert kqa("--max-judge-calls", "2", "--judge-args", "concurrency=1") == 5
        assert check()["scored"] == len(server.calls) == 2
        assert kqa() == 5
        assert check()["scored"] == 7
        asked, down = len(server.calls), False
        assert kqa() == 0
        assert check()["scored"] == 10
        assert len(server.calls) == asked + 3


def test_batched_and_single_are_compared(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert kqa("--judging", "batched") == 0
    found = check()
    assert found["mode"] == "batched"
    assert found["single_vs_batched"]["pairs"] == 10
    assert found["single_vs_batched"]["agreement"]["value"] == 1.0
    assert found["single_vs_batched"]["table"] == [[3, 0, 0], [0, 6, 0], [0, 0, 1]]
    assert len(server.calls) == 3 + 10
    assert (
        "Asked for all statements of an answer at once, and singly: the same label on 1.000" in capsys.readouterr().out
    )
    identity = found["judge"]["identity"]
    assert last_check(identity) is None  # what was checked is the judge asked in batches
    assert last_check(identity, mode="batched") is not None
    assert kqa() == 0
    assert len(server.calls) == 13  # single calls were made already


def test_official_prompts_ask_twice(server: FaultServer, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def two_questions(call: Call) -> str:
        (mark,) = [found[2] for found in JUDGED.finditer(call.prompt)]
        wanted = "E" if call.prompt.startswith("Entails?") else "C"
        return f"I think so. The answer is {mark == wanted}."

    server._answer = two_questions
    folder = here / "upstream" / "evaluation" / "prompts"
    folder.mkdir(parents=True)
    for name, word in (("is_entails.txt", "Entails"), ("is_contradict.txt", "Contradicts")):
        (folder / name).write_text(f"{word}? {{question}} {{llm_answer}} {{answer}}", encoding="utf-8")
    assert kqa("--prompts", "official", "--upstream", "upstream") == 0
    found = check()
    assert len(server.calls) == 20
    assert found["figures"]["three_way"]["confusion"]["counts"] == [[3, 1, 0, 0], [0, 4, 0, 0], [0, 1, 1, 0]]
    assert found["prompts"]["set"] == "official"
    assert last_check(found["judge"]["identity"], prompts="official") is not None
    assert last_check(found["judge"]["identity"]) is None


def test_a_forecast_json_and_fewer_pairs(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert kqa("--forecast") == 0
    captured = capsys.readouterr()
    assert "nothing is written" in captured.out
    assert "10" in captured.err
    assert server.calls == []
    assert not Path("check").exists()
    assert kqa("--json", "--max-pairs", "4") == 0
    four = json.loads(capsys.readouterr().out)
    assert four == check()
    assert (four["pairs"], len(server.calls)) == (4, 4)
    assert kqa("--max-pairs", "6") == 0
    assert len(server.calls) == 6  # the four are among the six


@wrong_use("judge_check")
def test_wrong_use(line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(ANNOTATIONS_FILE), rows())
    refuse(line, code, message, capsys)


@pytest.mark.upstream
@needs_shared
def test_the_physicians_figures_on_the_released_file(capsys: pytest.CaptureFixture[str]) -> None:
    source = str(SHARED / "data" / "kqa" / ANNOTATIONS_FILE)
    assert main(["judge-check", "kqa", "--judge", "lexical", "--source", source, "--out", "check"]) == 0
    found = check()
    people = found["figures"]["people"]["three_way"]
    assert (found["pairs"], found["clusters"], found["scored"]) == (399, 50, 399)
    assert people["pairwise_agreement"]["value"] == pytest.approx(0.8546, abs=5e-5)
    assert people["fleiss_kappa"]["value"] == pytest.approx(0.7189, abs=5e-5)
    assert people["majority"] == {"entailment": 153, "neutral": 234, "contradiction": 12}
    assert people["unanimous"] == 312
    said = capsys.readouterr().out
    assert "0.855  0.820 to 0.886    399" in said
    assert "0.719  0.657 to 0.775    399" in said
