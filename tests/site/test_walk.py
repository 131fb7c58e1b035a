"""The walk from invented notes to corrected scores: every use, kills, the guard, what is stale."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.site.folder import open_site
from medical_tasks.site.reviewing import opened
from medical_tasks.site.sampling import strata_of
from tests.fault_server import FaultServer
from tests.site.walk import STEPS, figures, give, headline, killed_at, new, states


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
    folder = new(here / "ward", use, "--patients", "24")
    for step, *words in STEPS:
        if use == "calculator" and "demo/labels_labels.csv" in words:
            continue  # a rule scores them: there is nothing to label
        assert give(folder, step, *words) == 0, (step, capsys.readouterr().err)
    found = states(folder, capsys)
    done = ("plan", "sample", "make", "review", "run", "judge")
    assert {step: found[step] for step in done} == dict.fromkeys(done, "done")
    site = open_site(folder)
    strata = strata_of(site)
    assert len(strata) == items
    assert {each["sex"] for each in strata.values()} == {"female", "male"}
    for role in ("candidate", "baseline"):
        assert 0.5 < headline(folder, role, metric)["value"] < 1.0
    for name in ("sample", "review", "plan"):
        text = "".join(file.read_text() for file in (folder / name).glob("*"))
        assert "allergy" not in text
        assert "100001" not in text  # no record number either


def test_a_killed_step_goes_on_and_comes_to_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("chart-qa", "--patients", "40")
    calm, killed = new(here / "calm", *words), new(here / "killed", *words)
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
        assert give(calm, step, *more) == 0
        kills += killed_at(killed, watched[step].exists, step, *more)
        assert give(killed, step, *more) == 0, capsys.readouterr().err
    assert kills >= 4  # a step may end before it is seen to have begun
    assert set(states(killed, capsys).values()) <= {"done", "next", "blocked"}
    for name in ("sample/sample.csv", "sample/items.csv", "review/labels.csv"):
        assert (calm / name).read_text() == (killed / name).read_text()
    for role in ("candidate", "baseline"):
        for metric in ("accuracy", "accuracy_corrected"):
            assert figures(calm, role, metric) == figures(killed, role, metric)


def test_nothing_goes_to_a_model_elsewhere_unless_it_is_attested(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FAR_BASE_URL", "https://far.invalid/v1")
    monkeypatch.setenv("FAR_API_KEY", "none")
    folder = credentialed(here, maker="openai-api/far/model")
    assert give(folder, "plan") == 0
    assert give(folder, "sample") == 0
    assert give(folder, "make") == 4
    said = capsys.readouterr().err
    assert "far.invalid" in said
    assert "may not be sent" in said
    assert give(folder, "run") == 3  # nothing was made, so nothing can be asked
    assert "no sheet items" in capsys.readouterr().err


@pytest.mark.parametrize(
    "use", ["chart-qa", "calculator", "discharge-summary", "patient-questions"]
)
def test_a_forecast_asks_nobody_and_leaves_no_drafts(
    here: Path,
    use: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = credentialed(here, use=use, maker="openai-api/near/model")
    assert give(folder, "plan") == 0
    assert give(folder, "sample") == 0
    with FaultServer() as server:
        monkeypatch.setenv("NEAR_BASE_URL", server.base_url)
        monkeypatch.setenv("NEAR_API_KEY", "none")
        capsys.readouterr()
        assert give(folder, "make", "--forecast") == 0
        assert server.calls == []
    said = capsys.readouterr()
    assert "tokens" in said.out + said.err
    assert not (open_site(folder).private / "sheets").exists()


def credentialed(place: Path, *, use: str = "chart-qa", maker: str = "") -> Path:
    """A folder whose notes count as credentialed and lie elsewhere."""
    demo = new(place / "invented", use, "--patients", "12")
    folder = place / "ward"
    assert main(["site", "new", str(folder), "--use", use]) == 0
    written = use == "chart-qa" and not maker
    file = folder / "site.toml"
    text = file.read_text()
    for old, other in (
        ("/FOLDER/OF/THE/NOTES/notes.csv", str(demo / "demo" / "notes.csv")),
        ('items = ""', f'items = "{demo / "demo" / "items.csv" if written else ""}"'),
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
def test_credentialed_text_stays_in_the_private_store_and_a_check_gates_what_leaves(
    here: Path, use: str, text: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = credentialed(here, use=use)
    for step in ("plan", "sample", "make"):
        assert give(folder, step) == 0, capsys.readouterr().err
    site = open_site(folder)
    ids = list(opened(site, "items").sheet.by_id)
    assert len(ids) == 12
    labels = here / "labels.csv"
    rows = [
        (each, "", rater, "keep", "2026-01-01T00:00:00Z", "", "")
        for each in ids
        for rater in ("ann", "ben")
    ]
    write(labels, ("item", "stratum", "rater", "value", "at", "final", "how"), rows)
    assert main(["site", "review", str(folder), "--import", str(labels)]) == 0
    quoted = "The patient went home on the drug that the note names, in its own words."
    answers = here / "answers.csv"
    assert give(folder, "run") == 3  # the items are built, and nobody has answered
    assert "answers.csv" in capsys.readouterr().err
    write(answers, ("id", "response"), [(each, quoted) for each in strata_of(site)])
    assert give(folder, "run") == 0, capsys.readouterr().err
    everything = b"".join(
        file.read_bytes() for file in folder.rglob("*") if file.is_file()
    )
    assert text in site.notes.read_bytes()
    assert text not in everything
    assert quoted.encode() not in everything
    assert give(folder, "evidence") == 3
    assert "was checked" in capsys.readouterr().err
    assert give(folder, "check") == 0
    assert "clean" in capsys.readouterr().out
    (folder / "runs" / "notes.txt").write_text(site.notes.read_text())
    assert states(folder, capsys)["check"] == "stale"
    assert give(folder, "share") == 4
    assert "older than runs" in capsys.readouterr().err
    assert give(folder, "check") == 4
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


def test_a_changed_input_makes_the_steps_behind_it_stale(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new(here / "ward", "chart-qa", "--patients", "20")
    for step, *words in STEPS:
        assert give(folder, step, *words) == 0
    assert give(folder, "gate") == 7  # its judge compares words
    for step in ("check", "evidence", "share"):
        assert give(folder, step) == 0
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


def test_other_calculators_and_notes_are_extracted_anew(here: Path) -> None:
    folder = new(here / "ward", "calculator", "--patients", "8")
    file, notes = folder / "site.toml", folder / "demo" / "notes.csv"

    def drafted() -> dict[str, str]:
        for step in ("plan", "sample", "make"):
            assert give(folder, step) == 0
        items = opened(open_site(folder), "items").sheet.items
        return {item.id: item.prompt for item in items}

    first = drafted()
    assert len(first) == 8 * 3
    file.write_text(file.read_text().replace('"map", ', ""))
    fewer = drafted()
    assert len(fewer) == 8 * 2
    assert fewer.items() < first.items()
    file.write_text(file.read_text().replace('"bmi", ', '"bmi", "map", '))
    notes.write_text(
        re.sub("Weight was [0-9]+ kg", "Weight was 50 kg", notes.read_text())
    )
    again = drafted()
    assert again.keys() == first.keys()
    assert sum("50 kg" in prompt for prompt in again.values()) == 8


def test_labels_are_never_lost_to_a_step_that_is_given_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new(here / "ward", "chart-qa", "--patients", "20")
    for step, *words in STEPS[:4]:
        assert give(folder, step, *words) == 0
    store = folder / "work" / "labels" / "items.jsonl"
    before = store.read_bytes()
    assert give(folder, "make") == 0  # the same drafts: the same sheet
    items = folder / "demo" / "items.csv"
    items.write_text(items.read_text().replace("Which medicine", "What medicine"))
    assert give(folder, "make") == 2
    said = capsys.readouterr().err
    assert "would be other ones now" in said
    assert store.read_bytes() == before
    # A larger sample adds items, and leaves those that are labelled.
    items.write_text(items.read_text().replace("What medicine", "Which medicine"))
    journal = [
        json.loads(x) for x in (folder / "journal.jsonl").read_text().split("\n")[:-1]
    ]
    assert [line["step"] for line in journal][:4] == ["new", "plan", "sample", "make"]
