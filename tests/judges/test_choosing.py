"""Comparison of judges: the bias of each, what it can tell apart, and which is recommended."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa import judge_prompts as ehrnoteqa
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.benchmarks.kqa import judge_prompts as kqa
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.judges import check_figures as figures
from medical_tasks.judges.base import Verdict
from medical_tasks.judges.check_figures import CheckPair
from medical_tasks.judges.checks import CORRECTNESS
from medical_tasks.judges.choosing import choose, render_choice
from medical_tasks.report.page import judges_page
from tests.case_tables import tables
from tests.judges.scripted import ScriptedBackend, question, session

CASES = tables(__file__, "choosing")
YES, NO = CORRECTNESS.classes
MODELS = ("gpt4", "llama-2-70b")
# 240 answers to 120 questions, one of each model, half of them right, whatever their
# length and model.
PAIRS = [
    CheckPair(
        id=f"p{n}",
        gold=(YES, NO)[n // 4 % 2],
        cluster=f"q{n // 2}",
        model=MODELS[n % 2],
        words=20 + n // 8 % 2,
    )
    for n in range(240)
]
Leaning = Callable[[CheckPair], bool]


def labels(
    right: float, seed: int, no: float = 0.0, leans: Leaning = lambda pair: False
) -> list[str | None]:
    """Labels by a judge: a share `right` of them correct, a share `no` missing, and half of the pairs it `leans` to yes."""
    chance = random.Random(seed)
    other = {YES: NO, NO: YES}
    missing = [chance.random() < no for _ in PAIRS]
    drawn = [
        pair.gold if chance.random() < right else other[str(pair.gold)]
        for pair in PAIRS
    ]
    drawn = [
        YES if leans(pair) and chance.random() < 0.5 else label
        for pair, label in zip(PAIRS, drawn, strict=True)
    ]
    return [
        None if is_missing else label
        for is_missing, label in zip(missing, drawn, strict=True)
    ]


def check(
    labels: list[str | None],
    name: str = "h/gpt-4o",
    cost: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The content of check.json."""
    usage = {
        "requests": 240,
        "prompt_tokens": 2400,
        "output_tokens": 240,
        "seconds": 24.0,
        "cost_usd": cost,
    }
    return {
        "set": "made", "source": {"file": "hash"}, "pairs": 240, "clusters": 120, "votes": 1, "mode": "single",
        "judge": {"name": name, "comparable": name != "lexical"}, "scored": 240 - labels.count(None),
        "labels": figures.pair_labels(PAIRS, labels), "verdict_usage": usage,
        "figures": figures.check_figures(PAIRS, labels, ways=2, views=(CORRECTNESS,)),
        **figures.choice_figures(PAIRS, labels, CORRECTNESS, judge=name, answers=500, whole=False), **more,
    }  # fmt: skip


HONEST = check(labels(0.9, 1), cost=0.24)


def figures_of(labels: list[str | None], judge: str) -> dict[str, Any]:
    pairs = [
        CheckPair(id=str(n), gold=gold, cluster=str(n), words=words, model=model)
        for n, (gold, _, words, model) in enumerate(CASES["by hand"])
    ]
    return figures.choice_figures(
        pairs, labels, CORRECTNESS, judge=judge, answers=10, whole=False
    )


def test_a_bias_is_the_judges_excess_over_people_there_less_elsewhere() -> None:
    biased = figures_of([row[1] for row in CASES["by hand"]], "h/gpt-5")
    # Of three answers of each length, people call 2 and 1 right, the judge 2 and 3.
    assert biased["length"]["lean"]["value"] == pytest.approx(
        (1.0 - 1 / 3) - (2 / 3 - 2 / 3)
    )
    assert biased["length"]["short"] == {
        "accuracy": 1 / 3,
        "judge": 2 / 3,
        "people": 2 / 3,
    }
    # gpt35 and gpt4: judge 2 of 2, people 1 of 2; bard: 2 of 3 each; an answer without
    # a model counts in neither.
    assert biased["own_model"]["models"] == ["gpt35", "gpt4"]
    assert biased["own_model"]["lean"]["value"] == pytest.approx(0.5)


def test_a_bias_without_labels_is_undefined() -> None:
    unknown = figures_of([None] * 6, "h/claude")
    assert unknown["length"]["lean"]["value"] is None
    assert unknown["own_model"]["lean"]["value"] is None
    assert unknown["apart"]["people"] is None
    assert "one length" in unknown["length"]["reason"]
    assert "family" in unknown["own_model"]["reason"]


@pytest.mark.parametrize(("first", "second", "same"), CASES["families"])
def test_families_of_models(first: str, second: str, same: bool) -> None:
    assert figures.same_family(first, second) is same
    assert figures.same_family(second, first) is same


PLANTED = {
    "length": check(labels(0.9, 2, leans=lambda pair: pair.words > 20), cost=0.001),
    "own_model": check(
        labels(0.9, 3, leans=lambda pair: pair.model == "gpt4"), cost=0.001
    ),
    # It errs on other pairs the second time.
    "again": check(
        labels(0.9, 4),
        cost=0.001,
        again=figures.same_labels(
            PAIRS, labels(0.9, 5), labels(0.9, 4), (CORRECTNESS,)
        ),
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_a_caution_and_the_honest_judge_is_preferred(
    planted: str,
) -> None:
    choice = choose({"faulty": PLANTED[planted], "honest": HONEST}, {})
    assert [choice["judges"][name]["cautions"] for name in ("faulty", "honest")] == [
        [planted],
        [],
    ]
    assert choice["recommended"] == "honest"
    alone = choose({"faulty": PLANTED[planted]}, {})
    assert alone["recommended"] == "faulty"
    assert "; but " in alone["conclusions"][0]


OTHERS = {
    "cheap": check(labels(0.9, 6), cost=0.024), "poor": check(labels(0.7, 7), cost=0.001), "honest": HONEST,
    "guess": check(labels(0.5, 8)), "silent": check(labels(0.9, 9, no=0.2)), "lexical": check(labels(0.9, 1), "lexical"),
}  # fmt: skip


@settings(max_examples=10)
@given(order=st.permutations(list(OTHERS)))
def test_the_cheapest_of_equally_good_judges_is_recommended_in_any_order(
    order: list[str],
) -> None:
    choice = choose(
        {name: OTHERS[name] for name in order}, {"gone": "nothing answers there"}
    )
    assert {name: row["against"] for name, row in choice["judges"].items()} == CASES[
        "against"
    ]
    assert choice["recommended"] == "cheap"
    # 0.024 $ for 240 verdicts
    assert choice["judges"]["cheap"]["spent"]["cost_usd"] == pytest.approx(0.1)
    shown, page = render_choice(choice), judges_page(choice)
    assert all(
        text in shown and text in page
        for text in (*choice["judges"], *CASES["conclusions"])
    )
    assert "$ 0.1000 and 100.0 s for 1,000 verdicts" in page


def test_a_judge_at_chance_is_not_recommended() -> None:
    choice = choose({"guess": OTHERS["guess"]}, {})
    assert (choice["recommended"], choice["conclusions"][0]) == (
        None,
        "Recommended: none of these.",
    )


def test_a_judge_compared_with_itself_does_not_differ() -> None:
    below = choose({"one": HONEST, "two": HONEST}, {})["judges"]["two"]["below"]
    assert (below["value"], below["p_value"]) == (0.0, 1.0)


def test_checks_of_earlier_versions_and_of_other_pairs() -> None:
    later = ("apart", "length", "own_model", "verdict_usage")
    older = {key: value for key, value in HONEST.items() if key not in later}
    assert "was not looked at" in choose({"older": older}, {})["conclusions"][0]
    with pytest.raises(UsageError, match="two: was checked on other pairs than one"):
        choose({"one": HONEST, "two": HONEST | {"source": {"file": "other"}}}, {})


@pytest.mark.parametrize("own", [kqa, ehrnoteqa])
def test_prompts_with_the_verdicts_in_reverse_order(own: Any) -> None:
    prompts = own.load_judge_prompts(KQA if own is kqa else TASKS[0])
    turned = prompts.turned(own.VERDICTS)
    listed = (
        '"neither" or "contradicted" or "entailed"' if own is kqa else '"score": 1 or 0'
    )
    assert listed in next(iter(turned.texts.values()))
    for kind in set(prompts.texts) - {"abstention"}:
        first, other = (
            re.search("(?m)^[^ ]+( [01])?:", text)
            for text in (prompts.texts[kind], turned.texts[kind])
        )
        assert str(first) != str(other)
        assert sorted(turned.texts[kind]) == sorted(prompts.texts[kind])
    assert turned.turned(own.VERDICTS) == prompts


def test_asking_again_uses_the_next_votes_and_stores_them(store: Store) -> None:
    backend = ScriptedBackend(lambda call: "yes" if call.vote < 3 else "no")
    for _ in range(2):  # the second time from the store
        judge = session(backend, store, votes=3)
        for votes, value in ((judge, "yes"), (judge.again(), "no")):
            (outcome,) = votes.ask([question("q")])
            assert isinstance(outcome, Verdict)
            assert outcome.value == value
        assert [call.vote for call in backend.calls] == [0, 1, 3, 4]
    assert judge.usage["requests"] == 4
