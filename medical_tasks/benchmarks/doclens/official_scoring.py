"""The `_official` figures of DocLens, bug for bug.

What the authors' scripts ask of an output, read of replies and count
(https://github.com/yiqingxyq/DocLens). They are asked for with the authors' prompts
alone. What is not as theirs has a reason: docs/doclens_scoring.md.

    medical-tasks score aci_bench --prompts official --upstream DocLens --task-args official=yes

| | rule of the authors' scripts |
|---|---|
| claims | made of the output with its citations, judged without them; an output is sent unless empty, in MeQSum always |
| a note's sections | from a section's first heading to the next section's |
| sources of radiology and MeQSum, references of radiology | small letters, one line |
| question B (MeQSum) | with its citations |
| sentences | ACI-BENCH: NLTK's Punkt. MeQSum: the whole output. Radiology, other texts: cut behind each run of `[`, `]`, `+` and digits, so `5 mg` ends one; text behind the last is dropped, one alone counts as uncited |
| an uncited sentence | gets the citations of the next one that has any |
| `[1-3]`, `[4, 5]` | 1, 4 |
| more than ten citations | the first ten of a Python set |
| an id the source lacks | the whole sentence is unsupported |
| claims of a reply | behind `Claim N: `, line feeds deleted |
| more or fewer verdicts than claims | counted as given |
| an unreadable reply | claims: the example leaves the average; citations: the script fails |
| a share of nothing | 0 |

What is not as theirs, beside prompts and data:

- Notes are split by untrained Punkt, unless `punkt=FOLDER` gives NLTK's
  (`punkt_tab/english`, whose hash the recipe has).
- A model's reasoning is left out, and `__CLAIM__` in an output stays: theirs fills it
  with the claim.
- The first reply counts, at the judge's temperature: theirs sets none for GPT, and asks
  Mistral up to 15 times at 0.7. A failed call or a cut reply leaves the figure n/a.
- A turn without a speaker is sent without one; a citation lost to a number in the
  source's text is unsupported. Theirs fails.
"""  # noqa: E501

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from medical_tasks.benchmarks.doclens.judge_prompts import QuestionMaker
from medical_tasks.benchmarks.doclens.judging import Unit, verdict_bool, wrong_verdict
from medical_tasks.benchmarks.doclens.measures import (
    Section,
    SentenceVerdict,
    Side,
    Tally,
    section_tallies,
    unsupported,
)
from medical_tasks.benchmarks.doclens.official_prompts import (
    OFFICIAL_TOKENS,
    official_input,
)
from medical_tasks.judges.base import Judging, Question, Unreadable, Unscored, Verdict
from medical_tasks.judges.rounds import Line, ask_together, side_by_side
from medical_tasks.scoring.sentences import UNTRAINED, Punkt, punkt_spans

SplitMethod = Literal["sent", "citation", "meqsum"]

MAX_CITATIONS: Final = 10
"""How many citations of a sentence are looked at."""

_RUN = re.compile(r"[\[\d+\]]+")
_OPEN = re.compile(r"\[(\d+)")
_REMOVED = re.compile(r" ?\[\d+")
_MAX_DIGITS = 640  # the fewest digits Python can be set to refuse; no source has as many sentences


@dataclass(frozen=True, kw_only=True)
class OfficialSentence:
    """A sentence as their score files have it.

    Attributes:
        target: without its citations, white space run together; "" for the one segment
            that counts as uncited.
        citations: the denominator of citation precision, cut to ten if it is asked
            about.
        asked: whether a judge decides; otherwise nothing supports it.
    """

    target: str
    citations: tuple[int, ...] = ()
    asked: bool = False


def official_segments(
    text: str, *, method: SplitMethod, punkt: Punkt = UNTRAINED
) -> list[str]:
    """Splits an output as they do, white space as it stands.

    `sent` (ACI-BENCH) takes NLTK's `sent_tokenize`, which has trained Punkt, `meqsum`
    the whole output. `citation` (radiology reports, other texts) cuts behind each run
    of `[`, `]`, `+` and digits, so that every number of the prose ends a segment; the
    rest is dropped.
    """
    if method == "meqsum":
        return [text]
    if method == "sent":
        return [text[start:end] for start, end in punkt_spans(text, punkt)]

    ends = [match.end() for match in _RUN.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def official_ids(text: str) -> list[int]:
    """Lists the numbers behind `[`, repeats included: `[1-3]` cites 1, `[4, 5]` cites 4."""
    return [int(digits[:_MAX_DIGITS]) for digits in _OPEN.findall(text)]


def remove_citations_official(text: str) -> str:
    """Takes `[1` with the space before it away, then each ` |` and each `]` of the text."""
    # One pass takes what their two take: a number behind a bracket is never followed by
    # what makes another.
    return _REMOVED.sub("", text).replace(" |", "").replace("]", "")


def official_sentences(
    text: str, *, method: SplitMethod, sources: int, punkt: Punkt = UNTRAINED
) -> list[OfficialSentence]:
    """Reads an output to so many `sources` as they do.

    A sentence without citations takes those of the next one that has some, and a number
    beyond the sources leaves the whole sentence unasked. One that `citation` cuts into
    one segment is one that nothing supports.

    Example: `He bled. He rested [1][2].` by `sent` is two sentences that both cite 1
    and 2; with two sources, numbered 0 and 1, neither is asked about.
    """
    if not text:
        return []

    segments = official_segments(text, method=method, punkt=punkt)
    if method == "citation" and len(segments) == 1:
        return [OfficialSentence(target="")]

    sentences: list[OfficialSentence] = []
    later: list[int] = []  # what the next sentence that has any cites, with repeats
    for segment in reversed(segments):
        output = " ".join(segment.split())
        own = official_ids(output)
        # The order of a Python set of small numbers is mostly ascending, but not always
        # ({8, 1}): which ten are the first is its.
        citations = list(set(own)) if own else later
        asked = bool(citations) and max(citations) < sources
        if asked:
            citations = citations[:MAX_CITATIONS]

        sentences.append(
            OfficialSentence(
                target=remove_citations_official(output),
                citations=tuple(citations),
                asked=asked,
            )
        )
        later = own or later

    return sentences[::-1]


_PREDICTION: Final = "entailment_prediction"
_CITATION_KEYS: Final = frozenset((_PREDICTION, "explanation", "provenance"))
_NO_DECISION: Final = Unreadable("the authors' script makes no decision of it")
_NUMBER = re.compile(r"\d+")
_MARK = re.compile("Claim [0-9]+: ")

OfficialCited = tuple[bool, tuple[bool, ...]]
"""Whether a sentence counts, and which of its citations, repeats as often as they are listed."""


def official_claims(reply: str) -> list[str]:
    """Reads claims that GPT made.

    Line feeds are deleted, then the text is cut at `Claim 1: ` and so on, wherever that
    stands.
    """
    return _MARK.split(reply.replace("\n", ""))[1:]


def gpt_claims(reply: str) -> tuple[bool, ...] | Unreadable:
    """Reads of each of a text's claims whether it counts by GPT's reply."""
    records = _json(reply)
    if isinstance(records, dict | str) and not records:
        return ()  # an empty object or text is no claims to them
    if not isinstance(records, list) or not all(
        isinstance(one, dict) and _PREDICTION in one for one in records
    ):
        return _NO_DECISION
    return tuple(bool(record[_PREDICTION] == 1) for record in records)


def gpt_question(reply: str) -> tuple[bool, ...]:
    """Reads GPT's judgement on a pair of MeQSum's questions.

    Without one the pair is not in their file, which is no error.
    """
    record = _json(reply)
    return (
        (record["prediction"] == 1,)
        if isinstance(record, dict) and "prediction" in record
        else ()
    )


def gpt_cited(reply: str, citations: Sequence[int]) -> OfficialCited | Unreadable:
    """Reads GPT's judgement on a sentence and its citations."""
    record = _json(reply)
    if not isinstance(record, dict) or not record.keys() >= _CITATION_KEYS:
        return _NO_DECISION
    if record[_PREDICTION] != 1:
        return False, (False,) * len(citations)

    provenance = record["provenance"]
    # An object there is looked through by its keys, which are texts, so that nothing is
    # in it.
    if not isinstance(provenance, list | dict):
        return _NO_DECISION

    return True, tuple(number in provenance for number in citations)


def mistral_claim(reply: str) -> bool | Unreadable:
    """Reads Mistral's judgement on a claim, of its up to fifteen tries the first."""
    for line in _generated(reply):
        if "prediction: 1" in line or "prediction: 0" in line:
            return "prediction: 1" in line
    return _NO_DECISION


def mistral_cited(reply: str, citations: Sequence[int]) -> OfficialCited | Unreadable:
    """Reads Mistral's judgement on a sentence and its citations.

    Of one citation that is the provenance, whatever is said.
    """
    entailed = mistral_claim(reply)
    if entailed is False:
        return False, (False,) * len(citations)

    provenance = citations if len(citations) == 1 else _provenance(reply, citations)
    if entailed is not True or not provenance:
        return _NO_DECISION

    return True, tuple(number in provenance for number in citations)


def _json(reply: str) -> object:
    """Whatever the JSON holds; an empty list when it is none, as in a fence."""
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        return []


def _generated(reply: str) -> list[str]:
    """The lines of what a model generated; their prompts end with this mark."""
    return reply.rpartition("[/INST] ")[2].split("\n")


def _provenance(reply: str, citations: Sequence[int]) -> list[int]:
    for line in _generated(reply):
        if "provenance: " in line:
            places = [
                int(digits[:_MAX_DIGITS])
                for digits in _NUMBER.findall(line.rpartition("explanation: ")[2])
            ]
            if found := [
                citations[place] for place in places if place < len(citations)
            ]:
                return found

    return []


METHODS: Final[Mapping[str, SplitMethod]] = {
    "note": "sent",
    "section": "sent",
    "question": "meqsum",
}
"""Form of a text to the authors' way of splitting it; of others `citation`."""


@dataclass(frozen=True, kw_only=True)
class OfficialVerdict:
    """What the authors' scripts count of a unit."""

    tallies: Mapping[str, Tally]
    reasons: tuple[str, ...] = ()


def judge_official(
    units: Sequence[Unit],
    judging: Judging,
    *,
    style: str = "json_cot",
    citations: bool = True,
    given: Mapping[Side, Mapping[str, Sequence[str]]] | None = None,
    punkt: Punkt = UNTRAINED,
) -> list[OfficialVerdict]:
    """Asks about outputs as they were given, and counts as their scripts do.

    Args:
        units: what is judged.
        judging: by whom, with the authors' prompts.
        style: of `official_prompts.OFFICIAL_STYLES`.
        citations: whether sentences are looked at, and what they cite.
        given: claims that are there already, by unit's id.
        punkt: what splits notes into sentences.
    """
    lines = []
    for unit in units:
        replies = _Replies(unit, judging, style, given or {})
        lines.append(replies.line(punkt if citations else None))

    return ask_together(judging.judge, lines)


def official_tallies(section: Section) -> dict[str, Tally]:
    """Counts what a score file has."""
    return {
        metric: replace(tally, due=True)
        for metric, tally in section_tallies(section).items()
    }


_Claims = tuple[bool | None, ...] | None
_Read = Callable[[str], object]
_SIDES: Final[tuple[Side, ...]] = ("reference", "output")


class _Replies:
    """Asks about a unit with the authors' prompts."""

    def __init__(
        self,
        unit: Unit,
        judging: Judging,
        style: str,
        given: Mapping[Side, Mapping[str, Sequence[str]]],
    ) -> None:
        self._unit, self._start = unit, f"{unit.id}/official"
        self._maker = QuestionMaker(judging.prompts, style)
        self._mistral = style == "cot"
        self._given = given
        self._texts = {
            "reference": official_reference(unit.reference, unit.form),
            "output": unit.output,
        }
        self._sources = official_sources(official_input(unit.sources, unit.form))
        self._reasons: dict[str, None] = {}

    def line(self, punkt: Punkt | None) -> Line[OfficialVerdict]:
        """Asks for the claims that are not there, then about all of them and the sentences.

        About sentences it asks where Punkt is given.
        """
        reference, output = yield from side_by_side(
            [self._made(side) for side in _SIDES]
        )
        claims = [
            self._counted("recall", "output", reference),
            self._counted("precision", "reference", output),
        ]
        about: Line[Any] = (
            self._questions() if self._unit.form == "question" else side_by_side(claims)
        )
        lines: list[Line[Any]] = [
            self._sentence(number, sentence)
            for number, sentence in enumerate(self._split(punkt))
        ]
        (recall, precision), *sentences = yield from side_by_side([about, *lines])
        section = Section(
            reference_claims=recall, output_claims=precision, sentences=tuple(sentences)
        )

        return OfficialVerdict(
            tallies=official_tallies(section), reasons=tuple(self._reasons)
        )

    def _split(self, punkt: Punkt | None) -> list[OfficialSentence]:
        if punkt is None:
            return []
        method = METHODS.get(self._unit.form, "citation")
        return official_sentences(
            self._unit.output, method=method, sources=len(self._sources), punkt=punkt
        )

    def _ask(
        self,
        questions: Sequence[Question],
        read: _Read,
        take: Callable[[Verdict], object],
    ) -> Line[list[Any]]:
        """What verdicts say; None where there is none."""
        outcomes = yield [
            replace(question, read=read, once=True, pair=None) for question in questions
        ]
        self._reasons |= dict.fromkeys(
            one.reason for one in outcomes if isinstance(one, Unscored)
        )

        return [
            take(outcome) if isinstance(outcome, Verdict) else None
            for outcome in outcomes
        ]

    def _made(self, side: Side) -> Line[list[str] | None]:
        """The claims of a side; None where none could be made, which their next script fails on."""
        unit, text, given = self._unit, self._texts[side], self._given.get(side, {})
        if unit.form == "question" or unit.id in given or not text:
            return list(given.get(unit.id, ()))

        question = self._maker.make(
            f"{self._start}/{side}/claims",
            text=text,
            form=unit.form,
            section=unit.section,
        )
        (claims,) = yield from self._ask(
            [question], lambda reply: json.dumps(official_claims(reply)), _listed
        )
        return claims  # type: ignore[no-any-return]

    def _questions(self) -> Line[list[_Claims]]:
        """Asks how two questions relate, in three ways; MeQSum alone.

        A claim counts in its direction (recall, precision) if the judge says so, or
        says that both questions are the same.
        """
        output, reference = self._texts["output"], self._texts["reference"]
        # Question A loses its citations, question B does not; a blank one is asked
        # about like any other.
        pairs: tuple[tuple[str, Any, str, str], ...] = (
            ("recall", "question", output, reference),
            ("precision", "question", reference, output),
            ("same", "same", output, reference),
        )
        questions = [
            self._maker.questions(
                f"{self._start}/{name}",
                kind,
                first=remove_citations_official(one),
                second=other,
            )
            for name, kind, one, other in pairs
        ]
        read = _mistral_question if self._mistral else gpt_question
        *ways, same = yield from self._ask(questions, read, _bools)

        return [_either(said, same) for said in ways]

    def _counted(
        self, name: str, side: Side, claims: list[str] | None
    ) -> Line[_Claims]:
        """Asks which claims of one text the other one entails.

        Nothing is asked of a blank text: every claim is a miss. GPT judges all claims
        in one reply, so that a reply without JSON loses the verdict on each; Mistral
        judges claims one by one.
        """
        text, start = (
            remove_citations_official(self._texts[side]),
            f"{self._start}/{name}",
        )
        if claims is None or not claims or not text:
            return None if claims is None else (False,) * len(claims)

        about = {"text": text, "form": self._unit.form}
        if self._mistral:
            single = [
                self._maker.claim(f"{start}/{place}", claim=one, **about)
                for place, one in enumerate(claims)
            ]
            said = yield from self._ask(single, mistral_claim, verdict_bool)
            return tuple(said)

        # No more room than theirs have: what did not fit into their reply is no JSON,
        # and not counted.
        question = replace(
            self._maker.claims(start, claims=claims, **about),
            max_tokens=OFFICIAL_TOKENS["json_cot"],
        )
        (counted,) = yield from self._ask([question], gpt_claims, _bools)
        return (None,) * len(claims) if counted is None else counted

    def _sentence(
        self, number: int, sentence: OfficialSentence
    ) -> Line[SentenceVerdict]:
        """Asks whether what a sentence cites entails it, and which citations count."""
        unit, citations = self._unit, sentence.citations
        # A number in the text of a source can leave a gap in theirs, on which their
        # script fails.
        if not sentence.asked or not self._sources.keys() >= {*citations}:
            return unsupported(len(citations))

        question = self._maker.citation(
            f"{self._start}/{number}",
            sentence=sentence.target,
            cited=[(place, self._sources[place]) for place in citations],
            form=unit.form,
            section=unit.section,
        )
        read = partial(
            mistral_cited if self._mistral else gpt_cited, citations=citations
        )
        (verdict,) = yield from self._ask([question], read, _cited)
        entailed, supports = verdict or (None, (None,) * len(citations))

        return SentenceVerdict(entailed=entailed, supports=supports)


def official_reference(reference: str, form: str) -> str:
    """A reference as their data files have it.

    Those of radiology reports are on one line, in small letters.
    """
    return " ".join(reference.split()).lower() if form == "impression" else reference


def official_sources(text: str) -> dict[int, str]:
    """Takes a numbered input apart at each number in brackets.

    Of a number that appears twice, the last counts.
    """
    _, *parts = re.split(r"\[(\d+)\]", text)
    numbers = (int(digits[:_MAX_DIGITS]) for digits in parts[::2])
    return dict(
        zip(numbers, (" ".join(said.split()) for said in parts[1::2]), strict=True)
    )


def _mistral_question(reply: str) -> tuple[bool, ...] | Unreadable:
    verdict = mistral_claim(reply)
    return verdict if isinstance(verdict, Unreadable) else (verdict,)


def _either(
    said: tuple[bool, ...] | None, same: tuple[bool, ...] | None
) -> tuple[bool | None, ...]:
    if not said:
        return (None,) if said is None else ()
    return (
        (True,) if said[0] or same == (True,) else (None,) if same is None else (False,)
    )


def _bools(outcome: Verdict) -> tuple[bool, ...]:
    value = outcome.value
    if not isinstance(value, tuple) or not all(
        isinstance(entry, bool) for entry in value
    ):
        raise wrong_verdict(outcome, "is no list of true and false")
    return value


def _listed(outcome: Verdict) -> list[str]:
    value = json.loads(outcome.value) if isinstance(outcome.value, str) else None
    if not isinstance(value, list) or not all(
        isinstance(claim, str) for claim in value
    ):
        raise wrong_verdict(outcome, "is no JSON text of a list of claims")
    return value


def _cited(outcome: Verdict) -> OfficialCited:
    value = outcome.value
    if not (
        isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], tuple)
    ):
        raise wrong_verdict(
            outcome, "is not true or false with a list of true and false"
        )
    return value
