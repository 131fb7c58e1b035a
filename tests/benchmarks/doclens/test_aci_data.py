"""ACI-BENCH: rows of the official files, what is refused, and the demo."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.doclens.data import (
    ACI_COLUMNS,
    ACI_OFFICIAL_COLUMNS,
    ACI_SOURCE,
    read_aci_rows,
)
from medical_tasks.benchmarks.doclens.datasets import ACI_BENCH
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.data.dataset_store import read_rows as built_rows
from medical_tasks.errors import MissingError, UsageError
from tests.support import SHARED, needs_shared

FOLDER = SHARED / "data" / "aci_bench"
FILES = {"train": "train.csv", "validation": "valid.csv", "test1": "clinicalnlp_taskB_test1.csv"}
MORE_FILES = {"test2": "clinicalnlp_taskC_test2.csv", "test3": "clef_taskC_test3.csv"}
NAMES = [column.name for column in ACI_COLUMNS]


def official_row(number: int = 1, **changes: str) -> dict[str, str]:
    return {
        "dataset": "aci",
        "encounter_id": f"X{number:03}",
        "dialogue": '[doctor] hi , "you" .\n[patient] hello .\nand so on .',
        "note": "CHIEF COMPLAINT\n\nCough.\n\nPLAN\n\nRest.",
        **changes,
    }


def write_csv(path: Path, rows: list[dict[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ACI_OFFICIAL_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return list(read_aci_rows("doclens", "test1", {"test1": path}))


def test_a_row(tmp_path: Path) -> None:
    (row,) = rows_of(write_csv(tmp_path / "x.csv", [official_row()]))
    assert list(row) == NAMES
    assert row == {
        "id": "X001",
        "dataset": "aci",
        "turns": ['[doctor] hi , "you" .', "[patient] hello .\nand so on ."],
        "note": "CHIEF COMPLAINT\n\nCough.\n\nPLAN\n\nRest.",
        "subjective": "CHIEF COMPLAINT\n\nCough.\n\n",
        "objective_exam": "",
        "objective_results": "",
        "assessment_and_plan": "PLAN\n\nRest.",
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encounter_id": ""}, "column 'encounter_id': must be a text that is not empty"),
        ({"note": " \n"}, "column 'note': must be a text that is not empty"),
        ({"dialogue": ""}, "column 'dialogue': must be a text that is not empty"),
        ({"dialogue": "[1] hello\n[ inaudible ] and so on"}, r"column 'dialogue': no line of it begins with a speaker"),
    ],
)
def test_a_wrong_row(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    path = write_csv(tmp_path / "x.csv", [official_row(1), official_row(2, **changes)])
    with pytest.raises(UsageError, match=rf"x.csv: line \d+, {message}.* Download the file again"):
        rows_of(path)


def test_odd_dialogues_are_kept_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the release has them: no speaker at first or amid, empty turns, a mark of the transcriber; and a checkout of Windows."""
    dialogue = "hi , susan .\n[patient]\n\n[ inaudible ] yes\n[DOCTOR] ok ."
    files = {
        "test1": [official_row(1), official_row(2, dialogue=dialogue), official_row(3, dialogue="Hello.\n[patient] a")]
    }
    path = write_csv(tmp_path / "x.csv", files["test1"])
    rows = rows_of(path)
    assert rows[1]["turns"] == ["hi , susan .", "[patient]\n\n[ inaudible ] yes", "[DOCTOR] ok ."]
    assert "\n".join(rows[1]["turns"]) == dialogue
    said = capsys.readouterr().err
    assert said.startswith(
        "note: x.csv: X002, X003: the dialogue begins before anybody is named; what stands there is turn 0"
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert rows_of(path) == rows
    path.write_text(path.read_text("utf-8").replace('""you""', '"you'), encoding="utf-8")
    with pytest.raises(UsageError, match="not a whole CSV file"):
        rows_of(path)


def test_a_wrong_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("dataset,encounter_id,src,note\na,b,c,d\n", encoding="utf-8")
    with pytest.raises(UsageError, match="wrong columns for the ACI-BENCH challenge data. missing: 'dialogue'; unexp"):
        rows_of(path)


def write_release(folder: Path, files: dict[str, str], **counts: int) -> Path:
    sizes = {"train": 67, "validation": 20, **counts}
    for split, name in files.items():
        write_csv(folder / name, [official_row(number) for number in range(sizes.get(split, 40))])
    return folder


def test_all_five_files(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data" / "challenge_data", {**FILES, **MORE_FILES})
    built = build_dataset("aci_bench", source=tmp_path, config="full", out=tmp_path / "out")
    assert built.splits == {"train": 67, "validation": 20, "test1": 40, "test2": 40, "test3": 40}
    (folder / MORE_FILES["test3"]).unlink()
    with pytest.raises(
        MissingError,
        match=r"lacks\n  test3, a CSV file: .*/clef_taskC_test3.csv(.|\n)*How to get ACI",
    ):
        build_dataset("aci_bench", source=folder, config="full", out=tmp_path / "out")
    # The splits that DocLens uses need three of them.
    assert build_dataset("aci_bench", source=folder, config="doclens", out=tmp_path / "out").rows == 127


def test_a_cut_off_file_is_not_built(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "official", FILES, train=66)
    with pytest.raises(UsageError, match=r"config doclens: split train has 66 rows, 67 were published"):
        build_dataset("aci_bench", source=folder, config="doclens", out=tmp_path / "out")
    with pytest.raises(UsageError, match="needs 3 files, got the file"):
        build_dataset("aci_bench", source=folder / "train.csv", config="doclens", out=tmp_path / "out")


def test_an_encounter_that_comes_twice(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "official", FILES)
    write_csv(folder / "valid.csv", [official_row(1)] * 20)
    with pytest.raises(UsageError, match="split validation: two rows have id 'X001'"):
        build_dataset("aci_bench", source=folder, config="doclens", out=tmp_path / "out")


def test_the_demo() -> None:
    rows = {split: list(read_aci_rows("demo", split, {})) for split in ACI_SOURCE.splits["demo"]}
    assert {split: len(each) for split, each in rows.items()} == {"train": 2, "validation": 1, "test1": 6}
    everything = [row for each in rows.values() for row in each]
    assert len({row["id"] for row in everything}) == 9
    for row in everything:
        assert list(row) == NAMES
        # All four sections, which together are the note, and turns enough to cite.
        assert "".join(row[section] for section in SECTIONS) == row["note"]
        assert all(len(row[section].split()) >= 4 for section in SECTIONS)
        assert len(row["turns"]) >= 12
        assert all(turn.startswith(("[doctor] ", "[patient] ", "[patient_guest] ")) for turn in row["turns"])
    # Shapes of the release.
    turns = [turn for row in everything for turn in row["turns"]]
    assert sum("\n" in turn for turn in turns) == 1
    assert any(turn.startswith("[patient_guest]") for turn in turns)
    assert {row["dataset"] for row in everything} == {"aci", "virtassist", "virtscribe"}


@needs_shared
@pytest.mark.upstream
def test_the_release(tmp_path: Path) -> None:
    built = build_dataset("aci_bench", source=FOLDER, config="doclens", out=tmp_path / "aci_bench")
    assert (built.splits, built.notes) == ({"train": 67, "validation": 20, "test1": 40}, ())
    for split, name in FILES.items():
        path = FOLDER / "challenge_data" / name
        with path.open(encoding="utf-8", newline="") as stream:
            official = list(csv.DictReader(stream, strict=True))
        rows = built_rows(built.folder, "doclens", split, spec=ACI_BENCH)
        assert [(row["id"], row["dataset"], row["note"]) for row in rows] == [
            (each["encounter_id"], each["dataset"], each["note"]) for each in official
        ]
        assert ["\n".join(row["turns"]) for row in rows] == [each["dialogue"] for each in official]
        speakers = Counter(turn.split("]")[0] + "]" for row in rows for turn in row["turns"])
        assert set(speakers) <= {"[doctor]", "[patient]", "[patient_guest]"}
        # In all these notes the sections come in order.
        assert ["".join(row[section] for section in SECTIONS) for row in rows] == [row["note"] for row in rows]
