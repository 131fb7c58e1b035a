"""Sheets: texts are kept completely, and errors in sheets are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.site.desk.sheets import (
    Choice,
    read_sheet,
    sentences_of,
    sharing_words,
    write_sheet,
)
from tests.site.desk.desk_sheets import CHOICES, NOTE, a_sheet, an_item


def test_a_sheet_is_read_as_it_was_written_and_is_private(tmp_path: Path) -> None:
    sheet = a_sheet(7, overlap=2)
    path = tmp_path / "sheet.json"
    write_sheet(path, sheet)
    assert read_sheet(path) == sheet
    assert path.stat().st_mode & 0o077 == 0


@given(text=st.text(alphabet=st.sampled_from("Ab. ?!\n\t5\u2028é")))
def test_sentences_add_up_to_the_text(text: str) -> None:
    assert "".join(sentences_of(text)) == text


def test_sentences_that_share_words_are_found() -> None:
    sentences = sentences_of(NOTE)
    assert sharing_words(sentences, "a troponin of 0.8 it was") == {1}
    assert sharing_words(sentences, "nothing alike") == set()


def test_the_overlap_is_seeded_and_each_other_item_has_one_rater() -> None:
    sheet = a_sheet(10, overlap=4)
    counts = sorted(map(len, sheet.assigned.values()))
    assert counts == [1] * 6 + [2] * 4
    assert a_sheet(10, overlap=4).shares == sheet.shares
    assert replace(sheet, seed=4).shares != sheet.shares
    assert set(a_sheet(3).assigned.values()) == {("ann", "ben")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": ()}, "it has no items"),
        ({"items": (an_item(1), an_item(1))}, "two items have the same id"),
        ({"raters": ()}, "nobody labels it"),
        ({"raters": ("ann", "Eve")}, "must have different names"),
        ({"raters": ("a/b",)}, "is no valid name"),
        ({"choices": CHOICES[:1] * 2}, "choices of different values"),
        (
            {"choices": (Choice(key="u", value="a", label="A"),)},
            "needs one key of its own",
        ),
        ({"orders": {"ann": ("p0001",)}}, "it is shared out otherwise: ben"),
        ({"name": "../x"}, "its name must be"),
    ],
)
def test_invalid_sheets_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(a_sheet(), **change)  # type: ignore[arg-type]


def test_a_broken_sheet_is_named_and_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "sheet.json"
    write_sheet(path, a_sheet())
    path.write_text(path.read_text().replace('"prompt"', '"prompted"'))
    with pytest.raises(UsageError, match=r"wrong at items\.0\.prompt") as caught:
        read_sheet(path)
    assert "Troponin" not in str(caught.value)
