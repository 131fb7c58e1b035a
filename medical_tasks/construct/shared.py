"""What constructions share: files between steps, and orders drawn with a seed.

Files are readable by their owner alone, and written completely or not at all.
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


def numbers(outcome: Mapping[str, object]) -> dict[str, int]:
    """Selects the counts of a step's outcome, which may be shown."""
    return {name: value for name, value in outcome.items() if isinstance(value, int)}


def private_field(field: Field) -> Field:
    """Copies a field so that no message shows its values."""
    return dataclasses.replace(field, private=True)


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> str:
    """Writes a JSON Lines file, readable by its owner alone, and returns its SHA-256."""
    with WholeFile(path, private=True) as stream:
        for line in map(_line, records):
            stream.write(line)
    return file_sha256(path)


def lines_sha256(records: Iterable[Mapping[str, object]]) -> str:
    """Returns the SHA-256 of the file that `write_lines` would write."""
    return hashlib.sha256("".join(map(_line, records)).encode()).hexdigest()


def _line(record: Mapping[str, object]) -> str:
    # ASCII, since some readers split lines at other characters than line feeds.
    return json.dumps(record, ensure_ascii=True) + "\n"


def write_json(
    path: Path, values: Mapping[str, object], *, indent: int | None = 2
) -> None:
    """Writes a JSON file, readable by its owner alone."""
    with WholeFile(path, private=True) as stream:
        stream.write(json.dumps(values, indent=indent, ensure_ascii=True) + "\n")


def read_json(path: Path, *, step: str) -> Any:
    """Reads the JSON object that an earlier step wrote (`medical-tasks construct STEP`).

    Callers annotate its type with the form from which the step wrote it.
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
    """Reads a JSON Lines file that an earlier step wrote; error messages show no text."""
    _require(path, step)
    again = f"Do this step again: construct {step}."
    return list(
        read_records(path, fields, release=f"file of the step {step}", again=again)
    )


def _require(path: Path, step: str) -> None:
    if not path.exists():
        raise MissingError(
            f"{path}: no such file. Do the step before: medical-tasks construct {step}, with this "
            "folder."
        )


def check_unchanged(path: Path, sha256: str | None, advice: str) -> None:
    """Refuses a file that does not have the recorded hash; `advice` is the next step."""
    if sha256 != file_sha256(path):
        raise UsageError(f"{path}: was changed since it was written. {advice}")


def file_name(identifier: str) -> str:
    """Makes a file name from an id; an unsafe id is written in hexadecimal."""
    safe = identifier[0] not in ".-" and all(
        sign.isalnum() or sign in "._-" for sign in identifier
    )
    return f"{identifier if safe else 'id-' + identifier.encode().hex()}.txt"


_FAILED: Final = 10


def check_answered(
    failed: Mapping[str, str], total: int, lack: str, *, then: str, file: str
) -> None:
    """Ends the step with exit code 5 if there are no usable replies for some items.

    Args:
        failed: Item to the reason.
        total: The number of all items.
        lack: What the items lack, such as `patients have no draft`.
        then: What was written nevertheless, as a sentence.
        file: The file that lists all failed items.
    """
    if failed:
        shown = listed(
            [f"{name}: {reason}" for name, reason in failed.items()],
            _FAILED,
            between="\n  ",
        )
        more = f", in {file}" if len(failed) > _FAILED else ""
        raise IncompleteError(
            f"{len(failed)} of {total} {lack}:\n  {shown}{more}\n{then}The same command requests "
            "missing replies again; for unusable replies, give more --tries."
        )


_Thing = TypeVar("_Thing")


def checked_seed(seed: int | None) -> int:
    """Returns a valid `--seed`, by default 0."""
    check_least({"--seed": seed}, 0)
    return seed or 0


def kept_step(
    path: Path,
    recipe: Mapping[str, object],
    *,
    step: str,
    outcome: str,
    advice: str = "Work in another --folder.",
) -> Any:
    """Reads what a step wrote before; None if it has not been done.

    Args:
        path: The file of the step, whose field `recipe` holds the earlier recipe.
        recipe: Everything that decides the outcome now.
        step: Name of the step, for messages.
        outcome: What the step makes, such as `sample`, for messages.
        advice: The next step if the recipes differ.

    Raises:
        UsageError: When the earlier recipe differs from `recipe`.
    """
    if not path.exists():
        return None

    previous = read_json(path, step=step)
    written = previous.get("recipe", {})
    differing = [name for name, value in recipe.items() if written.get(name) != value]
    if differing:
        raise UsageError(
            f"{path.parent}: holds another {outcome} (other {', '.join(differing)}). {advice}"
        )

    return previous


def ranked(
    items: Sequence[_Thing], seed: int, key: Callable[[_Thing], str]
) -> list[_Thing]:
    """Orders items by a hash of the seed and their key, regardless of the given order."""
    return sorted(
        items,
        key=lambda item: hashlib.sha256(
            f"{seed}:{key(item)}".encode("utf-8", "surrogatepass")
        ).digest(),
    )
