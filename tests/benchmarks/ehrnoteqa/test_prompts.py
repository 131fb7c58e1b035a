"""Prompts of all formats, and shortened notes."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import medical_tasks.benchmarks.ehrnoteqa.prompts as module
from medical_tasks.benchmarks.ehrnoteqa.data import demo_pairs
from medical_tasks.benchmarks.ehrnoteqa.prompts import (
    MARKER,
    gold_response,
    load_prompts,
    shortened,
)
from medical_tasks.benchmarks.ehrnoteqa.questions import joined_row
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import ChoiceScores
from medical_tasks.spec import Item
from tests.benchmarks.ehrnoteqa.tiny_items import (
    FORMATS,
    authors_source,
    item,
    note,
    task_of,
    write_checkout,
)
from tests.case_tables import cases, tabled
from tests.support import user_message

NOTES, CHOICES = ("\n".join(cases(__file__, name)) for name in ("NOTES", "CHOICES"))


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("form", FORMATS)
def test_the_whole_prompt_of_every_format(form: str, level: int) -> None:
    shown = {"mc", "mc_prob_index"}
    paragraphs = [module.INTRODUCTION, NOTES, "Question: What did the patient swallow?"]
    paragraphs += [f"Choices:\n{CHOICES}"] if form in shown else []
    text = user_message(load_prompts(task_of(form, level)), item())
    assert text == "\n\n".join([*paragraphs, module.FORMS[form]])
    assert all((choice in text) == (form in shown) for choice in ("A coin.", "A ring."))


def test_continuations_of_every_format() -> None:
    sets = {form: load_prompts(task_of(form)) for form in FORMATS}
    assert sets["open"].continuations is None
    assert sets["mc"].continuations is None
    index, value = (
        sets["mc_prob_index"].continuations,
        sets["mc_prob_value"].continuations,
    )
    assert index is not None
    assert value is not None
    padded = item(
        choices=[" A coin.\n", "A marble.", "A {key}.", "A ring.", "Nothing."]
    )
    assert index(padded) == ("A", "B", "C", "D", "E")
    assert (
        value(padded)
        == value(item())
        == ("A coin.", "A marble.", "A {key}.", "A ring.", "Nothing.")
    )


def test_braces_in_texts_are_kept() -> None:
    odd = item(
        note("{note} {} {question} %s"),
        question=" {note} {0}?\n",
        choices=["{a}", "{}", "%d", "}{", "{{e}}"],
    )
    text = user_message(load_prompts(task_of("mc")), odd)
    assert (
        "\n{note} {} {question} %s\n[note 1 end]\n\nQuestion: {note} {0}?\n\nChoices:\nA. "
        "{a}\nB. {}\n" in text
    )
    assert "\nD. }{\nE. {{e}}\n\n" in text


def test_the_hash_covers_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> dict[str, str]:
        return {form: load_prompts(task_of(form)).sha256 for form in FORMATS}

    before = hashes()
    assert len(set(before.values())) == 4
    assert before == {form: load_prompts(task_of(form, 2)).sha256 for form in FORMATS}
    listed = {"mc", "mc_prob_index"}
    every = {
        name: set(FORMATS) for name in ("INTRODUCTION", "NOTE", "MARKER", "QUESTION")
    }
    for name, changed in {**every, "CHOICES": listed, "CHOICE": listed}.items():
        with monkeypatch.context() as patch:
            patch.setattr(module, name, f"{getattr(module, name)}!")
            after = hashes()
        assert {form for form in FORMATS if after[form] != before[form]} == changed, (
            name
        )
    for form in FORMATS:
        with monkeypatch.context() as patch:
            patch.setitem(module.FORMS, form, "other")
            after = hashes()
        assert {other for other in FORMATS if after[other] != before[other]} == {form}


@pytest.mark.parametrize("subfolder", ["", "src", "src/generation"])
def test_official_prompts_are_filled(tmp_path: Path, subfolder: str) -> None:
    folder = write_checkout(tmp_path, authors_source()) / subfolder
    odd = item(question="{note}?", choices=["a", "{b}", "c", "d", "e"])
    opened, choice = (
        load_prompts(task_of(form), "official", folder) for form in ("open", "mc")
    )
    assert (
        user_message(opened, odd)
        == f"Notes {{all}}:\n{NOTES}\nAsked: {{note}}?\nSay it:"
    )
    assert (
        user_message(opened, item(choices=[]))
        == f"Notes {{all}}:\n{NOTES}\nAsked: What did the patient swallow?\nSay it:"
    )
    assert (
        user_message(choice, odd)
        == f"{NOTES}\n{{note}}?\n(a) a\n(b) {{b}}\n(c) c\n(d) d\n(e) e\nPick:"
    )
    for prompts in (opened, choice):
        assert prompts.name == "official"
        assert prompts.continuations is None
        assert prompts.shorten is not None
        assert "[words left out here: 3]" in user_message(
            prompts, prompts.shorten(odd, 3)
        )


def test_each_official_template_is_hashed_and_checked_alone(tmp_path: Path) -> None:
    first = write_checkout(tmp_path / "one", authors_source())
    second = write_checkout(
        tmp_path / "two", authors_source(open_template="{note} {question}")
    )
    digests = {
        (form, folder.name): load_prompts(task_of(form), "official", folder).sha256
        for form in ("open", "mc")
        for folder in (first, second)
    }
    assert digests["open", "one"] != digests["open", "two"]
    assert digests["mc", "one"] == digests["mc", "two"] != digests["open", "one"]
    assert load_prompts(task_of("open")).sha256 not in digests.values()
    template = "{note} {question} {choice_a} {choice_b} {choice_c} {choice_d}"
    folder = write_checkout(tmp_path, authors_source(choice_template=template))
    with pytest.raises(
        UsageError, match=r"'multichoice', 'gpt': must have each of .*\{choice_e\} once"
    ):
        load_prompts(task_of("mc"), "official", folder)
    assert load_prompts(task_of("open"), "official", folder).name == "official"


@tabled("source", "message")
def test_damaged_official_files_are_refused(
    tmp_path: Path, source: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load_prompts(task_of("open"), "official", write_checkout(tmp_path, source))
    assert str(tmp_path / "src" / "generation" / "utils.py") in str(caught.value)


def test_unknown_and_missing_prompt_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"unknown prompt set 'theirs' for ehrnoteqa_open_level1. Sets: own, official",
    ):
        load_prompts(task_of("open"), "theirs")
    with pytest.raises(UsageError, match=r"official prompts .*Clone https.*--upstream"):
        load_prompts(task_of("mc"), "official")
    with pytest.raises(
        MissingError, match=r"src/generation/utils.py is not there .*Clone https"
    ):
        load_prompts(task_of("mc"), "official", tmp_path)
    for form in ("mc_prob_index", "mc_prob_value"):
        with pytest.raises(
            UsageError,
            match=r"no official prompts: .*the LM evaluation harness and released no prompts",
        ):
            load_prompts(
                task_of(form), "official", write_checkout(tmp_path, authors_source())
            )


def test_gold_with_and_without_choices() -> None:
    assert gold_response(task_of("open"), item()) == "A marble."
    assert gold_response(task_of("mc"), item(answer="D")) == "D. A ring."
    for form in ("mc_prob_index", "mc_prob_value"):
        for index, letter in enumerate("ABCDE"):
            scores = ChoiceScores.from_text(
                gold_response(task_of(form), item(answer=letter))
            )
            assert scores.logprobs == tuple(
                0.0 if position == index else float("-inf") for position in range(5)
            )
            assert scores.tokens == (1, 1, 1, 1, 1)
            assert scores.below is None
    evidence = item(choices=[], answer="", evidence=["a marble", "was swallowed"])
    assert gold_response(task_of("open"), evidence) == "a marble\nwas swallowed"
    for form in FORMATS:
        assert (
            gold_response(task_of(form), item(choices=[], answer="", evidence=[])) == ""
        )


def test_demo_items_and_shortened_notes_in_every_task() -> None:
    for task in TASKS:
        prompts = load_prompts(task)
        assert prompts.shorten is not None
        text = user_message(prompts, prompts.shorten(item(), 4))
        assert (
            "Chartdate : 2150-01-02\n[words left out here: 3]\n\n[note 1 end]" in text
        )
        assert (
            "Chartdate : 2150-03-04\n[words left out here: 1]\nagain.\n[note 2 end]"
            in text
        )
        for question, notes in demo_pairs():
            shown = item(**dict(joined_row(question, notes)))
            text = user_message(prompts, shown)
            assert text.count(" start]\n") == len(notes)
            assert text.index(notes[-1].text) >= text.index(notes[0].text)
            assert gold_response(task, shown)


HEADER = "Patient ID : 100\nAdmission ID : {}\nChartdate : {}\n"
FIRST, SECOND = HEADER.format("21", "2150-01-02"), HEADER.format("22", "2150-03-04")


def texts(shown: Item) -> list[str]:
    return [note_fields["text"] for note_fields in shown.fields["notes"]]


def words_of(shown: Item) -> int:
    """Counts the words of the notes' bodies."""
    headers = re.compile(r"Patient ID : .*\nAdmission ID : .*\nChartdate : .*\n")
    return sum(len(headers.sub("", text, count=1).split()) for text in texts(shown))


def test_words_are_removed_from_the_beginning_of_the_oldest_note() -> None:
    whole = item(
        note("one two\n three"), note("four five", hadm_id="22", date="2150-03-04")
    )
    second = SECOND + "four five"
    assert words_of(whole) == 5
    assert shortened(whole, 0) is whole
    assert texts(shortened(whole, 1)) == [
        f"{FIRST}[words left out here: 1]\ntwo\n three",
        second,
    ]
    assert texts(shortened(whole, 2)) == [
        f"{FIRST}[words left out here: 2]\nthree",
        second,
    ]
    assert texts(shortened(whole, 3)) == [f"{FIRST}[words left out here: 3]\n", second]
    assert texts(shortened(whole, 4)) == [
        f"{FIRST}[words left out here: 3]\n",
        f"{SECOND}[words left out here: 1]\nfive",
    ]
    no_words = [
        f"{FIRST}[words left out here: 3]\n",
        f"{SECOND}[words left out here: 2]\n",
    ]
    assert (
        texts(shortened(whole, 5))
        == texts(shortened(whole, 6))
        == texts(shortened(whole, 10**9))
        == no_words
    )


def test_shortened_notes_without_a_header_or_a_body() -> None:
    whole = item(note("Patient ID : 7 was seen", header=False))
    assert words_of(whole) == 6
    assert texts(shortened(whole, 4)) == ["[words left out here: 4]\nwas seen"]
    whole = item(note(""), note("left", header=False))
    assert words_of(whole) == 1
    assert texts(shortened(whole, 1)) == [FIRST, "[words left out here: 1]\n"]
    with pytest.raises(ValueError, match="words must be at least 0, got -1"):
        shortened(item(), -1)


bodies = st.text(
    st.sampled_from(["a", "b", " ", "\n", "\t", "\x1f", "\u00a0", "[", "é"]),
    max_size=30,
)
ITEMS = st.lists(st.tuples(bodies, st.booleans()), min_size=1, max_size=3).map(
    lambda drawn: item(*(note(body, header=header) for body, header in drawn))
)


def remainders(shown: Item, whole: Item) -> list[tuple[str, int, str]]:
    """The header of each note, the number of words left out, and the rest of the body."""
    result = []
    for text, full in zip(texts(shown), texts(whole), strict=True):
        header = FIRST if full.startswith(FIRST) else ""
        assert text.startswith(header)
        rest = text[len(header) :]
        removed = 0
        if rest != full[len(header) :]:
            before, after = MARKER.split("{words}")
            number, _, rest = rest.removeprefix(before).partition(after)
            removed = int(number)
        result.append((header, removed, rest))
    return result


@given(ITEMS, st.integers(0, 40))
def test_shortened_notes_lose_so_many_words_and_nothing_else(
    whole: Item, words: int
) -> None:
    total = words_of(whole)
    before = [dict(fields) for fields in whole.fields["notes"]]
    cut = shortened(whole, words)
    assert whole.fields["notes"] == before
    assert [{**fields, "text": 0} for fields in cut.fields["notes"]] == [
        {**fields, "text": 0} for fields in before
    ]
    assert replace(cut, fields={**cut.fields, "notes": before}) == whole
    left = remainders(cut, whole)
    assert sum(removed for _, removed, _ in left) == min(words, total)
    for (header, removed, rest), full in zip(left, texts(whole), strict=True):
        body = full[len(header) :]
        assert body.endswith(rest)
        assert body.split()[removed:] == rest.split()
        assert not (removed and rest[:1].isspace())
    # A note is shortened only if nothing is left of the older ones.
    for (_, _, older), (_, removed, _) in pairwise(left):
        assert not removed or not older.split()
    further = remainders(shortened(whole, words + 1), whole)
    assert all(
        longer.endswith(shorter)
        for (*_, longer), (*_, shorter) in zip(left, further, strict=True)
    )
    assert (shortened(whole, words + 1) == cut) == (words >= total)
