"""Feeds the reader of submission packages with damaged and hostile files: each is refused with a reason, or taken by rule.

    python measurements/package_fuzz.py                 10,000 packages
    python measurements/package_fuzz.py --packages 1000 --seed 7

Every package is made of a sound one: bits flipped, cut off, random bytes, members
added, doubled, overlapping, linked, with names that lead elsewhere, zip bombs, headers
that disagree, JSON too deep, too long, with NaN, huge numbers, names standing twice;
half of them with hashes that are right again, as a forger makes them. Anything else
than `PackageError` or a package ends the run. An audit hook ends it when reading opens
a file to write, starts a process or connects. Printed: how many were taken, the kinds
of reasons, the peak of memory and the slowest package.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import medical_tasks
from medical_tasks.leaderboard.submission_package.contents import (
    ITEMS,
    MANIFEST,
    MEMBERS,
    RESULTS,
    VERDICTS,
    PackageError,
    content_sha256,
    file_facts,
)
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes

__all__ = ["Guard", "hostile_packages", "members_of", "rehashed", "try_package"]

Members = dict[str, bytes]

_LITERALS: Final = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e400", b"9" * 5000, b"1" * 41, b"0." + b"3" * 60, b"1e308", b"-1",
    b"null", b"true", b"{}", b"[]", b'""', b'"\\ud800"', b'"\\u202e"', b'"../../etc/passwd"', b'"x" * 3', b"[" * 3000,
    b"[" * 3000 + b"]" * 3000, b'{"a":' * 2000 + b"1" + b"}" * 2000, b'"' + b"a" * 3_000_000 + b'"', b"0x10", b"01", b"'a'",
)  # fmt: skip
_OTHER: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 2**63, 1e300, "", "x", "nan", "a" * 5000, "\0", "\u202eabc", "\ud800", "../..", [], {}, [[]],
    "https://user@example.org/", "http://10.0.0.1:80/", "/srv/somebody/model",
)  # fmt: skip
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_NAMES: Final = (
    "../package.json", "/etc/passwd", "..\\items.jsonl", "items.jsonl/", "ITEMS.JSONL", "C:items.jsonl", "items.jsonl\0.txt",
    "a/items.jsonl", "", "evil.py", "items.jsonl ", "．．/x",
)  # fmt: skip


def members_of(package: bytes) -> Members:
    """Reads the files of a sound package."""
    with zipfile.ZipFile(io.BytesIO(package)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def rehashed(members: Members) -> bytes:
    """Packs files with their current hashes, as a forger does; an invalid manifest stays as it is."""
    try:
        manifest = json.loads(members[MANIFEST])
        manifest["files"] = {
            name: file_facts(members[name])
            for name in MEMBERS
            if name in members and name != MANIFEST
        }
        manifest["content_sha256"] = content_sha256(manifest)
        members = {**members, MANIFEST: json.dumps(manifest).encode()}
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return zip_bytes(members)


def _bits(draw: random.Random, package: bytes) -> bytes:
    changed = bytearray(package)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _structure(draw: random.Random, package: bytes) -> bytes:
    """Changes a field of a header, in both or in one of its two places."""
    changed = bytearray(package)
    marks = [
        offset
        for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6")
        for offset in _offsets(package, mark)
    ]
    offset = draw.choice(marks) + 4 + draw.randrange(40)
    if offset + 4 <= len(changed):
        value = draw.choice(
            (0, 1, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, draw.getrandbits(32))
        )
        changed[offset : offset + 4] = struct.pack("<L", value)
    return bytes(changed)


def _offsets(content: bytes, mark: bytes) -> Iterator[int]:
    offset = content.find(mark)
    while offset >= 0:
        yield offset
        offset = content.find(mark, offset + 1)


def _cut(draw: random.Random, package: bytes) -> bytes:
    return package[: draw.randrange(len(package))]


def _random(draw: random.Random, package: bytes) -> bytes:
    return draw.randbytes(draw.choice((0, 1, 21, 22, 100, 5000))) + (
        package[-22:] if draw.random() < 0.5 else b""
    )


def _around(draw: random.Random, package: bytes) -> bytes:
    extra = draw.choice(
        (b"\0", b"PK\5\6" + b"\0" * 18, b"#!/bin/sh\n", draw.randbytes(50), package)
    )
    offset = draw.choice((0, len(package), draw.randrange(len(package))))
    return package[:offset] + extra + package[offset:]


def _zipped(draw: random.Random, package: bytes) -> bytes:
    """Changes names, kinds, methods, comments and extra fields of members, by a library that allows them."""
    buffer = io.BytesIO()
    members = members_of(package)
    with zipfile.ZipFile(
        buffer,
        "w",
        draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)),
    ) as opened:
        for name, content in members.items():
            info = zipfile.ZipInfo(
                name if draw.random() < 0.8 else draw.choice(_NAMES) or "x"
            )
            info.external_attr = (
                draw.choice((0o100644, 0o120777, 0o040755, 0o010644, 0o060644, 0)) << 16
            )
            info.extra = draw.choice(
                (b"", b"", b"UT\5\0\1\0\0\0\0", b"\1\0\x10\0" + b"\xff" * 16)
            )
            info.comment = draw.choice((b"", b"", b"x"))
            info.compress_type = draw.choice(
                (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
            )
            opened.writestr(info, content)
        opened.comment = draw.choice((b"", b"comment"))
    return buffer.getvalue()


def _bomb(draw: random.Random, package: bytes) -> bytes:
    """Adds a member that unpacks to far more than it should, declared or not."""
    name = draw.choice(MEMBERS)
    size = draw.choice((1 << 20, 1 << 24))
    content = draw.choice((b"\0", b" ", b"[", b'{"a":')) * (size // 4)
    members = {**members_of(package), name: content}
    bomb = bytearray(rehashed(members) if draw.random() < 0.5 else zip_bytes(members))
    if draw.random() < 0.5:  # with a header that declares a small size
        size_field = struct.pack("<L", len(content))
        bomb = bytearray(
            bytes(bomb).replace(
                size_field, struct.pack("<L", draw.choice((10, 1000, 1 << 20)))
            )
        )
    return bytes(bomb)


def _overlapping(draw: random.Random, package: bytes) -> bytes:
    """Lists several entries that share one member's bytes."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = b"\0" * (1 << 20)
    data = packed.compress(content) + packed.flush()
    facts = (20, 0, 8, 0, 33, zlib.crc32(content), len(data), len(content))
    name = ITEMS.encode()
    local = struct.pack("<4s5H3L2H", b"PK\3\4", *facts, len(name), 0) + name + data
    listed = b""
    count = draw.choice((2, 5, 100))
    for number in range(count):
        member = (
            MEMBERS[number % len(MEMBERS)].encode() if draw.random() < 0.8 else name
        )
        listed += (
            struct.pack(
                "<4s6H3L5H2L", b"PK\1\2", 20, *facts, len(member), 0, 0, 0, 0, 0, 0
            )
            + member
        )
    return (
        local
        + listed
        + struct.pack(
            "<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(listed), len(local), 0
        )
    )


def _literal(draw: random.Random, package: bytes) -> bytes:
    """Puts a hostile value in the place of another one."""
    members = members_of(package)
    name = draw.choice(list(members))
    content = members[name]
    offsets = list(_offsets(content, b": "))
    start = draw.choice(offsets) + 2
    end = min(
        offset
        for offset in (content.find(mark, start) for mark in (b",", b"}", b"\n"))
        if offset > 0
    )
    members[name] = content[:start] + draw.choice(_LITERALS) + content[end:]
    return rehashed(members) if draw.random() < 0.7 else zip_bytes(members)


def _values(draw: random.Random, package: bytes) -> bytes:
    """Changes one value in a JSON file, and nothing else."""
    members = members_of(package)
    name = draw.choice(list(members))
    if name in (MANIFEST, RESULTS):
        value = json.loads(members[name])
        _change(draw, value)
        members[name] = json.dumps(value).encode() + b"\n"
    else:
        lines = members[name].splitlines()
        number = draw.randrange(len(lines))
        row = json.loads(lines[number])
        _change(draw, row)
        lines[number] = json.dumps(row).encode()
        members[name] = b"\n".join(lines) + b"\n"
    return rehashed(members)


def _change(draw: random.Random, value: Any) -> None:
    """Changes one place in lists and objects."""
    while isinstance(value, dict | list) and value:
        key = draw.choice(
            list(value) if isinstance(value, dict) else list(range(len(value)))
        )
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.9:
            value = inner
            continue
        how = draw.random()
        if how < 0.2:
            del value[key]
        elif how < 0.4 and isinstance(value, dict):
            value[
                draw.choice(("", "x", "__class__", "a" * 300, "\u202e", "id", "value"))
            ] = inner
        else:
            value[key] = _other(draw, inner)
        return


def _other(draw: random.Random, value: Any) -> Any:
    if (
        isinstance(value, float | int)
        and not isinstance(value, bool)
        and draw.random() < 0.6
    ):
        return draw.choice(
            (value + 1, value * 1.0000001 + 1e-7, -value - 1, 0, 1e18, 10**30, 0.5)
        )
    return draw.choice((*_OTHER, {"value": value}, [value] * 3))


def _lines(draw: random.Random, package: bytes) -> bytes:
    """Doubles, drops, swaps or cuts lines, or makes them very long or very many."""
    members = members_of(package)
    name = draw.choice([member for member in members if member.endswith(".jsonl")])
    lines = members[name].splitlines(keepends=True)
    number, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    how = draw.randrange(8)
    if how == 0:
        lines.insert(number, lines[other])
    elif how == 1:
        del lines[number]
    elif how == 2:
        lines[number], lines[other] = lines[other], lines[number]
    elif how == 3:
        lines[number] = lines[number][: draw.randrange(len(lines[number]))]
    elif how == 4:
        lines[number] = b'{"task": "' + b"a" * (1 << 21) + b'"}\n'
    elif how == 5:
        lines += [
            draw.choice(
                (b"\n", b"{}\n", b"[]\n", b"1\n", b'"\n', b'{"task": "medcalc"}\n')
            )
        ] * draw.choice((1, 400_000))
    elif how == 6:
        lines[number] = b'{"a": ' + b'[1, "' + b'\\"' * 200_000 + b"]}\n"
    else:
        lines[number] = b'{"a": [' + b"0," * 400_000 + b"0]}\n"
    members[name] = b"".join(lines)
    return rehashed(members) if draw.random() < 0.8 else zip_bytes(members)


def _members(draw: random.Random, package: bytes) -> bytes:
    """Drops, swaps or empties members."""
    members = members_of(package)
    name = draw.choice(list(members))
    how = draw.randrange(4)
    if how == 0:
        del members[name]
    elif how == 1:
        members[name] = b""
    elif how == 2:
        other = draw.choice(list(members))
        members[name], members[other] = members[other], members[name]
    else:
        members[draw.choice((VERDICTS, name))] = members[name] * 2
    return rehashed(members) if draw.random() < 0.5 else zip_bytes(members)


def _sound(draw: random.Random, package: bytes) -> bytes:
    return package


_MUTATIONS: Final[tuple[Callable[[random.Random, bytes], bytes], ...]] = (
    _bits, _structure, _cut, _random, _around, _zipped, _bomb, _overlapping, _literal, _values, _values, _values, _lines, _members,
    _sound,
)  # fmt: skip


def hostile_packages(
    sound: bytes, count: int, *, seed: int
) -> Iterator[tuple[str, bytes]]:
    """Makes packages of a sound one.

    Args:
        sound: the sound package, small.
        count: how many.
        seed: of the random choices.

    Yields:
        The name of the change, and the package.
    """
    for number in range(count):
        draw = random.Random(f"{seed}:{number}")
        mutation = _MUTATIONS[number % len(_MUTATIONS)]
        yield mutation.__name__.strip("_"), mutation(draw, sound)


def try_package(content: bytes) -> str:
    """Reads a package; returns `taken` or the reason. Any other exception is a fault, as is a taken package that is no JSON."""
    try:
        package = read_package(content)
        json.dumps(
            [package.results, package.verdicts, package.answers], allow_nan=False
        )
    except PackageError as error:
        text = str(error)
        if not text.isascii() or "\n" in text or len(text) > 1500:
            raise AssertionError(
                f"a message that is long or not plain: {ascii(text)[:300]}"
            ) from error
        return text
    return "taken"


class Guard:
    """An audit hook for the life of the process: while `armed`, reading may not write, start a process or connect."""

    def __init__(self) -> None:
        self.armed = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        forbidden = event.startswith(
            ("subprocess", "socket.", "os.remove", "os.rename", "os.mkdir", "os.system")
        )
        if forbidden or (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & _WRITING
        ):
            raise AssertionError(f"reading a package did {event} {arguments!r:.200}")


def _sound_package() -> bytes:
    """Makes a sound package, with and without a judge, from a few demo records."""
    from medical_tasks.data.fetching import build_dataset
    from medical_tasks.leaderboard.submission_package.contents import (
        Submitter,
        VerifyOptions,
    )
    from medical_tasks.leaderboard.submission_package.package_file import write_package

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for dataset in ("medcalc_bench", "kqa"):
            build_dataset(
                dataset, source=None, config="demo", out=folder / "data" / dataset
            )
        out = folder / "run"
        medical_tasks.run(
            "medcalc,kqa",
            "baseline/random",
            max_samples=4,
            config="demo",
            data=folder / "data",
            out=out,
        )
        out = folder / "made.zip"
        options = VerifyOptions(data=folder / "data")
        write_package(
            folder / "run",
            out,
            Submitter(model="Made"),
            options=options,
            allow_partial=True,
        )
        return out.read_bytes()


def main() -> None:
    """Runs the fuzzing and prints what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sound = _sound_package()
    if try_package(sound) != "taken":
        raise SystemExit("the sound package is refused")
    guard = Guard()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    taken: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    slowest = (0.0, "", 0)
    largest = 0
    started = time.perf_counter()
    for number, (kind, content) in enumerate(
        hostile_packages(sound, arguments.packages, seed=arguments.seed)
    ):
        kinds[kind] += 1
        largest = max(largest, len(content))
        begun = time.process_time()
        guard.armed = True
        outcome = try_package(content)
        guard.armed = False
        slowest = max(slowest, (time.process_time() - begun, kind, number))
        if outcome == "taken":
            taken[kind] += 1
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{arguments.packages:,} packages in {time.perf_counter() - started:.0f} s, the largest of {largest:,} bytes"
    )
    for kind, count in sorted(kinds.items()):
        print(f"  {kind:<12} {count:>6,}  taken {taken[kind]:,}")
    print(
        f"peak memory {after:.0f} MiB, {before:.0f} before the first (making the packages is in it)"
    )
    print(f"slowest: {slowest[0] * 1000:.0f} ms of CPU time, {slowest[1]} {slowest[2]}")


if __name__ == "__main__":
    main()
