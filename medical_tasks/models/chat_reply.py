"""Parses what a chat endpoint sent back: a completion, or a failure with its class and when to retry.

Nothing here sends. Servers echo requests in their error bodies, so a server's words
enter a failure's detail only when they do not quote the question (`quoted_from`):
details may be printed and stored where the questions must not be.

Responses, whether they are retried, and their class:

- 429: all calls wait as the server asks, then continue at the rate that it accepts;
  `rate limited`
- 408, 409, 5xx: retried; `http 500` ...
- a redirect: not retried; `redirect`
- no complete answer within `timeout`: retried; `timeout`
- connection reset or cut, or refused after the first answer: retried; `connection`
- 200 with a body that is not JSON; without choices; with neither content nor tokens:
  retried; `not json`, `empty choices`, `empty content`
- content `null`, though tokens were written (hidden reasoning): not retried, an empty
  answer
- finish reason `content_filter` and no text: not retried; `refused by filter`
- 400, 413, 422 that say the prompt does not fit: not retried; `prompt too long`
- a tool call, where no tools were offered: not retried; `tool call`
- an error about the tools that were offered: as its status; `tools refused`
- other 400, 403, 422: not retried; `http 400` ...

Waits between attempts grow from 0.5 to 8 seconds.
"""

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
# characters of the shortest key; anything shorter stands for no key, such as "none"
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
# How servers say that they support no tools: Ollama, vLLM without a tool parser,
# llama.cpp without --jinja, routers.
_ABOUT_TOOLS = Pattern(
    r"\btools?\b|tool[_ -](?:choice|call)|function[_ -]call", re.IGNORECASE
)
# An error about parsing concerns what the model wrote, not what the server supports.
_MISCALLED = Pattern(r"\bpars(?:e|ing)\b", re.IGNORECASE)
TOOLS = "tools"
"""The field of a request that offers tools."""
_HOST = Pattern(r"[A-Za-z0-9.:\[\]-]{1,100}")
_SAFE_NAME = Pattern(r"(?=.{1,80}$)[\w.:/@+()-]+(?: [\w.:/@+()-]+){0,2}")
PROVIDER_HEADER = "x-inference-provider"
REDIRECT = "redirect"
_NOT_OFFERED = 501  # retrying does not help


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the answers to a call."""

    text: str  # "" only when the model wrote no answer
    finish: str = ""
    reasoning: str = ""  # where the server reports it apart from the answer
    # token entries as the server sent them (`token`, `logprob`, `top_logprobs`)
    logprobs: tuple[Mapping[str, Any], ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A well-formed answer body.

    Attributes:
        choices: at least one; fewer than requested when the server ignores `n`.
        prompt_tokens: tokens read, cached ones included; None where not reported.
        output_tokens: tokens generated over all choices, those of reasoning included;
            None where not reported.
        reasoning_tokens: how many of these are reasoning; None where not reported.
        cached_tokens: how many prompt tokens came from the provider's cache; None where
            not reported.
        prompt_logprobs: entries for the prompt's own tokens, as the server sent them;
            None where not reported.
        provider: the provider that a router names.
        served_model: the model that the reply names, which may be dated, with its
            system fingerprint, if any.
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

    Attributes:
        reason: a short class such as `http 500`.
        detail: an explanation that holds no text of the question.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class AttemptError(NoAnswerError):
    """One attempt got no answer.

    Attributes:
        retry: whether another attempt may help.
        wait: seconds that the server asks for after a 429; None where it names none.
        response: the response, where the server answered with an error.
        every_call: whether other calls would fail in the same way.
        refused: names that the error may refuse (`refusals.refused_names`).
    """

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
        self.wait = wait
        self.response: object = None
        self.every_call = every_call
        self.refused: tuple[str, ...] = ()


def read_json(text: str) -> Any:
    """Parses the body of a 200 response as JSON."""
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
    """Parses a 200 response.

    Args:
        text: its body.
        headers: where a router such as Hugging Face's names the provider.
        sent: the texts that were sent, which no message may quote.
        secret: the key, which no message may quote either.
        tools: whether tools were offered, so that a call counts as an answer.

    Raises:
        AttemptError: The response holds no answer.
    """
    body = read_json(text)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices:
        server_message = _server_message(body, sent, secret)
        raise AttemptError(
            "empty choices", f"HTTP 200 without an answer{server_message}", retry=True
        )

    spent = _read_usage(body.get("usage"))
    return Reply(
        choices=tuple(
            _read_choice(choice, spent["output_tokens"], tools=tools)
            for choice in choices
        ),
        prompt_logprobs=_read_prompt_logprobs(body),
        provider=safe_name(body.get("provider") or headers.get(PROVIDER_HEADER)),
        served_model=_served_model(body),
        **spent,
    )


def _served_model(body: Mapping[str, object]) -> str:
    """Returns the model and `system_fingerprint` that a reply names: `gpt-5 fp_44709d6fcb`."""
    model = safe_name(body.get("model"))
    fingerprint = safe_name(body.get("system_fingerprint"))
    return safe_name(f"{model} {fingerprint}".strip()) or model


class _Spent(TypedDict):
    """The token counts of a reply."""

    prompt_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None


def _read_usage(usage: object) -> _Spent:
    """Reads the usage of a reply.

    Some servers (Gemini's, Grok's) count reasoning only in the total, so all tokens
    beyond the prompt count as written.
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


def _detail_of(usage: Mapping[str, object], group: str, name: str) -> int | None:
    """Returns a count that some servers nest in a group of details and others do not."""
    details = usage.get(group)
    nested = whole_number(details.get(name)) if isinstance(details, dict) else None
    return whole_number(usage.get(name)) if nested is None else nested


def safe_name(value: object) -> str:
    """Returns a name that may enter results; "" for anything that could be a text that was sent."""
    return value if isinstance(value, str) and _SAFE_NAME.fullmatch(value) else ""


def listed_model(reply: Any, model: str) -> Mapping[str, Any]:
    """Returns a model's entry in a server's list, else the list's first entry.

    Empty where the reply is no such list.
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
    """Returns vLLM's `prompt_logprobs`.

    A chat has the field in the reply, a plain prompt in the choice, which some gateways
    imitate.
    """
    for holder in (body, body["choices"][0]):
        if isinstance(holder.get("prompt_logprobs"), list):
            entries: list[Any] = holder["prompt_logprobs"]
            return entries
    return None


def _read_choice(choice: object, output_tokens: int | None, *, tools: bool) -> Choice:
    """Reads one of a reply's choices.

    An answer without text is accepted if the model generated tokens (all of them
    reasoning) or called tools. Otherwise the request is retried, unless a content filter
    withheld the answer or the model called a tool that was not offered.
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

    # The text is empty where all tokens, which were paid for, are hidden reasoning.
    return Choice(
        text=text or "",
        finish=finish,
        logprobs=_read_logprobs(choice),
        reasoning=_reasoning_of(message),
        tool_calls=calls,
    )


def _text_of(message: Mapping[str, object]) -> str | None:
    """Returns the text of a message, whose content may be a list of blocks; None for no text.

    Example: `[{"type": "thinking", ...}, {"type": "text", "text": "B"}]` is "B".
    """
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, str):
        return content

    blocks = content if isinstance(content, list) else []
    texts = [
        block.get("text")
        for block in blocks
        if isinstance(block, dict) and _is_text(block)
    ]
    if texts:
        return "".join(text for text in texts if isinstance(text, str))

    # A refusal in the model's own words is an answer like any other.
    return refusal if isinstance(refusal, str) else None


def _reasoning_of(message: Mapping[str, object]) -> str:
    """Returns the reasoning in a message; "" for none.

    Servers send it as `reasoning_content` (vLLM, DeepSeek, Grok), as `reasoning`
    (OpenRouter, vLLM), or as blocks of the content (Mistral, gateways to Anthropic).
    """
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            return str(message[name])

    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    thoughts = [
        block for block in blocks if isinstance(block, dict) and not _is_text(block)
    ]

    return "".join(
        text
        for block in thoughts
        for text in _texts_in(block.get("thinking") or block.get("text"))
    )


def _texts_in(thought: object) -> list[str]:
    """Returns the texts of a reasoning block: one, or a list of fragments."""
    if isinstance(thought, list):
        return [
            str(fragment.get("text", ""))
            for fragment in thought
            if isinstance(fragment, dict)
        ]
    return [thought] if isinstance(thought, str) else []


def _is_text(block: Mapping[str, object]) -> bool:
    return block.get("type", "text") in ("text", "output_text")


def _read_logprobs(choice: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...] | None:
    """Returns an answer's token entries as the server sent them, or None."""
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
    """Classifies a response that is not a success; 408, 409, 429 and 5xx may be retried.

    What follows from a status:

        3xx, 401, 404      ends the run: every other call would fail too
        408, 409, 5xx      may be retried; 501 not
        429                may be retried after the wait that it names; without quota ends the run
        others             this question alone fails: too long, filtered, or another reason

    `refused` names the settings that the server rejects, so that the request can be repeated
    without them.
    """
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
        return _rate_limited(body, headers, detail)
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(text)):
        return AttemptError("prompt too long", detail, retry=False)
    if status == 400 and _FILTERED.search(text):
        return AttemptError("refused by filter", detail, retry=False)

    retry = status in (408, 409) or (status >= 500 and status != _NOT_OFFERED)
    failure = AttemptError(
        f"http {status}", detail, retry=retry, every_call=status in (401, 404)
    )
    if status in (400, 422):
        failure.refused = (*refused_names(body), *_refused_tools(detail))
    elif retry or status in (404, _NOT_OFFERED):
        failure.refused = _refused_tools(detail)

    return failure


def _rate_limited(
    body: object, headers: Mapping[str, str], detail: str
) -> AttemptError:
    """Tells an exhausted quota, which ends a run, from a limit that passes."""
    if "insufficient_quota" in (_field(body, "code"), _field(body, "type")):
        return AttemptError("quota exhausted", detail, retry=False, every_call=True)
    return AttemptError(
        "rate limited", detail, retry=True, wait=requested_wait(headers)
    )


def _refused_tools(detail: str) -> tuple[str, ...]:
    """Returns the field that offers tools where an error refuses them."""
    if _ABOUT_TOOLS.search(detail) and not _MISCALLED.search(detail):
        return (TOOLS,)
    return ()


def _target(headers: Mapping[str, str], sent: Sequence[str]) -> str:
    """Names the target of a redirect.

    Only its host, since the rest of the address may repeat what was sent.
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
    """Returns a server's error message, to be appended to our own; "" for none.

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
    """Returns whether a server's words repeat the key, which no message may show."""
    return len(key) >= _KEY and key in message


def quoted_from(message: str, sent: Sequence[str]) -> bool:
    """Returns whether a message repeats text that was sent.

    That is three consecutive words (all words of a shorter message), or anything between
    quotation marks.
    """
    words = _words(message)
    size = min(_RUN, len(words))
    runs = (
        {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}
        if size
        else set()
    )
    runs |= {
        tuple(_words(quotation))
        for quotation in re.findall(r"[\"'`“‘]([^\"'`”’]+)[\"'`”’]", message)
    } - {()}
    for text in sent:
        words_sent = _words(text)
        for length in {len(run) for run in runs}:
            if any(
                tuple(words_sent[start : start + length]) in runs
                for start in range(len(words_sent) - length + 1)
            ):
                return True

    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def whole_number(value: object, least: int = 0) -> int | None:
    """Returns a count of tokens as a server reports it.

    None for anything else, such as -1 written as an unsigned number.
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
    """Reads how long the server asks to wait, in seconds.

    From `retry-after-ms`, else from `retry-after`: seconds or a date (RFC 9110, 10.2.3).
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
