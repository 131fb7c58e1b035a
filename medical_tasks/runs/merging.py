"""Makes one run of parts that `run --shard` made.

A run follows from its items and its store, so that the union of the parts' stores gives
the results of one run of all items. No model is opened, and a judge is asked only for
verdicts that no part has.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.data.task_data import (
    TaskData,
    asked_part,
    load_task_data,
    read_shard,
)
from medical_tasks.errors import (
    IncompleteError,
    MissingError,
    UsageError,
    doing,
    listed,
)
from medical_tasks.guard import policy
from medical_tasks.io.store import Store
from medical_tasks.options import Merge
from medical_tasks.runs.answered import AnsweredTask
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
from medical_tasks.runs.judging import JudgeRequest, check_request, run_judge
from medical_tasks.runs.recipes import deciding_generation, differing, mapping
from medical_tasks.runs.replaying import check_recipe, replayed
from medical_tasks.runs.rescoring import checked_task_args
from medical_tasks.runs.results import (
    RESULTS_FILE,
    Json,
    JsonDict,
    read_items,
    read_results,
)
from medical_tasks.spec import UNANSWERED, DatasetSpec, TaskSpec

_RUN: Final = {"tasks", "model", "model_args", "data", "prompts"}
_MISSING: Final = "not in the store"
_LISTED: Final = 20


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a run, or a whole one.

    Attributes:
        path: its folder.
        answers: its store.
        shard: which part it is, such as `2/8`; None for a whole run.
        settings: those of the whole run.
        recipes: by task; none while it has not finished.
    """

    path: Path
    answers: Path
    shard: str | None
    settings: Json
    recipes: Mapping[str, JsonDict]


@dataclass(frozen=True)
class _Whole:
    """A task of the whole run, all its items, and the recipe as far as finished parts say it."""

    task: TaskSpec
    data: TaskData
    recipe: JsonDict


def read_parts(folders: Sequence[Path]) -> list[Part]:
    """Reads parts of one run.

    Raises:
        UsageError: a folder is no part of a run, or parts differ in more than which
            part they are.
        MissingError: the answers of a part are not there.
    """
    parts: list[Part] = []
    for path in {
        folder.expanduser().resolve(): folder.expanduser() for folder in folders
    }.values():
        part = _read_part(path)
        parts.append(part)
        _check_alike(parts[0].path, part.path, parts[0].settings, part.settings)
        for name, recipe in part.recipes.items():
            first = next(each for each in parts if name in each.recipes)
            _check_alike(
                first.path, part.path, _alike(first.recipes[name]), _alike(recipe)
            )

    return parts


def _read_part(path: Path) -> Part:
    """A part's settings and recipes.

    Raises:
        UsageError: the folder is no part of a run, or was scored with a sheet.
        MissingError: its answers are elsewhere.
    """
    settings = {
        name: value for name, value in run_settings(path).items() if name != PRIVATE
    }
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
            "run` left it; answers on credentialed data are in the private store of the machine "
            "that asked (MEDICAL_TASKS_HOME)."
        )

    return Part(
        path=path, answers=answers, shard=shard, settings=settings, recipes=recipes
    )


def _check_alike(first: Path, second: Path, mine: Json, other: Json) -> None:
    """Refuses parts with other settings, or recipes."""
    if mine != other:
        raise UsageError(
            f"{first} and {second}: not parts of one run ({differing(mine, other)}). Merge the "
            "parts of each by themselves."
        )


def _alike(recipe: Json) -> JsonDict:
    """What the recipes of all parts have alike.

    Not how much was asked at once, nor what is about a part's items.
    """
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


def merge(arguments: Merge) -> tuple[Path, str] | None:
    """Makes one run of parts.

    Returns:
        Its folder, and what to do where an item has no answer; None in all but the main
        process.
    """
    if not is_main_process():
        return None

    upstream, parts = arguments.upstream, read_parts(arguments.runs)
    tasks = parse_task_names(",".join(parts[0].settings["tasks"]))
    specs = {task.name: dataset_spec(task.dataset) for task in tasks}
    if arguments.forecast:
        raise UsageError(
            "--forecast: merge scores what the parts have. Leave it out, or give it to `run`."
        )

    subjects = [policy.Subject.of(specs[task.name], task=task.name) for task in tasks]
    with (
        policy.protect(subjects, policy.attestation_from(arguments)),
        doing("merge the parts of a run"),
    ):
        request = judge_request(
            arguments, tasks, prompts=parts[0].settings["prompts"], upstream=upstream
        )
        if request is not None:
            request = _replaying(
                request, mapping(parts[0].settings.get("judge")), tasks
            )

        private = any(not policy.text_allowed(spec) for spec in specs.values())
        folder = open_run_folder(arguments.out, parts[0].settings, private=private)
        with locked(folder):
            # What a merge that goes on has already is a part too.
            parts = read_parts([*(part.path for part in parts), folder.path])
            wholes = [
                _whole(task, specs[task.name], parts, arguments.data, arguments.config)
                for task in tasks
            ]
            task_args = checked_task_args(arguments.task_args, tasks)
            _gather(parts, folder, wholes, upstream)
            reasons = _reasons(parts)
            answered = [
                _answered(each, folder, reasons, task_args, upstream) for each in wholes
            ]
            with run_judge(request, folder) as judge:
                finish(answered, folder, judge)

            return folder.path, _next_step(answered, parts)


def _replaying(
    request: JudgeRequest, judge: Json, tasks: Sequence[TaskSpec]
) -> JudgeRequest:
    """The request for a judge that is the parts' own, whose verdicts are there."""
    if judge != request.identity:
        raise UsageError(
            f"the judge of the parts is another one ({differing(judge, request.identity)}). Give "
            f"--judge {judge.get('name')} and its options as the parts had them."
        )
    check_request(request, tasks)
    return replace(
        request, options=replace(request.options, replayed=True, forecast=False)
    )


def _whole(
    task: TaskSpec,
    spec: DatasetSpec,
    parts: Sequence[Part],
    data: Path | None,
    config: str | None,
) -> _Whole:
    """The recipe and items of the whole, as if one command had asked it all.

    Model arguments on which parts differ decide no answer (another address, say) and
    are left out. What each part cut from questions is joined.
    """
    recipes = [part.recipes[task.name] for part in parts if task.name in part.recipes]
    if not recipes:
        raise IncompleteError(
            f"no part has finished, so nothing shows which model answered {task.name}. Give the "
            "command of one of them again."
        )

    task = task.asked_with(mapping(recipes[0].get("task_args")))
    recipe = {name: value for name, value in recipes[0].items() if name != "shard"}
    if recipe.get(
        "generation"
    ):  # what differs decides no answer, and no cost of them all
        first, *others = (
            mapping(each["generation"].get("model_args")).items() for each in recipes
        )
        alike = dict(sorted(set(first).intersection(*others)))
        recipe["generation"] = {**recipe["generation"], "model_args": alike}

    if "truncation" in recipe:
        truncations = [each["truncation"] for each in recipes]
        left = {
            name: n
            for each in truncations
            for name, n in each["words_left_out"].items()
        }
        recipe["truncation"] = {
            **recipe["truncation"],
            "measured": all(each["measured"] for each in truncations),
            "words_left_out": dict(sorted(left.items())),
        }

    config, split = config or recipe["data"]["config"], recipe["data"]["split"]
    items = load_task_data(
        task, spec, data=data, config=config, split=split, **asked_part(recipe)
    )
    return _Whole(task, items, recipe)


def _gather(
    parts: Sequence[Part],
    folder: RunFolder,
    wholes: Sequence[_Whole],
    upstream: Path | None,
) -> None:
    """Copies what the parts' stores hold into one, all of it or nothing.

    Raises:
        UsageError: parts have different answers to the same questions.
    """
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
                    clashes = _copied(source, store) if part.path != folder.path else []
                    if clashes:
                        kind, key = clashes[0]
                        first = next(
                            each for each, own in stores if own.get_many(kind, [key])
                        )
                        raise _clash(first, part, clashes, wholes, upstream)
        except UsageError:
            for path in (
                folder.answers.parent.glob(f"{folder.answers.name}*") if fresh else ()
            ):
                path.unlink()

            raise


def _copied(source: Store, store: Store) -> list[tuple[str, str]]:
    """Copies a store's records; returns those that are there and say something else."""
    clashes = []
    for kind, key, record in source.records():
        own = store.get_many(kind, [key]).get(key)
        if own is None:
            store.put(kind, key, record)
        elif _content(own) != _content(record):
            clashes.append((kind, key))
    return clashes


def _content(record: Json) -> object:
    """What a record says, but for how long it took."""
    if "text" in record:
        return record["text"], record.get("label")
    return {name: value for name, value in record.items() if name != "seconds"}


def _clash(
    first: Part,
    second: Part,
    clashes: Sequence[tuple[str, str]],
    wholes: Sequence[_Whole],
    upstream: Path | None,
) -> UsageError:
    """The error for parts that say different things: which items, where answers tell."""
    items = []
    for whole in wholes:
        if whole.recipe["prompts"] is not None:
            one, other = (
                replayed(
                    whole.task, whole.data, whole.recipe, part.path, upstream=upstream
                ).responses
                for part in (first, second)
            )
            ids = [name for name in one if name in other and one[name] != other[name]]
            if ids:
                items.append(f"{whole.task.name}: {listed(ids, _LISTED)}")

    what = "; ".join(items) or f"{len(clashes):,} records of kind {clashes[0][0]}"
    return UsageError(
        f"{first.path} and {second.path} have different answers to the same questions ({what}). "
        "Leave one out."
    )


def _reasons(parts: Sequence[Part]) -> dict[tuple[str, str], str]:
    """Why items have no answer, by task and id; "" where a part has one."""
    reasons: dict[tuple[str, str], str] = {}
    for part in parts:
        # One that was stopped while it wrote them has its answers in its store.
        with contextlib.suppress(MissingError, UsageError):
            for row in read_items(part.path) if part.recipes else []:
                item, unscored = (row["task"], row["id"]), row["unscored"] or ""
                before = reasons.get(item, _MISSING)
                if not unscored.startswith(UNANSWERED):
                    reasons[item] = ""
                elif before == _MISSING:
                    reasons[item] = unscored.removeprefix(UNANSWERED)

    return reasons


def _answered(
    whole: _Whole,
    folder: RunFolder,
    reasons: Mapping[tuple[str, str], str],
    task_args: Mapping[str, str],
    upstream: Path | None,
) -> AnsweredTask:
    """A task with the answers that all parts have together."""
    task, recipe = whole.task, whole.recipe
    prices = mapping(mapping(recipe.get("generation")).get("model_args"))
    answered = replayed(
        task, whole.data, recipe, folder.path, upstream=upstream, prices=prices
    )
    unanswered = dict(answered.unanswered)
    if (
        recipe["prompts"] is None
    ):  # a baseline would answer all: what no part has is missing
        missing = (
            item.id
            for item in answered.items
            if reasons.get((task.name, item.id), _MISSING)
        )
        unanswered = dict.fromkeys(missing, _MISSING)

    own = {name: recipe.get(name, value) for name, value in answered.recipe.items()}
    own.pop("leaking_examples", None)
    return replace(
        answered,
        responses={
            name: text
            for name, text in answered.responses.items()
            if name not in unanswered
        },
        unanswered={
            name: reasons.get((task.name, name)) or reason
            for name, reason in unanswered.items()
        },
        recipe={**answered.recipe, **own},
        scoring_args=_scoring_args(whole, task_args),
    )


def _scoring_args(whole: _Whole, task_args: Mapping[str, str]) -> dict[str, str]:
    """The settings with which the parts were scored, and this run is."""
    task, recipe = whole.task, whole.recipe
    before = mapping(recipe.get("scoring"))
    beside = {name: value for name, value in whole.data.found.items() if name in before}
    scoring = task.scoring_args({**beside, **recipe.get("task_args", {}), **task_args})
    identity = (
        task.benchmark.scoring_identity(task, scoring) if task.scoring_arguments else {}
    )
    first, second = (
        {**mapping(each), "output_claims": None}
        for each in (before, json.loads(json.dumps(identity)))
    )
    if first != second:
        raise UsageError(
            f"{task.name}: the parts were scored otherwise ({differing(first, second)}). Give "
            "--task-args as they had it."
        )

    return scoring


def _next_step(answered: Sequence[AnsweredTask], parts: Sequence[Part]) -> str:
    """Says which parts would bring missing answers, those that no part has before others."""
    reasons = {reason for task in answered for reason in task.unanswered.values()}
    wanted = {_MISSING} & reasons or reasons
    lines, numbers = [], set[int]()
    for task in answered:
        open_items = {
            number: item.id
            for number, item in enumerate(task.items)
            if task.unanswered.get(item.id) in wanted
        }
        numbers |= open_items.keys()
        if open_items:
            lines.append(f"{task.task.name}: {listed([*open_items.values()], _LISTED)}")

    if not numbers:
        return ""

    again = "Give the command of `run` without --shard, with this --out, to ask them."
    # Of parts cut in several ways, the smallest ask the fewest other items.
    count = max(read_shard(part.shard)[1] for part in parts)
    if count > 1:
        shards = sorted({number % count for number in numbers})
        again = (
            f"They are in --shard {listed([f'{shard + 1}/{count}' for shard in shards], _LISTED)}: "
            "give the command of `run` (again) with that, then this one with all folders."
        )

    return f"Items without an answer: {'; '.join(lines)}. {again}"
