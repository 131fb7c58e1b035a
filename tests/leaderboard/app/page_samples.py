"""Entries and submissions made by hand, for pages that are tested without a store."""

from __future__ import annotations

import hashlib
from typing import Any

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.leaderboard.board import Snapshot
from medical_tasks.leaderboard.ranking import group_of
from medical_tasks.leaderboard.records import Entry, Event, State, Submission
from medical_tasks.leaderboard.submission_package.contents import Submitter
from tests.leaderboard.made_packages import recipe_of

HOSTILE = "<img src=x onerror=alert(1)> {{model}} ${model} \"' </script>\u2028"


def number(value: float, half: float = 0.05, **more: Any) -> dict[str, Any]:
    low, high = max(0.0, value - half), min(1.0, value + half)
    return {"value": value, "ci_low": low, "ci_high": high, "n": 100, "bound_low": value, "bound_high": value, **more}


def entry(model: str, value: float, *, half: float = 0.05, task: str = "medcalc", **more: Any) -> Entry:
    spec = task_spec(task)
    recipe = recipe_of(spec, **more.pop("recipe", {}))
    settings: dict[str, Any] = {
        "organisation": "Lab",
        "state": "unverified",
        "coverage": {"asked": 100, "answered": 99, "scored": 98, "unscored": {"no answer: timeout": 1}},
        "metrics": {metric.name: number(value, half) for metric in spec.metrics[:4]},
        "breakdown": {"category": {"lab": {metric.name: number(value, half) for metric in spec.metrics[:4]}}},
        "setting": "own",
        "submission": hashlib.sha256(model.encode("utf-8", "replace")).hexdigest()[:16],
        "at": "2026-03-01",
        **more,
    }
    return Entry(
        model=model,
        task=task,
        benchmark=spec.benchmark.title,
        group=settings.pop("group", group_of(spec, recipe)),
        recipe=recipe,
        **settings,
    )


def reported(model: str, value: float, **more: Any) -> Entry:
    metrics = {"accuracy_official": {"value": value, "ci_low": None, "ci_high": None, "n": 1047}}
    return entry(
        model,
        value,
        state="reported",
        organisation="A paper, table 2",
        metrics=metrics,
        breakdown={},
        coverage=None,
        submission="",
        at="",
        url="https://example.org/paper",
        differences=("The authors' script decided.", "Other prompts."),
        **more,
    )


def submission(
    name: str, model: str = "Model", state: State = "accepted", at: str = "2026-03-01", **who: Any
) -> Submission:
    history = [Event(state="pending", at=f"{at}T10:00:00Z")]
    if state != "pending":
        history.append(Event(state=state, at=f"{at}T11:00:00Z", by="keeper", reason="A reason."))
    return Submission(id=name, submitter=Submitter(model=model, **who), tasks=("medcalc",), history=history)


def board(*entries: Entry, submissions: tuple[Submission, ...] = ()) -> Snapshot:
    return Snapshot(entries=entries, submissions={one.id: one for one in submissions}, taken="2026-03-02T00:00+00:00")
