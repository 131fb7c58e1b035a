"""An invented patient: the person, and the chart of all statements in a note.

Every statement is entered into the chart once and goes from there into the note and the
entities, so that the two cannot differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators import AnyCalculator
from medical_tasks.construct.fresh.findings import (
    FINDINGS,
    GRADES,
    SECTION_OF_KIND,
    STATEMENTS,
    Finding,
    Kind,
    Section,
    Voice,
)
from medical_tasks.construct.fresh.quantities import (
    AMOUNTS,
    Draw,
    Reading,
    System,
    read_json,
)
from medical_tasks.construct.fresh.quantities import ValueGroup as ValuePlace

__all__ = [
    "Chart",
    "Fact",
    "Person",
    "Setting",
    "draw_person",
    "settings_of",
]


Sex: TypeAlias = Literal["male", "female", "open"]
"""`open`: either, filled in afterwards; the note then says nothing specific to one sex."""

_ADULT = 18
_VOWEL_AGES = frozenset({8, 11, 18, *range(80, 90)})
# Patients are named by initials alone. O and I look like digits, and X is too rare.
_LETTERS = "ABCDEFGHJKLMNPRSTVW"
_MALE = {
    "He": "He",
    "he": "he",
    "His": "His",
    "his": "his",
    "him": "him",
    "himself": "himself",
}
_FEMALE = {
    "He": "She",
    "he": "she",
    "His": "Her",
    "his": "her",
    "him": "her",
    "himself": "herself",
}


@dataclass(frozen=True, slots=True)
class Person:
    """A patient.

    Attributes:
        age: Completed years or months.
        months: Whether `age` counts months.
    """

    sex: Sex
    age: int
    months: bool
    initials: str

    @property
    def child(self) -> bool:
        """Whether the patient is a minor."""
        return self.months or self.age < _ADULT

    @property
    def years(self) -> int:
        """Completed years."""
        return 0 if self.months else self.age

    @property
    def noun(self) -> str:
        """`man`, `woman`, `boy` or `girl`."""
        if self.child:
            return "boy" if self.sex == "male" else "girl"
        return "man" if self.sex == "male" else "woman"

    @property
    def article(self) -> str:
        """`A` or `An`, as the age is read aloud."""
        return "An" if self.age in _VOWEL_AGES else "A"

    @property
    def described(self) -> str:
        """For example `72-year-old woman`."""
        return f"{self.age}-{'month' if self.months else 'year'}-old {self.noun}"

    @property
    def brief(self) -> str:
        """For example `72 y F`, as in a telegraphic note."""
        return f"{self.age} {'mo' if self.months else 'y'} {'M' if self.sex == 'male' else 'F'}"

    @property
    def title(self) -> str:
        """The patient's name in a letter: `Ms K.`, or both initials of a child."""
        if self.child:
            return f"{self.initials[0]}.{self.initials[1]}."
        return f"{'Mr' if self.sex == 'male' else 'Ms'} {self.initials[1]}."

    @property
    def words(self) -> Mapping[str, str]:
        """Pronouns for templates, by their male form."""
        return _MALE if self.sex == "male" else _FEMALE


def draw_person(
    draw: Draw,
    low: int,
    high: int,
    *,
    near: Sequence[int] = (),
    sex: Sex | None = None,
    months: bool = False,
) -> Person:
    """Draws a patient from `low` to `high` years (or months) old.

    A third of the patients have an age of `near`, or one year more or less.
    """
    age = (
        draw.pick(near) + draw.pick((-1, 0, 0, 1))
        if near and draw.chance(1 / 3)
        else draw.whole(low, high)
    )
    initials = draw.pick(_LETTERS) + draw.pick(_LETTERS)
    chosen: Sex = sex or ("female" if draw.chance(0.5) else "male")

    return Person(chosen, min(max(age, low), high), months, initials)


Setting: TypeAlias = Literal[
    "clinic", "emergency", "resus", "ward", "icu", "obstetric", "child"
]
Style: TypeAlias = Literal["narrative", "referral", "soap", "telegraphic", "discharge"]

_CASES: Final = read_json("cases.json")
_DATA: Final = _CASES["settings"]
"""Settings, with the styles of their notes and how a note begins."""


def settings_of(word: str) -> frozenset[str]:
    """Returns the settings that a word of the data files stands for."""
    return frozenset(_CASES["places"].get(word, word).split())


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about an input of the calculator.

    The entities are the present statements about the patient that are stated or denied.

    Attributes:
        value: The entity; None if the note leaves it out or gives words alone.
        what: The name of the amount, finding or grades.
        text: Its words in the note: a number with its unit or a phrase; for a statement
            about the past or somebody else, the sentence.
    """

    parameter: str
    value: object
    what: str = ""
    text: str = ""
    reading: Reading | None = None
    who: Literal["patient", "relative"] = "patient"
    when: Literal["now", "past"] = "now"
    status: Literal[
        "stated", "denied", "left out", "superseded", "copied", "ruled out"
    ] = "stated"


_CLOUDED = ("drows", "confus", "letharg")  # these patients cannot give a history
# The share of findings with separate sentences that use one in prose.
_SENTENCE_SHARE = 0.5


class Chart:
    """The statements about one patient.

    `entities` are in the dataset's form. `concepts` are those of the calculator's inputs,
    whether stated or left out.
    """

    def __init__(
        self,
        calculator: AnyCalculator,
        draw: Draw,
        person: Person,
        *,
        setting: Setting,
        reason: Sequence[str],
        voice: Voice = "self",
        blocks: str = "",
    ) -> None:
        """Draws style, sides and units, and one template of `reason`.

        In a template, `//` separates sentences of the story. `blocks` are the concepts that
        the scene mentions.
        """
        self.calculator = calculator
        self.draw = draw
        self.person = person
        self.setting = setting
        # The names of the drawn scene and reasons, if the case has several.
        self.scene = self.topic = ""
        self.reason, *self.story = draw.pick(reason).split("//")
        quiet = any(word in self.reason for word in _CLOUDED)
        self.voice: Voice = "none" if quiet else voice
        self.style: Style = draw.pick(_DATA[setting]["styles"])
        self.system: System = "us" if draw.chance(0.55) else "si"
        self.side, self.other = (
            ("left", "right") if draw.chance(0.5) else ("right", "left")
        )
        self.entities: dict[str, object] = {}
        self.facts: list[Fact] = []
        self.concepts: set[str] = set(blocks.split()) | (
            {"mind", "brain"} if quiet else set()
        )
        self.sentences: dict[Section, list[str]] = defaultdict(list)
        self.phrases: dict[tuple[Kind, bool], list[str]] = defaultdict(list)
        self.values: dict[ValuePlace, list[Reading]] = defaultdict(list)
        self._names = {item.parameter: item.name for item in calculator.inputs}

    @property
    def words(self) -> dict[str, str]:
        """The words for the names in templates."""
        return {**self.person.words, "side": self.side, "other": self.other}

    @property
    def brief(self) -> bool:
        """Whether the note is telegraphic."""
        return self.style == "telegraphic"

    def enter(
        self,
        parameter: str,
        value: object,
        *,
        what: str = "",
        text: str = "",
        reading: Reading | None = None,
    ) -> None:
        """Adds a value to the facts, and to the entities under the dataset's name."""
        self.entities[self._names[parameter]] = value
        text, status = (
            reading.text if reading else text,
            "denied" if value is False else "stated",
        )
        self.facts.append(Fact(parameter, value, what, text, reading, status=status))  # type: ignore[arg-type]

    def age(self) -> None:
        """Enters the patient's age, which every note states."""
        self.enter(
            "age_years", [self.person.age, "months" if self.person.months else "years"]
        )

    def sex(self) -> None:
        """Enters the patient's sex, which every note states."""
        self.enter("sex", self.person.sex.capitalize())

    def say(self, section: Section, sentence: str) -> None:
        """Adds a sentence, which is a template, to a section of the note."""
        self.sentences[section].append(sentence)

    def measure(
        self,
        parameter: str,
        amount_name: str,
        low: float,
        high: float,
        *,
        near: Sequence[float] = (),
    ) -> Reading:
        """States a measured value from `low` to `high`, often close to one of `near`."""
        amount = AMOUNTS[amount_name]
        self.concepts |= amount.concepts
        # One value in eight is in the other system of units, as in notes that quote an
        # outside result.
        system = (
            self.system
            if not self.draw.chance(0.125)
            else ("si" if self.system == "us" else "us")
        )
        reading = amount.read(self.draw, system, low, high, near=near)
        self.note_value(amount.group, reading)
        self.enter(parameter, reading.entity, what=amount_name, reading=reading)

        return reading

    def perhaps(
        self,
        mentioned: float,
        parameter: str,
        amount: str,
        *limits: float,
        near: Sequence[float] = (),
    ) -> None:
        """States a measured value with probability `mentioned`.

        Otherwise it is neither in the note nor in the entities.
        """
        self.concepts |= AMOUNTS[amount].concepts
        if self.draw.chance(mentioned):
            self.measure(parameter, amount, *limits, near=near)

    def pressure(
        self,
        low: int,
        high: int,
        *,
        near: Sequence[int] = (),
        near_diastolic: Sequence[int] = (),
        near_mean: Sequence[int] = (),
        mentioned: float = 1.0,
    ) -> None:
        """States a blood pressure (mm Hg) with probability `mentioned`.

        Enters systolic and diastolic pressure as far as the calculator has them.
        """
        self.concepts.add("pressure")
        draw = self.draw
        if mentioned < 1 and not draw.chance(mentioned):
            return

        systolic = (
            draw.pick(near) + draw.pick((-1, 0, 0, 1))
            if near and draw.chance(0.35)
            else draw.whole(low, high)
        )
        diastolic = round(systolic * draw.between(0.52, 0.68))
        if near_diastolic and draw.chance(0.35):
            bound = draw.pick(near_diastolic) + draw.pick((-1, 0, 0, 1))
            systolic, diastolic = max(systolic, bound + 22), bound
        elif near_mean and draw.chance(0.35):
            third = draw.whole(10, 17)
            diastolic = draw.pick(near_mean) + draw.pick((-1, 0, 0, 1)) - third
            systolic = diastolic + 3 * third

        # Published tables have whole mean pressures (70 to 109), so that a value between
        # 69 and 70 belongs to no class.
        while any(
            bound - 1 < (systolic + 2 * diastolic) / 3 < bound for bound in near_mean
        ):
            diastolic += 1

        unit = draw.pick((" mm Hg", " mmHg"))
        if "diastolic_mm_hg" in self._names or draw.chance(0.6):
            reading = Reading(
                None, f"{systolic}/{diastolic}{unit}", "blood pressure", "BP", systolic
            )
        else:
            reading = Reading(
                None, f"{systolic}{unit}", "systolic blood pressure", "SBP", systolic
            )

        self.note_value("vitals", reading)
        self.enter(
            "systolic_mm_hg", [systolic, "mm Hg"], what="pressure", reading=reading
        )
        if "diastolic_mm_hg" in self._names:
            self.enter("diastolic_mm_hg", [diastolic, "mm Hg"])

    def note_value(self, group: ValuePlace, reading: Reading) -> None:
        """Adds a value to the note alone."""
        self.values[group].append(reading)

    def leave_open(self, *names: str) -> None:
        """Keeps distractors from mentioning findings that the calculator asks for.

        This applies whether or not the note states the findings, since a distractor must
        never answer the question.
        """
        for name in names:
            self.concepts |= FINDINGS[name].concepts

    def find(
        self,
        parameter: str,
        name: str = "",
        *,
        present: float = 0.4,
        mentioned: float = 0.8,
        forced: bool | None = None,
        clouds: bool = False,
    ) -> bool | None:
        """States a finding with probability `present`; else denies it or leaves it out.

        `mentioned` is the probability of a denial. A patient with a finding that `clouds`
        gives no history.
        """
        finding = FINDINGS[name or parameter]
        self.concepts |= finding.concepts
        is_there = self.draw.chance(present) if forced is None else forced
        if not is_there and not self.draw.chance(mentioned):
            self.facts.append(
                Fact(parameter, None, name or parameter, status="left out")
            )
            return None

        self.enter(
            parameter,
            is_there,
            what=name or parameter,
            text=self.state(finding, is_there=is_there),
        )
        if is_there and clouds:
            self.voice = "none"

        return is_there

    def state(self, finding: Finding, *, is_there: bool) -> str:
        """Adds a finding to the note alone, and returns its words."""
        sentences, phrases = (
            (finding.affirmed, finding.yes)
            if is_there
            else (finding.denied, finding.no)
        )
        prose = bool(self._fitting(sentences)) and not self.brief
        prose = prose and (
            finding.kind in STATEMENTS or self.draw.chance(_SENTENCE_SHARE)
        )
        return self._write(
            finding.kind, sentences, phrases, is_there=is_there, prose=prose
        )

    def choose(self, parameter: str, name: str = "", *indices: int) -> int:
        """States one class of a graded finding and returns its index.

        The class is one of `indices`, by default of all.
        """
        grades = GRADES[name or parameter]
        choices = indices or range(len(grades))
        index = choices[0] if len(choices) == 1 else self.draw.pick(choices)
        grade = grades[index]
        text = self._write(
            grade.kind,
            grade.affirmed,
            grade.phrases,
            is_there=not grade.absent,
            prose=not self.brief,
        )
        self.enter(parameter, grade.word, what=name or parameter, text=text)

        return index

    def _write(
        self,
        kind: Kind,
        sentences: tuple[str, ...],
        phrases: tuple[str, ...],
        *,
        is_there: bool,
        prose: bool,
    ) -> str:
        fitting = self._fitting(sentences) if prose else []
        text = self.draw.pick(fitting or self._fitting(phrases))
        if fitting:
            self.say(SECTION_OF_KIND[kind], text)
        else:
            self.phrases[kind, is_there].append(text)
        return text

    def _fitting(self, wordings: tuple[str, ...]) -> list[str]:
        """Returns the wordings for this patient's sex, without their prefix."""
        other = "f:" if self.person.sex == "male" else "m:"
        return [
            text.removeprefix("m:").removeprefix("f:")
            for text in wordings
            if not text.startswith(other)
        ]
