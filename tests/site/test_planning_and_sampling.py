"""How many items and labels, and which patients: figures by hand, and laws of the draw."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.catalog import tasks
from medical_tasks.cli.entry import main
from medical_tasks.comparison.compared import read_compared
from medical_tasks.comparison.planning import Goal, needed_from_runs, runs_columns
from medical_tasks.site.folder import open_site
from medical_tasks.site.planning import labels_for
from medical_tasks.site.sampling import Patient, placed, read_patients
from tests.site.site_cases import make_site


@pytest.mark.parametrize("half_width", [0.05, 0.1])
def test_labels_leave_the_judges_error_at_the_half_width(half_width: float) -> None:
    # Rogan and Gladen 1978: with sensitivity s, specificity t and a true share p the
    # labels' own part of the variance is (p² s(1-s)/a + (1-p)² t(1-t)/b) / (s+t-1)²,
    # where a and b of n labels are of each class.
    p, s, t = 0.8, 0.9, 0.85
    per_label = (p * s * (1 - s) + (1 - p) * t * (1 - t)) / (s + t - 1) ** 2
    by_hand = math.ceil((1.959964 / half_width) ** 2 * per_label)
    rarest = math.ceil(20 / (1 - p))  # twenty labels of each class at least
    assert labels_for(half_width, p) == pytest.approx(max(by_hand, rarest), rel=0.01)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")),
        min_size=1,
        max_size=60,
    ),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_every_sample_is_in_proportion_and_holds_the_smaller_ones(
    strata: list[tuple[str, str]], data: st.DataObject
) -> None:
    patients = [
        Patient(id=f"p{number}", strata={"one": one, "two": two}, rows=({},))
        for number, (one, two) in enumerate(strata)
    ]
    order = placed(patients)
    assert Counter(each.id for each in order) == Counter(each.id for each in patients)
    size = data.draw(st.integers(1, len(patients)))
    drawn = Counter(tuple(each.strata.values()) for each in order[:size])
    every = Counter(strata)
    for stratum, count in every.items():
        # To one patient of its own, and less than one for each other stratum's rounding.
        assert abs(drawn[stratum] - size * count / len(patients)) <= len(every)


def site_of(
    place: Path,
    rows: Sequence[tuple[str, ...]],
    head: tuple[str, ...],
    strata: str = "[]",
) -> Path:
    """A folder whose notes are these rows."""
    notes = place / "notes.csv"
    with notes.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    folder = place / "ward"
    assert main(["site", "new", str(folder), "--use", "chart-qa"]) == 0
    toml = folder / "site.toml"
    text = toml.read_text().replace("/FOLDER/OF/THE/NOTES/notes.csv", str(notes))
    toml.write_text(text.replace("strata = []", f"strata = {strata}"))
    return folder


@pytest.mark.parametrize(
    ("rows", "head", "strata", "said"),
    [
        ([("1",)], ("patient_id",), "[]", "has no column note"),
        ([("1", "a")], ("patient_id", "note"), '["sex"]', "has no column sex"),
        ([("1", "a"), ("1", "")], ("patient_id", "note"), "[]", "row 3, column 'note'"),
        (
            [("1", "secret words", "f"), ("1", "b", "m")],
            ("patient_id", "note", "sex"),
            '["sex"]',
            "a patient has 2 values",
        ),
        (
            [(str(n), "secret words", f"v{n}") for n in range(40)],
            ("patient_id", "note", "sex"),
            '["sex"]',
            "has 40 values",
        ),
    ],
)
def test_notes_that_cannot_be_sampled_are_told_without_their_text(
    here: Path,
    rows: list[tuple[str, ...]],
    head: tuple[str, ...],
    strata: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = site_of(here, rows, head, strata)
    assert main(["site", "sample", str(folder)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "secret" not in told


def test_ids_are_pseudonyms_and_the_draw_does_not_depend_on_their_key(
    here: Path,
) -> None:
    rows = [(f"record-{n}", f"Note {n}.", "fm"[n % 2]) for n in range(30)]
    drawn = []
    for name in ("one", "two"):
        (here / name).mkdir()
        folder = site_of(
            here / name,
            rows,
            ("patient_id", "note", "sex"),
            '["sex", "ward"]'[:6] + "]",
        )
        assert main(["site", "sample", str(folder), "--items", "8"]) == 0
        table = (folder / "sample" / "sample.csv").read_text()
        assert "record-" not in table
        ids = [line.split(",")[0] for line in table.splitlines()[1:]]
        known = {
            each.id: each.rows[0]["note"] for each in read_patients(open_site(folder))
        }
        drawn.append((ids, [known[each] for each in ids]))
    (first, notes), (second, others) = drawn
    assert notes == others
    assert not set(first) & set(second)


def test_a_plan_goes_by_power_and_confidence_and_says_what_it_assumes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site_of(here, [("1", "a")], ("patient_id", "note"))
    file = folder / "site.toml"
    text = file.read_text()

    def planned(baseline: str, *decision: tuple[str, str]) -> tuple[int, int]:
        changed = text.replace('baseline = ""', f'baseline = "{baseline}"')
        for setting, value in decision:
            changed = re.sub(
                f"(?m)^{setting} = [0-9.]+", f"{setting} = {value}", changed
            )
        file.write_text(changed)
        assert main(["site", "plan", str(folder), "--accuracy", "0.7"]) == 0
        made = json.loads((folder / "plan" / "plan.json").read_text())
        assert made["assumed"]["accuracy"] == 0.7
        return made["items"], made["labels"]

    # ±5 points around 0.7 by Wilson's interval: 1.96² * 0.21 / 0.0025 = 323 or so.
    items, labels = planned("")
    assert items == pytest.approx(323, abs=4)
    assert planned("", ("power", "0.9")) == (items, labels)  # a width has no power
    wider = (2.575829 / 1.959964) ** 2
    sure_items, sure_labels = planned("", ("confidence", "0.99"))
    assert sure_items == pytest.approx(items * wider, abs=1)
    assert sure_labels == pytest.approx(labels * wider, rel=0.01)
    # A margin is shown with a power.
    items, _ = planned("old")
    ratio = (1.959964 + 1.281552) ** 2 / (1.959964 + 0.841621) ** 2
    assert planned("old", ("power", "0.9"))[0] == pytest.approx(items * ratio, abs=1)
    assert main(["site", "plan", str(folder), "--accuracy", "1.7"]) == 2
    assert "a share between 0 and 1" in capsys.readouterr().err


def planned_from(
    folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[dict[str, Any], str]:
    """The plan from pilot runs, as a file and as people read it."""
    capsys.readouterr()
    assert main(["site", "plan", str(folder), *words]) == 0, capsys.readouterr().err
    made: dict[str, Any] = json.loads((folder / "plan" / "plan.json").read_text())
    return made, capsys.readouterr().out


def test_a_plan_from_a_pilot_goes_by_how_its_runs_differ(
    here: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = {"candidate": range(8), "baseline": range(8, 16)}
    site = make_site(here / "ward", home, margin=0.1, wrong=apart)
    runs = [str(site.runs / role) for role in apart]
    words = ["--pilot", runs[0], "--pilot", runs[1]]
    made, said = planned_from(site.path, capsys, *words)
    # 16 of 80 differ: (1.96 + 0.84)² * 0.2 / 0.1² = 157 for a normal mean.
    assert made["items"] == pytest.approx(157, rel=0.2)
    assert (made["from"], made["assumed"]) == (runs, {})
    assert f"From {runs[0]}, {runs[1]}." in said
    assert "Assumed" not in said
    assert main(["site", "plan", str(site.path), *words[:2]]) == 2
    assert "two runs, candidate and baseline, got 1" in capsys.readouterr().err
    assert main(["site", "plan", str(site.path), *words, "--agreement", "0.9"]) == 2
    assert "Leave out one" in capsys.readouterr().err
    # The candidate is held against the baseline, not the other way round.
    task = tasks()["medcalc"]
    metric = next(each for each in task.metrics if each.name == "accuracy")
    unequal = {"candidate": (0, 1), "baseline": range(2, 26)}
    ward = make_site(here / "unequal", home, margin=0.1, wrong=unequal)
    folders = [ward.runs / role for role in ("candidate", "baseline")]
    made, _ = planned_from(
        ward.path,
        capsys,
        *(word for path in folders for word in ("--pilot", str(path))),
    )
    candidate, baseline = map(read_compared, folders)
    _, columns = runs_columns(task, metric, (baseline, candidate))
    assert made["items"] == needed_from_runs(Goal("margin", 0.1), columns).clusters
    # Without a baseline: the width around the share that the one run has right.
    alone = make_site(
        here / "alone",
        home,
        margin=0.05,
        baseline=False,
        wrong={"candidate": range(8)},
    )
    made, _ = planned_from(alone.path, capsys, *words[:2])
    assert made["items"] == pytest.approx(1.96**2 * 0.9 * 0.1 / 0.05**2, rel=0.05)
    assert main(["site", "plan", str(alone.path), *words]) == 2
    assert "one run, since there is no baseline, got 2" in capsys.readouterr().err


def test_a_plan_names_all_that_the_labels_rest_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site_of(here, [("1", "a")], ("patient_id", "note"))
    file = folder / "site.toml"
    file.write_text(file.read_text().replace('baseline = ""', 'baseline = "old"'))
    made, said = planned_from(folder, capsys, "--accuracy", "0.6")
    shown = "agreement 0.85, accuracy 0.6, sensitivity 0.9, specificity 0.85"
    assert f"Assumed: {shown}." in said
    assert made["labels"] == labels_for(made["margin"], 0.6)
