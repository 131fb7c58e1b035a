"""Reads the finding or number, and the points, that a reply states for each criterion of a score.

A threshold, a range or the text of the rule is never the patient's number, and a passage
that could belong to two criteria belongs to none. A criterion is a step of our own
calculator: its inputs and its possible points are determined by changing one input after
the other.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.gold import score_steps
from medical_tasks.calculators import AnyCalculator, CalculatorInputError, Result, find
from medical_tasks.calculators.inputs import Choice
from medical_tasks.io.files import packaged
from medical_tasks.lab.working import NUMBER, Piece, Working, close
from medical_tasks.scoring.numbers.quantities import NUMBER_WORDS

# ---- Totals and running sums ----

_TOTAL = re.compile(
    r"(?i)\b(?:"
    r"(?:running |current |final |overall |grand )?(?:total|tally|sum)(?: (?:score|points|count"
    r"|of|so far|criteria))*"
    r"|(?:the |current |running |overall |final )+(?:score|count)"
    r"|score(?= (?:is|=|remains|stays|at|to|becomes))"
    r"|an? score(?= of)"
    r"|(?:number of )?(?:\w+ )?criteria (?:that are )?met(?= ?(?:=|:|is))"
    r"|\b(?:adding|summing)\b[\w ,]*?\b(?:gives|yields|makes|results in|get"
    r"|have)\b(?: an?)?(?: total| score| of)*"
    r")"
    r"(?:\s*(?:is|now|=|:|to|of|at|becomes|remains|stays|therefore|then|unchanged|goes|comes)\b"
    r"|\s*[=:])*\s*"
    r"(?P<expression>"
    r"[-+(]*\d+(?:\.\d+)?\)?(?:\s*[-+]\s*\(?-?\d+(?:\.\d+)?\)?)*(?:\s*=\s*-?\d+(?:\.\d+)?)?"
    r")"
)
"""A total with its number or its sum: "bringing the running total to 2 + 1 = 3"."""
_RUNNING_SUM = re.compile(
    r"-?\d+(?:\.\d+)?\s*(?P<sign>[-+])\s*\(?(?P<n>-?\d+(?:\.\d+)?)\)?\s*=\s*-?\d+(?:\.\d+)?"
)
"""A sum of two numbers; the second was just added."""
_ONLY_A_SUM = re.compile(r"^\W*\d[-\d.+()\s]*=\s*-?[\d.]+(?: points?)?\W*$")
_NAMED_TOTAL = re.compile(
    r"^\W*(?:[\w' -]{0,40}\b(?i:score|scale|index|criteria|rule)\b[\w' -]{0,20}?"
    r"|[A-Z][\w-]*[A-Z0-9][\w-]*)"
    r"\s*(?:=|:|\b(?:is|of))\s*(?P<n>-?\d+(?:\.\d+)?)(?: points?)?\W*$"
)
"""The score by its own name: "HAS-BLED = 3"."""
_CLOSING = re.compile(
    r"(?i)^\W*(?:the )?(?:total|sum|final|overall|adding|summing|add(?:ed)? (?:up|together)"
    r"|therefore|hence|thus"
    r"|in total|answer|altogether|current (?:score|total|count)|score|step_by|result"
    r"|so the (?:total|score))\b"
)
"""The beginning of a sentence with the total."""

# ---- Points that are awarded ----

_LESS = r"(?P<less>subtract\w*|deduct\w*|minus|decreas\w*|reduc\w*|los\w+)"
_POINTS_WORD = r"(?:points?|pts?)\b"
_NUMBER_OR_WORD = rf"(?P<n>[+-]?\d+(?:\.\d+)?|{'|'.join(NUMBER_WORDS)}|no|an?|single)"
_AWARDS = (
    # "two additional points", "subtract 2 points"
    re.compile(
        rf"(?i)(?:{_LESS}[\w ]{{0,16}} )?(?<![\w.]){_NUMBER_OR_WORD}"
        rf"(?: (?:additional|full|more|extra))?[ -]?{_POINTS_WORD}"
    ),
    # "increase the score by one"
    re.compile(
        rf"(?i)\b(?:{_LESS}|add\w*|increas\w*|increment\w*|plus)"
        r"(?: (?:the|it|its|our|score|total|count|criteria|current|by|of|another)){0,5}"
        rf" {_NUMBER_OR_WORD}\b(?! (?:years|mg|mm))"
    ),
    # "Points: 2"
    re.compile(
        r"(?i)\b(?:points?|pts|score)\s*[:=]\s*(?P<n>[+-]?\d+(?:\.\d+)?)(?![\d.]*\s*[/+=%])"
    ),
    # "+2"
    re.compile(
        r"(?<![\w.)/+-])(?<!\d )(?P<n>\+\s?\d+(?:\.\d+)?)(?![\d.]*\s*[=%])(?! ?(?:years|mg|mm))"
    ),
    # ": -2"
    re.compile(r":\s*(?P<n>-\d+(?:\.\d)?)(?=\s*(?:[,.;)]|$))"),
)
"""Numbers that are points."""
_PLAIN_NUMBER = r"(?P<n>[+-]?\d+(?:\.\d+)?)"
_WEAK_AWARDS = (
    # "worth 2", "scores 2 for"
    re.compile(
        r"(?i)(?:→|\bscor(?:es?|ing|ed)|\bearns?|\bgets?|\bgiv(?:es|ing)|\bworth|\bcontribut\w+"
        r"|\bcounts?(?: as| for)?)"
        rf"\s*{_PLAIN_NUMBER}(?=\s*(?:[.,;)\]]?\s*$|[,;)\]]|for\b))"
    ),
    # "(2)"
    re.compile(rf"[\[(]\s*{_PLAIN_NUMBER}\s*[\])]"),
    # "... = 2 (a remark)" at the end
    re.compile(r"(?:=|→|:|-)\s*(?P<n>[+-]?\d+(?:\.\d)?)\s*(?:\([^()]*\))?[\s.,;]*$"),
    # "2 for ..." at the start
    re.compile(r"^\s*(?P<n>[+-]?\d+(?:\.\d)?) (?:for|:|due to)"),
)
"""Numbers that may be points."""
_NO_POINTS = re.compile(
    r"(?i)\b(?:"
    r"(?:score|total|count|tally)? ?(?:remains?|stays?|is|keep\w*)(?: \w+){0,3} (?:unchanged"
    r"|the same)"
    r"|points? (?:should|is|are|was|were|will|would|can)(?: not|n't)\b[\w ]{0,16}"
    r"|points?(?: \w+)? not (?:be )?\w+"
    r"|(?:does|do|did|is|are)(?: not|n't) (?:score|count\w*|add\w*|earn|contribute|awarded"
    r"|given)\w*"
    r"|(?:scores?|adds?|earns?|contributes?|counts?(?: for)?) (?:nothing|none|zero)"
    r"|nothing (?:is )?added"
    r"|no (?:additional |extra )?points?"
    r")\b"
    r"|\bkeeping the (?:current |running )?total"
)
_FOR = re.compile(
    r"(?i)(?<![\w.])(?P<n>[+-]?\d+(?:\.\d)?|one|two|three|four|five) for\b"
)
_WHAT_FOR = re.compile(r"(?is).{0,4}\W*(?:each )?(?:for|to|because|due|on account)\b")
"""After points: the reason follows ("1 point for hypertension")."""
_EACH = re.compile(
    r"(?i)\b(?:each|both|all|none|neither|respectively|nor|no points? for|nothing for)\b"
)

# ---- The text of the rule, not about the patient ----

_RULE = re.compile(
    r"(?i)"
    r"(?:\bno\b|\byes\b|absent|present)\s*(?:=|:|→)\s*[+-]?\d.*(?:\byes\b|\bno\b|absent"
    r"|present)\s*(?:=|:|→)\s*[+-]?\d"
    r"|\bpoints?\b[^.;]{0,20}\b(?:if|when|for each|per)\b"
    r"|\bif (?:the|a|present|yes|any)\b"
    r"|\bassigns?\b.*\bfor\b"
)
_CLASSES = re.compile(
    r"(?i)[=:→(]\s*[+-]?\d+(?:\.\d)? points?\b.*[,;/].*[=:→(]\s*[+-]?\d+(?:\.\d)? points?\b"
)
"""Several classes with their points on one line."""
_OF_THE_PATIENT = re.compile(r"\bpatient|\bso we\b|\btherefore\b")
_WEIGHT = re.compile(
    r"(?i)\(\s*(?:\+|max\w* |up to |worth )?(?P<n>-?\d+(?:\.\d+)?)\s*(?:points?"
    r"|pts?)\s*\)\s*[:?]\s*(?=\S)"
)
"""The weight of a criterion before the patient's finding: "Hypertension (1 point): yes"."""
_BOUND = re.compile(
    r"(?i)(?:[<>≤≥]|\b(?:under|over|above|below|(?:less|more|greater|fewer|older|younger|lower"
    r"|higher) (?:than|or equal)"
    r"|at least|at most|exceed\w*|between|up to|within|last|past|previous|threshold|normal"
    r"|range|cut-?off|limit|class"
    r"|reaches|equal to))"
    r"(?: (?:of|or equal to|or|equal to|than|the|is|from|a))*\s*\d[\d.,]*"
    r"(?:\s*[^\s\d]{0,12}?\s*(?:-|to|and|or)\s*(?:under |over |less than |/)?\d[\d.,]*)*"
    r"|\d[\d.,]*\s*(?:-|to)\s*(?:under |less than |<)?\d[\d.,]*"
    r"|\d[\d.,]*\s*[^\s\d]{0,8}\s*(?:or|and) (?:more|less|older|above|over|higher|below|under"
    r"|lower|fewer|greater|younger)\b"
    r"|\d+\+"
    r"|\d+\s*-?(?:days?|weeks?|months?|hours?|h)\b"
    r"|\bstep \d+|\d+ of \d+"
)
"""A threshold, a range, a time: never the patient's number."""
_SCALE = re.compile(r"[x×*]?\s*10\s?\^\s?\d+(?:/\w+)?|/\s?(?:mm|m|kg/m)\^?\d|\bm\^\d")
"""A power of ten, or a power of a length in a unit."""

# ---- Findings ----

_MET = re.compile(r"(?i)\b(?:met|meets|meeting|satisf(?:ied|ies|ying)|fulfil\w+)\b")
_NOT_MET = re.compile(
    r"(?i)(?:\bnot|n't|\bfails? to|\bneither|\bwithout)\b[\w ,]{0,16}\b(?:met|meet\w*|satisf\w+"
    r"|fulfil\w+)"
)
_YES = re.compile(
    r"(?i)\b(?:yes|present|positive|true|met|meets|confirmed|documented|reported|noted"
    r"|describ\w+|appl(?:y|ies)|known"
    r"|has|had|have|there (?:is|was)|shows?|gives?|suffers|with|diagnosed|is on|takes|underwent"
    r"|evidence of|history of"
    r"|mentions)\b"
)
_NO = re.compile(
    r"(?i)\b(?:no|not|absent|none|negative|denie[sd]|without|false|never|missing|nothing"
    r"|lack\w*|neither|nor|absence"
    r"|unlikely|unremarkable)\b|n't\b"
)

# ---- Sentences and clauses ----

_SENTENCE_END = re.compile(
    r"(?<=[^\W\d][^\W\d])[.!?]\s+"
    r"|(?<=\d)\.\s+(?=[A-Z])"
    r"|(?<=[)\]\"'%])[.!]\s+"
    r"|\s+;\s+(?=[A-Z][a-z]+ [a-z]+ )"
)
_CLAUSE_BREAK = re.compile(
    r"[,;]\s+(?:and |but |while |whereas |with )?|\s+(?:and|but|while|whereas|plus)\s+|\)\s*|:\s+"
)

_OF_A_CASE = re.compile(
    r"(?i)\b(?:patient|he|she|his|her|yes|no|not|none|absent|present|mention\w*|document\w*"
    r"|report\w*|assum\w*|true|false)\b"
)
"""Words about a case: a recital of the rule has none of them."""
_FOR_WHAT = re.compile(
    r"(?i)(?<![\w.])(?P<n>\d+(?:\.\d)?)(?: points?)? for (?P<what>(?!each|the|this|that|it\b"
    r"|a\b|all)[a-z][\w -]{3,40}?)"
    r"(?= and |[,;.)]|$)"
)
"""Points with their reason: "2 (1 for atrial fibrillation and 1 for vascular disease)"."""
_COUGH_ABSENT = re.compile(
    r"(?i)absen\w+[\w ]*\W{1,4}(?:(?:finding|evidence|value)\W{1,3})?(?P<state>no|false|not"
    r"|absent|yes|true|present)\b"
)
_ABSENCE_OF_COUGH = re.compile(r"(?i)absence of (?:a )?cough")

# ---- Criteria ----

_FACTORS: Final = (
    0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95,
    1.05, 1.1, 1.2, 1.3, 1.5, 1.8, 2.2, 3, 5, 9,
)  # fmt: skip

# Further names of inputs, besides the dataset's own and these without "history", "in the
# last month" and the like: parameters of equal meaning, separated by blanks, to a
# pattern. `systems` are names that scores give to the meaning of a value.
_DATA: Final = packaged(__file__, "criteria_names.json")
_NAME_OF: Final[Mapping[str, str]] = {
    parameter: names
    for key, names in _DATA["names"].items()
    for parameter in key.split()
}
_SYSTEMS: Final[Mapping[str, str]] = _DATA["systems"]
_ASIDE: Final = re.compile(
    r"^(?:history of |recent |current |positive |elevated |acute |initial |best )"
    r"|(?: history| present| in the last month| on x-ray| severity| disease history"
    r"| criteria for .*)$",
    re.IGNORECASE,
)


def words_of(parameter: str) -> str:
    """Returns a pattern of the names of an input, "" if none are known."""
    return _NAME_OF.get(parameter, "")


@dataclass(frozen=True)
class Criterion:
    """A step of our calculator.

    Attributes:
        points: The patient's points by the rule.
        present: Whether its finding is present; None if it is no single finding.
        possible: Every number of points that the rule has for it.
        accepted: The accepted forms of the patient's numbers, by parameter.
    """

    label: str
    points: float
    present: bool | None
    inputs: tuple[str, ...]
    names: tuple[re.Pattern[str], ...]
    possible: frozenset[float]
    accepted: Mapping[str, tuple[float, ...]]
    choices: Mapping[str, Mapping[str, object]]
    own: Mapping[str, Any]
    rule: Callable[[Mapping[str, object]], float | None] = field(repr=False)

    @property
    def about_cough(self) -> bool:
        """Whether it counts an absence, which replies state in either sense."""
        return "cough" in self.label.lower()


Steps: TypeAlias = list[tuple[str, float]]


def _steps(calculator: AnyCalculator, used: Mapping[str, object]) -> Steps | None:
    lines: list[str] = []
    try:
        calculator.function(**used, say=lines.append)
    except (CalculatorInputError, ValueError):
        return None
    return score_steps("\n".join(lines))


def criteria_of(
    result: Result, accepted: Mapping[str, tuple[float, ...]]
) -> list[Criterion]:
    """Returns the criteria of a score with the patient's points.

    The inputs of a criterion are determined by experiment: one input after the other is
    changed, and the steps of the published rule are compared. So the rules need no
    separate list of criteria.

    Args:
        result: The calculator's result for the patient's entities.
        accepted: Parameter to the accepted forms of its number.

    Returns:
        One criterion a step; none for an equation.
    """
    calculator = find(result.calculator_id)
    used = dict(result.used)
    own = _steps(calculator, used)
    if not own:
        return []

    effects = _effects(calculator.id, **used)
    return [
        _criterion(
            calculator,
            used,
            index,
            (label, points),
            [(name, changed) for at, name, changed in effects if at == index],
            accepted,
        )
        for index, (label, points) in enumerate(own)
    ]


def _words(calculator: AnyCalculator) -> dict[str, Mapping[str, object]]:
    """Maps the parameter of each choice of a calculator to the words for its values."""
    return {
        item.parameter: item.words
        for item in calculator.inputs
        if isinstance(item, Choice)
    }


def _criterion(
    calculator: AnyCalculator,
    used: Mapping[str, Any],
    index: int,
    step: tuple[str, float],
    effects: Sequence[tuple[str, float]],
    accepted: Mapping[str, tuple[float, ...]],
) -> Criterion:
    """Builds the criterion of one step of the published rule.

    Args:
        calculator: The calculator of the rule.
        used: Parameter to the patient's value.
        index: The index of the step.
        step: Its label and the patient's points.
        effects: Inputs that change its points, with the changed points.
        accepted: Parameter to the accepted forms of its number.
    """
    (label, points), words = step, _words(calculator)
    inputs = {name for name, _ in effects} | _named_without_value(
        calculator, used, label
    )
    names = tuple(sorted(inputs))
    finding = label.removesuffix(" present").removesuffix(" absent")
    is_finding = finding != label and all(
        isinstance(used[name], bool) for name in names
    )
    numbers = [name for name in names if name not in words and _is_number(used[name])]
    forms = {name: accepted.get(name) or (float(used[name]),) for name in numbers}
    head = re.split(r"\s[-\d(]|: |, ", finding, maxsplit=1)[0]

    return Criterion(
        label=label,
        points=points,
        present=label.endswith(" present") if is_finding else None,
        inputs=names,
        names=_compiled(calculator.id, names, head),
        possible=frozenset({points, *(changed for _, changed in effects)}),
        accepted=forms | _derived(label),
        choices={name: words[name] for name in names if name in words},
        own={name: used[name] for name in names},
        rule=functools.partial(_points_at, calculator, used, index),
    )


def _named_without_value(
    calculator: AnyCalculator, used: Mapping[str, object], label: str
) -> set[str]:
    """The inputs named in the label of a criterion for which the patient has no value."""
    without = (name for name, value in used.items() if value is None)
    return {name for name in without if _names(calculator, name, label)}


@functools.lru_cache(maxsize=1024)
def _effects(
    calculator_id: int, /, **used: object
) -> tuple[tuple[int, str, float], ...]:
    """Returns the criteria that change with an input of a case, and their changed points.

    They are kept, since many replies are about the same case.
    """
    calculator = find(calculator_id)
    return tuple(_changes(calculator, used, _steps(calculator, used) or []))


def _changes(
    calculator: AnyCalculator, used: Mapping[str, object], own: Steps
) -> Iterator[tuple[int, str, float]]:
    """Yields the criteria that change with an input, and their changed points.

    One input after the other is changed in the patient's case and in a case without
    findings.
    """
    words = _words(calculator)
    bare = {
        name: False if isinstance(value, bool) else value
        for name, value in used.items()
    }
    starts = ((bare, _steps(calculator, bare) or own), (used, own))
    for name, value in used.items():
        for alternative, (start, original_steps) in itertools.product(
            _others(value, words.get(name)), starts
        ):
            if alternative == start[name]:
                continue

            changed_steps = _steps(calculator, {**start, name: alternative}) or []
            if len(changed_steps) != len(own):
                continue

            for index, (step, changed_step) in enumerate(
                zip(original_steps, changed_steps, strict=True)
            ):
                if step != changed_step:
                    yield index, name, changed_step[1]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _points_at(
    calculator: AnyCalculator,
    used: Mapping[str, object],
    index: int,
    change: Mapping[str, object],
) -> float | None:
    steps = _steps(calculator, {**used, **change})
    return steps[index][1] if steps and index < len(steps) else None


def _others(value: object, words: Mapping[str, object] | None) -> Iterable[object]:
    """Returns values of an input that may change the points of its criterion."""
    if isinstance(value, bool):
        return (True, False)
    if words is not None:
        return dict.fromkeys(words.values())
    if isinstance(value, int):
        return range(1, 16)
    if not isinstance(value, float):
        return ()
    if not value:
        return (0.05, 1.0, 10.0, 20.0)

    return (*(value * factor for factor in _FACTORS), *map(float, range(3, 16)))


def _names(calculator: AnyCalculator, name: str, label: str) -> bool:
    """Whether the label of a step names an input."""
    forms = [_NAME_OF[name]] if name in _NAME_OF else []
    for item in calculator.inputs:
        if item.parameter == name:
            forms += [
                re.escape(form) for form in (item.name, *item.aliases) if len(form) > 2
            ]
    return re.search("|".join(forms), label, re.IGNORECASE) is not None


@functools.cache
def _compiled(
    calculator_id: int, names: tuple[str, ...], head: str
) -> tuple[re.Pattern[str], ...]:
    """Compiles the names of a criterion: those of its inputs, common ones, and our label."""
    calculator = find(calculator_id)
    forms = [
        re.escape(head),
        *(
            table[name]
            for table in (_NAME_OF, _SYSTEMS)
            for name in names
            if name in table
        ),
    ]
    items = [item for item in calculator.inputs if item.parameter in names]
    own = [
        word for item in items for word in (item.name, *item.aliases) if len(word) > 1
    ]
    forms += [re.escape(form) for word in own for form in (word, _ASIDE.sub("", word))]

    return tuple(
        re.compile(rf"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z])", re.IGNORECASE)
        for form in dict.fromkeys(forms)
    )


def _derived(label: str) -> dict[str, tuple[float, ...]]:
    match = re.match(r"(?:PaO2/FiO2|MAP)[^\d]*(\d[\d.]*)", label) or re.search(
        r"MAP (\d[\d.]*)", label
    )
    return {"": (float(match[1]),)} if match else {}


# ---- What a reply says ----

Points: TypeAlias = tuple[set[float], set[float]]
"""Points in a passage, and numbers that may be points."""


@dataclass
class Reading:
    """The passages of a reply about one criterion.

    Attributes:
        criterion: The criterion of our calculator.
        points: Numbers that are marked as points.
        perhaps: Numbers that may be points.
        texts: The passages about it.
        deciding: Those of them with points.
    """

    criterion: Criterion
    points: set[float] = field(default_factory=set)
    perhaps: set[float] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    deciding: list[str] = field(default_factory=list)

    @property
    def awarded(self) -> float | None:
        """The points that the reply awards; None for none, or for different numbers."""
        own = self.criterion
        mine = {form for forms in own.accepted.values() for form in forms}
        weak = {
            n
            for n in self.perhaps
            if n in own.possible or (abs(n) <= _MOST_GUESSED and n not in mine)
        }
        candidates = self.points or weak or self._implied()
        if len(candidates) != 1:
            return None

        (number,) = candidates
        counted = own.present is not None and number and number in own.possible
        if counted and _state(" ; ".join(self.deciding), own) is False:
            # The reply names the weight of a finding that it calls absent.
            return None if own.present else 0.0

        return number

    def is_recital(self) -> bool:
        """Whether it has points without a word about the case: "hypertension: 1 point"."""
        text = " ; ".join(self.texts)
        for names in self.criterion.names:
            text = names.sub(" ", text)
        finding = self.criterion.present is not None
        return finding and self.has_numbers() and _OF_A_CASE.search(text) is None

    def has_numbers(self) -> bool:
        """Whether there are numbers that are points or may be."""
        return bool(self.points or self.perhaps)

    def _implied(self) -> set[float]:
        """Points implied by a criterion that is met, or by a finding that is present."""
        own, text = self.criterion, " ; ".join(self.texts)
        if own.possible == {0.0, 1.0} and (_NOT_MET.search(text) or _MET.search(text)):
            return {0.0} if _NOT_MET.search(text) else {1.0}
        state = _state(text, own) if own.present is not None else None
        if state is None:
            return set()
        return set(own.possible) - {0.0} if state else {0.0}


@dataclass
class ScoreReading:
    """What a reply states about a score; criteria are numbered in our order.

    Attributes:
        criteria: The criteria of the score.
        readings: The readings of the criteria, by index.
        named: Criteria that are named at all.
        extras: Passages with points that belong to none of our criteria.
        totals: The totals that the reply states.
        recites: Whether the reply recites the rule before the patient's points.
    """

    criteria: Sequence[Criterion]
    readings: dict[int, Reading] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    extras: list[tuple[str, float]] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    recites: bool = False

    def clear(self) -> dict[int, Reading]:
        """Returns the criteria whose points could be read, without those of a recital."""
        return {
            index: reading
            for index, reading in self.readings.items()
            if reading.awarded is not None
            and not (self.recites and reading.is_recital())
        }

    def counted(self) -> set[int]:
        """Returns the criteria that give the patient points."""
        return {
            index for index, criterion in enumerate(self.criteria) if criterion.points
        }

    def invented(self) -> list[tuple[str, float]]:
        """Returns the passages with non-zero points for no criterion of ours."""
        return [(text, points) for text, points in self.extras if points]

    def attach(self, index: int, text: str, points: Points) -> None:
        """Adds a passage about a criterion.

        Earlier passages without a word about the case are a recital of the rule.
        """
        reading = self.readings.get(index)
        has_points = bool(points[0] or points[1])
        recited = reading is not None and has_points and reading.is_recital()
        self.recites |= recited
        if reading is None or recited:
            reading = self.readings[index] = Reading(self.criteria[index])

        reading.texts.append(text)
        if has_points:
            reading.deciding.append(text)

        reading.points |= points[0]
        reading.perhaps |= points[1]


class Mention(NamedTuple):
    """A name of a criterion in a text: the criterion's index, start and end."""

    criterion: int
    start: int
    end: int


class Passage(NamedTuple):
    """A sentence of a line or a row of a table."""

    piece: Piece
    text: str
    mentions: list[Mention]


_WORD_NUMBERS: Final = {
    **{word: float(number) for number, word in enumerate(NUMBER_WORDS)},
    **{"no": 0.0, "a": 1.0, "an": 1.0, "single": 1.0},
}
MAX_SENTENCE: Final = 3000
"""The length of a sentence that is read, in characters."""
_MOST_GUESSED: Final = 4
"""A larger bare number counts as points only if the rule has it."""
_MOST_RECITED: Final = 0.6
"""The least share of the criteria that a recital of the rule names."""


def read_score(working: Working, criteria: Sequence[Criterion]) -> ScoreReading:
    """Reads what a reply states about each criterion.

    Args:
        working: The reply, split into pieces and equations.
        criteria: The score's criteria.

    Returns:
        A reading for each named criterion, with all its points in the reply.
    """
    score = ScoreReading(criteria)
    passages = [
        Passage(piece, text, _mentions(text, criteria))
        for piece in working.pieces
        for text in _sentences(piece)
    ]
    recital = _length_of_recital(passages, len(criteria))
    score.named |= _named_criteria(passages[:recital])
    score.recites = recital > 0
    current: int | None = None
    depth: int | None = None
    for _, group in itertools.groupby(
        passages[recital:], key=lambda passage: id(passage.piece)
    ):
        own = list(group)
        piece = own[0].piece
        score.totals += _totals(piece.text)
        if piece.points is not None:
            _read_row(piece, piece.points, score)
            current = None
            continue

        if piece.depth is not None and depth is not None and piece.depth <= depth:
            current = None
        if piece.depth is not None and _named_criteria(own):
            depth = piece.depth if current is None or depth is None else depth

        for passage in own:
            current = _read_sentence(passage, score, current)

    return score


def _sentences(piece: Piece) -> list[str]:
    if piece.points is not None:
        return [piece.text]
    return [text[:MAX_SENTENCE] for text in _SENTENCE_END.split(piece.text)]


def _named_criteria(passages: Iterable[Passage]) -> set[int]:
    return {mention.criterion for passage in passages for mention in passage.mentions}


def _length_of_recital(passages: Sequence[Passage], criteria: int) -> int:
    """The number of passages at the start that recite the rule.

    A recital names most criteria without the patient, and all of them occur again later:
    the first two passages in "Heart failure: 1 point. Diabetes: 1 point. The patient has
    heart failure, but no diabetes".
    """
    start = next(
        (at for at, passage in enumerate(passages) if _OF_A_CASE.search(passage.text)),
        0,
    )
    recited = _named_criteria(passages[:start])
    repeated = recited <= _named_criteria(passages[start:])

    return start if repeated and len(recited) >= _MOST_RECITED * criteria else 0


def _totals(text: str) -> Iterator[float]:
    for match in _TOTAL.finditer(text):
        sign = -1 if re.search(r"(?:^|=)\s*-\s*[\d.]+$", match["expression"]) else 1
        yield float(NUMBER.findall(match["expression"])[-1].replace(",", "")) * sign


def _is_rule(passage: Passage) -> bool:
    """Whether a sentence states the rule's classes, on a line that is not about the patient."""
    few = len(_named_criteria([passage])) < 2
    ruled = _RULE.search(passage.text) or (few and _CLASSES.search(passage.text))
    return bool(ruled) and not _OF_THE_PATIENT.search(passage.piece.text)


def _read_row(piece: Piece, points: float, score: ScoreReading) -> None:
    """Reads a row with points in a table or list.

    It belongs to the criterion mentioned in its name, or else in its text; if either
    mentions several, they count as named, and the points belong to none.
    """
    if _CLOSING.search(piece.name):
        score.totals.append(points)
        return

    for text in (piece.name, piece.text):
        named = {mention.criterion for mention in _mentions(text, score.criteria)}
        if len(named) == 1:
            (index,) = named
            if points and index in score.readings and score.readings[index].points:
                break  # a second row that only shares a word with the first

            score.attach(index, piece.text, ({points}, set()))
            score.named.add(index)
            return

        if named:
            score.named |= named
            break

    score.extras.append((piece.name, points))


def _read_sentence(
    passage: Passage, score: ScoreReading, current: int | None
) -> int | None:
    """Reads a sentence; returns the criterion that a following sentence without a name is about."""
    sentence, mentions = passage.text, passage.mentions
    named = _named_criteria([passage])
    score.named |= named
    if _is_rule(passage):
        return None
    if not named:
        return _read_nameless(passage, score, current)

    if len(named) == 1:
        own, perhaps, more = _points(sentence, mentions)
        score.attach(mentions[0].criterion, sentence, (own, perhaps))
        score.extras += [(sentence, number) for number in more] or _for_no_criterion(
            passage
        )
        return mentions[0].criterion

    for index, text, points in _clauses(sentence, mentions, score.extras):
        score.attach(index, text, points)

    return None


def _for_no_criterion(passage: Passage) -> list[tuple[str, float]]:
    """Returns points for something that is no criterion.

    An example is atrial fibrillation in "1 for atrial fibrillation and 1 for stroke".
    """
    return [
        (match["what"], float(match["n"]))
        for match in _FOR_WHAT.finditer(passage.text)
        if not any(
            match.start() <= mention.start < match.end() for mention in passage.mentions
        )
    ]


def _read_nameless(
    passage: Passage, score: ScoreReading, current: int | None
) -> int | None:
    """Reads a passage that names no criterion; it continues with the current one.

    Returns:
        The criterion that the next passage continues with; None after a total.
    """
    sentence, listed = passage.text, passage.piece.depth is not None
    if _CLOSING.search(sentence) or _ONLY_A_SUM.search(sentence):
        score.extras += _for_no_criterion(passage)
        return None

    total = None if listed else _NAMED_TOTAL.match(sentence)
    if total:
        score.totals.append(float(total["n"]))
        return None

    points = _points(sentence, ())[:2]
    if current is not None and not (points[0] and score.readings[current].points):
        score.attach(current, sentence, points)
        return current

    score.extras.extend(
        (sentence, number) for number in points[0] or (points[1] if listed else ())
    )
    return current


def _mentions(text: str, criteria: Sequence[Criterion]) -> list[Mention]:
    """Finds the names of criteria; the longest of overlapping names counts."""
    spans = [
        Mention(index, *match.span())
        for index, criterion in enumerate(criteria)
        for names in criterion.names
        for match in names.finditer(text)
    ]
    spans.sort(key=lambda span: (span.start - span.end, span.start))
    kept: list[Mention] = []
    for span in spans:
        if not any(span.start < other.end and other.start < span.end for other in kept):
            kept.append(span)

    return sorted(kept, key=lambda span: span.start)


# ---- Points ----


class Award(NamedTuple):
    """Points with their position in a text."""

    start: int
    end: int
    number: float


def _awards(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[Award]:
    for pattern in patterns:
        for match in pattern.finditer(text):
            word = match["n"].lower().replace(" ", "")
            number = _WORD_NUMBERS[word] if word in _WORD_NUMBERS else float(word)
            less = match.groupdict().get("less")
            yield Award(*match.span(), -abs(number) if less and number else number)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _without_totals(text: str) -> str:
    return _TOTAL.sub(_blank, text)


def _without_awards(text: str) -> str:
    for pattern in _AWARDS:
        text = pattern.sub(" ", text)
    return text


def _points(
    text: str, mentions: Sequence[Mention]
) -> tuple[set[float], set[float], list[float]]:
    """Reads the points in a sentence about one criterion.

    Returns:
        Its points, the bare numbers that may be points, and the points of others.
    """
    weight = _WEIGHT.search(text)
    if weight:
        text = _covered(text, weight.start(), weight.end())

    bare = _without_totals(text)
    for mention in mentions:
        bare = _covered(bare, mention.start, mention.end)

    awards = _all_awards(bare)
    own: set[float] = set()
    more: list[float] = []
    for award in awards:
        if _is_of_something_else(bare[awards[0].end : award.start]):
            more.append(award.number)
        else:
            own.add(award.number)

    running = None if own else _RUNNING_SUM.search(text)
    if running:
        own.add(float(running["n"]) * (-1 if running["sign"] == "-" else 1))
    if weight and not own:
        own.add(0.0 if _NO.search(text, weight.end()) else float(weight["n"]))

    return (
        own,
        set() if own else {award.number for award in _awards(bare, _WEAK_AWARDS)},
        more,
    )


def _covered(text: str, start: int, end: int) -> str:
    return text[:start] + "_" * (end - start) + text[end:]


def _all_awards(text: str) -> list[Award]:
    """Returns the awards in a text in order, the longest of nested ones.

    "no points are added" is an award of 0.
    """
    awards = set(_awards(_NO_POINTS.sub(_blank, text), _AWARDS))
    kept = [
        award
        for award in awards
        if not any(
            other.start <= award.start
            and award.end <= other.end
            and other[:2] != award[:2]
            for other in awards
        )
    ]
    nothing = _NO_POINTS.search(text)
    if nothing:
        kept.append(Award(*nothing.span(), 0.0))

    return sorted(kept)


def _is_of_something_else(between: str) -> bool:
    """Whether the text between two awards shows that the second is for something else."""
    broken = _CLAUSE_BREAK.search(between) is not None
    return broken and re.search(r"[A-Za-z]{4}|_{3}", _EACH.sub("", between)) is not None


def _clauses(
    sentence: str, mentions: Sequence[Mention], extras: list[tuple[str, float]]
) -> Iterator[tuple[int, str, Points]]:
    """Splits a sentence that names several criteria into clauses with criterion and points.

    Points may precede or follow their reason: "1 point for hypertension", or
    "hypertension (1 point)". A clause without points shares those of its neighbour if
    they are for all criteria, or 0.
    """
    awards = _spans_of_awards(sentence)
    # "1 point for hypertension", not "hypertension (1 point)".
    first = (
        bool(awards)
        and awards[0][0] < mentions[0].start
        and _WHAT_FOR.match(_without_totals(sentence), awards[0][1] - 4) is not None
    )
    named = _without_repeats(mentions)
    cuts = [0, *_cuts(sentence, mentions, awards, first=first), len(sentence)]
    clauses = []
    lead = ""
    for mention, a, b in zip(named, cuts, cuts[1:], strict=False):
        text = sentence[a:b]
        within = Mention(mention.criterion, mention.start - a, mention.end - a)
        own, perhaps, more = _points(text, (within,))
        extras.extend((text, number) for number in more)
        if _is_bare(text, within):
            text = lead + text
        else:
            lead = text[: within.start]

        clauses.append((mention.criterion, text, (own, perhaps)))

    shared: Points = (set(), set())
    for index, text, points in clauses if first else reversed(clauses):
        if points[0]:
            for_all = points[0] == {0.0} or _EACH.search(sentence)
            shared = points if for_all else (set(), set())

        yield index, text, points if points[0] or points[1] else shared


def _without_repeats(mentions: Sequence[Mention]) -> list[Mention]:
    """Drops mentions of the same criterion as the mention before."""
    return [next(group) for _, group in itertools.groupby(mentions, _criterion_of)]


_criterion_of = operator.attrgetter("criterion")


def _is_bare(text: str, mention: Mention) -> bool:
    """Whether a clause is a name alone, which shares the words before the first name.

    An example is "no stroke, diabetes or gout".
    """
    rest = text[: mention.start] + text[mention.end :]
    return (
        re.search(
            r"\w", re.sub(r"(?i)\b(?:and|or|nor|history|of|the|any|a)\b", "", rest)
        )
        is None
    )


def _spans_of_awards(sentence: str) -> list[tuple[int, int]]:
    text = _without_totals(sentence)
    spans = {award[:2] for award in _awards(text, _AWARDS)}
    spans |= {match.span() for match in _NO_POINTS.finditer(text)}
    spans = spans or {award[:2] for award in _awards(text, _WEAK_AWARDS[:2])}
    return sorted(spans | {match.span() for match in _FOR.finditer(text)})


def _cuts(
    sentence: str,
    mentions: Sequence[Mention],
    awards: Sequence[tuple[int, int]],
    *,
    first: bool,
) -> Iterator[int]:
    """Yields the boundaries between the clauses of consecutive criteria.

    `first` tells whether points precede names.
    """
    last = {mention.criterion: mention.end for mention in mentions}
    named = _without_repeats(mentions)
    for mention, following in itertools.pairwise(named):
        after = following.start
        # A second name of the same criterion belongs to its clause.
        before = (
            max(mention.end, last[mention.criterion])
            if last[mention.criterion] <= after
            else mention.end
        )
        between = [span for span in awards if before <= span[0] and span[1] <= after]
        breaks = list(_CLAUSE_BREAK.finditer(sentence, before, after))
        if not between:
            yield breaks[-1].end() if breaks else after
        elif first:
            yield between[-1][0]
        else:
            ends = (match.end() for match in breaks if match.start() >= between[-1][1])
            yield min([*ends, after])


# ---- Findings and numbers ----

_GREATEST: Final = 4


def other_points(reading: Reading) -> tuple[bool | None, set[float]]:
    """Compares the stated data with the patient's, and applies the rule to the stated data.

    Returns:
        Whether the reply states the patient's own data, None if it states no data; and
        the possible points for the data that it states or leaves open.
    """
    own = reading.criterion
    if own.present is not None or own.about_cough:
        return _points_of_finding(reading)

    text = " ; ".join(reading.texts)
    stated = [*_stated_choices(text, own), *_stated_findings(text, own)]
    agrees = _all_same(same for _, same, _ in stated)
    changes = {name: values for name, _, values in stated}
    if own.accepted:
        same_numbers, other = _stated_numbers(text, own)
        if other is not None:
            agrees = False
            changes[next(iter(own.accepted))] = [*_in_our_unit(other, own)]
        elif same_numbers:
            agrees = agrees is not False
        elif agrees is not False:
            return None, set(own.possible)

    points = {own.points} if agrees else set()
    for name, values in changes.items():
        points |= {n for value in values if (n := own.rule({name: value})) is not None}

    return agrees, points


Stated: TypeAlias = tuple[str, bool | None, Iterable[object]]
"""An input, whether it is stated correctly (None if it is not stated), and its possible values."""


def _stated_choices(text: str, own: Criterion) -> Iterator[Stated]:
    for name, words in own.choices.items():
        value = _choice(text, name, words, own)
        if value is None:
            yield name, None, dict.fromkeys(words.values())
        else:
            same = value == own.own[name]
            yield name, same, [] if same else [value]


def _stated_findings(text: str, own: Criterion) -> Iterator[Stated]:
    findings = [name for name in own.inputs if isinstance(own.own[name], bool)]
    for name in findings:
        state = _state(text, own) if len(findings) == 1 else None
        differs = state is not None and state != own.own[name]
        yield (
            name,
            False if differs else None,
            [True, False] if state is None else [state],
        )


def _all_same(stated: Iterable[bool | None]) -> bool | None:
    decided = [is_same for is_same in stated if is_same is not None]
    return all(decided) if decided else None


def _points_of_finding(reading: Reading) -> tuple[bool | None, set[float]]:
    """Compares the stated finding with the patient's, and returns its possible points.

    Returns:
        True and our points; False and the others; None and all, if it is not stated.
    """
    own = reading.criterion
    states = (
        _state(" ; ".join(texts), own) for texts in (reading.deciding, reading.texts)
    )
    state = next((state for state in states if state is not None), None)
    truth = own.present if own.present is not None else own.label.startswith("No")
    if state is None:
        return None, set(own.possible)
    if state == truth:
        return True, {own.points}

    return False, set(own.possible) - {own.points}


def _stated_numbers(text: str, own: Criterion) -> tuple[bool, float | None]:
    """Whether the patient's numbers are stated, and the number stated instead of a single one."""
    numbers = {
        float(match[0].replace(",", "")) for match in NUMBER.finditer(_bare(text, own))
    }
    mine, others = set(), set(numbers)
    for (name, forms), number in itertools.product(own.accepted.items(), numbers):
        if any(close(number, form) for form in forms):
            mine.add(name)
            others.discard(number)

    needed = {name for name in own.accepted if name}
    if "" in mine or (needed <= mine and not (others and len(needed) > 1)):
        return True, None

    return False, others.pop() if len(own.accepted) == len(others) == 1 else None


def _bare(text: str, own: Criterion) -> str:
    """Removes points, totals, bounds and names from a text: the other numbers are the patient's."""
    text = _TOTAL.sub(" ", _RUNNING_SUM.sub(" ", text))
    for pattern in (*_AWARDS, *_WEAK_AWARDS):
        text = pattern.sub(_unless_remark, text)
    for pattern in (_SCALE, _BOUND, *own.names):
        text = pattern.sub(" ", text)
    return text


def _unless_remark(match: re.Match[str]) -> str:
    remark = match[0].strip()[:1] == "(" and len(match[0]) >= 5
    return match[0] if remark else _blank(match)


def _in_our_unit(number: float, own: Criterion) -> Iterator[float]:
    """Yields the possible values of a stated number in the calculator's unit."""
    name = next(iter(own.accepted))
    used = float(own.own[name])
    yield number
    if name == "temperature_c" and number > 45:
        yield (number - 32) / 1.8
    for form in own.accepted[name]:  # the scale of another form of the patient's number
        if form and used and 0.2 < number / form < _GREATEST:
            yield number / form * used


def _state(text: str, own: Criterion) -> bool | None:
    """Whether a text states that a finding is present, or an absence, if that is counted."""
    bare = _without_awards(_NO_POINTS.sub(" ", _without_totals(text)))
    if own.about_cough:
        match = _COUGH_ABSENT.search(bare)
        if match:
            return match["state"].lower() in ("yes", "true", "present")

        bare = _ABSENCE_OF_COUGH.sub(" ", bare)
        return True if _NO.search(bare) else False if _YES.search(bare) else None

    if _NO.search(bare):
        inside = any(
            _NO.search(match[0])
            for names in own.names
            for match in names.finditer(bare)
        )
        return None if inside else False

    return True if _YES.search(bare) else None


def _choice(
    text: str, name: str, words: Mapping[str, object], own: Criterion
) -> object | None:
    """Returns the value of a choice that a text names; None for none, or several."""
    bare = _without_awards(_without_totals(text))
    if name.endswith("_response"):
        match = re.search(rf"\b{name[0]}\s?([1-6])\b", bare, re.IGNORECASE)
        if match:
            return int(match[1])

    values: set[object] = set()
    all_words = {**words, **{str(value): value for value in words.values()}}
    for word in sorted(all_words, key=len, reverse=True):
        if len(word) < 2 or word in ("True", "False"):
            continue

        form = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
        if form.search(bare):
            values.add(all_words[word])
            bare = form.sub(" ", bare)

    return values.pop() if len(values) == 1 else None
