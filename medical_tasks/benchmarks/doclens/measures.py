"""Claims, verdicts, and the four metrics of DocLens (paper, section 3).

What is not known stays None, never False.

A file of claims is in the authors' form: records of `example_id`, texts,
`subclaims_reference` or `subclaims_reference_SECTION`.
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
    """Verdicts on a number of things, as far as they are known.

    Attributes:
        due: whether nothing at all is a miss (0), as of an output that had something to
            say and has no sentence.
    """

    verdicts: tuple[Verdicts, ...] = ()
    due: bool = False

    def __add__(self, other: Tally) -> Tally:
        return Tally(verdicts=self.verdicts + other.verdicts, due=self.due or other.due)

    @property
    def counts(self) -> Counts:
        """The share of hits that they make."""
        return Counts(how="share", verdicts=self.verdicts)

    @property
    def limits(self) -> Limits:
        """Smallest and largest share; both nan without anything to share."""
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
    # Nobody is asked what a blank text entails, nor about a sentence that cites
    # nothing.
    sides = section.reference_claims, section.output_claims
    cited = [
        one.entailed
        for one in section.sentences
        if one.entailed is not False or one.supports
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
            verdicts=(_of_claims(name, sides[0], blank=sides[1] == ()),)
        ),
        "claim_precision": Tally(
            verdicts=(_of_claims(name, sides[1], blank=sides[0] == ()),)
        ),
        "citation_recall": Tally(
            verdicts=(count_verdicts(cited, name, unasked=uncited),),
            due=section.reference_claims is None or bool(section.reference_claims),
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
    """Adds tallies up, metric by metric."""
    summands = list(tallies)
    return {
        name: sum((summand[name] for summand in summands), Tally()) for name in METRICS
    }


def _of_claims(
    kind: str, claims: Sequence[bool | None] | None, *, blank: bool
) -> Verdicts:
    """Counts the verdicts on one list of claims.

    No list at all (making one failed) may mean up to `MAX_CLAIMS` hits. Where the other
    text is blank, nobody is asked: each claim is a miss that costs no question.
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
        entailed: whether all that it cites entails it together.
        supports: of each citation, whether the sentence needs it or it entails it
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
    """A section of an output beside the same section of the reference.

    A text without sections is one section.

    Attributes:
        reference_claims: for each claim whether the output entails it; None when the
            reference has no list because making one failed.
    """

    reference_claims: tuple[bool | None, ...] | None
    output_claims: tuple[bool | None, ...] | None
    sentences: tuple[SentenceVerdict, ...] = ()


def unsupported(citations: int = 0) -> SentenceVerdict:
    """Makes the verdict on a sentence that cites nothing, or nothing that the source has."""
    return SentenceVerdict(entailed=False, supports=(False,) * citations)


def meqsum_section(
    *, recall: bool | None, precision: bool | None, same: bool | None = False
) -> Section:
    """Makes the section of a question's summary.

    Each question is one claim, judged both ways, or both are the same.
    """
    first, second = (
        True if one or same else None if None in (one, same) else False
        for one in (recall, precision)
    )
    return Section(reference_claims=(first,), output_claims=(second,))


MIN_CLAIMS: Final = 1
MAX_CLAIMS: Final = 30
"""How many claims a text may be taken apart into; a blank one has none."""

FULL: Final = "full"
"""Name of the only section of a text without sections."""

Side = Literal["reference", "output"]


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """The claims of one example.

    Attributes:
        claims: by section, `full` where there is but one; a section without claims is
            there.
        texts: what they were made from, as far as the file has it.
        source: the numbered input, "" when the file has none.
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

    for place, row in enumerate(json_objects(path, content, form=_FORM), start=1):
        record = _record(f"{path}, record {place}", row, side)
        if record.id in records:
            raise UsageError(
                f"{path}: example_id {record.id} appears twice. Leave one of the two out."
            )

        records[record.id] = record

    return tuple(records.values())


def claim_rows(
    records: Iterable[ClaimRecord], *, side: Side = "reference"
) -> list[dict[str, object]]:
    """Puts claims into the form of the file, for `json.dump`.

    `read_claim_file` gives the same records back.
    """
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
    ["He should rest."]}` has one section, `plan`, with one claim and the text it was
    made from; the key `subclaims_reference` alone is the section `full`.
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


def _claims(where: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise UsageError(f"{where}: a list of claims is needed; got {shown(given)}.")
    for place, claim in enumerate(given):
        if not isinstance(claim, str) or not claim.strip():
            raise UsageError(
                f"{where}: claim {place + 1} must be a text that is not blank; got {shown(claim)}."
            )
    return tuple(given)
