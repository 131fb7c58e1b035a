"""How often `site monitor` is wrong, and what it finds: `python measurements/site_monitor.py [--series 4000]`.

A baseline and 3, 12 or 52 later runs of the same items. Without a change each procedure
may say "worse" in at most 5 % of series. With one, the model loses 2.26 standard errors
of a difference of two runs at a look that is equally likely any, and stays so: found at
once (`first`), within three looks, and by the last look; `at 1`: by the last look where
it came at the first one. `ramp`: it loses a little more at each look.

- bonferroni: each run against the baseline, alpha divided over the looks
- baseline: each run against the baseline, boundaries exact for their correlation of 1/2
- mean: the mean of all looks against the baseline
- newest: the newest run against all before it, which makes looks independent
- change: those scores added up from the likeliest look of a change (`site.looks`);
  plain: without the head start of the first look
- accumulating: each run against the baseline, by boundaries for data that accumulate;
  these do not fit

`items`: the same of real items: 150 right or wrong answers of 75 patients, of mixed
difficulty, with `exchange_p`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.intervals import normal_cdf, normal_quantile
from medical_tasks.site.looks import (
    SeriesTable,
    boundaries,
    change_scores,
    exchange_p,
    normal_scores,
)

Floats = npt.NDArray[np.float64]
Spending = Literal["even", "pocock", "obrien-fleming"]
LOOKS: Final = (3, 12, 52)
SPENDING: Final[tuple[Spending, ...]] = ("even", "pocock", "obrien-fleming")
LOSS: Final = 3.2
"""Of a run, in standard errors of a run: 3.2 / sqrt(2) = 2.26 of a difference of two."""


def spent(looks: int, planned: int, how: Spending, alpha: float = 0.05) -> float:
    """Returns how much of alpha may be spent after a number of the planned looks.

    Lan and DeMets (1983) have functions that spend like O'Brien and Fleming's, and
    like Pocock's boundaries.
    """
    share = min(1.0, looks / planned)
    if how == "even":
        return alpha * share
    if how == "pocock":
        return alpha * math.log(1.0 + (math.e - 1.0) * share)
    far = normal_quantile(1.0 - alpha / 2.0) / math.sqrt(share)
    return 2.0 * normal_cdf(-far)


def newest(runs: Floats) -> Floats:
    """Compares each run with all before it, in standard errors; a loss counts as positive."""
    earlier = np.cumsum(runs, axis=1)[:, :-1]
    looks = np.arange(1, runs.shape[1])
    return np.asarray((earlier / looks - runs[:, 1:]) / np.sqrt(1.0 + 1.0 / looks))


def baseline(runs: Floats) -> Floats:
    """Compares each run with the baseline."""
    return np.asarray((runs[:, :1] - runs[:, 1:]) / math.sqrt(2.0))


def mean(runs: Floats) -> Floats:
    """Compares the mean of all looks with the baseline."""
    looks = np.arange(1, runs.shape[1])
    so_far = np.cumsum(runs[:, 1:], axis=1) / looks
    return np.asarray((runs[:, :1] - so_far) / np.sqrt(1.0 + 1.0 / looks))


def change(runs: Floats) -> Floats:
    """The likelihood ratio of a change at an unknown look."""
    return change_scores(newest(runs))[0]


def plain(runs: Floats) -> Floats:
    """Does what `change` does, without a head start."""
    return without_head_start(newest(runs))


def without_head_start(scores: Floats) -> Floats:
    """Computes the scores of a change as if look 1 were like any other."""
    maxima = np.empty(scores.shape)
    looks = np.arange(1, scores.shape[-1] + 1)
    for look in looks:
        best = np.full(scores.shape[:-1], -np.inf)
        for start in range(1, look + 1):
            j = np.arange(start, look + 1)
            weights = start / j / np.sqrt(1.0 + 1.0 / j)
            total = scores[..., start - 1 : look] @ weights
            best = np.maximum(best, total / math.sqrt(float(weights @ weights)))
        maxima[..., look - 1] = best
    return maxima


def accumulating(scores: Floats) -> Floats:
    """The statistic of data that accumulate in equal steps."""
    looks = np.arange(1, scores.shape[-1] + 1)
    return np.asarray(np.cumsum(scores, axis=-1) / np.sqrt(looks))


def of_runs(statistic: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """A statistic of runs as one of independent scores, which are the runs but the first."""
    first = np.random.default_rng(17).standard_normal(1_000_000)

    def drawn(scores: Floats) -> Floats:
        return statistic(np.column_stack([first[: len(scores)], scores]))

    return drawn


def limits(name: str, looks: int, how: Spending) -> Floats:
    """The boundaries of a procedure."""
    chances = [spent(look, looks, how) for look in range(1, looks + 1)]
    steps = np.diff([0.0, *chances])
    if name == "bonferroni":
        return normal_scores(list(steps))
    fitted: Mapping[str, Callable[[Floats], Floats]] = {
        "baseline": of_runs(baseline),
        "mean": of_runs(mean),
        "newest": np.asarray,
        "change": lambda scores: change_scores(scores)[0],
        "plain": without_head_start,
        "accumulating": accumulating,
    }
    return np.array(boundaries(chances, statistic=fitted[name]))


STATISTICS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "bonferroni": baseline,
    "baseline": baseline,
    "mean": mean,
    "newest": newest,
    "change": change,
    "plain": plain,
    "accumulating": baseline,
}


def measured(looks: int, series: int, how: Spending) -> None:
    """Prints a line for each procedure."""
    noise = np.random.default_rng(looks).standard_normal((series, looks + 1))
    starts = sorted({*np.linspace(1, looks, min(looks, 12)).round().astype(int)})
    ramp = noise - LOSS * 1.25 * np.arange(looks + 1) / looks
    for name, statistic in STATISTICS.items():
        bound = limits(name, looks, how)
        false = (statistic(noise) > bound).any(axis=1).mean()
        detected = []
        for start in starts:
            runs = noise.copy()
            runs[:, start:] -= LOSS
            over = (statistic(runs) > bound)[:, start - 1 :]
            detected.append(
                [
                    over[:, 0].mean(),
                    over[:, :3].any(axis=1).mean(),
                    over.any(axis=1).mean(),
                ]
            )
        first, three, last = np.mean(detected, axis=0)
        at_one = detected[0][2]
        slow = (statistic(ramp) > bound).any(axis=1).mean()
        print(
            f"{looks:5}  {how:14}  {name:12}  {100 * false:8.1f} %  {100 * first:5.1f} %  "
            f"{100 * three:8.1f} %  {100 * last:7.1f} %  {100 * at_one:5.1f} %  {100 * slow:5.1f} %"
        )


def measured_items(looks: int, series: int, how: Spending) -> None:
    """Prints the same for items, by the procedure that is used."""
    generator = np.random.default_rng(100 + looks)
    chances = [spent(look, looks, how) for look in range(1, looks + 1)]
    bound = np.array(boundaries(chances))
    patients, per_patient = 75, 2
    for name, loss, start in (
        ("unchanged", 0.0, 1),
        ("-8 points at 1", 0.08, 1),
        ("-8 points midway", 0.08, max(1, looks // 2)),
    ):
        crossed = 0
        for _ in range(series):
            ease = generator.beta(4.0, 1.2, size=(patients, 1))
            share = np.clip(
                ease + generator.normal(0, 0.05, (patients, per_patient)), 0, 1
            )
            after = np.where(np.arange(looks + 1) >= start, loss, 0.0)
            chance = np.clip(share[None] - after[:, None, None], 0.0, 1.0)
            right = generator.random((looks + 1, patients, per_patient)) < chance
            sums = np.stack(
                [right.sum(axis=2), np.full((looks + 1, patients), float(per_patient))],
                axis=1,
            )
            table = SeriesTable((1.0,), sums.astype(float))
            p = [exchange_p(table.until(run))[0] for run in range(1, looks + 1)]
            crossed += bool((change_scores(normal_scores(p))[0] > bound).any())
        print(
            f"{looks:5}  {how:14}  items, {name:18} reported as worse in {100 * crossed / series:.1f} %"
        )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--series", type=int, default=4000)
    parser.add_argument("--items", type=int, default=400)
    series, items = vars(parser.parse_args()).values()
    print(
        "looks  spending        procedure     false worse   first  in three  by last   ramp"
    )
    for looks in LOOKS:
        for how in SPENDING:
            measured(looks, series, how)
    for looks in LOOKS:
        measured_items(looks, items, "even")


if __name__ == "__main__":
    main()
