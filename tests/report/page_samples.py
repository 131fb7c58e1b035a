"""Invented reports: every kind of task, with any number of runs and items."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from typing import Any

from medical_tasks.report.page_data import ReportData, ReportItem, ReportVerdict
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.report.report_task import ReportTask
from medical_tasks.spec import MetricSpec, Plot, PlotPoint
from tests.case_tables import tables

SUITE = "medical-tasks 0.0.sample"
SAMPLES: dict[str, Any] = tables(__file__, "page_samples")
CATEGORIES = ("dates", "lab test", "lab test ratio", "risk", "severity")
RIGHT = MetricSpec(
    name="accuracy",
    kind="proportion",
    description="Answers within the tolerance of the gold value.",
)
SPREAD = MetricSpec(
    name="words",
    kind="mean",
    description="Words of the answer.",
    unit="number",
    limits=(0.0, math.inf),
)
LIKE = MetricSpec(
    name="likeness",
    kind="mean",
    description="Cosine with the gold.",
    unit="cosine",
    limits=(-1.0, 1.0),
)
RECALL = MetricSpec(
    name="recall",
    kind="mean",
    description="Share of the must-have statements that are entailed.",
)
HARM = MetricSpec(
    name="contradictions",
    kind="mean",
    description="Share of statements contradicted.",
    higher_is_better=False,
)


def metric(value: float | None, n: int, **more: Any) -> dict[str, Any]:
    names = ("ci_low", "ci_high", "bound_low", "bound_high")
    ends: dict[str, float | None] = dict.fromkeys(names)
    if value is not None:
        half = 1.96 * math.sqrt(max(value * (1 - value), 0.01) / n) if n else 0.0
        ends = {
            "ci_low": max(0.0, value - half),
            "ci_high": min(1.0, value + half),
            "bound_low": value * 0.98,
            "bound_high": min(1.0, value + 0.01),
        }
    return {"value": value, "n": n, **ends, **more}


def count(
    value: float,
    low: float,
    high: float,
    n: int,
    unit: str,
    least: float | None,
    most: float | None,
) -> dict[str, Any]:
    """A metric with a unit."""
    ends = {"ci_low": low, "ci_high": high, "bound_low": least, "bound_high": most}
    return {"value": value, "n": n, "unit": unit, **ends}


def recipe(model: str, **more: Any) -> dict[str, Any]:
    return {
        "suite": SUITE,
        "task_version": "1-A",
        "data": {"revision": "sample", "sha256": "0" * 64},
        "prompts": {"set": "own", "sha256": "1" * 64},
        "model": {"name": model, "max_new_tokens": 512},
        "seed": 20240101,
        **more,
    }


def calculation(
    run: str = "small", *, items: int = 40, seed: int = 1, texts: bool = True
) -> ReportTask:
    """A task of right and wrong, in the shape of a calculation benchmark."""
    dice = random.Random(seed)
    samples = []
    for number in range(items):
        category = CATEGORIES[number % len(CATEGORIES)]
        right = None if number % 17 == 16 else float(dice.random() < 0.6)
        answer = (
            f"The inputs give {number * 3 % 97} mL/min.\nStep by step: "
            + "weigh, divide, round. " * (number % 7)
        )
        values = {
            "accuracy": right,
            "words": None if right is None else float(len(answer.split())),
            "likeness": 0.25,
        }
        samples.append(
            ReportItem(
                id=f"note-{number:04d}",
                groups={"category": category, "steps": str(number % 6 + 1)},
                values=values,
                question=f"A patient of {30 + number % 50} years is seen.\nWhat is value number {number % (items // 2 + 1)}?",
                answer=answer if texts and right is not None else "",
                gold=f"{number * 3 % 97} mL/min",
                parsed="" if right is None else f"{number * 3 % 97}",
                why=""
                if right is None
                else "within 5 % of the gold value"
                if right
                else "further than 5 % from the gold value",
                unscored="no answer: time out" if right is None else "",
                answer_sha256=hashlib.sha256(answer.encode()).hexdigest(),
            )
        )
    accuracy = _accuracy(samples)
    entry = {
        "n_items": items,
        "metrics": {
            "accuracy": accuracy,
            "words": count(23.4, 20.1, 27.0, items, "number", 20.0, None),
            "likeness": count(0.25, 0.2, 0.31, items, "cosine", 0.2, 0.3),
        },
        "coverage": {
            "asked": items,
            "answered": accuracy["n"],
            "scored": accuracy["n"],
            "unscored": _missing(items - accuracy["n"]),
        },
        "breakdown": {
            "category": {
                name: _group_metrics(samples, "category", name) for name in CATEGORIES
            },
            "steps": {
                str(step): _group_metrics(samples, "steps", str(step))
                for step in range(1, 7)
            },
        },
        "recipe": recipe(f"hf/{run}-model"),
    }
    return ReportTask(
        **SAMPLES["tasks"]["calculation"],
        run=run,
        folder=f"runs/{run}",
        entry=entry,
        metrics=(RIGHT, SPREAD, LIKE),
        items=samples,
        published=published(),
        plots=(steps_plot(samples),),
    )


def _missing(count: int) -> dict[str, int]:
    return {"no answer: time out": count} if count else {}


def _accuracy(items: Sequence[ReportItem]) -> dict[str, Any]:
    values = [value for item in items if (value := item.values["accuracy"]) is not None]
    return metric(sum(values) / len(values) if values else None, len(values))


def _group_metrics(items: Sequence[ReportItem], by: str, group: str) -> dict[str, Any]:
    accuracy = _accuracy([item for item in items if item.groups[by] == group])
    n = accuracy["n"]
    return {
        "accuracy": accuracy,
        "words": count(20.0 + len(group), 18.0, 30.0, n, "number", None, None),
        "likeness": count(0.25, 0.2, 0.3, n, "cosine", None, None),
    }


def steps_plot(items: Sequence[ReportItem]) -> Plot:
    points = []
    for step in range(1, 7):
        entry = _group_metrics(items, "steps", str(step))["accuracy"]
        if entry["value"] is not None:
            points.append(
                PlotPoint(
                    label=str(step),
                    value=entry["value"],
                    low=entry["ci_low"],
                    high=entry["ci_high"],
                    n=entry["n"],
                )
            )
    return Plot(
        title="Accuracy by number of steps",
        x_label="steps of the calculation",
        y_label="Accuracy",
        points=tuple(points),
        note="Wilson intervals.",
    )


def published(
    rows: Sequence[dict[str, Any]] = SAMPLES["published"],
) -> tuple[PublishedResult, ...]:
    return tuple(
        PublishedResult(**{**row, "differences": tuple(row.get("differences", ()))})
        for row in rows
    )


def judged(run: str = "small", *, items: int = 12) -> ReportTask:
    """A task whose judge compares words: shares, verdicts, and the warning."""
    samples = [
        ReportItem(
            id=f"q/{number} & more",
            groups={"kind": "must_have nice_to_have" if number % 3 else "must_have"},
            values={"recall": (0.0, 0.5, 1.0, None)[number % 4], "contradictions": 0.0},
            question=f"Is question {number} safe?",
            answer=f"Yes, answer {number}, mostly.",
            gold="It is safe at the usual dose.",
            unscored="verdict unreadable" if number % 4 == 3 else "",
            verdicts=(
                ReportVerdict(
                    id="must/0",
                    value="entailment",
                    text="The answer says so.",
                    votes=("entailment", "entailment"),
                ),
                ReportVerdict(id="must/1", value="", unscored="unreadable reply"),
            ),
        )
        for number in range(items)
    ]
    shared = {"comparable": False}
    verdicts = {
        "asked": 2 * items,
        "decided": items,
        "unscored": {"unreadable reply": items},
    }
    names = ("must_have", "nice_to_have")
    entry = {
        "n_items": items,
        "metrics": {
            "recall": metric(0.5, items - items // 4, **shared),
            "contradictions": metric(0.0, items, **shared),
        },
        "coverage": {
            "asked": items,
            "answered": items,
            "scored": items - items // 4,
            "unscored": {"verdict unreadable": items // 4},
        },
        "breakdown": {
            "kind": {name: {"recall": metric(0.5, items, **shared)} for name in names}
        },
        "recipe": recipe(f"hf/{run}-model", judge={"name": "lexical"}),
        "judge": {**SAMPLES["judge"], "verdicts": verdicts},
        "paper": {
            "comparable": False,
            "why": ["judge lexical compares words, the paper's is gpt-4"],
        },
    }
    return ReportTask(
        **SAMPLES["tasks"]["judged"],
        run=run,
        folder=f"runs/{run}",
        entry=entry,
        metrics=(RECALL, HARM),
        items=samples,
    )


def credentialed(run: str = "small", *, items: int = 9) -> ReportTask:
    """A task without texts."""
    samples = [
        ReportItem(
            id=f"{10000 + number}",
            groups={"level": str(number % 2 + 1)},
            values={"accuracy": float(number % 2)},
            answer_sha256=hashlib.sha256(str(number).encode()).hexdigest(),
        )
        for number in range(items)
    ]
    entry = {
        "n_items": items,
        "metrics": {"accuracy": metric(0.5, items)},
        "coverage": {
            "asked": items,
            "answered": items,
            "scored": items,
            "unscored": {},
        },
        "breakdown": {
            "level": {
                "1": {"accuracy": metric(0.0, 5)},
                "2": {"accuracy": metric(1.0, 4)},
            }
        },
        "recipe": recipe(f"hf/{run}-model"),
    }
    return ReportTask(
        **SAMPLES["tasks"]["credentialed"],
        run=run,
        folder=f"runs/{run}",
        entry=entry,
        metrics=(RIGHT,),
        items=samples,
    )


def empty(run: str = "small") -> ReportTask:
    """A task without any scored item."""
    entry = {
        "n_items": 3,
        "metrics": {"accuracy": metric(None, 0)},
        "coverage": {
            "asked": 3,
            "answered": 0,
            "scored": 0,
            "unscored": {"no answer: time out": 3},
        },
        "breakdown": {},
        "recipe": recipe(f"hf/{run}-model"),
    }
    return ReportTask(
        **SAMPLES["tasks"]["empty"],
        run=run,
        folder="",
        entry=entry,
        metrics=(RIGHT,),
        items=(),
    )


def sample_report(
    *, runs: Sequence[str] = ("small", "large"), items: int = 40
) -> ReportData:
    """A report of four tasks."""
    tasks = [calculation(run, items=items, seed=seed) for seed, run in enumerate(runs)]
    tasks += [judged(run) for run in runs]
    tasks += [credentialed(runs[0]), empty(runs[0])]
    notes = (
        (
            "The runs were made with different prompts: small with `own`, large with `official`.",
        )
        if len(runs) > 1
        else ()
    )
    return ReportData(title="Evaluation report", tasks=tasks, suite=SUITE, notes=notes)
