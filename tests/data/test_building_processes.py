"""Builds in processes of their own: killed, on a disk that is full, and two at once."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.data.building import build_source
from medical_tasks.data.dataset_store import built_configs, read_rows
from tests.support import ROOT
from tests.tiny_dataset import SOURCE, SPEC, files_of, make_rows, write_official
from tests.warm_process import Started, WarmProcess, warm_process

pytestmark = pytest.mark.slow


class Pythons:
    """Processes of their own, forked from one that has imported `datasets`; `folder` is for their scripts."""

    def __init__(self, warm: WarmProcess, folder: Path) -> None:
        self._warm, self._folder = warm, folder
        self._settings: Any = {
            "cwd": ROOT,
            "environment": {**os.environ, "PYTHONPATH": str(ROOT)},
        }

    def _script(self, code: str) -> Path:
        script = self._folder / f"{hashlib.sha256(code.encode()).hexdigest()}.py"
        script.write_text(textwrap.dedent(code), encoding="utf-8")
        return script

    def run(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self._warm.run([self._script(code), *arguments], **self._settings)

    def start(self, code: str, *arguments: object) -> Started:
        return self._warm.start(
            [self._script(code), *arguments], outputs=(1, 2), **self._settings
        )


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pythons]:
    with warm_process(["datasets", "pyarrow.parquet"], os.environ) as warm:
        yield Pythons(warm, tmp_path_factory.mktemp("scripts"))


def test_a_killed_build_leaves_the_dataset_that_was_there(
    pythons: Pythons, official: Path, folder: Path
) -> None:
    build_source(SOURCE, source_path=official, config="full", folder=folder)
    code = """
        import dataclasses, os, signal, sys
        from pathlib import Path
        from medical_tasks.data.building import build_source
        from tests.tiny_dataset import SOURCE, make_rows

        def read(config, split, files):
            yield from make_rows(split, word="killed")
            if split == "dev":
                os.kill(os.getpid(), signal.SIGKILL)

        build_source(dataclasses.replace(SOURCE, read=read), source_path=None, config="demo", folder=Path(sys.argv[1]))
    """
    assert pythons.run(code, folder).returncode == -signal.SIGKILL
    assert list(built_configs(folder)) == ["full"]
    assert read_rows(folder, "full", "test", spec=SPEC) == make_rows("test")
    assert len(list(folder.glob(".building-*"))) == 1
    build_source(SOURCE, source_path=None, config="demo", folder=folder)
    assert not list(folder.glob(".building-*"))
    assert list(built_configs(folder)) == ["full", "demo"]


DISK_FULL = """
    import resource, sys
    from pathlib import Path
    import datasets, pyarrow.parquet
    from medical_tasks.data.building import build_source
    from medical_tasks.errors import IncompleteError
    from tests.tiny_dataset import SOURCE

    # No file may grow beyond this: the write fails as it does on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    try:
        build_source(SOURCE, source_path=Path(sys.argv[2]), config="full", folder=Path(sys.argv[1]))
    except IncompleteError as error:
        print(error.exit_code, error)
"""


def check_full_disk(pythons: Pythons, folder: Path, official: Path, limit: int) -> None:
    """Exit code 5 as for `run` and `score`, and the message."""
    done = pythons.run(DISK_FULL, folder, official, limit)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"5 {folder}: no space to write (File too large). Nothing of this build was kept; what was there before is as it "
        "was. Free some space, or choose another place with --out, and give the same command again.\n"
    )


# Where the disk ends: in a parquet file's first bytes, in its footer, in the Croissant
# file (14 KB; parquet files 4 KB).
@pytest.mark.parametrize("limit", [100, 2_000, 9_000])
def test_full_disk(pythons: Pythons, official: Path, folder: Path, limit: int) -> None:
    build_source(SOURCE, source_path=official, config="full", folder=folder)
    before = files_of(folder)
    check_full_disk(
        pythons, folder, write_official(folder.parent / "newer", word="second"), limit
    )
    assert files_of(folder) == before
    assert not list(folder.glob(".building-*"))


# Rows larger than a parquet page are written while the table still grows, not only when
# the file is closed. The limits end in the first page, between pages, and in the last
# of the pages (a file has 4 MB).
@pytest.mark.parametrize("limit", [2_000, 1_500_000])
def test_full_disk_amid_large_rows(
    pythons: Pythons, folder: Path, tmp_path: Path, limit: int
) -> None:
    # Random, since parquet would pack a repeated word into nothing.
    official = write_official(
        tmp_path / "official", word=random.Random(7).randbytes(500_000).hex()
    )
    check_full_disk(pythons, folder, official, limit)
    assert not folder.exists()
    whole = build_source(SOURCE, source_path=official, config="full", folder=folder)
    assert whole.rows == 9
    assert {
        split.file_bytes > 3_500_000
        for split in built_configs(folder)["full"].splits.values()
    } == {True}


def test_two_concurrent_builds_both_succeed(
    pythons: Pythons, official: Path, folder: Path
) -> None:
    code = """
        import sys
        from pathlib import Path
        from medical_tasks.data.building import build_source
        from tests.tiny_dataset import SOURCE

        place = Path(sys.argv[3]) if len(sys.argv) > 3 else None
        build_source(SOURCE, source_path=place, config=sys.argv[2], folder=Path(sys.argv[1]))
    """
    folder.mkdir(parents=True)
    started = [
        pythons.start(code, folder, "demo"),
        pythons.start(code, folder, "full", official),
    ]
    assert [build.wait() for build in started] == [0, 0]
    assert set(built_configs(folder)) == {"full", "demo"}
    assert read_rows(folder, "full", "test") == make_rows("test")
