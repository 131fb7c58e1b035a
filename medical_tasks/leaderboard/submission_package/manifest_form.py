"""`package.json`: made, and read without trust."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks._version import __version__
from medical_tasks.io.json_records import Field
from medical_tasks.leaderboard.submission_package.contents import FORMAT, MANIFEST, Manifest, Submitter
from medical_tasks.leaderboard.submission_package.forms import (
    check_fields,
    hash_or_empty,
    is_object,
    line_text,
    one_of,
    suite_name,
    whole_number,
)
from medical_tasks.leaderboard.submission_package.hashes import content_sha256, file_facts
from medical_tasks.leaderboard.submission_package.limits import ReadLimits
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown
from medical_tasks.leaderboard.submission_package.submitters import read_submitter, submitter_values

__all__ = ["make_manifest", "read_manifest"]


def make_manifest(
    submitter: Submitter, tasks: Sequence[str], partial: Mapping[str, Sequence[str]], files: Mapping[str, bytes]
) -> dict[str, Any]:
    """Makes `package.json`.

    Args:
        submitter: who and what.
        tasks: the tasks' names.
        partial: from `partial.partial_facts`.
        files: name of each other file to its content.
    """
    stated: dict[str, Any] = {
        "format": FORMAT,
        "suite": f"medical-tasks {__version__}",
        "submitter": submitter_values(submitter),
        "tasks": list(tasks),
        "partial": {name: list(reasons) for name, reasons in partial.items()},
        "files": {name: file_facts(content) for name, content in files.items()},
    }
    return {**stated, "content_sha256": content_sha256(stated)}


def read_manifest(value: Any, files: Mapping[str, bytes], limits: ReadLimits) -> Manifest:
    """Checks `package.json` against the files beside it.

    Args:
        value: its JSON.
        files: name of each other file to its content.
        limits: of the package.

    Raises:
        PackageError: It is not of the form, or a hash is not right.
    """
    if isinstance(value, dict) and "format" in value and value["format"] != FORMAT:
        raise PackageError(
            f"{MANIFEST}: is of format {shown(value['format'])}, and this version reads format {FORMAT}. {WRITE_AGAIN}"
        )
    read = check_fields(MANIFEST, value, _FIELDS)
    names = read["tasks"]
    if not 0 < len(names) <= limits.tasks or len(set(names)) < len(names):
        raise PackageError(
            f"{MANIFEST}, tasks: must be 1 to {limits.tasks} different ones, got {len(names)}. {WRITE_AGAIN}"
        )
    if set(read["files"]) != set(files):
        raise PackageError(
            f"{MANIFEST}, files: names {', '.join(map(shown, sorted(read['files'])))}, but the package holds "
            f"{', '.join(sorted(files))}. {WRITE_AGAIN}"
        )
    for name, content in files.items():
        said = check_fields(f"{MANIFEST}, files, {name}", read["files"][name], _FILE)
        if said != file_facts(content):
            raise PackageError(f"{name}: its hash or length is not what {MANIFEST} says; it was changed. {WRITE_AGAIN}")
    if read["content_sha256"] != content_sha256(read):
        raise PackageError(
            f"{MANIFEST}, content_sha256: is not the hash of what it says; it was changed. {WRITE_AGAIN}"
        )
    return Manifest(
        format=FORMAT,
        suite=read["suite"],
        submitter=read_submitter(f"{MANIFEST}, submitter", read["submitter"]),
        tasks=tuple(names),
        files=read["files"],
        content_sha256=read["content_sha256"],
        partial={name: tuple(reasons) for name, reasons in read["partial"].items()},
    )


def _lists_of_texts(value: Any) -> bool:
    text = line_text(300, least=1)
    return is_object(value) and all(
        isinstance(each, list) and each and all(map(text.holds, each)) for each in value.values()
    )


_FILE = {"bytes": whole_number(), "sha256": hash_or_empty()}
_FIELDS: Mapping[str, Field] = {
    "format": one_of((FORMAT,)),
    "suite": suite_name(),
    "submitter": Field(holds=is_object, rule="an object"),
    "tasks": Field(
        holds=lambda value: (
            isinstance(value, list) and all(isinstance(each, str) and len(each) <= 64 for each in value)
        ),
        rule="a list of names",
    ),
    "partial": Field(holds=_lists_of_texts, rule="an object of lists of sentences"),
    "files": Field(holds=is_object, rule="an object"),
    "content_sha256": hash_or_empty(),
}
