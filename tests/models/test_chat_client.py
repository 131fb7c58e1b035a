from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.models.chat_client import (
    CallFailed,
    ChatClient,
    ChatSettings,
    Completion,
    check_base_url,
)
from medical_tasks.models.chat_reply import (
    AttemptError,
    quoted_from,
    read_error,
    read_reply,
    requested_wait,
)
from medical_tasks.spec import Message
from tests.fault_server import Fault, FaultServer, echo_answer
from tests.models.toy_texts import CASES, NOTES

QUESTION = "the patient John Smith was admitted on Monday with dyspnoea"


def quick(server: FaultServer, **changes: Any) -> ChatSettings:
    base = ChatSettings(
        base_url=server.base_url,
        model="m",
        max_retries=3,
        timeout=5.0,
    )
    return replace(base, **changes)


def ask(chat: ChatSettings, question: str = QUESTION, **parameters: Any) -> Completion:
    async def once() -> Completion:
        async with ChatClient(chat) as client:
            return await client.complete(
                [Message(role="user", content=question)], max_tokens=8, **parameters
            )

    return asyncio.run(once())


def failure(chat: ChatSettings, question: str = QUESTION) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        ask(chat, question)
    return caught.value


def test_a_good_answer_is_read_whole_and_the_key_is_not_shown() -> None:
    with FaultServer(answer=lambda call: "two words", key="sk-secret") as server:
        chat = quick(server, api_key="sk-secret")
        completion = ask(chat)
    assert server.calls[0].headers["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(chat)
    assert (
        completion.text,
        completion.choices[0].finish,
        completion.output_tokens,
        completion.attempts,
    ) == (
        "two words",
        "stop",
        2,
        1,
    )
    assert completion.prompt_tokens == len(QUESTION.split())
    assert server.calls[0].path == "/v1/chat/completions"


def test_the_body_holds_the_given_parameters_and_no_empty_ones() -> None:
    with FaultServer() as server:
        ask(
            quick(server),
            stop=["X"],
            n=2,
            logprobs=3,
            extra={"temperature": 0.0, "seed": 7},
        )
        ask(quick(server, token_field="max_completion_tokens"))
        ask(quick(server), "broken \ud83d end")
    assert server.prompts[-1] == "broken \ufffd end"
    full, plain = (dict(call.body) for call in server.calls[:2])
    messages = [{"role": "user", "content": QUESTION}]
    assert full == {
        "model": "m", "messages": messages, "max_tokens": 8, "stop": ["X"], "temperature": 0.0, "n": 2,
        "logprobs": True, "top_logprobs": 3, "seed": 7,
    }  # fmt: skip
    # An empty list of stop sequences makes some servers answer 500.
    assert plain == {"model": "m", "messages": messages, "max_completion_tokens": 8}


TRANSIENT = {
    name: ((getattr(Fault, method) if method else Fault)(*more), reason)
    for name, method, more, reason in CASES["transient_faults"]
}


@pytest.mark.parametrize(("fault", "reason"), TRANSIENT.values(), ids=TRANSIENT.keys())
def test_a_transient_fault_is_retried_and_a_lasting_one_fails_with_its_reason(
    fault: Fault, reason: str
) -> None:
    with FaultServer([fault, fault, fault]) as server:
        completion = ask(quick(server))
    assert completion.text == echo_answer(server.calls[0])
    assert completion.attempts == len(server.calls) == 4
    with FaultServer(lambda call: fault) as server:
        failed = failure(quick(server))
    assert (failed.reason, failed.attempts, failed.every_call) == (reason, 4, False)
    assert len(server.calls) == 4
    assert "given up after 4 attempts" in failed.detail


FINAL = [
    (Fault.status_code(status, message, **more), reason, every_call)
    for status, message, more, reason, every_call in CASES["final_faults"]
]
FINAL += [
    (Fault.message({"content": None}, "content_filter"), "refused by filter", False),
    (
        Fault.message({"content": None, "tool_calls": [{"id": "x"}]}, "tool_calls"),
        "tool call",
        False,
    ),
]


@pytest.mark.parametrize(("fault", "reason", "every_call"), FINAL)
def test_a_final_fault_is_not_retried(
    fault: Fault, reason: str, every_call: bool
) -> None:
    with FaultServer(lambda call: fault) as server:
        failed = failure(quick(server))
    assert (failed.reason, failed.attempts, failed.every_call) == (
        reason,
        1,
        every_call,
    )
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("message", "finish", "tokens", "text"),
    [
        ({"content": ""}, "stop", 0, ""),
        # Hidden reasoning may use up the tokens, and is no answer.
        ({"content": None, "reasoning_content": "hmm"}, "length", 8, ""),
        ({"content": None, "reasoning_content": "hmm"}, "stop", 8, ""),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": "hmm"},
                    {"type": "text", "text": "B"},
                    {"text": "."},
                ]
            },
            "stop",
            8,
            "B.",
        ),
        ({"content": []}, "stop", 8, ""),
        ({"content": None, "refusal": "I cannot."}, "stop", 2, "I cannot."),
        ({"content": "so far"}, "content_filter", 2, "so far"),
    ],
)
def test_the_answer_of_a_message(
    message: dict[str, Any], finish: str, tokens: int, text: str
) -> None:
    with FaultServer(
        [Fault.message(message, finish, completion_tokens=tokens)]
    ) as server:
        completion = ask(quick(server))
    assert (completion.text, completion.choices[0].finish, completion.attempts) == (
        text,
        finish,
        1,
    )


@pytest.mark.parametrize(
    "fault", [Fault.hang(), Fault.drip()], ids=["silence", "a byte now and then"]
)
def test_a_slow_answer_times_out_and_is_retried(fault: Fault) -> None:
    with FaultServer([fault]) as server:
        completion = ask(quick(server, timeout=0.15))
    assert (completion.text, completion.attempts, len(server.calls)) == (
        echo_answer(server.calls[0]),
        2,
        2,
    )


def test_total_time_bounds_the_call_with_all_its_retries() -> None:
    with FaultServer(lambda call: Fault.hang()) as server:
        failed = failure(quick(server, timeout=30.0, total_time=0.2, max_retries=1000))
    assert (failed.reason, len(server.calls)) == ("timeout", failed.attempts)
    assert "total_time=0.2" in failed.detail
    with FaultServer(lambda call: Fault.rate_limit("3600")) as server:
        failed = failure(quick(server, total_time=60.0))
    assert (failed.reason, failed.attempts) == ("rate limited", 1)
    assert "waiting 3600 s more would pass total_time=60" in failed.detail


NOW = datetime(2025, 9, 24, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(("headers", "seconds"), CASES["requested_wait"])
def test_requested_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert requested_wait(headers, now=NOW) == seconds


# Privacy: no question in logs and details, no key, no text through proxies and
# redirects.


@pytest.mark.parametrize(("status", "message", "detail"), CASES["detail_of_an_error"])
def test_detail_of_an_error_quotes_neither_question_nor_key(
    status: int, message: str, detail: str
) -> None:
    with FaultServer([Fault.status_code(status, message)]) as server:
        assert (
            failure(quick(server, api_key="sk-secret")).detail
            == f"HTTP {status}{detail}"
        )


def test_question_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("openai").setLevel(logging.NOTSET)
    with (
        caplog.at_level(logging.DEBUG),
        FaultServer([Fault.status_code(500), Fault.cut()]) as server,
    ):
        ask(quick(server))
    assert caplog.records  # the transport does log
    assert "Smith" not in caplog.text


def test_no_proxy_and_no_account_of_the_environment_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with FaultServer() as proxy, FaultServer() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        ask(quick(server))
    assert (len(proxy.calls), len(server.calls)) == (0, 1)
    assert not {"openai-organization", "openai-project"} & set(server.calls[0].headers)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_ends_every_call_and_is_not_followed(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))
    with FaultServer() as elsewhere:
        host = elsewhere.base_url.removeprefix("http://").removesuffix("/v1")
        away = Fault(
            "reply",
            status,
            {"Location": f"http://me:key@{host}/v1?{QUESTION}"},
            QUESTION,
        )
        with FaultServer(lambda call: away) as server:
            failed = failure(quick(server))
            with policy.protect([NOTES]):  # without any of the server's words
                assert failure(quick(server)).detail == failed.detail
    assert (failed.reason, failed.attempts, failed.every_call) == ("redirect", 1, True)
    assert (
        failed.detail == f"HTTP {status}, a redirect to {host}, which is not followed"
    )
    assert (len(server.calls), elsewhere.calls) == (2, [])


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/v2/chat", "to another address of the same host"),
        ("", "elsewhere"),
        ("http://[broken", "elsewhere"),
        ("http://john-smith-was-admitted.example/", "elsewhere"),
        ("//other.example:81/x", "to other.example:81"),
    ],
)
def test_the_message_about_a_redirect_names_its_host(
    location: str, target: str
) -> None:
    error = read_error(307, {"location": location}, "", sent=[QUESTION])
    assert error.detail == f"HTTP 307, a redirect {target}, which is not followed"


@given(
    words=st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=30),
    at=st.integers(0, 26),
)
def test_any_three_words_in_a_row_are_a_quotation(words: list[str], at: int) -> None:
    run = words[min(at, len(words) - 3) :][:3]
    assert quoted_from(f"error: {', '.join(run).upper()}!", [" ".join(words)])
    for sent in ([], [""], ["something else entirely"]):
        assert not quoted_from("the field is unknown", sent)
        assert not quoted_from("", sent)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"model": "m"}, "m"),
        ({"model": "m", "system_fingerprint": None}, "m"),
        ({"model": "m", "system_fingerprint": "fp_1"}, "m fp_1"),
        ({"system_fingerprint": "fp_1"}, "fp_1"),
        ({"model": "m", "system_fingerprint": "what was\nasked"}, "m"),
        ({"model": "m" * 79, "system_fingerprint": "fp_1"}, "m" * 79),
        ({"model": 1, "system_fingerprint": 2}, ""),
    ],
)
def test_the_served_model_is_the_replys_model_and_fingerprint(
    fields: dict[str, object], kept: str
) -> None:
    body = {"choices": [{"message": {"content": "A"}}], **fields}
    assert read_reply(json.dumps(body), {}, sent=[]).served_model == kept


def reason_of(text: str) -> str | None:
    try:
        reply = read_reply(text, {}, sent=[])
    except AttemptError as error:
        return error.reason
    assert reply.choices
    assert all(isinstance(choice.text, str) for choice in reply.choices)
    return None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "error", "usage", "finish_reason"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(body=JSON)
def test_any_json_gives_a_reply_or_a_typed_failure(body: object) -> None:
    assert reason_of(json.dumps(body)) in (
        None,
        "empty choices",
        "empty content",
        "refused by filter",
        "tool call",
    )
    assert reason_of("<p>down</p>") == reason_of("[" * 200_000) == "not json"
    assert read_error(400, {}, json.dumps(body), sent=[]).reason == "http 400"


@pytest.mark.parametrize(("url", "message"), CASES["unusable_base_url"])
def test_unusable_base_url(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        check_base_url(url)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("change", "message"), CASES["limits_out_of_range"])
def test_limits_out_of_range(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ChatSettings(base_url="http://h/v1", model="m", **change)
