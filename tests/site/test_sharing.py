"""`site share`: what leaves, what stays, and that nobody can work out what stays."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.catalog import tasks
from medical_tasks.cli.entry import main
from medical_tasks.errors import RefusedError
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.site.pooling import read_share
from medical_tasks.site.share_text import readable_share
from medical_tasks.site.sharing import (
    content_hash,
    made_share,
    recipe_parts,
    write_share,
)
from tests.site.test_suppression import determined, reach
from tests.support import write_run

TASK = "ehrnoteqa_open_level1"
RECIPE = {
    "task_version": "3-A",
    "data": {"name": "ehrnoteqa", "config": "own", "split": "test"},
    "model": {"name": "openai-api/local/some-model"},
    "metrics": {"accuracy": {"kind": "proportion"}},
    "judge": {
        "name": "openai-api/host/a-judge",
        "comparable": True,
        "votes": 1,
        "mode": "single",
        "prompts": {"set": "own"},
    },
}


def figure(values: Sequence[float]) -> dict[str, Any]:
    found = proportion_interval(list(values))
    return {
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "bound_low": found.value,
        "bound_high": found.value,
        "n": found.n,
    }


def run_of(
    folder: Path,
    right: Sequence[float],
    groups: Sequence[str],
    *,
    corrected: dict[str, Any] | None = None,
    model: str = "openai-api/local/some-model",
) -> Path:
    """A run whose items are right or wrong, of groups."""
    rows = [
        {
            "task": TASK,
            "id": f"patient-{at:04}",
            "cluster": f"patient-{at:04}",
            "group_category": group,
            "group_num_notes": "1",
            "accuracy": value,
            "unscored": "",
            "unclear": "",
        }
        for at, (value, group) in enumerate(zip(right, groups, strict=True))
    ]
    of_group = {
        name: {
            "accuracy": figure(
                [
                    value
                    for value, group in zip(right, groups, strict=True)
                    if group == name
                ]
            )
        }
        for name in sorted(set(groups))
    }
    metrics = {"accuracy": figure(right)}
    metrics |= {"accuracy_corrected": corrected} if corrected else {}
    counts = {"asked": len(right), "answered": len(right), "scored": len(right)}
    entry = {
        "n_items": len(right),
        "metrics": metrics,
        "coverage": {**counts, "unscored": {}, "unclear": {}},
        "breakdown": {"category": of_group, "num_notes": {"1": metrics}},
        "recipe": {**RECIPE, "model": {"name": model}},
    }
    write_run(folder, {"schema_version": 1, "tasks": {TASK: entry}}, rows)
    return folder


@contextlib.contextmanager
def edited_entry(run: Path) -> Iterator[dict[str, Any]]:
    """The results of a run's task, written back when they were edited."""
    path = run / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    yield results["tasks"][TASK]
    path.write_text(json.dumps(results), encoding="utf-8")


def shared(
    folder: Path, right: Sequence[float], groups: Sequence[str], **more: Any
) -> dict[str, Any]:
    return made_share(
        {"candidate": run_of(folder, right, groups)}, [], site="a", **more
    )


def rows_of(made: dict[str, Any], by: str) -> list[dict[str, Any]]:
    return [each for each in made["tasks"][TASK]["figures"] if each["by"] == by]


tables = st.lists(
    st.tuples(st.integers(0, 25), st.integers(0, 25)).filter(any),
    min_size=2,
    max_size=6,
).filter(lambda table: sum(map(sum, table)) >= 5)


@given(tables)
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_no_hidden_cell_follows_from_what_leaves(
    tmp_path: Path, table: list[tuple[int, int]]
) -> None:
    cells = {f"ward {at}": row for at, row in enumerate(table)}
    right = [value for row in table for value in (1.0,) * row[0] + (0.0,) * row[1]]
    groups = [name for name, row in cells.items() for _ in range(sum(row))]
    made = shared(tmp_path / "run", right, groups)
    (whole,) = rows_of(made, "")
    told = {each["group"]: each for each in rows_of(made, "category")}
    for each in (whole, *told.values()):
        assert each["n"] >= 5
        if each["right"] is not None:
            assert min(each["right"], each["n"] - each["right"]) >= 5
    sizes = cells.keys() - told.keys()
    outcomes = {
        name for name in cells if name in sizes or told[name]["estimate"] is None
    }
    if whole["right"] is None:
        assert outcomes == cells.keys()
        assert whole["estimate"]["off"] * whole["n"] == pytest.approx(2.0, abs=1e-3)
        return
    assert not determined(cells, set(sizes), outcomes) & outcomes
    for name in outcomes - sizes:
        low, high = reach(cells, outcomes, name, sizes=True)
        assert high - low >= 4


def test_few_wrong_answers_are_told_as_a_range_that_hides_their_number(
    tmp_path: Path,
) -> None:
    files = []
    for wrong in range(5):
        right = [0.0] * wrong + [1.0] * (60 - wrong)
        made = shared(tmp_path / f"run{wrong}", right, ["one"] * 60)
        files.append({**made["tasks"][TASK], "recipe": {}})
    assert all(each == files[0] for each in files)
    estimate = files[0]["figures"][0]["estimate"]
    assert estimate["value"] == pytest.approx(58 / 60, abs=1e-5)
    assert estimate["off"] == pytest.approx(2 / 60, abs=1e-5)


def test_differences_hide_what_their_figures_hide(tmp_path: Path) -> None:
    told = []
    for wrong in (1, 3):
        right = [0.0] * wrong + [1.0] * (60 - wrong)
        base = [1.0] * 40 + [0.0] * 20
        runs = {
            "candidate": run_of(tmp_path / f"c{wrong}", right, ["one"] * 60),
            "baseline": run_of(
                tmp_path / f"b{wrong}", base, ["one"] * 60, model="hf/other"
            ),
        }
        made = made_share(runs, [], site="a")
        told += [
            each["estimate"]
            for each in made["tasks"][TASK]["differences"]
            if not each["by"]
        ]
    assert len(told) == 2
    for each in told:
        assert each["value"] == pytest.approx(58 / 60 - 40 / 60, abs=1e-5)
        assert each["off"] == pytest.approx(2 / 60, abs=1e-5)
        assert each["low"] < each["value"] < each["high"]


def test_strata_of_the_site_break_figures_down(tmp_path: Path) -> None:
    right = [1.0] * 30 + [0.0] * 20 + [1.0] * 20 + [0.0] * 10
    sexes = ["female"] * 50 + ["male"] * 30
    strata = {
        # Two items a patient, so that the interval is of half as many.
        f"patient-{at:04}": {"sex": sex, "patient": f"p{at // 2}"}
        for at, sex in enumerate(sexes)
    }
    made = shared(tmp_path / "run", right, ["one"] * 80, strata=strata)
    told = {each["group"]: each for each in rows_of(made, "sex")}
    assert {name: each["right"] for name, each in told.items()} == {
        "female": 30,
        "male": 20,
    }
    assert told["female"]["clusters"] == 25
    wanted = proportion_interval(right[:50], clusters=[at // 2 for at in range(50)])
    found = told["female"]["estimate"]
    assert (found["low"], found["high"]) == pytest.approx(
        (wanted.ci_low, wanted.ci_high), abs=1e-4
    )
    assert "p1" not in json.dumps(made).replace('"', " ").split()


def corrected_figure(value: float) -> dict[str, Any]:
    """A corrected figure whose verdicts count 1.25 more than they are."""
    ends = {"value": value, "ci_low": value - 0.08, "ci_high": value + 0.08, "n": 60}
    facts = {"scores": [1.1, -0.15], "classes": ["correct", "not correct"]}
    return {**ends, "bound_low": None, "bound_high": None, "calibration": facts}


def check_file(folder: Path, wrong: int) -> Path:
    """A judge's check with so many wrong verdicts of each class."""
    gold = ["correct"] * 50 + ["incorrect"] * 50
    judged = ["incorrect"] * wrong + ["correct"] * 50 + ["incorrect"] * (50 - wrong)
    made = {
        "schema_version": 2,
        "set": "ehrnoteqa_open",
        "judge": {"name": "openai-api/host/a-judge", "identity": {}},
        "votes": 1,
        "mode": "single",
        "prompts": {"set": "own"},
        "pairs": 100,
        "clusters": 100,
        "labels": {"gold": gold, "judge": judged, "cluster": list(range(100))},
    }
    folder.mkdir()
    path = folder / "check.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


@pytest.mark.parametrize(("wrong", "digits"), [(8, 5), (3, 2)])
def test_a_hidden_matrix_makes_corrected_figures_coarse(
    tmp_path: Path, wrong: int, digits: int
) -> None:
    right = [1.0] * 40 + [0.0] * 20
    run = run_of(
        tmp_path / "run", right, ["one"] * 60, corrected=corrected_figure(0.71234)
    )
    check = check_file(tmp_path / "check", wrong)
    made = made_share({"candidate": run}, [check], site="a")
    (found,) = made["checks"]
    assert found["judge"] == "a-judge"
    assert found["table"] == ([[42, 8], [8, 42]] if wrong == 8 else None)
    (told,) = (
        each for each in rows_of(made, "") if each["metric"] == "accuracy_corrected"
    )
    assert told["estimate"]["value"] == round(0.71234, digits)


def test_a_check_of_another_judge_does_not_leave(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [1.0] * 40 + [0.0] * 20, ["one"] * 60)
    own, other = check_file(tmp_path / "own", 8), check_file(tmp_path / "other", 12)
    content = json.loads(other.read_text(encoding="utf-8"))
    for change in ({"judge": {"name": "lexical", "identity": {}}}, {"votes": 5}):
        other.write_text(json.dumps(content | change), encoding="utf-8")
        made = made_share({"candidate": run}, [other, own], site="a")
        assert [each["table"] for each in made["checks"]] == [[[42, 8], [8, 42]]]


def test_a_figure_without_an_interval_leaves_none_and_hides_no_other(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path / "run", [1.0] * 40 + [0.0] * 20, ["one"] * 60)
    with edited_entry(run) as entry:
        entry["metrics"]["accuracy"] |= {"ci_high": None}
    (whole,) = rows_of(made_share({"candidate": run}, [], site="a"), "")
    assert (whole["estimate"], whole["right"], whole["n"]) == (None, None, 60)


def test_a_judge_that_compares_words_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [1.0] * 40 + [0.0] * 20, ["one"] * 60)
    for comparable in (True, False):
        with edited_entry(run) as entry:
            entry["recipe"]["judge"]["comparable"] = comparable
        made = made_share({"candidate": run}, [], site="a")
        assert made["tasks"][TASK]["by_words"] is not comparable
        assert ("stand for nothing" in readable_share(made)) is not comparable


def test_the_same_way_of_measuring_has_the_same_parts_at_every_site() -> None:
    task = tasks()[TASK]
    here = {
        **RECIPE,
        "judge": {"name": "openai-api/here/j", "url": "http://10.0.0.1/v1", "votes": 5},
        "scoring": {"claims": {"file": "D:/ann/claims.json", "sha256": "ab"}},
    }
    there = {
        **RECIPE,
        "judge": {"name": "openai-api/x/j", "url": "http://10.9.9.9/v1", "votes": 5},
        "scoring": {"claims": {"file": "C:/claims.json", "sha256": "cd"}},
    }
    assert recipe_parts(task, here) == recipe_parts(task, there)
    other = recipe_parts(task, {**here, "prompts": {"set": "own", "sha256": "ff"}})
    assert other["prompts"] != recipe_parts(task, here)["prompts"]
    assert "ann" not in json.dumps(recipe_parts(task, here))


def test_text_ids_and_names_do_not_leave(tmp_path: Path) -> None:
    right = [1.0] * 40 + [0.0] * 20
    text = "the man of the second bed came late at night with a very old cough again"
    source = tmp_path / "notes.txt"
    source.write_text(text, encoding="utf-8")
    out = tmp_path / "share"
    made = shared(tmp_path / "run", right, ["one"] * 60)
    for group, said in (
        (text * 2, "group: Value should have at most 80"),
        ("patient-0001", "ids of items"),
        ("eve", "names of reviewers"),
    ):
        made["tasks"][TASK]["figures"][1]["group"] = group
        with pytest.raises(RefusedError, match=said) as refused:
            write_share(made, out, sources=[source], secret=["patient-0001", "eve"])
        assert "second bed" not in str(refused.value)
    made["tasks"][TASK]["figures"][1]["group"] = text[:80]
    with pytest.raises(RefusedError, match="text of the site's sources is in"):
        write_share(made, out, sources=[source], secret=[])
    assert not out.exists()


def test_the_command_writes_what_pool_reads_and_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "ward"
    assert main(["site", "new", str(folder), "--use", "chart-qa"]) == 0
    settings_file = folder / "site.toml"
    text = settings_file.read_text(encoding="utf-8")
    settings_file.write_text(
        text.replace("/FOLDER/OF/THE/NOTES/", "../"), encoding="utf-8"
    )
    note = " ".join(f"word{at}" for at in range(30))
    (tmp_path / "notes.csv").write_text(
        f"patient_id,note\n1,{note}\n",
        encoding="utf-8",
    )
    assert main(["site", "check", str(folder)]) == 0
    assert main(["site", "share", str(folder)]) == 3
    assert "no run of the candidate yet" in capsys.readouterr().err
    rng = np.random.default_rng(1)
    right = rng.binomial(1, 0.7, 90).astype(float).tolist()
    groups = rng.choice(["ward A", "ward B", "ward C"], 90).tolist()
    run_of(folder / "runs" / "candidate", right, groups)
    assert main(["site", "share", str(folder)]) == 4
    assert "Check it again" in capsys.readouterr().err
    assert main(["site", "check", str(folder)]) == 0
    assert main(["site", "share", str(folder)]) == 0
    path = folder / "share" / "site_share.json"
    made = read_share(path)
    assert made.site.startswith("site-")
    assert made.content["sha256"] == content_hash(made.content)
    assert "St. Anywhere" not in path.read_text(encoding="utf-8")
    # Written again it has the same code, so that pooling sees that it is one site.
    assert main(["site", "share", str(folder)]) == 0
    assert read_share(path).site == made.site
    capsys.readouterr()
    assert main(["site", "share", str(folder), "--show"]) == 0
    said = capsys.readouterr().out
    for figure_ in made.content["tasks"][TASK]["figures"]:
        if figure_["estimate"]:
            assert f"{figure_['estimate']['value']:g}" in said
    assert main(["site", "pool", str(path), str(path)]) == 2
    assert "are of one site" in capsys.readouterr().err
