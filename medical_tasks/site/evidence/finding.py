"""The functions that find the figures which answer the frameworks' questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

from medical_tasks.comparison.compared import Selection
from medical_tasks.comparison.comparing import compare_tasks
from medical_tasks.comparison.gating import BY_WORDS
from medical_tasks.construct.annotation import pairs_of_people
from medical_tasks.io.tables import has_columns, read_table
from medical_tasks.judges.checks import summary_of
from medical_tasks.runs.calibrating import raw_name
from medical_tasks.runs.numbers import FEWEST
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, Row, weight_column
from medical_tasks.scoring.agreement import agreement_of
from medical_tasks.site.evidence.facts import POOLED, Facts, Figure, RunFacts, in_words
from medical_tasks.site.history import Line, verified
from medical_tasks.spec import MetricSpec

Finder = Callable[[Facts], Sequence[Figure]]
_MOST_ERRORS: Final = 10


def _figure(
    run: RunFacts, name: str, reported: Json, *, label: str = ""
) -> list[Figure]:
    """A figure of a run's results, if it has a value."""
    if reported.get("value") is None:
        return []

    return [
        Figure(
            label or name,
            reported["value"],
            reported["ci_low"],
            reported["ci_high"],
            reported["n"],
            run.source,
            name,
            reported.get("unit", ""),
            by_words=_is_by_words(reported),
        )
    ]


def _is_by_words(reported: Json) -> bool:
    return not reported.get("comparable", True)


def metrics(*names: str) -> Finder:
    """Finds metrics of the candidate, with those corrected for the judge's errors."""

    def find(facts: Facts) -> Sequence[Figure]:
        run = facts.candidate
        reported = run.entry["metrics"]
        return [
            figure
            for name in names
            for variant in (name, f"{name}_corrected")
            if variant in reported
            for figure in _figure(run, variant, reported[variant])
        ]

    return find


def main_metrics(facts: Facts) -> Sequence[Figure]:
    """The candidate's metrics that decide."""
    return metrics(*(measure.metric for measure in facts.measures))(facts)


def harms(facts: Facts) -> Sequence[Figure]:
    """The candidate's metrics that count harm."""
    return metrics(*(measure.metric for measure in facts.measures if measure.harm))(
        facts
    )


def likelihood(facts: Facts) -> Sequence[Figure]:
    """How often harm is done; if no metric counts it, how often an answer is right."""
    return harms(facts) or main_metrics(facts)


def against_baseline(facts: Facts) -> Sequence[Figure]:
    """How the candidate differs from the baseline on the same items."""
    if facts.baseline is None:
        return []
    return _differences(
        facts, facts.baseline, facts.candidate, "candidate minus baseline"
    )


def _differences(
    facts: Facts, first: RunFacts, second: RunFacts, label: str
) -> list[Figure]:
    """The paired differences of two runs on the metrics that decide."""
    names = facts.metric_names
    compared = compare_tasks(
        first.compared,
        second.compared,
        {facts.task.name: facts.task},
        selection=Selection(tasks=[facts.task.name], metrics=names),
    )[facts.task.name]

    return [
        Figure(
            f"{name}: {label}",
            difference["difference"],
            difference["ci_low"],
            difference["ci_high"],
            difference["n"],
            second.source,
            name,
            difference.get("unit", ""),
            f"beside {first.name}",
            _is_by_words(difference),
        )
        for name, difference in compared["metrics"].items()
        if name in names and difference["difference"] is not None
    ]


def counterfactual(facts: Facts) -> Sequence[Figure]:
    """The effect of changing one attribute of the same patients, for every pair of such runs."""
    swapped: dict[str, dict[str, RunFacts]] = {}
    for run in facts.others:
        attribute, _, value = str(run.swapped.get("changed", "")).partition("=")
        if value:
            swapped.setdefault(attribute, {})[value] = run

    return [
        figure
        for attribute, runs in swapped.items()
        for first, second in combinations(sorted(runs), 2)
        for figure in _differences(
            facts, runs[first], runs[second], f"{attribute} {second} minus {first}"
        )
    ]


def reliability(facts: Facts) -> Sequence[Figure]:
    """The agreement of 25 or more evaluations of the same answers."""
    figures = []
    for run in facts.own:
        evaluations = mapping(run.entry.get("evaluations"))
        count = int(evaluations.get("n") or 0)
        if count < EVALUATIONS:
            continue

        for name, agreement in mapping(evaluations.get("metrics")).items():
            for field, label in (("icc", "intraclass correlation"), ("alpha", "alpha")):
                figures += _agreement(
                    run, agreement.get(field), f"{name}: {label}", count
                )

        verdicts = mapping(evaluations.get("verdicts"))
        figures += _agreement(run, verdicts.get("alpha"), "verdicts: alpha", count)

    return figures


EVALUATIONS: Final = 25
"""The number of evaluations of an answer that CHAI's reliability requires."""


def _agreement(run: RunFacts, content: object, label: str, count: int) -> list[Figure]:
    estimate = mapping(content)
    if estimate.get("value") is None:
        return []

    ends = estimate.get("ci_low"), estimate.get("ci_high")
    return [
        Figure(
            label,
            estimate["value"],
            *ends,
            int(estimate.get("n") or 0),
            run.source,
            "evaluations",
            "score",
            f"{count} evaluations",
            run.by_words,
        )
    ]


def repeatability(facts: Facts) -> Sequence[Figure]:
    """How much the scores of the model's repeated answers vary."""
    figures = []
    for run in facts.own:
        for name, reported in run.entry["metrics"].items():
            repeats = mapping(reported.get("repeats"))
            values = [value for value in repeats.get("values", ()) if value is not None]
            if len(values) < 2 or name not in facts.metric_names:
                continue

            spread = max(values) - min(values)
            words = f"largest minus smallest of {len(values)} runs"
            figures.append(
                Figure(
                    f"{name}: from run to run",
                    spread,
                    None,
                    None,
                    len(values),
                    run.source,
                    f"{name}.repeats",
                    reported.get("unit", ""),
                    words,
                    _is_by_words(reported),
                )
            )

    return figures


def judge_agreement(facts: Facts) -> Sequence[Figure]:
    """The agreement of the judge with people on the site's labels."""
    figures = []
    for source, check in facts.checks:
        summary = summary_of(check)
        for name in ("kappa", "accuracy"):
            estimate = summary[name]
            if estimate["value"] is not None:
                figures.append(
                    Figure(
                        f"judge and people: {name}",
                        estimate["value"],
                        estimate["ci_low"],
                        estimate["ci_high"],
                        int(check["scored"]),
                        source,
                        name,
                        "kappa" if name == "kappa" else "",
                    )
                )

    return figures


def rater_agreement(facts: Facts) -> Sequence[Figure]:
    """The agreement of each pair of reviewers on each sheet, by `review/<sheet>.csv`."""
    figures = []
    for path in sorted(facts.site.review.glob("*.csv")):
        marks: dict[str, dict[str, str]] = {}
        for row in read_table(path, knows=has_columns("item", "rater")).rows:
            cells = {name: str(value or "") for name, value in row.cells.items()}
            if cells["rater"] in facts.site.settings.reviewers.names and cells["value"]:
                marks.setdefault(cells["rater"], {})[cells["item"]] = cells["value"]

        source = facts.site.named(path)
        for pair in pairs_of_people(marks):
            figures += _pair_agreement(pair.first, pair.second, path.stem, source)

    return figures


def _pair_agreement(
    first: Sequence[str], second: Sequence[str], sheet: str, source: str
) -> list[Figure]:
    """Kappa and raw agreement of two people, without kappa if both used one value alone."""
    classes = sorted({*first, *second})
    both = agreement_of(first, second, classes=classes)
    estimates = (("kappa", both.kappa, "kappa"), ("raw agreement", both.agreement, ""))

    return [
        Figure(
            f"two people on {sheet}: {name}",
            estimate.value,
            estimate.ci_low if math.isfinite(estimate.ci_low) else None,
            estimate.ci_high if math.isfinite(estimate.ci_high) else None,
            len(first),
            source,
            "value",
            unit,
        )
        for name, estimate, unit in estimates
        if math.isfinite(estimate.value)
    ]


def calibration(facts: Facts) -> Sequence[Figure]:
    """Whether the model is as often right as it says."""
    figures = []
    for run in facts.own:
        confidence = mapping(run.entry.get("confidence"))
        if "ece" in confidence:
            metric_figure = mapping(run.entry["metrics"].get(confidence["metric"]))
            figures += _figure(
                run,
                "confidence.ece",
                {
                    **confidence["ece"],
                    "comparable": metric_figure.get("comparable", True),
                },
                label="expected calibration error",
            )

    return figures


def parity(facts: Facts) -> Sequence[Figure]:
    """The largest difference between two groups of each stratum.

    Its interval is that of two independent values, of their own intervals (Newcombe
    1998, Stat Med 17:873). Groups of fewer than ten items are left out.
    """
    gaps = []
    for by, groups in facts.groups.items():
        for measure in facts.measures:
            gaps += _largest_gap(facts, by, groups, measure.metric)
    return gaps


def _largest_gap(
    facts: Facts, by: str, groups: Mapping[str, Json], metric: str
) -> list[Figure]:
    measured = {
        group: figures[metric]
        for group, figures in groups.items()
        if _is_measured(figures.get(metric))
    }
    if len(measured) < 2:
        return []

    low, *_, high = sorted(measured, key=lambda group: measured[group]["value"])
    less, more = measured[low], measured[high]
    gap = more["value"] - less["value"]
    down = math.hypot(more["value"] - more["ci_low"], less["ci_high"] - less["value"])
    up = math.hypot(more["ci_high"] - more["value"], less["value"] - less["ci_low"])
    words = f"{high} minus {low}, the furthest apart of {len(measured)} groups"

    return [
        Figure(
            f"{metric} by {by}",
            gap,
            gap - down,
            gap + up,
            less["n"] + more["n"],
            facts.candidate.source,
            metric,
            more.get("unit", ""),
            words,
            _is_by_words(more),
        )
    ]


def _is_measured(stated: object) -> bool:
    figure = mapping(stated)
    return figure.get("ci_low") is not None and figure["n"] >= FEWEST


def group_figures(facts: Facts) -> Sequence[Figure]:
    """The figures for every group of every stratum."""
    run = facts.candidate
    return [
        figure
        for by, groups in facts.groups.items()
        for group, figures in groups.items()
        for measure in facts.measures
        if measure.metric in figures
        for figure in _figure(
            run,
            measure.metric,
            figures[measure.metric],
            label=f"{measure.metric}, {by} {group}",
        )
    ]


def cross_site(facts: Facts) -> Sequence[Figure]:
    """The largest difference between two hospitals, by the pooled result."""
    figures = []
    task = mapping(mapping(facts.pooled.get("tasks")).get(facts.task.name))
    declared = {metric.name for metric in facts.task.metrics}
    for line in task.get("lines", ()):
        largest = mapping(line.get("largest_difference"))
        of_whole = line.get("who") == "candidate" and not line.get("by") and largest
        if not of_whole or raw_name(line["metric"], declared) not in facts.metric_names:
            continue

        words = f"of {len(line['sites'])} hospitals, with all pairs at once"
        figures.append(
            Figure(
                f"{line['metric']}: the two hospitals furthest apart",
                largest["value"],
                largest["low"],
                largest["high"],
                len(line["sites"]),
                POOLED,
                "largest_difference",
                str(line.get("unit", "")),
                words,
                line["by_words"],
            )
        )

    return figures


def decision(facts: Facts) -> Sequence[Figure]:
    """The last verdict, its policy, and its line in the history."""
    line = facts.gate
    if line is None:
        return []

    findings = line.content["findings"]
    words = (
        f"{line.content['verdict']} of {line.at}, by {len(findings)} findings of the policy "
        f"{line.content.get('policy', '')[:12]}, preset {line.content.get('preset', 'none')}"
    )
    return [
        in_words("verdict", words, _line_source(facts, line), "verdict", len(findings))
    ]


def _line_source(facts: Facts, line: Line) -> str:
    return f"{facts.site.gates.name}:{line.number}"


def worst_group(facts: Facts) -> Sequence[Figure]:
    """The findings of the gate on groups."""
    line = facts.gate
    if line is None:
        return []

    return [
        Figure(
            f"{finding['rule']}, group {finding['group']}",
            finding["value"],
            finding["low"],
            finding["high"],
            0,
            _line_source(facts, line),
            "findings",
            finding["unit"],
            finding["verdict"],
            finding.get("reason") == BY_WORDS,
        )
        for finding in line.content["findings"]
        if finding["group"] and finding["value"] is not None
    ]


def monitoring(facts: Facts) -> Sequence[Figure]:
    """The result of the last look at the gated model."""
    line = facts.look
    if line is None:
        return []

    content = line.content
    figures = [
        Figure(
            f"{name}: {measure['verdict']}",
            measure["gated"]["difference"],
            measure["gated"]["ci_low"],
            measure["gated"]["ci_high"],
            measure["gated"]["n"],
            _line_source(facts, line),
            name,
            measure["gated"]["unit"],
            f"look {content['look']} of {content['planned']}, {line.at}, minus the gated run",
            _is_by_words(content),
        )
        for name, measure in content["measures"].items()
    ]
    if content["changed"]:
        words = f"the served model has changed ({content['changed']})"
        figures.append(
            in_words("served model", words, _line_source(facts, line), "changed")
        )

    return figures


def logbook(facts: Facts) -> Sequence[Figure]:
    """The length of the history of decisions, and the hash of its last line."""
    chain = verified(facts.site.gates)
    if not chain.lines:
        return []
    words = (
        f"{chain.lines} lines, each with the hash of the one before; head {chain.head}"
    )
    return [in_words("history", words, facts.site.gates.name, "before", chain.lines)]


def no_text(facts: Facts) -> Sequence[Figure]:
    """The last check that the folder holds no text of notes."""
    done = facts.check
    if done is None or done.figures.get("found") or done.figures.get("unread"):
        return []
    words = f"clean of text of notes on {done.at}"
    if done.figures.get("open"):
        words = "the notes are invented or public"
    return [in_words("check", words, "journal.jsonl", "check")]


def coverage(facts: Facts) -> Sequence[Figure]:
    """The shares of items that were answered and scored."""
    counts = facts.candidate.entry["coverage"]
    if not counts["asked"]:
        return []

    return [
        Figure(
            name,
            counts[name] / counts["asked"],
            None,
            None,
            counts["asked"],
            facts.candidate.source,
            f"coverage.{name}",
        )
        for name in ("answered", "scored")
    ]


def test_data(facts: Facts) -> Sequence[Figure]:
    """The tested items, by hash."""
    run = facts.candidate
    data = mapping(run.entry["recipe"].get("data"))
    if not data.get("rows_sha256"):
        return []
    words = (
        f"{run.entry['n_items']} items, configuration {data.get('config')}, split "
        f"{data.get('split')}, rows {str(data['rows_sha256'])[:12]}"
    )
    return [in_words("items", words, run.source, "recipe.data", run.entry["n_items"])]


def system(facts: Facts) -> Sequence[Figure]:
    """The tested model, the task and the version of the suite."""
    run = facts.candidate
    recipe = run.entry["recipe"]
    words = f"{run.model}, task {recipe.get('task_version')}, {recipe.get('suite')}"
    return [in_words("model", words, run.source, "recipe")]


def hazards(facts: Facts) -> Sequence[Figure]:
    """The worst answers by each metric of harm, as ids."""
    named = {metric.name: metric for metric in facts.task.metrics}
    worst = []
    for measure in facts.measures:
        metric = named[measure.metric]
        if measure.harm or len(facts.measures) == 1:
            worst += _worst(facts, metric)
    return worst


def _worst(facts: Facts, metric: MetricSpec) -> list[Figure]:
    """The items with the worst values of a metric, as ids."""
    counted = [row for row in facts.rows if _is_counted(metric, row)]
    rows = [row for row in counted if _badness(metric, row) > 0.0]
    rows.sort(key=lambda row: (-_badness(metric, row), str(row["id"])))
    if not counted:
        return []

    ids = ", ".join(str(row["id"]) for row in rows[:_MOST_ERRORS])
    more = f" and {len(rows) - _MOST_ERRORS} more" if len(rows) > _MOST_ERRORS else ""
    words = f"{len(rows)} answers, the worst first: {ids}{more}"
    source = facts.candidate.name + "/items.parquet"
    figure = in_words(
        metric.name,
        words if rows else f"none of {len(counted)} answers",
        source,
        metric.name,
        len(rows) or len(counted),
    )

    return [figure._replace(by_words=metric.judged and facts.candidate.by_words)]


def _is_counted(metric: MetricSpec, row: Row) -> bool:
    value = row.get(metric.name)
    if value is None or math.isnan(value):
        return False
    return metric.kind != "ratio" or bool(row.get(weight_column(metric.name)))


def _badness(metric: MetricSpec, row: Row) -> float:
    """How far an item is from the best value, weighted as in the metric."""
    value = float(row[metric.name])
    weight = float(row[weight_column(metric.name)]) if metric.kind == "ratio" else 1.0
    best = metric.limits[1] if metric.higher_is_better else metric.limits[0]
    return abs(value - best) * weight
