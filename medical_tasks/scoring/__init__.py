"""Pure scoring functions that the benchmarks share: verdicts and texts in, numbers out; wrong input is a ValueError.

In statistics `nan` means "no value on this item"; an empty denominator gives `nan`;
`clusters` are drawn whole.
"""
