"""Reading the codes that a model names: strict JSON of the right form, or what is wrong with it, told without quoting it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.archehr_qa.construction.prompts import MOST_CODES
from medical_tasks.archehr_qa.construction.texts import one_line
from medical_tasks.json_records import is_text
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import read_object

__all__ = ["CODE", "LONGEST_DESCRIPTION", "NamedCode", "read_codes"]

CODE: Final = re.compile(r"[A-Z0-9][A-Z0-9.]{1,8}")
LONGEST_DESCRIPTION: Final = 300
"""In characters; the longest official one has fewer."""


@dataclass(frozen=True, kw_only=True)
class NamedCode:
    """A code with what it means.

    Attributes:
        code: in capitals, with or without its dot.
        description: on one line.
    """

    code: str
    description: str


def read_codes(reply: str) -> tuple[NamedCode, ...] | Unreadable:
    """Reads a reply; a code that is named twice counts once, with its first description."""
    found = read_object(reply, {"codes": _codes})
    if isinstance(found, Unreadable):
        return found
    codes: dict[str, NamedCode] = {}
    for each in found["codes"]:
        code = each["code"].strip().upper()
        codes.setdefault(code, NamedCode(code=code, description=one_line(each["description"])))
    return tuple(codes.values())


def _codes(value: Any) -> str | None:
    if not isinstance(value, list) or len(value) > MOST_CODES:
        return f"must be a list of at most {MOST_CODES} objects"
    return next((problem for each in value if (problem := _code(each)) is not None), None)


def _code(value: Any) -> str | None:
    if not isinstance(value, Mapping) or set(value) != {"code", "description"}:
        return "must hold objects with the keys code, description and no others"
    if not isinstance(value["code"], str) or not CODE.fullmatch(value["code"].strip().upper()):
        return "must hold codes of 2 to 9 letters, digits and dots"
    description = value["description"]
    if not is_text().holds(description) or not one_line(description) or len(description) > LONGEST_DESCRIPTION:
        return f"must hold descriptions of 1 to {LONGEST_DESCRIPTION} characters"
    return None
