"""The verbs of this wing, one module each."""

from __future__ import annotations

from dataclasses import fields

from medical_tasks.guard.policy import Attestation, attestation_from
from medical_tasks.leaderboard.options import WithVerification
from medical_tasks.leaderboard.submission_package.contents import VerifyOptions
from medical_tasks.models.opener import full_name


def verification(arguments: WithVerification) -> tuple[VerifyOptions, Attestation]:
    """What a package is checked against, and where its data may go."""
    given = {each.name: getattr(arguments, each.name) for each in fields(VerifyOptions)}
    given["judge"] = full_name(given["judge"]) if given["judge"] else ""
    return VerifyOptions(**given), attestation_from(arguments)
