from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.benchmarks.medcalc_bench.errors_report import (
    accuracy_by_attributes,
    count_attributes,
    kind_of,
    write_attributes,
)
from medical_tasks.io.interval_plot import IntervalPoint, interval_plot
from medical_tasks.scoring.intervals import wilson_interval
from tests.support import SHARED, needs_shared

SVG = "{http://www.w3.org/2000/svg}"


def row(category: str, count: int) -> dict[str, Any]:
    return {"category": category, "relevant_entities": json.dumps({f"entity {n}": n for n in range(count)})}


def test_points_by_kind_and_number() -> None:
    scored = [(row("lab", 2), place < 3, str(place)) for place in range(4)]
    scored += [(row("physical", 2), False, "p"), (row("risk", 2), True, "r"), (row("dosage", 6), True, "d")]
    points, left_out = accuracy_by_attributes([*scored, ({"category": "lab", "relevant_entities": "?"}, True, "x")])
    assert [(p.kind, p.attributes, p.correct, p.n) for p in points] == [
        ("equation", 2, 3, 5),
        ("equation", 6, 1, 1),
        ("rule", 2, 1, 1),
    ]
    assert left_out == 1
    assert points[0].accuracy == pytest.approx(0.6)
    assert (points[0].ci_low, points[0].ci_high) == pytest.approx(wilson_interval(3, 5))


def test_answers_on_one_note_widen_the_interval() -> None:
    alone, _ = accuracy_by_attributes([(row("lab", 2), place < 10, str(place)) for place in range(20)])
    shared, _ = accuracy_by_attributes([(row("lab", 2), place < 10, str(place // 5)) for place in range(20)])
    assert shared[0].ci_high - shared[0].ci_low > alone[0].ci_high - alone[0].ci_low


def test_no_answers_no_points() -> None:
    assert accuracy_by_attributes([]) == ([], 0)


def test_an_unknown_category_is_a_fault() -> None:
    with pytest.raises(ValueError, match="none of the seven"):
        kind_of({"category": "other"})


@pytest.mark.upstream
@needs_shared
def test_numbers_of_attributes_are_those_of_the_paper() -> None:
    path = SHARED / "data" / "medcalc" / "test_data_v1.csv"
    counts: dict[str, list[int]] = {}
    for each in read_rows("v1.0", "test", {"test": path}):
        number = count_attributes(each)
        assert number is not None
        for name in (each["category"], kind_of(each), "all"):
            counts.setdefault(name, []).append(number)
    # Khandekar et al. 2024, table 1: instances, fewest, most and mean number of attributes.
    assert {
        name: (len(found), min(found), max(found), round(sum(found) / len(found), 1)) for name, found in counts.items()
    } == {
        "lab": (327, 2, 7, 3.6),
        "physical": (240, 1, 3, 2.0),
        "date": (60, 2, 2, 2.0),
        "dosage": (40, 2, 6, 4.0),
        "equation": (667, 1, 7, 2.9),
        "risk": (240, 5, 31, 11.5),
        "severity": (80, 3, 20, 7.7),
        "diagnosis": (60, 3, 9, 5.3),
        "rule": (380, 3, 31, 9.7),
        "all": (1047, 1, 31, 5.4),
    }


def plot(*points: IntervalPoint, title: str = "T") -> ElementTree.Element:
    return ElementTree.fromstring(interval_plot(points, title=title, x_label="Number", y_label="Accuracy"))


def test_a_plot_shows_each_point_and_says_it() -> None:
    found = plot(IntervalPoint(7, 0.5, 0.25, 0.75, 12), IntervalPoint(3, 1.0, 0.6, 1.0, 4))
    assert len(found.findall(f".//{SVG}circle")) == 2
    title, said = found.find(f"{SVG}title"), found.find(f"{SVG}desc")
    assert title is not None
    assert title.text == "T"
    assert said is not None
    assert said.text is not None
    assert "3: 100.0% (60.0 to 100.0), n = 4; 7: 50.0% (25.0 to 75.0), n = 12" in said.text
    assert found.get("role") == "img"
    first, second = found.findall(f".//{SVG}circle")
    assert float(first.get("cx", "")) < float(second.get("cx", ""))
    assert float(first.get("cy", "")) < float(second.get("cy", ""))  # higher is further up
    assert {each.text for each in found.findall(f"{SVG}text")} >= {"0%", "100%", "3", "7", "Number", "Accuracy"}


def test_titles_are_text_and_no_markup() -> None:
    found = plot(IntervalPoint(1, 0.0, 0.0, 0.5, 2), title="<script>alert(1)</script> & more")
    assert found.findall(f".//{SVG}script") == []
    assert found.findtext(f"{SVG}title") == "<script>alert(1)</script> & more"


def test_a_plot_without_points_says_so() -> None:
    assert "no points" in {each.text for each in plot().findall(f"{SVG}text")}


@pytest.mark.parametrize("point", [IntervalPoint(1, 0.5, 0.6, 0.7, 3), IntervalPoint(1, 1.2, 0.5, 1.3, 3)])
def test_a_plot_refuses_what_is_no_proportion(point: IntervalPoint) -> None:
    with pytest.raises(ValueError, match="lies in its interval"):
        plot(point)


def test_files(tmp_path: Path) -> None:
    paths, data = write_attributes(tmp_path, "medcalc", "m", [(row("risk", 9), True, "a"), (row("lab", 2), False, "b")])
    assert [path.name for path in paths] == [
        "attributes_medcalc.csv",
        "attributes_medcalc_equation.svg",
        "attributes_medcalc_rule.svg",
    ]
    lines = paths[0].read_text().splitlines()
    assert lines[0] == "kind,attributes,n,correct,accuracy,ci_low,ci_high"
    assert [line.split(",")[:4] for line in lines[1:]] == [["equation", "2", "1", "0"], ["rule", "9", "1", "1"]]
    assert [point["n"] for point in data["points"]] == [1, 1]
    assert "Rule-based calculators: m" in paths[2].read_text()
