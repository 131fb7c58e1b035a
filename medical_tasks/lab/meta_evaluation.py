"""Metrics compared with each other and with people, over single outputs.

The figures of `medical-tasks meta`.

DocLens (Xie et al. 2024; section 4.3, appendix A.4.5) asks which metric people side
with where two prefer different outputs of an item. Kendall's tau-b between metrics is
over outputs, not over systems (section 4.4, figure 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Final, Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from medical_tasks.io.table import align, decimals, figure
from medical_tasks.lab import correlation
from medical_tasks.lab import preferences as pairwise
from medical_tasks.lab.output_tables import OutputTable, PreferenceTable, votes_of
from medical_tasks.scoring.estimates import Figure, Floats, as_json

Kendall = Literal["pooled", "item"]
Side = Literal["one", "other"]


class Draws(TypedDict):
    """How the bootstrap draws."""

    clusters: list[str]
    seed: int
    resamples: int


class Tau(TypedDict):
    """Kendall's tau-b of two metrics."""

    one: str
    other: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: float | None


class Correlations(TypedDict):
    """Both coefficients of two scores."""

    spearman: Figure
    kendall: Figure


class PairCounts(TypedDict):
    """Two metrics on the pairs of outputs of one item; see `preferences.PreferenceAgreement`."""

    same: int
    opposite: int
    tied: int
    missing: int
    share_same: Figure
    share_opposite: Figure
    share_decided: Figure


class PeopleCounts(TypedDict):
    """A metric and people on the same pairs; see `preferences.HumanAgreement`."""

    same: int
    opposite: int
    metric_tied: int
    human_tied: int
    no_majority: int
    not_annotated: int
    share: Figure


class PreferenceSides(TypedDict):
    """Whom people side with where two metrics disagree."""

    one: PeopleCounts
    other: PeopleCounts


class ScoreSides(TypedDict):
    """How scores of people go with either metric, and with each other, where the two disagree."""

    one: Correlations
    other: Correlations
    annotators: Correlations | None


class MetricComparison(TypedDict):
    """Two metrics compared, directly and by what people say where they disagree.

    Attributes:
        preferences: None without preferences of people.
        scores: None without scores of people.
    """

    one: str
    other: str
    pairs: PairCounts
    preferences: PreferenceSides | None
    scores: ScoreSides | None


class MetricAlone(TypedDict):
    """A metric and people, on everything that people judged."""

    metric: str
    preferences: PeopleCounts | None
    scores: Correlations | None


class PreferenceCounts(TypedDict):
    """How many answers people gave about which of two outputs is better.

    Attributes:
        elsewhere: About outputs that are not compared.
    """

    annotators: int
    answers: int
    blank: int
    elsewhere: int
    pairs: int


class MetaFigures(TypedDict):
    """The figures of metrics among each other and against people."""

    items: int
    systems: int
    clusters: int
    outputs: int
    pairs: int
    kendall: list[Tau]
    comparisons: list[MetricComparison]
    alone: list[MetricAlone]
    annotators: Correlations | None
    preferences: NotRequired[PreferenceCounts]


class MetaSettings(TypedDict):
    """What was requested, as `--json` shows it."""

    against: str | None
    kendall: Kendall
    epsilon: float
    confidence: float
    resamples: int
    seed: int


class Meta(MetaFigures):
    """What `medical-tasks meta --json` prints.

    Attributes:
        sources: Path to SHA-256.
        tasks: Folder of a run to its task.
    """

    schema_version: int
    suite_version: str
    sources: dict[str, str]
    tasks: dict[str, str]
    where: Sequence[str]
    metrics: list[str]
    human: list[str]
    less_is_better: list[str]
    settings: MetaSettings


_Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class MetaOptions:
    """What is compared and how.

    Attributes:
        human: Columns of human scores, one an annotator.
        against: The metric that all others are compared with; None for every two.
        kendall: `pooled`, one coefficient over all outputs; or `item`, one an item,
            averaged.
        epsilon: Values this close are a tie.
    """

    metrics: tuple[str, ...]
    human: tuple[str, ...] = ()
    against: str | None = None
    kendall: Kendall = "pooled"
    epsilon: float = pairwise.EPSILON
    seed: int = 0
    resamples: int = 2000


@dataclass(frozen=True, kw_only=True)
class _Outputs:
    """The outputs that metrics are compared on, with pairs and people's preferences."""

    columns: dict[str, Floats]
    human: list[Floats]
    mean: Floats  # of each output's human scores, `nan` where nobody scored it
    clusters: list[str]  # of each output
    pairs: pairwise.OutputPairs  # of outputs of one item
    pair_items: list[str]  # item of each pair
    pair_clusters: list[str]  # cluster of each pair
    signs: dict[str, Floats]  # which output of each pair each metric prefers
    # what people say of each pair; None without preferences
    votes: list[list[pairwise.Vote]] | None
    options: MetaOptions

    @property
    def draws(self) -> Draws:
        return {
            "clusters": self.clusters,
            "seed": self.options.seed,
            "resamples": self.options.resamples,
        }


def meta_figures(
    table: OutputTable, options: MetaOptions, preferences: PreferenceTable | None = None
) -> MetaFigures:
    """Compares metrics with each other and with people.

    Args:
        table: The outputs, with a column of numbers for each metric and human score.
        options: Which columns are compared, and how.
        preferences: Which of two outputs people prefer, where they were asked.

    Returns:
        `kendall` between every two metrics; `comparisons` of two metrics, with what
        people say where the two disagree; `alone`, each metric against people;
        `annotators`, people among each other; and all the counts.
    """
    pairs = pairwise.output_pairs([row.item for row in table.rows])
    votes, elsewhere = (
        (None, 0) if preferences is None else votes_of(preferences, table, pairs)
    )
    outputs = _outputs(table, options, pairs, votes)
    every = list(combinations(options.metrics, 2))
    against = options.against
    chosen = (
        [(against, name) for name in options.metrics if name != against]
        if against
        else every
    )
    figures: MetaFigures = {
        "items": len({row.item for row in table.rows}),
        "systems": len({row.system for row in table.rows}),
        "clusters": len(set(outputs.clusters)),
        "outputs": len(table.rows),
        "pairs": len(pairs),
        "kendall": [_kendall(outputs, one, other) for one, other in every],
        "comparisons": [_compared(outputs, one, other) for one, other in chosen],
        "alone": [_alone(outputs, name) for name in options.metrics],
        "annotators": _annotators(outputs, np.ones(len(table.rows), dtype=np.bool_)),
    }
    if preferences is not None and votes is not None:
        figures["preferences"] = {
            "annotators": len(preferences.annotators),
            "answers": len(preferences.stated),
            "blank": preferences.blank,
            "elsewhere": elsewhere,
            "pairs": sum(map(bool, votes)),
        }

    return figures


def _outputs(
    table: OutputTable,
    options: MetaOptions,
    pairs: pairwise.OutputPairs,
    votes: list[list[pairwise.Vote]] | None,
) -> _Outputs:
    """The columns that are compared, and which output of each pair each metric prefers."""
    human = [np.array(table.column(name)) for name in options.human]
    columns = {name: np.array(table.column(name)) for name in options.metrics}

    return _Outputs(
        columns=columns,
        human=human,
        mean=correlation.mean_score(human, len(table.rows)),
        clusters=[row.cluster for row in table.rows],
        pairs=pairs,
        pair_items=[table.rows[row].item for row in pairs.first],
        pair_clusters=[table.rows[row].cluster for row in pairs.first],
        signs={
            name: pairwise.preference_signs(column, pairs, epsilon=options.epsilon)
            for name, column in columns.items()
        },
        votes=votes,
        options=options,
    )


def _kendall(outputs: _Outputs, one: str, other: str) -> Tau:
    """Kendall's tau-b of two metrics: over all outputs, or within items and averaged.

    Pooled, two metrics agree that only tell hard items from easy ones.
    """
    x, y = outputs.columns[one], outputs.columns[other]
    if outputs.options.kendall == "pooled":
        found = correlation.clustered_correlation(x, y, **outputs.draws).kendall
    else:
        first, second = (
            pairwise.preference_signs(column, outputs.pairs, epsilon=0.0)
            for column in (x, y)
        )
        found = correlation.mean_tau_within(
            first, second, items=outputs.pair_items, clusters=outputs.pair_clusters
        )

    numbers = as_json(found)
    return {
        "one": one,
        "other": other,
        "value": numbers["value"],
        "ci_low": numbers["ci_low"],
        "ci_high": numbers["ci_high"],
        "n": numbers["n"],
    }


def _compared(outputs: _Outputs, one: str, other: str) -> MetricComparison:
    """Two metrics on pairs of one item's outputs, and people where the two disagree."""
    signs = outputs.signs[one], outputs.signs[other]
    found = pairwise.compare_preferences(*signs, clusters=outputs.pair_clusters)
    differ = pairwise.disagreeing(*signs)
    compared: MetricComparison = {
        "one": one,
        "other": other,
        "pairs": {
            "same": found.same,
            "opposite": found.opposite,
            "tied": found.tied,
            "missing": found.missing,
            "share_same": as_json(found.share_same),
            "share_opposite": as_json(found.share_opposite),
            "share_decided": as_json(found.share_decided),
        },
        "preferences": None,
        "scores": None,
    }
    if outputs.votes is not None:
        compared["preferences"] = {
            "one": _people(outputs, one, differ),
            "other": _people(outputs, other, differ),
        }

    if outputs.human:
        # An output counts once, in however many pairs the two metrics disagree about
        # it.
        among = np.zeros(len(outputs.mean), dtype=np.bool_)
        among[outputs.pairs.first[differ]] = among[outputs.pairs.second[differ]] = True
        compared["scores"] = {
            "one": _scored(outputs, one, among),
            "other": _scored(outputs, other, among),
            "annotators": _annotators(outputs, among),
        }

    return compared


def _alone(outputs: _Outputs, name: str) -> MetricAlone:
    pairs, rows = (
        np.ones(n, dtype=np.bool_) for n in (len(outputs.pairs), len(outputs.mean))
    )
    return {
        "metric": name,
        "preferences": None if outputs.votes is None else _people(outputs, name, pairs),
        "scores": _scored(outputs, name, rows) if outputs.human else None,
    }


def _people(outputs: _Outputs, name: str, among: _Marks) -> PeopleCounts:
    votes = outputs.votes or []
    chosen = np.flatnonzero(among)
    found = pairwise.human_agreement(
        outputs.signs[name][chosen],
        [votes[place] for place in chosen],
        clusters=[outputs.pair_clusters[place] for place in chosen],
    )

    return {
        "same": found.same,
        "opposite": found.opposite,
        "metric_tied": found.metric_tied,
        "human_tied": found.human_tied,
        "no_majority": found.no_majority,
        "not_annotated": found.not_annotated,
        "share": as_json(found.share),
    }


def _scored(outputs: _Outputs, name: str, among: _Marks) -> Correlations:
    column = np.where(among, outputs.columns[name], np.nan)
    return _both(
        correlation.clustered_correlation(column, outputs.mean, **outputs.draws)
    )


def _annotators(outputs: _Outputs, among: _Marks) -> Correlations | None:
    if not outputs.human:
        return None
    columns = [np.where(among, column, np.nan) for column in outputs.human]
    return _both(correlation.among_annotators(columns, **outputs.draws))


def _both(found: correlation.RankCorrelation) -> Correlations:
    return {"spearman": as_json(found.spearman), "kendall": as_json(found.kendall)}


_MOST_COLUMNS = 9
_INTERVAL = "95 % interval"
_COUNTS: Final[tuple[Literal["same", "opposite", "tied", "missing"], ...]] = (
    "same",
    "opposite",
    "tied",
    "missing",
)
_share = partial(figure, form=".1f", times=100)
_BOTH: Final[tuple[tuple[Side, Side], ...]] = (("one", "other"), ("other", "one"))
_OTHERS = "one annotator with the others"


def render_meta(meta: Meta) -> str:
    """Writes the figures as tables for a person to read; `meta` is what `--json` prints."""
    lines = [_title(meta)]
    if meta["kendall"]:
        lines += ["", *_kendall_lines(meta)]
        lines += [
            "",
            "Two metrics on the pairs of outputs of one item:",
            *_pairs(meta["comparisons"]),
        ]

    if meta.get("preferences") is not None:
        if meta["comparisons"]:
            lines += [
                "",
                "Where two metrics disagree, the one that people side with (majority of the "
                "annotators):",
            ]
            lines += _sides(meta["comparisons"])

        lines += [
            "",
            "Each metric and people's preference, on all pairs that were annotated:",
            *_alone_lines(meta["alone"]),
        ]

    if meta["human"]:
        if meta["comparisons"]:
            lines += [
                "",
                "Mean human score of the outputs in pairs on which two metrics disagree, with:",
            ]
            lines += _scores(meta["comparisons"])

        rows = [(each["metric"], "", each["scores"]) for each in meta["alone"]]
        lines += ["", "Mean human score of all outputs that were scored, with:"]
        lines += _score_lines([*rows, (_OTHERS, "", meta["annotators"])])

    return "\n".join([*lines, "", *_notes(meta)])


def _title(meta: Meta) -> str:
    said = f"{meta['outputs']:,} outputs of {meta['systems']:,} systems for {meta['items']:,} items"
    if meta["clusters"] != meta["items"]:
        said += f" in {meta['clusters']:,} clusters"
    return f"{said}: {meta['pairs']:,} pairs of outputs of one item."


def _kendall_lines(meta: Meta) -> list[str]:
    over = (
        "over all outputs"
        if meta["settings"]["kendall"] == "pooled"
        else "among each item's outputs, averaged"
    )
    lines = [f"Kendall's tau-b between metrics, {over}:"]
    names = meta["metrics"]
    found = {
        frozenset((each["one"], each["other"])): each["value"]
        for each in meta["kendall"]
    }
    if 2 < len(names) <= _MOST_COLUMNS:
        rows = [
            (
                one,
                "",
                "",
                *(
                    "1" if one == other else decimals(found[frozenset((one, other))])
                    for other in names
                ),
            )
            for one in names
        ]
        lines += [*align(("", "", "", *names), rows), ""]

    n = "outputs" if meta["settings"]["kendall"] == "pooled" else "items"
    return lines + align(
        ("metric", "with", "", "tau-b", _INTERVAL, n),
        [(each["one"], each["other"], "", *figure(each)) for each in meta["kendall"]],
    )


def _pairs(comparisons: Sequence[MetricComparison]) -> list[str]:
    rows = []
    for each in comparisons:
        pairs = each["pairs"]
        counts = [str(pairs[name]) for name in _COUNTS]
        same, opposite = _share(pairs["share_same"]), _share(pairs["share_opposite"])
        rows.append((each["one"], each["other"], "", *counts, *same[:2], *opposite))
    shares = ("same %", _INTERVAL, "opposite %", _INTERVAL, "pairs")
    return align(("metric", "with", "", *_COUNTS, *shares), rows)


def _sides(comparisons: Sequence[MetricComparison]) -> list[str]:
    rows = [
        (
            each[one],
            f"not {each[other]}",
            "",
            *_share(found["share"]),
            *_undecided(found),
        )
        for each in comparisons
        for one, other in _BOTH
        if each["preferences"] is not None
        for found in [each["preferences"][one]]
    ]
    header = (
        "people side with",
        "",
        "",
        "%",
        _INTERVAL,
        "pairs",
        "no preference",
        "no majority",
        "not annotated",
    )
    return align(header, rows)


def _alone_lines(metrics: Sequence[MetricAlone]) -> list[str]:
    rows = [
        (
            each["metric"],
            "",
            "",
            *_share(found["share"]),
            str(found["metric_tied"]),
            *_undecided(found)[:2],
        )
        for each in metrics
        if (found := each["preferences"])
    ]
    header = (
        "metric",
        "",
        "",
        "same %",
        _INTERVAL,
        "pairs",
        "metric tied",
        "no preference",
        "no majority",
    )
    return align(header, rows)


def _undecided(found: PeopleCounts) -> list[str]:
    return [
        str(found["human_tied"]),
        str(found["no_majority"]),
        str(found["not_annotated"]),
    ]


def _scores(comparisons: Sequence[MetricComparison]) -> list[str]:
    rows: list[tuple[str, str, Correlations | None]] = []
    for each in comparisons:
        scores = each["scores"]
        if scores is None:
            continue

        rows += [
            (each[one], f"where {each[other]} disagrees", scores[one])
            for one, other in _BOTH
        ]
        rows.append((_OTHERS, "on the same outputs", scores["annotators"]))

    return _score_lines(rows)


def _score_lines(rows: Sequence[tuple[str, str, Correlations | None]]) -> list[str]:
    made = [
        (name, where, "", *figure(found["spearman"])[:2], *figure(found["kendall"]))
        for name, where, found in rows
        if found is not None
    ]
    return align(("", "", "", "rho", _INTERVAL, "tau-b", _INTERVAL, "outputs"), made)


def _notes(meta: Meta) -> list[str]:
    settings = meta["settings"]
    whole = "items" if meta["clusters"] == meta["items"] else "clusters"
    lines = [
        "same, opposite: both metrics prefer the same output, or different ones; tied: in one or "
        f"both, values within {settings['epsilon']:g} of each other; missing: no value.",
        f"Intervals (95 %): {whole} are taken whole. Shares: Wilson's at the effective size; "
        f"coefficients: bootstrap, {settings['resamples']:,} draws, seed {settings['seed']}.",
    ]
    if meta["less_is_better"]:
        lines.append(
            f"Less is better, so turned round: {', '.join(meta['less_is_better'])}."
        )

    if meta["human"]:
        lines.append(f"Human scores: {', '.join(meta['human'])}.")

    if _too_few(meta):
        lines.append(
            f"n/a: no correlation is computed of fewer than {correlation.FEWEST_ROWS} outputs; two "
            "are always in the same order or the opposite one."
        )

    found = meta.get("preferences")
    if found is not None:
        said = (
            f"Preferences: {found['answers']:,} answers of {found['annotators']} annotators on "
            f"{found['pairs']:,} pairs"
        )
        said += f", {found['blank']:,} blank" if found["blank"] else ""
        said += (
            f", {found['elsewhere']:,} about outputs that are not compared"
            if found["elsewhere"]
            else ""
        )
        lines.append(f"{said}.")

    return lines


def _too_few(figures: object) -> bool:
    """Whether any estimate in the figures has no value because of too few outputs."""
    if isinstance(figures, Mapping):
        if {"value", "ci_low", "n"} <= set(figures):
            return (
                figures["value"] is None and 0 < figures["n"] < correlation.FEWEST_ROWS
            )
        return any(map(_too_few, figures.values()))
    return isinstance(figures, list) and any(map(_too_few, figures))
