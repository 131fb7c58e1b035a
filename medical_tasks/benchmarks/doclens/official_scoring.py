"""Computes DocLens' `_official` figures, bug for bug.

This module follows the authors' scripts in their questions, readings and counts
(https://github.com/yiqingxyq/DocLens). It needs the authors' prompts.

    medical-tasks score aci_bench --prompts official --upstream DocLens --task-args official=yes

Rules of the authors' scripts:

- claims: extracted from the output with its citations, judged without them; an output
  is sent unless empty, in MeQSum always
- a note's sections: from a section's first heading to the next section's
- sources of radiology and MeQSum, references of radiology: small letters, one line
- question B (MeQSum): with its citations
- sentences: in ACI-BENCH NLTK's Punkt, in MeQSum the whole output; in radiology, other
  texts are cut after each run of `[`, `]`, `+` and digits, so `5 mg` ends one; text
  after the last is dropped, one alone counts as uncited
- an uncited sentence: gets the citations of the next one that has any
- `[1-3]`, `[4, 5]`: 1, 4
- more than ten citations: the first ten of a Python set
- an id the source lacks: the whole sentence is unsupported
- claims of a reply: after `Claim N: `, line feeds deleted
- more or fewer verdicts than claims: counted as given
- an unreadable reply: for claims the example leaves the average; for citations the
  script fails
- a share of nothing: 0

What is not as theirs, beside prompts and data:

- Notes are split by untrained Punkt, unless `punkt=FOLDER` gives NLTK's
  (`punkt_tab/english`, whose hash the recipe has).
- A model's reasoning is left out, and `__CLAIM__` in an output stays: theirs fills it
  with the claim.
- The first reply counts, at the judge's temperature: theirs sets none for GPT, and asks
  Mistral up to 15 times at 0.7. A failed call or a cut reply leaves the figure n/a.
- A turn without a speaker is sent without one; a citation lost to a number in the
  source's text is unsupported. Theirs fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from medical_tasks.benchmarks.doclens.judge_prompts import QuestionMaker
from medical_tasks.benchmarks.doclens.judging import Unit, wrong_verdict
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
from medical_tasks.judges.base import (
    Judging,
    Question,
    Unreadable,
    Unscored,
    Verdict,
    verdict_bool,
)
from medical_tasks.judges.rounds import Line, ask_together, side_by_side
from medical_tasks.scoring.sentences import UNTRAINED, Punkt, punkt_spans

SplitMethod = Literal["sent", "citation", "meqsum"]

MAX_CITATIONS: Final = 10
"""Largest number of a sentence's citations that are judged."""

_RUN = re.compile(r"[\[\d+\]]+")
_OPEN = re.compile(r"\[(\d+)")
_REMOVED = re.compile(r" ?\[\d+")
_MAX_DIGITS = 640  # Python may be set to refuse more; no source has as many sentences


@dataclass(frozen=True, kw_only=True)
class OfficialSentence:
    """A sentence in the form of the authors' score files.

    Attributes:
        target: its text without citations, with white space collapsed; "" for the only
            segment, which counts as uncited.
        citations: the denominator of citation precision, cut to ten if it is judged.
        judged: whether a judge decides; otherwise nothing supports it.
    """

    target: str
    citations: tuple[int, ...] = ()
    judged: bool = False


def official_segments(
    text: str, *, method: SplitMethod, punkt: Punkt = UNTRAINED
) -> list[str]:
    """Splits an output as the authors do, with its white space.

    `sent` (ACI-BENCH) is NLTK's `sent_tokenize`, with trained Punkt; `meqsum` takes the
    whole output. `citation` (radiology reports, other texts) cuts after each run of
    `[`, `]`, `+` and digits, so that every number in the prose ends a segment; the rest
    is dropped.
    """
    if method == "meqsum":
        return [text]
    if method == "sent":
        return [text[start:end] for start, end in punkt_spans(text, punkt)]

    ends = [match.end() for match in _RUN.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def official_ids(text: str) -> list[int]:
    """Lists the numbers after `[`, with repeats: `[1-3]` cites 1, `[4, 5]` cites 4."""
    return [int(digits[:_MAX_DIGITS]) for digits in _OPEN.findall(text)]


def remove_citations_official(text: str) -> str:
    """Removes `[1` with the space before it, then each ` |` and each `]` of the text."""
    # One pass removes what their two do: a number after a bracket is never followed by
    # the beginning of another.
    return _REMOVED.sub("", text).replace(" |", "").replace("]", "")


def official_sentences(
    text: str, *, method: SplitMethod, sources: int, punkt: Punkt = UNTRAINED
) -> list[OfficialSentence]:
    """Splits an output into sentences as the authors do.

    A sentence without citations gets those of the next one that has some. A number
    beyond the `sources` leaves the whole sentence unjudged. An output that `citation`
    splits into one segment is a sentence that nothing supports.

    Example: `He bled. He rested [1][2].` by `sent` is two sentences that both cite 1
    and 2; with two sources, numbered 0 and 1, neither is judged.
    """
    if not text:
        return []

    segments = official_segments(text, method=method, punkt=punkt)
    if method == "citation" and len(segments) == 1:
        return [OfficialSentence(target="")]

    sentences: list[OfficialSentence] = []
    later: list[int] = []  # citations of the next sentence that has any, with repeats
    for segment in reversed(segments):
        output = " ".join(segment.split())
        own = official_ids(output)
        # The order of a Python set of small numbers is mostly ascending, but not always
        # ({8, 1}); it determines the first ten.
        citations = list(set(own)) if own else later
        judged = bool(citations) and max(citations) < sources
        if judged:
            citations = citations[:MAX_CITATIONS]

        sentences.append(
            OfficialSentence(
                target=remove_citations_official(output),
                citations=tuple(citations),
                judged=judged,
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
"""Whether a sentence counts, and which of its citations do, with repeats."""


def official_claims(reply: str) -> list[str]:
    """Reads GPT's claims: line feeds are deleted, then the text is cut at `Claim 1: ` and so on, anywhere."""
    return _MARK.split(reply.replace("\n", ""))[1:]


def gpt_claims(reply: str) -> tuple[bool, ...] | Unreadable:
    """Reads from GPT's reply whether each claim counts."""
    records = _json(reply)
    if isinstance(records, dict | str) and not records:
        return ()  # for the authors an empty object or text is no claims
    if not isinstance(records, list) or not all(
        isinstance(record, dict) and _PREDICTION in record for record in records
    ):
        return _NO_DECISION
    return tuple(bool(record[_PREDICTION] == 1) for record in records)


def gpt_question(reply: str) -> tuple[bool, ...]:
    """Reads GPT's verdict on a pair of MeQSum's questions; without one, the authors leave the pair out."""
    record = _json(reply)
    return (
        (record["prediction"] == 1,)
        if isinstance(record, dict) and "prediction" in record
        else ()
    )


def gpt_cited(reply: str, citations: Sequence[int]) -> OfficialCited | Unreadable:
    """Reads GPT's verdict on a sentence and its citations."""
    record = _json(reply)
    if not isinstance(record, dict) or not record.keys() >= _CITATION_KEYS:
        return _NO_DECISION
    if record[_PREDICTION] != 1:
        return False, (False,) * len(citations)

    provenance = record["provenance"]
    # A number is never among an object's keys, which are texts.
    if not isinstance(provenance, list | dict):
        return _NO_DECISION

    return True, tuple(number in provenance for number in citations)


def mistral_claim(reply: str) -> bool | Unreadable:
    """Reads Mistral's verdict on a claim, from the first of up to fifteen tries."""
    for line in _generated(reply):
        if "prediction: 1" in line or "prediction: 0" in line:
            return "prediction: 1" in line
    return _NO_DECISION


def mistral_cited(reply: str, citations: Sequence[int]) -> OfficialCited | Unreadable:
    """Reads Mistral's verdict on a sentence and its citations; a single citation is always the provenance."""
    entailed = mistral_claim(reply)
    if entailed is False:
        return False, (False,) * len(citations)

    provenance = citations if len(citations) == 1 else _provenance(reply, citations)
    if entailed is not True or not provenance:
        return _NO_DECISION

    return True, tuple(number in provenance for number in citations)


def _json(reply: str) -> object:
    """The value of a JSON text; an empty list for other text, such as a fenced block."""
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        return []


def _generated(reply: str) -> list[str]:
    """The generated lines; the authors' prompts end with this mark."""
    return reply.rpartition("[/INST] ")[2].split("\n")


def _provenance(reply: str, citations: Sequence[int]) -> list[int]:
    """The citations of the first line with a provenance that has any."""
    for line in _generated(reply):
        if "provenance: " in line:
            indexes = [
                int(digits[:_MAX_DIGITS])
                for digits in _NUMBER.findall(line.rpartition("explanation: ")[2])
            ]
            if listed := [
                citations[index] for index in indexes if index < len(citations)
            ]:
                return listed

    return []


METHODS: Final[Mapping[str, SplitMethod]] = {
    "note": "sent",
    "section": "sent",
    "question": "meqsum",
}
"""The authors' method of splitting a text, by its form; `citation` for others."""


@dataclass(frozen=True, kw_only=True)
class OfficialVerdict:
    """The counts of a unit by the authors' scripts."""

    tallies: Mapping[str, Tally]
    reasons: tuple[str, ...] = ()


def judge_official(
    units: Sequence[Unit],
    judging: Judging,
    *,
    style: str = "json_cot",
    citations: bool = True,
    claims: Mapping[Side, Mapping[str, Sequence[str]]] | None = None,
    punkt: Punkt = UNTRAINED,
) -> list[OfficialVerdict]:
    """Asks about unchanged outputs, and counts as the authors' scripts do.

    Args:
        units: the units to judge.
        judging: the judge, with the authors' prompts.
        style: one of `official_prompts.OFFICIAL_STYLES`.
        citations: whether to judge sentences with their citations.
        claims: existing claims, by side and unit id.
        punkt: the splitter of notes into sentences.
    """
    lines = []
    for unit in units:
        judged = _JudgedUnit(unit, judging, style, claims or {})
        lines.append(judged.line(punkt if citations else None))

    return ask_together(judging.judge, lines)


def official_tallies(section: Section) -> dict[str, Tally]:
    """Counts a section as in the authors' score files, where an empty share is 0."""
    return {
        metric: replace(tally, due=True)
        for metric, tally in section_tallies(section).items()
    }


_Claims = tuple[bool | None, ...] | None
_Read = Callable[[str], object]
_SIDES: Final[tuple[Side, ...]] = ("reference", "output")


class _JudgedUnit:
    """Asks about a unit with the authors' prompts.

    A unit is what the authors' scripts score at once: a text, or a section of a note. Its
    questions come in two rounds: first the claims of either side that no file has, then all
    claims in both directions, together with the sentences and their citations. Every question
    is asked once, without re-asks.

    Attributes:
        _mistral: whether the prompts are those for Mistral, which get other questions and
            other readers than those for GPT.
        _existing: claims from files, by side and unit id.
        _reasons: why verdicts are missing, each once, in order.
    """

    def __init__(
        self,
        unit: Unit,
        judging: Judging,
        style: str,
        claims: Mapping[Side, Mapping[str, Sequence[str]]],
    ) -> None:
        self._unit, self._start = unit, f"{unit.id}/official"
        self._maker = QuestionMaker(judging.prompts, style)
        self._mistral = style == "cot"
        self._existing = claims
        self._texts = {
            "reference": official_reference(unit.reference, unit.form),
            "output": unit.output,
        }
        self._sources = official_sources(official_input(unit.sources, unit.form))
        self._reasons: dict[str, None] = {}

    def line(self, punkt: Punkt | None) -> Line[OfficialVerdict]:
        """Asks for missing claims, then about all claims, and about the sentences if there is a Punkt."""
        reference, output = yield from side_by_side(
            [self._claims(side) for side in _SIDES]
        )
        claim_lines = [
            self._entailed_claims("recall", "output", reference),
            self._entailed_claims("precision", "reference", output),
        ]
        claims_line: Line[Any] = (
            self._questions()
            if self._unit.form == "question"
            else side_by_side(claim_lines)
        )
        lines: list[Line[Any]] = [
            self._sentence(number, sentence)
            for number, sentence in enumerate(self._split(punkt))
        ]
        (recall, precision), *sentences = yield from side_by_side([claims_line, *lines])
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
        """Asks once, and returns the values of the verdicts; None for a missing one."""
        outcomes = yield [
            replace(question, read=read, once=True, pair=None) for question in questions
        ]
        self._reasons |= dict.fromkeys(
            outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
        )

        return [
            take(outcome) if isinstance(outcome, Verdict) else None
            for outcome in outcomes
        ]

    def _claims(self, side: Side) -> Line[list[str] | None]:
        """The claims of a side; None if none could be made, on which the authors' next script fails."""
        unit, text = self._unit, self._texts[side]
        existing = self._existing.get(side, {})
        if unit.form == "question" or unit.id in existing or not text:
            return list(existing.get(unit.id, ()))

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
        """Asks how MeQSum's two questions relate, in three ways.

        A claim counts in its direction (recall, precision) if the judge says so, or
        says that both questions are the same.
        """
        output, reference = self._texts["output"], self._texts["reference"]
        # Question A loses its citations, question B does not; blank ones are no
        # exception.
        pairs: tuple[tuple[str, Any, str, str], ...] = (
            ("recall", "question", output, reference),
            ("precision", "question", reference, output),
            ("same", "same", output, reference),
        )
        questions = [
            self._maker.questions(
                f"{self._start}/{name}",
                kind,
                first=remove_citations_official(question_a),
                second=question_b,
            )
            for name, kind, question_a, question_b in pairs
        ]
        read = _mistral_question if self._mistral else gpt_question
        recall, precision, same = yield from self._ask(questions, read, _bools)

        return [_either(recall, same), _either(precision, same)]

    def _entailed_claims(
        self, name: str, side: Side, claims: list[str] | None
    ) -> Line[_Claims]:
        """Asks which claims the text of a side entails.

        There is no question about a blank text: every claim is a miss. GPT judges all
        claims in one reply, so that a reply without JSON loses every verdict; Mistral
        judges claims one by one.
        """
        text = remove_citations_official(self._texts[side])
        start = f"{self._start}/{name}"
        if claims is None or not claims or not text:
            return None if claims is None else (False,) * len(claims)

        about = {"text": text, "form": self._unit.form}
        if self._mistral:
            single = [
                self._maker.claim(f"{start}/{index}", claim=claim, **about)
                for index, claim in enumerate(claims)
            ]
            verdicts = yield from self._ask(single, mistral_claim, verdict_bool)
            return tuple(verdicts)

        # The authors' limit of tokens: a longer reply is cut, so that it is no JSON and
        # does not count.
        question = replace(
            self._maker.claims(start, claims=claims, **about),
            max_tokens=OFFICIAL_TOKENS["json_cot"],
        )
        (counted,) = yield from self._ask([question], gpt_claims, _bools)
        return (None,) * len(claims) if counted is None else counted

    def _sentence(
        self, number: int, sentence: OfficialSentence
    ) -> Line[SentenceVerdict]:
        """Asks whether a sentence's citations entail it, and which of them count."""
        unit, citations = self._unit, sentence.citations
        # A number in a source's text can leave a gap in the authors' sources, on which
        # their script fails.
        if not sentence.judged or not self._sources.keys() >= {*citations}:
            return unsupported(len(citations))

        question = self._maker.citation(
            f"{self._start}/{number}",
            sentence=sentence.target,
            cited=[(cited, self._sources[cited]) for cited in citations],
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
    """A reference as in the authors' data files: for radiology reports on one line, in lower case."""
    return " ".join(reference.split()).lower() if form == "impression" else reference


def official_sources(text: str) -> dict[int, str]:
    """Splits a numbered input at each number in brackets; of a repeated number the last text counts.

    Example: a number in brackets within a text cuts it short.

        >>> official_sources("[0] Chest pain. [1] See [7] above. [1] No fever.")
        {0: 'Chest pain.', 1: 'No fever.', 7: 'above.'}
    """
    _, *pieces = re.split(r"\[(\d+)\]", text)
    numbers = (int(digits[:_MAX_DIGITS]) for digits in pieces[::2])
    texts = (" ".join(piece.split()) for piece in pieces[1::2])
    return dict(zip(numbers, texts, strict=True))


def _mistral_question(reply: str) -> tuple[bool, ...] | Unreadable:
    verdict = mistral_claim(reply)
    return verdict if isinstance(verdict, Unreadable) else (verdict,)


def _either(
    entailed: tuple[bool, ...] | None, same: tuple[bool, ...] | None
) -> tuple[bool | None, ...]:
    """Whether a question is entailed, or the same; empty if the authors leave the pair out.

    An empty verdict on entailment is a reply from which the authors' script takes the pair
    out of the score; None is a reply that is missing.

    Example:
        >>> [_either(entailed, (True,)) for entailed in ((True,), (False,), (), None)]
        [(True,), (True,), (), (None,)]
        >>> _either((False,), None)  # the missing verdict could make it a hit
        (None,)
    """
    if entailed is None:
        return (None,)
    if not entailed:
        return ()
    if entailed[0] or same == (True,):
        return (True,)

    return (None,) if same is None else (False,)


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
