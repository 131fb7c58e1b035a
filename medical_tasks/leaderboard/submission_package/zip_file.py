"""The zip file of a package: written reproducibly, and read without trust.

Only the plainest zip files are read: contiguous members from the first byte on, their
list, the end record, and nothing else. So there can be no overlapping members, hidden
data, zip64, links or streams of unknown length. Sizes are checked before anything is
unpacked, and nothing is written to disk.

| limit | |
|---|---|
| package; one file; all files unpacked | 32 MiB; 64 MiB; 96 MiB |
| unpacked to packed, above 64 KiB | 200 to 1 |
| a line | 1 MiB, 5,000 values |
| tasks; items; verdicts | 64; 50,000; 300,000 |
| groups of a breakdown; groups an item is in | 400; 10 |
| depth; a number; values in `results.json`; values in all | 24; 40 characters; 400,000; 3,000,000 |
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.io.files import open_file, readable
from medical_tasks.io.untrusted import shown
from medical_tasks.leaderboard.submission_package import contents

_END: Final = struct.Struct("<4s4H2LH")
_LISTED: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END_MARK, _LISTED_MARK, _LOCAL_MARK = b"PK\5\6", b"PK\1\2", b"PK\3\4"
_STORED, _DEFLATED = 0, 8
_UTF8_NAME: Final = 0x800
_NEWEST: Final = 20  # of the zip format: folders and deflate
_UNIX: Final = 3
_DOS_PLAIN: Final = 0x27  # read-only, hidden, system, archive
_SMALL: Final = 1 << 16
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file knows
_MADE_ON_UNIX: Final = 3
_PLAIN_FILE: Final = 0o100644 << 16


def package_bytes(
    path: Path, limits: contents.ReadLimits = contents.DEFAULT_LIMITS
) -> bytes:
    """Reads a file, at most one byte more than the limit for packages."""
    advice = "Give the .zip that `medical-tasks submit RUN --to space` wrote."
    with readable(path, missing=advice, again=advice), open_file(path) as file:
        return file.read(limits.package_bytes + 1)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A file in the package, according to the zip's directory.

    `method` is 0 (stored) or 8 (deflated); `start` is the offset of its packed bytes.
    """

    name: str
    method: int
    crc: int
    packed: int
    size: int
    start: int


def read_members(content: bytes, limits: contents.ReadLimits) -> dict[str, Member]:
    """Lists the files in a package, with all checks that need no unpacking."""
    if len(content) > limits.package_bytes:
        raise _too_large(
            f"the package has {len(content):,} bytes", limits.package_bytes
        )

    end, entries, list_start = _end_record(content)
    listed = list_start
    members: dict[str, Member] = {}
    start = 0  # of the next member: each begins where the one before ends
    for _ in range(entries):
        member, listed = _member(content, listed, end, start, limits)
        if member.name in members:
            raise _bad_zip(f"names the file {member.name} twice")

        members[member.name] = member
        start = member.start + member.packed

    if (listed, start) != (end, list_start):
        raise _bad_zip("has something beside its files and their list")

    total = sum(member.size for member in members.values())
    if total > limits.total_bytes:
        raise _too_large(
            f"the package has {total:,} bytes unpacked", limits.total_bytes
        )

    return members


def _end_record(content: bytes) -> tuple[int, int, int]:
    """Returns the end of the list of files, their number, and the start of the list."""
    end = len(content) - _END.size
    if end < 0 or content[end : end + 4] != _END_MARK:
        raise _bad_zip("is not a zip file, has data after its end, or is truncated")

    record = _END.unpack_from(content, end)
    entries, listed = record[4], record[6]
    if not 0 < entries <= len(contents.MEMBERS):
        raise _bad_zip(f"must hold 1 to {len(contents.MEMBERS)} files, got {entries}")

    if record != (_END_MARK, 0, 0, entries, entries, end - listed, listed, 0):
        raise _bad_zip(
            "has something beside its files and their list, such as a comment, or is a part of "
            "several"
        )

    return end, entries, listed


def _member(
    content: bytes, offset: int, end: int, start: int, limits: contents.ReadLimits
) -> tuple[Member, int]:
    """Reads the entry at `offset` in the list, for a file that must begin at `start`.

    Returns the file and the offset of the next entry.
    """
    if offset + _LISTED.size > end:
        raise _bad_zip("has a list of files that is cut off")

    listed = _LISTED.unpack_from(content, offset)
    made_by, attributes, *same = listed[1], listed[15], *listed[2:11]
    needs, flags, method, _, _, crc, packed, size, name_bytes = same
    behind = offset + _LISTED.size + name_bytes
    raw = content[behind - name_bytes : behind]
    name = _member_name(raw)
    _check_kind(name, made_by, attributes)
    if (
        flags & ~_UTF8_NAME
        or method not in (_STORED, _DEFLATED)
        or (needs & 0xFF) > _NEWEST
    ):
        raise _bad_zip(
            f"has {name} encrypted, streamed, or packed otherwise than stored or deflated"
        )

    if size > limits.member_bytes:
        raise _too_large(f"{name}: {size:,} bytes unpacked", limits.member_bytes)

    if size > _SMALL and size > packed * limits.ratio:
        times = f"{size // max(packed, 1):,} to 1, and at most {limits.ratio} to 1"
        raise _bad_zip(f"has {name} packed {times} are taken (a zip bomb)")

    # These few values determine everything else; anything that differs is refused.
    if listed != (_LISTED_MARK, made_by, *same, 0, 0, 0, listed[14], attributes, start):
        raise _bad_zip(
            f"has {name} with extra fields or a comment, overlapping with another file, or after "
            "a gap"
        )

    data = start + _LOCAL.size + name_bytes
    if content[start:data] != _LOCAL.pack(_LOCAL_MARK, *same, 0) + raw:
        raise _bad_zip(
            f"says one thing of {name} in its list and another where it stands"
        )

    member = Member(
        name=name, method=method, crc=crc, packed=packed, size=size, start=data
    )
    return member, behind


def _member_name(raw: bytes) -> str:
    for name in contents.MEMBERS:
        if name.encode() == raw:
            return name
    raise _bad_zip(
        f"may hold {', '.join(contents.MEMBERS)} and nothing else, got the name {shown(raw)}"
    )


def _check_kind(name: str, made_by: int, attributes: int) -> None:
    """Refuses links, folders and devices."""
    mode = attributes >> 16
    plain = stat.S_ISREG(mode) or not stat.S_IFMT(mode)
    of_unix = not mode or made_by >> 8 == _UNIX
    if not plain or not of_unix or attributes & 0xFF & ~_DOS_PLAIN:
        raise _bad_zip(f"has {name} as a link, folder or device, not as a plain file")


def unpack(content: bytes, member: Member) -> bytes:
    """Unpacks a file, at most up to its stated size."""
    packed = content[member.start : member.start + member.packed]
    if member.method == _STORED:
        unpacked = packed
    else:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            unpacked = stream.decompress(packed, member.size + 1)
        except zlib.error as error:
            raise _bad_zip(f"is damaged: {member.name} cannot be unpacked") from error

        if not stream.eof or stream.unused_data or stream.unconsumed_tail:
            raise _bad_zip(
                f"is damaged: {member.name} has another length than is stated"
            )

    if len(unpacked) != member.size or zlib.crc32(unpacked) != member.crc:
        raise _bad_zip(
            f"is damaged: {member.name} has another length or checksum than is stated"
        )

    return unpacked


def _bad_zip(what: str) -> contents.PackageError:
    return contents.not_sound(f"the package {what}")


def _too_large(what: str, most: int) -> contents.PackageError:
    return contents.PackageError(
        f"{what}, and at most {most:,} are taken. Submit fewer tasks at once (--task NAME)."
    )


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """Packs files in this order, without times, comments and extra fields."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=9
    ) as package:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system, info.external_attr = _MADE_ON_UNIX, _PLAIN_FILE
            info.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(info, content)

    return buffer.getvalue()
