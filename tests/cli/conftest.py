"""What tests of the verbs share: a folder and homes of their own, demo data, and a server that answers as model or judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fault_server import FaultServer
from tests.report.tiny_runs import built

Serving = Callable[..., AbstractContextManager[FaultServer]]


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with demo configurations."""
    return built(
        tmp_path_factory.mktemp("demos"), "medcalc_bench", "kqa", "archehr_qa", "ehrnoteqa"
    )


@pytest.fixture(autouse=True)
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
    """Opens a server, openai-api/test-host/NAME, that answers as the test file's `answer` says."""

    @contextmanager
    def serve(plan: Any = (), answer: Any = None, **more: Any) -> Iterator[FaultServer]:
        with FaultServer(plan, answer=answer or request.module.answer, **more) as opened:
            monkeypatch.setenv("TEST_HOST_BASE_URL", opened.base_url)
            yield opened

    return serve


@pytest.fixture
def server(serving: Serving) -> Iterator[FaultServer]:
    with serving() as opened:
        yield opened
