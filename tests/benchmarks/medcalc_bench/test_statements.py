"""The generator of statements, and how `accuracy` reads a sample of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import islice

import pytest

from measurements import medcalc_statements
from measurements.medcalc_statements import (
    AUTHORS,
    HALVES,
    Author,
    Case,
    Count,
    Key,
    cases,
    counted,
    forms,
    kinds_table,
    last_number_is_right,
    main,
    summed,
    table,
)
from measurements.medcalc_words import (
    Filler,
    Gold,
    age_spellings,
    date_spellings,
    decimal_words,
    golds,
    names,
    number_spellings,
    within_limits,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.calculators import CALCULATORS

MELD_ID = 23
FEW = 2_000


@pytest.fixture(scope="module")
def sample() -> list[Case]:
    """The cases of the default seed, as the document counts them."""
    return list(cases())


@pytest.mark.slow
def test_shares_of_misread_replies(sample: list[Case]) -> None:
    """They have limits here, and the document shows what they are today."""
    halves = {
        half: counted(case for case in sample if case.half == half) for half in HALVES
    }
    for counts in halves.values():
        right = summed(counts, "right", "plain")
        plain = summed(counts, "wrong", "plain")
        contrived = summed(counts, "wrong", "contrived")
        assert right.right >= 0.99 * right.replies, misread(right)
        assert plain.right <= 0.01 * plain.replies, misread(plain)
        assert contrived.right <= 0.04 * contrived.replies, misread(contrived)
    document = medcalc_statements.DOCUMENT.read_text(encoding="utf-8")
    assert medcalc_statements.document_with(table(halves), document) == document, (
        "run python -m measurements.medcalc_statements --write"
    )


def misread(count: Count) -> str:
    return "\n".join(
        f"{case.calculator_id} {case.kind}, gold {case.gold}: {case.reply!r} -> {decision.why}"
        for case, decision in count.misread[:20]
    )


def test_every_name_of_a_calculator_is_in_forty_right_and_forty_wrong_replies(
    sample: list[Case],
) -> None:
    assert len(sample) >= 20_000
    counts = Counter((case.calculator_id, case.name, case.side) for case in sample)
    for calculator in CALCULATORS:
        for name in names(calculator):
            for side in ("right", "wrong"):
                assert counts[calculator.id, name, side] >= 40, (name, side)


def test_the_seed_decides_which_replies_are_drawn(sample: list[Case]) -> None:
    assert list(islice(cases(), FEW)) == sample[:FEW]
    replies = {case.reply for case in sample[:FEW]}
    others = {case.reply for case in islice(cases(seed=1), FEW)}
    assert len(replies & others) < FEW / 2


@pytest.mark.parametrize("author", AUTHORS)
def test_every_slot_is_filled(author: Author) -> None:
    drawn = list(islice(cases(author=author), FEW))
    assert len(drawn) == FEW
    assert replies_with_slots(drawn) == []


def test_every_slot_of_the_sample_is_filled(sample: list[Case]) -> None:
    assert replies_with_slots(sample) == []


def replies_with_slots(drawn: Iterable[Case]) -> list[str]:
    return [case.reply for case in drawn if "«" in case.reply or "»" in case.reply]


def test_at_most_one_form_in_fifty_is_unused(sample: list[Case]) -> None:
    unused = {form.text for form in forms("first")} - {case.form for case in sample}
    assert len(unused) < len(forms("first")) / 50, unused


def test_no_form_has_two_authors() -> None:
    authors = Counter(
        text for author in AUTHORS for text in {form.text for form in forms(author)}
    )
    assert not [text for text, count in authors.items() if count > 1]


def test_the_halves_share_no_form_and_both_have_a_third_of_the_replies(
    sample: list[Case],
) -> None:
    held_out = {case.form for case in sample if case.half == "held-out"}
    development = {case.form for case in sample if case.half == "development"}
    assert not held_out & development
    share = sum(case.half == "held-out" for case in sample) / len(sample)
    assert 1 / 3 < share < 2 / 3


def test_the_gold_in_a_field_is_right_and_the_other_answer_is_wrong() -> None:
    """The answers that the statements are made of differ by more than the limits allow."""
    for calculator_id, questions in golds(medcalc_statements.SEED).items():
        for gold in questions:
            for value, right in ((gold.value, True), (gold.wrong, False)):
                decision = decide(
                    f'{{"answer": "{value}"}}',
                    calculator_id=calculator_id,
                    gold=gold.value,
                    lower=gold.lower,
                    upper=gold.upper,
                )
                assert decision.correct is right, (calculator_id, gold, value)


@pytest.mark.parametrize("seed", range(5))
def test_wrong_answers_lie_outside_the_limits_also_when_rounded(seed: int) -> None:
    """A MELD of 35 has limits of 5 %, so that 36 would be right too."""
    for questions in golds(seed).values():
        for gold in questions:
            filler = Filler(gold, gold.calculator.name, random.Random(seed))
            if not filler.is_number:
                continue
            written = filler.written(gold.wrong)
            assert not within_limits(written, gold.lower, gold.upper), gold
            if gold.calculator.id == MELD_ID:
                assert Decimal(gold.wrong) % 1 == 0, gold
                assert Decimal(gold.wrong) <= 40, gold


def test_an_answer_at_an_end_of_its_scale_has_no_inner_words() -> None:
    """A Child-Pugh score of "at least 15" is 15, one of "at least 9" need not be 9."""
    entry = next(entry for entry in CALCULATORS if entry.id == 15)
    for value, inner in (("5", False), ("9", True), ("15", False)):
        gold = Gold(entry, "integer", value, value, value, "8")
        words = Filler(gold, "Child-Pugh score", random.Random(1)).words()
        assert ("inner" in words) is inner, value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "zero"),
        ("-2", "minus two"),
        ("25.208", "twenty-five point two zero eight"),
        ("412", "four hundred and twelve"),
        ("37493", "thirty-seven thousand four hundred and ninety-three"),
        ("1042.5", "one thousand and forty-two point five"),
    ],
)
def test_numbers_in_words(text: str, words: str) -> None:
    assert decimal_words(text) == words


def test_spellings_of_numbers_dates_and_ages() -> None:
    assert {"37'493", "37,493", "37 493", "٣٧٤٩٣"} <= set(number_spellings("37493"))
    assert {"25,2", "25٫2", "2.52 × 10^1", "２５.２"} <= set(number_spellings("25.2"))
    assert "−1.25" in number_spellings("-1.25")
    assert "1,238" not in number_spellings("1.238")  # would be one thousand
    assert {"November 23rd, 2002", "2002-11-23", "the 23rd of November 2002"} <= set(
        date_spellings(date(2002, 11, 23))
    )
    assert {"26 and 3/7 weeks", "26w3d", "twenty-six weeks and three days"} <= set(
        age_spellings(26, 3)
    )


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("The CrCl is 37.7. It is normal above 60.", False),
        ("Normal is above 60; the CrCl is 37.7.", True),
        ("nothing", False),
    ],
)
def test_the_last_number_rule_takes_the_last_number(reply: str, right: bool) -> None:
    """The naive rule that the table compares the readers with."""
    case = replace(
        next(cases()),
        calculator_id=2,
        reply=reply,
        gold="37.7",
        lower="35.8",
        upper="39.6",
    )
    assert last_number_is_right(case) is right


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--misses", "verbs"],
            "--misses: 'verbs' is no kind. Use all, or one of: ['another",
        ),
        (["--write", "--half", "held-out"], "--write: the document shows both halves"),
        (["--write", "--seed", "3"], "--write: the document shows both halves"),
        (["--write", "--author", "second"], "--write: the document shows both halves"),
        (["--real", "nowhere"], "nowhere: no git repository that holds blob"),
    ],
)
def test_wrong_options_are_refused(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["medcalc_statements", *arguments])
    with pytest.raises(SystemExit):
        main()
    assert message in capsys.readouterr().err


def test_the_table_of_kinds_shows_shares_of_the_counts() -> None:
    counts: dict[Key, Count] = {
        ("right", "plain", "verb"): Count(replies=4, right=3, unclear=1, official=1),
        ("wrong", "plain", "bound"): Count(replies=2000, right=1, last_number=1000),
    }
    text = kinds_table(counts)
    assert "| right | verb | 4 | 75.0% | 25.0% | 25.0% | 0.0% |" in text
    assert "| wrong | bound | 2,000 | 0.1% | 0.0% | 0.0% | 50.0% |" in text
