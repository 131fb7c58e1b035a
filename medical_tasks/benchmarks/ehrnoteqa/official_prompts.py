"""The authors' prompts: two files `utils.py` of their repository, each with one dict of texts, read as data and never run.

Theirs are filled by `str.format_map`; here by parts, so that braces in notes and answers stay what they are.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.upstream_source import parse_python
from medical_tasks.errors import UsageError

PROMPT_SETS: Final = ("own", "official")
REPOSITORY: Final = "https://github.com/ji-youn-kim/EHRNoteQA"

_NAME: Final = "PROMPT_DICT"
_AGAIN: Final = "Download it again."


def read_prompt_dict(
    upstream: Path | None, part: Literal["generation", "evaluation"]
) -> tuple[Path, Mapping[Any, Any]]:
    """Reads the dict of prompts of one half of the authors' repository, for models or for the judge."""
    found = repository_file(upstream, f"src/{part}/utils.py", repository=REPOSITORY)
    tree = parse_python(found, lambda _: UsageError(f"{found}: is no Python file in UTF-8. {_AGAIN}"))
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and [target.id for target in node.targets if isinstance(target, ast.Name)] == [_NAME]
    ]
    if len(values) != 1:
        raise UsageError(f"{found}: assigns {_NAME} {len(values)} times, needs to do it once. {_AGAIN}")
    try:
        prompts = ast.literal_eval(values[0])
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise UsageError(f"{found}: {_NAME} holds more than literals. {_AGAIN}") from error
    if not isinstance(prompts, dict):
        raise UsageError(f"{found}: {_NAME} is no dict. {_AGAIN}")
    return found, prompts


def check_template(text: Any, slots: Collection[str], *, where: str) -> str:
    """Checks one of the authors' texts."""
    if not isinstance(text, str):
        raise UsageError(f"{where}: is no text. {_AGAIN}")
    try:
        fields = [field for _, *field in string.Formatter().parse(text) if field[0] is not None]
    except ValueError as error:
        raise UsageError(f"{where}: has a brace that stands alone ({error}). {_AGAIN}") from error
    if sorted(str(name) for name, *_ in fields) != sorted(slots) or any(form or turn for _, form, turn in fields):
        named = ", ".join(f"{{{slot}}}" for slot in slots)
        raise UsageError(
            f"{where}: must have each of {named} once and no other slot; it has {len(fields)} in all. {_AGAIN}"
        )
    return text


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Fills a text that `check_template` has passed."""
    parts = string.Formatter().parse(text)
    return "".join(literal + ("" if name is None else values[name]) for literal, name, *_ in parts)
