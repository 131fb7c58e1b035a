"""Feeds `leakcheck` with damaged files of every form it opens: none ends it, and no text of the source is printed.

    python measurements/leakcheck_fuzz.py                 10,000 files
    python measurements/leakcheck_fuzz.py --files 1000 --seed 7

Half of the files hold a text of the source. A file is left whole, or damaged: bytes
changed, cut out, doubled or put in, its end or its head lost, another file's head
before it, another file behind it. Some names quote the source or hold orders to a
terminal. The command itself runs, on 100 files at a time. A traceback, a word of the
planted text in what is printed, a text found where none is, or a whole file with a text
that is called clean ends the run. Printed: the outcomes by form.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import hashlib
import io
import json
import lzma
import pickle  # noqa: TID251 - only written
import random
import sqlite3
import struct
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from medical_tasks.cli.entry import main as medical_tasks
from medical_tasks.io.xml_files import workbook_bytes

__all__ = ["FORMS", "OUTCOMES", "Tried", "checked_files"]

PLANTED = (
    "the beekeeper fainted twice behind the orchard wall after eleven stings and woke with a swollen tongue, a pulse of 132 and "
    "no memory of the ambulance"
)
OTHER = "all went well on this quiet day and nothing of note was written down by anybody who worked at the mill near the old bridge"
OUTCOMES = ("found", "not looked into", "clean")
_BATCH = 100


# --- whole files of every form


def _tar(text: str, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, kind, target in (
            ("venv/bin/python", tarfile.SYMTYPE, "/usr/bin/python3"),
            ("venv/bin/same", tarfile.LNKTYPE, "not in this archive"),
            ("venv/bin/itself", tarfile.LNKTYPE, "venv/bin/itself"),
            ("pipe", tarfile.FIFOTYPE, ""),
        ):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, target
            archive.addfile(link)
        entry = tarfile.TarInfo("notes/a.txt")
        entry.size = len(text.encode())
        archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def _tar_link(text: str) -> bytes:
    """Makes an archive with nothing but a dead link, whose target quotes the text."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.LNKTYPE, text
        archive.addfile(link)
    return out.getvalue()


def _zip(
    content: bytes, name: str = "deep/a.txt", how: int = zipfile.ZIP_DEFLATED
) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def _sealed_zip(text: str) -> bytes:
    """Makes an archive whose headers mark it as encrypted."""
    raw = bytearray(_zip(text.encode()))
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    return bytes(raw)


def _png(text: str, kind: bytes = b"zTXt") -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + checksum

    packed = chunk(kind, b"Comment\0\0" + zlib.compress(text.encode()))
    points = chunk(b"IDAT", zlib.compress(bytes(300)))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", bytes(13))
        + packed
        + points
        + chunk(b"IEND", b"")
    )


def _jpeg(text: str) -> bytes:
    content = text.encode()
    comment = b"\xff\xfe" + struct.pack(">H", len(content) + 2) + content
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01" + bytes(7) + comment + b"\xff\xd9"


def _tiff(text: str) -> bytes:
    content = text.encode() + b"\0"
    entry = struct.pack("<HHII", 270, 2, len(content), 26)
    return b"II*\0" + struct.pack("<IH", 8, 1) + entry + struct.pack("<I", 0) + content


def _webp(text: str) -> bytes:
    content = text.encode() + b" " * (len(text.encode()) % 2)
    body = b"WEBPXMP " + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _parquet(text: str) -> bytes:
    out = io.BytesIO()
    table = pa.table({"id": [1, 2], "text": [text, "x"], "words": [text.split(), []]})
    pyarrow.parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _arrow(text: str) -> bytes:
    out = io.BytesIO()
    pyarrow.feather.write_feather(
        pa.table({"text": [text, None]}), out, compression="lz4"
    )
    return out.getvalue()


def _sqlite(text: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    with contextlib.closing(connection):
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)",
            [(1, zlib.compress(text.encode())), (2, text)],
        )
        connection.commit()
        return connection.serialize()


def _npz(text: str) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, words=np.array(text.split()), scores=np.arange(5.0))
    return out.getvalue()


def _npy(text: str) -> bytes:
    out = io.BytesIO()
    np.save(out, np.frombuffer(text.encode(), np.uint8))
    return out.getvalue()


def _checkpoint(text: str) -> bytes:
    return _zip(pickle.dumps({"prompt": text}), "archive/data.pkl", zipfile.ZIP_STORED)


def _safetensors(text: str) -> bytes:
    weights = random.Random(3).randbytes(400)
    about = {"dtype": "F32", "shape": [100], "data_offsets": [0, len(weights)]}
    head = json.dumps({"__metadata__": {"note": text}, "w": about}).encode()
    return struct.pack("<Q", len(head)) + head + weights


def _notebook(text: str) -> bytes:
    output = {
        "output_type": "stream",
        "text": [f"{line}\n" for line in text.split(", ")],
    }
    cell = {"cell_type": "code", "source": [], "outputs": [output]}
    return json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}).encode()


def _pdf(text: str) -> bytes:
    page = zlib.compress(f"BT ({text}) Tj ET".encode())
    return (
        b"%PDF-1.7\n1 0 obj<</Filter/FlateDecode>>stream\n"
        + page
        + b"\nendstream endobj\n%%EOF"
    )


FORMS: dict[str, Callable[[str], bytes]] = {
    "txt": str.encode,
    "html": lambda text: (
        f"<p>{text.replace(' a ', ' <b>a</b> ')}&nbsp;&#8220;</p>".encode()
    ),
    "json": lambda text: json.dumps(
        {"a": [{"b": json.dumps({"text": text})}]}
    ).encode(),
    "csv": lambda text: "".join(
        f"{n},{word},O\n" for n, word in enumerate(text.split())
    ).encode(),
    "xlsx": lambda text: workbook_bytes(["id", "text"], [["1", text], ["2", "=1+1"]]),
    "notebook": _notebook,
    "pdf": _pdf,
    "tar": _tar,
    "tar, dead link": _tar_link,
    "tar.gz": lambda text: _tar(text, "w:gz"),
    "tar.xz": lambda text: _tar(text, "w:xz"),
    "zip": lambda text: _zip(text.encode()),
    "zip, nested": lambda text: _zip(
        _zip(gzip.compress(text.encode()), "b.gz"), "b.zip"
    ),
    "zip, encrypted": _sealed_zip,
    "gz": lambda text: gzip.compress(text.encode()),
    "bz2": lambda text: bz2.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "zst": lambda text: bytes(pa.compress(text.encode(), codec="zstd", asbytes=True)),
    "zlib": lambda text: zlib.compress(text.encode()),
    "png": _png,
    "png, own part": lambda text: _png(text, b"prVt"),
    "jpeg": _jpeg,
    "tiff": _tiff,
    "webp": _webp,
    "parquet": _parquet,
    "arrow": _arrow,
    "sqlite": _sqlite,
    "pickle": lambda text: pickle.dumps({"a": [text, text.split()]}),
    "npy": _npy,
    "npz": _npz,
    "pt": _checkpoint,
    "safetensors": _safetensors,
}


# --- damage


def _span(draw: random.Random, raw: bytes) -> tuple[int, int]:
    start = draw.randrange(len(raw) + 1)
    return start, min(len(raw), start + draw.choice((1, 4, 16, 64, 512)))


def _change(draw: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(draw.choice((1, 3, 20))):
        changed[draw.randrange(len(changed))] = draw.choice(
            (0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256))
        )
    return bytes(changed)


def _cut_out(draw: random.Random, raw: bytes) -> bytes:
    start, end = _span(draw, raw)
    return raw[:start] + raw[end:]


def _double(draw: random.Random, raw: bytes) -> bytes:
    start, end = _span(draw, raw)
    return raw[:end] + raw[start:end] * draw.choice((1, 2, 50)) + raw[end:]


def _put_in(draw: random.Random, raw: bytes) -> bytes:
    start, _ = _span(draw, raw)
    return raw[:start] + draw.randbytes(draw.choice((1, 8, 300))) + raw[start:]


def _other(draw: random.Random) -> bytes:
    return FORMS[draw.choice([*FORMS])](OTHER)


DAMAGE: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "whole": lambda draw, raw: raw,
    "changed": _change,
    "cut out": _cut_out,
    "doubled": _double,
    "put in": _put_in,
    "end lost": lambda draw, raw: raw[: draw.randrange(len(raw))],
    "head lost": lambda draw, raw: raw[draw.randrange(min(len(raw), 600)) :],
    "another's head": lambda draw, raw: _other(draw)[: draw.choice((4, 16, 300))] + raw,
    "another behind": lambda draw, raw: raw + _other(draw),
}
_ENDS = ("", ".bin", ".json", "\x1b[31m\r", "\udcff\u202e")
QUOTING_NAME = "quoting name"
_SHARE_OF_NAMES = 0.03


# --- running the command


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A file, and what the command reported about it."""

    form: str
    damage: str
    planted: bool
    outcome: str


def checked_files(count: int, seed: int) -> Iterator[Tried]:
    """Makes files and runs the command on them, a folder at a time; raises AssertionError for a wrong result."""
    draw = random.Random(seed)
    for first in range(0, count, _BATCH):
        with tempfile.TemporaryDirectory(prefix="leakcheck-fuzz-") as scratch:
            run, source = Path(scratch) / "run", Path(scratch) / "source.jsonl"
            source.write_text(json.dumps({"note": PLANTED}), encoding="utf-8")
            run.mkdir()
            names = [
                f"{number:06d}" for number in range(first, min(first + _BATCH, count))
            ]
            files = {name: _write(draw, run, name) for name in names}
            report = _report(run, source)
        for written, (form, damage, planted) in files.values():
            outcome = _outcome(report, written)
            if outcome == "found" and not planted:
                raise AssertionError(
                    f"{form}, {damage}: a text was found where none is"
                )
            if outcome == "clean" and planted and damage == "whole":
                raise AssertionError(
                    f"{form}: a whole file with a text was called clean"
                )
            yield Tried(form=form, damage=damage, planted=planted, outcome=outcome)


def _write(
    draw: random.Random, run: Path, name: str
) -> tuple[str, tuple[str, str, bool]]:
    """Writes a file; returns its name, and its form, damage and whether it holds the text."""
    if draw.random() < _SHARE_OF_NAMES:
        name = f"{name} {PLANTED[:100]}"
        (run / name).symlink_to("nowhere")
        return name, (QUOTING_NAME, "whole", True)
    form, damage, planted = (
        draw.choice([*FORMS]),
        draw.choice([*DAMAGE]),
        draw.random() < 0.5,
    )
    name += draw.choice(_ENDS)
    content = FORMS[form](PLANTED if planted else OTHER)
    (run / name).write_bytes(DAMAGE[damage](draw, content))
    return name, (form, damage, planted)


def _report(run: Path, source: Path) -> dict[str, dict[str, object]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = medical_tasks(["leakcheck", str(run), "--source", str(source), "--json"])
    output = out.getvalue() + err.getvalue()
    report: dict[str, dict[str, object]] = json.loads(out.getvalue())
    expected = 4 if report["found"] else 5 if report["unreadable"] else 0
    if code != expected:
        raise AssertionError(f"exit code {code} where {expected} was expected")
    if quoted := _quoted(output):
        raise AssertionError(f"printed: {quoted!r}")
    if "\x1b" in err.getvalue() or "\\u001b" in output:
        raise AssertionError("a name was printed with its orders to the terminal")
    return report


def _quoted(output: str) -> str:
    """Returns three consecutive words of the planted text that were printed, or ""."""
    words, printed = PLANTED.split(), " ".join(output.split())
    runs = (" ".join(words[at : at + 3]) for at in range(len(words) - 2))
    return next((run for run in runs if run in printed), "")


def _outcome(report: dict[str, dict[str, object]], name: str) -> str:
    """Finds the outcome of a file in the report, by the number that begins its name, or by the digest of a hidden name."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    for kind, outcome in (("found", "found"), ("unreadable", "not looked into")):
        if any(shown.startswith(name[:6]) or digest in shown for shown in report[kind]):
            return outcome
    return "clean"


def _table(counts: Counter[tuple[str, bool, str]]) -> str:
    lines = [
        f"{'form':18} {'with the text: ' + ', '.join(OUTCOMES):>45} {'without it':>28}"
    ]
    for form in (*FORMS, QUOTING_NAME):
        cells = [
            [counts[form, planted, outcome] for outcome in OUTCOMES]
            for planted in (True, False)
        ]
        lines.append(f"{form:18} {str(cells[0])[1:-1]:>45} {str(cells[1])[1:-1]:>28}")
    return "\n".join(lines)


def main() -> None:
    """Runs, and prints the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    tries = list(checked_files(options.files, options.seed))
    print(
        _table(Counter((trial.form, trial.planted, trial.outcome) for trial in tries))
    )
    total = Counter((trial.planted, trial.outcome) for trial in tries)
    for planted, label in ((True, "with the text"), (False, "without it")):
        print(
            f"{label}: "
            + ", ".join(
                f"{total[planted, outcome]:,} {outcome}" for outcome in OUTCOMES
            )
        )
    took = time.perf_counter() - began
    print(f"{len(tries):,} files, no traceback, no text printed; {took:.0f} s")


if __name__ == "__main__":
    main()
