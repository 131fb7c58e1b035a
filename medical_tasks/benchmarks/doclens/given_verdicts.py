"""Verdicts as a caller writes them down, read into what the metrics count.

{"reference_claims": [1, 0, None], "output_claims": [1], "sentences": [{"entailed": 1, "supports": [1, 0]}]}

1 is entailed (of a citation: one that supports its sentence and is needed), 0 is not, None is missing; a list of claims that is
None could not be made. `supports` has an entry a citation. A key that is left out is an empty list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.benchmarks.doclens.claims import FULL
from medical_tasks.benchmarks.doclens.judging import UnitVerdict
from medical_tasks.benchmarks.doclens.verdicts import Section, SentenceVerdict

__all__ = ["MISSING", "GivenVerdict", "given_verdict"]

MISSING = "judge: no verdict given"

GivenVerdict = Mapping[str, Any]

_LISTS = ("reference_claims", "output_claims", "sentences")


def given_verdict(row: int, given: GivenVerdict, sections: Sequence[str]) -> dict[str, UnitVerdict]:
    """Reads the verdicts on one output.

    Args:
        row: which output it is; for messages.
        given: its verdicts; of a note, for each section.
        sections: the sections of its form. A note's may be left out where neither text has them.

    Returns:
        Section to verdict.

    Raises:
        ValueError: It is not of the form.
    """
    by_section = {FULL: given} if tuple(sections) == (FULL,) else given
    unknown = [name for name in by_section if name not in sections]
    if unknown:
        raise ValueError(f"verdict {row}: sections are {', '.join(sections)}; got {unknown[0]!r}")
    return {section: _verdict(f"verdict {row}", by_section.get(section) or {}) for section in sections}


def _verdict(where: str, given: GivenVerdict) -> UnitVerdict:
    unknown = [name for name in given if name not in _LISTS]
    if unknown:
        raise ValueError(f"{where}: keys are {', '.join(_LISTS)}; got {unknown[0]!r}")
    try:
        section = Section(
            reference_claims=_outcomes(where, given.get("reference_claims", ())),
            output_claims=_outcomes(where, given.get("output_claims", ())),
            sentences=tuple(
                SentenceVerdict(
                    entailed=_outcome(where, one.get("entailed")), supports=_outcomes(where, one.get("supports")) or ()
                )
                for one in given.get("sentences") or ()
            ),
        )
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
    lists = (section.reference_claims, section.output_claims, *(one.supports for one in section.sentences))
    missing = any(each is None or None in each for each in lists)
    missing = missing or any(one.entailed is None for one in section.sentences)
    return UnitVerdict(
        section=section, reference_claims=None, output_claims=None, reasons=(MISSING,) if missing else ()
    )


def _outcomes(where: str, given: Sequence[Any] | None) -> tuple[bool | None, ...] | None:
    return None if given is None else tuple(_outcome(where, one) for one in given)


def _outcome(where: str, given: Any) -> bool | None:
    if given not in (None, 0, 1):
        raise ValueError(f"{where}: a verdict is 1, 0 or None; got {given!r}")
    return None if given is None else bool(given)
