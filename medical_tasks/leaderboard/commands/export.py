"""Write a finished run in the form of another tool or standard. Nothing is sent anywhere.

    medical-tasks export runs/my-run --to every-eval-ever --out eee
    medical-tasks export runs/my-run --to csv --out tables

every-eval-ever: records of its datastore. chai-card: a CHAI Applied Model Card (XML). tripod-llm:
the 19 items of the reporting guideline, answered as far as a run can. inspect-log, lm-eval-json:
what inspect and lm-evaluation-harness write. csv: two tables.

Of open data the texts go along; of credentialed data ids, scores and hashes alone. What a form asks
for and the run does not know is left open, and named in the output, for you to fill in. See
docs/eval_results.md.
"""

from __future__ import annotations

import argparse

from medical_tasks._api import exported
from medical_tasks.io.output import tell


def run(arguments: argparse.Namespace) -> int:
    """Writes the files, and says which fields are left open."""
    files, left_open = exported(arguments)
    tell("\n".join(map(str, files)), files=files, left_open=left_open)
    if left_open:
        tell("left open:\n" + "\n".join(f"  {name}" for name in left_open))
    return 0
