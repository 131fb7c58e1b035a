"""Comparing two submissions, selection fields, addresses and settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.app.pages import Page, page_at
from medical_tasks.leaderboard.app.parts import PAGES, Address, address_of, in_app_link
from medical_tasks.leaderboard.app.serving import PORT_VARIABLE, STORE_VARIABLE, settings_of
from medical_tasks.leaderboard.app.snapshot import Content
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.storage import LocalStorage
from tests.leaderboard.app.test_board_pages import Cells, rows
from tests.leaderboard.made_packages import cases, package

CASES = cases("compare_and_addresses")

OFFICIAL = {"prompts": {"set": "official", "sha256": "cd" * 32}}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Two models of one group, one of another, and one that waits."""
    made = Board(LocalStorage(tmp_path_factory.mktemp("store") / "store"))
    for model, right, recipe in (("Weak", 10, {}), ("Strong", 35, {}), ("Other", 40, OFFICIAL)):
        one = made.submit(package(model, right=right, of=40, recipe=recipe))
        made.decide(one.id, "accepted", by="keeper")
    made.submit(package("Waiting", of=40))
    return Content(made, lifetime=600.0)


def ids(content: Content) -> dict[str, str]:
    return {one.submitter.model: name for name, one in content.snapshot().submissions.items()}


def compared(content: Content, first: str, second: str) -> Page:
    known = ids(content)
    return page_at(
        content,
        Address(view="compare", task="medcalc", first=known.get(first, first), second=known.get(second, second)),
    )


def test_two_of_a_group_are_compared_item_by_item(content: Content) -> None:
    html = compared(content, "Weak", "Strong").html
    accuracy = rows(html, "comparison")[0]
    # 10 and 35 of the same 40 are right, the first 10 in both: 25 better, none worse.
    assert accuracy[:3] == ["accuracy", "25.0 %", "87.5 %"]
    assert accuracy[3].startswith("+62.5")
    assert accuracy[4] == "B is better"
    assert accuracy[6] == "25 / 0 / 15"
    changed = rows(html, "flips")
    assert [row[0] for row in changed] == [f"item-{n}" for n in range(10, 35)]
    assert {row[1] for row in changed} == {"better in B"}
    turned = rows(compared(content, "Strong", "Weak").html, "comparison")[0]
    assert (turned[3][:5], turned[4]) == ("-62.5", "A is better")


@pytest.mark.parametrize(("first", "second", "said"), CASES["what_cannot_be_compared_says_why"])
def test_what_cannot_be_compared_says_why(content: Content, first: str, second: str, said: str) -> None:
    html = compared(content, first, second).html
    assert said in html
    assert "comparison" not in Cells(html).tables
    assert "img" not in Cells(html).tags


def test_fields_hold_what_there_is(content: Content) -> None:
    page = page_at(content, Address(task="medcalc"))
    assert [value for _, value in page.fields["task"].choices][:2] == ["overall", "medcalc"]
    assert page.fields["metric"].value == "accuracy"
    assert len(page.fields["group"].choices) == 3
    assert page.address == Address(task="medcalc")
    assert page_at(content, Address()).address == Address(task="medcalc")
    pair = page_at(content, Address(view="compare")).fields
    assert [value for _, value in pair["compared_task"].choices] == ["medcalc"]
    assert len(pair["first"].choices) == 3


def test_every_page_has_its_address_and_look(content: Content) -> None:
    for view in PAGES:
        page = page_at(content, Address(view=view))
        assert page.html.startswith('<div class="mt mtl" data-address="?')


@given(
    st.dictionaries(st.sampled_from([*Address.__dataclass_fields__, "page", "x"]), st.text(max_size=300), max_size=6)
)
@settings(deadline=None, max_examples=60)
def test_any_address_leads_to_a_page(content: Content, query: dict[str, str]) -> None:
    address = address_of(query)
    page = page_at(content, address)
    assert page.address.view == address.view
    assert not {"img", "script"} & set(Cells(page.html).tags)


@given(st.builds(Address, view=st.sampled_from(PAGES), model=st.text(max_size=96), task=st.text(max_size=50)))
@settings(deadline=None, max_examples=60)
def test_an_address_is_read_as_it_was_written(address: Address) -> None:
    from urllib.parse import parse_qsl

    again = address_of(dict(parse_qsl(address.query.removeprefix("?"))))
    if address.model and address.view == PAGES[0]:
        return  # a model is a page of its own
    assert again == address


def test_a_link_is_an_address_of_its_own() -> None:
    assert in_app_link("A & B", Address(view="model", model='A"&B')) == (
        '<a href="?model=A%22%26B" data-app-link>A &amp; B</a>'
    )


def test_settings_are_of_this_machine_alone() -> None:
    here = settings_of({STORE_VARIABLE: "store", PORT_VARIABLE: "8001"})
    assert (here.host, here.port) == ("127.0.0.1", 8001)
    space = settings_of({STORE_VARIABLE: "hub:me/board", "SPACE_ID": "me/space", PORT_VARIABLE: "9"})
    assert (space.host, space.port, space.store) == ("0.0.0.0", 7860, "hub:me/board")
    import yaml

    from tests.support import ROOT

    card = (ROOT / "space" / "README.md").read_text(encoding="utf-8").split("---")[1]
    facts = yaml.safe_load(card)
    assert (facts["sdk"], facts["app_file"], facts["license"]) == ("gradio", "app.py", "apache-2.0")
    pinned = (ROOT / "space" / "requirements.txt").read_text(encoding="utf-8").split()
    assert f"gradio=={facts['sdk_version']}" in pinned
    constraints = Path(ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert [line for line in pinned if "==" in line and line not in constraints] == []
    assert len(facts["short_description"]) <= 60


@pytest.mark.parametrize(("environment", "said"), CASES["settings_that_are_none_are_told"])
def test_settings_that_are_none_are_told(environment: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        settings_of(environment)
