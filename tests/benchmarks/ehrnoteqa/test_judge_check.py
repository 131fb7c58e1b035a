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


def test_scores_of_two_raters(tmp_path: Path) -> None:
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
    human_scores = read_human_scores(path)
    assert human_scores.raters == ("rater_b", "rater_a")
    assert [f"{row.item} {row.model}" for row in human_scores.rows] == [
        "100 m1",
        "100 m2",
        "101 m1",
    ]
    assert [row.correct for row in human_scores.rows] == [
        (True, False),
        (None, True),
        (False, None),
    ]
    assert human_scores.rows[0].response == "One, two\nthree"
    assert human_scores.rows[2].response == ""  # an empty answer is scored, too
    assert [row.line for row in human_scores.rows] == [2, 3, 5]
    assert human_scores.unscored == 1
    assert len({row.id for row in human_scores.rows}) == 3
    assert all(len(row.id) == 16 for row in human_scores.rows)
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
def test_marks_for_right_and_wrong(tmp_path: Path, right: str, wrong: str) -> None:
    path = scores(tmp_path, f"id,response,ann\n1,a,{right}\n2,b,{wrong}\n3,c, \n")
    human_scores = read_human_scores(path, ["ann"])
    assert [row.correct for row in human_scores.rows] == [(True,), (False,)]
    assert (human_scores.unscored, human_scores.rows[0].model) == (1, "")


BAD = cases(__file__, "BAD")


@pytest.mark.parametrize(
    ("content", "message"), BAD, ids=[message for _, message in BAD]
)
def test_an_error_quotes_no_response(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_human_scores(scores(tmp_path, content))
    assert "marble" not in str(caught.value)
    assert "scores.csv" in str(caught.value)


def test_unknown_raters_and_unreadable_files_are_refused(
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
