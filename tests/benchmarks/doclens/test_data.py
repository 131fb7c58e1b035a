"""ACI-BENCH, MeQSum and own texts: rows of the files, refused files, demos, and items of every form."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import (
    ACI_COLUMNS,
    ACI_OFFICIAL_COLUMNS,
    MEQSUM_COLUMNS,
    MEQSUM_OFFICIAL_COLUMNS,
    OWN_COLUMNS,
    NumberingError,
    load_items,
    read_aci_rows,
    read_meqsum_rows,
    read_own_rows,
    read_own_texts,
    source_sentences,
)
from medical_tasks.benchmarks.doclens.declarations import (
    ACI_BENCH,
    MEQSUM,
    demo_entries,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.data.dataset_store import read_rows as built_rows
from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import Item, Row
from tests.benchmarks.common import write_csv
from tests.benchmarks.doclens.task_items import (
    BY_NAME,
    cases,
    demo_rows,
    items_of,
    report,
)
from tests.io.test_tables import as_csv, as_parquet, as_xlsx
from tests.support import SHARED, needs_shared
from tests.tiny_xlsx import write_xlsx

FOLDER = SHARED / "data" / "aci_bench"
FILES = {
    "train": "train.csv",
    "validation": "valid.csv",
    "test1": "clinicalnlp_taskB_test1.csv",
}

NAMES = [column.name for column in ACI_COLUMNS]


def official_row(number: int = 1, **changes: str) -> dict[str, str]:
    return {
        "dataset": "aci",
        "encounter_id": f"X{number:03}",
        "dialogue": '[doctor] hi , "you" .\n[patient] hello .\nand so on .',
        "note": "CHIEF COMPLAINT\n\nCough.\n\nPLAN\n\nRest.",
        **changes,
    }


def write_visits(folder: Path, *rows: dict[str, str]) -> Path:
    return write_csv(folder / "x.csv", ACI_OFFICIAL_COLUMNS, rows)


def rows_of(path: Path) -> list[Row]:
    return list(read_aci_rows("doclens", "test1", {"test1": path}))


def test_a_row_of_aci_bench(tmp_path: Path) -> None:
    (row,) = rows_of(write_visits(tmp_path, official_row()))
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
    ("changes", "message"), cases("data", "test_a_wrong_row_of_aci_bench_is_refused")
)
def test_a_wrong_row_of_aci_bench_is_refused(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    path = write_visits(tmp_path, official_row(1), official_row(2, **changes))
    with pytest.raises(
        UsageError, match=rf"x.csv: row 3, {message}.* Download the file again"
    ):
        rows_of(path)


def test_unusual_dialogues_are_kept_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the release: text before a speaker, empty turns, a transcriber's mark; and line ends of Windows."""
    dialogue = "hi , susan .\n[patient]\n\n[ inaudible ] yes\n[DOCTOR] ok ."
    path = write_visits(
        tmp_path,
        official_row(1),
        official_row(2, dialogue=dialogue),
        official_row(3, dialogue="Hello.\n[patient] a"),
    )
    rows = rows_of(path)
    assert rows[1]["turns"] == [
        "hi , susan .",
        "[patient]\n\n[ inaudible ] yes",
        "[DOCTOR] ok .",
    ]
    assert "\n".join(rows[1]["turns"]) == dialogue
    stderr = capsys.readouterr().err
    assert stderr.startswith(
        "note: x.csv: X002, X003: the dialogue begins before anybody is named; the text before it "
        "is turn 0"
    )
    path.write_bytes(
        b"\xef\xbb\xbf"
        + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    )
    assert rows_of(path) == rows
    path.write_text(
        path.read_text("utf-8").replace('""you""', '"you'), encoding="utf-8"
    )
    with pytest.raises(UsageError, match="line 2 is damaged: a quote is missing"):
        rows_of(path)


@needs_shared
@pytest.mark.upstream
def test_the_release_of_aci_bench(tmp_path: Path) -> None:
    built = build_dataset(
        "aci_bench", source=FOLDER, config="doclens", out=tmp_path / "aci_bench"
    )
    assert (built.splits, built.notes) == (
        {"train": 67, "validation": 20, "test1": 40},
        (),
    )
    for split, name in FILES.items():
        path = FOLDER / "challenge_data" / name
        with path.open(encoding="utf-8", newline="") as stream:
            official = list(csv.DictReader(stream, strict=True))
        rows = built_rows(built.folder, "doclens", split, spec=ACI_BENCH)
        assert [(row["id"], row["dataset"], row["note"]) for row in rows] == [
            (
                official_row["encounter_id"],
                official_row["dataset"],
                official_row["note"],
            )
            for official_row in official
        ]
        assert ["\n".join(row["turns"]) for row in rows] == [
            official_row["dialogue"] for official_row in official
        ]
        speakers = Counter(
            turn.split("]")[0] + "]" for row in rows for turn in row["turns"]
        )
        assert set(speakers) <= {"[doctor]", "[patient]", "[patient_guest]"}
        # In all these notes the sections are in order.
        assert ["".join(row[section] for section in SECTIONS) for row in rows] == [
            row["note"] for row in rows
        ]


MEQSUM_FOLDER = SHARED / "data" / "meqsum"
MEQSUM_FILES = {
    "train": "MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx",
    "validation": "MEDIQA2021-Task1-QuestionSummarization-ValidationSet.xlsx",
    "test": "MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx",
}
SIZES = {"train": 1000, "validation": 50, "test": 100}
SHA256 = {
    "train": "80a3a152f53b8765a6679e1b0340e35a045d72171a01907a77dbb5270be62596",
    "validation": "49fcd248f9fb316c3a25a0f643fac963be639717b151ea4516b6c8c2a43b5e3e",
    "test": "d8343d3e7879cb033b301cb92572f0b8c7e2179ec74cdb83c14d8d4576cb0cf8",
}
"""Hashes of ids, questions and summaries as openpyxl 3.1.5 reads them, each cell as a text."""
MEQSUM_NAMES = [column.name for column in MEQSUM_COLUMNS]


def sheet(split: str, rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [tuple(MEQSUM_OFFICIAL_COLUMNS[split].values()), *rows]


def questions_of(path: Path, split: str) -> list[Row]:
    return list(read_meqsum_rows("full", split, {split: path}))


@pytest.mark.parametrize(
    ("split", "cells", "row"), cases("data", "test_rows_of_meqsum")
)
def test_rows_of_meqsum(
    tmp_path: Path, split: str, cells: list[str], row: list[Any]
) -> None:
    path = write_xlsx(tmp_path / "x.xlsx", sheet(split, [tuple(cells)]))
    assert [
        list(question_row.items()) for question_row in questions_of(path, split)
    ] == [list(zip(MEQSUM_NAMES, row, strict=True))]


@pytest.mark.parametrize(
    ("row", "message"),
    cases("data", "test_a_wrong_row_of_meqsum_is_refused", tuples=True),
)
def test_a_wrong_row_of_meqsum_is_refused(
    tmp_path: Path, row: tuple[str, ...], message: str
) -> None:
    path = write_xlsx(tmp_path / "x.xlsx", sheet("test", [("2", "a", "b"), row]))
    with pytest.raises(
        UsageError, match=f"x.xlsx: {message}.* Download the file again"
    ):
        questions_of(path, "test")
    with pytest.raises(
        UsageError,
        match="wrong columns for the MeQSum. missing: 'File', 'CHQ'; unexpected: 'q_id'",
    ):
        questions_of(path, "train")


def test_files_are_found_at_their_paths_in_the_repositories(tmp_path: Path) -> None:
    folder = tmp_path / "official"
    for split, name in MEQSUM_FILES.items():
        more = ("x",) * (len(MEQSUM_OFFICIAL_COLUMNS[split]) - 3)
        rows = [
            (str(number), f"Is {number} safe?", f"Is {number} safe?", *more)
            for number in range(SIZES[split])
        ]
        write_xlsx(
            folder / ("" if split == "train" else "Task1") / name, sheet(split, rows)
        )
    built = build_dataset("meqsum", source=folder, config="full", out=tmp_path / "out")
    assert (built.splits, built.notes) == (SIZES, ())
    (folder / MEQSUM_FILES["train"]).unlink()
    with pytest.raises(
        MissingError,
        match=r"lacks\n  MeQSum, an XLSX file: MeQSum/MeQSum_ACL2019(.|\n)*How to get MeQSum",
    ):
        build_dataset("meqsum", source=folder, config="full", out=tmp_path / "out")


@needs_shared
@pytest.mark.upstream
def test_the_release_of_meqsum(tmp_path: Path) -> None:
    built = build_dataset(
        "meqsum", source=MEQSUM_FOLDER, config="full", out=tmp_path / "meqsum"
    )
    assert (built.splits, built.notes) == (SIZES, ())
    rows = {
        split: built_rows(built.folder, "full", split, spec=MEQSUM) for split in SIZES
    }
    for split, split_rows in rows.items():
        texts = [[row["id"], row["question"], row["summary"]] for row in split_rows]
        assert hashlib.sha256(json.dumps(texts).encode()).hexdigest() == SHA256[split]
    questions = {
        split: [" ".join(row["question"].lower().split()) for row in split_rows]
        for split, split_rows in rows.items()
    }
    # One question of the test set is also a training question.
    assert (
        sum(question in set(questions["train"]) for question in questions["test"]) == 1
    )
    assert (
        sum(question in set(questions["train"]) for question in questions["validation"])
        == 0
    )
    types = Counter(name for row in rows["validation"] for name in row["types"])
    assert types.most_common(2) == [
        ("Treatment", types["Treatment"]),
        ("Information", types["Information"]),
    ]
    assert all(row["types"] and row["focus"] for row in rows["validation"])


FIELDS = {"form", "sentences", "reference"}


def test_items_of_each_form() -> None:
    visit = {**demo_rows(BY_NAME["aci_bench"], "test1")[0], "objective_results": ""}
    name, of = visit["id"], {"dataset": visit["dataset"]}
    (note,) = load_items(BY_NAME["aci_bench"], [visit])
    fields = {"form": "note", "sentences": visit["turns"], "reference": visit["note"]}
    sections = {section: visit[section] for section in SECTIONS}
    assert note == Item(
        id=name, fields=fields | {"sections": sections}, groups=of, cluster=name
    )
    assert load_items(BY_NAME["aci_bench_section"], [visit]) == [
        Item(
            id=f"{name}/{section}",
            fields=fields | {"form": "section", "reference": text},
            groups={"section": section} | of,
            cluster=name,
        )
        for section, text in sections.items()
    ]
    row = report(7, "MR", "spine", patient="p1")
    (item,) = load_items(BY_NAME["mimic_rrs_six_shot"], [row])
    assert (item.id, item.cluster, item.groups) == (
        "7",
        "p1",
        {"modality": "MR", "anatomy": "spine"},
    )
    assert item.fields == {
        "form": "impression",
        "sentences": row["sentences"],
        "reference": row["impression"],
    }
    question = demo_rows(BY_NAME["meqsum"], "test")[0]
    expected = {
        "form": "question",
        "sentences": question["sentences"],
        "reference": question["summary"],
    }
    assert items_of("meqsum")[0].fields == expected
    own = items_of("doclens_own")[0]
    assert (own.id, own.fields["reference"]) == ("a", "Gout. Allopurinol started.")


def write(path: Path, content: Any) -> Path:
    path.write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return path


def test_rows_of_own_texts(tmp_path: Path) -> None:
    records, rows, sections = zip(
        *cases("own_data", "test_rows_of_own_texts"), strict=True
    )
    path = write(tmp_path / "n.json", f"\ufeff{json.dumps(records)}")
    names = [column.name for column in OWN_COLUMNS]
    read_rows = [
        list(row.items()) for row in read_own_rows("own", "test", {"test": path})
    ]
    assert read_rows == [list(zip(names, row, strict=True)) for row in rows]
    assert tuple(text.sections for text in read_own_texts(path)) == sections
    table = [
        ["ID", "Input", "Reference", "reference_plan"],
        ["v1", "He walks. He runs.", "", "runs"],
    ]
    for content in (as_csv(table, ";"), as_xlsx(table), as_parquet(table)):
        path.with_name("own").write_bytes(content)
        (text,) = read_own_texts(path.with_name("own"))
        assert (text.id, text.sentences, text.reference, text.sections) == (
            "v1",
            ["He walks.", "He runs."],
            "",
            {"plan": "runs"},
        )


@pytest.mark.parametrize(
    ("content", "message"),
    cases("own_data", "test_bad_files_of_own_texts_are_refused_without_a_quotation"),
)
def test_bad_files_of_own_texts_are_refused_without_a_quotation(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_own_texts(write(tmp_path / "notes.json", content))
    assert "SECRET" not in str(caught.value)
    assert "notes.json" in str(caught.value)
    with pytest.raises(MissingError, match="no such file. Give CSV, XLSX"):
        read_own_texts(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'[{"example_id": 1, "input": "\xe9"}]')
    with pytest.raises(UsageError, match="not UTF-8 text .* at byte 29"):
        read_own_texts(tmp_path / "latin.json")


def test_the_demo_has_sources_with_and_without_numbers() -> None:
    rows = list(read_own_rows("demo", "test", {}))
    assert (
        [row["id"] for row in rows]
        == [text["id"] for text in demo_entries("texts", "test")]
        == ["call-1", "call-2", "report-1", "letter-1"]
    )
    assert [len(row["sentences"]) for row in rows] == [9, 9, 5, 6]
    assert not rows[-1]["source"].startswith("[0]")
    assert all(row["reference"] for row in rows)


@needs_shared
@pytest.mark.upstream
def test_the_authors_files_are_read_as_own_texts() -> None:
    folder = SHARED / "data" / "doclens"
    plain = read_own_texts(folder / "ACI-Bench-TestSet-1_clean.json")
    divided = read_own_texts(folder / "ACI-Bench-TestSet-1_clean.claim_min1max30.json")
    assert (len(plain), len(divided)) == (40, 40)
    assert {len(text.sections) for text in plain} == {0}
    assert {len(text.sections) for text in divided} == {4}
    assert sum(len(text.sentences) for text in plain) == 2082
    assert [text.sentences for text in plain] == [text.sentences for text in divided]


@pytest.mark.parametrize(
    ("source", "sentences"), cases("own_data", "test_sentences_of_a_source")
)
def test_sentences_of_a_source(source: str, sentences: list[str]) -> None:
    assert source_sentences(source) == sentences


@pytest.mark.parametrize(
    ("source", "message"),
    cases("own_data", "test_wrong_numbers_of_sentences_are_refused"),
)
def test_wrong_numbers_of_sentences_are_refused(source: str, message: str) -> None:
    with pytest.raises(NumberingError, match=message) as caught:
        source_sentences(source)
    assert "SECRET" not in str(caught.value)


@given(
    st.lists(
        st.text(alphabet="ab .\n[]", min_size=1).map(
            lambda text: " ".join(text.split())
        ),
        min_size=1,
    )
)
def test_numbered_sentences_are_read_back(sentences: list[str]) -> None:
    source = "\n".join(
        f"[{number}] {sentence}" for number, sentence in enumerate(sentences)
    )
    assert source_sentences(source) == sentences


@given(st.text(alphabet="aB. \n()12", max_size=60))
def test_a_source_without_numbers_loses_no_word(source: str) -> None:
    assert " ".join(source_sentences(source)).split() == source.split()
