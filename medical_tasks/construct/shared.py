"""What constructions share: files that one step writes and another reads, and orders of a seed.

Files are for their owner alone, and written whole or not at all.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import (
    IncompleteError,
    MissingError,
    UsageError,
    check_least,
    listed,
)
from medical_tasks.io.files import WholeFile, read_text, readable
from medical_tasks.io.json_records import Field, Record, read_records


def numbers(made: Mapping[str, object]) -> dict[str, int]:
    """What of a step's outcome may be shown: its counts."""
    return {name: value for name, value in made.items() if isinstance(value, int)}


def private_field(field: Field) -> Field:
    """The same field, whose values no message shows."""
    return dataclasses.replace(field, private=True)


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> str:
    """Writes a JSON Lines file, whole and for its owner alone, and returns its SHA-256."""
    with WholeFile(path, private=True) as part:
        for line in map(_line, records):
            part.write(line)
    return file_sha256(path)


def lines_sha256(records: Iterable[Mapping[str, object]]) -> str:
    """SHA-256 of the file that `write_lines` would write."""
    return hashlib.sha256("".join(map(_line, records)).encode()).hexdigest()


def _line(record: Mapping[str, object]) -> str:
    # ASCII: some readers take other signs than line feeds for line ends.
    return json.dumps(record, ensure_ascii=True) + "\n"


def write_json(
    path: Path, values: Mapping[str, object], *, indent: int | None = 2
) -> None:
    """Writes a JSON file, whole and for its owner alone."""
    with WholeFile(path, private=True) as part:
        part.write(json.dumps(values, indent=indent, ensure_ascii=True) + "\n")


def read_json(path: Path, *, step: str) -> Any:
    """Reads a JSON file that an earlier step wrote (`medical-tasks construct STEP`).

    It is an object; callers name its form, since the step that wrote it has it from
    there.
    """
    _require(path, step)
    try:
        with readable(path, again=f"Do this step again: construct {step}."):
            values = json.loads(read_text(path))
    except (ValueError, RecursionError):
        values = None

    if not isinstance(values, dict):
        raise UsageError(
            f"{path}: not as medical-tasks wrote it. Do this step again: construct {step}."
        )

    return values


def read_lines(path: Path, fields: Mapping[str, Field], *, step: str) -> list[Record]:
    """Reads a JSON Lines file that an earlier step wrote; no message shows a text."""
    _require(path, step)
    again = f"Do this step again: construct {step}."
    return list(
        read_records(path, fields, release=f"file of the step {step}", again=again)
    )


def _require(path: Path, step: str) -> None:
    if not path.exists():
        raise MissingError(
            f"{path}: not there. Do the step before: medical-tasks construct {step}, with this "
            "folder."
        )


def check_unchanged(path: Path, sha256: str | None, advice: str) -> None:
    """Refuses a file that is not the one whose hash was kept; `advice` is the next step."""
    if sha256 != file_sha256(path):
        raise UsageError(f"{path}: was changed since it was written. {advice}")


def file_name(identifier: str) -> str:
    """Makes a file's name of an id; one that could lead elsewhere is written in hexadecimal."""
    safe = identifier[0] not in ".-" and all(
        sign.isalnum() or sign in "._-" for sign in identifier
    )
    return f"{identifier if safe else 'id-' + identifier.encode().hex()}.txt"


_FAILED: Final = 10


def check_answered(
    failed: Mapping[str, str], total: int, lack: str, *, then: str, file: str
) -> None:
    """Ends with exit code 5 where a model left some without a usable reply.

    `file`: where all of them are listed.
    """
    if failed:
        shown = listed(
            [f"{name}: {reason}" for name, reason in failed.items()],
            _FAILED,
            between="\n  ",
        )
        more = f", in {file}" if len(failed) > _FAILED else ""
        raise IncompleteError(
            f"{len(failed)} of {total} {lack}:\n  {shown}{more}\n{then}The same command asks again "
            "where there was no answer, and more --tries where a reply could not be used."
        )


_Thing = TypeVar("_Thing")


def checked_seed(seed: int | None) -> int:
    """Reads `--seed`, 0 where it is not given."""
    check_least({"--seed": seed}, 0)
    return seed or 0


def kept_step(
    path: Path, recipe: Mapping[str, object], *, step: str
) -> tuple[Any, list[str]]:
    """Reads what a step wrote before, and compares its recipe with the one of now.

    Args:
        path: What the step keeps; its field `recipe` holds what decided the outcome.
        recipe: What decides the outcome now.
        step: Name of the step, for messages.

    Returns:
        What was written, None where nothing was, and the names of what the recipes
        differ in.
    """
    if not path.exists():
        return None, []

    before = read_json(path, step=step)
    written = before.get("recipe", {})
    return before, [
        name for name, value in recipe.items() if written.get(name) != value
    ]


def ranked(
    things: Sequence[_Thing], seed: int, key: Callable[[_Thing], str]
) -> list[_Thing]:
    """Puts things into an order that the seed decides, whatever order they came in."""
    return sorted(
        things,
        key=lambda thing: hashlib.sha256(
            f"{seed}:{key(thing)}".encode("utf-8", "surrogatepass")
        ).digest(),
    )
