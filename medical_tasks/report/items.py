"""The items of a report: a row of `items.parquet` with its texts and verdicts."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from medical_tasks.guard.private_store import redact_row
from medical_tasks.report.page_data import ReportItem, ReportVerdict
from medical_tasks.report.texts import TaskTexts

__all__ = ["DIGEST", "report_items"]

DIGEST = "response_sha256"
_GROUP = "group_"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def report_items(
    rows: Sequence[Mapping[str, Any]],
    metrics: Collection[str],
    texts: TaskTexts,
    verdicts: Mapping[str, tuple[ReportVerdict, ...]],
    *,
    note_words: Collection[str] | None,
) -> tuple[ReportItem, ...]:
    """Makes the items of one task of one run.

    Args:
        rows: the task's rows of `items.parquet`.
        metrics: those that are shown.
        texts: what was found of the texts.
        verdicts: item id to the judge's decisions.
        note_words: for credentialed data the words that scoring itself writes into its notes; None for open data. Rows of
            credentialed data are reduced here once more, so that a file that was not cannot give a text away.
    """
    made = []
    for row in rows:
        shown, digest = dict(row), str(row.get(DIGEST) or "")
        answer = texts.answers.get(row["id"])
        if note_words is not None:
            shown = redact_row(row, None, note_words=note_words)
        elif answer is not None:
            digest = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()
        made.append(
            ReportItem(
                id=row["id"],
                groups={
                    name.removeprefix(_GROUP): str(value)
                    for name, value in shown.items()
                    if name.startswith(_GROUP) and value is not None
                },
                values={name: _number(shown[name]) for name in metrics if name in shown},
                question=texts.questions.get(row["id"], ""),
                answer=_showable(answer or ""),
                gold=texts.golds.get(row["id"], ""),
                parsed=str(shown.get("parsed") or ""),
                why=str(shown.get("why") or ""),
                unscored=str(shown.get("unscored") or ""),
                answer_sha256=digest if _SHA256.fullmatch(digest) else "",
                verdicts=verdicts.get(row["id"], ()),
            )
        )
    return tuple(made)


def _number(value: Any) -> float | None:
    """A metric's value; parquet has nan where it has no denominator."""
    return None if not isinstance(value, int | float) or math.isnan(value) else float(value)


def _showable(text: str) -> str:
    """A page is UTF-8, which cannot carry the lone surrogates that a model's text may hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
