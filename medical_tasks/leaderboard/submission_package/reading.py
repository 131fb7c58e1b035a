"""A package that anybody may have sent, read without trust.

Nothing is written to disk, sizes are checked before anything is unpacked, and what is taken is of the stated form in every value:
hashes are right, ids are unique, the results are those that the items give. Whether the scores are those of the answers is for
`verifying` to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.errors import MissingError, system_reason
from medical_tasks.io.files import open_file
from medical_tasks.leaderboard.submission_package.comparing import told
from medical_tasks.leaderboard.submission_package.contents import ANSWERS, ITEMS, MANIFEST, RESULTS, VERDICTS, Package
from medical_tasks.leaderboard.submission_package.json_reading import JsonReader
from medical_tasks.leaderboard.submission_package.limits import DEFAULT_LIMITS, ReadLimits
from medical_tasks.leaderboard.submission_package.manifest_form import read_manifest
from medical_tasks.leaderboard.submission_package.partial import partial_facts
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError
from medical_tasks.leaderboard.submission_package.recomputing import recompute, result_differences
from medical_tasks.leaderboard.submission_package.result_forms import check_results, reported_task
from medical_tasks.leaderboard.submission_package.rows_reading import (
    check_verdicts,
    read_answers,
    read_items,
    read_verdicts,
)
from medical_tasks.leaderboard.submission_package.zip_reading import read_members, unpack

__all__ = ["PackageError", "ReadLimits", "package_bytes", "read_package"]


def read_package(source: Path | bytes, *, limits: ReadLimits = DEFAULT_LIMITS) -> Package:
    """Reads a package that anybody may have sent.

    Args:
        source: the zip file, or its bytes.
        limits: how much it may hold.

    Returns:
        What it holds, all of it of the stated form. In `items` a value without a denominator is `nan`, one that is not decided
        None; the rows have the columns of `items.parquet` that are of their task, and the two hashes.

    Raises:
        PackageError: It is not one; the message is for its submitter.
        MissingError: There is no such file.
    """
    content = source if isinstance(source, bytes) else package_bytes(source, limits)
    members = read_members(content, limits)
    for name in (MANIFEST, RESULTS, ITEMS):
        if name not in members:
            raise PackageError(f"the package has no {name}. {WRITE_AGAIN}")
    files = {name: unpack(content, member) for name, member in members.items()}
    reader = JsonReader(limits)
    stated = files.pop(MANIFEST)
    manifest = read_manifest(reader.whole(MANIFEST, stated), files, limits)
    results = check_results(reader.whole(RESULTS, files.pop(RESULTS)), manifest.tasks)
    if {name: list(reasons) for name, reasons in manifest.partial.items()} != {
        name: list(reasons) for name, reasons in partial_facts(results).items()
    }:
        raise PackageError(f"{MANIFEST}, partial: is not what the recipes say. {WRITE_AGAIN}")
    shown_tasks = {name: reported_task(task_spec(name), entry) for name, entry in results["tasks"].items()}
    items = read_items(reader, files.pop(ITEMS), shown_tasks, limits)
    answers = read_answers(reader, files.pop(ANSWERS, b""), items, shown_tasks, limits)
    verdicts = read_verdicts(reader, files.pop(VERDICTS, b""), shown_tasks, limits)
    for name, task in shown_tasks.items():
        entry, rows = results["tasks"][name], items.get(name, [])
        if not rows:
            raise PackageError(f"{ITEMS}: has no items of {name}. {WRITE_AGAIN}")
        check_verdicts(name, entry, rows, verdicts.get(name, []))
        found = next(result_differences(task, entry, recompute(task, entry, rows, limits), rows), None)
        if found is not None:
            raise PackageError(f"{RESULTS}, {name}, {told(found)} from {ITEMS}. {WRITE_AGAIN}")
    return Package(
        manifest=manifest,
        results=results,
        items=_joined(items),
        answers=answers,
        verdicts=_joined(verdicts),
    )


def _joined(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    return [row for part in rows.values() for row in part]


def package_bytes(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> bytes:
    """Reads a file no further than a package may be long; of one that is longer a byte more.

    Raises:
        PackageError: It is a folder.
        MissingError: It is not there, or cannot be read.
    """
    place = path.expanduser()
    wanted = "Give the .zip that `medical-tasks submit RUN --to space` wrote."
    if place.is_dir():
        raise PackageError(f"{path}: is not a file. {wanted}")
    try:
        with open_file(place) as file:
            return file.read(limits.package_bytes + 1)
    except OSError as error:
        raise MissingError(f"{path}: cannot be read ({system_reason(error)}). {wanted}") from error
