"""JSON of a package, read without trust: depth, numbers and the count of values are limited, and every name stands once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from medical_tasks.io.json_records import once
from medical_tasks.leaderboard.submission_package.limits import ReadLimits
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown

__all__ = ["JsonReader"]

# A text, a quote that begins one without an end, or one character that makes structure.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},:]', re.DOTALL)


class JsonReader:
    """Reads the JSON files of one package.

    Args:
        limits: of the package; `total_values` is counted over everything read.
    """

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._values = 0

    def whole(self, name: str, content: bytes) -> Any:
        """Reads a file that is one JSON value.

        Raises:
            PackageError: It is not, or breaks a limit.
        """
        return self._read(name, content, self._limits.values)

    def lines(self, name: str, content: bytes, *, most: int) -> Iterator[tuple[str, Any]]:
        """Reads a file with a JSON value a line.

        Args:
            name: of the file.
            content: of the file; its last line ends like every other.
            most: lines it may have.

        Yields:
            Where the value stands (`items.jsonl, line 3`), and the value.

        Raises:
            PackageError: A line is not JSON, or breaks a limit.
        """
        if content.count(b"\n") > most:
            raise PackageError(
                f"{name}: {content.count(10):,} lines, and at most {most:,} are taken. Submit fewer tasks at once "
                "(--task NAME), or a run of fewer items."
            )
        if content and not content.endswith(b"\n"):
            raise PackageError(f"{name}: its last line is cut off. {WRITE_AGAIN}")
        start = number = 0
        while start < len(content):
            number += 1
            end = content.index(b"\n", start)
            where = f"{name}, line {number}"
            if end - start > self._limits.line_bytes:
                raise PackageError(
                    f"{where}: has {end - start:,} bytes, and a line has at most {self._limits.line_bytes:,}. Submit the run "
                    "without that task, or shorten its answers."
                )
            yield where, self._read(where, content[start:end], self._limits.line_values)
            start = end + 1

    def _read(self, where: str, raw: bytes, most: int) -> Any:
        depth = raw.count(b"[") + raw.count(b"{")
        values = 1 + depth + raw.count(b",") + raw.count(b":")
        if depth > self._limits.depth or values > most:
            # Brackets and commas of texts were counted too: look closely, before a parser does.
            values = self._scan(where, raw, most)
        self._values += values
        if self._values > self._limits.total_values:
            raise PackageError(
                f"{where}: the package has more than {self._limits.total_values:,} values. Submit fewer tasks at once "
                "(--task NAME)."
            )
        try:
            return json.loads(
                raw.decode("utf-8"),
                object_pairs_hook=once,
                parse_constant=_no_constant,
                parse_int=self._whole_number,
                parse_float=self._number,
            )
        except UnicodeDecodeError as error:
            raise PackageError(f"{where}: not UTF-8 text (byte {error.start}). {WRITE_AGAIN}") from error
        except (ValueError, RecursionError) as error:
            raise PackageError(f"{where}: not JSON ({_reason(error)}). {WRITE_AGAIN}") from error

    def _scan(self, where: str, raw: bytes, most: int) -> int:
        """Counts values and depth with no recursion; a text is one step, whatever it holds."""
        depth = 0
        values = 1
        for found in _TOKEN.finditer(raw):
            token = found[0]
            if token in (b"[", b"{"):
                depth += 1
                values += 1
            elif token in (b"]", b"}"):
                depth -= 1
            elif token in (b",", b":"):
                values += 1
            elif token == b'"':
                raise PackageError(f"{where}: not JSON (a text without an end). {WRITE_AGAIN}")
            if depth > self._limits.depth:
                raise PackageError(
                    f"{where}: lists and objects stand more than {self._limits.depth} deep in one another. {WRITE_AGAIN}"
                )
            if values > most:
                raise PackageError(f"{where}: more than {most:,} values. {WRITE_AGAIN}")
        return values

    def _whole_number(self, text: str) -> int:
        self._check_length(text)
        return int(text)

    def _number(self, text: str) -> float:
        self._check_length(text)
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"the number {shown(text)} is too large")
        return value

    def _check_length(self, text: str) -> None:
        if len(text) > self._limits.number_characters:
            raise ValueError(
                f"a number of {len(text):,} characters; at most {self._limits.number_characters} are taken"
            )


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON; a value without a denominator is written as the text nan")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, character {error.pos}"  # `doc` stays out: it is the whole text
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
