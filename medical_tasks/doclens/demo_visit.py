"""What a synthetic visit of the `demo` configuration of ACI-BENCH holds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DemoVisit"]


@dataclass(frozen=True, kw_only=True)
class DemoVisit:
    """One synthetic visit.

    Attributes:
        id: of the visit.
        split: `train`, `validation` or `test1`.
        dialogue: what doctor and patient say, a turn a line, in the small letters of a transcript.
        note: the clinical note of it, with headings.
        dataset: the part of ACI-BENCH that it is like.
    """

    id: str
    split: str
    dialogue: str
    note: str
    dataset: str = "aci"
