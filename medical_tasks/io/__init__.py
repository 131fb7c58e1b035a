"""Files, tables, progress and the store of answers: what every room may use.

Nothing here knows a benchmark.
"""
