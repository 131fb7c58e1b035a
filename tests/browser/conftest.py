"""A real browser for tests of pages: `pytest tests/browser`; a run of the whole suite leaves this folder out.

A test fails on any console error, any uncaught exception and any request that leaves
this machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).resolve().parent
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
)
# from version 143 on: Playwright speaks WebDriver BiDi with it
FIREFOX = os.environ.get("FIREFOX")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # It resolves no names of other machines.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
not_in_firefox = pytest.mark.skipif(
    FIREFOX is not None, reason="Playwright emulates neither paper nor no scripts there"
)
DESKTOP, PHONE = (1280, 900), (360, 740)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves these tests out unless the command names them: they need a browser and are slow."""
    paths = [
        Path(config.invocation_params.dir, argument.split("::")[0]).resolve()
        for argument in config.args
    ]
    return None if any(path == HERE or HERE in path.parents for path in paths) else True


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, or the browser at FIREFOX: headless, with an empty profile."""
    api = pytest.importorskip(
        "playwright.sync_api",
        reason="playwright is not installed (pip install .[browser])",
    )
    if not (FIREFOX or CHROMIUM):
        pytest.skip(
            "no browser here (install chromium, or set CHROMIUM or FIREFOX to a path)"
        )
    with api.sync_playwright() as playwright:
        if FIREFOX:
            started = playwright.firefox.launch(
                channel="moz-firefox", executable_path=FIREFOX
            )
        else:
            started = playwright.chromium.launch(
                executable_path=CHROMIUM, args=ARGUMENTS
            )
        yield started
        started.close()


def is_local(address: str) -> bool:
    """Reports whether a request stays on this machine."""
    parts = urlsplit(address)
    return parts.scheme in {"file", "data", "blob", "about"} or parts.hostname in {
        "127.0.0.1",
        "localhost",
    }


class Watched:
    """Collects errors and requests of a page."""

    def __init__(self, page: Page) -> None:
        self.faults: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def problems(self) -> list[str]:
        return self.faults + [
            f"request: {address}" for address in self.requests if not is_local(address)
        ]


OpenPage = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens addresses: `open_page(url, size=PHONE, scheme="dark")`; `expected_faults=True` for one that is meant to go wrong.

    Further named arguments are those of Playwright's `new_context`.
    """
    contexts: list[Any] = []
    watched: list[Watched] = []

    def opened(
        url: str,
        *,
        size: tuple[int, int] = DESKTOP,
        scheme: str = "light",
        expected_faults: bool = False,
        **more: Any,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            **more,
        )
        contexts.append(context)
        context.set_default_timeout(8_000)
        page = context.new_page()
        if not expected_faults:
            watched.append(Watched(page))
        page.goto(url)
        return page

    yield opened
    problems = [problem for watcher in watched for problem in watcher.problems()]
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def axe() -> Callable[..., list[str]]:
    """Checks a page with axe-core: serious and critical violations, each with the elements it names."""
    pytest.importorskip(
        "axe_playwright_python",
        reason="axe-playwright-python is not installed (pip install .[browser])",
    )
    script = (
        files("axe_playwright_python")
        .joinpath("axe.min.js")
        .read_text(encoding="utf-8")
    )

    def check(page: Page, *, within: str = "") -> list[str]:
        # Run as the page's own inspector would: a page's policy need not be weakened
        # for it.
        page.evaluate(script)
        results = page.evaluate(
            "within => axe.run(within || document, { resultTypes: ['violations'] })",
            within,
        )
        assert results["passes"], "axe looked at nothing"
        return [
            f"{violation['impact']} {violation['id']}: {node['target']} {node['failureSummary']}"
            for violation in results["violations"]
            if violation["impact"] in {"serious", "critical"}
            for node in violation["nodes"]
        ]

    return check


def no_sideways(page: Page) -> bool:
    """Reports whether the page itself does not scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
