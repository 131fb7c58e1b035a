"""Gets the verdicts on outputs of DocLens: claims of references and outputs both ways, and sentences with what they cite.

All claims are made first, then everything is judged; further rounds hold what a batched reply left out and the next steps of a
judge of entailment. A blank output entails nothing; a blank reference has no claims; a sentence without valid citations is
unsupported: nobody is asked about these.

A judge that reads prompts says in one call whether the citations C of a sentence entail it, and which are needed. A judge of
entailment is asked no more than the definitions need (sections 3.3 and 3.5): first about C; if C entails the sentence and has two
or more, about each c alone; where c alone does not, about C without c. That is one call for k = 1, three for k = 2, and 1 + k to
1 + 2k above.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medical_tasks.benchmarks.doclens.judge_prompts import FORMS, QuestionMaker, check_judging, claim_pair
from medical_tasks.benchmarks.doclens.judge_reading import Cited
from medical_tasks.benchmarks.doclens.judging_claims import (
    ClaimRequest,
    ClaimVerdicts,
    Line,
    ask_together,
    claim_line,
    judged_text,
    require_unique,
    side_by_side,
    verdict_bool,
)
from medical_tasks.benchmarks.doclens.judging_claims import (
    make_claims as make_claims,
)
from medical_tasks.benchmarks.doclens.measures import Section, SentenceVerdict, meqsum_section, unsupported
from medical_tasks.benchmarks.doclens.pieces import EMPTY, read_sentences
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict

_Claims = Mapping[str, tuple[str, ...]]
_Made = Mapping[str, tuple[str, ...] | Unscored]
"""Claims by `UNIT/reference` and `UNIT/output`."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A section of an output beside the same section of the reference. `id`: `ITEM` or `ITEM/SECTION`; unique."""

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

    `section`: the verdicts. Without citations it has no sentences. `reference_claims`: the reference's claims; None where
    they could not be made.
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

    `reference_claims`: claims of references that are there already, by unit's id; those of others are made.
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


@dataclass(frozen=True, kw_only=True)
class CitationRequest:
    """A sentence, and what it cites.

    `cited`: the numbers that the source has, in the order in which they are shown. Without any nothing is asked.
    """

    id: str
    sentence: str
    cited: tuple[int, ...]
    sources: Mapping[int, str]
    form: str = "text"
    section: str = ""


@dataclass(frozen=True, kw_only=True)
class CitationVerdict:
    """What is known of it.

    `supports`: for each number cited, whether it is precise: it entails the sentence alone or is needed. All False for a
    sentence that is not entailed; None where there is no verdict. `text`: the judge's reply; "" from judges that say a
    label and no more.
    """

    entailed: bool | None
    supports: Mapping[int, bool | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    text: str = ""

    @property
    def provenance(self) -> tuple[int, ...] | None:
        """The precise numbers, ascending; None where it is not known of each whether it is one."""
        if None in self.supports.values():
            return None
        return tuple(sorted(number for number, precise in self.supports.items() if precise))


def entail_citations(
    requests: Sequence[CitationRequest], judging: Judging, *, style: str = "json_cot"
) -> list[CitationVerdict]:
    """Asks whether what sentences cite entails them, and which citations are precise."""
    check_judging(judging, style)
    require_unique([request.id for request in requests])
    return ask_together(judging.judge, [citation_line(request, judging, style=style) for request in requests])


def citation_line(request: CitationRequest, judging: Judging, *, style: str) -> Line[CitationVerdict]:
    """Asks about one sentence; see `judging_claims.ask_together`."""
    if not request.cited:
        return CitationVerdict(entailed=False)
    if judging.judge.reads == "pair":
        return (yield from _pairs(request))
    if request.form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}; got {request.form!r}")
    question = QuestionMaker(judging.prompts, style).citation(
        request.id,
        sentence=request.sentence,
        cited=[(number, " ".join(request.sources[number].split())) for number in request.cited],
        form=request.form,
        section=request.section,
    )
    (outcome,) = yield [question]
    if isinstance(outcome, Unscored):
        return CitationVerdict(entailed=None, supports=dict.fromkeys(request.cited), reasons=(outcome.reason,))
    entailed, provenance = _cited(outcome, request.cited)
    return CitationVerdict(
        entailed=entailed, supports={number: number in provenance for number in request.cited}, text=outcome.text
    )


def _pairs(request: CitationRequest) -> Line[CitationVerdict]:
    cited = tuple(sorted(set(request.cited)))
    plan = citation_plan(cited)
    reasons: dict[str, None] = {}
    wanted = next(plan)
    while True:
        outcomes = yield [_pair(request, numbers) for numbers in wanted]
        reasons |= dict.fromkeys(one.reason for one in outcomes if isinstance(one, Unscored))
        answers = [None if isinstance(one, Unscored) else verdict_bool(one) for one in outcomes]
        try:
            wanted = plan.send(dict(zip(wanted, answers, strict=True)))
        except StopIteration as end:
            entailed, precise = end.value
            missing = None if entailed is None else False
            supports = {number: precise.get(number, missing) for number in cited}
            # An answer that is missing may not have been needed.
            return CitationVerdict(
                entailed=entailed, supports=supports, reasons=tuple(reasons) if None in supports.values() else ()
            )


def _pair(request: CitationRequest, numbers: tuple[int, ...]) -> Question:
    pair = claim_pair(" ".join(request.sources[number] for number in numbers), request.sentence)
    return Question(
        id=f"{request.id}/{','.join(map(str, numbers))}",
        # For judges of entailment alone: the messages say the same, and are sent to nobody.
        messages=({"role": "user", "content": f"{pair.premise}\n\n{pair.hypothesis}"},),
        template="",
        read=bool,
        again="{problem}",
        pair=pair,
    )


def _cited(outcome: Verdict, shown: Sequence[int]) -> Cited:
    """Checks a verdict on a sentence: it may come from a file."""
    value = outcome.value
    if (
        not isinstance(value, tuple)
        or len(value) != 2
        or not isinstance(value[0], bool)
        or not isinstance(value[1], tuple)
        or not all(type(number) is int and number in shown for number in value[1])
        or (value[1] and not value[0])
    ):
        raise UsageError(
            f"the verdict of the question {outcome.id} is not true or false with a list of numbers that are cited. Correct the "
            "recorded verdicts."
        )
    return value[0], value[1]


Ids = tuple[int, ...]


def citation_plan(
    citations: Ids,
) -> Generator[list[Ids], Mapping[Ids, bool | None], tuple[bool | None, dict[int, bool | None]]]:
    """Asks for one sentence: yields sets of numbers, and is sent what is known of each.

    Returns whether they entail it together; and for each, if they do, whether it is precise.
    """
    together = (yield [citations])[citations]
    if not together:
        return together, {}
    if len(citations) == 1:
        return True, {citations[0]: True}
    known = dict((yield [(number,) for number in citations]))
    others = {number: tuple(other for other in citations if other != number) for number in citations}
    left = [others[number] for number in citations if known[(number,)] is not True and others[number] not in known]
    if left:
        known |= yield left
    return True, {number: _precise(known[(number,)], known.get(others[number])) for number in citations}


def _precise(alone: bool | None, without: bool | None) -> bool | None:
    """Whether a citation of a supported sentence is precise; `without` is not asked for where `alone` is true."""
    if alone or without is False:
        return True
    return None if alone is None or without is None else False
