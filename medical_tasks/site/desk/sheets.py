"""What is labelled at the desk: items with the texts to read, choices, and who labels which.

A sheet is one JSON file with texts, for its owner alone: it lies where the texts may
lie. `write_sheet` and `read_sheet` are the whole of its form.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
    """One of the labels there are.

    Attributes:
        key: the key that gives it, one sign.
        value: what is kept, such as `keep`.
        label: what the page says.
        needs: fields that must not be empty with it.
        edits: whether it matters what stands in the fields; it does not where an item
            is dropped.
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
        sentences: its pieces in order, which together are the text (`sentences_of`).
        cited: numbers of those to mark, from 0.
    """

    title: str
    sentences: tuple[str, ...]
    cited: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Field:
    """A text of the item that raters may change.

    Attributes:
        name: as the sheet's form knows it, such as `choice_a`.
        label: what the page says.
        text: what stands in it at first.
        longest: characters it may have.
    """

    name: str
    label: str
    text: str = ""
    longest: int = _LONGEST_FIELD


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to label.

    Attributes:
        id: a pseudonym, which stands in what leaves the desk; never a record number.
        prompt: what is asked, above all else.
        passages: what to read.
        answer: what is judged, beside the passages; "" for nothing.
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
    """What is labelled, by whom.

    Attributes:
        name: of its files: small letters, digits, - and _.
        title: above the page.
        instruction: what raters go by, in a few sentences.
        choices: the labels there are.
        items: in the order in which they are shown.
        raters: who labels; nobody sees another's labels.
        adjudicator: who decides where raters differ; "" for nobody.
        overlap: how many items all raters label, None for all of them; of the others
            each has one rater.
        seed: decides who labels what.
        orders: rater to ids, where an earlier step has shared the items out.
        marked: how the marked sentences were found, for the page; "" where none are.
        form: whose file it was made of (`forms`); "" for labels alone.
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
        """Rater to the ids that are theirs, in the order in which they get them."""
        ids = tuple(item.id for item in self.items)
        if self.orders:
            return self.orders
        if self.overlap is None or len(self.raters) == 1:
            return dict.fromkeys(self.raters, ids)
        shared = shared_sheets(ids, self.raters, overlap=self.overlap, seed=self.seed)
        return {name: tuple(own) for name, own in shared["sheets"].items()}

    @functools.cached_property
    def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """Item to those who label it."""
        found: dict[str, list[str]] = {item.id: [] for item in self.items}
        for rater, ids in self.shares.items():
            for identifier in ids:
                found[identifier].append(rater)
        return {identifier: tuple(names) for identifier, names in found.items()}

    def lacking(self, item: Item, value: str, edits: Mapping[str, str]) -> str:
        """Says which field a choice needs and has not; "" for none."""
        for name in self.by_value[value].needs:
            for each in item.editable:
                if each.name == name and not edits.get(name, each.text).strip():
                    return each.label
        return ""


def _problems(sheet: Sheet) -> Iterable[str]:
    """Everything that makes a sheet unfit to be labelled."""
    if not NAME.fullmatch(sheet.name):
        yield "its name must be up to 40 small letters, digits, - and _"
    if not sheet.items:
        yield "it has no items"
    if len(sheet.by_id) < len(sheet.items):
        yield "two items have one id"
    if not sheet.choices or len(sheet.by_value) < len(sheet.choices):
        yield "it needs choices of different values"

    keys = [choice.key for choice in sheet.choices]
    wrong = [key for key in keys if len(key) != 1 or key.lower() in RESERVED]
    if wrong or len({key.lower() for key in keys}) < len(keys):
        kept = " ".join(sorted(RESERVED))
        yield f"each choice needs one key of its own, and none of {kept}"

    people = (*sheet.raters, *filter(None, [sheet.adjudicator]))
    if not sheet.raters:
        yield "nobody labels it"
    elif len({name.casefold() for name in people}) < len(people):
        yield "raters and adjudicator must have different names"
    else:
        parse_names(",".join(people))

    strange = sheet.orders.keys() ^ set(sheet.raters) if sheet.orders else set()
    unknown = {each for own in sheet.orders.values() for each in own} - {*sheet.by_id}
    if strange or unknown:
        yield f"it is shared out otherwise: {listed(sorted(strange | unknown), _SHOWN)}"


def sentences_of(text: str) -> tuple[str, ...]:
    r"""Cuts a text into sentences, of which nothing is lost: joined, they are the text.

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

    A help to find the place, no evidence: words of under four letters and sentences
    that share less than a fifth of the text's words do not count. Numbers do.
    """
    wanted = _words(text)
    shared = {
        number: len(wanted & _words(sentence))
        for number, sentence in enumerate(sentences)
    }
    least = max(1.0, len(wanted) / 5)
    ranked = sorted(shared, key=lambda number: (-shared[number], number))

    return frozenset(number for number in ranked[:most] if shared[number] >= least)


def _words(text: str) -> set[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return {word for word in words if len(word) >= _SHORTEST or word.isdigit()}


def write_sheet(path: Path, sheet: Sheet) -> None:
    """Writes a sheet, whole and for its owner alone."""
    values = dataclasses.asdict(sheet)
    text = json.dumps(values, ensure_ascii=False, indent=1, default=sorted)
    with WholeFile(path, private=True) as part:
        part.write_bytes(text.encode("utf-8", "replace") + b"\n")


def read_sheet(path: Path) -> Sheet:
    """Reads what `write_sheet` wrote; a message never shows what stands there."""
    from pydantic import TypeAdapter, ValidationError

    again = "Do the step that writes it again."
    with readable(path, missing=again, again=again):
        text = read_text(path)

    try:
        return TypeAdapter(Sheet).validate_json(text)
    except ValidationError as error:
        places = [".".join(map(str, each["loc"])) for each in error.errors()]
        raise UsageError(
            f"{path}: not a sheet as medical-tasks writes it: wrong at "
            f"{listed(places, _SHOWN)}. {again}"
        ) from None
