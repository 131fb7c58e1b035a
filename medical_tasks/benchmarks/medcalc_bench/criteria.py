"""The criteria of a score, with their names: each is one step of our own calculator.

The inputs it depends on, and its points for other findings, are found by changing one input after the other.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from medical_tasks.calculators import CalculatorInputError, Result, find
from medical_tasks.calculators.inputs import Choice
from medical_tasks.io.files import packaged

__all__ = ["Criterion", "criteria_of", "words_of"]

_STEP = re.compile(r"(?P<label>.*): (?P<points>[+-][\d.]+), total [-\d.]+\.")
_FACTORS: Final = (
    0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.3, 1.5, 1.8, 2.2, 3, 5, 9,
)  # fmt: skip

# Further names of inputs, beside the dataset's own and what is left of those without "history", "in the last month" and the
# like: parameters of one meaning, apart by blanks, to a pattern. `systems` are names of what a score makes of a value.
_DATA: Final = packaged(__file__, "criteria_names.json")
_NAME_OF: Final[Mapping[str, str]] = {
    parameter: names for key, names in _DATA["names"].items() for parameter in key.split()
}
_SYSTEMS: Final[Mapping[str, str]] = _DATA["systems"]
_ASIDE: Final = re.compile(
    r"^(?:history of |recent |current |positive |elevated |acute |initial |best )|(?: history| present| in the last month|"
    r" on x-ray| severity| disease history| criteria for .*)$",
    re.IGNORECASE,
)


def words_of(parameter: str) -> str:
    """A pattern of the names of an input, "" when none are known."""
    return _NAME_OF.get(parameter, "")


@dataclass(frozen=True)
class Criterion:
    """A step of our calculator."""

    label: str
    points: float  # what the rule gives this patient
    present: bool | None  # None for a criterion that is no single finding
    inputs: tuple[str, ...]
    names: tuple[re.Pattern[str], ...]
    possible: frozenset[float]  # every number of points that the rule has for it
    accepted: Mapping[str, tuple[float, ...]]  # the forms in which the patient's numbers may stand, by parameter
    choices: Mapping[str, Mapping[str, object]]
    own: Mapping[str, Any]
    rule: Callable[[Mapping[str, object]], float | None] = field(repr=False)


def _steps(calculator: Any, used: Mapping[str, object]) -> list[tuple[str, float]] | None:
    lines: list[str] = []
    try:
        calculator.function(**used, say=lines.append)
    except (CalculatorInputError, ValueError):
        return None
    found = (_STEP.fullmatch(line) for line in lines)
    return [(match["label"], float(match["points"])) for match in found if match]


def criteria_of(result: Result, accepted: Mapping[str, tuple[float, ...]]) -> list[Criterion]:
    """The criteria of a score; none for an equation. `accepted` has the forms in which a parameter's number may be stated."""
    calculator = find(result.calculator_id)
    used = dict(result.used)
    own = _steps(calculator, used)
    if not own:
        return []
    plain_case = {name: False if isinstance(value, bool) else value for name, value in used.items()}
    base = _steps(calculator, plain_case) or own
    words = {each.parameter: each.words for each in calculator.inputs if isinstance(each, Choice)}
    inputs: list[set[str]] = [set() for _ in own]
    possible: list[set[float]] = [{points} for _, points in own]
    for name, value in used.items():
        for other in _others(value, words.get(name)):
            for start, before in ((plain_case, base), (used, own)):
                changed = _steps(calculator, {**start, name: other})
                if changed is None or len(changed) != len(own):
                    continue
                for place, (one, two) in enumerate(zip(before, changed, strict=True)):
                    if one != two:
                        inputs[place].add(name)
                        possible[place].add(two[1])
    for place, (label, _) in enumerate(own):
        inputs[place] |= {n for n, v in used.items() if v is None and re.search(_pattern(n, calculator), label, re.I)}
    found = []
    for place, (label, points) in enumerate(own):
        names = sorted(inputs[place])
        head = re.split(r"\s[-\d(]|: |, ", label.removesuffix(" present").removesuffix(" absent"), maxsplit=1)[0]
        finding = label.endswith((" present", " absent")) and all(isinstance(used[name], bool) for name in names)
        found.append(
            Criterion(
                label=label,
                points=points,
                present=label.endswith(" present") if finding else None,
                inputs=tuple(names),
                names=_compiled(calculator.id, tuple(names), head),
                possible=frozenset(possible[place]),
                accepted={
                    name: accepted.get(name) or (float(used[name]),)
                    for name in names
                    if isinstance(used[name], int | float) and not isinstance(used[name], bool) and name not in words
                }
                | _derived(label),
                choices={name: words[name] for name in names if name in words},
                own={name: used[name] for name in names},
                rule=lambda change, place=place: _points_at(calculator, {**used, **change}, place),  # type: ignore[misc]
            )
        )
    return found


def _points_at(calculator: Any, used: Mapping[str, object], place: int) -> float | None:
    steps = _steps(calculator, used)
    return steps[place][1] if steps and place < len(steps) else None


def _others(value: object, words: Mapping[str, object] | None) -> list[object]:
    if isinstance(value, bool):
        return [True, False]
    if words is not None:
        return list(dict.fromkeys(words.values()))
    if isinstance(value, int):
        return list(range(1, 16))
    if isinstance(value, float):
        return (
            [*(value * factor for factor in _FACTORS), *map(float, range(3, 16))] if value else [0.05, 1.0, 10.0, 20.0]
        )
    return []


def _pattern(name: str, calculator: Any) -> str:
    item = next((each for each in calculator.inputs if each.parameter == name), None)
    own = [re.escape(each) for each in (item.name, *item.aliases) if len(each) > 2] if item is not None else []
    return "|".join(filter(None, (*own, _NAME_OF.get(name))))


@functools.cache
def _compiled(calculator_id: int, names: tuple[str, ...], head: str) -> tuple[re.Pattern[str], ...]:
    """Each input's own names, each of the common ones and our label: of those that match, the longest counts."""
    calculator = find(calculator_id)
    forms = [re.escape(head), *(table[name] for table in (_NAME_OF, _SYSTEMS) for name in names if name in table)]
    items = [each for each in calculator.inputs if each.parameter in names]
    own = [word for each in items for word in (each.name, *each.aliases) if len(word) > 1]
    forms += [re.escape(form) for word in own for form in (word, _ASIDE.sub("", word))]
    return tuple(re.compile(rf"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z])", re.IGNORECASE) for form in dict.fromkeys(forms))


def _derived(label: str) -> dict[str, tuple[float, ...]]:
    match = re.match(r"(?:PaO2/FiO2|MAP)[^\d]*(\d[\d.]*)", label) or re.search(r"MAP (\d[\d.]*)", label)
    return {"": (float(match[1]),)} if match else {}
