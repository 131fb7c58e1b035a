"""What the app is told by its environment: where its store is, and where it listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medical_tasks.errors import UsageError

__all__ = ["DEFAULT_PORT", "PORT_VARIABLE", "STORE_VARIABLE", "Settings", "settings_of"]

STORE_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_STORE"
PORT_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PORT"
DEFAULT_PORT: Final = 7860


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the app.

    Attributes:
        store: a folder, or `hub:OWNER/NAME`.
        host: address it listens on.
        port: port it listens on.
        on_space: whether it runs as a Hugging Face Space.
    """

    store: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    on_space: bool = False


def settings_of(environment: Mapping[str, str]) -> Settings:
    """Reads the settings.

    Args:
        environment: as `os.environ`.

    Returns:
        The settings: this machine alone can reach the app, unless it is a Space, whose container is reached from outside.

    Raises:
        UsageError: No store is named, or the port is none.
    """
    store = environment.get(STORE_VARIABLE, "").strip()
    if not store:
        raise UsageError(
            f"{STORE_VARIABLE} is not set: it names the leaderboard's store. Set it to a folder (it may be empty), or to "
            "hub:OWNER/NAME for dataset repositories of the Hub."
        )
    on_space = bool(environment.get("SPACE_ID"))
    given = environment.get(PORT_VARIABLE, "").strip() or str(DEFAULT_PORT)
    if not (given.isascii() and given.isdigit() and 0 < int(given) < 65536):
        raise UsageError(f"{PORT_VARIABLE} is a port from 1 to 65535; got {given!r}. Leave it out for {DEFAULT_PORT}.")
    # A Space's proxy reaches the container from outside of it and asks for this port.
    return Settings(
        store=store,
        host="0.0.0.0" if on_space else "127.0.0.1",  # noqa: S104
        port=DEFAULT_PORT if on_space else int(given),
        on_space=on_space,
    )
