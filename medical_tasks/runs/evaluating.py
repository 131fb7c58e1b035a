"""Runs tasks from the options of `medical-tasks run`: data, model, judge and results."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.data.task_data import (
    TaskData,
    load_task_data,
    read_drawn,
)
from medical_tasks.errors import UsageError, check_least, doing
from medical_tasks.guard import policy
from medical_tasks.io.output import tell
from medical_tasks.models.base import Model, processes
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
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.baselines import check_truncate, run_baseline
from medical_tasks.runs.confidence import (
    ASKED,
    RECIPE_KEY,
    check_askable,
)
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import (
    RunFolder,
    default_folder,
    is_main_process,
    locked,
    open_run_folder,
)
from medical_tasks.runs.forecasting import TaskForecast, forecast_task, forecast_text
from medical_tasks.runs.judge_arguments import judge_request
from medical_tasks.runs.rescoring import (
    check_judge,
    check_one_source_of_error,
    checked_task_args,
    existing_store,
    forecast_judging,
    judge_of,
)
from medical_tasks.runs.results import (
    JsonDict,
)
from medical_tasks.runs.run_file import write_run_file
from medical_tasks.runs.runner import (
    ANSWER,
    RoleChoice,
    RoleModel,
    RunOptions,
    load_task_prompts,
    open_protocols,
    run_model,
)
from medical_tasks.spec import DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.options import Run
    from medical_tasks.runs.judging import JudgeRequest, RunJudge

Specs = Mapping[str, DatasetSpec]
BASELINE: Final = "baseline/"


def evaluate(arguments: Run) -> Path | None:
    """Asks a model and scores its answers.

    Returns:
        The run's folder; None after a forecast and in every process but the main one.
    """
    tasks = parse_task_names(arguments.tasks)
    checked_task_args(arguments.task_args, tasks)
    tasks = [task.asked_with(arguments.task_args) for task in tasks]
    specs = {task.name: dataset_spec(task.dataset) for task in tasks}
    check_least({"--max-new-tokens": arguments.max_new_tokens})
    subjects = [policy.Subject.of(specs[task.name], task=task.name) for task in tasks]
    # Before a row is read: an error about private rows may not quote them.
    with policy.protect(subjects, policy.attestation_from(arguments)):
        return _run_or_forecast(arguments, tasks, specs)


class RunForecast(TypedDict):
    """The forecast usage of a run, for the tasks that ask its model."""

    model: str
    tasks: dict[str, TaskForecast]


def _forecast(setup: _Setup, store: Path | None) -> RunForecast:
    """Forecasts a run without the answers that are already stored."""
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
    """A run before anything is opened, with its checked options and the settings of its folder.

    Attributes:
        name: the model's full name.
        tasks: the tasks in the order in which they are asked.
        data: the tasks' items, by task name.
        options: how the tasks are asked.
        judge: the judge; None if no task needs one.
        settings: the settings that decide answers; other settings need another folder.
    """

    name: str
    tasks: Sequence[TaskSpec]
    data: Mapping[str, TaskData]
    options: RunOptions
    judge: JudgeRequest | None
    settings: JsonDict


def _set_up(arguments: Run, tasks: Sequence[TaskSpec], specs: Specs) -> _Setup:
    """Checks all options and loads the data before a model is opened.

    Errors show up now and not after hours of answers.
    """
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
    check_one_source_of_error(
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


def _run_or_forecast(
    arguments: Run, tasks: Sequence[TaskSpec], specs: Specs
) -> Path | None:
    """Runs or forecasts the tasks; returns what `evaluate` returns.

    The folder is private if the texts of any of its datasets are.
    """
    setup = _set_up(arguments, tasks, specs)
    path = arguments.out or default_folder(setup.name, setup.settings)
    if arguments.forecast:
        if is_main_process():
            _tell_forecasts(setup, path)

        return None

    private = any(not policy.text_allowed(spec) for spec in specs.values())
    folder = open_run_folder(path, setup.settings, private=private)
    with locked(folder):
        if is_main_process():
            write_run_file(folder.path, arguments)

        return _answer_and_score(setup, folder)


def _tell_forecasts(setup: _Setup, path: Path) -> None:
    """Prints the forecast of answering and judging, without what the folder already has."""
    forecast = _forecast(setup, existing_store(path))
    text = (
        forecast_text(setup.name, forecast["tasks"])
        or f"{setup.name} is asked nothing."
    )
    tell(text, forecast)
    if setup.judge is not None:
        forecast_judging(setup.judge, _references(setup))
        once = " for each repeat" if setup.options.repeats > 1 else ""
        tell(f"Judging is{once} with the reference answers instead of the model's.")

    tell("Nobody was asked, nothing is written.")


def _budget(
    arguments: WithCeilings,
    name: str,
    model_args: Mapping[str, str],
    roles: Mapping[str, RoleChoice],
) -> RunBudget | None:
    """Reads the ceilings for the answers; None if none is given."""
    ceilings = {
        option_name(field): getattr(arguments, field)
        for field in parameters(WithCeilings)
    }
    if not (
        options := [option for option, limit in ceilings.items() if limit is not None]
    ):
        return None

    if name.startswith(BASELINE):
        raise UsageError(
            f"{name} is asked nothing, so {', '.join(options)} has no meaning for it. Leave it "
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
    """Collects the settings of a run's folder, which identify the run.

    Arguments that change no answer, such as how much is asked at once, may differ when a run
    is resumed. Optional settings appear only where they are given, so that older folders
    still match.
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


def read_roles(
    options: Sequence[str], tasks: Sequence[TaskSpec], *, model: str
) -> dict[str, RoleChoice]:
    """Reads `--role ROLE=MODEL` or `ROLE=MODEL,KEY=VALUE,...` for each role of the tasks' protocols.

    The roles need no models if `model` is a baseline, which talks with nobody.
    """
    declared = {role: about for task in tasks for role, about in task.roles.items()}
    roles: dict[str, RoleChoice] = {}
    for text in options:
        role, equals, rest = text.partition("=")
        name, _, args = rest.partition(",")
        if role not in declared:
            available = (
                f"They have: {', '.join(declared)}." if declared else "They have none."
            )
            raise UsageError(
                f"--role {text}: {role!r} is no role of {', '.join(task.name for task in tasks)}. "
                f"{available}"
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

    missing = [role for role in declared if role not in roles]
    if missing and not model.startswith("baseline/"):
        role = missing[0]
        raise UsageError(
            f"the role {role} ({declared[role]}) needs a model: --role {role}=MODEL, named as for "
            "--model."
        )

    return roles


def _answer_and_score(setup: _Setup, folder: RunFolder) -> Path | None:
    """Answers the tasks and scores the answers.

    A judge that needs no weights is opened first, so that its errors show up at once.
    """
    check_judge(setup.judge, setup.tasks)
    for task in setup.tasks:
        if arguments := task.scoring_args(setup.options.task_args):
            # Reports missing files before a model answers.
            task.benchmark.scoring_identity(task, arguments)

    early = _open_early(setup, folder)
    if early is not None:
        _forecast_server_judge(setup, folder, early)

    with doing(
        f"answer {', '.join(task.name for task in setup.tasks)} with {setup.name}"
    ):
        answered = _answers(setup, folder)

    if answered is None:
        return None

    with early or judge_of(setup.judge, folder) as judge:
        finish(answered, folder, judge)

    return folder.path


def _open_early(setup: _Setup, folder: RunFolder) -> RunJudge | None:
    """Opens a judge that needs no weights before the model answers; None for any other."""
    request = setup.judge
    if request is None:
        return None

    from medical_tasks.runs.judging import RunJudge, opens_early  # slow

    if not is_main_process() or not opens_early(request.name):
        return None

    early = RunJudge(request, store=folder.answers, log_dir=folder.logs)
    early.check_calibration(setup.tasks)
    return early


def _forecast_server_judge(setup: _Setup, folder: RunFolder, judge: RunJudge) -> None:
    """Prints what judging by a server will take, before a model's first answers."""
    from_model = not setup.name.startswith(BASELINE)
    on_server = judge.backend.endpoint is not None
    if not from_model or not on_server or folder.answers.exists():
        return

    once = " each repeat" if setup.options.repeats > 1 else ""
    print(
        f"With the reference answers instead of the model's, judging{once} would take:",
        file=sys.stderr,
    )
    request = judge.request
    forecast = replace(request, options=replace(request.options, forecast=True))
    forecast_judging(forecast, _references(setup))


def _references(setup: _Setup) -> Iterator[AnsweredTask]:
    """Yields the reference answers to judged tasks, instead of the model's."""
    for task in setup.tasks:
        if task.judge:
            yield run_baseline(
                "reference",
                task,
                setup.data[task.name],
                max_samples=setup.options.max_samples,
            )


def _answers(setup: _Setup, folder: RunFolder) -> list[AnsweredTask] | None:
    """Gets the answers of a model or a baseline; None in every process but the main one.

    Tasks that ask no model are answered by their own baseline.
    """
    if setup.name.startswith(BASELINE):
        return _baseline_answers(setup)

    baseline_tasks = [task for task in setup.tasks if task.baseline]
    model_tasks = [task for task in setup.tasks if not task.baseline]
    answered: list[AnsweredTask] | None = []
    others: list[AnsweredTask] | None = []
    if baseline_tasks:
        options = replace(
            setup.options, prompts="own", truncate="refuse", model_args={}
        )
        name = f"{BASELINE}{baseline_tasks[0].baseline}"
        answered = _baseline_answers(
            replace(setup, name=name, tasks=baseline_tasks, options=options)
        )

    if model_tasks:
        others = _model_answers(replace(setup, tasks=model_tasks), folder)

    if answered is None or others is None:
        return None

    by_name = {answers.task.name: answers for answers in (*answered, *others)}
    return [by_name[task.name] for task in setup.tasks]


def _baseline_answers(setup: _Setup) -> list[AnsweredTask] | None:
    """Makes the answers of a baseline, which is asked nothing."""
    name, options = setup.name, setup.options
    copies = name == f"{BASELINE}{COPY_EXAMPLE}"
    if options.model_args:
        raise UsageError(
            f"{name} does not accept --model-args, got {', '.join(options.model_args)}."
        )

    judged = any(task.judge for task in setup.tasks)
    if options.prompts != "own" and not copies and not judged:
        raise UsageError(
            f"{name} is asked nothing, so --prompts {options.prompts} has no meaning for it. "
            "Leave it out."
        )

    check_truncate(name, options.truncate)
    if not is_main_process():
        return None

    return [
        run_baseline(
            name.removeprefix(BASELINE),
            task,
            setup.data[task.name],
            max_samples=options.max_samples,
            task_args=options.task_args,
            prompts=options.prompts if copies else "own",
            upstream=options.upstream if copies else None,
        )
        for task in setup.tasks
    ]


def _model_answers(setup: _Setup, folder: RunFolder) -> list[AnsweredTask] | None:
    """Gets the answers of a model, which is opened after everything else was checked."""
    options = setup.options
    for task in setup.tasks:
        if task.arguments or options.prompts != "own":
            load_task_prompts(task, options, setup.data[task.name])

    open_protocols(setup.tasks, options)
    policy.require_processes()
    with contextlib.ExitStack() as opened:
        choice = RoleChoice(name=setup.name, args=options.model_args)
        model = _open_guarded(choice, "model", options, folder, opened)
        if model.is_main and not is_main_process():
            return None  # only one process asks a server

        if options.batch:
            model.ask_in_batches(folder.answers.with_name(JOURNAL))
        elif is_main_process():
            note_left(folder.answers, "model", ANSWER, option="--batch")

        roles = _open_roles(options, folder, opened)
        options = replace(options, roles=roles)
        return run_model(setup.tasks, setup.data, model, folder, options)


def _open_guarded(
    choice: RoleChoice,
    use: str,
    options: RunOptions,
    folder: RunFolder,
    opened: contextlib.ExitStack,
) -> Model:
    """Opens a model until the end of the run, under the guard and the run's budget."""
    model = open_model(choice.name, choice.args, log_dir=folder.logs)
    opened.callback(model.close)
    policy.require_endpoint(model.endpoint, use)
    if options.budget is not None:
        prices = read_prices(choice.args, model=choice.name)
        model.ceiling = Ceiling(options.budget, prices)

    return model


def _open_roles(
    options: RunOptions, folder: RunFolder, opened: contextlib.ExitStack
) -> dict[str, RoleModel]:
    """Opens and guards the models of the roles, in the main process, which alone asks them."""
    roles: dict[str, RoleModel] = {}
    for role, choice in options.role_choices.items() if is_main_process() else ():
        if is_local(choice.name) and processes() > 1:
            raise UsageError(
                f"--role {role}={choice.name}: a model inside the process cannot play a role when "
                "several processes were started. Serve it, or start one process."
            )

        use = f"model of the role {role}"
        model = _open_guarded(choice, use, options, folder, opened)
        roles[role] = RoleModel(model=model, args=choice.args)

    return roles
