"""What a format's reader gives: the answers, and all that their files say of how they came about."""

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
"""Why an item has no answer, as coverage counts it. Never a text of the source."""


@dataclass(frozen=True, kw_only=True)
class PublishedAnswer:
    """One answer as its source has it.

    Attributes:
        at: where it stands, for messages: `sample 3`.
        ids: what may be the item's id, the most telling first.
        questions: what was asked, in the forms that the source has (a bare row, a whole
            prompt).
        text: the answer without reasoning; None where there is none.
        reason: why there is none.
        repeat: which time the question was asked, from 1.
        cut: whether the answer ended at its length limit.
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
    """What was read of a source.

    Attributes:
        answers: all of them.
        model: as the source names it; "" where it does not.
        harness: its name and version, such as `inspect_ai 0.3.285`; "" where the files
            do not say.
        task: what the source calls the task; "" where it does not.
        prompts_told: whether the files have the prompts, and not the bare questions
            alone.
        settings: how the model was asked, as far as the files say.
        reported: the source's own figures.
        files: the SHA-256 of what was read, by file name.
        notes: what a reader should know, a sentence each.
    """

    answers: Sequence[PublishedAnswer]
    model: str = ""
    harness: str = ""
    task: str = ""
    prompts_told: bool = True
    settings: Json = field(default_factory=dict)
    reported: Sequence[ReportedFigure] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
