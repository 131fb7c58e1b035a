"""The whole verb, as a hospital uses it.

A twin's notes, a model behind a socket, sheets edited and read back.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.ehrnoteqa.questions import read_own_rows
from medical_tasks.cli.entry import main
from medical_tasks.construct.ehrnoteqa.review import import_sheets
from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leakcheck import check_leaks
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.construct.ehrnoteqa.construction_files import (
    SAMPLED,
    drafted,
    is_second_step,
    patient_of,
    take_sample,
    twin_notes,
)
from tests.construct.sheet_files import edit_sheet, read_lines, read_rows
from tests.fault_server import Call, Fault, FaultServer
from tests.support import ROOT

pytestmark = pytest.mark.usefixtures("here")

FOLDER = Path("own")
answer = drafted  # what `server` says


@pytest.fixture(autouse=True)
def source(here: Path) -> Path:
    return twin_notes(here / "notes")


@pytest.fixture
def sampled(source: Path) -> Path:
    assert take_sample(source) == 0
    return source


def words(url: str, *more: str) -> list[str]:
    model = [
        "--model",
        "openai-api/here/m",
        "--model-args",
        f"base_url={url},max_retries=0",
    ]
    return ["construct", "ehrnoteqa", "generate", "--folder", "own", *model, *more]


def sheet(*more: str) -> int:
    return main(["construct", "ehrnoteqa", "sheet", "--folder", "own", *more])


def imported(*sheets: str) -> int:
    return main(["construct", "ehrnoteqa", "import", "--folder", "own", *sheets])


def keep(row: dict[str, str]) -> dict[str, str]:
    return row | {"inclusion": "o"}


def test_from_notes_to_a_benchmark(
    sampled: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(server.base_url)) == 0
    assert f"{SAMPLED} of {SAMPLED} patients have a draft" in capsys.readouterr().out
    assert {call.body["temperature"] for call in server.calls} == {1.0}
    drafts = read_lines(FOLDER / "drafts.jsonl")
    assert len({draft["answer"] for draft in drafts}) > 1  # the model always said A
    for draft in drafts:
        right = draft["choices"]["ABCDE".index(draft["answer"])]
        assert right == f"the finding of {draft['id']}"
        assert draft["written_order"]["ABCDE".index(draft["answer"])] == "A"
    made = json_of(FOLDER / "drafts.json")
    assert made["figures"]["right_place_as_written"] == {
        "A": SAMPLED,
        "B": 0,
        "C": 0,
        "D": 0,
        "E": 0,
    }
    assert made["figures"]["right_is_longest"] == SAMPLED
    assert made["recipe"]["model"]["temperature"] == "1.0"

    assert sheet("--reviewers", "ann,ben", "--overlap", "2") == 0
    first, second = FOLDER / "sheets" / "ann.csv", FOLDER / "sheets" / "ben.csv"
    rows = read_rows(first)[1:] + read_rows(second)[1:]
    assert len(rows) == SAMPLED + 2
    notes = {
        each["patient_id"]: each["notes"] for each in read_lines(FOLDER / "notes.jsonl")
    }
    for row in rows:
        shown = (FOLDER / "sheets" / row[3]).read_text()
        assert all(note["text"] in shown for note in notes[row[1]])

    own = read_rows(first)[1][1]
    shares = json_of(FOLDER / "shares.json")
    only = next(
        each for each in shares["sheets"]["ben"] if each not in shares["sheets"]["ann"]
    )

    def by_ben(row: dict[str, str]) -> dict[str, str]:
        return row | ({"inclusion": "X"} if row["id"] == only else {"inclusion": "o"})

    mine = next(
        each for each in shares["sheets"]["ann"] if each not in shares["sheets"]["ben"]
    )
    edit_sheet(
        first,
        lambda row: (
            keep(row)
            | ({"question": "-Why?", "comment": "clearer"} if row["id"] == mine else {})
        ),
    )
    edit_sheet(second, by_ben)
    assert imported(str(first), str(second)) == 0
    said = capsys.readouterr().out
    assert f"{SAMPLED} questions reviewed: 1 removed, {SAMPLED - 1} kept" in said
    assert "revised: 1 questions, 0 answers, 0 of 20 wrong choices" in said
    assert "ann and ben: the same mark on 2 of 2 questions, Cohen's kappa n/a" in said
    built = list(read_own_rows(FOLDER / "questions.jsonl"))
    assert len(built) == SAMPLED - 1
    assert {row["id"]: row["question"] for row in built}[mine] == "-Why?"
    assert only not in {row["id"] for row in built}
    assert all(
        row["notes"] == notes[row["patient_id"]] and row["categories"] for row in built
    )
    history = read_lines(FOLDER / "history.jsonl")
    assert Counter((each["reviewer"], each["field"]) for each in history) == {
        ("ann", "question"): 1,
        ("ann", "comment"): 1,
        ("ben", "inclusion"): 1,
    }
    change = next(each for each in history if each["field"] == "question")
    assert (change["id"], change["before"], change["after"]) == (
        mine,
        f"What was found in {mine}?",
        "-Why?",
    )
    assert own in notes


def test_all_that_can_hold_words_is_closed(
    sampled: Path,
    server: FaultServer,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert main(words(server.base_url)) == 0
    assert sheet("--reviewers", "ann") == 0
    path = FOLDER / "sheets" / "ann.csv"
    edit_sheet(path, keep)
    path.chmod(0o600)  # the editing program's business
    assert imported(str(path)) == 0
    files = [each for each in FOLDER.rglob("*") if each.is_file()]
    assert len(files) >= 9 + SAMPLED
    # generation/run.json alone is open: settings and the private store's id.
    assert {
        each.name for each in files if stat.S_IMODE(each.stat().st_mode) != 0o600
    } == {"run.json"}
    # Recipes and what was printed hold no text.
    (tmp_path / "told").mkdir()
    told = capfd.readouterr()
    (tmp_path / "told" / "said.txt").write_text(told.out + told.err)
    recipes = [
        "sample.json",
        "lengths.json",
        "drafts.json",
        "shares.json",
        "review.json",
        "generation/run.json",
    ]
    for name in recipes:
        (tmp_path / "told" / name.replace("/", "-")).write_text(
            (FOLDER / name).read_text()
        )
    assert "What was found" not in "".join(
        each.read_text() for each in (tmp_path / "told").iterdir()
    )
    report = check_leaks(tmp_path / "told", source_files(str(sampled)), words=8)
    assert (report.files, report.found, report.unreadable) == (len(recipes) + 1, {}, {})
    assert check_leaks(
        FOLDER / "notes.jsonl", source_files(str(sampled)), words=8
    ).found  # the check can find some


def test_a_remote_model_gets_nothing_and_is_not_the_folders_for_good(
    sampled: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for remote in ("http://api.remote.example/v1", "http://203.0.113.9/v1"):
        assert main(words(remote)) == 4
    said = capsys.readouterr().err
    assert "construct ehrnoteqa: EHRNoteQA (PhysioNet" in said
    assert "api.remote.example" in said
    assert not (FOLDER / "drafts.jsonl").exists()
    assert main(words(server.base_url, "--seed", "1")) == 0
    assert stat.S_IMODE((FOLDER / "generation").stat().st_mode) == 0o700
    capsys.readouterr()
    assert main(words(server.base_url)) == 2
    assert (
        "drafts were begun with other settings (seed: 1 there, 0 now)"
        in capsys.readouterr().err
    )


def test_what_cannot_be_used_is_asked_again_and_then_listed(
    sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patients = [each["patient_id"] for each in read_lines(FOLDER / "patients.jsonl")]
    slow, hopeless, down = patients[:3]
    well = False

    def answer(call: Call) -> str:
        if patient_of(call) == hopeless and not is_second_step(call) and not well:
            return "no idea"
        if (
            patient_of(call) == slow
            and is_second_step(call)
            and len(call.body["messages"]) == 1
        ):
            return drafted(call).replace("finding B", "finding C")
        return drafted(call)

    def plan(call: Call) -> Fault | None:
        return (
            Fault.status_code(400, "no")
            if patient_of(call) == down and not well
            else None
        )

    with FaultServer(plan, answer=answer) as server:
        assert main(words(server.base_url)) == 5
        said = capsys.readouterr().err
        assert f"2 of {SAMPLED} patients have no draft" in said
        assert f"{hopeless}: question: no JSON" in said
        assert f"{down}: no answer: http 400" in said
        assert len(read_lines(FOLDER / "drafts.jsonl")) == SAMPLED - 2
        again = [
            call
            for call in server.calls
            if patient_of(call) == slow and len(call.body["messages"]) == 3
        ]
        assert len(again) == 1
        assert "two choices are the same" in again[0].prompt
        assert sum(patient_of(call) == hopeless for call in server.calls) == 3
        # The same command asks the one without an answer again, and nobody else; more
        # tries ask the other.
        asked, well = len(server.calls), True
        assert main(words(server.base_url)) == 5
        assert {patient_of(call) for call in server.calls[asked:]} == {down}
        asked = len(server.calls)
        assert main(words(server.base_url, "--tries", "4")) == 0
        assert {patient_of(call) for call in server.calls[asked:]} == {hopeless}
        assert len(read_lines(FOLDER / "drafts.jsonl")) == SAMPLED


def test_a_killed_run_goes_on(sampled: Path) -> None:
    with FaultServer(answer=drafted, latency=0.15) as server:
        command = [sys.executable, "-m", "medical_tasks", *words(server.base_url)]
        command[-1] += ",concurrency=1"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command,
            env=environment,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        while len(server.calls) < 3 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (FOLDER / "drafts.jsonl").exists()
        before = len(server.calls)
        assert 3 <= before < 2 * SAMPLED
        assert main(words(server.base_url)) == 0
        # the one in flight may be asked again
        assert len(server.calls) <= 2 * SAMPLED + 1
        assert len(read_lines(FOLDER / "drafts.jsonl")) == SAMPLED
        asked, drafts = len(server.calls), (FOLDER / "drafts.jsonl").read_bytes()
        assert main(words(server.base_url)) == 0
        assert (len(server.calls), (FOLDER / "drafts.jsonl").read_bytes()) == (
            asked,
            drafts,
        )


def test_sheets_in_work_are_never_written_over(
    sampled: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    down = read_lines(FOLDER / "patients.jsonl")[0]["patient_id"]
    with FaultServer(
        lambda call: Fault.status_code(400, "no") if patient_of(call) == down else None,
        answer=drafted,
    ) as failing:
        assert main(words(failing.base_url)) == 5
        assert sheet("--reviewers", "ann,ben") == 0
        path = FOLDER / "sheets" / "ann.csv"
        path.write_text("edited")
        (FOLDER / "sheets" / "ben.csv").unlink()
        # as after a stop: what is missing is written
        assert sheet("--reviewers", "ann,ben") == 0
        assert path.read_text() == "edited"
        assert len(read_rows(FOLDER / "sheets" / "ben.csv")) > 1
        assert sheet("--reviewers", "ann,eve") == 2
        assert "exported from here with other settings" in capsys.readouterr().err
        before = (FOLDER / "drafts.jsonl").read_bytes()
        failing._plan = ()  # now every patient gets a draft
        assert main(words(failing.base_url)) == 2
        assert "sheets of other drafts were exported" in capsys.readouterr().err
        assert (FOLDER / "drafts.jsonl").read_bytes() == before


@wrong_use("construct")
@pytest.mark.usefixtures("sampled")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    refuse(line, code, message, capsys)


def test_an_import_without_sheets_of_some(sampled: Path, server: FaultServer) -> None:
    assert main(words(server.base_url)) == 0
    assert sheet("--reviewers", "ann,ben") == 0
    path = FOLDER / "sheets" / "ann.csv"
    made = import_sheets(FOLDER, [path], blank_keeps=True, partial=True)
    assert (made["reviewed"], made["without_sheets_of"], made["blank_keeps"]) == (
        SAMPLED // 2,
        ["ben"],
        True,
    )
    assert (made["unchanged"], made["agreement"]) == (SAMPLED // 2, [])
