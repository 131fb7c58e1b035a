r"""Eval Results of the Hugging Face Hub: a run's headline numbers, as files for a model's page.

    medical-tasks submit runs/my-run --to eval-results \
        --dataset-repo kqa=OWNER/kqa --dataset-repo medcalc_bench=OWNER/medcalc
    medical-tasks submit runs/my-run --to eval-results --tasks kqa \
        --dataset-repo OWNER/kqa --out my-model/.eval_results

The files belong in the folder .eval_results of the model's repository, by a commit of its
owner or anybody's pull request. Values are in percent; the notes have the interval, the
coverage and the relevant settings of the recipe. Nothing is sent anywhere. Demo data,
baselines, parts of a benchmark, and judges whose verdicts are not comparable are refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import yaml

from medical_tasks.catalog import dataset_spec, parse_task_names, task_spec
from medical_tasks.data.cards import accepted_configs
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.output import tell
from medical_tasks.io.untrusted import shown
from medical_tasks.leaderboard.admission import BASELINE, is_earlier
from medical_tasks.leaderboard.export import write_files
from medical_tasks.leaderboard.options import SubmitEvalResults
from medical_tasks.leaderboard.records import check_line
from medical_tasks.leaderboard.submission_package.package_file import chosen_tasks
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.report.folders import check_entry
from medical_tasks.runs.comparability import other_questions
from medical_tasks.runs.confidence import RECIPE_KEY
from medical_tasks.runs.numbers import (
    bounds,
    coverage,
    interval,
    metric_label,
    unclear_counts,
)
from medical_tasks.runs.recipes import mapping, one_line
from medical_tasks.runs.results import RESULTS_FILE, damaged, read_results
from medical_tasks.spec import DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

DEFAULT_OUT: Final = Path(".eval_results")
_DECIMALS: Final = 2
_OLDEST: Final = "1.4"
_WIDEST: Final = 1_000_000
"""Very wide, so that notes stay on one line, which is all that the Hub shows."""
_HASH_DIGITS: Final = 12
_LONGEST_NOTE: Final = 5000
_LONGEST: Final = 500
_OWNER: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def run(arguments: SubmitEvalResults) -> int:
    """Writes a file with the headline number of each task of a run."""
    folder, out = arguments.run, arguments.out or DEFAULT_OUT
    source = _checked_source(arguments)
    variant, notes = (
        _checked_variant(arguments.variant),
        _checked_notes(arguments.notes),
    )
    date = None if arguments.date is None else check_date(arguments.date)
    named = () if arguments.tasks is None else parse_task_names(arguments.tasks)
    entries: Mapping[str, Entry] = read_results(folder)["tasks"]
    chosen = chosen_tasks(folder, entries, [task.name for task in named])
    tasks = [task_spec(name) for name in chosen]
    datasets = list(dict.fromkeys(task.dataset for task in tasks))
    _check_publishable(folder, tasks, entries, allow_partial=arguments.allow_partial)
    repo_of = dataset_repos(arguments.dataset_repo, datasets)
    revision_of = _by_dataset(
        "--dataset-revision", arguments.dataset_revision, datasets, "COMMIT"
    )
    for revision in revision_of.values():
        if _COMMIT.fullmatch(revision) is None:
            raise UsageError(
                f"--dataset-revision {revision!r}: not a commit of the dataset's repository. Write "
                "all of its 40 digits."
            )

    hub = _hub()
    results: dict[str, EvalResultEntry] = {}
    for task in tasks:
        entry = entries[task.name]
        share = entry["metrics"][task.metrics[0].name]["value"]
        name = f"{task.name}_{variant}" if variant else task.name
        results[f"{name}.yaml"] = hub.EvalResultEntry(
            dataset_id=repo_of[task.dataset],
            task_id=task.name,
            value=round(100 * share, _DECIMALS),
            dataset_revision=revision_of.get(task.dataset),
            date=date,  # without one, that of the commit that brings the file
            notes=result_notes(task, entry, variant=variant, more=notes),
            **{f"source_{kind}": text for kind, text in source.items()},
        )

    texts = {
        file: yaml.safe_dump(
            hub.eval_result_entries_to_yaml([result]),
            sort_keys=False,
            allow_unicode=True,
            width=_WIDEST,
        )
        for file, result in results.items()
    }
    written = write_files(texts, out, force=arguments.force)
    for file, result in results.items():
        done = "written" if out.expanduser() / file in written else "says so already"
        tell(
            f"{out / file}: {result.task_id} {result.value} % on {result.dataset_id}, {done}"
        )

    tell(
        "Put the files into .eval_results of the model's repository on the Hub, by a commit or a "
        "pull request. Nothing was sent anywhere.",
        files={out / file: vars(result) for file, result in results.items()},
    )
    return 0


def _check_publishable(
    folder: Path,
    tasks: Sequence[TaskSpec],
    entries: Mapping[str, Entry],
    *,
    allow_partial: bool,
) -> None:
    """Refuses to write misleading results, with all reasons in one message."""
    from medical_tasks.leaderboard import forms

    problems: list[str] = []
    sound: list[str] = []
    for task in tasks:
        entry, path = entries[task.name], folder / RESULTS_FILE
        check_entry(path, task.name, entry, forms.PublishableEntry)
        _check_headline(path, task, entry)
        reasons = refusals(
            task, dataset_spec(task.dataset), entry, allow_partial=allow_partial
        )
        problems += [f"{task.name}: {reason}" for reason in reasons]
        sound += [] if reasons else [task.name]

    if problems:
        others = (
            f"\nThe others can be written with --tasks {','.join(sound)}"
            if sound
            else ""
        )
        listed = "\n  ".join(problems)
        raise UsageError(
            f"{folder}: nothing was written, since a reader of the leaderboard would be misled:\n"
            f"  {listed}{others}"
        )


def _hub() -> Any:
    import huggingface_hub

    if not hasattr(huggingface_hub, "EvalResultEntry"):
        raise MissingError(
            f"Eval Results need huggingface_hub {_OLDEST} or newer; here it is "
            f"{huggingface_hub.__version__}. The extra `vllm` holds it back, so use an environment "
            "without that extra (a run's folder can be read anywhere), give\n"
            f"  pip install 'huggingface_hub>={_OLDEST}'\nand the same command again."
        )
    return huggingface_hub


def result_notes(
    task: TaskSpec, entry: Entry, *, variant: str = "", more: str = ""
) -> str:
    """Writes the notes on a result as one line; `more` is the submitter's own text."""
    recipe, metric = entry["recipe"], entry["metrics"][task.metrics[0].name]
    name = metric_label(task.metrics[0].name, metric) + (
        "" if metric.get("unit") else " in %"
    )
    scored = coverage(entry, metric)
    parts = [
        variant,
        more,
        f"{name}, 95 % CI {interval(metric)}, n {metric['n']}, scored {scored}",
    ]
    if entry["coverage"]["scored"] < entry["coverage"]["asked"]:
        parts.append(
            "PARTIAL: what is missing is estimated or left out; whatever it is, the value lies in "
            f"{bounds(metric)}"
        )

    if unclear := sum(unclear_counts(entry).values()):
        parts.append(
            f"{unclear} answers unclear, counted as not right; were they right, it would be within "
            f"{bounds(metric)}"
        )

    parts.append(f"{recipe['suite']}, task {task.name} {recipe['task_version']}")
    prompts = recipe["prompts"]
    parts.append(
        _prompts(prompts)
        if prompts
        else "answers made outside the suite, prompts unknown"
    )
    settings = sorted((recipe.get("task_args") or {}).items())
    if settings:
        listed = " ".join(f"{key}={_public(str(value))}" for key, value in settings)
        parts.append(f"settings {listed}")

    parts.append(_judge(recipe["judge"]))
    if cut := entry.get("cut_at_length"):
        parts.append(f"{cut} answers were cut at the length limit")
    if shortened := entry.get("shortened"):
        parts.append(f"{shortened} items were shortened to fit the model's context")

    data = recipe["data"]
    rows = data["rows_sha256"][:_HASH_DIGITS]
    parts.append(f"data {data['config']} {data['version']}, rows {rows}")

    return one_line("; ".join(filter(None, parts)), _LONGEST_NOTE)


def _prompts(prompts: Recipe) -> str:
    return f"prompts {prompts['set']} {prompts['sha256'][:_HASH_DIGITS]}"


def _judge(judge: Recipe | None) -> str:
    if judge is None:
        return ""
    votes = f", mode of {judge['votes']} votes" if judge["votes"] > 1 else ""
    prompts = f", {_prompts(judge['prompts'])}" if judge.get("prompts") else ""
    kind, _, name = str(judge["name"]).partition("/")
    return (
        f"judge {kind}/{_public(name)}{votes}{prompts}"
        if name
        else f"judge {kind}{prompts}"
    )


def _public(value: str) -> str:
    """Returns the public form of a value: of a path, the last part alone."""
    path = PurePath(value)
    is_path = path.is_absolute() or value.startswith(("~", ".")) or len(path.parts) > 2
    return f"[{path.name}]" if is_path else value


def refusals(
    task: TaskSpec, spec: DatasetSpec, entry: Entry, *, allow_partial: bool
) -> list[str]:
    """Lists the reasons, as sentences, why a number cannot be published as an eval result."""
    recipe, headline = entry["recipe"], entry["metrics"].get(task.metrics[0].name)
    name = str(recipe["model"]["name"])
    reasons: list[str] = []
    if name.startswith(BASELINE):
        reasons.append(
            f"{name} is a baseline of this suite and no model; there is no page its score belongs "
            "on."
        )

    if task.baseline:
        reasons.append(f"{task.name} asks no model; it has no leaderboard.")
    elif is_earlier(task, recipe):
        reasons.append(
            f"it was made with version {recipe['task_version']} of the task, this suite has "
            f"{task.version}, whose scores differ. Run it again."
        )

    reasons += _other_data(task, spec, recipe)
    if headline is None or headline["value"] is None:
        reasons.append(
            f"there is no value of {task.metrics[0].name}, its headline metric."
        )
    elif not headline.get("comparable", True):
        reasons.append(
            f"its {task.metrics[0].name} stands for itself alone: a judge that compares words "
            "decided, or it is an average that lacks some of its metrics."
        )

    counts = entry["coverage"]
    missing = counts["asked"] - counts["scored"]
    if missing and not allow_partial:
        why = "; ".join(
            f"{count} x {reason}" for reason, count in counts["unscored"].items()
        )
        reasons.append(
            f"{missing} of its {counts['asked']} items have no score ({why}). Give the run's "
            "command again to get them, or --allow-partial to publish the number of the others, "
            "with a note that says so."
        )

    return reasons


def _other_data(task: TaskSpec, spec: DatasetSpec, recipe: Recipe) -> list[str]:
    """Lists the reasons why a run was not on the data of the benchmark's leaderboard."""
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    official = accepted_configs(task, spec)
    reasons: list[str] = []
    if spec.default_config == "own":
        reasons.append(
            "it is over texts of your own; there is no leaderboard of these."
        )
    elif config == "demo":
        reasons.append(
            "it was run on demo data, which were written to try a task. Run it on the dataset."
        )
    elif config not in official or split != task.split:
        reasons.append(
            f"it was run on {config}, split {split}; its leaderboard is for "
            f"{' or '.join(official)}, split {task.split}, and other questions are another "
            "benchmark."
        )

    reasons += [
        f"{reason}. Run it on the dataset as it was released, without these settings."
        for reason in other_questions(task, recipe)
    ]
    if recipe.get(RECIPE_KEY):
        reasons.append(
            "the model was also asked how sure it is (--confidence asked), which can change its "
            "answers. Run it without."
        )

    if recipe["max_samples"] is not None:
        reasons.append(
            f"it was asked only the first {recipe['max_samples']} items (--max-samples), which are "
            "no sample of the others. Run it without."
        )

    return reasons


def _check_headline(path: Path, task: TaskSpec, entry: Entry) -> None:
    """Refuses a headline that exceeds the limits of its metric."""
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


def dataset_repos(words: Sequence[str], needed: Collection[str]) -> dict[str, str]:
    """Parses `--dataset-repo`: dataset to repository, for each needed dataset."""
    repos = _by_dataset("--dataset-repo", words, needed, "OWNER/NAME")
    for repo in repos.values():
        if not _is_repo(repo):
            raise UsageError(
                f"--dataset-repo {repo!r}: not a repository of the Hub. Write OWNER/NAME."
            )

    missing = [dataset for dataset in needed if dataset not in repos]
    if missing:
        options = " ".join(
            f"--dataset-repo {dataset}=OWNER/NAME" for dataset in missing
        )
        raise UsageError(
            "--dataset-repo: which repository of the Hub is the benchmark of "
            f"{', '.join(missing)}? Give {options}"
        )

    return repos


def _is_repo(name: str) -> bool:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # exported

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return name.count("/") == 1


def _by_dataset(
    option: str, words: Sequence[str], needed: Collection[str], form: str
) -> dict[str, str]:
    """Parses words like `DATASET=VALUE`; the name of the only dataset can be left out."""
    values: dict[str, str] = {}
    for word in words:
        dataset, mark, value = word.partition("=")
        if not mark:
            if len(needed) != 1:
                raise UsageError(
                    f"{option} {word!r}: the tasks belong to several datasets ({', '.join(needed)}). "
                    f"Choose one with {option} DATASET={form}, once for each."
                )

            dataset, value = next(iter(needed)), word

        if dataset not in needed:
            raise UsageError(
                f"{option} {word!r}: no task here uses {dataset!r}. They use "
                f"{', '.join(needed)}."
            )

        if dataset in values:
            raise UsageError(
                f"{option}: given twice for {dataset} ({values[dataset]} and {value}). Give it "
                "once."
            )

        values[dataset] = value

    return values


def _checked_variant(variant: str | None) -> str:
    """Checks the variant, which becomes part of a file name."""
    if variant is not None and _VARIANT.fullmatch(variant) is None:
        raise UsageError(
            f"--variant {variant!r}: up to 40 letters, digits, _ and -, such as with-tools."
        )
    return variant or ""


def _checked_notes(notes: str | None) -> str:
    return (
        ""
        if notes is None
        else check_line("--notes", notes, longest=_LONGEST, needed=True)
    )


def check_date(text: str) -> str:
    """Checks a common ISO 8601 date, or date and time, which must not be in the future."""
    example = "Write it like 2026-08-31 or 2026-08-31T14:00:00Z."
    if _DATE.fullmatch(text) is None:
        raise UsageError(f"--date {text!r}: not a date. {example}")

    try:
        day = datetime.fromisoformat(text).date()
    except ValueError as error:
        raise UsageError(f"--date {text!r}: not a date ({error}). {example}") from error

    if (
        day > (datetime.now(UTC) + timedelta(days=1)).date()
    ):  # somewhere it is tomorrow already
        raise UsageError(
            f"--date {text!r}: is in the future; it must be the day of the run. {example}"
        )

    return text


def _checked_source(arguments: SubmitEvalResults) -> dict[str, str]:
    """Returns the given fields of a result's source: `url`, `name`, `user` or `org`."""
    stated = {
        "url": arguments.source_url,
        "name": arguments.source_name,
        "user": arguments.source_user,
        "org": arguments.source_org,
    }
    source = {kind: text for kind, text in stated.items() if text is not None}
    if source and "url" not in source:
        raise UsageError(
            f"--source-{next(iter(source))}: says whose page it is; give --source-url as well."
        )

    if "user" in source and "org" in source:
        raise UsageError(
            "--source-user and --source-org: the page belongs to one of them. Give only that one."
        )

    if source and not _is_page(source["url"]):
        raise UsageError(
            f"--source-url {source['url']!r}: not the address of a page. Write it like "
            "https://huggingface.co/OWNER/NAME."
        )

    if "name" in source:
        check_line("--source-name", source["name"], longest=_LONGEST, needed=True)

    for kind in ("user", "org"):
        if kind in source and _OWNER.fullmatch(source[kind]) is None:
            raise UsageError(
                f"--source-{kind} {source[kind]!r}: not a name of the Hub. Write it as in "
                "https://huggingface.co/NAME."
            )

    return source


def _is_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
    plain = url.isprintable() and not any(map(str.isspace, url))
    return is_web and parts.username is None and plain
