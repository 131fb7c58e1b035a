"""`site share`: writes the one small file of counts and strata that other hospitals may have.

    runs and checks of the site
    -> figures, differences, confusion matrices, without small cells (`suppression`)
    -> a strict form without a field for text (`share_forms`), signed by its hash
    -> refused if it has twelve words in a row of a source, an id or a reviewer's name
    -> share/site_share.json, and share/share.md, which lists every figure that leaves

The hash shows that a file is unchanged, not who wrote it.

A figure that would reveal a small cell is widened: a share of 97 of 100 reveals that 3
were wrong, so it leaves as "between 96 and 100 of 100" (`off`), and so do its corrected
value and its difference to the baseline.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from medical_tasks._version import __version__
from medical_tasks.catalog import tasks
from medical_tasks.comparison.compared import (
    ALL,
    Compared,
    Selection,
    read_compared,
    rows_by_task,
    shared_rows,
)
from medical_tasks.comparison.comparing import compare_tasks
from medical_tasks.comparison.statistics import (
    GROUP_RESAMPLES,
    Breakdowns,
    Columns,
    Difference,
    breakdown_names,
    columns_of,
    compare_columns,
)
from medical_tasks.errors import MissingError, RefusedError, UsageError
from medical_tasks.guard.leakcheck import check_leaks
from medical_tasks.io.files import WholeFile, make_folder, read_text, readable
from medical_tasks.io.output import tell
from medical_tasks.judges.checks import is_of, read_check
from medical_tasks.runs.calibrating import SUFFIX
from medical_tasks.runs.recipes import (
    comparable_judges,
    deciding_generation,
    mapping,
    one_line,
)
from medical_tasks.runs.results import (
    RESULTS_FILE,
    Figure,
    Json,
    JsonDict,
    Row,
    TaskEntry,
    groups_of,
)
from medical_tasks.scoring.estimates import UNIT, as_json
from medical_tasks.scoring.intervals import normal_quantile, wilson
from medical_tasks.scoring.means import average_interval
from medical_tasks.site.checking import sources
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.judging import current_checks
from medical_tasks.site.options import Share
from medical_tasks.site.sampling import items_file, strata_of
from medical_tasks.site.steps import State, journal_state
from medical_tasks.site.suppression import (
    LEAST,
    hidden_groups,
    hidden_outcomes,
    is_small,
)
from medical_tasks.spec import MetricSpec, TaskSpec

SHARE_FILE: Final = "site_share.json"
READABLE_FILE: Final = "share.md"
Strata = Mapping[str, Mapping[str, str]]
"""The group of each item in each breakdown, by the item's id."""
_PATIENT: Final = "patient"
"""The stratum that names the patient of an item."""
_ROLES: Final = ("candidate", "baseline")
_Z: Final = normal_quantile(0.975)
_DIGITS: Final = 5
_COARSE: Final = 2
"""Digits of a corrected figure if the judge's matrix has a hidden cell."""
_RESPONSES: Final = "responses/"
_FROM_FILE: Final = "answers from a file"
_SHORTEST_ID: Final = 4
"""Shorter ids may equal a group's name by chance."""
_WHOLE: Final = ("", "")
_PARTS: Final = (
    "truncation", "protocol", "roles", "repeats", "evaluations", "confidence", "imported",
)  # fmt: skip


def run(options: Share) -> int:
    """Writes the shared file, or prints the content of the last one."""
    site = open_site(options.folder)
    if options.show:
        with readable(
            site.share / READABLE_FILE, missing="Write it: medical-tasks site share"
        ):
            tell(read_text(site.share / READABLE_FILE))

        return 0

    runs = {role: site.runs / role for role in _ROLES if (site.runs / role).is_dir()}
    if "candidate" not in runs:
        raise MissingError(
            f"{site.runs}: no run of the candidate yet. Make it: medical-tasks site run"
        )

    checks = current_checks(site)
    name = site.settings.name if options.with_name else _code(site.share / SHARE_FILE)
    settings = site.settings.models
    models = {"candidate": settings.candidate, "baseline": settings.baseline}
    content = made_share(runs, checks, site=name, models=models, strata=_strata(site))
    texts = [] if site.settings.open else sources(site)
    people = [*site.settings.reviewers.names, site.settings.reviewers.adjudicator]
    written = write_share(
        content, site.share, sources=texts, secret=[*people, *_ids(runs)]
    )
    figures = {"sha256": content["sha256"], "figures": _count(content)}
    note_step(
        site,
        "share",
        inputs=[
            *(site.runs / role for role in _ROLES),
            *(site.checks, items_file(site), "site.toml:models"),
        ],
        outputs=written,
        figures=figures,
    )
    tell(
        f"{written[0]}: {_count(content)} figures of {name}, without text, ids or reviewers. "
        f"Read {written[1]} before it leaves: medical-tasks site share --show",
        file=str(written[0]),
        **figures,
    )

    return 0


def state(site: Site) -> State:
    """The state of the step, which is optional and needs a finished run."""
    if not (site.runs / "candidate" / RESULTS_FILE).is_file():
        return State("blocked", "needs run first")
    return journal_state(site, "share", ready="only if you pool with other hospitals")


def made_share(
    runs: Mapping[str, Path],
    checks: Sequence[Path],
    *,
    site: str,
    models: Mapping[str, str] | None = None,
    strata: Strata | None = None,
) -> JsonDict:
    """The content of a shared file, signed by its hash.

    Args:
        runs: the folders of finished runs, by role: candidate, baseline.
        checks: files `check.json` of judges, or their folders; those of other judges
            than the runs' are left out.
        site: the site's name in the file.
        models: names of the models by role, for answers that came from files.
        strata: the groups and the `patient` of each item, by its id.

    Raises:
        UsageError: a run or check is damaged, or there is nothing to share.
    """
    read = {role: read_compared(folder) for role, folder in runs.items()}
    judges = [
        mapping(entry["recipe"].get("judge"))
        for run in read.values()
        for entry in run.results["tasks"].values()
    ]
    shown_checks = [
        _check(check)
        for check in (read_check(path)[2] for path in checks)
        if any(is_of(check, judge) for judge in judges)
    ]
    registered = tasks()
    names = [name for name in read["candidate"].results["tasks"] if name in registered]
    if not names:
        raise UsageError(
            f"{runs['candidate']}: has no task that this version knows, so there is nothing to "
            "share. Run it again: medical-tasks site run"
        )

    whole = all(check["table"] is not None for check in shown_checks)
    content: JsonDict = {
        "format": 1,
        "site": site,
        "suite": f"medical-tasks {__version__}",
        "made": datetime.now(UTC).date().isoformat(),
        "least": LEAST,
        "tasks": {
            name: _Shared(
                registered[name],
                read,
                models=models or {},
                strata=strata or {},
                coarse=not whole,
            ).content()
            for name in names
        },
        "checks": shown_checks,
    }
    content["sha256"] = content_hash(content)

    return content


def content_hash(content: Json) -> str:
    """The SHA-256 of a shared file's content without its own hash, as canonical JSON."""
    signed = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(
        signed,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()


class _Cell(NamedTuple):
    """The counts of a metric over some items.

    Attributes:
        n: the number of items that count.
        clusters: how many of them are independent.
        outcomes: how many are right and how many are not; None if the metric is not
            right or wrong.
        total: the sum of numerators; None for an average of metrics.
        of: the sum of denominators; None likewise.
    """

    n: int
    clusters: int
    outcomes: tuple[int, int] | None
    total: float | None
    of: float | None


@dataclass(frozen=True, eq=False)
class _Shared:
    """A task of a site, reduced to what may leave.

    Attributes:
        task: the task.
        runs: the runs by role.
        models: names by role, which override those of the recipes.
        strata: the strata of each item, by its id.
        coarse: whether corrected figures are rounded, since the judge's matrix is
            hidden.
    """

    task: TaskSpec
    runs: Mapping[str, Compared]
    models: Mapping[str, str]
    strata: Strata
    coarse: bool
    _off: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _counts: set[str] = field(default_factory=set)

    def content(self) -> JsonDict:
        """The task's entry in the shared file."""
        figures = [figure for role in self.entries for figure in self._figures(role)]
        return {
            "recipe": recipe_parts(self.task, self.entries["candidate"]["recipe"]),
            "models": {
                role: self._model(role, entry) for role, entry in self.entries.items()
            },
            "coverage": {
                role: _coverage(entry) for role, entry in self.entries.items()
            },
            "figures": figures,
            "differences": list(self._differences()),
            "hidden": {by: len(names) for by, names in self._hidden.items() if names},
            "by_words": not comparable_judges(
                *(entry["recipe"] for entry in self.entries.values())
            ),
        }

    def _model(self, role: str, entry: TaskEntry) -> str:
        """The model of a role; for answers from a file, the recipe has only the file's name."""
        if name := self.models.get(role):
            return _last_part(name)
        name = str(mapping(entry["recipe"].get("model")).get("name"))
        return _FROM_FILE if name.startswith(_RESPONSES) else _last_part(name)

    @cached_property
    def entries(self) -> dict[str, TaskEntry]:
        """The task's entry in the results of each role."""
        return {
            role: run.results["tasks"][self.task.name]
            for role, run in self.runs.items()
            if self.task.name in run.results["tasks"]
        }

    @cached_property
    def _rows(self) -> dict[str, list[Row]]:
        return {
            role: list(rows_by_task(self.runs[role]).get(self.task.name, {}).values())
            for role in self.entries
        }

    @cached_property
    def _members(self) -> dict[str, dict[str, dict[str, list[int]]]]:
        """The indices of rows by role, breakdown and group; "" is the group of rows in none."""
        members: dict[str, dict[str, dict[str, list[int]]]] = {}
        for role, rows in self._rows.items():
            for by in breakdown_names(self.task):
                named = mapping(self.entries[role]["breakdown"].get(by))
                groups = members.setdefault(role, {}).setdefault(by, {})
                for index, row in enumerate(rows):
                    text = row.get(f"group_{by}") or ""
                    for group in groups_of(text, named) if text else ("",):
                        groups.setdefault(group, []).append(index)

            for by in self._own:
                members[role][by] = self._of_stratum(rows, by)

        return members

    @cached_property
    def _own(self) -> list[str]:
        """The site's strata that are not breakdowns of the task."""
        names = dict.fromkeys(
            name for of_item in self.strata.values() for name in of_item
        )
        not_own = (_PATIENT, *breakdown_names(self.task))
        return [name for name in names if name not in not_own]

    def _of_stratum(self, rows: Sequence[Row], by: str) -> dict[str, list[int]]:
        """The indices of rows by group of a stratum."""
        groups: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            group = mapping(self.strata.get(row["id"])).get(by) or ""
            groups.setdefault(group, []).append(index)
        return groups

    @cached_property
    def _hidden(self) -> dict[str, set[str]]:
        """The groups of each breakdown that are hidden in every metric and role."""
        sizes: dict[str, dict[str, int]] = {}
        for role, breakdowns in self._members.items():
            for by, groups in breakdowns.items():
                least = sizes.setdefault(by, {})
                for group, members in groups.items():
                    size = self._clusters(role, members)
                    least[group] = min(size, least.get(group, size))
        return {by: hidden_groups(least) for by, least in sizes.items()}

    def _clusters(self, role: str, members: Sequence[int]) -> int:
        """The number of independent items among some rows."""
        rows = [self._rows[role][index] for index in members]
        return len(set(self._whose(rows)))

    def _whose(self, rows: Sequence[Row]) -> list[object]:
        """The cluster of each row: its patient by site or task, else the row itself."""
        apart = self.task.cluster is None
        return [
            mapping(self.strata.get(row["id"])).get(_PATIENT)
            or row["id" if apart else "cluster"]
            for row in rows
        ]

    def _columns(self, role: str) -> Iterator[tuple[MetricSpec, Columns]]:
        """The metrics of a role that have a value, with their columns, the headline first."""
        figures, rows = self.entries[role]["metrics"], self._rows[role]
        reported = {
            metric.name: metric
            for metric in self.task.metrics
            if mapping(figures.get(metric.name)).get("value") is not None
        }
        for metric in reported.values():
            # The n of a metric of right answers alone reveals how many are right.
            if not metric.part and not metric.if_right:
                yield metric, columns_of(metric, reported, rows, rows, None)

    def _figures(self, role: str) -> Iterator[JsonDict]:
        """All figures of a role: for all items, corrected, and for groups."""
        entry = self.entries[role]
        for metric, columns in self._columns(role):
            cell = self._cell(role, columns, None)
            if cell.clusters < LEAST:
                continue

            raw = self._whole(role, metric, cell, entry["metrics"][metric.name])
            yield raw
            corrected = mapping(entry["metrics"].get(metric.name + SUFFIX))
            if None not in map(corrected.get, ("value", "ci_low", "ci_high")):
                yield self._corrected(role, metric, raw, corrected)

            exact = raw["estimate"] is not None and raw["estimate"]["off"] == 0.0
            for by in self._members[role]:
                yield from self._groups(role, metric, columns, by, whole=exact)

    def _cell(
        self, role: str, columns: Columns, members: Sequence[int] | None
    ) -> _Cell:
        """The counts of a metric over some rows; None for all rows."""
        rows = range(len(self._rows[role])) if members is None else members
        chosen = np.array(rows, dtype=np.intp)
        table = np.stack([column[chosen] for column in columns.first])
        counted = np.isfinite(table).all(axis=0) & (table[1::2].sum(axis=0) > 0.0)
        counted_rows = chosen[counted]
        n, clusters = len(counted_rows), self._clusters(role, counted_rows.tolist())
        if columns.values is None:
            return _Cell(n, clusters, None, None, None)

        values = columns.values[0][counted_rows]
        total, of = (float(side[counted].sum()) for side in table)
        shares = columns.metric.kind != "ratio" and columns.metric.limits == UNIT
        if shares and bool(np.isin(values, (0.0, 1.0)).all()):
            right = int(values.sum())
            return _Cell(n, clusters, (right, n - right), total, of)

        return _Cell(n, clusters, None, total, of)

    def _whole(
        self, role: str, metric: MetricSpec, cell: _Cell, figure: Figure
    ) -> JsonDict:
        """A metric over all items, as a range if few are right or few are wrong.

        Example: of 100 items 97 are right. 3 wrong ones are too few to be published (`LEAST` is
        5), so the file has 0.98, which may be off by 0.02: there are 0 to 4 wrong ones.
        """
        if cell.outcomes is not None:
            self._counts.add(metric.name)
        if cell.outcomes is None or not is_small(*cell.outcomes):
            return _row(role, metric.name, _WHOLE, cell, _estimate(figure, 0.0))

        true = cell.outcomes[0] / cell.n
        off = (LEAST - 1.0) / 2.0 / cell.n
        value = off if cell.outcomes[0] < LEAST else 1.0 - off
        self._off[role, metric.name] = value - true, off
        low, high = wilson(value, float(cell.clusters), _Z)
        estimate = {"value": value, "low": low, "high": high, "off": off}

        return _row(role, metric.name, _WHOLE, cell, _rounded(estimate))

    def _corrected(
        self, role: str, metric: MetricSpec, raw: JsonDict, figure: Json
    ) -> JsonDict:
        """A corrected metric, shifted and widened like its raw one."""
        moved, off = self._off.get((role, metric.name), (0.0, 0.0))
        slope = _slope(figure)
        estimate = _moved(_estimate(figure, 0.0), moved * slope, metric.limits)
        estimate["off"] = off * slope
        row = {**raw, "metric": metric.name + SUFFIX, "n": figure["n"]}
        row |= {"right": None, "total": None, "of": None}
        row["estimate"] = _rounded(estimate, coarse=self.coarse)
        return row

    def _groups(
        self, role: str, metric: MetricSpec, columns: Columns, by: str, *, whole: bool
    ) -> Iterator[JsonDict]:
        """A metric for each group that may be published."""
        figures = mapping(self.entries[role]["breakdown"].get(by))
        members = self._members[role].get(by, {})
        cells = {
            group: self._cell(role, columns, of_group)
            for group, of_group in members.items()
        }
        cells = {group: cell for group, cell in cells.items() if cell.n}
        without = self._without(by, members, cells)
        outcomes = {
            group: cell.outcomes for group, cell in cells.items() if cell.outcomes
        }
        hidden = hidden_outcomes(outcomes, without, whole=whole) if outcomes else set()
        for group, cell in cells.items():
            figure = mapping(mapping(figures.get(group)).get(metric.name))
            if by in self._own and group:
                figure = self._computed(role, columns, members[group])
            if group in without or not group or figure.get("value") is None:
                continue

            estimate = _estimate(figure, 0.0) if group not in hidden else None
            yield _row(role, metric.name, (by, group), cell, estimate)

    def _without(
        self, by: str, members: Mapping[str, list[int]], cells: Mapping[str, _Cell]
    ) -> set[str]:
        """The groups that a metric leaves out, since their size or its rest is small."""
        sizes = {
            group: min(cell.clusters, len(members[group]) - cell.n or cell.clusters)
            for group, cell in cells.items()
        }
        for group in self._hidden.get(by, set()) & sizes.keys():
            sizes[group] = 0  # what is hidden in one metric is hidden in all
        return hidden_groups(sizes)

    def _computed(
        self, role: str, columns: Columns, members: Sequence[int]
    ) -> JsonDict:
        """A metric for a group of a stratum by which the run is not broken down."""
        group_columns = columns.of_items(np.array(members, dtype=np.intp))
        whose = self._whose([self._rows[role][index] for index in members])
        estimate = average_interval(
            group_columns.first,
            group_columns.shares,
            clusters=whose,
            limits=columns.metric.limits,
        )
        return as_json(estimate)

    def _strata_differences(self) -> Breakdowns:
        """The differences by stratum, in the form of `compare`'s breakdowns."""
        sides = (
            {row["id"]: row for row in self._rows[role]}
            for role in ("baseline", "candidate")
        )
        first, second = shared_rows(*sides)
        reported = {metric.name: metric for metric, _ in self._columns("candidate")}
        breakdowns: Breakdowns = {}
        for name, metric in reported.items():
            columns = columns_of(metric, reported, first, second, self._whose(first))
            for by in self._own:
                for group, members in self._of_stratum(first, by).items():
                    group_columns = columns.of_items(np.array(members, dtype=np.intp))
                    entry = compare_columns(
                        group_columns, resamples=GROUP_RESAMPLES, whole=False
                    )
                    breakdowns.setdefault(by, {}).setdefault(group, {})[name] = entry

        return breakdowns

    def _differences(self) -> Iterator[JsonDict]:
        """The candidate less the baseline, for all items and for groups that both publish."""
        if len(self.entries) < len(_ROLES):
            return

        name = self.task.name
        compared = compare_tasks(
            self.runs["baseline"],
            self.runs["candidate"],
            {name: self.task},
            selection=Selection(tasks=[name], by=ALL),
        )[name]
        if compared["refused"]:
            raise UsageError(
                f"{name}: candidate and baseline cannot be compared: "
                f"{'; '.join(compared['refused'])}"
            )

        published = {
            (figure["metric"], figure["by"], figure["group"], figure["role"])
            for role in self.entries
            for figure in self._figures(role)
            if figure["estimate"] is not None
        }
        groups = {**compared["breakdown"], **self._strata_differences()}
        for metric, key, entry in _entries(compared["metrics"], groups):
            both = {(metric, *key, role) for role in _ROLES} <= published
            if both and entry["n_clusters"] >= LEAST and entry["ci_low"] is not None:
                yield self._difference(metric, key, entry)

    def _difference(
        self, metric: str, key: tuple[str, str], entry: Difference
    ) -> JsonDict:
        """A difference, shifted and widened like its two figures."""
        raw = metric.removesuffix(SUFFIX)
        sides = [self._off.get((role, raw), (0.0, 0.0)) for role in _ROLES]
        moved, off = sides[0][0] - sides[1][0], sides[0][1] + sides[1][1]
        if raw != metric:
            slope = max(
                _slope(self.entries[role]["metrics"][metric]) for role in _ROLES
            )
            moved, off = moved * slope, off * slope

        estimate = {
            "value": entry["difference"],
            "low": entry["ci_low"],
            "high": entry["ci_high"],
        }
        estimate = _moved(estimate, moved if key == _WHOLE else 0.0, None)
        estimate["off"] = off if key == _WHOLE else 0.0
        if metric in self._counts:
            _widen_for_flips(estimate, entry)

        return {
            "metric": metric,
            "by": key[0],
            "group": key[1],
            "n": entry["n"],
            "clusters": entry["n_clusters"],
            "estimate": _rounded(estimate, coarse=raw != metric and self.coarse),
        }


def _entries(
    metrics: Mapping[str, Difference],
    breakdowns: Mapping[str, Mapping[str, Mapping[str, Difference]]],
) -> Iterator[tuple[str, tuple[str, str], Difference]]:
    """Differences with their metric, breakdown and group."""
    for metric, entry in metrics.items():
        yield metric, _WHOLE, entry
    for by, groups in breakdowns.items():
        for group, of_group in groups.items():
            for metric, entry in of_group.items():
                yield metric, (by, group), entry


def _widen_for_flips(estimate: JsonDict, entry: Difference) -> None:
    """Hides the number of items that changed for better or worse if it is small.

    The interval would reveal it, so it is widened to that of the largest hidden number.
    """
    flips, n = entry["flips"], entry["n"]
    if not flips or not is_small(flips["improved"], flips["worsened"]):
        return

    value = estimate["value"]
    changed = 2.0 * (LEAST - 1.0) / n + abs(value)
    reach = _Z * math.sqrt(max(0.0, changed - value**2) / entry["n_clusters"])
    estimate["low"] = min(estimate["low"], value - reach)
    estimate["high"] = max(estimate["high"], value + reach)


def _row(
    role: str,
    metric: str,
    key: tuple[str, str],
    cell: _Cell,
    estimate: JsonDict | None,
) -> JsonDict:
    """A figure's entry in the shared file."""
    is_exact = estimate is not None and estimate["off"] == 0.0
    sums = is_exact and cell.outcomes is None and cell.total is not None

    return {
        "role": role,
        "metric": metric,
        "by": key[0],
        "group": key[1],
        "n": cell.n,
        "clusters": cell.clusters,
        "right": cell.outcomes[0] if is_exact and cell.outcomes else None,
        "total": round(cell.total or 0.0, _DIGITS) if sums else None,
        "of": round(cell.of or 0.0, _DIGITS) if sums else None,
        "estimate": estimate,
    }


def _estimate(figure: Json, off: float) -> JsonDict | None:
    """A figure's value and interval; None if it lacks one of them."""
    ends = {
        "value": figure["value"],
        "low": figure["ci_low"],
        "high": figure["ci_high"],
    }
    if None in ends.values():
        return None
    return _rounded({**ends, "off": off})


def _moved(
    estimate: JsonDict | None, by: float, limits: tuple[float, float] | None
) -> JsonDict:
    """Shifts an estimate, and cuts it at the limits of its scale.

    Example:
        >>> _moved({"value": 0.75, "low": 0.5, "high": 0.875, "off": 0.0}, 0.25, (0.0, 1.0))
        {'value': 1.0, 'low': 0.75, 'high': 1.0}
    """
    low, high = limits or (-math.inf, math.inf)
    return {
        name: min(max(value + by, low), high)
        for name, value in (estimate or {}).items()
        if name != "off"
    }


def _rounded(estimate: JsonDict, *, coarse: bool = False) -> JsonDict:
    """Rounds an estimate to a thousandth of a point, or to one point if `coarse`."""
    digits = _COARSE if coarse else _DIGITS
    rounded = {
        name: round(float(value), digits) + 0.0 for name, value in estimate.items()
    }
    rounded["off"] = round(float(estimate["off"]), _DIGITS)
    rounded["low"] = min(rounded["low"], rounded["value"])
    rounded["high"] = max(rounded["high"], rounded["value"])
    return rounded


def _slope(figure: Json) -> float:
    """The change of a corrected value for a change of one in the raw value."""
    scores = mapping(figure.get("calibration")).get("scores") or (0.0, 1.0)
    return float(max(scores) - min(scores))


def _coverage(entry: TaskEntry) -> JsonDict:
    """The number of scored items, and of unscored ones unless these are few."""
    scored = entry["coverage"]["scored"]
    missing = entry["coverage"]["asked"] - scored
    return {"scored": scored, "missing": None if is_small(missing) else missing}


def _check(check: Json) -> JsonDict:
    """A judge's check with its confusion matrix, if no cell is small."""
    pairs = [
        pair
        for pair in zip(
            check["labels"]["gold"],
            check["labels"]["judge"],
            check["labels"]["cluster"],
            strict=True,
        )
        if None not in pair
    ]
    classes = sorted({name for gold, judged, _ in pairs for name in (gold, judged)})
    counts = [
        [sum(pair[:2] == (gold, judged) for pair in pairs) for judged in classes]
        for gold in classes
    ]
    small = not classes or any(is_small(*row) for row in counts)

    return {
        "judge": _last_part(str(check["judge"]["name"])),
        "set": str(check["set"]),
        "pairs": len(pairs),
        "clusters": len({pair[2] for pair in pairs}),
        "classes": classes,
        "table": None if small else counts,
    }


def recipe_parts(task: TaskSpec, recipe: Json) -> dict[str, str]:
    """The parts of a recipe that decide the numbers, as hashes and names without paths.

    Two sites with equal parts measured the same thing on different notes.
    """
    judge = mapping(recipe.get("judge"))
    prompts = mapping(recipe.get("prompts"))
    data = mapping(recipe.get("data"))
    parts = {
        "version": str(recipe.get("task_version")).partition("-")[0],
        "data": f"{data.get('name')} {data.get('config')} {data.get('split')}",
        "metrics": _digest(
            {
                name: kind
                for name, kind in mapping(recipe.get("metrics")).items()
                if name in {metric.name for metric in task.metrics}
            }
        ),
        "items": _digest(recipe.get("task_args")),
        "scoring": _digest(recipe.get("scoring")),
        "prompts": f"{prompts.get('set')} {_digest(prompts)}" if prompts else "none",
        "generation": _digest(deciding_generation(recipe)),
        "judge": _last_part(str(judge.get("name"))) if judge else "none",
        "votes": str(judge.get("votes")) if judge else "none",
        "judge_asked": _digest(
            {key: judge[key] for key in judge if key not in ("name", "votes")}
        ),
        **{kind: _digest(recipe[kind]) for kind in _PARTS if recipe.get(kind)},
    }

    return {kind: one_line(text) for kind, text in parts.items()}


def _digest(value: object) -> str:
    """A hash of a part of a recipe; "none" for an empty one."""
    plain = _without_places(value)
    if not plain:
        return "none"
    text = json.dumps(plain, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_places(value: object) -> object:
    """A part of a recipe without files and addresses, which differ between sites."""
    if isinstance(value, Mapping):
        if "file" in value:
            return "a file"
        plain = {str(key): _without_places(inner) for key, inner in value.items()}
        return {key: inner for key, inner in plain.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_without_places(item) for item in value]
    return None if isinstance(value, str) and "/" in value else value


def _last_part(name: str) -> str:
    """A model's or judge's name without its folder or host."""
    return one_line(name.rstrip("/").rpartition("/")[2]) or "unknown"


def _code(path: Path) -> str:
    """The site's random code: that of the last shared file, or a new one."""
    try:
        before = json.loads(read_text(path))["site"]
    except (OSError, ValueError, LookupError, TypeError):
        before = ""
    is_code = isinstance(before, str) and before.startswith("site-")
    return before if is_code else f"site-{secrets.token_hex(4)}"


def _count(content: Json) -> int:
    """The number of figures in a shared file."""
    entries = content["tasks"].values()
    return sum(len(task["figures"]) + len(task["differences"]) for task in entries)


def _strata(site: Site) -> Strata:
    """The strata of the site's items; none before the items are built."""
    try:
        return strata_of(site)
    except MissingError:
        return {}


def _ids(runs: Mapping[str, Path]) -> Iterator[str]:
    """The ids of items and clusters of runs."""
    for folder in runs.values():
        for row in read_compared(folder).rows:
            ids = (str(row.get(name) or "") for name in ("id", "cluster"))
            yield from (text for text in ids if len(text) >= _SHORTEST_ID)


def write_share(
    content: Json, folder: Path, *, sources: Sequence[Path], secret: Iterable[str]
) -> list[Path]:
    """Writes the shared file and its readable copy, unless they would reveal something.

    Args:
        content: the result of `made_share`.
        folder: where to write them.
        sources: files with the site's text.
        secret: ids and names that must not occur in them.

    Raises:
        RefusedError: the content violates its form, or holds text, an id or a name.
    """
    from medical_tasks.io.forms import complaint
    from medical_tasks.site.share_forms import ShareForm
    from medical_tasks.site.share_text import readable_share

    if problem := complaint(ShareForm, content):
        problem = problem.partition(", got ")[0]  # which could be text of a note
        raise RefusedError(
            f"{folder / SHARE_FILE}: not written, since it would violate its form: {problem}. Give the "
            "group or model a short, plain name."
        )

    texts = {
        SHARE_FILE: json.dumps(content, indent=1, ensure_ascii=True) + "\n",
        READABLE_FILE: readable_share(content),
    }
    _check_names(content, set(secret))
    with tempfile.TemporaryDirectory(prefix="medical-tasks-share-") as draft:
        for name, text in texts.items():
            with WholeFile(Path(draft) / name) as file:
                file.write(text)

        if sources:
            _check_text(Path(draft), sources)

    make_folder(folder)
    for name, text in texts.items():
        with WholeFile(folder / name) as file:
            file.write(text)

    return [folder / name for name in texts]


def _check_names(content: Json, secret: set[str]) -> None:
    """Refuses content that has an id or a person's name among its words."""
    words = set(_words({**content, "sha256": ""}))
    if leaked := sorted(words & secret):
        raise RefusedError(
            f"not shared: {len(leaked)} of its names are ids of items or names of reviewers, such "
            f"as one of {len(leaked[0])} characters. Rename the group or the model."
        )


def _words(value: object) -> Iterator[str]:
    """All texts and keys of a JSON value, except in recipes."""
    if isinstance(value, Mapping):
        for key, element in value.items():
            yield str(key)
            yield from () if key == "recipe" else _words(element)
    elif isinstance(value, list):
        for element in value:
            yield from _words(element)
    elif isinstance(value, str):
        yield value


def _check_text(draft: Path, sources: Sequence[Path]) -> None:
    """Refuses files that contain text of a source."""
    report = check_leaks(draft, sources)
    if report.found or report.unreadable:
        names = ", ".join([*report.found, *report.unreadable])
        raise RefusedError(
            f"not shared: text of the site's sources is in {names}, or they cannot be read. "
            "Nothing was written."
        )
