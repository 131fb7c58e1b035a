"""The report's page in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.report.page import render_page
from medical_tasks.report.page_data import ReportData
from tests.browser.conftest import no_sideways, not_in_firefox
from tests.report.page_samples import calculation, sample_report

SIZES = {"desktop": (1280, 900), "phone": (360, 740), "narrow": (320, 640)}
ROWS = "#all-metrics tbody tr:visible"


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(sample_report(items=120)), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_opens_at_every_size_and_is_accessible(
    open_page: Callable[..., Any],
    axe: Callable[..., list[str]],
    report: str,
    size: str,
    scheme: str,
) -> None:
    page = open_page(report, size=SIZES[size], scheme=scheme)
    assert page.title() == "Evaluation report"
    for browser in page.locator(".mt-items").all():
        browser.scroll_into_view_if_needed()
        browser.locator("[role=option]").first.click()
        assert browser.locator(".mt-item-detail h4").is_visible()
    page.evaluate(
        "document.querySelectorAll('details').forEach(one => { one.open = true; })"
    )
    assert no_sideways(page)
    assert axe(page) == []


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_first_screen_shows_value_interval_and_published_results(
    open_page: Callable[..., Any], tmp_path: Path, size: tuple[int, int]
) -> None:
    path = tmp_path / "one.html"
    task = calculation("ward-model", items=16)
    path.write_text(
        render_page(
            ReportData(title="ward-model on Sample", tasks=[task], suite="suite 1")
        ),
        encoding="utf-8",
    )
    page = open_page(path.as_uri(), size=size)
    accuracy = task.entry["metrics"]["accuracy"]
    value, low, high = (
        f"{100 * accuracy[end]:.1f}" for end in ("value", "ci_low", "ci_high")
    )
    big = page.locator(".mt-big")
    assert (
        big.inner_text().split()
        == f"ward-model {value} % accuracy 95 % interval {low} to {high}, of 16 items".split()
    )
    rows = page.locator("#task-calculate-chart .mt-line:not(.mt-line-axis)")
    labels = rows.locator(".mt-line-label").all_inner_texts()
    assert labels == [
        "ward-model",
        "Invented-70B, one example [other setting]",
        "Invented-8B, one example [other setting]",
        "Unsettled [other setting]",
    ]
    assert (
        rows.locator(".mt-line-value").first.inner_text()
        == f"{value} % ({low} to {high}), n = 16"
    )
    for element in (
        page.locator("h1"),
        big,
        rows.last,
        page.locator(".mt-legend").first,
    ):
        box = element.bounding_box()
        assert box["y"] + box["height"] <= size[1]
    assert page.locator("h1").inner_text() == "ward-model on Sample"


def test_the_table_sorts_by_mouse_and_keyboard_and_filters(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report)

    def values() -> list[str]:
        return list(page.locator(f"{ROWS} td:nth-child(4)").all_inner_texts())

    def numbers(texts: list[str]) -> list[float]:
        return [float(text.removesuffix(" %")) for text in texts if text != "n/a"]

    before = numbers(values())
    head = page.locator("#all-metrics th[data-name=value]")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    after = numbers(values())
    assert len(after) == 11
    assert after == sorted(after, reverse=True) != before
    assert values()[-1] == "n/a"
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert values()[-1] == "n/a"
    assert page.locator("[aria-sort]").count() == 1
    assert (
        page.locator("#all-metrics-status").inner_text()
        == "Showing 12 rows, by Value, ascending."
    )
    rows = page.locator(ROWS)
    words = page.get_by_label("Filter rows by words")
    for text, left in (
        ("LARGE recall", 1),
        ("nothing has this", 0),
        ("", 12),
        ("LARGE recall", 1),
    ):
        words.fill(text)
        assert rows.count() == left
    assert (
        page.locator("#all-metrics-status")
        .inner_text()
        .startswith("Showing 1 of 12 rows")
    )
    words.fill("")
    page.locator("#all-metrics-facet-run").select_option("large")
    assert rows.count() == 5
    page.get_by_label("Headline metrics only").check()
    assert rows.count() == 2


def test_items_are_searched_filtered_and_ordered(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report)
    items = page.locator("#task-calculate-items")
    items.scroll_into_view_if_needed()
    status = items.locator("#task-calculate-items-status")
    items.locator("[role=option]").first.wait_for()
    assert status.inner_text() == "Showing 120 of 120 items."
    assert items.locator("[role=option]").count() == 50
    items.get_by_label("Decision").select_option(label="unscored (7)")
    assert status.inner_text() == "Showing 7 of 120 items."
    assert (
        items.locator(".mt-item-list .mt-badge").all_inner_texts() == ["unscored"] * 7
    )
    items.get_by_label("Decision").select_option("")
    items.get_by_label("category").select_option(label="risk (24)")
    assert status.inner_text() == "Showing 24 of 120 items."
    items.get_by_label("Search in ids and texts").fill("NOTE-0003")
    assert items.locator(".mt-item-id").all_inner_texts() == ["note-0003"]
    items.get_by_label("Search in ids and texts").fill("no such words")
    assert items.locator("[role=option]").all_inner_texts() == [
        "No item has all of this."
    ]
    items.get_by_label("Search in ids and texts").fill("")
    items.get_by_label("Order").select_option("id")
    items.get_by_label("descending").check()
    assert items.locator(".mt-item-id").first.inner_text() == "note-0118"


def test_items_are_read_by_keyboard_alone(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report)
    page.locator("#task-calculate-items").scroll_into_view_if_needed()
    items = page.get_by_role("listbox").first
    items.locator("[role=option]").first.wait_for()
    items.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    detail = page.locator("#task-calculate-items-detail")
    assert detail.evaluate("pane => pane === document.activeElement")
    assert detail.locator("h4").inner_text() == "note-0001"
    assert "What is value number 1?" in detail.inner_text()
    page.keyboard.press("Escape")
    assert items.evaluate("list => list === document.activeElement")
    page.keyboard.press("End")
    assert items.locator("[aria-selected=true] .mt-item-id").inner_text() == "note-0119"
    assert (
        page.locator("#task-calculate-items .mt-page-number").inner_text()
        == "101–120 of 120"
    )
    assert items.get_attribute("aria-activedescendant") == items.locator(
        "[aria-selected=true]"
    ).get_attribute("id")


def test_items_begin_at_the_first_failure_with_two_answers_side_by_side(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    """Texts that are HTML stay texts too."""
    answers = (
        "The dose is <b>5 mg</b> a day.",
        "The dose is <b>50 mg</b> each day, <i>at most</i>.",
    )
    tasks = []
    for run, answer, right in (("one", answers[0], 0.0), ("two", answers[1], 1.0)):
        task = calculation(run, items=4)
        values = [{"accuracy": accuracy} for accuracy in (1.0, right, 0.0, None)]
        answered = [
            replace(item, values=scores, answer=answer)
            for item, scores in zip(task.items, values, strict=True)
        ]
        tasks.append(replace(task, items=answered))
    path = tmp_path / "two.html"
    path.write_text(
        render_page(ReportData(title="Two", tasks=tasks, suite="suite 1")),
        encoding="utf-8",
    )
    page = open_page(path.as_uri())
    items = page.locator("#task-calculate-items")
    items.scroll_into_view_if_needed()
    detail = items.locator(".mt-item-detail")
    detail.locator(".mt-diff").wait_for()
    assert detail.locator("h4").inner_text() == "note-0001"
    assert "#" not in page.url
    left, right = detail.locator(".mt-diff pre").all()
    assert (left.text_content(), right.text_content()) == answers
    assert left.locator("del").all_inner_texts() == ["5", "a"]
    assert right.locator("ins").all_inner_texts() == ["50", "each", ", <i>at most</i>"]
    items.get_by_label("Decision").select_option(label="other than in another run (1)")
    assert items.locator(".mt-item-id").all_inner_texts() == ["note-0001"]
    # A phone shows the list first, with the failure marked in it.
    page = open_page(path.as_uri(), size=SIZES["phone"])
    page.locator("#task-calculate-items").scroll_into_view_if_needed()
    assert page.locator("[aria-selected=true] .mt-item-id").inner_text() == "note-0001"
    assert not page.locator("#task-calculate-items-detail").is_visible()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_an_item_has_an_address(
    open_page: Callable[..., Any], report: str, size: str
) -> None:
    page = open_page(f"{report}#answers/q%2F3%20%26%20more/large", size=SIZES[size])
    detail = page.locator("#task-answers-items-detail")
    assert detail.locator("h4").inner_text() == "q/3 & more"
    assert "large" in detail.locator(".mt-facts").first.inner_text()
    assert detail.is_visible()
    page.locator("#task-answers-items").get_by_role(
        "button", name="small (unscored)"
    ).click()
    page.wait_for_url("**#answers/q%2F3%20%26%20more")
    page.goto(f"{report}#answers/absent")
    assert (
        page.locator("#task-answers-items-status").inner_text()
        == "No item has the id absent."
    )
    # A credentialed item shows its id, groups, scores and hash.
    text = (
        open_page(f"{report}#notes_open/10001", size=SIZES[size])
        .locator("#task-notes_open-items-detail")
        .inner_text()
    )
    assert "Texts of credentialed data are not shown" in text
    assert "6b86b273ff34" in text
    assert "Question" not in text


def test_the_chosen_colours_are_kept(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report, scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(colour) == "rgb(20, 24, 28)"
    page.reload()
    assert page.evaluate(colour) == "rgb(20, 24, 28)"
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


@not_in_firefox
def test_the_printed_page_is_unfolded_and_black_on_white(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report, scheme="dark")
    page.emulate_media(media="print")
    assert (
        page.evaluate(
            "getComputedStyle(document.querySelector('.mt-line line')).stroke"
        )
        == "rgb(0, 0, 0)"
    )
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert (
        not page.locator(".mt-items, .mt-controls, .mt-theme")
        .locator("visible=true")
        .count()
    )
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator(".mt-recipe pre").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert len(page.pdf()) > 10_000


@not_in_firefox
def test_without_scripts_everything_but_the_items_is_shown(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report, java_script_enabled=False)
    assert page.locator(ROWS).count() == 12
    assert page.locator("#task-calculate .mt-line svg circle").first.is_visible()
    sentence = page.locator("noscript p").first
    assert sentence.is_visible()
    assert sentence.inner_text().startswith(
        "The 240 items can be looked at where scripts may run"
    )
    assert (
        not page.locator(".mt-controls, .mt-items, .mt-theme, .mt-copy-line")
        .locator("visible=true")
        .count()
    )


def test_the_skip_link_comes_first_and_a_recipe_is_copied(
    open_page: Callable[..., Any], report: str
) -> None:
    page = open_page(report, permissions=["clipboard-read", "clipboard-write"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#task-calculate .mt-recipe summary").first.click()
    page.locator("#task-calculate .mt-copy").first.click()
    page.get_by_text("Copied.").wait_for()
    assert '"task_version": "1-A"' in page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_links_of_the_contents_lead_to_their_task(
    open_page: Callable[..., Any], tmp_path: Path, size: str
) -> None:
    """Tasks are laid out as the reader scrolls near them; growth above must not move the task that is read."""
    sample = sample_report(items=3)
    tasks = [
        replace(task, name=f"{task.name}_{copy}")
        for copy in range(6)
        for task in sample.tasks
    ]
    path = tmp_path / "many.html"
    path.write_text(render_page(replace(sample, tasks=tasks)), encoding="utf-8")
    page = open_page(path.as_uri(), size=SIZES[size])
    assert page.locator(".mt-contents a").count() >= 14
    assert (
        page.evaluate("getComputedStyle(document.documentElement).scrollBehavior")
        == "auto"
    )
    for copy in (5, 1, 3):
        page.locator(f".mt-contents a[href='#task-calculate_{copy}']").evaluate(
            "link => link.click()"
        )
        page.wait_for_timeout(400)
        section = page.locator(f"#task-calculate_{copy}")
        assert 0 <= section.evaluate("task => task.getBoundingClientRect().top") <= 40


def test_a_title_without_a_blank_does_not_widen_the_page(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "long.html"
    path.write_text(
        render_page(replace(sample_report(items=1), title="long" * 20)),
        encoding="utf-8",
    )
    page = open_page(path.as_uri(), size=SIZES["phone"])
    assert no_sideways(page)
    assert page.locator(".mt-theme").is_visible()
