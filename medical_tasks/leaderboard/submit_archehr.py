"""A submission to the shared tasks of ArchEHR-QA, written from a run's answers or checked.

    medical-tasks submit runs/my-run --to archehr --out submission.json
    medical-tasks submit runs/evidence --to archehr --out submission.zip
    medical-tasks submit --check submission.json --to archehr --split dev --data DIR
    medical-tasks submit --check submission.zip --to archehr --task archehr_question --split dev --source RELEASE

The file is a JSON list of {"case_id": "1", "answer": "A sentence. |1,2|"} (2025), or of {"case_id": "1", "prediction": ...} in a
zip file (2026; an --out that ends in .json is the list itself). Answers are written in the official form, so that the official
scorer reads what was scored here. Checked are: every case of the split once and no other, the words that count, known ids, the form
of each record. A submission with problems is not written, and they are told case by case (exit code 5); --allow-problems writes it
all the same. --check tells those of a file that is there.

The file may quote credentialed notes: only its owner can read it, and it may not lie in a run's folder or a git work tree.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medical_tasks.catalog import benchmarks, dataset_spec, parse_task_names, task_spec
from medical_tasks.data.task_data import TaskData, load_task_data, run_data, subset, with_source
from medical_tasks.errors import IncompleteError, UsageError, listed
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import check_place
from medical_tasks.io.files import WholeFile
from medical_tasks.io.output import tell
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from medical_tasks.runs.responses import SUBMISSION, check_recipe, run_responses
from medical_tasks.runs.results import read_results
from medical_tasks.spec import TaskSpec

_OF_RUN: Final = ("responses", "upstream", "out", "allow_problems")
_OF_CHECK: Final = ("config", "split")
_ZIP: Final = ".zip"
_SHOWN: Final = 10

OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "--out": {
        "type": Path,
        "metavar": "FILE",
        "help": "the submission (default: submission.json, or submission.zip for 2026)",
    },
    "--allow-problems": {"action": "store_true", "help": "write it with the problems it has"},
    "--task": {"metavar": "NAME", "help": "the task, where the run or the file leaves it open"},
    "--responses": {
        "type": Path,
        "metavar": "FILE",
        "help": "the file that `score` scored, if RUN is of that",
    },
    "--upstream": {
        "type": Path,
        "metavar": "DIR",
        "help": "the authors' checkout, if the run used --prompts official",
    },
    "--check": {
        "type": Path,
        "metavar": "FILE",
        "help": "check this submission instead, write nothing",
    },
    "--data": {
        "type": Path,
        "metavar": "DIR",
        "help": "folder of the built dataset (default: the user's data home)",
    },
    "--source": {
        "type": Path,
        "metavar": "DIR",
        "help": "folder of the dataset's release, in place of --data",
    },
    "--config": {"metavar": "NAME", "help": "with --check: dataset configuration"},
    "--split": {"metavar": "NAME", "help": "with --check: split, instead of the task's own"},
}


def run(arguments: argparse.Namespace) -> int:
    """Writes or checks a submission; exit code 5 when it has problems."""
    target: Any = next(each for each in benchmarks() if each.short == arguments.to).shared_task()
    if (arguments.run is None) == (arguments.check is None):
        raise UsageError(
            "give the folder of a run whose answers to submit, or --check FILE with a submission, one of them. For example: "
            f"medical-tasks submit runs/my-run --to {arguments.to}"
        )
    names, why = (
        (_OF_CHECK, "the run says it")
        if arguments.check is None
        else (_OF_RUN, "--check writes nothing")
    )
    given = [name for name in names if getattr(arguments, name)]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')}: has no meaning here, {why}. Leave it out."
        )
    return _check(arguments, target) if arguments.run is None else _submit(arguments, target)


def _check(arguments: argparse.Namespace, target: Any) -> int:
    path: Path = arguments.check
    records, problems = target.read_records(path)
    named = [
        task.name for task in parse_task_names(arguments.task or target.recognised(path, records))
    ]
    if len(named) != 1 or named[0] not in target.TASKS:
        raise UsageError(f"--task {arguments.task}: give one of {', '.join(target.TASKS)}.")
    task = task_spec(named[0])
    every = task_spec(target.EVERY_CASE)
    spec = dataset_spec(task.dataset)
    with policy.protect([policy.Subject.of(spec, task=task.name)]):
        with with_source(arguments, task) as given:
            data = load_task_data(
                every, spec, data=given.data, config=given.config, split=given.split or task.split
            )
        cases = target.cases(task, data.items)
        problems += target.problems_of(task, cases, records)
    _tell([problem for problem in problems if problem.note])
    if wrong := [problem for problem in problems if not problem.note]:
        raise IncompleteError(f"{path}: {_told(wrong)}\nMend them and check again.")
    tell(
        f"{path}: no problems; it has an answer to each of the {len(cases)} cases of {_where(data)}, as {task.name} takes it.",
        file=path,
        cases=len(cases),
    )
    return 0


def _submit(arguments: argparse.Namespace, target: Any) -> int:
    folder: Path = arguments.run
    task, recipe = _task(folder, read_results(folder)["tasks"], arguments, target)
    out: Path = arguments.out or Path(SUBMISSION).with_suffix(
        _ZIP if target.zipped(task) else ".json"
    )
    spec = dataset_spec(task.dataset)
    if not policy.text_allowed(spec):
        check_place(out)
    if (
        arguments.responses is not None
        and out.expanduser().resolve() == arguments.responses.expanduser().resolve()
    ):
        raise UsageError(
            f"{out}: is the file that was scored, which the run needs. Choose another --out."
        )
    with policy.protect([policy.Subject.of(spec, task=task.name)]):
        # All cases of the split, and the run's answers to those that it was asked.
        with run_data(
            task, spec, recipe, data=arguments.data, source=arguments.source, whole=True
        ) as data:
            asked = replace(data, items=subset(data.items, recipe["max_samples"]))
            options = {"responses": arguments.responses, "upstream": arguments.upstream}
            responses = run_responses(task, asked, recipe, folder, **options)
        made = target.make_submission(task, data.items, responses)
        if not made.answered:
            raise IncompleteError(
                f"{folder}: no case is answered, so there is nothing to submit. Give its command again."
            )
        if made.problems and not arguments.allow_problems:
            again = (
                "Give the run's command again for what is missing. Or write "
                if made.answered < len(data.items)
                else "Write "
            )
            command = _check_command(out, task, arguments, recipe)
            raise IncompleteError(
                f"{folder}: the submission is not written: {_told(made.problems)}\n"
                f"{again}it all the same (--allow-problems), mend it by hand and check it: {command}"
            )
        content = made.text.encode("ascii")
        with WholeFile(out, private=True) as file:
            file.write_bytes(
                zip_bytes({SUBMISSION: content}) if out.suffix.lower() == _ZIP else content
            )
    _tell(made.notes)
    if made.problems:
        print(f"warning: {out}: written with {_told(made.problems)}", file=sys.stderr)
    said = f"{out}: {made.answered} of the {len(data.items)} cases of {_where(data)}, as answered in {folder}"
    tell(said, file=out, answered=made.answered, cases=len(data.items), rewritten=made.rewritten)
    if made.rewritten:
        tell(
            f"{len(made.rewritten)} answers were written anew in the official form, since the official scorer reads them "
            f"otherwise as they were: cases {listed(made.rewritten, _SHOWN)}"
        )
    if not policy.text_allowed(spec):
        tell("It may quote credentialed notes: only you can read it. Nothing was sent anywhere.")
    return 0


def _task(
    folder: Path, entries: Mapping[str, Any], arguments: argparse.Namespace, target: Any
) -> tuple[TaskSpec, Mapping[str, Any]]:
    fitting = [name for name in entries if name in target.TASKS]
    wanted = fitting
    if arguments.task is not None:
        wanted = [task.name for task in parse_task_names(arguments.task) if task.name in fitting]
    if len(wanted) != 1:
        raise UsageError(
            f"{folder}: has answers to {', '.join(entries)}; --to {arguments.to} takes those to one of {', '.join(target.TASKS)}. "
            + (f"Say which with --task: {', '.join(fitting)}." if fitting else "Give another run.")
        )
    recipe = entries[wanted[0]]["recipe"]
    check_recipe(folder, recipe)
    return task_spec(wanted[0]), recipe


def _check_command(
    out: Path, task: TaskSpec, arguments: argparse.Namespace, recipe: Mapping[str, Any]
) -> str:
    split = recipe["data"]["split"]
    words = [
        f"medical-tasks submit --check {out} --to {arguments.to} --task {task.name} --split {split}"
    ]
    if arguments.source is not None:
        words.append(f"--source {arguments.source}")
    else:
        words += [f"--data {arguments.data}"] if arguments.data is not None else []
        words.append(f"--config {recipe['data']['config']}")
    return " ".join(words)


def _tell(notes: Sequence[Any]) -> None:
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _told(problems: Sequence[Any]) -> str:
    fatal = any(problem.fatal for problem in problems)
    return (
        f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        + (", with which the official scorer gives no score at all" if fatal else "")
        + "".join(f"\n  {problem}" for problem in problems)
    )


def _where(data: TaskData) -> str:
    return f"{data.revision['name']}/{data.config}, split {data.revision['split']}"
