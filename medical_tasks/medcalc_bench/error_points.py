"""Compares the points a reply gives, criterion by criterion, with those of our own steps, for rule-based scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.medcalc_bench.error_reading import NUMBER, Working, close
from medical_tasks.medcalc_bench.plain_text import NUMBER_WORDS

__all__ = ["Step", "StepReading", "mentions", "read_steps", "same_value", "steps_of"]

_STEP = re.compile(r"(?P<label>.*): (?P<points>[+-][\d.]+), total [-\d.]+\.")
_POINTS = re.compile(
    r"(?<![\w.])([+-]?\d+(?:\.5)?)\s*(?:points?\b|pts?\b)|\(\s*([+-]?\d(?:\.5)?)\s*\)\s*$|"
    r"(?<![\w.])(\+\d+(?:\.5)?)\b(?!\s*\d)|[:=→]\s*([+-]?\d(?:\.5)?)\s*\.?$",
    re.IGNORECASE,
)
_RUNNING = re.compile(
    r"(?:\btotal\W{0,3})?-?\d+(?:\.5)?\s?[+-]\s?-?\d+(?:\.5)?\s?=\s?-?\d+(?:\.5)?|\btotal\W{0,3}-?\d+(?:\.5)?",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(rf"\b({'|'.join(NUMBER_WORDS[:11])}) (?:points?|pts?)\b", re.IGNORECASE)
_NO_POINTS = re.compile(r"\b(?:no|zero) points?\b", re.IGNORECASE)
_YES = re.compile(r"\b(?:yes|present|positive|true|met|confirmed)\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|not|absent|none|negative|denies|denied|without|false|never)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\b(?:or|if|unless|versus|vs)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{3,}|[A-Z]{2,}")
_SMALL = frozenset(
    "absent present the and over under with from last month months week weeks day days previous history more less "
    "per least likely equally first within hours past disease score scores year years old for".split()
)
_STEM = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A criterion of a score, as our calculator counted it.

    Attributes:
        label: the criterion in words.
        points: what it gives.
        present: whether the finding is there; None for a criterion that is no finding.
        value: the patient's number it goes by; None for a finding.
    """

    label: str
    points: float
    present: bool | None
    value: float | None

    @property
    def key(self) -> frozenset[str]:
        """The stems of the words that tell it from others."""
        head = self.label if self.present is not None else re.split(r"\d", self.label, maxsplit=1)[0]
        return _stems(head)


@dataclass(frozen=True, slots=True)
class StepReading:
    """A criterion with what the reply says of it.

    Attributes:
        step: ours.
        line: the reply's line.
        points: the points it gives there.
        present: what it says of the finding; None when it cannot be told.
        numbers: the numbers of the line.
    """

    step: Step
    line: str
    points: float
    present: bool | None
    numbers: tuple[float, ...]


def steps_of(explanation: str) -> list[Step]:
    """Reads the counted criteria out of a calculator's explanation (`trace.Points` writes them)."""
    found = []
    for line in explanation.split("\n"):
        match = _STEP.fullmatch(line)
        if match is None:
            continue
        label, present = match["label"], None
        for word, state in ((" present", True), (" absent", False)):
            if label.endswith(word):
                label, present = label.removesuffix(word), state
        number = NUMBER.search(label) if present is None else None
        value = float(number[0].replace(",", "")) if number else None
        found.append(Step(label, float(match["points"]), present, value))
    return found


def read_steps(working: Working, steps: Sequence[Step]) -> list[StepReading]:
    """Finds the line that gives points for each criterion.

    Only what is plain counts: a line that names one criterion of ours and gives one number of points; a criterion that two
    lines give different points is left out.
    """
    found: dict[int, list[StepReading]] = {}
    for line in working.lines:
        points = _points(line)
        if points is None:
            continue
        place = _matching(line, steps)
        if place is None:
            continue
        own = " ".join(sorted(steps[place].key))
        numbers = tuple(float(match[0].replace(",", "")) for match in NUMBER.finditer(line))
        found.setdefault(place, []).append(StepReading(steps[place], line, points, _state(line, own), numbers))
    return [
        readings[0]
        for _, readings in sorted(found.items())
        if len({(each.points, each.present) for each in readings}) == 1
    ]


def mentions(working: Working, step: Step) -> bool:
    """Whether any word of a criterion stands anywhere in the reply."""
    return bool(step.key & _stems(working.text))


def _stems(text: str) -> frozenset[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(word[:_STEM] for word in words if word not in _SMALL)


def _points(line: str) -> float | None:
    line = _RUNNING.sub(" ", line)  # "a total of 4 + 1 = 5" gives 1 point, if it says so
    given = {float(next(group for group in match.groups() if group is not None)) for match in _POINTS.finditer(line)}
    given |= {float(NUMBER_WORDS.index(match[1].lower())) for match in _IN_WORDS.finditer(line)}
    if _NO_POINTS.search(line):
        given.add(0.0)
    return next(iter(given)) if len(given) == 1 and not _CHOICE.search(line) else None


def _matching(line: str, steps: Sequence[Step]) -> int | None:
    """The one criterion all of whose words stand in a line; the one with the most words where several do."""
    stems = _stems(line)
    fitting = [place for place, step in enumerate(steps) if step.key and step.key <= stems]
    if not fitting:
        return None
    most = max(len(steps[place].key) for place in fitting)
    best = [place for place in fitting if len(steps[place].key) == most]
    rest = [place for place in fitting if place not in best and not steps[place].key <= steps[best[0]].key]
    return best[0] if len(best) == 1 and not rest else None


def _state(line: str, own: str) -> bool | None:
    said = _POINTS.sub(" ", _NO_POINTS.sub(" ", line))
    yes, no = _YES.search(said) is not None, _NO.search(said) is not None
    if no and ("no" in own.split() or "without" in own):
        return None
    return None if yes == no else yes


def same_value(reading: StepReading) -> bool:
    """Whether the line states the patient's number that our step goes by."""
    return reading.step.value is not None and any(close(number, reading.step.value) for number in reading.numbers)
