"""What a model is asked, for each style and set; worked examples of our own and of the authors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.calculators import CALCULATORS, calculate
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.medcalc_bench.data import load_items
from medical_tasks.medcalc_bench.demo import demo_rows
from medical_tasks.medcalc_bench.exemplars import OFFICIAL_FILE, official_exemplars, own_exemplars
from medical_tasks.medcalc_bench.fresh import fresh_rows
from medical_tasks.medcalc_bench.prompts import (
    ANSWER_FORM,
    CHAIN_OF_THOUGHT,
    DIRECT,
    INTRODUCTION,
    gold_response,
    load_prompts,
)
from medical_tasks.medcalc_bench.scoring import decide
from medical_tasks.medcalc_bench.spec import MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT
from medical_tasks.spec import Item, PromptSet
from tests.support import SHARED, needs_shared

UPSTREAM = SHARED / "data" / "medcalc"
ITEMS = load_items(MEDCALC, demo_rows())
FRESH = load_items(MEDCALC, list(fresh_rows(5, 55)))


def asked(prompts: PromptSet, item: Item) -> str:
    """The one message of an item."""
    messages = prompts.render(item)
    assert [message["role"] for message in messages] == ["user"]
    return messages[0]["content"]


def write(folder: Path, content: Any, place: str = OFFICIAL_FILE) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def test_zero_shot_styles_ask_for_their_form() -> None:
    item = ITEMS[0]
    tail = f"Patient note:\n{item.fields['patient_note']}\n\nQuestion:\n{item.fields['question']}"
    direct = asked(load_prompts(MEDCALC_DIRECT), item)
    assert direct == "\n\n".join([INTRODUCTION, ANSWER_FORM, DIRECT, tail])
    thought = asked(load_prompts(MEDCALC), item)
    assert thought == "\n\n".join([INTRODUCTION, ANSWER_FORM, CHAIN_OF_THOUGHT, tail])


def test_hashes_tell_styles_and_sets_apart_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, {"2": {"Patient Note": "a note", "Response": {"answer": "1"}}})
    sets = [
        load_prompts(MEDCALC),
        load_prompts(MEDCALC_DIRECT),
        load_prompts(MEDCALC_ONE_SHOT),
        load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path),
    ]
    assert len({prompts.sha256 for prompts in sets}) == 4
    assert load_prompts(MEDCALC_ONE_SHOT).sha256 == sets[2].sha256
    write(tmp_path, {"2": {"Patient Note": "another note", "Response": {"answer": "1"}}})
    assert load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path).sha256 != sets[3].sha256


def test_the_hash_covers_our_worked_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    import medical_tasks.medcalc_bench.prompts as module

    before = load_prompts(MEDCALC_ONE_SHOT).sha256
    for part in ("note", "question", "reply"):
        changed = dict(own_exemplars())
        first = changed["2"]
        changed["2"] = type(first)(**{**vars(first), part: getattr(first, part) + "."})
        monkeypatch.setattr(module, "own_exemplars", lambda kept=changed: kept)
        assert load_prompts(MEDCALC_ONE_SHOT).sha256 != before


@pytest.mark.parametrize("item", FRESH, ids=lambda item: str(item.fields["calculator_id"]))
def test_one_shot_shows_our_example_of_the_same_calculator(item: Item) -> None:
    text = asked(load_prompts(MEDCALC_ONE_SHOT), item)
    example = own_exemplars()[str(item.fields["calculator_id"])]
    assert example.question is not None
    head, tail = text.split("Now the patient in question.")
    assert head.count("Patient note:") == tail.count("Patient note:") == 1
    assert f"{example.note}\n\nQuestion:\n{example.question}\n\nReply:\n{example.reply}" in head
    assert item.fields["patient_note"] in tail
    assert item.fields["patient_note"] not in head


def test_our_examples_are_right_and_of_the_form_asked_for() -> None:
    exemplars = own_exemplars()
    assert set(exemplars) == {str(entry.id) for entry in CALCULATORS}
    fresh = {row["patient_note"] for seed in (0, 1, 7) for row in fresh_rows(seed, 110)}
    for entry in CALCULATORS:
        example = exemplars[str(entry.id)]
        reply = json.loads(example.reply)
        assert list(reply) == ["step_by_step_thinking", "answer"]
        last = reply["step_by_step_thinking"].splitlines()[-1]
        assert last.startswith(f"{entry.name} = ")
        # The steps end in the answer, and the suite's own scorer reads the reply as that answer.
        numbers = re.findall(r"-?\d+(?:\.\d+)?", last.removeprefix(entry.name))
        gold = reply["answer"]
        if entry.id == 69:
            assert re.fullmatch(r"\(\d+ weeks, \d days\)", gold)
        elif entry.output != "date":
            assert float(numbers[0]) == pytest.approx(float(gold), rel=1e-5)
        assert decide(example.reply, calculator_id=entry.id, gold=gold).correct
        assert example.note not in fresh


def test_our_examples_come_from_the_calculators() -> None:
    from medical_tasks.medcalc_bench.fresh import draw_item

    for entry in CALCULATORS:
        item = draw_item(entry, f"exemplar:{entry.id}")
        again = calculate(entry.id, item.entities)
        assert json.loads(own_exemplars()[str(entry.id)].reply)["step_by_step_thinking"] == again.explanation


@pytest.mark.parametrize("place", [OFFICIAL_FILE, f"evaluation/{OFFICIAL_FILE}"])
def test_official_examples_go_with_the_question_of_the_item(tmp_path: Path, place: str) -> None:
    item = ITEMS[0]
    key = str(item.fields["calculator_id"])
    response = {"step_by_step_thinking": "steps µ", "answer": "1"}
    write(tmp_path, {key: {"Patient Note": "the example's note", "Response": response}}, place)
    text = asked(load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path), item)
    question = item.fields["question"]
    reply = json.dumps(response, ensure_ascii=False)
    assert f"Patient note:\nthe example's note\n\nQuestion:\n{question}\n\nReply:\n{reply}" in text


def test_a_calculator_without_an_official_example(tmp_path: Path) -> None:
    write(tmp_path, {"999": {"Patient Note": "n", "Response": {}}})
    prompts = load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path)
    with pytest.raises(
        MissingError, match=r"item 1: no worked example for calculator \d+ .*there is one for each of 999"
    ):
        prompts.render(ITEMS[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "JSONDecodeError"),
        ("[1, 2]", "AttributeError"),
        ({"2": {"Response": {}}}, "KeyError 'Patient Note'"),
        ({"2": {"Patient Note": "n"}}, "KeyError 'Response'"),
        ({"2": "text"}, "TypeError"),
        ({}, "it holds no example"),
        ({"two": {"Patient Note": "n", "Response": {}}}, "the key 'two' is no calculator id"),
        ({"2": {"Patient Note": 5, "Response": {}}}, "the note of calculator 2 is no text"),
    ],
)
def test_a_file_of_another_form(tmp_path: Path, content: Any, message: str) -> None:
    write(tmp_path, content)
    with pytest.raises(
        UsageError, match=rf"{OFFICIAL_FILE}: not the authors' file of worked examples.*{re.escape(message)}"
    ):
        official_exemplars(tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / OFFICIAL_FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UnicodeDecodeError"):
        official_exemplars(tmp_path)


def test_no_file_and_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="--prompts official needs --upstream DIR"):
        load_prompts(MEDCALC_ONE_SHOT, "official")
    with pytest.raises(MissingError, match=f"no {OFFICIAL_FILE} there nor in its evaluation/ folder"):
        load_prompts(MEDCALC_ONE_SHOT, "official", tmp_path)


def test_sets_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match="unknown prompt set 'theirs' for medcalc. Sets: own, official."):
        load_prompts(MEDCALC, "theirs")
    with pytest.raises(UsageError, match="medcalc has no official prompts"):
        load_prompts(MEDCALC, "official")


@needs_shared
@pytest.mark.upstream
def test_the_authors_examples_cover_all_calculators() -> None:
    exemplars = official_exemplars(UPSTREAM)
    assert set(exemplars) == {str(entry.id) for entry in CALCULATORS}
    prompts = load_prompts(MEDCALC_ONE_SHOT, "official", UPSTREAM)
    assert prompts.name == "official"
    for item in FRESH:
        text = asked(prompts, item)
        assert exemplars[str(item.fields["calculator_id"])].note in text
    assert all(
        set(json.loads(exemplar.reply)) == {"step_by_step_thinking", "answer"} for exemplar in exemplars.values()
    )


@pytest.mark.parametrize("task", [MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT])
def test_gold_responses_have_the_form_asked_for(task: Any) -> None:
    keys = ["answer"] if task is MEDCALC_DIRECT else ["step_by_step_thinking", "answer"]
    for item in ITEMS:
        assert list(json.loads(gold_response(task, item))) == keys
