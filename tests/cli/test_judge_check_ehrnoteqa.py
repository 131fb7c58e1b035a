"""`judge-check ehrnoteqa`: a judge compared with people who scored models' answers to the demo's questions."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.ehrnoteqa.judging import open_question
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.judges.checks import check_set_of, describe, last_check
from medical_tasks.spec import TaskSpec
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.fault_server import Call, FaultServer
from tests.run_files import contains

CHAT = "openai-api/test-host/m"
CANARY = "the canary sang until the early morning"
# Answers end with the judge's reply to them: right, wrong, or nothing that can be read.
RIGHT, WRONG, MUTE = "(good)", "(bad)", "(mute)"
# question, model, answer, scores of three raters; worked out by hand below.
ROWS = (
    (0, "m1", RIGHT, "1", "1", "1"),
    (0, "m2", RIGHT, "1", "1", "0"),
    (1, "m1", RIGHT, "0", "0", "0"),
    (1, "m2", WRONG, "0", "0", "1"),
    (2, "m1", WRONG, "0", "1", "0"),
    (2, "m2", WRONG, "0", "", "1"),  # evenly divided: no majority
    (3, "m1", "", "0", "0", "0"),  # an empty answer: nobody is asked
)


@pytest.fixture(autouse=True)
def demo(here: Path, demos: Path) -> Path:
    return Path(shutil.copytree(demos / "ehrnoteqa", here / "home" / "ehrnoteqa"))


def answer(call: Call) -> str:
    """Gives the answer in the prompt the verdict that it names; the reason quotes it."""
    prompt = str(call.body["messages"][0]["content"])
    if MUTE in prompt:
        return f"{CANARY}: I would rather not say."
    right = RIGHT in prompt
    if '"verdict"' in prompt:
        return json.dumps({"reason": CANARY, "verdict": "yes" if right else "no"})
    return json.dumps({"reason": CANARY, "score": int(right)})


def questions(demo: Path) -> list[dict[str, Any]]:
    return [dict(row) for row in read_rows(demo, "demo", "test", spec=DATASET)]


def write_scores(
    demo: Path,
    rows: Any = ROWS,
    header: str = "id,model,response,rater_a,rater_b,rater_c",
) -> None:
    ids = [row["id"] for row in questions(demo)]
    with Path("scores.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header.split(","))
        for number, model, answer, *scores in rows:
            response = f"{ids[number]} {CANARY} {model} {answer}" if answer else ""
            writer.writerow([ids[number], model, response, *scores])


def judge(*more: str, judge: str = CHAT) -> int:
    words = (
        "judge-check ehrnoteqa --source scores.csv --config demo --out check"
    ).split()
    return main([*words, "--judge", judge, *more])


def check() -> dict[str, Any]:
    return dict(json_of(Path("check/check.json")))


def task(form: str) -> TaskSpec:
    return next(task for task in TASKS if task.options["format"] == form)


def test_agreement_of_a_judge_with_three_raters(
    server: FaultServer, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(demo)
    assert judge() == 0
    report = check()
    assert (report["set"], report["format"]) == ("ehrnoteqa_open", "open")
    assert (report["votes"], report["ways"], report["mode"]) == (5, 2, "single")
    assert (report["pairs"], report["clusters"], report["scored"]) == (7, 4, 7)
    assert report["unscored"] == {}
    assert report["data"]["config"] == "demo"
    assert report["data"]["version"] == DATASET.version
    assert list(report["source"]) == ["scores.csv"]
    figures = report["figures"]
    # Majorities: 1 1 0 0 0 - 0; the judge: 1 1 1 0 0 0 0.
    correctness = figures["correctness"]
    assert correctness["accuracy"]["value"] == pytest.approx(5 / 6)
    assert correctness["accuracy"]["n"] == 6
    assert correctness["confusion"]["counts"] == [[2, 0, 0], [1, 3, 0]]
    by_chance = (2 * 3 + 4 * 3) / 36
    assert correctness["kappa"]["value"] == pytest.approx(
        (5 / 6 - by_chance) / (1 - by_chance)
    )
    assert correctness["classes"]["correct"]["precision"] == pytest.approx(2 / 3)
    # Not every rater scored everything, so the ceiling of all three is undefined.
    assert figures["people"] is None
    assert "with_people" not in correctness
    raters = figures["raters"]
    assert raters["names"] == ["rater_a", "rater_b", "rater_c"]
    assert raters["labelled"] == [7, 6, 7]
    assert raters["no_majority"] == 1
    # rater_a has 1 1 0 0 0 0 0, rater_b 1 1 0 0 1 . 0, rater_c 1 0 0 1 0 1 0.
    assert [pair["agreement"]["value"] for pair in raters["judge"]] == pytest.approx(
        [6 / 7, 4 / 6, 3 / 7]
    )
    assert [pair["agreement"]["n"] for pair in raters["judge"]] == [7, 6, 7]
    assert raters["judge"][0]["kappa"]["value"] == pytest.approx(
        (6 / 7 - 26 / 49) / (1 - 26 / 49)
    )
    assert [pair["raters"] for pair in raters["among"]] == [
        ["rater_a", "rater_b"], ["rater_a", "rater_c"], ["rater_b", "rater_c"],
    ]  # fmt: skip
    assert [pair["agreement"]["value"] for pair in raters["among"]] == pytest.approx(
        [5 / 6, 4 / 7, 3 / 6]
    )
    assert sorted(figures["groups"]) == ["m1", "m2"]
    accuracy = figures["groups"]["m2"]["correctness"]["accuracy"]
    assert (accuracy["value"], accuracy["n"]) == (1.0, 2)
    # Six answers that are not empty, and three votes decide each.
    assert len(server.calls) == report["cost"]["calls"] == 18
    assert report["cost"]["votes_saved"] == 12
    output = capsys.readouterr().out
    assert "judge with rater_a" in output
    assert "0.857" in output
    assert "rater_a with rater_c" in output
    assert "1 have no majority of people" in output
    assert "12 votes saved of 5 each" in output
    assert "three classes" not in output
    # Again: no call, the same figures.
    assert judge() == 0
    assert len(server.calls) == 18
    assert check()["figures"] == figures


def test_the_questions_are_those_of_scoring_and_the_check_is_recorded(
    server: FaultServer, demo: Path
) -> None:
    write_scores(demo)
    assert judge() == 0
    prompts = load_judge_prompts(task("open"))
    assert check()["prompts"] == {"set": "own", "sha256": prompts.sha256}
    rows = questions(demo)
    prompts_of_scoring = {
        open_question(
            prompts,
            "q",
            notes=rows[number]["notes"],
            question=rows[number]["question"],
            right=rows[number]["choices"]["ABCDE".index(rows[number]["answer"])],
            output=f"{rows[number]['id']} {CANARY} {model} {answer}",
        ).messages[0]["content"]
        for number, model, answer, *_ in ROWS
        if answer
    }
    assert len(prompts_of_scoring) == 6
    assert {call.prompt for call in server.calls} == prompts_of_scoring
    identity = check()["judge"]["identity"]
    name = check_set_of(task("open"))
    note = describe(
        last_check(identity, votes=5, name=name), judge=CHAT, votes=5, name=name
    )
    assert "checked on ehrnoteqa_open (7 pairs, " in note
    assert "accuracy 0.83" in note
    assert "kappa with each rater 0.70, 0.33, -0.17, theirs with each other" in note
    assert last_check(identity, votes=5, name="kqa") is None  # K-QA's
    assert last_check(identity, votes=5, name=check_set_of(task("mc"))) is None
    assert last_check(identity, votes=1, name=name) is None


def test_the_text_stays_private(
    server: FaultServer, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(demo, [*ROWS, (4, "m1", MUTE, "1", "1", "1")])
    assert judge(judge="openai-api/far-host/m") == 4
    refused = capsys.readouterr()
    assert "may not be sent to judge.example:9" in refused.err
    assert "judge-check ehrnoteqa" in refused.err
    shutil.rmtree("check", ignore_errors=True)
    assert judge() == 5
    captured = capsys.readouterr()
    assert "1 of 8 pairs have no verdict" in captured.err
    # It has a majority of people, which bounds the accuracy: 5 or 6 of 7.
    assert check()["figures"]["correctness"]["bounds"] == pytest.approx([5 / 7, 6 / 7])
    for text in (refused.out, refused.err, captured.out, captured.err):
        assert "canary" not in text
    files = [
        file
        for folder in ("check", "home")
        for file in Path(folder).rglob("*")
        if file.is_file()
    ]
    assert any(file.name == "check.json" for file in files)
    assert any(file.name == "judge_checks.json" for file in files)
    assert not any(b"canary" in file.read_bytes() for file in files)
    question_texts = [row["question"].encode() for row in questions(demo)]
    outside = [file for file in files if "ehrnoteqa" not in file.parts]
    assert outside
    assert not any(
        text in file.read_bytes() for file in outside for text in question_texts
    )
    assert contains("private", b"canary")


def test_several_judges_are_compared(
    server: FaultServer, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        (number, f"gpt-{number}" if number % 2 else "m1", RIGHT, "1", "", "")
        for number in range(4)
    ]
    write_scores(demo, [*rows, (4, "gpt-4", WRONG, "0", "", "")])
    several = "--judge openai-api/far-host/gpt-4o --votes 1 --again --sensitivity --raters rater_a".split()
    assert judge(*several, judge="openai-api/test-host/gpt-4o") == 5
    captured = capsys.readouterr()
    assert "Not openai-api/far-host/gpt-4o: judge-check ehrnoteqa: " in captured.out
    assert "may not be sent to judge.example:9" in captured.err
    judges = json_of(Path("check/choosing.json"))["judges"]
    judge_entry = judges["openai-api/test-host/gpt-4o"]
    assert [judge_entry[key]["agreement"]["value"] for key in ("again", "turned")] == [
        1.0,
        1.0,
    ]
    assert len(server.calls) == 3 * 5
    own_model = judge_entry["own_model"]
    assert own_model["models"] == ["gpt-1", "gpt-3", "gpt-4"]
    assert own_model["lean"]["value"] == 0.0
    assert judge_entry["apart"]["answers"] == len(questions(demo))
    assert Path("check/judges.html").is_file()
    assert not contains("check", b"canary")
    assert "canary" not in captured.out + captured.err


def test_answers_to_five_choices(
    server: FaultServer, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(
        demo,
        [(0, "", RIGHT, "o"), (1, "", WRONG, "x"), (2, "", WRONG, "o")],
        header="id,model,response,author",
    )
    assert judge("--format", "mc", "--raters", "author", "--votes", "1") == 0
    report = check()
    assert (report["set"], report["pairs"], len(server.calls)) == ("ehrnoteqa_mc", 3, 3)
    assert report["figures"]["correctness"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert report["figures"]["people"] is None
    assert report["figures"]["raters"]["among"] == []
    assert all('"verdict": "yes" or "no"' in call.prompt for call in server.calls)
    assert "groups" not in report["figures"]
    name = check_set_of(task("mc"))
    assert name == "ehrnoteqa_mc"
    recorded = last_check(report["judge"]["identity"], votes=1, name=name)
    assert recorded is not None
    assert recorded["ways"] == 2
    note = describe(None, judge=CHAT, votes=1, name=name)
    assert note.endswith(
        f"judge-check ehrnoteqa --judge {CHAT} --format mc --source SCORES.csv --votes 1"
    )
    assert "author" in capsys.readouterr().out


def test_raters_who_scored_everything_have_a_ceiling(
    server: FaultServer, demo: Path
) -> None:
    write_scores(demo, [row for row in ROWS if "" not in row[3:]])
    assert judge("--raters", "rater_a, rater_b,rater_c") == 0
    people = check()["figures"]["people"]["correctness"]
    # Unanimous on 0, 2 and 5 of the six rows; one pair in three agrees on the others.
    assert (people["raters"], people["unanimous"]) == (3, 3)
    assert people["pairwise_agreement"]["value"] == pytest.approx((3 + 3 / 3) / 6)
    assert people["majority"] == {"correct": 2, "incorrect": 4}
    assert check()["figures"]["correctness"]["with_people"][
        "agreement"
    ] == pytest.approx([5 / 6, 4 / 6, 3 / 6])


def test_the_lexical_judge_and_fewer_answers(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(demo, [*ROWS, (5, "m1", RIGHT, "", "", "")])
    assert judge("--max-pairs", "5", judge="lexical") == 0
    report = check()
    assert (report["pairs"], report["votes"]) == (5, 1)
    assert not report["judge"]["comparable"]
    assert report["rows_nobody_scored"] == 1
    output = capsys.readouterr().out
    assert "scores made with it are not comparable" in output
    assert "5 of 5 pairs have a verdict" in output
    assert "; 1 more that nobody scored are left out." in output
    with Path("scores.csv").open("a", encoding="utf-8") as stream:
        stream.write(f'77,m1,"{CANARY}",1,1,1\n')
    assert judge(judge="lexical") == 2
    error = capsys.readouterr().err
    assert (
        "scores.csv, line 10, column 'id': no question of configuration demo, format open, has this id"
        in error
    )
    assert "so on 1 of 8 rows" in error
    assert "canary" not in error


@wrong_use("judge_check_ehrnoteqa")
def test_wrong_use(
    line: str, code: int, message: str, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(demo)
    refuse(line, code, message, capsys)
