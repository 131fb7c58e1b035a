"""The `Relevant Entities` of MedCalc-Bench: a Python literal in the released CSV files, canonical JSON in the built form.

The text comes from a downloaded file, so it is parsed as data: JSON, or a Python literal made of nothing but dicts, lists,
tuples, strings, numbers, booleans and None. It is never evaluated.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
from typing import Any

__all__ = ["canonical_entities", "parse_entities"]

MAX_CHARS = 64 * 1024  # the longest of v1.0 has 1,292
MAX_DEPTH = 16

Entities = dict[str, Any]


def parse_entities(text: str) -> Entities:
    """Parses the entities of one row.

    Args:
        text: a JSON object or a Python dict literal, entity name to value; values are numbers, strings, booleans, nulls, or
            lists of them (value and unit).

    Returns:
        The entities in the order of the text, tuples as lists.

    Raises:
        ValueError: The text is too long, of another form, holds a name twice, or a number that JSON cannot hold.
    """
    if len(text) > MAX_CHARS:
        raise ValueError(f"{len(text)} characters, at most {MAX_CHARS} are read")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError:
        value = _python_literal(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"a mapping of entity names is expected, got {type(value).__name__}")
    entities: Entities = _plain(value, 0)
    return entities


def canonical_entities(text: str) -> str:
    """Rewrites the entities of one row as canonical JSON: sorted names, no spaces, text as it is.

    Args:
        text: as for `parse_entities`.

    Returns:
        JSON text; equal for equal entities, however they were written.

    Raises:
        ValueError: As for `parse_entities`.
    """
    canonical = json.dumps(
        parse_entities(text), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    try:
        canonical.encode("utf-8")
    except UnicodeEncodeError as error:  # an escape of half a character pair
        raise ValueError("holds a lone surrogate, which no UTF-8 file can") from error
    return canonical


def _python_literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd backslash in a string is no concern of the user
            tree = ast.parse(text.strip(), mode="eval")
        value = ast.literal_eval(tree)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        # A hostile text exhausts the parser's own bounds; that is as unreadable as a misspelt one.
        raise ValueError("neither a JSON object nor a Python dict literal") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            _unique([(ast.literal_eval(key), None) for key in node.keys if key is not None])
    return value


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the name {key!r} stands twice")
        result[key] = value
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _plain(value: Any, depth: int) -> Any:
    """Checks a value and makes its tuples lists."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number")
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_name(key): _plain(item, depth + 1) for key, item in value.items()}
    raise ValueError(f"a value of type {type(value).__name__}")


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"names are text, got {key!r}")
    return key
