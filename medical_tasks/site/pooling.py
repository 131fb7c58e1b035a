"""`site pool`: pools the shared files of several hospitals.

    files -> strict form, hash, each site once
    -> recipes compared: differences are named, and refused unless accepted
    -> by task, metric, group: effects (`site_effects`) -> random effects
    -> pool.json, pool.html, and a table on the terminal

A metric that a judge decides is pooled twice: raw, and corrected for each site's judge.
The corrected line uses a site's own corrected figure, or else corrects by its confusion
matrix; a site with neither is left out of that line and named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Final, NamedTuple

from medical_tasks._version import __version__
from medical_tasks.catalog import tasks
from medical_tasks.errors import UsageError, did_you_mean, listed
from medical_tasks.io.files import WholeFile, make_folder, read_text, readable
from medical_tasks.io.output import tell
from medical_tasks.runs.calibrating import SUFFIX
from medical_tasks.runs.recipes import DIFFERENCES
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.scoring.correction import NotCorrectableError
from medical_tasks.scoring.estimates import UNIT
from medical_tasks.site.options import Pool
from medical_tasks.site.random_effects import range_quantile
from medical_tasks.site.share_text import difference_text
from medical_tasks.site.sharing import SHARE_FILE, content_hash
from medical_tasks.site.site_effects import (
    Effect,
    Scale,
    between,
    corrected_here,
    effect_of,
    is_poolable,
    together,
)
from medical_tasks.spec import MetricSpec, TaskSpec

CHAI_POINTS: Final = (0.05, 0.10)
"""Differences between sites on which CHAI's frameworks ask, as shares."""
KINDS: Final = frozenset({*DIFFERENCES, "model"})
_LEAST_SITES: Final = 2
_ROLES: Final = ("candidate", "baseline")


class Shared(NamedTuple):
    """A shared file with its content."""

    path: Path
    site: str
    content: Json


def run(options: Pool) -> int:
    """Pools files, writes `pool.json` and `pool.html`, and prints the table."""
    paths = (options.folder, *options.files)
    result = pool([read_share(path) for path in paths], accept=options.accept)
    from medical_tasks.site.pool_report import as_text, page

    out = make_folder(options.out or Path("pooled"))
    with WholeFile(out / "pool.json") as file:
        file.write(json.dumps(result, indent=1, allow_nan=False) + "\n")

    with WholeFile(out / "pool.html") as file:
        file.write(page(result))

    tell(f"{as_text(result)}\n\nreport: {out / 'pool.html'}", result)
    return 0


def read_share(path: Path) -> Shared:
    """Reads a shared file, or the one in a folder.

    Raises:
        UsageError: it is not a shared file, or was changed after it was written.
    """
    path = path.expanduser()
    path = path / SHARE_FILE if path.is_dir() else path
    with readable(path, missing="Give the site_share.json of each hospital."):
        text = read_text(path)

    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: not JSON ({error}). Ask the site for the file again."
        ) from None

    from medical_tasks.io.forms import complaint
    from medical_tasks.site.share_forms import ShareForm

    if problem := complaint(ShareForm, content):
        raise UsageError(
            f"{path}: not a shared file of a site: {problem}. Give what medical-tasks site share "
            "wrote."
        )

    if content_hash(content) != content["sha256"]:
        raise UsageError(
            f"{path}: was changed after the site wrote it (its hash is another). Ask the site for "
            "the file again."
        )

    return Shared(path, content["site"], content)


def pool(shares: Sequence[Shared], *, accept: Sequence[str] = ()) -> JsonDict:
    """Pools hospitals by task, metric and group.

    Args:
        shares: the files of two hospitals or more.
        accept: kinds of differences between recipes to accept.

    Raises:
        UsageError: a site appears twice, or recipes differ.
    """
    _check_accepted(accept)
    _check_apart(shares)
    accepted = _check_recipes(shares, frozenset(accept))
    registered = tasks()
    named = dict.fromkeys(
        name
        for share in shares
        for name in share.content["tasks"]
        if name in registered
    )
    pooled_tasks = {name: _Pool(registered[name], shares).content() for name in named}
    if not any(task["lines"] for task in pooled_tasks.values()):
        raise UsageError(
            "no two of the files have a figure of the same task. Give files of sites with the "
            f"same use; these have {listed(sorted(_task_names(shares)), 5)}."
        )

    return {
        "suite": f"medical-tasks {__version__}",
        "sites": [_site(share) for share in shares],
        "accepted": accepted,
        "tasks": pooled_tasks,
    }


def _site(share: Shared) -> JsonDict:
    content = share.content
    return {name: content[name] for name in ("site", "suite", "made", "sha256")}


def _task_names(shares: Sequence[Shared]) -> set[str]:
    return {name for share in shares for name in share.content["tasks"]}


def _check_accepted(accept: Sequence[str]) -> None:
    for kind in accept:
        if kind not in KINDS:
            raise UsageError(
                f"--accept {kind}: not a kind of difference.{did_you_mean(kind, KINDS)} A refusal "
                "names its kind."
            )


def _check_apart(shares: Sequence[Shared]) -> None:
    """Refuses fewer than two sites, and a site that appears twice."""
    if len(shares) < _LEAST_SITES:
        raise UsageError(
            f"pooling needs the files of at least two sites, got {len(shares)}. Give them one after "
            "the other: medical-tasks site pool FILE FILE FILE"
        )

    for first, second in combinations(shares, 2):
        same = _figures_hash(first.content) == _figures_hash(second.content)
        if first.site == second.site or same:
            why = (
                "are of one site"
                if first.site == second.site
                else "hold the same figures"
            )
            raise UsageError(
                f"{first.path} and {second.path} {why} ({first.site}), which would count twice. "
                "Give the newest file of each site."
            )


def _figures_hash(content: Json) -> str:
    """A hash of the figures alone, without the site's name."""
    figures = {
        name: [task["figures"], task["differences"], task["coverage"]]
        for name, task in content["tasks"].items()
    }
    return content_hash({"tasks": figures})


def _check_recipes(shares: Sequence[Shared], accept: frozenset[str]) -> list[JsonDict]:
    """The accepted differences between the recipes.

    Raises:
        UsageError: there are others.
    """
    differences = [
        difference
        for name in sorted(_task_names(shares))
        for difference in _recipe_differences(shares, name)
    ]
    refused = [
        difference
        for difference in differences
        if _kind(difference["kind"]) not in accept
    ]
    if not refused:
        return differences

    lines = [f"  {difference_text(difference)}" for difference in refused]
    kinds = dict.fromkeys(_kind(difference["kind"]) for difference in refused)
    options = " ".join(f"--accept {kind}" for kind in kinds)
    raise UsageError(
        "the sites did not measure the same thing:\n"
        + "\n".join(lines)
        + f"\nRun them alike, or pool them nevertheless: {options}"
    )


def _recipe_differences(shares: Sequence[Shared], name: str) -> Iterator[JsonDict]:
    """How the recipes of a task differ: the sites with each value of a part.

    Example: two sites asked with one prompt and a third with another. The difference is
        `{"task": ..., "kind": "prompts", "values": {"ab12": ["a", "b"], "cd34": ["c"]}}`.
    """
    parts = {
        share.site: _parts(share.content["tasks"][name])
        for share in shares
        if name in share.content["tasks"]
    }
    for kind in dict.fromkeys(kind for of_site in parts.values() for kind in of_site):
        values: dict[str, list[str]] = {}
        for site, of_site in parts.items():
            values.setdefault(of_site.get(kind, "none"), []).append(site)

        if len(values) > 1:
            yield {"task": name, "kind": kind, "values": values}


def _kind(name: str) -> str:
    """The kind of a difference: `model` for the model of either role."""
    return name.partition(" ")[0]


def _parts(task: Json) -> dict[str, str]:
    """The parts of a recipe that must be the same at all sites."""
    models = {f"model of the {role}": name for role, name in task["models"].items()}
    return {**task["recipe"], **models}


@dataclass(frozen=True)
class _LineKey:
    """What identifies a line of the report.

    Attributes:
        who: candidate, baseline or difference.
        by: the breakdown; "" for all items, and then `group` is "" too.
    """

    who: str
    metric: str
    by: str
    group: str


@dataclass(frozen=True, eq=False)
class _Pool:
    """Pools a task of several hospitals.

    A line of the report is one metric of one role, or the difference between the roles, for
    all items or for one group. Each site that shares the figure contributes an effect; a
    line has at least two. For a judged metric a second line follows, with each site's value
    corrected for the errors of its own judge: as the site shared it, else by the confusion
    matrix that the site shared.
    """

    task: TaskSpec
    shares: Sequence[Shared]

    def content(self) -> JsonDict:
        """The lines for each role and for the difference, raw and corrected."""
        lines = []
        for key in self._keys():
            effects = self._effects(key)
            line = self._line(key, effects, [])
            if line is not None:
                lines.append(line)

            lines += self._corrected(key, effects)

        return {
            "title": self.task.title,
            "coverage": {
                share.site: share.content["tasks"][self.task.name]["coverage"]
                for share in self._having
            },
            "lines": lines,
        }

    @property
    def _having(self) -> list[Shared]:
        return [
            share for share in self.shares if self.task.name in share.content["tasks"]
        ]

    def _rows(self) -> Iterator[tuple[Shared, _LineKey, Json]]:
        """All shared figures of the task, with the keys of their lines."""
        for share in self._having:
            content = share.content["tasks"][self.task.name]
            for row in content["figures"]:
                names = (row["role"], row["metric"], row["by"], row["group"])
                yield share, _LineKey(*names), row
            for row in content["differences"]:
                names = ("difference", row["metric"], row["by"], row["group"])
                yield share, _LineKey(*names), row

    def _keys(self) -> list[_LineKey]:
        """The keys of all raw lines, in the order of the report."""
        declared = {metric.name for metric in self.task.metrics}
        keys = dict.fromkeys(
            key for _, key, _ in self._rows() if key.metric in declared
        )
        order = {name: at for at, name in enumerate(("difference", *_ROLES))}
        return sorted(keys, key=lambda key: (key.by != "", order[key.who]))

    def _effects(self, key: _LineKey, how: str = "raw") -> list[Effect]:
        """The effects of all sites for a line."""
        effects = (
            effect_of(share.site, row, how)
            for share, row_key, row in self._rows()
            if row_key == key
        )
        return [effect for effect in effects if effect is not None]

    def _metric(self, name: str) -> MetricSpec:
        return next(metric for metric in self.task.metrics if metric.name == name)

    def _scale(self, key: _LineKey) -> Scale:
        is_share = self._metric(key.metric.removesuffix(SUFFIX)).limits == UNIT
        return "share" if is_share and key.who != "difference" else "plain"

    def _corrected(self, key: _LineKey, raw: Sequence[Effect]) -> list[JsonDict]:
        """The corrected line of a judged metric, if there is one."""
        metric = self._metric(key.metric)
        if metric.verdict in ("", "several") or not self.task.judge:
            return []

        corrected = _LineKey(key.who, metric.name + SUFFIX, key.by, key.group)
        by_site = {
            effect.site: effect
            for effect in self._effects(corrected, "corrected there")
        }
        effects, without = [], []
        for effect in raw:
            try:
                own = by_site.get(effect.site)
                effects.append(own or self._corrected_here(key, metric, effect))
            except NotCorrectableError as reason:
                without.append({"site": effect.site, "why": str(reason)})

        line = self._line(corrected, effects, without)
        return [] if line is None else [line]

    def _corrected_here(
        self, key: _LineKey, metric: MetricSpec, effect: Effect
    ) -> Effect:
        """An effect corrected by the confusion matrix of its site."""
        if key.who == "difference":
            raise NotCorrectableError("the site shares no corrected difference")
        checks = self._content_of(effect)["checks"]
        return corrected_here(effect, self.task, metric, checks)

    def _is_by_words(self, effect: Effect) -> bool:
        """Whether the judge of an effect's site compares words."""
        return bool(self._content_of(effect)["tasks"][self.task.name]["by_words"])

    def _content_of(self, effect: Effect) -> Json:
        """The shared file of an effect's site."""
        return next(share.content for share in self.shares if share.site == effect.site)

    def _line(
        self, key: _LineKey, effects: Sequence[Effect], without: Sequence[JsonDict]
    ) -> JsonDict | None:
        """A pooled line; None for fewer than two hospitals.

        Args:
            key: what the line is about.
            effects: the sites' values with intervals. One whose interval has no width, or is as
                wide as that of less than one item, has no usable weight; it is listed under
                `without`.
            without: sites that are left out for another reason, with the reason.
        """
        scale = self._scale(key)
        silent = [effect for effect in effects if not is_poolable(effect, scale)]
        effects = [effect for effect in effects if is_poolable(effect, scale)]
        if len(effects) < _LEAST_SITES:
            return None

        metric = self._metric(key.metric.removesuffix(SUFFIX))
        estimates = together(effects, scale)
        weights = estimates.pop("weights")

        return {
            **asdict(key),
            "unit": metric.unit,
            "by_words": metric.judged and any(map(self._is_by_words, effects)),
            "higher_is_better": metric.higher_is_better,
            "pooled": estimates,
            "sites": [
                {**asdict(effect), "weight": weight}
                for effect, weight in zip(effects, weights, strict=True)
            ],
            "without": [
                *without,
                *(
                    {"site": effect.site, "why": "its interval says nothing"}
                    for effect in silent
                ),
            ],
            "leave_one_out": _leave_one_out(effects, scale),
            "largest_difference": largest_difference(effects, scale),
        }


def _leave_one_out(effects: Sequence[Effect], scale: Scale) -> list[JsonDict]:
    """The pooled value without each site in turn; none for two sites."""
    if len(effects) <= _LEAST_SITES:
        return []
    lines: list[JsonDict] = []
    for left_out in effects:
        rest = together([effect for effect in effects if effect is not left_out], scale)
        ends = {name: rest[name] for name in ("value", "low", "high")}
        lines.append({"site": left_out.site, **ends})
    return lines


def largest_difference(effects: Sequence[Effect], scale: Scale) -> JsonDict:
    """The largest difference between two sites, with a simultaneous interval.

    All differences of two sites get intervals that hold together at 95 % (Tukey 1953;
    Kramer 1956, Biometrics 12:307). The largest true difference is at least the highest
    of their lower ends, and at most the highest of their upper ones.
    """
    z = range_quantile(0.95, len(effects)) / math.sqrt(2.0)
    pairs = [
        (first, second, between(first, second, scale, z))
        for first, second in permutations(effects, 2)
    ]
    first, second, (value, _, _) = max(pairs, key=lambda pair: pair[2][0])
    low = max(0.0, max(ends[1] for *_, ends in pairs))
    high = max(ends[2] for *_, ends in pairs)
    verdicts: Mapping[str, str] = {}
    if scale == "share":
        high = min(1.0, high)
        verdicts = {f"{limit:.2f}": _held(low, high, limit) for limit in CHAI_POINTS}

    return {
        "first": first.site,
        "second": second.site,
        "value": value,
        "low": low,
        "high": high,
        "within": verdicts,
    }


def _held(low: float, high: float, limit: float) -> str:
    """Whether all sites are within the limit of each other: yes, no or not decided.

    Example, with an interval of the largest difference and a limit of 0.05:

        >>> [_held(low, high, 0.05) for low, high in ((0.0, 0.04), (0.06, 0.1), (0.01, 0.1))]
        ['yes', 'no', 'not decided']
    """
    if high <= limit:
        return "yes"
    return "no" if low > limit else "not decided"
