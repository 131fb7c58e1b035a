"""Reads and writes settings as one text, such as `batch_size=16,dtype=bfloat16`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Final

from medical_tasks.errors import UsageError

_BEHIND: Final = re.compile(r"\s*(?:,|$)")
"""The text after a value."""
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"\s*(?:,|$)')


def read_settings(text: str, *, option: str = "--model-args") -> dict[str, str]:
    """Reads `k=v,k=v`; a value with commas must be in double quotes, unless it is JSON.

    Args:
        text: Such as `batch_size=16,stop="a,b",extra_body={"a": 1, "b": 2}`. A double
            quote within double quotes is doubled.
        option: The option with this text, for messages.
    """
    settings: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        name, equals, _ = text[position:].partition("=")
        if not equals or not name.strip() or "," in name:
            setting = text[position:].partition(",")[0]
            raise UsageError(
                f"{option} {text!r}: {setting!r} is not of the form name=value."
            )

        value, position = _setting_at(text, position + len(name) + 1, option)
        name = name.strip()
        if name in settings:
            raise UsageError(f"{option} {text!r}: {name!r} is given twice.")

        settings[name] = value

    return settings


def _setting_at(text: str, start: int, option: str) -> tuple[str, int]:
    """Reads the value that begins at a position; returns it and the start of the next setting."""
    while text[start : start + 1] == " ":
        start += 1

    quoted = _QUOTED.match(text, start)
    if quoted:
        return quoted[1].replace('""', '"').strip(), quoted.end()

    if text[start : start + 1] == '"':
        raise UsageError(
            f"{option} {text!r}: a quoted value must end with a double quote, followed by a comma "
            'or nothing. Write k=v,k=v; double a quote within a value: k="a ""b"", c".'
        )

    if text[start : start + 1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            _, end = json.JSONDecoder().raw_decode(text, start)
            separator = _BEHIND.match(text, end)
            if separator:
                return text[start:end], separator.end()

    value = text[start:].partition(",")[0]
    return value.strip(), start + len(value) + 1


def settings_text(settings: Mapping[str, str]) -> str:
    """Writes settings so that `read_settings` reads them again."""
    return ",".join(f"{name}={_written(value)}" for name, value in settings.items())


def setting_text(value: object) -> str:
    """Returns a setting's value as text, a dict or list as JSON."""
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _written(value: str) -> str:
    """Writes a value for `read_settings`, in double quotes if necessary."""
    reread, _ = _setting_at(value, 0, "") if not value.startswith('"') else ("", 0)
    # With the settings behind it, a value that begins like JSON may become JSON.
    begins_like_json = value.startswith(("{", "["))
    if reread == value and (_is_json(value) or not begins_like_json):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


def _is_json(text: str) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False
