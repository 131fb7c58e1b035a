"""How an input of a calculator is found among a patient's entities and read into a keyword argument.

Each kind of input has `read(raw, say)`: it turns what stands in the data into the value
of the function's parameter, says the line that shows it, and raises
`CalculatorInputError` when it cannot. `fold` makes one key of the many spellings of a
name, so that `FiO₂`, `FiO2` and `fio2` are the same input.
"""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.steps import Say
from medical_tasks.calculators.units import CalculatorInputError


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
"""`Input.absent` of an input without which there is no answer."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """One input: where it comes from and which parameter it feeds.

    Attributes:
        parameter: keyword of the calculator's function, with the unit at its end where
            there is one.
        name: the dataset's name for it, used in steps and messages.
        aliases: further names; case, spacing, punctuation and subscripts never matter.
        absent: value taken when it is not given, or `REQUIRED`.
        absent_text: what that value means, for the steps; the value itself when empty.
        silent: whether a missing value is no assumption and needs no step (a drug that
            is not taken).
    """

    parameter: str
    name: str
    aliases: tuple[str, ...] = ()
    absent: object = REQUIRED
    absent_text: str = ""
    silent: bool = False
    absent_line: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Write the step for a missing input once."""
        if self.absent is False:
            line = f"{self.name}: not mentioned, taken as absent."
        elif self.absent is None:
            line = f"{self.name}: not given{', ' + self.absent_text if self.absent_text else ''}."
        else:
            line = (
                f"{self.name}: not given, taken as {self.absent_text or self.absent}."
            )
        object.__setattr__(self, "absent_line", line)

    def absent_step(self, value: object) -> str:
        """The step that says what was taken for an input that is not given."""
        if value is self.absent:
            return self.absent_line
        return f"{self.name}: not mentioned, taken as {value}."

    def read(self, raw: object, say: Say) -> object:
        """The parameter's value."""
        raise NotImplementedError

    def doubt(self, raw: object, value: Any) -> str | None:
        """Why the unit of a value that was read cannot be meant, in a sentence.

        None when nothing speaks against it.
        """
        return None

    @property
    def expects(self) -> str:
        """What may be given, in a few words for a person."""
        raise NotImplementedError

    def schema(self) -> dict[str, object]:
        """The JSON schema of it as the argument of a tool."""
        return {"type": "string", "description": f"{self.name}: {self.expects}"}

    def written(self, value: Any) -> object:
        """A value that was read, as a tool's argument from which the same value is read."""
        raise NotImplementedError

    def agrees(self, value: Any, other: Any, *, within: float) -> bool:
        """Whether two values that were read are the same, numbers but for a relative difference."""
        return bool(value == other)

    @property
    def key(self) -> str:
        """What a person types.

        The dataset's name or the first alias that is short and plain, else the
        parameter.
        """
        for name in (self.name, *self.aliases[:1]):
            letters = name.replace(" ", "")
            if len(name) <= 24 and letters.isascii() and letters.isalnum():
                return name.lower().replace(" ", "_")
        return self.parameter


@dataclass(frozen=True, kw_only=True)
class Quantity(Input):
    """A measured value.

    `rival` is the same measure by another factor between units, where laboratories do
    not agree on one.
    """

    measure: Measure
    rival: Measure | None = None

    def read(self, raw: object, say: Say) -> float:
        """The value in the measure's unit."""
        value, line = self.measure.read(raw, self.name)
        say(line)
        return value

    def doubt(self, raw: object, value: float) -> str | None:
        """See `Input.doubt`."""
        return self.measure.doubt(raw, value, self.name)

    def schema(self) -> dict[str, object]:
        """A number in the measure's unit; texts with another unit are read too."""
        unit = self.measure.unit
        description = f"{self.name} in {unit}" if unit else self.name
        return {"type": "number", "description": description.replace("in per ", "per ")}

    def written(self, value: float) -> object:
        """See `Input.written`."""
        return value

    def agrees(self, value: float, other: float, *, within: float) -> bool:
        """See `Input.agrees`."""
        return numbers_agree(value, other, within=within)

    @property
    def expects(self) -> str:
        """The accepted units."""
        return ", ".join(self.measure.accepted) + (
            ", or a sum of them" if self.measure.compound else ""
        )


_YES: Final = frozenset({"true", "yes", "y", "1", "present", "positive", "t"})
_NO: Final = frozenset({"false", "no", "n", "0", "absent", "negative", "f", "none"})


@dataclass(frozen=True, kw_only=True)
class Flag(Input):
    """A finding that is there or not.

    Not mentioned is taken as absent unless `absent` says otherwise.

    `yes` and `no` are further words (folded), such as a severity that presupposes the
    finding.
    """

    absent: object = False
    yes: frozenset[str] = frozenset()
    no: frozenset[str] = frozenset()
    _lines: tuple[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Write the steps for both answers once."""
        super().__post_init__()
        object.__setattr__(self, "_lines", (f"{self.name}: no.", f"{self.name}: yes."))

    def read(self, raw: object, say: Say) -> bool:
        """Whether the finding is there."""
        present = raw if raw is True or raw is False else self._word(raw)
        say(self._lines[present])
        return present

    def _word(self, raw: object) -> bool:
        """A finding from a word: yes or no in usual words or the input's."""
        if isinstance(raw, (str, int, float)):
            word = fold(f"{raw:g}" if isinstance(raw, float) else str(raw))
            if word in _YES or word in self.yes:
                return True
            if word in _NO or word in self.no:
                return False
        raise CalculatorInputError(
            f"{self.name}: expected yes or no (True or False), got {raw!r}"
        )

    @property
    def expects(self) -> str:
        """Yes or no."""
        return "yes or no"

    def schema(self) -> dict[str, object]:
        """Whether the finding is there."""
        return {"type": "boolean", "description": self.name}

    def written(self, value: bool) -> object:
        """See `Input.written`."""
        return value


@dataclass(frozen=True, kw_only=True)
class Choice(Input):
    """One of a few classes, told by a word in any case and spacing.

    The first word of each value is its name in steps and messages.
    """

    words: Mapping[str, object]
    _folded: Mapping[str, tuple[object, str]] = field(
        init=False, repr=False, compare=False
    )
    labels: Mapping[object, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Fold the words once."""
        super().__post_init__()
        labels: dict[object, str] = {}
        folded: dict[str, tuple[object, str]] = {}
        for word, value in self.words.items():
            line = f"{self.name}: {labels.setdefault(value, word)}."
            folded[fold(word)] = folded[word] = (value, line)
        object.__setattr__(self, "_folded", folded)
        object.__setattr__(self, "labels", labels)

    def read(self, raw: object, say: Say) -> object:
        """The class's value."""
        choice = None
        if isinstance(raw, (str, bool)):
            word = str(raw)
            choice = self._folded.get(word) or self._folded.get(fold(word))

        if choice is None:
            raise CalculatorInputError(
                f"{self.name}: expected one of {self.expects}; got {raw!r}"
            )

        say(choice[1])
        return choice[0]

    @property
    def expects(self) -> str:
        """The classes, one word each."""
        return ", ".join(repr(word) for word in self.labels.values())

    def schema(self) -> dict[str, object]:
        """One of the classes."""
        words = list(self.labels.values())
        return {"type": "string", "description": self.name, "enum": words}

    def written(self, value: object) -> object:
        """See `Input.written`."""
        return self.labels[value]


_DATE: Final = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4})|(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII
)
_YEARS: Final = range(1900, 2201)


@dataclass(frozen=True, kw_only=True)
class Day(Input):
    """A calendar date."""

    def read(self, raw: object, say: Say) -> datetime.date:
        """The date."""
        day = _day(raw)
        if day is None or day.year not in _YEARS:
            raise CalculatorInputError(
                f"{self.name}: expected {self.expects}, got {raw!r}"
            )
        say(f"{self.name}: {day:%m/%d/%Y}.")
        return day

    @property
    def expects(self) -> str:
        """The accepted forms."""
        return f"a date as MM/DD/YYYY (or YYYY-MM-DD) of the years {_YEARS.start} to {_YEARS.stop - 1}"

    def schema(self) -> dict[str, object]:
        """A date."""
        return {"type": "string", "description": f"{self.name}, as MM/DD/YYYY"}

    def written(self, value: datetime.date) -> object:
        """See `Input.written`."""
        return f"{value:%m/%d/%Y}"


def numbers_agree(value: float, other: float, *, within: float) -> bool:
    """Whether a number is another but for a share of that other."""
    return math.isclose(value, other, rel_tol=0, abs_tol=abs(value) * within + 1e-9)


def _day(raw: object) -> datetime.date | None:
    """A date as Python has it, or as text; None for what is no date.

    Text is month/day/year, as in the dataset, or year-month-day.
    """
    if isinstance(raw, datetime.datetime):
        return raw.date()
    if isinstance(raw, datetime.date):
        return raw
    if not isinstance(raw, str) or (match := _DATE.fullmatch(raw.strip())) is None:
        return None

    month, day, year = (
        (match[1], match[2], match[3]) if match[3] else (match[5], match[6], match[4])
    )
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


# Misspellings that stand in the published data files; values and names with them must
# still be found.
_SPELLING = (
    ("faliure", "failure"),
    ("continous", "continuous"),
    ("mentinoed", "mentioned"),
)

MISSING_WORDS = frozenset(
    {
        "",
        "na",
        "nan",
        "null",
        "unknown",
        "missing",
        "notmentioned",
        "notgiven",
        "notavailable",
        "notreported",
        "notstated",
    }
)


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Letters and digits of a name in lower case.

    Spacing, punctuation, subscripts and known misspellings drop out.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    letters = "".join(filter(str.isalnum, plain))
    for wrong, right in _SPELLING:
        letters = letters.replace(wrong, right)
    return letters


def is_missing(raw: object) -> bool:
    """Whether a value says that nothing is known.

    None, an empty text, "Not mentioned" and the like.

    The word "None" is not among them: it is a class of its own in several scores (no
    liver disease, no surgery).
    """
    return raw is None or (isinstance(raw, str) and fold(raw) in MISSING_WORDS)
