"""Accepting by verification: the answers are scored again, and only what matches is accepted."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from medical_tasks.benchmarks.catalog import dataset_spec, task_spec
from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.board import Board

__all__ = ["verified_report"]


def verified_report(board: Board, name: str, arguments: argparse.Namespace) -> Mapping[str, Any]:
    """Verifies a submission's package.

    Args:
        board: the submissions.
        name: id of the submission.
        arguments: parsed options: those named as the fields of `VerifyOptions`, None for what is left to it, and the guard's.

    Returns:
        The report, of a verification that matches.

    Raises:
        RefusedError: A judge is not on this machine, and the data are credentialed.
        UsageError: Something does not match, or of some task nothing could be compared.
        MissingError: The judge that was named is not there, or the store cannot be reached.
    """
    from medical_tasks.guard import policy
    from medical_tasks.leaderboard.submission_package.verifying import VerifyOptions, verify_package
    from medical_tasks.models.opener import parse_model_args

    given = {each.name: getattr(arguments, each.name) for each in fields(VerifyOptions)}
    for setting in ("task_args", "judge_args"):
        if given[setting] is not None:
            given[setting] = parse_model_args(given[setting], option=f"--{setting.replace('_', '-')}")
    options = VerifyOptions(**{key: value for key, value in given.items() if value is not None})
    if options.sample < 1 or options.seed < 0:
        raise UsageError(f"--sample must be 1 or more and --seed 0 or more, got {options.sample} and {options.seed}.")
    package = board.package(name)
    tasks = [task_spec(each) for each in package.manifest.tasks]
    # The answers to credentialed data, and what is asked of a judge about them, stay on this machine.
    subjects = [policy.Subject.of(dataset_spec(task.dataset), task=task.name) for task in tasks]
    with policy.protect(subjects, policy.attestation_from(arguments)):
        found = verify_package(package, options)
    told = "\n".join(
        f"  {check.outcome}: {check.name}: {check.detail}" for check in found.checks if check.outcome != "match"
    )
    if found.differs:
        raise UsageError(
            f"{name}: does not match, and was not accepted. Nothing was changed; reject it, or ask its submitter.\n{told}"
        )
    # Hashes of answers that the package itself holds prove nothing: they must have been scored.
    scored = {check.name for check in found.checks if check.outcome == "match"}
    lacking = [task.name for task in tasks if f"{task.name}: scores" not in scored]
    if lacking or not found.matches:
        raise UsageError(
            f"{name}: of {', '.join(lacking or found.unproven)} nothing could be scored again, and it was not accepted. Give what "
            f"is lacking, or accept it with --unverified.\n{told}"
        )
    return found.as_json()
