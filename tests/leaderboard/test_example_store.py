"""The example leaderboard: real runs, and answers that others published, which are marked and not included."""

from __future__ import annotations

import csv
import functools
import io
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import MissingError
from medical_tasks.leaderboard.board import Board, entries_of
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.site import write_site
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import Package, VerifyOptions
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.verifying import verify_package
from scripts import example_store
from tests.case_tables import json_of
from tests.support import ROOT, SHARED, needs_shared

STORE = ROOT / "space" / "example-store"
LONGEST_QUOTE = 8
"""The number of consecutive words that no package may share with a source."""


@functools.cache
def packages() -> list[Package]:
    return [
        read_package(path) for path in sorted(STORE.glob("submissions/*/package.zip"))
    ]


@functools.cache
def tables() -> dict[str, str]:
    return example_store.tables(STORE)


def is_published(package: Package) -> bool:
    return any(
        "imported" in entry["recipe"] for entry in package.results["tasks"].values()
    )


def test_the_store_is_complete_and_names_its_sources(tmp_path: Path) -> None:
    board = Board(LocalStorage(shutil.copytree(STORE, tmp_path / "store")))
    assert not check_store(board).problems
    # An entry is unverified as long as its judge was not queried again.
    shown = Counter(
        (entry.task, entry.state) for entry in entries_of(board, published=False)
    )
    assert shown == {
        ("aci_bench", "unverified"): 1,
        ("aci_bench", "imported"): 16,
        ("kqa", "unverified"): 1,
        ("medcalc_direct", "verified"): 2,
        ("medcalc_direct", "imported"): 3,
        ("medcalc_one_shot", "imported"): 1,
        ("medcalc_code", "imported"): 1,
        ("meqsum", "unverified"): 1,
    }


def test_a_licence_is_stated_where_there_is_one() -> None:
    """Packages that are older than this statement keep their id, which the store's check compares."""
    assert packages()
    for package in packages():
        submitter = package.manifest.submitter
        assert "licence" not in submitter.stated() or submitter.licence
        assert replace(submitter, licence="mit").stated()["licence"] == "mit"


def test_published_answers_have_a_source_and_are_not_included() -> None:
    catalogue = example_store.Catalogue.read()
    expected = {
        (entry.model, entry.task, entry.file.address, entry.file.sha256)
        for entry in catalogue.entries
    }
    actual = set()
    for package in filter(is_published, packages()):
        ((task, entry),) = package.results["tasks"].items()
        imported = entry["recipe"]["imported"]
        (digest,) = imported["files"].values()
        actual.add(
            (package.manifest.submitter.model, task, imported["address"], digest)
        )
        assert package.answers == {}
        assert not package.verdicts
        assert imported["licence"].startswith(("CC-BY", "MIT"))
        assert imported["unknown"]
        assert entry["recipe"]["judge"] is None
        assert all(
            row["answer_sha256"] for row in package.items if row["unscored"] is None
        )
    assert actual == expected


def test_pages_mark_published_answers_without_a_rank(tmp_path: Path) -> None:
    write_site(
        Board(LocalStorage(shutil.copytree(STORE, tmp_path / "store"))),
        tmp_path / "site",
    )
    board = json_of(tmp_path / "site" / "data" / "board.json")
    rows = [dict(zip(board["columns"], row, strict=True)) for row in board["rows"]]
    marked = [row for row in rows if row["state"] == "imported"]
    assert len(marked) == 21
    assert board["states"]["imported"].startswith("answers that others published")
    for row in marked:
        assert row["source"].startswith("https://github.com/")
        assert row["first"] is None
        assert board["sentences"][row["notes"][0]].startswith(
            "Answers that others published"
        )
        group, task = board["groups"][row["group"]], board["tasks"][row["task"]]["name"]
        own = [
            other
            for other in board["groups"]
            if other["task"] == task and not other["imported"]
        ]
        # So they are listed next to runs on the same questions.
        assert group["imported"]
        assert all(other["data"] == group["data"] for other in own)
        assert board["groups"].index(group) > max(
            map(board["groups"].index, own), default=-1
        )
    table = (tmp_path / "site" / "leaderboard.csv").read_text(encoding="utf-8")
    lines = csv.DictReader(io.StringIO(table))
    direct = {
        (line["metric"], line["value"][:6], line["source"][:19])
        for line in lines
        if line["model"] == "GPT-4o mini"
    }
    assert {
        ("accuracy", "0.2063", "https://github.com/"),
        ("accuracy_corrected", "0.2220", "https://github.com/"),
    } <= direct


def test_tables_of_the_documents_equal_those_of_the_store() -> None:
    for name, table in tables().items():
        document = example_store.TABLES[name].read_text(encoding="utf-8")
        assert example_store.in_document(document, name, table) == document


def test_the_short_table_of_the_documents_agrees_with_the_full_one() -> None:
    def cells(text: str) -> list[list[str]]:
        return [
            row.strip("| ").split(" | ")
            for row in text.splitlines()
            if "| medcalc_" in row
        ]

    shown = cells((ROOT / "docs" / "real_models.md").read_text(encoding="utf-8"))
    full = cells(tables()["medcalc"])
    assert len(shown) == 6
    assert [
        row
        for row in shown
        if row not in [[*full_row[:3], full_row[5]] for full_row in full]
    ] == []


@needs_shared
def test_the_store_verifies_with_data_built_today(tmp_path: Path) -> None:
    for name, config, files in (
        ("medcalc_bench", "v1.0", "medcalc"),
        ("kqa", "answered", "kqa"),
        ("meqsum", "full", "meqsum"),
    ):
        build_dataset(
            name, source=SHARED / "data" / files, config=config, out=tmp_path / name
        )
    # ACI-BENCH's claims are not here.
    verifiable = [
        package for package in packages() if "aci_bench" not in package.manifest.tasks
    ]
    assert len(verifiable) == 9
    verifications = [
        verify_package(package, VerifyOptions(data=tmp_path)) for package in verifiable
    ]
    assert [verification.differs for verification in verifications] == [False] * 9
    # The answers of five are published elsewhere.
    assert sum(not verification.unproven for verification in verifications) == 4


@needs_shared
def test_no_source_is_quoted() -> None:
    data = SHARED / "data"
    sources = [
        data / "medcalc" / "test_data_v1.csv",
        *sorted((data / "aci_bench").rglob("*test1*.csv")),
    ]
    runs: set[tuple[str, ...]] = set()
    csv.field_size_limit(10**7)
    for path in sources:
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                long = (text for text in row.values() if len(text or "") > 100)
                for words in (text.split() for text in long):
                    runs |= {
                        tuple(words[at : at + LONGEST_QUOTE])
                        for at in range(len(words) - LONGEST_QUOTE + 1)
                    }
    assert len(runs) > 100_000
    for package in filter(is_published, packages()):
        words = json.dumps([package.results, list(package.items)], default=str).split()
        held = {
            tuple(words[at : at + LONGEST_QUOTE])
            for at in range(len(words) - LONGEST_QUOTE + 1)
        }
        assert not held & runs


def test_a_file_with_other_content_is_refused(tmp_path: Path) -> None:
    file = example_store.Catalogue.read().entries[0].file
    (tmp_path / file.name).write_text("{}\n", encoding="utf-8")
    with pytest.raises(MissingError, match=f"with SHA-256 {file.sha256[:12]}"):
        example_store.read_file(file, {file.repository: tmp_path})
