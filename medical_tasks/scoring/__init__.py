"""Pure scoring functions that the benchmarks share: verdicts and texts in, numbers out.

Nothing here knows a harness, a model, a judge or a file. The same arguments give the same numbers (random draws take a seed,
and their streams may change with numpy). Wrong input is a ValueError that names the argument, the rule and the value.

Statistics. `nan` means "no value on this item" and does not count; `n` says how many items counted; an empty denominator
gives `nan`. Items that share a note, patient or answer are given as `clusters`, which are drawn whole. Values are 0-1 unless
`limits` says otherwise. No interval has zero width, and neither the order of items nor the names of clusters matter.

    a proportion of right items                   intervals.proportion_interval
    bare counts                                   intervals.wilson_interval
    what the unscored items could change          intervals.bounds
    a mean, a pooled ratio, a statistic of sums   bootstrap.bootstrap_interval, bootstrap_ratio, bootstrap_statistic
    two runs: right and wrong items               paired.mcnemar
    two runs: means, statistics of sums           paired.paired_bootstrap, paired_bootstrap_statistic
    what difference can be detected               paired.minimum_detectable_difference
    several comparisons at once                   paired.holm
    two scores, raters, outputs                   correlation, agreement, preferences
    averages of metrics                           averages

Texts. Any text has a value, the empty one too; references are one text or several. `rouge`, `bleu_and_sari` and `text_pairs`
(exact match) need the standard library alone. `content_overlap` has MEDCON, F1-RadGraph and AlignScore, from what models and
indexes found; `umls` finds MEDCON's concepts; `reasoning` tells a reply's answer from its reasoning; `sentences` splits.
"""
