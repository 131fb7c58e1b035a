"""Judges behind inspect_ai's model providers: `inspect/<provider>/<model>`.

inspect retries by itself without saying how often, so that the budget counts calls, not
retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medical_tasks.judges.base import Call, NoReply, Reply
from medical_tasks.judges.chat import LocalJudge
from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.models.inspect_model import InspectModel, open_inspect


class InspectJudge(LocalJudge):
    """A judge behind an inspect provider; each vote has a seed of its own."""

    def __init__(self, model: InspectModel) -> None:
        super().__init__(model)
        # Without an explicit temperature, the provider is assumed to sample.
        self.samples = model.settings.config.get("temperature") != 0

    def ask_in_batches(self, journal: Path) -> None:
        """Makes `answer` use inspect's batches."""
        self._model.ask_in_batches(journal)

    def request(self, call: Call) -> Request:
        """The model's request for a vote."""
        return Request(
            key=call.key,
            messages=call.messages,
            max_new_tokens=call.question.max_tokens,
            repeat=call.vote + 1,
        )

    def reply(self, result: Answer | Failure) -> Reply | NoReply:
        """The judge's reply; an empty one is a failure, though it was paid for."""
        if isinstance(result, Answer) and not result.text.strip():
            return NoReply(key=result.key, reason="empty content", attempts=1)
        return super().reply(result)


def open_inspect_judge(name: str, options: Mapping[str, str]) -> InspectJudge:
    """Opens `inspect/<provider>/<model>`. Nothing is sent yet."""
    return InspectJudge(open_inspect(name, options=options, what="judge"))
