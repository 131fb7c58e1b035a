"""The files in the folder of a construction, and the pairs read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import medical_tasks.construct.shared as construction
from medical_tasks.construct.medcalc.forms import LINE_FIELDS, Pair
from medical_tasks.io.output import tell_private

EXTRACT: Final = "extract.json"
PAIRS: Final = "extracted.jsonl"
SHARES: Final = "shares.json"
ENTITIES: Final = "entities.jsonl"

Pairs = Mapping[str, Pair]
"""Pairs by id."""


def load_pairs(folder: Path, file: str = PAIRS, step: str = "medcalc extract") -> Pairs:
    """Reads the pairs that a step wrote, by id."""
    records = construction.read_lines(folder / file, LINE_FIELDS, step=step)
    return {pair.id: pair for pair in map(Pair.read, records)}


def is_open_folder(folder: Path) -> bool:
    """Whether the notes of a construction may leave this machine."""
    return bool(
        construction.read_json(folder / EXTRACT, step="medcalc extract")["open"]
    )


def tell_access(folder: Path) -> int:
    """Reports that a folder is private, unless its notes are open; returns the exit code."""
    return 0 if is_open_folder(folder) else tell_private(folder)
