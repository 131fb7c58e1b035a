"""Findings that a note states, denies or leaves out: what one is, and the sentences that its phrases are strung into.

A wording says exactly what the criterion asks for. Those of the absent form include near misses (an operation outside the
window, a cancer cured long ago), which are what separates reading a criterion from spotting a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Draw, Reading
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Place as ValuePlace

__all__ = [
    "STATEMENTS",
    "Finding",
    "Grade",
    "Kind",
    "Place",
    "Voice",
    "finding",
    "grade",
    "list_sentence",
    "place_of",
    "values_sentence",
]


Kind: TypeAlias = Literal[
    "history",
    "problem",
    "symptom",
    "sign",
    "recent",
    "drug",
    "family",
    "test",
    "xray",
    "care",
    "impression",
    "habit",
    "course",
]
"""How a list of such phrases is introduced; see `list_sentence`."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that is there or not.

    Phrases are noun phrases for lists (`symptom`: "haemoptysis"); sentences stand alone. `f:` or `m:` before a wording
    keeps it to women or men. Sentences may use {He}, {he}, {His}, {his}, {him}, {side} and {other}.

    Attributes:
        kind: of its phrases.
        yes: phrases when it is there.
        no: phrases that can be denied (after "no", joined by "or"); for `impression`, `habit` and `course` whole
            statements.
        told: sentences that say it is there.
        denied: sentences that say it is not.
        concepts: what it tells of; see `Amount.concepts`.
    """

    kind: Kind
    yes: tuple[str, ...]
    no: tuple[str, ...]
    told: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    concepts: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, kw_only=True)
class Grade:
    """One class of a finding that has several.

    Attributes:
        word: as the entities name it.
        kind: of its phrases.
        phrases: for lists of what is there; whole statements as in `Finding.no`. Of what is absent, what is denied.
        told: sentences.
        absent: whether it is the class of those who do not have the finding.
    """

    word: str
    kind: Kind
    phrases: tuple[str, ...]
    told: tuple[str, ...] = ()
    absent: bool = False


def _wordings(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|")) if text else ()


def finding(kind: Kind, concepts: str, yes: str, no: str, *, told: str = "", denied: str = "") -> Finding:
    """A finding from texts with `|` between wordings, and its concepts with blanks between them."""
    return Finding(
        kind=kind,
        yes=_wordings(yes),
        no=_wordings(no),
        told=_wordings(told),
        denied=_wordings(denied),
        concepts=frozenset(concepts.split()),
    )


def grade(word: str, kind: Kind, phrases: str, *, told: str = "", absent: bool = False) -> Grade:
    """A class from texts with `|` between wordings."""
    return Grade(word=word, kind=kind, phrases=_wordings(phrases), told=_wordings(told), absent=absent)


STATEMENTS: Final[frozenset[Kind]] = frozenset({"impression", "habit", "course"})
"""Kinds whose phrases are whole statements, and that prose tells in sentences alone."""

Place: TypeAlias = Literal["story", "history", "medication", "social", "exam", "care", "tests", "impression", "plan"]
Voice: TypeAlias = Literal["self", "parent", "none"]
"""Who tells the story: the patient, the parents of a child, or nobody, for the unconscious and the very ill."""

PLACES: Final[Mapping[Kind, Place]] = {
    "history": "history",
    "problem": "history",
    "symptom": "story",
    "recent": "story",
    "sign": "exam",
    "drug": "medication",
    "family": "social",
    "habit": "social",
    "course": "story",
    "test": "tests",
    "xray": "tests",
    "care": "care",
    "impression": "impression",
}

_There: TypeAlias = tuple[str, ...]

_PRESENT: Final[Mapping[Kind, _There]] = {
    "history": ("{His} history includes {list}.", "{He} has a history of {list}.", "Past medical history: {list}."),
    "problem": ("Known problems: {list}.", "Active problems are {list}.", "The problem list names {list}."),
    "symptom": ("{He} reports {list}.", "{He} complains of {list}.", "{He} mentions {list}."),
    "recent": ("{He} had {list}.", "Of note, {he} had {list}."),
    "sign": ("Examination shows {list}.", "On examination: {list}.", "Findings include {list}."),
    "drug": ("{He} takes {list}.", "Medication: {list}.", "Regular medicines include {list}."),
    "family": ("Family history: {list}.", "The family history includes {list}."),
    "test": ("Tests show {list}.", "The work-up shows {list}."),
    "xray": ("The chest X-ray shows {list}.", "Chest radiograph: {list}."),
    "care": ("Current care: {list}.", "{He} is treated with {list}."),
    "impression": ("Impression: {list}.",),
    "habit": ("Social history: {list}.",),
    "course": ("Course: {list}.",),
}
_ABSENT: Final[Mapping[Kind, _There]] = {
    "history": ("There is no history of {list}.", "{He} has never had {list}.", "No history of {list}."),
    "problem": ("There is no {list}.", "{He} does not have {list}."),
    "symptom": ("{He} denies {list}.", "{He} reports no {list}.", "When asked, {he} reports no {list}."),
    "recent": ("{He} has not had any {list}.", "{He} reports no {list}."),
    "sign": ("Examination shows no {list}.", "On examination no {list}.", "{He} has no {list}."),
    "drug": ("{He} takes no {list}.", "{He} does not take {list}."),
    "family": ("There is no family history of {list}.", "The family history is negative for {list}."),
    "test": ("Tests show no {list}.", "The work-up shows no {list}."),
    "xray": ("The chest X-ray shows no {list}.", "No {list} on the chest X-ray."),
    "care": ("There is no {list}.", "{He} is managed without {list}."),
    "impression": ("Impression: {list}.",),
    "habit": ("Social history: {list}.",),
    "course": ("Course: {list}.",),
}
_BRIEF_PRESENT: Final[Mapping[Kind, _There]] = {
    "history": ("PMH: {list}.", "Hx: {list}."),
    "problem": ("Problems: {list}.",),
    "symptom": ("C/o {list}.", "Reports {list}."),
    "recent": ("Recently {list}.", "Recent events: {list}."),
    "sign": ("O/E {list}.", "Exam: {list}."),
    "drug": ("Meds: {list}.", "Rx: {list}."),
    "family": ("FH: {list}.",),
    "test": ("Tests: {list}.",),
    "xray": ("CXR: {list}.",),
    "care": ("Care: {list}.",),
    "impression": ("Imp: {list}.",),
    "habit": ("SH: {list}.",),
    "course": ("Course: {list}.",),
}
_BRIEF_ABSENT: Final[Mapping[Kind, _There]] = {
    "history": ("PMH negative for {list}.", "No hx of {list}."),
    "problem": ("No {list}.",),
    "symptom": ("Denies {list}.", "No {list}."),
    "recent": ("No {list}.",),
    "sign": ("No {list}.", "O/E no {list}."),
    "drug": ("No {list}.", "Not on {list}."),
    "family": ("FH negative for {list}.",),
    "test": ("Tests: no {list}.",),
    "xray": ("CXR: no {list}.",),
    "care": ("No {list}.",),
    "impression": ("Imp: {list}.",),
    "habit": ("SH: {list}.",),
    "course": ("Course: {list}.",),
}
# What nobody told cannot be reported or denied by the patient.
_UNTOLD: Final[Mapping[tuple[Voice, bool], _There]] = {
    ("parent", True): ("{His} parents report {list}.", "{His} parents have noticed {list}."),
    ("parent", False): ("{His} parents report no {list}.", "{His} parents have noticed no {list}."),
    ("none", True): ("Relatives report {list}.", "Staff noted {list}."),
    ("none", False): ("Relatives report no {list}.", "The staff noted no {list}."),
}
_VALUES: Final[Mapping[ValuePlace, _There]] = {
    "vitals": (
        "Bedside values: {list}.",
        "On examination: {list}.",
        "Measured today: {list}.",
        "Observations: {list}.",
    ),
    "labs": (
        "Laboratory values: {list}.",
        "Blood tests: {list}.",
        "Laboratory results show {list}.",
        "The laboratory reports {list}.",
    ),
    "gas": ("Arterial blood gas: {list}.", "Blood gas analysis: {list}."),
}
_BRIEF_VALUES: Final[Mapping[ValuePlace, _There]] = {
    "vitals": ("Obs: {list}.", "{list}.", "VS {list}."),
    "labs": ("Labs: {list}.", "Bloods: {list}."),
    "gas": ("ABG: {list}.",),
}


def place_of(kind: Kind) -> Place:
    """The part of a note where findings of a kind stand."""
    return PLACES[kind]


def _capital(text: str) -> str:
    """The text with a capital at its beginning; the rest as it is."""
    return text[:1].upper() + text[1:]


def _joined(phrases: Sequence[str], word: str) -> str:
    if len(phrases) == 1:
        return phrases[0]
    return f"{', '.join(phrases[:-1])} {word} {phrases[-1]}"


def list_sentence(draw: Draw, kind: Kind, phrases: Sequence[str], *, present: bool, brief: bool, voice: Voice) -> str:
    """A sentence that states or denies phrases of one kind; its pronouns are still to be filled in.

    Args:
        draw: source of chance.
        kind: of the phrases.
        phrases: one or more.
        present: whether they are there.
        brief: for a telegraphic note.
        voice: who tells it.

    Returns:
        The sentence, a template.
    """
    statements = kind in STATEMENTS
    if brief:
        frames = (_BRIEF_PRESENT if present else _BRIEF_ABSENT)[kind]
        if kind == "symptom" and not present and voice != "self":
            frames = ("No {list}.",)
        items = ", ".join(phrases) if present or statements else _joined(phrases, "or")
    else:
        frames = (_PRESENT if present else _ABSENT)[kind]
        if kind == "symptom" and voice != "self":
            frames = _UNTOLD[voice, present]
        items = ", ".join(phrases) if statements else _joined(phrases, "and" if present else "or")
    return _capital(draw.pick(frames).replace("{list}", items))


def values_sentence(draw: Draw, place: ValuePlace, readings: Sequence[Reading], *, brief: bool) -> str:
    """A sentence that lists values.

    Args:
        draw: source of chance.
        place: what they are.
        readings: one or more.
        brief: for a telegraphic note.

    Returns:
        The sentence.
    """
    frames = (_BRIEF_VALUES if brief else _VALUES)[place]
    if brief or draw.chance(0.6):
        text = ", ".join([reading.written(brief=brief) for reading in readings])
    else:
        text = _joined([f"{reading.name} of {reading.text}" for reading in readings], "and")
    return _capital(draw.pick(frames).replace("{list}", text))
