"""Reads the audit log of the data guard."""

from __future__ import annotations

import json
from typing import Any

from medical_tasks.io.user_folders import audit_path


def audit_lines() -> list[dict[str, Any]]:
    """The decisions in the log; none where there is no log."""
    path = audit_path()
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]
