"""A sheet with its labels: who has what to label, and what is decided.

Raters see their own labels alone. The adjudicator sees the items that all their raters
have labelled and on which they differ, with the labels and without names.
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
"""How an item was decided; disagreed and open items are undecided."""
COLUMNS: Final = ("item", "stratum", "rater", "value", "at", "final", "how")
"""Columns of the CSV file of labels, which has no texts and no notes."""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The decision on an item.

    Attributes:
        item: its id.
        how: agreed by all, by its single rater, adjudicated, or not decided yet.
        value: the final label; "" if it is undecided.
        edits: the texts of changed fields, by name.
        note: the notes of its raters, joined.
        labels: the label of each rater, without the adjudicator's.
    """

    item: str
    how: How
    value: str = ""
    edits: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    labels: Mapping[str, Label] = field(default_factory=dict)

    @property
    def disagreed(self) -> tuple[str, ...]:
        """The raters whose value is not the final one."""
        if not self.value:
            return ()
        return tuple(
            name for name, label in self.labels.items() if label.value != self.value
        )


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How many of a person's items are labelled."""

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
        """Raters, then the adjudicator if there is one."""
        return (*self.sheet.raters, *filter(None, [self.sheet.adjudicator]))

    def items(self, person: str) -> tuple[str, ...]:
        """The ids of the items that a person labels, in order.

        The adjudicator's list grows while raters label, and adjudicated items stay in it.
        """
        if person != self.sheet.adjudicator:
            return self.sheet.shares[person]

        return tuple(
            decision.item
            for decision in self.decided()
            if decision.how in ("disagreed", "adjudicated")
        )

    def progress(self, person: str) -> Progress:
        """A person's progress."""
        own = self.items(person)
        done = sum(bool(self.label(person, identifier)) for identifier in own)
        return Progress(done=done, total=len(own))

    def label(self, person: str, item: str) -> str:
        """The value that a person gave an item; "" for none."""
        last_label = self.store.last(person, item)
        return last_label.value if last_label is not None else ""

    def decided(self) -> Iterator[Decided]:
        """The decision on each item, in the sheet's order."""
        return (self.decision(item.id) for item in self.sheet.items)

    def decision(self, item: str) -> Decided:
        """The decision on an item.

        How it came about (`Decided.how`):

            open          a rater has not labelled it, or it has no rater
            single        its only rater's label
            agreed        all raters' labels are alike, see `_comparable`
            disagreed     they are not, and the adjudicator has not labelled it
            adjudicated   the adjudicator's label
        """
        names = self.sheet.assigned[item]
        last_labels = {name: self.store.last(name, item) for name in names}
        labels = {
            name: label for name, label in last_labels.items() if label and label.value
        }
        note = "; ".join(label.note for label in labels.values() if label.note.strip())
        open_decision = Decided(item=item, how="open", labels=labels, note=note)
        if not names or len(labels) < len(names):
            return open_decision

        if len({self._comparable(label) for label in labels.values()}) == 1:
            label = next(iter(labels.values()))
            how: How = "single" if len(names) == 1 else "agreed"
            return replace(open_decision, how=how, value=label.value, edits=label.edits)

        arbiter = self.store.last(self.sheet.adjudicator, item)
        if arbiter is None or not arbiter.value:
            return replace(open_decision, how="disagreed")

        joined = "; ".join(text for text in (note, arbiter.note) if text.strip())
        return replace(
            open_decision,
            how="adjudicated",
            value=arbiter.value,
            edits=arbiter.edits,
            note=joined,
        )

    def _comparable(self, label: Label) -> tuple[object, ...]:
        """What must be equal for agreement: the value, and the texts if they count.

        Example: two raters keep a question. One corrected its answer, the other left it: they
        disagree, unless the answers differ in white space alone.
        """
        item, choice = (
            self.sheet.by_id[label.item],
            self.sheet.by_value.get(label.value),
        )
        if choice is None or not choice.edits:
            return (label.value,)
        texts = (
            label.edits.get(editable.name, editable.text) for editable in item.editable
        )
        return (label.value, *(" ".join(text.split()) for text in texts))

    def opinions(self, item: str) -> list[Label]:
        """The raters' labels of an item, in an order that does not reveal the raters."""
        labels = self.decision(item).labels.items()

        def order(pair: tuple[str, Label]) -> str:
            text = f"{self.sheet.seed}:{item}:{pair[0]}"
            return hashlib.sha256(text.encode()).hexdigest()

        return [label for _, label in sorted(labels, key=order)]


def write_labels(path: Path, work: Work) -> int:
    """Writes the labels as CSV: ids, raters, values and times; returns the number of rows."""
    rows = list(_rows(work))
    write_table(path, COLUMNS, rows)
    return len(rows)


def labels_text(work: Work) -> str:
    """The same as text, for download."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in _rows(work):
        writer.writerow([escaped(str(row[name])) for name in COLUMNS])
    return stream.getvalue()


def _rows(work: Work) -> Iterator[dict[str, object]]:
    for decision in work.decided():
        for name, label in _all_labels(work, decision):
            yield {
                "item": decision.item,
                "stratum": work.sheet.by_id[decision.item].stratum,
                "rater": name,
                "value": label.value,
                "at": label.at,
                "final": decision.value,
                "how": decision.how,
            }


def _all_labels(work: Work, decision: Decided) -> list[tuple[str, Label]]:
    arbiter = work.store.last(work.sheet.adjudicator, decision.item)
    own = list(decision.labels.items())
    if arbiter is not None and arbiter.value:
        own.append((arbiter.rater, arbiter))
    return own


def import_labels(path: Path, work: Work) -> int:
    """Adds the labels of a CSV file that `write_labels` wrote; returns how many are new.

    Existing labels are skipped. If rows are invalid, one error names them all, and nothing
    is added.
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
            values = ", ".join(work.sheet.by_value)
            problems.append(f"{row.location('value')}: must be one of {values}")
        else:
            identity = f"{item}\n{rater}\n{value}\n{at}"
            digest = hashlib.sha256(identity.encode()).hexdigest()
            label = Label(
                id=f"import-{digest[:24]}",
                item=item,
                rater=rater,
                value=value,
                at=at or now(),
            )
            labels.append(label)

    refuse(problems)
    new = [label for label in labels if not _there(work, label)]
    return sum(work.store.add(label) for label in new)


def _there(work: Work, label: Label) -> bool:
    """Whether the store has this label, or a later one of the same rater."""
    last_label = work.store.last(label.rater, label.item)
    return last_label is not None and (
        last_label.value == label.value or last_label.at > label.at
    )
