"""The `_official` figures: how the authors' scripts read citations and replies, bug for bug, and count as `aggregate_scores.py`.

What their script fails on, failed calls and cut replies have limits and a reason. The rules: docs/doclens_scoring.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, Literal

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
from medical_tasks.benchmarks.doclens.measures import (
    Section,
    SentenceVerdict,
    Side,
    Tally,
    section_tallies,
    unsupported,
)
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unreadable, Unscored, Verdict
from medical_tasks.scoring.sentences import UNTRAINED, punkt_spans

SplitMethod = Literal["sent", "citation", "meqsum"]

MAX_CITATIONS: Final = 10
"""How many citations of a sentence are looked at."""

_RUN = re.compile(r"[\[\d+\]]+")
_OPEN = re.compile(r"\[(\d+)")
_REMOVED = re.compile(r" ?\[\d+")
_SOURCE = re.compile(r"\[(\d+)\]")
_MAX_DIGITS = 640  # the fewest digits Python can be set to refuse; no source has as many sentences


@dataclass(frozen=True, kw_only=True)
class OfficialSentence:
    """A sentence as their score files have it."""

    output: str  # with its citations, white space run together; "" for the one segment that counts as uncited
    target: str
    citations: tuple[int, ...] = ()  # the denominator of citation precision, cut to ten if it is asked about
    asked: bool = False  # whether a judge decides; otherwise nothing supports it
    borrowed: bool = False  # whether the citations are those of a later sentence


def official_segments(text: str, *, method: SplitMethod) -> list[str]:
    """Splits an output as they do, white space as it stands.

    `sent` (ACI-BENCH) takes NLTK's `sent_tokenize`, `meqsum` the whole output. `citation` (radiology reports, other texts) cuts
    behind each run of `[`, `]`, `+` and digits, so every number of the prose ends a segment; the rest is dropped.
    """
    if method == "meqsum":
        return [text]
    if method == "sent":
        return [text[start:end] for start, end in punkt_spans(text, UNTRAINED)]
    ends = [found.end() for found in _RUN.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def official_ids(text: str) -> list[int]:
    """Lists the numbers behind `[`, repeats included: `[1-3]` cites 1, `[4, 5]` cites 4."""
    return [int(digits[:_MAX_DIGITS]) for digits in _OPEN.findall(text)]


def remove_citations_official(text: str) -> str:
    """Takes `[1` with the space before it away, then each ` |` and each `]` of the text."""
    # One pass takes what their two take: a number behind a bracket is never followed by what makes another.
    return _REMOVED.sub("", text).replace(" |", "").replace("]", "")


def official_sources(text: str) -> dict[int, str]:
    """Splits an input at every `[0]`; what stands before the first is dropped, and of a number given twice the last counts."""
    marks = list(_SOURCE.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        int(mark[1][:_MAX_DIGITS]): " ".join(text[mark.end() : end].split())
        for mark, end in zip(marks, ends, strict=False)
    }


def official_sentences(text: str, *, method: SplitMethod, sources: Collection[int]) -> list[OfficialSentence]:
    """Reads an output as they do; one that `citation` cuts into one segment is a sentence that nothing supports."""
    if not text:
        return []
    segments = official_segments(text, method=method)
    if method == "citation" and len(segments) == 1:
        return [OfficialSentence(output="", target="")]
    found: list[OfficialSentence] = []
    later: list[int] = []  # what the next sentence that has any cites, with repeats
    for segment in reversed(segments):
        output = " ".join(segment.split())
        own = official_ids(output)
        # The order of a Python set of small numbers is mostly ascending, but not always ({8, 1}): which ten are the first is its.
        citations = list(set(own)) if own else later
        asked = bool(citations) and max(citations) < len(sources)
        if asked:
            citations = citations[:MAX_CITATIONS]
            missing = [number for number in citations if number not in sources]
            if missing:
                raise UsageError(
                    f"[{missing[0]}] is cited, and the source's {len(sources)} sentences have no such number. The authors' "
                    "script fails on sources that are not numbered 0, 1, 2 ...: number them so."
                )
        found.append(
            OfficialSentence(
                output=output,
                target=remove_citations_official(output),
                citations=tuple(citations),
                asked=asked,
                borrowed=not own and bool(citations),
            )
        )
        later = own or later
    return found[::-1]


MISTRAL_TRIES: Final = 15

_PREDICTION: Final = "entailment_prediction"
_NEXT: Final = "Their script fails here too; judge it again."

_CITATION_KEYS = ("entailment_prediction", "explanation", "provenance")
_NUMBER = re.compile(r"\d+")
_MARK = re.compile("Claim [0-9]+: ")


def official_claims(reply: str) -> list[str]:
    """Reads claims that GPT made: line feeds are deleted, then the text is cut at `Claim 1: ` and so on, wherever that stands."""
    return _MARK.split(reply.replace("\n", ""))[1:]


def gpt_claims_reply(reply: str) -> Any:
    """Reads GPT's judgement on all claims of a text: whatever the JSON holds, an empty list when it is none, as in a fence."""
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        return []


def gpt_question_reply(reply: str) -> dict[str, Any] | None:
    """Reads GPT's judgement on a pair of MeQSum's questions; their records have it under both names."""
    value = gpt_claims_reply(reply)
    if not isinstance(value, dict) or "prediction" not in value:
        return None
    return value | {"entailment_prediction": value["prediction"]}


def gpt_citation_reply(reply: str) -> dict[str, Any] | None:
    """Reads GPT's judgement on a sentence and its citations: all keys it gave, or None."""
    value = gpt_claims_reply(reply)
    return value if isinstance(value, dict) and all(key in value for key in _CITATION_KEYS) else None


def mistral_claim_reply(replies: Iterable[str]) -> dict[str, Any] | None:
    """Reads Mistral's judgement on a claim, of its first reply that has one."""
    for reply in islice(replies, MISTRAL_TRIES):
        explanation, prediction = _said(reply)
        if prediction is not None:
            return {"explanation": explanation, "entailment_prediction": prediction}
    return None


def mistral_citation_reply(replies: Iterable[str], *, citations: Sequence[int]) -> dict[str, Any] | None:
    """Reads Mistral's judgement on a sentence and its citations; of one citation that is the provenance, whatever is said."""
    for reply in islice(replies, MISTRAL_TRIES):
        explanation, prediction = _said(reply)
        provenance = list(citations) if len(citations) == 1 else _provenance(reply, citations)
        if prediction == 0 or (prediction == 1 and provenance):
            return {"explanation": explanation, "entailment_prediction": prediction, "provenance": provenance}
    return None


def counted_claims(given: Any, where: str) -> list[bool]:
    """Says of each record of a text's claims whether it counts."""
    return [_counts(record, where) for record in _records(given, where)]


def counted_citation(record: Mapping[str, Any], where: str) -> tuple[bool, list[bool]]:
    """Says whether a sentence counts, and which of the citations it lists, repeats as often as they are listed."""
    citations = _list(record, "citations", where)
    if not _counts(record, where):
        return False, [False] * len(citations)
    if not citations:
        return True, []
    given = record.get("provenance")
    # An object there is looked through by its keys, which are texts, so that nothing is in it.
    provenance = given if isinstance(given, Mapping) else _list(record, "provenance", where)
    return True, [number in provenance for number in citations]


def _said(reply: str) -> tuple[str, int | None]:
    """Explanation and prediction; of the first the text behind the last `explanation: ` of its line."""
    explanation, prediction = "", None
    for line in _generated(reply):
        if prediction is None and "prediction: 1" in line:
            prediction = 1
        elif prediction is None and "prediction: 0" in line:
            prediction = 0
        if not explanation and "explanation: " in line:
            explanation = line.rpartition("explanation: ")[2]
    return explanation, prediction


def _generated(reply: str) -> list[str]:
    """The lines of what a model generated; their prompts end with this mark."""
    return reply.rpartition("[/INST] ")[2].split("\n")


def _provenance(reply: str, citations: Sequence[int]) -> list[int]:
    for line in _generated(reply):
        if "provenance: " in line:
            places = [int(digits[:_MAX_DIGITS]) for digits in _NUMBER.findall(line.rpartition("explanation: ")[2])]
            if found := [citations[place] for place in places if place < len(citations)]:
                return found
    return []


def _records(given: Any, where: str) -> Sequence[Mapping[str, Any]]:
    # A judge's reply that was no list is stored as it came; an empty object or text is no claims to them.
    if isinstance(given, Mapping | str) and not given:
        return []
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise UsageError(f"{where}: a list of records is needed; the judge's reply was something else. {_NEXT}")
    return given


def _counts(record: Mapping[str, Any], where: str) -> bool:
    if _PREDICTION not in record:
        raise UsageError(f"{where}: a record without {_PREDICTION}, because a reply could not be read. {_NEXT}")
    return bool(record[_PREDICTION] == 1)


def _list(record: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    value = record.get(name)
    if not isinstance(value, list | tuple):
        raise UsageError(f"{where}: a record without a list of {name}. {_NEXT}")
    return value


METHODS: Final[Mapping[str, SplitMethod]] = {"note": "sent", "section": "sent", "question": "meqsum"}
"""Form of a text to the authors' way of splitting it; of others `citation`."""


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
    given: Mapping[Side, Mapping[str, Sequence[str]]] | None = None,
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
_SIDES: Final[tuple[Side, ...]] = ("reference", "output")


def _text(unit: Unit, side: Side) -> str:
    return judged_text(unit.reference if side == "reference" else unit.output)


class _Replies:
    """Asks with the authors' prompts; `given`: side to the claims of its texts that are there already, by unit's id."""

    def __init__(self, judging: Judging, style: str, given: Mapping[Side, Mapping[str, Sequence[str]]]) -> None:
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

    def _claims(self, unit: Unit, side: Side, made: Mapping[str, Outcome]) -> list[str] | None:
        """The claims of a side; None where none could be made, which their next script fails on."""
        if unit.form == "question":
            return [" ".join(_text(unit, side).split())]
        outcome = made.get(f"{unit.id}/official/{side}/claims")
        if outcome is None:
            return list(self._given.get(side, {}).get(unit.id, ()))
        return _listed(outcome) if isinstance(outcome, Verdict) else None

    def _about_claims(self, unit: Unit, claims: Mapping[Side, list[str] | None]) -> _Asked:
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
            sides: tuple[tuple[str, Side, Side], ...] = (
                ("recall", "output", "reference"),
                ("precision", "reference", "output"),
            )
            for name, side, other in sides:
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
            single = (found[f"{start}/{place}"] for place in range(len(claims)))
            return tuple(verdict_bool(one) if isinstance(one, Verdict) else None for one in single)
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
    return official_sentences(
        unit.output.strip(), method=METHODS.get(unit.form, "citation"), sources=range(len(unit.sources))
    )
