"""How well scores corrected for a judge's errors hold the truth: bias, coverage, rankings. Prints tables; takes an hour or two.

    python measurements/judge_correction.py cells [draws per cell] [cluster size]
    python measurements/judge_correction.py sparse|classes|shares|pairs|ranking|drifts [draws]
    python measurements/judge_correction.py kqa NLI_medical_annotator.csv [splits]

`cells`: sensitivity x specificity x prevalence x cluster size, 400 labels and 1,000
verdicts; the truth and both kinds of errors are alike within clusters (beta
distributions, correlations 0.1 and 0.05). Each is estimated by `confusion` and
`prediction`, and beside them by the plain delta method and by percentiles of a
bootstrap of whole clusters (every 20th draw). `sparse`: 150 labels, 100 verdicts.
`classes`: three classes whose mixture differs between labels and run. `shares`: a mean
of answers' shares, where short answers are more often right. `ranking`: judges that
reverse a ranking. `pairs`: the difference of two runs that share their labels.
`drifts`: the judge errs otherwise on a kind of question, on long answers, on its own
family's, and the run has more of them. `kqa`: half of K-QA's 50 answers are labels, the
other half the run, whose rate by the physicians is known.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.correction import (
    NotCorrectableError,
    Verdicts,
    corrected,
    rescoring,
)

LABELS, VERDICTS = 400, 1_000
TRUTH_ALIKE, ERRORS_ALIKE = 0.1, 0.05
LEVELS = ((0.75, 0.9, 0.97), (0.75, 0.9, 0.97), (0.2, 0.5, 0.8), (1, 4, 10))
CLASSES = ("yes", "no")
Names = npt.NDArray[np.str_]


def answers(
    generator: np.random.Generator,
    n: int,
    size: int,
    truth: float,
    sensitivity: float,
    specificity: float,
) -> tuple[Names, Names, npt.NDArray[np.intp]]:
    """Draws gold classes, judged classes and clusters."""

    def chances(mean: float, alike: float) -> npt.NDArray[np.float64]:
        if size == 1:
            return np.full(n, mean)
        strength = (1.0 - alike) / alike
        return generator.beta(
            mean * strength, (1.0 - mean) * strength, n // size
        ).repeat(size)

    yes = generator.random(n) < chances(truth, TRUTH_ALIKE)
    chance = np.where(
        yes,
        chances(sensitivity, ERRORS_ALIKE),
        1.0 - chances(specificity, ERRORS_ALIKE),
    )
    judged = generator.random(n) < chance
    return np.where(yes, *CLASSES), np.where(judged, *CLASSES), np.arange(n) // size


def verdicts_of(
    judged: Names, clusters: npt.NDArray[np.intp], classes: Sequence[str] = CLASSES
) -> Verdicts:
    """Makes a run of one item for each cluster, whose verdicts are pooled."""
    counts = np.stack(
        [np.bincount(clusters, judged == name) for name in classes], axis=1
    ).astype(np.float64)
    items = len(counts)
    return Verdicts(counts, np.ones(items), np.zeros(items), counts.sum(axis=1))


def estimate(
    labels: Any, run: Verdicts, form: Any, classes: Sequence[str] = CLASSES
) -> tuple[float, float, float]:
    """Returns value and interval; 0 to 1 if there is none."""
    try:
        rescored = rescoring(
            labels[0].tolist(),
            labels[1].tolist(),
            classes,
            clusters=labels[2].tolist(),
            form=form,
        )
        result, _ = corrected(rescored, run)
    except NotCorrectableError:
        return np.nan, 0.0, 1.0
    return result.value, result.ci_low, result.ci_high


def plain(labels: Any, run: Verdicts) -> tuple[float, float, float]:
    """Computes Rogan and Gladen's estimate with the plain delta method over clusters."""
    gold, judged, clusters = labels
    yes, judged_yes = gold == "yes", judged == "yes"
    t, f = judged_yes[yes].mean(), judged_yes[~yes].mean()
    p = run.counts[:, 0].sum() / run.denominators.sum()
    value = (p - f) / (t - f)
    errors = np.where(
        yes,
        value * (judged_yes - t) / yes.sum(),
        (1.0 - value) * (judged_yes - f) / (~yes).sum(),
    )
    parts = [
        np.bincount(clusters, errors),
        (run.counts[:, 0] - p * run.denominators) / run.denominators.sum(),
    ]
    se = np.sqrt(
        sum(
            len(component) / (len(component) - 1.0) * (component @ component)
            for component in parts
        )
    ) / abs(t - f)
    return value, max(0.0, value - 1.96 * se), min(1.0, value + 1.96 * se)


def resampled(
    generator: np.random.Generator, labels: Any, run: Verdicts, draws: int = 500
) -> tuple[float, float, float]:
    """Computes percentiles of Rogan and Gladen's estimate on resampled clusters of both samples."""
    gold, judged, clusters = labels
    yes, judged_yes = gold == "yes", judged == "yes"
    table = np.stack(
        [
            np.bincount(clusters, mask)
            for mask in (yes & judged_yes, yes, ~yes & judged_yes, ~yes)
        ],
        axis=1,
    )
    times = [
        generator.multinomial(
            len(sample), np.full(len(sample), 1.0 / len(sample)), draws
        )
        for sample in (table, run.denominators)
    ]
    a, b, c, d = (times[0] @ table).T
    p = times[1] @ run.counts[:, 0] / (times[1] @ run.denominators)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (p - c / d) / (a / b - c / d)
    low, high = np.nanquantile(values, (0.025, 0.975))
    return float(np.nanmedian(values)), max(0.0, low), min(1.0, high)


def sparse(draws: int) -> None:
    """Runs `cells` with few labels and verdicts, and with judges that are nearly perfect or nearly guess."""
    cells(
        draws,
        sizes=(150, 100),
        levels=((0.65, 0.98), (0.65, 0.98), (0.2, 0.85), (1, 5)),
    )


def cells(
    draws: int,
    only: int | None = None,
    *,
    sizes: tuple[int, int] = (LABELS, VERDICTS),
    levels: Sequence[Sequence[Any]] = LEVELS,
) -> None:
    """Prints bias, coverage and mean width by cell, in percentage points."""
    methods = ("confusion", "prediction", "plain", "bootstrap")
    print(
        f"{'sens':>5} {'spec':>5} {'true':>5} {'size':>4} | {'raw bias':>8} | "
        + " | ".join(f"{method:>20}" for method in methods)
    )
    every: dict[str, list[tuple[float, float, float]]] = {
        method: [] for method in methods
    }
    for cell, (sensitivity, specificity, truth, size) in enumerate(
        itertools.product(*levels)
    ):
        if only not in (None, size):
            continue
        generator = np.random.default_rng(cell)
        estimates: dict[str, list[tuple[float, float, float]]] = {
            method: [] for method in methods
        }
        raw = []
        for number in range(draws):
            labels = answers(generator, sizes[0], size, truth, sensitivity, specificity)
            _, judged, clusters = answers(
                generator, sizes[1], size, truth, sensitivity, specificity
            )
            run = verdicts_of(judged, clusters)
            raw.append((judged == "yes").mean())
            for form in ("confusion", "prediction"):
                estimates[form].append(estimate(labels, run, form))
            estimates["plain"].append(plain(labels, run))
            if number % 20 == 0:
                estimates["bootstrap"].append(resampled(generator, labels, run))
        shown = []
        for method in methods:
            values, low, high = np.array(estimates[method]).T
            bias, held = (
                100 * (np.nanmean(values) - truth),
                100 * np.mean((low <= truth) & (truth <= high)),
            )
            width = 100 * np.mean(high - low)
            every[method].append((bias, held, width))
            shown.append(f"{bias:+6.2f} {held:6.1f} {width:6.1f}")
        print(
            f"{sensitivity:5} {specificity:5} {truth:5} {size:4} | {100 * (np.mean(raw) - truth):+8.1f} | {' | '.join(shown)}",
            flush=True,
        )
    for method, rows in every.items():
        bias, held, width = np.array(rows).T
        inside = ((held >= 93.5) & (held <= 96.5)).sum()
        print(
            f"{method}: bias at most {abs(bias).max():.2f}, coverage {held.min():.1f} to {held.max():.1f}, {inside} of "
            f"{len(held)} cells in 93.5 to 96.5; mean width {width.mean():.1f}"
        )


THREE = ("entailment", "neutral", "contradiction")
# a lenient judge: neutral is often entailed
SAID = np.array([[0.9, 0.08, 0.02], [0.35, 0.6, 0.05], [0.05, 0.15, 0.8]])
MIXED = (0.5, 0.3, 0.2)


def three_way(
    generator: np.random.Generator, n: int, shares: Sequence[float]
) -> tuple[Names, Names, npt.NDArray[np.intp]]:
    """Draws pairs in clusters of four, labelled and judged."""
    gold = generator.choice(3, n, p=shares)
    judged = (generator.random((n, 1)) > SAID[gold].cumsum(axis=1)).sum(axis=1)
    return np.array(THREE)[gold], np.array(THREE)[judged], np.arange(n) // 4


def merged(names: Names) -> Names:
    """Merges all classes but entailment."""
    return np.where(names == THREE[0], names, "rest")


def classes(draws: int) -> None:
    """Prints bias and coverage where the other two classes have another mixture than in the labels."""
    generator = np.random.default_rng(1)
    for shares in (MIXED, (0.5, 0.45, 0.05), (0.5, 0.05, 0.45)):
        rows: dict[str, list[tuple[float, float, float]]] = {}
        for _ in range(draws):
            labels, run = (
                three_way(generator, LABELS, MIXED),
                three_way(generator, VERDICTS, shares),
            )
            two = (merged(labels[0]), merged(labels[1]), labels[2])
            pair = (THREE[0], "rest")
            for form in ("confusion", "prediction"):
                rows.setdefault(f"{form}, three", []).append(
                    estimate(labels, verdicts_of(run[1], run[2], THREE), form, THREE)
                )
                rows.setdefault(f"{form}, two", []).append(
                    estimate(two, verdicts_of(merged(run[1]), run[2], pair), form, pair)
                )
        for name, estimates in rows.items():
            values, low, high = np.array(estimates).T
            held = np.mean((low <= shares[0]) & (shares[0] <= high))
            print(
                f"labels {MIXED}, run {shares}: {name:18} bias {100 * (values.mean() - shares[0]):+6.2f} coverage {100 * held:.1f}"
            )


def shares(draws: int) -> None:
    """Prints bias and coverage of a mean of shares, from labels of 400 random statements."""
    generator = np.random.default_rng(5)
    for apart in (0.0, 0.1, 0.2):
        estimates: dict[Any, list[tuple[float, float, float]]] = {
            "confusion": [],
            "prediction": [],
        }
        for _ in range(draws):
            length = np.where(generator.random(150) < 0.5, 4, 16)
            mean = np.where(length == 4, 0.5 + apart, 0.5 - apart)
            answer = np.arange(150).repeat(length)
            yes = (
                generator.random(len(answer))
                < generator.beta(8 * mean, 8 * (1 - mean))[answer]
            )
            judged_yes = generator.random(len(answer)) < np.where(yes, 0.85, 0.2)
            counts = np.stack(
                [np.bincount(answer, judged_yes), np.bincount(answer, ~judged_yes)],
                axis=1,
            ).astype(np.float64)
            run = Verdicts(
                counts, 1.0 / length, np.zeros(150), np.ones(150), range(150)
            )
            some = generator.choice(len(answer), 400, replace=False)
            labels = (
                np.where(yes, *CLASSES)[some],
                np.where(judged_yes, *CLASSES)[some],
                answer[some],
            )
            for form, rows in estimates.items():
                rows.append(estimate(labels, run, form))
        for form, rows in estimates.items():
            values, low, high = np.array(rows).T
            print(
                f"short answers {200 * apart:.0f} points better, {form:10}: bias {100 * (np.nanmean(values) - 0.5):+6.2f} "
                f"coverage {100 * np.mean((low <= 0.5) & (high >= 0.5)):.1f}"
            )


def ranking(draws: int) -> None:
    """Prints how often a judge ranks two models correctly, raw and corrected."""
    generator = np.random.default_rng(2)
    # A judge that prefers its own kind: it passes more wrong answers of B; each run has
    # labels of its own.
    raw = right = 0
    for _ in range(draws):
        rates, values = [], []
        for truth, specificity in ((0.7, 0.92), (0.6, 0.6)):
            labels = answers(generator, LABELS, 4, truth, 0.9, specificity)
            _, judged, clusters = answers(
                generator, VERDICTS, 4, truth, 0.9, specificity
            )
            rates.append((judged == "yes").mean())
            values.append(
                estimate(labels, verdicts_of(judged, clusters), "confusion")[0]
            )
        raw, right = raw + (rates[0] > rates[1]), right + (values[0] > values[1])
    print(
        f"own kind preferred, A 70 and B 60 true: A first in {raw / draws:.1%} raw, {right / draws:.1%} corrected"
    )
    # One set of labels for both: A has more contradictions, B says more that is
    # neither, which the judge often takes for entailed.
    raw = right = 0
    for _ in range(draws):
        labels = three_way(generator, LABELS, MIXED)
        runs = [
            three_way(generator, VERDICTS, shares)
            for shares in ((0.6, 0.05, 0.35), (0.5, 0.45, 0.05))
        ]
        rates = [(run[1] == THREE[0]).mean() for run in runs]
        values = [
            estimate(labels, verdicts_of(run[1], run[2], THREE), "confusion", THREE)[0]
            for run in runs
        ]
        raw, right = raw + (rates[0] > rates[1]), right + (values[0] > values[1])
    print(
        f"lenient on neutral, A 60 and B 50 true: A first in {raw / draws:.1%} raw, {right / draws:.1%} corrected by three classes"
    )


def pairs(draws: int) -> None:
    """Prints coverage for the difference of two runs that are corrected by the same labels, as `compare` computes it."""
    from medical_tasks.comparison.statistics import with_judge_error
    from medical_tasks.scoring.correction import judge_error
    from medical_tasks.scoring.estimates import as_json
    from medical_tasks.scoring.paired import paired_bootstrap

    generator = np.random.default_rng(4)
    for sensitivity, specificity, gap, size in itertools.product(
        (0.75, 0.95), (0.75, 0.95), (0.0, 0.1, 0.3), (1, 5)
    ):
        held = alone = significant = 0
        for _ in range(draws):
            labels = answers(generator, LABELS, size, 0.5, sensitivity, specificity)
            rescored = rescoring(
                labels[0].tolist(),
                labels[1].tolist(),
                CLASSES,
                clusters=labels[2].tolist(),
            )
            columns, facts = [], []
            for truth in (0.5, 0.5 + gap):
                _, judged, clusters = answers(
                    generator, 500, size, truth, sensitivity, specificity
                )
                columns.append(np.where(judged == "yes", *rescored.scores))
                _, error = judge_error(rescored, verdicts_of(judged, np.arange(500)))
                facts.append(
                    {
                        name: getattr(error, name)
                        for name in ("weights", "slope", "covariance", "freedom")
                    }
                )
            difference = paired_bootstrap(
                *columns, clusters=clusters.tolist(), limits=None, resamples=500
            )
            entry: Any = {**as_json(difference), "p": difference.p_value}
            alone += difference.ci_low <= gap <= difference.ci_high
            with_judge_error(entry, facts)
            held += entry["ci_low"] <= gap <= entry["ci_high"]
            significant += entry["p"] < 0.05
        print(
            f"sensitivity {sensitivity}, specificity {specificity}, difference {gap}, clusters of {size}: covers "
            f"{held / draws:.1%}, without the labels' error {alone / draws:.1%}; p below 0.05 in {significant / draws:.1%}",
            flush=True,
        )


@dataclass(frozen=True)
class Drift:
    """How a judge errs, and how the run's answers differ from the labelled ones.

    Attributes:
        name: what drifts.
        by_kind: sensitivity and specificity by kind of question.
        kinds: the share of the second kind, in the labels and in the run.
        by_length: what is added to both with one unit of log length.
        lengths: mean log length, in the labels and in the run.
        of_family: what is added to both for answers of the judge's family.
        own: the share of labels that are of answers by the judge's family; the run is
            by it.
    """

    name: str
    by_kind: tuple[tuple[float, float], tuple[float, float]] = ((0.9, 0.8), (0.9, 0.8))
    kinds: tuple[float, float] = (0.5, 0.5)
    by_length: tuple[float, float] = (0.0, 0.0)
    lengths: tuple[float, float] = (4.5, 4.5)
    of_family: tuple[float, float] = (0.0, 0.0)
    own: float = 0.0


DRIFTS = (
    Drift("nothing"),
    Drift("kinds of question", by_kind=((0.88, 0.93), (0.97, 0.67)), kinds=(0.4, 0.9)),
    Drift("length, a little", by_length=(0.04, -0.1), lengths=(4.5, 4.7)),
    Drift("length", by_length=(0.04, -0.1), lengths=(4.5, 5.0)),
    Drift("length, beyond", by_length=(0.04, -0.1), lengths=(4.5, 5.8)),
    Drift("family, a third of labels", of_family=(0.05, -0.15), own=0.33),
    Drift("family, a tenth of labels", of_family=(0.05, -0.15), own=0.1),
)


def sampled(
    generator: np.random.Generator,
    drift: Drift,
    answers: int,
    *,
    run: bool,
    truth: float = 0.6,
) -> dict[str, Any]:
    """Draws answers of four statements: kind, length and family, the truth and the verdicts."""
    kind = generator.random(answers) < drift.kinds[run]
    length = generator.normal(drift.lengths[run], 0.5, answers)
    own = (
        np.full(answers, bool(drift.own))
        if run
        else generator.random(answers) < drift.own
    )
    chances = np.array(drift.by_kind)[kind.astype(int)]
    chances = chances + (length - drift.lengths[0])[:, np.newaxis] * np.array(
        drift.by_length
    )
    chances = np.clip(
        chances + own[:, np.newaxis] * np.array(drift.of_family), 0.02, 0.98
    )
    yes = generator.random((answers, 4)) < truth
    judged_yes = generator.random((answers, 4)) < np.where(
        yes, chances[:, :1], 1.0 - chances[:, 1:]
    )
    return {
        "kind": kind,
        "words": np.exp(length).astype(int) + 1,
        "own": own,
        "yes": yes,
        "judged": judged_yes,
    }


def drifts(draws: int) -> None:
    """Prints coverage and bias with and without the covariates that `--calibration` adjusts for."""
    from medical_tasks.benchmarks.kqa.spec import KQA
    from medical_tasks.runs.calibrating import Answers, Calibration
    from medical_tasks.runs.correcting import correct
    from medical_tasks.spec import Counts, Item, ItemScore
    from medical_tasks.spec import Verdicts as Counted

    task = replace(KQA, metrics=KQA.metrics[:1])
    (metric,) = task.metrics
    names = np.array(["neutral", "entailment"])
    print(
        f"{'what drifts':27} | {'unaware: bias':>13} covers |  bias covers  width | adjusted, refused"
    )
    for drift in DRIFTS:
        generator = np.random.default_rng(6)
        estimates: dict[str, list[tuple[float, float, float]]] = {
            "unaware": [],
            "aware": [],
        }
        refused, adjusted = 0, 0
        for _ in range(draws):
            labels, run = (
                sampled(generator, drift, n, run=n == 250) for n in (100, 250)
            )
            columns: dict[str, Any] = {
                "gold": names[labels["yes"].reshape(-1).astype(int)].tolist(),
                "judge": names[labels["judged"].reshape(-1).astype(int)].tolist(),
                "cluster": np.arange(100).repeat(4).tolist(),
            }
            covariates = {
                "words": labels["words"].repeat(4).tolist(),
                "model": np.where(labels["own"], "alpha-1", "beta-2")
                .repeat(4)
                .tolist(),
                "group_question_form": np.where(labels["kind"], "open", "other")
                .repeat(4)
                .tolist(),
            }
            items = [
                Item(
                    id=str(index),
                    fields={},
                    groups={
                        "must_haves": "4",
                        "question_form": "open" if kind else "other",
                    },
                    cluster=str(index),
                )
                for index, kind in enumerate(run["kind"])
            ]
            scores = {
                str(index): ItemScore(
                    id=str(index),
                    values={metric.name: float(judged.mean())},
                    counts={
                        metric.name: Counts(
                            how="share",
                            verdicts=(Counted(hits=int(judged.sum()), known=4),),
                        )
                    },
                )
                for index, judged in enumerate(run["judged"])
            }
            texts = {str(index): "w " * int(n) for index, n in enumerate(run["words"])}
            answers = Answers(texts, "host/alpha-3" if drift.own else "host/beta-2")
            truth = 0.6
            for name, label_columns in (
                ("unaware", columns),
                ("aware", columns | covariates),
            ):
                check = {
                    "set": "kqa",
                    "judge": {"name": "host/alpha-3"},
                    "labels": label_columns,
                }
                correction = correct(
                    Calibration(Path(), "", check, "confusion"),
                    task,
                    items,
                    scores,
                    None,
                    answers,
                )
                entry = correction.figures[metric.name]
                if entry["value"] is None:
                    refused += 1
                    continue
                adjusted += bool(entry["calibration"]["adjusted_for"])
                estimates[name].append(
                    (entry["value"], entry["ci_low"], entry["ci_high"])
                )
        shown = []
        for rows in estimates.values():
            values, low, high = np.array(rows or [(np.nan, np.nan, np.nan)]).T
            held = np.mean((low <= truth) & (truth <= high))
            shown.append(
                (100 * (values.mean() - truth), 100 * held, 100 * (high - low).mean())
            )
        print(
            f"{drift.name:27} | {shown[0][0]:+13.1f} {shown[0][1]:6.1f} | {shown[1][0]:+5.1f} {shown[1][1]:6.1f} "
            f"{shown[1][2]:6.1f} | {adjusted / draws:.0%}, {refused / draws:.0%} (unaware width {shown[0][2]:.1f})",
            flush=True,
        )


def kqa(path: Path, splits: int) -> None:
    """Prints coverage on K-QA's labelled answers, of which half serve as labels."""
    from medical_tasks.benchmarks.kqa.judge_check import (
        judge_annotations,
        read_annotations,
    )
    from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
    from medical_tasks.benchmarks.kqa.spec import KQA
    from medical_tasks.judges.base import Judging
    from medical_tasks.judges.check_figures import labels_of
    from medical_tasks.judges.session import open_offline

    pairs = read_annotations(path)
    with open_offline("lexical", unread="prompts") as judge:
        lexical, _ = labels_of(
            judge_annotations(
                pairs, Judging(judge=judge, prompts=load_judge_prompts(KQA))
            )
        )
    gold = merged(np.array([pair.gold for pair in pairs]))
    places = np.unique([pair.cluster for pair in pairs], return_inverse=True)[1]
    generator = np.random.default_rng(3)
    lenient = np.where(
        gold != THREE[0],
        np.where(generator.random(len(gold)) < 0.4, THREE[0], "rest"),
        gold,
    )
    judges = {
        "lexical": merged(np.array(lexical)),
        "passes 40 % of what is not entailed": lenient,
    }
    judges |= {
        f"physician {rater + 1}": merged(
            np.array([pair.ratings[rater] for pair in pairs])
        )
        for rater in range(3)
    }
    pair = (THREE[0], "rest")
    for name, judged in judges.items():
        held, raw, bias, widths = [], [], [], []
        for _ in range(splits):
            left = generator.permutation(places.max() + 1) < (places.max() + 1) // 2
            out = left[places]
            truth = (gold[out] == THREE[0]).mean()
            labels = (gold[~out], judged[~out], places[~out])
            value, low, high = estimate(
                labels,
                verdicts_of(
                    judged[out], np.unique(places[out], return_inverse=True)[1], pair
                ),
                "confusion",
                pair,
            )
            held.append(low <= truth <= high)
            bias.append(value - truth)
            widths.append(high - low)
            raw.append((judged[out] == THREE[0]).mean() - truth)
        print(
            f"{name}: raw off by {100 * np.mean(raw):+.1f} points, corrected by {100 * np.nanmean(bias):+.2f}; covers "
            f"{100 * np.mean(held):.1f} %; width {100 * np.mean(widths):.0f}; no value in {np.isnan(bias).mean():.1%} of "
            f"{splits} splits"
        )


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["cells"]
    numbers = [int(argument) for argument in rest if argument.isdigit()] or [2_000]
    if what == "kqa":
        kqa(Path(rest[0]), numbers[0])
    else:
        {
            "cells": cells,
            "classes": classes,
            "drifts": drifts,
            "pairs": pairs,
            "ranking": ranking,
            "shares": shares,
            "sparse": sparse,
        }[what](*numbers)
