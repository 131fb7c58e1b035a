"""The notes of a site read, and `site sample`: patients drawn by chance, in strata.

Patients of a stratum (a combination of the values of `strata`) are put into an order
that the seed decides. The k-th of m gets the place (k - 1/2) / m, and patients are
drawn in the order of their places: every stratum has its share of any sample, to one
patient, and a larger sample contains the smaller one.

Example: of strata with 4 and 2 patients the places are 1/8, 3/8, 5/8, 7/8 and 1/4, 3/4,
so that 3 patients are two of the first stratum and one of the second.
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
        id: a pseudonym: a keyed hash of the record number.
        strata: column to value, `unknown` where the cell is empty.
        rows: the cells of their rows, in the table's order.
    """

    id: str
    strata: Mapping[str, str]
    rows: tuple[Mapping[str, str], ...]


def read_patients(site: Site) -> list[Patient]:
    """Reads the table of notes, a patient after the other.

    Raises:
        MissingError: there is no such table.
        UsageError: a column is missing, a cell that is needed is empty, or a patient
            has two values of a stratum. No message shows a text.
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

    # By the record number: the order is the same with any key.
    return [patients[name] for name in ranked(list(patients), settings.seed, str)]


def pseudonym_key(site: Site, first: bytes | None = None) -> bytes:
    """The random key of a site's pseudonyms; made once, and never outside the private folder.

    `first`: the key of a folder that has none yet, for invented patients.
    """
    path = site.private / _KEY
    if not path.exists():
        with WholeFile(path, private=True) as part:
            part.write((first or os.urandom(32)).hex())
    return bytes.fromhex(read_text(path))


def pseudonym(key: bytes, name: str) -> str:
    """Names a patient, or an answer, by a keyed hash: without the key nobody can tell who it is."""
    return "p" + hmac.new(key, name.encode(), "sha256").hexdigest()[:15]


def _strata(site: Site, rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    found = {}
    for name in site.settings.strata:
        values = sorted({row[name].strip() for row in rows} - {""})
        if len(values) > 1:
            raise UsageError(
                f"{site.notes}, column {name!r}: a patient has {len(values)} values of it, and a "
                "stratum is one. Give each patient one value in all rows."
            )
        found[name] = values[0] if values else UNKNOWN
    return found


def _check_strata(site: Site, patients: Sequence[Patient]) -> None:
    """Refuses a column that names patients, or that could hold text."""
    for name in site.settings.strata:
        values = {each.strata[name] for each in patients}
        if len(values) > _MOST_VALUES or any(len(value) > 40 for value in values):
            raise UsageError(
                f"{site.notes}, column {name!r}: has {len(values)} values, or long ones, and is "
                f"no stratum. Take a column of at most {_MOST_VALUES} short values, such as age "
                "in groups."
            )


def placed(patients: Sequence[Patient]) -> list[Patient]:
    """Puts patients into the order in which they are drawn; see the module."""
    sizes = Counter(tuple(each.strata.values()) for each in patients)
    seen: Counter[tuple[str, ...]] = Counter()
    places: dict[str, tuple[float, int]] = {}
    for number, each in enumerate(patients):
        stratum = tuple(each.strata.values())
        places[each.id] = ((seen[stratum] + 0.5) / sizes[stratum], number)
        seen[stratum] += 1
    return sorted(patients, key=lambda each: places[each.id])


def run(options: Sample) -> int:
    """Draws patients, and says how many of each stratum."""
    site = open_site(options.folder)
    check_least({"--items": options.items})
    patients = read_patients(site)
    wanted = options.items or planned_items(site) or len(patients)
    drawn = placed(patients)[:wanted]
    use = use_of(site.settings)
    columns = (ID, *site.settings.strata, "notes")
    lines = [(each.id, *each.strata.values(), len(each.rows)) for each in drawn]
    site.sample.parent.mkdir(exist_ok=True)
    write_table(site.sample, [columns, *lines])
    counts = _counts(site, patients, drawn)
    with WholeFile(site.sample.with_name("README.md")) as part:
        part.write(_said(site, patients, drawn, counts))

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
        f"\nThe plan asks for {wanted:,}, and there are {len(patients):,}: the decision may be "
        "inconclusive."
        if wanted > len(patients)
        else ""
    )
    tell(
        f"{site.sample}: {len(drawn):,} of {len(patients):,} {use.units}{short}\n\n{counts}",
        drawn=len(drawn),
        patients=len(patients),
    )

    return 0


def tokens_of(patient: Patient) -> int:
    """What a model reads of a patient, as construction estimates tokens."""
    texts = (cells[name] for cells in patient.rows for name in cells)
    return sum(map(estimate_tokens, texts))


def _counts(site: Site, patients: Sequence[Patient], drawn: Sequence[Patient]) -> str:
    """How many there are of each stratum, and how many were drawn."""
    rows = [
        (
            name,
            value,
            f"{sum(each.strata[name] == value for each in drawn):,}",
            f"{count:,}",
        )
        for name in site.settings.strata
        for value, count in sorted(
            Counter(each.strata[name] for each in patients).items()
        )
    ]
    rows.append(("all", "", f"{len(drawn):,}", f"{len(patients):,}"))

    return "\n".join(align(("stratum", "value", "drawn", "of"), rows))


def _said(
    site: Site, patients: Sequence[Patient], drawn: Sequence[Patient], counts: str
) -> str:
    """What a reader of the sample must know of how it was drawn."""
    names = " and ".join(site.settings.strata) or "none"
    return (
        f"# Sample\n\n{len(drawn):,} of {len(patients):,} {use_of(site.settings).units}, drawn "
        f"without replacement in proportion to their strata ({names}), seed "
        f"{site.settings.seed}. A patient is drawn whole or not at all. A larger sample with the "
        "same notes and seed contains this one. Ids are keyed hashes; the key never leaves the "
        f"private folder.\n\n```\n{counts}\n```\n"
    )


def planned_items(site: Site) -> int | None:
    """How many items the plan asks for; None without one."""
    import json

    path = site.path / _PLAN
    if not path.is_file():
        return None
    return int(json.loads(read_text(path))["items"])


def sampled(site: Site) -> list[Patient]:
    """The patients that were drawn, in their order, with their notes.

    Raises:
        MissingError: none was drawn yet.
        UsageError: a patient of the sample is no longer in the notes.
    """
    if not site.sample.is_file():
        raise MissingError(
            f"{site.sample}: not there. Draw patients first: medical-tasks site sample"
        )

    known = {each.id: each for each in read_patients(site)}
    ids = [row.cells[ID] for row in read_table(site.sample).rows]
    lost = [each for each in ids if each not in known]
    if lost:
        raise UsageError(
            f"{site.sample}: {len(lost)} of its {len(ids)} patients are not in {site.notes}. Give "
            "the notes that were sampled, or sample again."
        )

    return [known[each] for each in ids]


def items_file(site: Site) -> Path:
    """The table of item, patient and strata that `site run` writes; it has no text."""
    return site.sample.with_name("items.csv")


def strata_of(site: Site) -> dict[str, dict[str, str]]:
    """The strata of each item of the runs, by item id: `{"p1": {"sex": "female"}}`.

    `patient` is among them: items of one patient are no independent items.
    """
    path = items_file(site)
    if not path.is_file():
        raise MissingError(
            f"{path}: not there. It is written with the items: medical-tasks site run"
        )

    return {
        row.cells["item"]: {
            name: str(cell or "") for name, cell in row.cells.items() if name != "item"
        }
        for row in read_table(path).rows
    }


def state(site: Site) -> State:
    """Where the step stands."""
    return journal_state(site, "sample", ready="draw patients from the notes")
