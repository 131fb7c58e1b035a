"""Fresh MedCalc questions: a seeded generator for all 55 calculators (`docs/medcalc_fresh.md`).

The n-th row depends on seed and n alone.
"""

from __future__ import annotations

from medical_tasks.construct.fresh.rows import (
    FreshItem,
    draw_item,
    fresh_row,
    fresh_rows,
)

__all__ = ["FreshItem", "draw_item", "fresh_row", "fresh_rows"]
