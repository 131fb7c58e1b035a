"""A sheet with its labels: who has what to do, and what is decided.

Raters see their own labels alone. The adjudicator sees the items on which all who label
them are done and differ, with what was said and without who said it.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from medical_tasks.io.cells import escaped
from medical_tasks.io.tables import read_sheet as read_table
from medical_tasks.io.tables import refuse
from medical_tasks.io.tables import write_sheet as write_table
from medical_tasks.site.desk.labels import Label, LabelStore, check_names, now
from medical_tasks.site.desk.sheets import Sheet

How = Literal["agreed", "single", "adjudicated", "disagreed", "open"]
"""How an item was decided; disagreed and open ones are not yet."""
COLUMNS: Final = ("item", "stratum", "rater", "value", "at", "final", "how")
"""Of the CSV file of labels, which has no text and no note."""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What is decided of an item.

    Attributes:
        item: its id.
        how: agreed by all, said by its single rater, adjudicated, or not decided yet.
        value: the final label; "" where it is not decided.
        edits: field to text, of the fields that were changed.
        note: of those who labelled it, joined.
        labels: what each of its raters said, without the adjudicator.
    """

    item: str
    how: How
    value: str = ""
    edits: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    labels: Mapping[str, Label] = field(default_factory=dict)

    @property
    def disagreed(self) -> tuple[str, ...]:
        """Who said another value than the final one."""
        if not self.value:
            return ()
        return tuple(
            name for name, label in self.labels.items() if label.value != self.value
        )


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far somebody is."""

    done: int
    total: int


class Work:
    """A sheet and the store of its labels."""

    def __init__(self, sheet: Sheet, store: LabelStore) -> None:
        self.sheet, self.store = sheet, store
        people = {*sheet.raters, *filter(None, [sheet.adjudicator])}
        check_names(store.path, store, people)

    @property
    def people(self) -> tuple[str, ...]:
        """Raters, then the adjudicator where there is one."""
        return (*self.sheet.raters, *filter(None, [self.sheet.adjudicator]))

    def items(self, person: str) -> tuple[str, ...]:
        """Whose turn it is: ids of what a person labels, in order.

        The adjudicator's grow while raters label, and what was adjudicated stays.
        """
        if person != self.sheet.adjudicator:
            return self.sheet.shares[person]

        return tuple(
            each.item
            for each in self.decided()
            if each.how in ("disagreed", "adjudicated")
        )

    def progress(self, person: str) -> Progress:
        """How many of a person's items have a label."""
        own = self.items(person)
        done = sum(bool(self.label(person, identifier)) for identifier in own)
        return Progress(done=done, total=len(own))

    def label(self, person: str, item: str) -> str:
        """The value that somebody gave an item; "" for none."""
        found = self.store.last(person, item)
        return found.value if found is not None else ""

    def decided(self) -> Iterator[Decided]:
        """What is decided of each item, in the sheet's order."""
        return (self.decision(item.id) for item in self.sheet.items)

    def decision(self, item: str) -> Decided:
        """What is decided of an item."""
        names = self.sheet.assigned[item]
        found = {name: self.store.last(name, item) for name in names}
        labels = {name: each for name, each in found.items() if each and each.value}
        note = "; ".join(each.note for each in labels.values() if each.note.strip())
        made = Decided(item=item, how="open", labels=labels, note=note)
        if not names or len(labels) < len(names):
            return made

        if len({self._said(each) for each in labels.values()}) == 1:
            label = next(iter(labels.values()))
            how: How = "single" if len(names) == 1 else "agreed"
            return replace(made, how=how, value=label.value, edits=label.edits)

        arbiter = self.store.last(self.sheet.adjudicator, item)
        if arbiter is None or not arbiter.value:
            return replace(made, how="disagreed")

        joined = "; ".join(each for each in (note, arbiter.note) if each.strip())
        return replace(
            made,
            how="adjudicated",
            value=arbiter.value,
            edits=arbiter.edits,
            note=joined,
        )

    def _said(self, label: Label) -> tuple[object, ...]:
        """What of a label must be alike: the value, and the texts where they matter."""
        item, choice = (
            self.sheet.by_id[label.item],
            self.sheet.by_value.get(label.value),
        )
        if choice is None or not choice.edits:
            return (label.value,)
        texts = (label.edits.get(each.name, each.text) for each in item.editable)
        return (label.value, *(" ".join(text.split()) for text in texts))

    def opinions(self, item: str) -> list[Label]:
        """What raters said of an item, in an order that says nothing of who they are."""
        labels = self.decision(item).labels.items()

        def place(pair: tuple[str, Label]) -> str:
            text = f"{self.sheet.seed}:{item}:{pair[0]}"
            return hashlib.sha256(text.encode()).hexdigest()

        return [label for _, label in sorted(labels, key=place)]


def write_labels(path: Path, work: Work) -> int:
    """Writes the labels as CSV: ids, raters, values and times; returns the number of rows."""
    rows = list(_rows(work))
    write_table(path, COLUMNS, rows)
    return len(rows)


def labels_text(work: Work) -> str:
    """The same as text, for a browser to keep."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in _rows(work):
        writer.writerow([escaped(str(row[name])) for name in COLUMNS])
    return stream.getvalue()


def _rows(work: Work) -> Iterator[dict[str, object]]:
    for each in work.decided():
        for name, label in _all_labels(work, each):
            yield {
                "item": each.item,
                "stratum": work.sheet.by_id[each.item].stratum,
                "rater": name,
                "value": label.value,
                "at": label.at,
                "final": each.value,
                "how": each.how,
            }


def _all_labels(work: Work, each: Decided) -> list[tuple[str, Label]]:
    arbiter = work.store.last(work.sheet.adjudicator, each.item)
    own = list(each.labels.items())
    if arbiter is not None and arbiter.value:
        own.append((arbiter.rater, arbiter))
    return own


def import_labels(path: Path, work: Work) -> int:
    """Adds the labels of a CSV file that `write_labels` wrote; returns how many are new.

    A label that is there already is not doubled. What is wrong with the rows is told
    together, and then nothing is added.
    """
    problems, labels = [], []
    for row in read_table(path, COLUMNS):
        item, rater, value, at = (
            row.cells[name].strip() for name in ("item", "rater", "value", "at")
        )
        own = rater == work.sheet.adjudicator or item in work.sheet.shares.get(
            rater, ()
        )
        if item not in work.sheet.by_id or not own:
            problems.append(f"{row.location('item')}: is no item of this rater here")
        elif value not in work.sheet.by_value:
            known = ", ".join(work.sheet.by_value)
            problems.append(f"{row.location('value')}: must be one of {known}")
        else:
            told = f"{item}\n{rater}\n{value}\n{at}"
            digest = hashlib.sha256(told.encode()).hexdigest()
            label = Label(
                id=f"import-{digest[:24]}",
                item=item,
                rater=rater,
                value=value,
                at=at or now(),
            )
            labels.append(label)

    refuse(problems)
    wanted = [label for label in labels if not _there(work, label)]
    return sum(work.store.add(label) for label in wanted)


def _there(work: Work, label: Label) -> bool:
    """Whether a label is held already, or a later one of the same rater is."""
    found = work.store.last(label.rater, label.item)
    return found is not None and (found.value == label.value or found.at > label.at)
