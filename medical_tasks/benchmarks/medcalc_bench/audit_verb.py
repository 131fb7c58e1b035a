"""Check a dataset's labels against the published rules.

    medical-tasks audit medcalc --source test_data.csv --out audit.csv

Each row of the official CSV file (v1.0, v1.2 or Verified) is recomputed from its own entities. The output has the columns
row, calculator, label, recomputed, verdict and reason; the verdict is agrees, wrong, convention (right by a named departure
from the published rule) or not computable. The counts by calculator are printed. Wrong labels are a finding and no failure:
the exit code is 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]

_DATASETS = ("medcalc", "medcalc_bench")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("dataset", metavar="DATASET", help="medcalc: the one whose labels can be recomputed")
    parser.add_argument("--source", required=True, type=Path, metavar="CSV", help="the official file")
    parser.add_argument("--out", required=True, type=Path, metavar="CSV", help="where the audited rows go")


def run(arguments: argparse.Namespace) -> int:
    """Audits the file, writes the rows and prints the counts."""
    from medical_tasks.benchmarks.medcalc_bench.audit import audit_file, summary, write_audit
    from medical_tasks.errors import UsageError
    from medical_tasks.io.output import tell
    from medical_tasks.io.table import align

    source: Path = arguments.source
    out: Path = arguments.out
    if arguments.dataset not in _DATASETS:
        raise UsageError(f"cannot audit {arguments.dataset!r}: only labels of medcalc can be recomputed.")
    if out.exists() and source.exists() and out.samefile(source):
        raise UsageError(f"{out}: is the source itself. Give --out another name.")
    rows = write_audit(audit_file(source), out)
    header, *counts = summary(rows)
    counted = [dict(zip(header, each, strict=True)) for each in counts]
    tell("\n".join([*align(header, counts), f"\n{len(rows)} rows in {out}"]), rows=len(rows), out=out, counts=counted)
    return 0
