"""Claims made of texts, and verdicts on whether texts entail claims: all claims of a text in one call, or one call a claim.

A line of questions is a generator that yields questions and is sent their outcomes; many lines are asked together, in rounds, so
that a judge can work on much at once. Claims that a batched reply leaves out are asked about again, together, then one by one, and
so is a batch with no readable reply or too long a prompt. A batch that failed for another reason (the server, the budget) leaves
its claims without a verdict. A judge of entailment is always asked claim by claim, and a text's sentences are its claims.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from medical_tasks.benchmarks.doclens.judge_prompts import FORMS, QuestionMaker, check_judging
from medical_tasks.benchmarks.doclens.measures import FULL
from medical_tasks.benchmarks.doclens.pieces import EMPTY, read_sentences, remove_citations
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judge, Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import CUT, NO_PAIR, UNREADABLE

_FORM_REASONS: Final = (UNREADABLE, CUT, NO_PAIR, "judge: prompt too long")
"""Reasons that a smaller question may cure."""


@dataclass(frozen=True, kw_only=True)
class ClaimRequest:
    """Claims that a text may entail. `text`: what may entail them; a blank one entails nothing, and nobody is asked."""

    id: str
    text: str
    claims: tuple[str, ...]
    form: str = "text"


@dataclass(frozen=True, kw_only=True)
class ClaimVerdicts:
    """What is known of them. `entailed`: for each claim, in order; None where there is no verdict."""

    entailed: tuple[bool | None, ...]
    reasons: tuple[str, ...] = ()


def judged_text(text: str) -> str:
    """The text as it is judged: without citation markers; "" where it holds the mark of an empty section."""
    return "" if text.strip() == EMPTY else remove_citations(text).strip()


def require_unique(ids: Sequence[str]) -> None:
    """Refuses two things to judge of the same id."""
    if len(set(ids)) != len(ids):
        raise UsageError("two texts to judge have the same id. Give each item one response.")


def make_claims(
    texts: Mapping[str, str],
    judging: Judging,
    *,
    form_of: Mapping[str, str] | None = None,
    section_of: Mapping[str, str] | None = None,
) -> dict[str, tuple[str, ...] | Unscored]:
    """Takes texts apart into claims, one call a text.

    `judging`: whom to ask. For a judge that reads pairs the text's sentences are its claims, and it is not asked.
    """
    forms, sections = form_of or {}, section_of or {}
    said = {name: judged_text(text) for name, text in texts.items()}
    made: dict[str, tuple[str, ...] | Unscored] = dict.fromkeys(texts, ())
    if judging.judge.reads == "pair":
        for name, text in texts.items():
            sentences = read_sentences(text) if said[name] else ()
            made[name] = tuple(dict.fromkeys(one.text for one in sentences if one.text))
        return made
    maker = QuestionMaker(judging.prompts, "json_cot")
    questions = {
        name: maker.make(
            f"{name}/claims", text=text, form=_form(forms.get(name, "text")), section=sections.get(name, FULL)
        )
        for name, text in said.items()
        if text
    }
    outcomes = judging.judge.ask(list(questions.values())) if questions else []
    for name, outcome in zip(questions, outcomes, strict=True):
        made[name] = outcome if isinstance(outcome, Unscored) else _made(outcome)
    return made


def entail_claims(
    requests: Sequence[ClaimRequest], judging: Judging, *, style: str = "json_cot"
) -> list[ClaimVerdicts]:
    """Asks whether texts entail claims."""
    check_judging(judging, style)
    require_unique([request.id for request in requests])
    return ask_together(judging.judge, [claim_line(request, judging, style=style) for request in requests])


def claim_line(request: ClaimRequest, judging: Judging, *, style: str) -> Line[ClaimVerdicts]:
    """Asks about one request; see `ask_together`."""
    text, form = judged_text(request.text), _form(request.form)
    if not text:
        return ClaimVerdicts(entailed=(False,) * len(request.claims))
    maker = QuestionMaker(judging.prompts, style)
    found: dict[str, bool] = {}
    failed: dict[str, str] = {}
    # A claim that stands twice is asked about once.
    wanted = list(dict.fromkeys(request.claims))
    batched = judging.mode == "batched" and judging.judge.reads == "prompt"
    singly: list[str] = []
    for round_name in ("batch", "batch-again") if batched else ():
        if not wanted:
            break
        (outcome,) = yield [maker.claims(f"{request.id}/{round_name}", text=text, claims=wanted, form=form)]
        if isinstance(outcome, Verdict):
            found |= {claim: one for claim, one in zip(wanted, _batch(outcome, wanted), strict=True) if one is not None}
            wanted = [claim for claim in wanted if claim not in found]
        elif outcome.reason in _FORM_REASONS:
            singly, wanted = wanted, []
        else:
            failed |= dict.fromkeys(wanted, outcome.reason)
            wanted = []
    singly += wanted
    places = {claim: request.claims.index(claim) for claim in singly}
    questions: list[Question] = [
        maker.claim(f"{request.id}/{place}", text=text, claim=claim, form=form) for claim, place in places.items()
    ]
    outcomes = yield questions
    for claim, one in zip(places, outcomes, strict=True):
        if isinstance(one, Unscored):
            failed[claim] = one.reason
        else:
            found[claim] = verdict_bool(one)
    return ClaimVerdicts(
        entailed=tuple(found.get(claim) for claim in request.claims), reasons=tuple(dict.fromkeys(failed.values()))
    )


def verdict_bool(outcome: Verdict) -> bool:
    """Checks that a verdict is true or false: it may come from a file."""
    if not isinstance(outcome.value, bool):
        raise UsageError(
            f"the verdict of the question {outcome.id} is neither true nor false. Correct the recorded verdicts."
        )
    return outcome.value


def _form(form: str) -> str:
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}; got {form!r}")
    return form


def _batch(outcome: Verdict, claims: Sequence[str]) -> Sequence[bool | None]:
    value = outcome.value
    if (
        not isinstance(value, tuple)
        or len(value) != len(claims)
        or not all(one is None or isinstance(one, bool) for one in value)
    ):
        raise UsageError(
            f"the verdict of the question {outcome.id} is no list of true, false or null for each of {len(claims)} claims. "
            "Correct the recorded verdicts."
        )
    return value


def _made(outcome: Outcome) -> tuple[str, ...]:
    value = outcome.value if isinstance(outcome, Verdict) else None
    try:
        claims = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        claims = None
    if not isinstance(claims, list) or not all(isinstance(one, str) and one.strip() for one in claims) or not claims:
        raise UsageError(
            f"the verdict of the question {outcome.id} is no JSON text of a list of claims. Correct the recorded verdicts; those "
            "of a credentialed task hold no claims: give them as files (claims, output_claims)."
        )
    return tuple(claims)


Outcome = Verdict | Unscored
_Found = TypeVar("_Found")
Line = Generator[list[Question], list[Outcome], _Found]
"""Yields questions whose ids differ from all others', maybe none, and is sent an outcome each, in order."""


def ask_together(judge: Judge, lines: Sequence[Line[_Found]]) -> list[_Found]:
    """Asks round by round, until every line has come to its end."""
    line = side_by_side(lines)
    try:
        wanted = next(line)
        while True:
            wanted = line.send(judge.ask(wanted))
    except StopIteration as end:
        found: list[_Found] = end.value
        return found


def side_by_side(lines: Sequence[Line[_Found]]) -> Line[list[_Found]]:
    """Makes one line of several: its rounds are theirs together, and it ends when the last one does."""
    found: dict[int, Any] = {}
    waiting: dict[int, list[Question]] = {}

    def go_on(place: int, outcomes: list[Outcome] | None) -> None:
        line = lines[place]
        try:
            wanted = next(line) if outcomes is None else line.send(outcomes)
            while not wanted:
                wanted = line.send([])
        except StopIteration as end:
            found[place] = end.value
        else:
            waiting[place] = wanted

    for place in range(len(lines)):
        go_on(place, None)
    while waiting:
        asked = dict(waiting)
        waiting.clear()
        outcomes = yield [question for wanted in asked.values() for question in wanted]
        start = 0
        for place, wanted in asked.items():
            go_on(place, outcomes[start : start + len(wanted)])
            start += len(wanted)
    return [found[place] for place in range(len(lines))]
