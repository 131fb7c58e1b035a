"""Converts tools and tool calls to and from the forms that models read and write.

OpenAI's form goes over the wire and, with arguments as an object, into chat templates.
A local model writes its calls into its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from medical_tasks.io.patterns import Pattern
from medical_tasks.spec import Message, Tool, ToolCall

TOOLS_REFUSED: Final = "tools refused"
"""The failure reason of a request whose server supports no tools."""

_BLOCK: Final = Pattern(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCED: Final = Pattern(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)
_THOUGHTS_END: Final = "</think>"
_NAME: Final = Pattern(r'"name"\s*:\s*"([^"\\]{1,64})"')
_ARGUMENTS: Final = ("arguments", "parameters")
"""The names that models give the arguments: most the first, Llama the second."""


def offered(tools: Sequence[Tool]) -> list[dict[str, object]]:
    """Converts tools to OpenAI's form, which chat templates use too."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def offered_text(tools: Sequence[Tool]) -> str:
    """Returns tools as a model reads them, to estimate their length; "" for none."""
    return json.dumps(offered(tools)) if tools else ""


def wire_message(message: Message) -> dict[str, object]:
    """Converts a message to OpenAI's form, with the arguments of calls as text."""
    return _message(message, text_arguments=True)


def template_message(message: Message) -> dict[str, object]:
    """Converts a message for chat templates, with the arguments of calls as an object."""
    return _message(message, text_arguments=False)


def _message(message: Message, *, text_arguments: bool) -> dict[str, object]:
    """Converts a message to the form of OpenAI's chat API.

    Args:
        message: its calls have arguments as an object, or as they were written.
        text_arguments: whether arguments become JSON text, as over the wire, or an
            object, as most chat templates expect.
    """
    written: dict[str, object] = {
        "role": message["role"],
        "content": message["content"],
    }
    calls = message.get("tool_calls", ())
    if calls:
        written["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["name"],
                    "arguments": _arguments(call, as_text=text_arguments),
                },
            }
            for call in calls
        ]

    if "tool_call_id" in message:
        written["tool_call_id"] = message["tool_call_id"]

    return written


def _arguments(call: ToolCall, *, as_text: bool) -> object:
    if "raw" in call:  # the model's own words, so that it sees what was wrong
        return call["raw"]
    return json.dumps(call["arguments"]) if as_text else dict(call["arguments"])


def read_calls(calls: object) -> tuple[ToolCall, ...]:
    """Reads `message.tool_calls` of a reply; empty if it is not a list.

    Missing or repeated ids, which some servers send, are replaced.
    """
    entries = calls if isinstance(calls, list) else []
    tool_calls: list[ToolCall] = []
    for entry in entries:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            continue

        taken = {call["id"] for call in tool_calls}
        name = entry.get("id")
        usable = isinstance(name, str) and name and name not in taken
        tool_calls.append(
            make_call(
                name if usable else call_id(len(tool_calls)),
                function.get("name"),
                function.get("arguments"),
            )
        )

    return tuple(tool_calls)


def call_id(number: int) -> str:
    """Makes an id for a call: nine letters and digits, as Mistral's templates require."""
    return f"call{number + 1:05d}"


def make_call(call: str, name: object, arguments: object) -> ToolCall:
    """Makes a call with its arguments as an object, else with the text as written (`raw`)."""
    read = arguments
    if isinstance(arguments, str):
        try:
            # Some models write an empty text for no arguments.
            read = json.loads(arguments, parse_constant=_no_number) if arguments else {}
        except (ValueError, RecursionError):
            read = None
    elif arguments is None:
        read = {}

    tool_call = ToolCall(
        id=call, name=name if isinstance(name, str) else "", arguments={}
    )
    if isinstance(read, Mapping):
        tool_call["arguments"] = dict(read)
    else:
        tool_call["raw"] = (
            arguments if isinstance(arguments, str) else json.dumps(arguments)
        )

    return tool_call


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")


def written_calls(
    text: str, names: Collection[str]
) -> tuple[str, tuple[ToolCall, ...]]:
    """Parses the calls that a local model wrote into its text; also returns the text without them.

    Calls are in `<tool_call>` blocks, or the whole answer is one object, or a list of
    objects, with the `name` of a tool that was offered and its `arguments`.

    Example:
        >>> written_calls('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', ["add"])
        ('', ({'id': 'call00001', 'name': 'add', 'arguments': {'a': 1}},))
    """
    thoughts, mark, answer = text.rpartition(_THOUGHTS_END)
    blocks = _BLOCK.findall(answer)
    if blocks:
        calls = [call for block in blocks for call in _read_block(block)]
        rest = _BLOCK.sub("", answer)
    else:
        calls = list(_bare_calls(answer, names))
        rest = "" if calls else answer

    numbered = tuple(
        make_call(call_id(number), name, arguments)
        for number, (name, arguments) in enumerate(calls)
    )
    return (thoughts + mark + rest).strip() if numbered else text, numbered


_Written = tuple[str, object]
"""The name and arguments of a call, as written."""


def _read_block(block: str) -> Iterator[_Written]:
    """Parses the calls of a block; a block that is not JSON is kept as written."""
    try:
        value = json.loads(block, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = None

    calls = [call for entry in _listed(value) if (call := _call_of(entry)) is not None]
    if calls:
        yield from calls
        return

    name = _NAME.search(block)
    yield (name[1] if name else ""), block.strip()


def _bare_calls(answer: str, names: Collection[str]) -> Iterator[_Written]:
    """Parses an answer that consists of calls alone: a JSON object, or a list of them.

    Yields none if any of them names no tool that was offered: an answer may be JSON.
    """
    fenced = _FENCED.fullmatch(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return

    calls = [_call_of(entry) for entry in _listed(value)]
    if all(call is not None and call[0] in names for call in calls):
        yield from (call for call in calls if call is not None)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _call_of(value: object) -> _Written | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = [value[name] for name in _ARGUMENTS if name in value]
    return (value["name"], arguments[0]) if arguments else None
