"""`site make`: items drafted from the notes that were drawn, and a sheet for people to check them.

What the use's module drafts lies in the private folder. When people have decided about
every item, `ready_items` builds the dataset of those that they kept.
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
"""The step's name in the journal when the dataset is built."""


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """What drafting brought.

    Attributes:
        items: how many there are.
        failed: what could not be drafted; the same command tries again.
    """

    items: int
    failed: int = 0


@dataclass(frozen=True, kw_only=True)
class Made:
    """What people kept, as the file that the dataset is built of.

    Attributes:
        source: the file.
        patients: item to patient, by pseudonyms.
        figures: what the review changed.
    """

    source: Path
    patients: Mapping[str, str]
    figures: Mapping[str, object]


class Maker(Protocol):
    """What a use's module has (`MAKER`)."""

    def draft(
        self, site: Site, patients: list[Patient], options: Make
    ) -> Drafted | None:
        """Drafts items, and keeps them in the private folder; None after a forecast."""

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """The drafts as people check them."""

    def made(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> Made:
        """The items that people kept."""

    def scoring(self, site: Site) -> Mapping[str, str]:
        """Settings of the task's scoring (`--task-args`)."""


def maker_of(site: Site) -> Maker:
    """What makes a site's items."""
    made: Maker = load(f"{use_of(site.settings).module}:MAKER")
    return made


def work_folder(site: Site) -> Path:
    """Where drafts lie."""
    return make_folder(site.private / "make")


def data_folder(site: Site) -> Path:
    """Where the built dataset lies."""
    return site.private / "data" / use_of(site.settings).dataset_of(site.settings)


def asked_maker(site: Site) -> str:
    """The model that drafts the items; "" where words or people do."""
    settings = site.settings
    by_hand = bool(settings.items) or settings.models.maker == LEXICAL
    return "" if by_hand else settings.models.maker


def drafting_cost(maker: str, patients: int, tokens: int) -> str:
    """What a model is asked, in two requests a patient that each hold all notes."""
    return f"about {2 * patients:,} requests and {2 * tokens:,} tokens read by {maker}"


def run(options: Make) -> int:
    """Drafts items, and writes the sheet for the desk."""
    site = open_site(options.folder)
    patients, maker = sampled(site), maker_of(site)
    if options.forecast and not asked_maker(site):
        tell("No model drafts these items, so that nobody would be asked.")
        return 0

    drafted = maker.draft(site, patients, options)
    if drafted is None:
        return 0

    if not drafted.items:
        raise UsageError(
            f"{site.path}: no item could be drafted. Give another maker in site.toml, or a table "
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
    """What a model reads of an item, as construction estimates tokens."""
    texts = [each for passage in item.passages for each in passage.sentences]
    return sum(map(estimate_tokens, [*texts, item.prompt]))


def _written(site: Site) -> list[Path]:
    """The table of items that people wrote, where there is one."""
    return [site.seen(site.settings.items)] if site.settings.items else []


def ready_items(site: Site) -> Path:
    """The folder of the dataset, built of the items that people kept.

    It is built again when a decision has changed since.

    Raises:
        MissingError: people have not decided about every item.
    """
    done = last(site, BUILT)
    folder = data_folder(site)
    if done is not None and not changed(site, done) and folder.is_dir():
        return folder

    decided, patients = final(site, ITEMS), sampled(site)
    made = maker_of(site).made(site, patients, decided)
    make_folder(folder.parent)
    dataset = use_of(site.settings).dataset_of(site.settings)
    try:
        build(Build(dataset=dataset, source=made.source, config=CONFIG, out=folder))
    except UsageError as error:
        raise UsageError(
            f"{error} If a reviewer changed that text, mend it at the desk: medical-tasks site "
            f"review {site.path}"
        ) from error

    _write_items(site, patients, made)
    answer(site, made.source)
    note_step(
        site,
        BUILT,
        inputs=[store_file(site, ITEMS), sheet_file(site, ITEMS), site.sample],
        outputs=[made.source, items_file(site)],
        figures={"items": len(made.patients), **made.figures},
    )

    return folder


def _write_items(site: Site, patients: list[Patient], made: Made) -> None:
    """Writes which item is whose, with the strata; see `sampling.strata_of`."""
    strata = {each.id: each.strata for each in patients}
    names = site.settings.strata
    rows = [
        (item, patient, *(strata[patient][name] for name in names))
        for item, patient in made.patients.items()
    ]
    write_table(items_file(site), [("item", "patient", *names), *rows])


def state(site: Site) -> State:
    """Where the step stands."""
    drawn, maker, cost = last(site, "sample"), asked_maker(site), ""
    if maker and drawn is not None:
        figures = drawn.figures
        cost = drafting_cost(maker, figures["drawn"], figures["tokens"])
    return journal_state(site, "make", ready="draft items from the notes", cost=cost)
