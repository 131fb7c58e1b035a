"""Gets the verdicts on outputs of DocLens: claims of references and outputs both ways, and sentences with what they cite.

First all claims that have to be made are asked for together, then everything about claims and citations together; further rounds
hold what a batched reply left out, and what a judge of entailment is asked next. What got no verdict stays without one.

- A blank output entails nothing and has no claims; nobody is asked.
- A blank reference has no claims, and entails none of the output's; nobody is asked about these.
- Of MeQSum's questions each is one claim; judges that read prompts are also asked whether both are one question.
- A sentence that cites nothing the source has is unsupported, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medical_tasks.benchmarks.doclens.citations import read_sentences
from medical_tasks.benchmarks.doclens.judge_prompts import check_judging
from medical_tasks.benchmarks.doclens.judge_questions import QuestionMaker
from medical_tasks.benchmarks.doclens.judging_citations import (
    CitationRequest,
    CitationVerdict,
    citation_line,
    entail_citations,
)
from medical_tasks.benchmarks.doclens.judging_claims import (
    ClaimRequest,
    ClaimVerdicts,
    claim_line,
    entail_claims,
    judged_text,
    make_claims,
    require_unique,
    verdict_bool,
)
from medical_tasks.benchmarks.doclens.judging_rounds import Line, ask_together, side_by_side
from medical_tasks.benchmarks.doclens.sections import EMPTY
from medical_tasks.benchmarks.doclens.verdicts import Section, SentenceVerdict, meqsum_section, unsupported
from medical_tasks.judges.base import Judging, Unscored, Verdict

__all__ = [
    "CitationRequest",
    "CitationVerdict",
    "ClaimRequest",
    "ClaimVerdicts",
    "Unit",
    "UnitVerdict",
    "entail_citations",
    "entail_claims",
    "judge_units",
    "make_claims",
]

_Claims = Mapping[str, tuple[str, ...]]
_Made = Mapping[str, tuple[str, ...] | Unscored]
"""Claims by `UNIT/reference` and `UNIT/output`."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A section of an output beside the same section of the reference.

    Attributes:
        id: `ITEM` or `ITEM/SECTION`; unique.
        item: the item's id.
        section: its name; `full` where there is but one.
        form: `note`, `section`, `impression`, `question` or `text`.
        output: raw text of this section of the output, with its markers.
        reference: text of this section of the reference.
        sources: what can be cited, by number.
    """

    id: str
    item: str
    section: str
    form: str
    output: str
    reference: str
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class UnitVerdict:
    """What is known of a unit.

    Attributes:
        section: the verdicts. Without citations it has no sentences.
        reference_claims: the reference's claims; None where they could not be made.
        output_claims: the output's, likewise.
        reasons: why something is missing, each reason once.
    """

    section: Section
    reference_claims: tuple[str, ...] | None
    output_claims: tuple[str, ...] | None
    reasons: tuple[str, ...] = ()


def judge_units(
    units: Sequence[Unit],
    judging: Judging,
    *,
    style: str = "json_cot",
    reference_claims: _Claims | None = None,
    output_claims: _Claims | None = None,
    citations: bool = True,
) -> list[UnitVerdict]:
    """Asks a judge about outputs.

    Args:
        units: the sections.
        judging: whom to ask, with which texts, about all claims of a text in one call or about each in one.
        style: one of `judge_prompts.STYLES`.
        reference_claims: claims of references that are there already, by unit's id; those of others are made.
        output_claims: likewise of outputs.
        citations: whether sentences are asked about.

    Returns:
        A verdict a unit, in order.

    Raises:
        UsageError: What `judge_prompts.check_judging` refuses (also of no units), two units of one id, or recorded verdicts of
            another kind.
    """
    check_judging(judging, style)
    require_unique([unit.id for unit in units])
    made = _make(units, judging, reference_claims or {}, output_claims or {})
    lines = [_unit_line(unit, judging, made, style=style, citations=citations) for unit in units]
    return ask_together(judging.judge, lines)


def _make(units: Sequence[Unit], judging: Judging, reference_claims: _Claims, output_claims: _Claims) -> _Made:
    """Gets the claims of all units but those of questions: given ones, and for the rest made ones."""
    given: dict[str, tuple[str, ...] | Unscored] = {}
    wanted: dict[str, tuple[Unit, str]] = {}
    for unit in units:
        if unit.form == "question":
            continue
        for side, text, claims in (
            ("reference", unit.reference, reference_claims),
            ("output", unit.output, output_claims),
        ):
            name = f"{unit.id}/{side}"
            if unit.id in claims:
                given[name] = tuple(claims[unit.id])
            else:
                wanted[name] = unit, text
    return given | make_claims(
        {name: text for name, (_, text) in wanted.items()},
        judging,
        form_of={name: unit.form for name, (unit, _) in wanted.items()},
        section_of={name: unit.section for name, (unit, _) in wanted.items()},
    )


def _unit_line(unit: Unit, judging: Judging, made: _Made, *, style: str, citations: bool) -> Line[UnitVerdict]:
    claims = _question_line if unit.form == "question" else _claims_line
    parts: list[Line[Any]] = [claims(unit, judging, made, style)]
    if citations:
        parts.append(_sentence_line(unit, judging, style))
    found = yield from side_by_side(parts)
    verdict: UnitVerdict = found[0]
    sentences, reasons = found[1] if citations else ((), ())
    return replace(
        verdict,
        section=replace(verdict.section, sentences=sentences),
        reasons=tuple(dict.fromkeys((*verdict.reasons, *reasons))),
    )


def _claims_line(unit: Unit, judging: Judging, made: _Made, style: str) -> Line[UnitVerdict]:
    sides = {"recall": made[f"{unit.id}/reference"], "precision": made[f"{unit.id}/output"]}
    texts = {"recall": unit.output, "precision": unit.reference}
    asked = {
        name: claim_line(
            ClaimRequest(id=f"{unit.id}/{name}", text=texts[name], claims=claims, form=unit.form), judging, style=style
        )
        for name, claims in sides.items()
        if not isinstance(claims, Unscored)
    }
    answers = yield from side_by_side(list(asked.values()))
    found: dict[str, ClaimVerdicts] = dict(zip(asked, answers, strict=True))
    failed = [claims.reason for claims in sides.values() if isinstance(claims, Unscored)]
    entailed = {name: found[name].entailed if name in found else None for name in sides}
    claims_of = {name: None if isinstance(claims, Unscored) else claims for name, claims in sides.items()}
    return UnitVerdict(
        section=Section(reference_claims=entailed["recall"], output_claims=entailed["precision"]),
        reference_claims=claims_of["recall"],
        output_claims=claims_of["precision"],
        reasons=tuple(dict.fromkeys((*failed, *(reason for one in found.values() for reason in one.reasons)))),
    )


def _question_line(unit: Unit, judging: Judging, made: _Made, style: str) -> Line[UnitVerdict]:
    output, reference = (" ".join(judged_text(text).split()) for text in (unit.output, unit.reference))
    verdict = UnitVerdict(
        section=Section(reference_claims=(), output_claims=()),
        reference_claims=(reference,) if reference else (),
        output_claims=(output,) if output else (),
    )
    if not (output and reference):
        missed = tuple(False for _ in verdict.reference_claims or ()), tuple(False for _ in verdict.output_claims or ())
        return replace(verdict, section=Section(reference_claims=missed[0], output_claims=missed[1]))
    maker = QuestionMaker(judging.prompts, style)
    questions = [
        maker.questions(f"{unit.id}/recall", "question", first=output, second=reference),
        maker.questions(f"{unit.id}/precision", "question", first=reference, second=output),
    ]
    if judging.judge.reads == "prompt":
        questions.append(maker.questions(f"{unit.id}/same", "same", first=output, second=reference))
    outcomes = yield questions
    recall, precision, *same = (verdict_bool(one) if isinstance(one, Verdict) else None for one in outcomes)
    section = meqsum_section(recall=recall, precision=precision, same=same[0] if same else False)
    missing = [one.reason for one in outcomes if isinstance(one, Unscored)]
    open_yet = None in (section.reference_claims or ()) + (section.output_claims or ())
    return replace(verdict, section=section, reasons=tuple(dict.fromkeys(missing)) if open_yet else ())


def _sentence_line(
    unit: Unit, judging: Judging, style: str
) -> Line[tuple[tuple[SentenceVerdict, ...], tuple[str, ...]]]:
    """Asks about each sentence that says something and cites something that the source has."""
    sources = dict(enumerate(unit.sources))
    sentences = read_sentences("" if unit.output.strip() == EMPTY else unit.output)
    requests = [
        CitationRequest(
            id=f"{unit.id}/sentence/{place}",
            sentence=one.text,
            cited=tuple(sorted(number for number in one.citations if number in sources)) if one.text else (),
            sources=sources,
            form=unit.form,
            section=unit.section,
        )
        for place, one in enumerate(sentences)
    ]
    found = yield from side_by_side([citation_line(request, judging, style=style) for request in requests])
    verdicts = tuple(
        unsupported(len(one.citations))
        if answer.entailed is False
        else SentenceVerdict(
            entailed=answer.entailed, supports=tuple(answer.supports.get(number, False) for number in one.citations)
        )
        for one, answer in zip(sentences, found, strict=True)
    )
    return verdicts, tuple(dict.fromkeys(reason for answer in found for reason in answer.reasons))
