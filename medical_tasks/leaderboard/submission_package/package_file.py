"""A package as a file: written from a finished run, the same bytes for the same run, and read without trust.

Of credentialed data it holds only what the run's folder holds: ids, hashes and scores. Sizes are checked before anything is
unpacked, and nothing is written to disk. Only the plainest zip file is read: members one behind the other from the first byte on,
then the list of them, then the end record, and nothing else anywhere; so overlapping members, hidden data, zip64, links and
streams of unknown length cannot occur.
"""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from medical_tasks._version import __version__
from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import run_data
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, open_file, readable
from medical_tasks.io.json_records import Field, is_list_of
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.leaderboard.submission_package import results as results_file
from medical_tasks.leaderboard.submission_package import rows as rows_file
from medical_tasks.leaderboard.submission_package import values as forms
from medical_tasks.leaderboard.submission_package.privacy import scrub, texts_allowed
from medical_tasks.leaderboard.submission_package.submitters import read_submitter
from medical_tasks.runs.calibrating import raw_name
from medical_tasks.runs.responses import check_recipe, run_responses
from medical_tasks.runs.results import read_items, read_results, read_verdicts
from medical_tasks.spec import UNANSWERED, TaskSpec


def read_package(
    source: Path | bytes, *, limits: contents.ReadLimits = contents.DEFAULT_LIMITS
) -> contents.Package:
    """Reads a package from a path or its bytes; in `items` a value without a denominator is `nan`, one not decided None."""
    content = source if isinstance(source, bytes) else package_bytes(source, limits)
    members = read_members(content, limits)
    for name in (contents.MANIFEST, contents.RESULTS, contents.ITEMS):
        if name not in members:
            raise contents.not_sound(f"the package has no {name}")
    files = {name: unpack(content, member) for name, member in members.items()}
    reader = forms.JsonReader(limits)
    stated = files.pop(contents.MANIFEST)
    manifest = read_manifest(reader.whole(contents.MANIFEST, stated), files, limits)
    results = results_file.check_results(
        reader.whole(contents.RESULTS, files.pop(contents.RESULTS)), manifest.tasks
    )
    if manifest.partial != results_file.partial_facts(results):
        raise contents.not_sound(f"{contents.MANIFEST}, partial: is not what the recipes say")
    shown_tasks = {
        name: results_file.reported_task(task_spec(name), entry)
        for name, entry in results["tasks"].items()
    }
    items = rows_file.read_items(reader, files.pop(contents.ITEMS), shown_tasks)
    answers = rows_file.read_answers(reader, files.pop(contents.ANSWERS, b""), items, shown_tasks)
    verdicts = rows_file.read_verdicts(reader, files.pop(contents.VERDICTS, b""), shown_tasks)
    for name, task in shown_tasks.items():
        entry, rows = results["tasks"][name], items.get(name, [])
        if not rows:
            raise contents.not_sound(f"{contents.ITEMS}: has no items of {name}")
        rows_file.check_verdicts(name, entry, rows, verdicts.get(name, []))
        made = results_file.recompute(task, entry, rows, limits)
        found = next(results_file.result_differences(task, entry, made, rows), None)
        if found is not None:
            raise contents.not_sound(
                f"{contents.RESULTS}, {name}, {results_file.told(found)} from {contents.ITEMS}"
            )
    joined = [list(chain.from_iterable(rows.values())) for rows in (items, verdicts)]
    return contents.Package(
        manifest=manifest, results=results, items=joined[0], answers=answers, verdicts=joined[1]
    )


def package_bytes(path: Path, limits: contents.ReadLimits = contents.DEFAULT_LIMITS) -> bytes:
    """Reads a file no further than a package may be long; of one that is longer a byte more."""
    wanted = "Give the .zip that `medical-tasks submit RUN --to space` wrote."
    with readable(path, missing=wanted, again=wanted), open_file(path) as file:
        return file.read(limits.package_bytes + 1)


_END: Final = struct.Struct("<4s4H2LH")
_LISTED: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END_MARK, _LISTED_MARK, _LOCAL_MARK = b"PK\5\6", b"PK\1\2", b"PK\3\4"
_STORED, _DEFLATED = 0, 8
_UTF8_NAME: Final = 0x800
_NEWEST: Final = 20  # of the zip format: folders and deflate
_UNIX: Final = 3
_DOS_PLAIN: Final = 0x27  # read-only, hidden, system, archive
_SMALL: Final = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Member:
    """A file of the package, as the zip's directory names it: `method` 0 stored or 8 deflated, `start` of its packed bytes."""

    name: str
    method: int
    crc: int
    packed: int
    size: int
    start: int


def read_members(content: bytes, limits: contents.ReadLimits) -> dict[str, Member]:
    """Reads which files a package holds, and checks all that can be checked before they are unpacked."""
    if len(content) > limits.package_bytes:
        raise _too_large(f"the package has {len(content):,} bytes", limits.package_bytes)
    end = len(content) - _END.size
    if end < 0 or content[end : end + 4] != _END_MARK:
        raise _bad_zip("is not a zip file, or something stands behind its end, or it is cut off")
    last = _END.unpack_from(content, end)
    entries, listed_start = last[4], last[6]
    if not 0 < entries <= len(contents.MEMBERS):
        raise _bad_zip(f"must hold 1 to {len(contents.MEMBERS)} files, got {entries}")
    if last != (_END_MARK, 0, 0, entries, entries, end - listed_start, listed_start, 0):
        raise _bad_zip(
            "has something beside its files and their list, such as a comment, or is a part of several"
        )
    members: dict[str, Member] = {}
    place, start = listed_start, 0
    for _ in range(entries):
        if place + _LISTED.size > end:
            raise _bad_zip("has a list of files that is cut off")
        listed = _LISTED.unpack_from(content, place)
        made_by, attributes, *same = listed[1], listed[15], *listed[2:11]
        needs, flags, method, _, _, crc, packed, size, name_bytes = same
        place += _LISTED.size + name_bytes
        raw = content[place - name_bytes : place]
        name = next((known for known in contents.MEMBERS if known.encode() == raw), None)
        if name is None:
            raise _bad_zip(
                f"may hold {', '.join(contents.MEMBERS)} and nothing else, got the name {contents.shown(raw)}"
            )
        if name in members:
            raise _bad_zip(f"names the file {name} twice")
        mode = attributes >> 16  # no link, folder or device
        plain = stat.S_ISREG(mode) or not stat.S_IFMT(mode)
        if not plain or attributes & 0xFF & ~_DOS_PLAIN or (mode and made_by >> 8 != _UNIX):
            raise _bad_zip(f"has {name} as a link, folder or device, not as a plain file")
        if flags & ~_UTF8_NAME or method not in (_STORED, _DEFLATED) or (needs & 0xFF) > _NEWEST:
            raise _bad_zip(
                f"has {name} encrypted, streamed, or packed otherwise than stored or deflated"
            )
        if size > limits.member_bytes:
            raise _too_large(f"{name}: {size:,} bytes unpacked", limits.member_bytes)
        if size > _SMALL and size > packed * limits.ratio:
            times = f"{size // max(packed, 1):,} to 1, and at most {limits.ratio} to 1"
            raise _bad_zip(f"has {name} packed {times} are taken (a zip bomb)")
        # All else in the file follows from these few values, and anything that does not is refused.
        if listed != (_LISTED_MARK, made_by, *same, 0, 0, 0, listed[14], attributes, start):
            raise _bad_zip(
                f"has {name} with extra fields or a comment, overlapping with another file, or behind a gap"
            )
        data = start + _LOCAL.size + name_bytes
        if content[start:data] != _LOCAL.pack(_LOCAL_MARK, *same, 0) + raw:
            raise _bad_zip(f"says one thing of {name} in its list and another where it stands")
        members[name] = Member(
            name=name, method=method, crc=crc, packed=packed, size=size, start=data
        )
        start = data + packed
    if (place, start) != (end, listed_start):
        raise _bad_zip("has something beside its files and their list")
    total = sum(member.size for member in members.values())
    if total > limits.total_bytes:
        raise _too_large(f"the package has {total:,} bytes unpacked", limits.total_bytes)
    return members


def unpack(content: bytes, member: Member) -> bytes:
    """Unpacks a file, never more of it than was stated."""
    packed = content[member.start : member.start + member.packed]
    if member.method == _STORED:
        made = packed
    else:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            made = stream.decompress(packed, member.size + 1)
        except zlib.error as error:
            raise _bad_zip(f"is damaged: {member.name} cannot be unpacked") from error
        if not stream.eof or stream.unused_data or stream.unconsumed_tail:
            raise _bad_zip(f"is damaged: {member.name} has another length than is stated")
    if len(made) != member.size or zlib.crc32(made) != member.crc:
        raise _bad_zip(f"is damaged: {member.name} has another length or checksum than is stated")
    return made


def _bad_zip(what: str) -> contents.PackageError:
    return contents.not_sound(f"the package {what}")


def _too_large(what: str, most: int) -> contents.PackageError:
    return contents.PackageError(
        f"{what}, and at most {most:,} are taken. Submit fewer tasks at once (--task NAME)."
    )


def make_manifest(
    submitter: contents.Submitter,
    tasks: Sequence[str],
    partial: Mapping[str, Sequence[str]],
    files: Mapping[str, bytes],
) -> dict[str, Any]:
    """Makes `package.json`."""
    stated: dict[str, Any] = {
        "format": contents.FORMAT,
        "suite": f"medical-tasks {__version__}",
        "submitter": submitter.stated(),
        "tasks": list(tasks),
        "partial": partial,
        "files": {name: contents.file_facts(content) for name, content in files.items()},
    }
    return {**stated, "content_sha256": contents.content_sha256(stated)}


def read_manifest(
    value: Any, files: Mapping[str, bytes], limits: contents.ReadLimits
) -> contents.Manifest:
    """Checks `package.json`, its form and its hashes, against the files beside it."""
    if isinstance(value, dict) and "format" in value and value["format"] != contents.FORMAT:
        raise contents.not_sound(
            f"{contents.MANIFEST}: is of format {contents.shown(value['format'])}, and this version reads format {contents.FORMAT}"
        )
    read = forms.check_fields(contents.MANIFEST, value, _MANIFEST_FIELDS)
    names = read["tasks"]
    if not 0 < len(names) <= limits.tasks or len(set(names)) < len(names):
        raise contents.not_sound(
            f"{contents.MANIFEST}, tasks: must be 1 to {limits.tasks} different ones, got {len(names)}"
        )
    if set(read["files"]) != set(files):
        raise contents.not_sound(
            f"{contents.MANIFEST}, files: names {', '.join(map(contents.shown, sorted(read['files'])))}, but the package holds "
            f"{', '.join(sorted(files))}"
        )
    for name, content in files.items():
        if read["files"][name] != contents.file_facts(content):
            raise contents.not_sound(
                f"{name}: its hash or length is not what {contents.MANIFEST} says; it was changed"
            )
    if read["content_sha256"] != contents.content_sha256(read):
        raise contents.not_sound(
            f"{contents.MANIFEST}, content_sha256: is not the hash of what it says; it was changed"
        )
    return contents.Manifest(
        suite=read["suite"],
        submitter=read_submitter(f"{contents.MANIFEST}, submitter", read["submitter"]),
        tasks=tuple(names),
        content_sha256=read["content_sha256"],
        partial=read["partial"],
    )


_MANIFEST_FIELDS: Mapping[str, Field] = {
    "format": forms.whole_number(contents.FORMAT, contents.FORMAT),
    "suite": forms.SUITE,
    "submitter": forms.OBJECT,
    "tasks": is_list_of(forms.line_text(64)),
    "partial": forms.OBJECT,
    "files": forms.OBJECT,
    "content_sha256": forms.HASH,
}


_NOT_TASKS_OWN = ("asked", "response_sha256")
"""Columns that a task's items have where the run had something to say there; `sources` names the submitter's files, and stays."""


def write_package(
    folder: Path,
    out: Path,
    submitter: contents.Submitter,
    *,
    tasks: Sequence[str] = (),
    options: contents.VerifyOptions = contents.DEFAULT_OPTIONS,
    allow_partial: bool = False,
) -> contents.Package:
    """Writes a finished run, or some of its `tasks`, as a package; `allow_partial` also what is not the whole official split."""
    checked = read_submitter("the submitter", submitter.stated())
    raw = read_results(folder)
    names = chosen_tasks(folder, raw["tasks"], tasks)
    if any("repeats" in raw["tasks"][name]["recipe"] for name in names):
        raise UsageError(
            f"{folder}: asked each question several times (--repeats), and a package has one answer to each. Give the run's "
            "command again without --repeats: it takes the first answers, and asks nothing."
        )
    counts, most = (
        {name: raw["tasks"][name]["n_items"] for name in names},
        contents.DEFAULT_LIMITS.items,
    )
    if sum(counts.values()) > most:
        raise UsageError(
            f"{folder}: a package takes at most {most:,} items of all its tasks, and this run has "
            f"{', '.join(f'{name} {count:,}' for name, count in counts.items())}. Submit them in several (--task NAME), "
            f"and run one that has more by itself, as no official split has, with --max-samples {most}."
        )
    # Corrected figures rest on a check of the judge that no package holds.
    shown: dict[str, dict[str, Any]] = {name: {**raw["tasks"][name]} for name in names}
    for name, entry in shown.items():
        declared = {metric.name for metric in task_spec(name).metrics}
        entry["metrics"] = {
            metric: told
            for metric, told in entry["metrics"].items()
            if raw_name(metric, declared) == metric
        }
    results = scrub({**raw, "tasks": shown})
    partial = results_file.partial_facts(results)
    if partial and not allow_partial:
        said = "\n".join(f"  {name}: {' '.join(reasons)}" for name, reasons in partial.items())
        raise UsageError(
            f"{folder}: is not a result over the whole official split:\n{said}\nRun it on all of it, or write a package that "
            "leaderboards may refuse with --allow-partial."
        )
    rows = read_items(folder)
    verdicts = read_verdicts(folder)
    items: list[dict[str, Any]] = []
    answers: list[dict[str, str]] = []
    kept: list[Mapping[str, Any]] = []
    for name in names:
        entry = {**raw["tasks"][name]}
        task = results_file.reported_task(task_spec(name), entry)
        own = [row for row in rows if row["task"] == name]
        judged = [row for row in verdicts if row["task"] == name]
        found = (
            answers_of_run(task, entry["recipe"], folder, options) if texts_allowed(task) else None
        )
        told = found or {}
        answers += [
            {"task": name, "id": row["id"], "response": told[row["id"]]}
            for row in own
            if row["id"] in told
        ]
        items += _item_rows(folder, task, own, judged, found)
        kept += judged
    files = {contents.RESULTS: _json(results), contents.ITEMS: _lines(items)}
    files |= {contents.ANSWERS: _lines(answers)} if answers else {}
    files |= {contents.VERDICTS: _lines(kept)} if kept else {}
    content = zip_bytes(
        {contents.MANIFEST: _json(make_manifest(checked, names, partial, files)), **files}
    )
    try:
        # What is submitted is what a stranger would take.
        package = read_package(content)
    except contents.PackageError as error:
        raise UsageError(f"{folder}: cannot be submitted as it is: {error}") from error
    with WholeFile(out) as file:
        file.write_bytes(content)
    return package


def chosen_tasks(folder: Path, entries: Mapping[str, Any], wanted: Sequence[str]) -> list[str]:
    """Names the tasks of a run that are wanted, all without any, in the order of the run; each with a recipe to find it by."""
    missing = [name for name in wanted if name not in entries]
    if missing or not entries:
        raise UsageError(
            f"{folder}: has no results of {', '.join(missing) or 'any task'}, but of {', '.join(entries)}."
        )
    chosen = [name for name in entries if not wanted or name in wanted]
    for name in chosen:
        task_spec(name)
        check_recipe(folder, entries[name]["recipe"])
    return chosen


def _item_rows(
    folder: Path,
    task: TaskSpec,
    rows: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Mapping[str, Any]],
    answers: Mapping[str, str] | None,
) -> Iterator[dict[str, Any]]:
    by_item, _ = rows_file.verdicts_of_items(verdicts, {row["id"] for row in rows})
    columns = rows_file.item_columns(task)
    for row in rows:
        made = {name: row.get(name) for name in columns}
        # JSON has no `nan`: a value without a denominator is a text, and null stays a value that is not decided.
        made = {
            name: rows_file.NAN if isinstance(value, float) and value != value else value
            for name, value in made.items()
        }
        made["unclear"] = made["unclear"] or ""  # None in folders of older versions
        made |= {name: row[name] for name in _NOT_TASKS_OWN if row.get(name) is not None}
        answered = not str(row["unscored"] or "").startswith(UNANSWERED)
        digest = (
            str(row.get("response_sha256") or "")
            if answers is None
            else contents.answer_sha256(answers.get(row["id"]))
        )
        if answered != bool(digest):
            raise UsageError(
                f"{folder}: the answer to {row['id']!r} of {task.name} is not found again, or was not there when the run was "
                "scored. Give the run's command again, then this one."
            )
        yield {
            **made,
            "answer_sha256": digest,
            "verdicts_sha256": contents.verdicts_sha256(by_item.get(row["id"], ())),
        }


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=True, allow_nan=False, indent=1) + "\n").encode()


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(
        json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n" for row in rows
    ).encode()


def answers_of_run(
    task: TaskSpec, recipe: Mapping[str, Any], folder: Path, options: contents.VerifyOptions
) -> Mapping[str, str]:
    """Finds the answers that a run scored, item id to answer."""
    check_recipe(folder, recipe)
    source, responses = folder, None
    if options.responses is not None and options.responses.is_dir():
        source = options.responses  # the run whose answers were scored again
    elif recipe["model"]["name"].startswith("responses/"):
        responses = options.responses
    with run_data(
        task, dataset_spec(task.dataset), recipe, data=options.data, source=options.source
    ) as found:
        return run_responses(
            task, found, recipe, source, responses=responses, upstream=options.upstream
        )


_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file knows
_MADE_ON_UNIX: Final = 3
_PLAIN_FILE: Final = 0o100644 << 16


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """Packs files, in this order, without times, comments and extra fields."""
    made = io.BytesIO()
    with zipfile.ZipFile(
        made, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=9
    ) as package:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system, info.external_attr = _MADE_ON_UNIX, _PLAIN_FILE
            info.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(info, content)
    return made.getvalue()
