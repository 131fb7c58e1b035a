from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from medical_tasks.data.dataset_source import DatasetSource, OfficialFile, find_files, repository_file
from medical_tasks.errors import MissingError, UsageError
from tests.tiny_dataset import SOURCE, SPEC, write_official

TWO_FILES = dataclasses.replace(
    SOURCE,
    files={
        "full": {
            "notes": OfficialFile(places=("notes.jsonl",), description="the notes"),
            "key": OfficialFile(places=("key.json", "keys/key.json"), description="the answer key"),
        },
        "demo": {},
    },
)


def test_the_file_itself_or_its_folder(tmp_path: Path) -> None:
    path = write_official(tmp_path)
    assert find_files(SOURCE, "full", path) == {"notes": path}
    assert find_files(SOURCE, "full", tmp_path) == {"notes": path}
    deeper = write_official(tmp_path / "other" / "data")
    assert find_files(SOURCE, "full", tmp_path / "other") == {"notes": deeper}


def test_several_files_of_one_folder(tmp_path: Path) -> None:
    write_official(tmp_path)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "key.json").write_text("{}")
    assert find_files(TWO_FILES, "full", tmp_path) == {
        "notes": tmp_path / "notes.jsonl",
        "key": tmp_path / "keys" / "key.json",
    }


def test_demo_reads_nothing(tmp_path: Path) -> None:
    assert find_files(SOURCE, "demo", None) == {}
    with pytest.raises(UsageError, match="tiny_notes, config demo: made from this package alone, reads no source"):
        find_files(SOURCE, "demo", tmp_path)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (SOURCE, None, "needs the official files, none given.*\\n  the notes: notes.jsonl or data/notes.jsonl"),
        (SOURCE, "nowhere", "config full: .*nowhere is not there. It should hold\\n  the notes: notes.jsonl"),
        (TWO_FILES, "", "lacks\\n  the answer key: key.json or keys/key.json\\nEach path"),
    ],
)
def test_files_that_are_missing(tmp_path: Path, source: DatasetSource, place: str | None, message: str) -> None:
    path = write_official(tmp_path)
    with pytest.raises(MissingError, match=message) as caught:
        find_files(source, "full", None if place is None else tmp_path / place)
    assert all(step in str(caught.value) for step in SPEC.how_to_get)
    with pytest.raises(UsageError, match="needs 2 files, got the file .*notes.jsonl. Give the folder"):
        find_files(TWO_FILES, "full", path)


def test_two_files_that_could_be_meant(tmp_path: Path) -> None:
    path = write_official(tmp_path)
    write_official(tmp_path / "data")
    assert find_files(SOURCE, "full", tmp_path) == {"notes": path}  # both are the same
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(UsageError, match=r"several files that could be the notes: notes.jsonl, data/notes.jsonl"):
        find_files(SOURCE, "full", tmp_path)


def test_unknown_config(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown config 'v9' of tiny_notes. Configs: full, demo"):
        find_files(SOURCE, "v9", tmp_path)


def test_a_source_must_cover_its_spec() -> None:
    with pytest.raises(ValueError, match=r"tiny_notes: splits has \['full'\], the spec \['demo', 'full'\]"):
        dataclasses.replace(SOURCE, splits={"full": ("test",)})
    with pytest.raises(ValueError, match="tiny_notes: key 'nr' is not a column"):
        dataclasses.replace(SOURCE, key="nr")


REPOSITORY = "https://example.org/somebody/Repo"


@pytest.mark.parametrize("given", ["", "Repo", "Repo/data/prompts", "Repo/data/prompts/a.json"])
def test_a_file_of_a_repository_is_found_from_anywhere_near(tmp_path: Path, given: str) -> None:
    for name in ("data/prompts/a.json", "other/prompts/a.json"):
        path = tmp_path / "Repo" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    found = repository_file(tmp_path / given, "data/prompts/a.json", repository=REPOSITORY)
    assert found.samefile(tmp_path / "Repo/data/prompts/a.json")
    # A file of the same name in the folder that is given does not stand for the one in another folder.
    if given != "Repo/data/prompts/a.json":
        found = repository_file(tmp_path / given, "other/prompts/a.json", repository=REPOSITORY)
        assert found.samefile(tmp_path / "Repo/other/prompts/a.json")


def test_a_file_of_a_repository_without_its_folders(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "a.json").write_text("{}")
    assert repository_file(tmp_path, "data/prompts/a.json", repository=REPOSITORY) == tmp_path / "prompts" / "a.json"
    with pytest.raises(
        MissingError,
        match=r"authors' data/b.json is not there \(looked for in .*/Repo .*as data/b.json or b.json\). Clone",
    ):
        repository_file(tmp_path, "data/b.json", repository=REPOSITORY)


@pytest.mark.parametrize("given", ["", "repo", "repo/data", "repo/data/in"])
def test_a_place_is_found_by_any_end_of_it(tmp_path: Path, given: str) -> None:
    path = write_official(tmp_path / "repo" / "data" / "in")
    file = OfficialFile(places=(f"repo/data/in/{path.name}",), description="the notes")
    source = dataclasses.replace(SOURCE, files={"full": {"notes": file}, "demo": {}})
    assert find_files(source, "full", tmp_path / given) == {"notes": path}
