"""The numbers of DocLens for texts at hand: what `metrics/doclens` computes, without any framework.

Verdicts: `{"reference_claims": [1, 0, None], "output_claims": [1], "sentences": [{"entailed": 1, "supports": [1, 0]}]}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from medical_tasks.judges.base import Judging
from medical_tasks.judges.lexical import GIVEN, LEXICAL
from medical_tasks.judges.session import open_offline
from medical_tasks.runs.results import flat
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Item, TaskSpec

FORMS: Final = ("text", "note", "question")

Claims = Sequence[str] | Mapping[str, Sequence[str]]
"""The claims of a text; of a note by section."""

_TASKS: Final = {"text": "mimic_rrs", "note": "aci_bench", "question": "meqsum"}


def score_texts(
    outputs: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    form: str = "text",
    verdicts: Sequence[GivenVerdict] | None = None,
    judge: str = "lexical",
    reference_claims: Sequence[Claims] | None = None,
    output_claims: Sequence[Claims] | None = None,
    citations: bool = True,
) -> dict[str, Any]:
    """Scores generated texts, their reasoning apart: what `metrics/doclens` takes and returns, its predictions as `outputs`.

    `nan` stands where there is nothing to count; `coverage` has the number of `texts`, and of those with a verdict `missing`.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}; got {form!r}")
    for name, given in (("references", references), ("verdicts", verdicts)):
        if given is not None and len(given) != len(outputs):
            raise ValueError(
                f"{name} must be as many as predictions, {len(outputs)}; got {len(given)}"
            )
    task = next(task for task in TASKS if task.name == _TASKS[form])
    metrics = tuple(metric for metric in task.metrics if metric.name in METRICS or metric.part)
    task = replace(task, metrics=metrics, groups=(), cluster=None)  # texts at hand have no groups
    items = [_item(row, reference, form) for row, reference in enumerate(references)]
    parts = [
        text_units(item, spoken(output).strip())
        for item, output in zip(items, outputs, strict=True)
    ]
    claims: dict[Side, Sequence[Claims] | None] = {
        "reference": reference_claims,
        "output": output_claims,
    }
    if verdicts is None:
        known = _judged(task, parts, judge, claims, citations=citations)
    else:
        if reference_claims is not None or output_claims is not None:
            raise ValueError("claims are judged, and verdicts are given: give one of the two")
        known = [
            given_verdict(row, given, SECTIONS if form == "note" else (FULL,))
            for row, given in enumerate(verdicts)
        ]
    scores = [
        item_score(item.id, found, cites=citations)
        for item, found in zip(items, known, strict=True)
    ]
    summary = summarise(task, items, {score.id: score for score in scores}, {}, recipe={})
    entries = dict(summary["metrics"])
    for section, figures in summary["breakdown"].get("section", {}).items():
        entries |= {f"{name}_{section}": figure for name, figure in figures.items()}
    named = GIVEN if verdicts is not None else LEXICAL if judge == "lexical" else judge
    result: dict[str, Any] = {"judge": named, **flat(entries)}
    result["coverage"] = {
        "texts": len(items),
        "missing": sum(score.unscored is not None for score in scores),
    }
    return result


def _item(row: int, reference: Mapping[str, Any], form: str) -> Item:
    text = str(reference.get("reference") or "")
    fields: dict[str, Any] = {
        "form": form,
        "reference": text,
        "sentences": list(reference.get("sentences") or ()),
    }
    if form == "note":
        fields["sections"] = divide_note(text)
    return Item(id=str(row), fields=fields, groups={}, cluster=str(row))


def _judged(
    task: TaskSpec,
    parts: Sequence[Sequence[Unit]],
    name: str,
    claims: Mapping[Side, Sequence[Claims] | None],
    *,
    citations: bool,
) -> list[dict[str, UnitVerdict]]:
    units = [unit for some in parts for unit in some]
    joined = {
        side: _joined(given, units, side, len(parts))
        for side, given in claims.items()
        if given is not None
    }
    with open_offline(name, unread="prompts") as session:
        verdicts = judge_units(
            units,
            Judging(judge=session, prompts=load_judge_prompts(task)),
            reference_claims=joined.get("reference"),
            output_claims=joined.get("output"),
            citations=citations,
        )
    found = iter(verdicts)
    return [{unit.section: next(found) for unit in some} for some in parts]


def _joined(
    given: Sequence[Claims], units: Sequence[Unit], side: Side, rows: int
) -> dict[str, tuple[str, ...]]:
    if len(given) != rows:
        raise ValueError(f"{side}_claims must be as many as predictions, {rows}; got {len(given)}")
    by_section = [one if isinstance(one, Mapping) else {FULL: one} for one in given]
    records = [
        ClaimRecord(
            id=str(row),
            claims={name: tuple(some) for name, some in one.items() if some is not None},
        )
        for row, one in enumerate(by_section)
    ]
    return join_claims(records, units, side=side, where=f"{side}_claims")


MISSING = "judge: no verdict given"

GivenVerdict = Mapping[str, Any]

_LISTS = ("reference_claims", "output_claims", "sentences")


def given_verdict(row: int, given: GivenVerdict, sections: Sequence[str]) -> dict[str, UnitVerdict]:
    """Reads the verdicts on one output; a note's sections may be left out where neither text has them."""
    by_section = {FULL: given} if tuple(sections) == (FULL,) else given
    unknown = [name for name in by_section if name not in sections]
    if unknown:
        raise ValueError(f"verdict {row}: sections are {', '.join(sections)}; got {unknown[0]!r}")
    return {
        section: _verdict(f"verdict {row}", by_section.get(section) or {}) for section in sections
    }


def _verdict(where: str, given: GivenVerdict) -> UnitVerdict:
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
    known = [
        section.reference_claims,
        section.output_claims,
        *((one.entailed, *one.supports) for one in section.sentences),
    ]
    missing = any(each is None or None in each for each in known)
    return UnitVerdict(section=section, reasons=(MISSING,) if missing else ())


def _outcomes(where: str, given: Sequence[Any] | None) -> tuple[bool | None, ...] | None:
    return None if given is None else tuple(_outcome(where, one) for one in given)


def _outcome(where: str, given: Any) -> bool | None:
    if given not in (None, 0, 1):
        raise ValueError(f"{where}: a verdict is 1, 0 or None; got {given!r}")
    return None if given is None else bool(given)
