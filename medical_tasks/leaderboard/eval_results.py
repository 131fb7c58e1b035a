"""Eval Results of the Hugging Face Hub: a run's headline numbers as the YAML files that a model's page shows.

https://huggingface.co/docs/hub/eval-results. A file a task and variant, each a list of one entry, written and read back by
huggingface_hub's own functions. A number that a reader would take for something else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

import yaml

from medical_tasks.data.cards import accepted_configs
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import WholeFile, read_bytes
from medical_tasks.io.json_records import Field
from medical_tasks.leaderboard.submission_package.values import number, whole_number
from medical_tasks.report.entry_notes import warning
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label
from medical_tasks.runs.recipes import one_line
from medical_tasks.spec import DatasetSpec, TaskSpec

_OLDEST: Final = "1.4"
_MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """One number on its way to a leaderboard, `value` in percent, for a task of the dataset's `eval.yaml`.

    `date` is ISO 8601, None leaves it to the commit that brings the file; `source` has `url`, and `name`, `user` or `org`.
    """

    file: str
    dataset_id: str
    task_id: str
    value: float
    notes: str
    revision: str | None = None
    date: str | None = None
    source: Mapping[str, str] | None = None


def result_text(result: EvalResult) -> str:
    """Writes the YAML, and makes sure that huggingface_hub reads the same back."""
    hub = _hub()
    source = result.source or {}
    entry = hub.EvalResultEntry(
        dataset_id=result.dataset_id,
        task_id=result.task_id,
        value=result.value,
        dataset_revision=result.revision,
        date=result.date,
        notes=result.notes,
        **{f"source_{name}": value for name, value in source.items()},
    )
    # Very wide, so that notes stay in one line; one line is what the Hub shows.
    text = yaml.safe_dump(
        hub.eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=_MOST_BYTES
    )
    if hub.parse_eval_result_entries(yaml.safe_load(text)) != [entry]:
        raise RuntimeError(f"{result.file}: huggingface_hub does not read back what it was to write: {text!r}")
    return text


def _hub() -> Any:
    import huggingface_hub

    if not hasattr(huggingface_hub, "EvalResultEntry"):
        raise MissingError(
            f"Eval Results need huggingface_hub {_OLDEST} or newer; here it is {huggingface_hub.__version__}. The extra `vllm` "
            "holds it back, so use an environment without that extra (a run's folder can be read anywhere), give\n"
            f"  pip install 'huggingface_hub>={_OLDEST}'\nand the same command again."
        )
    return huggingface_hub


def write_results(results: Mapping[str, str], folder: Path, *, force: bool) -> list[Path]:
    """Writes the files that are not there yet, and returns them; all are checked before the first is written."""
    folder = folder.expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; --out must be a folder, by default .eval_results.")
    there = {name: _content(folder / name) for name in results}
    other = [str(folder / name) for name, text in results.items() if there[name] not in (None, text.encode())]
    if other and not force:
        raise UsageError(
            f"{', '.join(other)}: there already, with other content. Nothing was written. Remove it or give --force to write over "
            "it; for another result of the same benchmark that is to stand beside it, give --variant NAME."
        )
    written: list[Path] = []
    for name, text in results.items():
        if there[name] != text.encode():
            with WholeFile(folder / name) as file:
                file.write(text)
            written.append(folder / name)
    return written


def _content(path: Path) -> bytes | None:
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(
            f"{path}: is a folder or a device; it takes the name of a file to write. Choose another --out."
        )
    try:
        return read_bytes(path)
    except OSError as error:
        raise UsageError(
            f"{path}: is there and cannot be read ({system_reason(error)}). Choose another --out."
        ) from error


_HASH_DIGITS: Final = 12
_LONGEST_NOTE: Final = 5000


def result_notes(task: TaskSpec, entry: Mapping[str, Any], *, variant: str = "", more: str = "") -> str:
    """Writes a result's notes, one line; `more` is the submitter's own words."""
    recipe, metric = entry["recipe"], entry["metrics"][task.metrics[0].name]
    name = metric_label(task.metrics[0].name, metric) + ("" if metric.get("unit") else " in %")
    parts = [variant, more, f"{name}, 95 % CI {interval(metric)}, n {metric['n']}, scored {coverage(entry, metric)}"]
    if entry["coverage"]["scored"] < entry["coverage"]["asked"]:
        parts.append(
            f"PARTIAL: what is missing is estimated or left out; whatever it is, the value lies in {bounds(metric)}"
        )
    parts += [f"{recipe['suite']}, task {task.name} {recipe['task_version']}", _prompts(recipe), *_settings(recipe)]
    parts += [_judge(recipe), *_cut(entry)]
    data = recipe["data"]
    parts.append(f"data {data['config']} {data['version']}, rows {data['rows_sha256'][:_HASH_DIGITS]}")
    return one_line("; ".join(part for part in parts if part), _LONGEST_NOTE)


def _prompts(recipe: Mapping[str, Any]) -> str:
    prompts = recipe["prompts"]
    if prompts is None:
        return "answers made outside the suite, prompts unknown"
    return f"prompts {prompts['set']} {prompts['sha256'][:_HASH_DIGITS]}"


def _settings(recipe: Mapping[str, Any]) -> list[str]:
    given = recipe.get("task_args") or {}
    told = [f"{name}={_public(str(value))}" for name, value in sorted(given.items())]
    return [f"settings {' '.join(told)}"] if told else []


def _judge(recipe: Mapping[str, Any]) -> str:
    judge = recipe["judge"]
    if judge is None:
        return ""
    votes = f", mode of {judge['votes']} votes" if judge["votes"] > 1 else ""
    prompts = judge.get("prompts")
    asked = f", prompts {prompts['set']} {prompts['sha256'][:_HASH_DIGITS]}" if prompts else ""
    kind, _, name = str(judge["name"]).partition("/")
    return f"judge {kind}/{_public(name)}{votes}{asked}" if name else f"judge {kind}{asked}"


def _public(value: str) -> str:
    """A value as strangers may read it: of a path the last part, of anything else all."""
    path = PurePath(value)
    return f"[{path.name}]" if path.is_absolute() or value.startswith(("~", ".")) or len(path.parts) > 2 else value


def _cut(entry: Mapping[str, Any]) -> list[str]:
    parts = []
    if entry.get("cut_at_length"):
        parts.append(f"{entry['cut_at_length']} answers were cut at the length limit")
    if entry.get("shortened"):
        parts.append(f"{entry['shortened']} items were shortened to fit the model's context")
    return parts


def refusals(task: TaskSpec, spec: DatasetSpec, entry: Mapping[str, Any], *, allow_partial: bool) -> list[str]:
    """Says why a number cannot be published as an eval result, a sentence each; `allow_partial` takes a part of the items."""
    recipe, headline = entry["recipe"], entry["metrics"].get(task.metrics[0].name)
    name = str(recipe["model"]["name"])
    reasons: list[str] = []
    if name.startswith("baseline/"):
        reasons.append(f"{name} is a baseline of this suite and no model; there is no page its score belongs on.")
    reasons += _refused_task(task, recipe)
    reasons += _refused_data(task, spec, recipe)
    if recipe["max_samples"] is not None:
        reasons.append(
            f"it was asked only the first {recipe['max_samples']} items (--max-samples), which are no sample of the others. Run it "
            "without."
        )
    if headline is None or headline["value"] is None:
        reasons.append(f"there is no value of {task.metrics[0].name}, its headline metric.")
    elif not headline.get("comparable", True):
        reasons.append(warning(entry) or f"the judge of {task.metrics[0].name} cannot be compared with others.")
    counts = entry["coverage"]
    if counts["scored"] < counts["asked"] and not allow_partial:
        why = "; ".join(f"{count} x {reason}" for reason, count in counts["unscored"].items())
        reasons.append(
            f"{counts['asked'] - counts['scored']} of its {counts['asked']} items have no score ({why}). Give the run's command "
            "again to get them, or --allow-partial to publish the number of the others, with a note that says so."
        )
    return reasons


def _refused_task(task: TaskSpec, recipe: Mapping[str, Any]) -> list[str]:
    if task.baseline:
        return [f"{task.name} asks no model; it has no leaderboard."]
    if recipe["task_version"].partition("-")[0] != task.version.partition("-")[0]:
        return [
            f"it was made with version {recipe['task_version']} of the task, this suite has {task.version}, whose scores are "
            "others. Run it anew."
        ]
    return []


def _refused_data(task: TaskSpec, spec: DatasetSpec, recipe: Mapping[str, Any]) -> list[str]:
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    if spec.default_config == "own":
        return ["it is over texts of your own; there is no leaderboard of these."]
    if config == "demo":
        return ["it was run on demo data, which were written to try a task. Run it on the dataset."]
    if config not in accepted_configs(task, spec) or split != task.split:
        wanted = " or ".join(accepted_configs(task, spec))
        return [
            f"it was run on {config}, split {split}; its leaderboard is of {wanted}, split {task.split}, and other questions are "
            "another benchmark."
        ]
    return []


_RECIPE: Final = ("suite", "task_version", "judge")
_DATA: Final = ("config", "split", "version", "rows_sha256")
_COUNTS: Final = ("asked", "scored")
_VALUES: Final = ("value", "ci_low", "ci_high", "bound_low", "bound_high")


def check_entry(folder: Path, task: TaskSpec, entry: Mapping[str, Any]) -> None:
    """Raises `UsageError` for an entry that lacks what a published number needs; its recipe was checked before."""
    if said := _lacking(task, entry) or _impossible(task, entry):
        raise UsageError(f"{folder}: its results.json is damaged: {said}. Give that run's command again.")


def _lacking(task: TaskSpec, entry: Mapping[str, Any]) -> str:
    recipe, headline = entry["recipe"], task.metrics[0].name
    lacking = [name for name in ("metrics", "coverage") if not isinstance(entry.get(name), Mapping)]
    lacking += [name for name in _RECIPE if name not in recipe]
    lacking += [f"data.{name}" for name in _DATA if name not in recipe["data"]]
    for name, wanted in (("prompts", ("set", "sha256")), ("judge", ("name", "votes"))):
        lacking += [f"{name}.{part}" for part in _absent(recipe.get(name), wanted)]
    if isinstance(recipe.get("judge"), Mapping):
        lacking += [f"judge.prompts.{part}" for part in _absent(recipe["judge"].get("prompts"), ("set", "sha256"))]
    if not lacking:
        lacking += [f"coverage.{name}" for name in (*_COUNTS, "unscored") if name not in entry["coverage"]]
        found = entry["metrics"].get(headline)
        lacking += [f"{headline}.{part}" for part in _absent(found, (*_VALUES, "n"))]
    return f"{task.name} lacks {', '.join(lacking)}" if lacking else ""


def _absent(part: Any, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a part of the entry lacks; none where there is no such part."""
    if part is None:
        return ()
    return tuple(name for name in wanted if name not in part) if isinstance(part, Mapping) else wanted


def _impossible(task: TaskSpec, entry: Mapping[str, Any]) -> str:
    metric, coverage, recipe = task.metrics[0], entry["coverage"], entry["recipe"]
    low, high = metric.limits
    text = Field(holds=lambda value: isinstance(value, str), rule="text")
    count = Field(holds=whole_number().holds, rule="count")
    told = [(name, recipe[name], text) for name in ("suite", "task_version")]
    told += [(f"data.{name}", recipe["data"][name], text) for name in _DATA]
    told += [(f"coverage.{name}", coverage[name], count) for name in _COUNTS]
    headline = entry["metrics"].get(metric.name)
    if headline is not None and headline["value"] is not None:  # without a value, the refusals say so
        for name in _VALUES:
            share = Field(holds=number(low, high, null=name != "value").holds, rule=f"number from {low:g} to {high:g}")
            told.append((f"{metric.name}.{name}", headline[name], share))
        told.append((f"{metric.name}.n", headline["n"], count))
    for name, value, form in told:
        if not form.holds(value):
            return f"{task.name} has {name} {value!r}, which is no {form.rule}"
    if coverage["scored"] > coverage["asked"]:
        return f"{task.name} has {coverage['scored']} scored items of {coverage['asked']} asked"
    return ""
