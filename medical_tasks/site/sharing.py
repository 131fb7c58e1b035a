"""`site share`: the one small file of counts and strata that other hospitals may have.

    runs and checks of the site
    -> figures, differences, confusion matrices; small cells stay (`suppression`)
    -> a strict form without a field for text (`share_forms`), signed by its hash
    -> no 12-word run of a source, no id and no reviewer in it, else refused
    -> share/site_share.json, and share/share.md, which lists every figure that leaves

The hash shows that a file is as it was written, not who wrote it.

What a small cell would reveal through another figure is widened: a share of 97 of 100
tells that 3 were wrong, so it leaves as "between 96 and 100 of 100" (`off`), and so do
its corrected value and its difference to the baseline.
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
"""Of each item by its id: its group by breakdown."""
_PATIENT: Final = "patient"
"""The stratum that says whose an item is."""
_ROLES: Final = ("candidate", "baseline")
_Z: Final = normal_quantile(0.975)
_DIGITS: Final = 5
_COARSE: Final = 2
"""Digits of a corrected figure where the judge's matrix has a hidden cell."""
_RESPONSES: Final = "responses/"
_FROM_FILE: Final = "answers from a file"
_SHORTEST_ID: Final = 4
"""Shorter ids are numbers and letters that may be a group's name by chance."""
_WHOLE: Final = ("", "")
_PARTS: Final = (
    "truncation", "protocol", "roles", "repeats", "evaluations", "confidence", "imported",
)  # fmt: skip


def run(options: Share) -> int:
    """Writes the file, or shows what is in the one that was written."""
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
        f"{written[0]}: {_count(content)} figures of {name}; no text, id or reviewer in "
        f"it. Read {written[1]} before it leaves: medical-tasks site share --show",
        file=str(written[0]),
        **figures,
    )

    return 0


def state(site: Site) -> State:
    """Where the step stands: it needs a finished run, and nobody has to share."""
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
        runs: folders of finished runs, by role: candidate, baseline.
        checks: each the `check.json` of a judge, or its folder; those of other judges
            than the runs' stay.
        site: what the site is called in the file.
        models: names of the models by role, where answers came from files.
        strata: of each item, by its id: group by breakdown, and its `patient`.

    Raises:
        UsageError: a run or check is damaged, or has nothing to share.
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
            f"{runs['candidate']}: has no task that this version knows, so that there is "
            "nothing to share."
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
    """The SHA-256 of a shared file's content but for the hash in it, as canonical JSON."""
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
    """A metric of some items.

    Attributes:
        n: how many count.
        clusters: how many of them are independent.
        outcomes: how many are right and how many not; None of another metric.
        total: the sum of numerators; `of` of denominators. None of an average.
    """

    n: int
    clusters: int
    outcomes: tuple[int, int] | None
    total: float | None
    of: float | None


@dataclass(frozen=True, eq=False)
class _Shared:
    """A task of a site, as far as it may be told.

    Attributes:
        task: the task.
        runs: by role.
        models: names by role that win over those of the recipes.
        strata: of each item, by its id.
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
        """The task as a shared file has it."""
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
        """The model of a role; of answers from a file their name would be the file's."""
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
        """By role, breakdown and group: which rows are in it; "" for in none."""
        found: dict[str, dict[str, dict[str, list[int]]]] = {}
        for role, rows in self._rows.items():
            for by in breakdown_names(self.task):
                named = mapping(self.entries[role]["breakdown"].get(by))
                groups = found.setdefault(role, {}).setdefault(by, {})
                for index, row in enumerate(rows):
                    text = row.get(f"group_{by}") or ""
                    for group in groups_of(text, named) if text else ("",):
                        groups.setdefault(group, []).append(index)

            for by in self._own:
                found[role][by] = self._of_stratum(rows, by)

        return found

    @cached_property
    def _own(self) -> list[str]:
        """The strata of the site that are no breakdown of the task."""
        names = dict.fromkeys(name for each in self.strata.values() for name in each)
        taken = (_PATIENT, *breakdown_names(self.task))
        return [name for name in names if name not in taken]

    def _of_stratum(self, rows: Sequence[Row], by: str) -> dict[str, list[int]]:
        """Which rows are of each group of a stratum."""
        groups: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            group = mapping(self.strata.get(row["id"])).get(by) or ""
            groups.setdefault(group, []).append(index)
        return groups

    @cached_property
    def _hidden(self) -> dict[str, set[str]]:
        """The groups of each breakdown that are hidden for every metric and role."""
        sizes: dict[str, dict[str, int]] = {}
        for role, breakdowns in self._members.items():
            for by, groups in breakdowns.items():
                least = sizes.setdefault(by, {})
                for group, members in groups.items():
                    size = self._clusters(role, members)
                    least[group] = min(size, least.get(group, size))
        return {by: hidden_groups(least) for by, least in sizes.items()}

    def _clusters(self, role: str, members: Sequence[int]) -> int:
        """How many independent items there are among some rows."""
        rows = [self._rows[role][index] for index in members]
        return len(set(self._whose(rows)))

    def _whose(self, rows: Sequence[Row]) -> list[object]:
        """Whose each row is: the patient's, as the site or the task says; else its own."""
        apart = self.task.cluster is None
        return [
            mapping(self.strata.get(row["id"])).get(_PATIENT)
            or row["id" if apart else "cluster"]
            for row in rows
        ]

    def _columns(self, role: str) -> Iterator[tuple[MetricSpec, Columns]]:
        """The metrics of a role that have a value, the headline first."""
        figures, rows = self.entries[role]["metrics"], self._rows[role]
        reported = {
            metric.name: metric
            for metric in self.task.metrics
            if mapping(figures.get(metric.name)).get("value") is not None
        }
        for metric in reported.values():
            # How many items a metric of right answers is of tells how many are right.
            if not metric.part and not metric.if_right:
                yield metric, columns_of(metric, reported, rows, rows, None)

    def _figures(self, role: str) -> Iterator[JsonDict]:
        """All figures of a role: of all items, corrected, and of groups."""
        entry = self.entries[role]
        for metric, columns in self._columns(role):
            cell = self._cell(role, columns, None)
            if cell.clusters < LEAST:
                continue

            shown = self._whole(role, metric, cell, entry["metrics"][metric.name])
            yield shown
            corrected = mapping(entry["metrics"].get(metric.name + SUFFIX))
            if None not in map(corrected.get, ("value", "ci_low", "ci_high")):
                yield self._corrected(role, metric, shown, corrected)

            exact = shown["estimate"] is not None and shown["estimate"]["off"] == 0.0
            for by in self._members[role]:
                yield from self._groups(role, metric, columns, by, whole=exact)

    def _cell(
        self, role: str, columns: Columns, members: Sequence[int] | None
    ) -> _Cell:
        """A metric of some rows; None for all."""
        rows = range(len(self._rows[role])) if members is None else members
        chosen = np.array(rows, dtype=np.intp)
        table = np.stack([column[chosen] for column in columns.first])
        counted = np.isfinite(table).all(axis=0) & (table[1::2].sum(axis=0) > 0.0)
        kept = chosen[counted]
        n, clusters = len(kept), self._clusters(role, kept.tolist())
        if columns.values is None:
            return _Cell(n, clusters, None, None, None)

        values = columns.values[0][kept]
        total, of = (float(side[counted].sum()) for side in table)
        shares = columns.metric.kind != "ratio" and columns.metric.limits == UNIT
        if shares and bool(np.isin(values, (0.0, 1.0)).all()):
            right = int(values.sum())
            return _Cell(n, clusters, (right, n - right), total, of)

        return _Cell(n, clusters, None, total, of)

    def _whole(
        self, role: str, metric: MetricSpec, cell: _Cell, figure: Figure
    ) -> JsonDict:
        """A metric of all items, as a range where few are right or few are wrong."""
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
        self, role: str, metric: MetricSpec, shown: JsonDict, figure: Json
    ) -> JsonDict:
        """A corrected metric, moved and widened as its raw one is."""
        moved, off = self._off.get((role, metric.name), (0.0, 0.0))
        slope = _slope(figure)
        estimate = _moved(_estimate(figure, 0.0), moved * slope, metric.limits)
        estimate["off"] = off * slope
        row = {**shown, "metric": metric.name + SUFFIX, "n": figure["n"]}
        row |= {"right": None, "total": None, "of": None}
        row["estimate"] = _rounded(estimate, coarse=self.coarse)
        return row

    def _groups(
        self, role: str, metric: MetricSpec, columns: Columns, by: str, *, whole: bool
    ) -> Iterator[JsonDict]:
        """A metric of each group that may be told."""
        figures = mapping(self.entries[role]["breakdown"].get(by))
        members = self._members[role].get(by, {})
        cells = {
            group: self._cell(role, columns, of_group)
            for group, of_group in members.items()
        }
        cells = {group: cell for group, cell in cells.items() if cell.n}
        sizes = {
            group: min(cell.clusters, len(members[group]) - cell.n or cell.clusters)
            for group, cell in cells.items()
        }
        for group in self._hidden.get(by, set()) & sizes.keys():
            sizes[group] = 0  # what is hidden in one metric is hidden in all

        without = hidden_groups(sizes)
        outcomes = {
            group: cell.outcomes for group, cell in cells.items() if cell.outcomes
        }
        untold = hidden_outcomes(outcomes, without, whole=whole) if outcomes else set()
        for group, cell in cells.items():
            figure = mapping(mapping(figures.get(group)).get(metric.name))
            if by in self._own and group:
                figure = self._computed(role, columns, members[group])
            if group in without or not group or figure.get("value") is None:
                continue

            told = _estimate(figure, 0.0) if group not in untold else None
            yield _row(role, metric.name, (by, group), cell, told)

    def _computed(
        self, role: str, columns: Columns, members: Sequence[int]
    ) -> JsonDict:
        """A metric of a stratum, which the run itself does not break down by."""
        part = columns.of_items(np.array(members, dtype=np.intp))
        whose = self._whose([self._rows[role][index] for index in members])
        found = average_interval(
            part.first, part.shares, clusters=whose, limits=columns.metric.limits
        )
        return as_json(found)

    def _strata_differences(self) -> Breakdowns:
        """The differences by strata, as `compare` has those by breakdowns."""
        sides = (
            {row["id"]: row for row in self._rows[role]}
            for role in ("baseline", "candidate")
        )
        first, second = shared_rows(*sides)
        reported = {metric.name: metric for metric, _ in self._columns("candidate")}
        found: Breakdowns = {}
        for name, metric in reported.items():
            columns = columns_of(metric, reported, first, second, self._whose(first))
            for by in self._own:
                for group, members in self._of_stratum(first, by).items():
                    part = columns.of_items(np.array(members, dtype=np.intp))
                    entry = compare_columns(
                        part, resamples=GROUP_RESAMPLES, whole=False
                    )
                    found.setdefault(by, {}).setdefault(group, {})[name] = entry

        return found

    def _differences(self) -> Iterator[JsonDict]:
        """The candidate less the baseline, of all items and of groups that both tell."""
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

        told = {
            (each["metric"], each["by"], each["group"], each["role"])
            for role in self.entries
            for each in self._figures(role)
            if each["estimate"] is not None
        }
        groups = {**compared["breakdown"], **self._strata_differences()}
        for metric, place, entry in _entries(compared["metrics"], groups):
            both = {(metric, *place, role) for role in _ROLES} <= told
            if both and entry["n_clusters"] >= LEAST and entry["ci_low"] is not None:
                yield self._difference(metric, place, entry)

    def _difference(
        self, metric: str, place: tuple[str, str], entry: Difference
    ) -> JsonDict:
        """A difference, moved and widened as the figures it is of."""
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
        estimate = _moved(estimate, moved if place == _WHOLE else 0.0, None)
        estimate["off"] = off if place == _WHOLE else 0.0
        if metric in self._counts:
            _widen_for_flips(estimate, entry)

        return {
            "metric": metric,
            "by": place[0],
            "group": place[1],
            "n": entry["n"],
            "clusters": entry["n_clusters"],
            "estimate": _rounded(estimate, coarse=raw != metric and self.coarse),
        }


def _entries(
    metrics: Mapping[str, Difference],
    breakdowns: Mapping[str, Mapping[str, Mapping[str, Difference]]],
) -> Iterator[tuple[str, tuple[str, str], Difference]]:
    """Differences with their metric and place."""
    for metric, entry in metrics.items():
        yield metric, _WHOLE, entry
    for by, groups in breakdowns.items():
        for group, of_group in groups.items():
            for metric, entry in of_group.items():
                yield metric, (by, group), entry


def _widen_for_flips(estimate: JsonDict, entry: Difference) -> None:
    """Hides how many items changed for better or worse, where these are few.

    The interval would tell their number; it becomes the one of so many as may be.
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
    place: tuple[str, str],
    cell: _Cell,
    estimate: JsonDict | None,
) -> JsonDict:
    """A figure as a shared file has it."""
    told = estimate is not None and estimate["off"] == 0.0
    sums = told and cell.outcomes is None and cell.total is not None

    return {
        "role": role,
        "metric": metric,
        "by": place[0],
        "group": place[1],
        "n": cell.n,
        "clusters": cell.clusters,
        "right": cell.outcomes[0] if told and cell.outcomes else None,
        "total": round(cell.total or 0.0, _DIGITS) if sums else None,
        "of": round(cell.of or 0.0, _DIGITS) if sums else None,
        "estimate": estimate,
    }


def _estimate(figure: Json, off: float) -> JsonDict | None:
    """A figure's value and interval; None where it has none."""
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
    """An estimate moved along its scale, and cut at the scale's ends."""
    low, high = limits or (-math.inf, math.inf)
    return {
        name: min(max(value + by, low), high)
        for name, value in (estimate or {}).items()
        if name != "off"
    }


def _rounded(estimate: JsonDict, *, coarse: bool = False) -> JsonDict:
    """The numbers as they leave: a thousandth of a point, or one point where `coarse`."""
    digits = _COARSE if coarse else _DIGITS
    rounded = {
        name: round(float(value), digits) + 0.0 for name, value in estimate.items()
    }
    rounded["off"] = round(float(estimate["off"]), _DIGITS)
    rounded["low"] = min(rounded["low"], rounded["value"])
    rounded["high"] = max(rounded["high"], rounded["value"])
    return rounded


def _slope(figure: Json) -> float:
    """How far a corrected value moves where the raw one moves by one."""
    scores = mapping(figure.get("calibration")).get("scores") or (0.0, 1.0)
    return float(max(scores) - min(scores))


def _coverage(entry: TaskEntry) -> JsonDict:
    """How many items are scored, and how many are not unless these are few."""
    scored = entry["coverage"]["scored"]
    missing = entry["coverage"]["asked"] - scored
    return {"scored": scored, "missing": None if is_small(missing) else missing}


def _check(check: Json) -> JsonDict:
    """A judge's check: its confusion matrix, where no cell is small."""
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
    """What decides a task's numbers, by kind, in words and hashes that name no file or host.

    Two sites whose parts are the same measured the same thing on other notes.
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
        **{part: _digest(recipe[part]) for part in _PARTS if recipe.get(part)},
    }

    return {kind: one_line(text) for kind, text in parts.items()}


def _digest(part: object) -> str:
    """A hash of a part of a recipe; "none" of nothing."""
    plain = _without_places(part)
    if not plain:
        return "none"
    text = json.dumps(plain, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_places(part: object) -> object:
    """A part of a recipe without files and addresses, which differ from site to site."""
    if isinstance(part, Mapping):
        if "file" in part:
            return "a file"
        plain = {str(key): _without_places(value) for key, value in part.items()}
        return {key: value for key, value in plain.items() if value is not None}
    if isinstance(part, list | tuple):
        return [_without_places(value) for value in part]
    return None if isinstance(part, str) and "/" in part else part


def _last_part(name: str) -> str:
    """A model's or judge's name without the folder or host before it."""
    return one_line(name.rstrip("/").rpartition("/")[2]) or "unknown"


def _code(path: Path) -> str:
    """The site's random code: the one of the file before, or a new one."""
    try:
        before = json.loads(read_text(path))["site"]
    except (OSError, ValueError, LookupError, TypeError):
        before = ""
    is_code = isinstance(before, str) and before.startswith("site-")
    return before if is_code else f"site-{secrets.token_hex(4)}"


def _count(content: Json) -> int:
    """How many figures a shared file has."""
    each = content["tasks"].values()
    return sum(len(task["figures"]) + len(task["differences"]) for task in each)


def _strata(site: Site) -> Strata:
    """The strata of the site's items; none before there are items."""
    try:
        return strata_of(site)
    except MissingError:
        return {}


def _ids(runs: Mapping[str, Path]) -> Iterator[str]:
    """The ids of items and clusters of runs."""
    for folder in runs.values():
        for row in read_compared(folder).rows:
            found = (str(row.get(name) or "") for name in ("id", "cluster"))
            yield from (text for text in found if len(text) >= _SHORTEST_ID)


def write_share(
    content: Json, folder: Path, *, sources: Sequence[Path], secret: Iterable[str]
) -> list[Path]:
    """Writes the shared file and the one for people, when nothing of the site is in them.

    Args:
        content: of `made_share`.
        folder: where they are to lie.
        sources: files with the site's text.
        secret: ids and names that must not be in them.

    Raises:
        RefusedError: the content breaks its form, or text, an id or a name is in it.
    """
    from medical_tasks.io.forms import complaint
    from medical_tasks.site.share_forms import ShareForm
    from medical_tasks.site.share_text import readable_share

    if said := complaint(ShareForm, content):
        said = said.partition(", got ")[0]  # which could be text of a note
        raise RefusedError(
            f"{folder / SHARE_FILE}: not written, since it would break its form: {said}. Give the "
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
    """Refuses a content that has an id or a person's name among its words."""
    words = set(_words({**content, "sha256": ""}))
    if found := sorted(words & secret):
        raise RefusedError(
            f"not shared: {len(found)} of its names are ids of items or names of reviewers, such "
            f"as one of {len(found[0])} characters. Name the group otherwise."
        )


def _words(value: object) -> Iterator[str]:
    """All texts of a JSON value and its keys, but for the parts of recipes."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from () if key == "recipe" else _words(each)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif isinstance(value, str):
        yield value


def _check_text(draft: Path, sources: Sequence[Path]) -> None:
    """Refuses files in which text of a source stands."""
    report = check_leaks(draft, sources)
    if report.found or report.unreadable:
        names = ", ".join([*report.found, *report.unreadable])
        raise RefusedError(
            f"not shared: text of the site's sources is in {names}, or they cannot be read. "
            "Nothing was written."
        )
