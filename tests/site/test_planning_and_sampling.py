"""Numbers of items and labels, and the draw of patients: figures by hand, and laws."""

from __future__ import annotations

import csv
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
from tests.case_tables import json_of
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
def test_every_sample_is_proportional_and_contains_the_smaller_ones(
    strata: list[tuple[str, str]], data: st.DataObject
) -> None:
    patients = [
        Patient(id=f"p{number}", strata={"ward": ward, "age": age}, rows=({},))
        for number, (ward, age) in enumerate(strata)
    ]
    order = placed(patients)
    assert Counter(patient.id for patient in order) == Counter(
        patient.id for patient in patients
    )
    size = data.draw(st.integers(1, len(patients)))
    drawn = Counter(tuple(patient.strata.values()) for patient in order[:size])
    totals = Counter(strata)
    for stratum, count in totals.items():
        # Within a patient, and less than one more for each other stratum's rounding.
        assert abs(drawn[stratum] - size * count / len(patients)) <= len(totals)


def site_of(
    parent: Path,
    rows: Sequence[tuple[str, ...]],
    head: tuple[str, ...],
    strata: str = "[]",
) -> Path:
    """A folder whose notes are these rows."""
    notes = parent / "notes.csv"
    with notes.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    folder = parent / "ward"
    assert main(["site", "new", str(folder), "--use", "chart-qa"]) == 0
    toml = folder / "site.toml"
    text = toml.read_text().replace("/FOLDER/OF/THE/NOTES/notes.csv", str(notes))
    toml.write_text(text.replace("strata = []", f"strata = {strata}"))
    return folder


@pytest.mark.parametrize(
    ("rows", "head", "strata", "message"),
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
def test_notes_that_cannot_be_sampled_are_refused_without_quoting_them(
    here: Path,
    rows: list[tuple[str, ...]],
    head: tuple[str, ...],
    strata: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = site_of(here, rows, head, strata)
    assert main(["site", "sample", str(folder)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "secret" not in error


def test_ids_are_pseudonyms_and_the_draw_does_not_depend_on_their_key(
    here: Path,
) -> None:
    rows = [(f"record-{n}", f"Note {n}.", "fm"[n % 2]) for n in range(30)]
    drawn = []
    for name in ("one", "two"):
        (here / name).mkdir()
        folder = site_of(here / name, rows, ("patient_id", "note", "sex"), '["sex"]')
        assert main(["site", "sample", str(folder), "--items", "8"]) == 0
        table = (folder / "sample" / "sample.csv").read_text()
        assert "record-" not in table
        ids = [line.split(",")[0] for line in table.splitlines()[1:]]
        notes_by_id = {
            patient.id: patient.rows[0]["note"]
            for patient in read_patients(open_site(folder))
        }
        drawn.append((ids, [notes_by_id[patient_id] for patient_id in ids]))
    (first, notes), (second, others) = drawn
    assert notes == others
    assert not set(first) & set(second)


def test_a_plan_depends_on_power_and_confidence_and_states_its_assumptions(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site_of(here, [("1", "a")], ("patient_id", "note"))
    file = folder / "site.toml"
    text = file.read_text()

    def run_plan(baseline: str, *decision: tuple[str, str]) -> tuple[int, int]:
        changed = text.replace('baseline = ""', f'baseline = "{baseline}"')
        for setting, value in decision:
            changed = re.sub(
                f"(?m)^{setting} = [0-9.]+", f"{setting} = {value}", changed
            )
        file.write_text(changed)
        assert main(["site", "plan", str(folder), "--accuracy", "0.7"]) == 0
        plan = json_of(folder / "plan" / "plan.json")
        assert plan["assumed"]["accuracy"] == 0.7
        return plan["items"], plan["labels"]

    # ±5 points around 0.7 by Wilson's interval: 1.96² * 0.21 / 0.0025 = 323 or so.
    items, labels = run_plan("")
    assert items == pytest.approx(323, abs=4)
    assert run_plan("", ("power", "0.9")) == (items, labels)  # a width has no power
    wider = (2.575829 / 1.959964) ** 2
    confident_items, confident_labels = run_plan("", ("confidence", "0.99"))
    assert confident_items == pytest.approx(items * wider, abs=1)
    assert confident_labels == pytest.approx(labels * wider, rel=0.01)
    # A margin needs a power.
    margin = ("margin", "0.1")
    items, _ = run_plan("old", margin)
    ratio = (1.959964 + 1.281552) ** 2 / (1.959964 + 0.841621) ** 2
    more_items, _ = run_plan("old", margin, ("power", "0.9"))
    assert more_items == pytest.approx(items * ratio, abs=1)
    assert main(["site", "plan", str(folder), "--accuracy", "1.7"]) == 2
    assert "a share between 0 and 1" in capsys.readouterr().err


def make_plan(
    folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[dict[str, Any], str]:
    """The plan of these options, as a file and as text."""
    capsys.readouterr()
    assert main(["site", "plan", str(folder), *words]) == 0, capsys.readouterr().err
    plan: dict[str, Any] = json_of(folder / "plan" / "plan.json")
    return plan, capsys.readouterr().out


def test_a_plan_from_a_pilot_depends_on_the_difference_of_its_runs(
    here: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"candidate": range(8), "baseline": range(8, 16)}
    site = make_site(here / "ward", home, margin=0.1, wrong=wrong)
    runs = [str(site.runs / role) for role in wrong]
    words = ["--pilot", runs[0], "--pilot", runs[1]]
    plan, output = make_plan(site.path, capsys, *words)
    # 16 of 80 differ: (1.96 + 0.84)² * 0.2 / 0.1² = 157 for a normal mean.
    assert plan["items"] == pytest.approx(157, rel=0.2)
    assert (plan["from"], plan["assumed"]) == (runs, {})
    assert f"From {runs[0]}, {runs[1]}." in output
    assert "Assumed" not in output
    assert main(["site", "plan", str(site.path), *words[:2]]) == 2
    assert "two runs, candidate and baseline, got 1" in capsys.readouterr().err
    assert main(["site", "plan", str(site.path), *words, "--agreement", "0.9"]) == 2
    assert "Leave out one" in capsys.readouterr().err
    # The candidate is compared with the baseline, not the baseline with the candidate.
    task = tasks()["medcalc"]
    metric = next(metric for metric in task.metrics if metric.name == "accuracy")
    unequal = {"candidate": (0, 1), "baseline": range(2, 26)}
    ward = make_site(here / "unequal", home, margin=0.15, wrong=unequal)
    folders = [ward.runs / role for role in ("candidate", "baseline")]
    plan, _ = make_plan(
        ward.path,
        capsys,
        *(word for path in folders for word in ("--pilot", str(path))),
    )
    candidate, baseline = map(read_compared, folders)
    _, columns = runs_columns(task, metric, (baseline, candidate))
    assert plan["items"] == needed_from_runs(Goal("margin", 0.15), columns).clusters
    # Without a baseline: the width around the share of right answers of the only run.
    single = make_site(
        here / "alone",
        home,
        margin=0.05,
        baseline=False,
        wrong={"candidate": range(8)},
    )
    plan, _ = make_plan(single.path, capsys, *words[:2])
    assert plan["items"] == pytest.approx(1.96**2 * 0.9 * 0.1 / 0.05**2, rel=0.05)
    assert main(["site", "plan", str(single.path), *words]) == 2
    assert "one run, since there is no baseline, got 2" in capsys.readouterr().err


def test_a_plan_states_all_assumptions_of_the_labels(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site_of(here, [("1", "a")], ("patient_id", "note"))
    file = folder / "site.toml"
    text = file.read_text().replace('baseline = ""', 'baseline = "old"')
    file.write_text(text.replace("margin = 0.05", "margin = 0.2"))
    plan, output = make_plan(folder, capsys, "--accuracy", "0.6")
    assumptions = "agreement 0.85, accuracy 0.6, sensitivity 0.9, specificity 0.85"
    assert f"Assumed: {assumptions}." in output
    assert plan["margin"] == 0.2
    assert plan["labels"] == labels_for(0.2, 0.6)
