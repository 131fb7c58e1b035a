"""The verbs of this wing, one module each."""

from __future__ import annotations

from dataclasses import fields

from medical_tasks.guard.policy import Attestation, attestation_from
from medical_tasks.leaderboard.options import WithVerification
from medical_tasks.leaderboard.submission_package.contents import VerifyOptions
from medical_tasks.models.opener import full_name


def verification(arguments: WithVerification) -> tuple[VerifyOptions, Attestation]:
    """Returns the options of a verification, and the attestation for the guard."""
    settings = {
        option.name: getattr(arguments, option.name) for option in fields(VerifyOptions)
    }
    settings["judge"] = full_name(settings["judge"]) if settings["judge"] else ""
    return VerifyOptions(**settings), attestation_from(arguments)
