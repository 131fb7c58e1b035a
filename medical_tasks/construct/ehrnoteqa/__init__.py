"""Constructs a benchmark like EHRNoteQA from a hospital's own notes, as the paper did.

Sections 3.1 to 3.3, appendices C and F.2. The steps, in order: `sample` draws patients,
`generate` drafts a question for each, `sheet` and `import` have clinicians review them.
`answer-sheet` and `scores` then have clinicians mark the answers of models.
"""
