from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.benchmarks.ehrnoteqa.judge_check import read_human_scores
from medical_tasks.errors import MissingError, UsageError
from tests.case_tables import cases


def scores(tmp_path: Path, text: str, *, encoding: str = "utf-8") -> Path:
    path = tmp_path / "scores.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_file_of_scores(tmp_path: Path) -> None:
    path = scores(
        tmp_path,
        "rater_b,id,comment,response,rater_a,model\r\n"
        '1,100,fine,"One, two\nthree",0,m1\r\n'
        ',100,,"One, two\nthree",1,m2\r\n'
        "\r\n"
        '0,101,,"",,m1\r\n'
        ",102,,nobody,,m1\r\n",
        encoding="utf-8-sig",
    )
    found = read_human_scores(path)
    assert found.raters == ("rater_b", "rater_a")
    assert [f"{row.item} {row.model}" for row in found.rows] == [
        "100 m1",
        "100 m2",
        "101 m1",
    ]
    assert [row.correct for row in found.rows] == [
        (True, False),
        (None, True),
        (False, None),
    ]
    assert found.rows[0].response == "One, two\nthree"
    assert found.rows[2].response == ""  # an empty answer is one
    assert [row.line for row in found.rows] == [2, 3, 5]
    assert found.unscored == 1
    assert len({row.id for row in found.rows}) == 3
    assert all(len(row.id) == 16 for row in found.rows)
    assert read_human_scores(path, ["rater_a"]).rows[0].correct == (False,)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("1", "0"),
        ("o", "x"),
        ("O", " X "),
        ("correct", "incorrect"),
        ("Correct", "INCORRECT"),
        ("1.0", "0.0"),
    ],
)
def test_every_kind_of_marks(tmp_path: Path, right: str, wrong: str) -> None:
    path = scores(tmp_path, f"id,response,ann\n1,a,{right}\n2,b,{wrong}\n3,c, \n")
    found = read_human_scores(path, ["ann"])
    assert [row.correct for row in found.rows] == [(True,), (False,)]
    assert (found.unscored, found.rows[0].model) == (1, "")


BAD = cases(__file__, "BAD")


@pytest.mark.parametrize(
    ("content", "message"), BAD, ids=[message for _, message in BAD]
)
def test_what_is_wrong_is_told_and_not_quoted(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as told:
        read_human_scores(scores(tmp_path, content))
    assert "marble" not in str(told.value)
    assert "scores.csv" in str(told.value)


def test_raters_that_are_none_and_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scores(tmp_path, "id,response,ann\n1,a,1\n")
    for raters, message in {
        ("ann", "ben"): "no column 'ben', which --raters names",
        ("response",): "response is no rater's column",
        ("ann", "ann"): "ann is named twice",
    }.items():
        with pytest.raises(UsageError, match=message):
            read_human_scores(path, raters)
    with pytest.raises(MissingError, match="no such file"):
        read_human_scores(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="cannot be read"):
        read_human_scores(tmp_path)
    read_human_scores(
        scores(tmp_path, "id,response,rater_a\n1,caf\u00e9,1\n", encoding="latin-1")
    )
    assert "read as Windows-1252 with \u00e9." in capsys.readouterr().err
