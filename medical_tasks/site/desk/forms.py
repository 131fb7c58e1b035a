"""Files of other commands that are labelled at the desk and written back in their own form.

    file or folder                        made by                             taken back by
    unclear.csv                           adjudicate                          score --adjudicated
    a construction like EHRNoteQA         construct ehrnoteqa sheet           ... import
    clinicians' marks of answers          construct ehrnoteqa answer-sheet    ... scores
    a construction like MedCalc-Bench     construct medcalc sheet             ... import
    a construction like ArchEHR-QA        construct archehr sheet             ... import
    a sheet of the desk (JSON)            write_sheet                         labels as CSV

The written file has the columns and rows of its source, with the final labels; the label
of each rater is in the CSV file of labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.construct.archehr import rounds as archehr_rounds
from medical_tasks.construct.archehr import sheets as archehr_sheets
from medical_tasks.construct.ehrnoteqa import answers as ehrnoteqa_answers
from medical_tasks.construct.ehrnoteqa import files as ehrnoteqa_files
from medical_tasks.construct.ehrnoteqa import review as ehrnoteqa_review
from medical_tasks.construct.medcalc import review as medcalc
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.io.files import read_text
from medical_tasks.io.output import check_out
from medical_tasks.io.tables import TableRow
from medical_tasks.io.tables import read_sheet as read_table
from medical_tasks.io.tables import write_sheet as write_table
from medical_tasks.runs import adjudicating
from medical_tasks.site.desk.labels import Label, now
from medical_tasks.site.desk.sheets import (
    Choice,
    Field,
    Item,
    Passage,
    Sheet,
    read_sheet,
    sentences_of,
    sharing_words,
)
from medical_tasks.site.desk.work import Decided, Work, write_labels

_LONGEST_READING: Final = 200
_BY_WORDS: Final = "they share most words with the answer; others may matter too"
_SHEETS: Final = "sheets"


@dataclass(frozen=True, kw_only=True)
class People:
    """Who labels a file that does not name its raters.

    Attributes:
        raters: who labels.
        adjudicator: who decides if they differ; "" for nobody.
        overlap: how many items all label; None for all.
    """

    raters: tuple[str, ...]
    adjudicator: str = ""
    overlap: int | None = None


Works = Mapping[str, Work]
"""Sheets with their labels, by name."""


class Form(Protocol):
    """How one kind of file becomes sheets, and gets their labels."""

    name: str

    def knows(self, path: Path) -> bool:
        """Whether a path is of this kind."""

    def make(self, path: Path, people: People) -> tuple[Sheet, ...]:
        """Builds its sheets."""

    def before(self, path: Path) -> list[Label]:
        """The labels that the file has already."""

    def subjects(self, path: Path) -> list[Subject]:
        """The sources of its text, for the guard."""

    def folder(self, path: Path) -> Path:
        """The folder of its labels."""

    def write(self, path: Path, works: Works, out: Path) -> list[Path]:
        """Writes the file with the labels of its sheets; returns the written files."""


def form_of(path: Path) -> Form:
    """The form of a file or folder."""
    if not path.exists():
        raise MissingError(
            f"{path}: no such file or folder. Give what adjudicate or construct ... sheet wrote."
        )

    match = next((form for form in FORMS if form.knows(path)), None)
    if match is None:
        raise UsageError(
            f"{path}: the desk cannot open this. It opens the sheet that adjudicate wrote, "
            "the folder of construct ehrnoteqa, medcalc or archehr (after its step sheet) or of "
            "answer-sheet, "
            "and sheets of a site (JSON)."
        )

    return match


def _person_subject(name: str, *, private: bool) -> Subject:
    return Subject(
        name=name,
        dataset=name,
        access="credentialed" if private else "open",
        rule="access is given person by person: its text stays with those who were given it",
    )


# Unclear answers


class _Unclear:
    """The sheet of `adjudicate`: what final answer does each reply give?"""

    name = "unclear"

    def knows(self, path: Path) -> bool:
        return path.is_file() and path.suffix.lower() in (".csv", ".xlsx")

    def _rows(self, path: Path) -> list[TableRow]:
        return read_table(path, adjudicating.COLUMNS, numbers="reading")

    def make(self, path: Path, people: People) -> tuple[Sheet, ...]:
        items = tuple(self._item(row.cells) for row in self._rows(path))
        sheet = Sheet(
            name=self.name,
            title="Unclear answers",
            instruction=(
                "Say what final answer the reply gives, in its own words and digits; not "
                "whether it is right. Where it gives none, or several that differ, say so."
            ),
            choices=(
                Choice(
                    key="r",
                    value="reads",
                    label="The final answer is what stands in Reading",
                    needs=("reading",),
                ),
                Choice(
                    key="x",
                    value=adjudicating.NONE,
                    label="It gives no final answer",
                    edits=False,
                ),
            ),
            items=items,
            raters=people.raters,
            adjudicator=people.adjudicator,
            overlap=people.overlap,
            form=self.name,
        )
        return (sheet,)

    def _item(self, cells: Mapping[str, str]) -> Item:
        reading = cells["reading"].strip()
        field = Field(
            name="reading",
            label=f"Reading: {cells['what_to_read']}",
            text="" if reading == adjudicating.NONE else reading,
            longest=_LONGEST_READING,
        )
        reply = Passage(title="Reply", sentences=sentences_of(cells["answer"]))

        return Item(
            id=_key(cells),
            prompt=cells["question"] or "What final answer does the reply give?",
            passages=(reply,),
            answer=f"Unclear because: {cells['unclear']}",
            editable=(field,),
            stratum=cells["task"],
        )

    def before(self, path: Path) -> list[Label]:
        return []  # a judge's readings are in the fields, for people to check

    def subjects(self, path: Path) -> list[Subject]:
        names = dict.fromkeys(row.cells["task"].strip() for row in self._rows(path))
        tasks = [task_spec(name) for name in names]
        return [
            Subject.of(dataset_spec(task.dataset), task=task.name) for task in tasks
        ]

    def folder(self, path: Path) -> Path:
        return path.with_name(f"{path.stem}.desk")

    def write(self, path: Path, works: Works, out: Path) -> list[Path]:
        work, rows = works[self.name], []
        for row in self._rows(path):
            decided = work.decision(_key(row.cells))
            rows.append({**row.cells, **self._reading(row.cells, decided, work)})
        _check_marks(out, adjudicating.COLUMNS, rows, ("task", "id"), "reading")
        write_table(out, adjudicating.COLUMNS, rows)
        return [out]

    def _reading(
        self, cells: Mapping[str, str], decided: Decided, work: Work
    ) -> dict[str, str]:
        """The cells that the final label fills; none while the item is undecided."""
        if not decided.value:
            return {}
        field = work.sheet.by_id[decided.item].editable[0]
        read = " ".join(decided.edits.get("reading", field.text).split())
        none = decided.value == adjudicating.NONE
        return {
            "reading": adjudicating.NONE if none else read,
            "read_by": adjudicating.PERSON,
        }


def _key(cells: Mapping[str, str]) -> str:
    return f"{cells['task'].strip()}/{cells['id'].strip()}"


# Constructions: a folder with sheets/NAME.csv for each reviewer and texts beside them


@dataclass(frozen=True, kw_only=True)
class _Marked:
    """The columns of a construction's sheets.

    Attributes:
        columns: all columns.
        key: the columns that identify a row.
        mark: the column of the label.
        marks: the content of that column for each choice's value.
    """

    columns: tuple[str, ...]
    key: tuple[str, ...]
    mark: str
    marks: Mapping[str, str]

    def row_key(self, cells: Mapping[str, str]) -> str:
        return "/".join(cells[name].strip() for name in self.key)


class _Construction:
    """The sheets of a construction, which also set the reviewers and their shares."""

    name = ""
    marked: _Marked
    shares_name = "shares.json"
    also = ""
    """Another file that such a folder has."""

    def knows(self, path: Path) -> bool:
        is_construction = (path / self.shares_name).is_file() and (
            path / _SHEETS
        ).is_dir()
        return is_construction and (path / self.also).is_file()

    def folder(self, path: Path) -> Path:
        return path / "desk"

    def _sheets(self, path: Path) -> dict[str, list[TableRow]]:
        """The rows of each reviewer's sheet."""
        sheets = {
            file.stem: read_table(file, self.marked.columns)
            for file in sorted((path / _SHEETS).glob("*.csv"))
        }
        own = {name: rows for name, rows in sheets.items() if rows}
        if not own:
            raise UsageError(
                f"{path / _SHEETS}: has no sheet with rows. Export the sheets again."
            )
        return own

    def make(self, path: Path, people: People) -> tuple[Sheet, ...]:
        sheets = self._sheets(path)
        items: dict[str, Item] = {}
        for row in (row for rows in sheets.values() for row in rows):
            key = self.marked.row_key(row.cells)
            if key not in items:
                items[key] = self.item(path, key, row.cells)

        sheet = Sheet(
            name=self.name,
            title=self.title,
            instruction=self.instruction,
            choices=self.choices,
            items=tuple(items.values()),
            raters=tuple(sheets),
            adjudicator=people.adjudicator,
            orders={
                name: tuple(self.marked.row_key(row.cells) for row in rows)
                for name, rows in sheets.items()
            },
            marked=_BY_WORDS,
            form=self.name,
        )
        return (sheet,)

    title = ""
    instruction = ""
    choices: tuple[Choice, ...] = ()

    def item(self, path: Path, key: str, cells: Mapping[str, str]) -> Item:
        raise NotImplementedError

    def before(self, path: Path) -> list[Label]:
        values = {mark: value for value, mark in self.marked.marks.items()}
        labels = []
        for name, rows in self._sheets(path).items():
            for row in rows:
                value = values.get(row.cells[self.marked.mark].strip().lower(), "")
                if value:
                    labels.append(self._marked_label(name, value, row.cells))
        return labels

    def _marked_label(
        self, reviewer: str, value: str, cells: Mapping[str, str]
    ) -> Label:
        """The label of a row that a reviewer marked in the sheet itself."""
        item = self.marked.row_key(cells)
        digest = hashlib.sha256(f"{reviewer}\n{item}".encode()).hexdigest()
        own = {name: cells[name] for name in self.edited}

        return Label(
            id=f"sheet-{digest[:24]}",
            item=item,
            rater=reviewer,
            value=value,
            note=cells["comment"],
            edits=own,
            at=now(),
        )

    edited: tuple[str, ...] = ()
    """The columns that people edit besides the mark."""

    def subjects(self, path: Path) -> list[Subject]:
        return [_person_subject(f"review of {self.name}", private=True)]

    def write(self, path: Path, works: Works, out: Path) -> list[Path]:
        work = works[self.name]
        filled_sheets: dict[Path, list[dict[str, str]]] = {}
        for name, rows in self._sheets(path).items():
            file = out / f"{name}.csv"
            filled_sheets[file] = [self._filled(row.cells, work, name) for row in rows]

        marked = self.marked
        for file, filled in filled_sheets.items():
            _check_marks(file, marked.columns, filled, marked.key, marked.mark)

        for file, filled in filled_sheets.items():
            write_table(file, marked.columns, filled)

        return list(filled_sheets)

    def _filled(
        self, cells: Mapping[str, str], work: Work, reviewer: str
    ) -> dict[str, str]:
        """A row with its label."""
        item = work.sheet.by_id[self.marked.row_key(cells)]
        label = _label_for(work, item.id, reviewer)
        if label is None:
            return dict(cells)

        return {
            **cells,
            **self.texts(item, label.value, label.edits),
            self.marked.mark: self.marked.marks[label.value],
            "comment": label.note or cells["comment"],
        }

    def texts(self, item: Item, value: str, edits: Mapping[str, str]) -> dict[str, str]:
        """The content of the columns that people edit, by a label."""
        if not self.by_value[value].edits:
            return {}
        return {
            editable.name: edits.get(editable.name, editable.text)
            for editable in item.editable
        }

    @property
    def by_value(self) -> Mapping[str, Choice]:
        return {choice.value: choice for choice in self.choices}


class _Ehrnoteqa(_Construction):
    """Questions that a model drafted on discharge summaries."""

    name = "questions"
    also = ehrnoteqa_files.DRAFTS
    marked = _Marked(
        columns=ehrnoteqa_review.COLUMNS,
        key=("id",),
        mark="inclusion",
        marks={"keep": "o", "drop": "x"},
    )
    edited = ("question", "answer", *ehrnoteqa_review.CHOICE_COLUMNS)
    title = "Questions to check"
    instruction = (
        "Keep a question that a clinician would ask and the notes answer, and correct its words, "
        "right letter and choices where needed. Drop it where correcting does not help."
    )
    choices = (
        Choice(
            key="o",
            value="keep",
            label="Keep",
            needs=("question", "answer", *ehrnoteqa_review.CHOICE_COLUMNS),
        ),
        Choice(key="x", value="drop", label="Drop", edits=False),
    )

    def item(self, path: Path, key: str, cells: Mapping[str, str]) -> Item:
        letter = cells["answer"].strip().upper()
        right = cells.get(f"choice_{letter.lower()}", "")
        labels = {"question": "Question", "answer": "Letter of the right choice"}

        return Item(
            id=key,
            prompt=cells["question"],
            passages=_notes(path / _SHEETS / cells["notes"], right),
            answer=f"{letter}: {right}",
            editable=tuple(
                Field(
                    name=name,
                    label=labels.get(name, f"Choice {name[-1].upper()}"),
                    text=cells[name],
                )
                for name in self.edited
            ),
        )


class _Answers(_Construction):
    """Models' answers that clinicians mark, against which a judge is checked."""

    name = "answers"
    shares_name = ehrnoteqa_answers.KEY
    also = ehrnoteqa_answers.ANSWERS
    marked = _Marked(
        columns=ehrnoteqa_answers.COLUMNS,
        key=("id", "answer_number"),
        mark="verdict",
        marks={"right": "o", "wrong": "x"},
    )
    title = "Answers to mark"
    instruction = "Say whether the answer is right, as the notes have it."
    choices = (
        Choice(key="o", value="right", label="Right"),
        Choice(key="x", value="wrong", label="Wrong"),
    )

    def item(self, path: Path, key: str, cells: Mapping[str, str]) -> Item:
        return Item(
            id=key,
            prompt=f"{cells['question']}\nRight answer: {cells['right_answer']}",
            passages=_notes(path / _SHEETS / cells["notes"], cells["right_answer"]),
            answer=cells["response"],
        )


class _Medcalc(_Construction):
    """Attributes of calculators that were extracted from notes."""

    name = "values"
    also = "extracted.jsonl"
    marked = _Marked(
        columns=medcalc.COLUMNS,
        key=("id", "attribute"),
        mark="verdict",
        marks={"right": "o", "wrong": "x"},
    )
    edited = ("correction",)
    title = "Values to check"
    instruction = (
        "Say whether the value is what the note says. Where it is not, write what is right into "
        "Correction, with its unit, or: not mentioned."
    )
    choices = (
        Choice(key="o", value="right", label="Right", edits=False),
        Choice(key="x", value="wrong", label="Wrong"),
    )

    def item(self, path: Path, key: str, cells: Mapping[str, str]) -> Item:
        value = f"{cells['value']} {cells['unit']}".strip()
        field = Field(name="correction", label=f"Correction ({cells['accepts']})")
        return Item(
            id=key,
            prompt=f"{cells['calculator']}: {cells['attribute']}",
            passages=_notes(path / _SHEETS / cells["note"], value),
            answer=value,
            editable=(field,),
            stratum=cells["calculator"],
        )


class _Archehr:
    """Cases of a message and a note: which sentences matter, then question and answer.

    Two sheets: `relevance`, a sentence an item, and `texts`, a case an item.
    """

    name = "archehr"
    marks: Mapping[str, str] = {  # the column `relevance` holds the values themselves
        value: value
        for value in (
            archehr_rounds.ESSENTIAL,
            archehr_rounds.SUPPLEMENTARY,
            archehr_rounds.NOT_RELEVANT,
            archehr_sheets.CONTEXT,
        )
    }

    def knows(self, path: Path) -> bool:
        return path.is_dir() and archehr_rounds.latest(path, archehr_rounds.SHARES) > 0

    def folder(self, path: Path) -> Path:
        return self._round(path) / "desk"

    def _round(self, path: Path) -> Path:
        number = archehr_rounds.latest(path, archehr_rounds.SHARES)
        return archehr_rounds.round_folder(path, number)

    def _rows(self, path: Path) -> dict[str, list[TableRow]]:
        """The rows of each reviewer's sheet in the last round."""
        folder = self._round(path) / archehr_rounds.SHEETS
        return {
            file.stem: read_table(file, archehr_sheets.COLUMNS)
            for file in sorted(folder.glob("*.csv"))
        }

    def subjects(self, path: Path) -> list[Subject]:
        return [_person_subject(f"review of {self.name}", private=True)]

    def make(self, path: Path, people: People) -> tuple[Sheet, ...]:
        rows = self._rows(path)
        cases: dict[str, list[Mapping[str, str]]] = {}
        own: dict[str, list[str]] = {}
        for name, sheet in rows.items():
            grouped = _by_case(row.cells for row in sheet)
            own[name] = list(grouped)
            cases = {**grouped, **cases}

        raters = tuple(name for name, ids in own.items() if ids)
        relevance = Sheet(
            name="relevance",
            title="Sentences that the answer needs",
            instruction=(
                "Say of the marked sentence whether the answer needs it (essential), whether it "
                "adds something (supplementary), or neither; context is neither, and stays to make "
                "the excerpt readable."
            ),
            choices=tuple(
                Choice(key=key, value=value, label=value)
                for key, value in zip("esxc", self.marks, strict=True)
            ),
            items=tuple(
                item
                for case_rows in cases.values()
                for item in _sentence_items(case_rows)
            ),
            raters=raters,
            adjudicator=people.adjudicator,
            orders={
                name: tuple(
                    item.id
                    for case in own[name]
                    for item in _sentence_items(cases[case])
                )
                for name in raters
            },
            marked="the one that is labelled",
            form=self.name,
        )
        texts = Sheet(
            name="texts",
            title="Questions and answers",
            instruction=(
                "Copy the words of the message that ask into Focus, write the question as a "
                "clinician would put it, and an answer, a sentence a field, each with the numbers "
                "of the sentences it rests on, as |2,5|."
            ),
            choices=(
                Choice(key="d", value="done", label="Done", needs=("question-1",)),
            ),
            items=tuple(
                _case_item(name, case_rows) for name, case_rows in cases.items()
            ),
            raters=raters,
            adjudicator=people.adjudicator,
            orders={name: tuple(own[name]) for name in raters},
            form=self.name,
        )

        return (relevance, texts)

    def before(self, path: Path) -> list[Label]:
        return []  # the fields hold the results of the round before

    def write(self, path: Path, works: Works, out: Path) -> list[Path]:
        filled_sheets = {
            out / f"{name}.csv": [self._filled(row.cells, works, name) for row in rows]
            for name, rows in self._rows(path).items()
        }
        key = ("case_id", "kind", "number")
        for file, filled in filled_sheets.items():
            _check_marks(file, archehr_sheets.COLUMNS, filled, key, "relevance")
        for file, filled in filled_sheets.items():
            write_table(file, archehr_sheets.COLUMNS, filled)
        return list(filled_sheets)

    def _filled(
        self, cells: Mapping[str, str], works: Works, reviewer: str
    ) -> dict[str, str]:
        kind, number = cells["kind"], cells["number"]
        if kind == "sentence":
            work = works.get("relevance")
            label = _label_for(work, _sentence_id(cells), reviewer)
            if label is None:
                return dict(cells)

            comment = label.note or cells["comment"]
            return {**cells, "relevance": label.value, "comment": comment}

        label = _label_for(works.get("texts"), cells["case_id"], reviewer)
        edits = label.edits if label else {}
        return {
            **cells,
            "text": edits.get(f"{kind}-{number}", cells["text"]),
            "citations": edits.get(f"{kind}-{number}-citations", cells["citations"]),
        }


def _label_for(work: Work | None, item: str, reviewer: str) -> Label | None:
    """The final label of an item, or the rater's own before that; with the rater's note."""
    if work is None:
        return None

    decided, own = work.decision(item), work.store.last(reviewer, item)
    if not decided.value:
        return own if own is not None and own.value else None

    return Label(
        id="",
        item=item,
        rater=reviewer,
        value=decided.value,
        note=own.note if own is not None else "",
        edits=decided.edits,
    )


def _by_case(
    rows: Iterable[Mapping[str, str]],
) -> dict[str, list[Mapping[str, str]]]:
    cases: dict[str, list[Mapping[str, str]]] = {}
    for cells in rows:
        cases.setdefault(cells["case_id"], []).append(cells)
    return cases


def _of_kind(rows: Iterable[Mapping[str, str]], kind: str) -> list[Mapping[str, str]]:
    return [cells for cells in rows if cells["kind"] == kind]


def _sentence_id(cells: Mapping[str, str]) -> str:
    return f"{cells['case_id']}/{cells['number']}"


def _texts(rows: Sequence[Mapping[str, str]], cited: int | None) -> tuple[Passage, ...]:
    """The message, and the note with its sentences numbered as in citations."""
    sentences: list[str] = []
    paragraph = ""
    for cells in _of_kind(rows, "sentence"):
        between = "\n" if sentences and cells["paragraph"] != paragraph else ""
        paragraph = cells["paragraph"]
        sentences.append(f"{between}[{cells['number']}] {cells['text']} ")

    message = "\n".join(cells["text"] for cells in _of_kind(rows, "patient"))
    marked = frozenset() if cited is None else frozenset({cited})
    note = Passage(title="Note", sentences=tuple(sentences), cited=marked)

    return (note, Passage(title="Message", sentences=sentences_of(message)))


def _sentence_items(rows: Sequence[Mapping[str, str]]) -> list[Item]:
    question = "\n".join(cells["text"] for cells in _of_kind(rows, "question"))
    message = "\n".join(cells["text"] for cells in _of_kind(rows, "patient"))
    return [
        Item(
            id=_sentence_id(cells),
            prompt=f"Sentence {cells['number']} of case {cells['case_id']}",
            passages=_texts(rows, position),
            answer=question or message,
            stratum=cells["case_id"],
        )
        for position, cells in enumerate(_of_kind(rows, "sentence"))
    ]


def _case_item(name: str, rows: Sequence[Mapping[str, str]]) -> Item:
    fields: list[Field] = []
    for kind in ("focus", "question", "answer"):
        for cells in _of_kind(rows, kind):
            number = cells["number"]
            label = kind.capitalize() + ("" if kind == "question" else f" {number}")
            field_name = f"{kind}-{number}"
            fields.append(Field(name=field_name, label=label, text=cells["text"]))
            if kind == "answer":
                cited = f"{label} rests on"
                fields.append(
                    Field(
                        name=f"{field_name}-citations",
                        label=cited,
                        text=cells["citations"],
                    )
                )

    return Item(
        id=name,
        prompt=f"Case {name}",
        passages=_texts(rows, None),
        editable=tuple(fields),
    )


def _notes(path: Path, text: str) -> tuple[Passage, ...]:
    """The notes beside a sheet, with the sentences marked that share most words with a text."""
    if not path.is_file():
        raise MissingError(
            f"{path}: no such file, and a sheet needs these notes. Export the sheets again."
        )
    sentences = sentences_of(read_text(path))
    cited = sharing_words(sentences, text)
    return (Passage(title="Notes", sentences=sentences, cited=cited),)


def _check_marks(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, object]],
    key: Sequence[str],
    mark: str,
) -> None:
    """Refuses to overwrite a mark that somebody made in the file itself."""
    if not path.exists():
        return

    new = {tuple(str(row[name]) for name in key): str(row[mark]) for row in rows}
    for row in read_table(path, columns):
        mark_in_file = row.cells[mark].strip()
        if (
            mark_in_file
            and new.get(tuple(row.cells[name] for name in key)) != mark_in_file
        ):
            raise UsageError(
                f"{row.location(mark)}: has a mark that would be overwritten. Give another --export, "
                "or move that file away."
            )


# Sheets of the desk itself


class _Plain:
    """A sheet that `write_sheet` wrote."""

    name = ""

    def knows(self, path: Path) -> bool:
        return path.is_file() and path.suffix.lower() == ".json"

    def make(self, path: Path, people: People) -> tuple[Sheet, ...]:
        return (read_sheet(path),)

    def before(self, path: Path) -> list[Label]:
        return []

    def subjects(self, path: Path) -> list[Subject]:
        sheet = read_sheet(path)
        return [_person_subject(f"sheet {sheet.name}", private=sheet.private)]

    def folder(self, path: Path) -> Path:
        return path.with_name(f"{path.stem}.desk")

    def write(self, path: Path, works: Works, out: Path) -> list[Path]:
        check_out(out, [path], "the sheet itself")
        (work,) = works.values()
        write_labels(out, work)
        return [out]


FORMS: Final[tuple[Form, ...]] = (
    _Plain(),
    _Unclear(),
    _Answers(),
    _Ehrnoteqa(),
    _Medcalc(),
    _Archehr(),
)
"""In the order of trying."""
