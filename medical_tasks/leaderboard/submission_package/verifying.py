"""A package checked by whoever has the same data: its answers are scored again, and everything in it is compared.

Checks, each `match`, `mismatch` or `not checked`: `content` of the package; and of every task `data`, `items`, `recipe`, `answers`,
`scores`, `results`, and with a judge `verdicts` and `judge`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.catalog import dataset_spec, task_spec
from medical_tasks.data.own_dataset import run_data
from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.leaderboard.submission_package.privacy import texts_allowed
from medical_tasks.leaderboard.submission_package.result_forms import reported_task
from medical_tasks.leaderboard.submission_package.verification import Check, Verification
from medical_tasks.leaderboard.submission_package.verify_answers import check_answers
from medical_tasks.leaderboard.submission_package.verify_arguments import scoring_arguments
from medical_tasks.leaderboard.submission_package.verify_data import check_data, check_items
from medical_tasks.leaderboard.submission_package.verify_judges import ask_again, check_verdicts, withheld
from medical_tasks.leaderboard.submission_package.verify_options import VerifyOptions
from medical_tasks.leaderboard.submission_package.verify_recipe import check_recipe
from medical_tasks.leaderboard.submission_package.verify_scores import (
    check_results,
    check_scores,
    scored_again,
    scratch_folder,
)
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import TaskSpec

__all__ = ["Check", "Verification", "VerifyOptions", "verify_package"]

_UNANSWERED: Final = "no answer: "
_DEFAULTS: Final = VerifyOptions()


def verify_package(package: Package, options: VerifyOptions = _DEFAULTS) -> Verification:
    """Scores a package's answers again and compares everything in it with what comes out.

    Args:
        package: from `reading.read_package`, which has checked its form and its hashes.
        options: what it is checked against.

    Raises:
        MissingError: The judge that was named is not there.
        UsageError: The judge that was named is not that of the package, or an option does not go with it.
    """
    checks = [
        Check(name="content", outcome="match", detail=f"every file has the hash told; id {package.manifest.id}"),
    ]
    for name in package.manifest.tasks:
        checks += _verify_task(package, task_spec(name), options)
    return Verification(package=package.manifest.id, checks=tuple(checks))


def _verify_task(package: Package, task: TaskSpec, options: VerifyOptions) -> list[Check]:
    entry = package.results["tasks"][task.name]
    recipe = entry["recipe"]
    rows = [row for row in package.items if row["task"] == task.name]
    data, missing = _data(task, recipe, options)
    same_data = check_data(task.name, recipe, data, missing)
    checks = [same_data]
    if data is None:
        checks.append(Check(name=f"{task.name}: items", outcome="not checked", detail="the data are not here"))
    else:
        checks.append(check_items(task, rows, data.items))
    checks.append(check_recipe(task, recipe, data, options))
    answers_check, answers = check_answers(package, task, rows, options)
    checks.append(answers_check)
    why = ""
    if data is None or same_data.outcome != "match":
        why = "the data are not here" if data is None else "the data here are another revision"
    elif answers is None:
        why = "the answers are not here, or are others"
    if why or data is None or answers is None:
        return [*checks, *_not_scored(task, entry, why)]
    return [*checks, *_scores(package, task, rows, data, answers, options)]


def _scores(
    package: Package,
    task: TaskSpec,
    rows: Sequence[Mapping[str, Any]],
    data: TaskData,
    answers: Mapping[str, str],
    options: VerifyOptions,
) -> list[Check]:
    entry = package.results["tasks"][task.name]
    recipe, private = entry["recipe"], not texts_allowed(task)
    verdicts = [row for row in package.verdicts if row["task"] == task.name]
    arguments = scoring_arguments(task, recipe, options.task_args)
    needed = {metric.needs for metric in task.metrics if metric.needs}
    if lacking := [name for name in arguments.missing if name not in needed]:
        return _not_scored(task, entry, f"--task-args {lacking[0]}=... was used and is not given")
    if private and recipe["judge"] is not None and recipe["judge"]["name"] != "lexical" and withheld(verdicts):
        return _not_scored(
            task, entry, "what the judge said is more than labels, and is not told for credentialed data"
        )
    answered = AnsweredTask(
        task=task,
        items=data.items,
        responses={item.id: answers[item.id] for item in data.items if item.id in answers},
        unanswered=_unanswered(rows, data, answers),
        recipe=recipe,
        scoring_args=arguments.values,
    )
    reported = reported_task(task, entry)
    with scratch_folder(private=private) as scratch:
        try:
            made = scored_again(answered, reported, recipe, verdicts, options, scratch, private=private)
        except (MissingError, UsageError) as error:
            return _not_scored(task, entry, str(error).replace(str(scratch), "the package").split("\n", 1)[0])
        found = [check_scores(reported, rows, made)]
        if recipe["judge"] is not None:
            found.append(check_verdicts(task.name, recipe["judge"]["name"], verdicts, made.verdicts, made.replay))
        if made.replay is not None:
            found.append(ask_again(answered, recipe["judge"], verdicts, options, scratch))
    return [*found, check_results(reported, entry, made)]


def _not_scored(task: TaskSpec, entry: Mapping[str, Any], why: str) -> list[Check]:
    parts = ["scores", "verdicts"] if entry["recipe"]["judge"] is not None else ["scores"]
    checks = [Check(name=f"{task.name}: {part}", outcome="not checked", detail=why) for part in parts]
    return [*checks, check_results(reported_task(task, entry), entry, None)]


def _unanswered(rows: Sequence[Mapping[str, Any]], data: TaskData, answers: Mapping[str, str]) -> dict[str, str]:
    """Items without an answer, for the reasons that the package tells."""
    told = {row["id"]: str(row["unscored"] or "").removeprefix(_UNANSWERED) for row in rows}
    return {item.id: told.get(item.id) or "not answered" for item in data.items if item.id not in answers}


def _data(task: TaskSpec, recipe: Mapping[str, Any], options: VerifyOptions) -> tuple[TaskData | None, str]:
    try:
        with run_data(task, dataset_spec(task.dataset), recipe, data=options.data, source=options.source) as data:
            return data, ""
    except (MissingError, UsageError) as error:
        return None, str(error).split("\n", 1)[0]
