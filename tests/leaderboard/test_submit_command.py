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
CASES = [demo_case.case.id for demo_case in demo_cases()["test"]]
SPLIT = ("--split", "test", "--config", "demo")
SOUND = [
    {"case_id": case_id, "answer": "He slept. |1|\nHe ate. |1,2|"} for case_id in CASES
]


def run_task(*more: str, tasks: str = TASK, model: str = "baseline/reference") -> None:
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


def submit(*more: str, run: str = "run") -> int:
    return main(["submit", run, "--to", "archehr", *more])


def check(*more: str, path: str = "s.json") -> int:
    return main(["submit", "--check", path, "--to", "archehr", *more])


def score(responses: str, *more: str, task: str = TASK) -> int:
    return main(["score", task, "--responses", responses, *more])


def score_answers(records: Sequence[dict[str, str]]) -> None:
    """Scores these answers as a run; their file is `answers.json`."""
    Path("answers.json").write_text(json.dumps(records), encoding="utf-8")
    assert score("answers.json", "--config", "demo", "--out", "run") in (0, 5)


def records(path: str = "submission.json") -> list[dict[str, str]]:
    return list(json.loads(Path(path).read_text(encoding="ascii")))


def results(folder: str, task: str = TASK) -> Any:
    return json_of(Path(folder, "results.json"))["tasks"][task]


def test_the_reference_becomes_a_submission(
    here: Path, demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task()
    capsys.readouterr()
    assert submit() == 0
    printed = capsys.readouterr()
    assert printed.out == (
        f"submission.json: {len(CASES)} of the {len(CASES)} cases of archehr_qa/demo, split test, as answered in run\n"
        "It may quote credentialed notes: only you can read it. Nothing was sent anywhere.\n"
    )
    assert printed.err == ""
    submission = records()
    assert [list(record) for record in submission] == [["case_id", "answer"]] * len(
        CASES
    )
    assert [record["case_id"] for record in submission] == CASES
    assert Path("submission.json").stat().st_mode & 0o777 == 0o600
    for demo_case, record in zip(demo_cases()["test"], submission, strict=True):
        essential = {
            sentence
            for sentence, label in demo_case.key.relevance.items()
            if label == "essential"
        }
        assert set(official_answer(record["answer"]).citations) == essential
    assert check_leaks(Path("run"), source_files(str(demos / "archehr_qa"))).found == {}
    # The written file has no problems, and its score is that of the reference.
    Path("submission.json").rename("s.json")
    assert check("--config", "demo") == 0
    assert capsys.readouterr().out == (
        f"s.json: no problems; it has an answer to each of the {len(CASES)} cases of archehr_qa/demo, split test, in the "
        f"form that {TASK} expects.\n"
    )
    assert score("s.json", "--config", "demo", "--out", "again") == 0
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
        run_task(
            "--max-samples",
            "3",
            "--task-args",
            "tries=1",
            model="openai-api/test-host/m",
        )
        calls_before = len(server.calls)
        assert any(private_home().rglob("*.sqlite"))
        capsys.readouterr()
        # The run has answers to some of the cases: the shared task requires all.
        assert submit() == 5
        stderr = capsys.readouterr().err
        assert (
            stderr.count("has no answer; the official scorer refuses the submission")
            == len(CASES) - 3
        )
        assert not Path("submission.json").exists()
        run_task(
            "--task-args", "tries=1", "--out", "run2", model="openai-api/test-host/m"
        )
        capsys.readouterr()
        assert submit(run="run2") == 0
        assert len(server.calls) == calls_before + len(CASES)
    output = capsys.readouterr().out
    assert f"{len(CASES)} answers were rewritten in the official form" in output
    meant = read_answer("He slept | 1 |. He ate |2, 3|.", [str(n) for n in range(1, 9)])
    for record in records():
        official = official_answer(record["answer"])
        assert (official.text, official.citations) == (meant.text, meant.citations)


def test_problems_are_listed_by_case_and_refuse_the_submission(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = ["", "SECRET words.", "SECRET. |99|", f"{'word ' * 80}|1|", "SECRET |1|2"]
    score_answers(
        [
            {"case_id": case, "answer": text}
            for case, text in zip(CASES[:5], answers, strict=True)
        ]
    )
    capsys.readouterr()
    assert submit("--responses", "answers.json") == 5
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "SECRET" not in printed.err
    lines = printed.err.splitlines()
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
    printed = capsys.readouterr()
    assert printed.err.startswith(
        "warning: submission.json: written with 7 problems, with which the official scorer gives no score at all\n  case "
    )
    assert f"5 of the {len(CASES)} cases" in printed.out
    assert [record["case_id"] for record in records()] == CASES[:5]
    assert records()[0]["answer"] == ""


def test_the_next_step_of_a_refusal_names_the_runs_data(
    demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task("--split", "dev", model="baseline/empty")
    capsys.readouterr()
    data = demos / "archehr_qa"
    assert submit("--data", str(data)) == 5
    step = capsys.readouterr().err.splitlines()[-1]
    # All cases are answered: repeating the run's command would change nothing.
    assert step.startswith("Write it nevertheless (--allow-problems)")
    assert submit("--data", str(data), "--allow-problems") == 0
    capsys.readouterr()
    next_command = step.partition("medical-tasks ")[2].split()
    assert next_command[:3] == ["submit", "--check", "submission.json"]
    assert main(next_command) == 5
    assert capsys.readouterr().err.count("has no words") == len(demo_cases()["dev"])
    # A task of 2026 has the same refusal, and nothing answered is nothing to submit.
    run_task(
        "--split",
        "test",
        "--out",
        "run2",
        tasks="archehr_answer",
        model="baseline/empty",
    )
    capsys.readouterr()
    assert submit(run="run2") == 5
    assert capsys.readouterr().err.count(
        "has no words; the official scorer refuses the submission"
    ) == len(CASES)
    assert not Path("submission.zip").exists()
    Path("none.json").write_text(
        json.dumps([{"case_id": CASES[0], "answer": None}]), encoding="utf-8"
    )
    assert score("none.json", "--config", "demo", "--out", "run3") == 5
    assert submit("--responses", "none.json", "--allow-problems", run="run3") == 5
    assert (
        "run3: no case is answered, so there is nothing to submit."
        in capsys.readouterr().err
    )


def test_a_check_lists_every_problem(capsys: pytest.CaptureFixture[str]) -> None:
    content: list[Any] = [
        *SOUND[1:],
        SOUND[1],
        {"case_id": "99", "answer": "SECRET"},
        {"case_id": CASES[0]},
    ]
    content[1] = {"case_id": CASES[2], "answer": "SECRET |1, 2|"}
    Path("s.json").write_text(json.dumps(content))
    assert check("--config", "demo") == 5
    printed = capsys.readouterr()
    n = len(CASES)
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "error: s.json: 4 problems, with which the official scorer gives no score at all",
        f"  case {CASES[0]}: its 'answer' is missing",
        f"  case {CASES[1]}: stands there 2 times (records 1, {n}); the official scorer counts each",
        f"  case {CASES[2]}: line 1 has spaces among the ids, which the official scorer takes for a part of them; write it "
        "like: A sentence. |1,2|",
        f"  case 99: is none of the {n} cases of this split; the official scorer refuses the submission",
        "Correct them and check again.",
    ]
    Path("s.json").write_text('["SECRET", "SECRET"]')
    assert check("--config", "demo") == 2
    stderr = capsys.readouterr().err
    assert (
        "s.json: its records do not name a task. Name it with --task: archehr_together"
        in stderr
    )
    assert "SECRET" not in stderr


def test_several_tasks_need_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(tasks=f"{TASK},archehr_answer_first,archehr_question")
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


def test_forbidden_output_paths(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score_answers(SOUND)
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
    assert check(*source) == 0
    message = (
        "s.json: no problems; it has an answer to each of the 2 cases of archehr_qa/official, "
        f"split dev, in the form that {TASK} expects.\n"
    )
    assert capsys.readouterr().out == message
    assert score("s.json", *source, "--out", "run") == 0
    entry = results("run")
    assert entry["recipe"]["data"]["config"] == "official"
    assert entry["metrics"]["factuality_precision"]["value"] == pytest.approx(2 / 3)
    assert entry["metrics"]["factuality_recall"]["value"] == 1.0
    # Nothing of the release is left behind, and the run's answers can be submitted with
    # the release as --source.
    assert not list(private_home().rglob("*.parquet"))
    assert submit("--responses", "s.json", "--source", "release") == 0
    assert records() == answers
    assert score("s.json", *source, "--config", "demo", "--out", "other") == 2
    assert "--source and --config demo" in capsys.readouterr().err
    # A message names the --source folder, not the one that was built from it.
    assert check("--source", "release") == 2
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


def good_records(task: str) -> list[Any]:
    return [{"case_id": case_id, "prediction": GOOD[task]} for case_id in CASES]


@pytest.mark.parametrize("task", SUBTASKS)
def test_a_submission_of_2026_is_written_checked_and_scored(
    task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task("--split", "test", tasks=task)
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
        assert check(*SPLIT, "--task", task, path=path) == 0
        assert (
            f"{path}: no problems; it has an answer to each of the {len(CASES)} cases"
            in capsys.readouterr().out
        )
        assert score(path, *SPLIT, "--out", f"{path}-run", task=task) == 0
        assert (
            results(f"{path}-run", task)["metrics"] == results("run", task)["metrics"]
        )
    # The next submission is made from the scored zip file.
    responses = ("--responses", "submission.zip")
    assert submit(*responses, "--out", "third.zip", run="submission.zip-run") == 0
    assert Path("third.zip").read_bytes() == Path("submission.zip").read_bytes()


@pytest.mark.parametrize("task", SUBTASKS)
@pytest.mark.parametrize("suffix", ["json", "zip"])
def test_a_submission_with_problems_is_not_scored(
    here: Path, task: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third, *rest = good_records(task)
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
    assert score(str(path), *SPLIT, task=task) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "SECRET" not in printed.err
    lines = printed.err.splitlines()
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
        file for file in here.rglob("*") if file not in before and file.is_file()
    ] == []
    assert check(*SPLIT, "--task", task, path=str(path)) == 5
    assert capsys.readouterr().err.splitlines()[1:-1] == lines[1:-1]


def test_omitted_citations_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [
        {"id": case_id, "response": "1, 99" if case_id == CASES[0] else "1"}
        for case_id in CASES
    ]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    task = "archehr_evidence"
    assert score("answers.jsonl", *SPLIT, "--out", "run", task=task) == 0
    capsys.readouterr()
    assert submit("--responses", "answers.jsonl", "--out", "s.json") == 0
    assert capsys.readouterr().err.startswith(
        f"note: case {CASES[0]}: cites 99, which its note does not have (it has 1 to "
    )
    assert records("s.json") == good_records(task)
    assert check(*SPLIT) == 0  # an evidence submission is recognised
    assert "in the form that archehr_evidence expects" in capsys.readouterr().out
