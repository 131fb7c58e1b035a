"""Gets the verdicts on outputs of DocLens.

Claims of references and outputs both ways, and sentences with what they cite.

Nobody is asked about blank texts, or without citations.
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
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
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
Made = Mapping[str, Claims | Unscored]
"""Claims by `UNIT/reference` and `UNIT/output`."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A section of an output beside the same section of the reference.

    `id`: `ITEM` or `ITEM/SECTION`; unique.
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
    """What is known of a unit; without citations its section has no sentences."""

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
    """Asks a judge about outputs.

    Args:
        units: what is judged.
        judging: by whom, and with which prompts.
        style: of `judge_prompts.STYLES`.
        reference_claims: by unit's id, where they are there already; others are made.
        output_claims: likewise.
        citations: whether sentences are looked at, and what they cite.
    """
    check_judging(judging, style)
    check_different((unit.id for unit in units), "two texts to judge")
    made: dict[str, Claims | Unscored] = {}
    wanted: dict[str, tuple[str, str, str]] = {}
    for unit in units:
        if unit.form == "question":  # which is one claim
            continue

        for side, text, known in (
            ("reference", unit.reference, reference_claims or {}),
            ("output", unit.output, output_claims or {}),
        ):
            if unit.id in known:
                made[f"{unit.id}/{side}"] = tuple(known[unit.id])
            else:
                wanted[f"{unit.id}/{side}"] = text, unit.form, unit.section

    made |= make_claims(wanted, judging)
    lines = [
        _unit_line(unit, judging, made, style=style, citations=citations)
        for unit in units
    ]
    return ask_together(judging.judge, lines)


def judged_text(text: str) -> str:
    """The text as it is judged: without citation markers.

    "" where it holds the mark of an empty section.
    """
    return "" if text.strip() == EMPTY else remove_citations(text).strip()


def make_claims(
    texts: Mapping[str, tuple[str, str, str]], judging: Judging
) -> dict[str, Claims | Unscored]:
    """Takes texts apart into claims, one call a text; `texts`: name to text, form and section.

    A judge of entailment makes no claims: there each sentence of the text is one.
    """
    judged = {name: judged_text(text) for name, (text, _, _) in texts.items()}
    claims: dict[str, Claims | Unscored] = dict.fromkeys(texts, ())
    if judging.judge.reads == "pair":
        sentences = {
            name: read_sentences(text if judged[name] else "")
            for name, (text, _, _) in texts.items()
        }
        return {
            name: tuple(dict.fromkeys(one.text for one in some if one.text))
            for name, some in sentences.items()
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
        claims[name] = outcome if isinstance(outcome, Unscored) else _made(outcome)

    return claims


def _unit_line(
    unit: Unit, judging: Judging, made: Made, *, style: str, citations: bool
) -> Line[UnitVerdict]:
    """Asks about the claims of a text, and about its sentences, side by side.

    A unit's verdict has both, and the reasons of either for what stays without a
    verdict.
    """
    claims = _question_line if unit.form == "question" else _claims_line
    parts: list[Line[Any]] = [claims(unit, judging, made, style)]
    if citations:
        parts.append(_sentence_line(unit, judging, style))

    answers = yield from side_by_side(parts)
    verdict: UnitVerdict = answers[0]
    sentences, reasons = answers[1] if citations else ((), ())

    return UnitVerdict(
        section=replace(verdict.section, sentences=sentences),
        reasons=_unique((*verdict.reasons, *reasons)),
    )


def _claims_line(
    unit: Unit, judging: Judging, made: Made, style: str
) -> Line[UnitVerdict]:
    sides = (
        ("reference", "recall", unit.output),
        ("output", "precision", unit.reference),
    )
    lines = [
        claim_line(
            f"{unit.id}/{name}",
            text,
            made[f"{unit.id}/{side}"],
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
    """Asks whether a text entails claims (see `in_batches`), each that appears twice once.

    Returns for each claim the verdict, None where there is none, and the reasons for
    the missing.
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
        batch=lambda round_name, some: maker.claims(
            f"{name}/{round_name}", text=text, claims=some, form=form
        ),
        single=lambda claim: maker.claim(
            f"{name}/{claims.index(claim)}", text=text, claim=claim, form=form
        ),
        read_batch=_batch,
        read_single=verdict_bool,
    )
    known = {
        claim: one for claim, one in decided.items() if not isinstance(one, Unscored)
    }

    return tuple(map(known.get, claims)), _reasons(decided.values())


def _question_line(
    unit: Unit, judging: Judging, made: Made, style: str
) -> Line[UnitVerdict]:
    """Asks about a question's summary, which is one claim.

    Both ways, and whether they are the same.
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
    open_yet = None in (section.reference_claims or ()) + (section.output_claims or ())

    return UnitVerdict(section=section, reasons=_reasons(outcomes) if open_yet else ())


def _sentence_line(
    unit: Unit, judging: Judging, style: str
) -> Line[tuple[tuple[SentenceVerdict, ...], tuple[str, ...]]]:
    """Asks about each sentence that says something and cites something that the source has."""
    sentences = read_sentences("" if unit.output.strip() == EMPTY else unit.output)
    lines = []
    for place, sentence in enumerate(sentences):
        available = sorted(
            number for number in sentence.citations if number < len(unit.sources)
        )
        name = f"{unit.id}/sentence/{place}"
        lines.append(
            citation_line(
                unit,
                name,
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
    """What is known of a sentence.

    Attributes:
        supports: by number cited, whether it entails the sentence alone or is needed;
            all False for one that is not entailed.
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
    """Asks whether what a sentence cites, in the order shown, entails it, and which is needed.

    One call where prompts are read.
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
    """Asks a judge of entailment no more than is needed (paper, sections 3.3 and 3.5).

    First whether all that is cited entails the sentence; if so whether each citation
    does alone; and, of one that does not, whether the others do without it: then it is
    not needed.

    Example: [0][4] entail a sentence together, [0] alone does not, [4] alone does. Then
    [4] supports it, and [0] does not, since the others, [4], do without it.
    """
    reasons: dict[str, None] = {}

    def ask(
        wanted: Iterable[tuple[int, ...]],
    ) -> Line[dict[tuple[int, ...], bool | None]]:
        groups = list(dict.fromkeys(wanted))
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

    known = yield from ask((number,) for number in cited)
    others = {
        number: tuple(other for other in cited if other != number) for number in cited
    }
    doubtful = [others[number] for number in cited if not known[number,]]
    known |= yield from ask(group for group in doubtful if group not in known)
    supports = {
        number: _precise(known[number,], known.get(others[number])) for number in cited
    }
    # An answer that is missing may not have been needed.
    missing = tuple(reasons) if None in supports.values() else ()

    return CitationVerdict(entailed=True, supports=supports, reasons=missing)


def _bool_or_none(outcome: Outcome) -> bool | None:
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


def _reasons(outcomes: Iterable[object]) -> tuple[str, ...]:
    """Why outcomes are missing, each reason once."""
    return _unique(
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    )


def _pair(unit: Unit, name: str, sentence: str, numbers: tuple[int, ...]) -> Question:
    pair = claim_pair(" ".join(unit.sources[number] for number in numbers), sentence)
    return Question(
        id=f"{name}/{','.join(map(str, numbers))}",
        # For judges of entailment alone: the messages say the same, and are sent to
        # nobody.
        messages=({"role": "user", "content": f"{pair.premise}\n\n{pair.hypothesis}"},),
        template="",
        read=bool,
        again="{problem}",
        pair=pair,
    )


def _precise(alone: bool | None, without: bool | None) -> bool | None:
    """Whether a citation of a supported sentence is precise.

    `without` is not asked for where `alone` is true.
    """
    if alone or without is False:
        return True
    return None if alone is None or without is None else False


def _unique(reasons: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))


# Verdicts may come from a file: what they hold is checked.


def wrong_verdict(outcome: Verdict, rule: str, more: str = "") -> UsageError:
    """Says that a recorded verdict is of another kind than its question."""
    return UsageError(
        f"the verdict of the question {outcome.id} {rule}. Correct the recorded verdicts{more}."
    )


def verdict_bool(outcome: Verdict) -> bool:
    """The value of a verdict that is true or false."""
    if not isinstance(outcome.value, bool):
        raise wrong_verdict(outcome, "is neither true nor false")
    return outcome.value


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


def _made(outcome: Verdict) -> Claims:
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
