"""The command `gate`."""

from __future__ import annotations

from medical_tasks.io.output import tell
from medical_tasks.options import Gate

_CODES = {"GO": 0, "NO-GO": 6, "INCONCLUSIVE": 7}


def run(arguments: Gate) -> int:
    """Prints the finding of each rule; the exit code depends on the verdict."""
    from medical_tasks.comparison.gating import findings_report, gate
    from medical_tasks.comparison.policies import read_policy

    policy = read_policy(arguments.policy)
    verdict, findings = gate(policy, arguments.runs)
    text, content = findings_report(verdict, findings, policy)
    tell(text, content)
    return _CODES[verdict]
