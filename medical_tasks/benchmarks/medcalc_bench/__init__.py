"""MedCalc-Bench: 55 medical calculators, asked about in patient notes.

`official` decides as the authors' scorer does, `scoring` reads what a reply means (`gold`, `reading`, `statements`, `quantities`);
`errors` sorts wrong answers, `audit` checks labels, `fresh` makes new questions. Paper and reference code: `spec`.
"""
