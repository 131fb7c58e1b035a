"""Local servers in the published forms of hosted APIs, with the refusals of their models.

    with OpenAIServer() as server:
        ...  # base URL: server.base_url; gpt-5 refuses max_tokens and temperature, gpt-4o accepts both

A word is a token, so that tests can compute costs. Reasoning takes tokens by effort
(`REASONING`); if it uses up the limit, the answer is empty, as at the providers.
Written after their documentation; nothing was recorded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fault_server import Call, Fault, FaultServer, Plan, hashed_answer

REASONING: Mapping[str, int] = {
    "none": 0,
    "minimal": 0,
    "low": 64,
    "medium": 192,
    "high": 448,
    "xhigh": 960,
}
"""Tokens of reasoning, by effort."""
THOUGHT = "first the units, then the formula"
"""The text of every reasoning that is shown."""
CACHED = 32
"""Cached tokens of each prompt that has at least as many."""
EVENT_STREAM: dict[str, str] = {"Content-Type": "text/event-stream"}


def question_of(body: Mapping[str, Any]) -> str:
    """The text of a request's last message, in any of the forms here."""
    last = (body.get("messages") or body.get("input") or body.get("contents") or "")[-1]
    if isinstance(last, str):
        return str(body["input"])
    content = last.get("content", last.get("parts"))
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if "text" in block)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What a model generates for a request, before it takes a provider's form; counts are tokens."""

    text: str
    read: int
    cached: int
    written: int  # reasoning included
    reasoning: int
    cut: bool  # whether the limit ended it


def generate(question: str, text: str, *, most: float, reasoning: int) -> Generation:
    """Counts words as tokens, and cuts the text at the limit."""
    thought = int(min(reasoning, most))
    words = text.split(" ")
    left = most - thought
    kept = words if len(words) <= left else words[: int(left)]
    read = len(question.split())
    return Generation(
        text=" ".join(kept),
        read=read,
        cached=CACHED if read >= CACHED else 0,
        written=thought + len(kept),
        reasoning=thought,
        cut=len(kept) < len(words),
    )


class FakeProvider(FaultServer):
    """Base of the servers: faults of a plan first, then replies in the provider's form.

    `answer`: from a question to the text of its answer.
    """

    key_headers: Sequence[str] = ("authorization",)
    """Headers that can hold the key; a request without any is refused as at the provider."""

    def __init__(
        self,
        plan: Plan | Sequence[Fault | None] = (),
        *,
        answer: Callable[[str], str] = hashed_answer,
        effort: str = "medium",
        latency: float = 0.0,
    ) -> None:
        super().__init__(plan, latency=latency)
        self._text_of = answer
        self._effort = effort

    @property
    def bodies(self) -> list[Mapping[str, Any]]:
        """Every request's body, in order of arrival."""
        return [call.body for call in self.calls]

    @property
    def root(self) -> str:
        """The address without a version, which some clients expect."""
        return self.base_url.removesuffix("/v1")

    def has_key(self, call: Call) -> bool:
        """Whether a request has a key; any will do."""
        keys = [call.headers.get(name, "") for name in self.key_headers]
        return any(key.removeprefix("Bearer").strip() for key in keys)

    def generation(self, call: Call, *, most: float, reasoning: int) -> Generation:
        question = question_of(call.body)
        return generate(
            question, self._text_of(question), most=most, reasoning=reasoning
        )


def openai_error(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | int | None = None,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """An error in OpenAI's form."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Fault("reply", status, headers or {}, json.dumps({"error": error}))


def unsupported(param: str, instead: str = "") -> Fault:
    """The error for a parameter that a model does not accept."""
    hint = f" Use '{instead}' instead." if instead else ""
    message = (
        f"Unsupported parameter: '{param}' is not supported with this model.{hint}"
    )
    return openai_error(400, message, param=param, code="unsupported_parameter")


class OpenAIServer(FakeProvider):
    """OpenAI's chat completions and responses; models named gpt-5... and o1... reason, and refuse parameters."""

    logprobs: Mapping[str, float] = {"A": -0.25, "B": -2.0, " A": -3.0, "The": -5.0}
    """Log-probabilities of the first token of every chat completion."""

    def reasons(self, model: str) -> bool:
        """Whether a model reasons."""
        return model.startswith(("gpt-5", "o1", "o3", "o4"))

    def good(self, call: Call) -> Fault:
        if not self.has_key(call):
            message = "You didn't provide an API key."
            return openai_error(401, message, code="missing_api_key")
        if call.path.endswith("/responses"):
            refused, reply = self._refused_responses(call.body), self._response
        elif call.path.endswith("/chat/completions"):
            refused, reply = self._refused_chat(call.body), self.chat
        else:
            return openai_error(404, f"Invalid URL (POST {call.path})")
        if refused is not None:
            return refused
        headers = {
            "x-request-id": f"req_{call.number:032x}",
            "openai-processing-ms": "12",
        }
        headers |= self.headers(call)
        body = reply(call)
        if not call.body.get("stream"):
            return Fault("reply", 200, headers, json.dumps(body))
        return Fault("reply", 200, headers | EVENT_STREAM, _chunks(body))

    def headers(self, call: Call) -> dict[str, str]:
        """Headers that the provider adds to a reply."""
        return {}

    def effort(self, body: Mapping[str, Any]) -> str:
        """The effort that a request asks for."""
        chosen = body.get("reasoning_effort") or (body.get("reasoning") or {}).get(
            "effort"
        )
        return str(chosen or self._effort)

    def _refused_chat(self, body: Mapping[str, Any]) -> Fault | None:
        if not self.reasons(body["model"]):
            if "reasoning_effort" in body:
                message = "Unrecognized request argument supplied: reasoning_effort"
                return openai_error(400, message)
            return None
        if "max_tokens" in body:
            return unsupported("max_tokens", "max_completion_tokens")
        if body.get("logprobs"):
            return openai_error(
                403, "You are not allowed to request logprobs from this model"
            )
        if body.get("temperature", 1) != 1:
            value = f"{body['temperature']:g}"
            return openai_error(
                400,
                f"Unsupported value: 'temperature' does not support {value} with this model. Only "
                "the default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            )
        for param in ("stop", "top_p", "presence_penalty", "frequency_penalty"):
            if param in body:
                return unsupported(param)
        return self._refused_effort(body, "reasoning_effort")

    def _refused_responses(self, body: Mapping[str, Any]) -> Fault | None:
        if body.get("max_output_tokens", 16) < 16:
            return openai_error(
                400,
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, "
                f"but got {body['max_output_tokens']} instead.",
                param="max_output_tokens",
                code="integer_below_min_value",
            )
        for param in ("stop", "seed", "presence_penalty", "frequency_penalty"):
            if param in body:
                message = f"Unknown parameter: '{param}'."
                return openai_error(400, message, param=param, code="unknown_parameter")
        if not self.reasons(body["model"]):
            return unsupported("reasoning.effort") if body.get("reasoning") else None
        for param in ("temperature", "top_p"):
            if param in body:
                message = f"Unsupported parameter: '{param}' is not supported with this model."
                return openai_error(400, message, param=param)
        return self._refused_effort(body, "reasoning.effort")

    def _refused_effort(self, body: Mapping[str, Any], param: str) -> Fault | None:
        effort = self.effort(body)
        if effort in REASONING and effort not in ("none", "xhigh"):
            return None
        return openai_error(
            400,
            f"Unsupported value: '{param}' does not support '{effort}' with this model. Supported "
            "values are: 'minimal', 'low', 'medium', and 'high'.",
            param=param,
            code="unsupported_value",
        )

    def reasoning(self, body: Mapping[str, Any]) -> int:
        """Tokens of reasoning for a request."""
        return REASONING[self.effort(body)] if self.reasons(body["model"]) else 0

    def chat(self, call: Call) -> dict[str, Any]:
        """A chat generation."""
        body = call.body
        most = body.get("max_completion_tokens", body.get("max_tokens", math.inf))
        generation = self.generation(call, most=most, reasoning=self.reasoning(body))
        choice: dict[str, Any] = {
            "index": 0,
            "message": self.message(generation),
            "logprobs": None,
            "finish_reason": "length" if generation.cut else "stop",
        }
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [self._first_token(body)], "refusal": None}
        return {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 1764288000 + call.number,
            "model": self.served(body["model"]),
            "choices": [choice],
            "usage": self.usage(generation),
            "service_tier": "default",
            "system_fingerprint": None,
        }

    def served(self, model: str) -> str:
        """The name in a reply: the version behind the requested name."""
        return f"{model}-2025-08-07"

    def message(self, generation: Generation) -> dict[str, Any]:
        """The message of a choice; OpenAI shows no reasoning here."""
        return {
            "role": "assistant",
            "content": generation.text,
            "refusal": None,
            "annotations": [],
        }

    def usage(self, generation: Generation) -> dict[str, Any]:
        """Tokens in the form of chat completions."""
        return {
            "prompt_tokens": generation.read,
            "completion_tokens": generation.written,
            "total_tokens": generation.read + generation.written,
            "prompt_tokens_details": {
                "cached_tokens": generation.cached,
                "audio_tokens": 0,
            },
            "completion_tokens_details": {
                "reasoning_tokens": generation.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }

    def _first_token(self, body: Mapping[str, Any]) -> dict[str, Any]:
        entries = [
            {"token": token, "logprob": value, "bytes": list(token.encode())}
            for token, value in self.logprobs.items()
        ]
        return {**entries[0], "top_logprobs": entries[: body.get("top_logprobs", 0)]}

    def _response(self, call: Call) -> dict[str, Any]:
        body = call.body
        generation = self.generation(
            call,
            most=body.get("max_output_tokens", math.inf),
            reasoning=self.reasoning(body),
        )
        summary = (
            [{"type": "summary_text", "text": THOUGHT}] if body.get("reasoning") else []
        )
        output: list[dict[str, Any]] = []
        if generation.reasoning:
            output.append(
                {"id": f"rs_{call.number}", "type": "reasoning", "summary": summary}
            )
        if generation.text:
            content = {
                "type": "output_text",
                "text": generation.text,
                "annotations": [],
                "logprobs": [],
            }
            output.append(
                {
                    "id": f"msg_{call.number}",
                    "type": "message",
                    "status": "incomplete" if generation.cut else "completed",
                    "role": "assistant",
                    "content": [content],
                }
            )
        return {
            "id": f"resp_{call.number}",
            "object": "response",
            "created_at": 1764288000 + call.number,
            "status": "incomplete" if generation.cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"}
            if generation.cut
            else None,
            "instructions": None,
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": {},
            "model": self.served(body["model"]),
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": self.effort(body), "summary": None},
            "service_tier": "default",
            "store": body.get("store", True),
            "temperature": body.get("temperature", 1.0),
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": body.get("top_p", 1.0),
            "truncation": "disabled",
            "usage": {
                "input_tokens": generation.read,
                "input_tokens_details": {"cached_tokens": generation.cached},
                "output_tokens": generation.written,
                "output_tokens_details": {"reasoning_tokens": generation.reasoning},
                "total_tokens": generation.read + generation.written,
            },
            "user": None,
        }


def _chunks(completion: Mapping[str, Any]) -> str:
    """A chat completion as its stream: the message, its end, and its usage."""
    (choice,) = completion["choices"]
    shared = {name: completion[name] for name in ("id", "created", "model")}
    shared["object"] = "chat.generation.chunk"
    about = {"index": 0, "logprobs": choice["logprobs"]}
    chunks = [
        {"choices": [{**about, "delta": choice["message"], "finish_reason": None}]},
        {
            "choices": [
                {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
            ]
        },
        {"choices": [], "usage": completion["usage"]},
    ]
    lines = [f"data: {json.dumps(shared | chunk)}\n\n" for chunk in chunks]
    return "".join(lines) + "data: [DONE]\n\n"


class OpenRouterServer(OpenAIServer):
    """OpenRouter: `provider` names who answered, `reasoning` has the reasoning; nothing is refused.

    Base URL: `server.base_url` takes the place of https://openrouter.ai/api/v1.
    """

    provider = "Novita"

    def reasons(self, model: str) -> bool:
        return True

    def _refused_chat(self, body: Mapping[str, Any]) -> Fault | None:
        return None

    def served(self, model: str) -> str:
        return model

    def message(self, generation: Generation) -> dict[str, Any]:
        detail = {
            "type": "reasoning.text",
            "text": THOUGHT,
            "format": "unknown",
            "index": 0,
        }
        shown: dict[str, Any] = {"reasoning": THOUGHT, "reasoning_details": [detail]}
        hidden: dict[str, Any] = {"reasoning": None}
        message = {"role": "assistant", "content": generation.text, "refusal": None}
        return message | (shown if generation.reasoning else hidden)

    def chat(self, call: Call) -> dict[str, Any]:
        reply = super().chat(call)
        reply["choices"][0]["native_finish_reason"] = reply["choices"][0][
            "finish_reason"
        ]
        usage = reply["usage"]
        usage["cost"] = (usage["prompt_tokens"] + 4 * usage["completion_tokens"]) / 1e6
        return {**reply, "id": f"gen-{call.number}", "provider": self.provider}


class HFRouterServer(OpenAIServer):
    """Hugging Face's router: a header names the provider, which `model:provider` may choose."""

    provider = "together"

    def reasons(self, model: str) -> bool:
        return True

    def headers(self, call: Call) -> dict[str, str]:
        _, _, chosen = call.body["model"].partition(":")
        return {"x-inference-provider": chosen or self.provider}

    def served(self, model: str) -> str:
        return model.partition(":")[0]

    def message(self, generation: Generation) -> dict[str, Any]:
        message = {"role": "assistant", "content": generation.text}
        return message | (
            {"reasoning_content": THOUGHT} if generation.reasoning else {}
        )

    def _refused_chat(self, body: Mapping[str, Any]) -> Fault | None:
        if "/" in body["model"]:
            return None
        return openai_error(
            400,
            f"The requested model '{body['model']}' is not supported by any provider you have "
            "enabled.",
            param="model",
            code="model_not_supported",
        )


class MistralServer(OpenAIServer):
    """Mistral: unknown fields are refused by name, and a reasoning model's content is a list of parts."""

    _KNOWN = frozenset(
        "model messages max_tokens temperature top_p stop random_seed stream presence_penalty "
        "frequency_penalty n response_format prompt_mode tools tool_choice safe_prompt "
        "parallel_tool_calls prediction reasoning_effort".split()
    )

    def reasons(self, model: str) -> bool:
        return model.startswith("magistral")

    def served(self, model: str) -> str:
        return model

    def _refused_chat(self, body: Mapping[str, Any]) -> Fault | None:
        unknown = [name for name in body if name not in self._KNOWN]
        if not unknown:
            return None
        details = [
            {
                "type": "extra_forbidden",
                "loc": ["body", name],
                "msg": "Extra inputs are not permitted",
                "input": body[name],
            }
            for name in unknown
        ]
        error = {
            "object": "error",
            "message": {"detail": details},
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
        return Fault("reply", 422, {}, json.dumps(error))

    def message(self, generation: Generation) -> dict[str, Any]:
        if not generation.reasoning:
            return {"role": "assistant", "content": generation.text, "tool_calls": None}
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
        parts = [
            thinking,
            *([{"type": "text", "text": generation.text}] if generation.text else []),
        ]
        return {"role": "assistant", "content": parts, "tool_calls": None}

    def usage(self, generation: Generation) -> dict[str, Any]:
        return {
            "prompt_tokens": generation.read,
            "completion_tokens": generation.written,
            "total_tokens": generation.read + generation.written,
        }


class AnthropicServer(FakeProvider):
    """Anthropic's messages, also as a stream of events. Its address for clients is `server.root`."""

    key_headers = ("x-api-key", "authorization")

    @staticmethod
    def failed(
        status: int, kind: str, message: str, *, retry_after: str | None = None
    ) -> Fault:
        """An error in Anthropic's form."""
        headers = {"request-id": "req_fault"}
        if retry_after is not None:
            headers["retry-after"] = retry_after
        error = {"type": kind, "message": message}
        body = {"type": "error", "error": error, "request_id": "req_fault"}
        return Fault("reply", status, headers, json.dumps(body))

    @classmethod
    def overloaded(cls) -> Fault:
        """The error of an overloaded provider."""
        return cls.failed(529, "overloaded_error", "Overloaded")

    @classmethod
    def rate_limited(cls, retry_after: str = "0") -> Fault:
        """The error for a key with too many requests."""
        message = "This request would exceed your organization's rate limit"
        return cls.failed(429, "rate_limit_error", message, retry_after=retry_after)

    def good(self, call: Call) -> Fault:
        if not self.has_key(call):
            return self.failed(
                401, "authentication_error", "x-api-key header is required"
            )
        path = call.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            return Fault.json_body(
                {"input_tokens": len(question_of(call.body).split())}
            )
        if path != "/v1/messages":
            return self.failed(404, "not_found_error", "Not found")
        refused = self._refused(call.body)
        if refused:
            return self.failed(400, "invalid_request_error", refused)
        message = self._message(call)
        headers = {
            "request-id": f"req_{call.number:024x}",
            "anthropic-ratelimit-requests-remaining": "999",
        }
        if call.body.get("stream"):
            events = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                for event in _events(message)
            )
            return Fault("reply", 200, headers | EVENT_STREAM, events)
        return Fault("reply", 200, headers, json.dumps(message))

    def _refused(self, body: Mapping[str, Any]) -> str:
        if "max_tokens" not in body:
            return "max_tokens: Field required"
        if any(message["role"] == "system" for message in body["messages"]):
            return (
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
                'parameter, not "system" as an input message role.'
            )
        unknown = {"seed", "stop", "presence_penalty", "frequency_penalty"} & set(body)
        if unknown:
            return f"{min(unknown)}: Extra inputs are not permitted"
        if "temperature" in body and "top_p" in body:
            return (
                "`temperature` and `top_p` cannot both be specified for this model. Please use "
                "only one."
            )
        thinking = body.get("thinking") or {}
        if thinking.get("type") not in ("enabled", "adaptive"):
            return ""
        if body.get("temperature", 1) != 1:
            return "`temperature` may only be set to 1 when thinking is enabled."
        if body["max_tokens"] <= thinking.get("budget_tokens", 0):
            return "`max_tokens` must be greater than `thinking.budget_tokens`."
        return ""

    def _message(self, call: Call) -> dict[str, Any]:
        body = call.body
        thinking = body.get("thinking") or {}
        effort = (body.get("output_config") or {}).get("effort", self._effort)
        thinks = thinking.get("type") in ("enabled", "adaptive")
        reasoning = (
            min(REASONING[effort], thinking.get("budget_tokens", 10**6))
            if thinks
            else 0
        )
        generation = self.generation(call, most=body["max_tokens"], reasoning=reasoning)
        thought = {
            "type": "thinking",
            "thinking": THOUGHT,
            "signature": "EqQBCkgIBBABGAIiQL8",
        }
        content: list[dict[str, Any]] = [thought] if generation.reasoning else []
        if generation.text:
            content.append({"type": "text", "text": generation.text})
        return {
            "id": f"msg_{call.number}",
            "type": "message",
            "role": "assistant",
            "model": f"{body['model']}-20250929",
            "content": content,
            "stop_reason": "max_tokens" if generation.cut else "end_turn",
            "stop_sequence": None,
            # cached tokens are not part of input_tokens
            "usage": {
                "input_tokens": generation.read - generation.cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": generation.cached,
                "output_tokens": generation.written,
                "service_tier": "standard",
            },
        }


def _events(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A message of Anthropic's as its stream of events."""
    begun = {**message, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        field = block["type"]  # `text` or `thinking`, which also names its text
        start = {**block, field: ""} | (
            {"signature": ""} if field == "thinking" else {}
        )
        deltas = [{"type": f"{field}_delta", field: block[field]}]
        if "signature" in block:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            *(
                {"type": "content_block_delta", "index": index, "delta": delta}
                for delta in deltas
            ),
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        *events,
        {"type": "message_delta", "delta": ended, "usage": message["usage"]},
        {"type": "message_stop"},
    ]


class GoogleServer(FakeProvider):
    """Google's generateContent. Its address for clients is `server.root`."""

    key_headers = ("x-goog-api-key",)

    def good(self, call: Call) -> Fault:
        if not self.has_key(call):
            message = "Method doesn't allow unregistered callers."
            error = {"code": 403, "message": message, "status": "PERMISSION_DENIED"}
            return Fault("reply", 403, {}, json.dumps({"error": error}))
        path = call.path.partition("?")[0]
        if not path.endswith(":generateContent"):
            error = {
                "code": 404,
                "message": "Requested entity was not found.",
                "status": "NOT_FOUND",
            }
            return Fault("reply", 404, {}, json.dumps({"error": error}))
        model = path.rpartition("/")[2].removesuffix(":generateContent")
        config = call.body.get("generationConfig") or {}
        # the API accepts both spellings of names
        thinking = {
            re.sub("_([a-z])", lambda match: match[1].upper(), name): value
            for name, value in (config.get("thinkingConfig") or {}).items()
        }
        budget = thinking.get("thinkingBudget", -1)
        effort_tokens = REASONING[
            str(thinking.get("thinkingLevel", self._effort)).lower()
        ]
        generation = self.generation(
            call,
            most=config.get("maxOutputTokens", math.inf),
            reasoning=effort_tokens if budget < 0 else min(budget, effort_tokens),
        )
        shown = generation.reasoning and thinking.get("includeThoughts")
        parts: list[dict[str, Any]] = (
            [{"text": THOUGHT, "thought": True}] if shown else []
        )
        if generation.text:
            parts.append({"text": generation.text})
        reply = {
            "candidates": [
                {
                    "content": {"parts": parts, "role": "model"},
                    "finishReason": "MAX_TOKENS" if generation.cut else "STOP",
                    "index": 0,
                }
            ],
            # thoughts are not part of the candidates' count
            "usageMetadata": {
                "promptTokenCount": generation.read,
                "candidatesTokenCount": generation.written - generation.reasoning,
                "thoughtsTokenCount": generation.reasoning,
                "cachedContentTokenCount": generation.cached,
                "totalTokenCount": generation.read + generation.written,
            },
            "modelVersion": model,
            "responseId": f"response-{call.number}",
        }
        return Fault.json_body(reply)
