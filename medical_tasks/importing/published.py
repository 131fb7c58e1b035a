"""The result of a format's reader: the answers and all that the files say about their origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from medical_tasks.runs.results import Json, ReportedFigure

NO_ANSWER: Final = "source: no answer"
ERROR: Final = "source: an error in place of an answer"
LIMIT: Final = "source: stopped by a limit"
TOOL_CALL: Final = "source: a tool call without text"
REDACTED: Final = "source: the text is withheld"
"""Reasons for a missing answer, as counted in coverage. Never text of the source."""


@dataclass(frozen=True, kw_only=True)
class PublishedAnswer:
    """One published answer.

    Attributes:
        at: Its position in the source, for messages: `sample 3`.
        ids: Possible ids of the item, the most reliable first.
        questions: The question in the forms of the source (a bare row, a whole prompt).
        text: The answer without reasoning; None if there is none.
        reason: The reason for a missing answer.
        repeat: The number of the repeat, from 1.
        cut: Whether the answer ended at its length limit.
    """

    at: str
    ids: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    text: str | None
    reason: str = ""
    repeat: int = 1
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Published:
    """The contents of a source.

    Attributes:
        answers: All answers.
        model: The model's name in the source; "" if unknown.
        harness: Name and version, such as `inspect_ai 0.3.285`; "" if unknown.
        task: The task's name in the source; "" if unknown.
        prompts_known: Whether the files have the prompts, not just the bare questions.
        settings: The generation settings, as far as the files have them.
        reported: The source's own figures.
        files: File name to SHA-256 of the files that were read.
        notes: Remarks for the user, one sentence each.
    """

    answers: Sequence[PublishedAnswer]
    model: str = ""
    harness: str = ""
    task: str = ""
    prompts_known: bool = True
    settings: Json = field(default_factory=dict)
    reported: Sequence[ReportedFigure] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
