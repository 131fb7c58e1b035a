"""How much a package may hold. Counted before anything is done that a larger one would make slow or large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_LIMITS", "MIB", "ReadLimits"]

MIB: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """Limits of a package.

    Attributes:
        package_bytes: the zip file.
        member_bytes: one file in it, unpacked.
        total_bytes: all files in it, unpacked.
        ratio: unpacked bytes for each packed one, of files above 64 KiB.
        line_bytes: one line of a file with a record a line.
        tasks: tasks of a package.
        items: lines of `items.jsonl`, and of `answers.jsonl`.
        verdicts: lines of `verdicts.jsonl`.
        groups: groups of one breakdown.
        item_groups: groups of one breakdown that an item is in.
        depth: lists and objects inside one another.
        number_characters: a number as written: digits, sign, point and exponent.
        values: lists, objects, texts and numbers in `results.json`.
        line_values: the same in a line.
        total_values: the same in the whole package.
    """

    package_bytes: int = 32 * MIB
    member_bytes: int = 64 * MIB
    total_bytes: int = 96 * MIB
    ratio: int = 200
    line_bytes: int = MIB
    tasks: int = 64
    items: int = 50_000
    verdicts: int = 300_000
    groups: int = 400
    item_groups: int = 10
    depth: int = 24
    number_characters: int = 40
    values: int = 400_000
    line_values: int = 5_000
    total_values: int = 3_000_000


DEFAULT_LIMITS: Final = ReadLimits()
