"""`leakcheck`: text of a source is found in whatever form a file holds it, and never quoted."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pickle  # noqa: TID251 - only written
import random
import shutil
import traceback
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurements.leakcheck_fuzz import FORMS, OUTCOMES, checked_files
from medical_tasks.catalog import datasets
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import built_configs, source_files
from medical_tasks.guard.leak_files import FileScan
from medical_tasks.guard.leak_sources import source_rows
from medical_tasks.guard.leak_views import rearranged
from medical_tasks.guard.leakcheck import (
    Batch,
    RunIndex,
    check_leaks,
    runs_of,
    words_of,
)
from medical_tasks.guard.policy import WithheldError
from medical_tasks.io.store import Store
from tests.case_tables import json_of, tables
from tests.leak_forms import (
    B64,
    LIMITS,
    LONG,
    PACKERS,
    WRITTEN,
    parquet,
    png,
    tarred,
    zipped,
)
from tests.support import ROOT, own_tasks
from tests.tiny_dataset import write_built

CASES = tables(__file__, "leakcheck")

NOTE = (
    "Mrs. Example was brought in by her daughter on a Sunday with two weeks of worsening cough, “night sweats” and a weight "
    "loss of 4.5 kg; chest film showed a cavity in the right upper lobe & she was isolated at once."
)
CANARY = "her daughter on a Sunday with two weeks of worsening cough, “night sweats” and"  # 14 words of it


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    with (folder / "notes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["note_id", "text"])
        writer.writerow(
            [
                "10-DS-1",
                "An unrelated note about a healthy person who came for a routine check and left soon after it.",
            ]
        )
        writer.writerow(["10-DS-2", NOTE])
        writer.writerow(["10-DS-3", f"On Monday {LONG} and so it was noted."])
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "results.json").write_text(
        json.dumps(
            {"tasks": {"t": {"n_items": 2, "metrics": {"accuracy": {"value": 0.5}}}}}
        )
    )
    return folder


def plain(text: str) -> list[str]:
    return [word.decode() for word in words_of(text)]


def leaks_in(run: Path, source: Path) -> dict[str, int]:
    return check_leaks(run, source_files(str(source))).found


def write_text(path: Path) -> None:
    path.write_text(f"the model said: {CANARY} so it goes", encoding="utf-8")


def planted(run: Path, forms: dict[str, Callable[[str], bytes]]) -> dict[str, str]:
    """Writes every form of both texts; returns file names by form and text."""
    names = {}
    for number, (form, write) in enumerate(forms.items()):
        for text in (CANARY, LONG):
            name = f"hidden/.{number}-{len(text)}"
            (run / name).parent.mkdir(exist_ok=True)
            (run / name).write_bytes(write(text))
            names[name] = f"{form}, {len(text)}"
    return names


def test_no_form_of_a_text_is_called_clean(run: Path, source: Path) -> None:
    forms = {
        form: (lambda text, pack=pack: pack(text.encode()))
        for form, pack in PACKERS.items()
    } | WRITTEN
    names = planted(run, forms)
    report = check_leaks(run, source_files(str(source)))
    assert {
        form
        for name, form in names.items()
        if name not in report.found | report.unreadable
    } == set()
    # Most are found; these are named as what cannot be looked into.
    named = {
        form.rpartition(", ")[0]
        for name, form in names.items()
        if name not in report.found
    }
    numbers = {"token numbers", "parquet, token numbers", "numpy, token numbers"}
    assert named == {"XOR", "gzip inside a log", "EBCDIC", *numbers}
    assert report.found.keys() | report.unreadable.keys() == names.keys()


def test_the_limits_are_those_of_the_guide(run: Path, source: Path) -> None:
    names = planted(run, LIMITS)
    report = check_leaks(run, source_files(str(source)))
    assert (report.found, report.unreadable) == ({}, {})
    assert report.files == len(names) + 1
    guide = (ROOT / "docs" / "data_guard.md").read_text(encoding="utf-8")
    limits = guide.partition("`leakcheck` does not see:")[2].partition("\n\n")[0]
    for form in LIMITS:
        assert form in " ".join(limits.split()), form


def test_hashes_scores_and_pictures_raise_no_alarm(run: Path, source: Path) -> None:
    draw = random.Random(7)
    hashes = [draw.randbytes(32) for _ in range(40)]
    (run / "hashes.json").write_text(json.dumps([raw.hex() for raw in hashes]))
    (run / "SHA256SUMS").write_text(
        "".join(f"{raw.hex()}  file-{raw[0]}.bin\n" for raw in hashes)
    )
    (run / "integrity.txt").write_text(
        "\n".join(f"sha256-{B64(raw).decode()}" for raw in hashes)
    )
    (run / "column.txt").write_text("\n".join(raw.hex() for raw in hashes))
    (run / "keys.csv").write_text(
        "id,key\n"
        + "".join(f"{n},{B64(raw * 2).decode()}\n" for n, raw in enumerate(hashes))
    )
    (run / "hashes.parquet").write_bytes(
        parquet(sha=[raw.hex() for raw in hashes], raw=hashes)
    )
    (run / "scores.json").write_text(
        json.dumps(
            {"n": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], "at": [*range(0, 9000, 300)]}
        )
    )
    (run / "page.html").write_bytes(
        b"<script>!function(e,t){var n={a:[1,2],b:'x'};return e(n)}(window);</script><style>@font-face{src:url(data:font/woff2;"
        b"base64,"
        + B64(b"wOF2" + draw.randbytes(3000))
        + b")}</style><img src='data:image/png;base64,"
        + B64(png(""))
        + b"'>"
    )
    with Store(run / "answers.sqlite") as store:
        store.put("answer", "k", {"text": "no"})
        for path in run.glob("answers.sqlite-*"):
            shutil.copy(path, path.with_name(path.name.replace("answers", "kept")))
        shutil.copy(run / "answers.sqlite", run / "kept.sqlite")
        (run / "venv.tgz").write_bytes(tarred(b"home = /usr/bin"))
        shutil.copy(ROOT / "docs" / "pictures" / "leaderboard.png", run)
    report = check_leaks(run, source_files(str(source)))
    assert (report.found, report.unreadable, report.pictures) == ({}, {}, 3)
    assert report.files >= 14


def test_a_run_of_every_task_is_clean(demos: Path, tmp_path: Path) -> None:
    """Names, labels and instructions that are also in the package are no text of a source."""
    run, sources = tmp_path / "run", tmp_path / "sources"
    words = "run --model baseline/reference --config demo --judging single".split()
    words += ["--tasks", ",".join(own_tasks()), "--data", str(demos)]
    assert main([*words, "--out", str(run)]) == 0
    assert set(json_of(run / "results.json")["tasks"]) == set(own_tasks())
    for file in demos.glob("*/demo/*.parquet"):
        (sources / file.parts[-3]).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, sources / file.parts[-3])
    report = check_leaks(run, source_files(str(sources)))
    assert (report.found, report.unreadable, report.files) == ({}, {}, 6)
    assert report.rows == sum(
        split.rows
        for folder in {file.parents[1] for file in demos.glob("*/demo/*.parquet")}
        for split in built_configs(folder)["demo"].splits.values()
    )
    # Results of more than a megabyte are looked into in one piece: in one that begins in
    # the middle of them, wherever that is, brackets may be more than can be tried.
    content = (run / "results.json").read_text(encoding="utf-8")
    assert len(content) > 2**20
    moved, scan = tmp_path / "moved.json", FileScan(tmp_path)
    for spaces in (15_000, 32_500):
        moved.write_text(" " * spaces + content, encoding="utf-8")
        scan.file(moved, lambda _: None)
    assert scan.reasons == {}


def test_no_text_of_a_demo_counts_as_the_packages_own(demos: Path, run: Path) -> None:
    for name in datasets():
        for number, file in enumerate(source_files(str(demos / name))):
            texts = [max(row.texts, key=len) for row in source_rows(file)]
            for at, text in enumerate(texts):
                (run / f"{number}-{at}.txt").write_text(text, encoding="utf-8")
        report = check_leaks(run, source_files(str(demos / name)))
        written = list(run.glob("*-*.txt"))
        assert set(report.found) == {path.name for path in written} != set(), name
        for path in written:
            path.unlink()


def test_a_write_ahead_log_is_read(run: Path, source: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "open.sqlite") as store:
        store.put("answer", "k", {"text": CANARY})
        for path in tmp_path.glob("open.sqlite*"):  # what a killed run leaves
            shutil.copy(path, run / path.name)
    before = sorted(path.name for path in run.iterdir())
    assert {"open.sqlite-wal", "open.sqlite"} <= set(leaks_in(run, source))
    # looking changes nothing
    assert sorted(path.name for path in run.iterdir()) == before


def test_names_of_files_are_read_and_not_shown(
    run: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / CANARY.replace(" ", "_")).write_text("")
    assert len(leaks_in(run, source)) == 1
    write_text(run / CANARY.replace(" ", "_"))
    (run / f"{CANARY}.bad").write_bytes(b"%PDF")
    (run / f"{CANARY}.link").symlink_to("nowhere")
    (run / "\x1b[31m\r.pdf").write_bytes(b"%PDF")
    (run / os.fsdecode(b"\xff.pdf")).symlink_to("long" * 100)
    assert main(["leakcheck", str(run), "--source", str(source)]) == 4
    captured = capsys.readouterr()
    assert (
        captured.err.count("a file whose name quotes the source (SHA-256 of the name: ")
        == 5
    )
    assert "cough" not in captured.out + captured.err
    assert "\\x1b[31m\\r.pdf: PDF files cannot" in captured.err
    assert "\\udcff.pdf: a link that leads nowhere" in captured.err
    assert "\x1b" not in captured.err


def test_the_columns_of_a_table_are_texts(run: Path, source: Path) -> None:
    rows = "".join(
        f"{n},{word},O\n" for n, word in enumerate(CANARY.replace(",", "").split())
    )
    (run / "tokens.csv").write_text(f"place,word,tag\n{rows}", encoding="utf-8")
    (run / "odd.csv").write_bytes(b'"never closed\0')
    assert set(leaks_in(run, source)) == {"tokens.csv"}


@pytest.mark.parametrize(
    ("name", "content"), CASES["test_markup_of_a_source_is_ignored"]
)
def test_markup_of_a_source_is_ignored(
    run: Path, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert leaks_in(run, tmp_path / name) == {}
    write_text(run / "answer.txt")
    assert set(leaks_in(run, tmp_path / name)) == {"answer.txt"}


def test_links_are_followed_once_in_source_and_folder(
    run: Path, source: Path, tmp_path: Path
) -> None:
    linked, outside = tmp_path / "links", tmp_path / "outside"
    for folder, behind, name in ((linked, source, "notes"), (run, outside, "linked")):
        folder.mkdir(exist_ok=True)
        behind.mkdir(exist_ok=True)
        (folder / name).symlink_to(behind)
        (folder / "itself").symlink_to(folder)
    write_text(outside / "answer.txt")
    assert (
        list(leaks_in(run, source))
        == list(leaks_in(run, linked))
        == ["linked/answer.txt"]
    )


def test_a_run_of_eleven_words_is_no_leak_and_one_of_twelve_is(
    run: Path, source: Path
) -> None:
    words = plain(NOTE)
    (run / "a.txt").write_text(" ".join(words[3:14]))
    assert leaks_in(run, source) == {}
    (run / "a.txt").write_text(" ".join(words[3:15]))
    assert leaks_in(run, source) == {"a.txt": 1}
    (run / "a.txt").write_text(" ".join(words[3:20]))
    assert leaks_in(run, source) == {"a.txt": 6}
    assert check_leaks(run, source_files(str(source)), words=18).found == {}


def test_short_texts_are_matched_as_a_whole(run: Path, tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": "six", "text": "cavity in the right upper lobe"},
        {"id": "five", "text": "night sweats and weight loss"},
    ]
    source.write_text("\n".join(map(json.dumps, rows)))
    (run / "a.txt").write_text(
        "shows a cavity in the right upper lobe; night sweats and weight loss"
    )
    report = check_leaks(run, source_files(str(source)))
    assert report.found == {"a.txt": 1}
    assert report.row_labels == ("s.jsonl, id six",)
    assert report.too_short == 3  # both ids, and the text of five words
    (run / "a.txt").write_text("shows a cavity in the right lower lobe")
    assert check_leaks(run, source_files(str(source))).found == {}


def test_lists_of_ids_are_no_text_and_words_among_numbers_are(
    run: Path, tmp_path: Path
) -> None:
    source = tmp_path / "ids.jsonl"
    source.write_text(
        "".join(f"{json.dumps(row)}\n" for row in CASES["rows_of_numbers"]),
        encoding="utf-8",
    )
    (run / "notes.txt").write_text("ids 3 10 4 5 7 11", encoding="utf-8")
    assert check_leaks(run, source_files(str(source))).found == {}
    (run / "notes.txt").write_text("12 34 56 78 mg of 9 x", encoding="utf-8")
    assert check_leaks(run, source_files(str(source))).found == {"notes.txt": 1}
    (run / "notes.txt").write_text(
        "17894321 17894322 17894323 17894324 17894325 17894326", encoding="utf-8"
    )
    assert check_leaks(run, source_files(str(source))).found == {"notes.txt": 1}


def test_lists_are_read_alone_and_joined_and_fields_alone(
    run: Path, tmp_path: Path
) -> None:
    words = plain(NOTE)
    source = tmp_path / "s.jsonl"
    sentences = [
        {"number": 1, "text": " ".join(words[:4])},
        {"number": 2, "text": " ".join(words[4:14])},
    ]
    source.write_text(json.dumps({"sentences": sentences}))
    (run / "a.txt").write_text(" ".join(words[1:13]))
    assert leaks_in(run, source) == {"a.txt": 1}
    source.write_text(
        json.dumps({"a": " ".join(words[:10]), "b": " ".join(words[10:20])})
    )
    (run / "a.txt").write_text("of " + " ".join(words[5:17]))
    assert leaks_in(run, source) == {}


@pytest.mark.parametrize(
    "form", ["csv", "csv.gz", "jsonl", "jsonl.gz", "json", "txt", "txt.gz", "parquet"]
)
def test_sources_of_every_form(run: Path, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "s" / "sub"
    folder.mkdir(parents=True)
    path = folder / f"notes.{form}"
    rows = [{"subject": 1, "note_id": "n1", "text": NOTE}]
    if form.startswith("csv"):
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        raw = stream.getvalue().encode()
    elif form.startswith("json"):
        raw = json.dumps(rows if form == "json" else rows[0]).encode()
    else:
        raw = NOTE.encode()
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(gzip.compress(raw) if form.endswith(".gz") else raw)
    write_text(run / "a.txt")
    report = check_leaks(run, source_files(str(tmp_path / "s")))
    assert report.found == {"a.txt": 3}
    assert report.row_labels == (
        f"notes.{form}, {'from line 1' if 'txt' in form else 'note_id n1'}",
    )


def test_long_text_files_are_read_in_blocks(run: Path, tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(5000)]
    lines[1995:1999] = NOTE.replace(", ", "\n").split("\n")
    (tmp_path / "s.txt").write_text("\n".join(lines))
    write_text(run / "a.txt")
    assert leaks_in(run, tmp_path / "s.txt") == {"a.txt": 3}


def test_a_built_dataset_is_read_by_name(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    rows = [{"case_id": "7", "note": NOTE}]
    folder = write_built(tmp_path / "data", "tiny_notes", rows)
    (folder / "README.md").write_text(
        "This card is long enough to hold many more than twelve words in a row, which are not of the source."
    )
    (run / "card.txt").write_text((folder / "README.md").read_text())
    write_text(run / "a.txt")
    for source in ("tiny_notes", str(folder)):
        report = check_leaks(run, source_files(source))
        assert report.found == {"a.txt": 3}
        assert report.row_labels == ("test.parquet, case_id 7",)


def test_a_long_source_in_many_batches(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medical_tasks.guard.leakcheck._BATCH_WORDS", 50)
    with (tmp_path / "s.jsonl").open("w") as stream:
        for number in range(300):
            text = (
                NOTE
                if number == 217
                else " ".join(f"w{number}x{word}" for word in range(20))
            )
            stream.write(json.dumps({"text": text}) + "\n")
    write_text(run / "a.txt")
    report = check_leaks(run, source_files(str(tmp_path / "s.jsonl")))
    assert report.found == {"a.txt": 3}
    assert report.row_labels == ("s.jsonl, row 218",)
    assert report.rows == 300


# --- what cannot be read proves nothing


def seal_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", "y" * 100)
    raw = bytearray(path.read_bytes())
    at = raw.index(b"PK\x01\x02")
    raw[6] |= 1  # the flag of encryption, in both headers
    raw[at + 8] |= 1
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (
            lambda path: path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 50),
            "packed content cannot be read to its end (OSError)",
        ),
        (lambda path: path.write_bytes(zlib.compress(b"x" * 100)[:-5]), "EOFError"),
        (
            lambda path: path.write_bytes(png("text")[:60]),
            "picture cannot be read to its end",
        ),
        (
            lambda path: path.write_bytes(random.Random(1).randbytes(90)),
            "bytes of an unknown form",
        ),
        (
            lambda path: path.write_bytes(B64(random.Random(1).randbytes(900))),
            "encoded bytes of an unknown form",
        ),
        (
            lambda path: path.write_bytes(B64(b"Salted__" + bytes(90))),
            "encrypted files cannot be looked into",
        ),
        (
            lambda path: path.write_bytes(pickle.dumps({"a": 1})),
            "a pickle, of which only the texts were read",
        ),
        (lambda path: path.write_text("[" * 10**5), "more brackets than can be tried"),
        (
            lambda path: path.write_bytes(b"ORC\0" + b"x" * 50),
            "ORC files cannot be looked into",
        ),
        (
            lambda path: path.write_bytes(b"%PDF-1.7 ..."),
            "PDF files cannot be looked into",
        ),
        (lambda path: path.write_bytes(gzip.compress(b"x" * 1000)[:-5]), "EOFError"),
        (lambda path: path.write_bytes(b"PAR1 not really"), "ArrowInvalid"),
        (
            lambda path: path.write_bytes(b"SQLite format 3\0" + b"x" * 200),
            "DatabaseError",
        ),
        (lambda path: path.write_bytes(b"PK\x03\x04 not really"), "BadZipFile"),
        (seal_zip, "RuntimeError"),
        (lambda path: path.symlink_to("nowhere"), "leads nowhere"),
        (lambda path: os.mkfifo(path), "a pipe"),
    ],
)
def test_unreadable_files_are_reported_with_the_reason(
    run: Path,
    source: Path,
    capsys: pytest.CaptureFixture[str],
    write: Callable[[Path], None],
    reason: str,
) -> None:
    write(run / "odd.dat")
    assert main(["leakcheck", str(run), "--source", str(source)]) == 5
    stderr = capsys.readouterr().err
    assert "1 files could not be read, so the check is incomplete" in stderr
    assert "odd.dat" in stderr
    assert reason in stderr


@pytest.mark.parametrize(
    "error",
    [
        KeyError(CANARY),
        MemoryError(CANARY),
        RecursionError(CANARY),
        OSError(CANARY),
        Exception(CANARY),
    ],
)
def test_errors_of_readers_are_reported_without_their_text(
    run: Path,
    source: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("zipfile.ZipFile.infolist", broken)
    (run / "a.zip").write_bytes(zipped("a.txt", "all is well"))
    assert main(["leakcheck", str(run), "--source", str(source)]) == 5
    write_text(run / "b.txt")  # the rest of the folder is looked through
    assert main(["leakcheck", str(run), "--source", str(source)]) == 4
    stderr = capsys.readouterr().err
    assert (
        stderr.count(f"a.zip: zip cannot be read to its end ({type(error).__name__})")
        == 2
    )
    assert "b.txt: 3 runs" in stderr
    assert "cough" not in stderr


def test_an_unexpected_error_of_the_command_keeps_its_words(
    run: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError(CANARY)

    monkeypatch.setattr("medical_tasks.guard.leakcheck.RunIndex.matching", broken)
    with pytest.raises(WithheldError) as caught:
        main(["leakcheck", str(run), "--source", str(source)])
    assert "builtins.KeyError, raised in" in str(caught.value)
    assert "cough" not in "".join(traceback.format_exception(caught.value))


def test_invalid_results_are_not_quoted(
    run: Path, demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name, *_) = datasets()
    for content in (
        CANARY,
        {"schema_version": CANARY},
        [CANARY],
        {"tasks": {"t": {"recipe": CANARY}}},
    ):
        (run / "results.json").write_text(json.dumps(content), encoding="utf-8")
        assert main(["leakcheck", str(run), "--source", str(demos / name)]) == 2
        stderr = capsys.readouterr().err
        assert "results.json: not the results of a run" in stderr
        assert "cough" not in stderr


def test_damaged_files_of_every_form_are_handled() -> None:
    """A long run: measurements/leakcheck_fuzz.py."""
    attempts = list(checked_files(400, seed=20))
    assert {attempt.outcome for attempt in attempts} == {*OUTCOMES}
    assert {attempt.form for attempt in attempts} >= {*FORMS}


def test_bombs_and_archives_too_deep(
    run: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medical_tasks.guard.leak_files._UNPACKED_LIMIT", 2**20)
    (run / "bomb.gz").write_bytes(gzip.compress(b"0" * 6 * 2**20))
    raw = CANARY.encode()
    for _ in range(10):
        raw = gzip.compress(raw)
    (run / "deep.gz").write_bytes(raw)
    unreadable = check_leaks(run, source_files(str(source))).unreadable
    assert "unpacks to more than" in unreadable["bomb.gz"]
    assert "encodings and archives in one another" in unreadable["deep.gz"]


# --- the command


def test_found_text_is_refused_without_quoting_it(
    run: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "a.json").write_text(json.dumps({"a": [{"b": CANARY}]}))
    (run / "b.parquet").write_bytes(parquet(id=["1"], deep=[[{"x": ["no", CANARY]}]]))
    (run / "x.pdf").write_bytes(b"%PDF-1.7")
    assert main(["leakcheck", str(run), "--source", str(source)]) == 4
    out = capsys.readouterr()
    assert f"text of {source} is in 2 files" in out.err
    assert "a.json: 3 runs" in out.err
    assert "notes.csv, note_id 10-DS-2" in out.err
    assert "Not readable" in out.err
    for word in ("daughter", "worsening", "Sunday"):
        assert word not in out.out + out.err


def test_ids_that_are_texts_are_not_shown(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": CANARY, "text": NOTE}))
    write_text(run / "a.txt")
    assert main(["leakcheck", str(run), "--source", str(tmp_path / "s.jsonl")]) == 4
    stderr = capsys.readouterr().err
    assert "s.jsonl, row 1" in stderr
    assert "daughter" not in stderr


@pytest.mark.parametrize(
    ("prepare", "words", "code", "message"),
    [
        (lambda source: None, "3", 2, "--words must be 4 or more, got 3"),
        (
            lambda source: (source / "x.docx").write_text("x"),
            "12",
            2,
            "of a form that is not read: ",
        ),
        (
            lambda source: (source / "notes.csv").write_text(
                "note_id,text\n1,two words\n"
            ),
            "12",
            2,
            "holds no text of 6 words",
        ),
        (
            lambda source: (source / "notes.csv.gz").write_bytes(b"\x1f\x8bcut"),
            "12",
            2,
            "cannot be read to its end",
        ),
        (
            lambda source: shutil.rmtree(source),
            "12",
            3,
            "neither a file or folder nor a built dataset",
        ),
        (lambda source: (source / "notes.csv").unlink(), "12", 2, "an empty folder"),
    ],
)
def test_bad_sources(
    run: Path,
    source: Path,
    capsys: pytest.CaptureFixture[str],
    prepare: Callable[[Path], object],
    words: str,
    code: int,
    message: str,
) -> None:
    prepare(source)
    assert (
        main(["leakcheck", str(run), "--source", str(source), "--words", words]) == code
    )
    assert message in capsys.readouterr().err


def test_bad_runs_and_an_unknown_dataset(
    run: Path,
    tmp_path: Path,
    source: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["leakcheck", str(tmp_path / "nowhere"), "--source", str(source)]) == 3
    assert "no such folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["leakcheck", str(tmp_path / "empty"), "--source", str(source)]) == 2
    assert "there is no file in it" in capsys.readouterr().err
    for folder, source_name in (
        ("long" * 100, str(source)),
        (str(run), "long" * 100),
        (str(run), "~no-such-user/x"),
    ):
        assert main(["leakcheck", folder, "--source", source_name]) == 3
    assert capsys.readouterr().err.count("error: ") == 3
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    assert main(["leakcheck", str(run), "--source", "not_built"]) == 3
    assert "medical-tasks build not_built" in capsys.readouterr().err


# --- laws

WORDS = st.lists(st.sampled_from([*"abcd", "Ärzte", "4"]), max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=6), WORDS, st.integers(2, 6))
@settings(max_examples=150)
def test_numbers_of_runs_are_equal_exactly_when_the_runs_are(
    source: list[list[str]], target: list[str], size: int
) -> None:
    batch, other = Batch(), Batch()
    for words in source:
        batch.add(" ".join(words))
    other.add(" ".join(target))
    runs, owners = runs_of(batch, size)
    hits = RunIndex([runs_of(other, size)[0]]).matching(runs)
    there = {tuple(target[at : at + size]) for at in range(len(target) - size + 1)}
    expected = [
        number
        for number, words in enumerate(source)
        for at in range(len(words) - size + 1)
        if tuple(words[at : at + size]) in there
    ]
    assert [int(owner) for owner in owners[hits]] == expected
    whole, whole_owners = runs_of(batch, size, whole_texts=True)
    assert [int(owner) for owner in whole_owners] == [
        number for number, words in enumerate(source) if len(words) == size
    ]
    assert len(whole) == len(whole_owners)


def test_texts_are_split_into_words() -> None:
    for text, words in CASES["test_texts_are_split_into_words"]:
        assert plain(text) == words


def test_lines_with_nothing_but_a_mark_are_read_too() -> None:
    marks = "a: x y\n1. \n1. \na: \na: x y\na: z y\n1. \n- \n1. \n- \n1. q\nb - x\n- \na: z y\na: x y"
    assert "y\n\ny\ny\ny\ny" in list(rearranged(marks))
