"""How the datasets of DocLens are built, each from its own module, and their rows as items of a task.

An item has the same few fields in every form, so that prompts and scoring ask of no dataset how it calls things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.doclens.aci_data import ACI_SOURCE
from medical_tasks.benchmarks.doclens.meqsum_data import MEQSUM_SOURCE
from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE
from medical_tasks.benchmarks.doclens.own_data import OWN_SOURCE
from medical_tasks.benchmarks.doclens.sections import SECTIONS
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec

__all__ = ["SOURCES", "load_items"]

SOURCES = (ACI_SOURCE, MEQSUM_SOURCE, MIMIC_SOURCE, OWN_SOURCE)


def load_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Makes the items of a task.

    Args:
        task: `options["form"]` is `note`, `section`, `impression`, `question` or `text`.
        rows: rows of the task's dataset, of any split.

    Returns:
        One item a row, in order; for `section` four a row, named `ENCOUNTER/SECTION`. Each has the fields

        - `form`: the task's
        - `sentences`: what can be cited, a list of sentences, or of the turns of a dialogue; a number is a place in it, from 0
        - `reference`: what is wanted; "" for a section that the note does not have
        - `sections`, for `note` alone: section to its text in the reference, for all four

    Raises:
        UsageError: Two rows have the same id.
    """
    make = _FORMS[task.options["form"]]
    items = [item for row in rows for item in make(row)]
    if len({item.id for item in items}) != len(items):
        raise UsageError(f"{task.name}: two rows of the built dataset have the same id. Build it again.")
    return items


def _note(row: Mapping[str, Any]) -> Iterator[Item]:
    name = str(row["id"])
    sections = {section: str(row[section]) for section in SECTIONS}
    fields = {"form": "note", "sentences": list(row["turns"]), "reference": str(row["note"]), "sections": sections}
    yield Item(id=name, fields=fields, groups={"dataset": str(row["dataset"])}, cluster=name)


def _sections(row: Mapping[str, Any]) -> Iterator[Item]:
    name, turns = str(row["id"]), list(row["turns"])
    for section in SECTIONS:
        yield Item(
            id=f"{name}/{section}",
            fields={"form": "section", "sentences": turns, "reference": str(row[section])},
            groups={"section": section, "dataset": str(row["dataset"])},
            cluster=name,
        )


def _impression(row: Mapping[str, Any]) -> Iterator[Item]:
    yield Item(
        id=str(row["id"]),
        fields={"form": "impression", "sentences": list(row["sentences"]), "reference": str(row["impression"])},
        groups={"modality": str(row["modality"]), "anatomy": str(row["anatomy"])},
        cluster=str(row["patient_id"]),
    )


def _alone(form: str, reference: str) -> Callable[[Mapping[str, Any]], Iterator[Item]]:
    def make(row: Mapping[str, Any]) -> Iterator[Item]:
        name = str(row["id"])
        fields = {"form": form, "sentences": list(row["sentences"]), "reference": str(row[reference])}
        yield Item(id=name, fields=fields, groups={}, cluster=name)

    return make


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[Item]]]] = {
    "note": _note,
    "section": _sections,
    "impression": _impression,
    "question": _alone("question", "summary"),
    "text": _alone("text", "reference"),
}
