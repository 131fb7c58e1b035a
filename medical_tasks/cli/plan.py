"""The command `plan`."""

from __future__ import annotations

from medical_tasks.comparison.plan_items import plan
from medical_tasks.io.output import tell
from medical_tasks.options import Plan


def run(options: Plan) -> int:
    """Prints the required number of items."""
    figures, text = plan(options)
    tell(text, figures)
    return 0
