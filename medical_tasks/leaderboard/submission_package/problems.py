"""The one error of reading: what is wrong with a package, told so that its submitter can mend it."""

from __future__ import annotations

from typing import Any, Final

from medical_tasks.errors import UsageError

__all__ = ["WRITE_AGAIN", "PackageError", "shown"]

WRITE_AGAIN: Final = "Write the package again: medical-tasks submit RUN --to space --model-name NAME"
_SHOWN_CHARS: Final = 60


class PackageError(UsageError):
    """A package that is not taken; the message names the file in it, the line, the rule, the value and the next step.

    What it shows of the package is cut short and written in plain ASCII, so that it can stand on a terminal. For a page it is
    escaped like any other text.
    """


def shown(value: Any) -> str:
    """A value of a hostile file for a message: short, one line of ASCII, every other character escaped."""
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if isinstance(value, str | bytes):
        text = ascii(value[: _SHOWN_CHARS + 1])
    elif value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    else:
        text = ascii(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
