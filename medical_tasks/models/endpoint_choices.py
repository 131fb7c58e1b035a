"""Asking a model behind HTTP how probable given answers are.

Two ways, since servers differ:

- `top`: one token is generated, and the server names the most probable tokens for it. Good for letters; a letter that is not
  among them is unknown, but for a bound.
- `prompt`: the answer is sent as the assistant's, and the server says how probable each token of the prompt is. Good for any
  text; vLLM alone does it for chats.

The question alone decides which is taken (`auto`), so that an answer's key need not name it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.models.base import Request
from medical_tasks.models.chat_client import CallFailed, ChatClient, Completion
from medical_tasks.models.chat_settings import ChatSettings
from medical_tasks.models.choice_reading import (
    MISSING,
    OddScoresError,
    Score,
    is_letter,
    read_continuation,
    read_first_token,
    read_prompt,
)
from medical_tasks.models.choice_scores import ChoiceScores
from medical_tasks.spec import Message

__all__ = ["ALTERNATIVES", "ChoiceAsker", "ChoiceSettings"]

Way = Literal["top", "prompt"]
ALTERNATIVES: Final = 20
"""Tokens named for the answer's first one: the most that OpenAI, and vLLM as it comes, name."""

_FEWER: Final = (10, 5)  # what servers that name fewer allow
_REJECTED: Final = ("http 400", "http 422")
# A chat that holds nobody's text, asked when it is not clear whether a question or the server is at fault.
_PROBE: Final[tuple[Message, ...]] = (
    Message(role="user", content="Which letter comes first in the alphabet, A or B?"),
)
_PROBE_ANSWERS: Final[Mapping[Way, tuple[str, ...]]] = {"top": ("A", "B"), "prompt": ("The letter A comes first.",)}
_INSTEAD: Final = "Use hf/PATH or vllm/PATH, or a vLLM server (vllm-server/PATH, or openai-api/ with its address)."


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """How probabilities are asked for.

    Attributes:
        way: `top`, `prompt`, or `auto`: `top` where every continuation is one letter, `prompt` otherwise.
        alternatives: tokens named for the answer's first one, in the way `top`.
    """

    way: str = "auto"
    alternatives: int = ALTERNATIVES

    @property
    def identity(self) -> dict[str, str]:
        """What of it can change numbers; empty for the defaults, under which older answers are kept."""
        named = {} if self.way == "auto" else {"logprobs": self.way}
        return named | ({} if self.alternatives == ALTERNATIVES else {"top_logprobs": str(self.alternatives)})

    def way_of(self, continuations: Sequence[str]) -> Way:
        """Chooses the way for a question.

        Raises:
            UsageError: `top` was demanded, and a continuation is more than one letter.
        """
        letters = all(map(is_letter, continuations))
        if self.way == "top" and not letters:
            raise UsageError(
                "logprobs=top tells the answer's first token, and this task asks about longer texts. Leave it out, or give "
                "logprobs=prompt (vLLM servers)."
            )
        return "top" if letters and self.way != "prompt" else "prompt"


class ChoiceAsker:
    """Asks one endpoint about continuations, for `call_pool.run_calls`.

    When the first question fails in a way that can be the server's, the same is asked about a chat of ours: if that fails as well,
    nothing will ever come and the run ends; otherwise the failure is that question's alone.

    Args:
        settings: the endpoint.
        choices: how to ask.
        sampling: the model's; of it only counts whether the server takes a temperature, since nothing is sampled.
    """

    def __init__(self, settings: ChatSettings, choices: ChoiceSettings, *, sampling: Mapping[str, Any]) -> None:
        self._where = f"the endpoint {settings.base_url} (model {settings.model!r})"
        self._choices = choices
        self._body: dict[str, Any] = {"temperature": 0.0} if "temperature" in sampling else {}
        self._proven: set[Way] = set()
        self._lock = asyncio.Lock()

    async def ask(self, client: ChatClient, request: Request) -> ChoiceScores:
        """Asks about one request.

        Raises:
            CallFailed: No answer for this request.
            UsageError: The endpoint can answer no such request; says what to use instead.
        """
        way = self._choices.way_of(request.continuations)
        try:
            scores = await self._ask(client, way, request.messages, request.continuations)
        except CallFailed as failed:
            if isinstance(failed.__cause__, OddScoresError) or failed.reason in _REJECTED:
                await self._prove(client, way)
            raise
        self._proven.add(way)
        return scores

    async def _ask(
        self, client: ChatClient, way: Way, messages: Sequence[Message], continuations: Sequence[str]
    ) -> ChoiceScores:
        if way == "prompt":
            return await self._prompt(client, messages, continuations)
        reply = await self._complete(client, messages, logprobs=self._choices.alternatives)
        try:
            return read_first_token(reply.choices[0].logprobs, continuations)
        except OddScoresError as error:
            raise CallFailed(error.reason, error.detail, attempts=reply.attempts) from error

    async def _prompt(
        self, client: ChatClient, messages: Sequence[Message], continuations: Sequence[str]
    ) -> ChoiceScores:
        attempts = 0

        async def prompt(chat: Sequence[Message], **fields: bool) -> list[Any]:
            nonlocal attempts
            reply = await self._complete(client, chat, prompt_logprobs=0, **fields)
            attempts += reply.attempts
            return read_prompt(reply.prompt_logprobs, prompt_tokens=reply.prompt_tokens)

        try:
            if not all(text.strip() for text in continuations):
                raise CallFailed("empty continuation", "an answer to be scored holds no text", attempts=0)
            context = await prompt(messages)
            scores: dict[str, Score] = {}
            for text in dict.fromkeys(continuations):
                chat = [*messages, Message(role="assistant", content=text)]
                whole = await prompt(chat, add_generation_prompt=False, continue_final_message=True)
                scores[text] = read_continuation(context, whole, text)
        except OddScoresError as error:
            raise CallFailed(error.reason, error.detail, attempts=attempts) from error
        logprobs, tokens = zip(*(scores[text] for text in continuations), strict=True)
        return ChoiceScores(logprobs=logprobs, tokens=tokens)

    async def _complete(
        self, client: ChatClient, messages: Sequence[Message], *, logprobs: int | None = None, **fields: Any
    ) -> Completion:
        return await client.complete(messages, max_tokens=1, logprobs=logprobs, extra={**self._body, **fields})

    async def _prove(self, client: ChatClient, way: Way) -> None:
        """Finds out, once, whether the server can be asked in this way at all.

        Raises:
            UsageError: It cannot.
        """
        async with self._lock:
            if way in self._proven:
                return
            try:
                await self._ask(client, way, _PROBE, _PROBE_ANSWERS[way])
            except CallFailed as failed:
                told = await self._explain(client, way, failed)
                if told is not None:
                    raise UsageError(told) from None
            else:
                self._proven.add(way)

    async def _explain(self, client: ChatClient, way: Way, failed: CallFailed) -> str | None:
        """Says what is wrong with the server, None when it is not about probabilities."""
        if isinstance(failed.__cause__, OddScoresError):
            if failed.reason == MISSING:
                return f"{self._where} answers without log-probabilities: {failed.detail}. {_INSTEAD}"
            return f"{self._where} gives no usable log-probabilities: {failed.detail}. {_INSTEAD}"
        if failed.reason not in _REJECTED or not await self._takes(client):
            return None
        if way == "top":
            for fewer in _FEWER:
                if fewer < self._choices.alternatives and await self._takes(client, logprobs=fewer):
                    return (
                        f"{self._where} does not name {self._choices.alternatives} alternatives for a token, but takes "
                        f"{fewer}: give --model-args top_logprobs={fewer}. ({failed.detail})"
                    )
            return f"{self._where} rejects requests for log-probabilities: {failed.detail}. {_INSTEAD}"
        return (
            f"{self._where} rejects requests for the probability of texts (prompt_logprobs, continue_final_message): vLLM alone "
            f"takes them, with a chat template that writes answers as they are. {_INSTEAD} It said: {failed.detail}"
        )

    async def _takes(self, client: ChatClient, *, logprobs: int | None = None) -> bool:
        try:
            await self._complete(client, _PROBE, logprobs=logprobs)
        except CallFailed:
            return False
        return True
