"""Gates: the rules of a policy (`policies`) held against finished runs.

A rule is met or broken only where its interval says so: GO where the whole 95 % interval meets it,
NO-GO where the whole interval, widened for the number of rules (Bonferroni), breaks it, else
INCONCLUSIVE. Items without a score count as the worst for GO and as the best for NO-GO. Results
that are not what the policy is about decide nothing. Each GO comes with how often it would be wrong
for runs of this size that stand exactly on the limit (`gate_risk`); above 5.5 % there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from medical_tasks.catalog import tasks
from medical_tasks.comparison.compared import (
    NONE,
    Compared,
    Selection,
    read_compared,
    rows_by_task,
    shared_rows,
)
from medical_tasks.comparison.comparing import compare_tasks
from medical_tasks.comparison.gate_risk import (
    FEWEST_SIMULATED,
    MOST,
    Limit,
    Risk,
    risk_of_difference,
    risk_of_value,
)
from medical_tasks.comparison.policies import Policy, Rule, Scope
from medical_tasks.comparison.statistics import Columns, columns_of
from medical_tasks.errors import UsageError
from medical_tasks.io.table import align
from medical_tasks.judges.checks import GENERAL, check_set_of, read_check, summary_of
from medical_tasks.runs.calibrating import SUFFIX, raw_name
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import FEWEST, NOT_COMPUTABLE, number
from medical_tasks.runs.recipes import differing, mapping, one_line
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    groups_of,
)
from medical_tasks.scoring.intervals import normal_quantile
from medical_tasks.spec import MetricSpec

GO, NO_GO, INCONCLUSIVE = "GO", "NO-GO", "INCONCLUSIVE"
_HEADER: Final = ("run", "rule", "group", "verdict", "value", "95 % interval", "wrong GO", "why")
_TAIL: Final = 0.025
_ROUNDED: Final = 1e-6
_BY_WORDS: Final = "a judge by words: its numbers stand for nothing"
_WITHOUT_LIMIT: Final = "unscored items could change it without limit"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one run says of a rule, or of one group by it.

    Attributes:
        run: the run's label.
        rule: the rule in words.
        group: of the breakdown that the rule names; "" for all items.
        value: the figure, in the metric's own unit (shares 0 to 1), as are interval and limit.
        low: the lower end of what it may be, unscored items included.
        high: the upper end.
        limit: what the rule sets.
        unit: of the metric.
        at_most: whether the limit is one from above.
        risk: how often runs of this size on the limit would get GO; None where nobody knows.
        verdict: GO, NO-GO or INCONCLUSIVE.
        reason: of the verdict.
        task: the task of the rule.
        paper: whether the run is comparable with the task's paper, in words.
    """

    run: str
    rule: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    limit: float
    unit: str = ""
    at_most: bool = False
    risk: Risk | None = None
    verdict: str = INCONCLUSIVE
    reason: str = ""
    task: str = ""
    paper: tuple[str, ...] = ()

    def decided(self, rules: int) -> Finding:
        """The same with its verdict, as one of so many rules."""
        if self.reason or self.value is None or self.low is None or self.high is None:
            return replace(self, reason=self.reason or "no figure")
        sign = -1.0 if self.at_most else 1.0
        value, limit = sign * self.value, sign * self.limit
        low, high = sorted((sign * self.low, sign * self.high))
        what = "the value" if low == high else "the whole interval"
        if low >= limit:
            if self.risk is not None and self.risk.share > MOST:
                return replace(
                    self, reason=f"too few items for this limit: on it, {self.risk.said}"
                )
            return replace(self, verdict=GO, reason=f"{what} meets the rule")
        wider = normal_quantile(1.0 - _TAIL / rules) / normal_quantile(1.0 - _TAIL)
        if value + wider * (high - value) < limit:
            return replace(self, verdict=NO_GO, reason=f"{what} breaks the rule")
        return replace(self, reason="the interval leaves it open: more items decide")


def gate(policy: Policy, folders: Sequence[Path]) -> tuple[str, list[Finding]]:
    """Holds every run against every rule; the verdict is the worst of all findings.

    Raises:
        UsageError: the policy holds a run against itself.
    """
    baselines = {
        rule.against: read_compared(rule.against) for rule in policy.rules if rule.kind == "margin"
    }
    runs = [read_compared(folder) for folder in dict.fromkeys(folders)]
    for rule in policy.rules:
        for run in runs:
            _check_apart(rule, run, baselines.get(rule.against))
    found = [
        finding
        for run in runs
        for rule in policy.rules
        for finding in _findings(rule, policy.scopes[rule.task], run, baselines.get(rule.against))
    ]
    decided = [finding.decided(len(found)) for finding in found]
    verdicts = {finding.verdict for finding in decided}
    return next(each for each in (NO_GO, INCONCLUSIVE, GO) if each in verdicts), decided


def _check_apart(rule: Rule, run: Compared, baseline: Compared | None) -> None:
    """Refuses to hold a run against itself, or against a copy: no margin could be broken."""
    if baseline is None:
        return
    digest = run.results.get("items_sha256")
    if digest is not None and digest == baseline.results.get("items_sha256"):
        raise UsageError(
            f"{run.label} is held against itself: {rule.against} has the same items with the "
            "same scores. Name the earlier run in against."
        )


def _findings(
    rule: Rule, scope: Scope, run: Compared, baseline: Compared | None
) -> Iterator[Finding]:
    empty = Finding(
        run=run.label,
        rule=rule.said,
        group="",
        value=None,
        low=None,
        high=None,
        limit=rule.limit,
        at_most=rule.kind.endswith("at_most"),
        task=rule.task,
    )
    entry = run.results["tasks"].get(rule.task)
    if entry is None:
        yield replace(empty, reason="the run has no such task")
        return
    empty = replace(empty, paper=tuple(paper_lines(entry)))
    if reason := scope.mismatch(entry) or _unlike(scope, entry, baseline):
        yield replace(empty, reason=reason)
    elif rule.kind == "coverage_at_least":
        counts = mapping(entry.get("coverage"))
        share = counts.get("scored", 0) / max(1, counts.get("asked", 0))
        judge = mapping(entry["recipe"].get("judge"))
        reason = _BY_WORDS if judge and not judge.get("comparable", True) else ""
        yield replace(empty, value=share, low=share, high=share, reason=reason)
    elif rule.kind == "judge_kappa_at_least":
        yield _judge(rule, entry, empty)
    elif baseline is not None:
        yield from _worse(rule, run, baseline, empty)
    else:
        groups = (
            {"": mapping(entry.get("metrics"))}
            if rule.by == NONE
            else mapping(entry.get("breakdown")).get(rule.by, {})
        )
        for group, metrics in groups.items():
            whole = replace(empty, group=group)
            found = _measured(rule, metrics.get(rule.metric), whole, entry)
            yield _with_risk(rule, run, None, found)
        if not groups:
            yield replace(empty, reason=f"the run has no groups by {rule.by}")


def _unlike(scope: Scope, entry: Json, baseline: Compared | None) -> str:
    """Why the run that a margin is held against measures something else; "" where it does not."""
    if baseline is None:
        return ""
    other = baseline.results["tasks"].get(scope.task)
    if other is None:
        return f"{baseline.label} has no such task"
    mismatch = scope.mismatch(other, baseline=True)
    if mismatch:
        return f"{baseline.label}: {mismatch}"
    return scope.unlike(entry, other, tasks()[scope.task])


def _with_risk(rule: Rule, run: Compared, baseline: Compared | None, finding: Finding) -> Finding:
    """A finding with how often a run of this size on the limit would get GO, where that is known.

    Corrected scores have an error of their labels too, and a sample that of the draw; the width of
    an interval has no true value. Of groups, which may be many, it is worked out where one passes.
    """
    task = tasks()[rule.task]
    metric = next((each for each in task.metrics if each.name == rule.metric), None)
    if finding.reason or metric is None or rule.kind == "width_at_most":
        return finding
    columns = _columns(rule, metric, run, baseline, finding.group)
    sampled = "subset" in run.results["tasks"][rule.task]["recipe"]
    if baseline is None and not sampled and _contradicted(columns, finding):
        problem = (
            "the value or its interval is not what items.parquet says: score the answers again"
        )
        return replace(finding, reason=problem)
    items = len(columns.second[0])
    independent = items if columns.clusters is None else len(set(columns.clusters))
    if independent < FEWEST:
        return replace(finding, reason=f"too few to tell: {independent} that are independent")
    limit = Limit(finding.limit, at_most=finding.at_most)
    meets = limit.met(*sorted((finding.low or 0.0, finding.high or 0.0)))
    risk = None
    if not sampled and (meets or rule.by == NONE):
        estimate = risk_of_value if baseline is None else risk_of_difference
        risk = estimate(columns, limit)
    if meets and items < FEWEST_SIMULATED and not (risk is not None and risk.exact):
        few = f"too few to tell: {items} items, {FEWEST_SIMULATED} are needed"
        return replace(finding, reason=few)
    return replace(finding, risk=risk)


def _contradicted(columns: Columns, found: Finding) -> bool:
    """Whether a value is not that of its items, or lies outside its interval: it was changed.

    Only where every item is decided, since a value estimates what is missing.
    """
    if found.value is None or found.low is None or found.high is None:
        return False
    if not found.low - _ROUNDED <= found.value <= found.high + _ROUNDED:
        return True
    sums = np.stack(columns.second).sum(axis=1)
    if len(sums) != 2 or not np.isfinite(sums).all() or not sums[1]:
        return False
    return not math.isclose(sums[0] / sums[1], found.value, rel_tol=_ROUNDED, abs_tol=_ROUNDED)


def _columns(
    rule: Rule, metric: MetricSpec, run: Compared, baseline: Compared | None, group: str
) -> Columns:
    """The columns of a metric in the items of a group: the run's, beside those it is held against."""
    task = tasks()[rule.task]
    own = rows_by_task(run).get(rule.task, {})
    other = own if baseline is None else rows_by_task(baseline).get(rule.task, {})
    first, second = shared_rows(other, own)
    if rule.by != NONE:
        known = run.results["tasks"][rule.task]["breakdown"].get(rule.by, {})
        kept = [
            place
            for place, row in enumerate(second)
            if group in groups_of(str(row.get(f"group_{rule.by}")), known)
        ]
        first, second = [first[place] for place in kept], [second[place] for place in kept]
    clusters = [row.get("cluster") for row in second] if task.cluster is not None else None
    return columns_of(metric, {each.name: each for each in task.metrics}, first, second, clusters)


def _measured(rule: Rule, metric: Json | None, empty: Finding, entry: Json) -> Finding:
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
    if metric.get("bound_low") is None or metric.get("bound_high") is None:
        return replace(shown, reason=_WITHOUT_LIMIT)
    low -= max(0.0, value - metric["bound_low"])
    high += max(0.0, metric["bound_high"] - value)
    if rule.kind == "width_at_most":
        return replace(shown, value=high - low, low=high - low, high=high - low)
    return replace(shown, low=low, high=high)


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
            found = replace(found, group=group, limit=-sign * rule.limit, at_most=sign < 0)
            yield _with_risk(rule, run, baseline, found)
            continue
        yield replace(empty, group=group, reason=reason)


def _open_ends(rule: Rule, run: Compared, group: str) -> tuple[float, float]:
    """How far below and above its value a run's unscored items could bring it."""
    entry = run.results["tasks"][rule.task]
    metrics = (
        entry["metrics"]
        if rule.by == NONE
        else mapping(mapping(mapping(entry.get("breakdown")).get(rule.by)).get(group))
    )
    ends: list[Any] = [
        mapping(metrics.get(rule.metric)).get(name) for name in ("bound_low", "value", "bound_high")
    ]
    return (
        (math.inf, math.inf)
        if None in ends
        else (max(0.0, ends[1] - ends[0]), max(0.0, ends[2] - ends[1]))
    )


def _judge(rule: Rule, entry: Json, empty: Finding) -> Finding:
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


def shown(verdict: str, findings: Sequence[Finding], policy: Policy) -> tuple[str, JsonDict]:
    """The findings as text, and for programs."""
    rows = [_row(each) for each in findings]
    first = 0 if len({finding.run for finding in findings}) > 1 else 1
    lines = align(_HEADER[first:], [row[first:] for row in rows])
    numbers = Counter(finding.verdict for finding in findings)
    counts = ", ".join(f"{numbers[name]} {name}" for name in (GO, NO_GO, INCONCLUSIVE))
    notes = [f"This policy decides about {scope.said}." for scope in policy.scopes.values()]
    if any(each.risk is not None for each in findings):
        notes.append(
            "wrong GO: the share of runs of this size, with a true value exactly on the limit, "
            "that would get GO (~ simulated from this run's items)."
        )
    notes += dict.fromkeys(
        f"{one_line(each.run, 60)}, {each.task}: {line}" for each in findings for line in each.paper
    )
    content = {
        "verdict": verdict,
        "scopes": {name: _scope_told(scope) for name, scope in policy.scopes.items()},
        "findings": [asdict(each) for each in findings],
    }
    return "\n".join([*lines, "", *notes, "", f"{verdict} ({counts})"]), content


def _row(each: Finding) -> tuple[str, ...]:
    """A finding as a row of the table."""
    ends = [number(end, each.unit) for end in (each.low, each.high)]
    risk = ""
    if each.risk is not None:
        risk = f"{'' if each.risk.exact else '~'}{100 * each.risk.share:.1f} %"
    return (
        one_line(each.run, 60),
        each.rule,
        one_line(each.group, 40),
        each.verdict,
        number(each.value, each.unit),
        NOT_COMPUTABLE if each.low is None else " to ".join(ends),
        risk,
        each.reason,
    )


def _scope_told(scope: Scope) -> JsonDict:
    """A scope as JSON values."""
    return {**asdict(scope), "accept": sorted(scope.accept)}
