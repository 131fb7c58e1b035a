"""Check a submission package against the data: its answers are scored again, and everything in it is compared.

    medical-tasks verify my-model.zip
    medical-tasks verify my-model.zip --data DIR --json
    medical-tasks verify my-model.zip --responses runs/my-run
    medical-tasks verify my-model.zip --judge openai-api/my-host/judge-model --sample 50

Checked are the content's hash, the data's revision, every item with its groups, the recipe against
this version, the answers' hashes, their scores item by item, the verdicts, and every number of the
results. Each is told as `match`, `mismatch` or `not checked`, with what was compared or is missing.
Data are those built here, or --source. A package on credentialed data holds no answers: --responses
gives them. The judge that compares words is asked again; what another judge said is held against
its texts, and --judge asks it about a sample.

Exit codes: 0 nothing differs, and the scores of every task were computed again; 5 nothing differs,
but of some task they could not be, so that nothing is proven; 6 something differs; 2 it is no
package; 3 the judge that was named is not there.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Final

from medical_tasks._api import verified
from medical_tasks.guard.policy import Attestation, attestation_from
from medical_tasks.io.output import tell
from medical_tasks.leaderboard.submission_package.contents import Verification, VerifyOptions
from medical_tasks.models.opener import full_name, parse_model_args

UNPROVEN: Final = 5
MISMATCH: Final = 6


def verification(arguments: argparse.Namespace) -> tuple[VerifyOptions, Attestation]:
    """What a package is checked against, and where its data may go; defaults for what is None."""
    given = {each.name: getattr(arguments, each.name) for each in fields(VerifyOptions)}
    for setting in ("task_args", "judge_args"):
        option = f"--{setting.replace('_', '-')}"
        given[setting] = parse_model_args(given[setting] or "", option=option)
    given["judge"] = full_name(given["judge"]) if given["judge"] else None
    options = VerifyOptions(**{name: value for name, value in given.items() if value is not None})
    return options, attestation_from(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Verifies a package; its exit code says what was found."""
    model, found = verified(arguments)
    tell(_shown(arguments.package, model, found), found.as_json())
    return MISMATCH if found.differs else UNPROVEN if found.unproven else 0


def _shown(path: Path, model: str, found: Verification) -> str:
    width = max(len(check.name) for check in found.checks)
    lines = [f"{path}: {model}, id {found.package}\n"]
    lines += [
        f"  {check.outcome:<11}  {check.name:<{width}}  {check.detail}" for check in found.checks
    ]
    counted = {
        outcome: sum(check.outcome == outcome for check in found.checks)
        for outcome in ("match", "mismatch", "not checked")
    }
    said = ", ".join(f"{number} {outcome}" for outcome, number in counted.items())
    if found.differs:
        verdict = "It does not match"
    elif found.unproven:
        verdict = f"Nothing differs, and nothing is proven of {', '.join(found.unproven)}"
    else:
        verdict = "It matches"
    lines.append(f"\n{verdict}: {said}.")
    if found.on_trust and not found.differs:
        tasks = ", ".join(found.on_trust)
        lines.append(
            f"The judge of {tasks} was not asked again: its verdicts are the submitter's word "
            "(--judge asks it)."
        )
    return "\n".join(lines)
