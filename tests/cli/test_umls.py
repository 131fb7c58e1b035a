"""The verb `umls`: an index is built once, kept, never mixed with other files; `find` lists MEDCON's matches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from tests.cli.wrong_use import refuse, wrong_use
from tests.support import ROOT

TYPES = {1: "T047", 2: "T060", 3: "T121", 4: "T047"}
STRINGS = (
    (1, "heart failure"),
    (1, "congestive heart failure"),
    (3, "furosemide"),
    (4, "Sjögren syndrome"),
    (9, "no type"),
)


def write_release(folder: Path, strings: tuple[tuple[int, str], ...] = STRINGS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        f"C{concept:07d}|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|{text}|0|O|256|\n"
        for concept, text in strings
    ]
    (folder / "MRCONSO.RRF").write_text("".join(rows), encoding="utf-8")
    types = [f"C{concept:07d}|{tui}|A1|Name|AT1||\n" for concept, tui in TYPES.items()]
    (folder / "MRSTY.RRF").write_text("".join(types), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def release(here: Path) -> None:
    write_release(here / "release" / "META")


BUILD = ["umls", "build", "--source", "release", "--out", "index"]
FIND = ["umls", "find", "--index", "index"]


@pytest.fixture
def built(capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(BUILD) == 0
    capsys.readouterr()
    return Path("index")


def test_build_and_find_as_commands(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="spaCy (extra medcon) is not installed")
    command = [sys.executable, "-m", "medical_tasks", "umls"]
    settings = {
        "capture_output": True,
        "check": False,
        "env": {"PYTHONPATH": str(ROOT), "PATH": ""},
        "cwd": tmp_path,
    }
    build_process = subprocess.run(
        [*command, "build", "--source", "release", "--out", "index"], **settings
    )  # type: ignore[call-overload]
    assert build_process.returncode == 0, build_process.stderr
    assert (
        b"4 terms of 5 English strings, 66 semantic types, as written"
        in build_process.stdout
    )
    assert (
        b"1 strings are left out because their concept is not in MRSTY.RRF."
        in build_process.stdout
    )
    assert b"MRCONSO.RRF, MB read: 1/1" in build_process.stderr
    text = "Has congestive heart failure.\nStarted furosemide\xff".encode("latin-1")
    find_process = subprocess.run(
        [*command, "find", "--index", "index", "-"], input=text, **settings
    )  # type: ignore[call-overload]
    assert find_process.returncode == 0, find_process.stderr
    lines = find_process.stdout.decode().splitlines()
    assert lines[0].split() == ["from", "to", "text", "term", "concepts"]
    assert lines[2].split() == [
        "4",
        "28",
        *"congestive heart failure".split() * 2,
        "C0000001",
    ]
    assert lines[3].split() == ["38", "48", "furosemide", "furosemide", "C0000003"]
    assert lines[-1].startswith(
        "2 stretches, 2 concepts by the rules of aci-bench. The index: 4 terms"
    )


def test_matches_in_a_text(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("spacy", reason="spaCy (extra medcon) is not installed")
    assert (
        main([*FIND, "--json", "--variant", "archehr", "furosemide, HEART FAILURE"])
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert result["variant"] == "archehr"
    assert [
        (match["text"], match["term"], match["concepts"]) for match in result["matches"]
    ] == [
        ("furosemide", "furosemide", ["C0000003"]),
        ("HEART FAILURE", "heart failure", ["C0000001"]),
    ]
    for text in ("", "nothing here"):
        assert main([*FIND, text]) == 0
        assert capsys.readouterr().out.startswith(
            "No concept by the rules of aci-bench. The index: 4 terms"
        )
    assert main([*FIND, "--variant", "mine", "x"]) == 2
    assert (
        "variant must be one of aci-bench, archehr, got 'mine'"
        in capsys.readouterr().err
    )
    assert main([*BUILD, "--lowercase", "--ascii-only"]) == 0
    assert "case folded, ASCII only" in capsys.readouterr().out
    assert main([*FIND, "Sjogren Syndrome"]) == 0
    assert "sjogren syndrome" in capsys.readouterr().out


def test_a_complete_index_is_kept_and_a_damaged_one_built_again(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from medical_tasks.scoring.umls.using import _FILES

    assert {path.name for path in built.iterdir()} == _FILES

    def stamp() -> tuple[int, int]:
        status = (built / "umls.json").stat()
        return status.st_ino, status.st_mtime_ns

    before = stamp()
    assert main(BUILD) == 0
    assert (
        "an index of this MRCONSO.RRF exists and is kept (--again builds it again). 4 terms"
        in capsys.readouterr().out
    )
    assert stamp() == before
    for option in (["--again"], ["--lowercase"]):
        assert main([*BUILD, *option]) == 0
        assert "exists and is kept" not in capsys.readouterr().out
        assert stamp() != before
        before = stamp()
    write_release(Path("release/META"), STRINGS[:2])
    assert main([*BUILD, "--lowercase"]) == 0
    assert "2 terms of 2 English strings" in capsys.readouterr().out
    # An incomplete index is built again, and the remains of a killed build are named.
    (built / "records.bin").unlink()
    (built / ".building-x").mkdir()
    assert main([*BUILD, "--lowercase"]) == 0
    captured = capsys.readouterr()
    assert "2 terms of 2 English strings" in captured.out
    assert (
        "holds .building-x from a build that was killed or is still running"
        in captured.err
    )


@wrong_use("umls")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(line, code, message, capsys)
    assert not Path("i").exists()
