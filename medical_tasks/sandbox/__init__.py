r"""Runs programs that a model wrote, closed off from this machine; or refuses where that cannot be done.

    require_sandbox()                    # MissingError with the reason and the next step where it cannot be done
    run_code("print(6 * 7)").stdout      # "42\n"

Linux only. Each program has a process of its own in fresh namespaces, sees the Python standard library, read-only, and one empty
folder in memory; what it may use and call is limited, and nothing of it is left. There is one mode, which `require_sandbox` tries
out, attack by attack, before the first program runs: docs/medcalc_code.md says what is tested and what is not.
"""

from __future__ import annotations

from medical_tasks.sandbox.execution import SANDBOX_VERSION, Exit, Limits, Outcome, run_code
from medical_tasks.sandbox.probe import require_sandbox
from medical_tasks.sandbox.runtime import find_runtime

__all__ = ["SANDBOX_VERSION", "Exit", "Limits", "Outcome", "find_runtime", "require_sandbox", "run_code"]
