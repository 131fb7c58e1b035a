"""The verb `verify` on the command line; `Verify` in `options` says what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medical_tasks.io.output import tell
from medical_tasks.leaderboard.commands import verification
from medical_tasks.leaderboard.options import Verify
from medical_tasks.leaderboard.submission_package.contents import Verification
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.verifying import verify_guarded

UNPROVEN: Final = 5
MISMATCH: Final = 6


def run(arguments: Verify) -> int:
    """Verifies a package; its exit code says what was found."""
    model, found = verified(arguments)
    tell(_shown(arguments.package, model, found), found.as_json())
    return MISMATCH if found.differs else UNPROVEN if found.unproven else 0


def verified(arguments: Verify) -> tuple[str, Verification]:
    """Verifies a package: the name of its model, and what was found."""
    package = read_package(arguments.package)
    options, attestation = verification(arguments)
    return package.manifest.submitter.model, verify_guarded(
        package, options, attestation
    )


def _shown(path: Path, model: str, found: Verification) -> str:
    """The checks as lines, and what they prove: a match, a difference, or nothing."""
    width = max(len(check.name) for check in found.checks)
    lines = [f"{path}: {model}, id {found.package}\n"]
    lines += [
        f"  {check.outcome:<11}  {check.name:<{width}}  {check.detail}"
        for check in found.checks
    ]
    counted = {
        outcome: sum(check.outcome == outcome for check in found.checks)
        for outcome in ("match", "mismatch", "not checked")
    }
    said = ", ".join(f"{number} {outcome}" for outcome, number in counted.items())
    if found.differs:
        verdict = "It does not match"
    elif found.unproven:
        verdict = (
            f"Nothing differs, and nothing is proven of {', '.join(found.unproven)}"
        )
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
