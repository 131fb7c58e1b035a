"""What people are handed for review, and what they said: sheets of the desk, by name.

    items     the drafted items: kept, dropped or changed
    labels    answers of the models: what the judge is checked against

A sheet with its texts lies in the private folder, so do notes; labels lie in `review/`.
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
    """Where a sheet lies."""
    return site.private / "sheets" / f"{name}.json"


def store_file(site: Site, name: str) -> Path:
    """Where the labels of a sheet lie, with raters' notes and edits."""
    return site.private / "labels" / f"{name}.jsonl"


def sheets(site: Site) -> list[str]:
    """The sheets that there are, in the order of the work."""
    return [name for name in (ITEMS, LABELS) if sheet_file(site, name).is_file()]


def opened(site: Site, name: str) -> Work:
    """A sheet with its labels so far."""
    return Work(read_sheet(sheet_file(site, name)), LabelStore(store_file(site, name)))


def labelled(site: Site, name: str) -> set[str]:
    """The items of a sheet of which somebody has said something; none without a sheet."""
    if not sheet_file(site, name).is_file():
        return set()
    return {label.item for label in opened(site, name).store.history}


def check_labelled(site: Site, sheet: Sheet) -> None:
    """Refuses a sheet of which people have labelled items that are other ones now.

    Items may be added, and nothing that was labelled changes.
    """
    path, told = sheet_file(site, sheet.name), labelled(site, sheet.name)
    if not told:
        return

    before, now = read_sheet(path).by_id, sheet.by_id
    other = [each for each in told if each in before and now.get(each) != before[each]]
    if other:
        raise UsageError(
            f"{path}: people have labelled {len(told)} items of this sheet, and {len(other)} of "
            "them would be other ones now. The sheet is left as it is. Go on in another folder, "
            f"or move it and {store_file(site, sheet.name)} away, and give `site make` or "
            "`site run` again."
        )


def hand_over(site: Site, sheet: Sheet) -> None:
    """Writes a sheet for the desk.

    Raises:
        UsageError: people are labelling another one of this name (`check_labelled`).
    """
    check_labelled(site, sheet)
    path = sheet_file(site, sheet.name)
    make_folder(path.parent)
    write_sheet(path, sheet)
    rated = rate(site, sheet)
    if rated is not None:
        tell(f"invented raters' labels: medical-tasks site review --import {rated}")


def final(site: Site, name: str) -> Mapping[str, Decided]:
    """What was decided of every item of a sheet.

    Raises:
        MissingError: there is no such sheet, or something is not decided yet.
    """
    if not sheet_file(site, name).is_file():
        raise MissingError(
            f"there is no sheet {name} yet. See: medical-tasks site status {site.path}"
        )

    found = {each.item: each for each in opened(site, name).decided()}
    waiting = [each for each in found.values() if not each.value]
    if waiting:
        differ = sum(each.how == "disagreed" for each in waiting)
        raise MissingError(
            f"{name}: {len(waiting):,} of {len(found):,} items are not decided; raters differ on "
            f"{differ:,}, which {site.settings.reviewers.adjudicator} decides. Go on at the desk: "
            f"medical-tasks site review {site.path}"
        )

    return found


def state(site: Site) -> State:
    """Where the review stands: of the sheets that there are."""
    from medical_tasks.site.uses import use_of

    use = use_of(site.settings)
    minutes = {ITEMS: use.item_minutes, LABELS: use.label_minutes}
    said, waiting = [], 0.0
    for name in sheets(site):
        found = list(opened(site, name).decided())
        left = sum(not each.value for each in found)
        said.append(f"{name}: {len(found) - left:,} of {len(found):,} decided")
        waiting += left * minutes[name]

    text = "; ".join(said) or "no sheet yet"
    if waiting:
        people = len(site.settings.reviewers.names)
        cost = f"about {waiting:,.0f} minutes of each of {people} reviewers"
        return State("waiting", text, cost)

    return State("done", text) if said else State("blocked", text)
