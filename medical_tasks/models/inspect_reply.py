"""Reading what inspect's model layer brought: an answer, or why there is none.

inspect's errors quote the request; of them only a server's own message is kept, and
that only where it does not quote the question (`chat_reply.read_error`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from medical_tasks.errors import MedicalTasksError
from medical_tasks.guard import policy
from medical_tasks.models.base import Answer, Request
from medical_tasks.models.call_pool import REJECTED
from medical_tasks.models.chat_client import CallFailed, Completion, cut_at
from medical_tasks.models.chat_reply import (
    PROVIDER_HEADER,
    AttemptError,
    Choice,
    read_error,
    safe_name,
)
from medical_tasks.models.inspect_tools import read_inspect_calls

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage

FINISHES: Final[Mapping[str, str]] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
}
_HIDDEN: Final = (
    "the server's words are left out: it was sent text of credentialed data"
)


class Seen:
    """What one call sent and got, as it went over the wire; a sink of inspect's model events."""

    def __init__(self) -> None:
        self.request: Mapping[str, object] = {}
        self.response: Mapping[str, object] = {}
        self.headers: Mapping[str, str] = {}

    def on_pending(self, event: ModelEvent) -> None:
        """A request is about to be sent."""

    def on_complete(self, event: ModelEvent) -> None:
        """A request was answered, or failed; of several the last one counts."""
        if event.call is not None:
            self.request = event.call.request
            self.response = event.call.response or {}

    @property
    def provider(self) -> str:
        """Who answered, where a router says so: OpenRouter in a field, Hugging Face in a header."""
        return safe_name(
            self.response.get("provider") or self.headers.get(PROVIDER_HEADER)
        )


# A setting of inspect's, to the names under which providers send it.
_SENT_AS: Final[Mapping[str, frozenset[str]]] = {
    "temperature": frozenset({"temperature"}),
    "top_p": frozenset({"top_p", "topP"}),
    "top_k": frozenset({"top_k", "topK"}),
    "seed": frozenset({"seed", "random_seed"}),
    "stop_seqs": frozenset({"stop", "stop_sequences", "stopSequences", "stop_seqs"}),
    "presence_penalty": frozenset({"presence_penalty", "presencePenalty"}),
    "frequency_penalty": frozenset({"frequency_penalty", "frequencyPenalty"}),
    "reasoning_effort": frozenset(
        {"reasoning_effort", "effort", "thinking", "thinking_config", "thinkingConfig"}
    ),
    "reasoning_tokens": frozenset(
        {"reasoning", "thinking", "thinking_config", "thinkingConfig"}
    ),
}


def left_out(config: GenerateConfig, seen: Seen) -> dict[str, str]:
    """The settings that inspect's provider did not send, since the model does not take them."""
    if not seen.request:
        return {}
    sent = _names(seen.request)
    return {
        "stop" if name == "stop_seqs" else name: "left out"
        for name, names in _SENT_AS.items()
        if getattr(config, name) is not None and not names & sent
    }


def _names(value: object) -> set[str]:
    """All names of fields in a request, but for those inside of messages."""
    if not isinstance(value, Mapping):
        return set()
    found: set[str] = set()
    for name, inner in value.items():
        if inner is not None:
            found |= {name} | (
                _names(inner) if name not in ("messages", "input") else set()
            )
    return found


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """What a call took; None for what the provider does not say."""

    read: int | None = None
    written: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    @classmethod
    def of(cls, usage: ModelUsage | None) -> Tokens:
        """Reads inspect's usage, which counts tokens read from a cache apart from the others."""
        if usage is None:
            return cls()

        cached = usage.input_tokens_cache_read
        return cls(
            read=usage.input_tokens
            + (cached or 0)
            + (usage.input_tokens_cache_write or 0),
            written=usage.output_tokens,
            reasoning=usage.reasoning_tokens,
            cached=cached,
        )


def check_output(output: ModelOutput) -> None:
    """Raises `CallFailed` where an output is no answer of the model's."""
    tokens = Tokens.of(output.usage)
    if not output.choices:  # inspect says nothing of it and gives an empty text
        raise CallFailed("empty choices", "the reply holds no answer", attempts=1)

    if output.stop_reason == "content_filter":
        raise CallFailed(
            "refused by filter", "the provider's filter withheld the answer", attempts=1
        )

    if output.stop_reason == "model_length" and not tokens.written:
        raise CallFailed(
            "prompt too long", "the prompt does not fit into the model", attempts=1
        )

    # What was paid for is an answer, though the model kept all it wrote to itself.
    silent = not output.completion.strip() and not output.message.tool_calls
    if silent and not tokens.written:
        raise CallFailed(
            "empty content", "the reply holds neither text nor tokens", attempts=1
        )


def to_answer(
    request: Request, output: ModelOutput, seen: Seen, adapted: Mapping[str, str]
) -> Answer:
    """The answer in an output that `check_output` let pass.

    Args:
        request: what was asked.
        output: inspect's.
        seen: what went over the wire.
        adapted: settings that were meant and not sent; a stop word then ends the answer
            here.
    """
    tokens = Tokens.of(output.usage)
    choice = Choice(text=output.completion, finish=FINISHES.get(output.stop_reason, ""))
    if "stop" in adapted:
        choice = cut_at(choice, request.stop)

    return Answer(
        key=request.key,
        text=choice.text,
        prompt_tokens=tokens.read,
        output_tokens=tokens.written,
        finish=choice.finish,
        reasoning=_reasoning(output),
        reasoning_tokens=tokens.reasoning,
        cached_tokens=tokens.cached,
        provider=seen.provider,
        served_model=safe_name(output.model),
        adapted=adapted,
        tool_calls=read_inspect_calls(output.message.tool_calls)
        if request.tools
        else (),
    )


def _reasoning(output: ModelOutput) -> str:
    """The text of a model's reasoning, or its summary where the text is encrypted."""
    content = output.message.content
    parts = [] if isinstance(content, str) else content
    shown = [
        part.summary or ("" if part.redacted else part.reasoning)
        for part in parts
        if part.type == "reasoning"
    ]
    return "\n".join(text for text in shown if text)


def to_completion(output: ModelOutput) -> Completion:
    """An output as the call of a chat endpoint, with what it says of tokens."""
    logprobs = output.choices[0].logprobs if output.choices else None
    entries = (
        None if logprobs is None else [entry.model_dump() for entry in logprobs.content]
    )
    tokens = Tokens.of(output.usage)
    choice = Choice(
        text=output.completion,
        finish=FINISHES.get(output.stop_reason, ""),
        logprobs=None if entries is None else tuple(entries),
    )

    return Completion(
        choices=(choice,),
        prompt_tokens=tokens.read,
        output_tokens=tokens.written,
        cached_tokens=tokens.cached,
        attempts=1,
    )


def to_failure(error: BaseException, *, sent: Sequence[str]) -> CallFailed:
    """Why a call failed, without the words of inspect's error, which quotes the request.

    Args:
        error: what inspect raised.
        sent: the texts of the question.
    """
    ours = _refusal(error)
    if ours is not None:
        raise ours

    cause = _root(error)
    status = _status(cause) or _status(error)
    name = type(cause).__name__
    if status is None:
        late = "Timeout" in name
        reason = (
            "timeout"
            if late
            else "connection"
            if "Connect" in name
            else REJECTED + name
        )
        return CallFailed(reason, "no complete answer", attempts=1)

    failure = read_error(status, {}, _body(cause), sent=sent)
    failed = CallFailed(
        failure.reason,
        _detail(failure, status),
        attempts=1,
        every_call=failure.every_call,
    )
    # A setting inside of another is named with a dot, as `reasoning.effort`.
    failed.refused = tuple(name.replace(".", "_") for name in failure.refused)

    return failed


def _detail(failed: AttemptError, status: int) -> str:
    return f"HTTP {status} ({_HIDDEN})" if policy.protecting() else failed.detail


def _refusal(error: BaseException | None) -> MedicalTasksError | None:
    """The guard's own refusal, where it is behind a library's error."""
    while error is not None and not isinstance(error, MedicalTasksError):
        error = error.__cause__ or error.__context__
    return error


def _root(error: BaseException) -> BaseException:
    """The provider's error behind inspect's, and the last one behind repeated attempts."""
    from tenacity import RetryError

    if isinstance(error, RetryError):
        last = error.last_attempt.exception()
        return TimeoutError() if last is None else _root(last)
    if hasattr(error, "provider_message") and error.__cause__ is not None:
        return error.__cause__  # what inspect's ModelGenerateError was made of
    return error


def _status(error: BaseException) -> int | None:
    for name in ("status_code", "code"):  # Google's is called `code`
        value = getattr(error, name, None)
        if isinstance(value, int) and 300 <= value < 600:
            return value
    return None


def _body(error: BaseException) -> str:
    """What a server said, as JSON: libraries keep it decoded, or as a text."""
    for name in ("body", "message"):
        value = getattr(error, name, None)
        if isinstance(value, Mapping):
            return json.dumps(value, default=str)
        if isinstance(value, str) and value.strip():
            return value if value.startswith("{") else json.dumps({"message": value})
    return ""
