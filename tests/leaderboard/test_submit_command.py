"""`medical-tasks submit`: a run's answers become a file for a shared task, and such a file is checked and scored."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.archehr_qa.data import demo_cases
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.scoring import official_answer
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leakcheck import check_leaks
from medical_tasks.io.user_folders import private_home
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from tests.benchmarks.archehr_qa.release_files import case, key, write_cases, write_json
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.conftest import Serving
from tests.fault_server import Call

pytestmark = pytest.mark.usefixtures("demo_home")
TASK = "archehr_together"
CASES = [each.case.id for each in demo_cases()["test"]]
SOUND = [
    {"case_id": case_id, "answer": "He slept. |1|\nHe ate. |1,2|"} for case_id in CASES
]


def ran(*more: str, tasks: str = TASK, model: str = "baseline/reference") -> None:
    words = [
        "run",
        "--tasks",
        tasks,
        "--model",
        model,
        "--config",
        "demo",
        "--out",
        "run",
        *more,
    ]
    assert main(words) in (0, 5)


def submit(*more: str) -> int:
    return main(["submit", "run", "--to", "archehr", *more])


def check(*more: str) -> int:
    return main(
        ["submit", "--check", "s.json", "--to", "archehr", "--config", "demo", *more]
    )


def scored(records: Sequence[dict[str, str]]) -> None:
    """A run whose answers are these; its file is `answers.json`."""
    Path("answers.json").write_text(json.dumps(records), encoding="utf-8")
    words = [
        "score",
        TASK,
        "--responses",
        "answers.json",
        "--config",
        "demo",
        "--out",
        "run",
    ]
    assert main(words) in (0, 5)


def records(path: str = "submission.json") -> list[dict[str, str]]:
    return list(json.loads(Path(path).read_text(encoding="ascii")))


def results(folder: str, task: str = TASK) -> Any:
    return json_of(Path(folder, "results.json"))["tasks"][task]


def test_the_reference_becomes_a_submission(
    here: Path, demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran()
    capsys.readouterr()
    assert submit() == 0
    said = capsys.readouterr()
    assert said.out == (
        f"submission.json: {len(CASES)} of the {len(CASES)} cases of archehr_qa/demo, split test, as answered in run\n"
        "It may quote credentialed notes: only you can read it. Nothing was sent anywhere.\n"
    )
    assert said.err == ""
    found = records()
    assert [list(record) for record in found] == [["case_id", "answer"]] * len(CASES)
    assert [record["case_id"] for record in found] == CASES
    assert Path("submission.json").stat().st_mode & 0o777 == 0o600
    for each, record in zip(demo_cases()["test"], found, strict=True):
        essential = {
            sentence
            for sentence, label in each.key.relevance.items()
            if label == "essential"
        }
        assert set(official_answer(record["answer"]).citations) == essential
    assert check_leaks(Path("run"), source_files(str(demos / "archehr_qa"))).found == {}
    # The other way: it has no problems, and its score is the reference's.
    Path("submission.json").rename("s.json")
    assert check() == 0
    assert capsys.readouterr().out == (
        f"s.json: no problems; it has an answer to each of the {len(CASES)} cases of archehr_qa/demo, split test, in the "
        f"form that {TASK} expects.\n"
    )
    assert (
        main(
            [
                "score",
                TASK,
                "--responses",
                "s.json",
                "--config",
                "demo",
                "--out",
                "again",
            ]
        )
        == 0
    )
    metrics = results("again")["metrics"]
    assert (
        metrics["factuality"]["value"]
        == metrics["factuality_official"]["value"]
        == metrics["valid"]["value"]
        == 1.0
    )


def answer(call: Call) -> str:
    return "He slept | 1 |. He ate |2, 3|."  # the model never learns the form


def test_a_models_answers_come_from_the_private_store(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as server:
        ran(
            "--max-samples",
            "3",
            "--task-args",
            "tries=1",
            model="openai-api/test-host/m",
        )
        asked = len(server.calls)
        assert any(private_home().rglob("*.sqlite"))
        capsys.readouterr()
        # The run asked some of the cases: the shared task wants all.
        assert submit() == 5
        told = capsys.readouterr().err
        assert (
            told.count("has no answer; the official scorer refuses the submission")
            == len(CASES) - 3
        )
        assert not Path("submission.json").exists()
        ran("--task-args", "tries=1", "--out", "run2", model="openai-api/test-host/m")
        capsys.readouterr()
        assert main(["submit", "run2", "--to", "archehr"]) == 0
        assert len(server.calls) == asked + len(CASES)
    said = capsys.readouterr().out
    assert f"{len(CASES)} answers were rewritten in the official form" in said
    meant = read_answer("He slept | 1 |. He ate |2, 3|.", [str(n) for n in range(1, 9)])
    for record in records():
        official = official_answer(record["answer"])
        assert (official.text, official.citations) == (meant.text, meant.citations)


def test_problems_refuse_the_submission_and_are_told_by_case(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = ["", "SECRET words.", "SECRET. |99|", f"{'word ' * 80}|1|", "SECRET |1|2"]
    scored(
        [
            {"case_id": case, "answer": text}
            for case, text in zip(CASES[:5], answers, strict=True)
        ]
    )
    capsys.readouterr()
    assert submit("--responses", "answers.json") == 5
    said = capsys.readouterr()
    assert said.out == ""
    assert "SECRET" not in said.err
    lines = said.err.splitlines()
    assert lines[0] == (
        "error: run: the submission was not written: 7 problems, with which the official scorer gives no score at all"
    )
    assert lines[-1] == (
        "Give the run's command again for what is missing. Or write it nevertheless (--allow-problems), correct it by hand and "
        f"check it: medical-tasks submit --check submission.json --to archehr --task {TASK} --split test --config demo"
    )
    assert [line.split(":")[0].strip() for line in lines[1:-1]] == [
        f"case {case}" for case in (*CASES[:5], CASES[4], CASES[5])
    ]
    assert not Path("submission.json").exists()
    assert submit("--responses", "answers.json", "--allow-problems") == 0
    said = capsys.readouterr()
    assert said.err.startswith(
        "warning: submission.json: written with 7 problems, with which the official scorer gives no score at all\n  case "
    )
    assert f"5 of the {len(CASES)} cases" in said.out
    assert [record["case_id"] for record in records()] == CASES[:5]
    assert records()[0]["answer"] == ""


def test_the_next_step_of_a_refusal_is_about_the_runs_own_data(
    demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran("--split", "dev", model="baseline/empty")
    capsys.readouterr()
    data = demos / "archehr_qa"
    assert submit("--data", str(data)) == 5
    step = capsys.readouterr().err.splitlines()[-1]
    # All cases are answered: to give the run's command again would mend nothing.
    assert step.startswith("Write it nevertheless (--allow-problems)")
    assert submit("--data", str(data), "--allow-problems") == 0
    capsys.readouterr()
    told = step.partition("medical-tasks ")[2].split()
    assert told[:3] == ["submit", "--check", "submission.json"]
    assert main(told) == 5
    assert capsys.readouterr().err.count("has no words") == len(demo_cases()["dev"])
    # A task of 2026 has the same refusal, and nothing answered is nothing to submit.
    ran(
        "--split",
        "test",
        "--out",
        "run2",
        tasks="archehr_answer",
        model="baseline/empty",
    )
    capsys.readouterr()
    assert main(["submit", "run2", "--to", "archehr"]) == 5
    assert capsys.readouterr().err.count(
        "has no words; the official scorer refuses the submission"
    ) == len(CASES)
    assert not Path("submission.zip").exists()
    Path("none.json").write_text(
        json.dumps([{"case_id": CASES[0], "answer": None}]), encoding="utf-8"
    )
    assert (
        main(
            [
                "score",
                TASK,
                "--responses",
                "none.json",
                "--config",
                "demo",
                "--out",
                "run3",
            ]
        )
        == 5
    )
    assert (
        main(
            [
                "submit",
                "run3",
                "--to",
                "archehr",
                "--responses",
                "none.json",
                "--allow-problems",
            ]
        )
        == 5
    )
    assert (
        "run3: no case is answered, so there is nothing to submit."
        in capsys.readouterr().err
    )


def test_a_check_tells_every_problem(capsys: pytest.CaptureFixture[str]) -> None:
    content: list[Any] = [
        *SOUND[1:],
        SOUND[1],
        {"case_id": "99", "answer": "SECRET"},
        {"case_id": CASES[0]},
    ]
    content[1] = {"case_id": CASES[2], "answer": "SECRET |1, 2|"}
    Path("s.json").write_text(json.dumps(content))
    assert check() == 5
    said = capsys.readouterr()
    n = len(CASES)
    assert said.out == ""
    assert said.err.splitlines() == [
        "error: s.json: 4 problems, with which the official scorer gives no score at all",
        f"  case {CASES[0]}: its 'answer' is missing",
        f"  case {CASES[1]}: stands there 2 times (records 1, {n}); the official scorer counts each",
        f"  case {CASES[2]}: line 1 has spaces among the ids, which the official scorer takes for a part of them; write it "
        "like: A sentence. |1,2|",
        f"  case 99: is none of the {n} cases of this split; the official scorer refuses the submission",
        "Correct them and check again.",
    ]
    Path("s.json").write_text('["SECRET", "SECRET"]')
    assert check() == 2
    told = capsys.readouterr().err
    assert (
        "s.json: its records do not name a task. Name it with --task: archehr_together"
        in told
    )
    assert "SECRET" not in told


def test_several_tasks_need_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    ran(tasks=f"{TASK},archehr_answer_first,archehr_question")
    assert submit() == 2
    assert (
        "Choose one with --task: archehr_together, archehr_answer_first, archehr_question."
        in capsys.readouterr().err
    )
    assert submit("--task", "medical|archehr_evidence") == 2
    capsys.readouterr()
    assert (
        submit("--task", "medical|archehr_answer_first", "--out", "deep/out.json") == 0
    )
    assert len(records("deep/out.json")) == len(CASES)


@wrong_use("submit")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.json").write_text(json.dumps(SOUND))
    refuse(line, code, message, capsys)


def test_where_the_file_may_not_lie(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(SOUND)
    responses = ("--responses", "answers.json")
    assert submit(*responses, "--out", "run/submission.json") == 4
    assert "run/submission.json: is in the run's folder" in capsys.readouterr().err
    assert submit(*responses, "--out", "answers.json") == 2
    assert (
        "answers.json: is the file that was scored, which the run needs"
        in capsys.readouterr().err
    )
    (here / ".git").mkdir()
    assert submit(*responses) == 4
    assert "submission.json: is in the git work tree" in capsys.readouterr().err
    assert not list(here.rglob("submission.json"))
    assert json_of(Path("answers.json")) == SOUND


def test_a_release_needs_no_build(capsys: pytest.CaptureFixture[str]) -> None:
    write_cases(Path("release/dev"), case("1"), case("2"))
    write_json(Path("release/dev"), "key", [key("1"), key("2")])
    answers = [
        {"case_id": "1", "answer": "It came out. |2|"},
        {"case_id": "2", "answer": "It came out. |2,3|"},
    ]
    Path("s.json").write_text(json.dumps(answers))
    source = ["--source", "release", "--split", "dev"]
    assert main(["submit", "--check", "s.json", "--to", "archehr", *source]) == 0
    said = (
        "s.json: no problems; it has an answer to each of the 2 cases of archehr_qa/official, "
        f"split dev, in the form that {TASK} expects.\n"
    )
    assert capsys.readouterr().out == said
    assert main(["score", TASK, "--responses", "s.json", *source, "--out", "run"]) == 0
    entry = results("run")
    assert entry["recipe"]["data"]["config"] == "official"
    assert entry["metrics"]["factuality_precision"]["value"] == pytest.approx(2 / 3)
    assert entry["metrics"]["factuality_recall"]["value"] == 1.0
    # Of the release nothing is left behind, and the run's answers can be submitted with
    # it at hand.
    assert not list(private_home().rglob("*.parquet"))
    assert submit("--responses", "s.json", "--source", "release") == 0
    assert records() == answers
    assert (
        main(
            [
                "score",
                TASK,
                "--responses",
                "s.json",
                *source,
                "--config",
                "demo",
                "--out",
                "other",
            ]
        )
        == 2
    )
    assert "--source and --config demo" in capsys.readouterr().err
    # A message names the folder that was given, not the one that was built of it.
    assert (
        main(["submit", "--check", "s.json", "--to", "archehr", "--source", "release"])
        == 2
    )
    assert (
        "error: release: config official: split test is not built; it has dev. Use --split dev,"
        in capsys.readouterr().err
    )


SUBTASKS = [
    "archehr_question",
    "archehr_evidence",
    "archehr_answer",
    "archehr_alignment",
]
GOOD: dict[str, Any] = {
    "archehr_question": "Why was he ill?",
    "archehr_evidence": ["1"],
    "archehr_answer": "He slept.",
    "archehr_alignment": [{"answer_id": "1", "evidence_id": ["1"]}],
}


SPLIT = ("--split", "test", "--config", "demo")


def predicted(task: str) -> list[Any]:
    return [{"case_id": case_id, "prediction": GOOD[task]} for case_id in CASES]


@pytest.mark.parametrize("task", SUBTASKS)
def test_a_submission_of_2026_is_written_checked_and_scored(
    task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran("--split", "test", tasks=task)
    for out in ([], ["--out", "again.zip"], ["--out", "list.json"]):
        assert submit(*out) == 0
    assert Path("again.zip").read_bytes() == Path("submission.zip").read_bytes()
    assert Path("submission.zip").stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile("submission.zip") as archive:
        assert archive.namelist() == ["submission.json"]
        assert archive.read("submission.json") == Path("list.json").read_bytes()
    assert [list(record) for record in records("list.json")] == [
        ["case_id", "prediction"]
    ] * len(CASES)
    assert [record["case_id"] for record in records("list.json")] == CASES
    capsys.readouterr()
    for path in ("submission.zip", "list.json"):
        assert (
            main(["submit", "--check", path, "--to", "archehr", *SPLIT, "--task", task])
            == 0
        )
        assert (
            f"{path}: no problems; it has an answer to each of the {len(CASES)} cases"
            in capsys.readouterr().out
        )
        assert (
            main(["score", task, "--responses", path, *SPLIT, "--out", path + "-run"])
            == 0
        )
        assert (
            results(path + "-run", task)["metrics"] == results("run", task)["metrics"]
        )
    # The scored zip file is what the next submission is made of.
    words = [
        "submit",
        "submission.zip-run",
        "--to",
        "archehr",
        "--responses",
        "submission.zip",
        "--out",
        "third.zip",
    ]
    assert main(words) == 0
    assert Path("third.zip").read_bytes() == Path("submission.zip").read_bytes()


@pytest.mark.parametrize("task", SUBTASKS)
@pytest.mark.parametrize("suffix", ["json", "zip"])
def test_a_submission_with_problems_is_refused_whole(
    here: Path, task: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third, *rest = predicted(task)
    content = [
        first,
        {**second, "prediction": 5},
        {**third, "prediction": "" if isinstance(GOOD[task], str) else ["999"]},
    ]
    content += [*rest[1:], first, {**first, "case_id": "99"}, "SECRET"]
    path = Path(f"s.{suffix}")
    text = json.dumps(content).encode()
    path.write_bytes(zip_bytes({"submission.json": text}) if suffix == "zip" else text)
    before = sorted(here.rglob("*"))
    command = ["score", task, "--responses", str(path), *SPLIT]
    assert main(command) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "SECRET" not in said.err
    lines = said.err.splitlines()
    assert (
        lines[0]
        == f"error: {path}: nothing is scored, since the submission has 6 problems"
    )
    at = [line.split(":")[0].strip() for line in lines[1:-1]]
    assert at == [
        *(f"case {CASES[number]}" for number in (0, 1, 2, 3)),
        f"record {len(content)}",
        "case 99",
    ]
    assert [
        each for each in here.rglob("*") if each not in before and each.is_file()
    ] == []
    assert (
        main(
            ["submit", "--check", str(path), "--to", "archehr", *SPLIT, "--task", task]
        )
        == 5
    )
    assert capsys.readouterr().err.splitlines()[1:-1] == lines[1:-1]


def test_what_is_left_out_of_a_submission_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [
        {"id": case_id, "response": "1, 99" if case_id == CASES[0] else "1"}
        for case_id in CASES
    ]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = [
        "score",
        "archehr_evidence",
        "--responses",
        "answers.jsonl",
        *SPLIT,
        "--out",
        "run",
    ]
    assert main(words) == 0
    capsys.readouterr()
    assert submit("--responses", "answers.jsonl", "--out", "s.json") == 0
    assert capsys.readouterr().err.startswith(
        f"note: case {CASES[0]}: cites 99, which its note does not have (it has 1 to "
    )
    assert records("s.json") == predicted("archehr_evidence")
    assert check("--split", "test") == 0  # an evidence submission is recognised
    assert "in the form that archehr_evidence expects" in capsys.readouterr().out
