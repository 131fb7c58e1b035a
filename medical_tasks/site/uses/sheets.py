"""What the sheets of all uses have in common, and what is made of texts without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.construct.shared import write_lines
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

DRAFTS: Final = "drafts.jsonl"
KEEP: Final = Choice(key="k", value="keep", label="keep")
DROP: Final = Choice(key="x", value="drop", label="drop", edits=False)


def write_drafts(site: Site, drafts: Iterable[Mapping[str, object]]) -> None:
    """Writes the drafts of a site, whole."""
    write_lines(work_folder(site) / DRAFTS, drafts)


def read_drafts(site: Site) -> list[JsonDict]:
    """The drafts of a site; none where there are none yet. Callers name their form."""
    return read_lines(work_folder(site) / DRAFTS)


def read_lines(path: Path) -> list[JsonDict]:
    """The values of a file of JSON Lines; none where it is not there."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in read_text(path).splitlines()]


def basis_of(*parts: object) -> str:
    """A hash of what a draft is made from, such as the note and its maker."""
    return hashlib.sha256(json.dumps(parts, default=list).encode()).hexdigest()[:16]


def items_sheet(
    site: Site, title: str, instruction: str, items: Iterable[Item], *, marked: str = ""
) -> Sheet:
    """A sheet of drafted items, which are kept, changed or dropped."""
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
    """A sheet of answers, which are labelled."""
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
    """Texts by title, with the sentences that share most words with another text."""
    return tuple(
        Passage(
            title=title,
            sentences=(sentences := sentences_of(text)),
            cited=sharing_words(sentences, marked) if marked else frozenset(),
        )
        for title, text in texts.items()
    )


def note_texts(patient: Patient) -> dict[str, str]:
    """A patient's notes by what the page calls them."""
    count = len(patient.rows)
    return {
        f"Note {number} of {count}": cells["note"]
        for number, cells in enumerate(patient.rows, start=1)
    }


def statements_in(text: str) -> list[str]:
    """The sentences of a text, one statement each: what is drafted without a maker."""
    return [found for each in sentences_of(text) if (found := " ".join(each.split()))]


def lines_in(text: str) -> list[str]:
    """The statements of a field, one a line."""
    return [found for line in text.splitlines() if (found := " ".join(line.split()))]


def marks_of(one: Decided, raters: Sequence[str], adjudicator: str) -> dict[str, str]:
    """What each rater said of an item, and the adjudicator where they differed."""
    marks = {name: one.labels[name].value for name in raters if name in one.labels}
    if one.how == "adjudicated":
        marks[adjudicator] = one.value
    return marks
