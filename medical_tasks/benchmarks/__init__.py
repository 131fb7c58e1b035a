"""The five benchmarks, the same file names in each."""
