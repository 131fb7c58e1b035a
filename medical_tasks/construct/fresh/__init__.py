"""Fresh MedCalc questions: a seeded generator for all 55 calculators (`docs/medcalc_fresh.md`).

The n-th row depends on seed and n alone.

What a question may rely on:

- The question states what decides a point (ages, limits and time windows of a score,
  which weight counts), and names measurements that may be missing.
- A finding that the note does not mention counts as absent, as the question says. Notes
  always mention a cough, whose absence gives a point.
- Where tables print two limits for two units (urea above 7 mmol/L and urea nitrogen
  above 19 mg/dL, which is 6.8 mmol/L), no value is between them, or within 5 % of a
  rounded one.
- Notes are dated from 2022 on, when every drug and vaccine of the lists was in use;
  dates and weekdays agree.

Why notes and golds agree:

- Each statement enters note, facts and entities in one step.
- What could be mistaken for an input is marked in its own sentence (a date, a relative,
  "copied forward", "ruled out"); what counts is not. A marked value would change the
  answer in 7,227 of 10,000 notes.
- No composed clause has a word of a topic the calculator asks for (`topics.json`).
- `python measurements/fresh.py` recomputes 10,000 golds by two other paths, at level 2
  also from the note's facts, without a difference; gold replies score 1.0.
"""

from __future__ import annotations

from medical_tasks.construct.fresh.rows import (
    FreshItem,
    draw_item,
    fresh_row,
    fresh_rows,
)

__all__ = ["FreshItem", "draw_item", "fresh_row", "fresh_rows"]
