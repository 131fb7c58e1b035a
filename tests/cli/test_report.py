from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.report.folders import MARK
from tests.report.tiny_runs import ran


@pytest.fixture(scope="module")
def runs(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        ran(demos, folder / name, "medcalc", f"baseline/{name}")
        for name in ("reference", "random")
    ]


def test_the_report_of_a_single_run_is_in_its_folder(
    demos: Path, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    for _ in range(2):  # its own reports are overwritten
        assert main(["report", str(runs[0]), "--data", str(demos)]) == 0
        captured = capsys.readouterr()
        assert (
            captured.out
            == f"report: {runs[0] / 'report.html'}\nreport: {runs[0] / 'report.md'}\n"
        )
        assert captured.err == ""
    page = (runs[0] / "report.html").read_text()
    assert page.startswith(f"{MARK}\n<!-- answers: 31 -->\n<!DOCTYPE html>")
    assert "100.0" in page
    assert len(page) < 3_000_000
    assert not [path for path in runs[0].iterdir() if path.name.endswith(".part")]


def test_the_report_of_several_runs_is_in_the_working_folder(
    demos: Path,
    runs: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    capsys.readouterr()
    words = ["report", *map(str, runs), "--data", str(demos), "--format", "markdown"]
    assert main([*words, "--title", "Two | <b>runs</b>"]) == 0
    assert capsys.readouterr().out == "report: report.md\n"
    text = (tmp_path / "report.md").read_text()
    assert "\n# Two \\| &lt;b>runs&lt;/b>\n" in text
    assert (
        "| medcalc | accuracy | baseline/reference | 100.0 % | 87.4 to 100.0 | 31 | 31/31 |"
        in text
    )
    assert (
        "| medcalc | accuracy | baseline/random | 0.0 % | 0.0 to 12.6 | 31 | 31/31 |"
        in text
    )
    assert "### By category" in text
    assert "### Published results" in text
    assert "### Recipe of baseline/random" in text
    assert '"rows_sha256"' in text
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_a_report_without_data_has_a_note_and_other_files_are_kept(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 3
    assert "no results.json there" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    page = tmp_path / "page.html"
    words = ["report", *map(str, runs), "--data", str(tmp_path), "--out", str(page)]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(
        "note: medcalc (baseline/reference), medcalc (baseline/random): The run's data are not here"
    )
    assert "medical-tasks build medcalc_bench --config demo" in captured.err
    assert page.is_file()
    page.write_text("chapter one of somebody's thesis")
    assert main(words) == 2
    assert "exists and is not a report of this suite" in capsys.readouterr().err
    assert page.read_text() == "chapter one of somebody's thesis"


def test_the_page_is_opened_in_a_browser(
    demos: Path,
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened: list[str] = []

    def open_nothing(address: str) -> bool:
        opened.append(address)
        return False

    monkeypatch.setattr(webbrowser, "open", open_nothing)
    page = tmp_path / "a page.html"
    report = ["report", str(runs[0]), "--data", str(demos)]
    words = [*report, "--no-items", "--open", "--out"]
    assert main([*words, str(page)]) == 0
    assert opened == [page.as_uri()]
    assert "no browser could be started" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "x.md")]) == 0
    assert len(opened) == 1
    assert "only Markdown was requested" in capsys.readouterr().err
