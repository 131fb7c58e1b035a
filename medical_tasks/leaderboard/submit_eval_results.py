"""Eval Results of the Hugging Face Hub: a run's headline number of each task, as files of a model repository.

    medical-tasks submit runs/my-run --to eval-results --dataset-repo kqa=OWNER/kqa --dataset-repo medcalc_bench=OWNER/medcalc
    medical-tasks submit runs/my-run --to eval-results --tasks kqa --dataset-repo OWNER/kqa --out my-model/.eval_results

The files go into the folder .eval_results of the model's repository, by its owner's commit or by anybody's pull request. Values are
in percent; the notes have the interval, the coverage and what matters of the recipe. Nothing is sent anywhere. Refused are demo
data, baselines, parts of a benchmark, and judges whose verdicts cannot be compared.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from medical_tasks.errors import UsageError

if TYPE_CHECKING:
    from medical_tasks.leaderboard.eval_results import EvalResult
    from medical_tasks.spec import TaskSpec

DEFAULT_OUT: Final = Path(".eval_results")
_DECIMALS: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the target's options."""
    parser.add_argument(
        "--dataset-repo",
        action="append",
        default=[],
        metavar="[DATASET=]OWNER/NAME",
        help="the dataset repository whose eval.yaml has the tasks; once for each dataset",
    )
    parser.add_argument("--tasks", metavar="NAMES", help="those of the run's tasks to write (default: all)")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"where the files go (default: {DEFAULT_OUT})")
    parser.add_argument(
        "--dataset-revision",
        action="append",
        default=[],
        metavar="[DATASET=]COMMIT",
        help="commit of that repository with the rows the run was on",
    )
    parser.add_argument("--date", metavar="ISO", help="when it was run (default: left to the commit)")
    parser.add_argument("--source-url", metavar="URL", help="a page that says more, such as the run's report")
    parser.add_argument("--source-name", metavar="TEXT", help="how the page is called")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--source-user", metavar="NAME", help="user of the Hub whose page it is")
    whose.add_argument("--source-org", metavar="NAME", help="organisation of the Hub whose page it is")
    parser.add_argument("--notes", metavar="TEXT", help="one line of your own, before what is always noted")
    parser.add_argument(
        "--variant", metavar="NAME", help="tells it from another result of the same benchmark, in file name and notes"
    )
    parser.add_argument("--allow-partial", action="store_true", help="also where items have no score; the notes say so")
    parser.add_argument("--force", action="store_true", help="write over files that say something else")


def run(arguments: argparse.Namespace) -> int:
    """Writes a file a task."""
    from medical_tasks.leaderboard.eval_results import result_text, write_results

    if arguments.run is None:
        raise UsageError(
            "give the folder of a finished run: medical-tasks submit runs/my-run --to eval-results --dataset-repo OWNER/NAME"
        )
    results = _results(arguments)
    texts = {result.file: result_text(result) for result in results}
    out: Path = arguments.out or DEFAULT_OUT
    written = write_results(texts, out, force=arguments.force)
    for result in results:
        done = "written" if out.expanduser() / result.file in written else "says so already"
        print(f"{out / result.file}: {result.task_id} {result.value} % on {result.dataset_id}, {done}")
    print(
        "Put the files into .eval_results of the model's repository on the Hub, by a commit or a pull request. Nothing was sent "
        "anywhere."
    )
    return 0


def _results(arguments: argparse.Namespace) -> list[EvalResult]:
    from medical_tasks.leaderboard.eval_results import EvalResult, result_notes
    from medical_tasks.runs.results import read_results

    source = source_of({name: getattr(arguments, f"source_{name}") for name in ("url", "name", "user", "org")})
    date = None if arguments.date is None else check_date(arguments.date)
    notes = "" if arguments.notes is None else check_line("--notes", arguments.notes)
    variant = "" if arguments.variant is None else check_variant(arguments.variant)
    entries: Mapping[str, Any] = read_results(arguments.run)["tasks"]
    tasks = _chosen(arguments, entries)
    needed = list(dict.fromkeys(task.dataset for task in tasks))
    _check_publishable(arguments, tasks, entries)
    repos = dataset_repos(arguments.dataset_repo, needed)
    revisions = dataset_revisions(arguments.dataset_revision, needed)
    return [
        EvalResult(
            file=f"{task.name}_{variant}.yaml" if variant else f"{task.name}.yaml",
            dataset_id=repos[task.dataset],
            task_id=task.name,
            value=round(100 * entries[task.name]["metrics"][task.metrics[0].name]["value"], _DECIMALS),
            notes=result_notes(task, entries[task.name], variant=variant, more=notes),
            revision=revisions.get(task.dataset),
            date=date,
            source=source,
        )
        for task in tasks
    ]


def _chosen(arguments: argparse.Namespace, entries: Mapping[str, Any]) -> list[TaskSpec]:
    from medical_tasks.benchmarks.catalog import parse_task_names, task_spec

    if arguments.tasks is None:
        return [task_spec(name) for name in entries]
    wanted = list(parse_task_names(arguments.tasks))
    if missing := [task.name for task in wanted if task.name not in entries]:
        raise UsageError(f"{arguments.run}: has no results of {', '.join(missing)}. It has {', '.join(entries)}.")
    return wanted


def _check_publishable(arguments: argparse.Namespace, tasks: Sequence[TaskSpec], entries: Mapping[str, Any]) -> None:
    from medical_tasks.benchmarks.catalog import dataset_spec
    from medical_tasks.leaderboard.eval_results import check_entry, refusals
    from medical_tasks.runs.responses import check_recipe

    problems: list[str] = []
    refused: list[str] = []
    for task in tasks:
        check_recipe(arguments.run, entries[task.name]["recipe"])
        check_entry(arguments.run, task, entries[task.name])
        found = refusals(task, dataset_spec(task.dataset), entries[task.name], allow_partial=arguments.allow_partial)
        problems += [f"{task.name}: {reason}" for reason in found]
        refused += [task.name] if found else []
    if problems:
        rest = [task.name for task in tasks if task.name not in refused]
        raise UsageError(
            f"{arguments.run}: nothing was written, since a reader of the leaderboard would be misled:\n  "
            + "\n  ".join(problems)
            + (f"\nThe others can be written with --tasks {','.join(rest)}" if rest else "")
        )


_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_OWNER: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_LONGEST: Final = 500


def dataset_repos(given: Sequence[str], needed: Collection[str]) -> dict[str, str]:
    """Reads `--dataset-repo` (OWNER/NAME, or DATASET=OWNER/NAME): dataset to repository, for each that is needed."""
    repos = _by_dataset("--dataset-repo", given, needed, "OWNER/NAME")
    for repo in repos.values():
        if _REPO.fullmatch(repo) is None or ".." in repo or "--" in repo or repo.endswith(("-", ".", ".git")):
            raise UsageError(f"--dataset-repo {repo!r}: not a repository of the Hub. Write OWNER/NAME.")
    missing = [dataset for dataset in needed if dataset not in repos]
    if missing:
        raise UsageError(
            f"--dataset-repo: which repository of the Hub is the benchmark of {', '.join(missing)}? Give "
            + " ".join(f"--dataset-repo {dataset}=OWNER/NAME" for dataset in missing)
        )
    return repos


def dataset_revisions(given: Sequence[str], needed: Collection[str]) -> dict[str, str]:
    """Reads `--dataset-revision`: a commit for the one dataset, or DATASET=COMMIT."""
    revisions = _by_dataset("--dataset-revision", given, needed, "COMMIT")
    for revision in revisions.values():
        if _COMMIT.fullmatch(revision) is None:
            raise UsageError(
                f"--dataset-revision {revision!r}: not a commit of the dataset's repository. Write all of its 40 digits."
            )
    return revisions


def _by_dataset(option: str, given: Sequence[str], needed: Collection[str], form: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for word in given:
        dataset, mark, value = word.partition("=")
        if not mark:
            if len(needed) != 1:
                raise UsageError(
                    f"{option} {word!r}: the tasks are of several datasets ({', '.join(needed)}). Say which with {option} "
                    f"DATASET={form}, once for each."
                )
            dataset, value = next(iter(needed)), word
        if dataset not in needed:
            raise UsageError(f"{option} {word!r}: no task here is of {dataset!r}. They are of {', '.join(needed)}.")
        if dataset in told:
            raise UsageError(f"{option}: given twice for {dataset} ({told[dataset]} and {value}). Give it once.")
        told[dataset] = value
    return told


def check_date(text: str) -> str:
    """Takes a date, or date and time, of ISO 8601 in the form that every reader of it knows; not one to come."""
    example = "Write it like 2026-08-31 or 2026-08-31T14:00:00Z."
    if _DATE.fullmatch(text) is None:
        raise UsageError(f"--date {text!r}: not a date. {example}")
    try:
        day = datetime.fromisoformat(text).date()
    except ValueError as error:
        raise UsageError(f"--date {text!r}: not a date ({error}). {example}") from error
    if day > (datetime.now(UTC) + timedelta(days=1)).date():  # somewhere it is tomorrow already
        raise UsageError(f"--date {text!r}: lies in the future; it is the day of the run. {example}")
    return text


def _check_url(url: str) -> str:
    """Takes the address of a page."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        sound = False
    if not sound or any(char.isspace() or not char.isprintable() for char in url):
        raise UsageError(
            f"--source-url {url!r}: not the address of a page. Write it like https://huggingface.co/OWNER/NAME."
        )
    return url


def check_variant(variant: str) -> str:
    """Takes what tells one result of a benchmark from another; it becomes part of a file name."""
    if _VARIANT.fullmatch(variant) is None:
        raise UsageError(f"--variant {variant!r}: up to 40 letters, digits, _ and -, such as with-tools.")
    return variant


def check_line(option: str, text: str) -> str:
    """Takes one line of text."""
    if not text.strip() or len(text) > _LONGEST or not text.isprintable():
        got = repr(text) if len(text) <= _LONGEST else f"{len(text)} characters"
        raise UsageError(f"{option}: one line of at most {_LONGEST} characters that can be shown, not {got}.")
    return text


def source_of(options: Mapping[str, str | None]) -> dict[str, str]:
    """Puts together where a result is from: `url`, `name`, `user` and `org`, as given."""
    given = {name: value for name, value in options.items() if value is not None}
    if given and "url" not in given:
        raise UsageError(f"--source-{next(iter(given))}: says whose page it is; give --source-url as well.")
    for name, value in given.items():
        if name == "url":
            _check_url(value)
        elif name == "name":
            check_line("--source-name", value)
        elif _OWNER.fullmatch(value) is None:
            raise UsageError(
                f"--source-{name} {value!r}: not a name of the Hub. Write it as in https://huggingface.co/NAME."
            )
    return given
