"""The whole command, as a hospital uses it: synthetic notes, a model behind a socket, edited sheets."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from measurements.ehrnoteqa_twin import NOTES_FILE
from medical_tasks.benchmarks.ehrnoteqa.questions import read_own_rows
from medical_tasks.cli.entry import main
from medical_tasks.construct.ehrnoteqa.review import import_sheets
from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leakcheck import check_leaks
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.construct.ehrnoteqa.construction_files import (
    SAMPLED,
    draft_reply,
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
answer = draft_reply  # the replies of `server`


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notes, and a construction with a sample of them, of which each test has its copy."""
    folder = tmp_path_factory.mktemp("made_once")
    source = twin_notes(folder / "notes")
    assert take_sample(source, folder=str(folder / FOLDER)) == 0
    return folder


@pytest.fixture(autouse=True)
def source(here: Path, made_once: Path) -> Path:
    return Path(shutil.copytree(made_once / "notes", here / "notes")) / NOTES_FILE


@pytest.fixture
def sampled(source: Path, made_once: Path) -> Path:
    shutil.copytree(made_once / FOLDER, FOLDER)
    return source


def generate_command(url: str, *more: str) -> list[str]:
    model = [
        "--model",
        "openai-api/here/m",
        "--model-args",
        f"base_url={url},max_retries=0",
    ]
    return ["construct", "ehrnoteqa", "generate", "--folder", "own", *model, *more]


def run_sheet(*more: str) -> int:
    return main(["construct", "ehrnoteqa", "sheet", "--folder", "own", *more])


def run_import(*sheets: str) -> int:
    return main(["construct", "ehrnoteqa", "import", "--folder", "own", *sheets])


def keep(row: dict[str, str]) -> dict[str, str]:
    return row | {"inclusion": "o"}


def test_from_notes_to_a_benchmark(
    sampled: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(generate_command(server.base_url)) == 0
    assert f"{SAMPLED} of {SAMPLED} patients have a draft" in capsys.readouterr().out
    assert {call.body["temperature"] for call in server.calls} == {1.0}
    drafts = read_lines(FOLDER / "drafts.jsonl")
    assert len({draft["answer"] for draft in drafts}) > 1  # the model always replied A
    for draft in drafts:
        right = draft["choices"]["ABCDE".index(draft["answer"])]
        assert right == f"the finding of {draft['id']}"
        assert draft["written_order"]["ABCDE".index(draft["answer"])] == "A"
    summary = json_of(FOLDER / "drafts.json")
    assert summary["figures"]["right_place_as_written"] == {
        "A": SAMPLED,
        "B": 0,
        "C": 0,
        "D": 0,
        "E": 0,
    }
    assert summary["figures"]["right_is_longest"] == SAMPLED
    assert summary["recipe"]["model"]["temperature"] == "1.0"

    assert run_sheet("--reviewers", "ann,ben", "--overlap", "2") == 0
    first, second = FOLDER / "sheets" / "ann.csv", FOLDER / "sheets" / "ben.csv"
    rows = read_rows(first)[1:] + read_rows(second)[1:]
    assert len(rows) == SAMPLED + 2
    notes = {
        patient["patient_id"]: patient["notes"]
        for patient in read_lines(FOLDER / "notes.jsonl")
    }
    for row in rows:
        shown = (FOLDER / "sheets" / row[3]).read_text()
        assert all(note["text"] in shown for note in notes[row[1]])

    own = read_rows(first)[1][1]
    shares = json_of(FOLDER / "shares.json")
    only = next(
        question
        for question in shares["sheets"]["ben"]
        if question not in shares["sheets"]["ann"]
    )

    def by_ben(row: dict[str, str]) -> dict[str, str]:
        return row | ({"inclusion": "X"} if row["id"] == only else {"inclusion": "o"})

    edited_id = next(
        question
        for question in shares["sheets"]["ann"]
        if question not in shares["sheets"]["ben"]
    )
    edit_sheet(
        first,
        lambda row: (
            keep(row)
            | (
                {"question": "-Why?", "comment": "clearer"}
                if row["id"] == edited_id
                else {}
            )
        ),
    )
    edit_sheet(second, by_ben)
    assert run_import(str(first), str(second)) == 0
    output = capsys.readouterr().out
    assert f"{SAMPLED} questions reviewed: 1 removed, {SAMPLED - 1} kept" in output
    assert "revised: 1 questions, 0 answers, 0 of 20 wrong choices" in output
    assert "ann and ben: the same mark on 2 of 2 questions, Cohen's kappa n/a" in output
    built = list(read_own_rows(FOLDER / "questions.jsonl"))
    assert len(built) == SAMPLED - 1
    assert {row["id"]: row["question"] for row in built}[edited_id] == "-Why?"
    assert only not in {row["id"] for row in built}
    assert all(
        row["notes"] == notes[row["patient_id"]] and row["categories"] for row in built
    )
    history = read_lines(FOLDER / "history.jsonl")
    assert Counter((entry["reviewer"], entry["field"]) for entry in history) == {
        ("ann", "question"): 1,
        ("ann", "comment"): 1,
        ("ben", "inclusion"): 1,
    }
    change = next(entry for entry in history if entry["field"] == "question")
    assert (change["id"], change["before"], change["after"]) == (
        edited_id,
        f"What was found in {edited_id}?",
        "-Why?",
    )
    assert own in notes


def test_only_the_owner_can_read_files_with_text(
    sampled: Path,
    server: FaultServer,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert main(generate_command(server.base_url)) == 0
    assert run_sheet("--reviewers", "ann") == 0
    path = FOLDER / "sheets" / "ann.csv"
    edit_sheet(path, keep)
    path.chmod(0o600)  # as the editing program should
    assert run_import(str(path)) == 0
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert len(files) >= 9 + SAMPLED
    # Only generation/run.json is open: it has settings and the private store's id.
    assert {
        path.name for path in files if stat.S_IMODE(path.stat().st_mode) != 0o600
    } == {"run.json"}
    # Neither recipes nor the printed output contain text of notes.
    (tmp_path / "printed").mkdir()
    printed = capfd.readouterr()
    (tmp_path / "printed" / "output.txt").write_text(printed.out + printed.err)
    recipes = [
        "sample.json",
        "lengths.json",
        "drafts.json",
        "shares.json",
        "review.json",
        "generation/run.json",
    ]
    for name in recipes:
        (tmp_path / "printed" / name.replace("/", "-")).write_text(
            (FOLDER / name).read_text()
        )
    assert "What was found" not in "".join(
        path.read_text() for path in (tmp_path / "printed").iterdir()
    )
    report = check_leaks(tmp_path / "printed", source_files(str(sampled)), words=8)
    assert (report.files, report.found, report.unreadable) == (len(recipes) + 1, {}, {})
    assert check_leaks(
        FOLDER / "notes.jsonl", source_files(str(sampled)), words=8
    ).found  # the check can find some


def test_a_remote_model_is_refused_and_another_model_can_follow(
    sampled: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for remote in ("http://api.remote.example/v1", "http://203.0.113.9/v1"):
        assert main(generate_command(remote)) == 4
    stderr = capsys.readouterr().err
    assert "construct ehrnoteqa: EHRNoteQA (PhysioNet" in stderr
    assert "api.remote.example" in stderr
    assert not (FOLDER / "drafts.jsonl").exists()
    assert main(generate_command(server.base_url, "--seed", "1")) == 0
    assert stat.S_IMODE((FOLDER / "generation").stat().st_mode) == 0o700
    capsys.readouterr()
    assert main(generate_command(server.base_url)) == 2
    assert (
        "drafts were begun with other settings (seed: 1 there, 0 now)"
        in capsys.readouterr().err
    )


def test_unusable_replies_are_requested_again_and_then_listed(
    sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patients = [
        patient["patient_id"] for patient in read_lines(FOLDER / "patients.jsonl")
    ]
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
            return draft_reply(call).replace("finding B", "finding C")
        return draft_reply(call)

    def plan(call: Call) -> Fault | None:
        return (
            Fault.status_code(400, "no")
            if patient_of(call) == down and not well
            else None
        )

    with FaultServer(plan, answer=answer) as server:
        assert main(generate_command(server.base_url)) == 5
        stderr = capsys.readouterr().err
        assert f"2 of {SAMPLED} patients have no draft" in stderr
        assert f"{hopeless}: question: no JSON" in stderr
        assert f"{down}: no answer: http 400" in stderr
        assert len(read_lines(FOLDER / "drafts.jsonl")) == SAMPLED - 2
        again = [
            call
            for call in server.calls
            if patient_of(call) == slow and len(call.body["messages"]) == 3
        ]
        assert len(again) == 1
        assert "two choices are the same" in again[0].prompt
        assert sum(patient_of(call) == hopeless for call in server.calls) == 3
        # The same command repeats only the failed request; more tries repeat the
        # unreadable one too.
        calls_before, well = len(server.calls), True
        assert main(generate_command(server.base_url)) == 5
        assert {patient_of(call) for call in server.calls[calls_before:]} == {down}
        calls_before = len(server.calls)
        assert main(generate_command(server.base_url, "--tries", "4")) == 0
        assert {patient_of(call) for call in server.calls[calls_before:]} == {hopeless}
        assert len(read_lines(FOLDER / "drafts.jsonl")) == SAMPLED


def test_a_killed_run_continues(sampled: Path) -> None:
    with FaultServer(answer=draft_reply, latency=0.15) as server:
        command = [
            sys.executable,
            "-m",
            "medical_tasks",
            *generate_command(server.base_url),
        ]
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
        assert main(generate_command(server.base_url)) == 0
        # the request that was in flight may be sent again
        assert len(server.calls) <= 2 * SAMPLED + 1
        assert len(read_lines(FOLDER / "drafts.jsonl")) == SAMPLED
        calls_before, drafts = len(server.calls), (FOLDER / "drafts.jsonl").read_bytes()
        assert main(generate_command(server.base_url)) == 0
        assert (len(server.calls), (FOLDER / "drafts.jsonl").read_bytes()) == (
            calls_before,
            drafts,
        )


def test_edited_sheets_are_never_overwritten(
    sampled: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    down = read_lines(FOLDER / "patients.jsonl")[0]["patient_id"]
    with FaultServer(
        lambda call: Fault.status_code(400, "no") if patient_of(call) == down else None,
        answer=draft_reply,
    ) as failing:
        assert main(generate_command(failing.base_url)) == 5
        assert run_sheet("--reviewers", "ann,ben") == 0
        path = FOLDER / "sheets" / "ann.csv"
        path.write_text("edited")
        (FOLDER / "sheets" / "ben.csv").unlink()
        # as after an interruption: missing sheets are written
        assert run_sheet("--reviewers", "ann,ben") == 0
        assert path.read_text() == "edited"
        assert len(read_rows(FOLDER / "sheets" / "ben.csv")) > 1
        assert run_sheet("--reviewers", "ann,eve") == 2
        assert "exported from here with other settings" in capsys.readouterr().err
        before = (FOLDER / "drafts.jsonl").read_bytes()
        failing._plan = ()  # now every patient gets a draft
        assert main(generate_command(failing.base_url)) == 2
        assert "sheets of other drafts were exported" in capsys.readouterr().err
        assert (FOLDER / "drafts.jsonl").read_bytes() == before


@wrong_use("construct")
@pytest.mark.usefixtures("sampled")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    refuse(line, code, message, capsys)


def test_a_partial_import(sampled: Path, server: FaultServer) -> None:
    assert main(generate_command(server.base_url)) == 0
    assert run_sheet("--reviewers", "ann,ben") == 0
    path = FOLDER / "sheets" / "ann.csv"
    review = import_sheets(FOLDER, [path], blank_keeps=True, partial=True)
    assert (review["reviewed"], review["without_sheets_of"], review["blank_keeps"]) == (
        SAMPLED // 2,
        ["ben"],
        True,
    )
    assert (review["unchanged"], review["agreement"]) == (SAMPLED // 2, [])
