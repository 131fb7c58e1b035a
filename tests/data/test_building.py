"""Builds: whole or not at all, with options, published sums, and as builder classes."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.data.building import (
    SUMS_FILE,
    BuiltDataset,
    build_source,
    builder_class,
    check_published_sum,
)
from medical_tasks.data.cards import card_text
from medical_tasks.data.dataset_source import (
    BuildOption,
    DatasetSource,
    Generated,
    OfficialFile,
    chosen_options,
    find_files,
    repository_file,
)
from medical_tasks.data.dataset_store import MARKER, built_configs, read_rows
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.plugins import PluginError
from tests.tiny_dataset import (
    SOURCE,
    SPEC,
    SPLITS,
    files_of,
    make_rows,
    with_spec,
    write_official,
)


def test_load_dataset_reads_configs_splits_and_types(
    official: Path, folder: Path, tmp_path: Path
) -> None:
    import datasets

    full = build_source(SOURCE, source_path=official, config="full", folder=folder)
    demo = build_source(SOURCE, source_path=None, config="demo", folder=folder)
    assert (full.config, full.rows, dict(full.splits), full.notes) == (
        "full",
        9,
        {"train": 3, "dev": 3, "test": 3},
        (),
    )
    assert demo.folder == folder
    assert datasets.get_dataset_config_names(str(folder)) == ["full", "demo"]
    for config, word in (("full", "first"), ("demo", "demo")):
        loaded = datasets.load_dataset(
            str(folder), config, cache_dir=str(tmp_path / "cache")
        )
        assert list(loaded) == list(SPLITS)
        for split in SPLITS:
            assert list(loaded[split]) == make_rows(split, word=word)
        assert str(loaded["dev"].info.version) == "2.0.0"
    default = datasets.load_dataset(str(folder), split="dev", streaming=True)
    assert list(default) == make_rows("dev")


def test_a_build_is_reproducible_and_writes_only_listed_files(
    official: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "built" / "one", tmp_path / "built" / "two"
    for folder in (first, second):
        build_source(SOURCE, source_path=official, config="full", folder=folder)
    data = {split.path for split in built_configs(first)["full"].splits.values()}
    assert set(files_of(first)) == {"README.md", "croissant.json", MARKER} | data
    assert files_of(first) == files_of(second)
    assert {path.name for path in first.parent.iterdir()} == {"one", "two"}


def test_rebuild_replaces_one_config_and_keeps_the_other(
    official: Path, folder: Path, tmp_path: Path
) -> None:
    build_source(SOURCE, source_path=official, config="full", folder=folder)
    build_source(SOURCE, source_path=None, config="demo", folder=folder)
    before = built_configs(folder)
    build_source(
        SOURCE,
        source_path=write_official(tmp_path / "newer", count=5, word="second"),
        config="full",
        folder=folder,
    )
    after = built_configs(folder)
    assert after["demo"] == before["demo"]
    assert read_rows(folder, "full", "test") == make_rows(
        "test", count=5, word="second"
    )
    assert read_rows(folder, "demo", "dev") == make_rows("dev", word="demo")
    named = {
        split.path for config in after.values() for split in config.splits.values()
    }
    assert {name for name in files_of(folder) if name.endswith(".parquet")} == named


class Killed(BaseException):
    """Simulates the end of the process: the package never catches it."""


@pytest.mark.parametrize("last", [0, 3, 4, 5])
def test_a_build_that_ends_between_two_renames_changes_nothing(
    official: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: int,
) -> None:
    # A rebuild renames three parquet files, card, Croissant file and marker: six steps,
    # of which the last one counts.
    import datasets

    build_source(SOURCE, source_path=official, config="full", folder=folder)
    newer = write_official(tmp_path / "newer", count=4, word="second")
    true_replace = Path.replace
    steps: list[Path] = []

    def replace(path: Path, target: Path) -> Path:
        if len(steps) == last:
            raise Killed
        steps.append(target)
        return true_replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(Killed):
            build_source(SOURCE, source_path=newer, config="full", folder=folder)
    for split in SPLITS:
        assert read_rows(folder, "full", split, spec=SPEC) == make_rows(split)
    loaded = datasets.load_dataset(
        str(folder), "full", cache_dir=str(tmp_path / "cache")
    )
    words = {
        row["statements"][0].split()[0]
        for split in SPLITS
        for row in loaded[split]
        if row["statements"]
    }
    # The card is the fourth file to be renamed; from then on it names the new files,
    # which all exist.
    assert words == {"second" if last > 3 else "first"}
    build_source(SOURCE, source_path=newer, config="full", folder=folder)
    assert read_rows(folder, "full", "dev", spec=SPEC) == make_rows(
        "dev", count=4, word="second"
    )
    assert len([name for name in files_of(folder) if name.endswith(".parquet")]) == 3


def test_a_disk_that_is_full_before_the_first_byte(
    official: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(
        datasets.builder, "has_sufficient_disk_space", lambda *_, **__: False
    )
    with pytest.raises(
        IncompleteError,
        match=r"no space to write \(No space left on device\)\. Nothing of this build",
    ):
        build_source(SOURCE, source_path=official, config="full", folder=folder)
    assert not folder.exists()


def test_a_full_disk_is_recognised_below_other_errors_and_faults_of_readers_keep_their_traceback(
    folder: Path,
) -> None:
    from datasets.exceptions import DatasetGenerationError

    def read(dealt_with: bool) -> Iterator[dict[str, Any]]:
        yield from make_rows("train")
        try:
            raise OSError(errno.EDQUOT, "text of some library")
        except OSError:
            if dealt_with:
                raise RuntimeError("a fault") from None
            raise RuntimeError("cannot close")  # noqa: B904  # as the writer does: the first error is its context alone

    with pytest.raises(
        IncompleteError, match=r"no space to write \(Disk quota exceeded\)"
    ):
        build_source(
            dataclasses.replace(SOURCE, read=lambda *_: read(False)),
            source_path=None,
            config="demo",
            folder=folder,
        )
    with pytest.raises(DatasetGenerationError) as caught:
        build_source(
            dataclasses.replace(SOURCE, read=lambda *_: read(True)),
            source_path=None,
            config="demo",
            folder=folder,
        )
    assert str(caught.value.__cause__) == "a fault"
    assert not folder.exists()


def test_the_librarys_chunking_is_off_for_the_build_alone(
    official: Path, folder: Path
) -> None:
    import datasets
    import pyarrow.parquet as pq

    if not hasattr(datasets.config, "DEFAULT_CDC_OPTIONS"):
        pytest.skip("this version of datasets has no such chunking")
    before = datasets.config.DEFAULT_CDC_OPTIONS
    assert before
    build_source(SOURCE, source_path=official, config="full", folder=folder)
    (path,) = folder.glob("full/dev-*.parquet")
    assert b"content_defined_chunking" not in pq.read_metadata(path).metadata
    assert datasets.config.DEFAULT_CDC_OPTIONS is before
    earlier = files_of(folder)
    (official / "notes.jsonl").write_text('{"split": "train", "row": {"count": -1}}')
    with pytest.raises(UsageError, match="negative count"):
        build_source(SOURCE, source_path=official, config="full", folder=folder)
    assert files_of(folder) == earlier
    assert datasets.config.DEFAULT_CDC_OPTIONS is before


def test_a_release_under_correction_may_have_other_rows_with_partial(
    official: Path, folder: Path
) -> None:
    def build(
        published: int, *, partial: bool = False, living: str = "full"
    ) -> BuiltDataset:
        rows = {"full": {"train": 3, "dev": published}}
        source = dataclasses.replace(
            SOURCE, published_rows=rows, living=frozenset({living})
        )
        return build_source(
            source, source_path=official, config="full", folder=folder, partial=partial
        )

    with pytest.raises(
        UsageError,
        match=r"config full: split dev has 3 rows, 1,200 were published. The file is truncated",
    ):
        build(1200, living="another", partial=True)
    with pytest.raises(
        UsageError,
        match=r"split dev has 3 rows, 4 were published. .*build a smaller one on purpose with --partial",
    ):
        build(4)
    with pytest.raises(
        UsageError, match=r"split dev has 3 rows, 2 were published. It is another file"
    ):
        build(2, partial=True)
    assert not folder.exists()
    built = build(4, partial=True)
    assert built.rows == 9
    assert len(built.notes) == 1
    assert (
        "split dev has 3 rows, 4 were published; right if the publisher has"
        in built.notes[0]
    )


def test_file_of_another_config(official: Path, folder: Path) -> None:
    digest = build_source(SOURCE, source_path=official, config="full", folder=folder)
    sha256 = built_configs(digest.folder)["full"].source["notes.jsonl"]
    source = dataclasses.replace(SOURCE, known_files={sha256: "demo"})
    with pytest.raises(
        UsageError,
        match="is the official file of config demo, not of full. Give --config demo",
    ):
        build_source(source, source_path=official, config="full", folder=folder)


def test_a_config_of_an_older_version_stays_but_is_not_described(
    official: Path, folder: Path
) -> None:
    import datasets

    build_source(SOURCE, source_path=official, config="full", folder=folder)
    newer = with_spec(version="3.0.0")
    built = build_source(newer, source_path=None, config="demo", folder=folder)
    assert built.notes == (
        f"{folder}: config full was built in version 2.0.0, now 3.0.0; build it again",
    )
    assert datasets.get_dataset_config_names(str(folder)) == ["demo"]
    assert read_rows(folder, "full", "test", spec=SPEC) == make_rows("test")
    with pytest.raises(
        UsageError, match=r"built in version 2.0.0, this suite reads 3.0.0"
    ):
        read_rows(folder, "full", "test", spec=newer.spec)


def test_a_folder_with_other_content_is_left_alone(
    folder: Path, tmp_path: Path
) -> None:
    folder.mkdir(parents=True)
    (empty := tmp_path / "empty").mkdir()
    assert build_source(SOURCE, source_path=None, config="demo", folder=empty).rows == 9
    with pytest.raises(
        UsageError,
        match="holds the dataset tiny_notes, not other_notes. Choose another --out",
    ):
        build_source(
            with_spec(name="other_notes"), source_path=None, config="demo", folder=empty
        )
    (folder / "README.md").write_text("mine")
    with pytest.raises(UsageError, match="is not empty and holds no built dataset"):
        build_source(SOURCE, source_path=None, config="demo", folder=folder)
    assert set(files_of(folder)) == {"README.md"}
    with pytest.raises(
        UsageError, match="README.md: is a file; --out must be a folder"
    ):
        build_source(
            SOURCE, source_path=None, config="demo", folder=folder / "README.md"
        )
    # A file where a folder has to be fails for every user; permission bits do not stop
    # root.
    with pytest.raises(
        UsageError,
        match=r"cannot write there \(Not a directory\). Nothing of this build was kept",
    ):
        build_source(
            SOURCE,
            source_path=None,
            config="demo",
            folder=folder / "README.md" / "deeper",
        )


def test_a_build_leaves_the_users_cache_and_progress_bars_unchanged(
    official: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    import datasets

    (cache := tmp_path / "user-cache").mkdir()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(cache))
    assert not datasets.are_progress_bars_disabled()
    build_source(SOURCE, source_path=official, config="full", folder=folder)
    assert list(cache.rglob("*")) == []
    assert not datasets.are_progress_bars_disabled()
    assert capfd.readouterr().err == ""


def test_build_into_the_cache_and_stream(official: Path, tmp_path: Path) -> None:
    cls = builder_class(SOURCE)
    builder = cls(
        cache_dir=str(tmp_path / "cache"), config_name="full", data_dir=str(official)
    )
    builder.download_and_prepare()
    rows = builder.as_dataset()
    assert set(rows) == set(SPLITS)
    assert list(rows["dev"]) == make_rows("dev")
    info = rows["dev"].info
    assert (info.license, info.citation, str(info.version)) == (
        SPEC.licence,
        SPEC.citation,
        "2.0.0",
    )
    streamed = cls(
        cache_dir=str(tmp_path / "cache2"), config_name="demo"
    ).as_streaming_dataset(split="test")
    assert list(streamed) == make_rows("test", word="demo")
    with pytest.raises(MissingError, match="needs the official files, none given"):
        cls(
            cache_dir=str(tmp_path / "cache3"), config_name="full"
        ).download_and_prepare()


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            [make_rows("test")[1], make_rows("test")[1]],
            UsageError,
            "tiny_notes, config demo, split train: two rows have id 'test-1'; it must be unique",
        ),
        (
            [{"id": "a"}],
            PluginError,
            "a row has the columns id, and its DatasetSource declares id, count, ",
        ),
        ([{**make_rows("test")[1], "extra": 1}], PluginError, ", extra, and its"),
    ],
)
def test_rows_that_contradict_the_declaration_are_refused(
    tmp_path: Path, rows: list[dict[str, Any]], error: type[Exception], message: str
) -> None:
    from datasets.exceptions import DatasetGenerationError

    builder = builder_class(dataclasses.replace(SOURCE, read=lambda *_: iter(rows)))(
        cache_dir=str(tmp_path), config_name="demo"
    )
    with pytest.raises(DatasetGenerationError) as caught:
        builder.download_and_prepare()
    assert isinstance(caught.value.__cause__, error)
    with pytest.raises(error, match=message):
        raise caught.value.__cause__


RIGHT, WRONG = "a" * 64, "b" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "note" / "discharge.csv.gz"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    return path


@pytest.mark.parametrize(
    ("subfolder", "text", "line"),
    [
        ("", None, None),
        # Beside the file an entry counts for the name, in the folder above for folder
        # and name alone.
        ("note", f"{WRONG}  other.csv\n{RIGHT.upper()}  discharge.csv.gz\n", 2),
        ("note", f"{RIGHT} *discharge.csv.gz\n", 1),
        ("note", f"{RIGHT}  ./old/discharge.csv.gz\n", 1),
        ("", f"{RIGHT}  note/discharge.csv.gz\r\n", 1),
        ("", f"{WRONG}  discharge.csv.gz\n{WRONG}  old/note/discharge.csv.gz\n", None),
        ("note", f"\udcff not a list\n{RIGHT}\n", None),
    ],
)
def test_published_sums(
    file: Path, subfolder: str, text: str | None, line: int | None
) -> None:
    sums = file.parent.parent / subfolder / SUMS_FILE
    if text is not None:
        sums.write_bytes(text.encode(errors="surrogateescape"))
    assert check_published_sum(file, RIGHT) is (line is not None)
    if line is None:
        assert not check_published_sum(file, WRONG)
    else:
        message = (
            f"SHA-256 is {WRONG}, but .*{SUMS_FILE}, line {line}, says {RIGHT}. "
            "The file is truncated, changed, or from another"
        )
        with pytest.raises(UsageError, match=message):
            check_published_sum(file, WRONG)


def test_two_entries_of_a_name(file: Path) -> None:
    (file.parent / SUMS_FILE).write_text(
        f"{WRONG}  a/discharge.csv.gz\n{RIGHT}  b/discharge.csv.gz\n"
    )
    assert check_published_sum(file, RIGHT)


OPTIONS = (
    BuildOption(name="seed", description="which rows", lowest=0, highest=99),
    BuildOption(
        name="n", description="how many rows", lowest=1, highest=1000, default=3
    ),
)


def rows(split: str, options: Mapping[str, int]) -> Iterator[Mapping[str, Any]]:
    yield from make_rows(split, count=options["n"], word=f"seed{options['seed']}")


MADE = Generated(options=OPTIONS, rows=rows)


# The tiny dataset with a third configuration, which is generated.
GENERATED = dataclasses.replace(
    SOURCE,
    spec=dataclasses.replace(SPEC, configs=("full", "made", "demo")),
    splits={**SOURCE.splits, "made": SPLITS},
    files={**SOURCE.files, "made": {}},
    generated={"made": MADE},
)


@pytest.mark.parametrize(
    ("generated", "options", "message"),
    [
        (MADE, {}, r"tiny: needs --seed: which rows. Give --seed NUMBER."),
        (
            MADE,
            {"seed": 100},
            r"tiny: --seed must be from 0 to 99, got 100. It is which rows.",
        ),
        (
            MADE,
            {"seed": 1, "n": 0},
            r"--n must be from 1 to 1,000, got 0. It is how many rows.",
        ),
        (
            MADE,
            {"seed": 1, "size": 4},
            r"tiny: got --size, but it takes --seed, --n. Leave out --size.",
        ),
        (
            None,
            {"seed": 1},
            r"tiny: got --seed, but it has no such options. Leave out --seed.",
        ),
    ],
)
def test_wrong_options(
    generated: Generated | None, options: dict[str, int | None], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        chosen_options("tiny", generated, options)


def test_a_build_passes_options_on_and_records_them(tmp_path: Path) -> None:
    folder = tmp_path / "tiny_notes"
    built = build_source(
        GENERATED,
        source_path=None,
        config="made",
        folder=folder,
        options={"seed": 7, "n": 4},
    )
    assert dict(built.splits) == dict.fromkeys(SPLITS, 4)
    assert read_rows(folder, "made", "dev") == make_rows("dev", count=4, word="seed7")
    assert built_configs(folder)["made"].source == {"seed": "7", "n": "4"}
    assert (
        "| `made` | `dev` | 4 | this package, with seed 7, n 4 |"
        in (folder / "README.md").read_text()
    )
    assert "`made` is generated by this package" in (folder / "README.md").read_text()
    # Another configuration beside it keeps the record.
    build_source(GENERATED, source_path=None, config="demo", folder=folder)
    assert [config.source for config in built_configs(folder).values()] == [
        {"seed": "7", "n": "4"},
        {},
    ]
    assert "| `made` | `dev` |  | this package, from `--seed`, `--n` |" in card_text(
        GENERATED
    )


def test_the_builder_class_takes_options_as_arguments(tmp_path: Path) -> None:
    cls = builder_class(GENERATED)
    streamed = cls(
        cache_dir=str(tmp_path / "a"), config_name="made", seed=5
    ).as_streaming_dataset(split="test")
    assert list(streamed) == make_rows("test", count=3, word="seed5")
    builders = [
        cls(cache_dir=str(tmp_path / "b"), config_name="made", seed=seed, n=2)
        for seed in (1, 2)
    ]
    # They share a cache without mixing their rows.
    for seed, builder in enumerate(builders, start=1):
        builder.download_and_prepare()
        assert list(builder.as_dataset(split="dev")) == make_rows(
            "dev", count=2, word=f"seed{seed}"
        )


TWO_FILES = dataclasses.replace(
    SOURCE,
    files={
        "full": {
            "notes": OfficialFile(places=("notes.jsonl",), description="the notes"),
            "key": OfficialFile(
                places=("key.json", "keys/key.json"), description="the answer key"
            ),
        },
        "demo": {},
    },
)


def test_files_are_found_from_the_file_or_its_folder(tmp_path: Path) -> None:
    path = write_official(tmp_path)
    assert (
        find_files(SOURCE, "full", path)
        == find_files(SOURCE, "full", tmp_path)
        == {"notes": path}
    )
    deeper = write_official(tmp_path / "other" / "data")
    assert find_files(SOURCE, "full", tmp_path / "other") == {"notes": deeper}
    key = tmp_path / "keys" / "key.json"
    key.parent.mkdir()
    key.write_text("{}")
    assert find_files(TWO_FILES, "full", tmp_path) == {"notes": path, "key": key}


def test_configs_without_files(tmp_path: Path) -> None:
    assert find_files(SOURCE, "demo", None) == {}
    with pytest.raises(
        UsageError,
        match="tiny_notes, config demo: made from this package alone, reads no source",
    ):
        find_files(SOURCE, "demo", tmp_path)
    with pytest.raises(
        UsageError, match="unknown config 'v9' of tiny_notes. Configs: full, demo"
    ):
        find_files(SOURCE, "v9", tmp_path)


@pytest.mark.parametrize(
    ("source", "subfolder", "message"),
    [
        (
            SOURCE,
            None,
            "needs the official files, none given.*\\n  the notes: notes.jsonl or data/notes.jsonl",
        ),
        (
            SOURCE,
            "nowhere",
            "config full: .*nowhere is not there. Give --source the folder .*with\\n  the notes: notes.jsonl",
        ),
        (
            TWO_FILES,
            "",
            "lacks\\n  the answer key: key.json or keys/key.json\\nEach path",
        ),
    ],
)
def test_missing_files_are_refused_with_the_steps(
    tmp_path: Path, source: DatasetSource, subfolder: str | None, message: str
) -> None:
    path = write_official(tmp_path)
    with pytest.raises(MissingError, match=message) as caught:
        find_files(source, "full", None if subfolder is None else tmp_path / subfolder)
    assert all(step in str(caught.value) for step in SPEC.how_to_get)
    with pytest.raises(
        UsageError, match="needs 2 files, got the file .*notes.jsonl. Give the folder"
    ):
        find_files(TWO_FILES, "full", path)


def test_two_candidates_for_a_file_must_be_the_same(tmp_path: Path) -> None:
    path = write_official(tmp_path)
    write_official(tmp_path / "data")
    assert find_files(SOURCE, "full", tmp_path) == {"notes": path}  # both are the same
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(
        UsageError,
        match=r"several files that could be the notes: notes.jsonl, data/notes.jsonl",
    ):
        find_files(SOURCE, "full", tmp_path)


def test_a_source_must_cover_its_spec() -> None:
    with pytest.raises(
        ValueError,
        match=r"tiny_notes: splits has \['full'\], the spec \['demo', 'full'\]",
    ):
        dataclasses.replace(SOURCE, splits={"full": ("test",)})
    with pytest.raises(ValueError, match="tiny_notes: key 'nr' is not a column"):
        dataclasses.replace(SOURCE, key="nr")
    with pytest.raises(
        ValueError,
        match="tiny_notes: full is generated, so it must be a config without files",
    ):
        dataclasses.replace(SOURCE, generated={"full": MADE})


REPOSITORY = "https://example.org/somebody/Repo"


@pytest.mark.parametrize(
    "start", ["", "Repo", "Repo/data/prompts", "Repo/data/prompts/a.json"]
)
def test_a_file_of_a_repository_is_found_from_anywhere_near(
    tmp_path: Path, start: str
) -> None:
    for name in ("data/prompts/a.json", "other/prompts/a.json"):
        path = tmp_path / "Repo" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    file = repository_file(
        tmp_path / start, "data/prompts/a.json", repository=REPOSITORY
    )
    assert file.samefile(tmp_path / "Repo/data/prompts/a.json")
    # A file of the same name in the given folder does not replace the one in another
    # folder.
    if start != "Repo/data/prompts/a.json":
        file = repository_file(
            tmp_path / start, "other/prompts/a.json", repository=REPOSITORY
        )
        assert file.samefile(tmp_path / "Repo/other/prompts/a.json")


def test_a_file_of_a_repository_without_its_folders(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "a.json").write_text("{}")
    assert (
        repository_file(tmp_path, "data/prompts/a.json", repository=REPOSITORY)
        == tmp_path / "prompts" / "a.json"
    )
    with pytest.raises(
        MissingError,
        match=r"authors' data/b.json is not there \(looked for in .*/Repo .*as data/b.json or b.json\). Clone",
    ):
        repository_file(tmp_path, "data/b.json", repository=REPOSITORY)


@pytest.mark.parametrize("start", ["", "repo", "repo/data", "repo/data/in"])
def test_a_file_is_found_by_any_end_of_its_path(tmp_path: Path, start: str) -> None:
    path = write_official(tmp_path / "repo" / "data" / "in")
    file = OfficialFile(places=(f"repo/data/in/{path.name}",), description="the notes")
    source = dataclasses.replace(SOURCE, files={"full": {"notes": file}, "demo": {}})
    assert find_files(source, "full", tmp_path / start) == {"notes": path}
