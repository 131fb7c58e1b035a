"""The numbers of ArchEHR-QA for answers at hand: what `metrics/archehr_qa` computes, without any framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.declarations import OFFICIAL
from medical_tasks.benchmarks.archehr_qa.release import LABELS
from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.runs.results import flat
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item

_TEXTS: Final = ("patient_narrative", "clinician_question", "clinician_answer")
_LISTS: Final = ("sentence_ids", "sentences", "relevance")

METRIC_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys((*_TEXTS, *_LISTS), ())
"""What `metrics/archehr_qa` reads of a row: the built columns, since the release has no rows."""


def score_answers(
    answers: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    official: bool = False,
    bertscore: str | None = None,
    umls: str | None = None,
    alignscore: str | None = None,
) -> dict[str, Any]:
    """Scores answers to patients' questions: what `metrics/archehr_qa` takes and returns, its predictions as `answers`.

    `references` have the columns of `METRIC_COLUMNS`. `bertscore`, `umls` and `alignscore` are folders of models, which add their
    metrics. `missing_components` are those of overall scores, which then compare with nobody's.
    """
    if len(references) != len(answers):
        raise ValueError(
            f"references must be as many as predictions, {len(answers)}; got {len(references)}"
        )
    items = [_item(row, reference) for row, reference in enumerate(references)]
    models = {"bertscore": bertscore, "umls": umls, "alignscore": alignscore}
    given = {name: value for name, value in models.items() if value is not None}
    known = [each for each in ANSWER_TASKS[0].metrics if not each.needs or each.needs in given]
    metrics = tuple(each for each in known if official or not each.name.endswith(OFFICIAL))
    task = replace(ANSWER_TASKS[0], metrics=metrics, groups=(), cluster=None)
    scores = score_items(task, items, answers, arguments=given)
    entries = summarise(task, items, {score.id: score for score in scores}, {}, recipe={})[
        "metrics"
    ]
    result = flat(entries)
    left_out = [name for entry in entries.values() for name in entry.get("missing_components", ())]
    result["missing_components"] = list(dict.fromkeys(left_out))
    result["coverage"] = {
        "answers": len(items),
        "cited": sum("no citations" not in score.why.split("; ") for score in scores),
        "valid": sum(score.values["valid"] == 1 for score in scores),
    }
    return result


def _item(row: int, reference: Mapping[str, Any]) -> Item:
    for name in (*_TEXTS, *_LISTS):
        if name not in reference:
            raise ValueError(
                f"references[{row}] must have {', '.join((*_TEXTS, *_LISTS))}; {name} is missing"
            )
    fields: dict[str, Any] = {name: str(reference[name] or "") for name in _TEXTS}
    fields |= {name: [str(each) for each in reference[name] or ()] for name in _LISTS}
    ids, texts, labels = (fields[name] for name in _LISTS)
    if len(texts) != len(ids) or len(labels) not in (0, len(ids)):
        raise ValueError(
            f"references[{row}]: sentences and relevance must be as many as sentence_ids, {len(ids)} (relevance may be empty); got "
            f"{len(texts)} and {len(labels)}"
        )
    if len(set(ids)) != len(ids):
        raise ValueError(f"references[{row}]: sentence_ids must be different ones")
    for label in labels:
        if label not in LABELS:
            raise ValueError(
                f"references[{row}]: relevance must be out of {', '.join(LABELS)}; got {label!r}"
            )
    return Item(id=str(row), fields=fields, groups={}, cluster=str(row))
