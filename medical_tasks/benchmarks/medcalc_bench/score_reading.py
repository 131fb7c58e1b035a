"""Reads what a reply says of each criterion of a score: the patient's finding or number, and the points given for it.

A threshold, a range or a rule's text is never the patient's number, and what could belong to two criteria belongs to none. A
criterion is a step of our own calculator: its inputs and other points are found by changing one input after the other.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.gold import score_steps
from medical_tasks.benchmarks.medcalc_bench.grammar import patterns
from medical_tasks.benchmarks.medcalc_bench.quantities import NUMBER_WORDS
from medical_tasks.benchmarks.medcalc_bench.working import NUMBER, Piece, Working, close
from medical_tasks.calculators import CalculatorInputError, Result, find
from medical_tasks.calculators.inputs import Choice
from medical_tasks.io.files import packaged

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
    accepted: Mapping[
        str, tuple[float, ...]
    ]  # the forms in which the patient's numbers may stand, by parameter
    choices: Mapping[str, Mapping[str, object]]
    own: Mapping[str, Any]
    rule: Callable[[Mapping[str, object]], float | None] = field(repr=False)


def _steps(calculator: Any, used: Mapping[str, object]) -> list[tuple[str, float]] | None:
    lines: list[str] = []
    try:
        calculator.function(**used, say=lines.append)
    except (CalculatorInputError, ValueError):
        return None
    return score_steps("\n".join(lines))


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
        inputs[place] |= {
            n
            for n, v in used.items()
            if v is None and re.search(_pattern(n, calculator), label, re.I)
        }
    found = []
    for place, (label, points) in enumerate(own):
        names = sorted(inputs[place])
        head = re.split(
            r"\s[-\d(]|: |, ", label.removesuffix(" present").removesuffix(" absent"), maxsplit=1
        )[0]
        finding = label.endswith((" present", " absent")) and all(
            isinstance(used[name], bool) for name in names
        )
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
                    if isinstance(used[name], int | float)
                    and not isinstance(used[name], bool)
                    and name not in words
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
            [*(value * factor for factor in _FACTORS), *map(float, range(3, 16))]
            if value
            else [0.05, 1.0, 10.0, 20.0]
        )
    return []


def _pattern(name: str, calculator: Any) -> str:
    item = next((each for each in calculator.inputs if each.parameter == name), None)
    own = (
        [re.escape(each) for each in (item.name, *item.aliases) if len(each) > 2]
        if item is not None
        else []
    )
    return "|".join(filter(None, (*own, _NAME_OF.get(name))))


@functools.cache
def _compiled(calculator_id: int, names: tuple[str, ...], head: str) -> tuple[re.Pattern[str], ...]:
    """Each input's own names, each of the common ones and our label: of those that match, the longest counts."""
    calculator = find(calculator_id)
    forms = [
        re.escape(head),
        *(table[name] for table in (_NAME_OF, _SYSTEMS) for name in names if name in table),
    ]
    items = [each for each in calculator.inputs if each.parameter in names]
    own = [word for each in items for word in (each.name, *each.aliases) if len(word) > 1]
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


@dataclass
class Reading:
    """What a reply says of one criterion, all its passages together."""

    criterion: Criterion
    points: set[float] = field(default_factory=set)
    perhaps: set[float] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    deciding: list[str] = field(default_factory=list)

    @property
    def given(self) -> float | None:
        """The points it gives; None where it gives none, or several."""
        own = self.criterion
        mine = {form for forms in own.accepted.values() for form in forms}
        weak = {
            n
            for n in self.perhaps
            if n in own.possible or (abs(n) <= _MOST_GUESSED and n not in mine)
        }
        said = self.points or weak or self._implied()
        if len(said) != 1:
            return None
        (number,) = said
        counted = own.present is not None and number and number in own.possible
        if counted and _state(" ; ".join(self.deciding), own) is False:
            return (
                None if own.present else 0.0
            )  # what the finding would give stands beside one that is not there
        return number

    def _implied(self) -> set[float]:
        """Points that are not written: of a criterion that is met or not, of a finding that is there or not."""
        own, text = self.criterion, " ; ".join(self.texts)
        if own.possible == {0.0, 1.0} and (_P["not_met"].search(text) or _P["met"].search(text)):
            return {0.0} if _P["not_met"].search(text) else {1.0}
        state = _state(text, own) if own.present is not None else None
        return set() if state is None else set(own.possible) - {0.0} if state else {0.0}


@dataclass
class ScoreReading:
    """What a reply says of a score; criteria are numbered in our order."""

    criteria: Sequence[Criterion]
    readings: dict[int, Reading] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)  # criteria that are named at all
    extras: list[tuple[str, float]] = field(
        default_factory=list
    )  # passages with points that no criterion of ours has
    totals: list[float] = field(default_factory=list)

    def attach(self, place: int, text: str, points: tuple[set[float], set[float]]) -> None:
        """Adds a passage about a criterion, with its points and the numbers that may be points."""
        reading = self.readings.setdefault(place, Reading(self.criteria[place]))
        reading.texts.append(text)
        if points[0] or points[1]:
            reading.deciding.append(text)
        reading.points |= points[0]
        reading.perhaps |= points[1]


_FURTHER: Final = {"no": 0.0, "a": 1.0, "an": 1.0, "single": 1.0}
_WORD_NUMBERS: Final = {word: float(place) for place, word in enumerate(NUMBER_WORDS)} | _FURTHER
_NUMBER: Final = "|".join(NUMBER_WORDS)
_P: Final = patterns("points")
_AWARDS: Final = tuple(patterns("awards", number=_NUMBER).values())
_WEAK: Final = tuple(patterns("weak").values())
MAX_SENTENCE: Final = 3000
"""How much of a sentence is looked at, in characters."""
_MOST_GUESSED: Final = 4
"""A bare number that is larger is taken for points only if the rule has it."""


def read_score(working: Working, criteria: Sequence[Criterion]) -> ScoreReading:
    """Finds what a reply says of each criterion."""
    found = ScoreReading(criteria)
    current: int | None = None
    depth: int | None = None
    for piece in working.pieces:
        for match in _P["totals"].finditer(piece.text):
            sign = -1 if re.search(r"(?:^|=)\s*-\s*[\d.]+$", match["expression"]) else 1
            found.totals.append(
                float(NUMBER.findall(match["expression"])[-1].replace(",", "")) * sign
            )
        if piece.points is not None:
            _read_row(piece, piece.points, found)
            current = None
            continue
        mentions = _mentions(piece.text, criteria)
        ruled = _P["rule"].search(piece.text) or (
            len({each[0] for each in mentions}) < 2 and _P["classes"].search(piece.text)
        )
        if ruled and not re.search(r"\bpatient|\bso we\b|\btherefore\b", piece.text):
            found.named |= {place for place, _, _ in mentions}
            current = None
            continue
        if piece.depth is not None and depth is not None and piece.depth <= depth:
            current = None
        if piece.depth is not None and mentions:
            depth = piece.depth if current is None or depth is None else depth
        for sentence in _P["sentence"].split(piece.text):
            current = _read_sentence(
                sentence[:MAX_SENTENCE], found, current, listed=piece.depth is not None
            )
    return found


def _read_row(piece: Piece, points: float, found: ScoreReading) -> None:
    if _P["closing"].search(piece.name):
        found.totals.append(points)
        return
    for text in (piece.name, piece.text):
        places = {place for place, _, _ in _mentions(text, found.criteria)}
        if len(places) == 1:
            (place,) = places
            if points and place in found.readings and found.readings[place].points:
                break  # a second row that only shares a word with the first
            found.attach(place, piece.text, ({points}, set()))
            found.named.add(place)
            return
        if places:
            found.named |= places
            break
    found.extras.append((piece.name, points))


def _read_sentence(
    sentence: str, found: ScoreReading, current: int | None, *, listed: bool
) -> int | None:
    mentions = _mentions(sentence, found.criteria)
    places = list(dict.fromkeys(place for place, _, _ in mentions))
    found.named |= set(places)
    if len(places) == 1:
        own, perhaps, more = _points(sentence, mentions)
        found.attach(places[0], sentence, (own, perhaps))
        found.extras.extend((sentence, each) for each in more)
        return places[0]
    if not places:
        if _P["closing"].search(sentence) or _P["pure_sum"].search(sentence):
            return None
        total = None if listed else _P["named_total"].match(sentence)
        if total:
            found.totals.append(float(total["n"]))
            return None
        points = _points(sentence, ())[:2]
        if current is not None and not (points[0] and found.readings[current].points):
            found.attach(current, sentence, points)
            return current
        found.extras.extend((sentence, each) for each in points[0] or (points[1] if listed else ()))
        return current
    for place, text, points in _clauses(sentence, mentions, found.extras):
        found.attach(place, text, points)
    return None


def _mentions(text: str, criteria: Sequence[Criterion]) -> list[tuple[int, int, int]]:
    """Which criteria are named where; of overlapping names the longest counts, of equal ones none."""
    spans = [
        (place, *match.span())
        for place, each in enumerate(criteria)
        for names in each.names
        for match in names.finditer(text)
    ]
    spans.sort(key=lambda span: (span[1] - span[2], span[1]))
    kept: list[tuple[int, int, int]] = []
    for place, start, end in spans:
        if not any(start < each[2] and each[1] < end for each in kept):
            kept.append((place, start, end))
    return sorted(kept, key=lambda span: span[1])


def _awards(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[tuple[float, int, int]]:
    for pattern in patterns:
        for match in pattern.finditer(text):
            word = match["n"].lower().replace(" ", "")
            number = _WORD_NUMBERS[word] if word in _WORD_NUMBERS else float(word)
            less = match.groupdict().get("less")
            yield (-abs(number) if less and number else number), match.start(), match.end()


def _without_totals(text: str) -> str:
    return _P["totals"].sub(lambda match: " " * len(match[0]), text)


def _without_awards(text: str) -> str:
    for pattern in _AWARDS:
        text = pattern.sub(" ", text)
    return text


def _points(
    text: str, mentions: Sequence[tuple[int, int, int]]
) -> tuple[set[float], set[float], list[float]]:
    """The points that a sentence about one criterion gives, the bare numbers that may be points, and the points of others."""
    weight = _P["weight"].search(text)
    if weight:
        text = text[: weight.start()] + "_" * (weight.end() - weight.start()) + text[weight.end() :]
    bare = list(_without_totals(text))
    for _, start, end in mentions:
        bare[start:end] = "_" * (end - start)
    said = "".join(bare)
    silent = _P["nothing"].sub(lambda match: " " * len(match[0]), said)
    awards = sorted({(start, end, number) for number, start, end in _awards(silent, _AWARDS)})
    awards = [
        each
        for each in awards
        if not any(o[0] <= each[0] and each[1] <= o[1] and o[:2] != each[:2] for o in awards)
    ]
    nothing = _P["nothing"].search(said)
    if nothing:
        awards = sorted([*awards, (nothing.start(), nothing.end(), 0.0)])
    own = (
        {number for start, _, number in awards if not _apart(said[awards[0][1] : start])}
        if awards
        else set()
    )
    more = [number for start, _, number in awards if _apart(said[awards[0][1] : start])]
    running = None if own else _P["running"].search(text)
    if running:
        own.add(float(running["n"]) * (-1 if running["sign"] == "-" else 1))
    if weight and not own:
        own.add(0.0 if _P["no"].search(text, weight.end()) else float(weight["n"]))
    return own, set() if own else {number for number, _, _ in _awards(said, _WEAK)}, more


def _apart(between: str) -> bool:
    return (
        _P["break"].search(between) is not None
        and re.search(r"[A-Za-z]{4}|_{3}", _P["each"].sub("", between)) is not None
    )


def _clauses(
    sentence: str, mentions: Sequence[tuple[int, int, int]], extras: list[tuple[str, float]]
) -> Iterator[tuple[int, str, tuple[set[float], set[float]]]]:
    """Parts of a sentence that names several criteria, each with the criterion it is about and its points."""
    text = _without_totals(sentence)
    given = {(a, b) for _, a, b in _awards(text, _AWARDS)} | {
        match.span() for match in _P["nothing"].finditer(text)
    }
    given = given or {(a, b) for _, a, b in _awards(text, _WEAK[:2])}
    awards = sorted({*given, *(match.span() for match in _P["for"].finditer(text))})
    # "1 point for hypertension", not "hypertension (1 point)".
    first = (
        bool(awards)
        and awards[0][0] < mentions[0][1]
        and bool(_P["object"].match(text, awards[0][1] - 4))
    )
    cuts, last = [0], {}
    named = [each for at, each in enumerate(mentions) if not at or mentions[at - 1][0] != each[0]]
    for place, _, end in mentions:  # a second name of the same criterion goes on with it
        last[place] = end
    for (place, _, end), (_, after, _) in itertools.pairwise(named):
        before = max(end, last[place]) if last[place] <= after else end
        between = [span for span in awards if before <= span[0] and span[1] <= after]
        breaks = list(_P["break"].finditer(sentence, before, after))
        if first and between:
            cuts.append(between[-1][0])
        elif between:
            cuts.append(
                min([*(match.end() for match in breaks if match.start() >= between[-1][1]), after])
            )
        else:
            cuts.append(breaks[-1].end() if breaks else after)
    cuts.append(len(sentence))
    parts = []
    for (place, start, end), a, b in zip(named, cuts, cuts[1:], strict=False):
        own, perhaps, more = _points(sentence[a:b], ((place, start - a, end - a),))
        parts.append((place, sentence[a:b], (own, perhaps)))
        extras.extend((sentence[a:b], each) for each in more)
    shared: tuple[set[float], set[float]] = (set(), set())
    for place, part, points in parts if first else reversed(parts):
        if points[0]:
            shared = points if points[0] == {0.0} or _P["each"].search(sentence) else (set(), set())
        yield place, part, points if points[0] or points[1] else shared


_GREATEST: Final = 4


def other_points(reading: Reading) -> tuple[bool | None, set[float]]:
    """Whether a reply states the patient's own data, None where it states none; and the points that the rule gives for the rest."""
    own = reading.criterion
    text = " ; ".join(reading.texts)
    said: bool | None = None
    changes: dict[str, list[object]] = {}
    if own.present is not None or "cough" in own.label.lower():
        states = (_state(" ; ".join(texts), own) for texts in (reading.deciding, reading.texts))
        state = next((each for each in states if each is not None), None)
        truth = own.present if own.present is not None else own.label.startswith("No")
        if state is not None:
            return state == truth, {own.points} if state == truth else set(own.possible) - {
                own.points
            }
        return None, set(own.possible)
    for name, words in own.choices.items():
        stated = _choice(text, name, words, own)
        if stated is not None:
            same = stated == own.own[name]
            said = same if said is None else said and same
            if not same:
                changes[name] = [stated]
        else:
            changes[name] = list(dict.fromkeys(words.values()))
    findings = [name for name in own.inputs if isinstance(own.own[name], bool)]
    for name in findings:
        state = _state(text, own) if len(findings) == 1 else None
        changes[name] = [True, False] if state is None else [state]
        if state is not None and state != own.own[name]:
            said = False
    if own.accepted:
        bare = _bare(text, own)
        numbers = {float(match[0].replace(",", "")) for match in NUMBER.finditer(bare)}
        mine = {
            name
            for name, forms in own.accepted.items()
            if any(close(abs(n), f) for n in numbers for f in forms)
        }
        others = {
            n
            for n in numbers
            if not any(close(n, f) for forms in own.accepted.values() for f in forms)
        }
        needed = [name for name in own.accepted if name]
        if "" in mine or (set(needed) <= mine and not (others and len(needed) > 1)):
            said = True if said is None else said
        elif len(own.accepted) == 1 and len(others) == 1:
            said = False
            (number,) = others
            changes[needed[0]] = [*_in_our_unit(number, needed[0], own)]
        elif said is not False:
            return None, set(own.possible)
    found = {own.points} if said else set()
    for name, values in changes.items():
        for value in values:
            points = own.rule({name: value})
            if points is not None:
                found.add(points)
    return said, found


def _bare(text: str, own: Criterion) -> str:
    text = _P["totals"].sub(" ", _P["running"].sub(" ", text))
    for pattern in (*_AWARDS, *_WEAK):
        text = pattern.sub(
            lambda match: (
                " " * len(match[0])
                if match[0].strip()[:1] not in "(" or len(match[0]) < 5
                else match[0]
            ),
            text,
        )
    text = _P["bound"].sub(" ", _P["scale"].sub(" ", text))
    for names in own.names:
        text = names.sub(" ", text)
    return text


def _in_our_unit(number: float, name: str, own: Criterion) -> Iterator[float]:
    used = float(own.own[name])
    yield number
    if name == "temperature_c" and number > 45:
        yield (number - 32) / 1.8
    for form in own.accepted[name]:  # the scale of another form of the patient's number
        if form and used and 0.2 < number / form < _GREATEST:
            yield number / form * used


def _state(text: str, own: Criterion) -> bool | None:
    """Whether a finding is said to be there; of a criterion that counts an absence, whether the absence is."""
    bare = _without_awards(_P["nothing"].sub(" ", _without_totals(text)))
    if "cough" in own.label.lower():
        told = re.search(
            r"absen\w+[\w ]*\W{1,4}(?:(?:finding|evidence|value)\W{1,3})?(no|false|not|absent|yes|true|present)\b",
            bare,
            re.IGNORECASE,
        )
        if told:
            return told[1].lower() in ("yes", "true", "present")
        bare = re.sub(r"absence of (?:a )?cough", " ", bare, flags=re.IGNORECASE)
        return True if _P["no"].search(bare) else False if _P["yes"].search(bare) else None
    if _P["no"].search(bare):
        inside = any(
            _P["no"].search(match[0]) for names in own.names for match in names.finditer(bare)
        )
        return None if inside else False
    return True if _P["yes"].search(bare) else None


def _choice(text: str, name: str, words: Mapping[str, object], own: Criterion) -> object | None:
    bare = _without_awards(_without_totals(text))
    found: set[object] = set()
    if name.endswith("_response"):
        match = re.search(rf"\b{name[0]}\s?([1-6])\b", bare, re.I)
        if match:
            return int(match[1])
    for word, value in sorted(
        {**words, **{str(v): v for v in words.values()}}.items(), key=lambda each: -len(each[0])
    ):
        if len(word) < 2 or word in ("True", "False"):
            continue
        form = rf"(?<![\w-]){re.escape(word)}(?![\w-])"
        if re.search(form, bare, re.IGNORECASE):
            found.add(value)
            bare = re.sub(form, " ", bare, flags=re.IGNORECASE)
    return next(iter(found)) if len(found) == 1 else None
