from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.kqa.data import read_gold_file
from medical_tasks.cli.entry import main
from tests.cli.wrong_use import refuse, wrong_use
from tests.fault_server import Call, Fault, FaultServer

pytestmark = pytest.mark.usefixtures("here")

ANSWERS = [
    {
        "Question": f"Is remedy {n} fine?",
        "Free_form_answer": f"Remedy {n} is fine. Not for children.",
    }
    for n in range(4)
]


def answer(call: Call) -> str:
    prompt = str(call.body["messages"][0]["content"]).rpartition("Now the material.")[2]
    number = next(n for n in range(4) if f"remedy {n} " in prompt)
    return json.dumps(
        {
            "statements": [
                f"Remedy {number} is fine.",
                f"Remedy {number} is not for children.",
            ]
        }
    )


@pytest.fixture(autouse=True)
def answers(here: Path) -> None:
    Path("in.jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in ANSWERS), encoding="utf-8"
    )


def decompose(*more: str, judge: str = "openai-api/test-host/m") -> int:
    return main(
        [
            "decompose",
            "--source",
            "in.jsonl",
            "--judge",
            judge,
            "--out",
            "out.jsonl",
            *more,
        ]
    )


def test_decompose_answers_for_a_clinician(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decompose() == 0
    output = capsys.readouterr().out
    assert "4 answers taken apart into 8 statements, in out.jsonl" in output
    assert "is for a clinician to decide" in output
    rows = read_gold_file(Path("out.jsonl"))
    assert [row["question"] for row in rows] == [line["Question"] for line in ANSWERS]
    assert rows[1]["must_have"] == [
        "Remedy 1 is fine.",
        "Remedy 1 is not for children.",
    ]
    assert all(row["nice_to_have"] == [] for row in rows)
    # The same command again sends no request and leaves the file as it is.
    before, calls_before = Path("out.jsonl").read_bytes(), len(server.calls)
    assert decompose() == 0
    assert (Path("out.jsonl").read_bytes(), len(server.calls)) == (before, calls_before)


def test_unreadable_replies_are_listed_and_kept(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server._answer = lambda call: (
        "I would rather not." if "remedy 2 " in str(call.body) else answer(call)
    )
    assert decompose() == 5
    stderr = capsys.readouterr().err
    assert "1 of 4 answers were not taken apart (line 3: " in stderr
    assert "The others were written" in stderr
    assert len(read_gold_file(Path("out.jsonl"))) == 3
    assert len(server.calls) == 3 + 3  # two re-asks
    # An unreadable reply is kept like any other, so the same command sends no request;
    # one with other settings does.
    assert "What cannot be read, or is too long, stays so with this judge" in stderr
    assert "same command again" not in stderr
    server._answer = answer
    assert decompose() == 5
    assert len(server.calls) == 6
    # out.jsonl is another run's
    assert decompose("--judge-args", "temperature=0.5", "--work", "other.work") == 2
    Path("out.jsonl").unlink()
    assert decompose("--judge-args", "temperature=0.5", "--work", "other.work") == 0


def test_an_edited_output_is_not_overwritten(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out.jsonl").write_text("mine\n", encoding="utf-8")
    assert decompose() == 2
    assert "already exists and was changed after" in capsys.readouterr().err
    Path("out.jsonl").unlink()
    assert decompose() == 0
    sorted_by_hand = (
        Path("out.jsonl")
        .read_text(encoding="utf-8")
        .replace("Must_have", "Nice_to_have", 1)
    )
    Path("out.jsonl").write_text(sorted_by_hand, encoding="utf-8")
    assert decompose() == 2
    assert Path("out.jsonl").read_text(encoding="utf-8") == sorted_by_hand


@wrong_use("decompose")
def test_wrong_use(
    line: str,
    code: int,
    message: str,
    server: FaultServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    refuse(line, code, message, capsys)
    assert not Path("out.jsonl").exists()
    assert server.calls == []


def test_requests_with_a_forecast_a_budget_and_a_failure(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decompose("--forecast") == 0
    assert "nothing was written" in capsys.readouterr().out
    assert server.calls == []
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl"]
    assert decompose("--max-judge-calls", "1") == 5
    assert len(server.calls) == 1
    assert "budget spent" in capsys.readouterr().err
    assert len(read_gold_file(Path("out.jsonl"))) == 1
    # A failed call is made again.
    server._plan = lambda call: (
        Fault.status_code(400, "no") if "remedy 2 " in call.prompt else None
    )
    assert decompose() == 5
    expected = [line["Question"] for n, line in enumerate(ANSWERS) if n != 2]
    assert [row["question"] for row in read_gold_file(Path("out.jsonl"))] == expected
    calls, server._plan = len(server.calls), ()
    assert decompose() == 0
    assert len(server.calls) == calls + 1
    assert len(read_gold_file(Path("out.jsonl"))) == 4


def test_credentialed_answers_stay_on_this_machine(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decompose("--credentialed", judge="openai-api/far-host/m") == 4
    assert "may not be sent to judge.example:9" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    # A server on this machine may read them; its replies are in the private store, not
    # beside the output.
    assert decompose("--credentialed") == 0
    assert Path("out.jsonl").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in Path("out.jsonl.work").iterdir()) == [
        "run.json",
        "written.txt",
    ]
