"""The page of a model, and the queue."""

from __future__ import annotations

from medical_tasks.leaderboard.app.model_page import model_names, model_page, queue_page
from medical_tasks.leaderboard.app.pages import about_page
from medical_tasks.leaderboard.records import Event, Submission
from medical_tasks.leaderboard.submission_package.contents import Submitter
from tests.leaderboard.app.page_samples import HOSTILE, board, entry, reported, submission
from tests.leaderboard.app.test_board_pages import Cells, rows


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
    assert "img" not in Cells(html).tags
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
    odd = entry(HOSTILE, 0.5, recipe={"model": {"name": HOSTILE}}, setting=HOSTILE)
    for html in (model_page(board(odd, submissions=(one,)), HOSTILE), queue_page(board(submissions=(one,)))):
        assert not {"img", "script"} & set(Cells(html).tags)
        assert "\u2028" not in html


def test_about_names_every_benchmark_and_state() -> None:
    html = about_page()
    for word in ("MedCalc-Bench", "K-QA", "EHRNoteQA", "DocLens", "ArchEHR-QA", "verified", "accepted", "reported"):
        assert word in html
