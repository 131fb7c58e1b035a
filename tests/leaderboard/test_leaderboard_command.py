from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.leaderboard.board import Board, event_name
from medical_tasks.leaderboard.options import Leaderboard, Verify
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package import verifying
from medical_tasks.leaderboard.submission_package.contents import (
    Check,
    Package,
    Verification,
    VerifyOptions,
)
from medical_tasks.options import parameters
from tests.case_tables import tabled
from tests.leaderboard.made_packages import cases, package

CASES = cases("leaderboard_command")


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> int:
    return main(["leaderboard", *words, "--store", "board"])


def submit_package(model: str = "A model", **named: Any) -> str:
    return Board(LocalStorage(Path("board"))).submit(package(model, **named)).id


def test_from_submitting_to_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.zip").write_bytes(package("A model", right=4))
    assert run("submit", "a.zip") == 0
    name = capsys.readouterr().out.partition(":")[0]
    assert run("list", "--state", "pending") == 0
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split() == [
        "id",
        "state",
        "model",
        "organisation",
        "submitted",
        "tasks",
    ]
    assert row.split()[:4] == [name, "pending", "A", "model"]
    assert run("accept", name, "--by", "Ann", "--unverified") == 0
    assert capsys.readouterr().out.startswith(f"{name}: accepted, unverified, since ")
    assert run("entries", "--task", "medcalc") == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    rows = [line.split() for line in lines if not line.startswith("note: ")]
    assert (
        " ".join(rows[0][:-1])
        == "medcalc A model An organisation unverified accuracy 80.0 % 37.6 to 96.4 5/5 1"
    )
    assert {row[-2] for row in rows[1:]} <= {"n/a"}  # published ones have no rank
    # Papers count as the authors' script does: their figure is listed below the headline
    # figure, under its own name.
    papers = {tuple(row[row.index("reported") + 1 :][:2]) for row in rows[1:]}
    assert len(rows) > 5
    assert {name for name, _ in papers} == {"accuracy_official"}
    assert any(10 < float(value) < 90 for _, value in papers)  # percent
    assert lines[-2].startswith(
        "note: reported: of papers, not verified, without a rank"
    )
    assert (
        lines[-1]
        == "note: accuracy_official: what a paper reports beside accuracy; the two do not count alike"
    )
    assert run("reject", name, "--by", "Ben", "--reason", "wrong model") == 0
    assert run("history", name) == 0
    history = capsys.readouterr().out.splitlines()[-4:]
    assert history[0] == f"{name}: A model, medcalc"
    assert [line.split(maxsplit=1)[1] for line in history[1:]] == [
        "pending",
        "accepted (unverified) by Ann",
        "rejected by Ben: wrong model",
    ]
    assert run("show", name) == 0
    shown = capsys.readouterr().out
    assert "organisation: An organisation" in shown
    assert "accuracy_official" in shown
    assert run("check") == 0
    assert capsys.readouterr().out == "1 packages, 3 events: the store is whole.\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    name = submit_package()
    for words in (
        ["list"],
        ["history"],
        ["history", name],
        ["show", name],
        ["entries"],
    ):
        if words == ["entries"]:
            assert run("accept", name, "--by", "A", "--unverified") == 0
        capsys.readouterr()
        assert run(*words, "--json") == 0
        report = json.loads(capsys.readouterr().out)
        first = report[0] if isinstance(report, list) else report
        assert name in (first.get("id"), first.get("submission"))
    assert first["rank"] == {"first": 1, "last": 1}


def test_an_empty_store_and_wrong_stores(capsys: pytest.CaptureFixture[str]) -> None:
    for words, beginning in (
        (["list"], "no submissions"),
        (["history"], "no submissions"),
        (["check"], "0 packages, 0 events"),
    ):
        assert run(*words) == 0
        assert capsys.readouterr().out.startswith(beginning)
    assert not Path("board").exists()
    for store, message in (
        ("hub:nowhere", "'nowhere': is not the name of a repository"),
        (" ", "--store is empty"),
    ):
        assert main(["leaderboard", "list", "--store", store]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(("words", "code", "message"), CASES["wrong_use"])
def test_wrong_use(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert run(*words) == code
    assert message in capsys.readouterr().err


def test_check_reports_damage(capsys: pytest.CaptureFixture[str]) -> None:
    name, lost, sound = submit_package("a"), submit_package("b"), submit_package("c")
    Path("board", event_name(name, 1)).write_text("{}")
    Path("board", event_name(lost, 1)).unlink()
    Path("board", "stranger").write_text("x")
    assert run("check") == 5
    output = capsys.readouterr().out
    assert f"problem: {name}: events/{name}/0001.json: not an event" in output
    assert f"note: {lost}: its event was not written; it is pending" in output
    assert "note: stranger: is no file of a leaderboard" in output
    assert output.endswith(
        "3 packages, 2 events: the store is not whole: 1 problems.\n"
    )
    assert run("list") == 0
    printed = capsys.readouterr()
    assert sound in printed.out
    assert lost in printed.out
    assert (
        f"note: {name} is left out: events/{name}/0001.json: not an event"
        in printed.err
    )


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replaces the verification, which has tests of its own: records its options, and returns the outcome that a test sets."""
    state: dict[str, Any] = {"outcome": "match"}

    def verify(content: Package, options: Any) -> Verification:
        state["options"] = options
        # The answers in a package always have their hashes.
        answers = Check(name="medcalc: answers", outcome="match", detail="5 answers")
        scores = Check(
            name="medcalc: scores", outcome=state["outcome"], detail="5 items"
        )
        return Verification(package=content.manifest.id, checks=[answers, scores])

    monkeypatch.setattr(verifying, "verify_package", verify)
    return state


def test_accepting_a_matching_submission_verifies_it(
    capsys: pytest.CaptureFixture[str], outcome: dict[str, Any]
) -> None:
    name = submit_package()
    assert (
        run(
            "accept",
            name,
            "--by",
            "Ann",
            "--data",
            "datasets",
            "--sample",
            "3",
            "--judge-args",
            "a=b",
        )
        == 0
    )
    assert "accepted, verified, since" in capsys.readouterr().out
    options = outcome["options"]
    assert (options.data, options.sample, dict(options.judge_args)) == (
        Path("datasets"),
        3,
        {"a": "b"},
    )
    event = Board(LocalStorage(Path("board"))).submission(name).history[-1]
    assert event.verified is not None
    assert {key: event.verified[key] for key in ("package", "matches", "checks")} == {
        "package": name,
        "matches": True,
        "checks": [
            {"name": "medcalc: answers", "outcome": "match", "detail": "5 answers"},
            {"name": "medcalc: scores", "outcome": "match", "detail": "5 items"},
        ],
    }
    assert run("entries", "--json", "--task", "medcalc") == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "verified"
    assert run("history") == 0
    assert "accepted (verified) by Ann" in capsys.readouterr().out


@tabled("result", "message")
def test_a_mismatch_is_not_accepted(
    capsys: pytest.CaptureFixture[str],
    outcome: dict[str, Any],
    result: str,
    message: str,
) -> None:
    outcome["outcome"] = result
    name = submit_package()
    assert run("accept", name, "--by", "Ann") == 2
    stderr = capsys.readouterr().err
    assert message in stderr
    assert f"  {result}: medcalc: scores: 5 items" in stderr
    assert Board(LocalStorage(Path("board"))).submission(name).state == "pending"


def test_the_real_verification_refuses_an_invented_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "nothing"))
    name = submit_package()  # no prompts have the hash in its recipe
    assert run("accept", name, "--by", "Ann") == 2
    stderr = capsys.readouterr().err
    assert "mismatch: medcalc: recipe: prompts, sha256" in stderr
    assert "not checked: medcalc: scores: the data are not here" in stderr
    assert Board(LocalStorage(Path("board"))).submission(name).state == "pending"


def test_commands_have_every_option_of_verification() -> None:
    for options in (Verify, Leaderboard):
        assert vars(VerifyOptions()).keys() <= parameters(options).keys()
