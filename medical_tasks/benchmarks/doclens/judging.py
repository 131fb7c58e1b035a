"""Gets a judge's verdicts on DocLens' outputs.

They are about the claims of references and outputs in both directions, and about
sentences with their citations. The judge is not asked about blank texts, nor about
sentences without citations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medical_tasks.benchmarks.doclens.judge_prompts import (
    Cited,
    QuestionMaker,
    check_judging,
    claim_pair,
)
from medical_tasks.benchmarks.doclens.measures import (
    Section,
    SentenceVerdict,
    meqsum_section,
    unsupported,
)
from medical_tasks.benchmarks.doclens.pieces import (
    EMPTY,
    read_sentences,
    remove_citations,
)
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict, verdict_bool
from medical_tasks.judges.case import UNREADABLE
from medical_tasks.judges.judged import check_different
from medical_tasks.judges.rounds import (
    Line,
    Outcome,
    ask_together,
    in_batches,
    side_by_side,
)

Claims = tuple[str, ...]
ClaimsBySide = Mapping[str, Claims | Unscored]
"""Claims by `UNIT/reference` and `UNIT/output`."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A section of an output with the same section of the reference.

    `id` is unique: `ITEM` or `ITEM/SECTION`.
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
    """The verdicts on a unit; its section has no sentences if citations are not judged."""

    section: Section
    reasons: tuple[str, ...] = ()


def judge_units(
    units: Sequence[Unit],
    judging: Judging,
    *,
    style: str = "json_cot",
    reference_claims: Mapping[str, Claims] | None = None,
    output_claims: Mapping[str, Claims] | None = None,
    citations: bool = True,
) -> list[UnitVerdict]:
    """Has a judge decide about outputs; one verdict per unit, in order.

    Args:
        units: the units to judge.
        judging: the judge, and its prompts and mode.
        style: one of `judge_prompts.STYLES`.
        reference_claims: existing claims by unit id; the judge makes the others.
        output_claims: the same for outputs.
        citations: whether to judge sentences with their citations.
    """
    check_judging(judging, style)
    check_different((unit.id for unit in units), "two texts to judge")
    claims: dict[str, Claims | Unscored] = {}
    texts: dict[str, tuple[str, str, str]] = {}
    for unit in units:
        if unit.form == "question":  # it is one claim
            continue

        for side, text, existing in (
            ("reference", unit.reference, reference_claims or {}),
            ("output", unit.output, output_claims or {}),
        ):
            if unit.id in existing:
                claims[f"{unit.id}/{side}"] = tuple(existing[unit.id])
            else:
                texts[f"{unit.id}/{side}"] = text, unit.form, unit.section

    claims |= make_claims(texts, judging)
    lines = [
        _unit_line(unit, judging, claims, style=style, citations=citations)
        for unit in units
    ]
    return ask_together(judging.judge, lines)


def judged_text(text: str) -> str:
    """The text without citation markers; "" for the mark of an empty section."""
    return "" if text.strip() == EMPTY else remove_citations(text).strip()


def make_claims(
    texts: Mapping[str, tuple[str, str, str]], judging: Judging
) -> dict[str, Claims | Unscored]:
    """Splits texts into claims, with one call per text.

    An entailment model makes no claims, so that each sentence of the text is one.

    Args:
        texts: maps names to text, form and section.
        judging: the judge, and its prompts.
    """
    judged = {name: judged_text(text) for name, (text, _, _) in texts.items()}
    claims: dict[str, Claims | Unscored] = dict.fromkeys(texts, ())
    if judging.judge.reads == "pair":
        sentences = {
            name: read_sentences(text if judged[name] else "")
            for name, (text, _, _) in texts.items()
        }
        return {
            name: tuple(
                dict.fromkeys(sentence.text for sentence in own if sentence.text)
            )
            for name, own in sentences.items()
        }

    maker = QuestionMaker(judging.prompts, "json_cot")
    questions = {
        name: maker.make(
            f"{name}/claims", text=judged[name], form=form, section=section
        )
        for name, (_, form, section) in texts.items()
        if judged[name]
    }
    outcomes = judging.judge.ask(list(questions.values())) if questions else []
    for name, outcome in zip(questions, outcomes, strict=True):
        claims[name] = outcome if isinstance(outcome, Unscored) else _claims_of(outcome)

    return claims


def _unit_line(
    unit: Unit, judging: Judging, claims: ClaimsBySide, *, style: str, citations: bool
) -> Line[UnitVerdict]:
    """Asks about the claims of a text and about its sentences side by side."""
    claims_line = _question_line if unit.form == "question" else _claims_line
    lines: list[Line[Any]] = [claims_line(unit, judging, claims, style)]
    if citations:
        lines.append(_sentence_line(unit, judging, style))

    verdicts = yield from side_by_side(lines)
    verdict: UnitVerdict = verdicts[0]
    sentences, reasons = verdicts[1] if citations else ((), ())

    return UnitVerdict(
        section=replace(verdict.section, sentences=sentences),
        reasons=_unique((*verdict.reasons, *reasons)),
    )


def _claims_line(
    unit: Unit, judging: Judging, claims: ClaimsBySide, style: str
) -> Line[UnitVerdict]:
    """Asks which claims of either text the other one entails."""
    sides = (
        ("reference", "recall", unit.output),
        ("output", "precision", unit.reference),
    )
    lines = [
        claim_line(
            f"{unit.id}/{name}",
            text,
            claims[f"{unit.id}/{side}"],
            unit.form,
            judging,
            style,
        )
        for side, name, text in sides
    ]
    (recall, failed), (precision, others) = yield from side_by_side(lines)
    section = Section(reference_claims=recall, output_claims=precision)

    return UnitVerdict(section=section, reasons=_unique((*failed, *others)))


def claim_line(
    name: str,
    text: str,
    claims: Claims | Unscored,
    form: str,
    judging: Judging,
    style: str,
) -> Line[tuple[tuple[bool | None, ...] | None, tuple[str, ...]]]:
    """Asks whether a text entails claims (see `in_batches`), and asks once about repeated ones.

    Returns:
        The verdict on each claim, None for a missing one, and the reasons for missing
        ones.
    """
    text = judged_text(text)
    if isinstance(claims, Unscored):
        return None, (claims.reason,)
    if not text:
        return (False,) * len(claims), ()

    maker = QuestionMaker(judging.prompts, style)
    decided = yield from in_batches(
        list(dict.fromkeys(claims)),
        judging,
        batch=lambda round_name, batch: maker.claims(
            f"{name}/{round_name}", text=text, claims=batch, form=form
        ),
        single=lambda claim: maker.claim(
            f"{name}/{claims.index(claim)}", text=text, claim=claim, form=form
        ),
        read_batch=_batch,
        read_single=verdict_bool,
    )
    verdicts = {
        claim: outcome
        for claim, outcome in decided.items()
        if not isinstance(outcome, Unscored)
    }

    return tuple(map(verdicts.get, claims)), _reasons(decided.values())


def _question_line(
    unit: Unit, judging: Judging, claims: ClaimsBySide, style: str
) -> Line[UnitVerdict]:
    """Asks about a question's summary, which is one claim: in both directions, and whether both are the same.

    The judge decides about `recall` (the output entails the reference), `precision` (the
    reference entails the output) and, if it reads prompts, `same`, which makes both of them
    hits. An entailment model is not asked the third question.
    """
    output, reference = (
        " ".join(judged_text(text).split()) for text in (unit.output, unit.reference)
    )
    if not (output and reference):
        section = Section(
            reference_claims=(False,) * bool(reference),
            output_claims=(False,) * bool(output),
        )
        return UnitVerdict(section=section)

    ask = QuestionMaker(judging.prompts, style).questions
    questions = [
        ask(f"{unit.id}/recall", "question", first=output, second=reference),
        ask(f"{unit.id}/precision", "question", first=reference, second=output),
    ]
    if judging.judge.reads == "prompt":
        questions.append(ask(f"{unit.id}/same", "same", first=output, second=reference))

    outcomes = yield questions
    recall, precision, *same = map(_bool_or_none, outcomes)
    section = meqsum_section(
        recall=recall, precision=precision, same=same[0] if same else False
    )
    verdicts = (section.reference_claims or ()) + (section.output_claims or ())
    reasons = _reasons(outcomes) if None in verdicts else ()

    return UnitVerdict(section=section, reasons=reasons)


def _sentence_line(
    unit: Unit, judging: Judging, style: str
) -> Line[tuple[tuple[SentenceVerdict, ...], tuple[str, ...]]]:
    """Asks about each sentence that is not blank and cites a sentence of the source.

    Numbers of no source are left out of the question; as citations they support nothing. If
    the sentence is not entailed, none of its citations supports it.
    """
    sentences = read_sentences("" if unit.output.strip() == EMPTY else unit.output)
    lines = []
    for index, sentence in enumerate(sentences):
        available = sorted(
            number for number in sentence.citations if number < len(unit.sources)
        )
        lines.append(
            citation_line(
                unit,
                f"{unit.id}/sentence/{index}",
                sentence.text,
                available if sentence.text else (),
                judging,
                style,
            )
        )

    answers = yield from side_by_side(lines)
    verdicts = tuple(
        unsupported(len(sentence.citations))
        if answer.entailed is False
        else SentenceVerdict(
            entailed=answer.entailed,
            supports=tuple(
                answer.supports.get(number, False) for number in sentence.citations
            ),
        )
        for sentence, answer in zip(sentences, answers, strict=True)
    )
    return verdicts, _unique(reason for answer in answers for reason in answer.reasons)


@dataclass(frozen=True, kw_only=True)
class CitationVerdict:
    """The verdict on a sentence.

    Attributes:
        entailed: whether all citations together entail it.
        supports: for each citation, whether it entails the sentence alone or is needed;
            all False if the sentence is not entailed.
        reasons: why verdicts are missing.
    """

    entailed: bool | None
    supports: Mapping[int, bool | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


def citation_line(
    unit: Unit,
    name: str,
    sentence: str,
    cited: Sequence[int],
    judging: Judging,
    style: str,
) -> Line[CitationVerdict]:
    """Asks whether the citations of a sentence, in the given order, entail it, and which are needed.

    A judge that reads prompts gets one call.

    Returns:
        Not entailed if nothing is cited. Without a readable reply all is missing; a reply
        that has the verdict but no readable list of citations leaves only these missing.
    """
    if not cited:
        return CitationVerdict(entailed=False)
    if judging.judge.reads == "pair":
        return (yield from _pairs(unit, name, sentence, tuple(sorted(set(cited)))))

    shown = [(number, " ".join(unit.sources[number].split())) for number in cited]
    maker = QuestionMaker(judging.prompts, style)
    (outcome,) = yield [
        maker.citation(
            name, sentence=sentence, cited=shown, form=unit.form, section=unit.section
        )
    ]
    if isinstance(outcome, Unscored):
        return CitationVerdict(
            entailed=None, supports=dict.fromkeys(cited), reasons=(outcome.reason,)
        )

    entailed, provenance = _cited(outcome, cited)
    if provenance is None:
        return CitationVerdict(
            entailed=entailed, supports=dict.fromkeys(cited), reasons=(UNREADABLE,)
        )

    return CitationVerdict(
        entailed=entailed, supports={number: number in provenance for number in cited}
    )


def _pairs(
    unit: Unit, name: str, sentence: str, cited: tuple[int, ...]
) -> Line[CitationVerdict]:
    """Asks an entailment model only the necessary questions (paper, sections 3.3 and 3.5).

    First, whether all citations entail the sentence. If so, whether each does alone.
    For each that does not, whether the others do without it: then it is not needed.

    Example: [0][4] entail a sentence together, [0] alone does not, [4] alone does. Then
    [4] supports it, and [0] does not, since the others, [4], do without it.
    """
    reasons: dict[str, None] = {}

    def ask(
        groups: Iterable[tuple[int, ...]],
    ) -> Line[dict[tuple[int, ...], bool | None]]:
        groups = list(dict.fromkeys(groups))
        outcomes = yield [_pair(unit, name, sentence, numbers) for numbers in groups]
        reasons.update(dict.fromkeys(_reasons(outcomes)))
        return dict(zip(groups, map(_bool_or_none, outcomes), strict=True))

    entailed = (yield from ask([cited]))[cited]
    if not entailed:
        supports = dict.fromkeys(cited, entailed)
        return CitationVerdict(
            entailed=entailed, supports=supports, reasons=tuple(reasons)
        )

    if len(cited) == 1:
        return CitationVerdict(entailed=True, supports={cited[0]: True})

    verdicts = yield from ask((number,) for number in cited)
    others = {
        number: tuple(other for other in cited if other != number) for number in cited
    }
    doubtful = [others[number] for number in cited if not verdicts[number,]]
    verdicts |= yield from ask(group for group in doubtful if group not in verdicts)
    supports = {
        number: _precise(verdicts[number,], verdicts.get(others[number]))
        for number in cited
    }
    # A missing verdict may not have been needed.
    missing = tuple(reasons) if None in supports.values() else ()

    return CitationVerdict(entailed=True, supports=supports, reasons=missing)


def _bool_or_none(outcome: Outcome) -> bool | None:
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


def _reasons(outcomes: Iterable[object]) -> tuple[str, ...]:
    """The reasons for missing outcomes, without repeats."""
    return _unique(
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    )


def _pair(unit: Unit, name: str, sentence: str, numbers: tuple[int, ...]) -> Question:
    pair = claim_pair(" ".join(unit.sources[number] for number in numbers), sentence)
    return Question(
        id=f"{name}/{','.join(map(str, numbers))}",
        # For entailment models only: the messages have the same content, and are never
        # sent.
        messages=({"role": "user", "content": f"{pair.premise}\n\n{pair.hypothesis}"},),
        template="",
        read=bool,
        again="{problem}",
        pair=pair,
    )


def _precise(alone: bool | None, without: bool | None) -> bool | None:
    """Whether a citation of an entailed sentence is precise.

    Args:
        alone: whether it entails the sentence alone.
        without: whether the others entail it; unknown if `alone` is true.
    """
    if alone or without is False:
        return True
    return None if alone is None or without is None else False


def _unique(reasons: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))


# Verdicts may come from a file, so their values are checked.


def wrong_verdict(outcome: Verdict, rule: str, more: str = "") -> UsageError:
    """The error for a recorded verdict whose value does not fit its question."""
    return UsageError(
        f"the verdict of the question {outcome.id} {rule}. Correct the recorded verdicts{more}."
    )


def _batch(outcome: Verdict, claims: Sequence[str]) -> dict[str, bool]:
    value = outcome.value
    valid = isinstance(value, tuple) and all(
        entailed is None or isinstance(entailed, bool) for entailed in value
    )
    if not valid or len(value) != len(claims):
        raise wrong_verdict(
            outcome,
            f"is no list of true, false or null for each of {len(claims)} claims",
        )

    return {
        claim: entailed
        for claim, entailed in zip(claims, value, strict=True)
        if entailed is not None
    }


def _claims_of(outcome: Verdict) -> Claims:
    value = outcome.value
    try:
        claims = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        claims = None

    if (
        not isinstance(claims, list)
        or not all(isinstance(claim, str) and claim.strip() for claim in claims)
        or not claims
    ):
        credentialed = "; those of a credentialed task hold no claims: give them as files (claims, output_claims)"
        raise wrong_verdict(
            outcome, "is no JSON text of a list of claims", credentialed
        )

    return tuple(claims)


def _cited(outcome: Verdict, shown: Sequence[int]) -> Cited:
    match outcome.value:
        case tuple((bool() as entailed, tuple() as numbers)) if (
            entailed or not numbers
        ) and all(type(number) is int and number in shown for number in numbers):
            return entailed, numbers
        case (True, None):
            return True, None
    raise wrong_verdict(
        outcome, "is not true or false with a list of numbers that are cited"
    )
