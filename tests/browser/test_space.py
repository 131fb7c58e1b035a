"""The leaderboard in a browser: ranks, filters, a model, comparisons, a good package accepted and a bad one refused."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest

from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.storage import LocalStorage
from tests.browser.conftest import DESKTOP, FIREFOX, PHONE, OpenPage, no_sideways
from tests.leaderboard.made_packages import package
from tests.leaderboard.served_pages import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

HOSTILE = "Odd <img src=x onerror=alert(1)> {{model}} ${model}"
MODELS = (("Strong", 36), ("Middle", 24), ("Weak", 6), (HOSTILE, 20))
OFFICIAL = {"prompts": {"set": "official", "sha256": "cd" * 32}}
VIEWS = ("", "?task=medcalc", "?task=kqa", "?tasks=none", "?model=Strong", "?model=GPT-4", "?view=compare", "?view=submit",
         "?view=queue", "?view=about", "?view=model", "?task=nothing", f"?model={quote(HOSTILE)}",
         "?task=%3Cimg%20src=x%20onerror=alert(1)%3E", "?view=__proto__&first=%00&second=..%2F..&item=%3Cb%3E",
         "?tasks=medcalc&columns=constructor,rank&sort=-toString&q=%3Cb%3E&only=valueOf&against=__proto__",
         "?task=medcalc_direct", "?model=Elsewhere")  # fmt: skip
GONE = ("?view=compare&task=medcalc&second=%00", "?view=compare&task=kqa", "?task=medcalc&group=__proto__", "?model=Strong&key=0",
        "?task=medcalc&metric=__proto__", "?tasks=__proto__")  # fmt: skip
CUT = """[...document.querySelectorAll('.mt-scroll')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.ariaLabel)"""
SIZES = [(320, 700), PHONE, (768, 1024), DESKTOP]


class Space:
    """A running server and its store."""

    def __init__(self, running: Served, board: Board) -> None:
        self.address, self.board = running.address, board
        # Submissions of a model within one second have no order.
        self.ids = {
            submission.submitter.model: submission.id
            for submission in board.submissions()
            if "medcalc" in submission.tasks
        }


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    pytest.importorskip(
        "uvicorn", reason="uvicorn is not installed (pip install .[space])"
    )
    store = tmp_path_factory.mktemp("store")
    board = Board(LocalStorage(store))
    for model, right in MODELS:
        submission = board.submit(package(model, right=right, of=40))
        board.decide(submission.id, "accepted", by="keeper")
    for organisation, right in (("Their organisation", 30), ("An organisation", 40)):
        other = board.submit(
            package(
                "Elsewhere",
                organisation=organisation,
                right=right,
                of=40,
                recipe=OFFICIAL,
            )
        )
        board.decide(other.id, "accepted", by="keeper")
    ids = {entry.submitter.model: entry.id for entry in board.submissions()}
    # The second one has no rank, with a note.
    for model, of, unanswered in (("Strong", 40, 0), ("Weak", 100, 5)):
        direct = board.submit(
            package(
                model, right=20, of=of, unanswered=unanswered, task="medcalc_direct"
            )
        )
        board.decide(direct.id, "accepted", by="keeper", replaces=ids[model])
    refused = board.submit(package("Refused", right=1, of=40))
    board.decide(
        refused.id, "rejected", by="keeper", reason="No recipe of this model is known."
    )
    with served(store, folder=tmp_path_factory.mktemp("space")) as running:
        yield Space(running, board)


def shown(page: Page, what: str) -> None:
    page.locator(what).filter(visible=True).first.wait_for()


def names(page: Page, table: str) -> list[str]:
    # Below a name the page states whether its result is comparable with the paper.
    cells = page.locator(f"#{table} tbody tr th").all_inner_texts()
    return [cell.partition("\n")[0] for cell in cells]


def ranks(page: Page, table: str) -> list[str]:
    return list(page.locator(f"#{table} tbody tr td:first-child").all_inner_texts())


def test_models_are_ranked_by_the_chosen_tasks_and_not_without_results(
    space: Space, open_page: OpenPage
) -> None:
    page = open_page(space.address)
    shown(page, "#models tbody th")
    # At first by one task, since half of the models lack the other.
    assert names(page, "models") == ["Strong", "Middle", HOSTILE, "Weak"]
    # Wilson intervals of 36, 24, 20 and 6 of 40 overlap in the middle alone.
    assert ranks(page, "models") == ["1", "2–3", "2–3", "4"]
    page.get_by_label("MedCalc-Bench: medcalc_direct (2)").check()
    shown(page, "#models th[data-name=mean]:has-text('Mean of 2')")
    assert names(page, "models")[0] == "Strong"
    assert ranks(page, "models") == ["1", "n/a", "n/a", "n/a"]
    # (0.9 + 0.5) / 2; MOVER of 76.9 to 96.0 and 35.2 to 64.8.
    assert page.inner_text("#models tbody tr:first-child td:nth-child(3)").split() == [
        "70.0",
        "60.1",
        "to",
        "78.0",
    ]
    assert (
        page.inner_text("#models tbody tr:nth-child(3) td:nth-child(3)")
        == "n/a\nlacks medcalc_direct"
    )
    assert "tasks=medcalc%2Cmedcalc_direct" in page.url


def test_a_table_sorts_filters_hides_columns_and_is_downloaded(
    space: Space, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{space.address}/?task=medcalc")
    table = "medcalc-models"
    shown(page, f"#{table} tbody th")
    assert names(page, table) == ["Strong", "Middle", HOSTILE, "Weak"]
    page.locator(f"#{table} thead").get_by_role("button", name="Model").click()
    assert names(page, table) == ["Middle", HOSTILE, "Strong", "Weak"]
    page.fill(f"#{table}-search", "STRONG")
    assert names(page, table) == ["Strong"]
    assert "1 of 4 rows." in page.inner_text(".mt-status >> visible=true")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Licence").check()
    shown(page, f"#{table} th[data-name=licence]")
    address = page.url
    page.reload()
    shown(page, f"#{table} th[data-name=licence]")
    assert (page.url, names(page, table)) == (address, ["Strong"])
    if not FIREFOX:  # there Playwright does not report the download of a generated file
        page.fill(f"#{table}-search", "")
        with page.expect_download() as download:
            page.get_by_role("button", name="This table as CSV").click()
        download.value.save_as(tmp_path / "table.csv")
        with (tmp_path / "table.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["Model"] for row in rows] == ["Middle", HOSTILE, "Strong", "Weak"]
        cells = [
            rows[0][name]
            for name in (
                "Rank",
                "accuracy, %",
                "accuracy, %, 95 % interval",
                "Scored",
                "Licence",
            )
        ]
        assert cells == ["2–3", "60.0", "44.6 to 73.7", "40 of 40", "not said"]
    page.select_option("#group", label="v1.0 test, official prompts (2)")
    shown(page, f"#{table} tbody th:has-text('Elsewhere')")
    page.get_by_role("link", name="Compare two of these models").click()
    shown(page, ".mtl-verdict:has-text('A is better: B minus A is −25.0')")
    assert (
        page.locator("#second option:checked")
        .inner_text()
        .startswith("Elsewhere · Their organisation · v1.0")
    )


def test_links_are_steps_of_the_history(space: Space, open_page: OpenPage) -> None:
    page = open_page(f"{space.address}/?view=about")
    shown(page, "text=About this leaderboard")
    page.get_by_role("link", name="Leaderboard", exact=True).click()
    shown(page, "#models")
    page.get_by_role("link", name="Queue").click()
    shown(page, "#queue")
    assert (
        page.get_by_role("link", name="Queue").get_attribute("aria-current") == "page"
    )
    page.go_back()
    shown(page, "#models")
    page.go_back()
    shown(page, "text=About this leaderboard")
    page.go_forward()
    shown(page, "#models")
    page.get_by_role("link", name="Strong").first.click()
    shown(page, "#results")
    assert "/?model=Strong&key=" in page.url
    page.get_by_text("medcalc: all metrics").click()
    shown(page, "text=Metrics of medcalc")
    page.get_by_text("By category (1)").click()
    shown(page, "text=accuracy by category")
    page.go_back()
    shown(page, "#models")
    page.goto(f"{space.address}/?model=Elsewhere")
    page.get_by_role("link", name="Elsewhere (Their organisation)").click()
    shown(page, "dd:has-text('Their organisation')")
    assert page.locator("#results tbody tr").count() == 1


def test_a_line_joins_the_best_also_where_lower_is_better(
    space: Space, open_page: OpenPage
) -> None:
    content = httpx.get(f"{space.address}/data/board.json").json()
    for row in content["rows"]:
        row[content["columns"].index("cost")] = {
            "Strong": 0,
            "Middle": 2,
            "Weak": 1,
        }.get(row[2])
    next(task for task in content["tasks"] if task["name"] == "medcalc")["metrics"][0][
        "higher"
    ] = False
    page = open_page("about:blank")
    page.route("**/data/board.json", lambda route: route.fulfill(json=content))
    page.goto(f"{space.address}/?task=medcalc")
    shown(page, "figcaption:has-text('1 of 4 are not drawn')")
    best = page.locator(".mtl-scatter a:has(.mtl-best)")
    assert {mark.get_attribute("aria-label") for mark in best.all()} == {
        "Strong: 90.0 %",
        "Weak: 15.0 %",
    }


def test_two_models_are_compared_and_two_groups_are_not(
    space: Space, open_page: OpenPage
) -> None:
    page = open_page(f"{space.address}/?view=compare&task=medcalc")
    shown(page, ".mtl-verdict")
    assert page.locator("#first option:checked").inner_text().startswith("Strong")
    assert page.locator("#second option:checked").inner_text().startswith("Middle")
    page.select_option("#second", space.ids["Weak"])
    shown(page, ".mtl-verdict:has-text('75.0')")
    # 30 of 40 lower: -75.0; the interval by hand, 1.96 sqrt(40/39 * (30 * 0.25^2 + 10 *
    # 0.75^2)) / 40 = 13.6.
    assert page.inner_text(".mtl-verdict").startswith(
        "A is better: B minus A is −75.0 points (95 % interval −88.6 to −61.4) over 40 items; 0 are higher in B, 30 lower"
    )
    assert len(names(page, "items")) == 30
    page.locator("#items tbody button").first.click()
    shown(page, ".mtl-two")
    assert page.locator(".mtl-two pre").count() == 2
    address = page.url
    page.reload()
    shown(page, ".mtl-two")
    assert page.url == address
    page.select_option("#second", space.ids["Elsewhere"])
    shown(page, ".mtl-notice-bad")
    assert "would not be the models' alone" in page.inner_text(".mtl-notice-bad")


def test_a_bad_package_is_refused_and_a_good_one_waits(
    space: Space, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{space.address}/?view=submit")
    shown(page, "#package")
    bad, good = tmp_path / "bad.zip", tmp_path / "good.zip"
    bad.write_bytes(b"PK\3\4<script>alert(1)</script>")
    good.write_bytes(package("Fresh", right=30, of=40))
    page.set_input_files("#package", bad)
    shown(page, ".mtl-notice-bad")
    assert "is not a zip file" in page.inner_text(".mtl-notice-bad")
    page.set_input_files("#package", good)
    shown(page, ".mtl-notice-good")
    assert "Nothing was submitted yet" in page.inner_text(".mtl-notice-good")
    page.get_by_role("button", name="Do not submit").click()
    page.locator(".mtl-notice-good").wait_for(state="detached")
    assert space.board.submissions("pending") == []
    late: list[Route] = []
    page.route("**/submit", lambda route: late.append(route), times=1)
    page.set_input_files("#package", bad)
    page.set_input_files("#package", good)
    shown(page, ".mtl-notice-good")
    with page.expect_event("requestfinished", lambda request: request.method == "POST"):
        late[0].continue_()  # the response about the file that is no longer selected
    # after this request the page has read it
    page.evaluate("fetch('./').then(reply => reply.text())")
    page.get_by_role("button", name="Submit", exact=True).click()
    shown(page, "text=It is number 1 of 1 in the queue")
    (waiting,) = space.board.submissions("pending")
    assert waiting.submitter.model == "Fresh"
    space.board.decide(waiting.id, "rejected", by="keeper", reason="A test.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_every_view_is_accessible_and_keeps_to_its_width(
    space: Space,
    open_page: OpenPage,
    axe: Callable[..., list[str]],
    size: tuple[int, int],
    scheme: str,
) -> None:
    page = open_page(f"{space.address}/", size=size, scheme=scheme)
    for query in (*VIEWS, *GONE):
        page.goto(f"{space.address}/{query}")
        shown(page, ".mtl-title, .mtl-empty, .mtl-lead, .mtl-notice")
        page.wait_for_timeout(50)  # columns are left out once the table is rendered
        assert axe(page) == [], query
        assert no_sideways(page), query
        assert page.evaluate(CUT) == [], query
        if query in GONE:  # nothing replaces the missing target of the address
            notice, replacement = map(
                page.locator,
                (".mtl-notice-bad", ".mtl-verdict, #results, #medcalc-models"),
            )
            assert (notice.count(), replacement.count()) == (1, 0), query


def test_the_keyboard_reaches_every_control(space: Space, open_page: OpenPage) -> None:
    page = open_page(space.address)
    shown(page, "#models tbody th")
    reached = set()
    called = "[document.activeElement].map(e => e.ariaLabel || e.id || e.className || e.textContent)[0].trim()"
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(called))
    assert {
        "mtl-skip",
        "with-medcalc",
        "models-search",
        "models-only",
        "mt-sort",
        "mt-button",
    } <= reached
