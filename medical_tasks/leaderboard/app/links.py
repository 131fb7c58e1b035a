"""Addresses within the app: what is after the `?`, made and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from medical_tasks.report.html_text import Markup, escaped, markup

__all__ = ["PAGES", "Address", "address_of", "in_app_link"]

PAGES: Final = ("leaderboard", "model", "compare", "submit", "queue", "about")
_MOST_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class Address:
    """A place in the app. Its first part is called `view` after the `?`: Gradio keeps `page` to itself.

    Attributes:
        view: one of `PAGES`.
        task: a task, or `overall`; "" for the first.
        metric: one of the task's metrics; "" for the headline.
        group: the group that is shown; "" for the largest.
        model: name of a model.
        first: submission to compare.
        second: the other.
    """

    view: str = PAGES[0]
    task: str = ""
    metric: str = ""
    group: str = ""
    model: str = ""
    first: str = ""
    second: str = ""

    @property
    def query(self) -> str:
        """The same as `?...`, without what is not said."""
        named = {name: value for name, value in self.__dict__.items() if value}
        if self.view == PAGES[0] or (self.view == "model" and self.model):
            del named["view"]
        return f"?{urlencode(named, errors='replace')}"


def address_of(query: Mapping[str, str]) -> Address:
    """Reads an address that anybody may have written.

    Args:
        query: names and values after the `?`.

    Returns:
        The place. What is not known of it is left out: an odd address shows the leaderboard.
    """
    known = {name: str(query.get(name, ""))[:_MOST_CHARACTERS] for name in Address.__dataclass_fields__}
    if known["view"] not in PAGES:
        known["view"] = "model" if known["model"] else "compare" if known["first"] else PAGES[0]
    return Address(**known)


def in_app_link(text: str, address: Address) -> Markup:
    """Makes a link to a place of the app; it works as an address of its own too."""
    return markup(f'<a href="{escaped(address.query)}" data-app-link>', escaped(text), "</a>")
