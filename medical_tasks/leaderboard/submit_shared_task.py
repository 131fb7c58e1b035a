"""Writes a submission to a benchmark's shared task from a run's answers, or checks one.

    medical-tasks submit runs/my-run --to archehr --out submission.json
    medical-tasks submit runs/evidence --to archehr --out submission.zip
    medical-tasks submit --check submission.json --to archehr --split dev --data DIR
    medical-tasks submit --check submission.zip --to archehr --task archehr_question --split dev
    --source RELEASE

The file is a JSON list with a record for each case, or a zip file of it, as the shared
task requires; an --out that ends in .json is the list itself. Answers are written in the
official form, so that the official scorer reads what was scored here. The checks: every
case of the split once and no other, the words that count, known ids, the form of each
record. A submission with problems is not written, and the problems are listed by case
(exit code 5); --allow-problems writes it nevertheless. --check lists the problems of an
existing file.

The file may quote credentialed notes, so that only its owner can read it, and it must not
be in a run's folder or a git work tree.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from medical_tasks.catalog import benchmarks, dataset_spec, parse_task_names, task_spec
from medical_tasks.data.shared_task import Problem, SharedTask, Submission
from medical_tasks.data.task_data import (
    TaskData,
    load_task_data,
    run_data,
    subset,
    with_source,
)
from medical_tasks.errors import IncompleteError, UsageError, listed
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import check_place
from medical_tasks.io.files import WholeFile
from medical_tasks.io.output import tell
from medical_tasks.leaderboard.options import SubmitSharedTask
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.runs.replaying import check_recipe, run_responses
from medical_tasks.runs.responses import SUBMISSION
from medical_tasks.runs.results import read_results
from medical_tasks.spec import TaskSpec

_OF_RUN: Final = ("responses", "upstream", "out", "allow_problems")
_OF_CHECK: Final = ("config", "split")
_ZIP: Final = ".zip"
_SHOWN: Final = 10


def shared_tasks() -> dict[str, SharedTask]:
    """Returns the shared tasks by the short names of their benchmarks."""
    by_name = {benchmark.short: benchmark.shared_task() for benchmark in benchmarks()}
    return {name: target for name, target in by_name.items() if target is not None}


def run(arguments: SubmitSharedTask) -> int:
    """Writes or checks a submission; exit code 5 if it has problems."""
    to, checked = arguments.to, arguments.check
    if (arguments.run is None) == (checked is None):
        raise UsageError(
            "give the folder of a run whose answers to submit, or --check FILE with a submission, "
            f"one of them. For example: medical-tasks submit runs/my-run --to {to}"
        )

    names, why = (
        (_OF_CHECK, "the run says it")
        if checked is None
        else (_OF_RUN, "--check writes nothing")
    )
    unusable = [name for name in names if getattr(arguments, name)]
    if unusable:
        raise UsageError(
            f"--{unusable[0].replace('_', '-')}: has no meaning here, {why}. Leave it out."
        )

    if checked is not None:
        _check(checked, arguments)
    elif arguments.run is not None:
        _write(arguments.run, arguments)

    return 0


def _check(path: Path, arguments: SubmitSharedTask) -> None:
    """Checks a submission against the cases of a split.

    Raises `IncompleteError` for its problems.
    """
    target, name = shared_tasks()[arguments.to], arguments.task
    records, form_problems = target.read_records(path)
    problems = [*form_problems]
    named = [
        task.name for task in parse_task_names(name or target.recognised(path, records))
    ]
    if len(named) != 1 or named[0] not in target.TASKS:
        raise UsageError(f"--task {name}: give one of {', '.join(target.TASKS)}.")

    task = task_spec(named[0])
    every = task_spec(target.EVERY_CASE)
    spec = dataset_spec(task.dataset)
    with policy.protect([policy.Subject.of(spec, task=task.name)]):
        with with_source(
            task, source=arguments.source, data=arguments.data, config=arguments.config
        ) as (built, chosen):
            split_data = load_task_data(
                every,
                spec,
                data=built,
                config=chosen,
                split=arguments.split or task.split,
            )

        cases = target.cases(task, split_data.items)
        problems += target.problems_of(task, cases, records)

    _tell([problem for problem in problems if problem.note])
    if wrong := [problem for problem in problems if not problem.note]:
        raise IncompleteError(
            f"{path}: {_counted(wrong)}\nCorrect them and check again."
        )

    tell(
        f"{path}: no problems; it has an answer to each of the {len(cases)} cases of "
        f"{_where(split_data)}, in the form that {task.name} expects.",
        file=path,
        cases=len(cases),
    )


def _write(folder: Path, arguments: SubmitSharedTask) -> None:
    """Writes a submission of a run's answers, and reports what is in it.

    Raises `IncompleteError` if it has problems, unless they are allowed.
    """
    to, responses, out = arguments.to, arguments.responses, arguments.out
    data, source = arguments.data, arguments.source
    target = shared_tasks()[to]
    task, recipe = _task(folder, read_results(folder)["tasks"], arguments.task, to)
    out = out or Path(SUBMISSION).with_suffix(_ZIP if target.zipped(task) else ".json")
    spec = dataset_spec(task.dataset)
    private = not policy.text_allowed(spec)
    if private:
        check_place(out)

    if (
        responses is not None
        and out.expanduser().resolve() == responses.expanduser().resolve()
    ):
        raise UsageError(
            f"{out}: is the file that was scored, which the run needs. Choose another --out."
        )

    with policy.protect([policy.Subject.of(spec, task=task.name)]):
        # All cases of the split, and the run's answers to those that it was asked.
        with run_data(
            task, spec, recipe, data=data, source=source, whole=True
        ) as split_data:
            run_cases = replace(
                split_data, items=subset(split_data.items, recipe["max_samples"])
            )
            answers = run_responses(
                task,
                run_cases,
                recipe,
                folder,
                responses=responses,
                upstream=arguments.upstream,
            )

        submission = target.make_submission(task, split_data.items, answers)
        if not submission.answered:
            raise IncompleteError(
                f"{folder}: no case is answered, so there is nothing to submit. Give its command "
                "again."
            )

        if submission.problems and not arguments.allow_problems:
            some_lack = submission.answered < len(split_data.items)
            again = (
                "Give the run's command again for what is missing. Or write"
                if some_lack
                else "Write"
            )
            raise IncompleteError(
                f"{folder}: the submission was not written: {_counted(submission.problems)}\n"
                f"{again} it nevertheless (--allow-problems), correct it by hand and check it: "
                f"{_check_command(arguments, out, task, recipe)}"
            )

        content = submission.text.encode("ascii")
        with WholeFile(out, private=True) as file:
            zipped = out.suffix.lower() == _ZIP
            file.write_bytes(zip_bytes({SUBMISSION: content}) if zipped else content)

    _tell_written(folder, out, split_data, submission)
    if private:
        tell(
            "It may quote credentialed notes: only you can read it. Nothing was sent anywhere."
        )


def _check_command(
    arguments: SubmitSharedTask, out: Path, task: TaskSpec, recipe: Recipe
) -> str:
    """The command that checks a submission on the same data."""
    data, source = arguments.data, arguments.source
    location = ["--source", source] if source else ["--data", data] if data else []
    location += [] if source else ["--config", recipe["data"]["config"]]
    options = [
        *("--to", arguments.to),
        *("--task", task.name),
        *("--split", recipe["data"]["split"]),
        *location,
    ]
    return f"medical-tasks submit --check {out} {' '.join(map(str, options))}"


def _tell_written(
    folder: Path, out: Path, split_data: TaskData, submission: Submission
) -> None:
    _tell(submission.notes)
    if submission.problems:
        print(
            f"warning: {out}: written with {_counted(submission.problems)}",
            file=sys.stderr,
        )

    tell(
        f"{out}: {submission.answered} of the {len(split_data.items)} cases of {_where(split_data)}, as "
        f"answered in {folder}",
        file=out,
        answered=submission.answered,
        cases=len(split_data.items),
        rewritten=submission.rewritten,
    )
    if submission.rewritten:
        tell(
            f"{len(submission.rewritten)} answers were rewritten in the official form, since "
            "the official scorer would misread them: cases "
            f"{listed(submission.rewritten, _SHOWN)}"
        )


def _task(
    folder: Path, entries: Mapping[str, Entry], name: str | None, to: str
) -> tuple[TaskSpec, Recipe]:
    """Returns the task of a run to submit: the named one, or the only one that fits."""
    names = shared_tasks()[to].TASKS
    fitting = [task for task in entries if task in names]
    chosen = fitting
    if name is not None:
        chosen = [task.name for task in parse_task_names(name) if task.name in fitting]

    if len(chosen) != 1:
        step = (
            f"Choose one with --task: {', '.join(fitting)}."
            if fitting
            else "Give another run."
        )
        raise UsageError(
            f"{folder}: has answers to {', '.join(entries)}; --to {to} accepts those to one of "
            f"{', '.join(names)}. {step}"
        )

    recipe = entries[chosen[0]]["recipe"]
    check_recipe(folder, recipe)
    return task_spec(chosen[0]), recipe


def _tell(notes: Sequence[Problem]) -> None:
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _counted(problems: Sequence[Problem]) -> str:
    fatal = any(problem.fatal for problem in problems)
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    no_score = ", with which the official scorer gives no score at all" if fatal else ""
    return "\n  ".join((count + no_score, *map(str, problems)))


def _where(data: TaskData) -> str:
    return f"{data.revision['name']}/{data.config}, split {data.revision['split']}"
