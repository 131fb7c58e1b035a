"""Packages that the reader refuses, and its messages."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measurements.package_fuzz import (
    hostile_packages,
    members_of,
    rehashed,
    try_package,
)
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.leaderboard.submission_package.reading import read_package
from tests.leaderboard.made_packages import cases
from tests.leaderboard.submission_package.forged_packages import Opened, forged, put

CASES = cases("package_refused")


def zipped(package: bytes, **fields: Any) -> bytes:
    """Packs the same files, with these fields in the first member's header."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        for number, (name, content) in enumerate(members_of(package).items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for field, value in fields.items() if number == 0 else ():
                setattr(info, field, value)
            opened.writestr(info, content)
    return buffer.getvalue()


def overlapping(package: bytes) -> bytes:
    """Makes two entries of the list point to one member's bytes."""
    second = package.index(b"PK\1\2", package.index(b"PK\1\2") + 4)
    return package[: second + 42] + struct.pack("<L", 0) + package[second + 46 :]


def twice(package: bytes) -> bytes:
    buffer = io.BytesIO(package)
    with (
        zipfile.ZipFile(buffer, "a") as opened,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        opened.writestr(zipfile.ZipInfo(contents.ITEMS), b"{}\n")
    return buffer.getvalue()


ZIPS: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda package: b"", "is not a zip file"),
    (lambda package: b"\0" * 5000, "is not a zip file"),
    (
        lambda package: package[:-1],
        "is not a zip file, has data after its end, or is truncated",
    ),
    (lambda package: package + b"\n", "has data after its end"),
    (
        lambda package: b"#!/bin/sh\n" + package,
        "has something beside its files and their list",
    ),
    (overlapping, "overlapping with another file"),
    (twice, "names the file items.jsonl twice"),
]


def header(fields: dict[str, Any]) -> Callable[[bytes], bytes]:
    encoded = {
        key: value.encode("latin-1") if key in ("extra", "comment") else value
        for key, value in fields.items()
    }
    return lambda package: zipped(package, **encoded)


def listed(offset: int, value: str) -> Callable[[bytes], bytes]:
    def change(package: bytes) -> bytes:
        start = package.index(b"PK\1\2") + offset
        return package[:start] + value.encode("latin-1") + package[start + len(value) :]

    return change


ZIPS += [(header(fields), message) for fields, message in CASES["headers"]]
ZIPS += [(listed(offset, value), message) for offset, value, message in CASES["listed"]]


@pytest.mark.parametrize(("change", "message"), ZIPS)
def test_malformed_zip_files(
    medcalc: bytes, change: Callable[[bytes], bytes], message: str
) -> None:
    with pytest.raises(contents.PackageError, match=message):
        read_package(change(medcalc))


def test_damaged_content_and_a_bomb(medcalc: bytes) -> None:
    start = medcalc.index(b"PK\3\4") + 30 + len(contents.MANIFEST) + 20
    with pytest.raises(contents.PackageError, match=r"is damaged: package\.json"):
        read_package(
            medcalc[:start] + bytes([medcalc[start] ^ 4]) + medcalc[start + 1 :]
        )
    bomb = rehashed({**members_of(medcalc), contents.ANSWERS: b"\0" * (1 << 20)})
    with pytest.raises(
        contents.PackageError,
        match=r"has answers\.jsonl packed [\d,]+ to 1, and at most 200 to 1 are taken",
    ):
        read_package(bomb)


@pytest.mark.parametrize(("limits", "message"), CASES["limits"])
def test_limits(medcalc: bytes, limits: dict[str, int], message: str) -> None:
    with pytest.raises(contents.PackageError, match=message):
        read_package(medcalc, limits=contents.ReadLimits(**limits))


LONG = [
    (
        contents.ITEMS,
        '"accuracy": 0.0',
        '"accuracy": ' + "9" * 5000,
        "a number of 5,000 characters",
    ),
    (
        contents.ITEMS,
        '"parsed": ',
        '"parsed": ' + "[" * 3000 + "]" * 3000 + ', "x": ',
        "more than 24 deep",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), [*CASES["content"], *LONG])
def test_malformed_content(
    medcalc: bytes, name: str, old: str, new: str, message: str
) -> None:
    members = members_of(medcalc)
    assert old.encode() in members[name]
    members[name] = members[name].replace(old.encode(), new.encode("latin-1"), 1)
    with pytest.raises(contents.PackageError, match=message):
        read_package(rehashed(members))


def test_an_unterminated_string_is_read_in_linear_time(medcalc: bytes) -> None:
    members = members_of(medcalc)
    members[contents.ITEMS] = (
        b'{"a": [1, '
        + b'"'
        + b"".join(b'\\"' + b"%d" % n for n in range(90_000))
        + b"," * 6000
        + b"\n"
    )
    with pytest.raises(contents.PackageError, match="not JSON .Unterminated string"):
        read_package(rehashed(members))


CHANGES: dict[str, Callable[[Opened], Any]] = {
    "item twice": lambda opened: opened.items.append(opened.items[0]),
    "false cost": lambda opened: opened.entry["judge"].update(
        usage=opened.entry["judge"]["usage"] | {"cost_usd": 0.5}
    ),
    "no judge": lambda opened: opened.entry["recipe"].update(judge=None),
    "no answer": lambda opened: opened.answers.pop(),
    "verdict of nobody": lambda opened: opened.verdicts.append(
        {**opened.verdicts[0], "id": "nobody/must/0"}
    ),
    "shortened": lambda opened: opened.entry["recipe"].update(
        truncation={"words_left_out": {opened.items[0]["id"]: 3}}
    ),
    "credentialed answer": lambda opened: opened.answers.append(
        {"task": "mimic_rrs", "id": opened.items[0]["id"], "response": "He slept."}
    ),
}


@pytest.mark.parametrize(("package", "change", "message"), CASES["forged"])
def test_inconsistent_parts_and_credentialed_text(
    request: pytest.FixtureRequest,
    package: str,
    change: str | dict[str, Any],
    message: str,
) -> None:
    apply = (
        CHANGES[change]
        if isinstance(change, str)
        else lambda opened: put(opened, change)
    )
    with pytest.raises(contents.PackageError, match=message) as caught:
        read_package(forged(request.getfixturevalue(package), apply, totals=False))
    assert "slept" not in str(caught.value)


def test_nan_values_and_names_of_members(kqa: bytes) -> None:
    raw = [json.loads(line) for line in members_of(kqa)[contents.ITEMS].splitlines()]
    read = read_package(kqa).items
    tokens = [
        (row["id"], name)
        for row in raw
        for name, value in row.items()
        if value == "nan"
    ]
    nans = [
        (row["id"], name)
        for row in read
        for name, value in row.items()
        if value != value
    ]
    assert nans == tokens
    assert tuple(members_of(kqa)) == contents.MEMBERS


def test_an_unclear_answer_is_never_right(medcalc: bytes) -> None:
    """Otherwise a forger could mark right answers as unclear, or widen the bounds of another metric with wrong ones."""

    def unclear(opened: Opened) -> None:
        opened.items[0] |= {"accuracy": 1.0, "unclear": "a bound"}

    message = "accuracy: must be 0 where unclear has a reason, got 1"
    with pytest.raises(contents.PackageError, match=message):
        read_package(forged(medcalc, unclear, totals=False))


def test_packages_of_suites_without_unclear_answers_are_read(medcalc: bytes) -> None:
    def older(opened: Opened) -> None:
        del opened.entry["coverage"]["unclear"]
        for row in opened.items:
            del row["unclear"]

    package = read_package(forged(medcalc, older, totals=False))
    assert {row["unclear"] for row in package.items} == {""}


def test_missing_files_and_folders(tmp_path: Path, medcalc: bytes) -> None:
    with pytest.raises(MissingError, match=r"no such file\. Give the \.zip"):
        read_package(tmp_path / "none.zip")
    with pytest.raises(
        UsageError, match=r"cannot be read \(Is a directory\)\. Give the \.zip"
    ):
        read_package(tmp_path)
    file = tmp_path / "package.zip"
    file.write_bytes(medcalc)
    assert read_package(file) == read_package(medcalc)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_packages(right: bytes) -> None:
    outcomes = [
        (kind, try_package(content))
        for kind, content in hostile_packages(right, 150, seed=8)
    ]
    taken = [kind for kind, outcome in outcomes if outcome == "taken"]
    assert len(outcomes) == 150
    assert taken.count("sound") == 10
    assert not {
        "around",
        "bomb",
        "cut",
        "overlapping",
        "random",
        "zipped",
    }.intersection(taken)
