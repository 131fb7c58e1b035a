"""Converts the output of inspect's model layer: an answer, or why there is none.

inspect's errors quote the request; only the server's own message is kept, and only where
it does not quote the question (`chat_reply.read_error`).
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
    """The request and response of one call, as inspect's model events report them."""

    def __init__(self) -> None:
        self.request: Mapping[str, object] = {}
        self.response: Mapping[str, object] = {}
        self.headers: Mapping[str, str] = {}

    def on_pending(self, event: ModelEvent) -> None:
        """Ignores a request that is about to be sent."""

    def on_complete(self, event: ModelEvent) -> None:
        """Records a request that was answered, or failed; the last one counts."""
        if event.call is not None:
            self.request = event.call.request
            self.response = event.call.response or {}

    @property
    def provider(self) -> str:
        """The provider that a router names: OpenRouter in a field, Hugging Face in a header."""
        return safe_name(
            self.response.get("provider") or self.headers.get(PROVIDER_HEADER)
        )


# Maps a setting of inspect's to the names under which providers send it.
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
    """Returns the settings that inspect did not send, since the model does not accept them."""
    if not seen.request:
        return {}
    sent = _names(seen.request)
    return {
        "stop" if name == "stop_seqs" else name: "left out"
        for name, names in _SENT_AS.items()
        if getattr(config, name) is not None and not names & sent
    }


def _names(value: object) -> set[str]:
    """Returns the names of all fields in a request, except inside messages."""
    if not isinstance(value, Mapping):
        return set()
    names: set[str] = set()
    for name, inner in value.items():
        if inner is not None:
            names |= {name} | (
                _names(inner) if name not in ("messages", "input") else set()
            )
    return names


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The token counts of a call; None where not reported."""

    read: int | None = None
    written: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    @classmethod
    def of(cls, usage: ModelUsage | None) -> Tokens:
        """Reads inspect's usage, which counts cached tokens apart from the others."""
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
    """Raises `CallFailed` if an output is no answer of the model's."""
    tokens = Tokens.of(output.usage)
    if not output.choices:  # inspect returns an empty text in silence
        raise CallFailed("empty choices", "the reply holds no answer", attempts=1)

    if output.stop_reason == "content_filter":
        raise CallFailed(
            "refused by filter", "the provider's filter withheld the answer", attempts=1
        )

    if output.stop_reason == "model_length" and not tokens.written:
        raise CallFailed(
            "prompt too long", "the prompt does not fit into the model", attempts=1
        )

    # Tokens that were paid for are an answer, even if all of them are hidden reasoning.
    silent = not output.completion.strip() and not output.message.tool_calls
    if silent and not tokens.written:
        raise CallFailed(
            "empty content", "the reply holds neither text nor tokens", attempts=1
        )


def to_answer(
    request: Request, output: ModelOutput, seen: Seen, adapted: Mapping[str, str]
) -> Answer:
    """Makes the answer from an output that `check_output` accepted.

    Args:
        request: the question.
        output: inspect's output.
        seen: the exchange with the provider.
        adapted: settings that were not sent; without stop words, the answer is cut here.
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
    """Returns a model's reasoning, or its summary where the text is encrypted."""
    content = output.message.content
    blocks = [] if isinstance(content, str) else content
    shown = [
        block.summary or ("" if block.redacted else block.reasoning)
        for block in blocks
        if block.type == "reasoning"
    ]
    return "\n".join(text for text in shown if text)


def to_completion(output: ModelOutput) -> Completion:
    """Converts an output to the completion of a chat endpoint, with its log-probabilities."""
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
    """Says why a call failed, without quoting inspect's error, which quotes the request.

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
    # A nested setting is named with a dot, such as `reasoning.effort`.
    failed.refused = tuple(name.replace(".", "_") for name in failure.refused)

    return failed


def _detail(failed: AttemptError, status: int) -> str:
    return f"HTTP {status} ({_HIDDEN})" if policy.protecting() else failed.detail


def _refusal(error: BaseException | None) -> MedicalTasksError | None:
    """Returns the guard's own refusal, if it caused a library's error."""
    while error is not None and not isinstance(error, MedicalTasksError):
        error = error.__cause__ or error.__context__
    return error


def _root(error: BaseException) -> BaseException:
    """Returns the provider's error behind inspect's, the last one after several attempts."""
    from tenacity import RetryError

    if isinstance(error, RetryError):
        last = error.last_attempt.exception()
        return TimeoutError() if last is None else _root(last)
    if hasattr(error, "provider_message") and error.__cause__ is not None:
        return error.__cause__  # the error that inspect's ModelGenerateError wraps
    return error


def _status(error: BaseException) -> int | None:
    for name in ("status_code", "code"):  # Google's is called `code`
        value = getattr(error, name, None)
        if isinstance(value, int) and 300 <= value < 600:
            return value
    return None


def _body(error: BaseException) -> str:
    """Returns a server's error body as JSON: libraries keep it decoded, or as text."""
    for name in ("body", "message"):
        value = getattr(error, name, None)
        if isinstance(value, Mapping):
            return json.dumps(value, default=str)
        if isinstance(value, str) and value.strip():
            return value if value.startswith("{") else json.dumps({"message": value})
    return ""
