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

    text_overlap  the public front of text overlap: ROUGE, BLEU, sacreBLEU, SARI, exact match (start here)
    rouge         ROUGE-n, ROUGE-L and ROUGE-Lsum
    bleu          BLEU as `evaluate` has it
    sacre_bleu    BLEU as sacreBLEU has it
    sari          SARI as `evaluate` has it
    exact_match   the same characters or not
    porter        stems of words, for ROUGE with stemming
    tokens_13a    the tokenizer of BLEU and SARI
    ngrams        runs of n tokens, counted
    lcs           longest common subsequences
    text_pairs    checks of the texts that come in
"""
