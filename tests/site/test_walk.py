"""The steps from invented notes to corrected scores: every use, kills, the guard, and stale steps."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.site.folder import open_site
from medical_tasks.site.reviewing import opened
from medical_tasks.site.sampling import strata_of
from tests.fault_server import FaultServer
from tests.site.conftest import CheckedDemo
from tests.site.walk import (
    STEPS,
    figures,
    headline,
    kill_when,
    make_demo,
    run_step,
    states,
)


@pytest.mark.parametrize(
    ("use", "metric", "items"),
    [
        ("chart-qa", "accuracy", 24),
        ("calculator", "accuracy", 72),
        ("discharge-summary", "claim_recall", 24),
        ("patient-questions", "comprehensiveness", 24),
    ],
)
def test_every_use_goes_from_notes_to_scores(
    here: Path, use: str, metric: str, items: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_demo(here / "ward", use, "--patients", "24")
    for step, *words in STEPS:
        if use == "calculator" and "demo/labels_labels.csv" in words:
            continue  # a rule scores the answers, so there is nothing to label
        assert run_step(folder, step, *words) == 0, (step, capsys.readouterr().err)
    kinds = states(folder, capsys)
    steps = ("plan", "sample", "make", "review", "run", "judge")
    assert {step: kinds[step] for step in steps} == dict.fromkeys(steps, "done")
    site = open_site(folder)
    strata = strata_of(site)
    assert len(strata) == items
    assert {values["sex"] for values in strata.values()} == {"female", "male"}
    for role in ("candidate", "baseline"):
        assert 0.5 < headline(folder, role, metric)["value"] < 1.0
    for name in ("sample", "review", "plan"):
        text = "".join(file.read_text() for file in (folder / name).glob("*"))
        assert "allergy" not in text
        assert "100001" not in text  # nor record numbers


def test_a_killed_step_resumes_with_the_same_result(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("chart-qa", "--patients", "40")
    undisturbed, killed = (
        make_demo(here / "calm", *words),
        make_demo(here / "killed", *words),
    )
    watched = {
        "plan": killed / "plan",
        "sample": killed / "sample",
        "make": killed / "work" / "make",
        "review": killed / "work" / "labels" / "items.jsonl",
        "run": killed / "runs" / "candidate",
        "judge": killed / "checks",
    }
    kills = 0
    for step, *more in STEPS:
        assert run_step(undisturbed, step, *more) == 0
        kills += kill_when(killed, watched[step].exists, step, *more)
        assert run_step(killed, step, *more) == 0, capsys.readouterr().err
    assert kills >= 4  # a step may end before its output is noticed
    assert set(states(killed, capsys).values()) <= {"done", "next", "blocked"}
    for name in ("sample/sample.csv", "sample/items.csv", "review/labels.csv"):
        assert (undisturbed / name).read_text() == (killed / name).read_text()
    for role in ("candidate", "baseline"):
        for metric in ("accuracy", "accuracy_corrected"):
            assert figures(undisturbed, role, metric) == figures(killed, role, metric)


def test_credentialed_notes_are_not_sent_to_a_remote_model(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FAR_BASE_URL", "https://far.invalid/v1")
    monkeypatch.setenv("FAR_API_KEY", "none")
    folder = credentialed(here, maker="openai-api/far/model")
    assert run_step(folder, "plan") == 0
    assert run_step(folder, "sample") == 0
    assert run_step(folder, "make") == 4
    error = capsys.readouterr().err
    assert "far.invalid" in error
    assert "may not be sent" in error
    assert run_step(folder, "run") == 3  # there are no items to ask about
    assert "no sheet items" in capsys.readouterr().err


@pytest.mark.parametrize(
    "use", ["chart-qa", "calculator", "discharge-summary", "patient-questions"]
)
def test_a_forecast_sends_no_request_and_writes_no_drafts(
    here: Path,
    use: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = credentialed(here, use=use, maker="openai-api/near/model")
    assert run_step(folder, "plan") == 0
    assert run_step(folder, "sample") == 0
    with FaultServer() as server:
        monkeypatch.setenv("NEAR_BASE_URL", server.base_url)
        monkeypatch.setenv("NEAR_API_KEY", "none")
        capsys.readouterr()
        assert run_step(folder, "make", "--forecast") == 0
        assert server.calls == []
    captured = capsys.readouterr()
    assert "tokens" in captured.out + captured.err
    assert not (open_site(folder).private / "sheets").exists()


def credentialed(parent: Path, *, use: str = "chart-qa", maker: str = "") -> Path:
    """A folder whose notes are credentialed and in another folder."""
    demo = make_demo(parent / "invented", use, "--patients", "12")
    folder = parent / "ward"
    assert main(["site", "new", str(folder), "--use", use]) == 0
    has_items = use == "chart-qa" and not maker
    file = folder / "site.toml"
    text = file.read_text()
    for old, other in (
        ("/FOLDER/OF/THE/NOTES/notes.csv", str(demo / "demo" / "notes.csv")),
        ('items = ""', f'items = "{demo / "demo" / "items.csv" if has_items else ""}"'),
        ('maker = "openai-api/local/NAME"', f'maker = "{maker}"'),
        ("strata = []", 'strata = ["sex"]'),
        ("labels = 100", "labels = 0"),
        ('baseline = ""', 'baseline = ""\nanswers = {candidate = "../answers.csv"}'),
    ):
        assert old in text, old
        text = text.replace(old, other, 1)
    file.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("use", "text"),
    [("chart-qa", b"blood pressure"), ("patient-questions", b"Stay away")],
)
def test_credentialed_text_stays_in_the_private_store_and_sharing_needs_a_check(
    here: Path, use: str, text: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = credentialed(here, use=use)
    for step in ("plan", "sample", "make"):
        assert run_step(folder, step) == 0, capsys.readouterr().err
    site = open_site(folder)
    ids = list(opened(site, "items").sheet.by_id)
    assert len(ids) == 12
    labels = here / "labels.csv"
    rows = [
        (item_id, "", rater, "keep", "2026-01-01T00:00:00Z", "", "")
        for item_id in ids
        for rater in ("ann", "ben")
    ]
    write(labels, ("item", "stratum", "rater", "value", "at", "final", "how"), rows)
    assert main(["site", "review", str(folder), "--import", str(labels)]) == 0
    quoted = "The patient went home on the drug that the note names, in its own words."
    answers = here / "answers.csv"
    assert run_step(folder, "run") == 3  # the items are built, without answers
    assert "answers.csv" in capsys.readouterr().err
    write(
        answers, ("id", "response"), [(item_id, quoted) for item_id in strata_of(site)]
    )
    assert run_step(folder, "run") == 0, capsys.readouterr().err
    folder_bytes = b"".join(
        file.read_bytes() for file in folder.rglob("*") if file.is_file()
    )
    assert text in site.notes.read_bytes()
    assert text not in folder_bytes
    assert quoted.encode() not in folder_bytes
    assert run_step(folder, "evidence") == 3
    assert "was checked" in capsys.readouterr().err
    assert run_step(folder, "check") == 0
    assert "clean" in capsys.readouterr().out
    (folder / "runs" / "notes.txt").write_text(site.notes.read_text())
    assert states(folder, capsys)["check"] == "stale"
    assert run_step(folder, "share") == 4
    assert "older than runs" in capsys.readouterr().err
    assert run_step(folder, "check") == 4
    assert "runs/notes.txt" in capsys.readouterr().err


def write(path: Path, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Writes a table."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


INPUTS = [
    ("site.toml", "seed = 1 ", "seed = 2 ", {"sample"}),
    ("site.toml", "demo/notes.csv", "demo/others.csv", {"sample"}),
    ("site.toml", "demo/items.csv", "demo/others.csv", {"make"}),
    ("site.toml", "margin = 0.1 ", "margin = 0.2 ", {"plan", "gate"}),
    ("site.toml", '["sex", "age_group"]', '["sex"]', {"sample", "gate", "evidence"}),
    ("site.toml", '"lexical"', '"openai-api/own/judge"', {"run", "judge"}),
    (
        "site.toml",
        '"old model"',
        '"older model"',
        {"plan", "run", "judge", "gate", "share"},
    ),
    ("demo/notes.csv", "mmHg", "torr", {"sample", "make"}),
    ("demo/answers_candidate.csv", "it is ", "it was ", {"run", "judge"}),
    ("work/labels/items.jsonl", '"note": ""', '"note": "?"', {"run"}),
    ("work/labels/labels.jsonl", '"note": ""', '"note": "?"', {"judge"}),
    ("sample/items.csv", ",female", ",male", {"gate", "evidence", "share"}),
    ("review/labels.csv", ",correct", ",incorrect", {"evidence"}),
    ("runs/candidate/results.json", "{", "{ ", {"gate", "evidence", "share"}),
]


def test_a_changed_input_makes_the_steps_that_use_it_stale(
    here: Path, checked_demo: CheckedDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = checked_demo(here / "ward", "chart-qa")
    for step, *words in STEPS[4:]:
        assert run_step(folder, step, *words) == 0
    assert run_step(folder, "gate") == 7  # its judge compares words
    for step in ("check", "evidence", "share"):
        assert run_step(folder, step) == 0
    before = states(folder, capsys)
    assert set(before.values()) == {"done", "waiting"}
    for name, old, other, stale in INPUTS:
        file = folder / name
        content = file.read_bytes()
        assert old.encode() in content, name
        file.write_bytes(content.replace(old.encode(), other.encode(), 1))
        now = states(folder, capsys)
        changed = {step for step in now if now[step] != before[step]} - {"check"}
        assert changed == stale, (name, other)
        assert {now[step] for step in stale} == {"stale"}
        file.write_bytes(content)
    assert states(folder, capsys) == before


def test_other_calculators_and_notes_are_extracted_again(here: Path) -> None:
    folder = make_demo(here / "ward", "calculator", "--patients", "8")
    file, notes = folder / "site.toml", folder / "demo" / "notes.csv"
    assert run_step(folder, "plan") == 0

    def draft() -> dict[str, str]:
        for step in ("sample", "make"):
            assert run_step(folder, step) == 0
        items = opened(open_site(folder), "items").sheet.items
        return {item.id: item.prompt for item in items}

    first = draft()
    assert len(first) == 8 * 3
    file.write_text(file.read_text().replace('"map", ', ""))
    fewer = draft()
    assert len(fewer) == 8 * 2
    assert fewer.items() < first.items()
    file.write_text(file.read_text().replace('"bmi", ', '"bmi", "map", '))
    notes.write_text(
        re.sub("Weight was [0-9]+ kg", "Weight was 50 kg", notes.read_text())
    )
    again = draft()
    assert again.keys() == first.keys()
    assert sum("50 kg" in prompt for prompt in again.values()) == 8


def test_a_step_that_is_repeated_loses_no_labels(
    here: Path, checked_demo: CheckedDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = checked_demo(here / "ward", "chart-qa")
    store = folder / "work" / "labels" / "items.jsonl"
    before = store.read_bytes()
    assert run_step(folder, "make") == 0  # the same drafts: the same sheet
    items = folder / "demo" / "items.csv"
    items.write_text(items.read_text().replace("Which medicine", "What medicine"))
    assert run_step(folder, "make") == 2
    error = capsys.readouterr().err
    assert "would be other ones now" in error
    assert store.read_bytes() == before
    # With the former drafts the step succeeds again.
    items.write_text(items.read_text().replace("What medicine", "Which medicine"))
    assert run_step(folder, "make") == 0
    assert store.read_bytes() == before
