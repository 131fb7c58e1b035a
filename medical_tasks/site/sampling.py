"""Reads the notes of a site, and draws its sample of patients at random, in strata.

The seed orders the patients of each stratum (a combination of values of `strata`). The
k-th of m gets the position (k - 1/2) / m, and patients are drawn in the order of their
positions: every stratum has its share of any sample, to within one patient, and a larger
sample contains the smaller one.

Example: in strata of 4 and 2 patients the positions are 1/8, 3/8, 5/8, 7/8 and 1/4, 3/4,
so a sample of 3 has two patients of the first stratum and one of the second.
"""

from __future__ import annotations

import hmac
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.construct.ehrnoteqa.sample import estimate_tokens
from medical_tasks.construct.shared import ranked
from medical_tasks.errors import MissingError, UsageError, check_least
from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.io.tables import has_columns, read_table, write_table
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.options import Sample
from medical_tasks.site.steps import State, journal_state
from medical_tasks.site.uses import use_of

UNKNOWN: Final = "unknown"
ID: Final = "id"
_KEY: Final = "key"
_MOST_VALUES: Final = 30
_PLAN: Final = "plan/plan.json"


@dataclass(frozen=True, kw_only=True)
class Patient:
    """A patient of the notes.

    Attributes:
        id: the pseudonym, a keyed hash of the record number.
        strata: the value of each column; `unknown` for an empty cell.
        rows: the cells of the patient's rows, in the table's order.
    """

    id: str
    strata: Mapping[str, str]
    rows: tuple[Mapping[str, str], ...]


def read_patients(site: Site) -> list[Patient]:
    """Reads the table of notes, one `Patient` for each patient.

    Raises:
        MissingError: there is no such table.
        UsageError: a column or a needed cell is missing, or a patient has two values of
            a stratum. No message quotes a text.
    """
    settings, use = site.settings, use_of(site.settings)
    if not site.notes.is_file():
        raise MissingError(
            f"{site.notes}: no such file. It is the table of notes that site.toml names (notes), "
            f"with the columns {', '.join(use.columns)}."
        )

    needed = (*use.columns, *settings.strata)
    form = f"The columns are {', '.join(needed)}, one row a note."
    table = read_table(site.notes, form=form, knows=has_columns(*use.columns))
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise UsageError(
            f"{site.notes}: has no column {', '.join(missing)}. {form} Strata are named in "
            "site.toml."
        )

    rows: dict[str, list[dict[str, str]]] = {}
    for row in table.rows:
        cells = {name: str(cell or "") for name, cell in row.cells.items()}
        for name in use.columns:
            if not cells[name].strip():
                raise UsageError(
                    f"{row.location(name)}: is empty. Fill it in, or leave the row out."
                )

        rows.setdefault(cells["patient_id"].strip(), []).append(cells)

    if not rows:
        raise UsageError(f"{site.notes}: has no rows. {form}")

    key = pseudonym_key(site)
    patients = {
        name: Patient(
            id=pseudonym(key, name), strata=_strata(site, own), rows=tuple(own)
        )
        for name, own in rows.items()
    }
    _check_strata(site, list(patients.values()))

    # Ranked by record number, so that the order does not depend on the key.
    return [patients[name] for name in ranked(list(patients), settings.seed, str)]


def pseudonym_key(site: Site, first: bytes | None = None) -> bytes:
    """The random key of a site's pseudonyms, drawn once and kept in the private folder.

    `first` is the key for a folder of invented patients that has none yet.
    """
    path = site.private / _KEY
    if not path.exists():
        with WholeFile(path, private=True) as stream:
            stream.write((first or os.urandom(32)).hex())
    return bytes.fromhex(read_text(path))


def pseudonym(key: bytes, name: str) -> str:
    """A keyed hash of a patient or answer, which reveals nothing without the key."""
    return "p" + hmac.new(key, name.encode(), "sha256").hexdigest()[:15]


def _strata(site: Site, rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    strata = {}
    for name in site.settings.strata:
        values = sorted({row[name].strip() for row in rows} - {""})
        if len(values) > 1:
            raise UsageError(
                f"{site.notes}, column {name!r}: a patient has {len(values)} values of it, and a "
                "stratum is one. Give each patient one value in all rows."
            )
        strata[name] = values[0] if values else UNKNOWN
    return strata


def _check_strata(site: Site, patients: Sequence[Patient]) -> None:
    """Refuses a column that could identify patients or hold text."""
    for name in site.settings.strata:
        values = {patient.strata[name] for patient in patients}
        if len(values) > _MOST_VALUES or any(len(value) > 40 for value in values):
            raise UsageError(
                f"{site.notes}, column {name!r}: has {len(values)} values, or long ones, and cannot "
                f"be a stratum. Name a column of at most {_MOST_VALUES} short values, such as "
                "age groups."
            )


def placed(patients: Sequence[Patient]) -> list[Patient]:
    """Sorts patients into the order of drawing; see the module.

    Example: four women and two men. However many are drawn, the first ones have about the
    same mix.

        >>> patients = [
        ...     Patient(id=f"{sex}{number}", strata={"sex": sex}, rows=())
        ...     for sex, size in (("f", 4), ("m", 2))
        ...     for number in range(size)
        ... ]
        >>> [patient.id for patient in placed(patients)]
        ['f0', 'm0', 'f1', 'f2', 'm1', 'f3']
    """
    sizes = Counter(tuple(patient.strata.values()) for patient in patients)
    seen: Counter[tuple[str, ...]] = Counter()
    positions: dict[str, tuple[float, int]] = {}
    for number, patient in enumerate(patients):
        stratum = tuple(patient.strata.values())
        positions[patient.id] = ((seen[stratum] + 0.5) / sizes[stratum], number)
        seen[stratum] += 1
    return sorted(patients, key=lambda patient: positions[patient.id])


def run(options: Sample) -> int:
    """Draws patients, and prints how many of each stratum."""
    site = open_site(options.folder)
    check_least({"--items": options.items})
    patients = read_patients(site)
    count = options.items or planned_items(site) or len(patients)
    drawn = placed(patients)[:count]
    use = use_of(site.settings)
    columns = (ID, *site.settings.strata, "notes")
    lines = [
        (patient.id, *patient.strata.values(), len(patient.rows)) for patient in drawn
    ]
    site.sample.parent.mkdir(exist_ok=True)
    write_table(site.sample, [columns, *lines])
    counts = _counts(site, patients, drawn)
    with WholeFile(site.sample.with_name("README.md")) as stream:
        stream.write(_readme(site, patients, drawn, counts))

    note_step(
        site,
        "sample",
        inputs=[
            site.notes,
            *(f"site.toml:{key}" for key in ("notes", "seed", "strata", "use")),
            *([] if options.items else [_PLAN]),
        ],
        outputs=[site.sample],
        figures={
            "patients": len(patients),
            "drawn": len(drawn),
            "tokens": sum(map(tokens_of, drawn)),
        },
    )
    short = (
        f"\nThe plan asks for {count:,}, and there are {len(patients):,}: the decision may be "
        "inconclusive."
        if count > len(patients)
        else ""
    )
    tell(
        f"{site.sample}: {len(drawn):,} of {len(patients):,} {use.units}{short}\n\n{counts}",
        drawn=len(drawn),
        patients=len(patients),
    )

    return 0


def tokens_of(patient: Patient) -> int:
    """The tokens of a patient's notes, by construction's estimate."""
    texts = (cells[name] for cells in patient.rows for name in cells)
    return sum(map(estimate_tokens, texts))


def _counts(site: Site, patients: Sequence[Patient], drawn: Sequence[Patient]) -> str:
    """The table of how many patients each stratum has, and how many were drawn."""
    rows = [
        (
            name,
            value,
            f"{sum(patient.strata[name] == value for patient in drawn):,}",
            f"{count:,}",
        )
        for name in site.settings.strata
        for value, count in sorted(
            Counter(patient.strata[name] for patient in patients).items()
        )
    ]
    rows.append(("all", "", f"{len(drawn):,}", f"{len(patients):,}"))

    return "\n".join(align(("stratum", "value", "drawn", "of"), rows))


def _readme(
    site: Site, patients: Sequence[Patient], drawn: Sequence[Patient], counts: str
) -> str:
    """The README of the sample: how it was drawn."""
    names = " and ".join(site.settings.strata) or "none"
    return (
        f"# Sample\n\n{len(drawn):,} of {len(patients):,} {use_of(site.settings).units}, drawn "
        f"without replacement in proportion to their strata ({names}), seed "
        f"{site.settings.seed}. A patient is drawn whole or not at all. A larger sample with the "
        "same notes and seed contains this one. Ids are keyed hashes; the key never leaves the "
        f"private folder.\n\n```\n{counts}\n```\n"
    )


def planned_items(site: Site) -> int | None:
    """The number of items in the plan; None without a plan."""
    import json

    path = site.path / _PLAN
    if not path.is_file():
        return None
    return int(json.loads(read_text(path))["items"])


def sampled(site: Site) -> list[Patient]:
    """The sampled patients in their order, with their notes.

    Raises:
        MissingError: there is no sample yet.
        UsageError: a sampled patient is no longer in the notes.
    """
    if not site.sample.is_file():
        raise MissingError(
            f"{site.sample}: no such file. Draw patients first: medical-tasks site sample"
        )

    patients = {patient.id: patient for patient in read_patients(site)}
    ids = [row.cells[ID] for row in read_table(site.sample).rows]
    missing = [name for name in ids if name not in patients]
    if missing:
        raise UsageError(
            f"{site.sample}: {len(missing)} of its {len(ids)} patients are not in {site.notes}. Give "
            "the notes that were sampled, or sample again."
        )

    return [patients[name] for name in ids]


def items_file(site: Site) -> Path:
    """The table of items with patient and strata, which `site run` writes; without text."""
    return site.sample.with_name("items.csv")


def strata_of(site: Site) -> dict[str, dict[str, str]]:
    """The strata of each item, by its id: `{"p1": {"patient": "p1", "sex": "female"}}`.

    `patient` is among them, since items of one patient are not independent.
    """
    path = items_file(site)
    if not path.is_file():
        raise MissingError(
            f"{path}: no such file. Build the items, which writes it: medical-tasks site run"
        )

    return {
        row.cells["item"]: {
            name: str(cell or "") for name, cell in row.cells.items() if name != "item"
        }
        for row in read_table(path).rows
    }


def state(site: Site) -> State:
    """The state of the step."""
    return journal_state(site, "sample", ready="draw patients from the notes")
