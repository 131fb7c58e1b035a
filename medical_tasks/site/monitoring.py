"""`site monitor`: asks the same items again, and tests whether the model has become worse.

Each look is a run of the gated items in a folder of `monitor`, and a line of the history.
It is tested against the gated run and all earlier looks (`looks`), so that over all
planned looks the chance of a false "worse" is at most 5 %, and of a false "better" too.
Several metrics of a use share these 5 %.

The verdict comes with the comparison of the run with the gated one alone, as `compare`
makes it: the difference with its 95 % interval, and whether the run is shown to be not
worse by more than the margin.

A look reports that the served model has changed if its recipe or answers name another
model than the gated run: other weights by fingerprint, other settings, or another name or
`system_fingerprint` from the server. It does so whatever the scores are.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypedDict

import numpy as np

from medical_tasks.catalog import tasks
from medical_tasks.comparison.compared import Compared, read_compared, rows_by_task
from medical_tasks.comparison.gating import BY_WORDS
from medical_tasks.comparison.policies import Scope
from medical_tasks.comparison.statistics import (
    Columns,
    Difference,
    columns_of,
    compare_columns,
)
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.io.files import make_folder
from medical_tasks.io.output import tell
from medical_tasks.runs.numbers import number
from medical_tasks.runs.recipes import (
    comparable_judges,
    differing,
    mapping,
    one_line,
    recipe_differences,
)
from medical_tasks.runs.results import (
    ITEMS_FILE,
    RESULTS_FILE,
    Json,
    JsonDict,
    Row,
    TaskEntry,
)
from medical_tasks.scoring.estimates import Floats, cluster_codes
from medical_tasks.site import history
from medical_tasks.site.deciding import (
    CANDIDATE,
    COVERAGE,
    MEASURES,
    one_task,
    run_folder,
    run_hashes,
)
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.looks import (
    ALPHA,
    SeriesTable,
    boundaries,
    change_scores,
    exchange_p,
    normal_scores,
    spent,
)
from medical_tasks.site.options import Monitor
from medical_tasks.site.running import answered
from medical_tasks.site.steps import State
from medical_tasks.spec import MetricSpec, TaskSpec

Verdict = Literal["same", "worse", "better"]
SAME_OR_BETTER, WORSE, CHANGED = 0, 7, 8
"""Exit codes; for a model that is worse and has changed, `WORSE`."""
_RESPONSES: Final = "responses/"
_ROUNDED: Final = 1e-9


class MeasureLook(TypedDict):
    """The result of a look for one metric.

    Attributes:
        verdict: the verdict over all looks so far.
        p_worse: the p value of this look alone, against all earlier runs.
        p_better: the same in the other direction.
        worse: the statistic for a change for the worse.
        better: the same in the other direction.
        limit: the boundary that the statistic must exceed; None if no alpha is left for
            this look.
        since: the look at which the change most likely came; 0 for no change.
        change: the runs since then less those before, with a 95 % interval.
        gated: this run less the gated one, with a 95 % interval.
        margin: how much worse the run may be.
        within_margin: whether it is shown to be not worse by more than that.
    """

    verdict: Verdict
    p_worse: float
    p_better: float
    worse: float
    better: float
    limit: float | None
    since: int
    change: JsonDict
    gated: JsonDict
    margin: float
    within_margin: bool


@dataclass(frozen=True, kw_only=True)
class Series:
    """The gated run with its looks so far.

    Attributes:
        name: the hash of the gated run's items, which identifies the series.
        root: the folder to which the history's paths are relative.
        baseline: the gated run.
        lines: the looks, the oldest first.
        metrics: the metrics to test.
        margin: how much worse each may be, in its unit.
        planned: the number of looks that share alpha.
        coverage: the least share of the gated run's scored items that a look must have
            scored.
    """

    name: str
    root: Path
    baseline: Path
    lines: Sequence[history.Line]
    metrics: Sequence[str]
    margin: float
    planned: int
    coverage: float

    @property
    def spent(self) -> float:
        """The alpha spent by the looks so far."""
        return float(self.lines[-1].content["spent"]) if self.lines else 0.0

    @property
    def runs(self) -> list[Path]:
        """The runs so far, the gated one first.

        Raises:
            MissingError: a run of a look is gone or was changed.
        """
        folders = [self.baseline]
        for line in self.lines:
            folder = self.root / str(line.content["run"])
            if run_hashes(folder)["items"] != line.content["items"]:
                raise MissingError(
                    f"{folder}: the run of look {line.content['look']} ({line.at}) is gone or was "
                    "changed, and later looks need it. Restore it from a copy, or begin a new "
                    "series: move runs/candidate away, then medical-tasks site run and site gate."
                )

            folders.append(folder)

        return folders


def look_at(series: Series, folder: Path) -> JsonDict:
    """Tests a finished run as the next look of a series.

    Returns:
        The content of its line in the history.

    Raises:
        UsageError: the planned looks are used up, or the run is from another test.
        IncompleteError: too few of the gated run's scored items have a score in it.
    """
    check_left(series)
    runs = [read_compared(path) for path in (*series.runs, folder)]
    name, baseline = one_task(runs[0].results, series.baseline)
    task = tasks()[name]
    entry = _same_test(task, baseline, runs[-1])
    rows = [rows_by_task(run).get(name, {}) for run in runs]
    _check_coverage(series, rows[0], rows[-1], runs[-1].label)
    shared = [item for item in rows[0] if all(item in of_run for of_run in rows)]
    aligned = [[of_run[item] for item in shared] for of_run in rows]
    alpha, limit = _boundary(series)
    declared = {metric.name: metric for metric in task.metrics}
    measures = {
        metric: _measured(series, task, declared[metric], aligned, limit)
        for metric in series.metrics
    }
    verdicts = {measure["verdict"] for measure in measures.values()}
    order: tuple[Verdict, ...] = ("worse", "better", "same")

    return {
        "series": series.name,
        "look": len(series.lines) + 1,
        "planned": series.planned,
        "spent": alpha,
        "task": name,
        **run_hashes(folder),
        "n": sum(all(_is_scored(of_run, item) for of_run in rows) for item in shared),
        "verdict": next(verdict for verdict in order if verdict in verdicts),
        "changed": _changed(baseline, entry),
        "comparable": comparable_judges(baseline["recipe"], entry["recipe"]),
        "measures": measures,
    }


def _boundary(series: Series) -> tuple[float, float]:
    """The alpha spent after the next look, and the limit that its statistics must exceed."""
    alpha = [float(line.content["spent"]) for line in series.lines]
    alpha.append(spent(series.spent, series.planned - len(series.lines)))
    of_metric = [share / len(series.metrics) for share in alpha]
    return alpha[-1], boundaries(of_metric)[-1]


def check_left(series: Series) -> None:
    """Refuses a look beyond the planned ones, for which no alpha is left."""
    if len(series.lines) < series.planned and series.spent < ALPHA - _ROUNDED:
        return
    raise UsageError(
        f"the {len(series.lines)} planned looks at this model are used up, so a further one would "
        "raise more than 5 % false alarms. Begin a new series: move runs/candidate away, then "
        "medical-tasks site run and site gate. More looks (--looks) spend nothing more, since "
        "the 5 % are spent."
    )


def _check_coverage(
    series: Series, gated: Mapping[str, Row], newest: Mapping[str, Row], label: str
) -> None:
    """Refuses a look that lacks scores, since the missing ones could hide a change."""
    before = [item for item in gated if _is_scored(gated, item)]
    scored = sum(_is_scored(newest, item) for item in before)
    if scored >= series.coverage * len(before):
        return

    raise IncompleteError(
        f"{label}: has scores for {scored:,} of the {len(before):,} items that were scored at the "
        f"gate, and a look needs {100 * series.coverage:.0f} %, since missing ones could hide a "
        "change. Nothing was added to the history: have the rest answered and scored, and give "
        "the command again."
    )


def _is_scored(rows: Mapping[str, Row], item: str) -> bool:
    return item in rows and not rows[item].get("unscored")


def _same_test(task: TaskSpec, baseline: Json, run: Compared) -> TaskEntry:
    """The results of a run, after checking that it has the gated model and test."""
    entry = run.results["tasks"].get(task.name)
    if entry is None:
        raise UsageError(f"{run.label}: no results of {task.name}, which was gated.")

    names = [
        str(mapping(of_run["recipe"].get("model")).get("name"))
        for of_run in (baseline, entry)
    ]
    from_files = all(name.startswith(_RESPONSES) for name in names)
    if names[0] != names[1] and not from_files:
        raise UsageError(
            f"{run.label}: answers of {one_line(names[1])}, and {one_line(names[0])} was gated. "
            "Another model is no later look at this one: gate it."
        )

    data = mapping(baseline["recipe"].get("data"))
    scope = Scope(
        task=task.name,
        config=str(data.get("config")),
        split=str(data.get("split")),
        accept=frozenset({"adjudication"}),
    )
    refused = recipe_differences(
        task.name, baseline["recipe"], entry["recipe"], metrics=task.metrics
    ).refused
    unlike = refused[0] if refused else scope.unlike(entry, baseline, task)
    if unlike:
        raise UsageError(
            f"{run.label}: not the test that was gated: {unlike.partition(' If the decision')[0]}"
        )

    return entry


def _changed(baseline: Json, entry: Json) -> str:
    """How the served model differs from the gated one; "" if it is the same as far as known."""
    before, now = _identity(baseline), _identity(entry)
    # A provider that serves from several places may have answered from fewer today.
    if before and now.get("served") and _served(entry) <= _served(baseline):
        now["served"] = before["served"]

    return "" if before == now else differing(before, now)


def _identity(entry: Json) -> JsonDict:
    """What a run recorded about the model that answered."""
    model = dict(mapping(entry["recipe"].get("model")))
    if str(model.get("name")).startswith(_RESPONSES):
        return {}
    return {**model, "served": ", ".join(sorted(_served(entry)))}


def _served(entry: Json) -> set[str]:
    """The models that the answers name, with their fingerprints."""
    return set(mapping(mapping(entry.get("usage")).get("served_models")))


def _measured(
    series: Series,
    task: TaskSpec,
    metric: MetricSpec,
    aligned: Sequence[Sequence[Json]],
    limit: float,
) -> MeasureLook:
    """Tests a metric of the newest run against all earlier runs.

    Args:
        series: the series, with the p values of earlier looks in its lines.
        task: the task.
        metric: the metric.
        aligned: the rows of each run for the same items, the gated run first and the newest
            last.
        limit: what the statistic must exceed at this look; infinite if no alpha may be spent
            on it.
    """
    declared = {spec.name: spec for spec in task.metrics}
    clusters = (
        [row.get("cluster") for row in aligned[0]] if task.cluster is not None else None
    )
    columns = [
        columns_of(metric, declared, aligned[0], rows, clusters) for rows in aligned
    ]
    sums = np.stack([np.stack(of_run.second) for of_run in columns])
    table = SeriesTable(
        columns[0].shares, by_cluster(sums, clusters), metric.higher_is_better
    )
    p_worse, p_better = exchange_p(table)
    before = [line.content["measures"][metric.name] for line in series.lines]
    changes: dict[Verdict, tuple[float, int]] = {}
    ways: tuple[tuple[Verdict, str, float], ...] = (
        ("worse", "p_worse", p_worse),
        ("better", "p_better", p_better),
    )
    for way, key, p in ways:
        scores, since = change_scores(
            normal_scores([*(measure[key] for measure in before), p])
        )
        changes[way] = (float(scores[-1]), int(since[-1]))

    crossed: list[Verdict] = [way for way in changes if changes[way][0] > limit]
    verdict: Verdict = crossed[0] if crossed else "same"
    changed_at = changes[verdict][1] if crossed else 0
    gated = compare_columns(columns[-1])
    change = compare_columns(_since(columns, changed_at)) if crossed else gated
    margin = series.margin

    return {
        "verdict": verdict,
        "p_worse": p_worse,
        "p_better": p_better,
        "worse": changes["worse"][0],
        "better": changes["better"][0],
        "limit": limit if math.isfinite(limit) else None,
        "since": changed_at,
        "change": _kept(change),
        "gated": _kept(gated),
        "margin": margin,
        "within_margin": _within(gated, margin, higher=metric.higher_is_better),
    }


def by_cluster(sums: Floats, clusters: Sequence[object] | None) -> Floats:
    """Adds the sums of items up by cluster, for the items that all runs decide.

    Args:
        sums: an array of shape (runs, columns, items); `nan` marks an undecided item.
        clusters: the cluster of each item; None if items are independent.

    Example: three items of two clusters; one run lacks a value of the third item.

        >>> sums = np.array([[[1.0, 0.0, 1.0]], [[1.0, 1.0, np.nan]]])
        >>> by_cluster(sums, ["a", "a", "b"]).tolist()
        [[[1.0]], [[2.0]]]
    """
    counted = np.asarray(np.isfinite(sums).all(axis=(0, 1)))
    decided = sums[:, :, counted]
    if clusters is None:
        return np.asarray(decided)

    codes = cluster_codes(clusters, sums.shape[2])[counted]
    _, places = np.unique(codes, return_inverse=True)
    return np.array(
        [
            [np.bincount(places, weights=column) for column in columns]
            for columns in decided
        ]
    )


def _since(columns: Sequence[Columns], since: int) -> Columns:
    """Pools the runs before a look into one run, and those from it on into another.

    Run 0 is the gated one and run i that of look i, so that a change at look `since` puts the
    runs 0 to since - 1 before it.
    """
    before, after = columns[:since], columns[since:]
    pooled = replace(columns[-1].metric, kind="ratio")
    return replace(
        columns[-1],
        metric=pooled,
        values=None,
        first=_added([of_run.second for of_run in before]),
        second=_added([of_run.second for of_run in after]),
    )


def _added(runs: Sequence[Sequence[Floats]]) -> tuple[Floats, ...]:
    return tuple(np.sum(columns, axis=0) for columns in zip(*runs, strict=True))


def _kept(difference: Difference) -> JsonDict:
    """The part of a difference that the history stores."""
    kept = {name: value for name, value in difference.items() if name in _KEPT}
    return {**kept, "unit": difference.get("unit", "")}


_KEPT: Final = ("value_a", "value_b", "difference", "ci_low", "ci_high", "n")


def _within(difference: Difference, margin: float, *, higher: bool) -> bool:
    """Whether the whole interval of a difference is within the margin on the worse side."""
    low, high = difference["ci_low"], difference["ci_high"]
    if low is None or high is None:
        return False
    return bool(low >= -margin if higher else high <= margin)


def look_text(content: Json) -> str:
    """The result of a look as text."""
    lines = []
    if content["changed"]:
        lines.append(f"The served model has changed: {content['changed']}.")

    if not content["comparable"]:
        lines.append(f"Nothing is decided by {BY_WORDS}.")

    for name, measure in content["measures"].items():
        lines.append(f"{name}: {_measure_text(measure)}")

    lines.append(
        f"{content['verdict']} (look {content['look']} of {content['planned']}, "
        f"{content['n']:,} items; false alarms over all looks at most 5 %)"
    )
    return "\n".join(lines)


def _measure_text(measure: Json) -> str:
    gated = _difference_text(measure["gated"])
    margin = number(measure["margin"], measure["gated"]["unit"])
    conclusion = "shown" if measure["within_margin"] else "not shown"
    beside = (
        f"against the gated run {gated}; not worse by more than {margin}: {conclusion}"
    )
    if measure["verdict"] == "same":
        return f"the same; {beside}"
    change = _difference_text(measure["change"])
    return f"{measure['verdict']} by {change} since look {measure['since']}; {beside}"


def _difference_text(difference: Json) -> str:
    unit = difference["unit"]
    value, low, high = (
        number(difference[name], unit) for name in ("difference", "ci_low", "ci_high")
    )
    return f"{value} ({low} to {high})"


def series_of(site: Site, planned: int) -> Series:
    """The series of a site's next look.

    Raises:
        MissingError: nothing was gated yet.
        UsageError: the candidate's run is not the gated one.
    """
    lines = history.history(site.gates)
    gates = [line for line in lines if line.kind == "gate"]
    if not gates:
        raise MissingError(
            f"{site.gates}: no gate in it, so there is nothing to compare a later look with. "
            "Decide first: medical-tasks site gate"
        )

    baseline = run_folder(site, CANDIDATE)
    named = site.named(baseline)
    name = run_hashes(baseline)["items"]
    if mapping(gates[-1].content["runs"].get(named)).get("items") != name:
        raise UsageError(
            f"{baseline}: its items are not those of the last gate (line {gates[-1].number} of "
            f"{site.gates.name}). Decide about it as it is now: medical-tasks site gate"
        )

    return Series(
        name=name,
        root=site.path,
        baseline=baseline,
        lines=looks_of(lines, baseline),
        metrics=[measure.metric for measure in MEASURES[site.settings.use]],
        margin=site.settings.decision.margin,
        planned=planned,
        coverage=COVERAGE[site.settings.decision.preset],
    )


def looks_of(lines: Sequence[history.Line], gated: Path) -> list[history.Line]:
    """The looks of the series that begins with a gated run, the oldest first."""
    items = run_hashes(gated)["items"]
    return [
        line
        for line in lines
        if line.kind == "look" and line.content["series"] == items
    ]


def run(options: Monitor) -> int:
    """Asks the items again or takes a finished run, and reports the look at it."""
    site = open_site(options.folder)
    series = series_of(site, options.looks or site.settings.monitor.looks)
    check_left(series)
    series.runs  # noqa: B018 - raises if a run is gone, before a model is asked
    if options.run is not None:
        folder, look = _finished_look(site, series, options.run)
    else:
        folder, look = _asked_look(site, series, options)

    content = {"run": site.named(folder), **look}
    line = history.append(site.gates, "look", content)
    tell(look_text(content), {**content, "line": line.number})
    tell(f"{site.gates.name}: line {line.number}, head {line.digest[:12]}")
    note_step(
        site,
        "monitor",
        inputs=[series.baseline / ITEMS_FILE],
        outputs=[folder / RESULTS_FILE],
        figures={
            "verdict": content["verdict"],
            "look": content["look"],
            "changed": bool(content["changed"]),
            "line": line.number,
            "head": line.digest,
        },
    )
    if content["verdict"] == "worse":
        return WORSE

    return CHANGED if content["changed"] else SAME_OR_BETTER


def _asked_look(site: Site, series: Series, options: Monitor) -> tuple[Path, JsonDict]:
    """Asks the items again, or resumes; returns the run's folder and the look at it."""
    if CANDIDATE in site.settings.models.answers and options.answers is None:
        raise UsageError(
            "the candidate's answers come from a file (models.answers in site.toml), so there is "
            "nobody to ask again. Give its new answers: --answers FILE"
        )

    begun = [run for run in _folders(site) if site.named(run) not in _recorded(site)]
    folder = begun[-1] if begun else _new_folder(site)
    try:
        answered(site, CANDIDATE, options, answers=options.answers, out=folder)
    except IncompleteError as error:
        raise IncompleteError(
            f"{error} The look is not counted yet: give the command again to continue, or use the "
            f"unfinished run: --run {folder}"
        ) from error

    try:
        return folder, look_at(series, folder)
    except UsageError as error:
        raise UsageError(
            f"{error} To ask again once that is fixed, remove {folder} and give the command again."
        ) from error


def _finished_look(site: Site, series: Series, run: Path) -> tuple[Path, JsonDict]:
    """Copies a finished run into the folder of looks, since later looks need it."""
    run = run.expanduser().resolve()
    if not (run / RESULTS_FILE).is_file():
        raise MissingError(
            f"{run}: no {RESULTS_FILE} there. Give a finished run: --run FOLDER"
        )

    if run.parent == site.monitor:
        if site.named(run) in _recorded(site):
            raise UsageError(f"{run}: is a look already. Give a newer run.")

        return run, look_at(series, run)

    items = run_hashes(run)["items"]
    looks = [line for line in history.history(site.gates) if line.kind == "look"]
    if any(line.content["items"] == items for line in looks):
        raise UsageError(
            f"{run}: has the same items with the same scores as an earlier look. Give a newer run."
        )

    look = look_at(series, run)  # what is refused leaves no folder behind
    folder = make_folder(_new_folder(site))
    for name in (ITEMS_FILE, RESULTS_FILE):
        shutil.copyfile(run / name, folder / name)

    return folder, look


def _folders(site: Site) -> list[Path]:
    """The folders of looks, the oldest first."""
    if not site.monitor.is_dir():
        return []
    return sorted(path for path in site.monitor.iterdir() if path.is_dir())


def _recorded(site: Site) -> set[str]:
    """The runs in the history, by name."""
    lines = history.history(site.gates)
    return {str(line.content["run"]) for line in lines if line.kind == "look"}


def _new_folder(site: Site) -> Path:
    """A new folder named by today's date."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    folder, count = site.monitor / day, 1
    while folder.exists():
        count += 1
        folder = site.monitor / f"{day}-{count:02}"
    return folder


def state(site: Site) -> State:
    """The state of the monitor, which is never finished."""
    lines = history.history(site.gates)
    gates = [line for line in lines if line.kind == "gate"]
    if not gates:
        return State("blocked", "needs gate first")

    looks = looks_of(lines, site.runs / CANDIDATE)
    if not looks:
        return State(
            "waiting", "look again when the model or the notes may have changed"
        )

    content = looks[-1].content
    changed = "; the served model has changed" if content["changed"] else ""
    words = f"look {content['look']} of {content['planned']}, {looks[-1].at}"

    return State("done", f"{content['verdict']}{changed} ({words})")
