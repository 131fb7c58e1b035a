"""Makes one run of parts that `run --shard` made.

A run follows from its items and its store, so that the union of the parts' stores gives the results of one run of all items. No
model is opened, and a judge is asked only for verdicts that no part has.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from medical_tasks.data.task_data import TaskData, asked_part, load_task_data, read_shard
from medical_tasks.errors import IncompleteError, MissingError, UsageError, doing, listed
from medical_tasks.guard import policy
from medical_tasks.io.store import Store
from medical_tasks.runs.evaluating import Specs, read_task_args
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
from medical_tasks.runs.judging import check_request, run_judge
from medical_tasks.runs.recipes import deciding_generation, differing, mapping
from medical_tasks.runs.responses import check_recipe, replayed
from medical_tasks.runs.results import (
    RESULTS_FILE,
    Json,
    JsonDict,
    read_items,
    read_results,
)
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import UNANSWERED, TaskSpec

_RUN: Final = {"tasks", "model", "model_args", "data", "prompts"}
_MISSING: Final = "not in the store"
_LISTED: Final = 20


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a run, or a whole one; `recipes` by task are none while it has not finished."""

    path: Path
    answers: Path  # its store
    shard: str | None
    settings: Json  # those of the whole run
    recipes: Mapping[str, Json]


_Asked = tuple[TaskSpec, TaskData, Json]
"""A task of the whole run, all its items, and the recipe as far as parts that finished say it."""


def read_parts(folders: Sequence[Path]) -> list[Part]:
    """Reads parts of one run.

    Raises:
        UsageError: a folder is no part of a run, or parts differ in more than which part they are.
        MissingError: the answers of a part are not there.
    """
    parts: list[Part] = []
    for path in {folder.expanduser().resolve(): folder.expanduser() for folder in folders}.values():
        part = _read_part(path)
        parts.append(part)
        _check_alike(parts[0].path, part.path, parts[0].settings, part.settings)
        for name, recipe in part.recipes.items():
            first = next(each for each in parts if name in each.recipes)
            _check_alike(first.path, part.path, _alike(first.recipes[name]), _alike(recipe))
    return parts


def _read_part(path: Path) -> Part:
    settings = {name: value for name, value in run_settings(path).items() if name != PRIVATE}
    if settings.get("adjudicated"):
        raise UsageError(
            f"{path}: was scored with the sheet of `adjudicate`. Merge the parts as `run` left "
            "them, then: medical-tasks adjudicate WHOLE, and medical-tasks score TASK --responses "
            "WHOLE --adjudicated FILE"
        )
    if not settings.keys() >= _RUN:
        raise UsageError(
            f"{path}: not of `medical-tasks run`. merge takes the folders of parts (run --shard "
            "I/N)."
        )
    shard = settings.pop("shard", None)
    read_shard(shard)
    entries = read_results(path)["tasks"] if (path / RESULTS_FILE).is_file() else {}
    recipes = {name: entry["recipe"] for name, entry in entries.items()}
    for recipe in recipes.values():
        check_recipe(path, recipe)
    answers = existing_run_folder(path).answers
    if any(recipe["prompts"] for recipe in recipes.values()) and not answers.is_file():
        raise MissingError(
            f"{answers}: the answers of {path} are not there. Give the folder as `medical-tasks "
            "run` left it; answers on credentialed data lie in the private store of the machine "
            "that asked (MEDICAL_TASKS_HOME)."
        )
    return Part(path=path, answers=answers, shard=shard, settings=settings, recipes=recipes)


def _check_alike(first: Path, second: Path, one: Json, other: Json) -> None:
    """Refuses parts with other settings, or recipes."""
    if one != other:
        raise UsageError(
            f"{first} and {second}: not parts of one run ({differing(one, other)}). Merge the parts "
            "of each by themselves."
        )


def _alike(recipe: Json) -> JsonDict:
    """What the recipes of all parts have alike: not how much was asked at once, nor what is about a part's items."""
    return {
        **{
            name: value
            for name, value in recipe.items()
            if name not in ("shard", "leaking_examples")
        },
        "generation": deciding_generation(recipe),
        "truncation": mapping(recipe.get("truncation")).get("rule"),
        "scoring": {**mapping(recipe.get("scoring")), "output_claims": None},
        "data": {**recipe["data"], "source": None},
    }


def merge_parts(
    arguments: argparse.Namespace, parts: Sequence[Part], tasks: Sequence[TaskSpec], specs: Specs
) -> tuple[Path, str] | None:
    """Makes one run of parts: its folder, and what to do where an item has no answer; None in all but the main process."""
    if not is_main_process():
        return None
    if arguments.forecast:
        raise UsageError(
            "--forecast: merge scores what the parts have. Leave it out, or give it to `run`."
        )
    subjects = [policy.Subject.of(specs[task.name], task=task.name) for task in tasks]
    with (
        policy.protect(subjects, policy.attestation_from(arguments)),
        doing("merge the parts of a run"),
    ):
        request = judge_request(arguments, tasks, prompts=parts[0].settings["prompts"])
        if request is not None:
            had = mapping(parts[0].settings.get("judge"))
            if had != request.identity:
                again = f"Give --judge {had.get('name')} and its options as the parts had them."
                raise UsageError(
                    f"the judge of the parts is another one ({differing(had, request.identity)}). {again}"
                )
            check_request(request, tasks)
            request = replace(
                request, options=replace(request.options, replayed=True, forecast=False)
            )
        private = any(not policy.text_allowed(spec) for spec in specs.values())
        folder = open_run_folder(arguments.out, parts[0].settings, private=private)
        with locked(folder):
            # What a merge that goes on has already is a part too.
            parts = read_parts([*(part.path for part in parts), folder.path])
            asked = [_asked(arguments, task, specs, parts) for task in tasks]
            given = read_task_args(arguments.task_args, tasks)
            _gather(arguments, parts, folder, asked)
            told = _told(parts)
            answered = [_answered(arguments, each, folder, told, given) for each in asked]
            with run_judge(request, folder) as judge:
                finish(answered, folder, judge)
            return folder.path, _next_step(answered, parts)


def _asked(
    arguments: argparse.Namespace, task: TaskSpec, specs: Specs, parts: Sequence[Part]
) -> _Asked:
    told = [part.recipes[task.name] for part in parts if task.name in part.recipes]
    if not told:
        said = f"no part has finished, so that nothing says what answered {task.name}"
        raise IncompleteError(f"{said}. Give the command of one of them again.")
    made = {name: value for name, value in told[0].items() if name != "shard"}
    if made.get("generation"):  # what differs decides no answer, and no cost of them all
        given = [mapping(each["generation"].get("model_args")).items() for each in told]
        made["generation"] = {
            **made["generation"],
            "model_args": dict(sorted(set(given[0]).intersection(*given))),
        }
    if "truncation" in made:
        left = {
            name: words
            for each in told
            for name, words in each["truncation"]["words_left_out"].items()
        }
        measured = all(each["truncation"]["measured"] for each in told)
        made["truncation"] = {
            **made["truncation"],
            "measured": measured,
            "words_left_out": dict(sorted(left.items())),
        }
    config, split = arguments.config or made["data"]["config"], made["data"]["split"]
    data = load_task_data(
        task, specs[task.name], data=arguments.data, config=config, split=split, **asked_part(made)
    )
    return task, data, made


def _gather(
    arguments: argparse.Namespace, parts: Sequence[Part], folder: RunFolder, asked: Sequence[_Asked]
) -> None:
    """Copies what the parts' stores hold into one, all of it or nothing; parts that answer differently are refused."""
    fresh = not folder.answers.exists()
    # What the folder has already comes first: the others are compared with it.
    sources = sorted(
        (part for part in parts if part.answers.is_file()),
        key=lambda part: part.path != folder.path,
    )
    with contextlib.ExitStack() as opened:
        stores = [(part, opened.enter_context(Store(part.answers))) for part in sources]
        try:
            with Store(folder.answers) as store, store.together():
                for part, source in stores:
                    clashes = []
                    for kind, key, record in source.records() if part.path != folder.path else ():
                        there = store.get_many(kind, [key]).get(key)
                        if there is None:
                            store.put(kind, key, record)
                        elif _says(there) != _says(record):
                            clashes.append((kind, key))
                    if clashes:
                        first = next(
                            one
                            for one, its in stores
                            if its.get_many(clashes[0][0], [clashes[0][1]])
                        )
                        raise _clash(arguments, first, part, clashes, asked)
        except UsageError:
            for place in folder.answers.parent.glob(f"{folder.answers.name}*") if fresh else ():
                place.unlink()
            raise


def _clash(
    arguments: argparse.Namespace,
    one: Part,
    other: Part,
    clashes: Sequence[tuple[str, str]],
    asked: Sequence[_Asked],
) -> UsageError:
    named = []
    for task, data, recipe in asked:
        if recipe["prompts"] is not None:
            made = [
                replayed(task, data, recipe, part.path, upstream=arguments.upstream)
                for part in (one, other)
            ]
            first, second = (each.responses for each in made)
            ids = [name for name in first if name in second and first[name] != second[name]]
            named += [f"{task.name}: {listed(ids, _LISTED)}"] if ids else []
    what = "; ".join(named) or f"{len(clashes):,} records of kind {clashes[0][0]}"
    return UsageError(
        f"{one.path} and {other.path} say different things to the same questions ({what}). Leave one out."
    )


def _says(record: Json) -> Any:
    if "text" in record:
        return record["text"], record.get("label")
    return {name: value for name, value in record.items() if name != "seconds"}


def _told(parts: Sequence[Part]) -> dict[tuple[str, str], str]:
    """What parts say of their items: "" where one has an answer, else why there is none."""
    told: dict[tuple[str, str], str] = {}
    for part in parts:
        # One that was stopped while it wrote them has its answers in its store.
        with contextlib.suppress(MissingError, UsageError):
            for row in read_items(part.path) if part.recipes else []:
                about, said = (row["task"], row["id"]), row["unscored"] or ""
                reason = said.removeprefix(UNANSWERED) if said.startswith(UNANSWERED) else ""
                known = told.get(about, _MISSING)
                told[about] = reason and (reason if known == _MISSING else known)
    return told


def _answered(
    arguments: argparse.Namespace,
    asked: _Asked,
    folder: RunFolder,
    told: Mapping[tuple[str, str], str],
    given: Mapping[str, str],
) -> AnsweredTask:
    task, data, recipe = asked
    prices = mapping(mapping(recipe.get("generation")).get("model_args"))
    made = replayed(task, data, recipe, folder.path, upstream=arguments.upstream, prices=prices)
    unanswered = dict(made.unanswered)
    if recipe["prompts"] is None:  # a baseline would answer all: what no part has is missing
        unanswered = {
            item.id: _MISSING for item in made.items if told.get((task.name, item.id), _MISSING)
        }
    scored = mapping(recipe.get("scoring"))
    found = {name: value for name, value in data.found.items() if name in scored}
    scoring = task.scoring_args({**found, **recipe.get("task_args", {}), **given})
    identity = task.benchmark.scoring_identity(task, scoring) if task.scoring_arguments else {}
    said = [
        {**mapping(each), "output_claims": None}
        for each in (recipe.get("scoring"), json.loads(json.dumps(identity)))
    ]
    if said[0] != said[1]:
        raise UsageError(
            f"{task.name}: the parts were scored otherwise ({differing(*said)}). Give --task-args as they had it."
        )
    own = {
        name: recipe.get(name, value)
        for name, value in made.recipe.items()
        if name != "leaking_examples"
    }
    return replace(
        made,
        responses={name: text for name, text in made.responses.items() if name not in unanswered},
        unanswered={
            name: told.get((task.name, name)) or reason for name, reason in unanswered.items()
        },
        recipe={**made.recipe, **own},
        scoring_args=scoring,
    )


def _next_step(answered: Sequence[AnsweredTask], parts: Sequence[Part]) -> str:
    """Says which parts would bring the answers that no part has, or those that were asked for in vain; "" where none is."""
    reasons = {reason for each in answered for reason in each.unanswered.values()}
    wanted = {_MISSING} & reasons or reasons
    places: set[int] = set()
    named: list[str] = []
    for each in answered:
        found = [
            place for place, item in enumerate(each.items) if each.unanswered.get(item.id) in wanted
        ]
        places |= set(found)
        named += (
            [f"{each.task.name}: {listed([each.items[place].id for place in found], _LISTED)}"]
            if found
            else []
        )
    if not places:
        return ""
    again = "Give the command of `run` without --shard, with this --out, to ask them."
    # Of parts cut in several ways, the smallest ask the fewest other items.
    if (count := max(read_shard(part.shard)[1] for part in parts)) > 1:
        shards = listed(
            [f"{shard + 1}/{count}" for shard in sorted({place % count for place in places})],
            _LISTED,
        )
        again = f"They are in --shard {shards}: give the command of `run` (again) with that, then this one with all folders."
    return f"Items without an answer: {'; '.join(named)}. {again}"
