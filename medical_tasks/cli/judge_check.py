"""The command `judge-check`."""

from __future__ import annotations

from medical_tasks.errors import IncompleteError
from medical_tasks.io.output import tell
from medical_tasks.judges.check_figures import render_check
from medical_tasks.judges.choosing import render_choice
from medical_tasks.judges.session import next_step
from medical_tasks.options import JudgeCheck
from medical_tasks.report.judge_checking import CheckedJudges, judge_check


def run(arguments: JudgeCheck) -> int:
    """Checks the judges; exit code 5 if one could not be checked, or pairs have no verdict."""
    checked = judge_check(arguments)
    if checked is None:
        if arguments.forecast:
            tell("No judge was queried and nothing is written.")

        return 0

    if checked.checks and len(checked.files) == 1:
        (check,) = checked.checks.values()
        tell(
            f"{render_check(check)}\n\n{render_choice(checked.choice)}\n\n{checked.files[0]}",
            check,
        )
    elif checked.choice:
        page, _ = checked.files
        *_, last = checked.files
        tell(f"{render_choice(checked.choice)}\n\n{page}\n\n{last}", checked.choice)

    return _finish(checked)


def _finish(checked: CheckedJudges) -> int:
    """Raises an error that lists what is missing."""
    lost = [
        f"{name} could not be checked: {reason}."
        for name, reason in checked.failed.items()
    ]
    for name, check in checked.checks.items():
        if missing := check["pairs"] - check["scored"]:
            reasons = ", ".join(
                f"{count} x {reason}" for reason, count in check["unscored"].items()
            )
            about = f"{name}: " if len(checked.checks) + len(checked.failed) > 1 else ""
            lost.append(
                f"{about}{missing} of {check['pairs']} pairs have no verdict ({reasons}). "
                f"The figures are over the others. {next_step(check['unscored'])}"
            )

    if lost:
        raise IncompleteError("\n".join(lost))

    return 0
