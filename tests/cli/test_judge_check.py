from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.judge_check import ANNOTATIONS_FILE
from medical_tasks.benchmarks.kqa.judge_prompts import (
    load_judge_prompts,
    single_question,
)
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.cli.entry import main
from medical_tasks.judges.checks import describe, last_check
from tests.benchmarks.kqa.physicians_csv import JUDGED, MARKS, rows, write
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.conftest import Serving
from tests.fault_server import Call, Fault, FaultServer
from tests.support import SHARED, needs_shared

CHAT = "openai-api/test-host/m"
WORDS = {"E": "entailed", "N": "neither", "C": "contradicted"}


def answer(call: Call) -> str:
    """Gives each statement the verdict that it names."""
    prompt = str(call.body["messages"][0]["content"])
    marks = [match[2] for match in JUDGED.finditer(prompt)]
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


def kqa(
    *more: str, judge: str = CHAT, marks: tuple[tuple[str, ...], ...] = MARKS
) -> int:
    write(Path(ANNOTATIONS_FILE), rows(marks))
    command = ["judge-check", "kqa", "--judge", judge, "--source", "."]
    return main([*command, "--out", "check", *more])


def check() -> dict[str, Any]:
    return dict(json_of(Path("check/check.json")))


def test_agreement_of_a_judge_with_physicians(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kqa() == 0
    report = check()
    three, two = report["figures"]["three_way"], report["figures"]["two_way"]
    # By hand from the marks: EEN is called N, CCN is called N, the other eight are
    # right.
    assert (report["pairs"], report["clusters"], report["scored"]) == (10, 3, 10)
    assert report["unscored"] == {}
    assert (three["accuracy"]["value"], three["accuracy"]["n"]) == (0.8, 10)
    assert three["confusion"]["counts"] == [[3, 1, 0, 0], [0, 4, 0, 0], [0, 1, 1, 0]]
    assert [
        three["classes"][name]["recall"]
        for name in ("entailment", "neutral", "contradiction")
    ] == [0.75, 1.0, 0.5]
    assert three["classes"]["neutral"]["precision"] == pytest.approx(4 / 6)
    # Expected agreement (4*3 + 4*6 + 2*1) / 100 = 0.38.
    assert three["kappa"]["value"] == pytest.approx((0.8 - 0.38) / 0.62)
    assert two["confusion"]["counts"] == [[3, 1, 0], [0, 6, 0]]
    people = report["figures"]["people"]["three_way"]
    assert people["unanimous"] == 6
    assert people["majority"] == {"entailment": 4, "neutral": 4, "contradiction": 2}
    # Six rows with 3 of 3 pairs equal, four with 1 of 3.
    assert people["pairwise_agreement"]["value"] == pytest.approx((6 + 4 / 3) / 10)
    # The third differs on EEN, NNE and CCN, the second on ECE; the two others then have
    # no majority.
    assert people["leave_one_out"]["no_majority"] == [4, 3, 1]
    output = capsys.readouterr().out
    assert "people, pairwise agreement" in output
    assert "0.733" in output
    assert "10 of 10 pairs have a verdict" in output
    # The questions are those of scoring.
    prompts = load_judge_prompts(KQA)
    assert report["prompts"] == {"set": "own", "sha256": prompts.sha256}
    assert len(server.calls) == 10
    assert {call.prompt for call in server.calls} == {
        single_question(
            prompts,
            "q",
            question=row["Question"],
            answer=row["answer"],
            statement=row["claim"],
        ).messages[0]["content"]
        for row in rows()
    }
    # Again: no call, the same figures, and the check is recorded for `run`.
    assert kqa() == 0
    assert len(server.calls) == 10
    assert check()["figures"] == report["figures"]
    note = describe(
        last_check(report["judge"]["identity"], name="kqa"), judge=CHAT, name="kqa"
    )
    assert "checked on kqa (10 pairs, " in note
    assert "accuracy 0.80" in note
    assert "physicians agree pairwise 0.733" in note


def test_pairs_without_a_verdict(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = (("EEE E", "NNN X", "NNN N"), ("CCC C", "NNN N"))
    assert kqa(marks=marks) == 5
    captured = capsys.readouterr()
    assert "1 of 5 pairs have no verdict (1 x judge: unreadable reply" in captured.err
    report = check()
    figures = report["figures"]["three_way"]
    assert report["scored"] == figures["accuracy"]["n"] == 4
    assert figures["accuracy"]["value"] == 1.0
    assert figures["bounds"] == [0.8, 1.0]
    assert figures["confusion"]["counts"] == [[1, 0, 0, 0], [0, 2, 0, 1], [0, 0, 1, 0]]
    assert "with them accuracy would be 0.800 to 1.000" in captured.out
    assert "checked on kqa (4 of 5 pairs" in describe(
        last_check(report["judge"]["identity"], name="kqa"), judge=CHAT, name="kqa"
    )


def test_a_check_resumes_where_it_stopped(serving: Serving) -> None:
    with serving():
        pass
    assert kqa("--judge-args", "max_retries=0") == 3  # nobody listens
    assert not Path("check/check.json").exists()
    assert last_check({}, name="kqa") is None
    down = True

    def plan(call: Call) -> Fault | None:
        return (
            Fault.status_code(400, "no")
            if down and "complaint 1 " in call.prompt
            else None
        )

    with serving(plan) as server:
        assert kqa("--max-judge-calls", "2", "--judge-args", "concurrency=1") == 5
        assert check()["scored"] == len(server.calls) == 2
        assert kqa() == 5
        assert check()["scored"] == 7
        call_count, down = len(server.calls), False
        assert kqa() == 0
        assert check()["scored"] == 10
        assert len(server.calls) == call_count + 3


def test_batched_and_single_are_compared_and_asked_again(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kqa("--judging", "batched", "--again", "--sensitivity") == 0
    report = check()
    assert report["mode"] == "batched"
    assert report["single_vs_batched"]["pairs"] == 10
    assert report["single_vs_batched"]["table"] == [[3, 0, 0], [0, 6, 0], [0, 0, 1]]
    assert [
        report[name]["agreement"]["value"]
        for name in ("single_vs_batched", "again", "turned")
    ] == [1.0, 1.0, 1.0]
    assert len(server.calls) == 3 + 10 + 3 + 3
    # A reversed batch has its statements in reverse, too; the labels return to their
    # statements.
    marks = [
        [match[0] for match in JUDGED.finditer(call.prompt)] for call in server.calls
    ]
    batches = [batch for batch in marks if len(batch) > 1]
    assert sorted(batch[::-1] for batch in batches[:3]) == sorted(batches[-3:])
    assert (
        "Asked for all statements of an answer at once, and singly: the same label on 1.000"
        in capsys.readouterr().out
    )
    assert not Path("check/choosing.json").exists()
    identity = report["judge"]["identity"]
    # the check is of the judge that is asked in batches
    assert last_check(identity, name="kqa") is None
    assert last_check(identity, mode="batched", name="kqa") is not None
    assert kqa() == 0
    assert len(server.calls) == 19  # single calls were made already


def test_official_prompts_ask_twice(server: FaultServer, here: Path) -> None:
    def two_questions(call: Call) -> str:
        (match,) = JUDGED.finditer(call.prompt)
        true_mark = "E" if call.prompt.startswith("Entails?") else "C"
        return f"I think so. The answer is {match[2] == true_mark}."

    server._answer = two_questions
    folder = here / "upstream" / "evaluation" / "prompts"
    folder.mkdir(parents=True)
    for name, word in (
        ("is_entails.txt", "Entails"),
        ("is_contradict.txt", "Contradicts"),
    ):
        (folder / name).write_text(
            f"{word}? {{question}} {{llm_answer}} {{answer}}", encoding="utf-8"
        )
    assert kqa("--prompts", "official", "--upstream", "upstream") == 0
    report = check()
    assert len(server.calls) == 20
    assert report["figures"]["three_way"]["confusion"]["counts"] == [
        [3, 1, 0, 0],
        [0, 4, 0, 0],
        [0, 1, 1, 0],
    ]
    assert report["prompts"]["set"] == "official"
    assert (
        last_check(report["judge"]["identity"], prompts="official", name="kqa")
        is not None
    )
    assert last_check(report["judge"]["identity"], name="kqa") is None


def test_a_forecast_json_and_fewer_pairs(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kqa("--forecast") == 0
    captured = capsys.readouterr()
    assert "nothing is written" in captured.out
    assert "10 verdicts, 0 in the store" in captured.err
    assert server.calls == []
    assert not Path("check").exists()
    assert kqa("--json", "--max-pairs", "4") == 0
    four = json.loads(capsys.readouterr().out)
    assert four == check()
    assert (four["pairs"], len(server.calls)) == (4, 4)
    assert kqa("--max-pairs", "6") == 0
    assert len(server.calls) == 6  # the four are among the six


def test_several_judges_are_compared(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    # Four models: calm always gives the same verdict, first never the verdict that is
    # offered last, moody another one the second time, and gone has no key.
    def answers(call: Call) -> str:
        neither_is_first = call.prompt.index('"neither":') < call.prompt.index(
            '"entailed":'
        )
        changes = {
            "first": neither_is_first,
            "moody": call.attempt > 5,  # 1 to 4: the others
        }
        reply = answer(call)
        if changes.get(call.body["model"]):
            return reply.replace("entailed", "neither")
        return reply

    def plan(call: Call) -> Fault | None:
        return Fault.status_code(401, "no") if call.body["model"] == "gone" else None

    marks = tuple((f"EEE {'N' if n > 9 else 'E'}", "EEE E", "NNN N") for n in range(12))
    names = ("calm", "first", "moody", "gone")
    judges = "".join(f" --judge openai-api/test-host/{name}" for name in names[1:])
    more = f"{judges} --judge-args price_in=1,price_out=2 --again --sensitivity".split()
    with serving(plan, answers) as server:
        assert kqa(*more, judge="openai-api/test-host/calm", marks=marks) == 5
        captured = capsys.readouterr()
        assert "openai-api/test-host/gone could not be checked: " in captured.err
        assert (
            "Recommended: openai-api/test-host/calm; its kappa is 0.8" in captured.out
        )
        assert "only 38.9 % of its labels stay when it is asked again" in captured.out
        choice = json_of(Path("check/choosing.json"))
        judge_rows = {
            name.rpartition("/")[2]: row for name, row in choice["judges"].items()
        }
        assert [judge_rows[name].get("cautions") for name in names] == [
            [],
            ["turned"],
            ["again"],
            None,
        ]
        assert judge_rows["gone"]["against"] == "failed"
        # The judge finds 22 of 36 entailed.
        assert (
            judge_rows["first"]["turned"]["agreement"]["value"]
            == judge_rows["moody"]["again"]["agreement"]["value"]
        )
        assert judge_rows["calm"]["spent"]["requests"] == 1000.0
        assert judge_rows["calm"]["spent"]["cost_usd"] is not None
        assert judge_rows["calm"]["own_model"]["lean"]["value"] is None
        assert "openai-api/test-host/calm" in Path("check/judges.html").read_text(
            encoding="utf-8"
        )
        # Every judge has its check; the same command asks only the judge that is gone,
        # and writes the same.
        checks = [str(path) for path in sorted(Path("check").glob("*/check.json"))]
        call_count = sum(call.body["model"] != "gone" for call in server.calls)
        assert (len(checks), call_count) == (3, 3 * 36 * 3)
        assert kqa(*more, judge="openai-api/test-host/calm", marks=marks) == 5
        assert sum(call.body["model"] != "gone" for call in server.calls) == call_count
        assert json_of(Path("check/choosing.json")) == choice
        # The checks alone, without the data, give the same recommendation.
        Path(ANNOTATIONS_FILE).unlink()
        capsys.readouterr()
        assert main(["judge-check", "kqa", "--compare", *checks, "--json"]) == 0
        assert (
            json.loads(capsys.readouterr().out)["recommended"]
            == "openai-api/test-host/calm"
        )
        assert main(["judge-check", "anli", "--compare", *checks]) == 2
        assert "is checked on kqa, not on anli" in capsys.readouterr().err


@wrong_use("judge_check")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path(ANNOTATIONS_FILE), rows())
    refuse(line, code, message, capsys)


@pytest.mark.upstream
@needs_shared
def test_the_physicians_figures_on_the_released_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = str(SHARED / "data" / "kqa" / ANNOTATIONS_FILE)
    command = ["judge-check", "kqa", "--judge", "lexical", "--source", source]
    assert main([*command, "--out", "check"]) == 0
    report = check()
    people = report["figures"]["people"]["three_way"]
    assert (report["pairs"], report["clusters"], report["scored"]) == (399, 50, 399)
    assert people["pairwise_agreement"]["value"] == pytest.approx(0.8546, abs=5e-5)
    assert people["fleiss_kappa"]["value"] == pytest.approx(0.7189, abs=5e-5)
    assert people["majority"] == {
        "entailment": 153,
        "neutral": 234,
        "contradiction": 12,
    }
    assert people["unanimous"] == 312
    output = capsys.readouterr().out
    assert "0.855  0.820 to 0.883    399" in output
    assert "0.719  0.657 to 0.775    399" in output
