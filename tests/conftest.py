"""What holds for the whole suite: which files begin, how processes start and stop, what the garbage collector looks at."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warm_process import LIBRARIES, WarmProcess, warm_process


def pytest_configure(config: pytest.Config) -> None:
    # A suite started in the background inherits "ignore Ctrl-C", and so would every process it starts and interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Imports and collected tests stay to the end: looking for garbage among them is a quarter of the time to collect.
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    # Tests import much themselves. What is garbage and unclosed is still found, at the end of the suite at the latest.
    gc.set_threshold(20_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts files with slow tests first: whichever comes last keeps one worker busy and the others idle."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def hub_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HF_HOME of huggingface_hub in all processes of `warm`: it reads the variable when it is imported."""
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="session")
def warm(hub_home: Path) -> Iterator[WarmProcess]:
    """Starts commands of lighteval and inspect without the ten seconds that their imports take."""
    settings = {"HF_HOME": str(hub_home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECT", "ACCELERATE"))}
    with warm_process(LIBRARIES, kept | settings) as started:
        yield started
