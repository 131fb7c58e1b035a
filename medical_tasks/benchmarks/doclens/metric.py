"""Computes DocLens' metrics for a caller's texts: the core of `metrics/doclens`, without any framework.

The form of verdicts: `{"reference_claims": [1, 0, None], "output_claims": [1],
"sentences": [{"entailed": 1, "supports": [1, 0]}]}`.
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
"""The claims of a text, by section for a note."""

_TASKS: Final = {"text": "mimic_rrs", "note": "aci_bench", "question": "meqsum"}


def score_texts(
    outputs: Sequence[str],
    references: Sequence[Row],
    *,
    form: str = "text",
    verdicts: Sequence[Row] | None = None,
    judge: str = "lexical",
    reference_claims: Sequence[Claims] | None = None,
    output_claims: Sequence[Claims] | None = None,
    citations: bool = True,
) -> dict[str, Any]:
    """Scores generated texts, without their reasoning, with the arguments and the result of `metrics/doclens`.

    A metric without anything to count is `nan`. `coverage` has the number of `texts`,
    and of those with a `missing` verdict.

    Args:
        outputs: the texts, the metric's predictions.
        references: for each, `reference` and `sentences`, which can be cited.
        form: one of `FORMS`.
        verdicts: the verdicts on each output, in the form above.
        judge: the judge used without verdicts: `lexical`, or `nli/FOLDER`.
        reference_claims: existing claims of each reference.
        output_claims: existing claims of each output.
        citations: whether outputs should cite.
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
            read_verdict(row, verdict, sections) for row, verdict in enumerate(verdicts)
        ]

    scores = [
        item_score(item.id, by_section, cites=citations)
        for item, by_section in zip(items, judged, strict=True)
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
    text = str(reference.get("reference") or "")
    sentences = list(reference.get("sentences") or ())
    fields: dict[str, object] = {
        "form": form,
        "reference": text,
        "sentences": sentences,
    }
    if form == "note":
        fields["sections"] = divide_note(text)

    return item_of_row(row, fields)


def _judged(
    task: TaskSpec,
    units: Sequence[Sequence[Unit]],
    judge: str,
    claims: Mapping[Side, Sequence[Claims]],
    *,
    citations: bool,
) -> list[dict[str, UnitVerdict]]:
    """Has a judge decide about a caller's texts.

    Args:
        task: the task with the judge prompts.
        units: for each item, the texts that are judged separately.
        judge: the judge's name, as on the command line.
        claims: by side, the claims of each item, in one list or one per section; the
            judge makes those of a missing side.
        citations: whether to judge sentences too.

    Returns:
        For each item, the verdict on each section.
    """
    flattened = [unit for own_units in units for unit in own_units]
    for side, by_item in claims.items():
        check_counts(units, **{f"{side}_claims": by_item})

    joined = {
        side: _joined(by_item, flattened, side) for side, by_item in claims.items()
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

    return [{unit.section: next(verdicts) for unit in own_units} for own_units in units]


def _joined(
    claims: Sequence[Claims], units: Sequence[Unit], side: Side
) -> dict[str, tuple[str, ...]]:
    records = [
        _record(row, own if isinstance(own, Mapping) else {FULL: own})
        for row, own in enumerate(claims)
    ]
    return join_claims(records, units, side=side, where=f"{side}_claims")


def _record(row: int, claims: Mapping[str, Sequence[str] | None]) -> ClaimRecord:
    lists = {name: tuple(own) for name, own in claims.items() if own is not None}
    return ClaimRecord(id=str(row), claims=lists)


MISSING = "judge: no verdict given"

_LISTS = ("reference_claims", "output_claims", "sentences")


def read_verdict(
    row: int, verdict: Row, sections: Sequence[str]
) -> dict[str, UnitVerdict]:
    """Reads the caller's verdicts on one output, by section.

    A note's verdicts may lack sections that neither text has.
    """
    by_section = {FULL: verdict} if tuple(sections) == (FULL,) else verdict
    unknown = [name for name in by_section if name not in sections]
    if unknown:
        raise ValueError(
            f"verdict {row}: sections are {', '.join(sections)}; got {unknown[0]!r}"
        )

    return {
        section: _verdict(f"verdict {row}", by_section.get(section) or {})
        for section in sections
    }


def _verdict(where: str, lists: Row) -> UnitVerdict:
    """Reads the caller's verdicts on a text; None stands for a missing one.

    Example: `{"reference_claims": [True, None], "output_claims": [True]}` has one
    missing verdict, so that claim recall lies between 1/2 and 2/2, and the unit has a
    reason.
    """
    unknown = [name for name in lists if name not in _LISTS]
    if unknown:
        raise ValueError(f"{where}: keys are {', '.join(_LISTS)}; got {unknown[0]!r}")

    try:
        section = Section(
            reference_claims=_outcomes(where, lists.get("reference_claims", ())),
            output_claims=_outcomes(where, lists.get("output_claims", ())),
            sentences=tuple(
                SentenceVerdict(
                    entailed=_outcome(where, sentence.get("entailed")),
                    supports=_outcomes(where, sentence.get("supports")) or (),
                )
                for sentence in lists.get("sentences") or ()
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
    missing = any(values is None or None in values for values in outcomes)
    return UnitVerdict(section=section, reasons=(MISSING,) if missing else ())


def _outcomes(
    where: str, values: Sequence[object] | None
) -> tuple[bool | None, ...] | None:
    return None if values is None else tuple(_outcome(where, value) for value in values)


def _outcome(where: str, value: object) -> bool | None:
    if value not in (None, 0, 1):
        raise ValueError(f"{where}: a verdict is 1, 0 or None; got {value!r}")
    return None if value is None else bool(value)
