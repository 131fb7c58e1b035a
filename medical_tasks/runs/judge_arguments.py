"""The options by which a user chooses a judge; the same for every verb that takes one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from medical_tasks.errors import UsageError, check_least
from medical_tasks.runs.calibrating import read_calibration
from medical_tasks.runs.judging import JudgeRequest, default_mode, default_votes
from medical_tasks.spec import TaskSpec

_DEFAULT = "lexical"
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "judge": {
        "metavar": "J",
        "help": "openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH, inspect/PROVIDER/NAME, recorded/FILE, or lexical "
        "(default: needs nothing, compares words, not comparable)",
    },
    "judge_args": {"default": "", "metavar": "K=V,...", "help": "settings of the judge's backend"},
    "votes": {
        "type": int,
        "metavar": "K",
        "help": "votes a verdict; the mode decides (default: the task's own number, 1 where a judge always says the same)",
    },
    "judging": {
        "choices": ("single", "batched"),
        "help": "one call a statement, or all statements of an answer in one (default: the task's own way)",
    },
    "judge_reply_tokens": {
        "type": int,
        "metavar": "N",
        "help": "longest reply of the judge, instead of the task's own; give a judge that reasons room, e.g. 4096",
    },
    "max_judge_calls": {
        "type": int,
        "metavar": "N",
        "help": "stop asking the judge after N requests",
    },
    "max_judge_tokens": {
        "type": int,
        "metavar": "N",
        "help": "stop asking the judge after N tokens",
    },
    "forecast": {"action": "store_true", "help": "only say what judging would cost; asks no judge"},
}


def add_judge_arguments(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Declares the options; of `several` judges `each_judge` makes the arguments for one."""
    group = parser.add_argument_group("judge", "for tasks whose answers a judge scores")
    for name, settings in _OPTIONS.items():
        more = (
            {"action": "append", "default": []}
            if several and name in ("judge", "judge_args")
            else {}
        )
        group.add_argument(f"--{name.replace('_', '-')}", **settings | more)


def each_judge(arguments: argparse.Namespace) -> list[argparse.Namespace]:
    """The arguments for each judge of those given; `--judge-args` is one for all, or one for each in the order of `--judge`."""
    names, args = arguments.judge, arguments.judge_args or [""]
    if len(args) not in (1, len(names)):
        raise UsageError(
            f"--judge-args is given {len(args)} times, and --judge {len(names)} times. Give it once for all judges, or once for "
            'each in their order ("" for none).'
        )
    several = zip(names, args * len(names) if len(args) == 1 else args, strict=True)
    return [
        argparse.Namespace(**{**vars(arguments), "judge": name, "judge_args": each})
        for name, each in several
    ]


def judge_request(
    arguments: argparse.Namespace, tasks: Sequence[TaskSpec], *, prompts: str = "own"
) -> JudgeRequest | None:
    """Reads whom to ask and how; None when no task needs a judge."""
    from medical_tasks.judges.base import JudgeOptions
    from medical_tasks.models.opener import full_name, parse_model_args

    calibration: Any = getattr(arguments, "calibration", None)
    if calibration is None and getattr(arguments, "calibration_from", "other") != "other":
        raise UsageError(
            "--calibration-from says where the labels of --calibration CHECK are from. Give both, or neither."
        )
    if not any(task.judge for task in tasks):
        names = [*_OPTIONS, *(["calibration"] if calibration else [])]
        given = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in names}
        unused = [
            name for name, value in given.items() if value not in (None, "") and value is not False
        ]
        if unused:
            raise UsageError(
                f"{', '.join(unused)}: {', '.join(task.name for task in tasks)} needs no judge. Leave it out."
            )
        return None
    check_least({"--votes": arguments.votes, "--judge-reply-tokens": arguments.judge_reply_tokens})
    check_least(
        {
            "--max-judge-calls": arguments.max_judge_calls,
            "--max-judge-tokens": arguments.max_judge_tokens,
        },
        0,
    )
    name = full_name(arguments.judge or _DEFAULT)
    args = parse_model_args(arguments.judge_args, option="--judge-args")
    votes = default_votes(name, args, tasks) if arguments.votes is None else arguments.votes
    mode = arguments.judging or default_mode(tasks)
    if calibration is not None:
        asked = {"judge": name, "votes": votes, "mode": mode, "prompts": prompts}
        calibration = read_calibration(
            calibration, tasks, sampled=arguments.calibration_from == "run", **asked
        )
    return JudgeRequest(
        name=name,
        args=args,
        options=JudgeOptions(
            votes=votes,
            max_calls=arguments.max_judge_calls,
            max_tokens=arguments.max_judge_tokens,
            reply_tokens=arguments.judge_reply_tokens,
            forecast=arguments.forecast,
            upstream=getattr(arguments, "upstream", None),
        ),
        mode=mode,
        prompts=prompts,
        calibration=calibration,
    )
