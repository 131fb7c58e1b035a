"""Findings that a note states, denies or leaves out: wordings for each, and the phrases they are strung into.

A wording says exactly what the criterion asks for. Those of the absent form include near misses (an operation outside the
window, a cancer cured long ago), which are what separates reading a criterion from spotting a word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Finding", "Grade", "Kind", "finding", "grade"]

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
"""How a list of such phrases is introduced; see `wording`."""


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
