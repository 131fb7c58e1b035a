"""Opens the store that a place names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.storage import Storage

__all__ = ["HUB", "open_storage"]

HUB: Final = "hub:"
"""What a place on the Hub begins with; a folder of such a name is `./hub:...`."""


def open_storage(place: str) -> Storage:
    """Opens a store.

    Args:
        place: `PATH`, a local folder, made with the first file; or `hub:OWNER/NAME`, a dataset repository, with the token that
            huggingface_hub finds (`HF_TOKEN`, `hf auth login`). Nothing is asked of the Hub yet.

    Raises:
        UsageError: It is neither.
    """
    if place.startswith(HUB):
        from medical_tasks.leaderboard.hub_store import HubStorage

        return HubStorage(place.removeprefix(HUB))
    if not place.strip():
        raise UsageError("--store is empty. Give a folder, or hub:OWNER/NAME for a dataset repository of the Hub.")
    from medical_tasks.leaderboard.local_store import LocalStorage

    return LocalStorage(Path(place))
