"""How often a site's gate says GO to a model that stands exactly on its limits: `python measurements/site_gates.py [--draws 250]`.

For each use and preset, sites are drawn whose candidate is exactly as much worse than
the baseline as the policy allows, on every metric and in every group. A GO is wrong
then; at most 5 % may be GO. `one rule`: the same of the policy's rule on the
main metric alone. `as good`: how often a candidate that is as good as the baseline gets
GO, which is what the items buy.

Items are drawn by patients: each has a difficulty of its own, and the items of one
share it. The rules are those of `site.deciding`, the verdict that of `comparison.gating`
on the paired bootstrap of `gate`, without its refusal of a GO that would be wrong in over
5.5 % of runs, which takes GOs away and gives none. `--draws` gates a use and preset are
1,000 gates a preset.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.comparison.gate_risk import Limit
from medical_tasks.comparison.gating import GO, Finding
from medical_tasks.scoring.paired import paired_bootstrap
from medical_tasks.site.deciding import MEASURES, Materials, rules
from medical_tasks.site.settings import Preset

Floats = npt.NDArray[np.float64]
PRESETS: Final[tuple[Preset, ...]] = ("exploratory", "standard", "strict")
TASKS: Final = {
    "chart-qa": "ehrnoteqa_open_level1",
    "calculator": "medcalc_own",
    "discharge-summary": "doclens_own",
    "patient-questions": "kqa",
}
LEVEL: Final = {False: 0.75, True: 0.1}
"""The baseline's value: of a main metric, and of a harm that is a rate."""
MARGIN: Final = 0.05
GROUPS: Final = 2


def margins(use: str, preset: Preset) -> list[tuple[bool, float, bool]]:
    """Lists the margins of a policy: whether the metric is a harm, the size, whether it is for groups."""
    materials = Materials(
        use=use,
        preset=preset,
        margin=MARGIN,
        task=TASKS[use],
        config="own",
        split="test",
        baseline="runs/baseline",
        strata=["sex"],
        sample="sample/sample.csv",
    )
    harms = {measure.metric: measure.harm for measure in MEASURES[use]}
    return [
        (harms[str(rule["metric"])], float(str(rule["margin"])), "by" in rule)
        for rule in rules(materials)
        if "margin" in rule
    ]


def pair(
    generator: np.random.Generator,
    patients: npt.NDArray[np.intp],
    harm: bool,
    loss: float,
) -> tuple[Floats, Floats]:
    """Draws two runs of the same items, the second worse by `loss` in its true value."""
    level = LEVEL[harm]
    sign = 1.0 if harm else -1.0
    ease = generator.normal(0.0, 1.0, patients.max() + 1)[patients]
    noise = generator.normal(0.0, 1.0, (2, len(patients)))
    score = 0.8 * ease + 0.6 * noise
    cut = [NormalDist().inv_cdf(1.0 - share) for share in (level, level + sign * loss)]
    return (score[0] > cut[0]).astype(float), (score[1] > cut[1]).astype(float)


def finding(
    first: Floats, second: Floats, labels: Sequence[int], harm: bool, margin: float
) -> Finding:
    """Makes the gate's finding for a margin on these items."""
    clusters = list(labels)
    compared = paired_bootstrap(first, second, clusters=clusters, resamples=1000)
    limit = Limit(margin if harm else -margin, at_most=harm)
    return Finding(
        run="",
        rule="",
        group="",
        value=compared.difference,
        low=compared.ci_low,
        high=compared.ci_high,
        limit=limit.value,
        at_most=harm,
    )


def verdicts(
    generator: np.random.Generator, use: str, preset: Preset, items: int, worse: bool
) -> Iterator[bool]:
    """Yields whether each rule of one drawn site gets GO, the main metric first."""
    patients = np.sort(generator.integers(items // 2, size=items))
    sex = generator.integers(GROUPS, size=patients.max() + 1)[patients]
    held = margins(use, preset)
    for harm, margin, grouped in held:
        loss = margin if worse else 0.0
        first, second = pair(generator, patients, harm, loss)
        masks = [sex == group for group in range(GROUPS)] if grouped else [sex >= 0]
        for mask in masks:
            result = finding(
                first[mask], second[mask], patients[mask].tolist(), harm, margin
            )
            verdict = result.decided(len(held)).verdict == GO
            yield verdict
            if not verdict:
                return


def main() -> None:
    """Prints a line for each use and preset."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--items", type=int, default=600)
    options = parser.parse_args()
    print("use                preset       rules  wrong GO  one rule  as good")
    totals = dict.fromkeys(PRESETS, 0)
    alone = dict.fromkeys(PRESETS, 0)
    for use in MEASURES:
        for preset in PRESETS:
            generator = np.random.default_rng([3, *use.encode(), *preset.encode()])
            whole = first = good = 0
            for _ in range(options.draws):
                passed = list(
                    verdicts(generator, use, preset, options.items, worse=True)
                )
                first += passed[0]
                whole += all(passed)
            for _ in range(options.draws // 5):
                good += all(
                    verdicts(generator, use, preset, options.items, worse=False)
                )
            totals[preset] += whole
            alone[preset] += first
            print(
                f"{use:18} {preset:12} {len(margins(use, preset)):5}  "
                f"{100 * whole / options.draws:7.1f} %  {100 * first / options.draws:7.1f} %  "
                f"{100 * good / (options.draws // 5):6.1f} %",
                flush=True,
            )
    gates = options.draws * len(MEASURES)
    for preset, wrong in totals.items():
        print(
            f"{preset}: of {gates:,} gates {wrong} wrong GO with all rules at the margin, "
            f"{alone[preset]} with one rule there and nothing else in doubt"
        )


if __name__ == "__main__":
    main()
