"""The results of a package: their form, and the same numbers computed again from the items.

What items do not show (estimates of undecided answers, intervals of metrics without a largest value) is left to `verifying`.
Numbers are the same within a billionth: other processors round sums otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.io.json_records import Field, optional
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.leaderboard.submission_package import values as forms
from medical_tasks.leaderboard.submission_package.privacy import scrub
from medical_tasks.models.usage import FORECAST, USAGE
from medical_tasks.runs.comparability import asked_officially, comparability
from medical_tasks.runs.estimation import NO_VERDICT
from medical_tasks.runs.recipes import INTERVALS, mapping
from medical_tasks.runs.results import SCHEMA_VERSION, weight_column
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.averages import components
from medical_tasks.spec import UNANSWERED, Item, ItemScore, TaskSpec, unclear_limits

_SETTING: Final = forms.plain_json(of=dict)
_SETTING_OR_NULL: Final = forms.or_null(_SETTING)
_COUNTS: Final = Field(
    holds=lambda value: (
        forms.is_object(value) and all(forms.whole_number().holds(each) for each in value.values())
    ),
    rule="an object of whole numbers",
)
_ENTRY: Final[Mapping[str, Field]] = {
    "n_items": forms.whole_number(1),
    "metrics": _SETTING,
    "coverage": forms.OBJECT,
    "breakdown": _SETTING,
    "recipe": _SETTING,
    "cut_at_length": forms.whole_number(),
    "shortened": optional(forms.whole_number()),
    "usage": USAGE,
    "roles": optional(_SETTING),
    "judge": optional(forms.OBJECT),
    "notes": optional(_COUNTS),
    "paper": optional(_SETTING),
}
_COVERAGE: Final = {
    "asked": forms.whole_number(1),
    "answered": forms.whole_number(),
    "scored": forms.whole_number(),
    "unscored": _COUNTS,
    "unclear": optional(_COUNTS),
}
_RECIPE: Final[Mapping[str, Field]] = {
    "suite": forms.SUITE,
    "task": forms.line_text(64, least=1),
    "task_version": forms.line_text(16, least=1),
    "data": forms.OBJECT,
    "prompts": _SETTING_OR_NULL,
    "generation": _SETTING_OR_NULL,
    "max_samples": forms.or_null(forms.whole_number(1), "a whole number or null"),
    "max_samples_note": optional(forms.or_null(forms.line_text(200), "a line or null")),
    "metrics": _SETTING,
    "statistics": _SETTING,
    "model": _SETTING,
    "judge": _SETTING_OR_NULL,
    "python": forms.line_text(40),
    "packages": _SETTING,
    "task_args": optional(_SETTING),
    "protocol": optional(_SETTING),
    "roles": optional(_SETTING),
    "truncation": optional(_SETTING),
    "baseline": optional(_SETTING),
    "leaking_examples": optional(forms.plain_json(of=list)),
    "scoring": optional(_SETTING),
    "adjudication": optional(_SETTING),
}
_DATA: Final[Mapping[str, Field]] = {
    "name": forms.line_text(64, least=1),
    "config": forms.line_text(64, least=1),
    "split": forms.text_like(
        r"(?=.{1,64}\Z)[\w-]+(?:\+[\w-]+)*",
        "the name of a split, or names with + between: letters, digits, - and _",
    ),
    "version": forms.line_text(16, least=1),
    "source": _SETTING,
    "rows_sha256": forms.HASH,
}
_VERDICT_COUNTS: Final = {
    "asked": forms.whole_number(),
    "decided": forms.whole_number(),
    "unscored": _COUNTS,
}
_JUDGE: Final[Mapping[str, Field]] = {
    "name": forms.line_text(200, least=1),
    "comparable": forms.TRUE_OR_FALSE,
    "votes": forms.whole_number(1, 99),
    "verdicts": forms.OBJECT,
    "from_store": forms.whole_number(),
    "calls": forms.whole_number(),
    "votes_saved": forms.whole_number(),
    "reasked": forms.whole_number(),
    # Of older suites: what one command took.
    **dict.fromkeys(("prompt_tokens", "output_tokens"), optional(forms.whole_number())),
    "tokens_estimated": optional(forms.TRUE_OR_FALSE),
    "usage": USAGE,
    "forecast": FORECAST,
    "check": forms.plain_json(of=str),
    "trouble": forms.or_null(forms.plain_json(of=str), "a text or null"),
}
_JUDGED_BY: Final = {name: _JUDGE[name] for name in ("name", "comparable", "votes")}


def check_results(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Checks the form of `results.json`, not yet its numbers; `names` are the tasks that `package.json` names."""
    results = forms.check_fields(
        contents.RESULTS,
        value,
        {
            "schema_version": forms.whole_number(SCHEMA_VERSION, SCHEMA_VERSION),
            "tasks": forms.OBJECT,
        },
    )
    known = tasks()
    for name in results["tasks"]:
        if name not in known:
            raise contents.PackageError(
                f"{contents.RESULTS}: the task {contents.shown(name)} is not known here. Leave it out (--task NAME), or update "
                "this suite."
            )
    if tuple(results["tasks"]) != names:
        raise contents.not_sound(
            f"{contents.RESULTS}: its tasks are not those that package.json names, in that order"
        )
    for name, entry in results["tasks"].items():
        _check_entry(f"{contents.RESULTS}, {name}", entry, known[name])
        if "paper" in entry:  # what it says is made anew, of its recipe and numbers
            entry["paper"] = comparability(known[name], entry).as_json()
    if scrub(results) != results:
        raise contents.not_sound(
            f"{contents.RESULTS}: a recipe names a path, a file or an address of the machine it was made on"
        )
    return forget_unasked_figures(results)


def forget_unasked_figures(results: dict[str, Any]) -> dict[str, Any]:
    """Takes out the authors' figures where the judge was not asked with their prompts.

    So does it those of an earlier version of a task, which computed them otherwise.
    """
    for name, task in tasks().items():
        entry = results["tasks"].get(name)
        if entry is None or _asked_officially(task, entry):
            continue
        groups = (group for by in entry["breakdown"].values() for group in by.values())
        for metrics in (entry["metrics"], *groups):
            for metric in filter(task.needs_official_prompts, task.metrics):
                metrics.pop(metric.name, None)
    return results


def _asked_officially(task: TaskSpec, entry: Mapping[str, Any]) -> bool:
    """Whether the judge was asked with the authors' prompts, in this version of the task."""
    recipe = entry["recipe"]
    earlier = recipe["task_version"].partition("-")[0] != task.version.partition("-")[0]
    return not earlier and asked_officially(mapping(recipe["judge"]))


def reported_task(task: TaskSpec, entry: Mapping[str, Any]) -> TaskSpec:
    """The task with the metrics that an entry reports.

    All of them, but for those that need something which may not have been given, those of the authors that the judge was not
    asked for, and, of an entry of an earlier version of the task, those that came later: an older package stays readable.
    """
    breakdown = entry["breakdown"]
    task = task.reporting(task.scoring_arguments, official=_asked_officially(task, entry))
    earlier = entry["recipe"]["task_version"] != task.version

    def told(name: str, part: tuple[()] | tuple[str, str], whole: str) -> bool:
        if not part:
            return name in entry["metrics"]
        return whole in dict(dict(breakdown.get(part[0]) or {}).get(part[1]) or {})

    metrics = tuple(
        metric
        for metric in task.metrics
        if not (metric.needs or earlier) or told(metric.name, metric.part, metric.whole)
    )
    return replace(task, metrics=metrics)


def _check_entry(where: str, value: Any, task: TaskSpec) -> None:
    entry = forms.check_fields(where, value, _ENTRY)
    _check_coverage(f"{where}, coverage", entry["coverage"])
    recipe = forms.check_fields(f"{where}, recipe", entry["recipe"], _RECIPE)
    data = forms.check_fields(f"{where}, recipe, data", recipe["data"], _DATA)
    spec = dataset_spec(task.dataset)
    if (
        recipe["task"] != task.name
        or data["name"] != spec.name
        or data["config"] not in spec.configs
    ):
        raise contents.not_sound(
            f"{where}: its recipe must be of {task.name} on {spec.name} ({', '.join(spec.configs)}), got "
            f"{contents.shown(recipe['task'])} on {contents.shown(data['name'])} ({contents.shown(data['config'])})"
        )
    for by, groups in entry["breakdown"].items():
        if not forms.is_object(groups) or not all(
            forms.is_object(group) for group in groups.values()
        ):
            raise contents.not_sound(
                f"{where}, breakdown, {contents.shown(by)}: must be an object of objects"
            )
    cut = recipe.get("truncation", {}).get("words_left_out", {})
    if entry["cut_at_length"] > entry["coverage"]["answered"] or entry.get("shortened", 0) != len(
        cut
    ):
        raise contents.not_sound(
            f"{where}: cut_at_length or shortened is not of as many items as it can be"
        )
    if not forms.line_text(300, least=1).holds(recipe["model"].get("name")):
        raise contents.not_sound(f"{where}, recipe, model: must have a name of one line")
    prompts = recipe["prompts"]
    if prompts is not None and not (
        prompts.get("set") in ("own", "official") and forms.HASH.holds(prompts.get("sha256"))
    ):
        raise contents.not_sound(
            f"{where}, recipe, prompts: must be null, or name a set and its sha256"
        )
    if not all(isinstance(value, str) for value in recipe.get("task_args", {}).values()):
        raise contents.not_sound(f"{where}, recipe, task_args: must be texts")
    _check_judge(where, entry, task)


def _check_coverage(where: str, value: Any) -> None:
    coverage = forms.check_fields(where, value, _COVERAGE)
    if sum(coverage.get("unclear", {}).values()) > coverage["answered"]:
        raise contents.not_sound(f"{where}: has more unclear answers than answers")


def _check_judge(where: str, entry: Mapping[str, Any], task: TaskSpec) -> None:
    named, told = entry["recipe"]["judge"], entry.get("judge")
    if task.judge != (named is not None) or task.judge != (told is not None):
        rule = (
            "by a judge, and both recipe and entry say which" if task.judge else "without a judge"
        )
        raise contents.not_sound(f"{where}: the task is scored {rule}; that is not so here")
    if named is None or told is None:
        return
    forms.check_fields(f"{where}, judge", told, _JUDGE)
    forms.check_fields(f"{where}, judge, verdicts", told["verdicts"], _VERDICT_COUNTS)
    same = {name: named.get(name) for name in _JUDGED_BY}
    forms.check_fields(f"{where}, recipe, judge", same, _JUDGED_BY)
    prompts = named.get("prompts")
    if not isinstance(prompts, dict) or not forms.HASH.holds(prompts.get("sha256")):
        raise contents.not_sound(f"{where}, recipe, judge: must name its prompts' set and sha256")
    if any(told[name] != same[name] for name in same):
        raise contents.not_sound(
            f"{where}: says one thing of the judge in its recipe, and another beside it"
        )
    words = "lexical" in (named["name"], named.get("kind"))
    if words and (named["comparable"] or named["name"] != named.get("kind")):
        raise contents.not_sound(f"{where}: the judge lexical is never comparable with others")


def partial_facts(results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Task to the reasons, a sentence each, for which its result is not over the whole official split; only tasks with any."""
    found: dict[str, list[str]] = {}
    for name, entry in results["tasks"].items():
        task, data, most = tasks()[name], entry["recipe"]["data"], entry["recipe"]["max_samples"]
        official = dataset_spec(task.dataset).default_config
        said: list[str] = []
        if data["config"] == "demo":
            said.append("It ran on the synthetic demo records.")
        elif data["config"] != official:
            said.append(f"It ran on configuration {data['config']}, not {official}.")
        if data["split"] != task.split:
            said.append(f"It ran on split {data['split']}, not {task.split}.")
        if most is not None:
            said.append(f"It ran on at most {most} items (--max-samples).")
        found |= {name: said} if said else {}
    return found


_BOUNDS: Final = frozenset({"bound_low", "bound_high"})
_INTERVAL: Final = frozenset({"ci_low", "ci_high"})
_ESTIMATE: Final = _BOUNDS | _INTERVAL | {"value", "n", "of", "std", "estimated", "reason"}
_ORDERED: Final = (
    ("ci_low", "value", "ci_high"),
    ("bound_low", "value", "bound_high"),
    ("bound_low", "bound_high"),
)
COMPARED: Final = ("n_items", "metrics", "coverage", "breakdown")


def recompute(
    task: TaskSpec,
    entry: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    limits: contents.ReadLimits,
) -> dict[str, Any]:
    """Computes a task's entry of `results.json` from its items; the package's own entry tells how groups are called."""
    items: list[Item] = []
    scores: dict[str, ItemScore] = {}
    unanswered: dict[str, str] = {}
    for row in rows:
        # A cell names one group, whose name may hold spaces, or several with spaces between.
        groups = {
            by: (said,)
            if said in entry["breakdown"].get(by, {})
            else tuple(dict.fromkeys(said.split(" ")))
            for by in task.groups
            for said in (str(row[f"group_{by}"]),)
        }
        if any(len(each) > limits.item_groups for each in groups.values()):
            raise contents.PackageError(
                f"items.jsonl: an item is in more than {limits.item_groups} groups of one breakdown."
            )
        items.append(Item(id=row["id"], fields={}, groups=groups, cluster=row["cluster"]))
        reason = row["unscored"]
        if reason is not None and reason.startswith(UNANSWERED):
            unanswered[row["id"]] = reason.removeprefix(UNANSWERED)
        else:
            scores[row["id"]] = _score(task, row)
    for by in task.groups:
        if len({group for item in items for group in item.groups[by]}) > limits.groups:
            raise contents.PackageError(
                f"items.jsonl, group_{by}: more than {limits.groups} groups. Is it the official data?"
            )
    try:
        made: dict[str, Any] = {**summarise(task, items, scores, unanswered, recipe={})}
    except (ValueError, OverflowError) as error:
        raise contents.PackageError(
            f"items.jsonl: no result can be computed of the items of {task.name} ({error})."
        ) from error
    if entry["recipe"].get("judge") and not entry["recipe"]["judge"]["comparable"]:
        judged = {metric.whole or metric.name for metric in task.metrics if metric.judged}
        for place, metric in _metrics(made):
            if place[-1] in judged:
                metric["comparable"] = False
    return made


def result_differences(
    task: TaskSpec,
    entry: Mapping[str, Any],
    made: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[Difference]:
    """Yields the differences between what a package says and what `recompute` made, except what the items do not decide."""
    unknown = _unknown(task, rows)
    reasons = {NO_VERDICT, *(f"{NO_VERDICT}: {row['unscored']}" for row in rows if row["unscored"])}
    for found in entry_differences(entry, made):
        place, said, _ = found
        estimate = (
            said in reasons
            if isinstance(said, str)
            else not isinstance(said, bool | Mapping | list)
        )
        if not (estimate and unknown(place)):
            yield found
    outer = dict(_metrics(made))
    for place, metric in _metrics(entry):
        for names in _ORDERED:
            known = [end for end in map(metric.get, names) if forms.is_number(end)]
            if known != sorted(known):
                yield (*place, names[0]), metric.get(names[0]), metric.get(names[1])
        limits, value = outer.get(place, {}), metric.get("value")
        low, high = limits.get("bound_low"), limits.get("bound_high")
        if not forms.is_number(value) or not unknown((*place, "value")):
            continue
        if metric.get("n") != limits.get("n", 0) + metric.get("estimated", 0):
            yield (*place, "n"), metric.get("n"), limits.get("n")
        if (forms.is_number(low) and value < low - TOLERANCE) or (
            forms.is_number(high) and value > high + TOLERANCE
        ):
            yield (*place, "value"), value, low


def entry_differences(entry: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Difference]:
    """Yields the differences of a package's entry from the same made here.

    Intervals are compared if they were computed in the same way; those of older packages stay.
    """
    same_intervals = entry["recipe"]["statistics"].get("intervals") == INTERVALS
    for name in COMPARED:
        for found in differences(compared(entry, name), made[name], (name,)):
            if same_intervals or found[0][-1] not in _INTERVAL:
                yield found


def counts_unclear(entry: Mapping[str, Any]) -> bool:
    """Whether a package's suite told unclear answers from wrong ones."""
    return "unclear" in entry["coverage"]


def compared(entry: Mapping[str, Any], name: str) -> Any:
    """A part of an entry as this version writes it: packages of older ones do not count unclear answers."""
    return (
        {**entry[name], "unclear": entry[name].get("unclear", {})}
        if name == "coverage"
        else entry[name]
    )


def _metrics(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, metric in entry["metrics"].items():
        yield ("metrics", name), metric if isinstance(metric, Mapping) else {}
    for by, groups in entry["breakdown"].items():
        for group, metrics in groups.items():
            for name, metric in metrics.items():
                yield ("breakdown", by, group, name), metric if isinstance(metric, Mapping) else {}


def _unknown(
    task: TaskSpec, rows: Sequence[Mapping[str, Any]]
) -> Callable[[tuple[str, ...]], bool]:
    """Says of a place in an entry whether the items do not decide what stands there."""
    own = {metric.name: metric for metric in task.metrics}
    endless = {name for name, metric in own.items() if not all(map(math.isfinite, metric.limits))}
    lacking = {
        name: {bool(row["answer_sha256"]) for row in rows if row[name] is None}
        for name, metric in own.items()
        if metric.kind != "average"
    }
    # What an unanswered item can be at most, only the benchmark knows.
    estimated = {
        name
        for name, found in lacking.items()
        if (True in found or (found and name in endless)) and own[name].official is None
    }
    open_bounds = estimated | {
        name for name, found in lacking.items() if True in found or (found and endless)
    }
    for name, metric in own.items():
        if metric.kind == "average":
            parts = components(metric, own).shares
            open_bounds |= {name} if open_bounds.intersection(parts) else set()
            estimated |= {name} if estimated.intersection(parts) else set()
    open_intervals = {name for name in endless if own[name].kind == "mean"}
    for names in (open_bounds, open_intervals, estimated):
        names |= {own[name].whole for name in tuple(names) if own[name].whole}

    def unknown(place: tuple[str, ...]) -> bool:
        if len(place) < 3:
            return False
        leaf, name = place[-1], place[-2]
        known = (leaf in _BOUNDS and name in open_bounds) or (
            leaf in _INTERVAL and name in open_intervals
        )
        return known or (leaf in _ESTIMATE and name in estimated)

    return unknown


def _score(task: TaskSpec, row: Mapping[str, Any]) -> ItemScore:
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    for metric in task.metrics:
        if metric.kind == "average" or row[metric.name] is None:
            continue
        values[metric.name] = float(row[metric.name])
        if metric.kind == "ratio":
            weights[metric.name] = float(row[weight_column(metric.name)])
    return ItemScore(
        id=row["id"],
        values=values,
        weights=weights,
        unscored=row["unscored"],
        unclear=row["unclear"],
        limits=unclear_limits(task.metrics, values) if row["unclear"] else {},
    )


TOLERANCE: Final = 1e-9
Difference = tuple[tuple[str, ...], Any, Any]
"""Where, what the package says, what was computed here."""

_ABSENT: Final = object()


def same_value(said: Any, here: Any) -> bool:
    """Whether two single values are the same; `nan` is the same as `nan`, true is not 1."""
    if isinstance(said, bool) or isinstance(here, bool):
        return said is here
    if isinstance(said, int | float) and isinstance(here, int | float):
        if math.isnan(said) or math.isnan(here):
            return math.isnan(said) and math.isnan(here)
        return math.isclose(said, here, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(said == here)


def differences(said: Any, here: Any, place: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Yields the differences between two JSON values."""
    if isinstance(said, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys((*said, *here)):
            if name == "too_few":  # follows from the numbers, and older packages have none
                continue
            yield from differences(said.get(name, _ABSENT), here.get(name, _ABSENT), (*place, name))
    elif isinstance(said, list | tuple) and isinstance(here, list | tuple):
        if len(said) != len(here):
            yield place, said, here
            return
        for at, (one, other) in enumerate(zip(said, here, strict=True), start=1):
            yield from differences(one, other, (*place, str(at)))
    elif not same_value(said, here):
        yield place, said, here


def told(difference: Difference) -> str:
    """A difference in words; without any value that is more than a line of plain text."""
    where = ", ".join(
        part if part.isascii() and part.isprintable() else contents.shown(part)
        for part in difference[0]
    )
    said, here = (
        "nothing" if value is _ABSENT else contents.shown(value) for value in difference[1:]
    )
    return f"{where}: {said} in the package, {here} computed"
