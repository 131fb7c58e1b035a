"""A judge on a real local model; here because the toy and its imports are shared with this folder's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.io.store import Store
from medical_tasks.judges import chat
from medical_tasks.judges.base import JudgeOptions, Reply, Unscored, Verdict
from medical_tasks.judges.chat import LocalJudge
from medical_tasks.judges.session import JudgeSession
from tests.judges.scripted import question
from tests.models.local_runs import Opener


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_local_model_votes(
    opened: Opener, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(toy_model, temperature="1", seed="3")
    with Store(tmp_path / "cut.sqlite") as store:
        session = JudgeSession(
            LocalJudge(model), JudgeOptions(reasks=0), store, quiet=True
        )
        (cut,) = session.ask([question("q0", read=str)])
    assert isinstance(cut, Unscored)
    assert cut.reason == "judge: cut reply"  # a random model goes on until it is cut
    monkeypatch.setattr(
        chat, "Reply", lambda **reply: Reply(**reply | {"finish": "stop"})
    )
    asked = [question(f"q{number}", read=lambda text: text) for number in range(2)]
    with Store(tmp_path / "store.sqlite") as store:
        first = JudgeSession(
            LocalJudge(model), JudgeOptions(votes=3), store, quiet=True
        )
        outcomes = first.ask(asked)
        verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
        assert len(verdicts) == 2
        # A random model hardly says the same twice; of votes that all differ the first
        # one stands.
        assert [len(set(verdict.votes)) for verdict in verdicts] == [3, 3]
        assert [verdict.value for verdict in verdicts] == [
            verdict.votes[0] for verdict in verdicts
        ]
        assert first.stats.replies == 6
        second = JudgeSession(
            LocalJudge(model), JudgeOptions(votes=3), store, quiet=True
        )
        assert second.ask(asked) == outcomes
        assert (second.stats.replies, second.stats.from_store) == (0, 6)
        assert second.usage["prompt_tokens"] == first.usage["prompt_tokens"] is not None
