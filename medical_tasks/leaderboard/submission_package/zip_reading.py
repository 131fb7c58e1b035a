"""The zip file of a package, read without trust.

Only the plainest zip file is taken: members one behind the other from the first byte on, then the list of them, then the end
record, and nothing else anywhere. What makes zip files dangerous (overlapping members, data before, between or behind, two lists
that differ, zip64, encryption, links, streams of unknown length) therefore cannot be in one that is taken. Every size is checked
before anything is unpacked, and what is unpacked never grows beyond the size that was stated. Nothing is written to disk.
"""

from __future__ import annotations

import stat
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from medical_tasks.leaderboard.submission_package.contents import MEMBERS
from medical_tasks.leaderboard.submission_package.limits import ReadLimits
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown

__all__ = ["Member", "read_members", "unpack"]

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


@dataclass(frozen=True, kw_only=True)
class Member:
    """A file of the package, as the list names it.

    Attributes:
        name: one of `contents.MEMBERS`.
        method: 0 stored, 8 deflated.
        crc: CRC-32 of its content.
        packed: bytes in the zip file.
        size: bytes unpacked.
        start: of its packed bytes.
    """

    name: str
    method: int
    crc: int
    packed: int
    size: int
    start: int


def read_members(content: bytes, limits: ReadLimits) -> dict[str, Member]:
    """Reads which files a package holds, and checks all that can be checked before they are unpacked.

    Args:
        content: the zip file.
        limits: how much it may hold.

    Raises:
        PackageError: It is not the zip file of a package.
    """
    if len(content) > limits.package_bytes:
        raise PackageError(
            f"the package has {len(content):,} bytes, and at most {limits.package_bytes:,} are taken. Submit fewer tasks at once "
            "(--task NAME)."
        )
    if len(content) < _END.size or content[-_END.size : -_END.size + 4] != _END_MARK:
        raise _refused("is not a zip file, or something stands behind its end, or it is cut off")
    _, disk, first_disk, here, entries, listed_bytes, listed_start, comment = _END.unpack(content[-_END.size :])
    if disk or first_disk or here != entries or comment:
        raise _refused("is a part of several, or carries a comment")
    if not 0 < entries <= len(MEMBERS):
        raise _refused(f"must hold 1 to {len(MEMBERS)} files, got {entries}")
    if listed_start + listed_bytes != len(content) - _END.size:
        raise _refused("has something between the list of its files and its end, or is larger than its format allows")
    members: dict[str, Member] = {}
    place = listed_start
    expected = 0
    for _ in range(entries):
        member, place, expected = _listed(content, place, expected, limits)
        if member.name in members:
            raise _refused(f"names the file {member.name} twice")
        members[member.name] = member
    if place != len(content) - _END.size or expected != listed_start:
        raise _refused("has something beside its files")
    total = sum(member.size for member in members.values())
    if total > limits.total_bytes:
        raise PackageError(
            f"the package has {total:,} bytes unpacked, and at most {limits.total_bytes:,} are taken. Submit fewer tasks at once "
            "(--task NAME)."
        )
    return members


def unpack(content: bytes, member: Member) -> bytes:
    """Unpacks a file, never more of it than was stated.

    Raises:
        PackageError: It is damaged, or not what the list says.
    """
    packed = content[member.start : member.start + member.packed]
    if member.method == _STORED:
        made = packed
    else:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            made = stream.decompress(packed, member.size + 1)
        except zlib.error as error:
            raise _refused(f"is damaged: {member.name} cannot be unpacked") from error
        if not stream.eof or stream.unused_data or stream.unconsumed_tail:
            raise _refused(f"is damaged: {member.name} has another length than is stated")
    if len(made) != member.size or zlib.crc32(made) != member.crc:
        raise _refused(f"is damaged: {member.name} has another length or checksum than is stated")
    return made


def _listed(content: bytes, place: int, expected: int, limits: ReadLimits) -> tuple[Member, int, int]:
    """Reads one entry of the list, and the header it points to, which must stand at `expected`."""
    end = len(content) - _END.size
    if place + _LISTED.size > end:
        raise _refused("has a list of files that is cut off")
    fields = _LISTED.unpack_from(content, place)
    mark, made_by, needs, flags, method, time, day, crc, packed, size = fields[:10]
    name_bytes, extra, comment, disk, _, attributes, start = fields[10:]
    raw = content[place + _LISTED.size : place + _LISTED.size + name_bytes]
    if mark != _LISTED_MARK or len(raw) != name_bytes:
        raise _refused("has a list of files that is damaged")
    name = next((known for known in MEMBERS if known.encode() == raw), None)
    if name is None:
        raise _refused(f"may hold {', '.join(MEMBERS)} and nothing else, got the name {shown(raw)}")
    _check_kind(name, made_by >> 8, attributes)
    if flags & ~_UTF8_NAME or method not in (_STORED, _DEFLATED) or (needs & 0xFF) > _NEWEST:
        raise _refused(f"has {name} encrypted, streamed, or packed otherwise than stored or deflated")
    if extra or comment or disk:
        raise _refused(f"has extra fields or a comment at {name}")
    if start != expected:
        raise _refused(f"has {name} overlapping with another file, or something between them")
    _check_size(name, method, packed, size, limits)
    same = (_LOCAL_MARK, needs, flags, method, time, day, crc, packed, size, name_bytes, 0)
    header = start + _LOCAL.size
    if header > end or _LOCAL.unpack_from(content, start) != same or content[header : header + name_bytes] != raw:
        raise _refused(f"says one thing of {name} in its list and another where it stands")
    data = header + name_bytes
    member = Member(name=name, method=method, crc=crc, packed=packed, size=size, start=data)
    return member, place + _LISTED.size + name_bytes, data + packed


def _check_kind(name: str, system: int, attributes: int) -> None:
    """Refuses links, folders and devices."""
    mode = attributes >> 16
    plain = stat.S_ISREG(mode) or not stat.S_IFMT(mode)
    if not plain or attributes & 0xFF & ~_DOS_PLAIN or (mode and system != _UNIX):
        raise _refused(f"has {name} as a link, folder or device, not as a plain file")


def _check_size(name: str, method: int, packed: int, size: int, limits: ReadLimits) -> None:
    if size > limits.member_bytes:
        raise PackageError(
            f"{name}: {size:,} bytes unpacked, and at most {limits.member_bytes:,} are taken. Submit fewer tasks at once "
            "(--task NAME)."
        )
    if method == _STORED and packed != size:
        raise _refused(f"has {name} stored with {packed:,} bytes that are {size:,}")
    if size > _SMALL and size > packed * limits.ratio:
        raise _refused(
            f"has {name} packed {size // max(packed, 1):,} to 1, and at most {limits.ratio} to 1 are taken (a zip bomb)"
        )


def _refused(what: str) -> PackageError:
    return PackageError(f"the package {what}. {WRITE_AGAIN}")
