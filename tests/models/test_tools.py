"""Tools for every kind of model: the requests, the calls read, and models that accept no tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.models.base import Request, read_request, write_request
from medical_tasks.models.batch_journal import JOURNAL
from medical_tasks.models.chat_template import ChatLayout
from medical_tasks.models.inspect_model import open_inspect
from medical_tasks.models.local_model import Prompt, read_answer
from medical_tasks.models.tool_calls import read_calls, written_calls
from medical_tasks.spec import Message, Tool, ToolCall
from tests.fault_server import Call, Fault, FaultServer, chat_completion
from tests.models.fake_batches import FakeBatches
from tests.models.local_runs import answers, results
from tests.models.toy_server import model_at
from tests.models.toy_texts import ask

ADD = Tool(
    name="add",
    description="Adds two numbers.",
    parameters={
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "one"},
            "b": {"type": "number", "description": "the other"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)
CALL = ToolCall(id="c1", name="add", arguments={"a": 1, "b": 2})
CHAT: tuple[Message, ...] = (
    {"role": "user", "content": "What is 1 + 2?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": "3", "tool_call_id": "c1"},
)
SENT_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
}
CALLING = {"role": "assistant", "content": None, "tool_calls": [SENT_CALL]}
TEMPLATE = (
    "{% if tools %}<tools>{% for t in tools %}{{ t | tojson }}{% endfor %}</tools>{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}"
    "{% endfor %}<|assistant|>"
)


def tool_request(*messages: Message, key: str = "k") -> Request:
    plain = ask(key, "What is 1 + 2?")
    return replace(plain, messages=messages or plain.messages, tools=(ADD,))


def test_a_request_is_the_same_after_writing_and_reading() -> None:
    request = tool_request(*CHAT)
    read = read_request(write_request(request))
    assert read.tools == request.tools
    assert json.dumps(read.messages) == json.dumps(request.messages)


def call_the_tool(call: Call) -> Fault:
    return Fault.json_body(chat_completion(call, [(CALLING, "tool_calls")]))


# inspect's own warning, in its client of OpenAI's form
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("backend", ["openai-api", "inspect"])
def test_calls_and_results_over_http(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultServer(call_the_tool) as server:
        if backend == "inspect":
            pytest.importorskip("inspect_ai")
            monkeypatch.setenv("TOY_BASE_URL", server.base_url)
            monkeypatch.setenv("TOY_API_KEY", "x")
            model: Any = open_inspect("inspect/openai-api/toy/toy", options={})
        else:
            model = model_at(server)
        first = answers(model, [tool_request()])["k"]
        answers(model, [tool_request(*CHAT)])
        model.close()
    assert (first.text, first.tool_calls) == ("", (CALL,))
    body = server.calls[1].body
    function = body["tools"][0]["function"]
    assert function["name"] == "add"
    assert function["parameters"] == ADD.parameters
    _, call_message, result = body["messages"]
    assert call_message["tool_calls"] == [SENT_CALL]
    assert (result["role"], result["tool_call_id"]) == ("tool", "c1")
    assert result["content"] == "3"


class CallingBatches(FakeBatches):
    """Batches of a model that calls the tool in every answer."""

    def _completed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        reply = super()._completed(body)
        reply["choices"][0] |= {"message": CALLING, "finish_reason": "tool_calls"}
        return reply


def test_calls_in_batches(tmp_path: Path) -> None:
    questions = [tool_request(key=f"k{number}") for number in range(3)]
    with CallingBatches(lenient=True) as server:
        model = model_at(server, batch_poll=0.001)
        model.ask_in_batches(tmp_path / JOURNAL)
        by_key = answers(model, questions)
        (file,) = [
            item for item in server.files.values() if item.name.endswith(".jsonl")
        ]
    assert [by_key[item.key].tool_calls for item in questions] == [(CALL,)] * 3
    line = json.loads(file.content.splitlines()[0])
    assert line["body"]["tools"][0]["function"]["name"] == "add"


def test_a_call_in_reply_to_a_question_without_tools_is_a_failure() -> None:
    with FaultServer(call_the_tool) as server:
        (failure,) = results(model_at(server), [ask("k", "1 + 2?")]).values()
    assert "tools" not in server.calls[0].body
    assert getattr(failure, "reason", "") == "tool call"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, '"auto" tool choice requires --enable-auto-tool-choice'),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (400, "Unrecognized request argument supplied: tools"),
        (404, "No endpoints found that support tool use."),
        (500, "tools param requires --jinja flag"),
    ],
)
def test_a_server_without_tools_ends_the_run(status: int, message: str) -> None:
    questions = [tool_request(key=f"k{number}") for number in range(9)]
    with FaultServer(lambda _: Fault.status_code(status, message)) as server:
        model = model_at(server, max_retries=0)
        with pytest.raises(
            UsageError, match="does not support tools, which.*task without tool"
        ):
            model.generate(questions, lambda _: None)


def test_a_call_that_a_server_cannot_parse_is_its_questions_failure() -> None:
    fault = Fault.status_code(500, "error parsing tool call: raw='{'")
    with FaultServer(lambda _: fault) as server:
        (failure,) = results(model_at(server, max_retries=0), [tool_request()]).values()
    assert getattr(failure, "reason", "") == "http 500"


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        (None, ()),
        ([], ()),
        (["no call"], ()),
        (
            [{"function": {"name": "add", "arguments": {"a": 1}}}],
            ({"id": "call00001", "name": "add", "arguments": {"a": 1}},),
        ),
        (
            [SENT_CALL, SENT_CALL],
            (CALL, {**CALL, "id": "call00002"}),
        ),
        (
            [{"id": "c", "function": {"name": "add", "arguments": "{'a': 1}"}}],
            ({"id": "c", "name": "add", "arguments": {}, "raw": "{'a': 1}"},),
        ),
        (
            [{"id": "c", "function": {"name": "add", "arguments": "[1]"}}],
            ({"id": "c", "name": "add", "arguments": {}, "raw": "[1]"},),
        ),
        (
            [{"id": "c", "function": {"name": "now", "arguments": ""}}],
            ({"id": "c", "name": "now", "arguments": {}},),
        ),
    ],
)
def test_calls_read_from_a_reply(calls: object, read: tuple[ToolCall, ...]) -> None:
    assert read_calls(calls) == read


@pytest.mark.parametrize(
    ("text", "rest", "calls"),
    [
        ("The answer is 3.", "The answer is 3.", []),
        ('{"answer": 3}', '{"answer": 3}', []),
        # an object that calls nothing offered may be the answer
        ('{"name": "Ada", "arguments": {}}', '{"name": "Ada", "arguments": {}}', []),
        (
            'I add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
            "I add.",
            [("add", {"a": 1})],
        ),
        (
            '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
            '<tool_call>{"name": "mul", "arguments": {}}',
            "",
            [("add", {"a": 1}), ("mul", {})],
        ),
        ('{"name": "add", "parameters": {"a": 1}}', "", [("add", {"a": 1})]),
        ('```json\n{"name": "add", "arguments": {}}\n```', "", [("add", {})]),
        ('[{"name": "add", "arguments": {"b": 2}}]', "", [("add", {"b": 2})]),
        (
            '<think>{"name": "add"}</think>{"name": "add", "arguments": {}}',
            '<think>{"name": "add"}</think>',
            [("add", {})],
        ),
        ('<tool_call>{"name": "add", oops}</tool_call>', "", [("add", {})]),
    ],
)
def test_calls_written_into_a_text(
    text: str, rest: str, calls: list[tuple[str, dict[str, object]]]
) -> None:
    remaining, written = written_calls(text, ["add"])
    assert remaining == rest
    assert [(call["name"], call["arguments"]) for call in written] == calls
    assert len({call["id"] for call in written}) == len(written)
    assert all(("raw" in call) == ("oops" in text) for call in written)


def test_calls_of_a_local_model_are_read_from_its_text() -> None:
    written = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    prompt = Prompt(request=tool_request(), text="", tokens=(1,), stop=())
    answer = read_answer(prompt, [5, 6], frozenset({9}), lambda _: written)
    assert (answer.text, answer.tool_calls[0]["arguments"]) == ("", {"a": 1})
    plain = replace(prompt, request=ask("k", "1 + 2?"))
    answer = read_answer(plain, [5, 6], frozenset({9}), lambda _: written)
    assert (answer.text, answer.tool_calls) == (written, ())


@pytest.mark.slow
def test_a_chat_template_writes_tools_calls_and_results(toy_model: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(toy_model)
    tokenizer.chat_template = TEMPLATE
    layout = ChatLayout(tokenizer, model="hf/toy")
    assert layout.no_tools() == ""
    text = layout.render(CHAT, [ADD])
    assert '"name": "add"' in text.partition("</tools>")[0]
    assert (
        '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>' in text
    )
    assert text.endswith("<|tool|>3<|assistant|>")
    assert "<tools>" not in layout.render(CHAT[:1])


@pytest.mark.slow
def test_a_template_without_tools_is_refused_by_name(toy_model: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(toy_model)
    for template, lack in (
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "knows no tools"),
        (None, "has no chat template"),
    ):
        tokenizer.chat_template = template
        message = ChatLayout(tokenizer, model="hf/toy").no_tools()
        assert "hf/toy cannot be offered tools" in message
        assert lack in message
        assert "Use a model trained to call tools" in message
