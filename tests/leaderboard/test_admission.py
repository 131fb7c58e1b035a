from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.leaderboard.admission import AdmissionError, check_admission, marks
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.leaderboard.submission_package.reading import read_package
from tests.leaderboard.made_packages import cases, package, recipe_of

CASES = cases("admission")


def changed(recipe: Mapping[str, Any] | None = None, *, task: str = "medcalc", **entry: Any) -> Package:
    """A package read from nowhere: the reader would refuse some of what is refused here too."""
    found = read_package(package(of=50, right=20))
    was = found.results["tasks"]["medcalc"]
    made = {**was, **entry, "recipe": recipe_of(task_spec(task), **(recipe or {}))}
    if task != "medcalc":
        made["metrics"] = {task_spec(task).metrics[0].name: was["metrics"]["accuracy"]}
    return replace(
        found,
        manifest=replace(found.manifest, tasks=(task,)),
        results={"schema_version": 1, "tasks": {task: made}},
        items=[{**row, "task": task} for row in found.items],
    )


@pytest.mark.parametrize(("task", "recipe", "entry"), CASES["what_is_taken"])
def test_what_is_taken(task: str, recipe: dict[str, Any], entry: dict[str, Any]) -> None:
    check_admission(changed(recipe, task=task, **entry))


@pytest.mark.parametrize(("task", "recipe", "entry", "message"), CASES["what_is_not_taken"])
def test_what_is_not_taken(task: str, recipe: dict[str, Any], entry: dict[str, Any], message: str) -> None:
    with pytest.raises(AdmissionError, match=message):
        check_admission(changed(recipe, task=task, **entry))


def test_all_reasons_are_told_at_once() -> None:
    with pytest.raises(AdmissionError) as told:
        check_admission(changed({"task_version": "1-A", "max_samples": 1, "data+": {"config": "demo"}}))
    assert [line.split(":")[0] for line in str(told.value).splitlines()] == ["not taken", *["  medcalc"] * 3]


def test_what_is_taken_but_not_ranked_is_marked() -> None:
    def entry(scored: int, **recipe: Any) -> dict[str, Any]:
        return {"coverage": {"asked": 1000, "scored": scored}, "recipe": recipe_of(task_spec("medcalc"), **recipe)}

    assert marks(entry(980)) == marks(entry(1000, prompts=None, model={"name": "baseline/random"})) == []
    assert marks(entry(979)) == ["Only 97.9 % of the items have a score, 98 % are needed for a rank."]
    (made,) = marks(entry(1000, prompts=None))
    assert made.startswith("The answers were made outside this suite")
