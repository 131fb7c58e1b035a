from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.output_tables import OutputTable, join_outputs, read_outputs, read_preferences, votes_of
from medical_tasks.scoring.preferences import output_pairs

GOOD = "item,system,cluster,section,a,b\nv1,x,p1,exam,1,0.5\nv1,y,p1,exam,2,\nv2,x,p1,plan,-3e1,n/a\n"
STATED = "item,system_a,system_b,annotator,preferred\n"


def read(folder: Path, *texts: str) -> OutputTable:
    sources, digests = [], {}
    for number, text in enumerate(texts):
        path = folder / f"{number}.csv"
        path.write_bytes(text.encode())
        rows, digests[path.name] = read_outputs(path)
        sources.append(rows)
    return join_outputs(sources, digests=digests)


def test_a_table(tmp_path: Path) -> None:
    table = read(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n"))
    assert [(row.item, row.system, row.cluster) for row in table.rows] == [
        ("v1", "x", "p1"),
        ("v1", "y", "p1"),
        ("v2", "x", "p1"),
    ]
    assert table.columns == ("a", "b")
    assert table.column("a") == [1.0, 2.0, -30.0]
    assert [math.isnan(value) for value in table.column("b")] == [False, True, True]
    assert table.rows[2].labels == {"section": "plan"}
    assert table.sources == {"0.csv": hashlib.sha256(("\ufeff" + GOOD.replace("\n", "\r\n")).encode()).hexdigest()}


def test_sources_are_joined_by_item_and_system(tmp_path: Path) -> None:
    table = read(tmp_path, GOOD, "system,item,human\ny,v1,50\nx,v3,40\n", "item,system,a\nv1,x,1.0\n")
    assert [(row.item, row.system) for row in table.rows] == [("v1", "x"), ("v1", "y"), ("v2", "x"), ("v3", "x")]
    assert table.rows[1].scores == {"a": 2.0, "human": 50.0}
    assert [row.cluster for row in table.rows] == ["p1", "p1", "p1", "v3"]  # without one, an item stands alone


def test_less_is_better_is_turned_round(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(GOOD)
    rows, _ = read_outputs(tmp_path / "a.csv")
    assert join_outputs([rows], digests={}, less_is_better=frozenset("a")).column("a") == [-1.0, -2.0, 30.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty. It needs a header and a row an output"),
        ("item,system,a\n", "has a header and no rows"),
        ("item,a\nv,1\n", "its header, of 2 columns, has no column 'system'"),
        ("item,system,a,a\nv,x,1,1\n", "two columns are named 'a'"),
        ("item,system,\nv,x,1\n", "column 3 has no name"),
        ("item,system,a\nv,x\n", "line 2: 2 cells, the header has 3"),
        ("item,system,a\nv,,1\n", "line 2, column 'system': must be a name of 1 to 120 characters, got nothing"),
        ("item,system,a\n" + "v" * 121 + ",x,1\n", "got a text of 121 characters"),
        ("item,system,a\nv,x,1\nv,x,2\n", "lines 2 and 3 are the same output: item 'v', system 'x'"),
        ("item,system,a\nv,x,1\nw,x,high\n", "line 3, column 'a': must be a number, or an empty cell where there is none; got"),
        ("item,system,a\nv,x,1\nw,x,1e999\n", "got '1e999'"),
        ('item,system,a\nv,x,"1\n', "not a whole CSV file"),
        ("item,system,cluster,a\nv,x,p,1\nv,y,q,1\n", "item 'v' is in another cluster"),
    ],
)  # fmt: skip
def test_what_is_no_table(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read(tmp_path, text)
    assert message in str(raised.value)


def test_two_scores_under_one_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="column 'a' is 9 for item 'v1' of system 'x', and 1 in .*0.csv, line 2"):
        read(tmp_path, GOOD, "item,system,a\nv1,x,9\n")


def test_messages_quote_no_sentence(tmp_path: Path) -> None:
    note = "The patient in bed four is a singer."
    for text in (f"item,system,a\nv,x,1\nw,x,{note}\n", f"item,system,{note},{note}\nv,x,1,1\n"):
        with pytest.raises(UsageError) as raised:
            read(tmp_path, text)
        assert "bed four" not in str(raised.value)
        assert f"a text of {len(note)} characters" in str(raised.value)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file or folder"):
        read_outputs(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"item,system,a\nv,\xe9,1\n")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_outputs(tmp_path / "latin.csv")


def stated(folder: Path, text: str) -> Path:
    path = folder / "preferences.csv"
    path.write_text(STATED + text)
    return path


def test_votes_of_pairs(tmp_path: Path) -> None:
    table = read(tmp_path, "item,system,a\nv,x,1\nv,y,2\nv,z,3\n")
    said = "v,x,y,ann,x\nv,y,x,ben,x\nv,x,y,cy,tie\nv,z,x,ann,\nv,z,y,ann,z\nw,x,y,ann,x\n"
    preferences = read_preferences(stated(tmp_path, said))
    assert (preferences.annotators, len(preferences.stated), preferences.blank) == (("ann", "ben", "cy"), 5, 1)
    votes, elsewhere = votes_of(preferences, table, output_pairs(["v"] * 3))
    # Pairs x-y, x-z, y-z: the first output is the table's, whichever the row of preferences names first.
    assert (votes, elsewhere) == ([["first", "first", "tie"], [], ["second"]], 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has a header and no rows"),
        ("v,x,y,ann,\n", "no row has an answer in the column 'preferred'"),
        ("v,x,x,ann,x\n", "line 2: both systems are 'x'"),
        ("v,tie,x,ann,x\n", "a system named 'tie' cannot be told from no preference"),
        ("v,x,y,,x\n", "line 2, column 'annotator': empty"),
        ("v,x,y,ann,z\n", "line 2, column 'preferred': must be 'x', 'y', 'tie', or blank for no answer; got 'z'"),
        ("v,x,y,ann,x\nv,y,x,ann,x\n", "lines 2 and 3 are the same pair and annotator"),
    ],
)
def test_what_are_no_preferences(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_preferences(stated(tmp_path, text))
    assert message in str(raised.value)


def test_preferences_about_other_outputs(tmp_path: Path) -> None:
    table = read(tmp_path, "item,system,a\nv,x,1\nv,y,2\n")
    preferences = read_preferences(stated(tmp_path, "V,x,y,ann,x\n"))
    with pytest.raises(UsageError, match="none of its pairs is among the outputs compared; it begins with item 'V'"):
        votes_of(preferences, table, output_pairs(["v"] * 2))
