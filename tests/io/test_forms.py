"""Forms of untrusted files: what they refuse, and what a message shows of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from medical_tasks.io.forms import Count, Counts, Form, Hash, Number, Plain, complaint
from medical_tasks.io.untrusted import is_one_line, is_plain, shown, shown_path


class Answer(Form):
    id: Plain
    tries: Count
    score: Number | None = None
    why: Counts = Field({})
    sha256: Hash = "0" * 64


SOUND = {"id": "7", "tries": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, ""),
        ({"score": None, "why": {"late": 2}}, ""),
        ({"tries": -1}, "tries: must be greater than or equal to 0, got -1"),
        ({"tries": True}, "tries: must be a valid integer, got true"),
        ({"tries": "1"}, "tries: must be a valid integer, got '1'"),
        ({"score": True}, "score: must be a number, got true"),
        ({"score": float("nan")}, "score: must be a number, got nan"),
        ({"score": 10**400}, f"score: must be a number, got 1{'0' * 59}..."),
        ({"why": {"late": 0.5}}, "why, late: must be a valid integer, got 0.5"),
        ({"why": []}, "why: must be an object"),
        ({"extra": 1}, "extra: is no field of this form"),
        # What hides something is named, and never shown as it is.
        (
            {"id": "a\u202eb"},
            "id: must be one line, without control or bidirectional characters",
        ),
        ({"id": "a\ud800"}, "got 'a\\ud800'"),
        ({"\x1b[2J": 1}, "'\\x1b[2J': is no field of this form"),
        ({"\ud800": 1}, "must be a valid string"),
        ({"sha256": f"{'0' * 64}\n"}, "sha256: must match pattern"),
    ],
)
def test_a_complaint_names_path_rule_and_value(
    change: dict[str, Any], message: str
) -> None:
    assert message in complaint(Answer, {**SOUND, **change})
    assert bool(message) == bool(complaint(Answer, {**SOUND, **change}))
    assert complaint(Answer, {**SOUND, **change}).isascii()


def test_complaints_about_other_types_and_missing_fields() -> None:
    assert complaint(Answer, [1]) == "must be an object"
    assert complaint(Answer, {"id": "7"}) == "tries: is missing"


def test_hostile_values_are_short_and_plain_in_messages() -> None:
    assert shown("\u202e" * 99) == f"{ascii(chr(0x202E) * 61)[:60]}..."
    assert (shown(None), shown(True), shown([1, 2]), shown({})) == (
        "null",
        "true",
        "a list of 2",
        "an object of 0",
    )
    assert shown_path("tasks", "\n", 3) == r"tasks, '\n', 3"
    assert is_plain("Ärzte 7B")
    assert not is_plain("a\u200bb")
    assert is_one_line("a\u200bb")
    assert not is_one_line("a\u2028b")
