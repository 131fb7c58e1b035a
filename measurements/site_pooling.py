"""How often pooled intervals of hospitals hold the truth. Prints tables; takes 20 minutes.

    python measurements/site_pooling.py shares [sets]
    python measurements/site_pooling.py judges|rare|differences|furthest [sets]
    python measurements/site_pooling.py reference [sets]

`shares`: 3, 5 and 10 hospitals of 40 to 400 items each, whose true shares are normal on
the scale of logits with standard deviation tau around that of p. The mean's interval is
beside that of Hartung and Knapp with Paule and Mandel's tau² on the scale of logits; the
interval of a further hospital beside Higgins, Thompson and Spiegelhalter's, both held
against the true share of a hospital that was not in the set.
`judges`: five hospitals of other size, share and judge, corrected by the confusion
matrix that each shares. `rare`: few are wrong, so that cells under five are hidden.
`differences`: paired, candidate less baseline. `furthest`: the largest difference of two
hospitals. `reference`: the same sets by statsmodels, where it is installed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from medical_tasks.catalog import tasks
from medical_tasks.scoring.correction import NotCorrectableError
from medical_tasks.scoring.intervals import student_quantile, wilson
from medical_tasks.site.pooling import largest_difference
from medical_tasks.site.random_effects import hartung_knapp, pooled, tau2_where
from medical_tasks.site.site_effects import (
    Effect,
    Z,
    corrected_here,
    on_scale,
    together,
)

Floats = npt.NDArray[np.float64]
SMALLEST, LARGEST = 40, 400
TAUS = (0.0, 0.3, 0.6)
TASK = "ehrnoteqa_open_level1"


@dataclass(frozen=True)
class Sets:
    """Simulated sets of hospitals: right answers, items, and true shares."""

    right: Floats
    items: Floats
    true: Floats
    mean: float
    further: Floats


def logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def draw(
    generator: np.random.Generator, sets: int, k: int, p: float, tau: float
) -> Sets:
    mu = math.log(p / (1.0 - p))
    items = np.round(np.geomspace(SMALLEST, LARGEST, k))
    true = logistic(mu + tau * generator.standard_normal((sets, k)))
    right = generator.binomial(items.astype(int), true).astype(float)
    further = logistic(mu + tau * generator.standard_normal(sets))
    return Sets(right, np.broadcast_to(items, right.shape), true, p, further)


def angles(right: Floats, items: Floats) -> tuple[Floats, Floats]:
    """Does what `site_effects.on_scale` does, for many sets at once."""
    inner = (right + 0.375) / (items + 0.75)
    return np.arcsin(np.sqrt(inner)), 1.0 / (4.0 * items + 2.0)


def usual(sample: Sets) -> tuple[Floats, Floats, Floats, Floats]:
    """Computes Hartung and Knapp's interval on logits, and that of a further hospital by Higgins and others (2009)."""
    right, wrong = sample.right + 0.5, sample.items - sample.right + 0.5
    y, v = np.log(right / wrong), 1.0 / right + 1.0 / wrong
    k = y.shape[-1]
    tau2 = tau2_where(y, v, k - 1.0)
    mean, error = hartung_knapp(y, v, tau2)
    own = student_quantile(0.975, k - 1.0) * error
    new = student_quantile(0.975, max(1.0, k - 2.0)) * np.sqrt(tau2 + error**2)
    return mean - own, mean + own, mean - new, mean + new


def held(low: Floats, high: Floats, true: Floats | float) -> str:
    return f"{100.0 * np.mean((low <= true) & (true <= high)):5.1f}"


def shares(sets: int) -> Iterator[str]:
    yield "| hospitals | p | tau | mean | (usual) | further one | (usual) | width to usual |"
    yield "|---|---|---|---|---|---|---|---|"
    generator = np.random.default_rng(1)
    for k in (3, 5, 10):
        for p in (0.6, 0.9, 0.97):
            for tau in TAUS:
                sample = draw(generator, sets, k, p, tau)
                result = pooled(*angles(sample.right, sample.items))
                truth = math.asin(math.sqrt(p))
                further = np.arcsin(np.sqrt(sample.further))
                logit, new = math.log(p / (1 - p)), sample.further
                low, high, new_low, new_high = usual(sample)
                wide = logistic(high) - logistic(low)
                back = np.sin(
                    np.clip(np.stack([result.low, result.high]), 0, np.pi / 2)
                )
                own = back[1] ** 2 - back[0] ** 2
                yield (
                    f"| {k} | {p} | {tau} | {held(result.low, result.high, truth)} | "
                    f"{held(low, high, logit)} | "
                    f"{held(result.new_low, result.new_high, further)} | "
                    f"{held(new_low, new_high, np.log(new / (1 - new)))} | "
                    f"{np.median(own) / np.median(wide):.2f} |"
                )


def judges(sets: int) -> Iterator[str]:
    """Five hospitals whose judges differ; 200 labels each, of 130 right and 70 wrong."""
    yield "| tau | corrected: mean | further one | each hospital | as judged: mean |"
    yield "|---|---|---|---|---|"
    generator = np.random.default_rng(2)
    sensitivity = np.array([0.95, 0.90, 0.85, 0.92, 0.80])
    specificity = np.array([0.85, 0.90, 0.75, 0.95, 0.80])
    labels, gold, p, task = 200, 130, 0.8, tasks()[TASK]
    metric = task.metrics[0]
    for tau in TAUS:
        sample = draw(generator, sets, 5, p, tau)
        judged = sample.true * sensitivity + (1.0 - sample.true) * (1.0 - specificity)
        judged_right = generator.binomial(sample.items.astype(int), judged)
        kept, own_held, own = [], [], []
        for at in range(sets):
            effects = []
            for site in range(5):
                n, x = int(sample.items[at, site]), int(judged_right[at, site])
                low, high = wilson(x / n, n, Z)
                raw = Effect(site=str(site), value=x / n, low=low, high=high, n=n)
                hits = generator.binomial(gold, sensitivity[site])
                false = generator.binomial(labels - gold, 1.0 - specificity[site])
                table = [[hits, gold - hits], [false, labels - gold - false]]
                check = {
                    "set": "ehrnoteqa_open",
                    "classes": ["correct", "incorrect"],
                    "pairs": labels,
                    "clusters": labels,
                    "table": table,
                }
                try:
                    effect = corrected_here(raw, task, metric, [check])
                except NotCorrectableError:
                    break
                effects.append(effect)
                truth = sample.true[at, site]
                own_held.append(effect.low <= truth <= effect.high)
            else:
                kept.append(at)
                own.append(on_scale(effects, "share"))
        result = pooled(*(np.stack(values) for values in zip(*own, strict=True)))
        raw_result = pooled(*angles(judged_right.astype(float), sample.items))
        truth = math.asin(math.sqrt(p))
        further = np.arcsin(np.sqrt(sample.further[kept]))
        yield (
            f"| {tau} | {held(result.low, result.high, truth)} | "
            f"{held(result.new_low, result.new_high, further)} | "
            f"{100.0 * np.mean(own_held):5.1f} | "
            f"{held(raw_result.low, raw_result.high, truth)} |"
            f" <!-- {len(kept)} of {sets} sets -->"
        )


def rare(sets: int) -> Iterator[str]:
    """Pools effects as `site share` exports them: fewer than five wrong are "0 to 4 of n"."""
    yield "| hospitals | p | tau | mean | further one | hospitals with a hidden cell |"
    yield "|---|---|---|---|---|---|"
    generator = np.random.default_rng(3)
    for k, p in ((5, 0.9), (5, 0.97), (10, 0.97)):
        for tau in (0.0, 0.3):
            sample = draw(generator, sets, k, p, tau)
            mean_held, new_held, hidden = [], [], 0
            for at in range(sets):
                effects = []
                for site in range(k):
                    n, x = int(sample.items[at, site]), int(sample.right[at, site])
                    value, off = x / n, 0.0
                    if n - x < 5:
                        value, off, hidden = 1.0 - 2.0 / n, 2.0 / n, hidden + 1
                    low, high = wilson(value, n, Z)
                    effects.append(
                        Effect(
                            site=str(site),
                            value=value,
                            low=low,
                            high=high,
                            n=n,
                            off=off,
                        )
                    )
                ends = together(effects, "share")
                mean_held.append(ends["low"] <= p <= ends["high"])
                new_held.append(
                    ends["new_low"] <= sample.further[at] <= ends["new_high"]
                )
            yield (
                f"| {k} | {p} | {tau} | {100 * np.mean(mean_held):.1f} | "
                f"{100 * np.mean(new_held):.1f} | {100 * hidden / sets / k:.0f} % |"
            )


def differences(sets: int) -> Iterator[str]:
    """The candidate is better on some items and worse on others."""
    yield "| hospitals | tau, points | mean | further one |"
    yield "|---|---|---|---|"
    generator = np.random.default_rng(4)
    for k in (3, 5, 10):
        for tau in (0.0, 0.02, 0.05):
            items = np.round(np.geomspace(SMALLEST, LARGEST, k)).astype(int)
            true = -0.02 + tau * generator.standard_normal((sets, k))
            further = -0.02 + tau * generator.standard_normal(sets)
            better = np.clip(0.1 + true / 2.0, 0.0, 0.5)
            worse = np.clip(0.1 - true / 2.0, 0.0, 0.5)
            counts = generator.multinomial(
                items, np.stack([better, worse, 1.0 - better - worse], axis=-1)
            )
            value = (counts[..., 0] - counts[..., 1]) / items
            changed = (counts[..., 0] + counts[..., 1] + 1.0) / (items + 1.0)
            result = pooled(value, (changed - value**2) / items)
            yield (
                f"| {k} | {100 * tau:g} | {held(result.low, result.high, -0.02)} | "
                f"{held(result.new_low, result.new_high, further)} |"
            )


def furthest(sets: int) -> Iterator[str]:
    yield "| hospitals | p | tau | the largest true difference is inside |"
    yield "|---|---|---|---|"
    generator = np.random.default_rng(5)
    for k in (3, 5, 10):
        for p in (0.6, 0.9):
            for tau in TAUS:
                sample = draw(generator, sets, k, p, tau)
                inside = 0
                for at in range(sets):
                    effects = []
                    for site in range(k):
                        n, x = int(sample.items[at, site]), int(sample.right[at, site])
                        low, high = wilson(x / n, n, Z)
                        effects.append(
                            Effect(site=str(site), value=x / n, low=low, high=high, n=n)
                        )
                    ends = largest_difference(effects, "share")
                    truth = float(np.ptp(sample.true[at]))
                    inside += ends["low"] <= truth <= ends["high"]
                yield f"| {k} | {p} | {tau} | {100 * inside / sets:.1f} |"


def reference(sets: int) -> Iterator[str]:
    """Compares Paule and Mandel's tau² and the mean with those of statsmodels."""
    from statsmodels.stats.meta_analysis import combine_effects

    generator = np.random.default_rng(6)
    sample = draw(generator, sets, 5, 0.8, 0.4)
    y, v = angles(sample.right, sample.items)
    tau2 = tau2_where(y, v, 4.0)
    mean, error = hartung_knapp(y, v, tau2)
    apart: dict[str, float] = {"tau²": 0.0, "mean": 0.0, "standard error": 0.0}
    for at in range(sets):
        other = combine_effects(y[at], v[at], method_re="iterated", use_t=True)
        theirs = (
            other.tau2,
            other.mean_effect_re,
            math.sqrt(other.scale_hksj_re) * other.sd_eff_w_re,
        )
        ours = (tau2[at], mean[at], error[at])
        for name, our, their in zip(apart, ours, theirs, strict=True):
            apart[name] = max(apart[name], abs(float(our) - float(their)))
    yield f"{sets} sets, largest distance to statsmodels: " + ", ".join(
        f"{name} {value:.1e}" for name, value in apart.items()
    )


PARTS: dict[str, Callable[[int], Iterator[str]]] = {
    "shares": shares,
    "judges": judges,
    "rare": rare,
    "differences": differences,
    "furthest": furthest,
    "reference": reference,
}


if __name__ == "__main__":
    table_name, *more = sys.argv[1:] or ["shares"]
    for line in PARTS[table_name](int(more[0]) if more else 4_000):
        print(line, flush=True)
