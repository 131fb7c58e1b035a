"""Pure scoring functions that the benchmarks share: verdicts and texts in, numbers out.

Nothing here knows a harness, a model or a judge. The same arguments give the same numbers (random draws take a seed, and their
streams may change with numpy). Wrong input is a ValueError that names the argument, the rule and the value. In statistics `nan`
means "no value on this item" and does not count; an empty denominator gives `nan`. Items that share a note, patient or answer are
given as `clusters`, which are drawn whole. No interval has zero width, and neither the order of items nor the names of clusters
matter. Any text has a value, the empty one too; references are one text or several.
"""
