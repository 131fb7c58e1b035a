"""Claims that a file holds, given to the texts they are of.

A claim belongs to a text, not to a place in a file: in the authors' released claims of ACI-BENCH the sections of a row are those of
another visit (docs/doclens.md, "A trap"). So where a record holds the text of a section, the text decides, white space and markers
of citations apart; a record that holds none is joined by its id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_tasks.benchmarks.doclens.claims import FULL, ClaimRecord, Side, read_claim_file
from medical_tasks.benchmarks.doclens.judging_claims import judged_text
from medical_tasks.errors import UsageError

if TYPE_CHECKING:
    from medical_tasks.benchmarks.doclens.judging import Unit

__all__ = ["join_claims", "read_joined"]

_NAMED: Final = 5
"""Most ids an error names."""


def read_joined(path: str | Path, units: Sequence[Unit], *, side: Side) -> dict[str, tuple[str, ...]]:
    """Reads a file of claims for texts to be judged.

    Args:
        path: the file.
        units: the texts.
        side: whose claims: the references', or the outputs'.

    Returns:
        Unit id to claims; a blank text has none.

    Raises:
        UsageError: As `claims.read_claim_file`; or the file has no claims of some of the texts. Names ids, quotes no text.
    """
    return join_claims(read_claim_file(path, side=side), units, side=side, where=str(path))


def join_claims(
    records: Sequence[ClaimRecord], units: Sequence[Unit], *, side: Side, where: str = "claims"
) -> dict[str, tuple[str, ...]]:
    """Gives each text its claims.

    Args:
        records: of one side. Of several with the same text that of the unit's own id counts, else the first.
        units: the texts.
        side: whose claims.
        where: what messages call the records.

    Returns:
        Unit id to claims.

    Raises:
        UsageError: A text that is not blank has no claims in the records (an empty list of claims is one), or a blank one has some.
    """
    by_id: dict[tuple[str, str], tuple[str, ...]] = {}
    by_text: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for record in records:
        for section, claims in record.claims.items():
            if section in record.texts:
                by_text.setdefault((section, _key(record.texts[section])), {})[record.id] = claims
            else:
                by_id[record.id, section] = claims
    found: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    odd: list[str] = []
    for unit in units:
        text = _key(unit.reference if side == "reference" else unit.output)
        known = _claims(unit, text, by_text=by_text, by_id=by_id)
        if not text:
            odd += [unit.id] if known else []
            found[unit.id] = ()
        elif known is None:
            missing.append(unit.id)
        else:
            found[unit.id] = known
    if missing:
        raise UsageError(
            f"{where}: no claims of the {side} of {_some(missing)}: a record holds the text of that section, or, where it holds "
            "no text, that id and section. Give the file made of these texts, or leave it out and let the judge make claims."
        )
    if odd:
        raise UsageError(
            f"{where}: has claims of the {side} of {_some(odd)}, which is blank. Give the file made of these texts."
        )
    return found


def _claims(
    unit: Unit,
    text: str,
    *,
    by_text: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]],
    by_id: Mapping[tuple[str, str], tuple[str, ...]],
) -> tuple[str, ...] | None:
    names = _names(unit)
    if same := by_text.get((unit.section, text)):
        return next((same[name] for name in names if name in same), next(iter(same.values())))
    return next((by_id[name, unit.section] for name in names if (name, unit.section) in by_id), None)


def _names(unit: Unit) -> tuple[str, ...]:
    """The ids a file can have for a unit: its item's, or that of the visit whose section it is."""
    whole = unit.id.removesuffix(f"/{unit.section}") if unit.section != FULL else unit.id
    return tuple(dict.fromkeys((unit.item, whole)))


def _key(text: str) -> str:
    return " ".join(judged_text(text).split())


def _some(ids: Sequence[str]) -> str:
    named = ", ".join(ids[:_NAMED])
    return f"{named} and {len(ids) - _NAMED} more" if len(ids) > _NAMED else named
