"""ArchEHR-QA from `build` to `load_dataset`, Croissant and the builder class of the Hub folder, on twins and the demo."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.data import FOLDERS, source_at
from medical_tasks.benchmarks.archehr_qa.twin import write_twin
from medical_tasks.data.building import BuiltDataset, build_source
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import built_configs
from medical_tasks.data.dataset_store import read_rows as built_rows
from medical_tasks.errors import UsageError
from tests.benchmarks.archehr_qa.release_files import SECRET, case, key, write_cases, write_json
from tests.dataset_builders.hub_class import builder_of
from tests.support import SHARED, needs_shared

SPLITS = {"dev": 4, "test": 6, "test_2026": 2}


def build(folder: Path, config: str, place: Path | None = None) -> BuiltDataset:
    return build_source(source_at(config, place), place=place, config=config, folder=folder, partial=True)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("demo") / "archehr_qa", "demo").folder


def test_a_sum_of_splits_through_load_dataset_and_the_class_of_a_release(demo: Path, tmp_path: Path) -> None:
    import datasets

    both = datasets.load_dataset(str(demo), "demo", split="test+test_2026", cache_dir=str(tmp_path / "cache"))
    assert list(both) == built_rows(demo, "demo", "test+test_2026")
    twin = write_twin(tmp_path / "twin", seed=1, dev=2, test=3)
    made = builder_of("archehr_qa", config_name="official", data_dir=str(twin), cache_dir=str(tmp_path / "cache"))
    assert [row["id"] for row in made.as_streaming_dataset(split="test")] == ["3", "4", "5"]


def test_a_release_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    twin = write_twin(tmp_path / "files" / "1.3", seed=2, test_2026=47)
    sums = [f"{file_sha256(path)} {path.relative_to(twin).as_posix()}\n" for path in twin.rglob("*.*")]
    (twin / "SHA256SUMS.txt").write_text("".join(sums), encoding="utf-8")
    out = tmp_path / "archehr_qa"
    built = build(out, "official", tmp_path / "files")
    assert (built.splits, built.notes) == ({"dev": 20, "test": 100, "test_2026": 47}, ())
    assert set(built_configs(out)["official"].source) == {
        f"1.3/{folder}/archehr-qa{end}" for folder in FOLDERS.values() for end in (".xml", "_key.json", "_mapping.json")
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()} == {0o600}
    assert len(built_rows(out, "official", "test")) == 100
    # A changed key is told by the publisher's sum before anything is read.
    (twin / "test" / "archehr-qa_key.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match=r"SHA256SUMS.txt, line \d, says .* cut off, changed or of another release"):
        build(out, "official", tmp_path / "files")
    assert len(built_rows(out, "official", "test")) == 100


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_release_with_one_split(tmp_path: Path, split: str) -> None:
    other = {"dev": "test", "test": "dev"}[split]
    twin = write_twin(
        tmp_path / "twin", seed=3, dev=2 if split == "dev" else 0, test=2 if split == "test" else 0, keys=()
    )
    built = build(tmp_path / "out", "official", twin)
    assert built.splits == {split: 2}
    assert any(f"split {split} has 2 rows" in note for note in built.notes)
    assert [row["relevance"] for row in built_rows(tmp_path / "out", "official", split)] == [[], []]
    with pytest.raises(UsageError, match=f"split {other} is not built; it has {split}. Take --split {split}, or"):
        built_rows(tmp_path / "out", "official", other)


def test_a_wrong_file_is_not_built_and_not_quoted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_cases(tmp_path / "in" / "test", case("1"))
    write_json(tmp_path / "in" / "test", "key", [key("1", answers=[{"sentence_id": "1", "relevance": SECRET}])])
    with pytest.raises(
        UsageError, match=r"case '1', answers, number 1, sentence '1': relevance must be one of"
    ) as caught:
        build(tmp_path / "out", "official", tmp_path / "in")
    assert "marble" not in str(caught.value) + "".join(capfd.readouterr())
    assert not (tmp_path / "out" / "medical_tasks.json").exists()


@needs_shared
@pytest.mark.upstream
def test_the_fixture_is_built_and_the_open_copy_is_not(tmp_path: Path) -> None:
    built = build(tmp_path / "out", "official", SHARED / "fixtures" / "archehr")
    assert built.splits == {"dev": 12}
    rows = built_rows(tmp_path / "out", "official", "dev")
    assert sum(len(row["sentences"]) for row in rows) == sum(len(row["relevance"]) for row in rows)
    with pytest.raises(UsageError, match="none of its 20 cases has a note excerpt"):
        build(tmp_path / "out", "official", SHARED / "data" / "archehr")
    assert len(built_rows(tmp_path / "out", "official", "dev")) == 12
    built = build(tmp_path / "out", "questions", SHARED / "data" / "archehr")
    assert (built.splits, built.notes) == ({"dev": 20}, ())
    rows = built_rows(tmp_path / "out", "questions", "dev")
    assert all(row["clinician_question"] and row["source"] and not row["sentences"] for row in rows)
