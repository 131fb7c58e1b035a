"""The grammar of statements: which quantity a passage states as the answer.

What is denied, a bound, asked, conditional, taken back or an operand is not; alternatives and ranges count as all their values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.expression import formula_value, inside_str
from medical_tasks.benchmarks.medcalc_bench.grammar import HERE, HINTS, Q, patterns
from medical_tasks.benchmarks.medcalc_bench.quantities import Quantity, Scanner, dimension, plain

PLAIN: Final = 2.0
DENIED: Final = "a denial"
BOUND: Final = "a bound"
ASKED: Final = "a question"
CONDITION: Final = "a condition"
REFUSED: Final = "a refusal"
TAKEN_BACK: Final = "taken back"
UNFINISHED: Final = "unfinished"
OPERAND: Final = "an operand, or arithmetic not worked out"
OTHER: Final = "of something else"
OTHER_UNIT: Final = "in a unit that a score does not have"

_P: Final = patterns("statements")
_LEAD: Final = 160
_CUE_REACH: Final = 60
_OPEN_SIGNS: Final = "(+×*/=-"
_TAIL: Final = 12
_IDIOM_WORDS: Final = (
    "doubt",
    "question",
    "nothing",
    "Nothing",
    "mistaken",
    "rovided",
    "not only",
    "Not only",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked for."""

    scan: Scanner  # finds the quantities of its form
    numeric: bool = False  # whether they are numbers, so that `str(<arithmetic>)` can be worked out
    points: bool = False  # whether it is a number of points, which has no unit
    unit: str = ""  # its unit, "" without one
    own: frozenset[str] = (
        frozenset()
    )  # words that usually name something else and here what is asked for


@dataclass(frozen=True, slots=True)
class Statement:
    """What a passage states."""

    stated: tuple[Quantity, ...] = ()  # several where the passage leaves open which
    why: str = ""  # where it states none: what its last quantity is instead
    strength: float = 0.0  # how plainly it does, `PLAIN` and more behind "is", "=" and the like, or at the beginning
    settled: bool = False  # the passage is about the answer, so that no other place is looked at

    @property
    def plainly(self) -> bool:
        """Whether it follows "is", "=" and the like, or opens the passage."""
        return self.strength >= PLAIN


def read_statement(text: str, subject: Subject, *, last: bool = False) -> Statement:
    """Reads what a passage states as the answer, in running text the `last`; `HERE` may stand where the answer is named."""
    if subject.numeric:
        if _P["bare"].fullmatch(text):
            return Statement((Quantity(float(text), 0, len(text)),), strength=PLAIN, settled=True)
        inner = inside_str(text) if "str(" in text else None
        if inner is not None:
            # The form that the authors' prompt asks for; without a value it is a number with its unit, or a formula with a gap.
            value = formula_value(inner)
            if value is not None:
                return Statement((Quantity(value, 0, len(inner)),), strength=PLAIN, settled=True)
            if any(sign in inner for sign in "+-*/("):
                return Statement(why=OPERAND, settled=True)
            text = inner
    text = plain(_P["citation"].sub(" ", text) if "[" in text else text)
    if any(word in text for word in _IDIOM_WORDS):
        text = _P["idiom"].sub(" ", text)
    if "_" in text:
        text = _P["snake"].sub(" ", text)
    if last:
        # Mostly the last sentence is enough; what stands before it cannot take it back.
        start = max((end.end() for end in _P["sentence"].finditer(text)), default=0)
        head = text[:start]
        safe = start and (
            HINTS["refused"].isdisjoint(_P["words"].findall(head.lower()))
            or not _P["no_answer"].search(head)
        )
        statement = _read(text[start:], subject, last=True) if safe else Statement()
        if statement.plainly:
            return statement
    return _read(text, subject, last=last)


def _read(text: str, subject: Subject, *, last: bool) -> Statement:
    quantities = subject.scan(text)
    if not quantities:
        refused = _P["refusal"].search(text) is not None
        return Statement(why=REFUSED if refused else "", settled=refused)
    return _Passage(*_masked(text, quantities), subject).statement(last=last)


def _masked(text: str, quantities: list[Quantity]) -> tuple[str, list[Quantity]]:
    """The text with a sign for each quantity; asides in brackets gone, ranges and spreads as choices."""
    parts: list[str] = []
    end = 0
    for quantity in quantities:
        parts += [text[end : quantity.start], Q]
        end = quantity.end
    masked = "".join((*parts, text[end:]))
    if len(quantities) > 1:
        masked = _P["from_to"].sub(f"{Q}, corrected: ", masked)
    if "(" in masked or "[" in masked:
        masked, quantities = _without_asides(masked, quantities)
    if len(quantities) == 1:
        return masked, quantities
    for spread in reversed(list(_P["spread"].finditer(masked))):
        at = masked.count(Q, 0, spread.start())
        middle, half = quantities[at], quantities[at + 1]
        if isinstance(middle.value, float | int) and isinstance(half.value, float | int):
            ends = (replace(middle, value=middle.value + sign * half.value) for sign in (-1, 1))
            quantities = [*quantities[:at], *ends, *quantities[at + 2 :]]
        masked = f"{masked[: spread.start()]}{Q} or {masked[spread.end() :]}"
    for span in _P["range"].finditer(masked):
        at = masked.count(Q, 0, span.end()) - 1
        if not quantities[at].unit:
            quantities[at] = replace(quantities[at], unit=quantities[at + 1].unit)
    return _P["range"].sub(f"{Q} or ", masked), quantities


def _without_asides(masked: str, quantities: list[Quantity]) -> tuple[str, list[Quantity]]:
    """Without what stands in brackets beside a quantity, unless it is another one to choose or a correction."""
    dropped: set[int] = set()

    def shown(bracket: re.Match[str]) -> str:
        inside = bracket[1] if bracket[1] is not None else bracket[2]
        if Q not in inside:
            return f" , {inside} , " if _P["after_denied"].match(inside) else " "
        first = masked.count(Q, 0, bracket.start())
        if (
            _P["kept"].match(inside)
            and first
            and not _other_unit(quantities[first - 1], quantities[first])
        ):
            return f" , {inside} , "
        dropped.update(range(first, first + inside.count(Q)))
        return " "

    result = _P["brackets"].sub(shown, masked)
    if len(dropped) == len(quantities):  # nothing else is there
        return re.sub(r"[()\[\]]", " ", masked), quantities
    return result, [quantity for at, quantity in enumerate(quantities) if at not in dropped]


def _other_unit(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities are of different units, so that the second is no choice but an aside, or the same again."""
    first, second = (quantity.unit.lower().rstrip("s") for quantity in (one, other))
    return first != second and ("" not in (first, second) or "%" in (first, second))


class _Passage:
    def __init__(self, text: str, quantities: list[Quantity], subject: Subject) -> None:
        self.text = text
        self.quantities = quantities
        self.subject = subject
        self.places = [found.start() for found in _P["quantity"].finditer(text)]
        self.voids = [""] * len(self.places)
        self.words = frozenset(_P["words"].findall(text.lower()))
        self.hints = {kind for kind, words in HINTS.items() if not words.isdisjoint(self.words)}
        if _P["bound_signs"].search(text):
            self.hints.add("bound")
        if "≠" in text:
            self.hints.add("denied")

    def statement(self, *, last: bool) -> Statement:
        self._void_by_words()
        here = self.text.find(HERE)
        best: list[int] = []
        strength = -9.0
        for group in self._groups():
            for at in group:
                self.voids[at] = self.voids[at] or self._otherwise(at)
            if self.voids[group[0]] in (OTHER, BOUND):
                for at in group[1:]:
                    self.voids[at] = self.voids[at] or self.voids[group[0]]
            stated = [at for at in group if not self.voids[at]]
            if not stated or self.places[group[-1]] < here:
                continue
            found = max(map(self._strength, stated)) + max(map(self._fit, stated))
            if found > strength or (last and found == strength):
                # "12 (14 if he smokes)" leaves it open; what is denied beside a statement does not.
                best, strength = [at for at in group if self.voids[at] in ("", CONDITION)], found
        if not best:
            why = next((void for void in reversed(self.voids) if void), "")
            return Statement(
                why=why,
                settled=here >= 0 or any(void not in ("", OPERAND, OTHER) for void in self.voids),
            )
        return Statement(
            self._without_parts([self.quantities[at] for at in best]),
            strength=strength,
            settled=True,
        )

    def _groups(self) -> list[list[int]]:
        groups = [[0]]
        for at in range(1, len(self.places)):
            between = self.text[self.places[at - 1] + 1 : self.places[at]]
            joined = (
                _P["join"].fullmatch(between)
                or _P["contrast"].fullmatch(between)
                or self._is_parallel(at, between)
            )
            if joined and not _other_unit(self.quantities[at - 1], self.quantities[at]):
                groups[-1].append(at)
            else:
                groups.append([at])
        return groups

    def _is_parallel(self, at: int, between: str) -> bool:
        """Whether two quantities stand alike: "12 using A, 23 using B", "method 1: 12, method 2: 23"."""
        one, other = _P["with"].match(between), _P["with"].match(self.text, self.places[at] + 1)
        if one and other:
            return one[1].lower().removesuffix("out") == other[1].lower().removesuffix("out")
        label = _P["label"].search(between)
        return (
            label is not None and _P["label"].search(self.text[: self.places[at - 1]]) is not None
        )

    @staticmethod
    def _without_parts(chosen: list[Quantity]) -> tuple[Quantity, ...]:
        """Of "GCS 12, 4, 3, 5" the total."""
        numbers = [each.value for each in chosen if isinstance(each.value, float)]
        if 2 < len(numbers) == len(chosen) and min(numbers) > 0 and numbers[0] == sum(numbers[1:]):
            return tuple(chosen[:1])
        return tuple(chosen)

    def _void_by_words(self) -> None:
        start, refused = 0, False
        spoken_of = self.hints & {"denied", "bound", "condition", "refused"}
        ends: list[int] = []
        if spoken_of or "?" in self.text or _breaks_off(self.text):
            ends = [*(mark.end() for mark in _P["end"].finditer(self.text)), len(self.text)]
        for end in ends:
            inside = [at for at, place in enumerate(self.places) if start <= place < end]
            sentence = self.text[start:end]
            if inside:
                self._void_in_sentence(sentence, start, inside, refused=refused)
            refusal = _P["no_answer"].search(sentence) if "refused" in self.hints else None
            if refusal and not any(
                self.places[at] < start + refusal.start() and not self.voids[at] for at in inside
            ):
                refused = True
            start = end
        taken_back = 0
        if "taken_back" in self.hints:
            taken_back = max(
                (match.start() + 1 for match in _P["retraction"].finditer(self.text)), default=0
            )
        for match in _P["correction"].finditer(self.text) if "revised" in self.hints else ():
            if not self.voids[self.text.count(Q, 0, match.end())]:
                taken_back = max(taken_back, match.start())
        for at, place in enumerate(self.places):
            if place < taken_back:
                self.voids[at] = self.voids[at] or TAKEN_BACK

    def _void_in_sentence(
        self, sentence: str, start: int, inside: list[int], *, refused: bool
    ) -> None:
        end = start + len(sentence)
        if end == len(self.text) and _breaks_off(sentence):
            for at in inside:
                self.voids[at] = UNFINISHED
            return
        asked = "?" in sentence[-3:] and _P["yes"].match(self.text, end) is None
        conditional = "condition" in self.hints
        subjunctive = conditional and _P["subjunctive"].search(sentence) is not None
        clauses = _clauses(sentence, conditional=conditional)
        for at in inside:
            place = self.places[at] - start
            begin, governed = next(
                (begin, flag) for begin, stop, flag in clauses if begin <= place < stop
            )
            before = self.places[at - 1] + 1 - start if at else 0
            after = self.places[at + 1] + 1 - start if at + 1 < len(self.places) else len(sentence)
            lead, tail = (
                sentence[max(begin, before, place - _LEAD, 0) : place],
                sentence[place + 1 : after],
            )
            if asked:
                self.voids[at] = ASKED
            elif "bound" in self.hints and (
                _P["before_bound"].search(lead) or _P["after_bound"].match(tail)
            ):
                self.voids[at] = BOUND
            elif "denied" in self.hints and (
                ((_has(HINTS["denied"], lead) or "≠" in lead) and _P["before_denied"].search(lead))
                or _P["after_denied"].match(tail)
            ):
                self.voids[at] = DENIED
            elif governed or subjunctive:
                self.voids[at] = CONDITION
            elif "refused" in self.hints and (
                _P["refusal"].search(lead) or (refused and not _P["despite"].search(lead))
            ):
                self.voids[at] = REFUSED

    def _otherwise(self, at: int) -> str:
        """OPERAND, OTHER or the unit's fault, where the quantity is an operand or of something else; "" where it is not."""
        place, quantity = self.places[at], self.quantities[at]
        line_end = self.text.find("\n", place)
        rest = self.text[place + 1 : line_end if line_end >= 0 else len(self.text)]
        sign = _P["equals"].search(rest) if Q in rest else None
        if sign and sign[0] == "→" and self._fit(at + 1) < 0 <= self._fit(at):
            sign = None
        end_of_clause = self.text[place + 1 :]
        head = self.text[max(0, place - 40) : place]
        if (
            ("√" in head or head.rstrip()[-1:] in "+×*/" or "times" in self.hints)
            and _P["times_before"].search(head)
        ) or _P["times_after"].match(end_of_clause):
            return OPERAND
        if self.subject.points:
            counted = "count" in self.hints and _P["count_before"].search(head)
            if counted or _P["count_after"].match(end_of_clause):
                return OTHER
        if quantity.undone or (
            sign and Q in rest[sign.end() :] and not re.search(r"[.;,]\s", rest[: sign.start()])
        ):
            return OPERAND
        if self.subject.points and dimension(quantity.unit):
            return f"{OTHER_UNIT} ({quantity.unit})"
        lead = self.text[max(place - _LEAD, self.places[at - 1] + 1 if at else 0) : place]
        lead = lead[max(map(lead.rfind, (",", ";", "\n", ". "))) + 1 :]
        own = self.subject.own
        named = _P["input"].search(lead) if self._has("input", lead) else None
        elsewhere = _P["elsewhere"].search(lead) if self._has("elsewhere", lead) else None
        if (named and named[1].lower().split()[0] not in own) or (
            elsewhere and (elsewhere["own"] or "").lower() not in own
        ):
            return OTHER
        if _P["in_general"].search(lead) and _P["means"].match(rest):
            return OTHER
        statistic = None
        if "statistic" in self.hints:
            sentence = max(self.text.rfind(mark, 0, place) for mark in (";", "\n", ". ", HERE)) + 1
            lead_in = self.text[max(sentence, place - _LEAD) : place]
            statistic = (
                _P["statistic"].search(lead_in) if _has(HINTS["statistic"], lead_in) else None
            )
        if (statistic and (statistic["own"] or "").lower() not in own) or _P["long_ago"].match(
            rest
        ):
            return OTHER
        if "risk" not in own and "beside" in self.hints and _P["beside"].search(lead):
            return OTHER
        unit = self.subject.unit
        if (
            quantity.unit
            and unit
            and "" in self.voids[:at]
            and dimension(quantity.unit) != dimension(unit)
        ):
            return OTHER  # beside the answer: "25.2 mL/min, 48 kg"
        return ""

    def _has(self, kind: str, part: str) -> bool:
        return kind in self.hints and _has(HINTS[kind], part)

    def _fit(self, at: int) -> float:
        """More for a quantity in the unit asked for; less for one in another, and for the value of a letter ("k = 0.85")."""
        unit, wanted = self.quantities[at].unit, self.subject.unit
        if unit and wanted:
            return 0.5 if dimension(unit) == dimension(wanted) else -1.5
        if (dimension(unit) if self.subject.points else unit == "%") or _P["letter"].search(
            self.text[max(0, self.places[at] - 12) : self.places[at]]
        ):
            return -1.5
        return 0.0

    def _strength(self, at: int) -> int:
        """2 for what is plainly stated: it opens the passage, or follows "is" and the like; 1 for any other quantity."""
        place = self.places[at]
        line = max(self.text.rfind("\n", 0, place), self.text.rfind(HERE, 0, place)) + 1
        before = max(line, self.places[at - 1] + 1 if at else 0)
        lead = self.text[max(before, place - _CUE_REACH) : place]
        if lead.endswith((" is ", "= ", ": ")):
            return 2
        if _P["named_after"].match(self.text, place + 1):
            return 2
        if (
            before == line
            and _P["opening"].match(lead)
            and not _P["legend"].match(self.text, place + 1)
        ):
            return 2
        return 2 if _P["cue"].search(lead) and not _P["in_general"].search(lead) else 1


def _has(words: frozenset[str], text: str) -> bool:
    return not words.isdisjoint(_P["words"].findall(text.lower()))


def _breaks_off(sentence: str) -> bool:
    end = sentence[-1:] if not sentence[-1:].isspace() else sentence.rstrip()[-1:]
    return (end.isalpha() or end in _OPEN_SIGNS) and _P["broken_off"].search(
        sentence[-_TAIL:]
    ) is not None


def _clauses(sentence: str, *, conditional: bool) -> list[tuple[int, int, bool]]:
    """Start, end and whether a condition governs it, for each clause of a sentence."""
    starts = [0, *(match.start() for match in _P["clause"].finditer(sentence))]
    clauses = list(zip(starts, [*starts[1:], len(sentence)], strict=True))
    conditions = [
        _P["conditional"].search(sentence, *clause) if conditional else None for clause in clauses
    ]
    governed = [condition is not None for condition in conditions]
    for at, condition in enumerate(conditions):
        if condition is None or Q in sentence[slice(*clauses[at])]:
            continue
        # "If he smokes, 4" and "4, if he smokes": the clause has nothing of its own to govern.
        others = range(at + 1, at + 2) if at + 1 < len(clauses) else reversed(range(at))
        for other in others:
            if Q in sentence[slice(*clauses[other])]:
                governed[other] = True
                break
    return [(*clause, flag) for clause, flag in zip(clauses, governed, strict=True)]
