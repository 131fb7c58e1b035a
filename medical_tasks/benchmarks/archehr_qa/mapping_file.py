"""Which notes the excerpts are from: `archehr-qa_mapping.json`.

[{"case_id": "1", "document_id": "100001_2", "document_source": "mimic-iii"}, ...]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.cases import Case
from medical_tasks.benchmarks.archehr_qa.key_file import by_case
from medical_tasks.errors import UsageError
from medical_tasks.io.json_records import named, shown, text_id

__all__ = ["MAPPING_FILE", "NOTE_SOURCES", "Document", "read_mapping"]

MAPPING_FILE: Final = "archehr-qa_mapping.json"

NOTE_SOURCES: Final = ("mimic-iii", "mimic-iv")
"""Intensive care and emergency department (paper, Results)."""

_FORM: Final = '{"case_id": "1", "document_id": "100001_2", "document_source": "mimic-iii"}'


@dataclass(frozen=True, kw_only=True)
class Document:
    """The note that an excerpt is from.

    Attributes:
        id: `HADM_ID_ROW_ID` in MIMIC-III, `hadm_id` in MIMIC-IV; "" where it is not told.
        source: `mimic-iii` or `mimic-iv`; "" likewise.
    """

    id: str = ""
    source: str = ""


def read_mapping(path: Path, cases: Sequence[Case]) -> dict[str, Document]:
    """Reads a mapping.

    Args:
        path: the file.
        cases: the cases that lie beside it.

    Returns:
        Case id to its note, in the order of the cases.

    Raises:
        UsageError: It is not of the official form, or has other cases; the message names case and rule.
    """
    found: dict[str, Document] = {}
    for name, record in by_case(path, cases, form=_FORM).items():
        where = f"{path}, case {named(name)}"
        source = record.get("document_source")
        if not isinstance(source, str) or source not in NOTE_SOURCES:
            raise UsageError(f"{where}: document_source must be one of {', '.join(NOTE_SOURCES)}, got {shown(source)}.")
        found[name] = Document(id=text_id(where, "document_id", record.get("document_id")), source=source)
    return found
