"""Descriptions of the codes that admissions were billed with, to be put behind their notes (section Alignment).

The tables are those of MIMIC: a code an admission and row (`DIAGNOSES_ICD`), and a description a code (`D_ICD_DIAGNOSES`). Where
both have a column of the code's version, a code means what that version says.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files
from medical_tasks.benchmarks.archehr_qa.construction.tables import read_table
from medical_tasks.benchmarks.archehr_qa.construction.texts import is_id, one_line
from medical_tasks.errors import UsageError
from medical_tasks.io.files import open_text
from medical_tasks.io.json_records import Field, is_list_of, is_text

__all__ = ["AdmissionCodes", "load_admission_codes", "write_admission_codes"]

_CODES: Final = {"hadm_id": ("hadm_id", "admission_id"), "code": ("icd_code", "icd9_code", "code")}
_DESCRIPTIONS: Final = {
    "code": ("icd_code", "icd9_code", "code"),
    "description": ("long_title", "description"),
}
_VERSION: Final = {"version": ("icd_version", "version")}
_FIELDS: Final = {
    "hadm_id": files.private_field(Field(holds=is_id, rule="an id")),
    "descriptions": files.private_field(
        is_list_of(Field(holds=lambda value: type(value) is int, rule="a whole number"))
    ),
}
_HEAD: Final = {"titles": files.private_field(is_list_of(is_text()))}


class AdmissionCodes:
    """Which descriptions belong to which admission, in little memory: MIMIC-IV has 6.4 million rows of codes.

    Attributes:
        titles: all descriptions.
    """

    def __init__(self, titles: Sequence[str] = ()) -> None:
        self.titles = list(titles)
        self._places: dict[str, list[int] | array[int]] = {}

    def add(self, hadm_id: str, numbers: Sequence[int]) -> None:
        """Takes in the descriptions of an admission, by their numbers."""
        self._places[hadm_id] = array("i", numbers)

    def of(self, hadm_id: str) -> Sequence[int]:
        """Numbers of an admission's descriptions; none where nothing is known of it."""
        return self._places.get(hadm_id, ())

    def __len__(self) -> int:
        return len(self._places)


def write_admission_codes(codes: Path, dictionary: Path, folder: Path) -> dict[str, Any]:
    """Joins the two tables, by admission.

    Args:
        codes: a row a code of an admission.
        dictionary: a row a code, with its description.
        folder: where the construction lies.

    Returns:
        Recipe and counts, no text.

    Raises:
        MissingError: A file is not there.
        UsageError: A file is not as it must be, or no code of the one has a description in the other.
    """
    titles, numbers, versioned = _titles(dictionary)
    admissions: dict[str, array[int]] = {}
    rows = unknown = 0
    for row in read_table(codes, _CODES, optional=_VERSION, release="table of codes"):
        rows += 1
        name = row["hadm_id"].strip()
        if not name or not row["code"].strip():
            continue  # MIMIC-III has rows of admissions without a code
        if not is_id(name):
            raise UsageError(f"{codes}: row {rows}: hadm_id must be an id, got a text of {len(name)} characters.")
        key = (row["code"].strip().upper(), row.get("version", "").strip() if versioned else "")
        if versioned and "version" not in row:
            raise UsageError(
                f"{codes}: has no column icd_version, and the dictionary {dictionary} says what codes mean by version. Give tables "
                "of the same release."
            )
        number = numbers.get(key)
        if number is None:
            unknown += 1
            continue
        of_admission = admissions.setdefault(name, array("i"))
        if number not in of_admission:
            of_admission.append(number)
    if not admissions:
        raise UsageError(
            f"{codes}: none of its {rows:,} codes has a description in {dictionary}. Give tables of the same release."
        )

    def lines() -> Iterator[Mapping[str, Any]]:
        yield {"titles": titles}
        for name, each in admissions.items():
            yield {"hadm_id": name, "descriptions": each.tolist()}

    digest = files.write_lines(folder / files.NOTE_CODES, lines())
    return {
        "codes_sha256": files.text_sha256(codes),
        "dictionary_sha256": files.text_sha256(dictionary),
        "admissions": len(admissions),
        "codes": rows,
        "without_description": unknown,
        "sha256": digest,
    }


def _titles(dictionary: Path) -> tuple[list[str], dict[tuple[str, str], int], bool]:
    """All descriptions, and the number of each code's."""
    titles: dict[str, int] = {}
    numbers: dict[tuple[str, str], int] = {}
    versioned = False
    for row in read_table(dictionary, _DESCRIPTIONS, optional=_VERSION, release="dictionary of codes"):
        versioned = "version" in row
        title = one_line(row["description"])
        if title:
            key = (row["code"].strip().upper(), row.get("version", "").strip())
            numbers.setdefault(key, titles.setdefault(title, len(titles)))
    return list(titles), numbers, versioned


def load_admission_codes(folder: Path) -> AdmissionCodes:
    """Reads what `write_admission_codes` wrote; none where it wrote nothing, because notes are not expanded.

    Raises:
        UsageError: The file is not as it was written.
    """
    place = folder / files.NOTE_CODES
    made = AdmissionCodes()
    if not place.exists():
        return made
    with open_text(place) as stream:
        for number, line in enumerate(stream):
            record = _read(place, line, _HEAD if number == 0 else _FIELDS)
            if number == 0:
                made = AdmissionCodes(record["titles"])
            else:
                made.add(record["hadm_id"], record["descriptions"])
    return made


def _read(place: Path, line: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    # Not read_records: the file may have half a million lines, which need not lie in memory together.
    try:
        values = json.loads(line)
    except ValueError:
        values = None
    if (
        not isinstance(values, dict)
        or set(values) != set(fields)
        or not all(field.holds(values[name]) for name, field in fields.items())
    ):
        raise UsageError(f"{place}: not as medical-tasks wrote it. Do this step again: construct archehr expand.")
    return values
