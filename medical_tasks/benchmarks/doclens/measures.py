"""DocLens' claims and verdicts, and its four metrics (paper, section 3).

A missing verdict is None, never False. A file of claims has the authors' form: records
with `example_id`, texts, and `subclaims_reference` or `subclaims_reference_SECTION`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from medical_tasks.benchmarks.doclens.pieces import EMPTY
from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_bytes, readable
from medical_tasks.io.json_records import json_objects, shown, text_id
from medical_tasks.judges.judged import count_verdicts
from medical_tasks.spec import Counts, Verdicts

Limits = tuple[float, float]

METRICS: Final = (
    "claim_recall",
    "claim_precision",
    "citation_recall",
    "citation_precision",
)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Verdicts that make up a share.

    Attributes:
        verdicts: the verdicts, by kind.
        due: whether an empty share is 0 instead of undefined, as for an output that
            should have sentences and has none.
    """

    verdicts: tuple[Verdicts, ...] = ()
    due: bool = False

    def __add__(self, other: Tally) -> Tally:
        return Tally(verdicts=self.verdicts + other.verdicts, due=self.due or other.due)

    @property
    def counts(self) -> Counts:
        """The verdicts as counts of a share."""
        return Counts(how="share", verdicts=self.verdicts)

    @property
    def limits(self) -> Limits:
        """The smallest and largest share; both nan if there are no verdicts."""
        counts = self.counts
        return counts.limits if counts.of or not self.due else (0.0, 0.0)


def section_tallies(section: Section, name: str = "") -> dict[str, Tally]:
    """Counts the verdicts on a section, for the four metrics (paper, section 3).

    Claim recall is the share of the reference's claims that the output entails, claim
    precision the share of the output's that the reference entails; citation recall is
    the share of the output's sentences that what they cite entails, citation precision
    the share of citations that are needed.

    Example: with reference claims True and None, output claims True and one sentence
    that its two citations entail, of which one is needed, recall lies between 1/2 and
    2/2, precision is 1/1, citation recall 1/1 and citation precision 1/2.
    """
    # The judge is not asked what a blank text entails, nor about a sentence without
    # citations.
    reference, output = section.reference_claims, section.output_claims
    cited = [
        sentence.entailed
        for sentence in section.sentences
        if sentence.entailed is not False or sentence.supports
    ]
    uncited = len(section.sentences) - len(cited)
    citations = {
        kind: [
            support
            for sentence in section.sentences
            if sentence.entailed is entailed
            for support in sentence.supports
        ]
        for kind, entailed in (("", None), ("entailed", True), ("unsupported", False))
    }

    return {
        "claim_recall": Tally(
            verdicts=(_of_claims(name, reference, blank=output == ()),)
        ),
        "claim_precision": Tally(
            verdicts=(_of_claims(name, output, blank=reference == ()),)
        ),
        "citation_recall": Tally(
            verdicts=(count_verdicts(cited, name, unasked=uncited),),
            due=reference is None or bool(reference),
        ),
        "citation_precision": Tally(
            verdicts=tuple(
                count_verdicts(outcomes, "/".join(filter(None, (name, kind))))
                for kind, outcomes in citations.items()
                if outcomes
            )
        ),
    }


def total(tallies: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """Adds up tallies, metric by metric."""
    summands = list(tallies)
    return {
        name: sum((summand[name] for summand in summands), Tally()) for name in METRICS
    }


def _of_claims(
    kind: str, claims: Sequence[bool | None] | None, *, blank: bool
) -> Verdicts:
    """Counts the verdicts on one list of claims.

    A missing list, which could not be made, may have up to `MAX_CLAIMS` hits. If the
    other text is blank, each claim is a miss without a question.
    """
    if claims is None:
        return Verdicts(kind=kind, more=MAX_CLAIMS)
    if blank and not any(claim is not False for claim in claims):
        return Verdicts(kind=kind, unasked=len(claims))
    return count_verdicts(claims, kind)


@dataclass(frozen=True, kw_only=True)
class SentenceVerdict:
    """A sentence of the output.

    Attributes:
        entailed: whether all of its citations together entail it.
        supports: for each citation, whether the sentence needs it or is entailed by it
            alone.
    """

    entailed: bool | None
    supports: tuple[bool | None, ...] = ()

    def __post_init__(self) -> None:
        if self.entailed is False and any(
            support is not False for support in self.supports
        ):
            raise ValueError(
                "no citation supports a sentence that its citations do not entail"
            )


@dataclass(frozen=True, kw_only=True)
class Section:
    """The verdicts on a section of an output and the same section of the reference.

    A text without sections is one section.

    Attributes:
        reference_claims: whether the output entails each claim; None if the list of
            claims could not be made.
        output_claims: whether the reference entails each claim; None likewise.
        sentences: the verdicts on the output's sentences.
    """

    reference_claims: tuple[bool | None, ...] | None
    output_claims: tuple[bool | None, ...] | None
    sentences: tuple[SentenceVerdict, ...] = ()


def unsupported(citations: int = 0) -> SentenceVerdict:
    """The verdict on a sentence without citations, or without citations that the source has."""
    return SentenceVerdict(entailed=False, supports=(False,) * citations)


def meqsum_section(
    *, recall: bool | None, precision: bool | None, same: bool | None = False
) -> Section:
    """The section of a question's summary: each question is one claim, entailed either way if both are the same.

    Example: a missing verdict on `same` leaves open whether the miss is one.

        >>> section = meqsum_section(recall=False, precision=True, same=None)
        >>> section.reference_claims, section.output_claims
        ((None,), (True,))
    """
    reference, output = (
        True if entailed or same else None if None in (entailed, same) else False
        for entailed in (recall, precision)
    )
    return Section(reference_claims=(reference,), output_claims=(output,))


MIN_CLAIMS: Final = 1
MAX_CLAIMS: Final = 30
"""Smallest and largest number of claims of a text; a blank one has none."""

FULL: Final = "full"
"""Name of the only section of a text without sections."""

Side = Literal["reference", "output"]


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """The claims of one example.

    Attributes:
        claims: the claims by section, `full` if there is only one; sections without
            claims are included.
        texts: the texts from which they were made, as far as the file has them.
        source: the numbered input, "" if the file has none.
    """

    id: str
    claims: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


_FORM: Final = '{"example_id": "1", "subclaims_reference": ["...", ...]}. See docs/doclens_scoring.md'


def read_claim_file(path: Path, *, side: Side = "reference") -> tuple[ClaimRecord, ...]:
    """Reads a file of claims."""
    records: dict[str, ClaimRecord] = {}
    with readable(path, again="Give the path of a JSON file of claims."):
        content = read_bytes(path)

    for number, row in enumerate(json_objects(path, content, form=_FORM), start=1):
        record = _record(f"{path}, record {number}", row, side)
        if record.id in records:
            raise UsageError(
                f"{path}: example_id {record.id} appears twice. Leave one of the two out."
            )

        records[record.id] = record

    return tuple(records.values())


def claim_rows(
    records: Iterable[ClaimRecord], *, side: Side = "reference"
) -> list[dict[str, object]]:
    """Converts claims to the form of the file, for `json.dump`; `read_claim_file` reads the same records."""
    return [
        {"example_id": record.id}
        | ({"input": record.source} if record.source else {})
        | {_key(side, section): text for section, text in record.texts.items()}
        | {
            f"subclaims_{_key(side, section)}": list(claims)
            for section, claims in record.claims.items()
        }
        for record in records
    ]


def _key(side: Side, section: str) -> str:
    return side if section == FULL else f"{side}_{section}"


def _record(where: str, row: Mapping[str, object], side: Side) -> ClaimRecord:
    """Reads one record of a claim file.

    Example: `{"example_id": "7", "reference_plan": "Rest.", "subclaims_reference_plan":
    ["He should rest."]}` has one section, `plan`, with one claim and its text; the key
    `subclaims_reference` stands for the section `full`.
    """
    name = text_id(where, "example_id", row.get("example_id"))
    start = f"subclaims_{side}"
    keys = {
        key: key.removeprefix(start)[1:] or FULL
        for key in row
        if key == start or key.startswith(f"{start}_")
    }
    if not keys:
        raise UsageError(
            f"{where}: no {start} or {start}_SECTION. Make the claims first, or give the file "
            "that has them."
        )

    claims = {
        section: _claims(f"{where}, {key}", row[key]) for key, section in keys.items()
    }
    texts = {
        section: _text(where, section, row[key])
        for section in claims
        if (key := _key(side, section)) in row
    }
    source = _text(where, "input", row.get("input", ""))

    return ClaimRecord(
        id=name,
        claims=claims,
        texts={
            section: "" if text.strip() == EMPTY else text
            for section, text in texts.items()
        },
        source=source,
    )


def _text(where: str, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(
            f"{where}: the text of {name} must be a text; got {shown(value)}."
        )
    return value


def _claims(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{where}: a list of claims is needed; got {shown(value)}.")
    for number, claim in enumerate(value, start=1):
        if not isinstance(claim, str) or not claim.strip():
            raise UsageError(
                f"{where}: claim {number} must be a text that is not blank; got {shown(claim)}."
            )
    return tuple(value)
