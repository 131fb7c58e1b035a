"""Compares metrics with each other and with people, output by output, for `medical-tasks meta`.

DocLens (Xie et al. 2024; section 4.3, appendix A.4.5) determines which metric people
agree with if two metrics prefer different outputs of an item. Kendall's tau-b between
metrics is over outputs, not over systems (section 4.4, figure 8).

- **Tau-b between metrics** (DocLens, figure 8) is over all outputs (`--kendall pooled`,
  the default), which also rewards distinguishing easy from hard items. `--kendall item`
  averages it over items, which suits choosing between systems.
- **Same, opposite, tied** (section 4.4): of two outputs of one item a metric prefers
  the larger value. The denominator of shares is all pairs with values of both metrics,
  ties included.
- **Whom people side with** (figure 7): of the pairs on which two metrics disagree, the
  share on which the annotators' majority agrees with each. Pairs without preference,
  majority or annotation are counted separately.
- **Human scores** (table 2): rho and tau-b of a metric with the mean annotator score,
  over the outputs in pairs on which the metrics disagree; do not compare these with
  coefficients over all outputs.
- **One annotator with the others** (table 12): each annotator against the mean of the
  others, averaged; the ceiling for a metric.
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
    """The settings of the bootstrap."""

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
    """Two metrics on pairs of outputs of one item; see `preferences.PreferenceAgreement`."""

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
    """Which of two disagreeing metrics people agree with."""

    one: PeopleCounts
    other: PeopleCounts


class ScoreSides(TypedDict):
    """Correlations of people's scores with two disagreeing metrics, and among people."""

    one: Correlations
    other: Correlations
    annotators: Correlations | None


class MetricComparison(TypedDict):
    """Two metrics compared directly, and with people where they disagree.

    Attributes:
        preferences: None without people's preferences.
        scores: None without people's scores.
    """

    one: str
    other: str
    pairs: PairCounts
    preferences: PreferenceSides | None
    scores: ScoreSides | None


class MetricAlone(TypedDict):
    """A metric and people, on all outputs that people judged."""

    metric: str
    preferences: PeopleCounts | None
    scores: Correlations | None


class PreferenceCounts(TypedDict):
    """The number of people's answers about which of two outputs is better.

    Attributes:
        elsewhere: Answers about outputs that are not compared.
    """

    annotators: int
    answers: int
    blank: int
    elsewhere: int
    pairs: int


class MetaFigures(TypedDict):
    """The figures for metrics among each other and against people."""

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
    """The requested settings, as in `--json`."""

    against: str | None
    kendall: Kendall
    epsilon: float
    confidence: float
    resamples: int
    seed: int


class Meta(MetaFigures):
    """The output of `medical-tasks meta --json`.

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
    """The columns to compare and the settings.

    Attributes:
        metrics: Columns of metrics.
        human: Columns of human scores, one an annotator.
        against: The metric that all others are compared with; None for every pair.
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
    """The compared outputs, with their pairs and people's preferences."""

    columns: dict[str, Floats]
    human: list[Floats]
    mean: Floats  # of each output's human scores, `nan` for none
    clusters: list[str]  # of each output
    pairs: pairwise.OutputPairs  # of outputs of one item
    pair_items: list[str]  # item of each pair
    pair_clusters: list[str]  # cluster of each pair
    signs: dict[str, Floats]  # which output of each pair each metric prefers
    # people's votes on each pair; None without preferences
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
        options: The columns to compare and the settings.
        preferences: People's preferences between two outputs, if they were asked.

    Returns:
        `kendall` between every pair of metrics; `comparisons` of two metrics, with
        people's judgement where they disagree; `alone`, each metric against people;
        `annotators`, people among each other; and all counts.
    """
    pairs = pairwise.output_pairs([row.item for row in table.rows])
    votes, elsewhere = (
        (None, 0) if preferences is None else votes_of(preferences, table, pairs)
    )
    outputs = _outputs(table, options, pairs, votes)
    all_pairs = list(combinations(options.metrics, 2))
    against = options.against
    compared_pairs = (
        [(against, name) for name in options.metrics if name != against]
        if against
        else all_pairs
    )
    figures: MetaFigures = {
        "items": len({row.item for row in table.rows}),
        "systems": len({row.system for row in table.rows}),
        "clusters": len(set(outputs.clusters)),
        "outputs": len(table.rows),
        "pairs": len(pairs),
        "kendall": [_kendall(outputs, first, second) for first, second in all_pairs],
        "comparisons": [
            _compared(outputs, first, second) for first, second in compared_pairs
        ],
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
    """Collects the compared columns, and the preferred output of each pair by metric."""
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


def _kendall(outputs: _Outputs, first: str, second: str) -> Tau:
    """Kendall's tau-b of two metrics: over all outputs, or within items and averaged.

    Pooled, two metrics may agree only because both distinguish hard items from easy ones.
    """
    x, y = outputs.columns[first], outputs.columns[second]
    if outputs.options.kendall == "pooled":
        tau = correlation.clustered_correlation(x, y, **outputs.draws).kendall
    else:
        first_signs, second_signs = (
            pairwise.preference_signs(column, outputs.pairs, epsilon=0.0)
            for column in (x, y)
        )
        tau = correlation.mean_tau_within(
            first_signs,
            second_signs,
            items=outputs.pair_items,
            clusters=outputs.pair_clusters,
        )

    numbers = as_json(tau)
    return {
        "one": first,
        "other": second,
        "value": numbers["value"],
        "ci_low": numbers["ci_low"],
        "ci_high": numbers["ci_high"],
        "n": numbers["n"],
    }


def _compared(outputs: _Outputs, first: str, second: str) -> MetricComparison:
    """Compares two metrics on pairs of an item's outputs, and with people where they disagree."""
    signs = outputs.signs[first], outputs.signs[second]
    agreement = pairwise.compare_preferences(*signs, clusters=outputs.pair_clusters)
    differ = pairwise.disagreeing(*signs)
    compared: MetricComparison = {
        "one": first,
        "other": second,
        "pairs": {
            "same": agreement.same,
            "opposite": agreement.opposite,
            "tied": agreement.tied,
            "missing": agreement.missing,
            "share_same": as_json(agreement.share_same),
            "share_opposite": as_json(agreement.share_opposite),
            "share_decided": as_json(agreement.share_decided),
        },
        "preferences": None,
        "scores": None,
    }
    if outputs.votes is not None:
        compared["preferences"] = {
            "one": _people(outputs, first, differ),
            "other": _people(outputs, second, differ),
        }

    if outputs.human:
        # An output counts once, whatever the number of pairs with disagreement.
        among = np.zeros(len(outputs.mean), dtype=np.bool_)
        among[outputs.pairs.first[differ]] = among[outputs.pairs.second[differ]] = True
        compared["scores"] = {
            "one": _scored(outputs, first, among),
            "other": _scored(outputs, second, among),
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
    """Compares a metric with people's votes on the pairs marked in `among`."""
    votes = outputs.votes or []
    chosen = np.flatnonzero(among)
    agreement = pairwise.human_agreement(
        outputs.signs[name][chosen],
        [votes[index] for index in chosen],
        clusters=[outputs.pair_clusters[index] for index in chosen],
    )

    return {
        "same": agreement.same,
        "opposite": agreement.opposite,
        "metric_tied": agreement.metric_tied,
        "human_tied": agreement.human_tied,
        "no_majority": agreement.no_majority,
        "not_annotated": agreement.not_annotated,
        "share": as_json(agreement.share),
    }


def _scored(outputs: _Outputs, name: str, among: _Marks) -> Correlations:
    """Correlates a metric with the mean human score of the outputs marked in `among`.

    The others get no value and so do not count, while the clusters stay the same.
    """
    column = np.where(among, outputs.columns[name], np.nan)
    return _both(
        correlation.clustered_correlation(column, outputs.mean, **outputs.draws)
    )


def _annotators(outputs: _Outputs, among: _Marks) -> Correlations | None:
    """Correlates each annotator with the others on the outputs marked in `among`.

    None without human scores. It is the agreement that a metric can be measured against.
    """
    if not outputs.human:
        return None
    columns = [np.where(among, column, np.nan) for column in outputs.human]
    return _both(correlation.among_annotators(columns, **outputs.draws))


def _both(correlations: correlation.RankCorrelation) -> Correlations:
    return {
        "spearman": as_json(correlations.spearman),
        "kendall": as_json(correlations.kendall),
    }


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
    """Writes the figures as text tables; `meta` is the output of `--json`."""
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

        rows = [(entry["metric"], "", entry["scores"]) for entry in meta["alone"]]
        lines += ["", "Mean human score of all outputs that were scored, with:"]
        lines += _score_lines([*rows, (_OTHERS, "", meta["annotators"])])

    return "\n".join([*lines, "", *_notes(meta)])


def _title(meta: Meta) -> str:
    title = f"{meta['outputs']:,} outputs of {meta['systems']:,} systems for {meta['items']:,} items"
    if meta["clusters"] != meta["items"]:
        title += f" in {meta['clusters']:,} clusters"
    return f"{title}: {meta['pairs']:,} pairs of outputs of one item."


def _kendall_lines(meta: Meta) -> list[str]:
    over = (
        "over all outputs"
        if meta["settings"]["kendall"] == "pooled"
        else "among each item's outputs, averaged"
    )
    lines = [f"Kendall's tau-b between metrics, {over}:"]
    names = meta["metrics"]
    values = {
        frozenset((tau["one"], tau["other"])): tau["value"] for tau in meta["kendall"]
    }
    if 2 < len(names) <= _MOST_COLUMNS:
        rows = [
            (
                row_name,
                "",
                "",
                *(
                    "1"
                    if row_name == column_name
                    else decimals(values[frozenset((row_name, column_name))])
                    for column_name in names
                ),
            )
            for row_name in names
        ]
        lines += [*align(("", "", "", *names), rows), ""]

    n = "outputs" if meta["settings"]["kendall"] == "pooled" else "items"
    return lines + align(
        ("metric", "with", "", "tau-b", _INTERVAL, n),
        [(tau["one"], tau["other"], "", *figure(tau)) for tau in meta["kendall"]],
    )


def _pairs(comparisons: Sequence[MetricComparison]) -> list[str]:
    rows = []
    for comparison in comparisons:
        pairs = comparison["pairs"]
        counts = [str(pairs[name]) for name in _COUNTS]
        same, opposite = _share(pairs["share_same"]), _share(pairs["share_opposite"])
        rows.append(
            (comparison["one"], comparison["other"], "", *counts, *same[:2], *opposite)
        )
    shares = ("same %", _INTERVAL, "opposite %", _INTERVAL, "pairs")
    return align(("metric", "with", "", *_COUNTS, *shares), rows)


def _sides(comparisons: Sequence[MetricComparison]) -> list[str]:
    rows = [
        (
            comparison[side],
            f"not {comparison[other_side]}",
            "",
            *_share(counts["share"]),
            *_undecided(counts),
        )
        for comparison in comparisons
        for side, other_side in _BOTH
        if comparison["preferences"] is not None
        for counts in [comparison["preferences"][side]]
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
            metric["metric"],
            "",
            "",
            *_share(counts["share"]),
            str(counts["metric_tied"]),
            *_undecided(counts)[:2],
        )
        for metric in metrics
        if (counts := metric["preferences"])
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


def _undecided(counts: PeopleCounts) -> list[str]:
    return [
        str(counts["human_tied"]),
        str(counts["no_majority"]),
        str(counts["not_annotated"]),
    ]


def _scores(comparisons: Sequence[MetricComparison]) -> list[str]:
    rows: list[tuple[str, str, Correlations | None]] = []
    for comparison in comparisons:
        scores = comparison["scores"]
        if scores is None:
            continue

        rows += [
            (
                comparison[side],
                f"where {comparison[other_side]} disagrees",
                scores[side],
            )
            for side, other_side in _BOTH
        ]
        rows.append((_OTHERS, "on the same outputs", scores["annotators"]))

    return _score_lines(rows)


def _score_lines(rows: Sequence[tuple[str, str, Correlations | None]]) -> list[str]:
    cells = [
        (
            name,
            where,
            "",
            *figure(correlations["spearman"])[:2],
            *figure(correlations["kendall"]),
        )
        for name, where, correlations in rows
        if correlations is not None
    ]
    return align(("", "", "", "rho", _INTERVAL, "tau-b", _INTERVAL, "outputs"), cells)


def _notes(meta: Meta) -> list[str]:
    settings = meta["settings"]
    unit = "items" if meta["clusters"] == meta["items"] else "clusters"
    lines = [
        "same, opposite: both metrics prefer the same output, or different ones; tied: in one or "
        f"both, values within {settings['epsilon']:g} of each other; missing: no value.",
        f"Intervals (95 %): {unit} are taken whole. Shares: Wilson's at the effective size; "
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

    counts = meta.get("preferences")
    if counts is not None:
        note = (
            f"Preferences: {counts['answers']:,} answers of {counts['annotators']} annotators on "
            f"{counts['pairs']:,} pairs"
        )
        note += f", {counts['blank']:,} blank" if counts["blank"] else ""
        note += (
            f", {counts['elsewhere']:,} about outputs that are not compared"
            if counts["elsewhere"]
            else ""
        )
        lines.append(f"{note}.")

    return lines


def _too_few(figures: object) -> bool:
    """Whether any estimate in the figures has no value because there are too few outputs."""
    if isinstance(figures, Mapping):
        if {"value", "ci_low", "n"} <= set(figures):
            return (
                figures["value"] is None and 0 < figures["n"] < correlation.FEWEST_ROWS
            )
        return any(map(_too_few, figures.values()))
    return isinstance(figures, list) and any(map(_too_few, figures))
