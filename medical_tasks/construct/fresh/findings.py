"""Findings that a note states, denies or leaves out, and sentences of their phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from medical_tasks.construct.fresh.quantities import Draw, frozen, read_json

__all__ = [
    "FINDINGS", "GRADES", "PLACES", "STATEMENTS", "Finding", "Kind", "Place", "Voice", "finding", "list_sentence",
]  # fmt: skip


Kind: TypeAlias = str
"""How a list of such phrases is introduced, one of `PLACES`; see `list_sentence`."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that is there or not.

    Phrases for lists, sentences that stand alone; `f:` or `m:` keeps one to women or
    men.

    Attributes:
        yes: Phrases when it is there.
        no: Phrases that can be denied ("no A or B"), whole statements for `STATEMENTS`.
        told: Sentences that say it is there.
        denied: Sentences that say it is not.
        concepts: What it tells of; see `Amount.concepts`.
    """

    kind: Kind
    yes: tuple[str, ...]
    no: tuple[str, ...]
    told: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    concepts: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, kw_only=True)
class Grade:
    """A class of a graded finding, such as ascites: absent, slight, moderate."""

    word: str  # as the entities name it
    kind: Kind
    # as of a finding that is there; of the absent class what is denied
    phrases: tuple[str, ...]
    told: tuple[str, ...] = ()
    absent: bool = False  # whether it is the class of those who do not have the finding


def finding(kind: Kind, concepts: str, **wordings: Sequence[str]) -> Finding:
    """A finding from its concepts, with blanks between them, and the wordings of its forms."""
    texts = {form: tuple(texts) for form, texts in wordings.items()}
    return Finding(kind=kind, concepts=frozenset(concepts.split()), **texts)


STATEMENTS: Final[frozenset[Kind]] = frozenset({"impression", "habit", "course"})
"""Kinds whose phrases are whole statements, and that prose tells in sentences alone."""

Place: TypeAlias = Literal[
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
"""Who tells the story: the patient, the parents of a child, or nobody, for the unconscious and the
very ill."""

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
    """A sentence that states or denies phrases of one kind.

    Its pronouns are still to be filled in.
    """
    statements = kind in STATEMENTS
    form = "present" if present else "absent"
    frames = _FRAMES[f"brief_{form}" if brief else form][kind]
    if (
        kind == "symptom" and voice != "self"
    ):  # what nobody told cannot be reported or denied by the patient
        if not brief:
            frames = _FRAMES[f"untold_{form}"][voice]
        elif not present:
            frames = ("No {list}.",)

    plain = statements or (brief and present)
    items = (
        ", ".join(phrases) if plain else _joined(phrases, "and" if present else "or")
    )
    return _capital(draw.pick(frames).replace("{list}", items))
