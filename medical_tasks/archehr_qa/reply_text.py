"""What of a model's reply is its answer: no reasoning, and the inside of a fenced block where it wrote one."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["spoken", "unfenced"]

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_FENCE_LINE: Final = re.compile(r"^[ \t]*```[^\n]*\n?", re.MULTILINE)


def spoken(response: str) -> str:
    """The reply as a reader has it: without reasoning between <think> tags, and nothing where that never ends."""
    if response.lstrip().startswith("<think>"):
        return response.partition("</think>")[2].strip()
    return response.rpartition("</think>")[2].strip()


def unfenced(text: str) -> str:
    """The inside of the last fenced block that says anything; the text itself where there is none.

    Args:
        text: a reply. A block that never ends goes on to its end.
    """
    blocks = [block for block in _FENCE.findall(text) if block.strip()]
    return blocks[-1] if blocks else _FENCE_LINE.sub("", text)
