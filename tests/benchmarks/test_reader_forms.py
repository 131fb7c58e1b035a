"""The forms of `measurements/reader_forms.json` are read as people read them, and no other form is."""

from __future__ import annotations

from collections import defaultdict

import pytest

from measurements.reader_forms import FOREIGN, READERS, Form, forms, outcome

FORMS: dict[str, list[Form]] = defaultdict(list)
for form in forms():
    if form.kind != FOREIGN:
        FORMS[form.reader].append(form)

LEAST = {"citations": 0.98, "letters": 0.96}
"""Share of a reader's forms that must be read with their meaning; 0.93 for other readers."""
FALSE = {"citations": 2}
"""Number of allowed false readings: the reader takes citations in corner brackets for quotations."""


@pytest.mark.parametrize("reader", list(READERS))
def test_forms_are_read_as_people_read_them(reader: str) -> None:
    assert len(FORMS[reader]) > 40
    outcomes = {form.text: outcome(form) for form in FORMS[reader]}
    false = [text for text, reading in outcomes.items() if reading == "false"]
    assert len(false) <= FALSE.get(reader, 0), false
    read = sum(reading == "read" for reading in outcomes.values())
    assert read >= LEAST.get(reader, 0.93) * len(outcomes), [
        text for text, reading in outcomes.items() if reading == "unread"
    ]
