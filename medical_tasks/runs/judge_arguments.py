"""Reads the options by which a user chooses a judge, the same in every verb that takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_tasks.errors import UsageError, check_least
from medical_tasks.options import (
    WithCalibration,
    WithCeilings,
    WithEvaluations,
    WithJudge,
    WithJudges,
    WithJudging,
    option_name,
    parameters,
    set_values,
)
from medical_tasks.runs.calibrating import read_calibration
from medical_tasks.spec import TaskSpec

if TYPE_CHECKING:
    from medical_tasks.runs.judging import JudgeRequest

_DEFAULT: Final = "lexical"


def each_judge(arguments: WithJudges) -> list[WithJudge]:
    """Returns the options of each judge; `--judge-args` is given once for all, or once for each.

    Raises:
        UsageError: there is neither one `--judge-args` nor as many as judges.
    """
    names, settings = arguments.judge, arguments.judge_args or ({},)
    if len(settings) not in (1, len(names)):
        raise UsageError(
            f"--judge-args is given {len(settings)} times, and --judge {len(names)} times. Give it "
            'once for all judges, or once for each in their order ("" for none).'
        )

    shared = {
        field.name: getattr(arguments, field.name) for field in fields(WithJudging)
    }
    pairs = zip(
        names, settings * len(names) if len(settings) == 1 else settings, strict=True
    )
    return [WithJudge(**shared, judge=name, judge_args=args) for name, args in pairs]


def judge_request(
    arguments: WithJudge,
    tasks: Sequence[TaskSpec],
    *,
    prompts: str = "own",
    upstream: Path | None = None,
) -> JudgeRequest | None:
    """Reads which judge to ask and how; None when no task needs a judge.

    Args:
        arguments: a verb's options; those with `WithCalibration` also name a check of the
            judge's errors.
        tasks: the tasks whose answers are judged.
        prompts: the judge's prompts, own or official.
        upstream: the authors' checkout, for the official ones.
    """
    check = arguments.calibration if isinstance(arguments, WithCalibration) else None
    source = (
        arguments.calibration_from
        if isinstance(arguments, WithCalibration)
        else "other"
    )
    if check is None and source != "other":
        raise UsageError(
            "--calibration-from says where the labels of --calibration CHECK are from. Give both, "
            "or neither."
        )

    if not any(task.judge for task in tasks):
        _refuse_judge_options(arguments, tasks)
        return None

    # Slow to import, and most verbs ask no judge.
    from medical_tasks.judges.base import JudgeOptions
    from medical_tasks.models.opener import full_name
    from medical_tasks.runs.judging import JudgeRequest, default_mode, default_votes

    evaluations = arguments.evaluations if isinstance(arguments, WithEvaluations) else 1
    check_least(
        {
            "--evaluations": evaluations,
            "--votes": arguments.votes,
            "--judge-reply-tokens": arguments.judge_reply_tokens,
        }
    )
    check_least(
        {
            "--max-judge-calls": arguments.max_judge_calls,
            "--max-judge-tokens": arguments.max_judge_tokens,
        },
        0,
    )
    name = full_name(arguments.judge or _DEFAULT)
    args = dict(arguments.judge_args)
    votes = (
        default_votes(name, args, tasks) if arguments.votes is None else arguments.votes
    )
    mode = arguments.judging or default_mode(tasks)
    calibration = None
    if check is not None and evaluations > 1:
        raise UsageError(
            "--calibration and --evaluations: the interval would include the error of only one of "
            "them. Give one."
        )

    if check is not None:
        settings = {"judge": name, "votes": votes, "mode": mode, "prompts": prompts}
        calibration = read_calibration(
            check, tasks, sampled=source == "run", **settings
        )

    return JudgeRequest(
        name=name,
        args=args,
        options=JudgeOptions(
            votes=votes,
            evaluations=evaluations,
            max_calls=arguments.max_judge_calls,
            max_tokens=arguments.max_judge_tokens,
            reply_tokens=arguments.judge_reply_tokens,
            batch=arguments.judge_batch,
            forecast=arguments.forecast,
            upstream=upstream,
        ),
        mode=mode,
        prompts=prompts,
        calibration=calibration,
    )


def _refuse_judge_options(arguments: WithJudge, tasks: Sequence[TaskSpec]) -> None:
    """Refuses options of a judge for tasks that need none."""
    judge_options = {*parameters(WithJudge), "calibration", "evaluations"}
    if isinstance(arguments, WithCeilings):
        # A model is asked, and a forecast is about its answers too.
        judge_options.discard("forecast")

    unused = [
        option_name(name) for name in set_values(arguments) if name in judge_options
    ]
    if unused:
        raise UsageError(
            f"{', '.join(unused)}: {', '.join(task.name for task in tasks)} needs no judge. "
            "Leave it out."
        )
