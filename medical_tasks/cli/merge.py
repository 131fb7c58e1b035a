"""Make one run of the parts that `run --shard` made, on one machine or several; no model is opened.

    medical-tasks run --tasks medcalc --model hf/path/to/model --shard 1/2 --out parts/1
    medical-tasks run --tasks medcalc --model hf/path/to/model --shard 2/2 --out parts/2
    medical-tasks merge parts/1 parts/2 --out runs/whole

The result is that of one run of all items. Parts may overlap and may have been stopped half-way; exit code 5 where items are
missing, with the parts that would bring them. Parts of another model, data or judge are refused.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from medical_tasks.cli import Options, add_options
from medical_tasks.guard.policy import add_guard_arguments
from medical_tasks.runs.judge_arguments import add_judge_arguments

__all__ = ["add_arguments", "run"]

_OPTIONS: Final[Options] = {
    "": {
        "runs": {"nargs": "+", "type": Path, "metavar": "RUN", "help": "folders of the parts"},
        "--out": {"required": True, "type": Path, "metavar": "DIR", "help": "folder of the whole run"},
        "--data": {
            "type": Path,
            "metavar": "DIR",
            "help": "folder of the built dataset (default: the user's data home)",
        },
        "--config": {"metavar": "NAME", "help": "dataset configuration (default: that of the parts)"},
        "--upstream": {
            "type": Path,
            "metavar": "DIR",
            "help": "checkout of the authors' repository, for --prompts official",
        },
        "--task-args": {
            "default": "",
            "metavar": "K=V,...",
            "help": "settings of the task's scoring, as the parts had them",
        },
    }
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    add_options(parser, _OPTIONS)
    add_judge_arguments(parser)
    add_guard_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Merges the parts; exit code 5 when items are unanswered or unscored."""
    from medical_tasks._api import merged
    from medical_tasks.cli.run import AGAIN, report_results

    done = merged(arguments)
    return 0 if done is None else report_results(done[0], next_step=done[1] or AGAIN)
