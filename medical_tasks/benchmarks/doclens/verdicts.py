"""What is known of a generated text: of its claims, its sentences and its citations. What is not known stays None, never False."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

__all__ = [
    "Section",
    "SentenceVerdict",
    "meqsum_section",
    "provenance_verdict",
    "unsupported",
]


@dataclass(frozen=True, kw_only=True)
class SentenceVerdict:
    """A sentence of the output.

    Attributes:
        entailed: whether all that it cites entails it together.
        supports: for each of its citations, whether it is one that the sentence needs or that entails it alone.

    Raises:
        ValueError: A citation supports a sentence that is not entailed.
    """

    entailed: bool | None
    supports: tuple[bool | None, ...] = ()

    def __post_init__(self) -> None:
        if self.entailed is False and any(one is not False for one in self.supports):
            raise ValueError("no citation supports a sentence that its citations do not entail")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of an output beside the same section of the reference; a text without sections is one section.

    Attributes:
        reference_claims: for each claim of the reference, whether the output entails it. None when the reference has no list of
            claims because making one failed.
        output_claims: for each claim of the output, whether the reference entails it; None likewise.
        sentences: the output's.
    """

    reference_claims: tuple[bool | None, ...] | None
    output_claims: tuple[bool | None, ...] | None
    sentences: tuple[SentenceVerdict, ...] = ()


def unsupported(citations: int = 0) -> SentenceVerdict:
    """Makes the verdict on a sentence that cites nothing, or nothing that the source has.

    Args:
        citations: how many it has all the same.
    """
    return SentenceVerdict(entailed=False, supports=(False,) * citations)


def provenance_verdict(
    citations: Sequence[int], *, known: Collection[int], entailed: bool | None, provenance: Collection[int]
) -> SentenceVerdict:
    """Makes a sentence's verdict of a judge's reply that says in one call whether it is entailed, and by which citations.

    Args:
        citations: what the sentence cites, each number once.
        known: the numbers that the source has.
        entailed: the judge's word; None when there is none.
        provenance: the numbers it names; those that are not cited change nothing.
    """
    if not any(number in known for number in citations):
        return unsupported(len(citations))
    if entailed is None:
        supports = tuple(None if number in known else False for number in citations)
    else:
        supports = tuple(entailed and number in known and number in provenance for number in citations)
    return SentenceVerdict(entailed=entailed, supports=supports)


def meqsum_section(
    *,
    recall: bool | None,
    precision: bool | None,
    same: bool | None = False,
    said: bool = True,
    sentences: tuple[SentenceVerdict, ...] = (),
) -> Section:
    """Makes the section of a question's summary: each question is one claim, judged both ways, or both are one question.

    Args:
        recall: whether the output's question entails the reference's.
        precision: whether the reference's entails the output's.
        same: whether a judge finds them to be the same question, which makes both true; False when it is not asked.
        said: whether there is an output.
        sentences: the output's.
    """
    if not said:
        return Section(reference_claims=(False,), output_claims=())
    return Section(
        reference_claims=(_either(recall, same),), output_claims=(_either(precision, same),), sentences=sentences
    )


def _either(first: bool | None, second: bool | None) -> bool | None:
    if first or second:
        return True
    return None if first is None or second is None else False
