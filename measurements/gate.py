"""How often a gate and the test of equivalence are wrong: `python measurements/gate.py [--draws 1000]`.

Runs whose true value stands exactly on a rule's limit: GO and NO-GO are both errors
there, and each may be at most 5.5 %. Each kind of figure alone and as one of ten rules:
right answers, alone and on notes of five, means of shares, counts, and the difference
from another run. `refused` are runs that would have got GO, had the gate not found that
of such runs on the limit more than 5.5 % do. Equivalence: two models whose true
difference is exactly the margin; "equivalent" may be the verdict in at most 5 %.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from medical_tasks.comparison.gate_risk import (
    Limit,
    Risk,
    risk_of_difference,
    risk_of_value,
)
from medical_tasks.comparison.gating import GO, INCONCLUSIVE, NO_GO, Finding
from medical_tasks.comparison.statistics import Columns
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.scoring.paired import equivalence, paired_bootstrap
from medical_tasks.spec import MetricSpec

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator
RIGHT = MetricSpec(name="right", kind="proportion", description="")
SHARE = MetricSpec(name="share", kind="mean", description="")
COUNT = MetricSpec(
    name="count",
    kind="mean",
    description="",
    limits=(0.0, math.inf),
    higher_is_better=False,
)


def columns_of(
    metric: MetricSpec, first: Floats, second: Floats, clusters: Any = None
) -> Columns:
    """Two runs' values as `compare` takes them."""
    ones = np.ones(len(first))
    return Columns(
        metric=metric,
        shares=(1.0,),
        first=(first, ones),
        second=(second, ones),
        values=(first, second),
        clusters=clusters,
        missing=(),
    )


def finding_of(
    value: Estimate, limit: Limit, risk: Callable[[], Risk | None]
) -> Finding:
    """Makes a finding as the gate does; the risk matters where the interval meets the limit."""
    return Finding(
        run="",
        rule="",
        group="",
        value=value.value,
        low=value.ci_low,
        high=value.ci_high,
        limit=limit.value,
        at_most=limit.at_most,
        risk=risk() if limit.met(value.ci_low, value.ci_high) else None,
    )


def shares_right(g: Generator, items: int, limit: float) -> Finding:
    """At least so many right, of independent questions."""
    values = np.asarray(g.random(items) < limit, dtype=np.float64)
    bound = Limit(limit)
    columns = columns_of(RIGHT, values, values)
    return finding_of(
        proportion_interval(values), bound, lambda: risk_of_value(columns, bound)
    )


def shares_of_notes(g: Generator, items: int, limit: float) -> Finding:
    """The same, of notes of five, mostly alike."""
    notes = np.repeat(g.random(items // 5) < limit, 5)
    alike = np.where(g.random(items) < 0.6, notes, g.random(items) < limit)
    values = np.asarray(alike, dtype=np.float64)
    labels = np.repeat(np.arange(items // 5), 5).tolist()
    bound = Limit(limit)
    columns = columns_of(RIGHT, values, values, labels)
    interval = proportion_interval(values, clusters=labels)
    return finding_of(interval, bound, lambda: risk_of_value(columns, bound))


def mean_share(g: Generator, items: int, limit: float) -> Finding:
    """At least such a mean of shares, most of them 1."""
    whole = (limit - 0.5) / 0.5  # the others are uniform
    values = np.where(g.random(items) < whole, 1.0, g.random(items))
    bound = Limit(limit)
    columns = columns_of(SHARE, values, values)
    return finding_of(
        mean_interval(values), bound, lambda: risk_of_value(columns, bound)
    )


def mean_count(g: Generator, items: int, limit: float) -> Finding:
    """At most so many contradictions an answer, which some answers have far more of."""
    values = g.poisson(g.gamma(0.5, 2.0 * limit, items)).astype(np.float64)
    bound = Limit(limit, at_most=True)
    columns = columns_of(COUNT, values, values)
    interval = mean_interval(values, limits=COUNT.limits)
    return finding_of(interval, bound, lambda: risk_of_value(columns, bound))


def difference(g: Generator, items: int, limit: float) -> Finding:
    """At most so much worse than another run, on the same questions."""
    chance = g.random(items)
    first = chance < 0.7
    second = np.where(g.random(items) < 0.8, chance, g.random(items)) < 0.7 - limit
    bound = Limit(-limit)
    a, b = (np.asarray(outcomes, dtype=np.float64) for outcomes in (first, second))
    columns = columns_of(SHARE, a, b)
    result = paired_bootstrap(a, b, resamples=1000)
    value = Estimate(result.difference, result.ci_low, result.ci_high, items)
    return finding_of(value, bound, lambda: risk_of_difference(columns, bound))


KINDS: dict[str, tuple[Callable[[Generator, int, float], Finding], float]] = {
    "right, at least": (shares_right, 0.8),
    "right, at least, high": (shares_right, 0.95),
    "notes of five": (shares_of_notes, 0.8),
    "mean of shares": (mean_share, 0.9),
    "counts, at most": (mean_count, 0.3),
    "margin": (difference, 0.05),
}


def main() -> None:
    """Prints the shares of wrong verdicts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    print(
        "kind                    limit  items  rules  wrong GO %  refused %  wrong NO-GO %"
    )
    for name, (kind, limit) in KINDS.items():
        for items in (20, 40, 60, 200):
            generator = np.random.default_rng(7)
            findings = [kind(generator, items, limit) for _ in range(draws)]
            for rules in (1, 10):
                verdicts = Counter(
                    finding.decided(rules).verdict for finding in findings
                )
                refused = sum(
                    "too few items" in finding.decided(rules).reason
                    for finding in findings
                )
                shares = (
                    100 * count / draws
                    for count in (verdicts[GO], refused, verdicts[NO_GO])
                )
                columns = "  ".join(f"{share:11.1f}" for share in shares)
                print(f"{name:23} {limit:5} {items:6} {rules:6}  {columns}", flush=True)
                assert verdicts[INCONCLUSIVE] + verdicts[GO] + verdicts[NO_GO] == draws
    print("\nmargin  items  wrongly equivalent %  rightly equivalent %")
    for margin, items in ((0.05, 400), (0.1, 200)):
        generator = np.random.default_rng(7)
        rejections = [0, 0]
        for _ in range(draws):
            first = generator.random(items)
            noise = generator.random(items)
            for index, apart in enumerate((margin, 0.0)):
                a = first < 0.7
                b = np.where(noise < 0.9, first, generator.random(items)) < 0.7 - apart
                rejections[index] += equivalence(a * 1.0, b * 1.0, margin)[0] < 0.05
        print(
            f"{margin:6} {items:6} {100 * rejections[0] / draws:21.1f} {100 * rejections[1] / draws:21.1f}"
        )


if __name__ == "__main__":
    main()
