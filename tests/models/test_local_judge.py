"""A judge on a real local model; here since it shares the toy and its imports with this folder's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.io.store import Store
from medical_tasks.judges import chat
from medical_tasks.judges.base import Reply, Unscored, Verdict
from medical_tasks.judges.chat import LocalJudge
from tests.judges.scripted import question, session
from tests.models.local_runs import Opener


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_local_model_votes(
    opened: Opener, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = LocalJudge(opened(toy_model, temperature="1", seed="3"))
    with Store(tmp_path / "cut.sqlite") as store:
        (cut,) = session(judge, store, reasks=0).ask([question("q0", read=str)])
    assert isinstance(cut, Unscored)
    assert cut.reason == "judge: cut reply"  # a random model does not end by itself
    monkeypatch.setattr(
        chat, "Reply", lambda **reply: Reply(**reply | {"finish": "stop"})
    )
    questions = [question(f"q{number}", read=lambda text: text) for number in range(2)]
    with Store(tmp_path / "store.sqlite") as store:
        first = session(judge, store, votes=3)
        outcomes = first.ask(questions)
        verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
        assert len(verdicts) == 2
        # A random model hardly repeats a reply; of votes that all differ the first one
        # decides.
        assert [len(set(verdict.votes)) for verdict in verdicts] == [3, 3]
        assert [verdict.value for verdict in verdicts] == [
            verdict.votes[0] for verdict in verdicts
        ]
        assert first.stats.replies == 6
        second = session(judge, store, votes=3)
        assert second.ask(questions) == outcomes
        assert (second.stats.replies, second.stats.from_store) == (0, 6)
        assert second.usage["prompt_tokens"] == first.usage["prompt_tokens"] is not None
