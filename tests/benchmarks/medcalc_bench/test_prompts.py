"""What a model is asked in our words, for each style: worked examples of our own, and the pages of the open book."""

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
from medical_tasks.spec import Item
from tests.case_tables import json_of, tables
from tests.support import SHARED, asked, needs_shared

TABLES: dict[str, Any] = tables(__file__)

PAGES = specifications()


@pytest.fixture(scope="module")
def items(demos: Path) -> list[Item]:
    return load_task_data(MEDCALC_OPEN_BOOK, DATASET, data=demos, config="demo").items


def test_every_calculator_has_a_page_that_names_every_input() -> None:
    assert sorted(PAGES) == sorted(entry.id for entry in CALCULATORS)
    assert len(PAGES) == len(set(PAGES.values())) == 55
    assert all(150 < len(text) < 3000 for text in PAGES.values())
    count = 0
    for entry in CALCULATORS:
        for item in entry.inputs:
            assert item.name in PAGES[entry.id]
            count += 1
    assert count > 250
    assert "µmol/L × 0.011312; mmol/L × 11.312" in PAGES[3]
    assert "degrees fahrenheit − 32, × 0.555556" in PAGES[51]
    assert "in × 2.54" in PAGES[6]
    for entry in CALCULATORS:
        for line in PAGES[entry.id].split("\n"):
            assert not line.endswith(("()", ": in", ";"))
    code = re.compile(
        r"`|\bsay\b|\bArgs\b|\bRaises\b|\bkeyword\b|CalculatorInputError|\bv1\.0\b|\w+_\w+|\bNone\b(?! or|,)|dataset"
    )
    assert {
        number: found for number, text in PAGES.items() if (found := code.findall(text))
    } == {}
    with pytest.raises(
        UsageError,
        match=r"no calculator 1, so the open book has no page for it. Ids: 2, 3, 4",
    ):
        render_specification(1)


# The thresholds as the publications print them.
@pytest.mark.parametrize(
    ("calculator", "texts"), TABLES["the_numbers_of_the_rule_are_there"]
)
def test_the_numbers_of_the_rule_are_there(
    calculator: int, texts: tuple[str, ...]
) -> None:
    for text in texts:
        assert text in PAGES[calculator]


def test_coefficients_and_rules_built_on_are_those_of_the_code() -> None:
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
    given = {
        "sex": "male",
        "age_years": 55,
        "total_cholesterol_mg_dl": 200,
        "hdl_mg_dl": 45,
        "systolic_mm_hg": 130,
    }
    assert entry(**given, treated=False, smoker=False) == pytest.approx(
        100 * (1 - 0.9402 ** math.exp(total))
    )
    # calculators whose formula is a function that others call too
    steps = {"_gap": 39, "_corrected": 65}

    def called(entry: Calculator[Any, Any]) -> set[int]:
        used = [
            entry.function.__globals__.get(name)
            for name in entry.function.__code__.co_names
        ]
        others = [value for value in used if isinstance(value, Calculator)]
        direct = {steps.get(getattr(value, "__name__", "")) for value in used} | {
            other.id for other in others
        }
        return {number for number in direct if number}.union(*map(called, others)) - {
            entry.id
        }

    assert {key: set(others) for key, others in BUILDS_ON.items()} == {
        entry.id: found for entry in CALCULATORS if (found := called(entry))
    }


def test_the_page_stands_before_the_note_and_nothing_of_the_answer_does(
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
    # The rules are read from docstrings: whoever edits one changes what models are
    # asked, and the task's version.
    assert before == "2060cd00e5600fac7d54d92d2c10152445d57d0f2e2124890d06a837bc6be39e"
    assert before == load_prompts(MEDCALC_OPEN_BOOK).sha256
    assert (
        len(
            {
                load_prompts(task).sha256
                for task in (MEDCALC, MEDCALC_OPEN_BOOK, MEDCALC_CODE)
            }
        )
        == 3
    )
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


def test_zero_shot_styles_ask_for_their_form() -> None:
    item = ITEMS[0]
    tail = f"Patient note:\n{item.fields['patient_note']}\n\nQuestion:\n{item.fields['question']}"
    direct = asked(load_prompts(MEDCALC_DIRECT), item)
    assert direct == "\n\n".join(
        [TEXTS["introduction"], TEXTS["answer_form"], TEXTS["direct"], tail]
    )
    thought = asked(load_prompts(MEDCALC), item)
    assert thought == "\n\n".join(
        [TEXTS["introduction"], TEXTS["answer_form"], TEXTS["chain_of_thought"], tail]
    )
    with pytest.raises(
        UsageError,
        match="unknown prompt set 'theirs' for medcalc. Sets: own, official.",
    ):
        load_prompts(MEDCALC, "theirs")


def test_the_hash_covers_our_worked_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    import medical_tasks.benchmarks.medcalc_bench.prompts as module

    before = load_prompts(MEDCALC_ONE_SHOT).sha256
    for part in ("note", "question", "reply"):
        changed = dict(own_exemplars())
        first = changed["2"]
        changed["2"] = type(first)(**{**vars(first), part: getattr(first, part) + "."})
        monkeypatch.setattr(module, "own_exemplars", lambda kept=changed: kept)
        assert load_prompts(MEDCALC_ONE_SHOT).sha256 != before


def test_one_shot_shows_our_example_of_the_same_calculator() -> None:
    fresh = load_items(MEDCALC, list(fresh_rows(5, 55)))
    notes = {item.fields["patient_note"] for item in fresh}
    assert len(notes) == 55
    for item in fresh:
        example = own_exemplars()[str(item.fields["calculator_id"])]
        head, tail = asked(load_prompts(MEDCALC_ONE_SHOT), item).split(
            "Now the patient in question."
        )
        assert head.count("Patient note:") == tail.count("Patient note:") == 1
        assert (
            f"{example.note}\n\nQuestion:\n{example.question}\n\nReply:\n{example.reply}"
            in head
        )
        assert item.fields["patient_note"] in tail
        assert item.fields["patient_note"] not in head
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
        assert example.note not in notes


@pytest.mark.parametrize("task", [MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT])
def test_gold_responses_have_the_form_asked_for(task: Any) -> None:
    keys = ["answer"] if task is MEDCALC_DIRECT else ["step_by_step_thinking", "answer"]
    for item in ITEMS:
        assert list(json.loads(gold_response(task, item))) == keys
