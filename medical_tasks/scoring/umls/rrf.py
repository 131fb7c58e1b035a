"""Reading the two Metathesaurus files a concept matcher needs, row by row: MRSTY.RRF and MRCONSO.RRF, plain or gzip.

Columns are those of the UMLS Reference Manual, chapter 3.3: MRSTY has the concept first and its type second; MRCONSO the
concept first, the language second, the string fifteenth. Suppressed and obsolete strings count, as in QuickUMLS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Generator
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import read_chunks

__all__ = ["STEPS", "find_file", "read_strings", "read_wanted_concepts"]

STEPS = (
    "The UMLS needs a licence of your own, which is free: ask for one at https://uts.nlm.nih.gov/uts/signup-login (some days), "
    "download the Metathesaurus (MRCONSO.RRF and MRSTY.RRF of https://www.nlm.nih.gov/research/umls/licensedcontent/"
    "umlsknowledgesources.html; ACI-BENCH used release 2022AA) and put both files in one folder."
)

_STRING = 14
_CONCEPTS = 10_000_000
_KNOWN, _WANTED = 1, 2


def find_file(folder: Path, name: str) -> Path:
    """Finds a file of the Metathesaurus.

    Args:
        folder: where the files are, or the release's folder with `META` in it.
        name: `MRCONSO.RRF` or `MRSTY.RRF`.

    Returns:
        Its place; gzip with `.gz` behind the name.

    Raises:
        MissingError: It is not there; the message says how to get it.
    """
    places = [folder / middle / (name + end) for middle in ("", "META") for end in ("", ".gz")]
    for place in places:
        if place.is_file():
            return place
    raise MissingError(f"{folder}: holds no {name}. {STEPS}")


def read_wanted_concepts(path: Path, types: Collection[str]) -> bytearray:
    """Reads which concepts are of some type that is asked for.

    Args:
        path: MRSTY.RRF.
        types: semantic types, `T047`.

    Returns:
        By the number of the concept's id: 0 not in the file, 1 of other types alone, 2 of a type asked for.

    Raises:
        UsageError: A row is not of the form (the message names its line), or there is none.
    """
    flags = bytearray(_CONCEPTS)
    asked = {each.encode() for each in types}
    line = 0
    for line, row in enumerate(_lines(path, lambda _: None), start=1):
        fields = row.split(b"|", 2)
        number = concept_number(path, line, fields[0])
        if len(fields) < 3:
            raise UsageError(f"{path}: line {line} has {len(fields)} fields, expected CUI|TUI|... {_AGAIN}")
        flags[number] = max(flags[number], _WANTED if fields[1] in asked else _KNOWN)
    if not line:
        raise UsageError(f"{path}: is empty. {_AGAIN}")
    return flags


def read_strings(
    path: Path, on_read: Callable[[int], None], digest: hashlib._Hash
) -> Generator[tuple[int, int, str], None, None]:
    """Reads the English strings.

    Args:
        path: MRCONSO.RRF.
        on_read: called with the number of bytes of the file that were read so far.
        digest: is given every unpacked byte.

    Yields:
        The line, the number of the concept's id, and the string without white space at its ends.

    Raises:
        UsageError: A row is not of the form (the message names its line).
    """
    for line, row in enumerate(_lines(path, on_read, digest), start=1):
        fields = row.split(b"|", _STRING + 1)
        if len(fields) < _STRING + 2:
            raise UsageError(
                f"{path}: line {line} has {len(fields)} fields, expected 18 (CUI|LAT|...|STR|...). {_AGAIN}"
            )
        if fields[1] != b"ENG":
            continue
        try:
            text = fields[_STRING].decode().strip()
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: line {line} is not UTF-8. {_AGAIN}") from error
        if text:
            yield line, concept_number(path, line, fields[0]), text


def concept_number(path: Path, line: int, concept: bytes) -> int:
    """Reads `C0000005` as 5."""
    if len(concept) != 8 or not concept.startswith(b"C") or not concept[1:].isdigit():
        raise UsageError(f"{path}: line {line} does not begin with a concept id (C and seven digits). {_AGAIN}")
    return int(concept[1:])


_AGAIN = "The file is damaged or another one; unpack it from the release again."


def _lines(
    path: Path, on_read: Callable[[int], None], digest: hashlib._Hash | None = None
) -> Generator[bytes, None, None]:
    rest = b""
    for chunk in read_chunks(path, again=_AGAIN, on_read=on_read):
        if digest is not None:
            digest.update(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest
