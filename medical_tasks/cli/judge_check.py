"""The verb `judge-check` on the command line; `JudgeCheck` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.errors import IncompleteError
from medical_tasks.io.output import tell
from medical_tasks.judges.check_figures import render_check
from medical_tasks.judges.choosing import render_choice
from medical_tasks.judges.session import next_step
from medical_tasks.options import JudgeCheck
from medical_tasks.report.judge_checking import CheckedJudges, judge_check


def run(arguments: JudgeCheck) -> int:
    """Checks the judges; exit code 5 when one could not be checked, or pairs are without a verdict."""
    found = judge_check(arguments)
    if found is None:
        if arguments.forecast:
            tell("No judge was asked and nothing is written.")

        return 0

    if found.checks and len(found.files) == 1:
        (check,) = found.checks.values()
        tell(
            f"{render_check(check)}\n\n{render_choice(found.choice)}\n\n{found.files[0]}",
            check,
        )
    elif found.choice:
        page, _ = found.files
        *_, last = found.files
        tell(f"{render_choice(found.choice)}\n\n{page}\n\n{last}", found.choice)

    return _finish(found)


def _finish(found: CheckedJudges) -> int:
    """Says what is missing."""
    lost = [
        f"{name} could not be checked: {reason}."
        for name, reason in found.failed.items()
    ]
    for name, check in found.checks.items():
        if missing := check["pairs"] - check["scored"]:
            said = ", ".join(
                f"{count} x {reason}" for reason, count in check["unscored"].items()
            )
            about = f"{name}: " if len(found.checks) + len(found.failed) > 1 else ""
            lost.append(
                f"{about}{missing} of {check['pairs']} pairs have no verdict ({said}). "
                f"The figures are over the others. {next_step(check['unscored'])}"
            )

    if lost:
        raise IncompleteError("\n".join(lost))

    return 0
