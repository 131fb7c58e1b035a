"""Our own prompts of each task: the questions, worked examples, and the pages of the open book."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.demo import demo_rows
from medical_tasks.benchmarks.medcalc_bench.prompts import (
    BUILDS_ON,
    TEXTS,
    gold_response,
    load_prompts,
    own_exemplars,
    render_specification,
    specifications,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.benchmarks.medcalc_bench.spec import (
    MEDCALC,
    MEDCALC_CODE,
    MEDCALC_DIRECT,
    MEDCALC_ONE_SHOT,
    MEDCALC_OPEN_BOOK,
)
from medical_tasks.calculators import CALCULATORS
from medical_tasks.calculators.base import Calculator
from medical_tasks.calculators.heart import MEN, WOMEN
from medical_tasks.construct.fresh import fresh_rows
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec
from tests.case_tables import json_of, tables
from tests.support import SHARED, needs_shared, user_message

TABLES: dict[str, Any] = tables(__file__)

PAGES = specifications()


@pytest.fixture(scope="module")
def items(demos: Path) -> list[Item]:
    return load_task_data(MEDCALC_OPEN_BOOK, DATASET, data=demos, config="demo").items


def test_every_calculator_has_a_page_that_names_every_input() -> None:
    assert sorted(PAGES) == sorted(entry.id for entry in CALCULATORS)
    assert len(PAGES) == len(set(PAGES.values())) == 55
    assert all(150 < len(text) < 3000 for text in PAGES.values())
    inputs = [(entry.id, item.name) for entry in CALCULATORS for item in entry.inputs]
    assert len(inputs) > 250
    for number, name in inputs:
        assert name in PAGES[number]


def test_pages_give_conversions_and_no_terms_of_the_code() -> None:
    assert "µmol/L × 0.011312; mmol/L × 11.312" in PAGES[3]
    assert "degrees fahrenheit − 32, × 0.555556" in PAGES[51]
    assert "in × 2.54" in PAGES[6]
    code = re.compile(
        r"`|\bsay\b|\bArgs\b|\bRaises\b|\bkeyword\b|CalculatorInputError|\bv1\.0\b|\w+_\w+|\bNone\b(?! or|,)|dataset"
    )
    for number, page in PAGES.items():
        assert code.findall(page) == [], number
        for line in page.split("\n"):
            assert not line.endswith(("()", ": in", ";"))


def test_an_unknown_calculator_has_no_page() -> None:
    with pytest.raises(
        UsageError,
        match=r"no calculator 1, so the open book has no page for it. Ids: 2, 3, 4",
    ):
        render_specification(1)


# The thresholds as the publications print them.
@pytest.mark.parametrize(("calculator", "texts"), TABLES["numbers_of_the_rule"])
def test_a_page_gives_the_numbers_of_its_rule(
    calculator: int, texts: tuple[str, ...]
) -> None:
    for text in texts:
        assert text in PAGES[calculator]


def test_the_coefficients_of_framingham_are_those_of_the_code() -> None:
    men, women = (
        next(line for line in PAGES[46].split("\n") if line.startswith(sex))
        for sex in ("Men:", "Women:")
    )
    for line, table in ((men, MEN), (women, WOMEN)):
        numbers = {float(number) for number in re.findall(r"-?\d+\.?\d*", line)}
        assert {value for value in table if value} <= numbers
    # By hand, for a man of 55: total cholesterol 200, HDL 45, pressure 130, untreated,
    # no smoker.
    terms = (
        (52.00961, math.log(55)),
        (20.014077, math.log(200)),
        (-0.905964, math.log(45)),
        (1.305784, math.log(130)),
    )
    total = sum(factor * value for factor, value in terms) - 172.300168
    total += -4.605038 * math.log(55) * math.log(200) - 2.93323 * math.log(55) ** 2
    entry = next(entry for entry in CALCULATORS if entry.id == 46)
    risk = entry(
        sex="male",
        age_years=55,
        total_cholesterol_mg_dl=200,
        hdl_mg_dl=45,
        systolic_mm_hg=130,
        treated=False,
        smoker=False,
    )
    assert risk == pytest.approx(100 * (1 - 0.9402 ** math.exp(total)))


def test_a_page_builds_on_the_calculators_that_its_function_calls() -> None:
    called = {entry.id: called_calculators(entry) for entry in CALCULATORS}
    expected = {number: others for number, others in called.items() if others}
    assert {number: set(others) for number, others in BUILDS_ON.items()} == expected


# Functions that several calculators call, and the calculator whose formula they hold.
SHARED_FORMULAS = {"_gap": 39, "_corrected": 65}


def called_calculators(entry: Calculator[Any, Any]) -> set[int]:
    """Returns the ids of the calculators that another one calls, directly or through others."""
    function = entry.function
    values = [function.__globals__.get(name) for name in function.__code__.co_names]
    ids: set[int] = set()
    for value in values:
        name = getattr(value, "__name__", "")
        if isinstance(value, Calculator):
            ids |= {value.id} | called_calculators(value)
        elif name in SHARED_FORMULAS:
            ids.add(SHARED_FORMULAS[name])
    return ids - {entry.id}


def test_the_open_book_adds_the_page_to_the_question_and_nothing_of_the_answer(
    items: list[Item],
) -> None:
    prompts = load_prompts(MEDCALC_OPEN_BOOK)
    plain = load_prompts(MEDCALC)
    assert len(items) >= 24
    for item in items:
        (message,) = prompts.render(item)
        text = message["content"]
        page = PAGES[int(item.fields["calculator_id"])]
        assert text.count(page) == 1
        assert text.endswith(
            TEXTS["question"].format(
                note=item.fields["patient_note"], question=item.fields["question"]
            )
        )
        # Without the page it is the closed book's question.
        start = text.index("The calculation follows this specification")
        assert (
            text[:start] + text[text.index(page) + len(page) + 2 :]
            == plain.render(item)[0]["content"]
        )
        assert item.fields["ground_truth_explanation"] not in text


def test_the_hash_covers_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_prompts(MEDCALC_OPEN_BOOK).sha256
    # The rules are read from docstrings: whoever edits one changes the prompts, and
    # has to change the task's version.
    assert before == "2060cd00e5600fac7d54d92d2c10152445d57d0f2e2124890d06a837bc6be39e"
    tasks = (MEDCALC, MEDCALC_OPEN_BOOK, MEDCALC_CODE)
    assert len({load_prompts(task).sha256 for task in tasks}) == 3
    changed = {**PAGES, 69: PAGES[69] + "."}
    monkeypatch.setattr(
        "medical_tasks.benchmarks.medcalc_bench.prompts.specifications", lambda: changed
    )
    assert load_prompts(MEDCALC_OPEN_BOOK).sha256 != before


@pytest.mark.upstream
@needs_shared
def test_no_sentence_of_the_authors_examples_is_in_the_book() -> None:
    path = SHARED / "data" / "medcalc" / "one_shot_finalized_explanation.json"
    examples: Mapping[str, Mapping[str, object]] = json_of(path)
    assert len(examples) == 55
    book = "\n".join(PAGES.values())
    shared = set()
    for example in examples.values():
        words = json.dumps(example["Response"], ensure_ascii=False).split()
        shared |= {
            run
            for n in range(len(words) - 11)
            if (run := " ".join(words[n : n + 12])) in book
        }
    assert shared == set()


ITEMS = load_items(MEDCALC, demo_rows())


@pytest.mark.parametrize(
    ("task", "style"), [(MEDCALC_DIRECT, "direct"), (MEDCALC, "chain_of_thought")]
)
def test_the_message_without_an_example(task: TaskSpec, style: str) -> None:
    item = ITEMS[0]
    tail = f"Patient note:\n{item.fields['patient_note']}\n\nQuestion:\n{item.fields['question']}"
    texts = [TEXTS["introduction"], TEXTS["answer_form"], TEXTS[style], tail]
    assert user_message(load_prompts(task), item) == "\n\n".join(texts)


def test_an_unknown_prompt_set_is_refused() -> None:
    with pytest.raises(
        UsageError,
        match="unknown prompt set 'theirs' for medcalc. Sets: own, official.",
    ):
        load_prompts(MEDCALC, "theirs")


def test_the_hash_covers_our_worked_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    import medical_tasks.benchmarks.medcalc_bench.prompts as module

    before = load_prompts(MEDCALC_ONE_SHOT).sha256
    for field in ("note", "question", "reply"):
        changed = dict(own_exemplars())
        example = changed["2"]
        text = f"{getattr(example, field)}."
        changed["2"] = type(example)(**{**vars(example), field: text})
        monkeypatch.setattr(module, "own_exemplars", lambda result=changed: result)
        assert load_prompts(MEDCALC_ONE_SHOT).sha256 != before


def test_one_shot_shows_our_example_of_the_same_calculator() -> None:
    fresh = load_items(MEDCALC, list(fresh_rows(5, 55)))
    notes = {item.fields["patient_note"] for item in fresh}
    assert len(notes) == 55
    for item in fresh:
        example = own_exemplars()[str(item.fields["calculator_id"])]
        head, tail = user_message(load_prompts(MEDCALC_ONE_SHOT), item).split(
            "Now the patient in question."
        )
        assert head.count("Patient note:") == tail.count("Patient note:") == 1
        assert (
            f"{example.note}\n\nQuestion:\n{example.question}\n\nReply:\n{example.reply}"
            in head
        )
        assert item.fields["patient_note"] in tail
        assert item.fields["patient_note"] not in head
    assert not notes & {example.note for example in own_exemplars().values()}


def test_our_examples_end_in_the_right_answer() -> None:
    exemplars = own_exemplars()
    assert set(exemplars) == {str(entry.id) for entry in CALCULATORS}
    for entry in CALCULATORS:
        example = exemplars[str(entry.id)]
        reply = json.loads(example.reply)
        assert list(reply) == ["step_by_step_thinking", "answer"]
        last = reply["step_by_step_thinking"].splitlines()[-1]
        assert last.startswith(f"{entry.name} = ")
        # The steps end in the answer, and the suite's own scorer reads the reply as
        # that answer.
        numbers = re.findall(r"-?\d+(?:\.\d+)?", last.removeprefix(entry.name))
        gold = reply["answer"]
        if entry.id == 69:
            assert re.fullmatch(r"\(\d+ weeks, \d days\)", gold)
        elif entry.output != "date":
            assert float(numbers[0]) == pytest.approx(float(gold), rel=1e-5)
        assert decide(example.reply, calculator_id=entry.id, gold=gold).correct


@pytest.mark.parametrize("task", [MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT])
def test_gold_responses_have_the_requested_form(task: TaskSpec) -> None:
    keys = ["answer"] if task is MEDCALC_DIRECT else ["step_by_step_thinking", "answer"]
    for item in ITEMS:
        assert list(json.loads(gold_response(task, item))) == keys
