"""The invented patient of a note: sex, age and the words that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw

__all__ = ["Person", "Sex", "draw_person"]

Sex: TypeAlias = Literal["male", "female"]

_ADULT = 18
_VOWEL_AGES = frozenset({8, 11, 18, *range(80, 90)})
# Initials are all the name a patient gets; O and I read as digits, X is too rare to look like a name.
_LETTERS = "ABCDEFGHJKLMNPRSTVW"
_MALE = {"He": "He", "he": "he", "His": "His", "his": "his", "him": "him", "himself": "himself"}
_FEMALE = {"He": "She", "he": "she", "His": "Her", "his": "her", "him": "her", "himself": "herself"}


@dataclass(frozen=True, slots=True)
class Person:
    """A patient.

    Attributes:
        sex: `male` or `female`.
        age: completed years; months for infants.
        months: whether `age` counts months.
        initials: two letters, the only name.
    """

    sex: Sex
    age: int
    months: bool
    initials: str

    @property
    def child(self) -> bool:
        """Whether the patient is under 18."""
        return self.months or self.age < _ADULT

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
        """How a letter names the patient: `Ms K.`; a child by both initials."""
        if self.child:
            return f"{self.initials[0]}.{self.initials[1]}."
        return f"{'Mr' if self.sex == 'male' else 'Ms'} {self.initials[1]}."

    @property
    def words(self) -> Mapping[str, str]:
        """Pronouns for templates, by their male form."""
        return _MALE if self.sex == "male" else _FEMALE


def draw_person(
    draw: Draw, low: int, high: int, *, near: tuple[int, ...] = (), sex: Sex | None = None, months: bool = False
) -> Person:
    """Draws a patient.

    Args:
        draw: source of chance.
        low: youngest age.
        high: oldest age.
        near: ages at which the calculator's points change; every third patient stands on one or a year beside it.
        sex: where only one is possible.
        months: whether ages count months.

    Returns:
        The patient.
    """
    age = draw.pick(near) + draw.pick((-1, 0, 0, 1)) if near and draw.chance(1 / 3) else draw.whole(low, high)
    initials = draw.pick(_LETTERS) + draw.pick(_LETTERS)
    chosen: Sex = sex or ("female" if draw.chance(0.5) else "male")
    return Person(chosen, min(max(age, low), high), months, initials)
