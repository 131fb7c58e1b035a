"""Hold runs against a policy: GO, NO-GO or INCONCLUSIVE, with reasons, for a release's checks.

    medical-tasks gate policy.toml runs/new

A policy is a TOML file:

    [tasks.medcalc]           # which results count: config, split, prompts, least_items, accept;
    config = "v1.0"           # what is left out is fixed by the task, and printed

    [[rule]]
    task = "medcalc"
    metric = "accuracy"
    at_least = 0.5            # or at_most, width_at_most (of the 95 % interval); by = "category" holds it against each group

    [[rule]]
    task = "medcalc"
    metric = "accuracy"
    against = "runs/old"      # folders from where the policy lies
    margin = 0.03             # no more than this worse than the other run, item by item

    [[rule]]
    task = "kqa"
    coverage_at_least = 0.98  # the share of items that are scored

    [[rule]]
    task = "kqa"
    check = "checks/kqa/check.json"
    judge_kappa_at_least = 0.6

Exit code 0 for GO, 6 for NO-GO, 7 for INCONCLUSIVE. See docs/compare.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from medical_tasks.io.output import tell

_CODES = {"GO": 0, "NO-GO": 6, "INCONCLUSIVE": 7}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("policy", type=Path, metavar="POLICY", help="the rules, a TOML file")
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folders of finished runs"
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints what each rule says; the exit code is the verdict's."""
    from medical_tasks.comparison.gating import gate, shown
    from medical_tasks.comparison.policies import read_policy

    policy = read_policy(arguments.policy)
    verdict, findings = gate(policy, arguments.runs)
    text, content = shown(verdict, findings, policy)
    tell(text, content)
    return _CODES[verdict]
