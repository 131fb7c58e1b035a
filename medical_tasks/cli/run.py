"""Evaluate a model on tasks; prints the table, writes results.json, items.parquet and report.md.

    medical-tasks run --tasks medcalc --model hf/path/to/model
    medical-tasks run --tasks "medical|medcalc" --model openai-api/local/my-model
    medical-tasks run --tasks medcalc --model baseline/reference --config demo
    medical-tasks run --tasks kqa --model hf/path/to/model --judge openai-api/my-host/judge-model

The same command goes on with a run that was stopped. Over several GPUs, one model copy each:
    torchrun --nproc_per_node=4 -m medical_tasks run --tasks medcalc --model hf/path/to/model
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from medical_tasks.errors import IncompleteError, UsageError, doing
from medical_tasks.guard import policy
from medical_tasks.guard.policy import add_guard_arguments
from medical_tasks.runs.judge_arguments import add_judge_arguments
from medical_tasks.runs.runner import TRUNCATE

__all__ = ["add_arguments", "evaluate", "parse", "read_task_args", "report_results", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.usage = "medical-tasks run --tasks T --model M [options]"
    parser.add_argument(
        "--tasks",
        required=True,
        metavar="T",
        help="medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all",
    )
    parser.add_argument(
        "--model",
        required=True,
        metavar="M",
        help="hf/PATH, vllm/PATH, vllm-server/NAME, openai-api/HOST/NAME or baseline/NAME",
    )
    model = parser.add_argument_group("model")
    data = parser.add_argument_group("data and prompts")
    model.add_argument(
        "--model-args",
        default="",
        metavar="K=V,...",
        help="settings of the model's backend, e.g. batch_size=16,dtype=bfloat16",
    )
    parser.add_argument("--max-samples", type=int, metavar="N", help="at most N items a task, chosen by their ids")
    model.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="longest answer, instead of the task's own limit"
    )
    data.add_argument("--config", metavar="NAME", help="dataset configuration, e.g. demo")
    data.add_argument("--split", metavar="NAME", help="split to ask, or a+b for both, instead of the task's own")
    data.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the built dataset (default: the user's data home)"
    )
    data.add_argument("--prompts", default="own", metavar="SET", help="own (default) or official")
    data.add_argument(
        "--upstream", type=Path, metavar="DIR", help="checkout of the authors' repository, for --prompts official"
    )
    data.add_argument(
        "--task-args",
        default="",
        metavar="K=V,...",
        help="settings of the task itself, e.g. documents=FOLDER for kqa_rag",
    )
    model.add_argument(
        "--truncate",
        default="refuse",
        choices=TRUNCATE,
        help="what to do about questions with documents that do not fit the model's context: refuse the run (default), leave "
        "out the beginning of the oldest notes, or leave those unanswered",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="the run's folder (default: runs/MODEL-HASH)")
    add_judge_arguments(parser)
    add_guard_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the tasks; exit code 5 when an item has no answer or no score."""
    done = evaluate(arguments)
    return 0 if done is None else report_results(*done)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Reads the verb's options from words, for programs that call `evaluate`."""
    parser = argparse.ArgumentParser(prog="medical-tasks run")
    add_arguments(parser)
    return parser.parse_args(words)


def evaluate(arguments: argparse.Namespace) -> tuple[dict[str, Any], Path] | None:
    """Runs the tasks and writes the results.

    Args:
        arguments: the verb's options.

    Returns:
        What was written, and the run's folder; None in all but the main process of a distributed run.
    """
    from medical_tasks.benchmarks.catalog import dataset_spec, parse_task_names

    if arguments.max_new_tokens is not None and arguments.max_new_tokens < 1:
        raise UsageError(f"--max-new-tokens must be 1 or more, got {arguments.max_new_tokens}.")
    tasks = parse_task_names(arguments.tasks)
    specs = {task.name: dataset_spec(task.dataset) for task in tasks}
    subjects = [policy.Subject.of(specs[task.name], task=task.name) for task in tasks]
    # Before a row is read: what goes wrong with one may not be told in its own words.
    with policy.protect(subjects, policy.attestation_from(arguments)):
        return _evaluated(arguments, tasks, specs)


def _evaluated(
    arguments: argparse.Namespace, tasks: Sequence[Any], specs: Mapping[str, Any]
) -> tuple[dict[str, Any], Path] | None:
    from medical_tasks.data.task_data import load_task_data
    from medical_tasks.models.opener import NEUTRAL_ARGS, parse_model_args
    from medical_tasks.runs.folder import default_folder, is_main_process, locked, open_run_folder
    from medical_tasks.runs.judge_arguments import judge_request
    from medical_tasks.runs.runner import RunOptions

    model_args = parse_model_args(arguments.model_args)
    task_args = read_task_args(arguments.task_args, tasks)
    judge = judge_request(arguments, tasks, prompts=arguments.prompts)
    data = {
        task.name: load_task_data(
            task,
            specs[task.name],
            data=arguments.data,
            config=arguments.config,
            split=arguments.split,
            max_samples=arguments.max_samples,
        )
        for task in tasks
    }
    settings: dict[str, Any] = {
        "tasks": [task.name for task in tasks],
        "model": arguments.model,
        # How much is asked at once, and for how long, changes no answer: such arguments may differ when a run goes on.
        "model_args": {name: value for name, value in model_args.items() if name not in NEUTRAL_ARGS},
        "data": {name: part.identity for name, part in data.items()},
        "prompts": arguments.prompts,
        "max_new_tokens": arguments.max_new_tokens,
    }
    # Only where there are some, so that folders of tasks without them stay what they were.
    asked = {name: value for name, value in task_args.items() if any(name in task.arguments for task in tasks)}
    settings |= {"task_args": asked} if asked else {}
    settings |= {"truncate": arguments.truncate} if arguments.truncate != "refuse" else {}
    settings |= {"judge": judge.identity} if judge is not None else {}
    options = RunOptions(
        prompts=arguments.prompts,
        upstream=arguments.upstream,
        max_new_tokens=arguments.max_new_tokens,
        max_samples=arguments.max_samples,
        model_args=model_args,
        task_args=task_args,
        truncate=arguments.truncate,
    )
    if judge is not None and judge.options.forecast:
        if not is_main_process():
            return None
        _forecast(tasks, data, judge, options)
        print("This is with the reference answers in place of the model's. No judge was asked, nothing is written.")
        return None
    private = any(not policy.text_allowed(spec) for spec in specs.values())
    folder = open_run_folder(arguments.out or default_folder(arguments.model, settings), settings, private=private)
    with locked(folder):
        return _finished(arguments.model, model_args, tasks, data, folder, options, judge)


def read_task_args(text: str, tasks: Sequence[Any]) -> dict[str, str]:
    """Reads `--task-args`.

    Raises:
        UsageError: No task takes a setting of that name.
    """
    from medical_tasks.models.opener import parse_model_args

    given = parse_model_args(text, option="--task-args")
    known = {name for task in tasks for name in (*task.arguments, *task.scoring_arguments)}
    for name in given:
        if name not in known:
            said = f"They take: {', '.join(sorted(known))}." if known else "They take none."
            raise UsageError(
                f"--task-args: {name!r} is not a setting of {', '.join(task.name for task in tasks)}. {said}"
            )
    return given


def _finished(
    name: str, model_args: dict[str, str], tasks: Any, data: Any, folder: Any, options: Any, request: Any
) -> tuple[dict[str, Any], Path] | None:
    """Answers, then scores; a judge that needs no weights is opened first, so that what it lacks is told at once."""
    from medical_tasks.runs.finishing import finish
    from medical_tasks.runs.folder import is_main_process
    from medical_tasks.runs.judging import RunJudge, check_request, opens_early

    if request is not None:
        check_request(request, tasks)
    for task in tasks:
        if given := task.scoring_args(options.task_args):
            task.benchmark.scoring_identity(task, given)  # says what is missing before a model answers

    def opened() -> RunJudge:
        return RunJudge(request, store=folder.answers, log_dir=folder.logs)

    early = opened() if request is not None and is_main_process() and opens_early(request.name) else None
    from_model = not name.startswith("baseline/")
    if early is not None and from_model and early.endpoint is not None and not folder.answers.exists():
        print("With the reference answers in place of the model's, judging would take:", file=sys.stderr)
        _forecast(tasks, data, replace(request, options=replace(request.options, forecast=True)), options)
    with doing(f"answer {', '.join(task.name for task in tasks)} with {name}"):
        answered = _answers(name, model_args, tasks, data, folder, options)
    if answered is None:
        return None
    if request is None:
        return finish(answered, folder), folder.path
    with early or opened() as judge:
        return finish(answered, folder, judge), folder.path


def _forecast(tasks: Any, data: Any, request: Any, options: Any) -> None:
    """Says what judging would cost, with the reference answers in place of the model's."""
    import tempfile

    from medical_tasks.runs.baselines import run_baseline
    from medical_tasks.runs.finishing import score_responses
    from medical_tasks.runs.judging import RunJudge

    with (
        tempfile.TemporaryDirectory() as scratch,
        RunJudge(request, store=Path(scratch) / "none.sqlite", log_dir=Path(scratch)) as judge,
    ):
        for task in tasks:
            if task.judge:
                answered = run_baseline("reference", task, data[task.name], max_samples=options.max_samples)
                score_responses(answered, judge.task_judge(task).judging)


def _answers(name: str, model_args: dict[str, str], tasks: Any, data: Any, folder: Any, options: Any) -> Any:
    from medical_tasks.models.opener import open_model
    from medical_tasks.models.stand_ins import COPY_EXAMPLE
    from medical_tasks.runs.baselines import run_baseline
    from medical_tasks.runs.folder import is_main_process
    from medical_tasks.runs.runner import load_task_prompts, open_protocols, run_model

    kind, _, rest = name.partition("/")
    itself = [task for task in tasks if task.baseline and kind != "baseline"]
    if itself:
        # They ask no model: answered beside the others, in the main process alone.
        asked = [task for task in tasks if task not in itself]
        made = _answers(
            f"baseline/{itself[0].baseline}",
            {},
            itself,
            data,
            folder,
            replace(options, prompts="own", truncate="refuse"),
        )
        others = _answers(name, model_args, asked, data, folder, options) if asked else []
        if made is None or others is None:
            return None
        found = {each.task.name: each for each in (*made, *others)}
        return [found[task.name] for task in tasks]
    if kind == "baseline":
        if model_args:
            raise UsageError(f"{name} takes no --model-args, got {', '.join(model_args)}.")
        if options.prompts != "own" and rest != COPY_EXAMPLE and not any(task.judge for task in tasks):
            raise UsageError(
                f"{name} is asked nothing, so that --prompts {options.prompts} has no meaning for it. Leave it out."
            )
        if options.truncate != "refuse":
            raise UsageError(f"{name} is asked nothing, so that --truncate has no meaning for it. Leave it out.")
        if not is_main_process():
            return None
        known = {"max_samples": options.max_samples, "task_args": options.task_args}
        if rest == COPY_EXAMPLE:
            known |= {"prompts": options.prompts, "upstream": options.upstream}
        return [run_baseline(rest, task, data[task.name], **known) for task in tasks]
    for task in tasks:
        if task.arguments or options.prompts != "own":
            load_task_prompts(task, options, data[task.name])  # says what is missing before a model is loaded
    open_protocols(tasks, options)  # likewise
    policy.require_processes()
    model = open_model(name, model_args, log_dir=folder.logs)
    try:
        policy.require_endpoint(model.endpoint, "model")
        if model.is_main and not is_main_process():
            return None  # one process asks a server, however many were started
        return run_model(tasks, data, model, folder, options)
    finally:
        model.close()


AGAIN = "Give the same command again to try the missing ones."
TOO_LONG = "What is too long for the model stays unanswered: a longer context (max_length), or fewer --max-new-tokens, may help."


def report_results(results: dict[str, Any], folder: Path, *, next_step: str = AGAIN) -> int:
    """Prints the table, writes the report, and says whether anything is missing.

    Args:
        results: content of `results.json`.
        folder: the run's folder.
        next_step: what the user can do about items without an answer.

    Raises:
        IncompleteError: Some items have no answer or no score; everything is written all the same.
    """
    from medical_tasks.benchmarks.catalog import task_spec
    from medical_tasks.io.table import on_terminal
    from medical_tasks.judges.session import next_step as judge_step
    from medical_tasks.report.markdown import write_markdown
    from medical_tasks.report.terminal import render_table

    path = write_markdown(results, folder)  # first: who reads the table may leave in its middle, as `head` does
    print(render_table(results, bold=on_terminal()))
    print(f"\nresults: {folder / 'results.json'}\nreport:  {path}")
    missing = {
        name: entry["coverage"]["unscored"]
        for name, entry in results["tasks"].items()
        if entry["coverage"]["scored"] < entry["coverage"]["asked"]
    }
    if missing:
        reasons = {reason for found in missing.values() for reason in found}
        only_too_long = reasons == {"no answer: prompt too long"}
        if next_step == AGAIN and all(reason.startswith("judge: ") for reason in reasons):
            next_step = judge_step(reasons)
        lasting = {name: said for each in missing for name, said in task_spec(each).benchmark.lasting_reasons().items()}
        if known := {reason: said for reason, said in lasting.items() if reason in reasons}:
            next_step = " ".join([*known.values(), *([] if reasons <= set(known) else [next_step])])
        parts = [
            f"{name}: " + ", ".join(f"{count} x {reason}" for reason, count in counts.items())
            for name, counts in missing.items()
        ]
        troubles = {entry["judge"]["trouble"] for entry in results["tasks"].values() if "judge" in entry} - {None}
        if troubles:
            next_step = f"The judge could not be asked: {' '.join(sorted(troubles))} {next_step}"
        raise IncompleteError(
            f"not every item is scored ({'; '.join(parts)}). Known verdicts stand for missing ones above, with bounds for the "
            f"rest. {TOO_LONG if only_too_long else next_step}"
        )
    return 0
