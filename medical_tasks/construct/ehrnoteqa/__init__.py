"""The paper's way to such a benchmark, for a hospital's own notes.

Sections 3.1 to 3.3, appendices C and F.2. The steps, in order: `sample` draws patients,
`generate` drafts a question for each, `sheet` and `import` have clinicians review them.
`answer-sheet` and `scores` then have clinicians mark the answers of models.
"""
