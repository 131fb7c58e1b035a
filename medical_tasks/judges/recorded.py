"""A judge that reads its verdicts from a file: a run's `verdicts.jsonl`, or judgements from elsewhere.

A line with `sha256` applies only to the question with that hash, so that no verdict is
used for another answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import read_bytes
from medical_tasks.io.json_records import json_lines
from medical_tasks.judges.base import Pair, Question, Unscored, Verdict
from medical_tasks.judges.case import CUT, asked_sha256, was_cut
from medical_tasks.judges.session import SessionStats
from medical_tasks.models.checkpoint import MESSAGES

NOT_RECORDED = "judge: not in the recorded verdicts"
NO_VERDICT = "judge: recorded without a verdict"
_REASON = re.compile(r"judge: [a-z0-9_ ]{1,60}")
OTHER_QUESTION = "judge: recorded for another question"


class RecordedJudge:
    """Looks verdicts up in a file. Implements `judges.base.Judge`.

    A line of the file has a question's id and either a value or why there is none, and may
    have the hash of what was asked, so that a verdict is used only for the same content:

        {"id": "17/must/1", "value": "entailment", "sha256": "..."}
        {"id": "17/must/2", "unscored": "judge: unreadable"}

    Without a hash the id alone decides.
    """

    endpoint: None = None
    trouble: None = None  # no connection that could fail

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        rows: Iterable[Mapping[str, object]] | None = None,
    ) -> None:
        """Reads the file, unless its rows are passed."""
        try:
            raw = b"" if rows is not None else read_bytes(path)
        except OSError as error:
            reason = system_reason(error)
            raise MissingError(
                MESSAGES["recorded_file"].format(path=path, reason=reason)
            ) from error

        self.name = name or f"recorded/{path.name}"
        self.identity = {
            "backend": "recorded",
            "sha256": hashlib.sha256(raw).hexdigest(),
        }
        self.comparable = True
        self.reads: Literal["prompt", "pair"] = "prompt"
        self.stats = SessionStats()
        self.rows: list[dict[str, Any]] = []
        """Every question asked so far, in the form of `session.JudgeSession.rows`."""
        self._path = path
        self._records: dict[str, dict[str, dict[str, Any]]] = {}
        if raw.strip():
            for line, row in json_lines(path, raw, form='{"id": ..., "value": ...}'):
                self._add(f"{path}, {line}", row)

        for row in rows or ():
            self._add(str(path), row)

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Looks every question up.

        Unscored if the file lacks it, or has its id for another question only.
        """
        return [self._look_up(question) for question in questions]

    def close(self) -> None:
        """Does nothing: the file was read at the start."""

    def _add(self, where: str, value: object) -> None:
        """Adds one line. The same id may appear with the hashes of different questions.

        Raises:
            UsageError: an id has two different verdicts for the same hash, or for none.
        """
        row = _checked(where, value)
        if row.get("evaluation", 1) != 1:
            return  # of several evaluations (`--evaluations`) the first counts

        record = _record(row)
        before = self._records.setdefault(row["id"], {}).setdefault(
            row.get("sha256") or "", record
        )
        if (before.get("unscored"), before.get("value")) != (
            record.get("unscored"),
            record.get("value"),
        ):
            raise UsageError(
                f"{where}: id {row['id']!r} appears twice with different verdicts. Keep one of "
                "them, or add each question's sha256."
            )

        if row.get("comparable") is False:
            self.comparable = False

        if row.get("reads") == "pair":
            self.reads = "pair"
            self.identity["reads"] = "pair"

    def _look_up(self, question: Question) -> Verdict | Unscored:
        """Finds the verdict on a question: by the hash of its messages, else of its pair, else by its id alone.

        A record with another question's hash does not count.
        """
        sha256 = asked_sha256(question.messages)
        hashes = [sha256, *([asked_sha256(question.pair)] if question.pair else []), ""]
        records = self._records.get(question.id, {})
        record = next((records[key] for key in hashes if key in records), None)
        self.stats.questions += 1
        if record is None:
            reason = OTHER_QUESTION if records else NOT_RECORDED
            return self._unscored(question, reason, sha256)

        if "unscored" in record:
            return self._unscored(question, record["unscored"], sha256)

        value, text = record["value"], record["text"]
        if question.pair:
            self._check_type(question.id, value, question.pair)

        self.stats.decided += 1
        self.rows.append(
            {
                "id": question.id,
                "value": value,
                "votes": [value],
                "text": text,
                "sha256": sha256,
            }
        )
        return Verdict(
            id=question.id, value=value, votes=(value,), text=text, sha256=sha256
        )

    def _unscored(self, question: Question, reason: str, sha256: str) -> Unscored:
        self.stats.unscored[reason] += 1
        self.rows.append(
            {
                "id": question.id,
                "unscored": reason,
                "votes": [],
                "text": "",
                "sha256": sha256,
            }
        )
        return Unscored(id=question.id, reason=reason, sha256=sha256)

    def _check_type(self, name: str, value: object, pair: Pair) -> None:
        """Refuses a value whose type is not the question's: "yes" for true would count as something."""
        allowed = list(pair.values.values())
        if not allowed or type(value) in set(map(type, allowed)):
            return

        examples = ", ".join(dict.fromkeys(map(json.dumps, allowed)))
        raise UsageError(
            f"{self._path}: id {name!r} has the value {json.dumps(value)[:80]}, and "
            f"values of this question are like {examples}. Correct the file."
        )


def _checked(where: str, row: object) -> dict[str, Any]:
    """A line of recorded verdicts, refused if its form is wrong."""
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise UsageError(
            f"{where}: each line is one object with a text as id. Write the question's id there."
        )

    unscored = row.get("unscored")
    if ("value" in row) == (unscored is not None) or not isinstance(
        unscored, str | None
    ):
        raise UsageError(
            f"{where} (id {row['id']!r}): a line has either value, or unscored with the reason "
            "as a text. Give one of them."
        )

    if not isinstance(row.get("sha256") or "", str):
        raise UsageError(
            f"{where} (id {row['id']!r}): sha256 is a text. Correct it, or leave it out."
        )

    return row


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict of a line, and the reply's text.

    By today's rules a cut reply is no verdict, whatever value was once read from it.
    """
    text = row["text"] if isinstance(row.get("text"), str) else ""
    if "value" not in row:
        # A reason that is not in our form may be any text.
        known_form = _REASON.fullmatch(row["unscored"])
        return {"unscored": row["unscored"] if known_form else NO_VERDICT, "text": text}

    if was_cut(str(row.get("finish") or ""), tokens=None, longest=0):
        return {"unscored": CUT, "text": text}

    return {"value": _frozen(row["value"]), "text": text}


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
