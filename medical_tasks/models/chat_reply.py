"""Reading what a chat endpoint sent back: a completion, or a failure with its class and when to ask again.

Nothing here sends. Servers echo requests in their error bodies, so a server's words
enter a failure's detail only when they do not quote the question (`quoted_from`):
details may be printed and stored where the questions must not be.

| response | retried | class |
|---|---|---|
| 429 | all calls wait as the server asks, then continue at the rate that it accepts | `rate limited` |
| 408, 409, 5xx | yes | `http 500` ... |
| a redirect | no | `redirect` |
| no complete answer within `timeout` | yes | `timeout` |
| connection reset or cut, or refused after the first answer | yes | `connection` |
| 200 with a body that is not JSON; without choices; with neither content nor tokens | yes | `not json`, `empty choices`, `empty content` |
| content `null`, though tokens were written (hidden reasoning) | no: an empty answer | |
| finish reason `content_filter` and no text | no | `refused by filter` |
| 400, 413, 422 that say the prompt does not fit | no | `prompt too long` |
| a tool call, where no tools were offered | no | `tool call` |
| an error about the tools that were offered | as its status | `tools refused` |
| other 400, 403, 422 | no | `http 400` ... |
"""  # noqa: E501

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict
from urllib.parse import urlsplit

from medical_tasks.io.patterns import Pattern
from medical_tasks.models.refusals import refused_names
from medical_tasks.models.tool_calls import read_calls
from medical_tasks.spec import ToolCall

_SHOWN = 300  # characters of a server's message in a detail
# characters of a key; anything shorter is a word that stands for none, as "none"
_KEY = 8
_RUN = 3  # consecutive words that count as a quotation

# How servers say that prompt and answer do not fit: OpenAI and vLLM, llama.cpp, TGI,
# Anthropic-compatible gateways.
_TOO_LONG = Pattern(
    r"context[ _](?:length|size|window)|maximum (?:context|model) length|max_model_len|exceed_context_size|"
    r"prompt is too long|input is too long|tokens.{0,40}must be <=",
    re.IGNORECASE,
)
_FILTERED = Pattern(
    r"content_filter|content management policy|ResponsibleAIPolicyViolation",
    re.IGNORECASE,
)
# How servers say that they take no tools: Ollama, vLLM without a tool parser, llama.cpp
# without --jinja, routers.
_ABOUT_TOOLS = Pattern(
    r"\btools?\b|tool[_ -](?:choice|call)|function[_ -]call", re.IGNORECASE
)
# What a model wrote in a call, though, is no word about the server.
_MISCALLED = Pattern(r"\bpars(?:e|ing)\b", re.IGNORECASE)
TOOLS = "tools"
"""The field of a request that offers tools."""
_HOST = Pattern(r"[A-Za-z0-9.:\[\]-]{1,100}")
_A_NAME = Pattern(r"(?=.{1,80}$)[\w.:/@+()-]+(?: [\w.:/@+()-]+){0,2}")
PROVIDER_HEADER = "x-inference-provider"
REDIRECT = "redirect"
_NOT_OFFERED = 501  # the server will not do it later either


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the answers to a call."""

    text: str  # the answer; "" only when the model truly said nothing
    finish: str = ""
    reasoning: str = ""  # what the model thought before it, where the server tells
    # token entries as the server sent them (`token`, `logprob`, `top_logprobs`), None
    # when there are none
    logprobs: tuple[Mapping[str, Any], ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A well-formed answer body.

    Attributes:
        choices: at least one; fewer than asked for when the server ignores `n`.
        prompt_tokens: tokens read, those of a cache included; None when the server does
            not say.
        output_tokens: tokens generated over all choices, those of reasoning included;
            likewise.
        reasoning_tokens: how many of these are reasoning; likewise.
        cached_tokens: how many of the prompt's the provider's cache held; likewise.
        prompt_logprobs: what the server says of the prompt's own tokens, as it sent it;
            likewise.
        provider: who answered, where a router names the provider behind it.
        served_model: the model that the reply names, which may be dated, with the
            fingerprint of what serves it, where the server tells.
    """

    choices: tuple[Choice, ...]
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    prompt_logprobs: Sequence[Any] | None = None
    provider: str = ""
    served_model: str = ""


class NoAnswerError(Exception):
    """Why there is no answer.

    `reason`, a short class such as `http 500`, and `detail`, which holds no text of the
    question.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class AttemptError(NoAnswerError):
    """One attempt got no answer."""

    def __init__(
        self,
        reason: str,
        detail: str,
        *,
        retry: bool,
        wait: float | None = None,
        every_call: bool = False,
    ) -> None:
        super().__init__(reason, detail)
        self.retry = retry
        self.wait = wait  # how long the server asks to wait after a 429, None where it does not say
        self.response: Any = None  # of a server that answered with an error
        self.every_call = every_call
        # what `refusals.refused_names` reads in the error
        self.refused: tuple[str, ...] = ()


def read_json(text: str) -> Any:
    """Reads the body of a 200 response as JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise AttemptError(
            "not json",
            f"HTTP 200 with a body that is not JSON ({len(text)} characters)",
            retry=True,
        ) from None


def read_reply(
    text: str,
    headers: Mapping[str, str],
    *,
    sent: Sequence[str],
    secret: str = "",
    tools: bool = False,
) -> Reply:
    """Reads a 200 response.

    Args:
        text: its body.
        headers: a router such as Hugging Face's names the provider there.
        sent: what was sent, which no message may quote.
        secret: the key, likewise.
        tools: whether tools were offered, so that a call is an answer.

    Raises:
        AttemptError: There is no answer in it.
    """
    body = read_json(text)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices:
        told = _server_message(body, sent, secret)
        raise AttemptError(
            "empty choices", f"HTTP 200 without an answer{told}", retry=True
        )

    spent = _read_usage(body.get("usage"))
    return Reply(
        choices=tuple(
            _read_choice(choice, spent["output_tokens"], tools=tools)
            for choice in choices
        ),
        prompt_logprobs=_read_prompt_logprobs(body),
        provider=a_name(body.get("provider") or headers.get(PROVIDER_HEADER)),
        served_model=_served_model(body),
        **spent,
    )


def _served_model(body: Mapping[str, object]) -> str:
    """The model and the `system_fingerprint` that a reply names: `gpt-5 fp_44709d6fcb`."""
    model = a_name(body.get("model"))
    fingerprint = a_name(body.get("system_fingerprint"))
    return a_name(f"{model} {fingerprint}".strip()) or model


class _Spent(TypedDict):
    """What a reply says that it took."""

    prompt_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None


def _read_usage(usage: object) -> _Spent:
    """Reads the usage of a reply.

    Some servers (Gemini's, Grok's) count reasoning in the total alone: what a reply
    took beyond its prompt was written.
    """
    usage = usage if isinstance(usage, dict) else {}
    prompt = whole_number(usage.get("prompt_tokens"))
    written = whole_number(usage.get("completion_tokens"))
    total = whole_number(usage.get("total_tokens"))
    if prompt is not None and written is not None and total is not None:
        written = max(written, total - prompt)

    return _Spent(
        prompt_tokens=prompt,
        output_tokens=written,
        reasoning_tokens=_detail_of(
            usage, "completion_tokens_details", "reasoning_tokens"
        ),
        cached_tokens=_detail_of(usage, "prompt_tokens_details", "cached_tokens"),
    )


def _detail_of(usage: Mapping[str, Any], group: str, name: str) -> int | None:
    """A count that some servers nest in a group of details, and others leave beside the others."""
    details = usage.get(group)
    nested = whole_number(details.get(name)) if isinstance(details, dict) else None
    return whole_number(usage.get(name)) if nested is None else nested


def a_name(value: object) -> str:
    """A name that a reply gives, for results; "" where it could be a text that was sent."""
    return value if isinstance(value, str) and _A_NAME.fullmatch(value) else ""


def listed_model(reply: Any, model: str) -> Mapping[str, Any]:
    """The entry of a model in a server's list, or the list's first one where it is not there.

    Empty for no such list.
    """
    listed = reply.get("data") if isinstance(reply, dict) else None
    entries = [
        entry
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict)
    ]

    return next(
        (entry for entry in entries if entry.get("id") == model),
        entries[0] if entries else {},
    )


def _read_prompt_logprobs(body: Mapping[str, Any]) -> Sequence[Any] | None:
    """Finds a field of vLLM's.

    The reply's own for a chat, the choice's for a plain prompt, which some gateways
    imitate.
    """
    for part in (body, body["choices"][0]):
        if isinstance(part.get("prompt_logprobs"), list):
            found: list[Any] = part["prompt_logprobs"]
            return found
    return None


def _read_choice(choice: object, output_tokens: int | None, *, tools: bool) -> Choice:
    """Reads one of a reply's choices.

    An answer without text counts as an answer where tokens were written for it (all of
    them thoughts) or tools were called. Otherwise it is asked for again; a content
    filter or a tool that nobody offered ends the call.
    """
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise AttemptError(
            "empty content", "HTTP 200 with a choice that holds no message", retry=True
        )

    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else "" if finish is None else "no text"
    text = _text_of(message)
    if finish == "content_filter" and not text:
        raise AttemptError(
            "refused by filter",
            "the server's content filter withheld the answer",
            retry=False,
        )

    calls = read_calls(message.get("tool_calls")) if tools else ()
    if text is None and message.get("tool_calls") and not tools:
        raise AttemptError(
            "tool call", "the model called a tool, though none was offered", retry=False
        )

    if text is None and not calls and not output_tokens:
        raise AttemptError(
            "empty content",
            f"HTTP 200 without text (finish reason {finish!r})",
            retry=True,
        )

    # Without a text, though tokens were written and paid for: the model kept all it
    # thought to itself.
    return Choice(
        text=text or "",
        finish=finish,
        logprobs=_read_logprobs(choice),
        reasoning=_reasoning_of(message),
        tool_calls=calls,
    )


def _text_of(message: Mapping[str, Any]) -> str | None:
    """The text of a message, whose content may be a list of parts; None where it has none.

    Example: `[{"type": "thinking", ...}, {"type": "text", "text": "B"}]` is "B".
    """
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, str):
        return content

    parts = content if isinstance(content, list) else []
    texts = [
        part.get("text") for part in parts if isinstance(part, dict) and _is_text(part)
    ]
    if texts:
        return "".join(text for text in texts if isinstance(text, str))

    # The model's own words, declining: an answer like any other.
    return refusal if isinstance(refusal, str) else None


def _reasoning_of(message: Mapping[str, Any]) -> str:
    """What a message says of the model's reasoning; "" where nothing.

    As `reasoning_content` (vLLM, DeepSeek, Grok), as `reasoning` (OpenRouter, vLLM), or
    as parts of the content (Mistral, gateways to Anthropic).
    """
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            return str(message[name])

    content = message.get("content")
    parts = content if isinstance(content, list) else []
    thoughts = [part for part in parts if isinstance(part, dict) and not _is_text(part)]

    return "".join(
        text
        for part in thoughts
        for text in _texts_in(part.get("thinking") or part.get("text"))
    )


def _texts_in(thought: object) -> list[str]:
    """The texts of a part of reasoning: one, or a list of parts."""
    if isinstance(thought, list):
        return [str(part.get("text", "")) for part in thought if isinstance(part, dict)]
    return [thought] if isinstance(thought, str) else []


def _is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type", "text") in ("text", "output_text")


def _read_logprobs(choice: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...] | None:
    """An answer's token entries as the server sent them, or None."""
    value = choice.get("logprobs")
    entries = value.get("content") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) for entry in entries
    ):
        return None
    return tuple(entries)


def read_error(
    status: int,
    headers: Mapping[str, str],
    text: str,
    *,
    sent: Sequence[str],
    secret: str = "",
) -> AttemptError:
    """Classifies a response that is not a success; 408, 409, 429 and 5xx may be retried."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None

    if 300 <= status < 400:
        detail = (
            f"HTTP {status}, a redirect {_target(headers, sent)}, which is not followed"
        )
        return AttemptError(REDIRECT, detail, retry=False, every_call=True)

    detail = f"HTTP {status}{_server_message(body, sent, secret)}"
    if status == 429:
        if (
            _field(body, "code") == "insufficient_quota"
            or _field(body, "type") == "insufficient_quota"
        ):
            return AttemptError("quota exhausted", detail, retry=False, every_call=True)

        return AttemptError(
            "rate limited", detail, retry=True, wait=requested_wait(headers)
        )

    about_tools: tuple[str, ...] = ()
    if _ABOUT_TOOLS.search(detail) and not _MISCALLED.search(detail):
        about_tools = (TOOLS,)

    if status in (408, 409) or (status >= 500 and status != _NOT_OFFERED):
        failure = AttemptError(f"http {status}", detail, retry=True)
        failure.refused = about_tools
        return failure

    if status == 413 or (status in (400, 422) and _TOO_LONG.search(text)):
        return AttemptError("prompt too long", detail, retry=False)
    if status == 400 and _FILTERED.search(text):
        return AttemptError("refused by filter", detail, retry=False)

    failure = AttemptError(
        f"http {status}", detail, retry=False, every_call=status in (401, 404)
    )
    if status in (400, 422):
        failure.refused = (*refused_names(body), *about_tools)
    elif status in (404, _NOT_OFFERED):
        failure.refused = about_tools

    return failure


def _target(headers: Mapping[str, str], sent: Sequence[str]) -> str:
    """Where a redirect leads.

    The host alone, since the rest of an address may repeat what was sent.
    """
    location = headers.get("location", "")
    try:
        host = urlsplit(location).netloc.rpartition("@")[2]
    except ValueError:
        return "elsewhere"

    if location and not host:
        return "to another address of the same host"

    return (
        f"to {host}"
        if _HOST.fullmatch(host) and not quoted_from(host, sent)
        else "elsewhere"
    )


def _field(body: object, name: str) -> object:
    """Returns a field of an error body, whether the server nests it under `error` or not."""
    if not isinstance(body, dict):
        return None
    inner = body.get("error")
    return inner.get(name) if isinstance(inner, dict) else body.get(name)


def _server_message(body: object, sent: Sequence[str], secret: str) -> str:
    """What a server says of an error, to stand behind our own words; "" for nothing.

    It is left out where it holds the key or quotes the question: messages are logged.
    """
    for name in ("message", "detail", "error"):
        message = _field(body, name)
        if isinstance(message, str) and message.strip():
            shown = " ".join(message.split())[:_SHOWN]
            if holds_key(shown, secret):
                return " (server's message left out: it holds the key)"
            if quoted_from(shown, sent):
                return " (server's message left out: it quotes the question)"

            return f": {shown}"

    return ""


def holds_key(message: str, key: str) -> bool:
    """Says whether a server's words repeat the key, which stands in no message."""
    return len(key) >= _KEY and key in message


def quoted_from(message: str, sent: Sequence[str]) -> bool:
    """Says whether three consecutive words of a message (all, in a shorter one), or anything between quotation marks, were sent."""
    words = _words(message)
    size = min(_RUN, len(words))
    runs = (
        {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}
        if size
        else set()
    )
    runs |= {
        tuple(_words(part))
        for part in re.findall(r"[\"'`“‘]([^\"'`”’]+)[\"'`”’]", message)
    } - {()}
    for text in sent:
        said = _words(text)
        for length in {len(run) for run in runs}:
            if any(
                tuple(said[start : start + length]) in runs
                for start in range(len(said) - length + 1)
            ):
                return True

    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def whole_number(value: object, least: int = 0) -> int | None:
    """A count of tokens as a server says it.

    None for anything else, such as -1 written without a sign.
    """
    return (
        value
        if isinstance(value, int)
        and not isinstance(value, bool)
        and least <= value < 1 << 31
        else None
    )


def requested_wait(
    headers: Mapping[str, str], *, now: datetime | None = None
) -> float | None:
    """Reads how long the server asks to wait.

    `retry-after-ms`, else `retry-after`, seconds or a date (RFC 9110, 10.2.3).
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name))
        if seconds is not None:
            return seconds * scale

    try:
        moment = parsedate_to_datetime(headers.get("retry-after") or "")
    except ValueError:
        return None

    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)

    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
