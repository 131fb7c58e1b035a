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
from pathlib import Path, PurePath
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from medical_tasks.catalog import dataset_spec, parse_task_names, task_spec
from medical_tasks.data.cards import accepted_configs
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.output import tell
from medical_tasks.io.untrusted import shown
from medical_tasks.leaderboard.export import write_files
from medical_tasks.leaderboard.records import check_line
from medical_tasks.leaderboard.submission_package.package_file import chosen_tasks
from medical_tasks.report.entries import Entry
from medical_tasks.report.folders import check_entry
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, unclear_counts
from medical_tasks.runs.recipes import mapping, one_line
from medical_tasks.runs.results import RESULTS_FILE, damaged, read_results
from medical_tasks.spec import DatasetSpec, TaskSpec

DEFAULT_OUT: Final = Path(".eval_results")
_DECIMALS: Final = 2
_OLDEST: Final = "1.4"
_MOST_BYTES: Final = 1_000_000

OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "--dataset-repo": {
        "action": "append",
        "default": [],
        "metavar": "[DATASET=]OWNER/NAME",
        "help": "the dataset repository whose eval.yaml has the tasks; once for each dataset",
    },
    "--tasks": {"metavar": "NAMES", "help": "those of the run's tasks to write (default: all)"},
    "--out": {
        "type": Path,
        "metavar": "DIR",
        "help": f"where the files go (default: {DEFAULT_OUT})",
    },
    "--dataset-revision": {
        "action": "append",
        "default": [],
        "metavar": "[DATASET=]COMMIT",
        "help": "commit of that repository with the rows the run was on",
    },
    "--date": {"metavar": "ISO", "help": "when it was run (default: left to the commit)"},
    "--source-url": {"metavar": "URL", "help": "a page that says more, such as the run's report"},
    "--source-name": {"metavar": "TEXT", "help": "how the page is called"},
    "--source-user": {"metavar": "NAME", "help": "user of the Hub whose page it is"},
    "--source-org": {"metavar": "NAME", "help": "organisation of the Hub whose page it is"},
    "--notes": {"metavar": "TEXT", "help": "one line of your own, before what is always noted"},
    "--variant": {
        "metavar": "NAME",
        "help": "tells it from another result of the same benchmark, in file name and notes",
    },
    "--allow-partial": {
        "action": "store_true",
        "help": "also where items have no score; the notes say so",
    },
    "--force": {"action": "store_true", "help": "write over files that say something else"},
}


def run(arguments: argparse.Namespace) -> int:
    """Writes a file a task."""
    results = _results(arguments)
    # Very wide, so that notes stay in one line; one line is what the Hub shows.
    style: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": _MOST_BYTES}
    content = {
        file: _hub().eval_result_entries_to_yaml([result]) for file, result in results.items()
    }
    texts = {file: yaml.safe_dump(each, **style) for file, each in content.items()}
    out: Path = arguments.out or DEFAULT_OUT
    written = write_files(texts, out, force=arguments.force)
    for file, result in results.items():
        done = "written" if out.expanduser() / file in written else "says so already"
        tell(f"{out / file}: {result.task_id} {result.value} % on {result.dataset_id}, {done}")
    tell(
        "Put the files into .eval_results of the model's repository on the Hub, by a commit or a pull request. Nothing was sent "
        "anywhere.",
        files={out / file: vars(result) for file, result in results.items()},
    )
    return 0


def _results(arguments: argparse.Namespace) -> dict[str, Any]:
    source = source_of(
        {name: getattr(arguments, f"source_{name}") for name in ("url", "name", "user", "org")}
    )
    date = None if arguments.date is None else check_date(arguments.date)
    notes = (
        ""
        if arguments.notes is None
        else check_line("--notes", arguments.notes, longest=_LONGEST, needed=True)
    )
    variant = arguments.variant or ""
    if (
        arguments.variant is not None and _VARIANT.fullmatch(variant) is None
    ):  # it becomes part of a file name
        raise UsageError(
            f"--variant {variant!r}: up to 40 letters, digits, _ and -, such as with-tools."
        )
    entries: Mapping[str, Any] = read_results(arguments.run)["tasks"]
    named = (
        [] if arguments.tasks is None else [task.name for task in parse_task_names(arguments.tasks)]
    )
    wanted = [task_spec(name) for name in chosen_tasks(arguments.run, entries, named)]
    needed = list(dict.fromkeys(task.dataset for task in wanted))
    _check_publishable(arguments, wanted, entries)
    repos = dataset_repos(arguments.dataset_repo, needed)
    revisions = _by_dataset("--dataset-revision", arguments.dataset_revision, needed, "COMMIT")
    for revision in revisions.values():
        if _COMMIT.fullmatch(revision) is None:
            raise UsageError(
                f"--dataset-revision {revision!r}: not a commit of the dataset's repository. Write all of its 40 digits."
            )
    hub = _hub()
    return {
        f"{task.name}_{variant}.yaml" if variant else f"{task.name}.yaml": hub.EvalResultEntry(
            dataset_id=repos[task.dataset],
            task_id=task.name,
            value=round(
                100 * entries[task.name]["metrics"][task.metrics[0].name]["value"], _DECIMALS
            ),
            dataset_revision=revisions.get(task.dataset),
            date=date,  # without one, that of the commit that brings the file
            notes=result_notes(task, entries[task.name], variant=variant, more=notes),
            **{f"source_{name}": value for name, value in source.items()},
        )
        for task in wanted
    }


def _check_publishable(
    arguments: argparse.Namespace, tasks: Sequence[TaskSpec], entries: Mapping[str, Any]
) -> None:
    from medical_tasks.leaderboard import forms

    found: dict[str, list[str]] = {}
    for task in tasks:
        entry = entries[task.name]
        path = arguments.run / RESULTS_FILE
        check_entry(path, task.name, entry, forms.PublishableEntry)
        _check_headline(path, task, entry)
        found[task.name] = refusals(
            task, dataset_spec(task.dataset), entry, allow_partial=arguments.allow_partial
        )
    if problems := [f"{name}: {reason}" for name, reasons in found.items() for reason in reasons]:
        rest = [name for name, reasons in found.items() if not reasons]
        raise UsageError(
            f"{arguments.run}: nothing was written, since a reader of the leaderboard would be misled:\n  "
            + "\n  ".join(problems)
            + (f"\nThe others can be written with --tasks {','.join(rest)}" if rest else "")
        )


def _hub() -> Any:
    import huggingface_hub

    if not hasattr(huggingface_hub, "EvalResultEntry"):
        raise MissingError(
            f"Eval Results need huggingface_hub {_OLDEST} or newer; here it is {huggingface_hub.__version__}. The extra `vllm` "
            "holds it back, so use an environment without that extra (a run's folder can be read anywhere), give\n"
            f"  pip install 'huggingface_hub>={_OLDEST}'\nand the same command again."
        )
    return huggingface_hub


_HASH_DIGITS: Final = 12
_LONGEST_NOTE: Final = 5000


def result_notes(
    task: TaskSpec, entry: Mapping[str, Any], *, variant: str = "", more: str = ""
) -> str:
    """Writes a result's notes, one line; `more` is the submitter's own words."""
    recipe, metric = entry["recipe"], entry["metrics"][task.metrics[0].name]
    name = metric_label(task.metrics[0].name, metric) + ("" if metric.get("unit") else " in %")
    parts = [
        variant,
        more,
        f"{name}, 95 % CI {interval(metric)}, n {metric['n']}, scored {coverage(entry, metric)}",
    ]
    if entry["coverage"]["scored"] < entry["coverage"]["asked"]:
        parts.append(
            f"PARTIAL: what is missing is estimated or left out; whatever it is, the value lies in {bounds(metric)}"
        )
    if unclear := sum(unclear_counts(entry).values()):
        parts.append(
            f"{unclear} answers unclear, counted as not right; were they right, it would be within {bounds(metric)}"
        )
    asked = "answers made outside the suite, prompts unknown"
    if recipe["prompts"] is not None:
        asked = _prompts(recipe["prompts"])
    settings = [
        f"{key}={_public(str(value))}"
        for key, value in sorted((recipe.get("task_args") or {}).items())
    ]
    parts += [f"{recipe['suite']}, task {task.name} {recipe['task_version']}", asked]
    parts += [f"settings {' '.join(settings)}" if settings else "", _judge(recipe["judge"])]
    for key, said in (
        ("cut_at_length", "answers were cut at the length limit"),
        ("shortened", "items were shortened to fit the model's context"),
    ):
        parts.append(f"{entry[key]} {said}" if entry.get(key) else "")
    data = recipe["data"]
    parts.append(
        f"data {data['config']} {data['version']}, rows {data['rows_sha256'][:_HASH_DIGITS]}"
    )
    return one_line("; ".join(part for part in parts if part), _LONGEST_NOTE)


def _prompts(prompts: Mapping[str, Any]) -> str:
    return f"prompts {prompts['set']} {prompts['sha256'][:_HASH_DIGITS]}"


def _judge(judge: Mapping[str, Any] | None) -> str:
    if judge is None:
        return ""
    votes = f", mode of {judge['votes']} votes" if judge["votes"] > 1 else ""
    asked = f", {_prompts(judge['prompts'])}" if judge.get("prompts") else ""
    kind, _, name = str(judge["name"]).partition("/")
    return f"judge {kind}/{_public(name)}{votes}{asked}" if name else f"judge {kind}{asked}"


def _public(value: str) -> str:
    """A value as strangers may read it: of a path the last part, of anything else all."""
    path = PurePath(value)
    return (
        f"[{path.name}]"
        if path.is_absolute() or value.startswith(("~", ".")) or len(path.parts) > 2
        else value
    )


def refusals(
    task: TaskSpec, spec: DatasetSpec, entry: Mapping[str, Any], *, allow_partial: bool
) -> list[str]:
    """Says why a number cannot be published as an eval result, a sentence each; `allow_partial` takes a part of the items."""
    recipe, headline = entry["recipe"], entry["metrics"].get(task.metrics[0].name)
    name = str(recipe["model"]["name"])
    reasons: list[str] = []
    if name.startswith("baseline/"):
        reasons.append(
            f"{name} is a baseline of this suite and no model; there is no page its score belongs on."
        )
    if task.baseline:
        reasons.append(f"{task.name} asks no model; it has no leaderboard.")
    elif recipe["task_version"].partition("-")[0] != task.version.partition("-")[0]:
        reasons.append(
            f"it was made with version {recipe['task_version']} of the task, this suite has {task.version}, whose scores are "
            "others. Run it anew."
        )
    config, split, wanted = (
        recipe["data"]["config"],
        recipe["data"]["split"],
        accepted_configs(task, spec),
    )
    if spec.default_config == "own":
        reasons.append("it is over texts of your own; there is no leaderboard of these.")
    elif config == "demo":
        reasons.append(
            "it was run on demo data, which were written to try a task. Run it on the dataset."
        )
    elif config not in wanted or split != task.split:
        reasons.append(
            f"it was run on {config}, split {split}; its leaderboard is of {' or '.join(wanted)}, split {task.split}, and other "
            "questions are another benchmark."
        )
    if recipe["max_samples"] is not None:
        reasons.append(
            f"it was asked only the first {recipe['max_samples']} items (--max-samples), which are no sample of the others. Run it "
            "without."
        )
    if headline is None or headline["value"] is None:
        reasons.append(f"there is no value of {task.metrics[0].name}, its headline metric.")
    elif not headline.get("comparable", True):
        reasons.append(
            f"its {task.metrics[0].name} stands for itself alone: a judge that compares words decided, or it is an average "
            "that lacks some of its metrics."
        )
    counts = entry["coverage"]
    if counts["scored"] < counts["asked"] and not allow_partial:
        why = "; ".join(f"{count} x {reason}" for reason, count in counts["unscored"].items())
        reasons.append(
            f"{counts['asked'] - counts['scored']} of its {counts['asked']} items have no score ({why}). Give the run's command "
            "again to get them, or --allow-partial to publish the number of the others, with a note that says so."
        )
    return reasons


def _check_headline(path: Path, task: TaskSpec, entry: Entry) -> None:
    """The headline of a result must lie within the limits of its metric."""
    metric = mapping(entry["metrics"].get(task.metrics[0].name))
    low, high = task.metrics[0].limits
    for name in ("value", "ci_low", "ci_high", "bound_low", "bound_high"):
        value = metric.get(name)
        if value is not None and not low <= value <= high:
            raise damaged(
                path,
                f"{task.name}: {task.metrics[0].name}, {name}: must be a number of {low:g} to "
                f"{high:g}, got {shown(value)}",
            )


_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_OWNER: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_LONGEST: Final = 500


def dataset_repos(given: Sequence[str], needed: Collection[str]) -> dict[str, str]:
    """Reads `--dataset-repo` (OWNER/NAME, or DATASET=OWNER/NAME): dataset to repository, for each that is needed."""
    repos = _by_dataset("--dataset-repo", given, needed, "OWNER/NAME")
    for repo in repos.values():
        if (
            _REPO.fullmatch(repo) is None
            or ".." in repo
            or "--" in repo
            or repo.endswith(("-", ".", ".git"))
        ):
            raise UsageError(
                f"--dataset-repo {repo!r}: not a repository of the Hub. Write OWNER/NAME."
            )
    missing = [dataset for dataset in needed if dataset not in repos]
    if missing:
        raise UsageError(
            f"--dataset-repo: which repository of the Hub is the benchmark of {', '.join(missing)}? Give "
            + " ".join(f"--dataset-repo {dataset}=OWNER/NAME" for dataset in missing)
        )
    return repos


def _by_dataset(
    option: str, given: Sequence[str], needed: Collection[str], form: str
) -> dict[str, str]:
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
            raise UsageError(
                f"{option} {word!r}: no task here is of {dataset!r}. They are of {', '.join(needed)}."
            )
        if dataset in told:
            raise UsageError(
                f"{option}: given twice for {dataset} ({told[dataset]} and {value}). Give it once."
            )
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
        raise UsageError(
            f"--date {text!r}: lies in the future; it is the day of the run. {example}"
        )
    return text


def _is_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
        sound = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        )
    except ValueError:
        return False
    return sound and not any(char.isspace() or not char.isprintable() for char in url)


def source_of(options: Mapping[str, str | None]) -> dict[str, str]:
    """Puts together where a result is from: `url`, `name`, `user` and `org`, as given."""
    given = {name: value for name, value in options.items() if value is not None}
    if given and "url" not in given:
        raise UsageError(
            f"--source-{next(iter(given))}: says whose page it is; give --source-url as well."
        )
    if "user" in given and "org" in given:
        raise UsageError(
            "--source-user and --source-org: the page is of one of them. Give that one."
        )
    for name, value in given.items():
        if name == "url" and not _is_page(value):
            raise UsageError(
                f"--source-url {value!r}: not the address of a page. Write it like https://huggingface.co/OWNER/NAME."
            )
        if name == "name":
            check_line("--source-name", value, longest=_LONGEST, needed=True)
        elif name != "url" and _OWNER.fullmatch(value) is None:
            raise UsageError(
                f"--source-{name} {value!r}: not a name of the Hub. Write it as in https://huggingface.co/NAME."
            )
    return given
