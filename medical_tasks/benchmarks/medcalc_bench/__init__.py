"""MedCalc-Bench: 55 medical calculators, asked about in patient notes.

`official` decides as the authors' scorer does, `scoring` reads what a reply means
(`gold`, `reading`, `statements`, `quantities`). Paper and reference code: `spec`.
Errors of replies and labels are looked at in `medical_tasks.lab`, new questions made in
`medical_tasks.construct.fresh`.
"""
