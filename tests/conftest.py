"""Settings of the whole suite: the order of files, the environment of processes, the garbage collector; fixtures of verbs."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.fault_server import FaultServer
from tests.recording_proxy import RecordingProxy, recording_proxy
from tests.report.tiny_runs import built
from tests.support import own_datasets
from tests.warm_process import HEAVY, LIBRARIES, WarmProcess, warm_process

# What a user may have set and what would reach the suite: addresses, keys, homes,
# widths of terminals.
_USERS = (
    "MEDICAL_TASKS_", "HF_", "HUGGING_FACE_", "OPENAI_", "ANTHROPIC_", "INSPECT_", "ACCELERATE_", "XDG_", "COLUMNS",
    "LINES", "NO_COLOR", "FORCE_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "WORLD_SIZE", "RANK", "LOCAL_RANK",
)  # fmt: skip
_HOME = "MEDICAL_TASKS_TESTS_HOME"

Serving = Callable[..., AbstractContextManager[FaultServer]]

# The number of examples of a law that sets none itself. Each run of the suite draws other
# examples, without a time limit, since machines are busy.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=60)
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the tests in a random order, that of SEED",
    )


def pytest_configure(config: pytest.Config) -> None:
    # No test finds what a user keeps, or leaves anything with them. Workers inherit the
    # home of the process that started them.
    if _HOME not in os.environ:
        for name in [name for name in os.environ if name.upper().startswith(_USERS)]:
            del os.environ[name]
        # an unused port: no test fetches from the real addresses
        os.environ["MEDICAL_TASKS_MIRROR"] = "http://127.0.0.1:9"
        os.environ[_HOME] = os.environ["HOME"] = tempfile.mkdtemp(prefix="home-")
        config.add_cleanup(
            lambda: shutil.rmtree(os.environ.pop(_HOME), ignore_errors=True)
        )
    # A suite started in the background inherits "ignore Ctrl-C", and so would every
    # process it starts and interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Imports and collected tests stay to the end: searching them for garbage takes a
    # quarter of the collection's time.
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    # Tests import much themselves. Unclosed garbage is still found, at the end of the
    # suite at the latest.
    gc.set_threshold(20_000)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Puts files with slow tests first: whichever comes last keeps one worker busy and the others idle."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        # Files in a random order, and the tests within each, so that a file's fixtures are
        # not set up anew for every test.
        drawn = random.Random(seed)
        rank = {
            path: drawn.random() for path in dict.fromkeys(item.path for item in items)
        }
        drawn.shuffle(items)
        items.sort(key=lambda item: rank[item.path])
        return
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each worker whole files, as `--dist loadfile` does, and one of them all heavy ones."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class Files(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return "heavy" if scope.startswith(HEAVY) else scope

    return Files(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingProxy]:
    with recording_proxy(monkeypatch) as running:
        yield running


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Runs torch on one thread: matrices this small are slower on several, above all beside other tests."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments that lighteval would have been started with."""
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


# --- for tests of verbs


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with all demo configurations; tests only read it."""
    return built(tmp_path_factory.mktemp("demos"), *own_datasets())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the data home `home` and the private store `private` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "private"))
    monkeypatch.setenv("FAR_HOST_BASE_URL", "http://judge.example:9/v1")
    monkeypatch.setenv("FAR_HOST_API_KEY", "k")
    monkeypatch.setenv("TEST_HOST_API_KEY", "k")
    return tmp_path


@pytest.fixture
def demo_home(here: Path, demos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo configurations are the data home."""
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(demos))


@pytest.fixture
def serving(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Serving:
    """Opens a server, openai-api/test-host/NAME, that answers with the test file's `answer`."""

    @contextmanager
    def serve(plan: Any = (), answer: Any = None, **more: Any) -> Iterator[FaultServer]:
        with FaultServer(
            plan, answer=answer or request.module.answer, **more
        ) as opened:
            monkeypatch.setenv("TEST_HOST_BASE_URL", opened.base_url)
            yield opened

    return serve


@pytest.fixture
def server(serving: Serving) -> Iterator[FaultServer]:
    with serving() as opened:
        yield opened
