"""Benchmarks that a YAML file beside a table describes, without Python.

`--plugin my_benchmark.yaml` makes one: `form` reads the YAML, `rows` the table,
`prompts` says how a question is asked, `scoring` and `rubric` make scores of answers,
and `spec` has the object.
"""
