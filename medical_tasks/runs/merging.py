"""Merges the parts that `run --shard` made into one run.

A run follows from its items and its store, so the union of the parts' stores gives the
results of one run of all items. No model is opened, and a judge is asked only for verdicts
that no part has.
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
class ShardRun:
    """A part of a run, or a whole run.

    Attributes:
        path: its folder.
        answers: its store.
        shard: which part it is, such as `2/8`; None for a whole run.
        settings: the settings of the whole run.
        recipes: the recipes by task; empty while the part has not finished.
    """

    path: Path
    answers: Path
    shard: str | None
    settings: Json
    recipes: Mapping[str, JsonDict]


@dataclass(frozen=True)
class _Whole:
    """A task of the whole run: all its items, and the recipe that its finished parts share."""

    task: TaskSpec
    data: TaskData
    recipe: JsonDict


def read_shard_runs(folders: Sequence[Path]) -> list[ShardRun]:
    """Reads parts of one run.

    Raises:
        UsageError: a folder is not part of a run, or the parts belong to different runs.
        MissingError: the answers of a part are missing.
    """
    runs: list[ShardRun] = []
    for path in {
        folder.expanduser().resolve(): folder.expanduser() for folder in folders
    }.values():
        run = _read_shard_run(path)
        runs.append(run)
        _check_alike(runs[0].path, run.path, runs[0].settings, run.settings)
        for name, recipe in run.recipes.items():
            first = next(earlier for earlier in runs if name in earlier.recipes)
            _check_alike(
                first.path,
                run.path,
                _comparable_part(first.recipes[name]),
                _comparable_part(recipe),
            )

    return runs


def _read_shard_run(path: Path) -> ShardRun:
    """Reads a part's settings and recipes.

    Raises:
        UsageError: the folder is not part of a run, or was scored with a sheet.
        MissingError: its answers are elsewhere.
    """
    settings = {
        name: value for name, value in run_settings(path).items() if name != PRIVATE
    }
    if settings.get("adjudicated"):
        raise UsageError(
            f"{path}: was scored with a sheet from `adjudicate`. Merge the parts as `run` left "
            "them, then: medical-tasks adjudicate WHOLE, and medical-tasks score TASK --responses "
            "WHOLE --adjudicated FILE"
        )

    if not settings.keys() >= _RUN:
        raise UsageError(
            f"{path}: not from `medical-tasks run`. merge needs the folders of parts (run --shard "
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
            f"{answers}: the answers of {path} are missing. Give the folder as `medical-tasks "
            "run` left it; answers on credentialed data are in the private store of the machine "
            "that asked (MEDICAL_TASKS_HOME)."
        )

    return ShardRun(
        path=path, answers=answers, shard=shard, settings=settings, recipes=recipes
    )


def _check_alike(first: Path, second: Path, mine: Json, other: Json) -> None:
    """Refuses parts with different settings or recipes."""
    if mine != other:
        raise UsageError(
            f"{first} and {second}: not parts of one run ({differing(mine, other)}). Merge the "
            "parts of each run separately."
        )


def _comparable_part(recipe: Json) -> JsonDict:
    """Reduces a recipe to what all parts of one run share.

    Leaves out how much was asked at once, and what concerns a part's own items.
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
    """Merges parts into one run.

    Returns:
        Its folder, and what to do about items without an answer; None in every process but
        the main one.
    """
    if not is_main_process():
        return None

    upstream, runs = arguments.upstream, read_shard_runs(arguments.runs)
    tasks = parse_task_names(",".join(runs[0].settings["tasks"]))
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
            arguments, tasks, prompts=runs[0].settings["prompts"], upstream=upstream
        )
        if request is not None:
            request = _replaying(request, mapping(runs[0].settings.get("judge")), tasks)

        private = any(not policy.text_allowed(spec) for spec in specs.values())
        folder = open_run_folder(arguments.out, runs[0].settings, private=private)
        with locked(folder):
            # The folder of a resumed merge is a part too.
            runs = read_shard_runs([*(run.path for run in runs), folder.path])
            wholes = [
                _whole_task(
                    task, specs[task.name], runs, arguments.data, arguments.config
                )
                for task in tasks
            ]
            task_args = checked_task_args(arguments.task_args, tasks)
            _gather(runs, folder, wholes, upstream)
            reasons = _reasons(runs)
            answered = [
                _answered_task(whole, folder, reasons, task_args, upstream)
                for whole in wholes
            ]
            with run_judge(request, folder) as judge:
                finish(answered, folder, judge)

            return folder.path, _next_step(answered, runs)


def _replaying(
    request: JudgeRequest, judge: Json, tasks: Sequence[TaskSpec]
) -> JudgeRequest:
    """Turns a request for the parts' own judge into one that replays their verdicts."""
    if judge != request.identity:
        raise UsageError(
            f"the parts had another judge ({differing(judge, request.identity)}). Give "
            f"--judge {judge.get('name')} and its options as the parts had them."
        )
    check_request(request, tasks)
    return replace(
        request, options=replace(request.options, replayed=True, forecast=False)
    )


def _whole_task(
    task: TaskSpec,
    spec: DatasetSpec,
    runs: Sequence[ShardRun],
    data: Path | None,
    config: str | None,
) -> _Whole:
    """Builds the recipe and items of the whole, as if one command had asked everything.

    Model arguments on which the parts differ decide no answer (an address, say) and are
    left out. The words that each part cut from its questions are combined.
    """
    recipes = [run.recipes[task.name] for run in runs if task.name in run.recipes]
    if not recipes:
        raise IncompleteError(
            f"no part has finished, so nothing shows which model answered {task.name}. Give one "
            "part's command again."
        )

    task = task.asked_with(mapping(recipes[0].get("task_args")))
    recipe = {name: value for name, value in recipes[0].items() if name != "shard"}
    if recipe.get("generation"):
        first, *others = (
            mapping(part_recipe["generation"].get("model_args")).items()
            for part_recipe in recipes
        )
        shared = dict(sorted(set(first).intersection(*others)))
        recipe["generation"] = {**recipe["generation"], "model_args": shared}

    if "truncation" in recipe:
        truncations = [part_recipe["truncation"] for part_recipe in recipes]
        left = {
            name: n
            for truncation in truncations
            for name, n in truncation["words_left_out"].items()
        }
        recipe["truncation"] = {
            **recipe["truncation"],
            "measured": all(truncation["measured"] for truncation in truncations),
            "words_left_out": dict(sorted(left.items())),
        }

    config, split = config or recipe["data"]["config"], recipe["data"]["split"]
    items = load_task_data(
        task, spec, data=data, config=config, split=split, **asked_part(recipe)
    )
    return _Whole(task, items, recipe)


def _gather(
    runs: Sequence[ShardRun],
    folder: RunFolder,
    wholes: Sequence[_Whole],
    upstream: Path | None,
) -> None:
    """Copies the contents of the parts' stores into one store, all of them or none.

    Raises:
        UsageError: parts have different answers to the same questions.
    """
    fresh = not folder.answers.exists()
    # The folder's own store comes first: the others are compared with it.
    sources = sorted(
        (run for run in runs if run.answers.is_file()),
        key=lambda run: run.path != folder.path,
    )
    with contextlib.ExitStack() as opened:
        stores = [(run, opened.enter_context(Store(run.answers))) for run in sources]
        try:
            with Store(folder.answers) as store, store.together():
                for run, source in stores:
                    clashes = _copied(source, store) if run.path != folder.path else []
                    if clashes:
                        kind, key = clashes[0]
                        first = next(
                            run
                            for run, own_store in stores
                            if own_store.get_many(kind, [key])
                        )
                        raise _clash(first, run, clashes, wholes, upstream)
        except UsageError:
            for path in (
                folder.answers.parent.glob(f"{folder.answers.name}*") if fresh else ()
            ):
                path.unlink()

            raise


def _copied(source: Store, store: Store) -> list[tuple[str, str]]:
    """Copies a store's records; returns the kinds and keys whose present record differs."""
    clashes = []
    for kind, key, record in source.records():
        present = store.get_many(kind, [key]).get(key)
        if present is None:
            store.put(kind, key, record)
        elif _decided_content(present) != _decided_content(record):
            clashes.append((kind, key))
    return clashes


def _decided_content(record: Json) -> object:
    """Returns a record's content without the time it took."""
    if "text" in record:
        return record["text"], record.get("label")
    return {name: value for name, value in record.items() if name != "seconds"}


def _clash(
    first: ShardRun,
    second: ShardRun,
    clashes: Sequence[tuple[str, str]],
    wholes: Sequence[_Whole],
    upstream: Path | None,
) -> UsageError:
    """Makes the error for parts with different answers; it names the items if it can."""
    items = []
    for whole in wholes:
        if whole.recipe["prompts"] is not None:
            first_texts, second_texts = (
                replayed(
                    whole.task, whole.data, whole.recipe, run.path, upstream=upstream
                ).responses
                for run in (first, second)
            )
            ids = [
                name
                for name in first_texts
                if name in second_texts and first_texts[name] != second_texts[name]
            ]
            if ids:
                items.append(f"{whole.task.name}: {listed(ids, _LISTED)}")

    what = "; ".join(items) or f"{len(clashes):,} records of kind {clashes[0][0]}"
    return UsageError(
        f"{first.path} and {second.path} have different answers to the same questions ({what}). "
        "Leave one out."
    )


def _reasons(runs: Sequence[ShardRun]) -> dict[tuple[str, str], str]:
    """Returns why items have no answer, by task and id; "" where a part has one."""
    reasons: dict[tuple[str, str], str] = {}
    for run in runs:
        # A part that was stopped while it wrote its items has its answers in its store.
        with contextlib.suppress(MissingError, UsageError):
            for row in read_items(run.path) if run.recipes else []:
                item, unscored = (row["task"], row["id"]), row["unscored"] or ""
                before = reasons.get(item, _MISSING)
                if not unscored.startswith(UNANSWERED):
                    reasons[item] = ""
                elif before == _MISSING:
                    reasons[item] = unscored.removeprefix(UNANSWERED)

    return reasons


def _answered_task(
    whole: _Whole,
    folder: RunFolder,
    reasons: Mapping[tuple[str, str], str],
    task_args: Mapping[str, str],
    upstream: Path | None,
) -> AnsweredTask:
    """Collects a task's answers from all parts."""
    task, recipe = whole.task, whole.recipe
    prices = mapping(mapping(recipe.get("generation")).get("model_args"))
    answered = replayed(
        task, whole.data, recipe, folder.path, upstream=upstream, prices=prices
    )
    unanswered = dict(answered.unanswered)
    if recipe["prompts"] is None:
        # A baseline would answer every item, also those that no part has.
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
    """Returns the scoring settings of the parts, and refuses others."""
    task, recipe = whole.task, whole.recipe
    recorded = mapping(recipe.get("scoring"))
    from_data = {
        name: value
        for name, value in whole.data.scoring_args.items()
        if name in recorded
    }
    scoring = task.scoring_args(
        {**from_data, **recipe.get("task_args", {}), **task_args}
    )
    identity = (
        task.benchmark.scoring_identity(task, scoring) if task.scoring_arguments else {}
    )
    first, second = (
        {**mapping(settings), "output_claims": None}
        for settings in (recorded, json.loads(json.dumps(identity)))
    )
    if first != second:
        raise UsageError(
            f"{task.name}: the parts were scored with other settings ({differing(first, second)}). "
            "Give the --task-args that they had."
        )

    return scoring


def _next_step(answered: Sequence[AnsweredTask], runs: Sequence[ShardRun]) -> str:
    """Says which parts would bring missing answers; items that were never asked come first.

    Example: item number i, counted from 0, is in part i mod n + 1 of n. Of two parts, items 2
    and 4 are missing: both are in `--shard 1/2`.
    """
    reasons = {reason for task in answered for reason in task.unanswered.values()}
    relevant = {_MISSING} & reasons or reasons
    lines, numbers = [], set[int]()
    for task in answered:
        open_items = {
            number: item.id
            for number, item in enumerate(task.items)
            if task.unanswered.get(item.id) in relevant
        }
        numbers |= open_items.keys()
        if open_items:
            lines.append(f"{task.task.name}: {listed([*open_items.values()], _LISTED)}")

    if not numbers:
        return ""

    advice = "Give the command of `run` without --shard, with this --out, to ask them."
    # If the parts have several sizes, the smallest ask the fewest other items.
    count = max(read_shard(run.shard)[1] for run in runs)
    if count > 1:
        shards = sorted({number % count for number in numbers})
        advice = (
            f"They are in --shard {listed([f'{shard + 1}/{count}' for shard in shards], _LISTED)}: "
            "give the command of `run` (again) with that, then this one with all folders."
        )

    return f"Items without an answer: {'; '.join(lines)}. {advice}"
