"""Tables as tests write them."""

from __future__ import annotations

from pathlib import Path


def write(name: str, text: str) -> str:
    """Writes a file as it is, with its line ends; returns its name, for a command line."""
    Path(name).write_bytes(text.encode())
    return name
