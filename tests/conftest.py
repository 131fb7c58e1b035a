"""What holds for the whole suite: which files begin, how processes start and stop, what the garbage collector looks at."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recording_proxy import RecordingProxy, recording_proxy
from tests.warm_process import LIBRARIES, WarmProcess, warm_process

# What a user may have set and what would reach the suite: addresses, keys, homes, widths of terminals.
_USERS = (
    "MEDICAL_TASKS_", "HF_", "HUGGING_FACE_", "OPENAI_", "ANTHROPIC_", "INSPECT_", "ACCELERATE_", "XDG_", "COLUMNS",
    "LINES", "NO_COLOR", "FORCE_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "WORLD_SIZE", "RANK", "LOCAL_RANK",
)  # fmt: skip
_HOME = "MEDICAL_TASKS_TESTS_HOME"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the tests in a random order, that of SEED"
    )


def pytest_configure(config: pytest.Config) -> None:
    # No test finds what a user keeps, or leaves anything with them. Workers inherit the home of the process that started them.
    if _HOME not in os.environ:
        for name in [name for name in os.environ if name.upper().startswith(_USERS)]:
            del os.environ[name]
        os.environ["MEDICAL_TASKS_MIRROR"] = (
            "http://127.0.0.1:9"  # nobody: no test fetches from the real addresses
        )
        os.environ[_HOME] = os.environ["HOME"] = tempfile.mkdtemp(prefix="home-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(_HOME), ignore_errors=True))
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts files with slow tests first: whichever comes last keeps one worker busy and the others idle."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        # Files in a random order, and the tests of each: what a file prepares is not prepared for every test anew.
        drawn = random.Random(seed)
        rank = {path: drawn.random() for path in dict.fromkeys(item.path for item in items)}
        drawn.shuffle(items)
        items.sort(key=lambda item: rank[item.path])
        return
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingProxy]:
    with recording_proxy(monkeypatch) as running:
        yield running


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Matrices this small are slower on several threads, by far when other tests run beside this one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments lighteval would have been started with."""
    calls: list[list[str]] = []

    def launch(arguments: list[str], *, custom_tasks: str) -> int:
        calls.append(arguments)
        return 0

    monkeypatch.setattr("medical_tasks.harness.lighteval_launcher.launch", launch)
    return calls


@pytest.fixture(scope="session")
def hub_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HF_HOME of huggingface_hub in all processes of `warm`: it reads the variable when it is imported."""
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="session")
def warm(hub_home: Path) -> Iterator[WarmProcess]:
    """Starts commands of lighteval and inspect without the ten seconds that their imports take."""
    settings = {"HF_HOME": str(hub_home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INSPECT", "ACCELERATE"))
    }
    with warm_process(LIBRARIES, kept | settings) as started:
        yield started
