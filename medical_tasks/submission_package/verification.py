"""What a verification found: each thing compared, whether it is the same, and what could not be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Check", "Outcome", "Verification"]

Outcome = Literal["match", "mismatch", "not checked"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was compared, or could not be.

    Attributes:
        name: what: `content`, or the task and the part (`medcalc: scores`).
        outcome: whether it is the same.
        detail: one line: how much was compared, what differs, or what is needed to check it. No text of credentialed data.
        from_elsewhere: whether it was compared with answers that the package does not bring itself.
    """

    name: str
    outcome: Outcome
    detail: str
    from_elsewhere: bool = False


@dataclass(frozen=True, kw_only=True)
class Verification:
    """All checks of a package.

    Attributes:
        package: id of the package.
        checks: in order.
    """

    package: str
    checks: Sequence[Check]

    @property
    def matches(self) -> bool:
        """Whether nothing differs, and of every task scores were computed again or answers from elsewhere compared."""
        return not self.differs and not self.unproven

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return any(check.outcome == "mismatch" for check in self.checks)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Tasks of which neither scores could be computed again nor answers from elsewhere compared."""
        proven: dict[str, bool] = {}
        for check in self.checks:
            task, colon, part = check.name.partition(": ")
            if colon:
                proves = part == "scores" or check.from_elsewhere
                proven[task] = proven.get(task, False) or (proves and check.outcome != "not checked")
        return tuple(task for task, done in proven.items() if not done)

    def as_json(self) -> dict[str, Any]:
        """The same as JSON: `package`, `matches`, `checks` with `name`, `outcome` and `detail`."""
        return {
            "package": self.package,
            "matches": self.matches,
            "checks": [{"name": check.name, "outcome": check.outcome, "detail": check.detail} for check in self.checks],
        }
