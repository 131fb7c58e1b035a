"""The numbers of DocLens for texts at hand: what `metrics/doclens` computes, without any framework.

Verdicts: `{"reference_claims": [1, 0, None], "output_claims": [1], "sentences":
[{"entailed": 1, "supports": [1, 0]}]}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import Unit, UnitVerdict, judge_units
from medical_tasks.benchmarks.doclens.measures import (
    FULL,
    METRICS,
    ClaimRecord,
    Section,
    SentenceVerdict,
    Side,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.scoring import item_score, join_claims, text_units
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.benchmarks.evaluate_metrics import (
    check_counts,
    figures_of_scores,
    item_of_row,
    judge_label,
    reduced_task,
)
from medical_tasks.judges.base import Judging
from medical_tasks.judges.session import open_offline
from medical_tasks.runs.results import flat
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.spec import Item, Row, TaskSpec

FORMS: Final = ("text", "note", "question")

Claims = Sequence[str] | Mapping[str, Sequence[str]]
"""The claims of a text; of a note by section."""

_TASKS: Final = {"text": "mimic_rrs", "note": "aci_bench", "question": "meqsum"}


def score_texts(
    outputs: Sequence[str],
    references: Sequence[Row],
    *,
    form: str = "text",
    verdicts: Sequence[GivenVerdict] | None = None,
    judge: str = "lexical",
    reference_claims: Sequence[Claims] | None = None,
    output_claims: Sequence[Claims] | None = None,
    citations: bool = True,
) -> dict[str, Any]:
    """Scores generated texts, their reasoning apart: what `metrics/doclens` takes and returns.

    `nan` stands where there is nothing to count; `coverage` has the number of `texts`,
    and of those with a verdict `missing`.

    Args:
        outputs: its predictions.
        references: of each `reference` and `sentences`, what can be cited.
        form: one of `FORMS`.
        verdicts: what is known of each output, see the module.
        judge: who decides where nobody has: `lexical`, or `nli/FOLDER`.
        reference_claims: of each reference, where they are there already.
        output_claims: of each output, likewise.
        citations: whether outputs were to cite.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}; got {form!r}")

    check_counts(outputs, references=references, verdicts=verdicts)
    task = next(task for task in TASKS if task.name == _TASKS[form])
    items = [_item(row, reference, form) for row, reference in enumerate(references)]
    claims: dict[Side, Sequence[Claims]] = {}
    if reference_claims is not None:
        claims["reference"] = reference_claims
    if output_claims is not None:
        claims["output"] = output_claims

    if verdicts is None:
        units = [
            text_units(item, without_reasoning(output).strip())
            for item, output in zip(items, outputs, strict=True)
        ]
        judged = _judged(task, units, judge, claims, citations=citations)
    elif claims:
        raise ValueError(
            "claims are judged, and verdicts are given: give one of the two"
        )
    else:
        sections = SECTIONS if form == "note" else (FULL,)
        judged = [
            given_verdict(row, given, sections) for row, given in enumerate(verdicts)
        ]

    scores = [
        item_score(item.id, of_item, cites=citations)
        for item, of_item in zip(items, judged, strict=True)
    ]
    task = reduced_task(
        task, lambda metric: metric.name in METRICS or bool(metric.part)
    )
    missing = sum(score.unscored is not None for score in scores)

    return {
        "judge": judge_label(judge, verdicts),
        **flat(figures_of_scores(task, items, scores)),
        "coverage": {"texts": len(items), "missing": missing},
    }


def _item(row: int, reference: Row, form: str) -> Item:
    text, sentences = (
        str(reference.get("reference") or ""),
        reference.get("sentences") or (),
    )
    fields = {"form": form, "reference": text, "sentences": list(sentences)}
    return item_of_row(
        row, fields | ({"sections": divide_note(text)} if form == "note" else {})
    )


def _judged(
    task: TaskSpec,
    units: Sequence[Sequence[Unit]],
    judge: str,
    claims: Mapping[Side, Sequence[Claims]],
    *,
    citations: bool,
) -> list[dict[str, UnitVerdict]]:
    """Asks a judge about the texts at hand.

    Args:
        task: its judge prompts are taken.
        units: for each item, the texts judged by themselves.
        judge: how the judge is named on the command line.
        claims: by side, for each item its claims, one list or one for each section; the
            judge makes those of a side that is missing.
        citations: whether sentences are judged too.

    Returns:
        For each item, the verdict of each section.
    """
    flattened = [unit for of_item in units for unit in of_item]
    for side, of_side in claims.items():
        check_counts(units, **{f"{side}_claims": of_side})

    joined = {
        side: _joined(of_side, flattened, side) for side, of_side in claims.items()
    }
    with open_offline(judge, unread="prompts") as session:
        verdicts = iter(
            judge_units(
                flattened,
                Judging(judge=session, prompts=load_judge_prompts(task)),
                reference_claims=joined.get("reference"),
                output_claims=joined.get("output"),
                citations=citations,
            )
        )

    return [{unit.section: next(verdicts) for unit in of_item} for of_item in units]


def _joined(
    claims: Sequence[Claims], units: Sequence[Unit], side: Side
) -> dict[str, tuple[str, ...]]:
    records = [
        _record(row, of_text if isinstance(of_text, Mapping) else {FULL: of_text})
        for row, of_text in enumerate(claims)
    ]
    return join_claims(records, units, side=side, where=f"{side}_claims")


def _record(row: int, claims: Mapping[str, Sequence[str] | None]) -> ClaimRecord:
    lists = {name: tuple(some) for name, some in claims.items() if some is not None}
    return ClaimRecord(id=str(row), claims=lists)


MISSING = "judge: no verdict given"

GivenVerdict = Row

_LISTS = ("reference_claims", "output_claims", "sentences")


def given_verdict(
    row: int, given: GivenVerdict, sections: Sequence[str]
) -> dict[str, UnitVerdict]:
    """Reads the verdicts on one output.

    A note's sections may be left out where neither text has them.
    """
    by_section = {FULL: given} if tuple(sections) == (FULL,) else given
    unknown = [name for name in by_section if name not in sections]
    if unknown:
        raise ValueError(
            f"verdict {row}: sections are {', '.join(sections)}; got {unknown[0]!r}"
        )

    return {
        section: _verdict(f"verdict {row}", by_section.get(section) or {})
        for section in sections
    }


def _verdict(where: str, given: GivenVerdict) -> UnitVerdict:
    """Reads a verdict given by hand; None stands for one that is missing.

    Example: `{"reference_claims": [True, None], "output_claims": [True]}` has one
    missing verdict, so that claim recall is bounded by 1/2 and 2/2, and the unit has a
    reason.
    """
    unknown = [name for name in given if name not in _LISTS]
    if unknown:
        raise ValueError(f"{where}: keys are {', '.join(_LISTS)}; got {unknown[0]!r}")

    try:
        section = Section(
            reference_claims=_outcomes(where, given.get("reference_claims", ())),
            output_claims=_outcomes(where, given.get("output_claims", ())),
            sentences=tuple(
                SentenceVerdict(
                    entailed=_outcome(where, one.get("entailed")),
                    supports=_outcomes(where, one.get("supports")) or (),
                )
                for one in given.get("sentences") or ()
            ),
        )
    except ValueError as error:
        raise ValueError(
            str(error) if str(error).startswith(where) else f"{where}: {error}"
        ) from None

    outcomes = [
        section.reference_claims,
        section.output_claims,
        *((sentence.entailed, *sentence.supports) for sentence in section.sentences),
    ]
    missing = any(each is None or None in each for each in outcomes)
    return UnitVerdict(section=section, reasons=(MISSING,) if missing else ())


def _outcomes(
    where: str, given: Sequence[object] | None
) -> tuple[bool | None, ...] | None:
    return None if given is None else tuple(_outcome(where, one) for one in given)


def _outcome(where: str, given: object) -> bool | None:
    if given not in (None, 0, 1):
        raise ValueError(f"{where}: a verdict is 1, 0 or None; got {given!r}")
    return None if given is None else bool(given)
