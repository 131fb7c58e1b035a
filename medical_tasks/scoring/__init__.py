"""Pure scoring functions that the benchmarks share: verdicts and texts in, numbers out.

Nothing here knows a harness, a model, a judge or a file. The same arguments give the same numbers; what draws random
numbers takes a seed.

    statistics        the public front of the statistics: intervals, bootstrap, paired comparison (start here)
    text_overlap      the public front of text overlap: ROUGE, BLEU, sacreBLEU, SARI, exact match (start here)
    content_overlap   MEDCON, F1-RadGraph, AlignScore, from what models and indexes found; umls/ finds MEDCON's concepts
    correlation, agreement, preferences
                      two scores, two raters, two outputs
    averages, missing_verdicts
                      averages of metrics; what missing verdicts would have said
    reasoning, sentences
                      what of a reply is its answer; where sentences end
"""
