"""Converts chats, tools and tool calls to and from inspect's types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from medical_tasks.models.tool_calls import call_id
from medical_tasks.spec import Message, Tool, ToolCall

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage
    from inspect_ai.tool import ToolCall as InspectCall
    from inspect_ai.tool import ToolDef, ToolInfo


def inspect_chat(messages: Sequence[Message]) -> list[ChatMessage]:
    """Converts a chat to inspect's form."""
    names: dict[str, str] = {}
    chat: list[ChatMessage] = []
    for message in messages:
        names |= {call["id"]: call["name"] for call in message.get("tool_calls", ())}
        chat.append(_chat_message(message, names))
    return chat


def _chat_message(message: Message, names: Mapping[str, str]) -> ChatMessage:
    """Converts a message; that of a tool needs the tool's name (`names`, by the call's id)."""
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
    )

    content = message["content"]
    if message["role"] == "tool":
        call = message.get("tool_call_id", "")
        return ChatMessageTool(
            content=content, tool_call_id=call, function=names.get(call)
        )

    calls = message.get("tool_calls")
    if calls:
        return ChatMessageAssistant(
            content=content, tool_calls=[_inspect_call(call) for call in calls]
        )

    plain: Mapping[str, Callable[..., ChatMessage]] = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    return plain[message["role"]](content=content)


def _inspect_call(call: ToolCall) -> InspectCall:
    from inspect_ai.tool import ToolCall as InspectCall

    return InspectCall(
        id=call["id"],
        function=call["name"],
        arguments=dict(call["arguments"]),
        parse_error=call.get("raw"),
    )


def read_inspect_calls(calls: Sequence[InspectCall] | None) -> tuple[ToolCall, ...]:
    """Converts the calls of inspect's message; for unreadable arguments it keeps the parse error."""
    tool_calls: list[ToolCall] = []
    for number, call in enumerate(calls or ()):
        tool_call = ToolCall(
            id=call.id or call_id(number), name=call.function, arguments={}
        )
        if call.parse_error:
            tool_call["raw"] = call.parse_error
        else:
            tool_call["arguments"] = dict(call.arguments)
        tool_calls.append(tool_call)
    return tuple(tool_calls)


def read_inspect_chat(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Converts inspect's chat, with tool calls and their results."""
    chat: list[Message] = []
    for message in messages:
        read = Message(role=message.role, content=message.text)
        if message.role == "assistant" and message.tool_calls:
            read["tool_calls"] = read_inspect_calls(message.tool_calls)
        if message.role == "tool":
            read["tool_call_id"] = message.tool_call_id or ""
        chat.append(read)
    return tuple(chat)


def tool_infos(tools: Sequence[Tool]) -> list[ToolInfo]:
    """Converts tools to the form of inspect's providers."""
    from inspect_ai.tool import ToolInfo, ToolParams

    return [
        ToolInfo(
            name=tool.name,
            description=tool.description,
            parameters=ToolParams.model_validate(tool.parameters),
        )
        for tool in tools
    ]


def tool_definitions(tools: Sequence[Tool]) -> list[ToolDef]:
    """Converts tools to the form of inspect's tasks; the task's protocol runs them, not inspect."""
    from inspect_ai.tool import ToolDef, ToolParams

    async def run_by_protocol() -> str:
        raise RuntimeError("the task's protocol runs its tools")

    definitions = []
    for tool in tools:
        parameters = ToolParams.model_validate(tool.parameters)
        # inspect requires a description of each.
        for name, parameter in parameters.properties.items():
            parameter.description = parameter.description or name

        definitions.append(
            ToolDef(
                run_by_protocol,
                name=tool.name,
                description=tool.description,
                parameters=parameters,
            )
        )

    return definitions
