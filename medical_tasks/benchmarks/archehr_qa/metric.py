"""Computes ArchEHR-QA's metrics for a caller's answers: the core of `metrics/archehr_qa`, without any framework.

Relevance:

- `bleu`, `rougeLsum`, ...: the reference is the clinician's answer; SARI's source is
  message and clinician's question, its reference the clinician's answer
- `bleu_notes`, `rougeLsum_notes`, ...: the reference is message, question and essential
  sentences; SARI's source is message and question, its reference the essential
  sentences

Essential sentences follow the note's order, also in `_official` figures (the script's
order varies with `PYTHONHASHSEED`).

- BLEU: as `evaluate`: 13a, four orders, **not smoothed**
- ROUGE-Lsum: F1 of rouge_score, without stemming. `_official` also ROUGE-1, -2 and -L
- SARI: as `evaluate`, over 100
- BERTScore (`bertscore=FOLDER`): F1 of layer 4 of distilbert-base-uncased, no idf,
  rescaled by its baseline (0.6014007)
- MEDCON (`umls=INDEX`): variant `archehr` (docs/medcon.md)
- AlignScore (`alignscore=CKPT:FOLDER[:PUNKT]`): `nli_sp`, the reference as context, the
  answer as claim

`PUNKT` is a folder of NLTK's `punkt_tab` or `punkt` (else the rules `medical` of
docs/text_metrics.md split);
`alignscore_official` is the organizers' only with it.

SARI of a reference itself may be up to two points below 1. An empty answer has
BERTScore -1.51 (raw 0, not clamped).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.declarations import OFFICIAL
from medical_tasks.benchmarks.archehr_qa.parsing import NO_CITATIONS
from medical_tasks.benchmarks.archehr_qa.release import LABELS
from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.benchmarks.evaluate_metrics import (
    check_counts,
    figures_of_scores,
    item_of_row,
    reduced_task,
)
from medical_tasks.runs.results import flat
from medical_tasks.spec import Item, Row

_TEXTS: Final = ("patient_narrative", "clinician_question", "clinician_answer")
_LISTS: Final = ("sentence_ids", "sentences", "relevance")

METRIC_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
    (*_TEXTS, *_LISTS), ()
)
"""The columns of a row that `metrics/archehr_qa` reads: built ones, since the release has no rows."""


def score_answers(
    answers: Sequence[str],
    references: Sequence[Row],
    *,
    official: bool = False,
    bertscore: str | None = None,
    umls: str | None = None,
    alignscore: str | None = None,
) -> dict[str, Any]:
    """Scores answers to patients' questions, with the arguments and the result of `metrics/archehr_qa`.

    `missing_components` of the result are those that overall scores lack, which makes
    them incomparable.

    Args:
        answers: the answers, the metric's predictions.
        references: rows with the columns of `METRIC_COLUMNS`.
        official: whether to compute the figures by the shared task's script too.
        bertscore: folder of a checkpoint, which adds the metric.
        umls: folder of a UMLS index, which adds MEDCON.
        alignscore: checkpoint and backbone, which add the metric.
    """
    check_counts(answers, references=references)
    items = [_item(row, reference) for row, reference in enumerate(references)]
    models = {"bertscore": bertscore, "umls": umls, "alignscore": alignscore}
    folders = {name: folder for name, folder in models.items() if folder is not None}
    task = reduced_task(
        ANSWER_TASKS[0],
        lambda metric: (
            (not metric.needs or metric.needs in folders)
            and (official or not metric.name.endswith(OFFICIAL))
        ),
    )
    scores = score_items(task, items, answers, arguments=folders)
    figures = figures_of_scores(task, items, scores)
    left_out = [
        name
        for figure in figures.values()
        for name in figure.get("missing_components", ())
    ]

    return {
        **flat(figures),
        "missing_components": list(dict.fromkeys(left_out)),
        "coverage": {
            "answers": len(items),
            "cited": sum(NO_CITATIONS not in score.why.split("; ") for score in scores),
            "valid": sum(score.values["valid"] == 1 for score in scores),
        },
    }


def _item(row: int, reference: Row) -> Item:
    """Checks a caller's reference, and turns it into an item for the scorer.

    `relevance` may be empty: then it is unknown what is essential, and only the texts
    are compared.
    """
    for name in (*_TEXTS, *_LISTS):
        if name not in reference:
            raise ValueError(
                f"references[{row}] must have {', '.join((*_TEXTS, *_LISTS))}; {name} is missing"
            )

    fields: dict[str, Any] = {name: str(reference[name] or "") for name in _TEXTS}
    fields |= {name: list(map(str, reference[name] or ())) for name in _LISTS}
    ids, texts, labels = (fields[name] for name in _LISTS)
    if len(texts) != len(ids) or len(labels) not in (0, len(ids)):
        raise ValueError(
            f"references[{row}]: sentences and relevance must be as many as sentence_ids, "
            f"{len(ids)} (relevance may be empty); got "
            f"{len(texts)} and {len(labels)}"
        )

    if len(set(ids)) != len(ids):
        raise ValueError(f"references[{row}]: sentence_ids must be different ones")

    for label in labels:
        if label not in LABELS:
            raise ValueError(
                f"references[{row}]: relevance must be out of {', '.join(LABELS)}; got {label!r}"
            )

    return item_of_row(row, fields)
