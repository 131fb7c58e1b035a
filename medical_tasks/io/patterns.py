"""Regular expressions that are compiled on first use.

Compiling every expression that a command might need takes longer than most commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

Matching = Callable[..., re.Match[str] | None]


class Pattern:
    """A regular expression that is compiled on first use, and then as fast as any other.

    Example:
        >>> Pattern("[0-9]+").search("stage 4")[0]
        '4'
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.pattern, self._flags)

    # Each is looked up once, and is then the compiled expression's own method.

    @cached_property
    def search(self) -> Matching:
        """`re.Pattern.search`."""
        return self.compiled.search

    @cached_property
    def match(self) -> Matching:
        """`re.Pattern.match`."""
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> Matching:
        """`re.Pattern.fullmatch`."""
        return self.compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """`re.Pattern.finditer`."""
        return self.compiled.finditer

    @cached_property
    def findall(self) -> Callable[[str], list[Any]]:
        """`re.Pattern.findall`."""
        return self.compiled.findall

    @cached_property
    def split(self) -> Callable[[str], list[str]]:
        """`re.Pattern.split`; groups match text."""
        return self.compiled.split

    @cached_property
    def sub(self) -> Callable[[str | Callable[[re.Match[str]], str], str], str]:
        """`re.Pattern.sub`."""
        return self.compiled.sub
