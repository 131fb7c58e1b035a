"""The five benchmarks, the same file names in each, and the catalogue that lists them."""
