"""The audit log of the data guard: one JSON line a decision, kept for whoever answers for the data.

It holds no text of any source: task, dataset, purpose, host, flags. Lines are added in one write and are on the disk before
the decision counts; nothing of this package ever removes one.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from medical_tasks._version import __version__
from medical_tasks.errors import RefusedError, system_reason

__all__ = ["HOME_VARIABLE", "audit_path", "write_decision"]

HOME_VARIABLE = "MEDICAL_TASKS_HOME"


def audit_path() -> Path:
    """Returns the log's place: `$MEDICAL_TASKS_HOME/audit.jsonl`, or one in the user's state directory."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser() / "audit.jsonl"
    state_home = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules: a relative path is invalid and to be ignored.
    base = Path(state_home) if Path(state_home).is_absolute() else Path.home() / ".local" / "state"
    return base / "medical-tasks" / "audit.jsonl"


def write_decision(path: Path, decision: Mapping[str, Any]) -> None:
    """Adds a line, with the time, the suite's version and who ran it.

    Args:
        path: the log; made if need be, readable by its owner alone.
        decision: JSON values.

    Raises:
        RefusedError: It cannot be written as it must be; a decision without its line does not count.
    """
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **decision,
        "suite": f"medical-tasks {__version__}",
        "pid": os.getpid(),
        "uid": os.getuid() if hasattr(os, "getuid") else None,
    }
    line = (json.dumps(entry, ensure_ascii=True) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A link in its place could lead the lines to where others read them.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(path, flags, 0o600)
        try:
            _check_own(handle)
            line = _begun(handle) + line
            if os.write(handle, line) != len(line):
                raise OSError(None, "only a part of the line was written")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise RefusedError(
            f"{path}: the audit log of the data guard cannot be written ({system_reason(error)}), and a decision that leaves no "
            f"line does not count. Make it an ordinary file of your own, or name another folder: export {HOME_VARIABLE}=DIR"
        ) from error


def _begun(handle: int) -> bytes:
    """What ends a line that a full disk or a kill left half written, so that the next one stays readable."""
    size = os.fstat(handle).st_size
    return b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""


def _check_own(handle: int) -> None:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not an ordinary file")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise OSError(None, "it belongs to somebody else")
    if stat.S_IMODE(found.st_mode) & 0o077:
        os.fchmod(handle, 0o600)
