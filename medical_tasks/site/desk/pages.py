"""What the desk's page shows: HTML by templates, and items as JSON that the page sets as text.

Nothing of a note becomes HTML: templates escape, and the script sets text nodes alone.
Signs that no reader sees but that change what others look like (control characters,
overrides of the direction of writing) are shown by their number.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Final, NamedTuple, TypedDict

from medical_tasks.site.desk.agreement import PairAgreement
from medical_tasks.site.desk.labels import Label
from medical_tasks.site.desk.sheets import Item
from medical_tasks.site.desk.work import Work

# C0 but tab and line ends, delete, C1, embeddings and isolates of bidirectional text,
# lone surrogates, tags.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Shows the signs that nobody would see, by their number.

    Example: an override turns what follows around, so that "no" reads "on".
        >>> visible("says \u202eon\u202c")
        'says [U+202E]on[U+202C]'
    """
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


class Asset(NamedTuple):
    """A file of the page.

    Attributes:
        address: with the hash of its content.
        integrity: by which the browser checks it.
    """

    name: str
    kind: str
    address: str
    integrity: str
    content: bytes


@functools.cache
def assets() -> Mapping[str, Asset]:
    """The script and the style, by name."""
    kinds = {"desk.js": "text/javascript", "desk.css": "text/css"}
    loaded = {}
    for name, kind in kinds.items():
        content = (files(__package__) / "assets" / name).read_bytes()
        digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
        address = f"/assets/{hashlib.sha256(content).hexdigest()[:16]}/{name}"
        loaded[name] = Asset(name, kind, address, f"sha384-{digest}", content)
    return loaded


def desk_page(works: Mapping[str, Work], work: Work, person: str) -> str:
    """The page in which a person labels one sheet, with links to their other sheets."""
    sheets = [
        {
            "name": sheet_work.sheet.name,
            "title": visible(sheet_work.sheet.title),
            "progress": sheet_work.progress(person),
        }
        for sheet_work in works.values()
        if person in sheet_work.people
    ]
    return _rendered(
        "desk.html.jinja",
        sheet=work.sheet,
        sheets=sheets,
        person=person,
        adjudicates=person == work.sheet.adjudicator,
    )


def plain_page(title: str, text: str, *, refresh: bool = False) -> str:
    """A page that says one thing; with `refresh` it leads on to the desk."""
    return _rendered("plain.html.jinja", title=title, text=text, refresh=refresh)


def _rendered(name: str, **values: object) -> str:
    return str(
        _environment().get_template(name).render(assets=assets(), **values)  # type: ignore[attr-defined]
    )


@functools.cache
def _environment() -> object:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("medical_tasks.site.desk"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class SentenceShown(TypedDict):
    """A sentence, and whether it is marked."""

    text: str
    cited: bool


class OpinionShown(TypedDict):
    """What a rater said, for the adjudicator; not who."""

    value: str
    label: str
    note: str
    edits: dict[str, str]


class ItemShown(TypedDict):
    """An item as the page gets it; fields as they are, all else by `visible`."""

    id: str
    prompt: str
    answer: str
    passages: list[dict[str, object]]
    fields: list[dict[str, object]]
    value: str
    note: str
    opinions: list[OpinionShown]


def item_shown(work: Work, person: str, item: Item) -> ItemShown:
    """Gives the page an item, with what this person said of it.

    What others said stands in it for the adjudicator alone.
    """
    own = work.store.last(person, item.id)
    edits = dict(own.edits) if own is not None else {}
    adjudicates = person == work.sheet.adjudicator

    return {
        "id": item.id,
        "prompt": visible(item.prompt),
        "answer": visible(item.answer),
        "passages": [
            {
                "title": visible(passage.title),
                "sentences": _sentences(passage.sentences, passage.cited),
            }
            for passage in item.passages
        ],
        "fields": [
            {
                "name": editable.name,
                "label": editable.label,
                "text": edits.get(editable.name, editable.text),
                "given": editable.text,
                "longest": editable.longest,
            }
            for editable in item.editable
        ],
        "value": own.value if own is not None else "",
        "note": own.note if own is not None else "",
        "opinions": (
            [_opinion(work, item, label) for label in work.opinions(item.id)]
            if adjudicates
            else []
        ),
    }


def _sentences(texts: Sequence[str], cited: frozenset[int]) -> list[SentenceShown]:
    return [
        {"text": visible(text), "cited": number in cited}
        for number, text in enumerate(texts)
    ]


def _opinion(work: Work, item: Item, label: Label) -> OpinionShown:
    choice = work.sheet.by_value.get(label.value)
    changed = {
        editable.name: label.edits[editable.name]
        for editable in item.editable
        if label.edits.get(editable.name, editable.text) != editable.text
    }
    return {
        "value": label.value,
        "label": choice.label if choice is not None else label.value,
        "note": visible(label.note),
        "edits": changed,
    }


def agreement_lines(pairs: Sequence[PairAgreement]) -> list[str]:
    """Says in a line a pair how far they agree."""
    lines = []
    for pair in pairs:
        raw, kappa = pair.raw, pair.kappa
        kappa_text = (
            f"{kappa.value:.2f} (95 % interval {kappa.ci_low:.2f} to {kappa.ci_high:.2f})"
            if kappa.value == kappa.value
            else "not defined, as both used one choice alone"
        )
        lines.append(
            f"{pair.raters[0]} and {pair.raters[1]}: {100 * raw.value:.0f} % of {raw.n} "
            f"(95 % interval {100 * raw.ci_low:.0f} to {100 * raw.ci_high:.0f} %), "
            f"kappa {kappa_text}."
        )

    return lines
