"""The leaderboard in a browser: opens, sorts, filters, opens a model, compares, takes a good package and refuses a bad one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.storage import LocalStorage
from tests.browser.conftest import DESKTOP, PHONE, OpenPage, no_sideways
from tests.leaderboard.app.space_process import Served, served
from tests.leaderboard.made_packages import package

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "Odd <img src=x onerror=alert(1)> {{model}} ${model}"
MODELS = (("Strong", 36), ("Middle", 24), ("Weak", 6), (HOSTILE, 20))
OFFICIAL = {"prompts": {"set": "official", "sha256": "cd" * 32}}
VIEWS = tuple("?task=medcalc ?task=overall ?task=kqa ?model=Strong ?model=GPT-4 ?view=compare ?view=submit".split())


class Space:
    """A running app and its store."""

    def __init__(self, running: Served, board: Board) -> None:
        self.address, self.left, self.board = running.address, running.left, board
        self.ids = {one.submitter.model: one.id for one in board.submissions()}


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    pytest.importorskip("gradio", reason="gradio is not installed (pip install .[space])")
    store = tmp_path_factory.mktemp("store")
    board = Board(LocalStorage(store))
    for model, right in MODELS:
        one = board.submit(package(model, right=right, of=40))
        board.decide(one.id, "accepted", by="keeper")
    other = board.submit(package("Elsewhere", right=40, of=40, recipe=OFFICIAL))
    board.decide(other.id, "accepted", by="keeper")
    refused = board.submit(package("Refused", right=1, of=40))
    board.decide(refused.id, "rejected", by="keeper", reason="No recipe of this model is known.")
    with served(store, folder=tmp_path_factory.mktemp("space")) as running:
        yield Space(running, board)


def shown(page: Page, what: str) -> None:
    page.locator(what).filter(visible=True).first.wait_for(timeout=15_000)


def names(page: Page, table: str = "board-0") -> list[str]:
    return list(page.locator(f"#{table} tbody tr:visible th").all_inner_texts())


def pick(page: Page, label: str, choice: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).filter(visible=True).first.click()
    page.get_by_role("option").filter(has_text=choice).first.click()


def test_the_board_opens_sorts_and_filters(space: Space, open_page: OpenPage) -> None:
    page = open_page(space.address)
    shown(page, "#board-0")
    assert page.url == f"{space.address}/?task=medcalc"
    assert names(page) == ["Strong", "Middle", HOSTILE, "Weak"]
    # Wilson intervals of 36, 24, 20 and 6 of 40 overlap in the middle alone.
    assert page.locator("#board-0 tbody tr td:first-child").all_inner_texts() == ["1", "2-3", "2-3", "4"]
    page.get_by_role("button", name="Rank", exact=True).first.click()
    assert page.locator("#board-0 tbody tr td:first-child").all_inner_texts() == ["1", "2-3", "2-3", "4"]
    page.get_by_role("button", name="Model").first.click()
    assert names(page) == ["Middle", HOSTILE, "Strong", "Weak"]
    page.fill("#board-0-filter", "STRONG")
    assert names(page) == ["Strong"]
    assert page.inner_text("#board-0-status").startswith("Showing 1 of 4 rows")
    page.fill("#board-0-filter", "")
    pick(page, "Group (same data, prompts and judge)", "official")
    page.wait_for_function("document.querySelectorAll('#board-0 tbody tr').length === 1")
    assert names(page) == ["Elsewhere"]
    assert "&group=" in page.url


def test_tabs_and_links_are_steps_to_come_back_from(space: Space, open_page: OpenPage) -> None:
    page = open_page(f"{space.address}/?view=about")
    shown(page, "text=About this leaderboard")
    page.get_by_role("tab", name="Leaderboard").click()
    shown(page, "#board-0")
    page.get_by_role("tab", name="Queue").click()
    shown(page, "#queue")
    page.go_back()
    shown(page, "#board-0")
    assert page.url.endswith("/?task=medcalc")
    page.go_back()
    shown(page, "text=About this leaderboard")
    page.go_forward()
    shown(page, "#board-0")
    page.get_by_role("link", name="Strong").click()
    shown(page, "#model-results")
    assert page.url.endswith("/?model=Strong")
    assert page.get_by_role("tab", name="Model").get_attribute("aria-selected") == "true"
    page.get_by_text("medcalc unverified").click()
    shown(page, "#result-0-metrics")
    page.go_back()
    shown(page, "#board-0")
    assert page.url.endswith("/?task=medcalc")


def test_two_models_are_compared_and_two_groups_are_not(space: Space, open_page: OpenPage) -> None:
    page = open_page(f"{space.address}/?view=compare")
    shown(page, ".mtl-empty")
    pick(page, "A", "Weak")
    pick(page, "B", "Strong")
    shown(page, "#comparison")
    assert "B is better" in page.inner_text("#comparison")
    assert len(names(page, "flips")) == 30
    address = page.url
    page.reload()
    shown(page, "#comparison")
    assert page.url == address
    pick(page, "B", "Elsewhere")
    shown(page, ".mtl-notice-bad")
    assert "These are of different groups" in page.inner_text(".mtl-notice-bad >> visible=true")


def test_a_bad_package_is_refused_and_a_good_one_waits(space: Space, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"{space.address}/?view=submit")
    shown(page, "text=Submit a package")
    bad, good = tmp_path / "bad.zip", tmp_path / "good.zip"
    bad.write_bytes(b"PK\3\4<script>alert(1)</script>")
    good.write_bytes(package("Fresh", right=30, of=40))
    page.set_input_files("input[type=file]", bad)
    shown(page, ".mtl-notice-bad")
    assert "is not a zip file" in page.inner_text(".mtl-notice-bad")
    assert space.left() == []
    page.set_input_files("input[type=file]", good)
    shown(page, ".mtl-notice-good")
    assert "Nothing was submitted yet" in page.inner_text(".mtl-notice-good")
    # The server sends no file back, and the page does not offer it.
    assert page.locator("#package .filename").get_attribute("aria-label") == "good.zip"
    assert page.locator("#package a").filter(visible=True).count() == 0
    # It can be taken back.
    page.get_by_role("button", name="Do not submit").click()
    page.locator(".mtl-notice-good").wait_for(state="detached")
    assert space.left() == []
    assert space.board.submissions("pending") == []
    page.set_input_files("input[type=file]", good)
    shown(page, ".mtl-notice-good")
    page.get_by_role("button", name="Submit", exact=True).click()
    shown(page, "text=It is number 1 of 1 in the queue")
    assert space.left() == []
    (waiting,) = space.board.submissions("pending")
    assert waiting.submitter.model == "Fresh"
    page.get_by_role("link", name="queue and history").click()
    shown(page, "#queue")
    assert names(page, "queue")[0] == "Fresh"
    space.board.decide(waiting.id, "rejected", by="keeper", reason="A test.")


@pytest.mark.parametrize("query", [*VIEWS, "?view=queue", "?view=about"])
@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_every_view_is_accessible_and_keeps_to_its_width(
    space: Space, open_page: OpenPage, axe: Callable[..., list[str]], query: str, size: tuple[int, int], scheme: str
) -> None:
    page = open_page(f"{space.address}/{query}", size=size, scheme=scheme)
    shown(page, ".mtl-title, .mtl-empty")
    page.wait_for_timeout(300)  # tabs fade in
    assert axe(page) == []
    assert no_sideways(page)


def test_the_keyboard_reaches_all(space: Space, open_page: OpenPage) -> None:
    page = open_page(f"{space.address}/?task=medcalc")
    shown(page, "#board-0")
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "(() => { const e = document.activeElement; return e.ariaLabel || e.id || e.className || e.textContent })()"
            )
        )
    assert {"Task", "Ranked by", "board-0-filter", "mt-sort", "mt-scroll"} <= {name.strip() for name in reached}
