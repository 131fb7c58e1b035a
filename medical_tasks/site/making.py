"""`site make`: drafts items from the sampled notes, and a sheet on which people check them.

Drafts are stored in the private folder. Once people have decided on every item,
`ready_items` builds the dataset from those that they kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from medical_tasks.construct.ehrnoteqa.sample import estimate_tokens
from medical_tasks.construct.medcalc.steps import LEXICAL
from medical_tasks.data.fetching import build
from medical_tasks.errors import UsageError
from medical_tasks.io.files import make_folder
from medical_tasks.io.output import tell
from medical_tasks.io.tables import write_table
from medical_tasks.options import Build
from medical_tasks.plugins import load
from medical_tasks.site.demo import answer
from medical_tasks.site.desk.sheets import Item, Sheet
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site, changed, last, note_step, open_site
from medical_tasks.site.options import Make
from medical_tasks.site.reviewing import ITEMS, final, hand_over, sheet_file, store_file
from medical_tasks.site.sampling import Patient, items_file, sampled
from medical_tasks.site.steps import State, journal_state
from medical_tasks.site.uses import CONFIG, use_of

BUILT: Final = "items"
"""The journal's name for building the dataset."""


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """The result of drafting.

    Attributes:
        items: the number of drafts.
        failed: how many drafts failed; the same command retries them.
    """

    items: int
    failed: int = 0


@dataclass(frozen=True, kw_only=True)
class KeptItems:
    """The items that people kept.

    Attributes:
        source: the file from which the dataset is built.
        patients: the patient of each item, both as pseudonyms.
        figures: how many items the review kept, changed and dropped.
    """

    source: Path
    patients: Mapping[str, str]
    figures: Mapping[str, object]


class Maker(Protocol):
    """How a use makes items: the `MAKER` of its module."""

    def draft(
        self, site: Site, patients: list[Patient], options: Make
    ) -> Drafted | None:
        """Drafts items into the private folder; None after a forecast."""

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """The sheet on which people check the drafts."""

    def kept_items(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> KeptItems:
        """Writes the items that people kept, as the source of the dataset."""

    def scoring(self, site: Site) -> Mapping[str, str]:
        """The task's scoring settings (`--task-args`)."""


def maker_of(site: Site) -> Maker:
    """The maker of a site's use."""
    maker: Maker = load(f"{use_of(site.settings).module}:MAKER")
    return maker


def work_folder(site: Site) -> Path:
    """The folder of drafts."""
    return make_folder(site.private / "make")


def data_folder(site: Site) -> Path:
    """The folder of the built dataset."""
    return site.private / "data" / use_of(site.settings).dataset_of(site.settings)


def asked_maker(site: Site) -> str:
    """The model that drafts the items; "" if people or word rules do."""
    settings = site.settings
    by_hand = bool(settings.items) or settings.models.maker == LEXICAL
    return "" if by_hand else settings.models.maker


def drafting_cost(maker: str, patients: int, tokens: int) -> str:
    """The cost of drafting: two requests a patient, each with all notes."""
    return f"about {2 * patients:,} requests and {2 * tokens:,} tokens read by {maker}"


def run(options: Make) -> int:
    """Drafts items, and writes their sheet for the desk."""
    site = open_site(options.folder)
    patients, maker = sampled(site), maker_of(site)
    if options.forecast and not asked_maker(site):
        tell("No model drafts these items, so nobody would be asked.")
        return 0

    drafted = maker.draft(site, patients, options)
    if drafted is None:
        return 0

    if not drafted.items:
        raise UsageError(
            f"{site.path}: no item could be drafted. Name another maker in site.toml, or a table "
            "of items that people wrote (items)."
        )

    sheet = maker.sheet(site, patients)
    hand_over(site, sheet)
    note_step(
        site,
        "make",
        inputs=[
            *(site.notes, site.sample, *_written(site)),
            *(f"site.toml:{key}" for key in ("models.maker", "items", "calculators")),
        ],
        outputs=[sheet_file(site, ITEMS)],
        figures={
            "items": drafted.items,
            "failed": drafted.failed,
            "tokens": sum(map(_tokens, sheet.items)),
        },
    )
    failed = (
        f" {drafted.failed:,} could not be drafted; the same command tries again."
        if drafted.failed
        else ""
    )
    tell(
        f"{drafted.items:,} items for people to check.{failed} Next: medical-tasks site review",
        items=drafted.items,
        failed=drafted.failed,
    )

    return 5 if drafted.failed else 0


def _tokens(item: Item) -> int:
    """The tokens of an item that a model reads, by construction's estimate."""
    texts = [sentence for passage in item.passages for sentence in passage.sentences]
    return sum(map(estimate_tokens, [*texts, item.prompt]))


def _written(site: Site) -> list[Path]:
    """The table of items that people wrote, if there is one."""
    return [site.seen(site.settings.items)] if site.settings.items else []


def ready_items(site: Site) -> Path:
    """The folder of the dataset of the items that people kept.

    Rebuilds it if drafts or decisions have changed since.

    Raises:
        MissingError: people have not decided on every item.
        UsageError: an item that people kept is invalid.
    """
    done = last(site, BUILT)
    folder = data_folder(site)
    if done is not None and not changed(site, done) and folder.is_dir():
        return folder

    decided, patients = final(site, ITEMS), sampled(site)
    kept = maker_of(site).kept_items(site, patients, decided)
    make_folder(folder.parent)
    dataset = use_of(site.settings).dataset_of(site.settings)
    try:
        build(Build(dataset=dataset, source=kept.source, config=CONFIG, out=folder))
    except UsageError as error:
        raise UsageError(
            f"{error} If a reviewer changed that text, correct it at the desk: medical-tasks site "
            f"review {site.path}"
        ) from error

    _write_items(site, patients, kept)
    answer(site, kept.source)
    note_step(
        site,
        BUILT,
        inputs=[store_file(site, ITEMS), sheet_file(site, ITEMS), site.sample],
        outputs=[kept.source, items_file(site)],
        figures={"items": len(kept.patients), **kept.figures},
    )

    return folder


def _write_items(site: Site, patients: list[Patient], kept: KeptItems) -> None:
    """Writes the patient and the strata of each item; see `sampling.strata_of`."""
    strata = {patient.id: patient.strata for patient in patients}
    names = site.settings.strata
    rows = [
        (item, owner, *(strata[owner][name] for name in names))
        for item, owner in kept.patients.items()
    ]
    write_table(items_file(site), [("item", "patient", *names), *rows])


def state(site: Site) -> State:
    """The state of the step."""
    drawn, maker, cost = last(site, "sample"), asked_maker(site), ""
    if maker and drawn is not None:
        figures = drawn.figures
        cost = drafting_cost(maker, figures["drawn"], figures["tokens"])
    return journal_state(site, "make", ready="draft items from the notes", cost=cost)
