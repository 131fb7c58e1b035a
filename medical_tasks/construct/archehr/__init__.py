"""The paper's way to such a benchmark, for a hospital's own messages and notes.

Sections Alignment to Validation. The steps, in order: `filter` keeps messages that tell
of a stay in hospital, `expand` adds descriptions of diagnosis codes, `align` finds
notes for each message, `sheet` and `import` annotate in rounds, `agreement` compares
rounds and annotators.
"""
