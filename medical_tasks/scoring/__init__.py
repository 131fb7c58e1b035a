"""Pure scoring functions that the benchmarks share: verdicts and texts in, numbers out.

Nothing here knows a harness, a model, a judge or a file. The same arguments give the same numbers; what draws random
numbers takes a seed.

    statistics    the public front of the statistics: intervals, bootstrap, paired comparison (start here)
    estimates     what the statistics return: a value with its interval, a comparison of two runs
    intervals     Wilson, exact and cluster-adjusted intervals of a proportion; bounds for what was not scored
    bootstrap     seeded, cluster-wise bootstrap of means, pooled ratios and statistics of sums
    resampling    the draws behind the bootstrap, their interval, and data that do not vary
    paired        two runs on the same items: the bootstrap of their difference
    mcnemar       two runs on the same items, right or wrong: exact and mid-p test, also for clustered items
    power         the smallest difference that this many items can detect
    multiplicity  p-values of a family of tests
    columns       checks of the numbers that come in, sums per cluster
    special       quantiles and tail probabilities that the standard library lacks
"""
