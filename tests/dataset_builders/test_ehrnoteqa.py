"""EHRNoteQA's configurations: built from twins of the official files, and found by `leakcheck`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measurements.ehrnoteqa_twin import NOTES_FILE, write_twin
from medical_tasks.benchmarks.ehrnoteqa.questions import COLUMNS
from medical_tasks.data.dataset_store import built_configs, read_rows, source_files
from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import UsageError
from medical_tasks.guard.leakcheck import check_leaks
from tests.benchmarks.ehrnoteqa.set_files import (
    discq_row,
    squad_entry,
    squad_question,
    write_discq,
    write_squad,
)
from tests.support import file_modes


def test_a_twin_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    source = write_twin(tmp_path / "files", seed=2, questions=9, notes=40, scale=0.2)
    out = tmp_path / "ehrnoteqa"
    built = build_dataset(
        "ehrnoteqa", source=source, config="all", out=out, partial=True
    )
    assert built.rows == 9
    assert len(built.notes) == 1
    assert "split test has 9 rows, 961 were published" in built.notes[0]
    for level in (1, 2):
        assert (
            build_dataset(
                "ehrnoteqa", source=source, config=f"level{level}", out=out
            ).notes
            == ()
        )
    rows = read_rows(out, "all", "test")
    parts = [row for level in (1, 2) for row in read_rows(out, f"level{level}", "test")]
    assert sorted(rows, key=lambda row: str(row["id"])) == sorted(
        parts, key=lambda row: str(row["id"])
    )
    assert set(built_configs(out)["all"].source) == {"EHRNoteQA.jsonl", NOTES_FILE}
    assert file_modes(out) == {0o600}


def test_files_are_found_in_the_tree_that_wget_makes(tmp_path: Path) -> None:
    source = write_twin(tmp_path / "files", seed=2, questions=2, scale=0.1)
    tree = tmp_path / "physionet.org" / "files"
    for name, subfolder in (
        ("EHRNoteQA.jsonl", "ehr-notes-qa-llms/1.0.1"),
        (NOTES_FILE, "mimic-iv-note/2.2/note"),
        ("SHA256SUMS.txt", "mimic-iv-note/2.2"),
    ):
        (tree / subfolder).mkdir(parents=True, exist_ok=True)
        (source / name).rename(tree / subfolder / name)
    sums = tree / "mimic-iv-note" / "2.2" / "SHA256SUMS.txt"
    sums.write_text(sums.read_text().replace(NOTES_FILE, f"note/{NOTES_FILE}"))
    assert (
        build_dataset(
            "ehrnoteqa", source=tree, config="all", out=tmp_path / "out", partial=True
        ).rows
        == 2
    )
    sums.write_text(f"{'0' * 64}  LICENSE.txt\n{'0' * 64}  note/{NOTES_FILE}\n")
    with pytest.raises(
        UsageError,
        match=r"discharge.csv.gz: SHA-256 is .* but .*SHA256SUMS.txt, line 2, says",
    ):
        build_dataset(
            "ehrnoteqa", source=tree, config="all", out=tmp_path / "out", partial=True
        )


CATEGORIES = ("treatment", "plan")


def long_text(name: str) -> str:
    """Enough words of one column to be searched for, which are nowhere else."""
    return " ".join(f"{name}{number}" for number in range(14))


def own_row(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"p1-{number}",
        "patient_id": "p1",
        "level": 1,
        "num_notes": 1,
        "clinician": "",
        "question": long_text("question"),
        "choices": [long_text(f"choice{letter}") for letter in "ABCDE"],
        "answer": "C",
        "categories": list(CATEGORIES),
        "evidence": [long_text("evidence")],
        "notes": [
            {
                "note_id": "n1",
                "hadm_id": "2",
                "charttime": "2150-01-02 00:00:00",
                "text": long_text("note"),
            }
        ],
    } | changes


def write_own(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def own(folder: Path) -> Path:
    return write_own(folder, own_row(), own_row(2, level=0, categories=[], evidence=[]))


def evidence(folder: Path) -> Path:
    question = squad_question(
        "q1", long_text("evidence"), question=long_text("question")
    )
    return write_squad(
        folder / "data.json", squad_entry("t", question, context=long_text("note"))
    )


def discq(folder: Path) -> Path:
    row = discq_row(question=long_text("question"), reasoning=long_text("trigger"))
    return write_discq(
        folder, [row, discq_row()], texts={"12_34.txt": long_text("note")}
    )


SETS = {"own": (own, 2), "evidence": (evidence, 1), "discq": (discq, 2)}
Writer = Callable[[Path], Path]
each_set = pytest.mark.parametrize(
    ("config", "write", "count"), [(name, *entry) for name, entry in SETS.items()]
)


@each_set
def test_load_dataset_reads_the_built_rows(
    tmp_path: Path, config: str, write: Writer, count: int
) -> None:
    import datasets

    write(tmp_path)
    built = build_dataset(
        "ehrnoteqa", source=tmp_path, config=config, out=tmp_path / "out", partial=True
    )
    assert built.rows == count
    # another number of rows than DiSCQ has
    assert len(built.notes) == (config == "discq")
    rows = read_rows(built.folder, config, "test")
    loaded = datasets.load_dataset(
        str(built.folder), config, cache_dir=str(tmp_path / "cache")
    )["test"]
    assert list(loaded) == rows
    assert loaded.column_names == [column.name for column in COLUMNS]
    text = datasets.Value("string")
    # Also where no row has any of them: the types are not guessed from the rows.
    assert {
        name: loaded.features[name] for name in ("choices", "categories", "evidence")
    } == dict.fromkeys(("choices", "categories", "evidence"), datasets.List(text))
    assert loaded.features["notes"] == datasets.List(
        dict.fromkeys(("note_id", "hadm_id", "charttime", "text"), text)
    )


TEXT_COLUMNS = {
    "own": ("question", "choiceA", "choiceE", "evidence", "note"),
    "evidence": ("question", "evidence", "note"),
    "discq": ("question", "trigger", "note"),
}


@each_set
@pytest.mark.parametrize("official", [False, True], ids=["built", "official files"])
def test_text_of_every_column_is_found_where_it_leaked(
    tmp_path: Path, config: str, write: Writer, count: int, official: bool
) -> None:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files")
    source = tmp_path / "files"
    if not official:
        source = build_dataset(
            "ehrnoteqa",
            source=source,
            config=config,
            out=tmp_path / "out",
            partial=True,
        ).folder
    run = tmp_path / "run"
    run.mkdir()
    (run / "results.json").write_text(json.dumps({"metrics": {"accuracy": 0.5}}))
    assert check_leaks(run, source_files(str(source))).found == {}
    for column in TEXT_COLUMNS[config]:
        (run / f"{column}.log").write_text(f"item p1: {long_text(column)}\n")
    leaks = check_leaks(run, source_files(str(source))).found
    assert set(leaks) == {f"{column}.log" for column in TEXT_COLUMNS[config]}
