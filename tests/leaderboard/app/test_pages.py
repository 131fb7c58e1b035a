"""The pages: tables, a model, the queue, two compared, addresses, settings, and what is shown of a store that changes."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.app.pages import Page, model_names, model_page, page_at, queue_page
from medical_tasks.leaderboard.app.parts import PAGES, Address, address_of, task_order
from medical_tasks.leaderboard.app.serving import PORT_VARIABLE, STORE_VARIABLE, settings_of
from medical_tasks.leaderboard.app.tables import overall_page, task_page
from medical_tasks.leaderboard.board import Board, Content, entries_of
from medical_tasks.leaderboard.ranking import HEADLINES
from medical_tasks.leaderboard.records import Entry, Event, Submission
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import Submitter
from tests.leaderboard.app.page_samples import HOSTILE, board, entry, number, reported, submission
from tests.leaderboard.made_packages import cases, package
from tests.report.page_reading import PageReader
from tests.support import ROOT


def tables(html: str) -> dict[str, list[list[str]]]:
    """Rows of the tables in a page, each a list of its cells' texts, by the table's id."""
    return {
        name: [
            [unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<t[dh][ >].*?</t[dh]>", row, re.DOTALL)]
            for row in re.findall("<tr[ >].*?</tr>", body, re.DOTALL)
        ]
        for name, body in re.findall('<table[^>]*? id="([^"]*)"(.*?)</table>', str(html), re.DOTALL)
    }


def rows(html: str, table: str) -> list[list[str]]:
    return tables(html)[table][1:]


def test_ranks_are_ranges_and_the_metric_decides_the_order() -> None:
    # Intervals: 0.85-0.95, 0.80-0.90 and 0.35-0.45: the first two overlap, the third lies below both.
    html = task_page(board(entry("B", 0.85), entry("A", 0.9), entry("C", 0.4)), "medcalc")
    assert [row[:2] for row in rows(html, "board-0")] == [["1-2", "A"], ["1-2", "B"], ["3", "C"]]
    assert [row[2] for row in rows(html, "board-0")] == [
        "90.0 %85.0 to 95.0",
        "85.0 %80.0 to 90.0",
        "40.0 %35.0 to 45.0",
    ]
    assert {row[4] for row in rows(html, "board-0")} == {"98/100"}
    assert "Tokens an answer" not in html
    told = task_page(
        board(entry("B", 0.85, usage={"output_tokens": 990, "cost_usd": 0.495}), entry("A", 0.9)), "medcalc"
    )
    assert [row[-3] for row in rows(told, "board-0")] == ["not stated", "10.0$ 0.0050"]
    a = entry("A", 0.9, metrics={"accuracy": number(0.9), "accuracy_official": number(0.1)})
    b = entry("B", 0.5, metrics={"accuracy": number(0.5), "accuracy_official": number(0.6)})
    assert [row[1] for row in rows(task_page(board(a, b), "medcalc"), "board-0")] == ["A", "B"]
    by = task_page(board(a, b), "medcalc", metric="accuracy_official")
    assert [row[1] for row in rows(by, "board-0")] == ["B", "A"]
    assert "accuracy_official</strong>: The authors&#x27; decision" in by
    # A metric there is not is the headline.
    assert task_page(board(a, b), "medcalc", metric="'; --") == task_page(board(a, b), "medcalc")


def test_groups_are_never_ranked_together() -> None:
    ours = [entry("A", 0.9), entry("B", 0.5)]
    other = entry("Other", 0.99, recipe={"prompts": {"set": "official", "sha256": "cd" * 32}})
    assert other.group != ours[0].group
    html = task_page(board(*ours, other), "medcalc")
    assert [row[1] for row in rows(html, "board-0")] == ["A", "B"]
    assert "numbers of different groups are never ranked together; 1 entries are in groups not shown here" in html
    alone = task_page(board(*ours, other), "medcalc", group=other.group)
    assert [row[:2] for row in rows(alone, "board-0")] == [["1", "Other"]]
    every = task_page(board(*ours, other), "medcalc", group="all")
    assert [row[0] for row in rows(every, "board-0")] == ["1", "2"]
    assert [row[0] for row in rows(every, "board-1")] == ["1"]


def test_what_papers_report_has_no_rank_and_says_how_it_differs() -> None:
    html = task_page(board(entry("A", 0.5), reported("GPT-4", 0.379)), "medcalc")
    assert [row[1] for row in rows(html, "board-0")] == ["A"]
    (row,) = rows(html, "board-reported")
    assert row[:2] == ["GPT-4", "37.9 %no interval reported"]
    assert "reported" in row
    assert row[-1] == "2 differencesThe authors' script decided.Other prompts."
    assert 'href="https://example.org/paper"' in html
    # Where nothing was submitted, papers stand alone.
    alone = task_page(board(reported("GPT-4", 0.379)), "medcalc")
    assert "No submission of this task was accepted yet." in alone
    assert list(tables(alone)) == ["board-reported"]


def test_an_entry_that_is_not_ranked_says_why() -> None:
    marked = entry("Marked", 0.9, differences=("Only 95.0 % of the items have a score.",))
    html = task_page(board(marked, entry("A", 0.5)), "medcalc")
    assert [row[:2] for row in rows(html, "board-0")] == [["1", "A"], ["n/a", "Marked"]]
    assert "Not ranked: Only 95.0 % of the items have a score." in html
    judge = {"name": "lexical", "comparable": False, "votes": 1}
    metrics = {"comprehensiveness": number(0.9, comparable=False)}
    html = task_page(board(entry("A", 0.9, task="kqa", metrics=metrics, recipe={"judge": judge})), "kqa")
    assert "<strong>Not comparable: the judge lexical compares words" in html
    assert "[not comparable]" in html
    assert rows(html, "board-0")[0][0] == "n/a"
    empty = {"value": None, "ci_low": None, "ci_high": None, "n": 0}
    html = task_page(board(entry("A", 0.5, metrics={"accuracy": empty}, coverage={"asked": 0, "scored": 0})), "medcalc")
    (row,) = rows(html, "board-0")
    assert (row[0], row[2], row[4]) == ("n/a", "n/a", "0/0")


def test_open_weights_are_a_tag_and_unsaid_is_not_no() -> None:
    said = [(True, "yes"), (False, "no"), (None, "not said")]
    entries = [entry(f"M{place}", 0.5) for place in range(3)]
    known = tuple(
        submission(one.submission, one.model, open_weights=value) for one, (value, _) in zip(entries, said, strict=True)
    )
    html = task_page(board(*entries, submissions=known), "medcalc")
    assert sorted(row[7] for row in rows(html, "board-0")) == sorted(word for _, word in said)
    assert len(re.findall('data-tags="open"', html)) == 1


def test_a_task_without_results_says_so_and_tasks_stand_as_in_the_documentation() -> None:
    assert "No results of this task yet." in task_page(board(), "medcalc")
    assert task_order(["kqa", "medcalc", "kqa"]) == ["medcalc", "kqa"]


def _everywhere(model: str, value: float, headlines: int = len(HEADLINES)) -> list[object]:
    return [
        entry(model, value, task=one.name, metrics={one.metrics[0].name: number(value, 0.02)})
        for one in HEADLINES[:headlines]
    ]


def test_the_overall_table_ranks_complete_models_and_names_what_is_missing() -> None:
    entries = [*_everywhere("Whole", 0.6), *_everywhere("Better", 0.8), *_everywhere("Half", 0.99, 2)]
    html = overall_page(board(*entries))  # type: ignore[arg-type]
    found = rows(html, "board-overall")
    assert [row[:2] for row in found] == [["1", "Better"], ["2", "Whole"], ["n/a", "Half"]]
    assert found[0][2].startswith("80.0")
    # Half of five benchmarks: no mean at all.
    assert found[2][2] == "n/a"
    assert found[2][-2] == ", ".join(one.benchmark.title for one in HEADLINES[2:])
    assert "No submission was accepted yet." in overall_page(board())


def test_very_many_entries_get_columns_of_set_widths() -> None:
    few, many = ([entry(f"M{n}", 0.5) for n in range(count)] for count in (200, 201))
    assert "mtl-many" not in task_page(board(*few), "medcalc")
    html = task_page(board(*many), "medcalc")
    assert "mtl-many" in html
    assert len(rows(html, "board-0")) == 201


def test_a_model_has_all_its_results_and_its_history() -> None:
    mine = [entry("A", 0.9), entry("A", 0.4, task="medcalc_direct"), reported("A", 0.3), entry("Somebody else", 0.1)]
    known = submission(mine[0].submission, "A", url="https://example.org/a", parameters=7.5, notes="A note.")
    html = model_page(board(*mine, submissions=(known,)), "A")
    found = rows(html, "model-results")
    assert [row[0].split("MedCalc")[0] for row in found] == ["medcalc", "medcalc", "medcalc_direct"]
    assert [row[4] for row in found] == ["unverified", "reported", "unverified"]
    assert "7.5 billion" in html
    assert "A note." in html
    assert '<a href="https://example.org/a" rel="noreferrer noopener">' in html
    # Breakdown, recipe and history are there; another model's result is not.
    assert "By category (1)" in html
    assert "&quot;rows_sha256&quot;" in html
    assert [row[2] for row in rows(html, "model-history")] == ["pending", "accepted"]
    assert "Somebody else" not in html
    events = [
        Event(state="pending", at="2026-03-01T10:00:00Z"),
        Event(state="accepted", at="2026-03-02T10:00:00Z", by="keeper", verified={"matches": True}),
    ]
    one = Submission(id="a" * 16, submitter=Submitter(model="A"), tasks=("medcalc",), history=events)
    html = model_page(board(entry("A", 0.5, state="verified"), submissions=(one,)), "A")
    assert [row[-1] for row in rows(html, "model-history")] == ["", "yes: it matches"]


def test_a_model_of_papers_or_pending_or_of_several_submitters_or_unknown_says_so() -> None:
    html = model_page(board(reported("GPT-4", 0.379)), "GPT-4")
    assert "papers alone: nobody submitted it here" in html
    assert "model-history" not in html
    html = model_page(board(submissions=(submission("a" * 16, "New", "pending"),)), "New")
    assert "Nothing of this model was accepted yet." in html
    assert [row[2] for row in rows(html, "model-history")] == ["pending"]
    html = model_page(board(entry("A", 0.5)), HOSTILE)
    assert "No model is called" in html
    assert "img" not in PageReader(html).elements
    assert "Choose a model above." in model_page(board(), "")
    found = board(entry("b", 0.5), reported("C", 0.5), submissions=(submission("a" * 16, "A", "pending"),))
    assert model_names(found) == ["A", "b", "C"]
    two = (submission("a" * 16, "A", organisation="One"), submission("b" * 16, "A", organisation="Two"))
    html = model_page(board(entry("A", 0.5), submissions=two), "A")
    assert "Also submitted by" in html
    assert "Two" in html


def test_the_queue_is_in_the_order_of_waiting() -> None:
    some = (
        submission("c" * 16, "Late", "pending", at="2026-03-05"),
        submission("a" * 16, "Early", "pending", at="2026-03-01"),
        submission("b" * 16, "Done", "accepted", at="2026-03-02"),
        submission("d" * 16, "Refused", "rejected", at="2026-03-03"),
    )
    html = queue_page(board(submissions=some))
    assert "2 pending, 1 accepted, 1 rejected" in html
    assert [row[:2] for row in rows(html, "queue")] == [["1", "Early"], ["2", "Late"], ["", "Refused"], ["", "Done"]]
    assert rows(html, "queue")[2][4:8] == ["rejected", "2026-03-03 10:00", "2026-03-03 11:00", "A reason."]
    assert "Nothing was submitted yet." in queue_page(board())


def test_texts_of_submitters_stay_texts_everywhere() -> None:
    one = submission("a" * 16, HOSTILE, organisation=HOSTILE, notes=HOSTILE, url="https://example.org/")
    odd = entry(
        HOSTILE,
        0.5,
        recipe={"model": {"name": HOSTILE}},
        organisation=HOSTILE,
        setting=HOSTILE,
        url="javascript:alert(1)",
    )
    known = board(odd, reported(HOSTILE, 0.5), submissions=(one,))
    for html in (task_page(known, "medcalc"), model_page(known, HOSTILE), queue_page(known)):
        assert "onerror=alert(1)&gt;" in html
        assert not {"img", "script", "iframe"} & set(PageReader(html).elements)
        assert "\u2028" not in html
        assert 'href="javascript' not in html


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
    assert "comparison" not in tables(html)
    assert "img" not in PageReader(html).elements


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
    for view in PAGES:
        assert page_at(content, Address(view=view)).html.startswith('<div class="mt mtl" data-address="?')


@given(
    st.dictionaries(st.sampled_from([*Address.__dataclass_fields__, "page", "x"]), st.text(max_size=300), max_size=6)
)
@settings(deadline=None, max_examples=60)
def test_any_address_leads_to_a_page(content: Content, query: dict[str, str]) -> None:
    address = address_of(query)
    page = page_at(content, address)
    assert page.address.view == address.view
    assert not {"img", "script"} & set(PageReader(page.html).elements)


@given(st.builds(Address, view=st.sampled_from(PAGES), model=st.text(max_size=96), task=st.text(max_size=50)))
@settings(deadline=None, max_examples=60)
def test_an_address_is_read_as_it_was_written(address: Address) -> None:
    again = address_of(dict(parse_qsl(address.query.removeprefix("?"))))
    if address.model and address.view == PAGES[0]:
        return  # a model is a page of its own
    assert again == address


def test_settings_are_of_this_machine_alone() -> None:
    assert settings_of({STORE_VARIABLE: "store", PORT_VARIABLE: "8001"}) == ("store", "127.0.0.1", 8001)
    space = settings_of({STORE_VARIABLE: "hub:me/board", "SPACE_ID": "me/space", PORT_VARIABLE: "9"})
    assert space == ("hub:me/board", "0.0.0.0", 7860)
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


class Counted:
    """Counts how often entries are made, and may be out of reach."""

    def __init__(self, folder: Path) -> None:
        self.board = Board(LocalStorage(folder))
        self.reads = 0
        self.now = 0.0
        self.broken = False
        self.content = Content(self.board, lifetime=5.0, clock=lambda: self.now, read=self.read)

    def read(self, board: Board) -> Sequence[Entry]:
        self.reads += 1
        if self.broken:
            raise MissingError("store <out> of reach")
        return entries_of(board, published=False)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    made = Counted(tmp_path / "store")
    made.board.submit(package("One", of=40))
    return made


def test_a_change_is_seen_after_the_lifetime_or_at_once_when_told(counted: Counted) -> None:
    assert counted.content.snapshot().entries == ()
    (waiting,) = counted.content.snapshot().pending()
    counted.board.decide(waiting.id, "accepted", by="keeper")
    assert counted.content.snapshot().entries == ()
    counted.now = 5.0
    for _ in range(3):
        assert [entry.model for entry in counted.content.snapshot().entries] == ["One"]
        counted.now += 6.0
    assert counted.reads == 2  # a store that did not change is not read again
    counted.board.submit(package("Two", of=40))
    counted.content.forget()
    assert len(counted.content.snapshot().submissions) == 2


def test_a_store_out_of_reach_is_said_above_what_was(counted: Counted, caplog: pytest.LogCaptureFixture) -> None:
    counted.broken = True
    html = page_at(counted.content, Address(view="queue")).html
    assert "The leaderboard&#x27;s store cannot be read now" in html
    assert "of reach" not in html  # it may name a place of the server, whose log has it
    assert "store <out> of reach" in caplog.text
    assert "Nothing can be shown." in html
    counted.broken = False
    counted.now = 6.0
    assert "cannot be read" not in page_at(counted.content, Address(view="queue")).html
    counted.broken = True
    counted.now = 12.0
    counted.board.submit(package("Two", of=40))
    html = page_at(counted.content, Address(view="queue")).html
    assert "cannot be read now" in html
    assert "1 pending" in html


def test_a_store_that_is_gone_is_no_empty_store(
    counted: Counted, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counted.content.snapshot()
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    counted.now = 6.0
    html = page_at(counted.content, Address(view="queue")).html
    assert "all of its 2 files are gone" in caplog.text
    assert "cannot be read now" in html
    assert "1 pending" in html
    (tmp_path / "elsewhere").rename(tmp_path / "store")
    counted.now = 12.0
    assert "cannot be read" not in page_at(counted.content, Address(view="queue")).html


def test_while_one_reads_the_others_see_what_was(counted: Counted) -> None:
    counted.content.snapshot()
    started, go_on = threading.Event(), threading.Event()

    def slow(board: Board) -> Sequence[Entry]:
        started.set()
        assert go_on.wait(10)
        return entries_of(board, published=False)

    counted.content._read = slow
    counted.board.submit(package("Two", of=40))
    counted.content.forget()
    reader = threading.Thread(target=counted.content.snapshot)
    reader.start()
    assert started.wait(10)
    assert len(counted.content.snapshot().submissions) == 1
    go_on.set()
    reader.join()
    assert len(counted.content.snapshot().submissions) == 2
