"""Reads existing answers from JSON Lines, a JSON list, a shared-task submission or a table.

Fields may have this project's names, DocLens's, those of submissions to ArchEHR-QA's shared
tasks (2025 and 2026), or those of the benchmark's authors (`Benchmark.published_answers`).
Columns may also have the names of the dataset's own files, or `question` where questions
identify the items.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, Self, TypeAlias

from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.errors import UsageError, listed
from medical_tasks.guard import policy
from medical_tasks.io.cells import plain
from medical_tasks.io.json_records import is_text, json_lines, named, shown
from medical_tasks.io.store import Texts
from medical_tasks.io.tables import (
    cell_text,
    folded,
    has_columns,
    is_json,
    is_workbook,
    read_content,
    read_json,
    read_table,
    settle_rows,
)
from medical_tasks.io.wording import ANSWER_COLUMNS, quoted_question
from medical_tasks.runs.results import Json, Row
from medical_tasks.spec import Item, PublishedAnswer, TaskSpec

SUBMISSION: Final = "submission.json"
"""The name of a submission in a zip file."""

LARGEST: Final = 10_000_000
"""The most bytes of a zip file, packed or unpacked; a submission of 200 cases has about 100,000."""

_FORM: Final = '{"id": "17", "response": "the raw text of the model"}'
_LIST_FORM: Final = '{"example_id": "17", "output": "the raw text of the model"}'
_TABLE: Final = f"Save it as CSV UTF-8 or XLSX with the columns {ANSWER_COLUMNS}, named in the first row."
_TEXTS: Final = (
    "response",
    "output",
    "prediction",
    "model_answer",
    "model_response",
    "model_output",
)
_GOLD: Final = "answer"  # the model's, where no other column can hold its answers
_QUESTION: Final = "question"
_CHANGED_ID: Final = re.compile(
    r"[0-9]\.[0-9]+E\+[0-9]+|[0-9]{2}(/[0-9]{2}/[0-9]{4}|-[A-Z][a-z]{2})"
)
_OTHER_SHEETS: Final = (".ods", ".numbers", ".xlsb")
_SHOWN: Final = 5
_ZIP: Final = b"PK"
_KNOWS_ANSWERS: Final = has_columns(
    "|".join((*_TEXTS, _GOLD)), numbers="|".join((*_TEXTS, _GOLD))
)
_ENCRYPTED: Final = 1
# Other methods can need gigabytes to unpack a few bytes.
_PACKED: Final = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
_DAMAGED: Final = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError,
)  # fmt: skip
"""The errors that a damaged zip file raises."""
_NAMES: Final = (("id", "example_id"), ("response", "output"))
"""Our name and the authors' name of each field."""
_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_PREDICTION: Final = "prediction"
_SUBMITTED: Final = (("case_id",), (_PREDICTION, "answer"))
"""The fields' names in a submission.

They are never mixed with others: "answer" may be the gold next to a response or a prediction.
"""


class Answer(NamedTuple):
    """One answer in a file.

    Attributes:
        id: the id of the item it answers.
        text: the model's raw text; None where the file says that there is none.
        position: its position in the file (`line 3`, `record 3`).
    """

    id: str
    text: str | None
    position: str


@dataclass(frozen=True, kw_only=True)
class GivenAnswers:
    """Answers passed in Python, converted to JSON Lines.

    They were a dict of item id to text, records, or a DataFrame (a `table`).
    """

    content: bytes
    table: bool

    @classmethod
    def of(cls, answers: Any) -> Self:
        """Converts a dict, records or a DataFrame."""
        table = hasattr(answers, "to_dict") and not isinstance(answers, Mapping)
        if isinstance(answers, Mapping):
            answers = [{"id": name, "response": text} for name, text in answers.items()]
        elif table:
            answers = answers if answers.index.name is None else answers.reset_index()
            records = (
                answers.astype(object).where(answers.notna(), None).to_dict("records")
            )
            answers = [
                {str(name): cell_text(value) for name, value in record.items()}
                for record in records
            ]

        if not isinstance(answers, Iterable):
            raise UsageError(
                "responses are a dict of id to text, records, a DataFrame or a file, got "
                f"{type(answers).__name__} {answers!r}."
            )

        text = "".join(json.dumps(record, default=_plain) + "\n" for record in answers)
        return cls(content=text.encode(), table=table)

    @property
    def name(self) -> str:
        """A name instead of a file's."""
        return f"answers-{hashlib.sha256(self.content).hexdigest()[:8]}"

    stem = name

    def __str__(self) -> str:
        return "the answers given"


Source: TypeAlias = Path | GivenAnswers
"""A file of answers, or answers passed in Python."""
Record: TypeAlias = tuple[str, Any]
"""The position of a record, line or row in its file, and its content."""


def _plain(value: Any) -> Any:
    """Converts a NumPy number; anything else is not an answer and must not be scored as text."""
    if hasattr(value, "item"):
        return value.item()
    raise UsageError(
        f"mt.score: an answer is a text, or None for no answer; got {type(value).__name__}."
    )


def read_file(path: Source, *, option: str = "--responses") -> bytes:
    """Reads a responses file; messages name the `option` that gave it."""
    if isinstance(path, GivenAnswers):
        return path.content
    table = f"a CSV, XLSX or parquet file with the columns {ANSWER_COLUMNS}"
    return read_content(path, form=f"Give {option} {table}, or JSON Lines like {_FORM}")


def read_responses(
    path: Source,
    known_ids: Collection[str],
    *,
    content: bytes | None = None,
    check: Callable[[Sequence[Any]], Sequence[str]] | None = None,
    task: TaskSpec | None = None,
    items: Sequence[Item] = (),
) -> Mapping[str, str]:
    """Reads the model's texts by item id; null or an empty cell means no answer.

    Args:
        path: the file, or the answers.
        known_ids: the ids of the task's items.
        content: the file's content, if it was already read.
        check: lists the problems of a submission to a shared task.
        task: with `items`, decides which columns of a table may identify the items.
        items: the task's items.

    Raises:
        UsageError: a record, row or id is wrong; the message names it.
    """
    ids = set(known_ids)
    records, table = _values(path, read_file(path) if content is None else content)
    if not table and check is not None:
        records = list(records)
        _check_submission(path, [value for _, value in records], check)

    responses, unknown = Texts(), []
    names = _Names(ids, items)
    published, answers = _answers(path, records, table, names, task)
    for answer in _check_unique(path, answers, names):
        if answer.id not in ids:
            unknown.append(answer)
        elif answer.text is not None:
            responses.put(answer.id, answer.text)

    if unknown and not (published and len(responses)):
        raise _no_items(path, unknown, names)

    if unknown:
        print(
            f"note: {path}: {len(unknown)} answers are left out: they answer no item of the task, "
            f"or one that asks something else: {_listed(unknown)}",
            file=sys.stderr,
        )

    return responses


def _check_submission(
    path: Source,
    records: Sequence[Any],
    check: Callable[[Sequence[Any]], Sequence[str]],
) -> None:
    """Refuses a submission that its shared task would refuse, and lists all its problems."""
    submitted = any(_submitted(record) and _PREDICTION in record for record in records)
    if problems := check(records) if submitted else ():
        raise UsageError(
            f"{path}: nothing is scored, since the submission has {len(problems)} "
            f"problem{'s' * (len(problems) > 1)}"
            + "".join(f"\n  {problem}" for problem in problems)
            + "\nFix them and score it again."
        )


def _no_items(path: Source, unknown: Sequence[Answer], names: _Names) -> UsageError:
    """Makes the error for answers that belong to no item of the task."""
    ids = names.ids
    if names.by_questions:
        questions = [
            f"{quoted_question(answer.id)} ({answer.position})" for answer in unknown
        ]
        first = quoted_question(names.question(min(ids)))
        count = (
            f"{len(unknown)} questions are none"
            if len(unknown) > 1
            else "1 question is none"
        )
        return UsageError(
            f"{path}: {count} of the task's: {listed(questions, _SHOWN)}. It asks such as {first}. "
            "Is it the right task and --config?"
        )

    sample = ", ".join(map(repr, sorted(ids)[:3]))
    count = (
        f"{len(unknown)} ids are not items" if len(unknown) > 1 else "1 id is no item"
    )
    changed = any(_CHANGED_ID.fullmatch(answer.id) for answer in unknown)

    return UsageError(
        f"{path}: {count} of the task: {_listed(unknown)}. Its ids look like {sample}. Is it the "
        "right task and --config?"
        + " A spreadsheet has rounded ids, or made dates of them: format the column as Text and "
        "paste them again." * changed
    )


def _listed(answers: Sequence[Answer]) -> str:
    return listed(
        [f"{named(answer.id)} ({answer.position})" for answer in answers], _SHOWN
    )


def _answers(
    path: Source,
    values: Iterable[Record],
    table: bool,
    names: _Names,
    task: TaskSpec | None = None,
) -> tuple[bool, Iterator[Answer]]:
    """Returns whether the first record has the benchmark authors' form, and all records' answers."""
    rest = iter(values)
    first = list(itertools.islice(rest, 1))
    values = itertools.chain(first, rest)
    if task is not None and any(_published_in(path, task, *record) for record in first):
        return True, _published_answers(path, values, task, names)
    if table:
        return False, _table_answers(path, list(values), names, task)
    return False, (_answer(path, position, value) for position, value in values)


def _published_answers(
    path: Source, values: Iterable[Record], task: TaskSpec, names: _Names
) -> Iterator[Answer]:
    """Yields the answers of records in the authors' form, each with an item's id.

    An answer to an item's question with other choices or another patient gets an id that no
    item has, so it is reported and not scored as that item's.
    """
    for position, value in values:
        answers = _published_in(path, task, position, value)
        if not answers:
            raise UsageError(
                f"{path}, {position}: its fields differ from the first record's. Give all records the "
                "same fields, or remove this one."
            )

        for answer in answers:
            candidates = names.by_id(answer.item) or names.by_question(answer.item)
            if len(candidates) > 1:
                raise UsageError(
                    f"{path}, {position}: could answer {' or '.join(sorted(candidates))}. Say which, by a "
                    "field 'id'."
                )

            text = answer.text
            if text is not None:
                text = _checked_text(f"{path}, {position}", text)

            name = candidates[0] if candidates else answer.item
            if candidates and not names.fits(name, answer.asked):
                name = f"{name} otherwise"

            yield Answer(id=name, text=text, position=position)


def _published_in(
    path: Source, task: TaskSpec, position: str, value: object
) -> Sequence[PublishedAnswer]:
    """Returns the answers of a record in the authors' form, empty for any other form.

    A record with the field `response`, which is ours, is not in the authors' form.
    """
    if not isinstance(value, dict) or _NAMES[1][0] in value:
        return ()
    try:
        return task.benchmark.published_answers(task, value)
    except UsageError as error:
        raise UsageError(f"{path}, {position}: {error}") from None


_TEXT: Final = is_text(blank=True)


def _checked_text(where: str, text: object) -> str:
    """Returns the text, or refuses a value that is not a model's text."""
    if not isinstance(text, str):
        raise UsageError(
            f"{where}: must be the model's raw text (or null for no answer), got {shown(text)}."
        )
    if not _TEXT.holds(text):
        raise UsageError(
            f"{where}: has invalid characters (lone surrogates). Write the text again without them."
        )
    return text


class _Names:
    """Identifies items by their ids, also as a spreadsheet rewrites them, or by their questions.

    Example:
        >>> names = _Names(["17", "007", "x1"], [])
        >>> names.by_id("17.0"), names.by_id("7"), names.by_id("x1"), names.by_id("8")
        (['17'], ['007'], ['x1'], [])
    """

    def __init__(self, ids: Collection[str], items: Sequence[Item]) -> None:
        """Keeps ids and items; the indexes are built only for tables and authors' files.

        `by_questions` says whether the file names the items by their questions. Messages then
        quote the questions, except those of credentialed data.
        """
        self.ids, self._items = ids, items
        self.by_questions = False

    @cached_property
    def _numbers(self) -> dict[Decimal, list[str]]:
        """The ids that are numbers, by number: a spreadsheet may rewrite them."""
        numbers: dict[Decimal, list[str]] = {}
        for identifier in self.ids:
            if (number := _number(identifier)) is not None:
                numbers.setdefault(number, []).append(identifier)
        return numbers

    @cached_property
    def _by_question(self) -> dict[str, list[str]]:
        """The ids of the items by question."""
        ids: dict[str, list[str]] = {}
        for item in self._items:
            question = _normalised(str(item.fields.get(_QUESTION, "")))
            ids.setdefault(question, []).append(item.id)
        return ids

    @cached_property
    def _fields(self) -> dict[str, Row]:
        """The items' fields."""
        return {item.id: item.fields for item in self._items}

    @property
    def distinct_questions(self) -> bool:
        """Whether no two items share a question."""
        return bool(self._by_question) and all(
            question and len(ids) == 1 for question, ids in self._by_question.items()
        )

    def question(self, identifier: str) -> str:
        """Returns an item's question."""
        return str(self._fields[identifier].get(_QUESTION, ""))

    def shown(self, identifier: str) -> str:
        """Names an item in a message to the file's author."""
        if self.by_questions and identifier in self._fields:
            return quoted_question(self.question(identifier))
        return f"id {named(identifier)}"

    def by_id(self, text: str) -> list[str]:
        """Returns the items with this id, or with one that a spreadsheet rewrote to it.

        A spreadsheet may turn 17 into 17.0 or 1.7E+01, and 007 into 7.
        """
        if text in self.ids:
            return [text]
        number = _number(text)
        return self._numbers.get(number, []) if number is not None else []

    def by_question(self, text: str) -> list[str]:
        """Returns the items with this question."""
        return self._by_question.get(_normalised(text), [])

    def meant(self, column: str, cell: object) -> list[str]:
        """Returns the items that a cell can name, by question or by id."""
        find = self.by_question if folded(column) == _QUESTION else self.by_id
        text = str(cell).strip()
        # A sheet that this project wrote as CSV has '0071 for 0071.
        return find(text) or find(plain(text))

    def fits(self, identifier: str, required: Json) -> bool:
        """Whether an item has these fields; fields that are unknown do not matter."""
        fields = self._fields.get(identifier, required)
        return all(
            value is None
            or _normalised(str(fields.get(name, value))) == _normalised(str(value))
            for name, value in required.items()
        )


def _table_answers(
    path: Source,
    rows: Sequence[tuple[str, Json]],
    names: _Names,
    task: TaskSpec | None,
) -> Iterator[Answer]:
    """Yields the answers of a table, once the columns of the text and of the item are known."""
    source = task.benchmark.source(task.dataset) if task is not None else None
    text = _text_column(path, list(rows[0][1]), source)
    answered = [(position, row) for position, row in rows if row.get(text) is not None]
    for (position, row), identifier in zip(
        answered, _named_items(path, answered, names, source), strict=True
    ):
        where, response = f"{path}, {position}, column {text!r}", row[text]
        _checked_text(where, response)
        yield Answer(id=identifier, text=response, position=position)


def _text_column(
    path: Source, columns: Sequence[str], source: DatasetSource | None
) -> str:
    """Finds the one column with the model's answers.

    A column with the gold's name counts only where there is no other candidate and no other
    column of the dataset; otherwise it is the gold, and would score full marks.
    """
    candidates = [name for name in columns if folded(name) in _TEXTS] or [
        name for name in columns if folded(name) == _GOLD
    ]
    if len(candidates) != 1:
        several = f"{' and '.join(map(repr, candidates))} could each be the model's answers; leave out all but one"
        none = f"no column with the answers: name it 'answer'. There are {', '.join(map(named, columns))}"
        raise UsageError(f"{path}: {several if candidates else none}. {_TABLE}")

    theirs = (
        {column.name for column in source.columns} - {source.key, _QUESTION}
        if source
        else set()
    )
    if (
        folded(candidates[0]) == _GOLD
        and _GOLD in theirs
        and any(folded(name) in theirs - {_GOLD} for name in columns)
    ):
        raise UsageError(
            f"{path}: next to other columns of the dataset, {candidates[0]!r} looks like its own "
            "answers. Name the model's column 'response'."
        )

    return candidates[0]


def _named_items(
    path: Source,
    rows: Sequence[tuple[str, Json]],
    names: _Names,
    source: DatasetSource | None,
) -> Iterator[str]:
    """Yields each row's item id, by the columns that name items; these must agree.

    A column whose cells do not each identify one item is ignored if another one does.
    """
    naming = {"id", "example_id"} | (
        {source.key, *source.id_names} if source else set()
    )
    if names.distinct_questions:
        naming.add(_QUESTION)

    columns = [name for name in (rows[0][1] if rows else ()) if folded(name) in naming]
    if rows and not columns:
        or_question = f" or {_QUESTION!r}" if _QUESTION in naming else ""
        raise UsageError(
            f"{path}: no column 'id'{or_question} names the items. {_TABLE}"
        )

    # The columns that identify one item in every row, or the first column if none does.
    unambiguous = [
        name
        for name in columns
        if all(len(names.meant(name, row[name])) == 1 for _, row in rows)
    ]
    named_by = unambiguous or columns[:1]
    names.by_questions = not policy.protecting() and [
        folded(name) for name in named_by
    ] == [_QUESTION]
    for position, row in rows:
        yield _named_item(f"{path}, {position}", row, named_by, names)


def _named_item(where: str, row: Row, columns: Sequence[str], items: _Names) -> str:
    """Returns the id of a row's item; every column must name the same item."""
    first, *others = columns
    cell, ids = row[first], items.meant(first, row[first])
    where = f"{where}, column {first!r}"
    if cell is None:
        raise UsageError(f"{where}: empty next to an answer. Name the item it answers.")

    if len(ids) > 1:
        raise UsageError(
            f"{where}: {cell} could be {' or '.join(sorted(ids))}; the spreadsheet has turned the "
            "id into a number. Name the item it answers."
        )

    if any(items.meant(name, row[name]) != ids for name in others):
        names = " and ".join(map(repr, columns))
        raise UsageError(
            f"{where}: {names} name different items. Leave out all but one."
        )

    return ids[0] if ids else str(cell).strip()


def _number(text: str) -> Decimal | None:
    return (
        Decimal(text)
        if re.fullmatch(
            r"[0-9]{1,30}(\.[0-9]{1,30})?([eE]\+?[0-9]{1,2})?", text, re.ASCII
        )
        else None
    )


def _normalised(text: str) -> str:
    """Normalises a question's blanks, quotation marks and case."""
    return " ".join(text.translate(_QUOTES).split()).casefold()


def parse_answers(path: Path, content: bytes) -> list[Answer]:
    """Reads the answers of a file to any items."""
    values, table = _values(path, content)
    names = _Names((), ())
    return list(_check_unique(path, _answers(path, values, table, names)[1], names))


def unzipped(path: Path, content: bytes) -> tuple[str, bytes]:
    """Unpacks the one `submission.json` of a zip file; returns its folder ("" for none) and bytes.

    Content that is not a zip file is returned unchanged.
    """
    if not content.startswith(_ZIP):
        return "", content

    advice = f"Zip {SUBMISSION} again; either may have at most {LARGEST:,} bytes."
    if len(content) > LARGEST:
        raise UsageError(f"{path}: has {len(content):,} bytes. {advice}")

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            member = _submission_in(archive, f"{path}:", advice)
            with archive.open(member) as stream:
                unpacked = stream.read(LARGEST + 1)
    except _DAMAGED as error:
        raise UsageError(
            f"{path}: a damaged zip file ({type(error).__name__}). {advice}"
        ) from None

    if len(unpacked) > LARGEST:
        raise UsageError(
            f"{path}: {SUBMISSION} has more than {LARGEST:,} bytes in it. {advice}"
        )

    folder = str(PurePosixPath(member.filename).parent)
    return "" if folder == "." else folder, unpacked


def _submission_in(
    archive: zipfile.ZipFile, where: str, advice: str
) -> zipfile.ZipInfo:
    """Finds the one file in a zip file, ignoring folders and the files that macOS adds."""
    files = []
    for member in archive.infolist():
        path = PurePosixPath(member.filename)
        hidden = path.parts[:1] == ("__MACOSX",) or path.name.startswith(".")
        if not member.is_dir() and not hidden:
            files.append(member)

    if len(files) != 1 or PurePosixPath(files[0].filename).name != SUBMISSION:
        content = (
            listed([named(member.filename) for member in files], _SHOWN) or "no files"
        )
        raise UsageError(
            f"{where} holds {content}, and must hold {SUBMISSION} alone. {advice}"
        )

    if files[0].flag_bits & _ENCRYPTED or files[0].compress_type not in _PACKED:
        raise UsageError(
            f"{where} {SUBMISSION} is encrypted in it, or not compressed with deflate. {advice}"
        )

    return files[0]


def _values(path: Source, content: bytes) -> tuple[Iterable[Record], bool]:
    """Reads a file's records with their positions, and says whether it is a table."""
    if isinstance(path, GivenAnswers):
        lines = json_lines(Path(str(path)), content, form=_FORM)
        rows = [(position.replace("line", "row"), value) for position, value in lines]
        if path.table:
            rows = settle_rows(path, rows, _KNOWS_ANSWERS(list(rows[0][1])) or ())

        return rows, path.table

    if (
        content.startswith(_ZIP)
        and not is_workbook(content)
        and path.suffix.lower() not in _OTHER_SHEETS
    ):
        _, content = unzipped(path, content)
    elif not is_json(path, content):
        table = read_table(path, content=content, form=_TABLE, knows=_KNOWS_ANSWERS)
        return [(row.at, row.cells) for row in table.rows], True

    return read_json(path, content, form=_FORM), False


def _check_unique(
    path: Source, answers: Iterable[Answer], names: _Names
) -> Iterator[Answer]:
    """Yields the answers, and refuses two to the same item."""
    positions: dict[str, str] = {}
    for answer in answers:
        if answer.id in positions:
            kind, number = positions[answer.id].split()
            raise UsageError(
                f"{path}: {kind}s {number} and {answer.position.split()[1]} both answer "
                f"{names.shown(answer.id)}; one answer an item is scored. Remove one of them."
            )

        positions[answer.id] = answer.position
        yield answer


def _submitted(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _SUBMITTED[0][0] in value
        and not any(name in value for name in _NAMES[0])
    )


def _answer(path: Source, position: str, value: object) -> Answer:
    """Reads the answer of a record or a line."""
    where, in_list = f"{path}, {position}", position.startswith("record")
    form = (
        f"A record is like {_LIST_FORM}"
        if in_list
        else f"A {position.split()[0]} is like {_FORM}"
    )
    if not isinstance(value, dict):
        raise UsageError(f"{where}: an object is needed, got {shown(value)}. {form}")

    for ours, theirs in _NAMES:
        if in_list and ours in value and theirs in value:
            raise UsageError(
                f"{where}: has both {ours!r} and {theirs!r}, and only one may be given. Remove the "
                "other."
            )

    id_name, text_name = _field_names(value, where, form, in_list=in_list)
    identifier, response = _identifier(where, id_name, value[id_name]), value[text_name]
    if text_name == _PREDICTION and isinstance(response, list):
        response = json.dumps(response)
    if response is not None:
        response = _checked_text(f"{where}, {text_name!r}", response)

    return Answer(id=identifier, text=response, position=position)


def _field_names(
    value: Json, where: str, form: str, *, in_list: bool
) -> tuple[str, str]:
    """Finds the fields with an answer's id and text; a submission has its own names for them."""
    submitted = _submitted(value)
    id_name, text_name = (
        next((name for name in names if name in value), "")
        for names in (_SUBMITTED if submitted else _NAMES)
    )
    if id_name and text_name:
        return id_name, text_name

    expected = " and ".join(repr(names[in_list]) for names in _NAMES)
    if submitted:
        expected = "'case_id' and 'answer' or 'prediction'"

    keys = ", ".join(map(named, sorted(value)))
    raise UsageError(f"{where}: needs the keys {expected}, got keys [{keys}]. {form}")


def _identifier(where: str, name: str, value: object) -> str:
    """Returns the id of an answer, which may be text or a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        kind = repr(value) if isinstance(value, bool | float) else type(value).__name__
        raise UsageError(
            f"{where}: {name!r} must be text or a whole number, got {kind}."
        )
    return str(value)
