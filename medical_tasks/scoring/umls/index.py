"""The index of terms on disk: built once in little memory, opened at once, looked up by hash.

    umls.json      what it was made from, and how; written last, so that a folder without it is no index
    hashes.u64     the terms' hashes, sorted, 8 bytes each, the lowest byte first
    places.u64     where each term's record begins in records.bin; one more for the end
    records.bin    a term, a zero byte, its concepts' ids

Hashes that meet are told apart by the term itself. A term of more words than a matcher's window can never be found, and is
left out; so is one without a concept of an accepted type.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import tempfile
import unicodedata
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import open_file, read_bytes, read_text
from medical_tasks.io.progress import Progress
from medical_tasks.scoring.umls.rrf import find_file, read_strings, read_wanted_concepts
from medical_tasks.scoring.umls.semantic_types import MEDCON_TYPES
from medical_tasks.scoring.umls.terms import Folding

if TYPE_CHECKING:
    import numpy as np

__all__ = ["WINDOW", "IndexInfo", "UmlsIndex", "build_index"]

WINDOW = 5  # tokens of the longest stretch that is looked up

_FORMAT = 1
_INFO, _HASHES, _PLACES, _RECORDS = "umls.json", "hashes.u64", "places.u64", "records.bin"
_PART_BITS = 6  # terms are sorted in 64 parts, each in memory by itself
_HASH_BITS = 64
_MEGABYTE = 1_000_000
_WANTED = 2
_AS_WRITTEN = Folding()


@dataclass(frozen=True, kw_only=True)
class IndexInfo:
    """What an index holds.

    Attributes:
        lowercase, ascii_only: its folding.
        terms: how many there are.
        strings: English strings of MRCONSO.
        without_type: of these, strings whose concept is not in MRSTY; QuickUMLS cannot be installed with such files.
        source: SHA-256 of MRCONSO, unpacked.
        types: the accepted semantic types.
    """

    lowercase: bool
    ascii_only: bool
    terms: int
    strings: int
    without_type: int
    source: str
    types: tuple[str, ...]


class _Counts(NamedTuple):
    strings: int
    without_type: int
    source: str


def build_index(
    umls: Path, out: Path, *, folding: Folding = _AS_WRITTEN, types: frozenset[str] = MEDCON_TYPES
) -> IndexInfo:
    """Builds an index from the user's Metathesaurus.

    Args:
        umls: folder of MRCONSO.RRF and MRSTY.RRF.
        out: folder to make; an index in it is replaced.
        folding: how terms are written.
        types: semantic types of which a concept must have one.

    Returns:
        What it holds.

    Raises:
        MissingError: A file is not there; the message says how to get it.
        UsageError: A file is not of the form, or `out` cannot be written.
    """
    strings, semantic = find_file(umls, "MRCONSO.RRF"), find_file(umls, "MRSTY.RRF")
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        (out / _INFO).unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as stage:
            counts = _write_parts(strings, read_wanted_concepts(semantic, types), Path(stage), folding)
            terms = _join_parts(Path(stage), out)
            if not terms:
                raise UsageError(f"{strings}: holds no English string of an accepted type with up to {WINDOW} words.")
            info = IndexInfo(
                lowercase=folding.lowercase,
                ascii_only=folding.ascii_only,
                terms=terms,
                strings=counts.strings,
                without_type=counts.without_type,
                source=counts.source,
                types=tuple(sorted(types)),
            )
            written = Path(stage) / _INFO
            written.write_text(json.dumps({"format": _FORMAT, **asdict(info)}, indent=1), encoding="utf-8")
            written.replace(out / _INFO)
    except OSError as error:
        raise UsageError(f"{out}: the index cannot be written ({system_reason(error)}).") from error
    return info


def _write_parts(path: Path, flags: bytearray, stage: Path, folding: Folding) -> _Counts:
    """Writes terms and concepts in parts by hash; counts."""
    strings = without_type = 0
    digest = hashlib.sha256()
    megabytes = path.stat().st_size // _MEGABYTE + 1
    with ExitStack() as stack:
        parts = [stack.enter_context((stage / str(part)).open("wb")) for part in range(1 << _PART_BITS)]
        progress = stack.enter_context(Progress(f"{path.name}, MB read", megabytes))
        for _, concept, text in read_strings(path, lambda read: progress.advance_to(read // _MEGABYTE), digest):
            strings += 1
            without_type += not flags[concept]
            # Decomposing may add spaces to letters beyond ASCII: their words are not counted.
            if flags[concept] != _WANTED or (
                text.count(" ") >= WINDOW and text.isascii() and len(text.split()) > WINDOW
            ):
                continue
            term = folding.stored(text).encode()
            parts[_hash(term) >> (_HASH_BITS - _PART_BITS)].write(b"%s\0%08d" % (term, concept) + b"\n")
        progress.advance_to(megabytes)
    return _Counts(strings, without_type, digest.hexdigest())


def _join_parts(stage: Path, out: Path) -> int:
    count = place = 0
    with ExitStack() as stack:
        hashes, places, records = (
            stack.enter_context((stage / name).open("wb")) for name in (_HASHES, _PLACES, _RECORDS)
        )
        for part in range(1 << _PART_BITS):
            concepts: dict[bytes, set[bytes]] = {}
            for line in read_bytes(stage / str(part)).split(b"\n"):
                if line:
                    term, _, number = line.rpartition(b"\0")
                    concepts.setdefault(term, set()).add(number)
            ordered = sorted((_hash(term), term) for term in concepts)
            for hashed, term in ordered:
                record = term + b"\0" + b"".join(sorted(concepts[term]))
                hashes.write(hashed.to_bytes(8, "little"))
                places.write(place.to_bytes(8, "little"))
                records.write(record)
                place += len(record)
            count += len(ordered)
        places.write(place.to_bytes(8, "little"))
    for name in (_HASHES, _PLACES, _RECORDS):
        (stage / name).replace(out / name)
    return count


def _hash(term: bytes) -> int:
    return int.from_bytes(_digest(term), "little")


def _digest(term: bytes) -> bytes:
    return hashlib.blake2b(term, digest_size=8).digest()


class UmlsIndex:
    """An open index; a context manager.

    Args:
        folder: where `build_index` made it.

    Raises:
        UsageError: There is none, or it is not whole or of another version of this package.
    """

    def __init__(self, folder: Path) -> None:
        import numpy as np

        build = "Build it: medical-tasks umls build --source META_FOLDER --out INDEX"
        try:
            told = json.loads(read_text(folder / _INFO))
        except FileNotFoundError as error:
            raise UsageError(f"{folder}: holds no UMLS index ({_INFO} is not there). {build}") from error
        except (OSError, ValueError) as error:
            raise UsageError(f"{folder / _INFO}: cannot be read. {build}") from error
        if told.pop("format", None) != _FORMAT:
            raise UsageError(f"{folder}: is an index of another version of this package. {build}")
        self.info = IndexInfo(**{**told, "types": tuple(told["types"])})
        self.folding = Folding(lowercase=self.info.lowercase, ascii_only=self.info.ascii_only)
        try:
            sizes = [(folder / name).stat().st_size for name in (_HASHES, _PLACES, _RECORDS)]
        except OSError as error:
            raise UsageError(f"{folder}: the index is not whole ({system_reason(error)}). {build}") from error
        if sizes[:2] != [8 * self.info.terms, 8 * self.info.terms + 8] or not self.info.terms:
            raise UsageError(f"{folder}: the index is not whole. {build}")
        self._hashes: np.ndarray = np.memmap(folder / _HASHES, "<u8", "r")
        self._places: np.ndarray = np.memmap(folder / _PLACES, "<u8", "r")
        if sizes[2] != self._places[-1]:
            raise UsageError(f"{folder}: the index is not whole. {build}")
        self._file: BinaryIO = open_file(folder / _RECORDS)
        self._records = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def __enter__(self) -> UmlsIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its files."""
        self._records.close()
        self._file.close()

    def find(self, asked: Sequence[str]) -> list[tuple[int, str, tuple[str, ...]]]:
        """Looks terms up.

        Args:
            asked: as `Folding.asked` writes them.

        Returns:
            For each that is there, in order: its position in `asked`, the term as stored, its concepts' ids, sorted.
        """
        import numpy as np

        terms = [(text if text.isascii() else unicodedata.normalize("NFKD", text)).encode() for text in asked]
        if not terms:
            return []
        digests = b"".join([_digest(term) for term in terms])
        hashes = np.frombuffer(digests, "<u8")
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        found = []
        for position in np.flatnonzero(self._hashes[places] == hashes).tolist():
            concepts = self._concepts(int(places[position]), terms[position])
            if concepts:
                found.append((position, terms[position].decode(), concepts))
        return found

    def _concepts(self, place: int, term: bytes) -> tuple[str, ...]:
        hashed = self._hashes[place]
        while place < len(self._hashes) and self._hashes[place] == hashed:
            record = self._records[self._places[place] : self._places[place + 1]]
            stored, _, numbers = record.rpartition(b"\0")
            if stored == term:
                return tuple(f"C{int(numbers[at : at + 8]):07d}" for at in range(0, len(numbers), 8))
            place += 1
        return ()
