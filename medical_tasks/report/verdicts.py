"""The judge's decisions, item by item."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medical_tasks.guard.private_store import redact_reason, redact_value
from medical_tasks.report.page_data import ReportVerdict

__all__ = ["owner_of", "verdicts_by_item"]


def verdicts_by_item(
    lines: Iterable[Mapping[str, Any]], ids: Iterable[str], *, private: bool
) -> dict[str, tuple[ReportVerdict, ...]]:
    """Gives each item its verdicts.

    Args:
        lines: of `verdicts.jsonl`, of one task.
        ids: the items'.
        private: whether the data are credentialed: the judge's words are left out, and values reduced as a run reduces them.

    Returns:
        Item id to its verdicts in the file's order; a verdict on an item that is not there is left out.
    """
    known = frozenset(ids)
    found: dict[str, list[ReportVerdict]] = {}
    for line in lines:
        item = owner_of(line["id"], known)
        if item is not None:
            found.setdefault(item, []).append(_verdict(line, item, private=private))
    return {item: tuple(verdicts) for item, verdicts in found.items()}


def owner_of(verdict: str, ids: frozenset[str]) -> str | None:
    """Finds whose verdict it is: the longest item id that is the whole of its id, or all before one of its slashes.

    Args:
        verdict: `ITEM/must/0`; an item's id may have slashes itself.
        ids: the items'.
    """
    place = len(verdict)
    while place > 0:
        if verdict[:place] in ids:
            return verdict[:place]
        place = verdict.rfind("/", 0, place)
    return None


def _verdict(line: Mapping[str, Any], item: str, *, private: bool) -> ReportVerdict:
    value, votes = line.get("value"), line.get("votes")
    unscored, text = _text(line.get("unscored")), _text(line.get("text"))
    if private:
        value, votes, unscored, text = (
            redact_value(value),
            redact_value(votes),
            unscored and redact_reason(unscored),
            "",
        )
    several: Sequence[Any] = votes if isinstance(votes, list) and len(votes) > 1 else ()
    return ReportVerdict(
        id=line["id"][len(item) :].strip("/"),
        value=_text(value),
        unscored=unscored,
        text=text,
        votes=tuple(map(_text, several)),
    )


def _text(value: Any) -> str:
    """A value as people read it: a text as it is, nothing as "", all else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
