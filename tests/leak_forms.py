"""The forms in which tools write a text, for the tests of `leakcheck`: each makes a file's bytes of it."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import contextlib
import functools
import gzip
import html
import io
import json
import lzma
import pickle  # noqa: TID251 - only written
import quopri
import random
import re
import sqlite3
import struct
import tarfile
import tempfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LONG = (
    "he was found confused in the garden by a neighbour; at 14:30 his temperature was 39.2 and the left calf had been swollen "
    "for 3 days after a long flight from Osaka without any fall or injury to report"
)
# Marks that copying brings along, after letters: joiners, selectors, marks of
# direction, combining marks.
NOISE = {
    ord(letter): f"{letter}{signs}"
    for letter, signs in {
        "a": "\u2063\ufe0f", "e": "\u200d\u0307", "o": "\u202c\U000e0101", "n": "\u034f\U000e0067", "t": "\u20dd\u3164",
    }.items()
}  # fmt: skip
BYTE_LETTERS = {
    byte: chr(byte) for byte in (*range(33, 127), *range(161, 173), *range(174, 256))
}
BYTE_LETTERS |= {
    byte: chr(256 + number)
    for number, byte in enumerate(
        byte for byte in range(256) if byte not in BYTE_LETTERS
    )
}


def pieces(text: str) -> list[str]:
    """Words cut in two, the blank kept, as vocabularies of models cut them."""
    words = re.findall(r"\s?\S+", text)
    return [
        piece
        for word in words
        for piece in ((word[:5], word[5:]) if len(word) > 7 else (word,))
    ]


def byte_pieces(text: str) -> list[str]:
    return [
        "".join(BYTE_LETTERS[byte] for byte in piece.encode()) for piece in pieces(text)
    ]


def by(text: str, size: int) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + size]) for at in range(0, len(words), size)]


def in_lines(text: str, form: str, size: int = 3) -> bytes:
    return "".join(
        form.format(n=n, t=line) + "\n"
        for n, line in enumerate(by(text, size), start=10)
    ).encode()


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd")
    return out.getvalue()


def arrow(table: pa.Table, new: Callable[..., Any] = pa.ipc.new_file) -> bytes:
    out = io.BytesIO()
    with new(
        out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        writer.write_table(table)
    return out.getvalue()


def sqlite(rows: Iterable[tuple[Any, ...]], *after: str) -> bytes:
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(sqlite3.connect(Path(folder) / "d")) as connection,
    ):
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        for command in after:
            connection.commit()
            connection.execute(command)
        connection.commit()
        return (Path(folder) / "d").read_bytes()


def zipped(name: str, content: str | bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def tarred(content: bytes, *, link: str = "venv/bin/python3") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for kind in (tarfile.LNKTYPE, tarfile.SYMTYPE):
            dead = tarfile.TarInfo("venv/bin/python")
            dead.type, dead.linkname = kind, link
            archive.addfile(dead)
        entry = tarfile.TarInfo("x.txt")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def numpy_file(array: Any, *, pickled: bool = False) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=pickled)
    return out.getvalue()


def png(text: str, kind: bytes = b"zTXt") -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    packed = chunk(kind, b"Comment\0\0" + zlib.compress(text.encode()))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + packed + chunk(b"IEND", b"")
    )


def dump(raw: bytes) -> str:
    rows = (raw[at : at + 16] for at in range(0, len(raw), 16))
    return "".join(
        f"{n * 16:08x}: {row.hex(' ', 2):39}  {row.decode('latin-1')!r:.18}\n"
        for n, row in enumerate(rows)
    )


def text_of(encode: Callable[[str], str]) -> Callable[[str], bytes]:
    return lambda text: encode(text).encode()


def far_in(text: str) -> bytes:
    """Across the edge of the blocks in which files are read."""
    return (b"x" * 1023 + b" ") * 1024 * 4 + text.encode() + (b" " + b"x" * 1023) * 100


def all_of(form: str) -> Callable[[str], bytes]:
    return lambda text: "".join(form.format(byte) for byte in text.encode()).encode()


B64 = base64.b64encode
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip in gzip": lambda raw: gzip.compress(gzip.compress(raw)),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda raw: lzma.compress(raw, format=lzma.FORMAT_ALONE),
    "zlib": zlib.compress,
    "zstd": lambda raw: bytes(pa.compress(raw, codec="zstd", asbytes=True)),
    "lz4": lambda raw: bytes(pa.compress(raw, codec="lz4", asbytes=True)),
    "zip": lambda raw: zipped(
        "a", zipped("deep/x.json", json.dumps({"a": raw.decode()}))
    ),
    "tar": tarred,
    "tar, target of a link": lambda raw: tarred(b"", link=raw.decode()),
    "zip behind a program": lambda raw: (
        b"#!/usr/bin/env python3\n" + zipped("x", raw * 3)
    ),
    "base64": B64,
    "base64 five times": lambda raw: functools.reduce(
        lambda inner, _: B64(inner), range(5), raw
    ),
    "base64url in an address": lambda raw: (
        b"GET /api/x?d=" + base64.urlsafe_b64encode(raw).rstrip(b"=") + b"&v=1"
    ),
    "base64 behind a path": lambda raw: b"https://host.example/api/" + B64(raw),
    "MIME": lambda raw: base64.encodebytes(raw * 4),
    "MIME, quoted": lambda raw: b"".join(
        b"> " + line for line in base64.encodebytes(raw * 4).splitlines(keepends=True)
    ),
    "data URI of gzip": lambda raw: (
        b'<img src="data:text/plain;base64,' + B64(gzip.compress(raw)) + b'">'
    ),
    "hex": lambda raw: raw.hex().encode(),
    "hex of gzip": lambda raw: gzip.compress(raw).hex().upper().encode(),
    "hex in lines": lambda raw: "\n".join(
        re.findall(".{1,60}", (raw * 3).hex())
    ).encode(),
    "hex behind times": lambda raw: "".join(
        f"10:00:{n:02d} {line}\n"
        for n, line in enumerate(re.findall(".{1,32}", gzip.compress(raw).hex()))
    ).encode(),
    "gzip inside a log": lambda raw: (
        b"10:00 all is well\n" * 900 + gzip.compress(raw) + b"\n10:01 all is well" * 900
    ),
    "hex with blanks": lambda raw: raw.hex(" ").encode(),
    "hex numbers": lambda raw: ", ".join(map(hex, raw)).encode(),
    "hex dump": lambda raw: dump(raw).encode(),
    "list of bytes": lambda raw: json.dumps(
        {"bytes": list(gzip.compress(raw))}
    ).encode(),
    "bytes literal": lambda raw: b"ERROR body=" + repr(gzip.compress(raw)).encode(),
    "bytes as letters": lambda raw: json.dumps(
        {"body": gzip.compress(raw).decode("latin-1")}
    ).encode(),
    "SQL literal": lambda raw: (
        b"INSERT INTO t VALUES (X'" + raw.hex().encode() + b"');"
    ),
    "SQLite, gzip": lambda raw: sqlite([(1, gzip.compress(raw))]),
    "SQLite, base64": lambda raw: sqlite([(1, B64(zlib.compress(raw)).decode())]),
    "SQLite, over pages": lambda raw: sqlite(
        [(1, b"filler " * 3000 + raw + b" filler" * 3000)]
    ),
    "SQLite, deleted": lambda raw: sqlite([(1, raw.decode())], "DELETE FROM t"),
    "parquet, gzip": lambda raw: parquet(
        a=pa.array([gzip.compress(raw)], pa.large_binary())
    ),
    "parquet, zlib in base64": lambda raw: parquet(
        a=[[{"b": B64(zlib.compress(raw)).decode()}]]
    ),
    "parquet, bytes": lambda raw: parquet(a=pa.array([raw], pa.binary())),
    "parquet in base64 in JSON": lambda raw: json.dumps(
        {"p": B64(parquet(a=[raw.decode()])).decode()}
    ).encode(),
    "pickle": lambda raw: pickle.dumps({"a": [gzip.compress(raw)]}),
    "XOR": lambda raw: bytes(byte ^ 0xA7 for byte in raw),
}
WRITTEN: dict[str, Callable[[str], bytes]] = {
    "JSON": text_of(lambda text: json.dumps({"a": [{"b": text}]})),
    "JSON three times": text_of(
        lambda text: json.dumps(json.dumps(json.dumps({"b": text.replace(" ", "\n")})))
    ),
    "JSON, hidden": text_of(
        lambda text: f'{{"a": {json.dumps(text)}, "a": 1}}'
    ),  # readers see the second one
    "u escapes": text_of(
        lambda text: '{"a": "' + "".join(f"\\u{ord(sign):04x}" for sign in text) + '"}'
    ),
    "u{} escapes": text_of(
        lambda text: "".join(f"\\u{{{ord(sign):x}}}" for sign in text)
    ),
    "x escapes": all_of("\\x{:02x}"),
    "octal escapes": all_of("\\{:03o}"),
    "log literal": text_of(
        lambda text: f"2026-01-01 ERROR prompt={text.replace(' ', chr(10))!a}"
    ),
    "HTML": text_of(
        lambda text: (
            "<p>"
            + html.escape(text).replace(" a ", " <b>a</b> ").replace("“", "&ldquo;")
            + "</p>"
        )
    ),
    "HTML numbers": text_of(lambda text: "".join(f"&#{ord(sign)};" for sign in text)),
    "XML words": text_of(
        lambda text: "".join(
            f'<w id="{n}">{word}</w>' for n, word in enumerate(text.split())
        )
    ),
    "markup in words": text_of(lambda text: text.replace("e", "<wbr>e")),
    "JSON in a page": text_of(
        lambda text: f'<script>window.d=[{{"t":{json.dumps(text.split())}}}];</script>'
    ),
    "URL": text_of(lambda text: f"GET /ask?q={urllib.parse.quote(text)} HTTP/1.1"),
    "URL twice": text_of(
        lambda text: urllib.parse.quote(urllib.parse.quote_plus(text))
    ),
    "URL, all": all_of("%{:02X}"),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()),
    "quoted-printable, all": all_of("={:02X}"),
    "mail header": text_of(
        lambda text: f"Subject: =?utf-8?Q?{text.replace(' ', '_')}?="
    ),
    "capitals": text_of(lambda text: text.upper().replace(" ", " | ")),
    "unseen signs": text_of(
        lambda text: text.replace("au", "a\u00adu").replace("un", "u\u200bn")
    ),
    "unseen signs of every kind": text_of(lambda text: text.translate(NOISE)),
    "tag characters": text_of(
        lambda text: (
            "Yes. " + text.translate({sign: 0xE0000 + sign for sign in range(32, 127)})
        )
    ),
    "accents": text_of(lambda text: text.replace("a", "á")),
    "hyphens": text_of(
        lambda text: " ".join(
            f"{w[:4]}-\n  {w[4:]}" if len(w) > 5 else w for w in text.split()
        )
    ),
    "colours": text_of(
        lambda text: " ".join(f"\x1b[1;31m{word}\x1b[0m" for word in text.split())
    ),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, odd": lambda text: b"\x01" + text.encode("utf-16-be"),
    "UTF-16 in base64": lambda text: B64(text.encode("utf-16-le")),
    "UTF-32": lambda text: b"odd" + text.encode("utf-32-be"),
    "Windows-1252": lambda text: text.encode("cp1252"),
    "UTF-8 misread": text_of(lambda text: text.encode().decode("latin-1")),
    "EBCDIC": lambda text: text.encode("cp037", "replace"),
    "times before lines": lambda text: in_lines(text, "2026-11-22T10:{n}:07.123Z {t}"),
    "levels before lines": lambda text: in_lines(
        text, "2026-11-22 10:{n}:07,123 - root - DEBUG - {t}"
    ),
    "hosts before lines": lambda text: in_lines(
        text, "Nov 22 10:{n}:07 host srv[123]: {t}"
    ),
    "names before lines": lambda text: in_lines(text, "10:{n} node worker {t}"),
    "two kinds of lines": lambda text: in_lines(
        text, "10:{n} INFO {t}\n10:{n} DEBUG step took long"
    ),
    "a few lines of a log": lambda text: (
        in_lines("all is well here " * 900, "10:{n} INFO server {t}")
        + in_lines(text, "10:{n} DEBUG client {t}")
    ),
    "quoted lines": lambda text: in_lines(text, "> > {t}"),
    "diff": lambda text: in_lines(text, "-old line\n+{t}"),
    "numbered lines": lambda text: in_lines(text, "{n}. {t}"),
    "table in Markdown": lambda text: in_lines(text, "| {n} | {t} |"),
    "CSV, a few words": lambda text: in_lines(text, '{n},"{t}",0.5'),
    "CSV, a word": lambda text: in_lines(text.replace(",", ""), "{n};{t};O", 1),
    "a word a line": lambda text: in_lines(text, "{t}", 1),
    "a word a line, tagged": lambda text: in_lines(text, "{n}\t{t}\tNN\t_", 1),
    "numbered words": text_of(
        lambda text: " ".join(
            f"{n} {word}" for n, word in enumerate(text.split(), start=1)
        )
    ),
    "words with numbers": text_of(
        lambda text: " ".join(f"{word}_{n}" for n, word in enumerate(text.split()))
    ),
    "words with tags": text_of(
        lambda text: " ".join(f"{word}/NN" for word in text.split())
    ),
    "words with scores": text_of(
        lambda text: " ".join(
            f"{word} -0.{n}7" for n, word in enumerate(text.split(), start=11)
        )
    ),
    "numbered fields": text_of(
        lambda text: json.dumps(
            {f"w{n}": {"t": w, "p": 0.1} for n, w in enumerate(text.split())}
        )
    ),
    "JSON lines": lambda text: in_lines(
        text.replace('"', ""), '{{"place": {n}, "token": "{t}", "p": 0.25}}', 1
    ),
    "words": text_of(lambda text: json.dumps(text.split())),
    "words and tags": text_of(
        lambda text: json.dumps(
            [token for word in text.split() for token in (word, "O")]
        )
    ),
    "pieces": text_of(
        lambda text: json.dumps(
            [{"token": piece, "logprob": -0.5} for piece in pieces(text)]
        )
    ),
    "pieces in a log": text_of(
        lambda text: f"DEBUG {[{'t': piece, 'p': -0.1} for piece in pieces(text)]}"
    ),
    "pieces, bytes alone": text_of(
        lambda text: json.dumps(
            [{"bytes": [*piece.encode()]} for piece in pieces(text)]
        )
    ),
    "GPT-2 pieces": text_of(lambda text: json.dumps(byte_pieces(text))),
    "GPT-2 pieces in lines": text_of(
        lambda text: "".join(f"{n}\t{p}\n" for n, p in enumerate(byte_pieces(text)))
    ),
    "T5 pieces": text_of(
        lambda text: repr([piece.replace(" ", "▁") for piece in pieces(text)])
    ),
    "BERT pieces": text_of(
        lambda text: " ".join(
            f"{w[:4]} ##{w[4:]}" if len(w) > 5 else w for w in text.split()
        )
    ),
    "BPE pieces": text_of(
        lambda text: " ".join(
            f"{w[:4]}@@ {w[4:]}" if len(w) > 5 else w for w in text.split()
        )
    ),
    "letters": text_of(lambda text: json.dumps([*text])),
    "letters with blanks": text_of(
        lambda text: "   ".join(" ".join(word) for word in text.split())
    ),
    "token numbers": text_of(
        lambda text: json.dumps(
            {"ids": [zlib.crc32(w.encode()) % 50_000 for w in text.split()]}
        )
    ),
    "SQLite, a word a row": lambda text: sqlite(enumerate(text.split())),
    "parquet, pieces": lambda text: parquet(a=[byte_pieces(text)]),
    "parquet, columns": lambda text: parquet(
        **{f"w{n}": [word] for n, word in enumerate(text.split())}
    ),
    "parquet, token numbers": lambda text: parquet(
        a=[[zlib.crc32(word.encode()) % 50_000 for word in text.split()]]
    ),
    "parquet, schema": lambda text: parquet_with_metadata({"note": text}),
    "Arrow file": lambda text: arrow(pa.table({"x": [text]})),
    "Arrow stream": lambda text: arrow(
        pa.table({"x": text.split()}), pa.ipc.new_stream
    ),
    "numpy": lambda text: numpy_file(np.array(text.split())),
    "numpy, bytes": lambda text: numpy_file(np.frombuffer(text.encode(), np.uint8)),
    "numpy, the second array": lambda text: (
        numpy_file(np.arange(3)) + numpy_file(np.array(text.split()))
    ),
    "numpy, objects": lambda text: numpy_file(
        np.array([text, None], dtype=object), pickled=True
    ),
    "numpy, token numbers": lambda text: numpy_file(
        np.array([zlib.crc32(w.encode()) % 50_000 for w in text.split()])
    ),
    "pickled words": lambda text: pickle.dumps(text.split()),
    "name in an archive": lambda text: zipped(text, ""),
    "picture's comment": png,
    "picture's own part": lambda text: png(text, b"prVt"),
    "picture and more": lambda text: (
        b"<img src='data:image/png;base64,"
        + B64(png("") + gzip.compress(text.encode()))
        + b"'>"
    ),
    "far in": far_in,
}
LIMITS: dict[
    str, Callable[[str], bytes]
] = {  # what is not found, as docs/data_guard.md states
    "words from last to first": text_of(lambda text: " ".join(reversed(text.split()))),
    "each letter by another": text_of(lambda text: codecs.encode(text, "rot13")),
    "each word doubled": text_of(
        lambda text: " ".join(f"{word} {word}" for word in text.split())
    ),
    "no blanks": text_of(lambda text: re.sub(r"\W", "", text)),
    "reversed": text_of(lambda text: text[::-1]),
    "base32": lambda text: base64.b32encode(text.encode()),
    "base85": lambda text: base64.b85encode(text.encode()),
    "uuencode": lambda text: b"".join(
        binascii.b2a_uu(text.encode()[at : at + 45])
        for at in range(0, len(text.encode()), 45)
    ),
    "binary digits": all_of("{:08b} "),
    "octal dumps": all_of("{:03o} "),
    "code points": text_of(
        lambda text: " ".join(f"U+{ord(sign):04X}" for sign in text)
    ),
    "CSS": all_of("\\{:06x}"),
    "each word in base64": text_of(
        lambda text: " ".join(B64(word.encode()).decode() for word in text.split())
    ),
    "wrapped within 20 columns": text_of(
        lambda text: "\n".join(re.findall(".{1,17}", text))
    ),
    "random bytes": lambda text: B64(random.Random(1).randbytes(200)),
}


def parquet_with_metadata(metadata: dict[str, str]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(metadata), out)
    return out.getvalue()
