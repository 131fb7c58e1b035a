"""Constructs a benchmark like ArchEHR-QA from a hospital's own messages and notes.

The method is the paper's (sections Alignment to Validation). The steps, in order:
`filter` keeps messages that mention a hospital stay, `expand` adds descriptions of
diagnosis codes, `align` ranks notes for each message, `sheet` and `import` annotate in
rounds, `agreement` compares rounds and annotators.
"""
