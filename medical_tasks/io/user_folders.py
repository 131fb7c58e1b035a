"""Where the suite writes a user's files besides `--out`, and which variable decided it.

`MEDICAL_TASKS_HOME` moves everything. A variable for a single place takes precedence, and without
either the XDG folders apply (`XDG_DATA_HOME`, `XDG_CACHE_HOME`, `XDG_STATE_HOME`; here their
defaults). inspect and vLLM have variables of their own:

| place | its own variable | in `$MEDICAL_TASKS_HOME` | else |
|---|---|---|---|
| datasets, downloads, checks of judges | `MEDICAL_TASKS_DATA` | `datasets` | `~/.local/share/medical-tasks/datasets` |
| private store | | `private` | `~/.cache/medical-tasks/private` |
| audit log | | `audit.jsonl` | `~/.local/state/medical-tasks/audit.jsonl` |
| metrics | | `metrics` | `~/.cache/medical-tasks/metrics` |

No other module may ask for the user's home (`tests/io/test_user_folders.py`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HOME_VARIABLE: Final = "MEDICAL_TASKS_HOME"
DATA_VARIABLE: Final = "MEDICAL_TASKS_DATA"
_PACKAGE: Final = "medical-tasks"


@dataclass(frozen=True)
class UserPlace:
    """A file or folder of the user.

    Attributes:
        use: what it holds.
        path: its path, which need not exist, and is relative if the variable is.
        decided_by: the variable that decided, or "default".
    """

    use: str
    path: Path
    decided_by: str


@dataclass(frozen=True)
class _Rule:
    """The rule that decides one place."""

    use: str
    name: str  # in the home or in the XDG folder
    xdg: str  # the XDG variable
    default: str  # the default of that variable, below the user's home
    own: str = ""  # the variable that moves only this place


_DATASETS: Final = _Rule(
    "datasets", "datasets", "XDG_DATA_HOME", ".local/share", own=DATA_VARIABLE
)
_PRIVATE: Final = _Rule("private store", "private", "XDG_CACHE_HOME", ".cache")
_AUDIT: Final = _Rule("audit log", "audit.jsonl", "XDG_STATE_HOME", ".local/state")
_METRICS: Final = _Rule("metrics", "metrics", "XDG_CACHE_HOME", ".cache")


def user_places() -> list[UserPlace]:
    """Returns every place by the current variables."""
    return [_resolve(rule) for rule in (_DATASETS, _PRIVATE, _AUDIT, _METRICS)]


def datasets_home() -> Path:
    """Returns the folder of built datasets, downloads and records of judge checks."""
    return _resolve(_DATASETS).path


def private_home() -> Path:
    """Returns the folder of the answers to credentialed tasks; always absolute."""
    return _resolve(_PRIVATE).path.absolute()


def audit_path() -> Path:
    """Returns the file of the guard's decisions."""
    return _resolve(_AUDIT).path


def metrics_home() -> Path:
    """Returns the folder of written `evaluate` metrics; safe to delete."""
    return _resolve(_METRICS).path


def datasets_elsewhere() -> Path | None:
    """Returns the folder with datasets that is not read since `MEDICAL_TASKS_HOME` is set.

    None if there is none, or if another variable decides.
    """
    current = _resolve(_DATASETS)
    if current.decided_by != HOME_VARIABLE:
        return None
    other = _xdg_place(_DATASETS).path
    same = other.absolute() == current.path.absolute()
    return other if other.is_dir() and not same else None


def _resolve(rule: _Rule) -> UserPlace:
    own_path = os.environ.get(rule.own) if rule.own else None
    if own_path:
        return UserPlace(rule.use, Path(own_path).expanduser(), rule.own)
    home = os.environ.get(HOME_VARIABLE)
    if home:
        path = Path(home).expanduser() / rule.name
        return UserPlace(rule.use, path, HOME_VARIABLE)
    return _xdg_place(rule)


def _xdg_place(rule: _Rule) -> UserPlace:
    base = Path(os.environ.get(rule.xdg, ""))
    # By the XDG rules a relative path is invalid and ignored.
    if base.is_absolute():
        return UserPlace(rule.use, base / _PACKAGE / rule.name, rule.xdg)
    path = Path.home() / rule.default / _PACKAGE / rule.name
    return UserPlace(rule.use, path, "default")
