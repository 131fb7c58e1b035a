"""What a model is asked in our words, for each style; worked examples of our own."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.demo import demo_rows
from medical_tasks.benchmarks.medcalc_bench.fresh import fresh_rows
from medical_tasks.benchmarks.medcalc_bench.prompts import (
    TEXTS,
    gold_response,
    load_prompts,
    own_exemplars,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT
from medical_tasks.calculators import CALCULATORS
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, PromptSet

ITEMS = load_items(MEDCALC, demo_rows())
FRESH = load_items(MEDCALC, list(fresh_rows(5, 55)))


def asked(prompts: PromptSet, item: Item) -> str:
    """The one message of an item."""
    messages = prompts.render(item)
    assert [message["role"] for message in messages] == ["user"]
    return messages[0]["content"]


def test_zero_shot_styles_ask_for_their_form() -> None:
    item = ITEMS[0]
    tail = f"Patient note:\n{item.fields['patient_note']}\n\nQuestion:\n{item.fields['question']}"
    direct = asked(load_prompts(MEDCALC_DIRECT), item)
    assert direct == "\n\n".join([TEXTS["introduction"], TEXTS["answer_form"], TEXTS["direct"], tail])
    thought = asked(load_prompts(MEDCALC), item)
    assert thought == "\n\n".join([TEXTS["introduction"], TEXTS["answer_form"], TEXTS["chain_of_thought"], tail])
    with pytest.raises(UsageError, match="unknown prompt set 'theirs' for medcalc. Sets: own, official."):
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
    assert len(FRESH) == 55
    for item in FRESH:
        example = own_exemplars()[str(item.fields["calculator_id"])]
        head, tail = asked(load_prompts(MEDCALC_ONE_SHOT), item).split("Now the patient in question.")
        assert head.count("Patient note:") == tail.count("Patient note:") == 1
        assert f"{example.note}\n\nQuestion:\n{example.question}\n\nReply:\n{example.reply}" in head
        assert item.fields["patient_note"] in tail
        assert item.fields["patient_note"] not in head
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


@pytest.mark.parametrize("task", [MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT])
def test_gold_responses_have_the_form_asked_for(task: Any) -> None:
    keys = ["answer"] if task is MEDCALC_DIRECT else ["step_by_step_thinking", "answer"]
    for item in ITEMS:
        assert list(json.loads(gold_response(task, item))) == keys
