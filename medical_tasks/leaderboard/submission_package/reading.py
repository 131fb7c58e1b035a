"""Reads a package without trust: checks forms, hashes, and all numbers against the items.

Import this module inside a function, since importing pydantic takes 0.2 s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import medical_tasks.plugins as plugins
from medical_tasks.catalog import (
    benchmarks_by_package,
    dataset_spec,
    package_of,
    task_spec,
    tasks,
)
from medical_tasks.errors import listed
from medical_tasks.io.untrusted import shown, shown_path
from medical_tasks.leaderboard import forms
from medical_tasks.leaderboard.submission_package import contents, rows
from medical_tasks.leaderboard.submission_package.json_reader import (
    SETTING_RULE,
    JsonReader,
    odd_setting,
)
from medical_tasks.leaderboard.submission_package.privacy import published_at, scrub
from medical_tasks.leaderboard.submission_package.results import (
    forget_unasked_figures,
    in_words,
    partial_facts,
    recompute,
    reported_task,
    result_differences,
)
from medical_tasks.leaderboard.submission_package.zip_file import (
    package_bytes,
    read_members,
    unpack,
)
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.runs.comparability import comparability
from medical_tasks.runs.recipes import mapping, stated_package
from medical_tasks.runs.results import Json, JsonDict, Row
from medical_tasks.spec import TaskSpec

_MOST_NAMED: Final = 4
"""The most tasks or packages named in a message."""


def read_package(
    source: Path | bytes, *, limits: contents.ReadLimits = contents.DEFAULT_LIMITS
) -> contents.Package:
    """Reads a package from a path or its bytes; raises `PackageError` if it is refused.

    In `items`, a value without a denominator is `nan`, an undecided value None.
    """
    content = source if isinstance(source, bytes) else package_bytes(source, limits)
    members = read_members(content, limits)
    for name in (contents.MANIFEST, contents.RESULTS, contents.ITEMS):
        if name not in members:
            raise contents.not_sound(f"the package has no {name}")

    files = {name: unpack(content, member) for name, member in members.items()}
    reader = JsonReader(limits)
    stated = reader.whole(contents.MANIFEST, files.pop(contents.MANIFEST))
    manifest = read_manifest(stated, files, limits)
    results = check_results(
        reader.whole(contents.RESULTS, files.pop(contents.RESULTS)), manifest.tasks
    )
    if manifest.partial != partial_facts(results):
        raise contents.not_sound(
            f"{contents.MANIFEST}, partial: is not what the recipes say"
        )

    reported = {
        name: reported_task(task_spec(name), entry)
        for name, entry in results["tasks"].items()
    }
    items = rows.read_items(reader, files.pop(contents.ITEMS), reported)
    elsewhere = {
        name
        for name, entry in results["tasks"].items()
        if published_at(entry["recipe"])
    }
    answers = rows.read_answers(
        reader, files.pop(contents.ANSWERS, b""), items, reported, elsewhere=elsewhere
    )
    verdicts = rows.read_verdicts(reader, files.pop(contents.VERDICTS, b""), reported)
    for name, task in reported.items():
        own = items.get(name)
        if not own:
            raise contents.not_sound(f"{contents.ITEMS}: has no items of {name}")

        rows.check_verdicts(name, results["tasks"][name], own, verdicts.get(name, []))
        _check_numbers(task, results["tasks"][name], own, limits)

    return contents.Package(
        manifest=manifest,
        results=results,
        items=list(chain.from_iterable(items.values())),
        answers=answers,
        verdicts=list(chain.from_iterable(verdicts.values())),
    )


def _check_numbers(
    task: TaskSpec, entry: Entry, items: Sequence[Row], limits: contents.ReadLimits
) -> None:
    """Checks all numbers that the items determine."""
    computed = recompute(task, entry, items, limits)
    difference = next(result_differences(task, entry, computed, items), None)
    if difference is not None:
        raise contents.not_sound(
            f"{contents.RESULTS}, {task.name}, {in_words(difference)} from {contents.ITEMS}"
        )


def read_manifest(
    value: object, files: Mapping[str, bytes], limits: contents.ReadLimits
) -> contents.Manifest:
    """Checks `package.json`, its form and its hashes, against the files beside it."""
    where = contents.MANIFEST
    stated = (
        value.get("format", contents.FORMAT)
        if isinstance(value, dict)
        else contents.FORMAT
    )
    if stated != contents.FORMAT:
        raise contents.not_sound(
            f"{where}: has format {shown(stated)}, but this version reads format "
            f"{contents.FORMAT}"
        )

    manifest = forms.check(where, forms.ManifestForm, value)
    names, listed = manifest["tasks"], manifest["files"]
    if not 0 < len(names) <= limits.tasks or len(set(names)) < len(names):
        raise contents.not_sound(
            f"{where}, tasks: must be 1 to {limits.tasks} different ones, got {len(names)}"
        )

    if set(listed) != set(files):
        raise contents.not_sound(
            f"{where}, files: names {', '.join(map(shown, sorted(listed)))}, but the package holds "
            f"{', '.join(sorted(files))}"
        )

    for name, content in files.items():
        if listed[name] != contents.file_facts(content):
            raise contents.not_sound(
                f"{name}: its hash or length is not what {where} says; it was changed"
            )

    if manifest["content_sha256"] != contents.content_sha256(manifest):
        raise contents.not_sound(
            f"{where}, content_sha256: is not the hash of what it says; it was changed"
        )

    return contents.Manifest(
        suite=manifest["suite"],
        submitter=read_submitter(f"{where}, submitter", manifest["submitter"]),
        tasks=tuple(names),
        content_sha256=manifest["content_sha256"],
        partial=manifest["partial"],
    )


def read_submitter(where: str, value: object) -> contents.Submitter:
    """Checks the submitter's statements."""
    stated = forms.check(where, forms.SubmitterForm, value)
    parameters = stated["parameters"]
    return contents.Submitter(
        **{**stated, "parameters": None if parameters is None else float(parameters)}
    )


def check_results(value: object, names: tuple[str, ...]) -> JsonDict:
    """Checks the form of `results.json` but not its numbers; returns its public part.

    `names` are the tasks in `package.json`.
    """
    _check_known(mapping(mapping(value).get("tasks")))
    if (odd := odd_setting(value)) is not None:
        raise contents.not_sound(
            f"{shown_path(contents.RESULTS, *odd)}: {SETTING_RULE}"
        )

    results = forms.check(contents.RESULTS, forms.ResultsForm, value)
    if tuple(results["tasks"]) != names:
        raise contents.not_sound(
            f"{contents.RESULTS}: its tasks are not those that package.json names, in that order"
        )

    for name, entry in results["tasks"].items():
        _check_package(f"{contents.RESULTS}, {name}", entry["recipe"], tasks()[name])
        _check_data(f"{contents.RESULTS}, {name}", entry["recipe"], tasks()[name])
        _check_judge(f"{contents.RESULTS}, {name}", entry, tasks()[name])
        if "paper" in entry:  # its text is rebuilt from its recipe and numbers
            task_args = mapping(entry["recipe"].get("task_args"))
            task = tasks()[name].asked_with(task_args)
            entry["paper"] = comparability(task, entry).as_json()

    if scrub(results) != results:
        raise contents.not_sound(
            f"{contents.RESULTS}: a recipe names a path, a file or an address of the machine it "
            "was made on"
        )

    return forget_unasked_figures(results)


def _check_known(entries: Json) -> None:
    """Refuses tasks that are not installed, all in one message with the next step.

    The entries have not been checked yet and may contain anything.
    """
    packages = {
        name: stated_package(mapping(mapping(entry).get("recipe")))
        for name, entry in entries.items()
        if name not in tasks()
    }
    if not packages:
        return

    unknown = [
        f"{shown(name)} of "
        + (f"the package {shown(package)}" if package else "a package it does not name")
        for name, package in packages.items()
    ]
    named = list(dict.fromkeys(map(shown, filter(None, packages.values()))))
    rest = [f"--task {name}" for name in entries if name in tasks()]
    raise contents.UnknownTaskError(
        f"{contents.RESULTS}: not known here: the task "
        f"{listed(unknown, _MOST_NAMED, between='; the task ')}. Known are those of "
        f"{_known_packages()}. Give it again, as it is, where "
        f"{listed(named, _MOST_NAMED) or 'the package that has the task'} is installed (on a "
        "leaderboard its maintainers do that), or named by --plugin"
        + (
            f"; or make a package of the rest: medical-tasks submit RUN --to space "
            f"{' '.join(rest)}."
            if rest
            else "."
        )
    )


def _known_packages() -> str:
    """Lists the installed packages; those of others with their tasks."""
    words = []
    for package, benchmarks in benchmarks_by_package().items():
        names = [task.name for benchmark in benchmarks for task in benchmark.tasks]
        own = package.name == plugins.OWN_PACKAGE
        words.append(
            f"{package}" if own else f"{package} ({listed(names, _MOST_NAMED)})"
        )
    return ", ".join(words)


def _check_package(where: str, recipe: Recipe, task: TaskSpec) -> None:
    """Refuses the result of another package's task of the same name.

    This applies only to installed packages: a folder named by `--plugin` has no version,
    and the name of its module.
    """
    stated, here = mapping(recipe.get("package")), package_of(task.benchmark)
    both_stated = bool(stated.get("version")) and bool(here.version)
    if both_stated and _normal(str(stated["name"])) != _normal(here.name):
        raise contents.not_sound(
            f"{where}: its recipe says that the task is from {shown(stated_package(recipe))}, but "
            f"the task of this name is from {here} here"
        )


def _normal(name: str) -> str:
    """A package's name as installers compare it (PyPA, name normalization)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _check_data(where: str, recipe: Recipe, task: TaskSpec) -> None:
    """Checks that a recipe has this task and a configuration of its dataset."""
    data, spec = recipe["data"], dataset_spec(task.dataset)
    own = (recipe["task"], data["name"]) == (task.name, spec.name)
    if not own or data["config"] not in spec.configs:
        raise contents.not_sound(
            f"{where}: its recipe must be of {task.name} on {spec.name} "
            f"({', '.join(spec.configs)}), got {shown(recipe['task'])} on {shown(data['name'])} "
            f"({shown(data['config'])})"
        )


def _check_judge(where: str, entry: Entry, task: TaskSpec) -> None:
    """Checks that the recipe and the entry name the same judge, or neither names one.

    Without a judge, a task has only metrics that need none (`reported_task`).
    """
    named, reported = entry["recipe"]["judge"], entry.get("judge")
    if (named is None) != (reported is None) or (named is not None and not task.judge):
        rule = (
            "by a judge that both recipe and entry name, or neither does"
            if task.judge
            else "without a judge"
        )
        raise contents.not_sound(
            f"{where}: the task is scored {rule}; that is not so here"
        )

    if named is None or reported is None:
        return

    if any(reported[name] != named[name] for name in ("name", "comparable", "votes")):
        raise contents.not_sound(
            f"{where}: says one thing of the judge in its recipe, and another beside it"
        )

    compares_words = "lexical" in (named["name"], named.get("kind"))
    if compares_words and (named["comparable"] or named["name"] != named.get("kind")):
        raise contents.not_sound(
            f"{where}: the judge lexical is never comparable with others"
        )
