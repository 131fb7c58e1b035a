"""A judge with every kind of fault: no verdict is invented, none is lost, and a missing one has its reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.judges.base import Unscored, Verdict
from tests.case_tables import tables
from tests.fault_server import Call, Fault, FaultServer
from tests.judges.scripted import session
from tests.judges.scripted_judge import (
    FAULTS,
    Chaos,
    answer,
    judge_at,
    number_of,
    questions,
    truth,
    values,
)

CASES = tables(__file__, "judge_faults")


@pytest.mark.parametrize("n_choices", [False, True], ids=["single", "n_choices"])
def test_votes_decide_the_same_with_and_without_faults(
    tmp_path: Path, n_choices: bool
) -> None:
    runs = []
    # With this seed no vote is unreadable three times in a row, which would leave it
    # unscored, and rightly so.
    for name, plan in (("clean", ()), ("faulty", Chaos(0.2, seed=1))):
        with (
            Store(tmp_path / name) as store,
            FaultServer(plan, answer=answer) as server,
        ):
            judge = judge_at(
                server.base_url,
                timeout=0.4,
                sampling={"temperature": 1.0, "seed": 11},
                n_choices=n_choices,
            )
            runs.append(session(judge, store, votes=3).ask(questions(range(60))))
    clean, faulty = runs
    assert all(isinstance(outcome, Verdict) for outcome in clean)
    assert values(faulty) == values(clean)
    assert (
        len({outcome.votes for outcome in clean if isinstance(outcome, Verdict)}) > 3
    )  # the votes do differ


HOPELESS = dict(enumerate(CASES["HOPELESS"]))


def hopeless(call: Call) -> Fault | None:
    """Half of the questions have a permanent fault, by their number; the others are answered."""
    number = number_of(call)
    return FAULTS[HOPELESS[number % 20][1]](call) if number % 20 in HOPELESS else None


def test_questions_with_a_permanent_fault_are_unscored_with_its_reason(
    store: Store,
) -> None:
    numbers = range(20)  # each fault once, since every one is waited for
    all_questions = questions(numbers)
    expected = {
        f"q{number}": HOPELESS[number % 20][0]
        if number % 20 in HOPELESS
        else truth(number)
        for number in numbers
    }
    with FaultServer(hopeless, answer=answer) as server:
        judged = session(
            judge_at(server.base_url, timeout=1.0, max_retries=1, total_time=4.0), store
        )
        outcomes = judged.ask(all_questions)
    assert values(outcomes) == expected
    reasons = Counter(
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    )
    assert reasons == judged.stats.unscored
    assert (reasons["judge: unreadable reply"], reasons["judge: cut reply"]) == (2, 1)
    assert (judged.stats.questions, judged.stats.decided) == (20, 10)
    assert reasons.total() == 10

    # The judge recovers. Questions without a reply are asked again, and no others:
    # replies without a verdict are replies.
    with FaultServer(answer=answer) as server:
        outcomes = session(judge_at(server.base_url), store).ask(all_questions)
    missing = {number for number in numbers if number % 20 in (0, 1, 2, 3, 4, 8, 9)}
    assert Counter(number_of(call) for call in server.calls) == Counter(missing)
    assert values(outcomes) == expected | {
        f"q{number}": truth(number) for number in missing
    }


def test_a_redirect_ends_the_run_at_the_first_reply(store: Store) -> None:
    away = Fault("reply", 307, {"Location": "https://other.example/v1/chat"})
    with FaultServer(lambda call: away) as server:
        judge = judge_at(server.base_url, concurrency=1)
        message = (
            f"{server.base_url} .*redirects: HTTP 307, a redirect to other.example"
        )
        with pytest.raises(UsageError, match=message):
            session(judge, store).ask(questions(range(20)))
    assert len(server.calls) == 1
