"""Sheets for spreadsheet programs, and who gets which rows."""

from __future__ import annotations

import stat
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.construct.annotation import parse_names, share_out, sheet_order
from medical_tasks.construct.shared import file_name
from medical_tasks.errors import MedicalTasksError
from medical_tasks.io.tables import read_sheet, write_sheet

COLUMNS = ("id", "text")
SECRET = "swallowed a marble"


def test_sheet_round_trip(tmp_path: Path) -> None:
    texts = ["=1+1", "'=x", 'a "b", c;d', "two\nlines", "ü µ", "-5 mg", ""]
    path = tmp_path / "s.csv"
    write_sheet(
        path, COLUMNS, [{"id": n, "text": text} for n, text in enumerate(texts)]
    )
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,text\r\n0,'=1+1\r\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = read_sheet(path, COLUMNS)
    assert [row.cells["text"] for row in rows] == texts
    assert [row.number for row in rows] == list(range(2, 9))
    assert rows[3].location("text") == f"{path}: row 5, column 'text'"


@given(
    st.lists(
        st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=8,
    )
)
def test_numbers_round_trip(numbers: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.csv"
        write_sheet(
            path,
            COLUMNS,
            [{"id": n, "text": number} for n, number in enumerate(numbers)],
        )
        assert "'" not in path.read_text(encoding="utf-8-sig")
        assert [float(row.cells["text"]) for row in read_sheet(path, COLUMNS)] == list(
            map(float, numbers)
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{SECRET},x\r\n1,2\r\n".encode(), "wrong columns; missing: 'id', 'text'"),
        (f"id,text,{SECRET}\r\n1,2,3\r\n".encode(), "wrong columns; 3 instead of 2"),
        (f"id,text\r\n1,2,{SECRET}\r\n".encode(), "row 2: a cell in column 3"),
        (
            f"{SECRET},{SECRET}\r\n1,2\r\n".encode(),
            "two columns are named a text of 18 characters",
        ),
    ],
)
def test_invalid_sheets(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(content)
    with pytest.raises(MedicalTasksError, match=message) as caught:
        read_sheet(path, COLUMNS)
    assert SECRET not in str(caught.value)
    with pytest.raises(MedicalTasksError, match="no such file"):
        read_sheet(tmp_path / "none.csv", COLUMNS)


def test_file_names_stay_in_the_folder() -> None:
    assert file_name("10000032") == "10000032.txt"
    assert file_name("../x") == "id-2e2e2f78.txt"
    assert file_name(".hidden").startswith("id-")


@given(
    st.lists(st.integers(0, 999).map(str), min_size=1, max_size=40, unique=True),
    st.integers(2, 4),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_shares_are_equal_and_depend_on_ids_alone(
    ids: list[str], people: int, overlap: int, seed: int
) -> None:
    names, overlap = "abcd"[:people], min(overlap, len(ids))
    shares = share_out(ids, tuple(names), overlap=overlap, seed=seed)
    assert share_out(ids[::-1], tuple(names), overlap=overlap, seed=seed) == shares
    decides = Counter(reviewers[0] for reviewers in shares.values())
    assert max(decides.values()) - min(decides[name] for name in names) <= 1
    assert sum(len(reviewers) == people for reviewers in shares.values()) == overlap
    assert (
        sum(len(reviewers) == 1 for reviewers in shares.values()) == len(ids) - overlap
    )
    seen = Counter(
        row_id for name in names for row_id in sheet_order(shares, name, seed=seed)
    )
    assert seen == {row_id: people if len(shares[row_id]) > 1 else 1 for row_id in ids}


def test_shares_of_the_paper() -> None:
    # Appendix C.3: 1,000 questions, 333, 333 and 334.
    shares = share_out(
        [str(number) for number in range(1000)], ("a", "b", "c"), overlap=0, seed=0
    )
    assert sorted(Counter(names[0] for names in shares.values()).values()) == [
        333,
        333,
        334,
    ]
    assert all(len(names) == 1 for names in shares.values())


def test_wrong_overlaps_and_names() -> None:
    with pytest.raises(
        MedicalTasksError, match="from 0 to the number of questions, 2, got 3"
    ):
        share_out(["1", "2"], ("a", "b"), overlap=3, seed=0)
    with pytest.raises(MedicalTasksError, match="agreement needs two"):
        share_out(["1", "2"], ("a",), overlap=1, seed=0)
    for text in ("", "a,A", "../x", "x" * 31):
        with pytest.raises(MedicalTasksError, match="--reviewers"):
            parse_names(text)
    assert parse_names("a, b-1") == ("a", "b-1")
