"""`site share`: the shared figures, and hidden ones that nobody can derive from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from tests.case_tables import json_of
from tests.run_files import edited_entry
from tests.site.share_cases import write_check
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
    interval = proportion_interval(list(values))
    return {
        "value": interval.value,
        "ci_low": interval.ci_low,
        "ci_high": interval.ci_high,
        "bound_low": interval.value,
        "bound_high": interval.value,
        "n": interval.n,
    }


def run_of(
    folder: Path,
    right: Sequence[float],
    groups: Sequence[str],
    *,
    corrected: dict[str, Any] | None = None,
    model: str = "openai-api/local/some-model",
) -> Path:
    """A run with right and wrong items in groups."""
    rows = [
        {
            "task": TASK,
            "id": f"patient-{number:04}",
            "cluster": f"patient-{number:04}",
            "group_category": group,
            "group_num_notes": "1",
            "accuracy": value,
            "unscored": "",
            "unclear": "",
        }
        for number, (value, group) in enumerate(zip(right, groups, strict=True))
    ]
    by_group = {
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
        "breakdown": {"category": by_group, "num_notes": {"1": metrics}},
        "recipe": {**RECIPE, "model": {"name": model}},
    }
    write_run(folder, {"schema_version": 1, "tasks": {TASK: entry}}, rows)
    return folder


def share_of_run(
    folder: Path, right: Sequence[float], groups: Sequence[str], **more: Any
) -> dict[str, Any]:
    return made_share(
        {"candidate": run_of(folder, right, groups)}, [], site="a", **more
    )


def rows_of(share: dict[str, Any], by: str) -> list[dict[str, Any]]:
    return [row for row in share["tasks"][TASK]["figures"] if row["by"] == by]


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
def test_no_hidden_cell_follows_from_the_shared_figures(
    tmp_path: Path, table: list[tuple[int, int]]
) -> None:
    cells = {f"ward {number}": row for number, row in enumerate(table)}
    right = [value for row in table for value in (1.0,) * row[0] + (0.0,) * row[1]]
    groups = [name for name, row in cells.items() for _ in range(sum(row))]
    share = share_of_run(tmp_path / "run", right, groups)
    (whole,) = rows_of(share, "")
    published = {row["group"]: row for row in rows_of(share, "category")}
    for row in (whole, *published.values()):
        assert row["n"] >= 5
        if row["right"] is not None:
            assert min(row["right"], row["n"] - row["right"]) >= 5
    sizes = cells.keys() - published.keys()
    outcomes = {
        name for name in cells if name in sizes or published[name]["estimate"] is None
    }
    if whole["right"] is None:
        assert outcomes == cells.keys()
        assert whole["estimate"]["off"] * whole["n"] == pytest.approx(2.0, abs=1e-3)
        return
    assert not determined(cells, set(sizes), outcomes) & outcomes
    for name in outcomes - sizes:
        low, high = reach(cells, outcomes, name)
        assert high - low >= 4


def test_few_wrong_answers_are_shared_as_a_range_that_hides_their_number(
    tmp_path: Path,
) -> None:
    files = []
    for wrong in range(5):
        right = [0.0] * wrong + [1.0] * (60 - wrong)
        share = share_of_run(tmp_path / f"run{wrong}", right, ["one"] * 60)
        files.append({**share["tasks"][TASK], "recipe": {}})
    assert all(file == files[0] for file in files)
    estimate = files[0]["figures"][0]["estimate"]
    assert estimate["value"] == pytest.approx(58 / 60, abs=1e-5)
    assert estimate["off"] == pytest.approx(2 / 60, abs=1e-5)


def test_differences_hide_the_numbers_that_their_figures_hide(tmp_path: Path) -> None:
    estimates = []
    for wrong in (1, 3):
        right = [0.0] * wrong + [1.0] * (60 - wrong)
        base = [1.0] * 40 + [0.0] * 20
        runs = {
            "candidate": run_of(tmp_path / f"c{wrong}", right, ["one"] * 60),
            "baseline": run_of(
                tmp_path / f"b{wrong}", base, ["one"] * 60, model="hf/other"
            ),
        }
        share = made_share(runs, [], site="a")
        estimates += [
            difference["estimate"]
            for difference in share["tasks"][TASK]["differences"]
            if not difference["by"]
        ]
    assert len(estimates) == 2
    for estimate in estimates:
        assert estimate["value"] == pytest.approx(58 / 60 - 40 / 60, abs=1e-5)
        assert estimate["off"] == pytest.approx(2 / 60, abs=1e-5)
        assert estimate["low"] < estimate["value"] < estimate["high"]


def test_strata_of_the_site_break_figures_down(tmp_path: Path) -> None:
    right = [1.0] * 30 + [0.0] * 20 + [1.0] * 20 + [0.0] * 10
    sexes = ["female"] * 50 + ["male"] * 30
    strata = {
        # Two items per patient, so the interval is that of half as many clusters.
        f"patient-{number:04}": {"sex": sex, "patient": f"p{number // 2}"}
        for number, sex in enumerate(sexes)
    }
    share = share_of_run(tmp_path / "run", right, ["one"] * 80, strata=strata)
    female, male = rows_of(share, "sex")
    assert (female["group"], female["right"]) == ("female", 30)
    assert (male["group"], male["right"]) == ("male", 20)
    assert female["clusters"] == 25
    clusters = [number // 2 for number in range(50)]
    expected = proportion_interval(right[:50], clusters=clusters)
    estimate = female["estimate"]
    assert (estimate["low"], estimate["high"]) == pytest.approx(
        (expected.ci_low, expected.ci_high), abs=1e-4
    )
    assert "p1" not in json.dumps(share).replace('"', " ").split()


def corrected_figure(value: float) -> dict[str, Any]:
    """A corrected figure in which a verdict counts 1.25 times."""
    ends = {"value": value, "ci_low": value - 0.08, "ci_high": value + 0.08, "n": 60}
    facts = {"scores": [1.1, -0.15], "classes": ["correct", "not correct"]}
    return {**ends, "bound_low": None, "bound_high": None, "calibration": facts}


def check_file(folder: Path, wrong: int) -> Path:
    """A judge's check with so many wrong verdicts of each class."""
    gold = ["correct"] * 50 + ["incorrect"] * 50
    judged = ["incorrect"] * wrong + ["correct"] * 50 + ["incorrect"] * (50 - wrong)
    return write_check(folder, "ehrnoteqa_open", gold=gold, judge=judged)


@pytest.mark.parametrize(("wrong", "digits"), [(8, 5), (3, 2)])
def test_a_hidden_matrix_makes_corrected_figures_coarse(
    tmp_path: Path, wrong: int, digits: int
) -> None:
    right = [1.0] * 40 + [0.0] * 20
    run = run_of(
        tmp_path / "run", right, ["one"] * 60, corrected=corrected_figure(0.71234)
    )
    check = check_file(tmp_path / "check", wrong)
    share = made_share({"candidate": run}, [check], site="a")
    (shared_check,) = share["checks"]
    assert shared_check["judge"] == "a-judge"
    assert shared_check["table"] == ([[42, 8], [8, 42]] if wrong == 8 else None)
    (corrected,) = (
        row for row in rows_of(share, "") if row["metric"] == "accuracy_corrected"
    )
    assert corrected["estimate"]["value"] == round(0.71234, digits)


def test_a_check_of_another_judge_is_not_shared(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [1.0] * 40 + [0.0] * 20, ["one"] * 60)
    own, other = check_file(tmp_path / "own", 8), check_file(tmp_path / "other", 12)
    content = json_of(other)
    for change in ({"judge": {"name": "lexical", "identity": {}}}, {"votes": 5}):
        other.write_text(json.dumps(content | change), encoding="utf-8")
        share = made_share({"candidate": run}, [other, own], site="a")
        assert [check["table"] for check in share["checks"]] == [[[42, 8], [8, 42]]]


def test_a_figure_without_an_interval_is_shared_without_its_value(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path / "run", [1.0] * 40 + [0.0] * 20, ["one"] * 60)
    with edited_entry(run, TASK) as entry:
        entry["metrics"]["accuracy"] |= {"ci_high": None}
    (whole,) = rows_of(made_share({"candidate": run}, [], site="a"), "")
    assert (whole["estimate"], whole["right"], whole["n"]) == (None, None, 60)


def test_a_judge_that_compares_words_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [1.0] * 40 + [0.0] * 20, ["one"] * 60)
    for comparable in (True, False):
        with edited_entry(run, TASK) as entry:
            entry["recipe"]["judge"]["comparable"] = comparable
        share = made_share({"candidate": run}, [], site="a")
        assert share["tasks"][TASK]["by_words"] is not comparable
        assert ("stand for nothing" in readable_share(share)) is not comparable


def test_the_same_recipe_has_the_same_parts_at_every_site() -> None:
    task = tasks()[TASK]
    first = {
        **RECIPE,
        "judge": {"name": "openai-api/here/j", "url": "http://10.0.0.1/v1", "votes": 5},
        "scoring": {"claims": {"file": "D:/ann/claims.json", "sha256": "ab"}},
    }
    second = {
        **RECIPE,
        "judge": {"name": "openai-api/x/j", "url": "http://10.9.9.9/v1", "votes": 5},
        "scoring": {"claims": {"file": "C:/claims.json", "sha256": "cd"}},
    }
    assert recipe_parts(task, first) == recipe_parts(task, second)
    with_prompts = recipe_parts(
        task, {**first, "prompts": {"set": "own", "sha256": "ff"}}
    )
    assert with_prompts["prompts"] != recipe_parts(task, first)["prompts"]
    assert "ann" not in json.dumps(recipe_parts(task, first))


def test_text_ids_and_names_are_never_shared(tmp_path: Path) -> None:
    right = [1.0] * 40 + [0.0] * 20
    text = "the man of the second bed came late at night with a very old cough again"
    source = tmp_path / "notes.txt"
    source.write_text(text, encoding="utf-8")
    out = tmp_path / "share"
    share = share_of_run(tmp_path / "run", right, ["one"] * 60)
    for group, message in (
        (text * 2, "group: Value should have at most 80"),
        ("patient-0001", "ids of items"),
        ("eve", "names of reviewers"),
    ):
        share["tasks"][TASK]["figures"][1]["group"] = group
        with pytest.raises(RefusedError, match=message) as refused:
            write_share(share, out, sources=[source], secret=["patient-0001", "eve"])
        assert "second bed" not in str(refused.value)
    share["tasks"][TASK]["figures"][1]["group"] = text[:80]
    with pytest.raises(RefusedError, match="text of the site's sources is in"):
        write_share(share, out, sources=[source], secret=[])
    assert not out.exists()


def test_the_command_writes_a_file_that_pool_reads_and_shows_it(
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
    note = " ".join(f"word{number}" for number in range(30))
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
    share = read_share(path)
    assert share.site.startswith("site-")
    assert share.content["sha256"] == content_hash(share.content)
    assert "St. Anywhere" not in path.read_text(encoding="utf-8")
    # Written again it has the same code, so that pooling recognises the site.
    assert main(["site", "share", str(folder)]) == 0
    assert read_share(path).site == share.site
    capsys.readouterr()
    assert main(["site", "share", str(folder), "--show"]) == 0
    output = capsys.readouterr().out
    for row in share.content["tasks"][TASK]["figures"]:
        if row["estimate"]:
            assert f"{row['estimate']['value']:g}" in output
    assert main(["site", "pool", str(path), str(path)]) == 2
    assert "are of one site" in capsys.readouterr().err
