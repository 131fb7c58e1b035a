"""What constructions share: files that one step writes and another reads, and who gets which rows.

Files are for their owner alone, and written whole or not at all.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
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
from medical_tasks.io.tables import write_sheet


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


def write_json(path: Path, values: Mapping[str, object], *, indent: int | None = 2) -> None:
    """Writes a JSON file, whole and for its owner alone."""
    with WholeFile(path, private=True) as part:
        part.write(json.dumps(values, indent=indent, ensure_ascii=True) + "\n")


def read_json(path: Path, *, step: str) -> dict[str, Any]:
    """Reads a JSON file that an earlier step wrote (`medical-tasks construct STEP`)."""
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
    return list(read_records(path, fields, release=f"file of the step {step}", again=again))


def _require(path: Path, step: str) -> None:
    if not path.exists():
        raise MissingError(
            f"{path}: not there. Do the step before: medical-tasks construct {step}, with this "
            "folder."
        )


def file_name(identifier: str) -> str:
    """Makes a file's name of an id; one that could lead elsewhere is written in hexadecimal."""
    safe = identifier[0] not in ".-" and all(sign.isalnum() or sign in "._-" for sign in identifier)
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
            [f"{name}: {reason}" for name, reason in failed.items()], _FAILED, between="\n  "
        )
        more = f", in {file}" if len(failed) > _FAILED else ""
        raise IncompleteError(
            f"{len(failed)} of {total} {lack}:\n  {shown}{more}\n{then}The same command asks again "
            "where there was no answer, and more --tries where a reply could not be used."
        )


_Each = TypeVar("_Each")
_Key = TypeVar("_Key", bound=Hashable)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")


def parse_names(text: str, *, option: str = "--reviewers") -> tuple[str, ...]:
    """Reads `NAME,NAME,...`."""
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{option} {text!r}: {name!r} is no name; up to 30 letters, digits, - and _, as in "
                "a,b,c."
            )
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(f"{option} {text!r}: a name stands twice.")
    return names


def checked_seed(seed: int | None) -> int:
    """Reads `--seed`, 0 where it is not given."""
    check_least({"--seed": seed}, 0)
    return seed or 0


def share_out(
    ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int
) -> dict[str, tuple[str, ...]]:
    """Gives each id its names, the first of which decides, as many each.

    Everybody gets `overlap`, whatever the ids' order.
    """
    if not 0 <= overlap <= len(ids):
        raise UsageError(
            f"--overlap must be from 0 to the number of questions, {len(ids):,}, got {overlap:,}."
        )
    if overlap and len(names) < 2:
        raise UsageError(
            f"--overlap {overlap}: there is one name, {names[0]}; agreement needs two."
        )
    shares: dict[str, tuple[str, ...]] = {}
    for number, identifier in enumerate(ranked(ids, seed, str)):
        first = names[number % len(names)]
        others = [name for name in names if name != first] if number < overlap else []
        shares[identifier] = (first, *others)
    return shares


def sheet_order(shares: dict[str, tuple[str, ...]], name: str, *, seed: int) -> list[str]:
    """Orders the questions of one person, so that those of everybody stand among the others."""
    own = [identifier for identifier, names in shares.items() if name in names]
    return ranked(own, seed, lambda each: f"{name}:{each}")


def shared_sheets(
    ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int
) -> dict[str, Any]:
    """Says who gets which ids, in which order, and who decides about each.

    What a step of sheets keeps.
    """
    shares = share_out(ids, names, overlap=overlap, seed=seed)
    return {
        "sheets": {name: sheet_order(shares, name, seed=seed) for name in names},
        "first": {identifier: chosen[0] for identifier, chosen in shares.items()},
    }


def keep_once(path: Path, made: Mapping[str, object], *, step: str, refusal: str) -> None:
    """Writes what was shared out.

    Refuses where it was done otherwise before, since somebody may be at work on that.
    """
    if path.exists() and read_json(path, step=step) != made:
        raise UsageError(refusal)
    write_json(path, made)


def check_exported(
    path: Path, name: str, lines: Iterable[Mapping[str, object]], *, step: str, refusal: str
) -> None:
    """Refuses to write other lines than those of which sheets were exported.

    People may be at work on them.
    """
    if path.exists() and read_json(path, step=step).get(name) != lines_sha256(lines):
        raise UsageError(refusal)


def kept_step(
    path: Path, recipe: Mapping[str, object], *, step: str
) -> tuple[dict[str, Any], list[str]]:
    """What a step wrote before, {} where it did not, and the names of what its recipe differs in."""
    made = read_json(path, step=step) if path.exists() else {}
    there = made.get("recipe", {})
    return made, [name for name, value in recipe.items() if made and there.get(name) != value]


def write_sheets(
    folder: Path, columns: Sequence[str], rows: Mapping[str, Iterable[Mapping[str, object]]]
) -> None:
    """Writes a sheet a person; those that are there stay, since they may be edited."""
    for name, own in rows.items():
        if not (folder / f"{name}.csv").exists():
            write_sheet(folder / f"{name}.csv", columns, own)


def missing_sheets(
    sheets: Mapping[str, Sequence[str]], given: Collection[str], *, partial: bool
) -> tuple[list[str], list[str]]:
    """Whose sheets are not among the files, and what is wrong with that."""
    absent = [name for name, ids in sheets.items() if ids and name not in given]
    said = f"no sheet of {', '.join(absent)} is among the files; to go on without, add --partial"
    return absent, [said] if absent and not partial else []


def each_two(
    marks: Mapping[str, Mapping[_Key, _Each]],
) -> Iterator[tuple[list[str], list[_Key], list[_Each], list[_Each]]]:
    """Each two people who marked the same things.

    Their names, what both marked, and the marks of either.
    """
    for one, other in combinations(sorted(marks), 2):
        if both := [each for each in marks[one] if each in marks[other]]:
            yield (
                [one, other],
                both,
                [marks[one][each] for each in both],
                [marks[other][each] for each in both],
            )


def ranked(every: Sequence[_Each], seed: int, key: Callable[[_Each], str]) -> list[_Each]:
    """Puts things into an order that the seed decides, whatever order they came in."""
    return sorted(
        every,
        key=lambda each: hashlib.sha256(
            f"{seed}:{key(each)}".encode("utf-8", "surrogatepass")
        ).digest(),
    )
