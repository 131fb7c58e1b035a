"""Words left out of notes, the oldest first: exact numbers, headers kept, what stays untouched."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.data import demo_pairs
from medical_tasks.benchmarks.ehrnoteqa.prompts import MARKER, shortened
from medical_tasks.benchmarks.ehrnoteqa.questions import joined_row
from medical_tasks.spec import Item
from tests.benchmarks.ehrnoteqa.tiny_items import item, note

HEADER = "Patient ID : 100\nAdmission ID : {}\nChartdate : {}\n"
FIRST, SECOND = HEADER.format("21", "2150-01-02"), HEADER.format("22", "2150-03-04")


def texts(shown: Item) -> list[str]:
    return [each["text"] for each in shown.fields["notes"]]


def words_of(shown: Item) -> int:
    """Of the bodies."""
    headers = re.compile(r"Patient ID : .*\nAdmission ID : .*\nChartdate : .*\n")
    return sum(len(headers.sub("", text, count=1).split()) for text in texts(shown))


def test_the_oldest_first_from_its_beginning() -> None:
    whole = item(note("one two\n three"), note("four five", hadm_id="22", date="2150-03-04"))
    second = SECOND + "four five"
    assert words_of(whole) == 5
    assert shortened(whole, 0) is whole
    assert texts(shortened(whole, 1)) == [f"{FIRST}[words left out here: 1]\ntwo\n three", second]
    assert texts(shortened(whole, 2)) == [f"{FIRST}[words left out here: 2]\nthree", second]
    assert texts(shortened(whole, 3)) == [f"{FIRST}[words left out here: 3]\n", second]
    assert texts(shortened(whole, 4)) == [
        f"{FIRST}[words left out here: 3]\n",
        f"{SECOND}[words left out here: 1]\nfive",
    ]
    nothing = [f"{FIRST}[words left out here: 3]\n", f"{SECOND}[words left out here: 2]\n"]
    assert texts(shortened(whole, 5)) == texts(shortened(whole, 6)) == texts(shortened(whole, 10**9)) == nothing


def test_nothing_else_changes() -> None:
    whole = item()
    before = [dict(each) for each in whole.fields["notes"]]
    cut = shortened(whole, 2)
    assert whole.fields["notes"] == before
    assert {**cut.fields, "notes": 0} == {**whole.fields, "notes": 0}
    assert [{**each, "text": 0} for each in cut.fields["notes"]] == [{**each, "text": 0} for each in before]
    assert (cut.id, cut.groups, cut.cluster) == (whole.id, whole.groups, whole.cluster)


def test_a_note_without_a_header_is_all_body() -> None:
    whole = item(note("Patient ID : 7 was seen", header=False))
    assert words_of(whole) == 6
    assert texts(shortened(whole, 4)) == ["[words left out here: 4]\nwas seen"]


def test_an_empty_body() -> None:
    whole = item(note(""), note("left", header=False))
    assert words_of(whole) == 1
    assert texts(shortened(whole, 1)) == [FIRST, "[words left out here: 1]\n"]


def test_a_negative_number() -> None:
    with pytest.raises(ValueError, match="words must be at least 0, got -1"):
        shortened(item(), -1)


def test_the_demo() -> None:
    for question, notes in demo_pairs():
        whole = item(**joined_row(question, notes))
        words = words_of(whole)
        assert words == sum(len(each.text.split("\n", 3)[3].split()) for each in notes) > 100
        assert all(
            text.count("\n") == 4 and text.startswith("Patient ID : ") for text in texts(shortened(whole, words))
        )


bodies = st.text(st.sampled_from(["a", "b", " ", "\n", "\t", "\x1f", "\u00a0", "[", "é"]), max_size=30)
made = st.lists(st.tuples(bodies, st.booleans()), min_size=1, max_size=3).map(
    lambda drawn: item(*(note(body, header=header) for body, header in drawn))
)


def parts(shown: Item, whole: Item) -> list[tuple[str, int, str]]:
    """Of each note the header, the number said to be left out, and what is left of the body."""
    found = []
    for text, full in zip(texts(shown), texts(whole), strict=True):
        header = FIRST if full.startswith(FIRST) else ""
        assert text.startswith(header)
        rest = text[len(header) :]
        gone = 0
        if rest != full[len(header) :]:
            before, after = MARKER.split("{words}")
            number, _, rest = rest.removeprefix(before).partition(after)
            gone = int(number)
        found.append((header, gone, rest))
    return found


@settings(deadline=None, max_examples=150)
@given(made, st.integers(0, 40))
def test_laws(whole: Item, words: int) -> None:
    total = words_of(whole)
    cut = shortened(whole, words)
    found = parts(cut, whole)
    assert sum(gone for _, gone, _ in found) == min(words, total)
    for (header, gone, rest), full in zip(found, texts(whole), strict=True):
        body = full[len(header) :]
        assert body.endswith(rest)
        assert body.split()[gone:] == rest.split()
        assert not (gone and rest[:1].isspace())
    # A note is touched only when nothing is left of the older ones.
    for (_, _, older), (_, gone, _) in pairwise(found):
        assert not gone or not older.split()
    further = parts(shortened(whole, words + 1), whole)
    assert all(one.endswith(other) for (*_, one), (*_, other) in zip(found, further, strict=True))
    assert (shortened(whole, words + 1) == cut) == (words >= total)
