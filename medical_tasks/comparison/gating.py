"""Gates: the rules of a policy file held against finished runs.

A rule is met or broken only where its interval says so: GO where the whole 95 % interval meets it, NO-GO where the whole interval,
widened for the number of rules (Bonferroni), breaks it, else INCONCLUSIVE. So a run that should not pass gets GO, and one that
should gets NO-GO, in at most 5 % of cases each, whatever the number of rules. Items without a score count as the worst for GO and
as the best for NO-GO.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.comparison.comparing import (
    NONE,
    Compared,
    Selection,
    compare_tasks,
    read_compared,
)
from medical_tasks.comparison.statistics import breakdown_names
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.files import read_text, readable
from medical_tasks.io.table import align
from medical_tasks.judges.checks import GENERAL, check_set_of, read_check, summary_of
from medical_tasks.runs.calibrating import SUFFIX, raw_name
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import FEWEST, NOT_COMPUTABLE, number
from medical_tasks.runs.recipes import differing, mapping, one_line
from medical_tasks.scoring.intervals import normal_quantile

GO, NO_GO, INCONCLUSIVE = "GO", "NO-GO", "INCONCLUSIVE"
_TAIL: Final = 0.025
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "at_least": frozenset({"metric", "by"}),
    "at_most": frozenset({"metric", "by"}),
    "margin": frozenset({"metric", "by", "against"}),
    "width_at_most": frozenset({"metric", "by"}),
    "coverage_at_least": frozenset(),
    "judge_kappa_at_least": frozenset({"check"}),
}
"""What a rule limits, and the words that go with it."""
_OPTIONAL: Final = frozenset({"by"})
_BY_WORDS: Final = "a judge by words: its numbers stand for nothing"
_WITHOUT_LIMIT: Final = "unscored items could change it without limit"
_EXAMPLE: Final = (
    'It is like: [[rule]] task = "medcalc", metric = "accuracy", at_least = 0.5, a line each.'
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of a policy."""

    kind: str
    limit: float
    task: str
    metric: str = ""
    by: str = NONE
    against: Path = Path()
    check: Path = Path()

    @property
    def said(self) -> str:
        """The rule in words."""
        what = " ".join(filter(None, (self.task, self.metric)))
        if self.kind == "margin":
            return f"{what} at most {self.limit:g} worse than {self.against}"
        return f"{what} {self.kind.replace('_', ' ')} {self.limit:g}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one run says of a rule, or of one group by it; a limit and an interval in the metric's own unit (shares 0 to 1)."""

    run: str
    rule: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    limit: float
    unit: str = ""
    at_most: bool = False
    verdict: str = INCONCLUSIVE
    reason: str = ""
    task: str = ""
    paper: tuple[str, ...] = ()  # whether the run is comparable with the task's paper, in words

    def decided(self, rules: int) -> Finding:
        """The same with its verdict, as one of so many rules."""
        if self.reason or self.value is None or self.low is None or self.high is None:
            return replace(self, reason=self.reason or "no figure")
        sign = -1.0 if self.at_most else 1.0
        value, limit = sign * self.value, sign * self.limit
        low, high = sorted((sign * self.low, sign * self.high))
        what = "the value" if low == high else "the whole interval"
        if low >= limit:
            return replace(self, verdict=GO, reason=f"{what} meets the rule")
        wider = normal_quantile(1.0 - _TAIL / rules) / normal_quantile(1.0 - _TAIL)
        if value + wider * (high - value) < limit:
            return replace(self, verdict=NO_GO, reason=f"{what} breaks the rule")
        return replace(self, reason="the interval leaves it open: more items decide")


def read_policy(path: Path) -> list[Rule]:
    """Reads a policy; anything that is no rule is named with its number."""
    with readable(path):
        try:
            content = tomllib.loads(read_text(path))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path}: not TOML ({error}). {_EXAMPLE}") from None
    rules = content.get("rule")
    if content.keys() - {"rule"} or not isinstance(rules, list) or not rules:
        raise UsageError(
            f"{path}: a policy is a list of [[rule]] tables and nothing else. {_EXAMPLE}"
        )
    return [
        _rule(entry, f"{path}: rule {place}", path.parent)
        for place, entry in enumerate(rules, start=1)
    ]


def _rule(entry: Any, place: str, folder: Path) -> Rule:
    kinds = [kind for kind in _KINDS if isinstance(entry, dict) and kind in entry]
    if len(kinds) != 1:
        raise UsageError(
            f"{place}: needs exactly one of {', '.join(_KINDS)}, has {', '.join(kinds) or 'none'}. {_EXAMPLE}"
        )
    (kind,) = kinds
    words = {"task", kind, *_KINDS[kind]}
    if unknown := sorted(entry.keys() - words):
        raise UsageError(
            f"{place}: takes no {unknown[0]} with {kind}.{did_you_mean(unknown[0], words)}"
        )
    if missing := sorted(words - _OPTIONAL - entry.keys()):
        raise UsageError(f"{place}: lacks {', '.join(missing)}. {_EXAMPLE}")
    limit = entry[kind]
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        raise UsageError(f"{place}: {kind} must be a number, got {limit!r}.")
    texts = {name: entry[name] for name in words - {kind} if name in entry}
    if wrong := next((name for name, value in texts.items() if not isinstance(value, str)), ""):
        raise UsageError(f"{place}: {wrong} must be a text, got {texts[wrong]!r}.")
    known = tasks()
    task = known.get(texts["task"])
    if task is None:
        raise UsageError(
            f"{place}: there is no task {texts['task']!r}.{did_you_mean(texts['task'], known)}"
        )
    known_metrics = {metric.name: metric for metric in task.metrics if not metric.part}
    corrected = {
        name + SUFFIX: each
        for name, each in known_metrics.items()
        if each.verdict not in ("", "several")
    }
    named = known_metrics | corrected
    if "metric" in texts and texts["metric"] not in named:
        raise UsageError(
            f"{place}: {task.name} has no metric {texts['metric']!r}.{did_you_mean(texts['metric'], named)}"
        )
    low, high = named[texts["metric"]].limits if "metric" in texts else (0.0, 1.0)
    low, high = (0.0, high - low) if kind in ("margin", "width_at_most") else (low, high)
    if not (low <= limit <= high and math.isfinite(limit)):
        share = " (50 % is 0.5)" if high == 1.0 else ""
        raise UsageError(f"{place}: {kind} must be from {low:g} to {high:g}{share}, got {limit!r}.")
    if "by" in texts and texts["metric"] in corrected:
        raise UsageError(
            f"{place}: {texts['metric']} has no breakdowns. Leave out by, or name the metric without {SUFFIX}."
        )
    if "by" in texts and texts["by"] not in breakdown_names(task):
        raise UsageError(
            f"{place}: {task.name} has the breakdowns {', '.join(breakdown_names(task))}, got {texts['by']!r}."
        )
    paths: dict[str, Any] = {
        name: folder / texts.pop(name) for name in ("against", "check") if name in texts
    }
    return Rule(kind=kind, limit=float(limit), **texts, **paths)


def gate(policy: Path, folders: Sequence[Path]) -> tuple[str, list[Finding]]:
    """Holds every run against every rule; the verdict is the worst of all findings."""
    rules = read_policy(policy)
    baselines = {
        rule.against: read_compared(rule.against) for rule in rules if rule.kind == "margin"
    }
    found = [
        finding
        for run in map(read_compared, dict.fromkeys(folders))
        for rule in rules
        for finding in _findings(rule, run, baselines.get(rule.against))
    ]
    decided = [finding.decided(len(found)) for finding in found]
    verdicts = {finding.verdict for finding in decided}
    return next(each for each in (NO_GO, INCONCLUSIVE, GO) if each in verdicts), decided


def _findings(rule: Rule, run: Compared, baseline: Compared | None) -> Iterator[Finding]:
    empty = Finding(
        run=run.label, rule=rule.said, group="", value=None, low=None, high=None, limit=rule.limit,
        at_most=rule.kind.endswith("at_most"), task=rule.task,
    )  # fmt: skip
    entry = run.results["tasks"].get(rule.task)
    if entry is None:
        yield replace(empty, reason="the run has no such task")
        return
    empty = replace(empty, paper=tuple(paper_lines(entry)))
    if any(
        "shard" in one.results["tasks"].get(rule.task, entry)["recipe"]
        for one in filter(None, (run, baseline))
    ):
        yield replace(empty, reason="a part of a run: merge the parts")
    elif rule.kind == "coverage_at_least":
        share = entry["coverage"]["scored"] / max(1, entry["coverage"]["asked"])
        yield replace(empty, value=share, low=share, high=share)
    elif rule.kind == "judge_kappa_at_least":
        yield _judge(rule, entry, empty)
    elif baseline is not None:
        yield from _worse(rule, run, baseline, empty)
    else:
        groups = {"": entry["metrics"]} if rule.by == NONE else entry["breakdown"].get(rule.by, {})
        for group, metrics in groups.items():
            yield _measured(rule, metrics.get(rule.metric), replace(empty, group=group), entry)
        if not groups:
            yield replace(empty, reason=f"the run has no groups by {rule.by}")


def _measured(
    rule: Rule, metric: Mapping[str, Any] | None, empty: Finding, entry: Mapping[str, Any]
) -> Finding:
    if metric is None:
        why = rule.metric.endswith("_official") and mapping(entry.get("paper")).get("official")
        return replace(empty, reason=str(why or "the run does not report it"))
    if metric["value"] is None or metric["ci_low"] is None:
        return replace(empty, reason=one_line(str(metric.get("reason") or "no figure")))
    metric = {
        **metric,
        **metric.get("sample", {}),
    }  # a score on all items of a set is certain, and of no others
    value, low, high = metric["value"], metric["ci_low"], metric["ci_high"]
    shown = replace(empty, value=value, low=low, high=high, unit=metric.get("unit", ""))
    if not metric.get("comparable", True):
        return replace(shown, reason=_BY_WORDS)
    if metric["n"] < FEWEST:
        return replace(shown, reason=f"too few to tell: {metric['n']} items")
    if rule.kind == "width_at_most":
        return replace(shown, value=high - low, low=high - low, high=high - low)
    if metric.get("bound_low") is None or metric.get("bound_high") is None:
        return replace(shown, reason=_WITHOUT_LIMIT)
    return replace(
        shown,
        low=low - max(0.0, value - metric["bound_low"]),
        high=high + max(0.0, metric["bound_high"] - value),
    )


def _worse(rule: Rule, run: Compared, baseline: Compared, empty: Finding) -> Iterator[Finding]:
    declared = {metric.name for metric in tasks()[rule.task].metrics}
    wanted = Selection(tasks=[rule.task], metrics=[raw_name(rule.metric, declared)], by=rule.by)
    made = compare_tasks(baseline, run, tasks(), selection=wanted)[rule.task]
    if made["refused"]:
        yield replace(empty, reason="; ".join(made["refused"]))
        return
    for group, metrics in (
        {"": made["metrics"]} if rule.by == NONE else made["breakdown"].get(rule.by, {})
    ).items():
        each = mapping(metrics.get(rule.metric))
        (less, more), (baseline_less, baseline_more) = (
            _open_ends(rule, one, group) for one in (run, baseline)
        )
        if not each and rule.metric.endswith(SUFFIX):
            left_out = (said for said in made["warnings"] if said.startswith(rule.metric))
            reason = next(left_out, "the runs do not both report it")
        elif (
            each.get("difference") is None or each["ci_low"] is None or each["n_clusters"] < FEWEST
        ):
            reason = "too few to tell"
        elif not each.get("comparable", True):
            reason = _BY_WORDS
        elif math.inf in (less, more, baseline_less, baseline_more):
            reason = _WITHOUT_LIMIT
        else:
            sign = 1.0 if each["higher_is_better"] else -1.0
            low, high = (
                each["ci_low"] - less - baseline_more,
                each["ci_high"] + more + baseline_less,
            )
            found = replace(
                empty, value=each["difference"], low=low, high=high, unit=each.get("unit", "")
            )
            yield replace(found, group=group, limit=-sign * rule.limit, at_most=sign < 0)
            continue
        yield replace(empty, group=group, reason=reason)


def _open_ends(rule: Rule, run: Compared, group: str) -> tuple[float, float]:
    """How far below and above its value a run's unscored items could bring it."""
    entry = run.results["tasks"][rule.task]
    metrics = (
        entry["metrics"]
        if rule.by == NONE
        else mapping(mapping(entry["breakdown"].get(rule.by)).get(group))
    )
    ends: list[Any] = [
        mapping(metrics.get(rule.metric)).get(name) for name in ("bound_low", "value", "bound_high")
    ]
    return (
        (math.inf, math.inf)
        if None in ends
        else (max(0.0, ends[1] - ends[0]), max(0.0, ends[2] - ends[1]))
    )


def _judge(rule: Rule, entry: Mapping[str, Any], empty: Finding) -> Finding:
    _, _, check = read_check(rule.check)
    kappa, asked, general = (
        summary_of(check)["kappa"],
        mapping(entry["recipe"].get("judge")),
        check["set"] in GENERAL,
    )
    keys = ("votes",) if general else ("votes", "mode", "prompts")
    checked = {
        "name": check["judge"]["name"],
        **check["judge"]["identity"],
        **{key: check[key] for key in keys},
    }
    if not general and check["set"] != check_set_of(tasks()[rule.task]):
        return replace(empty, reason=f"the check is on {check['set']}, pairs of another task")
    if (own := {key: asked.get(key) for key in checked}) != checked:
        other = f"the check is of another judge, or one asked otherwise: {differing(checked, own)}"
        return replace(empty, reason=other)
    return replace(
        empty, value=kappa["value"], low=kappa["ci_low"], high=kappa["ci_high"], unit="score"
    )


def shown(verdict: str, findings: Sequence[Finding]) -> tuple[str, dict[str, Any]]:
    """The findings as text, and for programs."""
    several = len({finding.run for finding in findings}) > 1
    header = ("run", "rule", "group", "verdict", "value", "95 % interval", "why")
    rows = [
        (
            one_line(each.run, 60), each.rule, one_line(each.group, 40), each.verdict, number(each.value, each.unit),
            NOT_COMPUTABLE if each.low is None else f"{number(each.low, each.unit)} to {number(each.high, each.unit)}",
            each.reason,
        )
        for each in findings
    ]  # fmt: skip
    columns = [place for place, name in enumerate(header) if (name != "run" or several)]
    lines = align(
        [header[place] for place in columns], [[row[place] for place in columns] for row in rows]
    )
    counts = ", ".join(
        f"{sum(each.verdict == name for each in findings)} {name}"
        for name in (GO, NO_GO, INCONCLUSIVE)
    )
    papers = dict.fromkeys(
        f"{one_line(each.run, 60)}, {each.task}: {line}" for each in findings for line in each.paper
    )
    return "\n".join([*lines, *papers, "", f"{verdict} ({counts})"]), {
        "verdict": verdict,
        "findings": [asdict(each) for each in findings],
    }
