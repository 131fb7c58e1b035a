"""What a reply is searched for: the form of the answer, its unit, and what replies call it."""

from __future__ import annotations

from typing import Final, NamedTuple

from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.numbers.quantities import NO_UNIT, Scanner, Unit

__all__ = ["KINDS", "Names", "Subject"]

KINDS: Final = (
    "score|scale|index|criteria|rule|equation|formula|calculator|calculations?|value"
)
"""What a name may end with."""
_WITH_NAME: Final = Pattern(
    r"(?i)(?:\s?\(?[a-z]{0,8}\s?(?:19|20)\d\d(?![-/.]?\d)\)?)?(?:['’]s)?(?:\s3\.0)?"
    rf"(?:\s(?:{KINDS}|rate|interval|level|concentration)s?\b){{0,2}}"
    r"(?:\s?\((?!\d)(?:[^()\d=]|1\.73|m\^2){1,40}\))?"
)
"""What belongs to a name and follows it."""


_YEAR: Final = len("2021 ")
_IN_FRONT: Final = Pattern(r"(?<!\w)(?<!\d )(?:(?:19|20)\d\d )?\Z")
"""What stands in front of a name: no letter and no number, but maybe a year."""


class Names(NamedTuple):
    """What replies call what is asked for.

    Attributes:
        pattern: finds a name in small letters, in a group `capitals` one that is a name
            in capitals alone: "MAP" is a blood pressure, "map" none.
        not_behind: what makes another name of it: "corrected anion gap" is another
            quantity than "anion gap".
    """

    pattern: Pattern
    not_behind: tuple[str, ...] = ()

    def find(self, text: str, small: str, start: int) -> tuple[int, int] | None:
        """Where the next name begins, with the year in front of it, and where it ends.

        Args:
            text: a text.
            small: the same in small letters.
            start: from which place on a name counts.
        """
        at = start
        while (name := self.pattern.search(small, at)) is not None:
            first, end = name.span()
            at = first + 1
            front = _IN_FRONT.search(small, max(start, first - _YEAR), first)
            if front is None or (name["capitals"] and not text[first:end].isupper()):
                continue
            if front.start() < first or not small.endswith(self.not_behind, 0, first):
                return front.start(), end

        return None


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
    names: Names | None = None

    def masked(self, text: str, sign: str) -> str:
        """The text with a sign instead of each name and what belongs to it ("CKD-EPI 2021")."""
        if self.names is None:
            return text

        small = text.replace("İ", "i").lower()  # this letter alone would become two
        parts: list[str] = []
        end = 0
        while (name := self.names.find(text, small, end)) is not None:
            parts += (text[end : name[0]], sign)
            whole = _WITH_NAME.match(text, name[1])
            end = whole.end() if whole else name[1]

        return "".join((*parts, text[end:]))
