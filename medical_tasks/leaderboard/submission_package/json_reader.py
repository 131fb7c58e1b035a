"""Reads the JSON of a package within limits: depth, numbers and the count of values.

The limits are checked before parsing, and names must be unique within an object.
`leaderboard.forms` has the forms of the values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

from medical_tasks.io.json_records import once
from medical_tasks.io.untrusted import LARGEST_COUNT, finite, is_number, is_plain
from medical_tasks.leaderboard.submission_package.contents import (
    PackageError,
    ReadLimits,
    not_sound,
)

_LONGEST_NAME: Final = 200
_LONGEST_SETTING: Final = 2000
SETTING_RULE: Final = (
    f"must be a text of at most {_LONGEST_SETTING:,} characters, none of them hidden, or a number "
    f"that can be counted, under a name of at most {_LONGEST_NAME}"
)


def odd_setting(value: object, *path: str) -> tuple[str, ...] | None:
    """Returns the path to the first value that cannot be a setting of a recipe.

    Settings must be short and plain, so that no hidden text gets into a table or onto a
    terminal by way of a recipe.
    """
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value, start=1)
        for name, inner in named:
            inside = (*path, str(name))
            if len(str(name)) > _LONGEST_NAME or not is_plain(str(name)):
                return inside
            if (odd := odd_setting(inner, *inside)) is not None:
                return odd

        return None

    if isinstance(value, str):
        is_short = len(value) <= _LONGEST_SETTING
        return (
            None if is_short and is_plain(value.translate({9: " ", 10: " "})) else path
        )

    counts = value is None or (is_number(value) and abs(value) <= LARGEST_COUNT)
    return None if counts or isinstance(value, bool) else path


# A text; to the end of the input if it is not closed, since no parser reads beyond.
_TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKET: Final = bytes({*range(256)} - {*b"[]{}"})


class JsonReader:
    """Reads the JSON files of one package.

    `ReadLimits.total_values` is counted over everything read.
    """

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._values = 0

    def whole(self, name: str, content: bytes) -> Any:
        """Reads a file that is one JSON value."""
        return self._read(name, content, self.limits.values)

    def lines(
        self, name: str, content: bytes, *, most: int
    ) -> Iterator[tuple[str, Any]]:
        """Reads a file with one JSON value a line.

        Yields its location (`items.jsonl, line 3`) and the value.
        """
        if content.count(b"\n") > most:
            raise PackageError(
                f"{name}: {content.count(10):,} lines, and at most {most:,} are taken. Submit "
                "fewer tasks at once (--task NAME), or a run of fewer items."
            )

        if content and not content.endswith(b"\n"):
            raise not_sound(f"{name}: its last line is cut off")

        start = number = 0
        while start < len(content):
            number += 1
            end = content.index(b"\n", start)
            where = f"{name}, line {number}"
            if end - start > self.limits.line_bytes:
                raise PackageError(
                    f"{where}: has {end - start:,} bytes, and a line has at most "
                    f"{self.limits.line_bytes:,}. Submit the run without that task, or shorten its "
                    "answers."
                )

            yield where, self._read(where, content[start:end], self.limits.line_values)
            start = end + 1

    def _read(self, where: str, raw: bytes, most: int) -> Any:
        # Checked before parsing, without recursion. A value has at most a name and a text.
        bare = _TEXT.sub(b"", raw, count=2 * most)
        values = 1 + sum(map(bare.count, (b"[", b"{", b",", b":")))
        if values > most or b'"' in bare:
            raise not_sound(f"{where}: more than {most:,} values")

        steps = (
            1 if byte in b"[{" else -1 for byte in bare.translate(None, _NO_BRACKET)
        )
        if max(accumulate(steps), default=0) > self.limits.depth:
            raise not_sound(
                f"{where}: lists and objects stand more than {self.limits.depth} deep in one "
                "another"
            )

        self._values += values
        if self._values > self.limits.total_values:
            raise PackageError(
                f"{where}: the package has more than {self.limits.total_values:,} values. Submit "
                "fewer tasks at once (--task NAME)."
            )

        try:
            return json.loads(
                raw.decode("utf-8"),
                object_pairs_hook=once,
                parse_constant=_no_constant,
                parse_int=lambda text: int(self._short(text)),
                parse_float=lambda text: finite(self._short(text)),
            )
        except UnicodeDecodeError as error:
            raise not_sound(f"{where}: not UTF-8 text (byte {error.start})") from error
        except (ValueError, RecursionError) as error:
            raise not_sound(f"{where}: not JSON ({error})") from error

    def _short(self, text: str) -> str:
        if len(text) > self.limits.number_characters:
            raise ValueError(
                f"a number of {len(text):,} characters; at most {self.limits.number_characters} "
                "are taken"
            )
        return text


def _no_constant(text: str) -> Any:
    raise ValueError(
        f"{text} is no JSON; a value without a denominator is written as the text nan"
    )
