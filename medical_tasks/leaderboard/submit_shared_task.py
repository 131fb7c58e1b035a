"""A submission to a benchmark's shared task, written from a run's answers or checked.

    medical-tasks submit runs/my-run --to archehr --out submission.json
    medical-tasks submit runs/evidence --to archehr --out submission.zip
    medical-tasks submit --check submission.json --to archehr --split dev --data DIR
    medical-tasks submit --check submission.zip --to archehr --task archehr_question --split dev
    --source RELEASE

The file is a JSON list with a record a case, by itself or in a zip file, as the shared
task takes it: an --out that ends in .json is the list itself. Answers are written in
the official form, so that the official scorer reads what was scored here. Checked are:
every case of the split once and no other, the words that count, known ids, the form of
each record. A submission with problems is not written, and they are told case by case
(exit code 5); --allow-problems writes it all the same. --check tells those of a file
that is there.

The file may quote credentialed notes: only its owner can read it, and it may not lie in
a run's folder or a git work tree.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from medical_tasks.catalog import benchmarks, dataset_spec, parse_task_names, task_spec
from medical_tasks.data.shared_task import Problem, SharedTask
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
    """The shared tasks, by the short name of the benchmark whose they are."""
    by_name = {benchmark.short: benchmark.shared_task() for benchmark in benchmarks()}
    return {name: target for name, target in by_name.items() if target is not None}


def run(arguments: SubmitSharedTask) -> int:
    """Writes or checks a submission; exit code 5 when it has problems."""
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
    given = [name for name in names if getattr(arguments, name)]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')}: has no meaning here, {why}. Leave it out."
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
    records, found = target.read_records(path)
    problems = [*found]
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
            there = load_task_data(
                every,
                spec,
                data=built,
                config=chosen,
                split=arguments.split or task.split,
            )

        cases = target.cases(task, there.items)
        problems += target.problems_of(task, cases, records)

    _tell([problem for problem in problems if problem.note])
    if wrong := [problem for problem in problems if not problem.note]:
        raise IncompleteError(f"{path}: {_counted(wrong)}\nMend them and check again.")

    tell(
        f"{path}: no problems; it has an answer to each of the {len(cases)} cases of "
        f"{_where(there)}, as {task.name} takes it.",
        file=path,
        cases=len(cases),
    )


def _write(folder: Path, arguments: SubmitSharedTask) -> None:
    """Writes a submission of a run's answers; tells what is in it.

    Raises `IncompleteError` where it has problems, unless they are allowed.
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
        ) as there:
            of_run = replace(there, items=subset(there.items, recipe["max_samples"]))
            answers = run_responses(
                task,
                of_run,
                recipe,
                folder,
                responses=responses,
                upstream=arguments.upstream,
            )

        submission = target.make_submission(task, there.items, answers)
        if not submission.answered:
            raise IncompleteError(
                f"{folder}: no case is answered, so there is nothing to submit. Give its command "
                "again."
            )

        if submission.problems and not arguments.allow_problems:
            some_lack = submission.answered < len(there.items)
            again = (
                "Give the run's command again for what is missing. Or write"
                if some_lack
                else "Write"
            )
            where = ["--source", source] if source else ["--data", data] if data else []
            where += [] if source else ["--config", recipe["data"]["config"]]
            words = [
                "--to",
                to,
                "--task",
                task.name,
                "--split",
                recipe["data"]["split"],
                *where,
            ]
            raise IncompleteError(
                f"{folder}: the submission is not written: {_counted(submission.problems)}\n"
                f"{again} it all the same (--allow-problems), mend it by hand and check it: "
                f"medical-tasks submit --check {out} {' '.join(map(str, words))}"
            )

        content = submission.text.encode("ascii")
        with WholeFile(out, private=True) as file:
            zipped = out.suffix.lower() == _ZIP
            file.write_bytes(zip_bytes({SUBMISSION: content}) if zipped else content)

    _tell(submission.notes)
    if submission.problems:
        print(
            f"warning: {out}: written with {_counted(submission.problems)}",
            file=sys.stderr,
        )

    tell(
        f"{out}: {submission.answered} of the {len(there.items)} cases of {_where(there)}, as "
        f"answered in {folder}",
        file=out,
        answered=submission.answered,
        cases=len(there.items),
        rewritten=submission.rewritten,
    )
    if submission.rewritten:
        tell(
            f"{len(submission.rewritten)} answers were written anew in the official form, since "
            "the official scorer reads them otherwise as they were: cases "
            f"{listed(submission.rewritten, _SHOWN)}"
        )

    if private:
        tell(
            "It may quote credentialed notes: only you can read it. Nothing was sent anywhere."
        )


def _task(
    folder: Path, entries: Mapping[str, Entry], name: str | None, to: str
) -> tuple[TaskSpec, Recipe]:
    """The task of a run that is submitted: the one that fits, or the one that is named."""
    names = shared_tasks()[to].TASKS
    fitting = [task for task in entries if task in names]
    wanted = fitting
    if name is not None:
        wanted = [task.name for task in parse_task_names(name) if task.name in fitting]

    if len(wanted) != 1:
        step = (
            f"Choose one with --task: {', '.join(fitting)}."
            if fitting
            else "Give another run."
        )
        raise UsageError(
            f"{folder}: has answers to {', '.join(entries)}; --to {to} takes those to one of "
            f"{', '.join(names)}. {step}"
        )

    recipe = entries[wanted[0]]["recipe"]
    check_recipe(folder, recipe)
    return task_spec(wanted[0]), recipe


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
