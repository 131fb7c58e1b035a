"""A table of one's own: with splits and without, both forms, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.mimic_data import read_table_rows
from medical_tasks.errors import UsageError

SECRET = "swallowed a marble"
SEEN = f"The patient {SECRET}. It lies in the stomach, as it did before."
Cells = dict[str, Any]


def cells(number: int, **changes: Any) -> Cells:
    return {"id": f"r{number}", "findings": SEEN, "impression": "Marble in the stomach."} | changes


def whole(number: int, **changes: Any) -> Cells:
    known = {
        "patient_id": f"p{number}",
        "modality": "CT",
        "anatomy": "abdomen",
        "split": "test" if number % 2 else "train",
    }
    return cells(number, **known) | changes


def write(folder: Path, rows: Sequence[Cells], form: str = "csv") -> Path:
    path = folder / f"reports.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
        return path
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_table_with_splits_is_taken_as_it_stands(tmp_path: Path, form: str) -> None:
    short = whole(3, findings="A\n marble.", impression="Marble.", modality="mr", anatomy="Head", split="TEST")
    path = write(tmp_path, [whole(1), whole(2), short], form)
    assert list(read_table_rows(path, "train")) == [
        {
            "id": "r2",
            "patient_id": "p2",
            "modality": "CT",
            "anatomy": "abdomen",
            "findings": SEEN,
            "sentences": [f"The patient {SECRET}.", "It lies in the stomach, as it did before."],
            "impression": "Marble in the stomach.",
        }
    ]
    first, third = read_table_rows(path, "test")
    assert (first["id"], third["id"]) == ("r1", "r3")
    assert (third["modality"], third["anatomy"], third["findings"], third["impression"]) == (
        "MR",
        "head",
        "A marble.",
        "Marble.",
    )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_table_without_splits_is_sampled(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [cells(number, **({"note": SECRET} if form == "csv" else {})) for number in range(30)]
    rows += [dict(rows[0], id="short", impression="As above.")]
    path = write(tmp_path, rows, form)
    drawn = {split: list(read_table_rows(path, split, sample=10, train_each=5)) for split in ("train", "test")}
    assert {split: len(each) for split, each in drawn.items()} == {"train": 5, "test": 10}
    assert {each["modality"] + each["anatomy"] for each in drawn["test"]} == {"unknownunknown"}
    assert all(each["patient_id"] == f"report {each['id']}" for each in drawn["test"])
    assert {each["id"] for each in drawn["test"]}.isdisjoint(each["id"] for each in drawn["train"])
    told = capsys.readouterr().err
    assert told.count("30 reports can be used (unknown 30), 1 are left out (impression that only points") == 1
    with pytest.raises(UsageError, match=r"The sample has 200. Give a larger table, or one with a column 'split'"):
        list(read_table_rows(path, "test"))


def test_numbers_as_ids_in_json(tmp_path: Path) -> None:
    path = write(tmp_path, [whole(1, id=7, patient_id=8), whole(2, id=9, modality=None, anatomy=None)], "jsonl")
    (row,) = read_table_rows(path, "test")
    assert (row["id"], row["patient_id"]) == ("7", "8")
    (row,) = read_table_rows(path, "train")
    assert (row["id"], row["patient_id"], row["modality"]) == ("9", "p2", "unknown")


@pytest.mark.parametrize("unknown", [None, ""])
def test_a_row_without_a_patient_is_nobody_elses(tmp_path: Path, unknown: str | None) -> None:
    rows = [whole(1, id="7", patient_id=unknown), whole(3, id="8", patient_id="7"), whole(2)]
    for form in ("csv", "jsonl"):
        told = {row["id"]: row["patient_id"] for row in read_table_rows(write(tmp_path, rows, form), "test")}
        assert told == {"7": "report 7", "8": "7"}


def test_patients_in_both_splits_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, [whole(1, patient_id="p"), whole(2, patient_id="p"), whole(4)])
    assert len([row for split in ("train", "test") for row in read_table_rows(path, split)]) == 3
    assert capsys.readouterr().err == "note: reports.csv: 1 patients have reports in more than one split\n"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([whole(1), whole(1)], "column 'id': must be unique, it stands in the table already, got a text of 2 characters"),
        ([whole(1, id=" ")], "'id': must not be empty|'id': must be a text that is not empty, or a whole number"),
        ([whole(1, id=SEEN)], "column 'id': must be 1 to 64 characters on one line .*, got a text of 73 characters"),
        ([whole(1, id="7\n8")], "column 'id': must be 1 to 64 characters on one line"),
        ([whole(1, id=" 7")], "column 'id': .* without spaces at its ends"),
        ([whole(1, findings=" ")], "column 'findings': must not be empty"),
        ([whole(1, impression="")], "column 'impression': must not be empty"),
        ([whole(1, modality=SEEN)], r"column 'modality': must be one of CT, MR, or empty, got a text of \d+ characters"),
        ([whole(1, anatomy="foot")], "column 'anatomy': must be one of head, .*, or empty"),
        ([whole(1, anatomy="")], "column 'anatomy': must be there where modality is, and only there"),
        ([whole(1, split="validation")], "column 'split': must be one of train, test, or empty"),
        ([whole(1), whole(2, split="")], "column 'split': must be there in all rows or in none"),
        ([whole(2)], "has no row whose 'split' is 'test'; each of train, test needs one at least"),
    ],
)  # fmt: skip
def test_bad_tables(tmp_path: Path, rows: list[Cells], message: str, form: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        list(read_table_rows(write(tmp_path, rows, form), "test"))
    assert SECRET not in str(caught.value)


def test_wrong_forms(tmp_path: Path) -> None:
    path = write(tmp_path, [{"id": "1", "findings": SEEN}])
    with pytest.raises(
        UsageError, match="wrong columns for the table of findings and impressions. missing: 'impression'"
    ):
        list(read_table_rows(path, "test"))
    path = write(tmp_path, [cells(1, report=SECRET)], "jsonl")
    with pytest.raises(UsageError, match="line 1 has the wrong fields .*unexpected: 'report'"):
        list(read_table_rows(path, "test"))
    path = write(tmp_path, [cells(1, findings=[SECRET])], "jsonl")
    with pytest.raises(UsageError, match="field 'findings': must be a text or null, got a list of") as caught:
        list(read_table_rows(path, "test"))
    assert SECRET not in str(caught.value)
    path = write(tmp_path, [cells(1, findings=None)], "jsonl")
    with pytest.raises(UsageError, match="column 'findings': must not be empty"):
        list(read_table_rows(path, "test"))
    with pytest.raises(UsageError, match="none.csv: cannot be read"):
        list(read_table_rows(tmp_path / "none.csv", "test"))
