"""The pages as files: their content, when they are written, and that no submitter's text becomes markup."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from medical_tasks.catalog import task_spec
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.site import CACHE, write_site
from medical_tasks.leaderboard.storage import LocalStorage
from tests.case_tables import json_of
from tests.leaderboard.made_packages import accepted, fill, package

OFFICIAL = {"prompts": {"set": "official", "sha256": "cd" * 32}}


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(LocalStorage(tmp_path / "store"))


def rows(out: Path) -> list[dict[str, Any]]:
    """Returns the rows of submissions in `board.json`, by the names of their columns."""
    content = json_of(out / "data" / "board.json")
    named = [dict(zip(content["columns"], row, strict=True)) for row in content["rows"]]
    return [
        {
            **row,
            "task": content["tasks"][row["task"]]["name"],
            "group": content["groups"][row["group"]],
        }
        for row in named
        if row["state"] != "reported"
    ]


def test_rows_have_the_ranks_of_the_board(board: Board, tmp_path: Path) -> None:
    for model, right in (("Strong", 36), ("Middle", 24), ("Weak", 6), ("Odd", 20)):
        accepted(board, package(model, right=right, of=40))
    accepted(board, package("Elsewhere", right=40, of=40, recipe=OFFICIAL))
    waiting = board.submit(package("Waiting", of=40)).id
    out = tmp_path / "site"
    assert write_site(board, out) == 5
    by_model = {row["model"]: row for row in rows(out)}
    # Wilson intervals of 36, 24, 20 and 6 of 40 overlap in the middle alone; another
    # prompt set is another group.
    assert {model: (row["first"], row["last"]) for model, row in by_model.items()} == {
        "Strong": (1, 1), "Middle": (2, 3), "Odd": (2, 3), "Weak": (4, 4), "Elsewhere": (1, 1),
    }  # fmt: skip
    assert by_model["Strong"]["group"]["words"] == "v1.0 test, own prompts"
    assert (
        by_model["Strong"]["group"]["count"],
        by_model["Elsewhere"]["group"]["count"],
    ) == (4, 1)
    assert (
        by_model["Weak"]["value"],
        by_model["Weak"]["scored"],
        by_model["Weak"]["asked"],
    ) == (
        0.15,
        40,
        40,
    )
    by_metric = json_of(out / "data" / "tasks" / "medcalc.json")
    weak = by_metric["results"][by_model["Weak"]["submission"]]["accuracy"]
    assert dict(zip(by_metric["columns"], weak, strict=True))["value"] == 0.15
    assert len(by_metric["papers"]) == 8
    queue = json_of(out / "data" / "queue.json")
    assert {entry["id"]: entry["events"][-1][0] for entry in queue}[
        waiting
    ] == "pending"
    assert {path.stem for path in (out / "packages").iterdir()} == {
        row["submission"] for row in by_model.values()
    }


def test_a_marked_result_has_a_reason_and_no_rank(board: Board, tmp_path: Path) -> None:
    accepted(board, package("Model", right=20, of=40))
    accepted(board, package("Half", right=20, of=100, unanswered=5))
    write_site(board, tmp_path / "site")
    by_model = {row["model"]: row for row in rows(tmp_path / "site")}
    assert (by_model["Half"]["first"], by_model["Model"]["first"]) == (None, 1)
    sentences = json_of(tmp_path / "site" / "data" / "board.json")["sentences"]
    comparable, marked = (sentences[number] for number in by_model["Half"]["notes"])
    assert (
        comparable
        == "Comparable with the paper: no (own prompts; 95 of 1,047 items answered)."
    )
    assert "95.0 % of the items have a score" in marked


def test_only_new_packages_are_read(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, out = tmp_path / "store", tmp_path / "site"
    fill(store, 3, random.Random(1))
    write_site(board, out)
    read: list[str] = []
    real = LocalStorage.read

    def seen(self: LocalStorage, name: str) -> bytes:
        read.append(name)
        return real(self, name)

    monkeypatch.setattr(LocalStorage, "read", seen)
    fill(store, 1, random.Random(2), first=3)
    assert write_site(board, out) == 4
    assert len([name for name in read if name.endswith(".zip")]) == 1
    # Another version of the suite reads all packages again; a withdrawn package is removed.
    (out / CACHE).write_text(
        "{}\n" + "".join((out / CACHE).read_text().splitlines(keepends=True)[1:])
    )
    gone = rows(out)[0]["submission"]
    board.decide(gone, "rejected", by="keeper", reason="A test.")
    read.clear()
    assert write_site(board, out) == 3
    assert len([name for name in read if name.endswith(".zip")]) == 3
    assert not (out / "packages" / f"{gone}.zip").exists()


def test_unchanged_files_are_kept_and_gzip_files_match(
    board: Board, tmp_path: Path
) -> None:
    accepted(board, package("Model", right=20, of=40))
    out = tmp_path / "site"
    write_site(board, out)
    before = {
        path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()
    }
    write_site(board, out)
    changed = {
        path.name for path, at in before.items() if path.stat().st_mtime_ns != at
    }
    assert changed <= {CACHE, "board.json", "board.json.gz"}  # the time they were made
    packed = list(out.rglob("*.gz"))
    assert len(packed) > 30
    for path in packed:
        assert gzip.decompress(path.read_bytes()) == path.with_suffix("").read_bytes()


def test_a_damaged_package_is_left_out_and_reported(
    board: Board, tmp_path: Path
) -> None:
    sound, odd = (
        accepted(board, package(model, right=20, of=40)) for model in ("Sound", "Odd")
    )
    (tmp_path / "store" / "submissions" / odd / "package.zip").write_bytes(b"PK")
    assert write_site(board, tmp_path / "site") == 1
    assert "not the file that was submitted" in board.damaged[odd]
    assert [row["submission"] for row in rows(tmp_path / "site")] == [sound]


def test_other_files_are_not_overwritten(board: Board, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="has files of something else"):
        write_site(board, tmp_path / "mine")
    with pytest.raises(UsageError, match="is no folder"):
        write_site(board, tmp_path / "mine" / "thesis.txt")
    with pytest.raises(IncompleteError, match="cannot be written"):
        write_site(board, tmp_path / "mine" / "thesis.txt" / "site")
    assert write_site(board, tmp_path / "empty") == 0
    assert rows(tmp_path / "empty") == []


def test_the_table_can_be_downloaded(board: Board, tmp_path: Path) -> None:
    name = accepted(
        board,
        package("=HYPERLINK(1)x", organisation="+An organisation", right=20, of=40),
    )
    out = tmp_path / "site"
    write_site(board, out)
    table = pq.read_table(out / "leaderboard.parquet").to_pylist()
    assert table == json_of(out / "leaderboard.json")
    mine = [row for row in table if row["submission"] == name]
    results = board.results(name)["tasks"]["medcalc"]["metrics"]
    assert {row["metric"]: row["value"] for row in mine} == {
        name: figure["value"] for name, figure in results.items()
    }
    assert mine[0]["model"] == "=HYPERLINK(1)x"
    with (out / "leaderboard.csv").open(newline="") as file:
        read = [row for row in csv.DictReader(file) if row["submission"] == name]
    assert (read[0]["model"], read[0]["organisation"]) == (
        "'=HYPERLINK(1)x",
        "'+An organisation",
    )
    assert len(read) == len(mine)


def test_the_page_has_no_data_and_only_its_own_scripts(
    board: Board, tmp_path: Path
) -> None:
    hostile = "Odd <img src=x onerror=alert(1)> {{model}} ${model} </script>"
    accepted(board, package(hostile, right=20, of=40))
    out = tmp_path / "site"
    write_site(board, out)
    page = (out / "index.html").read_text()
    assert "onerror" not in page
    fetched = re.findall(
        r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]*)"', page
    )
    assert fetched == ["data:,", "leaderboard.css", "data/board.json", "leaderboard.js"]
    assert not re.search(r"<script(?! src)|<[^>]* (?:on[a-z]+|style)=", page)
    assert "script-src 'self'; style-src 'self'" in page
    scripts = (out / "leaderboard.js").read_text()
    # Texts become text nodes: nothing makes markup or code of them.
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function",
        scripts,
    )


def test_of_credentialed_data_only_scores_are_published(
    board: Board, tmp_path: Path
) -> None:
    name = accepted(
        board, package("Model", right=20, of=40, task="ehrnoteqa_mc_prob_index_level1")
    )
    write_site(board, tmp_path / "site")
    with zipfile.ZipFile(tmp_path / "site" / "packages" / f"{name}.zip") as published:
        lines = [
            json.loads(line) for line in published.read("items.jsonl").splitlines()
        ]
        assert set(published.namelist()) == {
            "results.json",
            "items.jsonl",
            "answers.jsonl",
        }
        assert published.read("answers.jsonl") == b""
    scores = {
        metric.name for metric in task_spec("ehrnoteqa_mc_prob_index_level1").metrics
    }
    allowed = {"task", "id", "cluster", "unscored", "unclear", *scores} | {
        key for key in lines[0] if key.startswith("group_")
    }
    assert len(lines) == 40
    assert set(lines[0]) <= allowed
    assert [line["accuracy"] for line in lines] == [1.0] * 20 + [0.0] * 20
    assert {line["cluster"] for line in lines} == {*range(40)}
