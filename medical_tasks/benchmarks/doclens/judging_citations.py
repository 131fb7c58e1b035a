"""Verdicts on sentences and what they cite.

A judge that reads prompts says in one call a sentence whether what it cites entails it, and by which numbers. A judge of entailment
is asked what the definitions need and no more (`nli_plan`): all sentences take each of its three steps together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from medical_tasks.benchmarks.doclens.judge_prompts import FORMS, check_judging
from medical_tasks.benchmarks.doclens.judge_questions import QuestionMaker, claim_pair
from medical_tasks.benchmarks.doclens.judge_reading import Cited
from medical_tasks.benchmarks.doclens.judging_claims import require_unique, verdict_bool
from medical_tasks.benchmarks.doclens.judging_rounds import Line, ask_together
from medical_tasks.benchmarks.doclens.nli_plan import CitationQuestion, citation_plan, premise
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict

__all__ = ["CitationRequest", "CitationVerdict", "citation_line", "entail_citations"]


@dataclass(frozen=True, kw_only=True)
class CitationRequest:
    """A sentence, and what it cites.

    Attributes:
        id: start of its questions' ids; unique.
        sentence: without its citations.
        cited: the numbers that the source has, in the order in which they are shown. Without any nothing is asked.
        sources: number to text, of those at least.
        form: of the output, one of `judge_prompts.FORMS`.
        section: of the output, which the authors' prompts for notes need.
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

    Attributes:
        entailed: whether what it cites entails it; None where there is no verdict.
        supports: for each number cited, whether it is precise: it entails the sentence alone or is needed. All False for a
            sentence that is not entailed; None where there is no verdict.
        reasons: why there is none, each reason once.
        text: the judge's reply; "" from judges that say a label and no more.
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
    """Asks whether what sentences cite entails them, and which citations are precise.

    Args:
        requests: the sentences.
        judging: whom to ask; one call a sentence in either mode.
        style: one of `judge_prompts.STYLES`.

    Returns:
        What is known of each, in order.

    Raises:
        UsageError: What `judge_prompts.check_judging` refuses, two requests of one id, or recorded verdicts of another kind.
    """
    check_judging(judging, style)
    require_unique([request.id for request in requests])
    return ask_together(judging.judge, [citation_line(request, judging, style=style) for request in requests])


def citation_line(request: CitationRequest, judging: Judging, *, style: str) -> Line[CitationVerdict]:
    """Asks about one sentence; see `judging_rounds`."""
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
        entailed=entailed,
        supports={number: number in provenance for number in request.cited},
        text=outcome.text,
    )


def _pairs(request: CitationRequest) -> Line[CitationVerdict]:
    """Takes the steps of `nli_plan`."""
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
    asked = CitationQuestion(sentence=0, cited=numbers)
    pair = claim_pair(premise(asked, request.sources), request.sentence)
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
