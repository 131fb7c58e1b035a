"""The review sheets of a site by name, and what people decided on them.

    items     drafted items, which people keep, drop or change
    labels    answers of the models, against which the judge is checked

Sheets and reviewers' notes are in the private folder, labels in `review/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import make_folder
from medical_tasks.io.output import tell
from medical_tasks.site.demo import rate
from medical_tasks.site.desk.labels import LabelStore
from medical_tasks.site.desk.sheets import Sheet, read_sheet, write_sheet
from medical_tasks.site.desk.work import Decided, Work
from medical_tasks.site.folder import Site
from medical_tasks.site.steps import State

ITEMS: Final = "items"
LABELS: Final = "labels"


def sheet_file(site: Site, name: str) -> Path:
    """The file of a sheet."""
    return site.private / "sheets" / f"{name}.json"


def store_file(site: Site, name: str) -> Path:
    """The file of a sheet's labels, with raters' notes and edits."""
    return site.private / "labels" / f"{name}.jsonl"


def sheets(site: Site) -> list[str]:
    """The names of the existing sheets, in the order of the work."""
    return [name for name in (ITEMS, LABELS) if sheet_file(site, name).is_file()]


def opened(site: Site, name: str) -> Work:
    """A sheet with its labels so far."""
    return Work(read_sheet(sheet_file(site, name)), LabelStore(store_file(site, name)))


def labelled(site: Site, name: str) -> set[str]:
    """The ids of the items on which anybody has worked; none without a sheet."""
    if not sheet_file(site, name).is_file():
        return set()
    return {label.item for label in opened(site, name).store.history}


def check_labelled(site: Site, sheet: Sheet) -> None:
    """Refuses a sheet that would change items on which people have worked.

    Items may be added.
    """
    path, labelled_ids = sheet_file(site, sheet.name), labelled(site, sheet.name)
    if not labelled_ids:
        return

    before, now = read_sheet(path).by_id, sheet.by_id
    changed_ids = [
        item
        for item in labelled_ids
        if item in before and now.get(item) != before[item]
    ]
    if changed_ids:
        raise UsageError(
            f"{path}: people have labelled {len(labelled_ids)} items of this sheet, and {len(changed_ids)} of "
            "them would be other ones now. The sheet is left as it is. Continue in another folder, "
            f"or move it and {store_file(site, sheet.name)} away, and give `site make` or "
            "`site run` again."
        )


def hand_over(site: Site, sheet: Sheet) -> None:
    """Writes a sheet for the desk.

    Raises:
        UsageError: the sheet would change labelled items (`check_labelled`).
    """
    check_labelled(site, sheet)
    path = sheet_file(site, sheet.name)
    make_folder(path.parent)
    write_sheet(path, sheet)
    rated = rate(site, sheet)
    if rated is not None:
        tell(f"invented raters' labels: medical-tasks site review --import {rated}")


def final(site: Site, name: str) -> Mapping[str, Decided]:
    """The decision on every item of a sheet, by id.

    Raises:
        MissingError: there is no such sheet, or an item is undecided.
    """
    if not sheet_file(site, name).is_file():
        raise MissingError(
            f"there is no sheet {name} yet. See: medical-tasks site status {site.path}"
        )

    decided = {decision.item: decision for decision in opened(site, name).decided()}
    waiting = [decision for decision in decided.values() if not decision.value]
    if waiting:
        differ = sum(decision.how == "disagreed" for decision in waiting)
        raise MissingError(
            f"{name}: {len(waiting):,} of {len(decided):,} items are not decided; raters differ on "
            f"{differ:,}, which {site.settings.reviewers.adjudicator} decides. Continue at the desk: "
            f"medical-tasks site review {site.path}"
        )

    return decided


def state(site: Site) -> State:
    """The state of the review, over all existing sheets."""
    from medical_tasks.site.uses import use_of

    use = use_of(site.settings)
    minutes = {ITEMS: use.item_minutes, LABELS: use.label_minutes}
    parts, waiting = [], 0.0
    for name in sheets(site):
        decided = list(opened(site, name).decided())
        left = sum(not decision.value for decision in decided)
        parts.append(f"{name}: {len(decided) - left:,} of {len(decided):,} decided")
        waiting += left * minutes[name]

    text = "; ".join(parts) or "no sheet yet"
    if waiting:
        people = len(site.settings.reviewers.names)
        cost = f"about {waiting:,.0f} minutes of each of {people} reviewers"
        return State("waiting", text, cost)

    return State("done", text) if parts else State("blocked", text)
