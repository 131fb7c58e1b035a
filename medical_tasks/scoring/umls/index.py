"""The index of UMLS terms on disk.

It is built once in little memory from MRCONSO.RRF and MRSTY.RRF and looked up by hash.

    umls.json    its sources and settings; written last: a folder without it is no index
    hashes.u64   the terms' hashes, sorted, 8 bytes each, little-endian
    places.u64   the offset of each term's record in records.bin, and of the end
    records.bin  a term, a zero byte, its concepts' ids

Columns: UMLS Reference Manual, chapter 3.3. Suppressed and obsolete strings count, as
in QuickUMLS; texts are decomposed (NFKD).
"""

from __future__ import annotations

import hashlib
import json
import mmap
import tempfile
import unicodedata
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypedDict

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import open_file, read_bytes, read_chunks, read_text
from medical_tasks.io.progress import Progress

if TYPE_CHECKING:
    import numpy as np

# Characters that decomposition does not bring to ASCII: typographic punctuation, and
# letters without a base letter.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚′´ʼ", "'"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‐‑‒–", "-"),
        "—": "--",
        "⁄": "/",
        "×": "x",
        "÷": "/",
        "±": "+-",
        "°": "deg",
        "·": "*",
        "ß": "ss",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "ð": "d",
        "Ð": "D",
        "þ": "th",
        "Þ": "Th",
        "ı": "i",
        "µ": "u",
        **dict(zip("αβγδεζηικλμνξοπρςστυφω", "abgdeziiklmnxoprsstufo", strict=False)),
    }
)


@dataclass(frozen=True, kw_only=True)
class Folding:
    """How an index normalises terms."""

    lowercase: bool = False  # case is folded (QuickUMLS's option -L)
    # letters are brought to ASCII (its option -U, by decomposing and a short table:
    # other scripts than Latin and Greek stay)
    ascii_only: bool = False

    def stored(self, term: str) -> str:
        """Returns a term as stored in the index."""
        text = term.lower() if self.lowercase else term
        return unicodedata.normalize(
            "NFKD", _to_ascii(text) if self.ascii_only else text
        )

    def looked_up(self, stretch: str) -> str:
        """Returns the form in which a stretch of text is looked up.

        A stretch in capitals matches only terms in lower case.
        """
        text = _to_ascii(stretch) if self.ascii_only else stretch
        return text.lower() if self.lowercase or text.isupper() else text


def _to_ascii(text: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(
        letter for letter in decomposed if not unicodedata.combining(letter)
    ).translate(_PLAIN)


GROUPS = {
    "Anatomy": "T017 T018 T021 T022 T023 T024 T025 T026 T029 T030 T031",
    "Chemicals & Drugs": (
        "T103 T104 T109 T114 T116 T120 T121 T122 T123 T125 T126 T127 T129 T130 T131 T192 T195 "
        "T196 T197 T200"
    ),
    "Devices": "T074 T075 T203",
    "Disorders": "T019 T020 T033 T037 T046 T047 T048 T049 T050 T184 T190 T191",
    "Genes & Molecular Sequences": "T028 T085 T086 T087 T088",
    "Phenomena": "T034 T038 T067 T068 T069 T070",
    "Physiology": "T032 T039 T040 T041 T042 T043 T044 T045 T201",
}

MEDCON_TYPES = frozenset(" ".join(GROUPS.values()).split())


WINDOW = 5  # tokens of the longest stretch that is looked up

_FORMAT = 1
_INFO, _HASHES, _OFFSETS, _RECORDS = (
    "umls.json",
    "hashes.u64",
    "places.u64",
    "records.bin",
)
_PART_BITS = 6  # terms are sorted in 64 parts, each in memory by itself
_HASH_BITS = 64
_MEGABYTE = 1_000_000
_AS_WRITTEN = Folding()


@dataclass(frozen=True, kw_only=True)
class IndexInfo:
    """The contents of an index.

    Attributes:
        lowercase: whether case is folded.
        ascii_only: whether letters are brought to ASCII.
        terms: the number of terms.
        strings: the number of English strings in MRCONSO.
        without_type: the number of those that are not in MRSTY.
        source: the SHA-256 of MRCONSO.
        types: the semantic types.
    """

    lowercase: bool
    ascii_only: bool
    terms: int
    strings: int
    without_type: int
    source: str
    types: tuple[str, ...]


def build_index(
    umls: Path,
    out: Path,
    *,
    folding: Folding = _AS_WRITTEN,
    types: frozenset[str] = MEDCON_TYPES,
) -> IndexInfo:
    """Builds an index from the folder of MRCONSO.RRF and MRSTY.RRF.

    It replaces an index in `out`.
    """
    strings, semantic = find_file(umls, "MRCONSO.RRF"), find_file(umls, "MRSTY.RRF")
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        (out / _INFO).unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as stage:
            counted = _write_parts(
                strings, read_wanted_concepts(semantic, types), Path(stage), folding
            )
            terms = _join_parts(Path(stage), out)
            if not terms:
                raise UsageError(
                    f"{strings}: holds no English string of an accepted type with up to {WINDOW} "
                    "words."
                )

            info = IndexInfo(
                **asdict(folding), terms=terms, **counted, types=tuple(sorted(types))
            )
            written = Path(stage) / _INFO
            written.write_text(
                json.dumps({"format": _FORMAT, **asdict(info)}, indent=1),
                encoding="utf-8",
            )
            written.replace(out / _INFO)
    except OSError as error:
        raise UsageError(
            f"{out}: the index cannot be written ({system_reason(error)})."
        ) from error

    return info


class _Strings(TypedDict):
    """The fields of `IndexInfo` about the strings that were read."""

    strings: int
    without_type: int
    source: str


def _write_parts(
    path: Path, flags: bytearray, stage: Path, folding: Folding
) -> _Strings:
    """Writes terms and concepts to parts by hash; returns the counts of strings."""
    strings = without_type = 0
    digest = hashlib.sha256()
    megabytes = path.stat().st_size // _MEGABYTE + 1
    with ExitStack() as stack:
        part_files = [
            stack.enter_context((stage / str(number)).open("wb"))
            for number in range(1 << _PART_BITS)
        ]
        progress = stack.enter_context(Progress(f"{path.name}, MB read", megabytes))
        for _, concept, text in read_strings(
            path,
            lambda bytes_read: progress.advance_to(bytes_read // _MEGABYTE),
            digest,
        ):
            strings += 1
            without_type += not flags[concept]
            # Decomposition may add spaces to letters beyond ASCII: their words are not
            # counted.
            if flags[concept] != _CONCEPT_OF_WANTED_TYPE or (
                text.count(" ") >= WINDOW
                and text.isascii()
                and len(text.split()) > WINDOW
            ):
                continue

            term = folding.stored(text).encode()
            part_files[_hash(term) >> (_HASH_BITS - _PART_BITS)].write(
                b"%s\0%08d" % (term, concept) + b"\n"
            )

        progress.advance_to(megabytes)

    return {
        "strings": strings,
        "without_type": without_type,
        "source": digest.hexdigest(),
    }


def _join_parts(stage: Path, out: Path) -> int:
    """Writes the index's three files from the parts; returns the number of terms.

    A part holds the terms whose hashes share a prefix, and parts are in the order of
    their prefixes. So sorting each part in memory sorts the whole.
    """
    count = offset = 0
    with ExitStack() as stack:
        hashes_file, offsets_file, records_file = (
            stack.enter_context((stage / name).open("wb"))
            for name in (_HASHES, _OFFSETS, _RECORDS)
        )
        for number in range(1 << _PART_BITS):
            concepts: dict[bytes, set[bytes]] = {}
            for line in read_bytes(stage / str(number)).split(b"\n"):
                if line:
                    term, _, concept = line.rpartition(b"\0")
                    concepts.setdefault(term, set()).add(concept)

            ordered = sorted((_hash(term), term) for term in concepts)
            for hashed, term in ordered:
                record = term + b"\0" + b"".join(sorted(concepts[term]))
                hashes_file.write(hashed.to_bytes(8, "little"))
                offsets_file.write(offset.to_bytes(8, "little"))
                records_file.write(record)
                offset += len(record)

            count += len(ordered)

        offsets_file.write(offset.to_bytes(8, "little"))

    for name in (_HASHES, _OFFSETS, _RECORDS):
        (stage / name).replace(out / name)

    return count


def _hash(term: bytes) -> int:
    return int.from_bytes(_digest(term), "little")


def _digest(term: bytes) -> bytes:
    return hashlib.blake2b(term, digest_size=8).digest()


class UmlsIndex:
    """An open index; a context manager."""

    def __init__(self, folder: Path) -> None:
        """Opens an index and checks by the sizes of its files that it is complete.

        Raises:
            UsageError: the folder holds no index, one from another version, or an
                incomplete one.
        """
        import numpy as np

        build = "Build it: medical-tasks umls build --source META_FOLDER --out INDEX"
        try:
            stored = json.loads(read_text(folder / _INFO))
        except FileNotFoundError as error:
            raise UsageError(
                f"{folder}: holds no UMLS index ({_INFO} is missing). {build}"
            ) from error
        except (OSError, ValueError) as error:
            raise UsageError(f"{folder / _INFO}: cannot be read. {build}") from error

        if stored.pop("format", None) != _FORMAT:
            raise UsageError(
                f"{folder}: the index is from another version of this package. {build}"
            )

        self.info = IndexInfo(**{**stored, "types": tuple(stored["types"])})
        self.folding = Folding(
            lowercase=self.info.lowercase, ascii_only=self.info.ascii_only
        )
        try:
            sizes = [
                (folder / name).stat().st_size for name in (_HASHES, _OFFSETS, _RECORDS)
            ]
        except OSError as error:
            raise UsageError(
                f"{folder}: the index is incomplete ({system_reason(error)}). {build}"
            ) from error

        if (
            sizes[:2] != [8 * self.info.terms, 8 * self.info.terms + 8]
            or not self.info.terms
        ):
            raise UsageError(f"{folder}: the index is incomplete. {build}")

        self._hashes: np.ndarray = np.memmap(folder / _HASHES, "<u8", "r")
        self._offsets: np.ndarray = np.memmap(folder / _OFFSETS, "<u8", "r")
        if sizes[2] != self._offsets[-1]:
            raise UsageError(f"{folder}: the index is incomplete. {build}")

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

    def find(self, stretches: Sequence[str]) -> list[tuple[int, str, tuple[str, ...]]]:
        """Looks up stretches in the form of `Folding.looked_up`.

        Returns the position, stored term and sorted concept ids of those in the index.
        """
        import numpy as np

        terms = [
            (text if text.isascii() else unicodedata.normalize("NFKD", text)).encode()
            for text in stretches
        ]
        if not terms:
            return []

        digests = b"".join([_digest(term) for term in terms])
        hashes = np.frombuffer(digests, "<u8")
        slots = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        hits = []
        for position in np.flatnonzero(self._hashes[slots] == hashes).tolist():
            concepts = self._concepts(int(slots[position]), terms[position])
            if concepts:
                hits.append((position, terms[position].decode(), concepts))

        return hits

    def _concepts(self, slot: int, term: bytes) -> tuple[str, ...]:
        """Returns the concepts of a term, searching from `slot`; () if it is not there.

        Different terms may have the same hash. They are neighbours, so each is compared.
        """
        hashed = self._hashes[slot]
        while slot < len(self._hashes) and self._hashes[slot] == hashed:
            record = self._records[self._offsets[slot] : self._offsets[slot + 1]]
            stored, _, numbers = record.rpartition(b"\0")
            if stored == term:
                return tuple(
                    f"C{int(numbers[at : at + 8]):07d}"
                    for at in range(0, len(numbers), 8)
                )

            slot += 1

        return ()


STEPS = (
    "The UMLS needs a licence of your own, which is free: ask for one at "
    "https://uts.nlm.nih.gov/uts/signup-login (some days), download the Metathesaurus "
    "(MRCONSO.RRF and MRSTY.RRF of https://www.nlm.nih.gov/research/umls/licensedcontent/"
    "umlsknowledgesources.html; ACI-BENCH used release 2022AA) and put both files in one folder."
)

_STRING = 14
_CONCEPTS = 10_000_000
_CONCEPT_WITH_TYPE, _CONCEPT_OF_WANTED_TYPE = 1, 2


def find_file(folder: Path, name: str) -> Path:
    """Finds a file of the Metathesaurus."""
    candidates = [
        folder / middle / (name + end) for middle in ("", "META") for end in ("", ".gz")
    ]
    for path in candidates:
        if path.is_file():
            return path
    raise MissingError(f"{folder}: holds no {name}. {STEPS}")


def read_wanted_concepts(path: Path, types: Collection[str]) -> bytearray:
    """Reads a flag for each concept, by the number of its id.

    It is 0 if the concept is not in the file, 1 if it has only other types, 2 if it has
    a wanted type.
    """
    flags = bytearray(_CONCEPTS)
    wanted_types = {name.encode() for name in types}
    line = 0
    for line, row in enumerate(_lines(path, lambda _: None), start=1):
        fields = row.split(b"|", 2)
        number = concept_number(path, line, fields[0])
        if len(fields) < 3:
            raise UsageError(
                f"{path}: line {line} has {len(fields)} fields, expected CUI|TUI|... {_AGAIN}"
            )

        flags[number] = max(
            flags[number],
            _CONCEPT_OF_WANTED_TYPE
            if fields[1] in wanted_types
            else _CONCEPT_WITH_TYPE,
        )

    if not line:
        raise UsageError(f"{path}: is empty. {_AGAIN}")

    return flags


def read_strings(
    path: Path, on_read: Callable[[int], None], digest: hashlib._Hash
) -> Generator[tuple[int, int, str], None, None]:
    """Reads the English strings: line, number of the concept's id, string.

    `digest` is updated with every unpacked byte.
    """
    for line, row in enumerate(_lines(path, on_read, digest), start=1):
        fields = row.split(b"|", _STRING + 1)
        if len(fields) < _STRING + 2:
            raise UsageError(
                f"{path}: line {line} has {len(fields)} fields, expected 18 (CUI|LAT|...|STR|...). "
                f"{_AGAIN}"
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
        raise UsageError(
            f"{path}: line {line} does not begin with a concept id (C and seven digits). {_AGAIN}"
        )
    return int(concept[1:])


_AGAIN = "The file is damaged or another one; unpack it from the release again."


def _lines(
    path: Path, on_read: Callable[[int], None], digest: hashlib._Hash | None = None
) -> Generator[bytes, None, None]:
    """Yields the lines of a file in bytes; updates `digest` with all that is read."""
    rest = b""
    for chunk in read_chunks(path, again=_AGAIN, on_read=on_read):
        if digest is not None:
            digest.update(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest
