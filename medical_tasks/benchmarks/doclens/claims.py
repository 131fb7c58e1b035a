"""Claims: the single facts of a reference or an output (DocLens, sections 3.1 and 3.2), from a file or from a model's reply.

The file is the authors' form: a JSON list with a record an example, in it `example_id`, texts, and lists of claims
(`subclaims_reference`, or `subclaims_reference_subjective` and so on for each section; `subclaims_output` likewise).
Their released `ACI-Bench-TestSet-1_clean.claim_min1max30.json` is read as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.benchmarks.doclens.sections import EMPTY
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import read_text
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import read_json

__all__ = ["FULL", "MAX_CLAIMS", "MIN_CLAIMS", "ClaimRecord", "claim_rows", "read_claim_file", "read_claims_reply"]

MIN_CLAIMS: Final = 1
MAX_CLAIMS: Final = 30
"""How many claims a text may be taken apart into; a blank one has none."""

FULL: Final = "full"
"""Name of the only section of a text without sections."""

Side = Literal["reference", "output"]


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """The claims of one example.

    Attributes:
        id: `example_id`, as text.
        claims: section to claims; `full` where there is but one. A section without claims is there, with none.
        texts: section to the text they were made from, for the sections whose text the file has; "" for an empty one.
        source: the numbered input, "" when the file has none.
    """

    id: str
    claims: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def read_claim_file(path: str | Path, *, side: Side = "reference") -> tuple[ClaimRecord, ...]:
    """Reads a file of claims.

    Args:
        path: the file.
        side: whose claims.

    Returns:
        A record an example, in order.

    Raises:
        UsageError: It cannot be read, is not of the form, or has an example twice. Names example and field, quotes no text.
    """
    try:
        content = json.loads(read_text(Path(path)))
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error)}. Give the path of a JSON file of claims.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: not JSON in UTF-8. Give the authors' file of claims, or one of that form."
        ) from error
    if not isinstance(content, list) or not content:
        raise UsageError(
            f"{path}: a JSON list of examples is needed; got {_kind(content)}. See docs/doclens_scoring.md."
        )
    records = tuple(_record(path, place, row, side) for place, row in enumerate(content))
    seen: set[str] = set()
    for record in records:
        if record.id in seen:
            raise UsageError(f"{path}: example_id {record.id} stands twice. Leave one of the two out.")
        seen.add(record.id)
    return records


def claim_rows(records: Iterable[ClaimRecord], *, side: Side = "reference") -> list[dict[str, Any]]:
    """Puts claims into the form of the file, for `json.dump`; `read_claim_file` gives the same records back.

    Args:
        records: any number.
        side: whose claims.
    """
    return [
        {"example_id": record.id}
        | ({"input": record.source} if record.source else {})
        | {_key(side, section): text for section, text in record.texts.items()}
        | {f"subclaims_{_key(side, section)}": list(claims) for section, claims in record.claims.items()}
        for record in records
    ]


def read_claims_reply(text: str) -> tuple[str, ...] | Unreadable:
    """Reads the claims a model was asked to make: `{"claims": ["...", ...]}` and nothing else.

    Args:
        text: its raw reply.

    Returns:
        The claims, white space run together, those that stand twice once; or what is wrong with the reply. Claims are never
        left out to keep to the number: a reply with more is asked for again.
    """
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value
    if not isinstance(value, dict) or set(value) != {"claims"}:
        return Unreadable("the reply must be an object with the key claims and no others")
    given = value["claims"]
    if not isinstance(given, list) or not all(isinstance(one, str) and one.strip() for one in given):
        return Unreadable("claims must be a list of strings that are not blank")
    claims = tuple(dict.fromkeys(" ".join(one.split()) for one in given))
    if not MIN_CLAIMS <= len(claims) <= MAX_CLAIMS:
        return Unreadable(f"{MIN_CLAIMS} to {MAX_CLAIMS} claims are asked for; there are {len(claims)}")
    return claims


def _key(side: Side, section: str) -> str:
    return side if section == FULL else f"{side}_{section}"


def _record(path: str | Path, place: int, row: Any, side: Side) -> ClaimRecord:
    where = f"{path}: example {place + 1}"
    if not isinstance(row, dict):
        raise UsageError(f"{where}: an object is needed; got {_kind(row)}.")
    name = row.get("example_id")
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise UsageError(f"{where}: example_id must be a text or a whole number; got {_kind(name)}.")
    start = f"subclaims_{side}"
    keys = {key: key.removeprefix(start)[1:] or FULL for key in row if key == start or key.startswith(f"{start}_")}
    if not keys:
        raise UsageError(
            f"{where}: no {start} or {start}_SECTION. Make the claims first, or give the file that has them."
        )
    claims = {section: _claims(f"{where}, {key}", row[key]) for key, section in keys.items()}
    texts = {section: row[_key(side, section)] for section in claims if _key(side, section) in row}
    texts |= {"input": row["input"]} if "input" in row else {}
    for field_name, text in texts.items():
        if not isinstance(text, str):
            raise UsageError(f"{where}: the text of {field_name} must be a text; got {_kind(text)}.")
    source = texts.pop("input", "")
    return ClaimRecord(
        id=str(name),
        claims=claims,
        texts={section: "" if text.strip() == EMPTY else text for section, text in texts.items()},
        source=source,
    )


def _claims(where: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise UsageError(f"{where}: a list of claims is needed; got {_kind(given)}.")
    for place, claim in enumerate(given):
        if not isinstance(claim, str) or not claim.strip():
            raise UsageError(f"{where}: claim {place + 1} must be a text that is not blank; got {_kind(claim)}.")
    return tuple(given)


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return json.dumps(value)
