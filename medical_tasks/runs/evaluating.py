"""Running tasks from the options of `run` and `score`: data, model or answers, judge, results.

Both take the options as their verbs declare them, and the tasks with their datasets'
specs by task name.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.data.dataset_store import split_names
from medical_tasks.data.task_data import (
    TaskData,
    asked_part,
    draw,
    load_task_data,
    read_drawn,
    with_source,
)
from medical_tasks.errors import UsageError, check_least, doing
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import SETTINGS_FILE
from medical_tasks.io.cell_forms import table_choice
from medical_tasks.io.output import tell
from medical_tasks.models.base import processes
from medical_tasks.models.batch_journal import JOURNAL, note_left
from medical_tasks.models.budget import Ceiling, RunBudget
from medical_tasks.models.opener import (
    check_batch,
    check_repeats,
    deciding_args,
    full_name,
    is_local,
    read_prices,
)
from medical_tasks.models.opening import open_model, open_unloaded
from medical_tasks.models.stand_ins import COPY_EXAMPLE
from medical_tasks.options import WithCeilings, option_name, parameters, read_settings
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.confidence import (
    ASKED,
    RECIPE_KEY,
    check_askable,
    check_taken_off,
)
from medical_tasks.runs.finishing import finish, score_responses
from medical_tasks.runs.folder import (
    RunFolder,
    default_folder,
    existing_run_folder,
    is_main_process,
    locked,
    open_run_folder,
)
from medical_tasks.runs.forecasting import TaskForecast, forecast_said, forecast_task
from medical_tasks.runs.imported import (
    IMPORTED,
    PublishedSource,
    answered_of,
    is_imported,
    keep_answers,
)
from medical_tasks.runs.judge_arguments import judge_request
from medical_tasks.runs.recipes import make_recipe, mapping
from medical_tasks.runs.responses import (
    GivenAnswers,
    check_recipe,
    read_file,
    read_responses,
    run_answers,
)
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    read_results,
)
from medical_tasks.runs.runner import (
    ANSWER,
    Adjudication,
    AnsweredTask,
    RoleChoice,
    RoleModel,
    RunOptions,
    load_task_prompts,
    open_protocols,
    run_model,
)
from medical_tasks.spec import DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.options import Run, Score
    from medical_tasks.runs.judging import JudgeRequest, RunJudge

Specs = Mapping[str, DatasetSpec]
BASELINE: Final = "baseline/"


def evaluate(arguments: Run) -> Path | None:
    """Asks a model and scores its answers.

    The run's folder, or None after a forecast and in all but the main process.
    """
    tasks = parse_task_names(arguments.tasks)
    checked_task_args(arguments.task_args, tasks)
    tasks = [task.asked_with(arguments.task_args) for task in tasks]
    specs = {task.name: dataset_spec(task.dataset) for task in tasks}
    check_least({"--max-new-tokens": arguments.max_new_tokens})
    subjects = [policy.Subject.of(specs[task.name], task=task.name) for task in tasks]
    # Before a row is read: what goes wrong with one may not be told in its own words.
    with policy.protect(subjects, policy.attestation_from(arguments)):
        return _evaluated(arguments, tasks, specs)


class RunForecast(TypedDict):
    """What a run would take, and what was not asked for that."""

    model: str
    tasks: dict[str, TaskForecast]  # those that ask the model


def _foreseen(setup: _Setup, store: Path | None) -> RunForecast:
    """The forecast of a run, but for the answers that a store has."""
    asking = [task for task in setup.tasks if not task.baseline]
    if setup.name.startswith(BASELINE) or not asking:
        return RunForecast(model=setup.name, tasks={})
    with (
        tempfile.TemporaryDirectory() as scratch,
        contextlib.closing(
            open_unloaded(setup.name, setup.options.model_args, log_dir=Path(scratch))
        ) as model,
    ):
        forecasts = {
            task.name: forecast_task(
                task, setup.data[task.name], model, setup.options, store
            )
            for task in asking
        }
    return RunForecast(model=setup.name, tasks=forecasts)


@dataclass(frozen=True, kw_only=True)
class _Setup:
    """A run before anything is opened: what is asked of whom, and the settings of its folder."""

    name: str
    tasks: Sequence[TaskSpec]
    data: Mapping[str, TaskData]
    options: RunOptions
    judge: JudgeRequest | None
    settings: JsonDict


def _set_up(arguments: Run, tasks: Sequence[TaskSpec], specs: Specs) -> _Setup:
    name = full_name(arguments.model)
    if arguments.confidence == ASKED:
        check_askable(tasks, name)
    model_args = dict(arguments.model_args)
    check_repeats(name, model_args, arguments.repeats)
    task_args = checked_task_args(arguments.task_args, tasks)
    roles = read_roles(arguments.role, tasks, model=name)
    budget = _budget(arguments, name, model_args, roles)
    judge = judge_request(
        arguments, tasks, prompts=arguments.prompts, upstream=arguments.upstream
    )
    drawn = read_drawn(arguments, max_samples=arguments.max_samples)
    _check_one(
        subset=drawn,
        repeats=arguments.repeats > 1,
        evaluations=arguments.evaluations > 1,
        calibration=arguments.calibration,
    )
    data = {
        task.name: load_task_data(
            task,
            specs[task.name],
            data=arguments.data,
            config=arguments.config,
            split=arguments.split,
            max_samples=arguments.max_samples,
            shard=arguments.shard,
            drawn=drawn,
        )
        for task in tasks
    }
    options = RunOptions(
        prompts=arguments.prompts,
        upstream=arguments.upstream,
        max_new_tokens=arguments.max_new_tokens,
        max_samples=arguments.max_samples,
        repeats=arguments.repeats,
        model_args=model_args,
        task_args=task_args,
        truncate=arguments.truncate,
        role_choices=roles,
        budget=budget,
        batch=arguments.batch,
        confidence=arguments.confidence,
    )
    if options.batch:
        check_batch(name, "--batch")
        policy.require_no_batch("--batch")
    if judge is not None and judge.options.batch:
        policy.require_no_batch("--judge-batch")
    settings = _settings(name, tasks, data, options, judge)
    settings |= {"shard": arguments.shard} if arguments.shard is not None else {}
    settings |= {"subset": list(drawn)} if drawn is not None else {}
    return _Setup(
        name=name,
        tasks=tasks,
        data=data,
        options=options,
        judge=judge,
        settings=settings,
    )


def _evaluated(arguments: Run, tasks: Sequence[TaskSpec], specs: Specs) -> Path | None:
    setup = _set_up(arguments, tasks, specs)
    path = arguments.out or default_folder(setup.name, setup.settings)
    if arguments.forecast:
        if is_main_process():
            _tell_forecasts(setup, path)
        return None
    private = any(not policy.text_allowed(spec) for spec in specs.values())
    folder = open_run_folder(path, setup.settings, private=private)
    with locked(folder):
        return _finished(
            setup.name,
            dict(setup.options.model_args),
            tasks,
            setup.data,
            folder,
            setup.options,
            setup.judge,
        )


def _tell_forecasts(setup: _Setup, path: Path) -> None:
    """Says what answering and judging would take, but for what a run in the folder has."""
    foreseen = _foreseen(setup, _kept(path))
    said = (
        forecast_said(setup.name, foreseen["tasks"])
        or f"{setup.name} is asked nothing."
    )
    tell(said, foreseen)
    if setup.judge is not None:
        _forecast(setup.judge, _references(setup.tasks, setup.data, setup.options))
        once = " for each repeat" if setup.options.repeats > 1 else ""
        tell(f"Judging is{once} with the reference answers in place of the model's.")
    tell("Nobody was asked, nothing is written.")


def _budget(
    arguments: WithCeilings,
    name: str,
    model_args: Mapping[str, str],
    roles: Mapping[str, RoleChoice],
) -> RunBudget | None:
    """What the answers may take; None where no ceiling is given."""
    ceilings = {
        option_name(field): getattr(arguments, field)
        for field in parameters(WithCeilings)
    }
    if not (
        named := [option for option, limit in ceilings.items() if limit is not None]
    ):
        return None
    if name.startswith(BASELINE):
        raise UsageError(
            f"{name} is asked nothing, so that {', '.join(named)} has no meaning for it. Leave it "
            "out."
        )
    check_least(ceilings, 0)
    models = [(name, model_args, "--model-args")]
    models += [
        (choice.name, choice.args, f"--role {role}") for role, choice in roles.items()
    ]
    for model, args, where in models:
        if read_prices(args, model=model) is None and arguments.max_cost is not None:
            raise UsageError(
                f"--max-cost {arguments.max_cost:g} needs the prices of {model}, in USD for a "
                f"million tokens: {where} price_in=...,price_out=.... Without prices, "
                "--max-tokens-total limits the tokens."
            )
    return RunBudget(
        max_tokens=arguments.max_tokens_total,
        max_cost=arguments.max_cost,
        max_minutes=arguments.max_minutes,
    )


def _settings(
    name: str,
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    options: RunOptions,
    judge: JudgeRequest | None,
) -> JsonDict:
    """What tells a run from others: the settings of its folder.

    How much is asked at once, and for how long, changes no answer: such arguments may
    differ when a run goes on. What is optional is named only where it is given, so that
    folders of tasks without it stay what they were.
    """
    own = {argument for task in tasks for argument in task.arguments}
    optional = {
        "task_args": {
            key: value for key, value in options.task_args.items() if key in own
        }
        or None,
        "roles": {
            role: [choice.name, deciding_args(choice.name, choice.args)]
            for role, choice in options.role_choices.items()
        }
        or None,
        "truncate": options.truncate if options.truncate != "refuse" else None,
        RECIPE_KEY: options.confidence if options.confidence != "none" else None,
        "judge": judge.identity if judge is not None else None,
    }
    return {
        "tasks": [task.name for task in tasks],
        "model": name,
        "model_args": deciding_args(name, options.model_args),
        "data": {task: loaded.identity for task, loaded in data.items()},
        "prompts": options.prompts,
        "max_new_tokens": options.max_new_tokens,
        **{key: value for key, value in optional.items() if value is not None},
    }


def checked_task_args(
    arguments: Mapping[str, str], tasks: Sequence[TaskSpec]
) -> dict[str, str]:
    """Checks `--task-args`, of which each must be a setting of one of the tasks."""
    names = {
        name for task in tasks for name in (*task.arguments, *task.scoring_arguments)
    }
    for name in arguments:
        if name not in names:
            hint = (
                f"They take: {', '.join(sorted(names))}."
                if names
                else "They take none."
            )
            raise UsageError(
                f"--task-args: {name!r} is not a setting of "
                f"{', '.join(task.name for task in tasks)}. {hint}"
            )
    return dict(arguments)


def read_roles(
    given: Sequence[str], tasks: Sequence[TaskSpec], *, model: str
) -> dict[str, RoleChoice]:
    """Reads `--role ROLE=MODEL` or `ROLE=MODEL,KEY=VALUE,...`: each role of the tasks' protocols has a model.

    A baseline as `model` talks with nobody.
    """
    wanted = {role: about for task in tasks for role, about in task.roles.items()}
    roles: dict[str, RoleChoice] = {}
    for text in given:
        role, equals, rest = text.partition("=")
        name, _, args = rest.partition(",")
        if role not in wanted:
            known = f"They have: {', '.join(wanted)}." if wanted else "They have none."
            raise UsageError(
                f"--role {text}: {role!r} is no role of {', '.join(task.name for task in tasks)}. "
                f"{known}"
            )
        if not equals or not name:
            raise UsageError(
                f"--role {text}: name the model, as {role}=openai-api/HOST/NAME."
            )
        if role in roles:
            raise UsageError(f"--role {text}: the role {role} has a model already.")
        name = full_name(name)
        if name.startswith("baseline/"):
            raise UsageError(
                f"--role {text}: a baseline answers tasks and cannot talk."
            )
        roles[role] = RoleChoice(
            name=name, args=read_settings(args, option=f"--role {role}")
        )
    lacking = [role for role in wanted if role not in roles]
    if lacking and not model.startswith("baseline/"):
        role = lacking[0]
        raise UsageError(
            f"the role {role} ({wanted[role]}) needs a model: --role {role}=MODEL, named as for "
            "--model."
        )
    return roles


def _finished(
    name: str,
    model_args: dict[str, str],
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    folder: RunFolder,
    options: RunOptions,
    request: JudgeRequest | None,
) -> Path | None:
    """Answers, then scores.

    A judge that needs no weights is opened first, so that what it lacks is told at
    once.
    """
    _check_judge(request, tasks)
    for task in tasks:
        if arguments := task.scoring_args(options.task_args):
            # Says what is missing before a model answers.
            task.benchmark.scoring_identity(task, arguments)

    early = None if request is None else _opened_early(request, tasks, folder)
    from_model = not name.startswith(BASELINE)
    if (
        request
        and early
        and from_model
        and early.asked.endpoint is not None
        and not folder.answers.exists()
    ):
        once = " each repeat" if options.repeats > 1 else ""
        print(
            f"With the reference answers in place of the model's, judging{once} would take:",
            file=sys.stderr,
        )
        forecast = replace(request, options=replace(request.options, forecast=True))
        _forecast(forecast, _references(tasks, data, options))
    with doing(f"answer {', '.join(task.name for task in tasks)} with {name}"):
        answered = _answers(name, model_args, tasks, data, folder, options)
    if answered is None:
        return None
    with early or _judge_of(request, folder) as judge:
        finish(answered, folder, judge)
    return folder.path


def _check_judge(request: JudgeRequest | None, tasks: Sequence[TaskSpec]) -> None:
    """Refuses a judge that these tasks cannot have."""
    if request is not None:
        from medical_tasks.runs.judging import check_request

        check_request(request, tasks)


def _opened_early(
    request: JudgeRequest, tasks: Sequence[TaskSpec], folder: RunFolder
) -> RunJudge | None:
    """A judge that needs no weights, before the model answers; None for any other."""
    from medical_tasks.runs.judging import RunJudge, opens_early

    if not is_main_process() or not opens_early(request.name):
        return None
    early = RunJudge(request, store=folder.answers, log_dir=folder.logs)
    early.check_calibration(tasks)
    return early


def _judge_of(
    request: JudgeRequest | None, folder: RunFolder
) -> contextlib.AbstractContextManager[RunJudge | None]:
    """The judge that is asked for; without one, nothing of judges is loaded."""
    if request is None:
        return contextlib.nullcontext()
    from medical_tasks.runs.judging import run_judge

    return run_judge(request, folder)


def _references(
    tasks: Sequence[TaskSpec], data: Mapping[str, TaskData], options: RunOptions
) -> Iterator[AnsweredTask]:
    """The reference answers to judged tasks, in place of the model's."""
    judged = (task for task in tasks if task.judge)
    return (
        run_baseline(
            "reference", task, data[task.name], max_samples=options.max_samples
        )
        for task in judged
    )


def _forecast(
    request: JudgeRequest, answered: Iterable[AnsweredTask], *, kept: Path | None = None
) -> None:
    """Says what judging would cost, but for what is in a store that is `kept`."""
    from medical_tasks.runs.judging import RunJudge

    with (
        tempfile.TemporaryDirectory() as scratch,
        RunJudge(
            request, store=kept or Path(scratch) / "none.sqlite", log_dir=Path(scratch)
        ) as judge,
    ):
        for each in answered:
            score_responses(each, judge.task_judge(each.task).judging)


def _answers(
    name: str,
    model_args: dict[str, str],
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    folder: RunFolder,
    options: RunOptions,
) -> list[AnsweredTask] | None:
    """The answers of a model or a baseline; None in all but the main process.

    Tasks that ask no model are answered by their own baseline, beside the others.
    """
    if name.startswith(BASELINE):
        return _baseline_answers(name, model_args, tasks, data, options)
    alone = [task for task in tasks if task.baseline]
    of_model = [task for task in tasks if not task.baseline]
    answered: list[AnsweredTask] | None = []
    if alone:
        own = replace(options, prompts="own", truncate="refuse")
        answered = _baseline_answers(
            f"{BASELINE}{alone[0].baseline}", {}, alone, data, own
        )
    others = (
        _model_answers(name, model_args, of_model, data, folder, options)
        if of_model
        else []
    )
    if answered is None or others is None:
        return None
    by_task = {each.task.name: each for each in (*answered, *others)}
    return [by_task[task.name] for task in tasks]


def _baseline_answers(
    name: str,
    model_args: Mapping[str, str],
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    options: RunOptions,
) -> list[AnsweredTask] | None:
    """The answers of a baseline, which is asked nothing."""
    copies = name == f"{BASELINE}{COPY_EXAMPLE}"
    no_meaning = (
        f"{name} is asked nothing, so that {{}} has no meaning for it. Leave it out."
    )
    if model_args:
        raise UsageError(f"{name} takes no --model-args, got {', '.join(model_args)}.")
    if (
        options.prompts != "own"
        and not copies
        and not any(task.judge for task in tasks)
    ):
        raise UsageError(no_meaning.format(f"--prompts {options.prompts}"))
    if options.truncate != "refuse":
        raise UsageError(no_meaning.format("--truncate"))
    if not is_main_process():
        return None
    return [
        run_baseline(
            name.removeprefix(BASELINE),
            task,
            data[task.name],
            max_samples=options.max_samples,
            task_args=options.task_args,
            prompts=options.prompts if copies else "own",
            upstream=options.upstream if copies else None,
        )
        for task in tasks
    ]


def _model_answers(
    name: str,
    model_args: dict[str, str],
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    folder: RunFolder,
    options: RunOptions,
) -> list[AnsweredTask] | None:
    """The answers of a model, which is opened when nothing else can be missing any more."""
    for task in tasks:
        if task.arguments or options.prompts != "own":
            load_task_prompts(task, options, data[task.name])
    open_protocols(tasks, options)
    policy.require_processes()
    with contextlib.ExitStack() as opened:
        model = open_model(name, model_args, log_dir=folder.logs)
        opened.callback(model.close)
        policy.require_endpoint(model.endpoint, "model")
        if options.budget is not None:
            model.ceiling = Ceiling(options.budget, read_prices(model_args, model=name))
        if model.is_main and not is_main_process():
            return None  # one process asks a server, however many were started
        if options.batch:
            model.ask_in_batches(folder.answers.with_name(JOURNAL))
        elif is_main_process():
            note_left(folder.answers, "model", ANSWER, option="--batch")
        roles = _opened_roles(options, folder, opened)
        return run_model(tasks, data, model, folder, replace(options, roles=roles))


def _opened_roles(
    options: RunOptions, folder: RunFolder, opened: contextlib.ExitStack
) -> dict[str, RoleModel]:
    """Opens the models of the roles in the main process, which alone asks them.

    The guard checks each.
    """
    roles: dict[str, RoleModel] = {}
    for role, choice in options.role_choices.items() if is_main_process() else ():
        if is_local(choice.name) and processes() > 1:
            raise UsageError(
                f"--role {role}={choice.name}: a model in this process plays no role where several "
                "processes were started. Serve it, or start one process."
            )
        model = open_model(choice.name, choice.args, log_dir=folder.logs)
        opened.callback(model.close)
        policy.require_endpoint(model.endpoint, f"model of the role {role}")
        if options.budget is not None:
            prices = read_prices(choice.args, model=choice.name)
            model.ceiling = Ceiling(options.budget, prices)
        roles[role] = RoleModel(model=model, args=choice.args)
    return roles


def rescore(
    arguments: Score, responses: Path | GivenAnswers | PublishedSource | None = None
) -> tuple[Path, bool] | None:
    """Scores answers that are there.

    Args:
        arguments: what is scored, and how.
        responses: the answers, where they are not in the file `arguments.responses`.

    Returns:
        The folder, and whether an item has no answer; None after a forecast and in
        further processes.
    """
    responses = responses or arguments.responses
    task, *others = parse_task_names(arguments.task)
    if others:
        names = ", ".join(each.name for each in (task, *others))
        raise UsageError(f"score takes one task, got {arguments.task!r} ({names}).")
    spec = dataset_spec(task.dataset)
    if not is_main_process():
        return None  # there is nothing to share among processes
    request = judge_request(
        arguments, [task], prompts=arguments.prompts, upstream=arguments.upstream
    )
    if request is None and arguments.prompts != "own":
        raise UsageError(
            f"--prompts {arguments.prompts}: {task.name} needs no judge, and no model is asked. "
            "Leave it out."
        )
    drawn = read_drawn(arguments)
    task = _as_asked(task, responses, arguments.task_args)
    with policy.protect(
        [policy.Subject.of(spec, task=task.name)], policy.attestation_from(arguments)
    ):
        _check_judge(request, [task])
        with with_source(
            task, source=arguments.source, data=arguments.data, config=arguments.config
        ) as (data, config):
            read = replace(arguments, data=data, config=config)
            answered, settings = _answered(task, spec, read, responses)
        settings |= {"subset": list(drawn)} if drawn is not None else {}
        if arguments.confidence == ASKED:
            answered, settings = _stating_confidence(answered, settings)
        asked = _scoring_args(arguments.task_args, task, answered.recipe)
        answered = replace(
            answered,
            scoring_args={**answered.scoring_args, **asked},
            adjudication=_adjudication(arguments.adjudicated, task, answered),
        )
        # Not the sheet's content: one with more rows filled in is scored into the same
        # folder.
        settings |= {"adjudicated": True} if answered.adjudication is not None else {}
        settings |= {"judge": request.identity} if request is not None else {}
        path = arguments.out or default_folder(responses.stem, settings)
        if request is not None and request.options.forecast:
            _forecast(request, [answered], kept=_kept(path))
            tell("No judge was asked and nothing is written.")
            return None
        folder = open_run_folder(path, settings, private=not policy.text_allowed(spec))
        with locked(folder):
            keep_answers(answered, folder)
            with _judge_of(request, folder) as judge:
                finish([answered], folder, judge)
            return folder.path, bool(answered.unanswered)


def _stating_confidence(
    answered: AnsweredTask, settings: JsonDict
) -> tuple[AnsweredTask, JsonDict]:
    """The answers of a file as such that end with a confidence; those of a run say it themselves."""
    check_taken_off([answered.task])
    if answered.states_confidence:
        return answered, settings
    if answered.recipe["prompts"] is not None:
        raise UsageError(
            "--confidence asked: the run's questions did not ask how sure the model is. Leave it "
            "out, or run again with it."
        )
    recipe = {**answered.recipe, RECIPE_KEY: ASKED}
    return replace(answered, recipe=recipe), {**settings, RECIPE_KEY: ASKED}


def _adjudication(
    path: Path | None, task: TaskSpec, answered: AnsweredTask
) -> Adjudication | None:
    """The decisions on unclear answers that a sheet has."""
    if path is None:
        return None
    if answered.repeats:
        raise UsageError(
            f"--adjudicated {path}: each question was asked several times (--repeats), and a sheet "
            "has one answer to each. Leave it out."
        )
    # readers of judges: slow
    from medical_tasks.runs.adjudicating import read_adjudication

    return read_adjudication(path, task, answered.responses)


def _scoring_args(
    task_args: Mapping[str, str], task: TaskSpec, recipe: Json
) -> dict[str, str]:
    """The settings given, and those of the run's questions that its scoring must know too."""
    own = checked_task_args(task_args, [task])
    ran = recipe.get("task_args", {})
    questions = [
        name
        for name, value in own.items()
        if name not in task.scoring_arguments
        and (name not in task.item_arguments or ran.get(name) != value)
    ]
    if questions:
        raise UsageError(
            f"--task-args: {', '.join(questions)} is about the questions, and none is asked. Leave "
            "it out."
        )
    from_run = task.scoring_args(ran)
    for name, value in from_run.items():
        if own.get(name, value) != value:
            raise UsageError(
                f"--task-args: {name}={own[name]}, but the run's questions were asked with "
                f"{name}={value}. Leave it out."
            )
    return {**from_run, **task.scoring_args(own)}


def _as_asked(
    task: TaskSpec,
    answers: Path | GivenAnswers | PublishedSource,
    given: Mapping[str, str],
) -> TaskSpec:
    """The task as its questions were asked: by a run, or as is said of other answers."""
    if not isinstance(answers, Path) or not answers.is_dir():
        return task.asked_with(given)
    entry = read_results(answers)["tasks"].get(task.name)
    recipe = {} if entry is None else mapping(entry.get("recipe"))
    return task.asked_with(mapping(recipe.get("task_args")))


def _kept(path: Path) -> Path | None:
    """The store of a scoring that was begun: a forecast leaves out what was judged already."""
    store = (
        existing_run_folder(path).answers if (path / SETTINGS_FILE).is_file() else None
    )
    return store if store is not None and store.is_file() else None


def _answered(
    task: TaskSpec,
    spec: DatasetSpec,
    arguments: Score,
    file: Path | GivenAnswers | PublishedSource,
) -> tuple[AnsweredTask, JsonDict]:
    """Reads the answers; returns them, and what tells this scoring from others."""
    if isinstance(file, Path) and file.is_dir():
        return _from_run(task, spec, arguments)
    _check_one(
        subset=arguments.subset,
        evaluations=arguments.evaluations > 1,
        calibration=arguments.calibration,
    )
    where = {name: getattr(arguments, name) for name in ("data", "config", "split")}
    data = load_task_data(task, spec, **where, drawn=read_drawn(arguments))
    if isinstance(file, PublishedSource):
        published = answered_of(
            task, data, file.found(task, data.items), scoring_args=data.found
        )
        name = f"{IMPORTED}{file.name}"
        settings = {
            "tasks": [task.name],
            "model": name,
            "data": {task.name: data.identity},
        }
        return published, settings
    content, items = read_file(file), data.answerable
    # Says what is wrong with a submission, for a benchmark whose shared task has a form
    # of its own.
    check, ids = (
        task.benchmark.submission_check(task, items),
        [item.id for item in items],
    )
    responses = read_responses(
        file, ids, content=content, check=check, task=task, items=items
    )
    choice = table_choice()
    sheet = f" ({', '.join(choice.sheet)})" if choice.sheet else ""
    name = f"responses/{file.name}{sheet}"
    source: JsonDict = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
    if choice.said:
        source["tables"] = choice.said
    recipe = make_recipe(task, data=data.revision, model=source) | data.part
    asked = {
        name: value
        for name, value in arguments.task_args.items()
        if name in task.item_arguments
    }
    if asked:
        recipe["task_args"] = asked
    answered = _of_responses(task, data, responses, recipe, "not in the responses")
    # Not their content: a corrected file is scored again into the same folder, in which
    # nothing else lies.
    return answered, {
        "tasks": [task.name],
        "model": name,
        "data": {task.name: data.identity},
        **({"task_args": asked} if asked else {}),
    }


def _check_one(**given: object) -> None:
    names = [f"--{name}" for name, value in given.items() if value]
    if len(names) > 1:
        raise UsageError(
            f"{' and '.join(names)}: the interval would carry the error of one of them alone. Give "
            "one."
        )


def _from_run(
    task: TaskSpec, spec: DatasetSpec, arguments: Score
) -> tuple[AnsweredTask, JsonDict]:
    """The answers of a run, and what tells this scoring from others."""
    folder: Path = arguments.responses
    entries = read_results(folder)["tasks"]
    if task.name not in entries:
        raise UsageError(
            f"{folder}: has no answers to {task.name}, but to {', '.join(entries)}."
        )
    recipe = entries[task.name]["recipe"]
    check_recipe(folder, recipe)
    _check_same_items(folder, recipe, arguments)
    part, drawn = asked_part(recipe), read_drawn(arguments)
    if drawn is not None and (any(part.values()) or "repeats" in recipe):
        raise UsageError(
            f"{folder}: ran on some of the items, or several times; --subset draws from one whole "
            "run. Leave it out."
        )
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    data = load_task_data(
        task, spec, data=arguments.data, config=config, split=split, **part
    )
    _check_one(
        subset=drawn or "subset" in recipe,
        repeats="repeats" in recipe,
        evaluations=arguments.evaluations > 1,
        calibration=arguments.calibration,
    )
    ran = run_answers(task, data, recipe, folder, upstream=arguments.upstream)
    data = draw(task, data, drawn)
    recipe, ids = {**recipe, **data.part}, {item.id for item in data.items}
    if "truncation" in recipe:
        left = recipe["truncation"]["words_left_out"]
        kept = {name: words for name, words in left.items() if name in ids}
        recipe["truncation"] = {**recipe["truncation"], "words_left_out": kept}
    answered = _of_responses(
        task, data, ran.responses, recipe, "not answered in the run"
    )
    answered = replace(
        answered, repeats=ran.repeats, details=ran.details, opening=ran.opening
    )
    if is_imported(recipe):
        why = {item: ran.unanswered[item] for item in answered.unanswered}
        reported = entries[task.name].get("reported", ())
        answered = replace(answered, unanswered=why, cut=ran.cut, reported=reported)
    # Answers to other prompts are another run's, though the model is the same.
    asked = {
        "prompts": recipe["prompts"],
        "max_new_tokens": (recipe["generation"] or {}).get("max_new_tokens"),
    }
    optional = (
        "task_args", "protocol", "roles", "shard", "subset", "repeats", RECIPE_KEY,
    )  # fmt: skip
    asked |= {name: recipe[name] for name in optional if name in recipe}
    settings = {"tasks": [task.name], "model": recipe["model"], "asked": asked}
    return answered, {**settings, "data": {task.name: data.identity}}


def _check_same_items(folder: Path, recipe: Json, arguments: Score) -> None:
    """Refuses another configuration or split than the run was on."""
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    other = None
    if arguments.config not in (None, config):
        other = f"configuration {config}, got --config {arguments.config}"
    elif arguments.split is not None and {*split_names(arguments.split)} != {
        *split_names(split)
    }:
        other = f"split {split}, got --split {arguments.split}"
    if other:
        raise UsageError(f"{folder}: ran on {other}. Leave it out.")


def _of_responses(
    task: TaskSpec,
    data: TaskData,
    responses: Mapping[str, str],
    recipe: Json,
    reason: str,
) -> AnsweredTask:
    """Answers that are there; `reason` is why items have none."""
    return AnsweredTask(
        task=task,
        items=data.items,
        responses=responses,
        unanswered={item.id: reason for item in data.items if item.id not in responses},
        recipe=recipe,
        scoring_args=data.found,
    )
