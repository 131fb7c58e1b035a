"""Judges that are chat models in this process: `hf/...` and `vllm/...`, or any other `models.base.Model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from medical_tasks.judges.base import Budget, Call, NoReply, OnReply, Reply
from medical_tasks.judges.budget import estimate_chat
from medical_tasks.models.base import Answer, Failure, Model, Request

__all__ = ["LocalJudge"]


class LocalJudge:
    """A model asked as a judge. Implements `judges.base.Backend`.

    Args:
        model: the model; closing the judge closes it.
    """

    comparable = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.identity: Mapping[str, str] = model.identity
        self.endpoint = model.endpoint
        self.samples = _samples(model.identity)
        self._model = model

    def answer(self, calls: Sequence[Call], budget: Budget, on_reply: OnReply) -> None:
        """Asks for all replies; they are delivered as the model's batches end.

        What the budget does not admit at first is tried again when what was admitted has ended, since that takes less than
        was reserved for it.

        Args:
            calls: what is wanted.
            budget: asked for each call before it is handed to the model.
            on_reply: called in this thread, once for each call.
        """
        waiting = list(calls)
        while waiting:
            admitted: dict[str, Call] = {}
            refused: list[Call] = []
            for call in waiting:
                if budget.admit(prompt_tokens=estimate_chat(call.messages), output_tokens=call.question.max_tokens):
                    admitted[call.key] = call
                else:
                    refused.append(call)
            if admitted:
                self._generate(admitted, budget, on_reply)
                waiting = refused
                continue
            for call in refused:
                on_reply(NoReply(key=call.key, reason="budget spent"))
            return

    def _generate(self, calls: Mapping[str, Call], budget: Budget, on_reply: OnReply) -> None:
        def on_result(result: Answer | Failure) -> None:
            call = calls[result.key]
            prompt, output = estimate_chat(call.messages), call.question.max_tokens
            if isinstance(result, Failure):
                budget.settle(prompt_tokens=prompt, output_tokens=output, used=0)
                on_reply(NoReply(key=result.key, reason=result.reason, detail=result.detail, attempts=1))
                return
            # The model counts what it writes, not what it reads: the prompt stays an estimate.
            used = None if result.output_tokens is None else prompt + result.output_tokens
            budget.settle(prompt_tokens=prompt, output_tokens=output, used=used)
            on_reply(Reply(key=result.key, text=result.text, finish=result.finish, output_tokens=result.output_tokens))

        self._model.generate(
            [
                Request(key=key, messages=call.messages, max_new_tokens=call.question.max_tokens)
                for key, call in calls.items()
            ],
            on_result,
        )

    def close(self) -> None:
        """Frees the model's memory."""
        self._model.close()


def _samples(identity: Mapping[str, str]) -> bool:
    """Whether a model's next answer to the same chat can be another one, from what its identity says of decoding."""
    decoding = identity.get("decoding")
    if decoding is not None:
        return not decoding.startswith("greedy")
    return float(identity.get("temperature", "0")) > 0
