"""Options of configurations that this package generates instead of reading them from official files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from medical_tasks.errors import UsageError

__all__ = ["BuildOption", "Generated", "chosen_options"]


@dataclass(frozen=True, kw_only=True)
class BuildOption:
    """A whole number that decides which rows are generated.

    Attributes:
        name: argument of the builder, and of the command line after `--`.
        description: one line for messages.
        lowest: smallest value.
        highest: largest value.
        default: value when it is not given; None where the user has to choose.
    """

    name: str
    description: str
    lowest: int
    highest: int
    default: int | None = None


@dataclass(frozen=True, kw_only=True)
class Generated:
    """How a configuration is generated.

    Attributes:
        options: what it takes, in the order messages name them.
        rows: called with the split and the value of each option; yields the rows in order.
    """

    options: tuple[BuildOption, ...]
    rows: Callable[[str, Mapping[str, int]], Iterator[Mapping[str, Any]]]


def chosen_options(label: str, generated: Generated | None, given: Mapping[str, int | None]) -> dict[str, int]:
    """Checks the options of a build and fills in defaults.

    Args:
        label: dataset and configuration, for messages.
        generated: how the configuration is generated; None for one that takes no options.
        given: option to the user's value, None where nothing was given.

    Returns:
        Option to value, for every option of the configuration, in its order.

    Raises:
        UsageError: An option that the configuration does not take, one that is missing, or a value out of range.
    """
    options = {} if generated is None else {option.name: option for option in generated.options}
    extra = [f"--{name}" for name, value in given.items() if value is not None and name not in options]
    if extra:
        takes = f"it takes {', '.join(f'--{name}' for name in options)}" if options else "it takes no such options"
        raise UsageError(f"{label}: got {', '.join(extra)}, but {takes}. Leave out {', '.join(extra)}.")
    chosen: dict[str, int] = {}
    for name, option in options.items():
        value = given.get(name)
        value = option.default if value is None else value
        if value is None:
            raise UsageError(f"{label}: needs --{name}: {option.description}. Give --{name} NUMBER.")
        if not option.lowest <= value <= option.highest:
            raise UsageError(
                f"{label}: --{name} must be from {option.lowest:,} to {option.highest:,}, got {value:,}. "
                f"It is {option.description}."
            )
        chosen[name] = value
    return chosen
