from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.store import Store
from medical_tasks.judges.base import NoReply, Pair, Unscored, Verdict
from medical_tasks.judges.recorded import RecordedJudge
from tests.case_tables import tables
from tests.judges.scripted import ScriptedBackend, question, session

CASES = tables(__file__, "recorded")


def recorded(tmp_path: Path, *rows: Any) -> RecordedJudge:
    path = tmp_path / "verdicts.jsonl"
    path.write_text(
        "".join(
            (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
        ),
        encoding="utf-8",
    )
    return RecordedJudge(path)


def test_values_are_looked_up_by_id(tmp_path: Path) -> None:
    judge = recorded(
        tmp_path,
        {"id": "a", "value": True},
        "",
        {"id": "b", "value": [1, [2]], "text": "because"},
    )
    a, b, c = judge.ask([question("a"), question("b"), question("c")])
    assert isinstance(a, Verdict)
    assert (a.value, a.votes) == (True, (True,))
    assert isinstance(b, Verdict)
    assert (b.value, b.text) == ((1, (2,)), "because")
    assert c == Unscored(
        id="c", reason="judge: not in the recorded verdicts", sha256=c.sha256
    )
    assert (judge.stats.questions, judge.stats.decided, dict(judge.stats.unscored)) == (
        3,
        2,
        {c.reason: 1},
    )
    assert [row["id"] for row in judge.rows] == ["a", "b", "c"]
    assert (judge.name, judge.comparable) == ("recorded/verdicts.jsonl", True)


def test_a_sessions_rows_give_the_same_verdicts_again(
    store: Store, tmp_path: Path
) -> None:
    backend = ScriptedBackend(
        lambda call: (
            "yes" if call.question.id != "b" else NoReply(key="", reason="timeout")
        )
    )
    questions = [question("a"), question("b"), question("c")]
    original = session(backend, store)
    outcomes = original.ask(questions)
    judge = recorded(tmp_path, *original.rows)
    assert judge.ask(questions) == outcomes
    assert judge.rows == original.rows
    # A verdict on one answer is no verdict on another with the same question id.
    (other,) = judge.ask([question("a", content="another answer")])
    assert isinstance(other, Unscored)
    assert other.reason == "judge: recorded for another question"


def test_rows_with_the_same_id_are_distinguished_by_their_chats(
    store: Store, tmp_path: Path
) -> None:
    original = session(ScriptedBackend(lambda call: call.messages[0]["content"]), store)
    questions = [question("a", content="yes"), question("a", content="no")]
    for item in questions:
        original.ask([item])
    outcomes = recorded(tmp_path, *original.rows).ask(questions)
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Verdict)] == [
        "yes",
        "no",
    ]


def test_rows_of_a_judge_of_pairs(store: Store, tmp_path: Path) -> None:
    pair = Pair(premise="p", hypothesis="h", values={"entailment": True})
    backend = ScriptedBackend(lambda call: "entailment", reads="pair", samples=False)
    original = session(backend, store)
    original.ask([question("a", pair=pair)])
    (outcome,) = recorded(tmp_path, *original.rows).ask([question("a", pair=pair)])
    assert isinstance(outcome, Verdict)
    assert outcome.value is True


def test_cut_replies_and_foreign_reasons(tmp_path: Path) -> None:
    judge = recorded(
        tmp_path,
        {"id": "a", "value": True, "finish": "length"},
        {"id": "b", "value": True, "finish": "stop"},
    )
    cut, whole = judge.ask([question("a"), question("b")])
    assert isinstance(cut, Unscored)
    assert cut.reason == "judge: cut reply"
    assert isinstance(whole, Verdict)
    judge = recorded(
        tmp_path,
        {"id": "a", "unscored": "the note says\nX"},
        {"id": "b", "unscored": "judge: http 500"},
    )
    outcomes = judge.ask([question("a"), question("b")])
    assert [
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    ] == [
        "judge: recorded without a verdict",
        "judge: http 500",
    ]
    # The file's content decides the judge's identity.
    assert not recorded(
        tmp_path, {"id": "a", "value": 1}, {"id": "b", "value": 1, "comparable": False}
    ).comparable
    first = recorded(tmp_path, {"id": "a", "value": 1}).identity
    assert first == recorded(tmp_path, {"id": "a", "value": 1}).identity
    assert first != recorded(tmp_path, {"id": "a", "value": 2}).identity


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["", "[" * 100_000], "line 2 is not whole JSON"),
        *CASES["other_files_are_refused"],
    ],
)
def test_other_files_are_refused(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        recorded(tmp_path, *rows)


def test_files_and_values_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(
        MissingError, match="nope.jsonl: cannot read the recorded verdicts"
    ):
        RecordedJudge(tmp_path / "nope.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        RecordedJudge(tmp_path / "bytes")
    judge = recorded(tmp_path, {"id": "a", "value": "true"})
    pair_question = question(
        "a",
        pair=Pair(
            premise="p", hypothesis="h", values={"entailment": True, "neutral": False}
        ),
    )
    with pytest.raises(
        UsageError,
        match="id 'a' has the value \"true\", and values of this question are like true, false",
    ):
        judge.ask([pair_question])
