"""calculator: rows like MedCalc-Bench's, extracted from notes and calculated by its formulas.

`construct medcalc` extracts the inputs of calculators from notes, by the maker or by
words alone (`maker = "lexical"`); reviewers correct values and drop rows; the formula
gives the right answer. No judge is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import medical_tasks.construct.shared as construction
from medical_tasks.calculators.inputs import Input
from medical_tasks.construct.medcalc import extraction
from medical_tasks.construct.medcalc.forms import LINE_FIELDS, Pair
from medical_tasks.construct.medcalc.steps import CONSTRUCTION, LEXICAL
from medical_tasks.construct.options import MedcalcExtract, MedcalcRelease
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io.files import make_folder
from medical_tasks.options import read_settings
from medical_tasks.runs.results import JsonDict
from medical_tasks.site.desk.sheets import Field, Item, Sheet
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site
from medical_tasks.site.making import Drafted, KeptItems, work_folder
from medical_tasks.site.options import Make
from medical_tasks.site.sampling import Patient
from medical_tasks.site.uses.sheets import (
    basis_of,
    items_sheet,
    note_texts,
    passages_of,
    read_lines,
    stratum_of,
)

_ALL: Final = 10**6
"""The most rows of a calculator: no limit, since patients were sampled."""
_MISSING: Final = "not mentioned"


class Calculator:
    """See the module."""

    def draft(
        self, site: Site, patients: list[Patient], options: Make
    ) -> Drafted | None:
        """Extracts from notes that were not read yet by this maker for these calculators."""
        maker = site.settings.models.maker or LEXICAL
        folder = work_folder(site)
        notes = {
            f"{patient.id}-{number}": cells["note"]
            for patient in patients
            for number, cells in enumerate(patient.rows, start=1)
        }
        basis = {
            name: basis_of(note, maker, site.settings.calculators)
            for name, note in notes.items()
        }
        done = {
            line["note_id"]: line.get("basis", "")
            for line in read_lines(folder / _DONE)
        }
        missing = {
            name: note for name, note in notes.items() if done.get(name) != basis[name]
        }
        failed = 0
        if missing:
            extraction = folder / basis_of({name: basis[name] for name in missing})
            pairs, failed = _extracted(site, missing, extraction, options)
            if options.forecast:
                return None

            before = [
                pair
                for pair in read_lines(folder / _PAIRS)
                if pair["note_id"] not in missing
            ]
            construction.write_lines(folder / _PAIRS, [*before, *pairs])
            done |= {} if failed else {name: basis[name] for name in missing}
            construction.write_lines(
                folder / _DONE,
                ({"note_id": name, "basis": own} for name, own in done.items()),
            )

        return Drafted(items=len(_pairs(site, patients)), failed=failed)

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """The sheet: a row for each calculator and note, with a field for each value."""
        by_id = {patient.id: patient for patient in patients}
        return items_sheet(
            site,
            "Values for calculators",
            "Keep a row if the calculator is meant for this patient and every value is what the "
            f"note says. Correct a value with its unit, or write {_MISSING}. Drop the row if the "
            "calculator is not meant for the patient.",
            (_item(pair, by_id[_patient(pair)]) for pair in _pairs(site, patients)),
            marked="sentences that share most words with the values",
        )

    def kept_items(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> KeptItems:
        """The kept rows, in the form of `construct medcalc release`."""
        folder = make_folder(work_folder(site) / "release")
        lines, changed_values, dropped = [], 0, 0
        for pair in _pairs(site, patients):
            decision = decided.get(pair.id)
            if decision is None or decision.value != "keep":
                dropped += decision is not None
                continue

            entities, changed_here = _mended(pair, decision.edits)
            changed_values += changed_here
            lines.append(pair.line(entities))

        if not lines:
            raise UsageError("no row was kept, so that there is nothing to ask.")

        construction.write_json(folder / "extract.json", {"open": site.settings.open})
        construction.write_lines(folder / "entities.jsonl", lines)
        CONSTRUCTION.steps["release"](
            MedcalcRelease(
                benchmark="medcalc",
                step="release",
                folder=folder,
                train=0.0,
                seed=site.settings.seed,
            )
        )
        source = folder / "release" / "test.jsonl"

        return KeptItems(
            source=source,
            patients={
                str(row["Row Number"]): str(row["Note ID"]).rpartition("-")[0]
                for row in read_lines(source)
            },
            figures={
                "kept": len(lines),
                "removed": dropped,
                "values_revised": changed_values,
            },
        )

    def scoring(self, site: Site) -> Mapping[str, str]:
        """None."""
        return {}


MAKER: Final = Calculator()
_PAIRS: Final = "pairs.jsonl"
_DONE: Final = "extracted_notes.jsonl"


def _extracted(
    site: Site, notes: Mapping[str, str], folder: Path, options: Make
) -> tuple[list[JsonDict], int]:
    """The pairs of some notes, and 1 if a reply is missing, else 0.

    The same notes, maker and calculators resume in the same folder.
    """
    source = work_folder(site) / "notes.jsonl"
    construction.write_lines(
        source, ({"note_id": name, "note": note} for name, note in notes.items())
    )
    maker = site.settings.models.maker or LEXICAL
    failed = 0
    try:
        CONSTRUCTION.steps["extract"](
            MedcalcExtract(
                benchmark="medcalc",
                step="extract",
                source=source,
                folder=folder,
                model=maker,
                model_args=read_settings(site.settings.models.args.get("maker", "")),
                open=site.settings.open,
                calculators=",".join(site.settings.calculators) or None,
                most=_ALL,
                seed=site.settings.seed,
                forecast=options.forecast and maker != LEXICAL,
                allow_remote=options.allow_remote,
                attest_zero_retention=options.attest_zero_retention,
            )
        )
    except IncompleteError as error:
        failed = 1
        if not (folder / "extracted.jsonl").is_file():
            raise error

    return read_lines(folder / "extracted.jsonl"), failed


def _pairs(site: Site, patients: Sequence[Patient]) -> list[Pair]:
    """The extracted pairs of the sampled patients, each once."""
    path, drawn = work_folder(site) / _PAIRS, {patient.id for patient in patients}
    if not read_lines(path):
        return []
    records = construction.read_lines(path, LINE_FIELDS, step="medcalc extract")
    pairs = {pair.id: pair for pair in map(Pair.read, records)}
    return [pair for pair in pairs.values() if _patient(pair) in drawn]


def _patient(pair: Pair) -> str:
    return pair.note_id.rpartition("-")[0]


def _item(pair: Pair, patient: Patient) -> Item:
    fields = tuple(
        Field(
            name=f"value_{number}",
            label=f"{item.name} ({item.expects})",
            text=_value_text(pair.entities.get(item.name)),
        )
        for number, item in enumerate(pair.calculator.inputs)
    )
    values = "\n".join(f"{field.label}: {field.text}" for field in fields)
    number = int(pair.note_id.rpartition("-")[2])
    title, note = list(note_texts(patient).items())[number - 1]

    return Item(
        id=pair.id,
        prompt=f"{pair.calculator.name}\n{values}",
        passages=passages_of({title: note}, values),
        editable=fields,
        stratum=stratum_of(patient),
    )


def _value_text(value: object) -> str:
    """A value in the form that reviewers see and write."""
    if value is None:
        return _MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(_value_text, value))
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _mended(pair: Pair, edits: Mapping[str, str]) -> tuple[dict[str, object], int]:
    """The values with a reviewer's changes, and the number of changes."""
    entities, count = dict(pair.entities), 0
    for number, item in enumerate(pair.calculator.inputs):
        text = edits.get(f"value_{number}")
        if text is None or text.strip() == _value_text(pair.entities.get(item.name)):
            continue
        entities[item.name] = _read(pair, item, text.strip())
        count += 1
    return {name: value for name, value in entities.items() if value is not None}, count


def _read(pair: Pair, item: Input, text: str) -> object:
    truths: Mapping[str, object] = {"yes": True, "no": False}
    value, why = extraction.usable(item, truths.get(text.casefold(), text))
    if why:
        raise UsageError(
            f"row {pair.id}, {item.name}: a reviewer wrote {why}; {item.expects} is needed, or "
            f"{_MISSING}. Correct it at the desk: medical-tasks site review"
        )
    return value
