"""What is known of one invented patient while a question is made: the note's parts and the entities, written together.

Every statement goes into the chart once and from there into both, so that a note and its entities cannot differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.fresh.amounts import Amount, Reading, System
from medical_tasks.benchmarks.medcalc_bench.fresh.amounts import Place as ValuePlace
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import Finding, Grade, Kind
from medical_tasks.benchmarks.medcalc_bench.fresh.person import Person
from medical_tasks.benchmarks.medcalc_bench.fresh.wording import STATEMENTS, Place, Voice, place_of
from medical_tasks.calculators import AnyCalculator

__all__ = ["Chart", "Setting", "Style"]

Setting: TypeAlias = Literal["clinic", "emergency", "resus", "ward", "icu", "obstetric", "child"]
Style: TypeAlias = Literal["narrative", "referral", "soap", "telegraphic", "discharge"]

STYLES: Mapping[Setting, tuple[Style, ...]] = {
    "clinic": ("narrative", "referral", "soap", "telegraphic"),
    "emergency": ("narrative", "referral", "soap", "telegraphic", "discharge"),
    "resus": ("narrative", "soap", "telegraphic"),
    "ward": ("narrative", "soap", "telegraphic", "discharge"),
    "icu": ("narrative", "soap", "telegraphic"),
    "obstetric": ("narrative", "referral", "soap", "telegraphic"),
    "child": ("narrative", "referral", "soap", "telegraphic"),
}
"""The kinds of note that are written where a patient is."""

_CLOUDED = ("drows", "confus", "letharg")  # nobody with these tells or denies symptoms
_SENTENCE_SHARE = 0.5  # of the findings that have sentences of their own, how many use one in prose


class Chart:
    """One patient's statements.

    Attributes:
        calculator: what will be asked.
        draw: source of chance.
        person: the patient.
        setting: where the note is written.
        reason: why the patient is seen; begins with `with`, `for`, `after` or the like.
        story: what is told of it, before the findings.
        voice: who tells the story.
        style: the kind of note.
        system: units of the laboratory.
        entities: name to value, for the dataset.
        concepts: what the calculator needs to know of, stated or left out.
        sentences: part of the note to its sentences, as templates.
        phrases: kind and presence to phrases that share a sentence.
        values: kind of value to the values.
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
        """Open a chart.

        Args:
            calculator: what will be asked.
            draw: source of chance.
            person: the patient.
            setting: where the note is written.
            reason: reasons of which one is taken; templates. After `//` follow sentences of the story.
            voice: who tells the story.
            blocks: further concepts that the scene speaks of, with blanks between them.
        """
        self.calculator = calculator
        self.draw = draw
        self.person = person
        self.setting = setting
        self.reason, *self.story = draw.pick(reason).split("//")
        quiet = any(word in self.reason for word in _CLOUDED)
        self.voice: Voice = "none" if quiet else voice
        self.style: Style = draw.pick(STYLES[setting])
        self.system: System = "us" if draw.chance(0.55) else "si"
        self.side, self.other = ("left", "right") if draw.chance(0.5) else ("right", "left")
        self.entities: dict[str, object] = {}
        self.concepts: set[str] = set(blocks.split()) | ({"mind", "brain"} if quiet else set())
        self.sentences: dict[Place, list[str]] = defaultdict(list)
        self.phrases: dict[tuple[Kind, bool], list[str]] = defaultdict(list)
        self.values: dict[ValuePlace, list[Reading]] = defaultdict(list)
        self._names = {item.parameter: item.name for item in calculator.inputs}

    @property
    def brief(self) -> bool:
        """Whether the note is telegraphic."""
        return self.style == "telegraphic"

    def enter(self, parameter: str, value: object) -> None:
        """Puts a value into the entities, under the dataset's name of a parameter."""
        self.entities[self._names[parameter]] = value

    def age(self) -> None:
        """Enters the patient's age, which every note states."""
        self.enter("age_years", [self.person.age, "months" if self.person.months else "years"])

    def sex(self) -> None:
        """Enters the patient's sex, which every note states."""
        self.enter("sex", self.person.sex.capitalize())

    def say(self, place: Place, sentence: str) -> None:
        """Adds a sentence, a template, to a part of the note."""
        self.sentences[place].append(sentence)

    def measure(
        self,
        parameter: str,
        amount: Amount,
        low: float,
        high: float,
        *,
        near: tuple[float, ...] = (),
        printed: Mapping[str, tuple[float, ...]] | None = None,
    ) -> Reading:
        """States a measured value.

        Args:
            parameter: of the calculator.
            amount: the quantity.
            low: smallest value, in the amount's base unit.
            high: largest value.
            near: thresholds of the rule.
            printed: thresholds printed for a unit of its own.

        Returns:
            The value.
        """
        self.concepts |= amount.concepts
        # One value in eight is written in the other laboratory's units, as in notes that quote an outside result.
        system = self.system if not self.draw.chance(0.125) else ("si" if self.system == "us" else "us")
        reading = amount.read(self.draw, system, low, high, near=near, printed=printed)
        self.note_value(amount.place, reading)
        self.enter(parameter, reading.entity)
        return reading

    def perhaps(
        self,
        known: float,
        parameter: str,
        amount: Amount,
        low: float,
        high: float,
        *,
        near: tuple[float, ...] = (),
    ) -> Reading | None:
        """States a measured value with probability `known`, or leaves it out of note and entities; see `measure`."""
        self.concepts |= amount.concepts
        return self.measure(parameter, amount, low, high, near=near) if self.draw.chance(known) else None

    def pressure(
        self,
        low: int,
        high: int,
        *,
        near: tuple[int, ...] = (),
        near_diastolic: tuple[int, ...] = (),
        near_mean: tuple[int, ...] = (),
        known: float = 1.0,
    ) -> float | None:
        """States a blood pressure, or leaves it out; enters what the calculator has of systole and diastole.

        Args:
            low: smallest systolic pressure in mm Hg.
            high: largest.
            near: thresholds of the systolic pressure.
            near_diastolic: thresholds of the diastolic pressure.
            near_mean: thresholds of the mean pressure.
            known: probability that it is stated.

        Returns:
            The mean pressure, None when it is left out.
        """
        self.concepts.add("pressure")
        draw = self.draw
        if known < 1 and not draw.chance(known):
            return None
        systolic = draw.pick(near) + draw.pick((-1, 0, 0, 1)) if near and draw.chance(0.35) else draw.whole(low, high)
        diastolic = round(systolic * draw.between(0.52, 0.68))
        if near_diastolic and draw.chance(0.35):
            bound = draw.pick(near_diastolic) + draw.pick((-1, 0, 0, 1))
            systolic, diastolic = max(systolic, bound + 22), bound
        elif near_mean and draw.chance(0.35):
            third = draw.whole(10, 17)
            diastolic = draw.pick(near_mean) + draw.pick((-1, 0, 0, 1)) - third
            systolic = diastolic + 3 * third
        # Tables print whole mean pressures (70 to 109): what lies between 69 and 70 belongs to no class in print.
        while any(bound - 1 < (systolic + 2 * diastolic) / 3 < bound for bound in near_mean):
            diastolic += 1
        unit = draw.pick((" mm Hg", " mmHg"))
        both = "diastolic_mm_hg" in self._names or draw.chance(0.6)
        if both:
            reading = Reading(None, f"{systolic}/{diastolic}{unit}", "blood pressure", "BP", systolic)
        else:
            reading = Reading(None, f"{systolic}{unit}", "systolic blood pressure", "SBP", systolic)
        self.note_value("vitals", reading)
        self.enter("systolic_mm_hg", [systolic, "mm Hg"])
        if "diastolic_mm_hg" in self._names:
            self.enter("diastolic_mm_hg", [diastolic, "mm Hg"])
        return (systolic + 2 * diastolic) / 3

    def note_value(self, place: ValuePlace, reading: Reading) -> None:
        """Writes a value into the note alone."""
        self.values[place].append(reading)

    def leave_open(self, *findings: Finding) -> None:
        """Keeps distractors off findings that the calculator asks for, whether or not the note will state them."""
        for finding in findings:
            self.concepts |= finding.concepts

    def find(
        self, parameter: str, finding: Finding, *, present: float = 0.4, known: float = 0.8, forced: bool | None = None
    ) -> bool | None:
        """States a finding, denies it, or leaves it out of note and entities.

        Args:
            parameter: of the calculator.
            finding: the finding.
            present: probability that it is there.
            known: probability that the note speaks of it when it is absent; what is there is always said.
            forced: whether it is there, where that is decided already.

        Returns:
            True, False, or None when it is left out.
        """
        self.concepts |= finding.concepts
        there = self.draw.chance(present) if forced is None else forced
        if not there and not self.draw.chance(known):
            return None
        self.state(finding, there=there)
        self.enter(parameter, there)
        return there

    def state(self, finding: Finding, *, there: bool) -> None:
        """Writes a finding into the note alone."""
        sentences = self._fitting(finding.told if there else finding.denied)
        phrases = self._fitting(finding.yes if there else finding.no)
        statement = finding.kind in STATEMENTS and not self.brief
        if sentences and not self.brief and (statement or self.draw.chance(_SENTENCE_SHARE)):
            self.say(place_of(finding.kind), self.draw.pick(sentences))
        else:
            self.phrases[finding.kind, there].append(self.draw.pick(phrases))

    def choose(self, parameter: str, grade: Grade) -> None:
        """States one class of a finding that has several."""
        self.enter(parameter, grade.word)
        sentences, phrases = self._fitting(grade.told), self._fitting(grade.phrases)
        if sentences and not self.brief:
            self.say(place_of(grade.kind), self.draw.pick(sentences))
        else:
            self.phrases[grade.kind, not grade.absent].append(self.draw.pick(phrases))

    def _fitting(self, wordings: tuple[str, ...]) -> list[str]:
        """The wordings for this patient's sex, without their mark."""
        mark = f"{self.person.sex[0]}:"
        fitting: list[str] = []
        for wording in wordings:
            if wording.startswith(("m:", "f:")):
                if wording.startswith(mark):
                    fitting.append(wording[2:])
            else:
                fitting.append(wording)
        return fitting
