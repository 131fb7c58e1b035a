"""The common parts of all uses' sheets, and the splitting of texts without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from medical_tasks.construct.options import Decompose
from medical_tasks.construct.shared import write_lines
from medical_tasks.errors import IncompleteError
from medical_tasks.io.files import read_text
from medical_tasks.runs.results import JsonDict
from medical_tasks.site.desk.sheets import (
    Choice,
    Item,
    Passage,
    Sheet,
    sentences_of,
    sharing_words,
)
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site
from medical_tasks.site.making import work_folder
from medical_tasks.site.reviewing import ITEMS, LABELS
from medical_tasks.site.sampling import Patient

DraftT = TypeVar("DraftT", bound=Mapping[str, object])
DRAFTS: Final = "drafts.jsonl"
KEEP: Final = Choice(key="k", value="keep", label="keep")
DROP: Final = Choice(key="x", value="drop", label="drop", edits=False)


def write_drafts(site: Site, drafts: Iterable[Mapping[str, object]]) -> None:
    """Writes the drafts of a site, atomically."""
    write_lines(work_folder(site) / DRAFTS, drafts)


def read_drafts(site: Site) -> list[JsonDict]:
    """The drafts of a site, if there are any. Callers know their form."""
    return read_lines(work_folder(site) / DRAFTS)


def read_lines(path: Path) -> list[JsonDict]:
    """The values of a JSON Lines file; none if it does not exist."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in read_text(path).splitlines()]


def with_patients(
    drafts: Iterable[DraftT], patients: Iterable[Patient]
) -> Iterator[tuple[DraftT, Patient]]:
    """The drafts about some patients, each with its patient."""
    by_id = {patient.id: patient for patient in patients}
    for draft in drafts:
        patient = by_id.get(str(draft.get("patient", draft["id"])))
        if patient is not None:
            yield draft, patient


def decompose_with(run: Callable[[Decompose], object], request: Decompose) -> bool:
    """Lets the maker split texts into `request.out`; returns whether a reply is missing."""
    request.out.unlink(missing_ok=True)  # a draft; people's corrections are in labels
    try:
        run(request)
    except IncompleteError:
        if not request.out.is_file():
            raise
        return True

    return False


def basis_of(*parts: object) -> str:
    """A hash of the sources of a draft, such as the note and its maker."""
    return hashlib.sha256(json.dumps(parts, default=list).encode()).hexdigest()[:16]


def items_sheet(
    site: Site, title: str, instruction: str, items: Iterable[Item], *, marked: str = ""
) -> Sheet:
    """A sheet of drafted items to keep, change or drop."""
    return _sheet(site, ITEMS, title, instruction, (KEEP, DROP), items, marked)


def labels_sheet(
    site: Site,
    title: str,
    instruction: str,
    choices: tuple[Choice, ...],
    items: Iterable[Item],
    *,
    marked: str = "",
) -> Sheet:
    """A sheet of answers to label."""
    return _sheet(site, LABELS, title, instruction, choices, items, marked)


def _sheet(
    site: Site,
    name: str,
    title: str,
    instruction: str,
    choices: tuple[Choice, ...],
    items: Iterable[Item],
    marked: str,
) -> Sheet:
    reviewers = site.settings.reviewers
    return Sheet(
        name=name,
        title=title,
        instruction=instruction,
        choices=choices,
        items=tuple(items),
        raters=reviewers.names,
        adjudicator=reviewers.adjudicator,
        seed=site.settings.seed,
        marked=marked,
        private=not site.settings.open,
    )


def stratum_of(patient: Patient) -> str:
    """The strata of a patient in one line."""
    return ", ".join(patient.strata.values())


def passages_of(texts: Mapping[str, str], marked: str = "") -> tuple[Passage, ...]:
    """Texts by title, with the sentences marked that share most words with another text."""
    return tuple(
        Passage(
            title=title,
            sentences=(sentences := sentences_of(text)),
            cited=sharing_words(sentences, marked) if marked else frozenset(),
        )
        for title, text in texts.items()
    )


def note_texts(patient: Patient) -> dict[str, str]:
    """A patient's notes by their titles on the page."""
    count = len(patient.rows)
    return {
        f"Note {number} of {count}": cells["note"]
        for number, cells in enumerate(patient.rows, start=1)
    }


def statements_in(text: str) -> list[str]:
    """The sentences of a text as statements, which are the drafts without a maker."""
    return [
        statement
        for sentence in sentences_of(text)
        if (statement := " ".join(sentence.split()))
    ]


def lines_in(text: str) -> list[str]:
    """The statements of a field, one a line."""
    return [
        statement for line in text.splitlines() if (statement := " ".join(line.split()))
    ]


def marks_of(
    decision: Decided, raters: Sequence[str], adjudicator: str
) -> dict[str, str]:
    """The value of each rater for an item, and of the adjudicator if they differed."""
    marks = {
        name: decision.labels[name].value for name in raters if name in decision.labels
    }
    if decision.how == "adjudicated":
        marks[adjudicator] = decision.value
    return marks
