"""The review desk in a real browser: labelled by keyboard, with a server that is killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.site.desk.sheets import write_sheet
from tests.browser.conftest import no_sideways
from tests.site.desk.desk_sheets import DeskProcess, a_sheet

HOSTILE = (
    "<script>window.broken = 1</script> <img src=x onerror='window.broken = 2'> "
    "says \u202eon\u202c \x07 {{ 7 * 7 }} &amp; </div>\n"
)
Open = Callable[..., Any]


@pytest.fixture
def make_desk(tmp_path: Path) -> Iterator[Callable[..., DeskProcess]]:
    """Opens desks on invented sheets; they are killed at the end."""
    started: list[DeskProcess] = []

    def make(**about: Any) -> DeskProcess:
        path = tmp_path / "sheet.json"
        write_sheet(path, a_sheet(**about))
        desk = DeskProcess(path, tmp_path / "home")
        desk.start()
        started.append(desk)
        return desk

    yield make
    for desk in started:
        desk.kill()


@pytest.fixture
def stored_lines(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """Returns the lines on the disk."""
    path = tmp_path / "sheet.desk" / "questions.jsonl"
    return lambda: [json.loads(line) for line in path.read_text().splitlines()]


def expect(page: Any, selector: str, text: str) -> None:
    """Waits until an element of the page contains a text."""
    from playwright.sync_api import expect as expected

    expected(page.locator(selector)).to_contain_text(text, timeout=60_000)


def test_200_items_are_labelled_by_keyboard_though_the_server_is_killed(
    open_page: Open,
    make_desk: Callable[..., DeskProcess],
    stored_lines: Callable[[], list[dict[str, Any]]],
) -> None:
    items = 200
    desk = make_desk(items=items)
    page = open_page(desk.addresses["ann"], expected_faults=True)
    expect(page, "#place", f"Item 1 of {items}")
    assert desk.addresses["ann"].rpartition("/")[2] not in page.url
    labels = {}
    for number in range(items):
        if number == 90:
            # A person is slower than this test: the next items are there.
            while not page.evaluate("held.has('p0091') && held.has('p0092')"):
                page.wait_for_timeout(20)
            held = page.evaluate("held.size")
            assert held <= 3, "items that were shown are held, as they were before"
            desk.kill()
        key, value = ("k", "keep") if number % 3 else ("x", "drop")
        page.keyboard.press(key)
        labels[f"p{number:04}"] = value
        if number == 92:
            expect(page, "#trouble", "Not saved yet")
            stored = page.evaluate("JSON.stringify(localStorage)")
            assert "p0092" in stored
            assert "troponin" not in stored.lower()
            desk.start()
        if number < items - 1:
            expect(page, "#place", f"Item {number + 2} of {items}")
    expect(page, "#finished-text", f"{items} of {items} labelled")
    expect(page, "#saved", "Saved.")
    lines = stored_lines()
    assert {line["item"]: line["value"] for line in lines} == labels
    assert len(lines) == len({line["id"] for line in lines}) == items
    assert page.evaluate("Object.keys(localStorage).length") == 0


def test_a_killed_browser_loses_no_label(
    open_page: Open,
    make_desk: Callable[..., DeskProcess],
    stored_lines: Callable[[], list[dict[str, Any]]],
) -> None:
    desk = make_desk(items=5)
    page = open_page(desk.addresses["ann"], expected_faults=True)
    expect(page, "#place", "Item 1 of 5")
    desk.kill()
    page.keyboard.press("k")
    expect(page, "#trouble", "Not saved yet")
    context = page.context
    page.close()
    desk.start()
    again = context.new_page()
    again.goto(f"http://127.0.0.1:{desk.port}/")
    expect(again, "#place", "Item 2 of 5")
    expect(again, "#saved", "Saved. 1 of 5")
    assert [(line["item"], line["value"]) for line in stored_lines()] == [
        ("p0000", "keep")
    ]


def test_notes_edits_and_undo_by_keyboard(
    open_page: Open,
    make_desk: Callable[..., DeskProcess],
    stored_lines: Callable[[], list[dict[str, Any]]],
) -> None:
    desk = make_desk(items=3)
    page = open_page(desk.addresses["ann"])
    expect(page, "#place", "Item 1 of 3")
    page.keyboard.press("n")
    page.keyboard.type("kind of unsure: x")
    page.keyboard.press("Escape")
    page.locator("#field-question").focus()
    page.keyboard.press("End")
    page.keyboard.type(" Now?")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page, "#place", "Item 2 of 3")
    page.keyboard.press("x")
    expect(page, "#saved", "2 of 3")
    page.keyboard.press("u")
    expect(page, "#saved", "Undone. 1 of 3")
    expect(page, "#place", "Item 2 of 3")
    page.keyboard.press(",")
    expect(page, "#place", "Item 1 of 3")
    assert page.input_value("#note") == "kind of unsure: x"
    assert page.input_value("#field-question") == "What was 0? Now?"
    last = {line["item"]: line for line in stored_lines()}
    assert last["p0000"]["value"] == "keep"
    assert last["p0000"]["note"] == "kind of unsure: x"
    assert last["p0000"]["edits"] == {"question": "What was 0? Now?"}
    assert last["p0001"]["value"] == ""


def test_hostile_and_long_notes_are_shown_as_text(
    open_page: Open, make_desk: Callable[..., DeskProcess]
) -> None:
    long = HOSTILE + "A long note goes on. " * 5000
    desk = make_desk(items=2, note=long)
    page = open_page(desk.addresses["ann"])
    expect(page, "#place", "Item 1 of 2")
    text = page.locator(".text").text_content()
    assert "<script>window.broken = 1</script>" in text
    assert "says [U+202E]on[U+202C] [U+0007] {{ 7 * 7 }} &amp; </div>" in text
    assert len(text) > 100_000
    assert page.evaluate("window.broken") is None
    assert page.locator(".text img, .text script").count() == 0
    assert no_sideways(page)


def test_the_adjudicator_decides_without_names_and_sees_agreement(
    open_page: Open, make_desk: Callable[..., DeskProcess]
) -> None:
    desk = make_desk(items=4)
    for name, keys in (("ann", "kkkx"), ("ben", "kkxx")):
        page = open_page(desk.addresses[name])
        for number, key in enumerate(keys, start=1):
            expect(page, "#place", f"Item {number} of 4")
            page.keyboard.press(key)
        expect(page, "#saved", "4 of 4")
        assert page.locator("#agreement").count() == 0
    page = open_page(desk.addresses["eve"])
    expect(page, "#place", "Item 1 of 1")
    opinions = page.locator("#opinions").inner_text()
    assert "Keep the question" in opinions
    assert "Drop it" in opinions
    assert "ann" not in opinions
    assert "ben" not in opinions
    expect(page, "#agreement", "75 % of 4")
    expect(page, "#agreement", "kappa 0.50")
    page.keyboard.press("k")
    expect(page, "#waiting", "Waiting for you: 0")


SIZES = [(375, 740), (768, 1024), (1280, 800), (640, 400)]
"""The last size is 1280 by 800 at a zoom of 200 %."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_desk_is_accessible_at_every_size(
    open_page: Open,
    axe: Callable[..., list[str]],
    make_desk: Callable[..., DeskProcess],
    size: tuple[int, int],
    scheme: str,
) -> None:
    desk = make_desk(items=2)
    # A browser's own checks are run as a script, which the page's policy would not let in.
    page = open_page(desk.addresses["ann"], size=size, scheme=scheme, bypass_csp=True)
    expect(page, "#place", "Item 1 of 2")
    assert no_sideways(page)
    assert axe(page) == []
    page.keyboard.press("h")
    assert page.locator("#help").is_visible()
    assert axe(page) == []


def test_focus_moves_from_the_item_to_its_choices_visibly(
    open_page: Open, make_desk: Callable[..., DeskProcess]
) -> None:
    desk = make_desk(items=2)
    page = open_page(desk.addresses["ann"])
    expect(page, "#place", "Item 1 of 2")
    seen = []
    for _ in range(8):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className"
                " || document.activeElement.dataset.value"
            )
        )
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"
    assert seen[:6] == ["answer", "text", "field-question", "note", "choice", "choice"]
    page.locator("#keys").evaluate("box => { box.checked = false; }")
    page.keyboard.press("k")
    expect(page, "#place", "Item 1 of 2")


def test_a_long_note_is_scrolled_to_its_marked_sentence(
    open_page: Open, make_desk: Callable[..., DeskProcess]
) -> None:
    late = "word " * 6000 + "ends. The marked sentence is here. And on it goes. " * 50
    desk = make_desk(items=2, note=late)
    page = open_page(desk.addresses["ann"])
    expect(page, "#place", "Item 1 of 2")
    expect(page, "mark", "The marked sentence is here.")
    box = page.locator(".text").bounding_box()
    mark = page.locator("mark").bounding_box()
    assert page.locator(".text").evaluate("box => box.scrollTop") > 1000
    assert box["y"] <= mark["y"] <= box["y"] + box["height"]
