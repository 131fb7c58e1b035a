from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from medical_tasks.errors import RefusedError
from medical_tasks.guard.private_store import check_place, write_private

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.parametrize("before", [None, "open to all"])
def test_only_its_owner_reads_it(tmp_path: Path, before: str | None) -> None:
    path = tmp_path / "new" / "file.json"
    umask = os.umask(0)
    try:
        if before is not None:
            path.parent.mkdir()
            path.write_text(before)
        write_private(path, b"[]\n")
    finally:
        os.umask(umask)
    assert path.read_text() == "[]\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["file.json"]


def test_not_in_the_folder_of_a_run_nor_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "link").symlink_to("run")
    check_place(tmp_path / "file.json")
    for place in ("run/file.json", "run/deep/er/file.json", "link/file.json"):
        with pytest.raises(RefusedError, match=r"file.json: lies in the run's folder .*run, which holds no text"):
            check_place(tmp_path / place)


def test_not_in_a_work_tree_where_nobody_knows_what_git_ignores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")  # as in a worktree or submodule
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RefusedError, match=r"lies in the git work tree .* or add the file to .gitignore"):
        check_place(tmp_path / "deep" / "file.json")


@needs_git
def test_in_a_work_tree_only_what_git_ignores(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("/private/\n")
    check_place(tmp_path / "private" / "file.json")
    with pytest.raises(RefusedError, match="lies in the git work tree"):
        check_place(tmp_path / "file.json")
