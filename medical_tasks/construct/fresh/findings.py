"""Findings that a note states, denies or leaves out, and sentences of their phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from medical_tasks.construct.fresh.quantities import Draw, frozen, read_json

__all__ = [
    "FINDINGS", "GRADES", "SECTION_OF_KIND", "STATEMENTS", "Finding", "Kind", "Section", "Voice", "finding", "list_sentence",
]  # fmt: skip


Kind: TypeAlias = str
"""How a list of phrases is introduced, a key of `SECTION_OF_KIND`; see `list_sentence`."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding that a patient has or does not have.

    It has phrases for lists and separate sentences. The prefix `f:` or `m:` restricts a
    wording to women or men.

    Attributes:
        yes: Phrases that state it.
        no: Phrases that can be denied ("no A or B"); for `STATEMENTS`, whole statements.
        affirmed: Sentences that state it.
        denied: Sentences that deny it.
        concepts: The concepts it is about; see `Amount.concepts`.
    """

    kind: Kind
    yes: tuple[str, ...]
    no: tuple[str, ...]
    affirmed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    concepts: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, kw_only=True)
class Grade:
    """A class of a graded finding, such as ascites: absent, slight, moderate."""

    word: str  # its name in the entities
    kind: Kind
    # Phrases that state it; for the absent class, phrases that are denied.
    phrases: tuple[str, ...]
    affirmed: tuple[str, ...] = ()
    absent: bool = False  # whether this class means that the finding is absent


def finding(kind: Kind, concepts: str, **wordings: Sequence[str]) -> Finding:
    """Makes a finding from its concepts, separated by blanks, and its wordings by form."""
    texts = {form: tuple(texts) for form, texts in wordings.items()}
    return Finding(kind=kind, concepts=frozenset(concepts.split()), **texts)


STATEMENTS: Final[frozenset[Kind]] = frozenset({"impression", "habit", "course"})
"""Kinds whose phrases are whole statements; in prose they have separate sentences only."""

Section: TypeAlias = Literal[
    "story",
    "history",
    "medication",
    "social",
    "exam",
    "care",
    "tests",
    "impression",
    "plan",
]
Voice: TypeAlias = Literal["self", "parent", "none"]
"""Who gives the history: the patient, a child's parents, or nobody, if the patient is unconscious
or very ill."""

SECTION_OF_KIND: Final[Mapping[Kind, Section]] = {
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

_DATA: Final = read_json("findings.json")
FINDINGS: Final[Mapping[str, Finding]] = {
    name: finding(**{key: value for key, value in entry.items() if key != "why"})
    for name, entry in _DATA["findings"].items()
}
GRADES: Final[Mapping[str, tuple[Grade, ...]]] = {
    name: tuple(Grade(**frozen(entry)) for entry in entries)
    for name, entries in _DATA["grades"].items()
}
_FRAMES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = _DATA["frames"]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _joined(phrases: Sequence[str], word: str) -> str:
    if len(phrases) == 1:
        return phrases[0]
    return f"{', '.join(phrases[:-1])} {word} {phrases[-1]}"


def list_sentence(
    draw: Draw,
    kind: Kind,
    phrases: Sequence[str],
    *,
    present: bool,
    brief: bool,
    voice: Voice,
) -> str:
    """Makes a sentence that states or denies phrases of one kind.

    Its pronouns are slots, filled in later.
    """
    statements = kind in STATEMENTS
    form = "present" if present else "absent"
    frames = _FRAMES[f"brief_{form}" if brief else form][kind]
    # A patient who gives no history can neither report nor deny symptoms.
    if kind == "symptom" and voice != "self":
        if not brief:
            frames = _FRAMES[f"untold_{form}"][voice]
        elif not present:
            frames = ("No {list}.",)

    plain = statements or (brief and present)
    items = (
        ", ".join(phrases) if plain else _joined(phrases, "and" if present else "or")
    )
    return _capital(draw.pick(frames).replace("{list}", items))
