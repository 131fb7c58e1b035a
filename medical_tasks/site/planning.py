"""`site plan`: how many items and labels the decision of `site.toml` needs.

The number of items is from `comparison.planning`: with so many, a candidate as good as
the baseline gets GO by the gate's margin with the requested power. The number of labels
is from `scoring.correction`: so many leave the judge's own error at a half-width of the
margin. Both assume independent items; a patient with several items counts once.
"""

from __future__ import annotations

import json
import math
from typing import Final

from medical_tasks.catalog import tasks
from medical_tasks.comparison.compared import read_compared
from medical_tasks.comparison.planning import (
    Goal,
    needed_as_assumed,
    needed_from_runs,
    runs_columns,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.io.output import tell
from medical_tasks.runs.results import JsonDict
from medical_tasks.scoring.intervals import normal_quantile
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.options import Plan
from medical_tasks.site.settings import Decision
from medical_tasks.site.steps import State, journal_state
from medical_tasks.site.uses import Use, use_of

ACCURACY: Final = 0.8
AGREEMENT: Final = 0.85
SENSITIVITY: Final = 0.9
SPECIFICITY: Final = 0.85
"""Assumed of a judge before it is checked."""
PLANNED_POWER: Final = 0.8
"""The power that `comparison.planning` plans for; others are scaled from it."""
PLANNED_CONFIDENCE: Final = 0.95
"""The confidence that it plans for, likewise."""
_PLANTED: Final = 2000
_ANY_SET: Final = 1
"""The size of a set, on which the number of items that it must have does not depend."""


def run(options: Plan) -> int:
    """Writes and prints the plan."""
    site = open_site(options.folder)
    plan = planned(site, options)
    site.plan.mkdir(exist_ok=True)
    files = {
        site.plan / "plan.json": json.dumps(plan, indent=2, allow_nan=False) + "\n",
        site.plan / "plan.md": plan_text(site, plan),
    }
    for path, text in files.items():
        with WholeFile(path) as stream:
            stream.write(text)

    note_step(
        site,
        "plan",
        inputs=["site.toml:decision", "site.toml:models.baseline", "site.toml:use"],
        outputs=list(files),
        figures={"items": plan["items"], "labels": plan["labels"]},
    )
    tell(files[site.plan / "plan.md"].rstrip(), plan)
    return 0


def planned(site: Site, options: Plan) -> JsonDict:
    """The plan as JSON values."""
    settings = site.settings
    use, decision = use_of(settings), settings.decision
    accuracy, agreement = (
        ACCURACY if options.accuracy is None else options.accuracy,
        AGREEMENT if options.agreement is None else options.agreement,
    )
    for name, share in (("--accuracy", accuracy), ("--agreement", agreement)):
        if not 0.0 < share < 1.0:
            raise UsageError(
                f"{name} is a share between 0 and 1, got {share:g}. Four in five are 0.8."
            )

    against = bool(settings.models.baseline)
    goal = (
        Goal("margin", decision.margin, apart=1.0 - agreement)
        if against
        else Goal("half_width", decision.margin, truth=accuracy)
    )
    items = (
        _from_pilot(options, site, use, goal)
        if options.pilot
        else needed_as_assumed(goal, _ANY_SET).clusters
    )
    items = _scaled(items, decision, goal)
    labels = _labels(decision, accuracy) if use.judged else 0
    people = len(settings.reviewers.names)

    return {
        "use": settings.use,
        "task": use.task_of(settings),
        "metric": use.metric,
        "margin": decision.margin,
        "confidence": decision.confidence,
        "power": decision.power,
        "from": [str(path) for path in options.pilot] or "assumptions",
        "assumed": _assumed(options, use, against, accuracy, agreement),
        "items": items,
        "labels": labels,
        "requests": items * (2 if against else 1),
        "minutes_of_each_reviewer": math.ceil(
            items * use.item_minutes + labels * use.label_minutes
        ),
        "reviewers": people,
    }


def _assumed(
    options: Plan, use: Use, against: bool, accuracy: float, agreement: float
) -> dict[str, float]:
    """The assumptions that a pilot does not replace; it reveals nothing about a judge."""
    assumed = {}
    if against and not options.pilot:
        assumed["agreement"] = agreement
    if use.judged or not (against or options.pilot):
        assumed["accuracy"] = accuracy
    if use.judged:
        assumed |= {"sensitivity": SENSITIVITY, "specificity": SPECIFICITY}
    return assumed


def _from_pilot(options: Plan, site: Site, use: Use, goal: Goal) -> int:
    """The number of items by the variation between those of a pilot."""
    task = tasks()[use.task_of(site.settings)]
    metric = next(declared for declared in task.metrics if declared.name == use.metric)
    runs = [read_compared(folder) for folder in options.pilot]
    expected = (
        "two runs, candidate and baseline"
        if goal.kind == "margin"
        else "one run, since there is no baseline"
    )
    if len(runs) != 1 + (goal.kind == "margin"):
        raise UsageError(f"--pilot needs {expected}, got {len(runs)}.")
    if options.agreement is not None:
        raise UsageError(
            "--agreement is measured by the pilot's runs. Leave out one of --agreement and --pilot."
        )

    candidate, baseline = runs[0], runs[-1]
    _, columns = runs_columns(task, metric, (baseline, candidate))  # as a gate compares
    plain = Goal(goal.kind, goal.value)
    return needed_from_runs(plain, columns).clusters


def _scaled(items: int, decision: Decision, goal: Goal) -> int:
    """Scales a number of `comparison.planning` to another power or confidence.

    For a normal mean the number grows with (z of the confidence + z of the power)²,
    which is close enough near the exact number. The width of an interval has no power:
    it takes z of the confidence alone.
    """
    reach = normal_quantile((1.0 + decision.confidence) / 2.0)
    planned = normal_quantile((1.0 + PLANNED_CONFIDENCE) / 2.0)
    if goal.kind == "margin":
        reach += normal_quantile(decision.power)
        planned += normal_quantile(PLANNED_POWER)

    ratio = reach / planned

    return items if ratio == 1.0 else math.ceil(items * ratio**2)


def _labels(decision: Decision, accuracy: float) -> int:
    """The number of labels that leave the judge's own error at the margin."""
    reach = normal_quantile((1.0 + decision.confidence) / 2.0)
    planned = normal_quantile((1.0 + PLANNED_CONFIDENCE) / 2.0)
    return labels_for(decision.margin * planned / reach, accuracy)


def labels_for(half_width: float, accuracy: float) -> int:
    """The number of labels that leave the error of a simulated judge at a half-width.

    The simulated judge gives `_PLANTED` verdicts, with `SENSITIVITY` and `SPECIFICITY`.

    Args:
        half_width: the half-width of the interval from the judge's error alone, on the
            metric's scale: 0.05 is five percentage points.
        accuracy: the true share of hits that is assumed.
    """
    import numpy as np

    from medical_tasks.scoring.correction import (
        Verdicts,
        judge_error,
        labels_needed,
        rescoring,
    )

    right = round(_PLANTED * accuracy)
    hits, alarms = (
        round(right * SENSITIVITY),
        round((_PLANTED - right) * (1.0 - SPECIFICITY)),
    )
    gold = ["yes"] * right + ["no"] * (_PLANTED - right)
    judged = (
        ["yes"] * hits
        + ["no"] * (right - hits)
        + ["yes"] * alarms
        + ["no"] * (_PLANTED - right - alarms)
    )
    learnt = rescoring(gold, judged, ("yes", "no"))
    counts = np.array(
        [[verdict == "yes", verdict == "no"] for verdict in judged], dtype=float
    )
    ones = np.ones(len(judged))
    run = Verdicts(
        counts=counts, unit=ones, fixed=np.zeros(len(judged)), denominators=ones
    )
    _, error = judge_error(learnt, run)

    return labels_needed(learnt, error, half_width)


def plan_text(site: Site, plan: JsonDict) -> str:
    """The plan as Markdown."""
    baseline = site.settings.models.baseline
    goal = (
        f"GO by a margin of {plan['margin']:g} against {baseline}, with a chance of "
        f"{plan['power']:.0%} for a candidate that is as good"
        if baseline
        else f"an interval of ±{plan['margin']:g} around the score"
    )
    assumed = ", ".join(f"{name} {value:g}" for name, value in plan["assumed"].items())
    pilot = "" if plan["from"] == "assumptions" else f"From {', '.join(plan['from'])}."
    source = f"{pilot} Assumed: {assumed}.".strip() if assumed else pilot
    labels = (
        f"- {plan['labels']:,} answers that people label, for a judge's error of at most "
        f"±{plan['margin']:g}\n"
        if plan["labels"]
        else "- no labels of answers: a rule scores them\n"
    )

    return (
        f"# Plan\n\nWanted: {goal}, by {plan['task']}, {plan['metric']}, at a confidence of "
        f"{plan['confidence']:.0%}. {source}\n\n"
        f"- {plan['items']:,} {use_of(site.settings).units}\n{labels}"
        f"- {plan['requests']:,} answers of models\n"
        f"- {plan['minutes_of_each_reviewer']:,} minutes of each of {plan['reviewers']} "
        "reviewers\n\nAnswers and minutes are for one item a patient; more items take more.\n"
    )


def state(site: Site) -> State:
    """The state of the step."""
    return journal_state(site, "plan", ready="say how many items and labels are needed")
