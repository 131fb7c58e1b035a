"""The `_official` figures of outputs: the authors' sentences, and verdicts counted as their scripts count them.

Claims are those of the sane metrics, with the same verdicts; citations are asked about once more, sentence by sentence as the
authors split them (`official_citations`). Summed over items, the counts give what `official_measures` gives for their score files:

- a share of nothing is 0
- a text whose reply about all its claims could not be read, or whose claims could not be made, leaves the average; of a reply that
  has some of them, these count
- of claims asked about one by one, and of citations, a missing reply ends their script: there is no figure here, but limits
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.doclens.judging import CitationRequest, CitationVerdict, Unit, UnitVerdict, entail_citations
from medical_tasks.doclens.measures import Tally, section_tallies
from medical_tasks.doclens.official_citations import (
    OfficialSentence,
    SplitMethod,
    official_sentences,
)
from medical_tasks.doclens.verdicts import Section, SentenceVerdict, unsupported
from medical_tasks.judges.base import Judging

__all__ = [
    "METHODS",
    "OfficialVerdict",
    "judge_official",
    "official_claims_of",
    "official_sentence",
    "official_tallies",
]

METHODS: Final[Mapping[str, SplitMethod]] = {
    "note": "sent",
    "section": "sent",
    "impression": "citation",
    "text": "citation",
    "question": "meqsum",
}
"""Form of a text to the authors' way of splitting it."""


@dataclass(frozen=True, kw_only=True)
class OfficialVerdict:
    """What the authors' scripts count of a unit.

    Attributes:
        tallies: metric to counts; nothing at all is a share of 0.
        reasons: why a judgement on a sentence is missing.
    """

    tallies: Mapping[str, Tally]
    reasons: tuple[str, ...] = ()


def judge_official(
    units: Sequence[Unit],
    verdicts: Sequence[UnitVerdict],
    judging: Judging,
    *,
    style: str = "json_cot",
    citations: bool = True,
) -> list[OfficialVerdict]:
    """Asks about the authors' sentences of outputs, and counts as they do.

    Args:
        units: the outputs.
        verdicts: what `judging.judge_units` found of each.
        judging: whom to ask, as there. All sentences go to it together.
        style: how.
        citations: whether sentences are asked about.

    Returns:
        What counts of each unit, in order.

    Raises:
        UsageError: As `judging.entail_citations`.
    """
    split = [_sentences(unit) if citations else [] for unit in units]
    requests = {
        (place, number): _request(unit, number, sentence)
        for place, (unit, sentences) in enumerate(zip(units, split, strict=True))
        for number, sentence in enumerate(sentences)
        if sentence.asked
    }
    answers = entail_citations(list(requests.values()), judging, style=style)
    known = dict(zip(requests, answers, strict=True))
    whole = judging.mode == "batched" and judging.judge.reads == "prompt"
    found = []
    for place, (verdict, sentences) in enumerate(zip(verdicts, split, strict=True)):
        said = [known.get((place, number)) for number in range(len(sentences))]
        section = Section(
            reference_claims=official_claims_of(verdict.section.reference_claims, whole=whole),
            output_claims=official_claims_of(verdict.section.output_claims, whole=whole),
            sentences=tuple(official_sentence(one, answer) for one, answer in zip(sentences, said, strict=True)),
        )
        reasons = dict.fromkeys(reason for answer in said if answer is not None for reason in answer.reasons)
        found.append(OfficialVerdict(tallies=official_tallies(section), reasons=tuple(reasons)))
    return found


def official_claims_of(claims: Sequence[bool | None] | None, *, whole: bool) -> tuple[bool | None, ...]:
    """What their score file has of a text's claims.

    Args:
        claims: the verdicts; None when there is no list of claims.
        whole: whether they were asked about in one call.
    """
    return tuple(one for one in claims or () if one is not None or not whole)


def official_sentence(sentence: OfficialSentence, answer: CitationVerdict | None) -> SentenceVerdict:
    """What their score file has of a sentence: a citation counts as often as it is listed.

    Args:
        sentence: as they split it.
        answer: what the judge said; None when it is not asked.
    """
    if answer is None or answer.entailed is False:
        return unsupported(len(sentence.citations))
    return SentenceVerdict(
        entailed=answer.entailed, supports=tuple(answer.supports.get(number) for number in sentence.citations)
    )


def official_tallies(section: Section) -> dict[str, Tally]:
    """Counts what a score file has.

    Args:
        section: its records.

    Returns:
        Metric to counts; a share of nothing is 0.
    """
    return {metric: replace(tally, due=True) for metric, tally in section_tallies(section).items()}


def _sentences(unit: Unit) -> list[OfficialSentence]:
    return official_sentences(unit.output.strip(), method=METHODS[unit.form], sources=dict(enumerate(unit.sources)))


def _request(unit: Unit, number: int, sentence: OfficialSentence) -> CitationRequest:
    # Before TRUE judges a radiology summary they take numbers of items out (`without_item_numbers`). No sentence of theirs has one
    # there: each number ends a sentence.
    return CitationRequest(
        id=f"{unit.id}/official/{number}",
        sentence=sentence.target,
        cited=sentence.citations,
        sources=dict(enumerate(unit.sources)),
        form=unit.form,
        section=unit.section,
    )
