"""The `_official` figures of outputs: the authors' sentences, and verdicts counted as their `aggregate_scores.py` counts them.

With the authors' prompts every figure is their scripts' decision on the judge's first reply (`official_reading`); what their script
fails on, failed calls and cut replies have limits and a reason. With our prompts, and of judges of entailment, the claims are ours
with the same verdicts, and citations are asked about once more. A share of nothing is 0, and a text whose reply about all claims
could not be read leaves the average; of claims asked about one by one, and of citations, a missing reply ends their script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from medical_tasks.benchmarks.doclens.judge_prompts import QuestionMaker
from medical_tasks.benchmarks.doclens.judging import (
    CitationVerdict,
    Outcome,
    Unit,
    UnitVerdict,
    ask_together,
    citation_line,
    judged_text,
    verdict_bool,
    wrong_verdict,
)
from medical_tasks.benchmarks.doclens.measures import Section, SentenceVerdict, Tally, section_tallies, unsupported
from medical_tasks.benchmarks.doclens.official_reading import (
    OfficialSentence,
    SplitMethod,
    counted_citation,
    counted_claims,
    gpt_citation_reply,
    gpt_claims_reply,
    gpt_question_reply,
    mistral_citation_reply,
    mistral_claim_reply,
    official_claims,
    official_sentences,
)
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unreadable, Unscored, Verdict

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
    """What the authors' scripts count of a unit."""

    tallies: Mapping[str, Tally]
    reasons: tuple[str, ...] = ()


def judge_official(
    units: Sequence[Unit],
    verdicts: Sequence[UnitVerdict],
    judging: Judging,
    *,
    style: str = "json_cot",
    citations: bool = True,
    given: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> list[OfficialVerdict]:
    """Asks about the authors' sentences of outputs, and counts as they do."""
    split = [_sentences(unit) if citations else [] for unit in units]
    if judging.prompts.name == "official" and judging.judge.reads == "prompt":
        return _Replies(judging, style, given or {}).verdicts(units, split)
    lines = {
        (place, number): citation_line(
            unit, f"{unit.id}/official/{number}", sentence.target, sentence.citations, judging, style
        )
        for place, (unit, sentences) in enumerate(zip(units, split, strict=True))
        for number, sentence in enumerate(sentences)
        if sentence.asked
    }
    known = dict(zip(lines, ask_together(judging.judge, list(lines.values())), strict=True))
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
    """What their score file has of a text's claims. `whole`: whether they were asked about in one call."""
    return tuple(one for one in claims or () if one is not None or not whole)


def official_sentence(sentence: OfficialSentence, answer: CitationVerdict | None) -> SentenceVerdict:
    """What their score file has of a sentence: a citation counts as often as it is listed."""
    if answer is None or answer.entailed is False:
        return unsupported(len(sentence.citations))
    return SentenceVerdict(
        entailed=answer.entailed, supports=tuple(answer.supports.get(number) for number in sentence.citations)
    )


def official_tallies(section: Section) -> dict[str, Tally]:
    """Counts what a score file has."""
    return {metric: replace(tally, due=True) for metric, tally in section_tallies(section).items()}


_NO_DECISION: Final = Unreadable("the authors' script makes no decision of it")
_Asked = dict[str, Question]
_SIDES: Final = ("reference", "output")


def _text(unit: Unit, side: str) -> str:
    return judged_text(unit.reference if side == "reference" else unit.output)


class _Replies:
    """Asks with the authors' prompts; `given`: side to the claims of its texts that are there already, by unit's id."""

    def __init__(self, judging: Judging, style: str, given: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._judge = judging.judge
        self._maker = QuestionMaker(judging.prompts, style)
        self._mistral = style == "cot"
        self._given = given

    def verdicts(self, units: Sequence[Unit], split: Sequence[Sequence[OfficialSentence]]) -> list[OfficialVerdict]:
        made = self._ask([self._make(unit) for unit in units])
        claims = [
            {side: self._claims(unit, side, found) for side in _SIDES} for unit, found in zip(units, made, strict=True)
        ]
        asked = [
            self._about_claims(unit, lists) | self._about_sentences(unit, sentences)
            for unit, lists, sentences in zip(units, claims, split, strict=True)
        ]
        verdicts = []
        for unit, lists, sentences, before, found in zip(units, claims, split, made, self._ask(asked), strict=True):
            section = Section(
                reference_claims=self._counted(unit, "recall", unit.output, lists["reference"], found),
                output_claims=self._counted(unit, "precision", unit.reference, lists["output"], found),
                sentences=tuple(
                    _told(found[f"{unit.id}/official/{number}"], sentence)
                    if sentence.asked
                    else official_sentence(sentence, None)
                    for number, sentence in enumerate(sentences)
                ),
            )
            missing = (one.reason for one in (*before.values(), *found.values()) if isinstance(one, Unscored))
            verdicts.append(OfficialVerdict(tallies=official_tallies(section), reasons=tuple(dict.fromkeys(missing))))
        return verdicts

    def _ask(self, asked: Sequence[_Asked]) -> list[dict[str, Outcome]]:
        """Asks all units' questions together; the outcomes of each unit."""
        wanted = [question for each in asked for question in each.values()]
        outcomes = iter(self._judge.ask(wanted) if wanted else ())
        return [{name: next(outcomes) for name in each} for each in asked]

    def _make(self, unit: Unit) -> _Asked:
        asked: _Asked = {}
        for side in _SIDES:
            name, said = f"{unit.id}/official/{side}/claims", _text(unit, side)
            if unit.form != "question" and unit.id not in self._given.get(side, {}) and said:
                question = self._maker.make(name, text=said, form=unit.form, section=unit.section)
                asked[name] = _once(question, lambda reply: json.dumps(official_claims(reply)))
        return asked

    def _claims(self, unit: Unit, side: str, made: Mapping[str, Outcome]) -> list[str] | None:
        """The claims of a side; None where none could be made, which their next script fails on."""
        if unit.form == "question":
            return [" ".join(_text(unit, side).split())]
        outcome = made.get(f"{unit.id}/official/{side}/claims")
        if outcome is None:
            return list(self._given.get(side, {}).get(unit.id, ()))
        return _listed(outcome) if isinstance(outcome, Verdict) else None

    def _about_claims(self, unit: Unit, claims: Mapping[str, list[str] | None]) -> _Asked:
        questions: list[Question] = []
        read: Callable[[str], Any | Unreadable] = _mistral_claim if self._mistral else _gpt_claims
        if unit.form == "question":
            read = self._read_question
            (first,), (second,) = claims["output"] or ("",), claims["reference"] or ("",)
            pairs: tuple[tuple[str, Any, str, str], ...] = (
                ("recall", "question", first, second),
                ("precision", "question", second, first),
                ("same", "same", first, second),
            )
            questions = [
                self._maker.questions(f"{unit.id}/official/{name}", kind, first=one, second=other)
                for name, kind, one, other in (pairs if first and second else ())
            ]
        else:
            for name, side, other in (("recall", "output", "reference"), ("precision", "reference", "output")):
                said, start, wanted = _text(unit, side), f"{unit.id}/official/{name}", claims[other]
                if not said or not wanted:
                    continue
                questions += (
                    [
                        self._maker.claim(f"{start}/{place}", text=said, claim=claim, form=unit.form)
                        for place, claim in enumerate(wanted)
                    ]
                    if self._mistral
                    else [self._maker.claims(start, text=said, claims=wanted, form=unit.form)]
                )
        return {question.id: _once(question, read) for question in questions}

    def _read_question(self, reply: str) -> list[bool] | Unreadable:
        if self._mistral:
            said = _mistral_claim(reply)
            return said if isinstance(said, Unreadable) else [said]
        record = gpt_question_reply(reply)
        # Without a record the pair of questions is not in their file, which is no error.
        return [] if record is None else [record["prediction"] == 1]

    def _counted(
        self, unit: Unit, name: str, text: str, claims: list[str] | None, found: Mapping[str, Outcome]
    ) -> tuple[bool | None, ...] | None:
        start = f"{unit.id}/official/{name}"
        if claims is None:
            return None
        if unit.form == "question":
            if start not in found:
                return tuple(False for claim in claims if claim)
            said, same = _bools(found[start]), _bools(found[f"{unit.id}/official/same"])
            if not said:
                return (None,) if said is None else ()
            return (True,) if said[0] or (same and same[0]) else (None,) if same is None else (False,)
        if not judged_text(text):
            return (False,) * len(claims)
        if self._mistral:
            return tuple(_bool(found[f"{start}/{place}"]) for place in range(len(claims)))
        counted = _bools(found[start]) if start in found else ()
        return (None,) * len(claims) if counted is None else counted

    def _about_sentences(self, unit: Unit, sentences: Sequence[OfficialSentence]) -> _Asked:
        asked: _Asked = {}
        for number, sentence in enumerate(sentences):
            if not sentence.asked:
                continue
            cited = [(place, " ".join(unit.sources[place].split())) for place in sentence.citations]
            question = self._maker.citation(
                f"{unit.id}/official/{number}",
                sentence=sentence.target,
                cited=cited,
                form=unit.form,
                section=unit.section,
            )
            asked[question.id] = _once(question, _read_sentence(sentence.citations, mistral=self._mistral))
        return asked


def _once(question: Question, read: Callable[[str], Any | Unreadable]) -> Question:
    return replace(question, read=lambda reply: _frozen(read(reply)), once=True, pair=None)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _gpt_claims(reply: str) -> list[bool] | Unreadable:
    try:
        return counted_claims(gpt_claims_reply(reply), "a reply")
    except UsageError:
        return _NO_DECISION


def _mistral_claim(reply: str) -> bool | Unreadable:
    record = mistral_claim_reply([reply])  # of its up to fifteen tries the first
    return _NO_DECISION if record is None else bool(record["entailment_prediction"])


def _read_sentence(citations: Sequence[int], *, mistral: bool) -> Callable[[str], Any | Unreadable]:
    def read(reply: str) -> list[Any] | Unreadable:
        record = mistral_citation_reply([reply], citations=citations) if mistral else gpt_citation_reply(reply)
        try:
            return list(counted_citation({**(record or {}), "citations": list(citations)}, "a reply"))
        except UsageError:
            return _NO_DECISION

    return read


def _bool(outcome: Outcome) -> bool | None:
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


def _bools(outcome: Outcome) -> tuple[bool, ...] | None:
    if isinstance(outcome, Unscored):
        return None
    value: Any = outcome.value
    if not isinstance(value, tuple) or not all(isinstance(one, bool) for one in value):
        raise wrong_verdict(outcome, "is no list of true and false")
    return value


def _listed(outcome: Verdict) -> list[str]:
    value = json.loads(outcome.value) if isinstance(outcome.value, str) else None
    if not isinstance(value, list) or not all(isinstance(claim, str) for claim in value):
        raise wrong_verdict(outcome, "is no JSON text of a list of claims")
    return value


def _told(outcome: Outcome, sentence: OfficialSentence) -> SentenceVerdict:
    if isinstance(outcome, Unscored):
        return SentenceVerdict(entailed=None, supports=(None,) * len(sentence.citations))
    value: Any = outcome.value
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], tuple)):
        raise wrong_verdict(outcome, "is not true or false with a list of true and false")
    return SentenceVerdict(entailed=value[0], supports=value[1])


def _sentences(unit: Unit) -> list[OfficialSentence]:
    # Before TRUE judges a radiology summary they take numbers of items out. No sentence of theirs has one there: each number
    # ends a sentence.
    return official_sentences(unit.output.strip(), method=METHODS[unit.form], sources=range(len(unit.sources)))
