"""Sheets of the desk: items with the texts to read, choices, and who labels which.

A sheet is one JSON file with texts, readable for its owner alone, in a folder where texts
may be. `write_sheet` and `read_sheet` define its form.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from medical_tasks.construct.annotation import parse_names, shared_sheets
from medical_tasks.errors import UsageError, listed
from medical_tasks.io.files import WholeFile, read_text, readable
from medical_tasks.scoring.sentences import punkt_spans

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
RESERVED: Final = frozenset("hmnu?.,")
"""Keys that the page uses itself: help, mark, note, undo, forward and back."""
_SHOWN: Final = 5
_LONGEST_FIELD: Final = 20_000


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A label that a rater may choose.

    Attributes:
        key: its key on the keyboard, one character.
        value: the stored value, such as `keep`.
        label: the text of its button.
        needs: fields that it requires to be filled in.
        edits: whether changes of the fields count; they do not if an item is dropped.
    """

    key: str
    value: str
    label: str
    needs: tuple[str, ...] = ()
    edits: bool = True


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text to read beside the item.

    Attributes:
        title: such as `Note 1 of 2, 12 May`.
        sentences: the pieces of the text in order (`sentences_of`).
        cited: indices of the pieces to mark.
    """

    title: str
    sentences: tuple[str, ...]
    cited: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Field:
    """A text of the item that raters may change.

    Attributes:
        name: its name in the sheet's form, such as `choice_a`.
        label: its label on the page.
        text: its initial text.
        longest: the largest number of characters.
    """

    name: str
    label: str
    text: str = ""
    longest: int = _LONGEST_FIELD


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to label.

    Attributes:
        id: a pseudonym, which exported labels name; never a record number.
        prompt: the question, at the top.
        passages: the texts to read.
        answer: the text to judge, beside the passages; "" for none.
        editable: its fields.
        stratum: the group by which labels are counted; "" for none.
    """

    id: str
    prompt: str
    passages: tuple[Passage, ...] = ()
    answer: str = ""
    editable: tuple[Field, ...] = ()
    stratum: str = ""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Items to label, with their raters.

    Attributes:
        name: the name of its files: small letters, digits, - and _.
        title: the title of the page.
        instruction: the rules for raters, in a few sentences.
        choices: the possible labels.
        items: the items in the order of display.
        raters: who labels; nobody sees another's labels.
        adjudicator: who decides if raters differ; "" for nobody.
        overlap: how many items all raters label, None for all; each other item has one
            rater.
        seed: the seed by which items are shared out.
        orders: the ids for each rater, if an earlier step has shared the items out.
        marked: how the marked sentences were found, for the page; "" if none are marked.
        form: the form of its source file (`forms`); "" for labels alone.
        private: whether its texts are credentialed.
    """

    name: str
    title: str
    instruction: str
    choices: tuple[Choice, ...]
    items: tuple[Item, ...]
    raters: tuple[str, ...]
    adjudicator: str = ""
    overlap: int | None = None
    seed: int = 0
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    marked: str = ""
    form: str = ""
    private: bool = True

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise UsageError(
                f"the sheet {self.name!r} cannot be labelled: {'; '.join(problems)}."
            )

    @functools.cached_property
    def by_id(self) -> Mapping[str, Item]:
        """The items by their ids."""
        return {item.id: item for item in self.items}

    @functools.cached_property
    def by_value(self) -> Mapping[str, Choice]:
        """The choices by their values."""
        return {choice.value: choice for choice in self.choices}

    @functools.cached_property
    def shares(self) -> Mapping[str, tuple[str, ...]]:
        """The ids for each rater, in the order of labelling."""
        ids = tuple(item.id for item in self.items)
        if self.orders:
            return self.orders
        if self.overlap is None or len(self.raters) == 1:
            return dict.fromkeys(self.raters, ids)
        shared = shared_sheets(ids, self.raters, overlap=self.overlap, seed=self.seed)
        return {name: tuple(own) for name, own in shared["sheets"].items()}

    @functools.cached_property
    def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """The raters of each item."""
        raters_of: dict[str, list[str]] = {item.id: [] for item in self.items}
        for rater, ids in self.shares.items():
            for identifier in ids:
                raters_of[identifier].append(rater)
        return {identifier: tuple(names) for identifier, names in raters_of.items()}

    def lacking(self, item: Item, value: str, edits: Mapping[str, str]) -> str:
        """The label of a field that a choice requires and that is empty; "" for none."""
        for name in self.by_value[value].needs:
            for editable in item.editable:
                if editable.name == name and not edits.get(name, editable.text).strip():
                    return editable.label
        return ""


def _problems(sheet: Sheet) -> Iterator[str]:
    """Everything that makes a sheet unfit to be labelled."""
    if not NAME.fullmatch(sheet.name):
        yield "its name must be up to 40 small letters, digits, - and _"
    if not sheet.items:
        yield "it has no items"
    if len(sheet.by_id) < len(sheet.items):
        yield "two items have the same id"

    yield from _choice_problems(sheet.choices)
    yield from _people_problems(sheet.raters, sheet.adjudicator)
    yield from _order_problems(sheet)


def _choice_problems(choices: Sequence[Choice]) -> Iterator[str]:
    if not choices or len({choice.value for choice in choices}) < len(choices):
        yield "it needs choices of different values"

    keys = [choice.key.lower() for choice in choices]
    is_usable = all(len(key) == 1 and key not in RESERVED for key in keys)
    if not is_usable or len(set(keys)) < len(keys):
        reserved = " ".join(sorted(RESERVED))
        yield f"each choice needs one key of its own, and none of {reserved}"


def _people_problems(raters: Sequence[str], adjudicator: str) -> Iterator[str]:
    people = (*raters, *filter(None, [adjudicator]))
    if not raters:
        yield "nobody labels it"
    elif len({name.casefold() for name in people}) < len(people):
        yield "raters and adjudicator must have different names"
    else:
        parse_names(",".join(people))


def _order_problems(sheet: Sheet) -> Iterator[str]:
    """What an earlier step's orders have that the sheet has not, and the other way round."""
    if not sheet.orders:
        return

    strangers = sheet.orders.keys() ^ set(sheet.raters)
    ordered = {identifier for ids in sheet.orders.values() for identifier in ids}
    if differing := strangers | (ordered - sheet.by_id.keys()):
        yield f"it is shared out otherwise: {listed(sorted(differing), _SHOWN)}"


def sentences_of(text: str) -> tuple[str, ...]:
    r"""Splits a text into sentences that are the whole text when joined.

    Example:
        >>> sentences_of("Fever. No cough.\nPlan: rest")
        ('Fever. ', 'No cough.\n', 'Plan: rest')
    """
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        starts = [start for start, _ in punkt_spans(line)][1:]
        bounds = [0, *starts, len(line)]
        pieces += [line[a:b] for a, b in itertools.pairwise(bounds) if b > a]

    return tuple(pieces)


_WORD: Final = re.compile(r"\w+")
_SHORTEST: Final = 4


def sharing_words(
    sentences: Sequence[str], text: str, *, most: int = 3
) -> frozenset[int]:
    """Finds the sentences that share most words with a text, to mark them for a reader.

    This helps to find the place and is no evidence. Words of under four letters do not
    count, nor sentences that share less than a fifth of the text's words; numbers do.
    """
    words = _words(text)
    shared = {
        number: len(words & _words(sentence))
        for number, sentence in enumerate(sentences)
    }
    least = max(1.0, len(words) / 5)
    ranked = sorted(shared, key=lambda number: (-shared[number], number))

    return frozenset(number for number in ranked[:most] if shared[number] >= least)


def _words(text: str) -> set[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return {word for word in words if len(word) >= _SHORTEST or word.isdigit()}


def write_sheet(path: Path, sheet: Sheet) -> None:
    """Writes a sheet atomically, readable for its owner alone."""
    values = dataclasses.asdict(sheet)
    text = json.dumps(values, ensure_ascii=False, indent=1, default=sorted)
    with WholeFile(path, private=True) as stream:
        stream.write_bytes(text.encode("utf-8", "replace") + b"\n")


def read_sheet(path: Path) -> Sheet:
    """Reads a sheet that `write_sheet` wrote; no message quotes its content."""
    from pydantic import TypeAdapter, ValidationError

    again = "Do the step that writes it again."
    with readable(path, missing=again, again=again):
        text = read_text(path)

    try:
        return TypeAdapter(Sheet).validate_json(text)
    except ValidationError as error:
        places = [".".join(map(str, problem["loc"])) for problem in error.errors()]
        raise UsageError(
            f"{path}: not a sheet as medical-tasks writes it: wrong at "
            f"{listed(places, _SHOWN)}. {again}"
        ) from None
