"""What people read at once is read, and nothing is read that they cannot tell: the forms of `measurements/reader_forms.json`."""

from __future__ import annotations

from collections import defaultdict

import pytest

from measurements.reader_forms import FOREIGN, READERS, Form, forms, outcome

FORMS: dict[str, list[Form]] = defaultdict(list)
for form in forms():
    if form.kind != FOREIGN:
        FORMS[form.reader].append(form)

LEAST = {"citations": 0.98, "letters": 0.96}
"""Share of a reader's forms that are read as they are meant; of judges' replies 97 in 100."""
FALSE = {"citations": 2}
"""Corner brackets are quotation marks to the reader of citations, which sees none there."""


@pytest.mark.parametrize("reader", list(READERS))
def test_forms_are_read_as_people_read_them(reader: str) -> None:
    assert len(FORMS[reader]) > 40
    said = {one.text: outcome(one) for one in FORMS[reader]}
    false = [text for text, how in said.items() if how == "false"]
    assert len(false) <= FALSE.get(reader, 0), false
    read = sum(how == "read" for how in said.values())
    assert read >= LEAST.get(reader, 0.93) * len(said), [
        text for text, how in said.items() if how == "unread"
    ]
