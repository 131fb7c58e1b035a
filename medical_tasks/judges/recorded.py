"""A judge that is a file of verdicts: a run's `verdicts.jsonl`, or somebody's judgements from elsewhere.

A line with `sha256` belongs to the question with that hash alone, so that no verdict is
taken for another answer's.
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
from medical_tasks.judges.base import Question, Unscored, Verdict
from medical_tasks.judges.case import CUT, asked_sha256, was_cut
from medical_tasks.judges.session import SessionStats
from medical_tasks.models.checkpoint import MESSAGES

NOT_RECORDED = "judge: not in the recorded verdicts"
NO_VERDICT = "judge: recorded without a verdict"
_REASON = re.compile(r"judge: [a-z0-9_ ]{1,60}")
OTHER_QUESTION = "judge: recorded for another question"


class RecordedJudge:
    """Verdicts read from a file. Implements `judges.base.Judge`; asks nobody."""

    endpoint: None = None
    trouble: None = None  # of being reached, which a file always is

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        rows: Iterable[Mapping[str, object]] | None = None,
    ) -> None:
        """Reads a file, or takes its rows."""
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
        for place, row in (
            json_lines(path, raw, form='{"id": ..., "value": ...}')
            if raw.strip()
            else ()
        ):
            self._add(f"{path}, {place}", row)

        for row in rows or ():
            self._add(str(path), row)

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Looks every question up.

        Unscored if not in the file, or recorded for another question of that id.
        """
        return [self._look_up(question) for question in questions]

    def close(self) -> None:
        """Does nothing: the file was read at the start."""

    def _add(self, where: str, row: object) -> None:
        """Takes in one line of recorded verdicts.

        A reply that was cut counts as none, whatever value was read from it: it is
        judged by today's rules. The same id may stand twice with the hashes of
        different questions.
        """
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise UsageError(
                f"{where}: each line is one object with a text as id. Write the question's id "
                "there."
            )

        scored, unscored = "value" in row, row.get("unscored")
        if scored == (unscored is not None) or not isinstance(unscored, str | None):
            raise UsageError(
                f"{where} (id {row['id']!r}): a line has either value, or unscored with the reason "
                "as a text. Give one of them."
            )

        if row.get("evaluation", 1) != 1:
            return  # of several evaluations (`--evaluations`) the first counts

        sha256 = row.get("sha256") or ""
        if not isinstance(sha256, str):
            raise UsageError(
                f"{where} (id {row['id']!r}): sha256 is a text. Correct it, or leave it out."
            )

        if scored and was_cut(str(row.get("finish") or ""), tokens=None, longest=0):
            unscored = CUT

        if unscored is None:
            record = {"value": _frozen(row["value"])}
        else:  # a reason that is not in our form may be any text
            record = {
                "unscored": unscored if _REASON.fullmatch(unscored) else NO_VERDICT
            }

        record["text"] = row["text"] if isinstance(row.get("text"), str) else ""
        before = self._records.setdefault(row["id"], {}).setdefault(sha256, record)
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
        """The recorded verdict on a question: of the same messages, else pair, else the same id without a hash.

        A record of another question under this id is none.
        """
        sha256 = asked_sha256(question.messages)
        hashes = [sha256, *([asked_sha256(question.pair)] if question.pair else []), ""]
        records = self._records.get(question.id, {})
        record = next((records[each] for each in hashes if each in records), None)
        self.stats.asked += 1
        if record is None or "unscored" in record:
            reason = (
                record["unscored"]
                if record
                else OTHER_QUESTION
                if records
                else NOT_RECORDED
            )
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

        value, text = record["value"], record["text"]
        wanted = list(question.pair.values.values()) if question.pair else []
        if wanted and type(value) not in {
            type(each) for each in wanted
        }:  # a "yes" for true would count as something
            said = ", ".join(dict.fromkeys(json.dumps(each) for each in wanted))
            raise UsageError(
                f"{self._path}: id {question.id!r} has the value {json.dumps(value)[:80]}, and "
                f"values of this question are like {said}. Correct the file."
            )

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


def _frozen(value: object) -> object:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
