"""What this leaderboard takes: results that somebody else's can be set beside.

A package that breaks a rule is refused with all of its reasons. What is taken but cannot be ranked (answers made elsewhere, items
without a score) is marked: an entry says so, and has no rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from medical_tasks.benchmarks.catalog import dataset_spec, tasks
from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.numbers import is_number
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.runs.recipe_differences import mapping, short
from medical_tasks.spec import TaskSpec

__all__ = ["LEAST_COVERAGE", "RANKED_COVERAGE", "AdmissionError", "check_admission", "marks"]

LEAST_COVERAGE: Final = 0.90
"""Share of the items that must be scored."""
RANKED_COVERAGE: Final = 0.98
"""Share of the items that must be scored for a rank: a model that fails on the hard ones must not win by that."""

_CONFIDENCE: Final = 0.95
# Not of a dataset that everybody has: the demo, one's own questions, and generated ones.
_NOT_SHARED: Final = frozenset({"demo", "own", "fresh", "table"})
_NEEDED: Final = ("suite", "task", "task_version", "data", "metrics", "statistics", "model")
_DATA: Final = ("name", "config", "split", "version", "rows_sha256")
# Its test split has no key that everybody can have.
_MORE_SPLITS: Final = frozenset({("archehr_qa", "dev")})
_BASELINE: Final = "baseline/"
_GOLD: Final = f"{_BASELINE}reference"


class AdmissionError(UsageError):
    """A package that is well formed, and that this leaderboard does not take; the message is for its submitter."""


def check_admission(package: Package) -> None:
    """Sees whether a package may be submitted.

    Raises:
        AdmissionError: It may not; names every task and rule.
    """
    items = Counter(str(row["task"]) for row in package.items)
    entries = package.results["tasks"]
    reasons = [
        f"{name}: {reason}" for name in package.manifest.tasks for reason in _reasons(name, entries[name], items[name])
    ]
    if reasons:
        raise AdmissionError("not taken:\n  " + "\n  ".join(reasons))


def marks(entry: Mapping[str, Any]) -> list[str]:
    """Says why a task's result that was taken has no rank.

    Args:
        entry: the task's entry of `results.json`.

    Returns:
        A sentence each; none for one that is ranked.
    """
    found: list[str] = []
    recipe = entry["recipe"]
    asks_nobody = str(mapping(recipe.get("model")).get("name")).startswith(_BASELINE)
    if recipe.get("prompts") is None and not asks_nobody:
        found.append("The answers were made outside this suite: how they were asked for is not known here.")
    share = _share(entry)
    if share < RANKED_COVERAGE:
        found.append(
            f"Only {100 * share:.1f} % of the items have a score, {100 * RANKED_COVERAGE:.0f} % are needed for a rank."
        )
    return found


def _reasons(name: str, entry: Mapping[str, Any], n_rows: int) -> Iterator[str]:
    known = tasks()
    if name not in known:
        yield f"not a task of this version. Tasks: {', '.join(known)}."
        return
    task, recipe = known[name], mapping(entry.get("recipe"))
    data = mapping(recipe.get("data"))
    lacking = [key for key in _NEEDED if not recipe.get(key)]
    lacking += [f"data.{key}" for key in _DATA if not isinstance(data.get(key), str)]
    if lacking:
        yield f"its recipe lacks {', '.join(lacking)}. Run it again with this version of medical-tasks."
        return
    yield from _of_recipe(task, recipe)
    yield from _of_data(task, data)
    coverage, n_items = mapping(entry.get("coverage")), entry.get("n_items")
    asked, scored = coverage.get("asked"), coverage.get("scored")
    if not asked == n_items == n_rows:
        yield f"{short(asked)} items were asked, {short(n_items)} are told and {n_rows} are in the package. Package the run again."
    elif _share(entry) < LEAST_COVERAGE:
        yield (
            f"{short(scored)} of {asked} items have a score, {100 * LEAST_COVERAGE:.0f} % are needed. Give the run's command "
            "again: what is missing is asked for again."
        )
    headline = mapping(mapping(entry.get("metrics")).get(task.metrics[0].name))
    if any(not is_number(headline.get(key)) for key in ("value", "ci_low", "ci_high")):
        yield f"its headline, {task.metrics[0].name}, has no value with an interval."


def _of_recipe(task: TaskSpec, recipe: Mapping[str, Any]) -> Iterator[str]:
    version = str(recipe["task_version"])
    if recipe["task"] != task.name:
        yield f"its recipe is of the task {short(recipe['task'])}."
    if version.partition("-")[0] != task.version.partition("-")[0]:
        yield f"task version {short(version)}, this leaderboard takes {task.version}. Run it again with this version."
    if recipe.get("max_samples") is not None:
        yield f"only {short(recipe['max_samples'])} items were asked (--max-samples). Run it on the whole split."
    if mapping(recipe["statistics"]).get("confidence") != _CONFIDENCE:
        yield "its intervals are not of 95 %."
    if mapping(recipe["model"]).get("name") == _GOLD:
        yield f"{_GOLD} answers with the gold: it tests the scorer and is no model."
    judge = mapping(recipe.get("judge"))
    if task.judge and not judge:
        yield "it needs a judge and names none. Score it with one: medical-tasks score ... --judge JUDGE"
    elif judge and judge.get("comparable") is not True:
        yield (
            f"its judge, {short(judge.get('name'))}, compares words: nobody else's numbers can be set beside these. Score it with "
            "a judge that understands: medical-tasks score ... --judge JUDGE"
        )


def _of_data(task: TaskSpec, data: Mapping[str, Any]) -> Iterator[str]:
    config, split = data["config"], data["split"]
    if data["name"] != task.dataset or config not in dataset_spec(task.dataset).configs:
        yield f"its data is {short(data['name'])}, {short(config)}: no configuration of {task.dataset}."
    elif config in _NOT_SHARED:
        yield f"its data is the configuration {config}, which not everybody has alike. Run it on the official data."
    elif split != task.split and (task.dataset, split) not in _MORE_SPLITS:
        yield f"its split is {short(split)}, this leaderboard takes {task.split}."


def _share(entry: Mapping[str, Any]) -> float:
    coverage = mapping(entry.get("coverage"))
    asked, scored = coverage.get("asked"), coverage.get("scored")
    return scored / asked if is_number(asked) and is_number(scored) and asked else 0.0
