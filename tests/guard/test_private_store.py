"""The private store: closed to others whatever the umask, emptied without following links, and what stays outside it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.cli.entry import main
from medical_tasks.errors import RefusedError, UsageError
from medical_tasks.guard.private_store import (
    check_place,
    in_use,
    list_folders,
    new_private_id,
    private_folder,
    purge,
    redact_reason,
    redact_row,
    redact_value,
)
from medical_tasks.io.files import WholeFile
from medical_tasks.io.store import Store
from medical_tasks.io.user_folders import audit_path
from tests.case_tables import json_of, tables

CASES = tables(__file__, "private_store")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "private"


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.usefixtures("open_umask")
def test_folders_and_files_are_closed_whatever_the_umask(home: Path) -> None:
    folder = private_folder(new_private_id(), run=Path("runs/x"))
    with Store(folder / "answers.sqlite") as store:
        store.put("answer", "k", {"text": "t"})
        names = {path.name for path in folder.iterdir()}
        assert {
            "answers.sqlite",
            "answers.sqlite-wal",
            "answers.sqlite-shm",
            "run.txt",
        } == names
        assert {mode(path) for path in folder.iterdir()} == {0o600}
    # The audit log is beside the store: whoever could write there could remove it.
    assert mode(folder) == mode(home) == mode(home.parent) == 0o700


def test_open_permissions_are_closed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private_id = new_private_id()
    folder = private_folder(private_id)
    (folder / "logs").mkdir()
    log = folder / "logs" / "server.log"
    log.write_text("x")
    for path, how in ((home, 0o755), (folder, 0o777), (log, 0o644)):
        path.chmod(how)
    private_folder(private_id)
    assert (mode(home), mode(folder), mode(log)) == (0o700, 0o700, 0o600)
    # A journal that goes away meanwhile is no trouble.
    (folder / "verdicts.sqlite").write_text("x")
    (folder / "verdicts.sqlite").chmod(0o644)
    monkeypatch.setattr(
        os,
        "walk",
        lambda top: [(str(folder), [], ["verdicts.sqlite-wal", "verdicts.sqlite"])],
    )
    private_folder(private_id)
    assert mode(folder / "verdicts.sqlite") == 0o600


def test_ids_are_random_and_checked() -> None:
    ids = {new_private_id() for _ in range(100)}
    assert len(ids) == 100
    for wrong in (
        "",
        "..",
        "../x",
        "A" * 32,
        "a" * 31,
        f"{'a' * 32}/x",
        "a" * 33,
        5,
        None,
        ["a"],
    ):
        with pytest.raises(UsageError, match="32 hexadecimal digits"):
            private_folder(cast("str", wrong))  # read from run.json


def test_a_link_in_its_place_is_refused(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    private_id = new_private_id()
    private_folder(private_id).rmdir()
    (home / private_id).symlink_to(elsewhere)
    with pytest.raises(RefusedError, match="it is a link or a file"):
        private_folder(private_id)
    (home / private_id).unlink()
    home.rmdir()
    home.symlink_to(elsewhere)
    with pytest.raises(RefusedError, match="it is a link or a file"):
        private_folder(private_id)
    with pytest.raises(RefusedError, match="it is a link or a file"):
        purge()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("what", ["store", "folder"])
def test_somebody_elses_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, home: Path, what: str
) -> None:
    private_id = new_private_id()
    folder = private_folder(private_id)
    owned = folder if what == "folder" else home
    if os.geteuid() == 0:
        os.chown(owned, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(RefusedError, match="it belongs to somebody else"):
        private_folder(private_id)
    if what == "store":
        with pytest.raises(RefusedError, match="it belongs to somebody else"):
            purge()
        assert folder.is_dir()


def test_a_file_system_without_modes_is_refused(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    private_folder(new_private_id())
    home.chmod(0o755)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with pytest.raises(RefusedError, match="others can enter it"):
        private_folder(new_private_id())


def test_purge_reports_runs_and_sizes(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path
) -> None:
    assert purge().removed == ()
    assert not home.exists()
    assert list_folders() == []
    folder = private_folder(new_private_id(), run=tmp_path / "runs" / "one")
    (folder / "answers.sqlite").write_bytes(b"x" * 20_000)
    assert main(["purge", "--dry-run"]) == 0
    stdout = capsys.readouterr().out
    assert (
        f"would be deleted: {folder.name} of run {tmp_path / 'runs' / 'one'}: 2 files, 0.02 MB"
        in stdout
    )
    assert folder.is_dir()
    assert main(["purge"]) == 0
    assert (
        f"{home}: 1 runs, 2 files, 0.02 MB deleted; 0 in use."
        in capsys.readouterr().out
    )
    assert list(home.iterdir()) == []
    assert main(["purge"]) == 0
    assert "0 runs, 0 files, 0 bytes deleted" in capsys.readouterr().out


def test_links_are_removed_and_never_followed(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    folder = private_folder(new_private_id())
    (folder / "to_folder").symlink_to(outside)
    (folder / "to_file").symlink_to(outside / "kept.txt")
    (folder / "nowhere").symlink_to(tmp_path / "nowhere")
    (folder / "deep").mkdir()
    (folder / "deep" / "to_folder").symlink_to(outside)
    (home / new_private_id()).symlink_to(outside)
    (home / new_private_id()).write_text("a file under a run's name")
    purged = purge()
    assert len(purged.removed) == 3
    assert list(home.iterdir()) == []
    assert (outside / "kept.txt").read_text() == "kept"


def test_purge_keeps_the_audit_log_and_other_folders(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    from medical_tasks.guard.policy import write_decision

    private_folder(new_private_id())
    write_decision(audit_path(), {"decision": "local"})
    (home / "my_thesis").mkdir()
    (home / "my_thesis" / "chapter.txt").write_text("mine")
    assert main(["purge"]) == 0
    assert "not of medical-tasks, kept: my_thesis" in capsys.readouterr().out
    assert [path.name for path in home.iterdir()] == ["my_thesis"]
    assert audit_path().parent == home.parent
    assert json_of(audit_path())["decision"] == "local"


def test_a_run_in_use_is_kept_and_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    used = private_folder(new_private_id(), run=tmp_path / "busy")
    idle = private_folder(new_private_id())
    with in_use(used), in_use(used):
        assert main(["purge"]) == 0
        stdout = capsys.readouterr().out
        assert f"in use, kept: {used.name} of run {tmp_path / 'busy'}" in stdout
        assert used.is_dir()
        assert not idle.exists()
    assert [folder.private_id for folder in purge().removed] == [used.name]


def test_a_run_of_another_process_is_kept_until_it_ends() -> None:
    used = private_folder(new_private_id())
    program = (
        "import sys\nfrom pathlib import Path\nfrom medical_tasks.guard.private_store import in_use\n"
        "with in_use(Path(sys.argv[1])):\n    print('in', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(used)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        assert [folder.private_id for folder in purge().used] == [used.name]
        process.kill()
    assert [folder.private_id for folder in purge().removed] == [used.name]


# --- what may be kept outside


def test_a_row_keeps_numbers_and_ids_alone() -> None:
    row, text = dict(CASES["row"]), "brought in by his daughter"
    emptied = dict.fromkeys(("parsed", "why", "sources", "anything_new"), "")
    digest = hashlib.sha256(f"{text} µ".encode()).hexdigest()
    assert redact_row(row, f"{text} µ") == {**row, **emptied, "response_sha256": digest}
    assert row == CASES["row"]  # the row given is as it was
    unanswered = {"id": "1", "unscored": "no answer: http 500"}
    assert redact_row(unanswered, None) == unanswered | {"response_sha256": ""}
    lone = redact_row({"id": "1"}, "lone \ud800 surrogate")["response_sha256"]
    assert len(str(lone)) == 64


def test_notes_of_the_scorings_own_words_and_classes_of_reasons_are_kept() -> None:
    words = frozenset({"ids", "unknown", "words", "recall"})
    for note, kept in CASES["test_a_note_of_the_scorings_own_words_is_kept"]:
        row = redact_row(
            {"parsed": note, "why": note, "sources": note}, "a", note_words=words
        )
        assert (row["parsed"], row["why"], row["sources"]) == (
            note if kept else "",
            note if kept else "",
            "",
        )
    assert redact_row({"parsed": "ids 2 3"}, "a")["parsed"] == ""
    for reason, left in CASES["test_reasons"]:
        assert redact_reason(reason) == left


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.one_of(st.text(max_size=20), st.floats(), st.none(), st.booleans()),
    )
)
def test_redacted_rows_hold_no_text(values: dict[str, object]) -> None:
    row = redact_row({f"x_{name}": value for name, value in values.items()}, "a")
    assert {value for value in row.values() if isinstance(value, str)} <= {
        "",
        row["response_sha256"],
    }
    assert all(
        row[f"x_{name}"] is value
        for name, value in values.items()
        if not isinstance(value, str)
    )


def test_verdicts_keep_numbers_and_labels_alone() -> None:
    listed: list[object] = [True, None, "A", "by his daughter"]
    value = {
        "label": "not_entailment",
        "score": 0.5,
        "quote": "brought in by",
        "list": listed,
    }
    assert redact_value(value) == {
        "label": "not_entailment",
        "score": 0.5,
        "quote": "",
        "list": [True, None, "A", ""],
    }
    assert redact_value({"brought in by": 1}) == {"": 1}
    assert redact_value(("false",)) == ["false"]
    # A text word by word is no list of labels.
    words = "one two three four five six seven eight nine".split()
    assert redact_value({"evidence": words}) == {"": [""] * 9}
    assert redact_value(dict.fromkeys(words, 1)) == {"": 1}
    assert redact_value([["true", "false"]] * 9) == [["true", "false"]] * 9


# --- a file that the user requests


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("before", [None, "open to all"])
def test_a_private_file_is_readable_by_its_owner_alone(
    tmp_path: Path, before: str | None
) -> None:
    path = tmp_path / "new" / "file.json"
    if before is not None:
        path.parent.mkdir()
        path.write_text(before)
    with WholeFile(path, private=True) as file:
        file.write("[]\n")
    assert path.read_text() == "[]\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


def test_private_files_in_a_runs_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "link").symlink_to("run")
    check_place(tmp_path / "file.json")
    for name in ("run/file.json", "run/deep/er/file.json", "link/file.json"):
        with pytest.raises(
            RefusedError,
            match=r"file.json: is in the run's folder .*run, which holds no text",
        ):
            check_place(tmp_path / name)


def test_private_files_in_a_work_tree_are_refused_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as in a worktree or submodule
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        RefusedError,
        match=r"is in the git work tree .* or add the file to .gitignore",
    ):
        check_place(tmp_path / "deep" / "file.json")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_private_files_in_a_work_tree_must_be_ignored_by_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("/private/\n")
    check_place(tmp_path / "private" / "file.json")
    with pytest.raises(RefusedError, match="is in the git work tree"):
        check_place(tmp_path / "file.json")
