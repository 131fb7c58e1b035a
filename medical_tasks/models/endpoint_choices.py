"""Scores the choices of a question with a model behind HTTP, by its log-probabilities.

`top`: the server lists the most probable first tokens, for letters. `prompt`: the
answer is sent as the assistant's, and the server (only vLLM) scores each of its tokens.
Details of errors hold no token's text, which may be the question's.

- **`top`**: one request an item, for a one-token answer (`logprobs: true`,
  `top_logprobs: 20`; OpenAI, vLLM, llama.cpp and others). A letter's probability is
  that of its token, alone or with white space around it; `(A`, `A.` and `a` do not
  count. If the server names fewer tokens, the run ends with the number to give, as in
  `top_logprobs=5`.
- **`prompt`**: one request for the chat, and one for each choice as the assistant's
  answer, with vLLM's `prompt_logprobs: 0`, `continue_final_message: true`,
  `add_generation_prompt: false`. The log-probabilities of the tokens behind the chat's
  are summed, if the answered chat begins with the chat's tokens and the rest reads as
  the choice (as with `hf/` and `vllm/`).

Three failures are final: `no log-probabilities`, `malformed log-probabilities` (nan,
above 0, too few or too many tokens, no text) and `answer not told from the prompt`. If
a short chat fails too, the run ends and names the alternative.
"""

from __future__ import annotations

import asyncio
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from medical_tasks.errors import UsageError
from medical_tasks.models.base import ChoiceScores, Request
from medical_tasks.models.budget import Amount, estimate_chat
from medical_tasks.models.chat_client import CallFailed, Completion, Spending
from medical_tasks.models.chat_reply import NoAnswerError
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.till import Till
from medical_tasks.spec import Message

Way = Literal["top", "prompt"]
ALTERNATIVES: Final = 20
"""Alternatives requested for the answer's first token: the most that OpenAI, and vLLM by default, allow."""

_FEWER: Final = (10, 5)  # what other servers allow
_REJECTED: Final = ("http 400", "http 403", "http 422")
# A harmless chat, sent when it is not clear whether a question or the server is at
# fault.
_PROBE: Final[tuple[Message, ...]] = (
    Message(role="user", content="Which letter comes first in the alphabet, A or B?"),
)
_PROBE_ANSWERS: Final[Mapping[Way, tuple[str, ...]]] = {
    "top": ("A", "B"),
    "prompt": ("The letter A comes first.",),
}
_INSTEAD: Final = "Use hf/PATH or vllm/PATH, or a vLLM server (vllm-server/PATH, or openai-api/ with its address)."


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """How probabilities are requested.

    Attributes:
        way: `top`, `prompt`, or `auto`: `top` where every continuation is one letter,
            `prompt` otherwise.
        alternatives: how many alternatives the way `top` requests for the answer's first
            token.
    """

    way: str = "auto"
    alternatives: int = ALTERNATIVES

    @property
    def identity(self) -> dict[str, str]:
        """The settings that can change numbers.

        Empty for the defaults, under which older answers are stored.
        """
        named = {} if self.way == "auto" else {"logprobs": self.way}
        return named | (
            {}
            if self.alternatives == ALTERNATIVES
            else {"top_logprobs": str(self.alternatives)}
        )

    def way_of(self, continuations: Sequence[str]) -> Way:
        """Chooses the way for a question."""
        letters = all(map(is_letter, continuations))
        if self.way == "top" and not letters:
            raise UsageError(MESSAGES["endpoint_texts"])
        return "top" if letters and self.way != "prompt" else "prompt"


class Completes(Protocol):
    """A client that can score: that of an endpoint, or inspect's."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        logprobs: int | None = None,
        extra: Mapping[str, object] | None = None,
        spending: Spending,
    ) -> Completion:
        """Requests an answer, with `logprobs` alternatives for each of its tokens."""
        ...


class ChoiceAsker:
    """Scores continuations with one endpoint, for `call_pool.run_calls`.

    When a failure may be the server's fault, a harmless chat is sent, once: if that
    fails as well, the run ends.
    """

    def __init__(
        self,
        where: str,
        choices: ChoiceSettings,
        fields: Mapping[str, object],
        *,
        till: Till,
    ) -> None:
        """Prepares to score; nothing is sent yet.

        Args:
            where: the endpoint, for messages.
            choices: how probabilities are requested.
            fields: of each request's body, besides the chat.
            till: the budget of the run.
        """
        self._where = f"the endpoint {where}"
        self._choices = choices
        self._body = dict(fields)
        self._proven: set[Way] = set()
        self._lock = asyncio.Lock()
        self._till = till

    async def ask(self, client: Completes, request: Request) -> ChoiceScores:
        """Scores one request; raises `CallFailed` if it gets no answer."""
        way = self._choices.way_of(request.continuations)
        try:
            scores = await self._ask(
                client, way, request.messages, request.continuations
            )
        except CallFailed as failed:
            if (
                isinstance(failed.__cause__, OddScoresError)
                or failed.reason in _REJECTED
            ):
                await self._prove(client, way)

            raise

        self._proven.add(way)
        return scores

    async def _ask(
        self,
        client: Completes,
        way: Way,
        messages: Sequence[Message],
        continuations: Sequence[str],
    ) -> ChoiceScores:
        """Scores in one way, whosever fault a failure may be.

        A reply without usable probabilities becomes a `CallFailed` caused by an
        `OddScoresError`: it tells `ask` that the server may not support this at all.
        """
        if way == "prompt":
            return await self._prompt(client, messages, continuations)

        reply = await self._complete(
            client, messages, logprobs=self._choices.alternatives
        )
        try:
            return read_first_token(reply.choices[0].logprobs, continuations)
        except OddScoresError as error:
            raise CallFailed(
                error.reason, error.detail, attempts=reply.attempts
            ) from error

    async def _prompt(
        self,
        client: Completes,
        messages: Sequence[Message],
        continuations: Sequence[str],
    ) -> ChoiceScores:
        """Scores continuations by the log-probabilities of a prompt's tokens (vLLM).

        One request sends the chat alone, then one for each distinct continuation sends
        the chat followed by it. The tokens after those of the chat are the
        continuation's.
        """
        attempts = 0

        async def prompt(chat: Sequence[Message], **fields: bool) -> list[Any]:
            nonlocal attempts
            reply = await self._complete(client, chat, prompt_logprobs=0, **fields)
            attempts += reply.attempts
            return read_prompt(reply.prompt_logprobs, prompt_tokens=reply.prompt_tokens)

        try:
            if not all(text.strip() for text in continuations):
                raise CallFailed(
                    "empty continuation",
                    "an answer to be scored holds no text",
                    attempts=0,
                )

            context = await prompt(messages)
            scores: dict[str, Score] = {}
            for text in dict.fromkeys(continuations):
                chat = [*messages, Message(role="assistant", content=text)]
                whole = await prompt(
                    chat, add_generation_prompt=False, continue_final_message=True
                )
                scores[text] = read_continuation(context, whole, text)
        except OddScoresError as error:
            raise CallFailed(error.reason, error.detail, attempts=attempts) from error

        logprobs, tokens = zip(*(scores[text] for text in continuations), strict=True)
        return ChoiceScores(logprobs=logprobs, tokens=tokens)

    async def _complete(
        self,
        client: Completes,
        messages: Sequence[Message],
        *,
        logprobs: int | None = None,
        **fields: object,
    ) -> Completion:
        till = self._till
        most = Amount(estimate_chat(messages), 1)
        return await client.complete(
            messages,
            max_tokens=1,
            logprobs=logprobs,
            extra={**self._body, **fields},
            spending=till.call(most.at(till.prices)),
        )

    async def _prove(self, client: Completes, way: Way) -> None:
        """Checks once whether the server supports this way at all."""
        async with self._lock:
            if way in self._proven:
                return

            try:
                await self._ask(client, way, _PROBE, _PROBE_ANSWERS[way])
            except CallFailed as failed:
                problem = await self._explain(client, way, failed)
                if problem is not None:
                    raise UsageError(problem) from None
            else:
                self._proven.add(way)

    async def _explain(
        self, client: Completes, way: Way, failed: CallFailed
    ) -> str | None:
        """Says what is wrong with the server; None if it is not about probabilities."""
        if isinstance(failed.__cause__, OddScoresError):
            how = "answers without" if failed.reason == MISSING else "gives no usable"
            return f"{self._where} {how} log-probabilities: {failed.detail}. {_INSTEAD}"

        if failed.reason not in _REJECTED or not await self._takes(client):
            return None

        if way == "top":
            for fewer in _FEWER:
                if fewer < self._choices.alternatives and await self._takes(
                    client, logprobs=fewer
                ):
                    return (
                        f"{self._where} does not name {self._choices.alternatives} alternatives "
                        f"for a token, but takes {fewer}: give --model-args top_logprobs={fewer}. "
                        f"({failed.detail})"
                    )

            return f"{self._where} rejects requests for log-probabilities: {failed.detail}. {_INSTEAD}"

        return MESSAGES["prompts_rejected"].format(
            where=self._where, instead=_INSTEAD, detail=failed.detail
        )

    async def _takes(self, client: Completes, *, logprobs: int | None = None) -> bool:
        try:
            await self._complete(client, _PROBE, logprobs=logprobs)
        except CallFailed:
            return False
        return True


MISSING: Final = "no log-probabilities"
MALFORMED: Final = "malformed log-probabilities"
APART: Final = "answer not told from the prompt"
"""Reasons for which a reply does not score the answers."""

Score = tuple[float, int]
"""Sum of a continuation's log-probabilities, and the number of its tokens."""
Alternative = tuple[str, float]
"""A token that could stand at a position, and its log-probability."""

# Servers write this for a probability of 0 or nearly 0, since JSON has no infinity.
_IMPOSSIBLE: Final = -9999.0
_TOLERANCE: Final = 1e-4  # servers round probabilities
# White space, and the spelling of a space and a line break in some tokenizers.
_AROUND: Final = " \t\r\n\u2581\u0120\u010a"
_NUMBER: Final = re.compile(r"token_id:\d+")
_UNREADABLE: Final = "\ufffd"  # part of a character that several tokens make


class OddScoresError(NoAnswerError):
    """A reply does not score the answers."""


def is_letter(continuation: str) -> bool:
    """Returns whether a continuation is a single letter or digit, apart from white space."""
    bare = continuation.strip()
    return len(bare) == 1 and bare.isalnum()


def read_first_token(
    entries: Sequence[Mapping[str, object]] | None, letters: Sequence[str]
) -> ChoiceScores:
    """Reads the log-probability that an answer's first token is each of some letters.

    A letter's spellings, alone or with white space around it, are added up; `(A`, `A.`
    and the other case do not count. A letter without a listed spelling gets None.

    Example:
        >>> listed = [{"token": "A", "logprob": -0.7}, {"token": " A", "logprob": -1.6},
        ...           {"token": "(", "logprob": -2.0}]
        >>> scores = read_first_token([{"top_logprobs": listed}], ["A", "B"])
        >>> round(math.exp(scores.logprobs[0]), 3)  # exp(-0.7) + exp(-1.6)
        0.698
        >>> scores.logprobs[1], scores.below  # B is less probable than all listed
        (None, -2.0)
    """
    alternatives = _alternatives_of(entries)
    finite = [value for _, value in alternatives if value > -math.inf]
    if not finite:
        raise OddScoresError(
            MALFORMED,
            "no alternative for the answer's first token has a probability above 0",
        )

    with_chosen = [*alternatives, *_chosen_beside(entries, alternatives)]
    spelled = [(token.strip(_AROUND), value) for token, value in with_chosen]
    sums = [
        _added([value for token, value in spelled if token == letter.strip()])
        for letter in letters
    ]
    if any(value is not None and value > _TOLERANCE for value in sums):
        raise OddScoresError(
            MALFORMED,
            "the probabilities of one letter's spellings add up to more than 1",
        )

    logprobs = tuple(None if value is None else min(value, 0.0) for value in sums)
    # A token that is not listed is less probable than every listed one.
    below = min(min(finite), 0.0) if None in logprobs else None
    return ChoiceScores(logprobs=logprobs, tokens=(1,) * len(letters), below=below)


def _alternatives_of(
    entries: Sequence[Mapping[str, object]] | None,
) -> list[Alternative]:
    """Returns the alternatives that a server lists for an answer's first token."""
    if not entries:
        raise OddScoresError(
            MISSING, "the reply names no tokens and no log-probabilities"
        )

    listed = entries[0].get("top_logprobs")
    if not isinstance(listed, list) or not listed:
        raise OddScoresError(
            MISSING,
            "the reply names no alternatives for the answer's first token (top_logprobs)",
        )

    alternatives = [_alternative(entry) for entry in listed]
    if all(_NUMBER.fullmatch(token) for token, _ in alternatives):
        raise OddScoresError(
            MALFORMED,
            "the server names tokens by number: start it without --return-tokens-as-token-ids",
        )

    return alternatives


def _chosen_beside(
    entries: Sequence[Mapping[str, object]] | None, alternatives: Sequence[Alternative]
) -> list[Alternative]:
    """Returns the first token itself, unless it is listed among its alternatives.

    Most servers list it among them.
    """
    first = entries[0] if entries else {}
    if not isinstance(first.get("token"), str) or "logprob" not in first:
        return []

    token, value = _alternative(first)
    among = any(
        token == other and abs(value - listed) <= _TOLERANCE
        for other, listed in alternatives
    )
    return [] if among else [(token, value)]


def _alternative(entry: object) -> Alternative:
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        raise OddScoresError(
            MALFORMED, "an alternative for the answer's first token has no text"
        )
    return entry["token"], _logprob(entry.get("logprob"))


def _added(logprobs: Sequence[float]) -> float | None:
    if not logprobs:
        return None
    largest = max(logprobs)
    if largest == -math.inf:
        return largest
    return largest + math.log(
        math.fsum(math.exp(value - largest) for value in logprobs)
    )


def _logprob(value: Any) -> float:
    """Returns a log-probability as a float; -inf where the server writes a probability of 0."""
    if type(value) not in (int, float) or not value <= _TOLERANCE:  # nan is not
        shown = (
            repr(value)[:20] if type(value) in (int, float) else type(value).__name__
        )
        raise OddScoresError(
            MALFORMED, f"a log-probability must be a number up to 0, got {shown}"
        )
    return -math.inf if value <= _IMPOSSIBLE else float(value)


def read_prompt(
    entries: Sequence[object] | None, *, prompt_tokens: int | None
) -> list[Any]:
    """Reads a server's entries for a prompt's tokens, `{"1234": {"logprob": ...}}`.

    Returns:
        The id and the entry of each token; None for the first, which has no probability.
    """
    if entries is None:
        raise OddScoresError(
            MISSING, "the reply says nothing of the prompt's tokens (prompt_logprobs)"
        )

    if not entries or prompt_tokens not in (None, len(entries)):
        raise OddScoresError(
            MALFORMED,
            f"the reply tells of {len(entries)} tokens of a prompt that has {prompt_tokens or 'some'}",
        )

    statements: list[Any] = [None]
    for entry in entries[1:]:
        if not isinstance(entry, dict) or len(entry) != 1:
            count = len(entry) if isinstance(entry, dict) else "none"
            raise OddScoresError(
                MALFORMED,
                f"one token is expected at each place of the prompt, got {count}",
            )

        statements.append(next(iter(entry.items())))

    return statements


def read_continuation(
    context: Sequence[Any], whole: Sequence[Any], continuation: str
) -> Score:
    """Adds up the log-probabilities of the tokens after a context.

    Args:
        context: tokens of the chat alone, as `read_prompt` returns them.
        whole: tokens of the chat followed by the continuation.
        continuation: its text, which the tokens after the context must spell.

    Raises:
        OddScoresError: They do not spell it.

    Example:
        >>> context = [None, ("12", {"logprob": -3.0})]
        >>> answer = [("7", {"logprob": -0.5, "decoded_token": " yes"}),
        ...           ("9", {"logprob": -0.25, "decoded_token": "."})]
        >>> read_continuation(context, context + answer, "yes.")
        (-0.75, 2)
    """
    size = len(context)
    if [pair and pair[0] for pair in whole[:size]] != [
        pair and pair[0] for pair in context
    ]:
        raise OddScoresError(APART, MESSAGES["apart_prompt"])

    rest = whole[size:]
    statements = [entry if isinstance(entry, dict) else {} for _, entry in rest]
    texts = [
        text
        for entry in statements
        if isinstance(text := entry.get("decoded_token"), str)
    ]
    if len(texts) < len(statements):
        raise OddScoresError(
            MALFORMED, "a token of the answer has no text (decoded_token)"
        )

    if not rest or not _reads_as("".join(texts), continuation):
        raise OddScoresError(APART, MESSAGES["apart_answer"].format(count=len(rest)))

    return min(
        math.fsum(_logprob(entry.get("logprob")) for entry in statements), 0.0
    ), len(rest)


def _reads_as(read: str, text: str) -> bool:
    """Compares texts apart from white space; an unreadable character stands for one or more."""
    first, *behind = map(re.escape, re.split(f"{_UNREADABLE}+", _squeezed(read)))
    # Every piece matches where it first fits, so that no text makes the search long.
    pattern = (
        first
        + "".join(f"(?>.+?{piece})" for piece in behind[:-1])
        + "".join(f".+{piece}" for piece in behind[-1:])
    )
    return re.fullmatch(pattern, _squeezed(text), re.DOTALL) is not None


def _squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).replace("\u2581", " ").split())
