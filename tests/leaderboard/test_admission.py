from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.leaderboard.admission import AdmissionError, check_admission, marks
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.leaderboard.submission_package.reading import read_package
from tests.leaderboard.made_packages import package, recipe_of


def changed(recipe: Mapping[str, Any] | None = None, *, task: str = "medcalc", **entry: Any) -> Package:
    """A package read from nowhere: the reader would refuse some of what is refused here too."""
    found = read_package(package(of=50, right=20))
    was = found.results["tasks"]["medcalc"]
    made = {**was, **entry, "recipe": {**recipe_of(task_spec(task)), **(recipe or {})}}
    if task != "medcalc":
        made["metrics"] = {task_spec(task).metrics[0].name: was["metrics"]["accuracy"]}
    return replace(
        found,
        manifest=replace(found.manifest, tasks=(task,)),
        results={"schema_version": 1, "tasks": {task: made}},
        items=[{**row, "task": task} for row in found.items],
    )


def data(task: str, **changes: Any) -> dict[str, Any]:
    return {"data": {**recipe_of(task_spec(task))["data"], **changes}}


JUDGE = {
    "name": "openai-api/[host]/judge",
    "comparable": True,
    "votes": 5,
    "prompts": {"set": "own", "sha256": "cd" * 32},
}
WORDS = {**JUDGE, "name": "lexical", "comparable": False}


@pytest.mark.parametrize(
    "sound",
    [
        changed(),
        changed({"task_version": "2-B"}),
        changed(data("medcalc", config="v1.2")),
        changed({"prompts": None}),
        changed({"model": {"name": "baseline/random"}, "prompts": None}),
        changed(coverage={"asked": 50, "answered": 45, "scored": 45, "unscored": {}}),
        changed({"judge": JUDGE}, task="kqa"),
        changed(data("archehr_together", split="dev"), task="archehr_together"),
    ],
)
def test_what_is_taken(sound: Package) -> None:
    check_admission(sound)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (changed({"suite": ""}), "medcalc: its recipe lacks suite. Run it again"),
        (changed({"data": {}, "model": {}}), "lacks data, model, data.name, data.config, data.split, data.version, data.rows"),
        (changed({"data": []}), "lacks data, data.name"),
        (changed({"task": "kqa"}), "its recipe is of the task kqa"),
        (changed({"task_version": "1-A"}), "task version 1-A, this leaderboard takes 2-A"),
        (changed({"max_samples": 50}), r"only 50 items were asked \(--max-samples\). Run it on the whole split"),
        (changed({"statistics": {"confidence": 0.5}}), "its intervals are not of 95 %"),
        (changed({"statistics": [0.95]}), "its intervals are not of 95 %"),
        (changed({"model": {"name": "baseline/reference"}}), "baseline/reference answers with the gold"),
        (changed(data("medcalc", config="demo")), "its data is the configuration demo, which not everybody has alike"),
        (changed(data("medcalc", config="fresh")), "its data is the configuration fresh, which not everybody has alike"),
        (changed(data("kqa", config="own"), task="kqa"), "its data is the configuration own"),
        (changed(data("kqa")), "its data is kqa, answered: no configuration of medcalc_bench"),
        (changed(data("medcalc", config="\x1b[2J")), r"its data is medcalc_bench, \\x1b\[2J: no configuration"),
        (changed(data("medcalc", split="train")), "its split is train, this leaderboard takes test"),
        (changed(data("medcalc", split="dev")), "its split is dev, this leaderboard takes test"),
        (changed(task="kqa"), "kqa: it needs a judge and names none. Score it with one"),
        (changed({"judge": WORDS}, task="kqa"), "its judge, lexical, compares words: nobody else's numbers"),
        (changed({"judge": {**JUDGE, "comparable": "yes"}}, task="kqa"), "compares words"),
        (changed(n_items=51), "50 items were asked, 51 are told and 50 are in the package"),
        (changed(coverage={"asked": 50, "answered": 44, "scored": 44}), "44 of 50 items have a score, 90 % are needed"),
        (changed(coverage={"asked": 50, "scored": "50"}), "50 of 50 items have a score, 90 % are needed"),
        (changed(coverage=[]), "none items were asked"),
        (changed(metrics={}), "its headline, accuracy, has no value with an interval"),
        (changed(metrics={"accuracy": {"value": None, "ci_low": 0.1, "ci_high": 0.2}}), "has no value with an interval"),
        (changed(metrics={"accuracy": {"value": float("nan"), "ci_low": 0.1, "ci_high": 0.2}}), "has no value"),
    ],
)  # fmt: skip
def test_what_is_not_taken(odd: Package, message: str) -> None:
    with pytest.raises(AdmissionError, match=message):
        check_admission(odd)


def test_all_reasons_are_told_at_once() -> None:
    with pytest.raises(AdmissionError) as told:
        check_admission(changed({"task_version": "1-A", "max_samples": 1, **data("medcalc", config="demo")}))
    assert [line.split(":")[0] for line in str(told.value).splitlines()] == ["not taken", *["  medcalc"] * 3]


def test_what_is_taken_but_not_ranked_is_marked() -> None:
    def entry(scored: int, **recipe: Any) -> dict[str, Any]:
        return {"coverage": {"asked": 1000, "scored": scored}, "recipe": recipe_of(task_spec("medcalc"), **recipe)}

    assert marks(entry(980)) == marks(entry(1000, prompts=None, model={"name": "baseline/random"})) == []
    assert marks(entry(979)) == ["Only 97.9 % of the items have a score, 98 % are needed for a rank."]
    (made,) = marks(entry(1000, prompts=None))
    assert made.startswith("The answers were made outside this suite")
