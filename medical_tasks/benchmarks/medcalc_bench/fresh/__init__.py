"""Fresh MedCalc questions: a seeded generator for all 55 calculators.

The released test sets have been on the web for years; a model may have read them. `fresh_rows(seed, n)` makes questions
that nobody has read before: an invented patient, a note of our own wording in one of five styles, a question, the entities
that the note states, and the answer with its steps from `medical_tasks.calculators`.

    cases.py    ->  a case: the chart's entities and statements, entered together (cases.json)
    remarks.py  ->  distractors that touch nothing the calculator asks for
    chart.py    ->  the note
    rows.py     ->  the row

The n-th row depends on seed and n alone. What is varied, and what this cannot show, is in `docs/medcalc_fresh.md`.
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.fresh.rows import FreshItem, draw_item, fresh_row, fresh_rows

__all__ = ["FreshItem", "draw_item", "fresh_row", "fresh_rows"]
