"""What a leaderboard knows: submissions with their history, and entries, which are what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from medical_tasks.leaderboard.submission_package.contents import Submitter

__all__ = ["Entry", "EntryState", "Event", "State", "Submission"]

State = Literal["pending", "accepted", "rejected"]
EntryState = Literal["unverified", "verified", "reported"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to a submission.

    Attributes:
        state: the state it has since.
        at: when, ISO 8601 in UTC.
        by: who, as they named themselves; "" for the submitter.
        reason: why, one line.
        verified: the report of `medical-tasks verify` that the maintainer decided by; None when none was run.
        replaces: id of the accepted submission of the same name whose places it takes; "" for none.
    """

    state: State
    at: str
    by: str = ""
    reason: str = ""
    verified: Mapping[str, Any] | None = None
    replaces: str = ""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A package in the store.

    Attributes:
        id: the package's id.
        submitter: who and what.
        tasks: its tasks.
        history: events, the oldest first; never empty.
    """

    id: str
    submitter: Submitter
    tasks: tuple[str, ...]
    history: Sequence[Event]

    @property
    def state(self) -> State:
        """What it is now."""
        return self.history[-1].state


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model's result on one task: a row of a benchmark's table.

    Attributes:
        model: name to show.
        organisation: who submitted it; the paper for a published result.
        task: the task.
        benchmark: title of its benchmark.
        metrics: as in `results.json`: name to `value`, `ci_low`, `ci_high`, `n`; no interval for a published result.
        breakdown: likewise.
        coverage: as in `results.json`; None for a published result.
        state: `verified` when a maintainer scored its answers again and asked its judge, if it has one, again too; `unverified`
            when it was accepted without that; `reported` for a paper's figure.
        setting: what else tells it from other entries of the model (shots, prompts, judge, source table).
        group: entries of one group are of the same task version, data, prompts' set, judge and scoring, so that their numbers can
            be set side by side; a hash in short.
        recipe: of the result; empty for a published one.
        submission: id of the submission; "" for a published result.
        at: day, ISO 8601; "" where it is not known.
        url: page of the model or paper.
        differences: why it cannot be set beside the others, a sentence each.
        beside: of a published result, `PublishedResult.beside`: a metric that follows the authors' script to the one of ours that
            asks the same.
    """

    model: str
    organisation: str
    task: str
    benchmark: str
    metrics: Mapping[str, Mapping[str, Any]]
    state: EntryState
    group: str
    breakdown: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None
    setting: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    submission: str = ""
    at: str = ""
    url: str = ""
    differences: Sequence[str] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
