"""The four metrics of DocLens (section 3), of verdicts: claim recall and precision, citation recall and precision.

| metric | hits | of |
|---|---|---|
| `claim_recall` | claims of the reference that the output entails | claims of the reference |
| `claim_precision` | claims of the output that the reference entails | claims of the output |
| `citation_recall` | sentences that all they cite entails together | sentences of the output |
| `citation_precision` | citations that support such a sentence | citations of the output |

Each is a share of counts, so one rule serves a section, an example (its sections together) and all examples (pooled).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.doclens.claims import MAX_CLAIMS
from medical_tasks.benchmarks.doclens.verdicts import Section
from medical_tasks.spec import Counts, Verdicts

__all__ = [
    "METRICS",
    "Limits",
    "Tally",
    "section_tallies",
    "total",
]

Limits = tuple[float, float]

METRICS: Final = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Verdicts on a number of things, as far as they are known.

    Attributes:
        verdicts: by kind, a section's apart from another's.
        due: whether nothing at all is a miss: an output that had something to say and has no sentence supports nothing (0);
            one that had nothing to say has no share (nan).
    """

    verdicts: tuple[Verdicts, ...] = ()
    due: bool = False

    def __add__(self, other: Tally) -> Tally:
        return Tally(verdicts=self.verdicts + other.verdicts, due=self.due or other.due)

    @property
    def counts(self) -> Counts:
        """The share of hits that they make."""
        return Counts(how="share", verdicts=self.verdicts)

    @property
    def limits(self) -> Limits:
        """Smallest and largest share; both nan without anything to share."""
        counts = self.counts
        return counts.limits if counts.of or not self.due else (0.0, 0.0)


def section_tallies(section: Section, name: str = "") -> dict[str, Tally]:
    """Counts a section.

    Args:
        section: its verdicts.
        name: its name, the kind of its verdicts.

    Returns:
        A tally a metric of `METRICS`.
    """
    # Nobody is asked what a blank text entails, nor about a sentence that cites nothing.
    sides = section.reference_claims, section.output_claims
    asked = [one.entailed for one in section.sentences if one.entailed is not False or one.supports]
    uncited = len(section.sentences) - len(asked)
    citations = {
        kind: [one for sentence in section.sentences if sentence.entailed is entailed for one in sentence.supports]
        for kind, entailed in (("", None), ("entailed", True), ("unsupported", False))
    }
    return {
        "claim_recall": Tally(verdicts=(_of_claims(name, sides[0], blank=sides[1] == ()),)),
        "claim_precision": Tally(verdicts=(_of_claims(name, sides[1], blank=sides[0] == ()),)),
        "citation_recall": Tally(
            verdicts=(_verdicts(name, asked, unasked=uncited),),
            due=section.reference_claims is None or bool(section.reference_claims),
        ),
        "citation_precision": Tally(
            verdicts=tuple(
                _verdicts("/".join(filter(None, (name, kind))), outcomes)
                for kind, outcomes in citations.items()
                if outcomes
            )
        ),
    }


def total(tallies: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """Adds tallies up, metric by metric."""
    sums = dict.fromkeys(METRICS, Tally())
    for each in tallies:
        sums = {name: sums[name] + each[name] for name in METRICS}
    return sums


def _of_claims(kind: str, claims: Sequence[bool | None] | None, *, blank: bool) -> Verdicts:
    if claims is None:
        return Verdicts(kind=kind, more=MAX_CLAIMS)
    if blank and not any(one is not False for one in claims):
        return Verdicts(kind=kind, unasked=len(claims))
    return _verdicts(kind, claims)


def _verdicts(kind: str, outcomes: Sequence[bool | None], *, unasked: int = 0) -> Verdicts:
    missing = outcomes.count(None)
    known = len(outcomes) - missing
    return Verdicts(kind=kind, hits=outcomes.count(True), known=known, missing=missing, unasked=unasked)
