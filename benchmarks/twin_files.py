"""Files of synthetic twins, as a publisher writes them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from medical_tasks.data.building import SUMS_FILE
from medical_tasks.data.dataset_source import file_sha256


def write_gzip(path: Path, parts: Iterable[str], *, compresslevel: int) -> None:
    """Writes a gzip file; the same parts give the same bytes, since its header has neither a name nor a time."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=compresslevel) as stream,
    ):
        stream.writelines(part.encode() for part in parts)


def write_sums(folder: Path, *names: str) -> None:
    """Writes the file of sums of a folder's files, as a publisher does."""
    lines = [f"{file_sha256(folder / name)} {name}\n" for name in names]
    (folder / SUMS_FILE).write_text("".join(lines), encoding="utf-8")
