"""Invented files in the published forms of VeriFact-BHC and FactEHR."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

NOTES = {
    "11": (
        (
            "2101-03-02",
            "Admitted with chest pain. Troponin was 2.1 on arrival.\nAspirin given at once.",
        ),
        (
            "2101-03-04",
            "Stent placed in the left anterior descending artery. No bleeding at the groin.",
        ),
    ),
    "12": (("2120-01-09", "Fever of 39 since Tuesday. Urine grew Escherichia coli."),),
}
"""The date and text of each note, by patient."""

PROPOSITIONS = (
    # id, patient, author, kind, claim, three clinicians, truth
    ("p1", "11", "llm", "claim", "Troponin was raised on arrival.", "SSS", "S"),
    (
        "p2",
        "11",
        "llm",
        "claim",
        "The stent is in the right coronary artery.",
        "NNA",
        "N",
    ),
    ("p3", "11", "human", "sentence", "He smokes two packs a day.", "AAN", "A"),
    ("p4", "12", "human", "claim", "Urine grew Escherichia coli.", "SSN", "S"),
    ("p5", "12", "llm", "claim", "She has a cough.", "AAA", "A"),
)
LABELS = {"S": "Supported", "N": "Not Supported", "A": "Not Addressed"}

Table = list[list[str]]


def verifact() -> dict[str, Table]:
    """The three files by name, as pandas writes them, with unused columns."""
    propositions = [
        ["proposition_id", "subject_id", "author_type", "proposition_type", "text"]
    ]
    verdicts = [
        (
            "proposition_id text author_type proposition_type rater1 rater2 rater3 "
            "verdict1 verdict2 verdict3 adjudicated_verdict human_gt"
        ).split()
    ]
    for name, patient, author, kind, claim, letters, truth in PROPOSITIONS:
        propositions.append([name, patient, author, kind, claim])
        verdict_labels = [LABELS[letter] for letter in letters]
        verdicts.append(
            [
                name,
                claim,
                author,
                kind,
                "r1",
                "r2",
                "r3",
                *verdict_labels,
                "",
                LABELS[truth],
            ]
        )
    notes = [["ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "TEXT"]]
    for patient, some in NOTES.items():
        # The later note comes first: the reader must sort notes by date.
        for number, (date, text) in enumerate(some[::-1]):
            notes.append([str(number), patient, "7.0", date, "", text])
    return {
        "propositions/propositions.csv.gz": propositions,
        "propositions/human_verdicts.csv.gz": verdicts,
        "reference_ehr/ehr_noteevents.csv.gz": notes,
    }


def write_verifact(folder: Path, tables: Mapping[str, Table] | None = None) -> Path:
    for name, table in (tables or verifact()).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(as_csv(table).encode()))
    return folder


FACTEHR = "all_human_model_entailment_labels_120824.csv"
PAIRS = (
    ("d1", "precision", "The patient has asthma.", "1"),
    ("d1", "precision", "The patient has gout.", "0"),
    ("d1", "recall", "Asthma since childhood, on salbutamol.", "1"),
    ("d2", "recall", "Sodium 128.", "0"),
)
PREMISES = {
    "precision": 'Asthma since childhood,\non salbutamol. "No gout."',
    "recall": "The patient has asthma. The patient uses salbutamol.",
}


def factehr(pairs: Sequence[tuple[str, str, str, str]] = PAIRS) -> Table:
    """The pairs as R writes them, with row numbers in a column without a name."""
    columns = "doc_id dataset_name note_type prompt index entailment_type model_name"
    table = [
        ["", *columns.split(), "premise", "hypothesis", "human_pred", "entailment_pred"]
    ]
    for number, (document, direction, hypothesis, label) in enumerate(pairs, start=1):
        table.append(
            [
                *(str(number), document, "coral", "progress_notes", "prompt2"),
                *(str(number), direction, "o1-mini", PREMISES[direction]),
                *(hypothesis, label, "1"),
            ]
        )
    return table


def write_factehr(folder: Path, table: Table | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FACTEHR
    path.write_text(as_csv(table or factehr(), quoting=csv.QUOTE_NONNUMERIC))
    return path


def as_csv(table: Table, quoting: int = csv.QUOTE_MINIMAL) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n", quoting=quoting).writerows(table)  # type: ignore[arg-type]
    return file.getvalue()
