"""Makes one run of parts that `run --shard` made.

A run follows from its items and what its store holds, so that the union of the parts' stores gives the results that one run of all
items would have. No model is opened, and a judge is asked only for verdicts that no part has.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from medical_tasks.data.task_data import TaskData, read_shard
from medical_tasks.errors import IncompleteError, MissingError, UsageError, doing
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import SETTINGS_FILE
from medical_tasks.io.store import Store
from medical_tasks.models.opener import NEUTRAL_ARGS
from medical_tasks.runs.evaluating import Specs, read_task_args, run_items
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import (
    PRIVATE,
    RunFolder,
    existing_run_folder,
    is_main_process,
    locked,
    open_run_folder,
    run_settings,
)
from medical_tasks.runs.judge_arguments import judge_request
from medical_tasks.runs.judging import RunJudge, check_request
from medical_tasks.runs.recipes import differing, mapping
from medical_tasks.runs.responses import check_recipe, replayed
from medical_tasks.runs.results import RESULTS_FILE, read_items, read_results
from medical_tasks.runs.runner import ANSWER, AnsweredTask
from medical_tasks.spec import TaskSpec

_RUN: Final = {"tasks", "model", "model_args", "data", "prompts"}
_NO_ANSWER: Final = "no answer: "
_MISSING: Final = "not in the store"
_LISTED: Final = 20


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a run, or a whole one, as its folder has it; `entries` of its results are none while it has not finished."""

    run: RunFolder
    settings: Mapping[str, Any]  # those of the whole run
    shard: str | None
    entries: Mapping[str, Mapping[str, Any]]

    @property
    def asks_model(self) -> bool:
        """Whether a store with its answers belongs to it."""
        return any(entry["recipe"]["prompts"] is not None for entry in self.entries.values())


def read_parts(folders: Sequence[Path]) -> list[Part]:
    """Reads parts of one run; folders whose settings or recipes differ in more than the part are refused."""
    parts: list[Part] = []
    for path in {folder.expanduser().resolve(): folder for folder in folders}.values():
        settings = {name: value for name, value in run_settings(path).items() if name != PRIVATE}
        if not settings.keys() >= _RUN:
            raise UsageError(
                f"{path}: not of `medical-tasks run`. merge takes the folders of its parts (run --shard I/N)."
            )
        shard = settings.pop("shard", None)
        read_shard(shard)
        entries = read_results(path)["tasks"] if (path / RESULTS_FILE).is_file() else {}
        for entry in entries.values():
            check_recipe(path, entry["recipe"])
        parts.append(Part(run=existing_run_folder(path), settings=settings, shard=shard, entries=entries))
    for other in parts[1:]:
        _check_same(parts[0], other, parts[0].settings, other.settings)
    for task in parts[0].settings["tasks"]:
        told = [part for part in parts if task in part.entries]
        for other in told[1:]:
            _check_same(told[0], other, *(_alike(part.entries[task]["recipe"]) for part in (told[0], other)))
    return parts


def _check_same(first: Part, other: Part, *told: Mapping[str, Any]) -> None:
    if told[0] != told[1]:
        raise UsageError(
            f"{first.run.path} and {other.run.path}: not parts of one run ({differing(*told)}). Merge the parts of each by themselves."
        )


def _alike(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What all parts' recipes must have alike: not how much was asked at once, nor what is about a part's items."""
    generation, truncation = dict(mapping(recipe["generation"])), mapping(recipe.get("truncation"))
    generation.pop("processes", None)
    given = mapping(generation.get("model_args"))
    generation["model_args"] = {name: value for name, value in given.items() if name not in NEUTRAL_ARGS}
    scoring = {name: value for name, value in mapping(recipe.get("scoring")).items() if name != "output_claims"}
    data = {name: value for name, value in recipe["data"].items() if name != "source"}
    kept = {name: value for name, value in recipe.items() if name not in ("shard", "leaking_examples")}
    told = {"data": data, "generation": generation, "truncation": truncation.get("rule"), "scoring": scoring}
    return {**kept, **told}


def merge_parts(
    arguments: argparse.Namespace, parts: Sequence[Part], tasks: Sequence[TaskSpec], specs: Specs
) -> tuple[Path, str] | None:
    """Makes one run of parts: its folder, and what to do where an item has no answer; None in all but the main process."""
    if not is_main_process():
        return None
    subjects = [policy.Subject.of(specs[task.name], task=task.name) for task in tasks]
    with policy.protect(subjects, policy.attestation_from(arguments)), doing("merge the parts of a run"):
        settings = dict(parts[0].settings)
        private = any(not policy.text_allowed(spec) for spec in specs.values())
        request = judge_request(arguments, tasks, prompts=settings["prompts"])
        if request is not None:
            _check_same_judge(settings.get("judge"), request.identity)
            check_request(request, tasks)
            request = replace(request, options=replace(request.options, replayed=True, forecast=False))
        folder = open_run_folder(arguments.out, settings, private=private)
        with locked(folder):
            if folder.path.resolve() not in {part.run.path.resolve() for part in parts}:  # of a merge that goes on
                parts = read_parts([*(part.run.path for part in parts), folder.path])
            recipes = {task.name: _recipe(task, parts) for task in tasks}
            chosen = argparse.Namespace(data=arguments.data, config=arguments.config, split=None)
            data = {
                task.name: run_items(chosen, parts[0].run.path, task, specs[task.name], recipes[task.name])
                for task in tasks
            }
            given = read_task_args(arguments.task_args, tasks)
            _gather(parts, folder, tasks, data, recipes, arguments)
            told = _told(parts)
            answered = [
                _answered(task, data[task.name], recipes[task.name], folder, told, given, arguments.upstream)
                for task in tasks
            ]
            if request is None:
                finish(answered, folder)
            else:
                with RunJudge(request, store=folder.answers, log_dir=folder.logs) as judge:
                    finish(answered, folder, judge)
            return folder.path, _next_step(answered, parts)


def _check_same_judge(ran: Any, asked: Mapping[str, Any]) -> None:
    if mapping(ran) != asked:
        raise UsageError(
            f"the judge of the parts is another one ({differing(mapping(ran), asked)}). Give --judge {mapping(ran).get('name')} and its "
            "options as the parts had them."
        )


def _recipe(task: TaskSpec, parts: Sequence[Part]) -> dict[str, Any]:
    """The recipe of all items, as far as parts that finished say it."""
    told = [dict(part.entries[task.name]["recipe"]) for part in parts if task.name in part.entries]
    if not told:
        raise IncompleteError(
            f"{parts[0].run.path}: none of the parts has finished, so that nothing says what answered {task.name}. Give the command of "
            "one of them again."
        )
    made = told[0]
    made.pop("shard", None)
    if "truncation" in made:
        left: dict[str, int] = {}
        for each in told:
            left |= each["truncation"]["words_left_out"]
        measured = all(each["truncation"]["measured"] for each in told)
        made["truncation"] = {**made["truncation"], "measured": measured, "words_left_out": dict(sorted(left.items()))}
    return made


class _Clash(Exception):
    """Ends the copying, so that nothing of it stays."""


def _gather(
    parts: Sequence[Part],
    folder: RunFolder,
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    recipes: Mapping[str, Mapping[str, Any]],
    arguments: argparse.Namespace,
) -> None:
    """Copies what the parts' stores hold into one, all of it or nothing; records that say something else are refused."""
    for part in parts:
        if part.asks_model and not part.run.answers.is_file():
            raise MissingError(
                f"{part.run.answers}: the answers of {part.run.path} are not there. Give the folder as `medical-tasks run` left it; "
                "those on credentialed data lie in the private store of the machine (MEDICAL_TASKS_HOME)."
            )
    sources = [part for part in parts if part.run.answers.is_file()]
    if not sources:
        return
    fresh = not folder.answers.exists()
    clashes: dict[tuple[str, str], Part] = {}
    with Store(folder.answers) as store, contextlib.suppress(_Clash), store.together():
        for part in sources:
            if part.run.answers != folder.answers:
                clashes |= {clash: part for clash in _taken(part, store) if clash not in clashes}
        if clashes and arguments.keep is None:
            raise _Clash
    if clashes and arguments.keep is None:
        if fresh:
            for place in folder.answers.parent.glob(f"{folder.answers.name}*"):
                place.unlink()
        raise _disagreement(clashes, sources, tasks, data, recipes, arguments.upstream)


def _taken(part: Part, store: Store) -> list[tuple[str, str]]:
    """Copies a part's records; returns kind and key of those that say something else than what is there."""
    found: list[tuple[str, str]] = []
    with Store(part.run.answers) as source:
        for kind, records in source.chunks():
            there = store.get_many(kind, records)
            for key, record in records.items():
                if key not in there:
                    store.put(kind, key, record)
                elif _says(there[key]) != _says(record):
                    found.append((kind, key))
    return found


def _says(record: Mapping[str, Any]) -> Any:
    if "text" in record:
        return record["text"], record.get("label")
    return {name: value for name, value in record.items() if name != "seconds"}


def _disagreement(
    clashes: Mapping[tuple[str, str], Part],
    sources: Sequence[Part],
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    recipes: Mapping[str, Mapping[str, Any]],
    upstream: Path | None,
) -> UsageError:
    (kind, key), other = next(iter(clashes.items()))
    first = other
    for part in sources:
        with Store(part.run.answers) as store:
            if store.get_many(kind, [key]):
                first = part
                break
    named = []
    for task in tasks:
        if recipes[task.name]["prompts"] is not None:
            said = [
                replayed(task, data[task.name], recipes[task.name], part.run.path, upstream=upstream).responses
                for part in (first, other)
            ]
            if ids := [name for name in said[0] if name in said[1] and said[0][name] != said[1][name]]:
                named.append(f"{task.name}: {_listed(ids)}")
    what = f"{len(clashes):,} {'answers' if kind == ANSWER else f'records of kind {kind}'}"
    return UsageError(
        f"{first.run.path} and {other.run.path} say different things to the same questions ({'; '.join(named) or what}). Leave one of them "
        "out, or take what the folder named first says: --keep first."
    )


def _told(parts: Sequence[Part]) -> dict[tuple[str, str], str]:
    """What parts say of their items: "" where a part has an answer, else why it has none."""
    told: dict[tuple[str, str], str] = {}
    for part in parts:
        try:
            rows = read_items(part.run.path) if part.entries else []
        except (MissingError, UsageError):
            rows = []  # it was stopped while it wrote them; its answers are in its store
        for row in rows:
            about, reason = (row["task"], row["id"]), row["unscored"] or ""
            reason = reason.removeprefix(_NO_ANSWER) if reason.startswith(_NO_ANSWER) else ""
            told[about] = reason and told.get(about, reason)
    return told


def _answered(
    task: TaskSpec,
    data: TaskData,
    recipe: Mapping[str, Any],
    folder: RunFolder,
    told: Mapping[tuple[str, str], str],
    given: Mapping[str, str],
    upstream: Path | None,
) -> AnsweredTask:
    made = replayed(task, data, recipe, folder.path, upstream=upstream)
    unanswered = dict(made.unanswered)
    if recipe["prompts"] is None:  # a baseline would answer all: what no part has is missing
        unanswered = {item.id: _MISSING for item in data.items if told.get((task.name, item.id), "?")}
    return replace(
        made,
        responses={name: text for name, text in made.responses.items() if name not in unanswered},
        unanswered={name: told.get((task.name, name)) or reason for name, reason in unanswered.items()},
        recipe={
            name: value if name == "leaking_examples" else recipe.get(name, value)
            for name, value in made.recipe.items()
        },
        scoring_args=task.scoring_args({**recipe.get("task_args", {}), **given}),
    )


def _next_step(answered: Sequence[AnsweredTask], parts: Sequence[Part]) -> str:
    """Says which parts would bring the answers that no part has, or those that were asked in vain; "" where none is."""
    reasons = {reason for each in answered for reason in each.unanswered.values()}
    wanted = {_MISSING} & reasons or reasons
    places: set[int] = set()
    named: list[str] = []
    for each in answered:
        found = [place for place, item in enumerate(each.items) if each.unanswered.get(item.id) in wanted]
        places |= set(found)
        named += [f"{each.task.name}: {_listed([each.items[place].id for place in found])}"] if found else []
    if not places:
        return ""
    again = "Give the command of `run` without --shard, with this --out, to ask them."
    if counts := {read_shard(part.shard)[1] for part in parts if part.shard is not None}:
        # The parts that ask the fewest other items beside them.
        count = min(sorted(counts), key=lambda count: len({place % count for place in places}) / count)
        listed = _listed([f"{shard + 1}/{count}" for shard in sorted({place % count for place in places})])
        again = f"They are in --shard {listed}: give the command of `run` (again) with that, then this one with all folders."
    return f"Items without an answer: {'; '.join(named)}. {again}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
