"""What a reply is searched for: the form of the answer, its unit, and what replies call it."""

from __future__ import annotations

from typing import Final, NamedTuple

from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.numbers.quantities import NO_UNIT, Scanner, Unit

__all__ = ["KINDS", "Subject"]

KINDS: Final = (
    "score|scale|index|criteria|rule|equation|formula|calculator|calculations?|value"
)
"""What a name may end with."""
_WITH_NAME: Final = Pattern(
    r"(?i)(?:\s?\(?[a-z]{0,8}\s?(?:19|20)\d\d(?![-/.]?\d)\)?)?(?:['’]s)?(?:\s3\.0)?"
    rf"(?:\s(?:{KINDS}|rate|interval|level|concentration)s?\b){{0,2}}"
    r"(?:\s?\((?!\d)(?:[^()\d=]|1\.73|m\^2){1,40}\))?"
)
"""What belongs to a name behind it."""


class Subject(NamedTuple):
    """What is asked for.

    Attributes:
        scan: finds the quantities of its form.
        numeric: whether they are numbers, so that `str(<arithmetic>)` can be worked
            out.
        points: whether it is a number of points, which has no unit.
        unit: its unit; of dimension "" without one.
        unit_text: its unit as the calculator writes it, "" without one.
        names: what replies call it; None where nothing is known.
    """

    scan: Scanner
    numeric: bool = False
    points: bool = False
    unit: Unit = NO_UNIT
    unit_text: str = ""
    names: Pattern | None = None

    def masked(self, text: str, sign: str) -> str:
        """The text with a sign in place of each name and what belongs to it ("CKD-EPI 2021")."""
        parts: list[str] = []
        end = 0
        while self.names is not None and (name := self.names.search(text, end)):
            parts += (text[end : name.start()], sign)
            whole = _WITH_NAME.match(text, name.end())
            end = whole.end() if whole else name.end()
        return "".join((*parts, text[end:]))
