"""`site pool`: what the shared files of several hospitals say together.

    files -> strict form, hash, each site once
    -> recipes compared: what differs is named, and refused unless it is accepted
    -> by task, metric, group: effects (`site_effects`) -> random effects
    -> pool.json, pool.html, and a table on the terminal

A metric that a judge decides is pooled twice: as it is, and corrected for each site's
judge. A site's own corrected figure counts where it has one, else its confusion matrix
corrects here; a site with neither is left out of the corrected line and named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
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
"""Differences between sites that CHAI's frameworks ask about, in shares."""
KINDS: Final = frozenset({*DIFFERENCES, "model"})
_LEAST_SITES: Final = 2
_ROLES: Final = ("candidate", "baseline")


class Shared(NamedTuple):
    """A shared file that was read."""

    path: Path
    site: str
    content: Json


def run(options: Pool) -> int:
    """Pools files, writes `pool.json` and `pool.html`, and shows the table."""
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
    """Reads a shared file; a folder is the one in it.

    Raises:
        UsageError: it is no such file, or was changed after it was written.
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

    if said := complaint(ShareForm, content):
        raise UsageError(
            f"{path}: not a shared file of a site: {said}. Give what medical-tasks site share "
            "wrote."
        )

    if content_hash(content) != content["sha256"]:
        raise UsageError(
            f"{path}: was changed after the site wrote it (its hash is another). Ask the site for "
            "the file again."
        )

    return Shared(path, content["site"], content)


def pool(shares: Sequence[Shared], *, accept: Sequence[str] = ()) -> JsonDict:
    """What hospitals say together, by task, metric and group.

    Args:
        shares: of two hospitals or more.
        accept: kinds of differences between recipes that are accepted.

    Raises:
        UsageError: a site is there twice, or recipes differ.
    """
    _check_accepted(accept)
    _check_apart(shares)
    accepted = _check_recipes(shares, frozenset(accept))
    registered = tasks()
    named = dict.fromkeys(
        name for each in shares for name in each.content["tasks"] if name in registered
    )
    pooled_tasks = {name: _Pool(registered[name], shares).content() for name in named}
    if not any(task["lines"] for task in pooled_tasks.values()):
        raise UsageError(
            "the files have no figure of one task in common that two sites tell. Give files of "
            f"sites with one use; here: {listed(sorted(_task_names(shares)), 5)}."
        )

    return {
        "suite": f"medical-tasks {__version__}",
        "sites": [_site(each) for each in shares],
        "accepted": accepted,
        "tasks": pooled_tasks,
    }


def _site(share: Shared) -> JsonDict:
    content = share.content
    return {name: content[name] for name in ("site", "suite", "made", "sha256")}


def _task_names(shares: Sequence[Shared]) -> set[str]:
    return {name for each in shares for name in each.content["tasks"]}


def _check_accepted(accept: Sequence[str]) -> None:
    for kind in accept:
        if kind not in KINDS:
            raise UsageError(
                f"--accept {kind}: no kind of difference.{did_you_mean(kind, KINDS)} A refusal "
                "names its kind."
            )


def _check_apart(shares: Sequence[Shared]) -> None:
    """Refuses fewer than two sites, and one that is there twice."""
    if len(shares) < _LEAST_SITES:
        raise UsageError(
            f"pooling takes the files of two sites or more, got {len(shares)}. Give them one after "
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
    """A hash of the figures alone, whatever the site calls itself."""
    figures = {
        name: [task["figures"], task["differences"], task["coverage"]]
        for name, task in content["tasks"].items()
    }
    return content_hash({"tasks": figures})


def _check_recipes(shares: Sequence[Shared], accept: frozenset[str]) -> list[JsonDict]:
    """What the recipes differ in, as far as it is accepted."""
    found: list[JsonDict] = []
    for name in sorted(_task_names(shares)):
        have = [each for each in shares if name in each.content["tasks"]]
        parts = {each.site: _parts(each.content["tasks"][name]) for each in have}
        kinds = dict.fromkeys(kind for of_site in parts.values() for kind in of_site)
        for kind in kinds:
            values: dict[str, list[str]] = {}
            for site, of_site in parts.items():
                values.setdefault(of_site.get(kind, "none"), []).append(site)

            if len(values) > 1:
                found.append({"task": name, "kind": kind, "values": values})

    refused = [each for each in found if _kind(each["kind"]) not in accept]
    if refused:
        lines = [
            f"  {each['task']}: {each['kind']} differs: "
            + "; ".join(
                f"{value} ({', '.join(sites)})"
                for value, sites in each["values"].items()
            )
            for each in refused
        ]
        kinds_said = " ".join(
            f"--accept {kind}"
            for kind in dict.fromkeys(_kind(each["kind"]) for each in refused)
        )
        raise UsageError(
            "the sites did not measure the same thing:\n"
            + "\n".join(lines)
            + f"\nRun them alike, or pool them all the same: {kinds_said}"
        )

    return found


def _kind(part: str) -> str:
    """The kind of a difference: `model` of either role."""
    return part.partition(" ")[0]


def _parts(task: Json) -> dict[str, str]:
    """What must be the same at all sites."""
    models = {f"model of the {role}": name for role, name in task["models"].items()}
    return {**task["recipe"], **models}


@dataclass(frozen=True)
class _Place:
    """Of whom a line is."""

    who: str
    metric: str
    by: str
    group: str


@dataclass(frozen=True, eq=False)
class _Pool:
    """A task of several hospitals."""

    task: TaskSpec
    shares: Sequence[Shared]

    def content(self) -> JsonDict:
        """Its lines: of each role and of the difference, raw and corrected."""
        lines = []
        for place in self._places():
            effects = self._effects(place)
            line = self._line(place, effects, [])
            if line is not None:
                lines.append(line)

            lines += self._corrected(place, effects)

        return {
            "title": self.task.title,
            "coverage": {
                each.site: each.content["tasks"][self.task.name]["coverage"]
                for each in self._having
            },
            "lines": lines,
        }

    @property
    def _having(self) -> list[Shared]:
        return [each for each in self.shares if self.task.name in each.content["tasks"]]

    def _rows(self) -> Iterator[tuple[Shared, _Place, Json]]:
        """All shared figures of the task with their place."""
        for each in self._having:
            content = each.content["tasks"][self.task.name]
            for row in content["figures"]:
                names = (row["role"], row["metric"], row["by"], row["group"])
                yield each, _Place(*names), row
            for row in content["differences"]:
                names = ("difference", row["metric"], row["by"], row["group"])
                yield each, _Place(*names), row

    def _places(self) -> list[_Place]:
        """All places but those of corrected figures, each site's in its order."""
        declared = {metric.name for metric in self.task.metrics}
        found = dict.fromkeys(
            place for _, place, _ in self._rows() if place.metric in declared
        )
        order = {name: at for at, name in enumerate(("difference", *_ROLES))}
        return sorted(found, key=lambda place: (place.by != "", order[place.who]))

    def _effects(self, place: _Place, how: str = "raw") -> list[Effect]:
        """The effects of all sites at a place."""
        found = (
            effect_of(share.site, row, how)
            for share, of_row, row in self._rows()
            if of_row == place
        )
        return [each for each in found if each is not None]

    def _metric(self, name: str) -> MetricSpec:
        return next(each for each in self.task.metrics if each.name == name)

    def _scale(self, place: _Place) -> Scale:
        is_share = self._metric(place.metric.removesuffix(SUFFIX)).limits == UNIT
        return "share" if is_share and place.who != "difference" else "plain"

    def _corrected(self, place: _Place, raw: Sequence[Effect]) -> list[JsonDict]:
        """The corrected line of a judged metric, or none."""
        metric = self._metric(place.metric)
        if metric.verdict in ("", "several") or not self.task.judge:
            return []

        corrected = _Place(place.who, metric.name + SUFFIX, place.by, place.group)
        own = {each.site: each for each in self._effects(corrected, "corrected there")}
        effects, without = [], []
        for effect in raw:
            found = own.get(effect.site)
            if found is None:
                try:
                    found = self._here(place, metric, effect)
                except NotCorrectableError as reason:
                    without.append({"site": effect.site, "why": str(reason)})
                    continue

            effects.append(found)

        line = self._line(corrected, effects, without)
        return [] if line is None else [line]

    def _here(self, place: _Place, metric: MetricSpec, effect: Effect) -> Effect:
        """An effect corrected by the matrix that its site shares."""
        if place.who == "difference":
            raise NotCorrectableError("the site shares no corrected difference")
        share = next(each for each in self.shares if each.site == effect.site)
        return corrected_here(effect, self.task, metric, share.content["checks"])

    def _is_by_words(self, effect: Effect) -> bool:
        """Whether the judge of an effect's site compares words."""
        share = next(each for each in self.shares if each.site == effect.site)
        return bool(share.content["tasks"][self.task.name]["by_words"])

    def _line(
        self, place: _Place, effects: Sequence[Effect], without: Sequence[JsonDict]
    ) -> JsonDict | None:
        """What hospitals say together at a place; None of fewer than two."""
        scale = self._scale(place)
        silent = [each for each in effects if not is_poolable(each, scale)]
        effects = [each for each in effects if is_poolable(each, scale)]
        if len(effects) < _LEAST_SITES:
            return None

        metric = self._metric(place.metric.removesuffix(SUFFIX))
        found = together(effects, scale)
        weights = found.pop("weights")

        return {
            **asdict(place),
            "unit": metric.unit,
            "by_words": metric.judged and any(map(self._is_by_words, effects)),
            "higher_is_better": metric.higher_is_better,
            "pooled": found,
            "sites": [
                {**asdict(each), "weight": weight}
                for each, weight in zip(effects, weights, strict=True)
            ],
            "without": [
                *without,
                *(
                    {"site": each.site, "why": "its interval says nothing"}
                    for each in silent
                ),
            ],
            "leave_one_out": _leave_one_out(effects, scale),
            "largest_difference": largest_difference(effects, scale),
        }


def _leave_one_out(effects: Sequence[Effect], scale: Scale) -> list[JsonDict]:
    """The pooled value without each site; none of two."""
    if len(effects) <= _LEAST_SITES:
        return []
    lines: list[JsonDict] = []
    for left in effects:
        found = together([each for each in effects if each is not left], scale)
        ends = {name: found[name] for name in ("value", "low", "high")}
        lines.append({"site": left.site, **ends})
    return lines


def largest_difference(effects: Sequence[Effect], scale: Scale) -> JsonDict:
    """How far the two sites that lie furthest apart do so, with a simultaneous interval.

    All differences of two sites get intervals that hold together at 95 % (Tukey 1953;
    Kramer 1956, Biometrics 12:307). The largest true difference is at least the highest
    of their lower ends, and at most the highest of their upper ones.
    """
    z = range_quantile(0.95, len(effects)) / math.sqrt(2.0)
    pairs = [
        (first, second, between(first, second, scale, z))
        for one, other in combinations(effects, 2)
        for first, second in ((one, other), (other, one))
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
    """Whether no two sites lie further apart than the limit."""
    if high <= limit:
        return "yes"
    return "no" if low > limit else "not decided"
