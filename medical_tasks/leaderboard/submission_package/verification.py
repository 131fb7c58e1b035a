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
    """

    name: str
    outcome: Outcome
    detail: str


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
        """Whether nothing differs, and the scores of every task were computed again."""
        return not self.differs and not self.unproven

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return any(check.outcome == "mismatch" for check in self.checks)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Tasks whose scores could not be computed again; the right hash of an answer says nothing of its score."""
        proven: dict[str, bool] = {}
        for check in self.checks:
            task, colon, part = check.name.partition(": ")
            if colon:
                proven[task] = proven.get(task, False) or (part == "scores" and check.outcome != "not checked")
        return tuple(task for task, done in proven.items() if not done)

    @property
    def on_trust(self) -> tuple[str, ...]:
        """Tasks whose verdicts are the submitter's word: their judge could be asked again, and was not."""
        found = (check.name.partition(": ") for check in self.checks if check.outcome == "not checked")
        return tuple(task for task, _, part in found if part == "judge")

    def as_json(self) -> dict[str, Any]:
        """The same as JSON: `package`, `matches`, `on_trust`, `checks` with `name`, `outcome` and `detail`."""
        return {
            "package": self.package,
            "matches": self.matches,
            "on_trust": list(self.on_trust),
            "checks": [{"name": check.name, "outcome": check.outcome, "detail": check.detail} for check in self.checks],
        }
