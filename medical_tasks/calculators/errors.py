"""The one error of this package that a user can cause."""

from __future__ import annotations

from medical_tasks.errors import UsageError

__all__ = ["CalculatorInputError", "UnitError"]


class CalculatorInputError(UsageError):
    """An input is missing, unreadable or impossible; the message names it, the rule and the value received."""

    def within(self, calculator: str) -> CalculatorInputError:
        """The same error with the calculator's name in front, for whoever reads it out of context."""
        return type(self)(f"{calculator}: {self}")


class UnitError(CalculatorInputError):
    """A unit is unknown, or measures something else than what is asked for."""
