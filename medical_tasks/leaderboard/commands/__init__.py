"""The verbs of this wing, one module each."""

from __future__ import annotations

import argparse
from dataclasses import fields

from medical_tasks.guard.policy import Attestation, attestation_from
from medical_tasks.leaderboard.submission_package.contents import VerifyOptions
from medical_tasks.models.opener import full_name, parse_model_args


def verification(arguments: argparse.Namespace) -> tuple[VerifyOptions, Attestation]:
    """What a package is checked against, and where its data may go; defaults for what is None."""
    given = {each.name: getattr(arguments, each.name) for each in fields(VerifyOptions)}
    for setting in ("task_args", "judge_args"):
        option = f"--{setting.replace('_', '-')}"
        given[setting] = parse_model_args(given[setting] or "", option=option)
    given["judge"] = full_name(given["judge"]) if given["judge"] else None
    options = VerifyOptions(**{name: value for name, value in given.items() if value is not None})
    return options, attestation_from(arguments)
