"""The verb `verify` on the command line; `options.Verify` has its options."""

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
    """Verifies a package; the exit code gives the verdict."""
    model, checked = verified(arguments)
    tell(_shown(arguments.package, model, checked), checked.as_json())
    return MISMATCH if checked.differs else UNPROVEN if checked.unproven else 0


def verified(arguments: Verify) -> tuple[str, Verification]:
    """Verifies a package, and returns the name of its model and the verification."""
    package = read_package(arguments.package)
    options, attestation = verification(arguments)
    return package.manifest.submitter.model, verify_guarded(
        package, options, attestation
    )


def _shown(path: Path, model: str, checked: Verification) -> str:
    """Formats the checks as lines, with the verdict: a match, a difference, or unproven."""
    width = max(len(check.name) for check in checked.checks)
    lines = [f"{path}: {model}, id {checked.package}\n"]
    lines += [
        f"  {check.outcome:<11}  {check.name:<{width}}  {check.detail}"
        for check in checked.checks
    ]
    counted = {
        outcome: sum(check.outcome == outcome for check in checked.checks)
        for outcome in ("match", "mismatch", "not checked")
    }
    counts_text = ", ".join(
        f"{number} {outcome}" for outcome, number in counted.items()
    )
    if checked.differs:
        verdict = "It does not match"
    elif checked.unproven:
        verdict = (
            f"Nothing differs, and nothing is proven of {', '.join(checked.unproven)}"
        )
    else:
        verdict = "It matches"

    lines.append(f"\n{verdict}: {counts_text}.")
    if checked.on_trust and not checked.differs:
        tasks = ", ".join(checked.on_trust)
        lines.append(
            f"The judge of {tasks} was not asked again: its verdicts are the submitter's word "
            "(--judge asks it)."
        )

    return "\n".join(lines)
