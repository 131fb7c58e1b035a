from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.judges import case
from medical_tasks.judges.base import (
    Call,
    JudgeOptions,
    NoReply,
    Pair,
    Question,
    Reply,
    Unscored,
    Verdict,
)
from medical_tasks.judges.case import CUT
from medical_tasks.judges.session import JudgeSession
from medical_tasks.models.usage import Prices
from tests.case_tables import tables
from tests.judges.scripted import ScriptedBackend, question, read_word, session
from tests.support import ROOT

CASES = tables(__file__, "session")

SECRET = "the patient's zebra allergy"


def values(outcomes: list[Verdict | Unscored]) -> list[Any]:
    return [
        outcome.value if isinstance(outcome, Verdict) else outcome.reason
        for outcome in outcomes
    ]


def usage(judge: JudgeSession) -> tuple[Any, ...]:
    used = judge.usage
    return used["requests"], used["prompt_tokens"], used["output_tokens"]


def questions(count: int) -> list[Question]:
    return [question(f"q{number}") for number in range(count)]


def test_verdicts_come_in_the_order_of_the_questions(store: Store) -> None:
    backend = ScriptedBackend(
        lambda call: "yes" if call.question.id in ("q0", "q2") else "no",
        order=lambda calls: reversed(calls),
    )
    judge = session(backend, store)
    outcomes = judge.ask(questions(4))
    assert [outcome.id for outcome in outcomes] == ["q0", "q1", "q2", "q3"]
    assert values(outcomes) == ["yes", "no", "yes", "no"]
    first = outcomes[0]
    assert isinstance(first, Verdict)
    assert (first.votes, first.text, len(first.sha256)) == (("yes",), "yes", 64)
    assert backend.rounds == [4]
    assert judge.ask([]) == []
    assert (judge.name, judge.comparable, judge.identity) == (
        "scripted/judge",
        True,
        backend.identity,
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda backend, item: (ScriptedBackend(lambda call: "yes", version="2"), item),
        lambda backend, item: (backend, replace(item, template="t2")),
        lambda backend, item: (backend, replace(item, max_tokens=17)),
        lambda backend, item: (
            backend,
            replace(item, messages=({"role": "user", "content": "other"},)),
        ),
        lambda backend, item: (
            backend,
            replace(item, messages=({"role": "system", "content": "q0"},)),
        ),
    ],
    ids=["judge", "template", "length", "content", "role"],
)
def test_everything_that_decides_a_reply_is_in_its_key(
    change: Callable[..., Any], store: Store
) -> None:
    backend = ScriptedBackend(lambda call: "yes")
    session(backend, store).ask([question("q0")])
    other_backend, other = change(backend, question("q0"))
    before = len(other_backend.calls)
    session(other_backend, store).ask([other])
    assert len(other_backend.calls) == before + 1


def test_any_value_of_a_reader_is_kept(store: Store) -> None:
    expected = [None, False, 0, (1, 2), "", 2.5]
    items = [
        question(str(index), read=lambda text: expected[int(text)])
        for index in range(len(expected))
    ]
    outcomes = session(ScriptedBackend(lambda call: call.question.id), store).ask(items)
    assert all(isinstance(outcome, Verdict) for outcome in outcomes)
    assert values(outcomes) == expected


def test_any_characters_are_kept(store: Store) -> None:
    text = 'lone \ud800, "quotes", \x00 and \u2028'
    backend = ScriptedBackend(lambda call: text)
    item = question("q", content="also \udfff here", read=lambda reply: reply)
    for _ in range(2):  # the second time from the store
        assert values(session(backend, store).ask([item])) == [text]
    assert len(backend.calls) == 1


def test_questions_with_the_same_chat_share_a_reply(store: Store) -> None:
    backend = ScriptedBackend(lambda call: "yes")
    same = [
        question("a", content="same"),
        question("b", content="same", read=lambda text: text.upper()),
    ]
    judge = session(backend, store)
    assert values(judge.ask(same)) == ["yes", "YES"]
    assert (len(backend.calls), judge.stats.replies, judge.stats.decided) == (1, 1, 2)
    with pytest.raises(ValueError, match="the same id"):
        judge.ask([question("a", content="1"), question("a", content="2")])


def test_an_unreadable_reply_is_asked_again_in_its_conversation(store: Store) -> None:
    replies = {1: "Maybe.", 3: "Hm {problem}", 5: "yes"}
    backend = ScriptedBackend(lambda call: replies[len(call.messages)])
    judge = session(backend, store)
    (outcome,) = judge.ask([question("q")])
    assert isinstance(outcome, Verdict)
    assert (outcome.value, outcome.votes, outcome.text) == ("yes", ("yes",), "yes")
    again = 'Not read: neither yes nor no. Say yes or no, not {"verdict": "yes"}.'
    assert [
        (message["role"], message["content"]) for message in backend.calls[-1].messages
    ] == [
        *(
            ("user", "q"),
            ("assistant", "Maybe."),
            ("user", again),
            ("assistant", "Hm {problem}"),
            ("user", again),
        ),
    ]
    assert (judge.stats.reasked, judge.stats.replies, backend.rounds) == (
        2,
        3,
        [1, 1, 1],
    )
    # A second run reads the same replies from the store.
    assert session(backend, store).ask([question("q")]) == [outcome]
    assert len(backend.calls) == 3


@pytest.mark.parametrize("reasks", [0, 1, 2])
def test_a_question_whose_replies_stay_unreadable_is_unscored(
    reasks: int, store: Store
) -> None:
    backend = ScriptedBackend(lambda call: f"no idea {len(call.messages)}")
    judge = session(backend, store, reasks=reasks)
    assert values(judge.ask([question("q")])) == ["judge: unreadable reply"]
    assert len(backend.calls) == reasks + 1
    assert dict(judge.stats.unscored) == {"judge: unreadable reply": 1}
    assert judge.rows[0]["text"] == f"no idea {2 * reasks + 1}"
    assert values(session(backend, store, reasks=reasks).ask([question("q")])) == [
        "judge: unreadable reply"
    ]
    assert len(backend.calls) == reasks + 1
    # A session with more re-asks continues from there.
    session(backend, store, reasks=reasks + 1).ask([question("q")])
    assert len(backend.calls) == reasks + 2


def voting(ballots: dict[str, str]) -> Callable[[Call], str]:
    return lambda call: {"y": "yes", "n": "no", "?": "hm"}[
        ballots[call.question.id][call.vote]
    ]


def test_votes_stop_once_the_majority_is_certain(store: Store) -> None:
    backend = ScriptedBackend(voting({"q0": "yyyyy", "q1": "ynyny", "q2": "nnynn"}))
    judge = session(backend, store, votes=5)
    outcomes = judge.ask(questions(3))
    assert values(outcomes) == ["yes", "yes", "no"]
    assert [
        len(outcome.votes) for outcome in outcomes if isinstance(outcome, Verdict)
    ] == [3, 5, 4]
    assert backend.rounds == [9, 2, 1]
    assert (judge.stats.saved, judge.stats.replies) == (3, 12)
    assert outcomes[2].text == "no"  # type: ignore[union-attr]


def test_a_vote_that_stays_unreadable_counts_for_no_value(store: Store) -> None:
    backend = ScriptedBackend(voting({"q0": "?yyy", "q1": "??y", "q2": "?yn"}))
    judge = session(backend, store, votes=3, reasks=0)
    assert values(judge.ask(questions(3))) == [
        "yes",
        "judge: unreadable reply",
        "judge: unreadable reply",
    ]
    assert judge.rows[0]["votes"] == ["yes", "yes"]
    assert judge.rows[2]["votes"] == ["yes", "no"]


def test_more_votes_continue_from_the_stored_ones(store: Store) -> None:
    backend = ScriptedBackend(voting({"q0": "nyyyy"}))
    assert values(session(backend, store).ask(questions(1))) == ["no"]
    assert values(session(backend, store, votes=5).ask(questions(1))) == ["yes"]
    assert [call.vote for call in backend.calls] == [0, 1, 2, 3]


def test_votes_of_a_deterministic_judge_are_refused(store: Store) -> None:
    backend = ScriptedBackend(lambda call: "yes", samples=False)
    with pytest.raises(
        UsageError,
        match=r"scripted/judge gives the same reply each time, so that votes must be 1, got 5",
    ):
        session(backend, store, votes=5)
    with pytest.raises(UsageError, match="votes of a judge must be 1 or more, got 0"):
        session(backend, store, votes=0)
    with pytest.raises(UsageError, match="reasks of a judge must be 0 or more, got -1"):
        session(backend, store, reasks=-1)


def test_a_spent_budget_leaves_questions_for_the_next_session(store: Store) -> None:
    backend = ScriptedBackend(lambda call: "yes")
    judge = session(backend, store, max_calls=2)
    assert values(judge.ask(questions(3))) == ["yes", "yes", "judge: budget spent"]
    # the limit is the run's, not the round's
    assert values(judge.ask([question("more")])) == ["judge: budget spent"]
    assert judge.budget.calls == 2
    assert values(session(backend, store, max_calls=2).ask(questions(3))) == ["yes"] * 3
    assert len(backend.calls) == 3


def test_attempts_of_a_failed_call_are_counted(store: Store) -> None:
    down = NoReply(key="", reason="http 500", attempts=7)
    backend = ScriptedBackend(lambda call: down if call.question.id == "q1" else "yes")
    judge = session(backend, store)
    assert values(judge.ask(questions(3))) == ["yes", "judge: http 500", "yes"]
    assert (judge.stats.calls, judge.stats.replies, judge.stats.decided) == (9, 2, 2)


def test_usage_counts_requests_and_tokens(store: Store) -> None:
    reply = Reply(key="", text="yes", prompt_tokens=5, output_tokens=2)
    judge = session(ScriptedBackend(lambda call: reply), store)
    judge.ask(questions(2))
    assert usage(judge) == (2, 10, 4)
    # q1 from the store, and a reply that shared the request of another.
    shared = replace(reply, prompt_tokens=0, output_tokens=0, attempts=0)
    again = session(ScriptedBackend(lambda call: shared), store)
    again.ask([question("q1"), question("other")])
    assert usage(again) == (1, 5, 2)
    assert again.foreseen["requests"] == [2, 6]
    uncounted = session(ScriptedBackend(lambda call: Reply(key="", text="yes")), store)
    uncounted.ask([question("abc")])
    assert usage(uncounted) == (1, None, None)


def pair(hypothesis: str, values: dict[Any, Any] | None = None) -> Pair:
    by_label: dict[Any, Any] = {
        "entailment": True,
        "neutral": False,
        "contradiction": False,
    }
    return Pair(
        premise="p",
        hypothesis=hypothesis,
        values=by_label if values is None else values,
    )


def test_labels_become_values(store: Store) -> None:
    labels = {"a": "entailment", "b": "contradiction", "c": "not_entailment"}
    backend = ScriptedBackend(
        lambda call: labels[call.question.pair.hypothesis],  # type: ignore[union-attr]
        reads="pair",
        samples=False,
    )
    judge = session(backend, store)
    outcomes = judge.ask([question(name, pair=pair(name)) for name in "abc"])
    assert values(outcomes) == [True, False, "judge: cannot tell not_entailment"]
    assert isinstance(outcomes[0], Verdict)
    assert outcomes[0].text == ""
    # The same pair under another id and prompt, and with other values, needs no call.
    other = [
        question(
            "x",
            content="other",
            template="t2",
            max_tokens=9,
            pair=pair("a", {"entailment": 0}),
        ),
        question("y", pair=pair("c", {"not_entailment": "rest"})),
    ]
    assert values(session(backend, store).ask(other)) == [0, "rest"]
    assert len(backend.calls) == 3
    assert (judge.usage["prompt_tokens"], judge.foreseen) == (None, {})


def test_a_question_without_a_pair_is_unscored(store: Store) -> None:
    backend = ScriptedBackend(lambda call: "entailment", reads="pair", samples=False)
    items = [question("a"), question("b", pair=pair("b"))]
    outcomes = session(backend, store).ask(items)
    assert values(outcomes) == ["judge: no question of entailment", True]
    assert len(backend.calls) == 1


def test_the_store_holds_no_prompt(store: Store) -> None:
    backend = ScriptedBackend(lambda call: "hm" if len(call.messages) == 1 else "yes")
    item = question(
        SECRET,
        content=f"Judge this: {SECRET}",
        pair=Pair(premise=SECRET, hypothesis=SECRET, values={}),
    )
    session(backend, store).ask([item])
    store.close()
    connection = sqlite3.connect(store.path)
    records = connection.execute("SELECT kind, key, payload FROM records").fetchall()
    connection.close()
    assert len(records) == 2
    for kind, key, payload in records:
        assert kind == "verdict"
        assert len(key) == 64
        assert set(json.loads(payload)) == {
            "text", "label", "finish", "prompt_tokens", "output_tokens", "requests", "seconds",
        }  # fmt: skip
    for path in store.path.parent.iterdir():
        assert b"zebra" not in path.read_bytes()


def test_a_forecast_sends_nothing(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = ScriptedBackend(lambda call: "yes", endpoint="http://127.0.0.1:1/v1")
    session(backend, store).ask(questions(2))
    capsys.readouterr()
    options = JudgeOptions(votes=3, forecast=True)
    judge = JudgeSession(
        backend, options, store, label="kqa", quiet=True, prices=Prices(2.0, 10.0)
    )
    items = [
        question(f"q{number}", max_tokens=16 if number < 2 else 1000)
        for number in range(4)
    ]
    assert (
        values(judge.ask([*items, question("same", content="q3", max_tokens=1000)]))
        == ["judge: forecast only"] * 5
    )
    assert len(backend.calls) == 2
    # q0 and q1 have one of their two first votes, q2 and q3 need both. A third vote may
    # follow; each may be asked three times. A prompt is one letter and one digit, 2
    # tokens, and 8 around it: 6 to 10 of them are 60 to 100, and the output 4,032 to
    # 6,064 tokens, $ 0.04 to 0.06.
    line = capsys.readouterr().err
    assert line == (
        "judge scripted/judge (kqa): 5 verdicts, 0 in the store; 6 to 30 calls, about 60 to 100 prompt tokens, at most "
        "4,032 to 6,064 output tokens, about $ 0.04 to 0.06\n"
    )


def test_a_forecast_uses_the_stored_replies(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = ScriptedBackend(lambda call: "yes")
    session(backend, store).ask(questions(2))
    judge = session(backend, store, forecast=True)
    assert values(judge.ask(questions(3))) == ["yes", "yes", "judge: forecast only"]
    assert values(judge.ask(questions(2))) == ["yes", "yes"]
    assert (
        "3 verdicts, 2 in the store; 1 to 3 calls, about 10 prompt tokens, at most 16 output"
        in capsys.readouterr().err
    )


def test_forecasts_of_many_calls_and_of_pairs(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    # 1,710 letters and blanks: 570 tokens
    content = "the premise and the statement " * 57
    items = [
        question(f"q{number:04}", content=f"{content}{number:04}", max_tokens=512)
        for number in range(1589)
    ]
    backend = ScriptedBackend(
        lambda call: "yes",
        endpoint="https://api.example.org/v1",
        name="openai-api/example/m",
    )
    session(backend, store, forecast=True).ask(items)
    # 1,589 x (570 + 4 digits + 8) = 924,798; 1,589 x 512 = 813,568
    assert capsys.readouterr().err == (
        "judge openai-api/example/m: 1,589 verdicts, 0 in the store; 1,589 to 4,767 calls, about 0.9 million prompt tokens, "
        "at most 0.8 million output tokens\n"
    )
    backend = ScriptedBackend(lambda call: "entailment", reads="pair", samples=False)
    session(backend, store, forecast=True).ask(
        [question("a", pair=pair("a")), question("b", pair=pair("b"))]
    )
    assert (
        capsys.readouterr().err
        == "judge scripted/judge: 2 verdicts, 0 in the store; 2 calls\n"
    )


@pytest.mark.parametrize(
    ("endpoint", "lines"), [(None, 0), ("http://127.0.0.1:1/v1", 1)]
)
def test_calls_are_announced_once_for_a_judge_with_an_address(
    endpoint: str | None, lines: int, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = ScriptedBackend(lambda call: "hm", endpoint=endpoint)
    judge = JudgeSession(backend, JudgeOptions(), store, label="kqa")
    judge.ask(questions(2))
    # once an `ask`, not once a round
    assert capsys.readouterr().err.count("in the store") == lines
    judge.ask(questions(2))
    assert "in the store" not in capsys.readouterr().err  # no call is left


def test_thousands_of_stored_verdicts_need_two_queries(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ScriptedBackend(voting({f"q{number}": "yny" for number in range(1589)}))
    session(backend, store, votes=3).ask(questions(1589))
    queries: list[int] = []
    get_many = Store.get_many

    def counted(self: Store, kind: str, keys: Any) -> dict[str, dict[str, Any]]:
        queries.append(len(list(keys)))
        return get_many(self, kind, keys)

    monkeypatch.setattr(Store, "get_many", counted)
    again = session(backend, store, votes=3)
    assert values(again.ask(questions(1589))) == ["yes"] * 1589
    assert queries == [2 * 1589, 1589]
    assert (again.stats.replies, again.stats.from_store) == (0, 3 * 1589)


_CHILD = """
import sys, time
from pathlib import Path
from medical_tasks.judges.base import JudgeOptions
from medical_tasks.judges.session import JudgeSession
from medical_tasks.io.store import Store
from tests.judges.scripted import ScriptedBackend, question

path, log, pause = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
with log.open("a") as calls, Store(path) as store:
    def reply(call):
        print(call.question.id, call.vote, file=calls, flush=True)
        time.sleep(pause)
        return "no" if int(call.question.id[1:]) // (call.vote + 1) % 2 else "yes"
    judge = JudgeSession(ScriptedBackend(reply), JudgeOptions(votes=3), store, quiet=True)
    print("ready", flush=True)
    print([outcome.value for outcome in judge.ask([question(f"q{n}") for n in range(200)])], flush=True)
"""


def child(store: Path, log: Path, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(store), str(log), str(pause)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_killed_run_repeats_at_most_the_call_in_flight(tmp_path: Path) -> None:
    path, log = tmp_path / "store.sqlite", tmp_path / "calls.txt"
    rng = random.Random(1)
    for _ in range(4):
        process = child(path, log, 0.002)
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02 + rng.random() / 10)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert 0 < log.read_text().count("\n") < 400
    stdout, _ = child(path, log, 0).communicate(timeout=60)
    ballots = [
        ["no" if number // (vote + 1) % 2 else "yes" for vote in range(3)]
        for number in range(200)
    ]
    assert stdout.split("\n")[1] == str(
        ["no" if ballot.count("no") > 1 else "yes" for ballot in ballots]
    )
    calls = log.read_text().split("\n")[:-1]
    # Two votes on each question, a third where they differ.
    assert len(set(calls)) == 400 + sum(ballot[0] != ballot[1] for ballot in ballots)
    assert len(calls) - len(set(calls)) <= 4


def test_two_processes_with_the_same_call_use_the_reply_stored_first(
    store: Store,
) -> None:
    """The backend acts as the second process: it stores another reply under the key before its own arrives."""

    def script(call: Call) -> str:
        with Store(store.path) as other:
            other.put(
                "verdict",
                call.key,
                {"text": "yes", "label": None, "prompt_tokens": 1, "output_tokens": 1},
                first=True,
            )
        return "no"

    for _ in range(2):  # the second time from the store
        outcomes = session(ScriptedBackend(script), store).ask([question("q1")])
        assert values(outcomes) == ["yes"]


ENDS = [
    "stop",
    "STOP",
    "eos",
    "eos_token",
    "stop_sequence",
    "end_turn",
    "COMPLETE",
    "",
    "unknown",
]
ENDED = {*map(str.casefold, ENDS), "completed", "finished"}
CUTS = CASES["CUTS"]


@given(
    finish=st.sampled_from(CUTS)
    | st.text(min_size=1).filter(lambda text: text.strip().casefold() not in ENDED)
)
def test_a_reply_that_was_cut_is_no_verdict(finish: str) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder, "store.sqlite")) as store,
    ):
        backend = ScriptedBackend(lambda call: Reply(key="", text="yes", finish=finish))
        for _ in range(2):  # the second time from the store
            (outcome,) = session(backend, store, reasks=1).ask([question("q")])
            assert isinstance(outcome, Unscored)
            assert outcome.reason == CUT
        assert [len(call.messages) for call in backend.calls] == [1, 3]
        assert "it was cut off before its end" in str(
            backend.calls[1].messages[2]["content"]
        )


@pytest.mark.parametrize(
    ("finish", "tokens", "read"),
    [
        *((end, 3, ["yes"]) for end in ENDS),
        ("", 15, ["yes"]),
        ("", 16, [CUT]),
        ("unknown", 16, [CUT]),
        ("stop", 16, ["yes"]),
    ],
)
def test_without_a_finish_reason_the_token_count_decides(
    store: Store, finish: str, tokens: int, read: list[str]
) -> None:
    reply = Reply(key="", text="yes", finish=finish, output_tokens=tokens)
    assert (
        values(
            session(ScriptedBackend(lambda call: reply), store, reasks=0).ask(
                questions(1)
            )
        )
        == read
    )


def test_stored_replies_of_an_earlier_reading_are_asked_for_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ScriptedBackend(lambda call: "yes")
    monkeypatch.setattr(case, "READING", 1)
    session(backend, store).ask(questions(1))
    monkeypatch.undo()
    session(backend, store).ask(questions(1))
    assert len(backend.calls) == 2


def test_a_question_marked_once_has_one_vote_and_no_re_ask(store: Store) -> None:
    sane = question("q", read=read_word)
    first = replace(sane, id="q/official", read=lambda text: f"read {text}", once=True)
    backend = ScriptedBackend(
        lambda call: "yes" if len(call.messages) > 1 or call.vote else "hm"
    )
    outcomes = session(backend, store, votes=3).ask([sane, first])
    assert [
        (outcome.value, outcome.votes)
        for outcome in outcomes
        if isinstance(outcome, Verdict)
    ] == [("yes", ("yes", "yes")), ("read hm", ("read hm",))]
    assert len(backend.calls) == 3  # the first reply is shared
    # An unreadable reply is not asked for again.
    unread = replace(sane, id="other", messages=question("other").messages, once=True)
    (outcome,) = session(backend, store).ask([unread])
    assert isinstance(outcome, Unscored)
    assert len(backend.calls) == 4
