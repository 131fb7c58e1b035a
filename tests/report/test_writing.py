from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.report.folders import MARK, report_places, write_report


@pytest.mark.parametrize(
    ("runs", "out", "wanted", "files"),
    [
        (1, None, None, ["run0/report.html", "run0/report.md"]),
        (1, None, "html", ["run0/report.html"]),
        (2, None, "both", ["report.html", "report.md"]),
        (2, "page.html", None, ["page.html"]),
        (2, "PAGE.HTM", "html", ["PAGE.HTM"]),
        (1, "page.md", None, ["page.md"]),
        (1, "folder", None, ["folder/report.html", "folder/report.md"]),
        (1, "v1.2", "markdown", ["v1.2/report.md"]),
        (1, "there.html", None, ["there.html/report.html", "there.html/report.md"]),
    ],
)
def test_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, out: str | None, wanted: str | None, files: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.html").mkdir()
    folders = [Path(f"run{number}") for number in range(runs)]
    places = report_places(folders, Path(out) if out else None, wanted)
    assert [str(path) for path in places.values()] == files


@pytest.mark.parametrize(("out", "wanted"), [("a.html", "markdown"), ("a.md", "html"), ("a.md", "both")])
def test_a_suffix_and_a_format_must_agree(tmp_path: Path, out: str, wanted: str) -> None:
    with pytest.raises(UsageError, match=f"but --format is {wanted}"):
        report_places([tmp_path], tmp_path / out, wanted)


@pytest.mark.parametrize(
    "content", [b"", b"<!DOCTYPE html>\n<p>mine", b"# Results\nmine", b"\xff\xfe", b" " + MARK.encode()]
)
def test_nothing_but_a_report_is_written_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "report.html").write_bytes(content)
    with pytest.raises(UsageError, match=r"report\.html: is there and is no report of this suite"):
        report_places([tmp_path], None, None)
    assert (tmp_path / "report.html").read_bytes() == content


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(UsageError, match="is there and cannot be read"):
        report_places([tmp_path], None, "html")


def test_reports_are_written_over(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("# Results\n\n## medcalc\n")  # of `run`
    for text in ("one", "two"):
        for path in report_places([tmp_path], None, None).values():
            write_report(path, text)
    assert (tmp_path / "report.html").read_text() == f"{MARK}\ntwo"
    assert (tmp_path / "report.md").read_text() == f"{MARK}\ntwo"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_of_another_kind_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"report is HTML \(.html\) or Markdown \(.md\), not .pdf. Give such a name"):
        report_places([tmp_path], tmp_path / "report.pdf", None)
    assert report_places([tmp_path], tmp_path / "v1.0", "html") == {"html": tmp_path / "v1.0" / "report.html"}
    (tmp_path / "old.pdf").mkdir()
    assert report_places([tmp_path], tmp_path / "old.pdf", "html") == {"html": tmp_path / "old.pdf" / "report.html"}
