"""The form of `results.json` in a package: what must hold before its numbers are computed again from the items."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from medical_tasks.benchmarks.catalog import dataset_spec, tasks
from medical_tasks.io.json_records import Field, optional
from medical_tasks.leaderboard.submission_package.contents import RESULTS
from medical_tasks.leaderboard.submission_package.forms import (
    check_fields,
    hash_or_empty,
    is_object,
    line_text,
    number,
    one_of,
    plain_json,
    suite_name,
    true_or_false,
    whole_number,
)
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown
from medical_tasks.leaderboard.submission_package.scrubbing import scrub
from medical_tasks.runs.results import SCHEMA_VERSION
from medical_tasks.spec import TaskSpec

__all__ = ["check_results", "reported_task"]

_OBJECT: Final = Field(holds=is_object, rule="an object with short names")
_SETTING: Final = plain_json(of=dict)
_SETTING_OR_NULL: Final = Field(
    holds=lambda value: value is None or _SETTING.holds(value), rule=f"{_SETTING.rule}; or null"
)
_COUNTS: Final = Field(
    holds=lambda value: is_object(value) and all(whole_number().holds(each) for each in value.values()),
    rule="an object of whole numbers",
)
_USAGE: Final = Field(
    holds=lambda value: (
        is_object(value)
        and set(value) == {"requests", "prompt_tokens", "output_tokens", "seconds"}
        and whole_number().holds(value["requests"])
        and all(number(0.0, math.inf, null=True).holds(each) for each in value.values())
    ),
    rule="an object of requests, prompt_tokens, output_tokens and seconds, numbers or null",
)
_ENTRY: Final[Mapping[str, Field]] = {
    "n_items": whole_number(1),
    "metrics": _SETTING,
    "coverage": _OBJECT,
    "breakdown": _SETTING,
    "recipe": _SETTING,
    "cut_at_length": whole_number(),
    "shortened": optional(whole_number()),
    "usage": optional(_USAGE),
    "judge": optional(_OBJECT),
    "notes": optional(_COUNTS),
}
_COVERAGE: Final = {
    "asked": whole_number(1),
    "answered": whole_number(),
    "scored": whole_number(),
    "unscored": _COUNTS,
}
_RECIPE: Final[Mapping[str, Field]] = {
    "suite": suite_name(),
    "task": line_text(64, least=1),
    "task_version": line_text(16, least=1),
    "data": _OBJECT,
    "prompts": _SETTING_OR_NULL,
    "generation": _SETTING_OR_NULL,
    "max_samples": Field(
        holds=lambda value: value is None or whole_number(1).holds(value), rule="a whole number or null"
    ),
    "metrics": _SETTING,
    "statistics": _SETTING,
    "model": _SETTING,
    "judge": _SETTING_OR_NULL,
    "python": line_text(40),
    "packages": _SETTING,
    "task_args": optional(_SETTING),
    "protocol": optional(_SETTING),
    "truncation": optional(_SETTING),
    "baseline": optional(_SETTING),
    "leaking_examples": optional(plain_json(of=list)),
    "scoring": optional(_SETTING),
}
_DATA: Final[Mapping[str, Field]] = {
    "name": line_text(64, least=1),
    "config": line_text(64, least=1),
    "split": Field(
        holds=lambda value: (
            isinstance(value, str) and len(value) <= 64 and re.fullmatch(r"[\w-]+(?:\+[\w-]+)*", value) is not None
        ),
        rule="the name of a split, or names with + between: letters, digits, - and _",
    ),
    "version": line_text(16, least=1),
    "source": _SETTING,
    "rows_sha256": hash_or_empty(),
}
_VERDICTS: Final = {"asked": whole_number(), "decided": whole_number(), "unscored": _COUNTS}
_JUDGE: Final[Mapping[str, Field]] = {
    "name": line_text(200, least=1),
    "comparable": true_or_false(),
    "votes": whole_number(1, 99),
    "verdicts": _OBJECT,
    "from_store": whole_number(),
    "calls": whole_number(),
    "votes_saved": whole_number(),
    "reasked": whole_number(),
    "prompt_tokens": whole_number(),
    "output_tokens": whole_number(),
    "tokens_estimated": true_or_false(),
    "check": plain_json(of=str),
    "trouble": Field(holds=lambda value: value is None or plain_json(of=str).holds(value), rule="a text or null"),
}
_JUDGED_BY: Final = {"name": line_text(200, least=1), "comparable": true_or_false(), "votes": whole_number(1, 99)}


def check_results(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Checks the form of `results.json`; not yet its numbers.

    Args:
        value: its JSON.
        names: the tasks that `package.json` names.

    Returns:
        The results.

    Raises:
        PackageError: It is not of the form.
    """
    results = check_fields(RESULTS, value, {"schema_version": one_of((SCHEMA_VERSION,)), "tasks": _OBJECT})
    known = tasks()
    for name in results["tasks"]:
        if name not in known:
            raise PackageError(
                f"{RESULTS}: the task {shown(name)} is not known here. Leave it out (--task NAME), or update this suite."
            )
    if tuple(results["tasks"]) != names:
        raise PackageError(f"{RESULTS}: its tasks are not those that package.json names, in that order. {WRITE_AGAIN}")
    for name, entry in results["tasks"].items():
        _check_entry(f"{RESULTS}, {name}", entry, known[name])
    if scrub(results) != results:
        raise PackageError(
            f"{RESULTS}: a recipe names a path, a file or an address of the machine it was made on. {WRITE_AGAIN}"
        )
    return results


def reported_task(task: TaskSpec, entry: Mapping[str, Any]) -> TaskSpec:
    """The task with the metrics that an entry reports: all, but for those that need something which may not have been given.

    Args:
        task: as the catalogue has it.
        entry: of `results.json`.
    """
    breakdown = entry["breakdown"]

    def told(name: str, part: tuple[()] | tuple[str, str], whole: str) -> bool:
        if not part:
            return name in entry["metrics"]
        return whole in dict(dict(breakdown.get(part[0]) or {}).get(part[1]) or {})

    metrics = tuple(
        metric for metric in task.metrics if not metric.needs or told(metric.name, metric.part, metric.whole)
    )
    return replace(task, metrics=metrics)


def _check_entry(where: str, value: Any, task: TaskSpec) -> None:
    entry = check_fields(where, value, _ENTRY)
    check_fields(f"{where}, coverage", entry["coverage"], _COVERAGE)
    recipe = check_fields(f"{where}, recipe", entry["recipe"], _RECIPE)
    data = check_fields(f"{where}, recipe, data", recipe["data"], _DATA)
    spec = dataset_spec(task.dataset)
    if recipe["task"] != task.name or data["name"] != spec.name or data["config"] not in spec.configs:
        raise PackageError(
            f"{where}: its recipe must be of {task.name} on {spec.name} ({', '.join(spec.configs)}), got "
            f"{shown(recipe['task'])} on {shown(data['name'])} ({shown(data['config'])}). {WRITE_AGAIN}"
        )
    for by, groups in entry["breakdown"].items():
        if not is_object(groups) or not all(is_object(group) for group in groups.values()):
            raise PackageError(f"{where}, breakdown, {shown(by)}: must be an object of objects. {WRITE_AGAIN}")
    cut = recipe.get("truncation", {}).get("words_left_out", {})
    if entry["cut_at_length"] > entry["coverage"]["answered"] or entry.get("shortened", 0) != len(cut):
        raise PackageError(f"{where}: cut_at_length or shortened is not of as many items as it can be. {WRITE_AGAIN}")
    model = recipe["model"]
    if not line_text(300, least=1).holds(model.get("name")):
        raise PackageError(f"{where}, recipe, model: must have a name of one line. {WRITE_AGAIN}")
    _check_prompts(where, recipe)
    _check_judge(where, entry, task)


def _check_prompts(where: str, recipe: Mapping[str, Any]) -> None:
    prompts = recipe["prompts"]
    sound = prompts is None or (
        prompts.get("set") in ("own", "official") and hash_or_empty().holds(prompts.get("sha256"))
    )
    if not sound:
        raise PackageError(f"{where}, recipe, prompts: must be null, or name a set and its sha256. {WRITE_AGAIN}")
    arguments = recipe.get("task_args", {})
    if not all(isinstance(value, str) for value in arguments.values()):
        raise PackageError(f"{where}, recipe, task_args: must be texts. {WRITE_AGAIN}")


def _check_judge(where: str, entry: Mapping[str, Any], task: TaskSpec) -> None:
    named, told = entry["recipe"]["judge"], entry.get("judge")
    if task.judge != (named is not None) or task.judge != (told is not None):
        rule = (
            "is scored by a judge, and both recipe and entry say which" if task.judge else "is scored without a judge"
        )
        raise PackageError(f"{where}: the task {rule}; that is not so here. {WRITE_AGAIN}")
    if named is None or told is None:
        return
    check_fields(f"{where}, judge", told, _JUDGE)
    check_fields(f"{where}, judge, verdicts", told["verdicts"], _VERDICTS)
    same = {name: named.get(name) for name in _JUDGED_BY}
    check_fields(f"{where}, recipe, judge", same, _JUDGED_BY)
    prompts = named.get("prompts")
    if not isinstance(prompts, dict) or not hash_or_empty().holds(prompts.get("sha256")):
        raise PackageError(f"{where}, recipe, judge: must name its prompts' set and sha256. {WRITE_AGAIN}")
    if any(told[name] != same[name] for name in same):
        raise PackageError(f"{where}: says one thing of the judge in its recipe, and another beside it. {WRITE_AGAIN}")
    words = "lexical" in (named["name"], named.get("kind"))
    if words and (named["comparable"] or named["name"] != named.get("kind")):
        raise PackageError(f"{where}: the judge lexical is never comparable with others. {WRITE_AGAIN}")
