"""Policies: the rules that a gate checks runs against, and the results that they apply to.

A policy is a TOML file:

    [tasks.medcalc]            # which results count; every line may be left out
    config = "v1.0"            # else the dataset's usual configuration
    split = "test"             # else the task's
    prompts = "own"            # or official, or unknown for answers from a file; else any
    least_items = 500          # else all items of the split, or a random sample of them (--subset)
    accept = ["generation"]    # how a run may differ from the one that a margin compares it with

    [[rule]]
    task = "medcalc"
    metric = "accuracy"
    at_least = 0.5             # or at_most; width_at_most, of the 95 % interval
    by = "category"            # applied to each group

    [[rule]]
    task = "medcalc"
    metric = "accuracy"
    at_least = 0.4
    by = "sex"                 # a column of a table of your own:
    strata = "sample.csv"      # a row an item (or a patient), named in its column id or item

    [[rule]]
    task = "medcalc"
    metric = "accuracy"
    against = "runs/old"       # a folder, seen from where the policy lies
    margin = 0.03              # at most so much worse than that run, item by item

    [[rule]]
    task = "kqa"
    coverage_at_least = 0.98   # the share of items that are scored

    [[rule]]
    task = "kqa"
    check = "checks/kqa/check.json"
    judge_kappa_at_least = 0.6
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.comparison.compared import NONE
from medical_tasks.comparison.statistics import breakdown_names
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.files import read_text, readable
from medical_tasks.runs.calibrating import SUFFIX
from medical_tasks.runs.recipes import (
    DIFFERENCES,
    mapping,
    one_line,
    recipe_differences,
)
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import MetricSpec, TaskSpec

__all__ = ["Policy", "Rule", "Scope", "read_policy"]

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "at_least": frozenset({"metric", "by", "strata"}),
    "at_most": frozenset({"metric", "by", "strata"}),
    "margin": frozenset({"metric", "by", "strata", "against"}),
    "width_at_most": frozenset({"metric", "by", "strata"}),
    "coverage_at_least": frozenset(),
    "judge_kappa_at_least": frozenset({"check"}),
}
"""What a rule limits, and the keys that go with it."""
PROMPTS: Final = ("own", "official", "unknown")
_OPTIONAL: Final = frozenset({"by", "strata"})
_MOST: Final = 1e6
"""The largest limit of a count: no answer has a million of anything."""
_ALWAYS_ALIKE: Final = frozenset({"interface", "suite", "claims"})
"""Differences of recipes that change no verdict, or that a finding already names."""
_EXAMPLE: Final = 'It is like: [[rule]] task = "medcalc", metric = "accuracy", at_least = 0.5, a line each.'


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The results of a task that a policy applies to.

    Attributes:
        task: the task.
        config: the configuration of its dataset.
        split: the split of the configuration.
        prompts: how the model was asked, one of `PROMPTS`; "" for any.
        least_items: how many items there must be; None for all of the split, or a
            sample of it.
        accept: kinds of differences (`recipes.Difference`) that are allowed between a run
            and the one it is compared with, since the decision is about them.
    """

    task: str
    config: str
    split: str
    prompts: str = ""
    least_items: int | None = None
    accept: frozenset[str] = frozenset()

    @property
    def description(self) -> str:
        """The scope in words."""
        least = "all" if self.least_items is None else f"at least {self.least_items:,}"
        prompts = f"{self.prompts} prompts" if self.prompts else "any prompts"
        parts = [
            f"configuration {self.config}",
            f"split {self.split}",
            prompts,
            f"{least} items",
        ]
        return f"{self.task}: {', '.join(parts)}"

    def mismatch(self, entry: Json, *, baseline: bool = False) -> str:
        """Says why the policy does not apply to a task's results; "" if it does.

        Args:
            entry: the task's entry in `results.json`.
            baseline: whether a run is only compared with them, so that they may come from
                a baseline.
        """
        recipe = entry["recipe"]
        data = mapping(recipe.get("data"))
        config = one_line(str(data.get("config")))
        split = one_line(str(data.get("split")))
        name = str(mapping(recipe.get("model")).get("name"))
        if name.startswith("baseline/") and not baseline:
            return f"{one_line(name)} is a baseline, not a model"

        if config != self.config:
            what = (
                "invented demonstration data"
                if config == "demo"
                else f"configuration {config}"
            )
            return f"{what}, while the policy is about {self.config} ([tasks.{self.task}] config)"

        if split != self.split:
            return f"split {split}, while the policy is about {self.split}"
        if "shard" in recipe:
            return "a part of a run: merge the parts"

        if recipe.get("max_samples") is not None:
            return (
                f"a quick look at {entry.get('n_items', 0):,} items (--max-samples), which "
                "represent no others: run all items, or a random sample (--subset)"
            )

        prompts = mapping(recipe.get("prompts")).get("set") or "unknown"
        if self.prompts not in ("", prompts):
            return f"{one_line(str(prompts))} prompts, while the policy is about {self.prompts}"

        items = entry.get("n_items", 0)
        if self.least_items is not None and items < self.least_items:
            return f"{items:,} items, while the policy needs {self.least_items:,}"

        return ""

    def unlike(self, run: Json, other: Json, task: TaskSpec) -> str:
        """Says why a run's results are not comparable with those of another; "" if they are."""
        differences = recipe_differences(
            self.task, other["recipe"], run["recipe"], metrics=task.metrics
        )
        decisive = [
            difference
            for difference in differences.warned
            if difference.kind not in _ALWAYS_ALIKE | self.accept
        ]
        if not decisive:
            return ""

        kinds = ", ".join(f'"{difference.kind}"' for difference in decisive)
        return (
            f"{decisive[0].text.rstrip('.')}. If the decision is about that, name it in the policy: "
            f"[tasks.{self.task}] accept = [{kinds}]"
        )


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of a policy.

    Attributes:
        kind: `at_least`, `margin` and so on.
        limit: the limit of the figure, in its own unit.
        task: the task.
        metric: the metric; "" for a rule on coverage or on a judge's check.
        by: the breakdown whose groups are each checked.
        against: the folder of the run that a `margin` compares with.
        check: the file of a judge's check.
        strata: the table with the groups of `by`; None if the task has them.
    """

    kind: str
    limit: float
    task: str
    metric: str = ""
    by: str = NONE
    against: Path = Path()
    check: Path = Path()
    strata: Path | None = None

    @property
    def description(self) -> str:
        """The rule in words."""
        what = " ".join(filter(None, (self.task, self.metric)))
        if self.kind == "margin":
            return f"{what} at most {self.limit:g} worse than {self.against}"
        return f"{what} {self.kind.replace('_', ' ')} {self.limit:g}"


@dataclass(frozen=True)
class Policy:
    """The rules, and the scope of each task that they name."""

    rules: Sequence[Rule]
    scopes: Mapping[str, Scope]


def read_policy(path: Path) -> Policy:
    """Reads a policy.

    Raises:
        UsageError: a part of the file is not a rule, or a rule decides nothing; the message
            names the rule by its number.
    """
    with readable(path):
        try:
            content = tomllib.loads(read_text(path))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path}: not TOML ({error}). {_EXAMPLE}") from None
        except RecursionError:
            raise UsageError(f"{path}: nested too deeply. {_EXAMPLE}") from None

    entries = content.get("rule")
    if (
        content.keys() - {"rule", "tasks"}
        or not isinstance(entries, list)
        or not entries
    ):
        raise UsageError(
            f"{path}: a policy is a list of [[rule]] tables, with optional [tasks.NAME] tables, "
            f"and nothing else. {_EXAMPLE}"
        )

    rules = [
        _rule(entry, f"{path}: rule {number}", path.parent)
        for number, entry in enumerate(entries, start=1)
    ]
    tables = content.get("tasks", {})
    if not isinstance(tables, dict):
        raise UsageError(
            f"{path}: tasks must be tables such as [tasks.medcalc], got {tables!r}."
        )

    task_names = dict.fromkeys(rule.task for rule in rules)
    if unused := sorted(tables.keys() - task_names):
        raise UsageError(
            f"{path}: no rule is about [tasks.{unused[0]}].{did_you_mean(unused[0], task_names)}"
        )

    scopes = {
        name: _scope(name, tables.get(name, {}), f"{path}: [tasks.{name}]")
        for name in task_names
    }
    return Policy(rules, scopes)


def _scope(name: str, table: object, where: str) -> Scope:
    """Reads a [tasks.NAME] table; the task decides the keys that it omits."""
    task = tasks()[name]
    dataset = dataset_spec(task.dataset)
    words = {
        "config": str,
        "split": str,
        "prompts": str,
        "least_items": int,
        "accept": list,
    }
    if not isinstance(table, dict):
        raise UsageError(f"{where}: must be a table, got {table!r}.")

    for word, value in table.items():
        if word not in words:
            raise UsageError(f"{where}: has no key {word}.{did_you_mean(word, words)}")
        if not isinstance(value, words[word]) or isinstance(value, bool):
            raise UsageError(f"{where}: {word} has the wrong type, got {value!r}.")

    config, prompts = (
        table.get("config", dataset.default_config),
        table.get("prompts", ""),
    )
    if config not in dataset.configs:
        raise UsageError(
            f"{where}: {dataset.name} has the configurations {', '.join(dataset.configs)}, "
            f"got {config!r}."
        )

    if prompts not in ("", *PROMPTS):
        raise UsageError(
            f"{where}: prompts must be one of {', '.join(PROMPTS)}, got {prompts!r}."
        )

    least = table.get("least_items")
    if least is not None and least < 1:
        raise UsageError(f"{where}: least_items must be at least 1, got {least}.")

    kinds = DIFFERENCES.keys()
    accept = table.get("accept", [])
    if unknown := [kind for kind in accept if kind not in kinds]:
        raise UsageError(
            f"{where}: accept lists kinds of differences such as prompts, generation, judge; "
            f"got {unknown[0]!r}.{did_you_mean(str(unknown[0]), kinds)}"
        )

    return Scope(
        task=name,
        config=config,
        split=table.get("split", task.split),
        prompts=prompts,
        least_items=least,
        accept=frozenset(accept),
    )


def _rule(entry: Any, where: str, folder: Path) -> Rule:
    """Reads one rule; its paths are relative to the policy's folder.

    Args:
        entry: the [[rule]] table.
        where: file and number of the rule, for messages.
        folder: the folder of the policy.
    """
    kind, words = _kind(entry, where)
    limit = entry[kind]
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        raise UsageError(f"{where}: {kind} must be a number, got {limit!r}.")

    texts = {name: entry[name] for name in words - {kind} if name in entry}
    if wrong := next(
        (name for name, value in texts.items() if not isinstance(value, str)), ""
    ):
        raise UsageError(f"{where}: {wrong} must be a text, got {texts[wrong]!r}.")

    registered = tasks()
    task = registered.get(texts["task"])
    if task is None:
        raise UsageError(
            f"{where}: there is no task {texts['task']!r}.{did_you_mean(texts['task'], registered)}"
        )

    metric = _metric(task, texts["metric"], where) if "metric" in texts else None
    _check_limit(kind, float(limit), metric, where)
    if "strata" in texts and "by" not in texts:
        raise UsageError(f"{where}: strata needs by, the column that has the groups.")

    if "by" in texts:
        own = "strata" in texts
        _check_breakdown(task, texts["metric"], texts["by"], where, own_table=own)

    paths: JsonDict = {
        name: folder / texts.pop(name)
        for name in ("against", "check", "strata")
        if name in texts
    }
    return Rule(kind=kind, limit=float(limit), **texts, **paths)


def _kind(entry: Any, where: str) -> tuple[str, frozenset[str]]:
    """Returns what a rule limits, and all keys that it may have.

    Example:
        >>> kind, words = _kind({"task": "kqa", "coverage_at_least": 0.98}, "rule 1")
        >>> kind, sorted(words)
        ('coverage_at_least', ['coverage_at_least', 'task'])
    """
    kinds = [kind for kind in KINDS if isinstance(entry, dict) and kind in entry]
    if len(kinds) != 1:
        raise UsageError(
            f"{where}: needs exactly one of {', '.join(KINDS)}, "
            f"has {', '.join(kinds) or 'none'}. {_EXAMPLE}"
        )

    (kind,) = kinds
    words = frozenset({"task", kind, *KINDS[kind]})
    if unknown := sorted(entry.keys() - words):
        raise UsageError(
            f"{where}: {unknown[0]} is not allowed with {kind}.{did_you_mean(unknown[0], words)}"
        )

    if missing := sorted(words - _OPTIONAL - entry.keys()):
        raise UsageError(f"{where}: lacks {', '.join(missing)}. {_EXAMPLE}")

    return kind, words


def _metric(task: TaskSpec, name: str, where: str) -> MetricSpec:
    """Finds a task's metric by its name, or by that of its corrected metric."""
    by_name = {metric.name: metric for metric in task.metrics if not metric.part}
    corrected = {
        metric.name + SUFFIX: metric
        for metric in by_name.values()
        if metric.verdict not in ("", "several")
    }
    if name not in by_name and name not in corrected:
        hint = did_you_mean(name, {**by_name, **corrected})
        raise UsageError(f"{where}: {task.name} has no metric {name!r}.{hint}")

    return by_name.get(name) or corrected[name]


def _check_breakdown(
    task: TaskSpec, metric: str, by: str, where: str, *, own_table: bool
) -> None:
    """Refuses a `by` that the task does not have, or one for a corrected metric."""
    if by not in breakdown_names(task) and not own_table:
        raise UsageError(
            f"{where}: {task.name} has the breakdowns {', '.join(breakdown_names(task))}, "
            f"got {by!r}. For groups of your own name their table: strata = FILE."
        )

    if by in breakdown_names(task) and own_table:
        raise UsageError(
            f"{where}: {task.name} has a breakdown {by} itself. Leave out strata, or give the "
            "column of the table another name."
        )

    if all(metric != candidate.name for candidate in task.metrics):
        raise UsageError(
            f"{where}: {metric} has no breakdowns. Leave out by, or name the metric without "
            f"{SUFFIX}."
        )


def _check_limit(
    kind: str, limit: float, metric: MetricSpec | None, where: str
) -> None:
    """Refuses limits that are outside the scale, that no run could break, or that none could meet.

    Example:
        Of accuracy, a share: `at_least = 80` is outside the scale (80 % is 0.8);
        `at_least = 0` could not be broken; `at_least = 1` could not be met, as even the
        interval of a perfect run begins below it; `at_most = 0.9` passes the worst runs.
    """
    low, high = metric.limits if metric is not None else (0.0, 1.0)
    if kind in ("margin", "width_at_most"):
        low, high = 0.0, high - low

    high = min(high, _MOST)
    share = " (50 % is 0.5)" if high == 1.0 else ""
    if not (low <= limit <= high and math.isfinite(limit)):
        raise UsageError(
            f"{where}: {kind} must be from {low:g} to {high:g}{share}, got {limit!r}."
        )

    least = kind.endswith("at_least")
    # A judge can do worse than by chance.
    if limit == (low if least else high) and kind != "judge_kappa_at_least":
        raise UsageError(
            f"{where}: no run could break {kind} = {limit:g}, as the scale is from {low:g} to "
            f"{high:g}{share}. Set the limit that a run must keep, or leave out the rule."
        )

    unreachable = {"at_least": high, "at_most": low, "width_at_most": low}
    if limit == unreachable.get(kind):
        outcome = (
            "is wider than that" if kind == "width_at_most" else "stops short of it"
        )
        raise UsageError(
            f"{where}: no run could meet {kind} = {limit:g}: the 95 % interval of even a perfect "
            f"run {outcome}. Allow for it: 99 % is 0.99."
        )

    wrong_way = {"at_least": False, "at_most": True}.get(kind)
    if (
        metric is not None
        and metric.unit != "number"
        and metric.higher_is_better is wrong_way
    ):
        other = "at_most" if least else "at_least"
        better = "higher" if metric.higher_is_better else "lower"
        raise UsageError(
            f"{where}: {metric.name} is better when it is {better}, so {kind} = {limit:g} "
            f"passes the worst runs. Was {other} meant?"
        )
