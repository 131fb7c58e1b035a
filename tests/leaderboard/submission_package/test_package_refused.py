"""What the reader of packages refuses, and what it says."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.package_fuzz import hostile_packages, members_of, rehashed, try_package
from medical_tasks.errors import MissingError
from medical_tasks.leaderboard.submission_package.contents import (
    ANSWERS,
    ITEMS,
    MANIFEST,
    MEMBERS,
    RESULTS,
    Package,
    PackageError,
    ReadLimits,
)
from medical_tasks.leaderboard.submission_package.reading import read_package
from tests.leaderboard.submission_package.forged_packages import Opened, forged

Members = dict[str, bytes]


def zipped(package: bytes, **fields: Any) -> bytes:
    """The same files, with fields of the first member's header as given."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as opened:
        for number, (name, content) in enumerate(members_of(package).items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for field, value in fields.items() if number == 0 else ():
                setattr(info, field, value)
            opened.writestr(info, content)
    return made.getvalue()


def changed(place: int, value: bytes) -> Callable[[bytes], bytes]:
    """Bytes of the first entry of the list changed."""

    def change(package: bytes) -> bytes:
        start = package.index(b"PK\1\2") + place
        return package[:start] + value + package[start + len(value) :]

    return change


def overlapping(package: bytes) -> bytes:
    """Two entries of the list on one member's bytes."""
    second = package.index(b"PK\1\2", package.index(b"PK\1\2") + 4)
    return package[: second + 42] + struct.pack("<L", 0) + package[second + 46 :]


def twice(package: bytes) -> bytes:
    made = io.BytesIO(package)
    with zipfile.ZipFile(made, "a") as opened, pytest.warns(UserWarning, match="Duplicate name"):
        opened.writestr(zipfile.ZipInfo(ITEMS), b"{}\n")
    return made.getvalue()


ZIPS: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda package: b"", "is not a zip file"),
    (lambda package: b"\0" * 5000, "is not a zip file"),
    (lambda package: package[:-1], "is not a zip file, or something stands behind its end, or it is cut off"),
    (lambda package: package + b"\n", "something stands behind its end"),
    (lambda package: b"#!/bin/sh\n" + package, "has something between the list of its files and its end"),
    (lambda package: zipped(package, external_attr=0o120777 << 16), "as a link, folder or device"),
    (lambda package: zipped(package, external_attr=0o060644 << 16), "as a link, folder or device"),
    (lambda package: zipped(package, external_attr=0x10), "as a link, folder or device"),
    (lambda package: zipped(package, filename="../package.json"), r"nothing else, got the name b'\.\./package\.json'"),
    (lambda package: zipped(package, filename="/etc/passwd"), "got the name b'/etc/passwd'"),
    (lambda package: zipped(package, filename="a\\b"), r"got the name b'a\\\\b'"),
    (lambda package: zipped(package, compress_type=zipfile.ZIP_BZIP2), "packed otherwise than stored or deflated"),
    (lambda package: zipped(package, extra=b"UT\5\0\1\0\0\0\0"), "has extra fields or a comment at package.json"),
    (lambda package: zipped(package, comment=b"x"), "has extra fields or a comment at package.json"),
    (changed(8, b"\1\0"), "encrypted"),
    (changed(8, b"\x08\0"), "streamed"),
    (changed(24, b"\xff\xff\xff\xff"), "4,294,967,295 bytes unpacked, and at most"),
    (changed(16, b"\0\0\0\0"), "says one thing of package.json in its list and another where it stands"),
    (changed(42, b"\5\0\0\0"), "has package.json overlapping with another file, or something between them"),
    (overlapping, "overlapping with another file"),
    (twice, "names the file items.jsonl twice"),
]


@pytest.mark.parametrize(("change", "said"), ZIPS)
def test_zip_files_that_are_not_plain(medcalc: bytes, change: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(PackageError, match=said):
        read_package(change(medcalc))


def test_damaged_content(medcalc: bytes) -> None:
    start = medcalc.index(b"PK\3\4") + 30 + len(MANIFEST) + 20
    with pytest.raises(PackageError, match=r"is damaged: package\.json"):
        read_package(medcalc[:start] + bytes([medcalc[start] ^ 4]) + medcalc[start + 1 :])


def test_a_bomb_is_not_unpacked(medcalc: bytes) -> None:
    bomb = rehashed({**members_of(medcalc), ANSWERS: b"\0" * (1 << 20)})
    with pytest.raises(PackageError, match=r"has answers\.jsonl packed [\d,]+ to 1, and at most 200 to 1 are taken"):
        read_package(bomb)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (ReadLimits(package_bytes=100), "bytes, and at most 100 are taken"),
        (ReadLimits(total_bytes=1000), "bytes unpacked, and at most 1,000 are taken"),
        (ReadLimits(member_bytes=1000), "bytes unpacked, and at most 1,000 are taken"),
        (ReadLimits(items=3), "items.jsonl: 9 lines, and at most 3 are taken"),
        (ReadLimits(line_bytes=100), "items.jsonl, line 1: has .* bytes, and a line has at most 100"),
        (ReadLimits(depth=2), "stand more than 2 deep in one another"),
        (ReadLimits(values=9), "more than 9 values"),
        (ReadLimits(total_values=99), "the package has more than 99 values"),
        (ReadLimits(groups=2), "group_category: more than 2 groups"),
        (ReadLimits(number_characters=3), "a number of .* characters; at most 3 are taken"),
    ],
)
def test_limits(medcalc: bytes, limits: ReadLimits, said: str) -> None:
    with pytest.raises(PackageError, match=said):
        read_package(medcalc, limits=limits)


def in_file(name: str, old: bytes, new: bytes) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        assert old in members[name]
        members[name] = members[name].replace(old, new, 1)

    return change


JSON: list[tuple[Callable[[Members], None], str]] = [
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": NaN'), r"items\.jsonl, line 1: not JSON \(NaN is no JSON"),
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": -Infinity'), "not JSON"),
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": 1e999'), "the number '1e999' is too large"),
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": ' + b"9" * 5000), "a number of 5,000 characters"),
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": 0.5'), "line 1, accuracy: must be 0, 1, null, or the text nan, got 0.5"),
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": 0.0, "accuracy": 1.0'), "a name stands twice"),
    (in_file(ITEMS, b'"accuracy": 0.0', b'"accuracy": null'), "is null, and unscored does not say why"),
    (in_file(ITEMS, b'"parsed": ', b'"parsed": ' + b"[" * 3000 + b"]" * 3000 + b', "x": '), "more than 24 deep"),
    (in_file(ITEMS, b'"parsed": "', b'"parsed": "\xff'), "not UTF-8 text"),
    (in_file(ITEMS, b'"parsed": ', b'"extra": 1, "parsed": '), "has a field 'extra', which is none of its own"),
    (in_file(ITEMS, b'"cluster": ', b'"bluster": '), "lacks 'cluster'"),
    (in_file(ITEMS, b'"task": "medcalc"', b'"task": "no-task"'), "task: must be one of medcalc, got 'no-task'"),
    (in_file(ITEMS, b"\n", b"\n\n"), "line 2: not JSON"),
    (in_file(ANSWERS, b'"response": "', b'"response": "more'), "is not the answer to .* whose hash stands in"),
    (in_file(RESULTS, b'"schema_version": 1', b'"schema_version": 9'), "schema_version: must be one of 1, got 9"),
    (in_file(RESULTS, b'"task_version"', b'"version"'), "recipe: lacks 'task_version'"),
    (in_file(RESULTS, b'"config": "demo"', b'"config": "../x"'), r"got 'medcalc' on 'medcalc_bench' \('\.\./x'\)"),
    (in_file(RESULTS, b'"split": "test"', b'"split": "../x"'), "split: must be the name of a split"),
    (in_file(RESULTS, b'"split": "test"', b'"split": "test+"'), "split: must be the name of a split"),
    (in_file(RESULTS, b"baseline/random", b"hf//home/somebody/m"), "names a path, a file or an address of the machine"),
    (in_file(MANIFEST, b'"format": 1', b'"format": 2'), "is of format 2, and this version reads format 1"),
    (in_file(MANIFEST, b'"model": "A model"', b'"model": "A\\u202emodel"'), "none of them a control or bidirectional one"),
    (in_file(MANIFEST, b'"model": "A model"', b'"model": ""'), "submitter, model: must be a text of 1 to 96"),
    (in_file(MANIFEST, b'"url": ""', b'"url": "javascript:alert(1)"'), "url: must be an https:// address"),
    (in_file(MANIFEST, b'"url": ""', b'"url": "https://user@example.org/"'), "url: must be an https:// address"),
    (in_file(MANIFEST, b'"parameters": null', b'"parameters": -1'), "parameters: must be a number of"),
    (in_file(MANIFEST, b"synthetic demo records", b"real records"), "partial: is not what the recipes say"),
    (in_file(MANIFEST, b'"medcalc"\n ]', b'"medcalc", "kqa"\n ]'), "its tasks are not those that package.json names"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), JSON)
def test_content_that_is_not_of_the_form(medcalc: bytes, change: Callable[[Members], None], said: str) -> None:
    members = members_of(medcalc)
    change(members)
    with pytest.raises(PackageError, match=said):
        read_package(rehashed(members))


def test_a_text_without_an_end_takes_no_time_in_squares(medcalc: bytes) -> None:
    members = members_of(medcalc)
    members[ITEMS] = b'{"a": [1, ' + b'"' + b"".join(b'\\"' + b"%d" % n for n in range(90_000)) + b"," * 6000 + b"\n"
    with pytest.raises(PackageError, match="a text without an end"):
        read_package(rehashed(members))


def one_digit(opened: Opened) -> None:
    opened.entry["metrics"]["accuracy"]["ci_high"] += 1e-6


def one_in_a_group(opened: Opened) -> None:
    next(iter(opened.entry["breakdown"]["category"].values()))["accuracy"]["n"] += 1


def more_answered(opened: Opened) -> None:
    opened.entry["coverage"]["scored"] += 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (one_digit, "medcalc, metrics, accuracy, ci_high: .* in the package, .* computed from items.jsonl"),
        (one_in_a_group, "breakdown, category, .*, accuracy, n: "),
        (more_answered, "coverage, scored: 10 in the package, 9 computed"),
        (
            lambda opened: opened.entry["breakdown"]["category"].update({"made up": {}}),
            "breakdown, category, made up: an object of 0 in the package, nothing computed",
        ),
    ],
)
def test_numbers_that_the_items_do_not_give(medcalc: bytes, change: Callable[[Opened], Any], said: str) -> None:
    with pytest.raises(PackageError, match=said):
        read_package(forged(medcalc, change, totals=False))


def too_few_votes(opened: Opened) -> None:
    opened.entry["judge"]["votes"] = opened.entry["recipe"]["judge"]["votes"] = 5


def said_comparable(opened: Opened) -> None:
    opened.entry["judge"]["comparable"] = opened.entry["recipe"]["judge"]["comparable"] = True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda opened: opened.items.append(opened.items[0]), "of kqa stands twice"),
        (lambda opened: opened.answers.pop(), "answers.jsonl: lacks the answer to"),
        (
            lambda opened: opened.verdicts.append({**opened.verdicts[0], "id": "nobody/must/0"}),
            "the question 'nobody/must/0' is about no item of kqa",
        ),
        (lambda opened: opened.verdicts[0].update(value="entailment", votes=["neutral"]), "value: must be what most votes say"),
        (too_few_votes, "that fewer votes decided than its judge gives"),
        (lambda opened: opened.entry.update(cut_at_length=6), "cut_at_length or shortened is not of as many items"),
        (
            lambda opened: opened.entry["recipe"].update(truncation={"words_left_out": {opened.items[0]["id"]: 3}}),
            "cut_at_length or shortened is not of as many items",
        ),
        (said_comparable, "the judge lexical is never comparable"),
    ],
)  # fmt: skip
def test_parts_that_do_not_belong_together(kqa: bytes, change: Callable[[Opened], Any], said: str) -> None:
    with pytest.raises(PackageError, match=said):
        read_package(forged(kqa, change, totals=False))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda opened: opened.items[0].update(why="The patient slept badly."),
            "why: may hold a text, and the data are credentialed",
        ),
        (
            lambda opened: opened.answers.append(
                {"task": "mimic_rrs", "id": opened.items[0]["id"], "response": "He slept."}
            ),
            "may not leave the machine",
        ),
    ],
)
def test_no_text_of_credentialed_data_is_taken(credentialed: bytes, change: Callable[[Opened], Any], said: str) -> None:
    with pytest.raises(PackageError, match=said) as caught:
        read_package(forged(credentialed, change, totals=False))
    assert "slept" not in str(caught.value)


def test_values_without_a_denominator_are_not_those_undecided(kqa: bytes) -> None:
    raw = [json.loads(line) for line in members_of(kqa)[ITEMS].splitlines()]
    read = read_package(kqa).items
    tokens = [(row["id"], name) for row in raw for name, value in row.items() if value == "nan"]
    nans = [(row["id"], name) for row in read for name, value in row.items() if value != value]
    assert nans == tokens


def test_places_that_are_no_file(tmp_path: Path, medcalc: bytes) -> None:
    with pytest.raises(MissingError, match="No such file"):
        read_package(tmp_path / "none.zip")
    with pytest.raises(PackageError, match="is not a file"):
        read_package(tmp_path)
    file = tmp_path / "package.zip"
    file.write_bytes(medcalc)
    assert read_package(file) == read_package(medcalc)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_packages_are_refused_or_taken_by_rule(right: bytes) -> None:
    outcomes = [(kind, try_package(content)) for kind, content in hostile_packages(right, 150, seed=8)]
    taken = [kind for kind, outcome in outcomes if outcome == "taken"]
    assert len(outcomes) == 150
    assert taken.count("sound") == 10
    assert not {"around", "bomb", "cut", "overlapping", "random", "zipped"}.intersection(taken)


def test_members_are_those_documented(kqa: bytes) -> None:
    assert tuple(members_of(kqa)) == MEMBERS
    assert isinstance(read_package(kqa), Package)
