"""The public front of the statistics. Import from here; the maths stands in the modules named below.

Which function for what:

    a proportion of right items                       proportion_interval       (intervals)
    bare counts                                       wilson_interval, exact_interval
    a mean of values                                  bootstrap_interval        (bootstrap)
    a pooled ratio, such as micro-precision           bootstrap_ratio
    another statistic of sums, such as micro-F1       bootstrap_statistic
    what the unscored items could change              bounds                    (intervals)
    two runs, right and wrong items                   mcnemar                   (paired)
    two runs, means                                   paired_bootstrap
    two runs, statistics of sums                      paired_bootstrap_statistic
    what difference these items can detect            minimum_detectable_difference
    what difference n items would detect              detectable_difference
    several comparisons at once                       holm

Rules they share: values are 0-1 unless `limits` says otherwise; `nan` means "the metric has no value on this item" and
does not count; `n` says how many items counted, and an empty denominator gives `nan`; items that share a note, patient
or answer are given as `clusters`; no interval has zero width; the same data and seed give the same numbers, whatever
the order of the items and the names of the clusters (with the same numpy: its random streams may change between
versions); wrong input is a ValueError that names the argument, the rule and the value.
"""

from __future__ import annotations

from medical_tasks.scoring.bootstrap import bootstrap_interval, bootstrap_ratio, bootstrap_statistic
from medical_tasks.scoring.estimates import Comparison, Estimate, McNemar, as_json
from medical_tasks.scoring.intervals import bounds, exact_interval, proportion_interval, wilson_interval
from medical_tasks.scoring.paired import (
    detectable_difference,
    holm,
    mcnemar,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_bootstrap_statistic,
)

__all__ = [
    "Comparison",
    "Estimate",
    "McNemar",
    "as_json",
    "bootstrap_interval",
    "bootstrap_ratio",
    "bootstrap_statistic",
    "bounds",
    "detectable_difference",
    "exact_interval",
    "holm",
    "mcnemar",
    "minimum_detectable_difference",
    "paired_bootstrap",
    "paired_bootstrap_statistic",
    "proportion_interval",
    "wilson_interval",
]
