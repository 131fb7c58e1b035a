"""The authors' prompts of generation: JSON files of their repository's `prompts/generation`, read as they are.

Each file is a list of messages: the instruction, pairs of example input and example output, and an empty message of the user that
takes the numbered input. The files for no examples (`_dummy`) have one pair that shows the form alone. Example messages are of
the role `system` there and named `example_user` and `example_assistant`, which few servers take; they are given as messages of
the user and the assistant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.doclens.sections import SECTIONS
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.spec import Message, TaskSpec

__all__ = ["REPOSITORY", "read_official"]

REPOSITORY: Final = "https://github.com/yiqingxyq/DocLens"

_CLONE: Final = f"Clone {REPOSITORY} and give its folder with --upstream."
_AGAIN: Final = "Download it again."
_PLACES: Final = ("prompts/generation", "generation", ".", "DocLens/prompts/generation")
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "note": {"": "acibench"},
    "section": {section: f"acibench_{section}" for section in SECTIONS},
    "question": {"": "meqsum"},
}
_EXAMPLE: Final = ("example_user", "example_assistant")


def read_official(task: TaskSpec, upstream: Path | None) -> dict[str, tuple[Message, ...]]:
    """Reads the authors' messages of a task, without the last one.

    Args:
        task: `options["form"]` and `options["shots"]` say which file, and how many of its examples.
        upstream: a checkout, the folder above it, its `prompts`, or `prompts/generation` itself.

    Returns:
        Section to the messages that stand before its input; for other forms these under "".

    Raises:
        UsageError: The authors have no such prompts, no checkout is given, or a file is not of their form.
        MissingError: A file is not there.
    """
    names = _NAMES.get(task.options["form"])
    if names is None:
        raise UsageError(
            f"{task.name} has no official prompts: the authors released those of ACI-BENCH and MeQSum alone. Use --prompts own."
        )
    if upstream is None:
        raise UsageError(
            f"{task.name}: the official prompts are read from the authors' files. Clone {REPOSITORY} and give its folder with "
            "--upstream, or use --prompts own."
        )
    shots = int(task.options["shots"])
    ending = "" if shots else "_dummy"
    return {
        section: _read(_find(upstream, f"{name}_annotated-citation{ending}.json"), shots)
        for section, name in names.items()
    }


def _find(upstream: Path, name: str) -> Path:
    places = [upstream / place / name for place in _PLACES]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise MissingError(
            f"{upstream}: the authors' prompts/generation/{name} is not there (looked for {', '.join(map(str, places))}). {_CLONE}"
        )
    return found


def _read(path: Path, shots: int) -> tuple[Message, ...]:
    messages = _messages(path)
    *before, last = messages
    if last != {"role": "user", "content": ""}:
        raise UsageError(f"{path}: must end with an empty message of the user, which takes the input. {_AGAIN}")
    instruction, *examples = before or [last]
    if instruction["role"] != "system" or "name" in instruction or not instruction["content"].strip():
        raise UsageError(f"{path}: must begin with a message of the system that has the instruction. {_AGAIN}")
    pairs = max(shots, 1)
    for place, message in enumerate(examples, start=2):
        if (message["role"], message.get("name")) != ("system", _EXAMPLE[place % 2]) or not message["content"].strip():
            raise UsageError(f"{path}: message {place} must be a system message named {_EXAMPLE[place % 2]}. {_AGAIN}")
    if len(examples) % 2 or len(examples) < 2 * pairs:
        raise UsageError(
            f"{path}: {pairs} examples of two messages each are needed, it has {len(examples)} example messages. {_AGAIN}"
        )
    told: list[Message] = [{"role": "system", "content": instruction["content"]}]
    for place in range(0, 2 * pairs, 2):
        told.append({"role": "user", "content": examples[place]["content"]})
        told.append({"role": "assistant", "content": examples[place + 1]["content"]})
    return tuple(told)


def _messages(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingError(f"{path}: cannot be read ({system_reason(error)}).") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no JSON in UTF-8. {_AGAIN}") from error
    if not isinstance(content, list) or not content:
        raise UsageError(f"{path}: must be a list of messages. {_AGAIN}")
    for place, message in enumerate(content, start=1):
        if (
            not isinstance(message, dict)
            or not {"role", "content"} <= set(message) <= {"role", "name", "content"}
            or not all(isinstance(value, str) for value in message.values())
        ):
            raise UsageError(f"{path}: message {place} must have role and content, may have name, all texts. {_AGAIN}")
    return content
