"""Settings as one text, `batch_size=16,dtype=bfloat16`: read, and written so that they are read back."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Final

from medical_tasks.errors import UsageError

_BEHIND: Final = re.compile(r"\s*(?:,|$)")
"""What stands behind a value."""
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"\s*(?:,|$)')


def read_settings(text: str, *, option: str = "--model-args") -> dict[str, str]:
    """Reads `k=v,k=v`; a value with commas stands in double quotes, but for JSON.

    Args:
        text: such as `batch_size=16,stop="a,b",extra_body={"a": 1, "b": 2}`. A double
            quote within double quotes is doubled.
        option: what the text was given to, for messages.
    """
    settings: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        name, equals, _ = text[position:].partition("=")
        if not equals or not name.strip() or "," in name:
            part = text[position:].partition(",")[0]
            raise UsageError(
                f"{option} {text!r}: {part!r} is not of the form name=value."
            )

        value, position = _setting_at(text, position + len(name) + 1, option)
        name = name.strip()
        if name in settings:
            raise UsageError(f"{option} {text!r}: {name!r} is given twice.")

        settings[name] = value

    return settings


def _setting_at(text: str, start: int, option: str) -> tuple[str, int]:
    """Reads the value that begins at a position; returns it, and where the next setting begins."""
    while text[start : start + 1] == " ":
        start += 1

    quoted = _QUOTED.match(text, start)
    if quoted:
        return quoted[1].replace('""', '"').strip(), quoted.end()

    if text[start : start + 1] == '"':
        raise UsageError(
            f"{option} {text!r}: a value in double quotes ends with one, and a comma or nothing "
            'behind it. Give k=v,k=v; a double quote within is doubled: k="a ""b"", c".'
        )

    if text[start : start + 1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            _, end = json.JSONDecoder().raw_decode(text, start)
            behind = _BEHIND.match(text, end)
            if behind:
                return text[start:end], behind.end()

    value = text[start:].partition(",")[0]
    return value.strip(), start + len(value) + 1


def settings_text(settings: Mapping[str, str]) -> str:
    """Writes settings so that `read_settings` reads them back."""
    return ",".join(f"{name}={_written(value)}" for name, value in settings.items())


def setting_text(value: object) -> str:
    """A setting's value as text; a dict or a list as JSON."""
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _written(value: str) -> str:
    """A value as `read_settings` reads it: in double quotes where it needs them."""
    read, _ = _setting_at(value, 0, "") if not value.startswith('"') else ("", 0)
    if read == value:
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
