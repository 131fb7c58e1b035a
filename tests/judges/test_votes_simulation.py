"""Five votes that stop early against all five, on 10,000 patterns; and how many calls that saves."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks.votes import VOTES, draw_votes, expected_calls, paper_agreement, session_calls
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions, Unreadable, Unscored, Verdict
from medical_tasks.judges.case import Decided, Undecided, decide
from medical_tasks.judges.session import JudgeSession
from tests.judges.scripted import ScriptedBackend, question

Votes = list[bool | None]

LEVELS = (0.5, 0.7, 0.85, 0.9513, 1.0)
UNREADABLE = (0.0, 0.05, 0.2, 0.5)
PATTERNS: list[Votes] = [
    votes
    for number, (level, lost) in enumerate(product(LEVELS, UNREADABLE))
    for votes in draw_votes(500, level, seed=100 + number, unreadable=lost)
]


def mode_of_all(votes: Votes) -> bool | None:
    """The mode of five votes, from its definition: the value with most votes, if no reading of the lost ones changes it.

    With two values and five votes there is no tie unless some are lost. Of 2:2 with one lost, each side may be the mode, so
    there is none.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    lost = votes.count(None)
    ahead = [value for value in (True, False) if counts[value] > counts[not value] + lost]
    return ahead[0] if ahead else None


def early(votes: Votes) -> tuple[bool | None, int]:
    """What stopping early decides, and after how many votes."""
    asked: Votes = []
    while isinstance(outcome := decide([None if vote is None else (vote,) for vote in asked], VOTES), Undecided):
        if not outcome.needed:
            return None, len(asked)
        asked = votes[: len(asked) + outcome.needed]
    return outcome.value[0], len(asked)


def test_ten_thousand_patterns_have_the_same_mode() -> None:
    assert len(PATTERNS) == 10_000
    found = [early(votes) for votes in PATTERNS]
    assert [value for value, _ in found] == [mode_of_all(votes) for votes in PATTERNS]
    # The simulation has all there is: every outcome, every number of calls, every pattern of five readable votes.
    assert {value for value, _ in found} == {True, False, None}
    assert {asked for _, asked in found} == {3, 4, 5}
    assert {tuple(votes) for votes in PATTERNS} >= set(product((True, False), repeat=VOTES))
    # Where nothing is lost the mode is the plain majority.
    whole = [(votes, value) for votes, (value, _) in zip(PATTERNS, found, strict=True) if None not in votes]
    assert len(whole) > 2_000
    assert all(value == (sum(map(bool, votes)) > VOTES / 2) for votes, value in whole)


def test_every_pattern_there_is() -> None:
    """Not only drawn ones: all 3**5 patterns of right, wrong and lost votes."""
    for votes in product((True, False, None), repeat=VOTES):
        value, asked = early(list(votes))
        assert value == mode_of_all(list(votes)), votes
        full = decide([None if vote is None else (vote,) for vote in votes], VOTES)
        assert (full.value[0] if isinstance(full, Decided) else None) == value
        assert 3 <= asked <= VOTES


def test_a_session_decides_the_same(tmp_path: Path) -> None:
    """The real session, store and all: 1,000 of the patterns in one `ask`."""
    patterns = PATTERNS[::10]
    assert len(patterns) == 1_000
    words = {True: "yes", False: "no", None: "well"}
    backend = ScriptedBackend(lambda call: words[patterns[int(call.question.id)][call.vote]])
    questions = [question(str(number), read=read) for number in range(len(patterns))]
    with Store(tmp_path / "store.sqlite") as store:
        session = JudgeSession(backend, JudgeOptions(votes=VOTES, reasks=0), store, quiet=True)
        outcomes = session.ask(questions)
        asked_once = len(backend.calls)
        again = JudgeSession(backend, JudgeOptions(votes=VOTES, reasks=0), store, quiet=True).ask(questions)
    values = [outcome.value if isinstance(outcome, Verdict) else None for outcome in outcomes]
    assert values == [mode_of_all(votes) for votes in patterns]
    assert all(outcome.reason == "judge: unreadable reply" for outcome in outcomes if isinstance(outcome, Unscored))
    assert asked_once == sum(asked for _, asked in map(early, patterns)) == session.stats.calls
    assert session.stats.decided == sum(value is not None for value in values)
    assert session.stats.saved == sum(VOTES - early(v)[1] for v in patterns if mode_of_all(v) is not None)
    assert again == outcomes
    assert len(backend.calls) == asked_once  # all from the store


def read(text: str) -> Any:
    return Unreadable("neither yes nor no") if text == "well" else text == "yes"


def test_at_the_papers_level_a_third_of_the_calls_is_saved() -> None:
    level = paper_agreement()
    # kappa 0.757 at 74.34 % correct: 1 - 2 * 0.7434 * 0.2566 = 0.6185 by chance, 0.9073 equal, and 0.9513**2 + 0.0487**2.
    assert level == pytest.approx(0.9513, abs=5e-5)
    patterns = draw_votes(10_000, level, seed=7)
    asked = [asked for _, asked in map(early, patterns)]
    assert sum(asked) <= 0.70 * VOTES * len(patterns)
    spread = math.sqrt(sum((each - sum(asked) / len(asked)) ** 2 for each in asked)) / len(asked)
    assert sum(asked) / len(asked) == pytest.approx(expected_calls(level), abs=4 * spread)
    assert expected_calls(level) == pytest.approx(3.152, abs=5e-4)


def test_a_session_saves_what_is_expected() -> None:
    patterns = draw_votes(400, paper_agreement(), seed=11)
    assert session_calls(patterns) == sum(asked for _, asked in map(early, patterns)) <= 0.70 * VOTES * 400


@pytest.mark.parametrize("level", [0.5, 0.8, 0.8436, 0.8438, 0.95, 1.0])
def test_the_expectation_by_hand(level: float) -> None:
    """Sum over all 32 patterns, each with its chance."""
    total = 0.0
    for votes in product((True, False), repeat=VOTES):
        chance = math.prod(level if vote else 1 - level for vote in votes)
        total += chance * early(list(votes))[1]
    assert expected_calls(level) == pytest.approx(total, abs=1e-12)
    # 30 % and more is saved from 0.8437 on, where 3 x + 6 x**2 = 0.5 with x = level (1 - level).
    assert (expected_calls(level) <= 3.5) == (level > 0.8437)


@pytest.mark.parametrize(
    ("votes", "k", "expected"),
    [
        # Four votes, two and two: the value that was first voted for.
        ([True, False, False, True], 4, Decided(True, 0)),
        ([False, True, True, False], 4, Decided(False, 0)),
        # Five votes of which one is lost, two and two: the lost one would have decided, so nothing is.
        ([True, False, None, False, True], 5, Undecided(0)),
        # Three and one: it could not have changed anything.
        ([True, False, None, True, True], 5, Decided(True, 0)),
        # Two votes of which one is lost: a tie would go to the first.
        ([True, None], 2, Decided(True, 0)),
        ([None, True], 2, Undecided(0)),
    ],
)
def test_an_even_number_of_readable_votes(votes: Votes, k: int, expected: Decided | Undecided) -> None:
    assert decide(votes, k) == expected
