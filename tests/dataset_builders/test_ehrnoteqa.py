"""EHRNoteQA from `build` to `load_dataset`, Croissant and the builder class of the Hub folder, on twins of the official files."""

from __future__ import annotations

import importlib.util
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.ehrnoteqa.data import DEMO_QUESTIONS
from medical_tasks.benchmarks.ehrnoteqa.data import read_rows as rows_made
from medical_tasks.benchmarks.ehrnoteqa.twin import NOTES_FILE, write_twin
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.errors import MissingError, UsageError
from tests.support import ROOT

HUB_FOLDER = ROOT / "dataset_builders" / "ehrnoteqa"


def demo_rows() -> list[dict[str, Any]]:
    return list(rows_made("demo", "test", {}))


def builder(**arguments: Any) -> Any:
    """The builder class, from `build.py` loaded by its path as a user without the package's help would."""
    location = importlib.util.spec_from_file_location("build", HUB_FOLDER / "build.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module.EHRNoteQA(**arguments)


def test_demo_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    folder = build_dataset("ehrnoteqa", source=None, config="demo", out=tmp_path / "ehrnoteqa").folder
    loaded = datasets.load_dataset(str(folder), "demo", cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["test"]
    assert len(loaded["test"]) == DEMO_QUESTIONS == 14
    assert list(loaded["test"]) == demo_rows()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_demo_as_croissant(tmp_path: Path) -> None:
    import mlcroissant

    folder = build_dataset("ehrnoteqa", source=None, config="demo", out=tmp_path / "ehrnoteqa").folder
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert dataset.metadata.issues.report() == ""
    records = list(dataset.records("demo/test"))
    assert len(records) == DEMO_QUESTIONS
    for record, row in zip(records, demo_rows(), strict=True):
        assert record["demo/test/id"] == row["id"].encode()
        assert record["demo/test/level"] == row["level"]
        assert [each.decode() if isinstance(each, bytes) else each for each in record["demo/test/choices"]] == row[
            "choices"
        ]
        notes = record["demo/test/notes"]
        texts = [
            text.decode() if isinstance(text, bytes) else text
            for text in (each["demo/test/notes/text"] for each in notes)
        ]
        assert texts == [each["text"] for each in row["notes"]]


def test_the_class_streams(tmp_path: Path) -> None:
    streamed = builder(config_name="demo", cache_dir=str(tmp_path / "cache")).as_streaming_dataset(split="test")
    assert list(streamed) == demo_rows()


def test_the_hub_folder_has_no_script_that_load_dataset_refuses() -> None:
    assert {path.name for path in HUB_FOLDER.iterdir() if path.suffix == ".py"} == {"build.py"}


def test_the_checked_in_card_asks_for_permission() -> None:
    card = (HUB_FOLDER / "README.md").read_text(encoding="utf-8")
    assert "extra_gated_prompt" in card
    assert "license_name: physionet-credentialed-1.5.0" in card
    assert "conditionsOfAccess" in json.loads((HUB_FOLDER / "croissant.json").read_text(encoding="utf-8"))


def test_a_twin_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    source = write_twin(tmp_path / "files", seed=2, questions=9, notes=40, scale=0.2)
    out = tmp_path / "ehrnoteqa"
    built = build_dataset("ehrnoteqa", source=source, config="all", out=out, partial=True)
    assert built.rows == 9
    assert len(built.notes) == 1
    assert "split test has 9 rows, 961 were published" in built.notes[0]
    for level in (1, 2):
        assert build_dataset("ehrnoteqa", source=source, config=f"level{level}", out=out).notes == ()
    rows = read_rows(out, "all", "test")
    parts = [row for level in (1, 2) for row in read_rows(out, f"level{level}", "test")]
    assert sorted(rows, key=lambda row: str(row["id"])) == sorted(parts, key=lambda row: str(row["id"]))
    assert set(built_configs(out)["all"].source) == {"EHRNoteQA.jsonl", NOTES_FILE}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_the_tree_that_wget_makes(tmp_path: Path) -> None:
    source = write_twin(tmp_path / "files", seed=2, questions=2, scale=0.1)
    tree = tmp_path / "physionet.org" / "files"
    for name, place in (
        ("EHRNoteQA.jsonl", "ehr-notes-qa-llms/1.0.1"),
        (NOTES_FILE, "mimic-iv-note/2.2/note"),
        ("SHA256SUMS.txt", "mimic-iv-note/2.2"),
    ):
        (tree / place).mkdir(parents=True, exist_ok=True)
        (source / name).rename(tree / place / name)
    sums = tree / "mimic-iv-note" / "2.2" / "SHA256SUMS.txt"
    sums.write_text(sums.read_text().replace(NOTES_FILE, f"note/{NOTES_FILE}"))
    assert build_dataset("ehrnoteqa", source=tree, config="all", out=tmp_path / "out", partial=True).rows == 2
    sums.write_text(f"{'0' * 64}  LICENSE.txt\n{'0' * 64}  note/{NOTES_FILE}\n")
    with pytest.raises(UsageError, match=r"discharge.csv.gz: SHA-256 is .* but .*SHA256SUMS.txt, line 2, says"):
        build_dataset("ehrnoteqa", source=tree, config="all", out=tmp_path / "out", partial=True)


def test_a_changed_file_is_refused_and_the_earlier_build_stays(tmp_path: Path) -> None:
    source = write_twin(tmp_path / "files", seed=2, questions=2, scale=0.1)
    out = tmp_path / "ehrnoteqa"
    build_dataset("ehrnoteqa", source=source, config="all", out=out, partial=True)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    path = source / NOTES_FILE
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"SHA256SUMS.txt, line 2, says .* cut off, changed or of another release"):
        build_dataset("ehrnoteqa", source=source, config="all", out=out, partial=True)
    (source / "SHA256SUMS.txt").unlink()
    with pytest.raises(UsageError, match=r"discharge.csv.gz: cut off, the gzip data end amid"):
        build_dataset("ehrnoteqa", source=source, config="all", out=out, partial=True)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_what_is_needed_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"needs the official files, none given(.|\n)*ehr-notes-qa-llms/1.0.1"):
        build_dataset("ehrnoteqa", source=None, config="all", out=tmp_path / "out")
    source = write_twin(tmp_path / "files", seed=2, questions=2, scale=0.1)
    (source / "discharge.csv").write_text("")
    with pytest.raises(
        UsageError, match=r"discharge.csv.gz, discharge.csv. Keep the right one there and move the others"
    ):
        build_dataset("ehrnoteqa", source=source, config="all", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
