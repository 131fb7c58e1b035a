"""Labels and the judge: the answers that people label, stale labels, and a judge that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.site.desk.labels import Label
from medical_tasks.site.folder import last, open_site
from medical_tasks.site.reviewing import opened
from tests.case_tables import json_of
from tests.fault_server import Call, Fault, FaultServer
from tests.site.conftest import CheckedDemo
from tests.site.walk import headline, run_step, states

REVIEW = ("review", "--import", "demo/labels_labels.csv")


@pytest.fixture
def folder(here: Path, checked_demo: CheckedDemo) -> Path:
    """A demo whose items people have checked."""
    return checked_demo(here / "ward", "chart-qa")


def edit(path: Path, old: str, replacement: str) -> None:
    """Replaces a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, replacement))


def labels(folder: Path) -> set[str]:
    """The answers to label."""
    return set(opened(open_site(folder), "labels").sheet.by_id)


def test_answers_are_drawn_for_labelling_when_every_model_was_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_step(folder, "run", "--only", "candidate") == 0, capsys.readouterr().err
    assert not (folder / "work" / "sheets" / "labels.json").exists()
    assert states(folder, capsys)["run"] == "next"
    assert run_step(folder, "run", "--only", "baseline") == 0
    assert len(labels(folder)) == 40


def test_labelled_answers_stay_when_others_are_added(folder: Path) -> None:
    edit(folder / "site.toml", "labels = 150", "labels = 12")
    answers = folder / "demo" / "answers_candidate.csv"
    assert run_step(folder, "run") == 0  # this writes the answers
    whole = answers.read_text()
    (folder / "work" / "sheets" / "labels.json").unlink()
    answers.write_text("".join(whole.splitlines(keepends=True)[:9]))
    assert run_step(folder, "run") == 5
    first = labels(folder)
    assert len(first) == 12
    assert run_step(folder, *REVIEW) == 0
    answers.write_text(whole)
    assert run_step(folder, "run") == 0
    assert first < labels(folder)


def test_labels_of_other_answers_check_no_judge(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_step(folder, "run") == 0
    assert run_step(folder, *REVIEW) == 0
    edit(folder / "demo" / "answers_candidate.csv", "it is ", "it was never ")
    assert run_step(folder, "run") == 2
    assert "20 of them would be other ones now" in capsys.readouterr().err
    assert run_step(folder, "judge") == 2
    assert "20 of them would be other ones now" in capsys.readouterr().err
    assert not (folder / "checks").exists()


def test_a_check_on_answers_that_have_changed_corrects_and_decides_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (("run",), REVIEW, ("judge",), ("gate",)):
        assert run_step(folder, *step) in (0, 7)
    metric = "accuracy_corrected"
    assert headline(folder, "candidate", metric)
    edit(folder / "demo" / "answers_candidate.csv", "it is ", "it was never ")
    assert states(folder, capsys)["judge"] == "stale"
    assert run_step(folder, "run") == 2  # its labels are of the earlier answers
    assert states(folder, capsys)["run"] == "done"  # the new answers are scored
    with pytest.raises(KeyError):
        headline(folder, "candidate", metric)
    capsys.readouterr()
    assert run_step(folder, "gate") == 3
    assert "needs a check of the judge" in capsys.readouterr().err
    assert run_step(folder, "share") == 3  # the folder was not checked
    assert run_step(folder, "check") == 0
    assert run_step(folder, "share") == 0
    shared = json_of(folder / "share" / "site_share.json")
    assert shared["checks"] == []


def test_a_site_without_labels_can_only_explore(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(folder / "site.toml", "labels = 150", "labels = 0")
    assert run_step(folder, "run") == 0
    assert run_step(folder, "check") == 0
    assert run_step(folder, "share") == 0
    assert states(folder, capsys)["gate"] == "blocked"
    assert run_step(folder, "status") == 0
    assert "judge.labels in site.toml is 0" in capsys.readouterr().out.splitlines()[-1]
    edit(folder / "site.toml", '"standard"', '"exploratory"')
    assert states(folder, capsys)["gate"] == "next"
    assert run_step(folder, "gate") == 7


def test_a_judge_that_failed_on_some_answers_is_not_done(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = True

    def fails(call: Call) -> Fault | None:
        # Fails on the questions of some patients, by their text.
        return Fault.not_json() if broken and "allergic to" in call.prompt else None

    edit(folder / "site.toml", 'name = "lexical"', 'name = "openai-api/flaky/judge"')
    edit(folder / "site.toml", "labels = 150", "labels = 40\nvotes = 1")
    with FaultServer(fails, answer=lambda call: '{"score": 1}') as server:
        monkeypatch.setenv("FLAKY_BASE_URL", server.base_url)
        monkeypatch.setenv("FLAKY_API_KEY", "none")
        assert run_step(folder, "run") == 5
        assert run_step(folder, *REVIEW) == 0
        assert run_step(folder, "judge") == 5
        entry = last(open_site(folder), "judge")
        assert entry is not None
        assert entry.figures["scored"] < entry.figures["pairs"] == 40
        assert (
            states(folder, capsys)["judge"] == "blocked"
        )  # the run is unfinished, too
        broken = False
        assert run_step(folder, "run") == 0
        kinds = states(folder, capsys)
        assert (kinds["run"], kinds["judge"]) == ("done", "next")
        assert run_step(folder, "judge") == 0
        assert states(folder, capsys)["judge"] == "done"
        check = json_of(folder / "checks" / "judge" / "check.json")
        assert check["scored"] == check["pairs"] == 40


def test_a_question_without_statements_goes_back_to_the_desk(
    here: Path, checked_demo: CheckedDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = checked_demo(here / "ward", "patient-questions")
    items = opened(open_site(folder), "items")
    empty = items.sheet.items[0].id
    for rater in ("ann", "ben"):
        edits = {"must_have": "\n", "nice_to_have": " "}
        label = Label(id=rater, item=empty, rater=rater, value="keep", edits=edits)
        assert items.store.add(label)
    assert run_step(folder, "run") == 2
    error = capsys.readouterr().err
    assert f"question {empty}" in error
    assert "site review" in error


def test_a_summary_without_claims_is_labelled_by_nobody(
    here: Path, checked_demo: CheckedDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = checked_demo(here / "ward", "discharge-summary")
    items = opened(open_site(folder), "items")
    empty = items.sheet.items[0].id
    for rater in ("ann", "ben"):  # both keep it, and delete all its claims
        edits = {"claims": "\n"}
        label = Label(id=rater, item=empty, rater=rater, value="keep", edits=edits)
        assert items.store.add(label)
    assert run_step(folder, "run") == 0, capsys.readouterr().err
    sheet = opened(open_site(folder), "labels").sheet
    assert len(sheet.items) == 2 * 19
    assert all(item.prompt for item in sheet.items)
    assert run_step(folder, *REVIEW) == 0
    assert run_step(folder, "judge") == 0, capsys.readouterr().err
