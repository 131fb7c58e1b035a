"""Boxes that say how something went."""

from __future__ import annotations

from typing import Literal

from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.report.html_text import Markup, escaped, markup

__all__ = ["notice", "store_notice"]


def notice(kind: Literal["good", "bad", "note"], heading: str, *texts: str) -> Markup:
    """Writes a box.

    Args:
        kind: its colour; the heading says the same in words.
        heading: what happened.
        texts: paragraphs; escaped, unless they are `Markup`.
    """
    paragraphs = "".join(f"<p>{escaped(text)}</p>" for text in texts)
    # An error is read out at once, the others when there is time.
    role = "alert" if kind == "bad" else "status"
    return markup(
        f'<div class="mtl-notice mtl-notice-{kind}" role="{role}"><p class="mtl-notice-head">',
        escaped(heading),
        f"</p>{paragraphs}</div>",
    )


def store_notice(snapshot: Snapshot) -> Markup:
    """Says that the store could not be read, if so, and of when what is shown is."""
    if not snapshot.problem:
        return Markup("")
    shown = (
        f"What is shown is of {snapshot.taken[:16].replace('T', ' ')} UTC."
        if snapshot.taken
        else "Nothing can be shown."
    )
    return notice("bad", "The leaderboard's store cannot be read now", f"{shown} Reload the page to try again.")
