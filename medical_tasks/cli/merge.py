"""Make one run of the parts that `run --shard` made, on one machine or several; no model is opened.

    medical-tasks run --tasks medcalc --model hf/path/to/model --shard 1/2 --out parts/1
    medical-tasks run --tasks medcalc --model hf/path/to/model --shard 2/2 --out parts/2
    medical-tasks merge parts/1 parts/2 --out runs/whole

The result is that of one run of all items. Parts may overlap and may have been stopped half-way; exit code 5 where items are
missing, with the parts that would bring them. Parts of another model, data or judge are refused.
"""

from __future__ import annotations

import argparse


def run(arguments: argparse.Namespace) -> int:
    """Merges the parts; exit code 5 when items are unanswered or unscored."""
    from medical_tasks._api import merged
    from medical_tasks.cli.run import AGAIN, report_results

    done = merged(arguments)
    return 0 if done is None else report_results(done[0], next_step=done[1] or AGAIN)
