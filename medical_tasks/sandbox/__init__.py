"""Runs programs that a model wrote in isolation from this machine (Linux), or refuses to.

There is one mode, which `require_sandbox` tests, attack by attack, before the first
program runs: docs/medcalc_code.md.
"""

from __future__ import annotations

from medical_tasks.sandbox.execution import (
    SANDBOX_VERSION,
    Exit,
    Limits,
    Outcome,
    find_runtime,
    run_code,
)
from medical_tasks.sandbox.probe import require_sandbox

__all__ = [
    "SANDBOX_VERSION",
    "Exit",
    "Limits",
    "Outcome",
    "find_runtime",
    "require_sandbox",
    "run_code",
]
