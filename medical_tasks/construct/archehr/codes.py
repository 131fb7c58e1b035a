"""Descriptions of diagnosis codes for messages and notes.

They bridge the different vocabularies of patients and clinicians (section Alignment). The
paper prompts Llama 3.3 70B (supplement, table S3); the prompt here is ours.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import medical_tasks.construct.shared as construction
from medical_tasks.construct.archehr import files
from medical_tasks.construct.archehr.files import is_id, one_line, read_table
from medical_tasks.construct.archehr.forms import (
    CodedNotes,
    CodedPosts,
    CodesFromFile,
    CodesFromModel,
    Expansion,
)
from medical_tasks.construct.archehr.posts import Post, load_posts
from medical_tasks.construct.options import ArchehrExpand
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.io.files import open_text, packaged
from medical_tasks.io.json_records import Field, is_list_of, is_text
from medical_tasks.judges.base import Question, Unreadable
from medical_tasks.judges.reading import quoted, read_object
from medical_tasks.runs.asking import open_construction_model
from medical_tasks.spec import Message

MAX_NEW_TOKENS: Final = 1_000
_TEXTS: Final[Mapping[str, str]] = packaged(__file__, "codes_prompt.json")
_TEMPLATE: Final = hashlib.sha256("\0".join(_TEXTS.values()).encode()).hexdigest()

_COLUMNS: Final = {
    "id": ("id", "post_id", "message_id"),
    "code": ("icd_code", "icd9_code", "code"),
    "description": ("long_title", "description"),
}
_POST_FIELDS: Final = {
    "id": files.ID,
    "descriptions": construction.private_field(is_list_of(is_text())),
    "codes": construction.private_field(is_list_of(is_text())),
}


def codes_from_file(folder: Path, source: Path) -> CodesFromFile:
    """Reads the codes of messages from a table of `id`, `code` and `description`.

    Rows about messages that were not kept are skipped.
    """
    posts = load_posts(folder)
    _check_unused(folder)
    codes: dict[str, dict[str, str]] = {post.id: {} for post in posts}
    others = 0
    for row in read_table(source, _COLUMNS, release="table of messages' codes"):
        cells = row.cells
        code, description = one_line(cells["code"]), one_line(cells["description"])
        if not code or not description:
            raise UsageError(
                f"{source}: row {row.number:,}: code and description must not be empty."
            )

        if cells["id"].strip() not in codes:
            others += 1
            continue

        codes[cells["id"].strip()].setdefault(code, description)

    if not any(codes.values()):
        raise UsageError(
            f"{source}: names none of the {len(posts):,} messages that were kept."
        )

    coded: CodesFromFile = {
        "source_sha256": file_sha256(source),
        "rows_of_others": others,
        **_written(folder, posts, codes),
    }
    _note(folder, "posts", coded)
    return coded


def codes_from_model(arguments: ArchehrExpand, name: str) -> CodesFromModel:
    """Asks a model for the codes of each message.

    Messages without a usable reply are searched by their own words alone.
    """
    folder = arguments.folder
    posts = load_posts(folder)
    _check_unused(folder)
    settings = {"prompts": _TEMPLATE, "posts": file_sha256(folder / files.POSTS)}
    with open_construction_model(
        name,
        arguments,
        settings,
        step=f"{arguments.benchmark} {arguments.step}",
        into=arguments.folder,
        what="descriptions",
        finished=files.POST_CODES,
    ) as model:
        codes = model.ask([codes_question(post) for post in posts])

    coded: CodesFromModel = {
        "recipe": model.recipe,
        "asked_again": sum(model.tries[name] - 1 for name in codes),
        "failed": dict(Counter(model.failed.values())),
        "failed_posts": model.failed,
        **_written(folder, posts, codes),
    }
    _note(folder, "posts", coded)
    return coded


def _written(
    folder: Path, posts: Sequence[Post], codes: Mapping[str, Mapping[str, str]]
) -> CodedPosts:
    """Writes the codes of each message, and returns their counts."""
    lines = [
        {
            "id": post.id,
            "codes": list(codes.get(post.id, ())),
            "descriptions": list(codes.get(post.id, {}).values()),
        }
        for post in posts
    ]
    return {
        "posts": len(posts),
        "with_codes": sum(bool(codes.get(post.id)) for post in posts),
        "codes": sum(len(post_codes) for post_codes in codes.values()),
        "sha256": construction.write_lines(folder / files.POST_CODES, lines),
    }


def _expansion(folder: Path) -> Expansion:
    """Reads `expand.json`, or returns an empty one."""
    path = folder / files.EXPANSION
    expansion: Expansion = {"schema_version": 1, "notes": None, "posts": None}
    if path.exists():
        expansion = construction.read_json(path, step="archehr expand")
    return expansion


def _note(
    folder: Path, side: Literal["notes", "posts"], coded: Mapping[str, object]
) -> None:
    """Writes the outcome for notes or messages into `expand.json`, leaving the other."""
    construction.write_json(
        folder / files.EXPANSION, {**_expansion(folder), side: coded}
    )


def _check_unused(folder: Path) -> None:
    """Refuses to change codes after an alignment, from which somebody may be choosing."""
    if (folder / files.ALIGNMENT).exists():
        raise UsageError(
            f"{folder}: notes were aligned already, and somebody may be choosing among them. Work "
            f"in another --folder, or move {files.ALIGNMENT}, {files.CANDIDATES} and "
            f"{files.CANDIDATES_SHEET} away."
        )


def load_post_codes(folder: Path) -> dict[str, list[str]]:
    """Reads the descriptions of each message; empty if messages were not expanded."""
    path = folder / files.POST_CODES
    if not path.exists():
        return {}

    coded = _expansion(folder).get("posts")
    construction.check_unchanged(
        path,
        coded and coded.get("sha256"),
        "Do this step again: construct archehr expand.",
    )
    return {
        record.values["id"]: record.values["descriptions"]
        for record in construction.read_lines(path, _POST_FIELDS, step="archehr expand")
    }


_CODES: Final = {
    "hadm_id": ("hadm_id", "admission_id"),
    "code": ("icd_code", "icd9_code", "code"),
}
_DESCRIPTIONS: Final = {
    "code": ("icd_code", "icd9_code", "code"),
    "description": ("long_title", "description"),
}
_VERSION: Final = {"version": ("icd_version", "version")}
_FIELDS: Final = {
    "hadm_id": files.ID,
    "descriptions": construction.private_field(
        is_list_of(Field(holds=lambda value: type(value) is int, rule="a whole number"))
    ),
}
_HEAD: Final = {"titles": construction.private_field(is_list_of(is_text()))}


@dataclass(frozen=True, kw_only=True)
class AdmissionCodes:
    """The descriptions of each admission, stored compactly.

    MIMIC-IV has 6.4 million rows of codes.
    """

    titles: Sequence[str] = ()
    numbers: dict[str, array[int]] = field(default_factory=dict)

    def of(self, hadm_id: str) -> Sequence[int]:
        """Returns the numbers of an admission's descriptions; empty if it has none."""
        return self.numbers.get(hadm_id, ())


def expand_notes(folder: Path, codes: Path, dictionary: Path) -> CodedNotes:
    """Writes the descriptions of each admission's codes.

    Args:
        folder: The construction's folder, with the messages that were kept.
        codes: A table of admissions and codes, as MIMIC's `diagnoses_icd`.
        dictionary: A table of codes and descriptions, as MIMIC's `d_icd_diagnoses`.
            If it has versions of codes, the table of codes must have them too: 4019 is
            a disease in one version and undefined in the other.

    Returns:
        Recipe and counts; no text.

    Raises:
        UsageError: When the two are not of the same release, or notes were aligned
            already.
    """
    load_posts(folder)
    _check_unused(folder)
    titles, numbers, versioned = _titles(dictionary)
    admissions: dict[str, array[int]] = {}
    rows = unknown = 0
    for numbered in read_table(
        codes, _CODES, optional=_VERSION, release="table of codes"
    ):
        rows, row = rows + 1, numbered.cells
        name = row["hadm_id"].strip()
        if not name or not row["code"].strip():
            continue  # MIMIC-III has rows of admissions without a code

        if not is_id(name):
            raise UsageError(
                f"{codes}: row {numbered.number:,}: hadm_id must be an id, got a text of "
                f"{len(name)} characters."
            )

        key = (
            row["code"].strip().upper(),
            row.get("version", "").strip() if versioned else "",
        )
        if versioned and "version" not in row:
            raise UsageError(
                f"{codes}: has no column icd_version, and the dictionary {dictionary} describes "
                "codes by version. Give tables of the same release."
            )

        number = numbers.get(key)
        if number is None:
            unknown += 1
            continue

        of_admission = admissions.setdefault(name, array("i"))
        if number not in of_admission:
            of_admission.append(number)

    if not admissions:
        raise UsageError(
            f"{codes}: none of its {rows:,} codes has a description in {dictionary}. Give tables "
            "of the same release."
        )

    def lines() -> Iterator[Mapping[str, object]]:
        yield {"titles": titles}
        for name, numbers_of_admission in admissions.items():
            yield {"hadm_id": name, "descriptions": numbers_of_admission.tolist()}

    digest = construction.write_lines(folder / files.NOTE_CODES, lines())
    coded: CodedNotes = {
        "codes_sha256": file_sha256(codes),
        "dictionary_sha256": file_sha256(dictionary),
        "admissions": len(admissions),
        "codes": rows,
        "without_description": unknown,
        "sha256": digest,
    }
    _note(folder, "notes", coded)

    return coded


def _titles(dictionary: Path) -> tuple[list[str], dict[tuple[str, str], int], bool]:
    """Reads the dictionary of codes.

    Returns:
        The distinct titles, which many codes share; code and version to the number of
        its title; whether the dictionary has versions.
    """
    titles: dict[str, int] = {}
    numbers: dict[tuple[str, str], int] = {}
    versioned = False
    for numbered in read_table(
        dictionary, _DESCRIPTIONS, optional=_VERSION, release="dictionary of codes"
    ):
        row = numbered.cells
        versioned = "version" in row
        title = one_line(row["description"])
        if title:
            key = (row["code"].strip().upper(), row.get("version", "").strip())
            numbers.setdefault(key, titles.setdefault(title, len(titles)))

    return list(titles), numbers, versioned


def load_admission_codes(folder: Path) -> AdmissionCodes:
    """Reads what `expand_notes` wrote; empty if notes were not expanded."""
    path = folder / files.NOTE_CODES
    if not path.exists():
        return AdmissionCodes()
    with open_text(path) as stream:
        codes = AdmissionCodes(titles=_read(path, next(stream, ""), _HEAD)["titles"])
        for line in stream:
            record = _read(path, line, _FIELDS)
            codes.numbers[record["hadm_id"]] = array("i", record["descriptions"])
    return codes


def _read(path: Path, line: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    # Not read_records: it would hold the half a million lines of the file in memory.
    try:
        values = json.loads(line)
    except ValueError:
        values = None

    has_fields = isinstance(values, dict) and values.keys() == fields.keys()
    if not has_fields or not all(
        field.holds(values[name]) for name, field in fields.items()
    ):
        raise UsageError(
            f"{path}: not as medical-tasks wrote it. Do this step again: construct archehr expand."
        )

    return dict(values)


_CODE: Final = re.compile(r"[A-Z0-9][A-Z0-9.]{1,8}")
_LONGEST_DESCRIPTION: Final = 300  # in characters; the longest official one has fewer


def read_codes(reply: str) -> dict[str, str] | Unreadable:
    """Reads a reply: code in capitals to description.

    Of a repeated code, the first description counts.
    """
    record = read_object(reply, {"codes": _codes})
    if isinstance(record, Unreadable):
        return record

    codes: dict[str, str] = {}
    for entry in record["codes"]:
        codes.setdefault(entry["code"].strip().upper(), one_line(entry["description"]))

    return codes


def _codes(value: object) -> str | None:
    if not isinstance(value, list):
        return "must be a list of objects"
    return next(
        (problem for entry in value if (problem := _code(entry)) is not None), None
    )


def _code(value: object) -> str | None:
    if not isinstance(value, Mapping) or set(value) != {"code", "description"}:
        return "must hold objects with the keys code, description and no others"

    if not isinstance(value["code"], str) or not _CODE.fullmatch(
        value["code"].strip().upper()
    ):
        return "must hold codes of 2 to 9 letters, digits and dots"

    description = value["description"]
    if (
        not isinstance(description, str)
        or not is_text().holds(description)
        or not one_line(description)
        or len(description) > _LONGEST_DESCRIPTION
    ):
        return f"must hold descriptions of 1 to {_LONGEST_DESCRIPTION} characters"

    return None


def codes_question(post: Post) -> Question:
    """Makes the question for the codes of a message."""
    return Question(
        id=post.id,
        messages=codes_messages(post.text),
        template=_TEMPLATE,
        read=read_codes,
        again=_TEXTS["again"],
        max_tokens=MAX_NEW_TOKENS,
    )


def codes_messages(text: str) -> tuple[Message, ...]:
    """Asks for the codes of a message."""
    case = _TEXTS["case"].format(text=quoted(text))
    return (
        {
            "role": "user",
            "content": "\n\n".join((_TEXTS["task"], _TEXTS["form"], case)),
        },
    )
