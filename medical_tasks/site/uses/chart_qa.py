"""chart-qa: questions about a patient's notes, in the form of EHRNoteQA.

A maker drafts a question with five choices for each patient (`construct ehrnoteqa`), or
people wrote them: a table with patient_id, question, choice_a to choice_e and answer, a
letter. Reviewers keep, change or drop each.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict, cast

import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.notes import (
    COLUMNS,
    NoteRow,
    prepared_text,
)
from medical_tasks.benchmarks.ehrnoteqa.questions import (
    LETTERS,
    question_categories,
)
from medical_tasks.construct.ehrnoteqa import files
from medical_tasks.construct.ehrnoteqa.protocol import generate_drafts
from medical_tasks.construct.ehrnoteqa.review import (
    Content,
    Reviewed,
    revision_counts,
)
from medical_tasks.construct.ehrnoteqa.sample import (
    ESTIMATE,
    SampleSpec,
    make_sample,
    open_counter,
)
from medical_tasks.construct.options import EhrnoteqaGenerate
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.io.output import tell
from medical_tasks.io.tables import has_columns, read_table, write_table
from medical_tasks.options import read_settings
from medical_tasks.runs.results import JsonDict
from medical_tasks.site.desk.sheets import (
    Choice,
    Field,
    Item,
    Sheet,
)
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site
from medical_tasks.site.judging import Drawn, own_data
from medical_tasks.site.making import Drafted, KeptItems, drafting_cost, work_folder
from medical_tasks.site.options import Make
from medical_tasks.site.sampling import (
    Patient,
    pseudonym,
    pseudonym_key,
    tokens_of,
)
from medical_tasks.site.uses.sheets import (
    basis_of,
    items_sheet,
    labels_sheet,
    marks_of,
    note_texts,
    passages_of,
    read_drafts,
    read_lines,
    stratum_of,
    with_patients,
    write_drafts,
)

_MARKED: Final = "sentences that share most words with the right choice"
CHOICE_NAMES: Final = tuple(f"choice_{letter.lower()}" for letter in LETTERS)
_FORM: Final = f"The columns are patient_id, question, {', '.join(CHOICE_NAMES)}, answer (a letter)."
_BOUNDS: Final = (10**8, 10**9)
"""Token limits of construction's levels, so high that all notes are of the first level."""
_FIRST_DAY: Final = "2000-01-01"


class Draft(TypedDict):
    """A drafted question.

    Attributes:
        id: the id of the item.
        patient: the patient's pseudonym.
        answer: the letter of the right choice.
        basis: a hash of the notes and the maker; "" for questions that people wrote.
    """

    id: str
    patient: str
    question: str
    choices: list[str]
    answer: str
    basis: str


class ChartQa:
    """See the module."""

    def draft(
        self, site: Site, patients: list[Patient], options: Make
    ) -> Drafted | None:
        """Drafts by the maker, or reads what people wrote."""
        failed = 0
        if site.settings.items:
            drafts = _written(site, patients)
        elif maker := site.settings.models.maker:
            if options.forecast:
                missing = _undrafted(patients, _own_drafts(site, patients))
                cost = drafting_cost(maker, len(missing), sum(map(tokens_of, missing)))
                tell(f"{cost}. Nobody was asked and nothing is written.")
                return None

            drafts, failed = _drafted(site, patients, options)
        else:
            raise UsageError(
                "chart-qa needs a maker that drafts questions (models.maker in site.toml), or a "
                f"table of questions that people wrote (items). {_FORM}"
            )

        write_drafts(site, drafts)
        return Drafted(items=len(drafts), failed=failed)

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """The sheet of questions with choices and notes."""
        return items_sheet(
            site,
            "Questions to check",
            "Keep a question that a clinician would ask about this patient, whose right choice "
            "the notes give and whose other choices they do not. Change its texts where that "
            "corrects it. Drop what is unimportant or cannot be answered.",
            (
                _item(draft, patient)
                for draft, patient in with_patients(_drafts(site), patients)
            ),
            marked=_MARKED,
        )

    def kept_items(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> KeptItems:
        """The kept questions, as `build ehrnoteqa --config own` reads them."""
        reviewed, rows = [], []
        for draft, patient in with_patients(_drafts(site), patients):
            decision = decided.get(draft["id"])
            if decision is None:
                continue

            before = _content(draft, {})
            content = (
                _content(draft, decision.edits) if decision.value == "keep" else None
            )
            reviewed.append(
                Reviewed(id=draft["id"], reviewer="", before=before, after=content)
            )
            if content is not None:
                rows.append(_row(draft, content, note_rows(patient)))

        if not rows:
            raise UsageError("no question was kept, so that there is nothing to ask.")

        source = work_folder(site) / "questions.jsonl"
        construction.write_lines(source, rows)
        figures = dict(revision_counts(reviewed))
        figures.pop("by_reviewer")

        return KeptItems(
            source=source,
            patients={row["id"]: row["patient_id"] for row in rows},
            figures=figures,
        )

    def scoring(self, site: Site) -> Mapping[str, str]:
        """None."""
        return {}


MAKER: Final = ChartQa()


def note_rows(patient: Patient) -> list[NoteRow]:
    """A patient's notes in the form of the dataset, the oldest first."""
    dated = sorted(
        (_time(cells, number), number, cells)
        for number, cells in enumerate(patient.rows)
    )
    return [
        {
            "note_id": f"{patient.id}-{number + 1}",
            "hadm_id": str(number + 1),
            "charttime": time,
            "text": prepared_text(
                cells["note"],
                patient_id=patient.id,
                hadm_id=str(number + 1),
                charttime=time,
            ),
        }
        for time, number, cells in dated
    ]


def _time(cells: Mapping[str, str], number: int) -> str:
    """The time of a note: its date, or a fixed day, with its row's number as minutes."""
    day = cells.get("date", "").strip()[:10] or _FIRST_DAY
    return f"{day} {number // 60 % 24:02}:{number % 60:02}:00"


def _written(site: Site, patients: Sequence[Patient]) -> list[Draft]:
    """The questions that people wrote about the sampled patients."""
    path = site.seen(site.settings.items)
    needed = ("patient_id", "question", *CHOICE_NAMES, "answer")
    table = read_table(path, form=_FORM, knows=has_columns(*needed))
    if missing := [name for name in needed if name not in table.columns]:
        raise UsageError(f"{path}: has no column {', '.join(missing)}. {_FORM}")

    key, drawn = pseudonym_key(site), {owner.id for owner in patients}
    drafts, seen = [], dict[str, int]()
    for row in table.rows:
        cells = {name: str(row.cells[name] or "").strip() for name in needed}
        patient = pseudonym(key, cells["patient_id"])
        number = seen[patient] = seen.get(patient, 0) + 1
        if patient not in drawn:
            continue

        answer = cells["answer"].upper()
        if answer not in tuple(LETTERS):
            raise UsageError(
                f"{row.location('answer')}: must be a letter from A to E, got a text of "
                f"{len(answer)} characters."
            )

        for name in needed:
            if not cells[name]:
                raise UsageError(f"{row.location(name)}: is empty. Fill it in.")

        drafts.append(
            Draft(
                id=patient if number == 1 else f"{patient}-{number}",
                patient=patient,
                question=cells["question"],
                choices=[cells[name] for name in CHOICE_NAMES],
                answer=answer,
                basis="",
            )
        )

    return drafts


def _drafts(site: Site) -> list[Draft]:
    """The stored drafts of `_drafted` or `_written`."""
    return cast(list[Draft], read_drafts(site))


def _own_drafts(site: Site, patients: Sequence[Patient]) -> list[Draft]:
    """The present maker's drafts about some patients, from their present notes."""
    basis = _bases(site, patients)
    return [
        draft
        for draft in _drafts(site)
        if draft.get("basis") and draft["basis"] == basis.get(draft["patient"])
    ]


def _bases(site: Site, patients: Sequence[Patient]) -> dict[str, str]:
    """The hash of each patient's notes and the maker."""
    maker = site.settings.models.maker
    return {patient.id: basis_of(maker, note_rows(patient)) for patient in patients}


def _undrafted(patients: Sequence[Patient], drafts: Sequence[Draft]) -> list[Patient]:
    """The patients without a draft."""
    drafted = {draft["patient"] for draft in drafts}
    return [patient for patient in patients if patient.id not in drafted]


def _drafted(
    site: Site, patients: Sequence[Patient], options: Make
) -> tuple[list[Draft], int]:
    """The maker's drafts, after drafting for the patients that lack one."""
    models, folder = site.settings.models, work_folder(site)
    drafts = _own_drafts(site, patients)
    missing = _undrafted(patients, drafts)
    if not missing:
        return drafts, 0

    source = folder / "discharge.csv"
    _write_discharge(source, missing)
    # The same patients, notes and maker resume in the same folder.
    basis = _bases(site, missing)
    work = folder / basis_of(basis)
    most = max(len(patient.rows) for patient in missing)
    spec = SampleSpec(
        cells={(1, count): len(missing) for count in range(1, most + 1)},
        bounds=_BOUNDS,
        seed=site.settings.seed,
        allow_fewer=True,
    )
    make_sample(source, work, open_counter(ESTIMATE), spec)
    report = generate_drafts(
        EhrnoteqaGenerate(
            benchmark="ehrnoteqa",
            step="generate",
            folder=work,
            model=models.maker,
            model_args=read_settings(models.args.get("maker", ""), option="maker"),
            seed=site.settings.seed,
            allow_remote=options.allow_remote,
            attest_zero_retention=options.attest_zero_retention,
        )
    )
    drafts += [
        Draft(
            id=generated["id"],
            patient=generated["id"],
            question=generated["question"],
            choices=generated["choices"],
            answer=generated["answer"],
            basis=basis[generated["id"]],
        )
        for generated in read_lines(work / files.DRAFTS)
    ]

    return drafts, len(report["failed_patients"])


def _write_discharge(path: Path, patients: Sequence[Patient]) -> None:
    """Writes the notes as construction reads them."""
    with WholeFile(path, private=True) as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for patient in patients:
            for number, cells in enumerate(patient.rows):
                time = _time(cells, number)
                writer.writerow(
                    {
                        "note_id": f"{patient.id}-{number + 1}",
                        "subject_id": patient.id,
                        "hadm_id": str(number + 1),
                        "note_type": "DS",
                        "note_seq": str(number + 1),
                        "charttime": time,
                        "storetime": time,
                        "text": cells["note"],
                    }
                )


def _item(draft: Draft, patient: Patient) -> Item:
    right = draft["choices"][LETTERS.index(draft["answer"])]
    choices = "\n".join(
        f"{letter}: {choice}"
        for letter, choice in zip(LETTERS, draft["choices"], strict=True)
    )
    texts = {
        "question": draft["question"],
        **dict(zip(CHOICE_NAMES, draft["choices"], strict=True)),
        "answer": draft["answer"],
    }

    return Item(
        id=draft["id"],
        prompt=f"{draft['question']}\n{choices}\nRight: {draft['answer']}",
        passages=passages_of(note_texts(patient), right),
        editable=tuple(
            Field(name=name, label=name.replace("_", " "), text=text)
            for name, text in texts.items()
        ),
        stratum=stratum_of(patient),
    )


def _content(draft: Draft, edits: Mapping[str, str]) -> Content:
    """A draft with a reviewer's changes."""
    answer = edits.get("answer", draft["answer"]).strip().upper()
    if answer not in tuple(LETTERS):
        raise UsageError(
            f"question {draft['id']}: the right choice is a letter from A to E, and a reviewer "
            "wrote another text. Correct it at the desk: medical-tasks site review"
        )

    return Content(
        question=" ".join(edits.get("question", draft["question"]).split()),
        answer=answer,
        choices=tuple(
            " ".join(edits.get(name, choice).split())
            for name, choice in zip(CHOICE_NAMES, draft["choices"], strict=True)
        ),
    )


def _row(draft: Draft, kept: Content, notes: Sequence[NoteRow]) -> JsonDict:
    """A row of the dataset; its level is 0, since a site has no levels."""
    return {
        "id": draft["id"],
        "patient_id": draft["patient"],
        "level": 0,
        "num_notes": len(notes),
        "clinician": "",
        "question": kept.question,
        "choices": list(kept.choices),
        "answer": kept.answer,
        "categories": list(question_categories(kept.question)),
        "evidence": [],
        "notes": list(notes),
    }


class AnswerLabels:
    """Answers to label: right or wrong, by the right choice and the notes."""

    def sheet(
        self, site: Site, drawn: Sequence[Drawn], patients: Mapping[str, Patient]
    ) -> Sheet:
        """The sheet of questions with right choice, notes and an anonymous answer."""
        return labels_sheet(
            site,
            "Answers to label",
            "Correct: the answer says what the right choice says, in any words, and nothing "
            "against it. Else incorrect. You do not see whose answer it is.",
            (
                Choice(key="1", value="correct", label="correct"),
                Choice(key="0", value="incorrect", label="incorrect"),
            ),
            (_answer_item(answer, patients) for answer in drawn),
            marked=_MARKED,
        )

    def check(
        self,
        site: Site,
        drawn: Sequence[Drawn],
        decided: Mapping[str, Decided],
        path: Path,
    ) -> Mapping[str, object]:
        """Writes a row for each answer and a column for each rater, with ties adjudicated."""
        reviewers = site.settings.reviewers
        names = (*reviewers.names, reviewers.adjudicator)
        rows = []
        for answer in drawn:
            decision = decided[answer.id]
            marks = marks_of(decision, reviewers.names, reviewers.adjudicator)
            cells = [marks.get(name, "") for name in names]
            rows.append((answer.item.id, answer.role, answer.text, *cells))

        used = [
            column
            for column, name in enumerate(names)
            if any(row[3 + column] for row in rows)
        ]
        head = (
            "id",
            "model",
            "response",
            *(f"rater_{names[column]}" for column in used),
        )
        lines = [(*row[:3], *(row[3 + column] for column in used)) for row in rows]
        write_table(path, [head, *lines], private=True)

        return {"set": "ehrnoteqa", **own_data(site)}


LABELLING: Final = AnswerLabels()


def _answer_item(answer: Drawn, patients: Mapping[str, Patient]) -> Item:
    row = answer.item.fields
    right = row["choices"][LETTERS.index(row["answer"])]
    patient = patients[row["patient_id"]]
    return Item(
        id=answer.id,
        prompt=f"{row['question']}\nRight: {right}",
        passages=passages_of(note_texts(patient), right),
        answer=answer.text,
        stratum=stratum_of(patient),
    )
