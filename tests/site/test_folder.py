"""The folder of a site: errors in its settings, and a journal that survives kills."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.io.user_folders import private_home
from medical_tasks.site.folder import changed, journal, last, note_step, open_site


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    assert main(["site", "new", str(tmp_path / "ward"), "--use", "chart-qa"]) == 0
    return tmp_path / "ward"


def test_a_new_folder_opens_and_is_never_created_twice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = open_site(folder)
    assert site.settings.use == "chart-qa"
    assert site.private.is_relative_to(private_home())
    assert main(["site", "new", str(folder), "--use", "calculator"]) == 2
    assert "not empty" in capsys.readouterr().err
    assert open_site(folder).private_id == site.private_id
    assert main(["site", "status", str(folder)]) == 0
    assert "chart-qa" in capsys.readouterr().out


def test_a_demo_that_was_killed_half_way_is_completed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = folder.with_name("demo")
    words = ["site", "new", str(demo), "--use", "calculator", "--demo"]
    assert main([*words, "--patients", "5"]) == 0
    notes = (demo / "demo" / "notes.csv").read_bytes()
    (demo / "demo" / "truth.json").unlink()  # the last file that is written
    assert main([*words, "--patients", "5"]) == 0
    assert (demo / "demo" / "notes.csv").read_bytes() == notes
    assert main([*words, "--patients", "5"]) == 2  # it is complete
    (demo / "demo" / "truth.json").unlink()
    (demo / "site.toml").write_text((demo / "site.toml").read_text() + "# mine\n")
    assert main([*words, "--patients", "5"]) == 2  # it was edited
    assert "not empty" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["notes\u2028.csv", "notes\udcff.csv", "nötes.csv"])
def test_the_journal_accepts_any_file_name(folder: Path, name: str) -> None:
    site = open_site(folder)
    done = note_step(site, "sample", inputs=[folder.parent / name])
    assert last(site, "sample") == done
    file = folder / "journal.jsonl"  # earlier versions wrote such names unescaped
    text = file.read_text(encoding="utf-8").replace(r"\u2028", "\u2028")
    file.write_text(text, encoding="utf-8")
    assert last(site, "sample") == done


def test_a_folder_without_a_site_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no site.toml"):
        open_site(tmp_path)


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        ("seed = 1", "sed = 1", "has no sed. Did you mean 'seed'"),
        ("seed = 1", "seed = true", "seed is a whole number, got True"),
        ("margin = 0.05", "margin = 5", "Five points are 0.05"),
        ("margin = 0.05", 'margin = "x"', "margin is a number"),
        ('use = "chart-qa"', "", "lacks use"),
        ('use = "chart-qa"', 'use = "chart"', "Did you mean 'chart-qa'"),
        ('preset = "standard"', 'preset = "strickt"', "Did you mean 'strict'"),
        ('["ann", "ben"]', '["ann", "ann"]', "must be one name or more"),
        ('["ann", "ben"]', '["a/b"]', "short names"),
        ('["ann", "ben"]', '"ann"', "a list in square brackets"),
        ("[judge]", "[[judge]]", "judge is a table"),
        ("[judge]", "[judge", "not TOML"),
    ],
)
def test_an_invalid_setting_is_named(
    folder: Path, line: str, replacement: str, message: str
) -> None:
    file = folder / "site.toml"
    text = file.read_text()
    assert text.count(line) >= 1
    file.write_text(text.replace(line, replacement, 1))
    with pytest.raises(UsageError, match=message):
        open_site(folder)


def test_a_step_is_stale_when_an_input_has_changed(folder: Path) -> None:
    site = open_site(folder)
    (folder / "plan").mkdir()
    (folder / "plan" / "plan.json").write_text("{}")
    (site.private / "drafts.jsonl").write_text("text")
    note_step(
        site,
        "sample",
        inputs=["site.toml:seed", site.plan, site.private / "drafts.jsonl"],
        figures={"patients": 60},
    )
    entry = last(site, "sample")
    assert entry is not None
    assert entry.figures == {"patients": 60}
    assert set(entry.inputs) == {"site.toml:seed", "plan", "private/drafts.jsonl"}
    assert changed(site, entry) == []
    file = folder / "site.toml"
    file.write_text(file.read_text().replace("margin = 0.05", "margin = 0.1"))
    assert changed(open_site(folder), entry) == []  # the step has not read it
    file.write_text(file.read_text().replace("seed = 1", "seed = 2"))
    (folder / "plan" / "plan.json").write_text("{ }")
    (site.private / "drafts.jsonl").unlink()
    assert changed(open_site(folder), entry) == list(entry.inputs)


def test_a_half_written_line_of_the_journal_is_ignored(
    folder: Path,
) -> None:
    site = open_site(folder)
    note_step(site, "plan")
    with (folder / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"step": "sample", "at": "20')
    assert [line.step for line in journal(site)] == ["new", "plan"]
    note_step(site, "make")
    assert [line.step for line in journal(site)] == ["new", "plan", "make"]


def test_a_step_whose_line_is_incomplete_is_not_finished(
    folder: Path,
) -> None:
    site = open_site(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = (folder / "journal.jsonl").stat().st_size + 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(IncompleteError, match="only a part of the line"):
            note_step(site, "plan")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert last(site, "plan") is None
    note_step(site, "plan")
    assert [line.step for line in journal(site)] == ["new", "plan"]
