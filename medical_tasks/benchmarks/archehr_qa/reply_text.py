"""What of an answer is meant to be shown: the inside of a fenced block where it has one."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["unfenced"]

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_FENCE_LINE: Final = re.compile(r"^[ \t]*```[^\n]*\n?", re.MULTILINE)


def unfenced(text: str) -> str:
    """The inside of the last fenced block that says anything; the text itself where there is none.

    Args:
        text: a reply. A block that never ends goes on to its end.
    """
    blocks = [block for block in _FENCE.findall(text) if block.strip()]
    return blocks[-1] if blocks else _FENCE_LINE.sub("", text)
