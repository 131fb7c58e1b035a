"""Gates: checks finished runs against the rules of a policy (`policies`).

The interval decides whether a rule is met or broken: GO if the whole 95 % interval meets it,
NO-GO if the whole interval, widened for the number of rules (Bonferroni), breaks it, and
INCONCLUSIVE otherwise. Items without a score count as the worst for GO and as the best for
NO-GO. Results outside the policy's scope decide nothing. Each GO is reported with the
probability that it is wrong, for runs of this size exactly at the limit (`gate_risk`); above
5.5 % there is no GO.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

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
from medical_tasks.comparison.strata import read_strata, stratified, with_stratum
from medical_tasks.errors import UsageError
from medical_tasks.io.table import align
from medical_tasks.judges.checks import (
    GENERAL,
    asked_of,
    check_set_of,
    read_check,
    summary_of,
)
from medical_tasks.runs.calibrating import SUFFIX, raw_name
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import FEWEST, NOT_COMPUTABLE, number
from medical_tasks.runs.recipes import differing, mapping, one_line
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    TaskEntry,
    groups_of,
)
from medical_tasks.scoring.intervals import normal_quantile
from medical_tasks.spec import MetricSpec, TaskSpec

GO, NO_GO, INCONCLUSIVE = "GO", "NO-GO", "INCONCLUSIVE"
_HEADER: Final = (
    "run",
    "rule",
    "group",
    "verdict",
    "value",
    "95 % interval",
    "wrong GO",
    "why",
)
_TAIL: Final = 0.025
_ROUNDED: Final = 1e-6
BY_WORDS: Final = "a judge by words: its numbers stand for nothing"
"""A reason why a finding decides nothing."""
_CHANGED: Final = (
    "the value or its interval is not what items.parquet says: score the answers again"
)
_WITHOUT_LIMIT: Final = "unscored items could change it without limit"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of checking one run, or one group of it, against a rule.

    Attributes:
        run: the run's label.
        rule: the rule in words.
        group: a group of the rule's breakdown; "" for all items.
        value: the figure, in the metric's own unit (shares 0 to 1), like the interval and
            the limit.
        low: the lower end of the interval, unscored items included.
        high: the upper end.
        limit: the rule's limit.
        unit: the metric's unit.
        at_most: whether the limit is an upper one.
        risk: how often runs of this size at the limit would get GO; None if unknown.
        verdict: GO, NO-GO or INCONCLUSIVE.
        reason: the reason for the verdict.
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
        """Returns the finding with its verdict, as one of this number of rules.

        Example: at least 80 % must be right. An interval from 82 to 90 % is GO, one from 60
            to 75 % NO-GO, and one from 78 to 88 % inconclusive. With several rules a NO-GO
            needs more evidence: intervals are wider, so that one of twenty rules is not
            broken by chance.
        """
        if self.reason or self.value is None or self.low is None or self.high is None:
            return replace(self, reason=self.reason or "no figure")

        sign = -1.0 if self.at_most else 1.0
        value, limit = sign * self.value, sign * self.limit
        low, high = sorted((sign * self.low, sign * self.high))
        what = "the value" if low == high else "the whole interval"
        if low >= limit:
            if self.risk is not None and self.risk.share > MOST:
                return replace(
                    self,
                    reason=f"too few items for this limit: on it, {self.risk.description}",
                )

            return replace(self, verdict=GO, reason=f"{what} meets the rule")

        wider = normal_quantile(1.0 - _TAIL / rules) / normal_quantile(1.0 - _TAIL)
        if value + wider * (high - value) < limit:
            return replace(self, verdict=NO_GO, reason=f"{what} breaks the rule")

        return replace(self, reason="the interval leaves it open: more items decide")


def gate(policy: Policy, folders: Sequence[Path]) -> tuple[str, list[Finding]]:
    """Checks every run against every rule; the verdict is the worst of all findings.

    Raises:
        UsageError: the policy compares a run with itself.
    """
    baselines = {
        rule.against: read_compared(rule.against)
        for rule in policy.rules
        if rule.kind == "margin"
    }
    runs = [read_compared(folder) for folder in dict.fromkeys(folders)]
    for rule in policy.rules:
        for run in runs:
            _check_apart(rule, run, baselines.get(rule.against))

    findings = [
        finding
        for run in runs
        for rule in policy.rules
        for finding in _make_check(
            rule, policy.scopes[rule.task], run, baselines.get(rule.against)
        ).findings()
    ]
    decided = [finding.decided(len(findings)) for finding in findings]
    verdicts = {finding.verdict for finding in decided}

    return next(
        verdict for verdict in (NO_GO, INCONCLUSIVE, GO) if verdict in verdicts
    ), decided


def _check_apart(rule: Rule, run: Compared, baseline: Compared | None) -> None:
    """Refuses to compare a run with itself or a copy, which could break no margin."""
    if baseline is None:
        return
    digest = run.results.get("items_sha256")
    if digest is not None and digest == baseline.results.get("items_sha256"):
        raise UsageError(
            f"{run.label} is compared with itself: {rule.against} has the same items with the "
            "same scores. Name the earlier run in against."
        )


def _make_check(
    rule: Rule, scope: Scope, run: Compared, baseline: Compared | None
) -> _Check:
    """Prepares the check of a rule on a run, both broken down by the rule's table if it has one."""
    task = tasks()[rule.task]
    if rule.strata is not None:
        groups = read_strata(rule.strata, rule.by)
        task = with_stratum(task, rule.by)
        run = stratified(run, task, rule.by, groups)
        if baseline is not None:
            baseline = stratified(baseline, task, rule.by, groups)
    return _Check(rule, scope, run, baseline, task)


@dataclass(frozen=True)
class _Check:
    """The check of a rule on a run, for a margin compared with a baseline.

    Attributes:
        rule: the rule.
        scope: the results that the policy applies to.
        run: the results that must meet the rule.
        baseline: the run that the rule names in `against`, or None.
        task: the rule's task, with the breakdown of its table.
    """

    rule: Rule
    scope: Scope
    run: Compared
    baseline: Compared | None
    task: TaskSpec

    def findings(self) -> Iterator[Finding]:
        """Yields the finding, or one for each group if the rule names a breakdown."""
        rule, baseline = self.rule, self.baseline
        finding = Finding(
            run=self.run.label,
            rule=rule.description,
            group="",
            value=None,
            low=None,
            high=None,
            limit=rule.limit,
            at_most=rule.kind.endswith("at_most"),
            task=rule.task,
        )
        entry = self.run.results["tasks"].get(rule.task)
        if entry is None:
            yield replace(finding, reason="the run has no such task")
            return

        finding = replace(finding, paper=tuple(paper_lines(entry)))
        if reason := self.scope.mismatch(entry) or self._unlike(entry):
            yield replace(finding, reason=reason)
        elif rule.kind == "coverage_at_least":
            yield _coverage_finding(entry, finding)
        elif rule.kind == "judge_kappa_at_least":
            yield _judge_finding(rule, entry, finding)
        elif baseline is not None:
            yield from self._worse(baseline, finding)
        else:
            groups = self._groups(self.run)
            for group, metrics in groups.items():
                of_group = replace(finding, group=group)
                yield self._with_risk(
                    _figure_finding(rule, metrics.get(rule.metric), of_group, entry)
                )

            if not groups:
                yield replace(finding, reason=f"the run has no groups by {rule.by}")

    def _groups(self, run: Compared) -> Mapping[str, Json]:
        """Returns the figures of each group; without a breakdown, those of all items by ""."""
        entry = run.results["tasks"][self.rule.task]
        if self.rule.by == NONE:
            return {"": mapping(entry.get("metrics"))}
        return mapping(mapping(entry.get("breakdown")).get(self.rule.by))

    def _unlike(self, entry: Json) -> str:
        """Says why a margin's baseline measures something else; "" if it does not."""
        if self.baseline is None:
            return ""

        label = self.baseline.label
        other = self.baseline.results["tasks"].get(self.scope.task)
        if other is None:
            return f"{label} has no such task"

        mismatch = self.scope.mismatch(other, baseline=True)
        if mismatch:
            return f"{label}: {mismatch}"

        return self.scope.unlike(entry, other, tasks()[self.scope.task])

    def _worse(self, baseline: Compared, finding: Finding) -> Iterator[Finding]:
        """Yields how much worse the run is than the baseline, item by item.

        Yields one finding, or one for each group of the rule's breakdown. A corrected metric
        that the comparison left out gets the reason.
        """
        rule, name = self.rule, self.rule.metric
        declared = {metric.name for metric in self.task.metrics}
        selection = Selection(
            tasks=[rule.task], metrics=[raw_name(name, declared)], by=rule.by
        )
        tasks_with_stratum = {**tasks(), rule.task: self.task}
        comparison = compare_tasks(
            baseline, self.run, tasks_with_stratum, selection=selection
        )[rule.task]
        if comparison["refused"]:
            yield replace(finding, reason="; ".join(comparison["refused"]))
            return

        groups = {"": comparison["metrics"]}
        if rule.by != NONE:
            groups = comparison["breakdown"].get(rule.by, {})

        for group, metrics in groups.items():
            of_group = replace(finding, group=group)
            if name not in metrics and name.endswith(SUFFIX):
                warnings = (
                    text for text in comparison["warnings"] if text.startswith(name)
                )
                own = mapping(self._groups(self.run).get(group)).get(name)
                why = mapping(own).get("reason") or "the runs do not both report it"
                reason = next(warnings, one_line(str(why), 300))
                yield replace(of_group, reason=reason)
            else:
                yield self._difference(baseline, mapping(metrics.get(name)), of_group)

    def _difference(
        self, baseline: Compared, difference: Json, finding: Finding
    ) -> Finding:
        """Makes the finding of a difference, widened by the unscored items of both runs.

        Example:
            `margin = 0.03` on accuracy: the difference, run minus baseline, must be at least
            -0.03. It is -1 point (-2.5 to 0.5); unscored items could lower the run by 0.4
            points and raise the baseline by 0.3, so that the interval begins at -3.2 points:
            the rule is open. If lower is better, the difference must be at most 0.03.
        """
        numbers = (difference.get("difference"), difference.get("ci_low"))
        if None in numbers or difference["n_clusters"] < FEWEST:
            return replace(finding, reason="too few to tell")
        if not difference.get("comparable", True):
            return replace(finding, reason=BY_WORDS)

        less, more = self._open_ends(self.run, finding.group)
        baseline_less, baseline_more = self._open_ends(baseline, finding.group)
        if math.inf in (less, more, baseline_less, baseline_more):
            return replace(finding, reason=_WITHOUT_LIMIT)

        higher = difference["higher_is_better"]
        return self._with_risk(
            replace(
                finding,
                value=difference["difference"],
                low=difference["ci_low"] - less - baseline_more,
                high=difference["ci_high"] + more + baseline_less,
                unit=difference.get("unit", ""),
                limit=-self.rule.limit if higher else self.rule.limit,
                at_most=not higher,
            )
        )

    def _open_ends(self, run: Compared, group: str) -> tuple[float, float]:
        """Returns by how much unscored items could lower and raise a run's value.

        Example:
            A value of 0.80 that unscored items leave between 0.78 and 0.85 has the open ends
            (0.02, 0.05). A figure without bounds has infinite ones: nothing is certain then.
        """
        figure = mapping(mapping(self._groups(run).get(group)).get(self.rule.metric))
        low, value, high = (
            figure.get(name) for name in ("bound_low", "value", "bound_high")
        )
        if low is None or value is None or high is None:
            return math.inf, math.inf
        return max(0.0, value - low), max(0.0, high - value)

    def _with_risk(self, finding: Finding) -> Finding:
        """A finding with how often a run of this size on the limit would get GO, where known.

        Corrected scores have an error of their labels too, and a sample that of the
        draw; the width of an interval has no true value. Of groups, which may be many,
        it is worked out where one passes.
        """
        rule, baseline = self.rule, self.baseline
        metric = _metric(rule)
        if finding.reason or metric is None:
            return finding

        columns = self._columns(metric, finding.group)
        sampled = "subset" in self.run.results["tasks"][rule.task]["recipe"]
        items = len(columns.second[0])
        independent = len(set(columns.clusters or range(items)))
        limit = Limit(finding.limit, at_most=finding.at_most)
        meets = limit.met(*sorted((finding.low or 0.0, finding.high or 0.0)))
        if baseline is None and not sampled and _was_changed(columns, finding):
            return replace(finding, reason=_CHANGED)

        if independent < FEWEST:
            return replace(
                finding, reason=f"too few to tell: {independent} that are independent"
            )

        risk = None
        if not sampled and (meets or rule.by == NONE):
            risk = (risk_of_value if baseline is None else risk_of_difference)(
                columns, limit
            )

        if meets and _is_rough(risk, items):
            few = f"too few to tell: {items} items, {FEWEST_SIMULATED} are needed"
            return replace(finding, reason=few)

        return replace(finding, risk=risk)

    def _columns(self, metric: MetricSpec, group: str) -> Columns:
        """Returns a metric's columns for the items of a group, in the baseline and in the run."""
        rule, task = self.rule, self.task
        run_rows = rows_by_task(self.run).get(rule.task, {})
        baseline_rows = run_rows
        if self.baseline is not None:
            baseline_rows = rows_by_task(self.baseline).get(rule.task, {})

        pairs = list(zip(*shared_rows(baseline_rows, run_rows), strict=True))
        if rule.by != NONE:
            groups, column = self._groups(self.run), f"group_{rule.by}"
            pairs = [
                pair
                for pair in pairs
                if group in groups_of(str(pair[1].get(column)), groups)
            ]

        first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        clusters = (
            [row.get("cluster") for row in second] if task.cluster is not None else None
        )
        metrics = {metric.name: metric for metric in task.metrics}

        return columns_of(metric, metrics, first, second, clusters)


def _metric(rule: Rule) -> MetricSpec | None:
    """Returns the metric whose value a rule limits; None for a width or a corrected metric."""
    metrics = {metric.name: metric for metric in tasks()[rule.task].metrics}
    return metrics.get(rule.metric) if rule.kind != "width_at_most" else None


def _is_rough(risk: Risk | None, items: int) -> bool:
    """Whether there are too few items to simulate a risk that is not exact."""
    return items < FEWEST_SIMULATED and not (risk is not None and risk.exact)


def _was_changed(columns: Columns, finding: Finding) -> bool:
    """Whether a value was changed: it differs from its items', or lies outside its interval.

    The items are checked only if all are decided, since a value includes estimates.
    """
    if finding.value is None or finding.low is None or finding.high is None:
        return False
    if not finding.low - _ROUNDED <= finding.value <= finding.high + _ROUNDED:
        return True

    sums = np.stack(columns.second).sum(axis=1)
    if len(sums) != 2 or not np.isfinite(sums).all() or not sums[1]:
        return False

    return not math.isclose(
        sums[0] / sums[1], finding.value, rel_tol=_ROUNDED, abs_tol=_ROUNDED
    )


def _coverage_finding(entry: TaskEntry, finding: Finding) -> Finding:
    """Makes the finding of the share of items that are scored, which has no interval."""
    counts = mapping(entry.get("coverage"))
    judge = mapping(entry["recipe"].get("judge"))
    share = counts.get("scored", 0) / max(1, counts.get("asked", 0))
    reason = BY_WORDS if judge and not judge.get("comparable", True) else ""
    return replace(finding, value=share, low=share, high=share, reason=reason)


def _figure_finding(
    rule: Rule, figure: Json | None, finding: Finding, entry: TaskEntry
) -> Finding:
    """Makes the finding of a figure, widened by the unscored items.

    Example:
        80 % (75 to 85 %) are right, and unscored items leave 77 to 81 %. The interval of
        the finding is 72 to 86 %: three points lower and one higher. With `width_at_most`
        the value is its width, 14 points.
    """
    if figure is None:
        reason = rule.metric.endswith("_official") and mapping(entry.get("paper")).get(
            "official"
        )
        return replace(finding, reason=str(reason or "the run does not report it"))

    if figure["value"] is None or figure["ci_low"] is None:
        return replace(
            finding, reason=one_line(str(figure.get("reason") or "no figure"))
        )

    # The rule is about items like these, not about the sampled set: take the sample's numbers.
    figure = {**figure, **figure.get("sample", {})}
    value, low, high = figure["value"], figure["ci_low"], figure["ci_high"]
    measured = replace(
        finding, value=value, low=low, high=high, unit=figure.get("unit", "")
    )
    if not figure.get("comparable", True):
        return replace(measured, reason=BY_WORDS)
    if figure["n"] < FEWEST:
        return replace(measured, reason=f"too few to tell: {figure['n']} items")
    if figure.get("bound_low") is None or figure.get("bound_high") is None:
        return replace(measured, reason=_WITHOUT_LIMIT)

    low -= max(0.0, value - figure["bound_low"])
    high += max(0.0, figure["bound_high"] - value)
    if rule.kind == "width_at_most":
        return replace(measured, value=high - low, low=high - low, high=high - low)

    return replace(measured, low=low, high=high)


def _judge_finding(rule: Rule, entry: TaskEntry, finding: Finding) -> Finding:
    """Makes the finding of the judge's kappa in a check, which must be of this judge and its settings."""
    _, _, check = read_check(rule.check)
    if check["set"] not in GENERAL and check["set"] != check_set_of(tasks()[rule.task]):
        return replace(
            finding, reason=f"the check is on {check['set']}, pairs of another task"
        )

    checked = asked_of(check)
    judge = mapping(entry["recipe"].get("judge"))
    current = {key: judge.get(key) for key in checked}
    if current != checked:
        other = f"the check is of another judge, or of one asked differently: {differing(checked, current)}"
        return replace(finding, reason=other)

    kappa = summary_of(check)["kappa"]
    return replace(
        finding,
        value=kappa["value"],
        low=kappa["ci_low"],
        high=kappa["ci_high"],
        unit="score",
    )


def findings_report(
    verdict: str, findings: Sequence[Finding], policy: Policy
) -> tuple[str, JsonDict]:
    """Reports the findings as text and as JSON."""
    rows = [_row(finding) for finding in findings]
    first = 0 if len({finding.run for finding in findings}) > 1 else 1
    lines = align(_HEADER[first:], [row[first:] for row in rows])
    numbers = Counter(finding.verdict for finding in findings)
    counts = ", ".join(f"{numbers[name]} {name}" for name in (GO, NO_GO, INCONCLUSIVE))
    notes = [
        f"This policy decides about {scope.description}."
        for scope in policy.scopes.values()
    ]
    if any(finding.risk is not None for finding in findings):
        notes.append(
            "wrong GO: the share of runs of this size, with a true value exactly on the limit, "
            "that would get GO (~ simulated from this run's items)."
        )

    notes += dict.fromkeys(
        f"{one_line(finding.run, 60)}, {finding.task}: {line}"
        for finding in findings
        for line in finding.paper
    )
    content = {
        "verdict": verdict,
        "scopes": {name: _scope_json(scope) for name, scope in policy.scopes.items()},
        "findings": [asdict(finding) for finding in findings],
    }
    return "\n".join([*lines, "", *notes, "", f"{verdict} ({counts})"]), content


def _row(finding: Finding) -> tuple[str, ...]:
    """Makes a finding's row of the table."""
    ends = [number(end, finding.unit) for end in (finding.low, finding.high)]
    risk = ""
    if finding.risk is not None:
        risk = f"{'' if finding.risk.exact else '~'}{100 * finding.risk.share:.1f} %"

    return (
        one_line(finding.run, 60),
        finding.rule,
        one_line(finding.group, 40),
        finding.verdict,
        number(finding.value, finding.unit),
        NOT_COMPUTABLE if finding.low is None else " to ".join(ends),
        risk,
        finding.reason,
    )


def _scope_json(scope: Scope) -> JsonDict:
    """Returns a scope as JSON values."""
    return {**asdict(scope), "accept": sorted(scope.accept)}
