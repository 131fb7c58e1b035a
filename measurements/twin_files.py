"""Shared code of the synthetic twins of upstream files: command lines, and files as a publisher writes them."""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from medical_tasks.data.building import SUMS_FILE
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MedicalTasksError


def write_gzip(path: Path, parts: Iterable[str], *, compresslevel: int) -> None:
    """Writes a gzip file; the same parts give the same bytes, since its header has neither a name nor a time."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(
            filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=compresslevel
        ) as stream,
    ):
        stream.writelines(text.encode() for text in parts)


def write_sums(folder: Path, *names: str) -> None:
    """Writes the file of sums of a folder's files, as a publisher does."""
    lines = [f"{file_sha256(folder / name)} {name}\n" for name in names]
    (folder / SUMS_FILE).write_text("".join(lines), encoding="utf-8")


def twin_parser(name: str) -> argparse.ArgumentParser:
    """The options that every twin takes."""
    described = "Write synthetic files in the shape of the official ones."
    parser = argparse.ArgumentParser(
        prog=f"python -m measurements.{name}", description=described
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder to write to"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="the same seed gives the same bytes (default 0)",
    )
    return parser


def run_program(main: Callable[[], int]) -> NoReturn:
    """Exits with the code of a twin's program; a mistake of the user prints a message without a traceback."""
    try:
        sys.exit(main())
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
