"""The files of the steps: pairs of a note and a calculator, and counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

import medical_tasks.construct.shared as construction
from medical_tasks.calculators import AnyCalculator, find
from medical_tasks.construct.annotation import Shares
from medical_tasks.io.json_records import Record, is_text
from medical_tasks.scoring.estimates import Figure

LINE_FIELDS: Final = dict.fromkeys(
    ("id", "note_id", "calculator", "note", "entities"),
    construction.private_field(is_text()),
)
"""The fields of a line of `extracted.jsonl` and `entities.jsonl`."""


class PairLine(TypedDict):
    """A pair as a line of JSON.

    Attributes:
        calculator: Slug.
        entities: JSON within JSON, which keeps `1` and `1.0` distinct.
    """

    id: str
    note_id: str
    calculator: str
    note: str
    entities: str


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A note, a calculator, and the entities of the calculator's inputs.

    Attributes:
        id: `CALCULATOR-NOTE`, such as `7-note3`.
        entities: Name of an attribute to its value, as in the dataset.
    """

    id: str
    note_id: str
    calculator: AnyCalculator
    note: str
    entities: Mapping[str, object]

    @classmethod
    def read(cls, record: Record) -> Pair:
        """Reads a line whose fields were checked."""
        line = record.values
        return cls(
            id=line["id"],
            note_id=line["note_id"],
            calculator=find(line["calculator"]),
            note=line["note"],
            entities=json.loads(line["entities"]),
        )

    def line(self, entities: Mapping[str, object]) -> PairLine:
        """Makes the line of this pair with other entities, such as reviewed ones."""
        return {
            "id": self.id,
            "note_id": self.note_id,
            "calculator": self.calculator.slug,
            "note": self.note,
            "entities": json.dumps(entities),
        }


class PairShares(Shares):
    """`shares.json`."""

    pairs_sha256: str


class ReviewerAgreement(TypedDict):
    """The agreement of two reviewers on the attributes that both marked."""

    reviewers: list[str]
    cells: int
    same: int
    kappa: Figure
