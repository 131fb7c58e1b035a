"""Tools and calls of them in the forms that models take and write.

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
"""Reason of a request whose server takes no tools."""

_BLOCK: Final = Pattern(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCED: Final = Pattern(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)
_THOUGHTS_END: Final = "</think>"
_NAME: Final = Pattern(r'"name"\s*:\s*"([^"\\]{1,64})"')
_ARGUMENTS: Final = ("arguments", "parameters")
"""What models call the arguments: most the first, Llama the second."""


def offered(tools: Sequence[Tool]) -> list[dict[str, object]]:
    """Tools in OpenAI's form, which chat templates take too."""
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
    """Tools as a model reads them, for an estimate of their length; "" for none."""
    return json.dumps(offered(tools)) if tools else ""


def wire_message(message: Message) -> dict[str, object]:
    """A message in OpenAI's form, with the arguments of calls as a text."""
    return _message(message, text_arguments=True)


def template_message(message: Message) -> dict[str, object]:
    """A message as chat templates take it, with the arguments of calls as an object."""
    return _message(message, text_arguments=False)


def _message(message: Message, *, text_arguments: bool) -> dict[str, object]:
    """A message in the form of OpenAI's chat API.

    Args:
        message: its calls have arguments as an object, or as they were written.
        text_arguments: whether arguments are sent as a text of JSON, as over the wire,
            or as an object, as most chat templates want them.
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
    """Reads `message.tool_calls` of a reply; none where there is no such list.

    Some servers give no ids, or one to several calls: they get other ones.
    """
    entries = calls if isinstance(calls, list) else []
    found: list[ToolCall] = []
    for entry in entries:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            continue

        taken = {call["id"] for call in found}
        name = entry.get("id")
        known = isinstance(name, str) and name and name not in taken
        found.append(
            made_call(
                name if known else call_id(len(found)),
                function.get("name"),
                function.get("arguments"),
            )
        )

    return tuple(found)


def call_id(number: int) -> str:
    """An id for a call that has none: nine letters and digits, as Mistral's templates want."""
    return f"call{number + 1:05d}"


def made_call(call: str, name: object, arguments: object) -> ToolCall:
    """A call with its arguments as an object, else with what was written (`raw`)."""
    read = arguments
    if isinstance(arguments, str):
        try:
            # An empty text is what some models write for no arguments.
            read = json.loads(arguments, parse_constant=_no_number) if arguments else {}
        except (ValueError, RecursionError):
            read = None
    elif arguments is None:
        read = {}

    made = ToolCall(id=call, name=name if isinstance(name, str) else "", arguments={})
    if isinstance(read, Mapping):
        made["arguments"] = dict(read)
    else:
        made["raw"] = arguments if isinstance(arguments, str) else json.dumps(arguments)

    return made


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")


def written_calls(
    text: str, names: Collection[str]
) -> tuple[str, tuple[ToolCall, ...]]:
    """The calls that a local model wrote into its text, and the text without them.

    They stand in `<tool_call>` blocks, or the whole answer is one object, or a list of
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
        made_call(call_id(number), name, arguments)
        for number, (name, arguments) in enumerate(calls)
    )
    return (thoughts + mark + rest).strip() if numbered else text, numbered


_Written = tuple[str, object]
"""Name and arguments of a call, as they were written."""


def _read_block(block: str) -> Iterator[_Written]:
    """The call of a block; one that is no JSON is kept as it was written."""
    try:
        value = json.loads(block, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = None

    calls = [each for one in _listed(value) if (each := _call_of(one)) is not None]
    if calls:
        yield from calls
        return

    name = _NAME.search(block)
    yield (name[1] if name else ""), block.strip()


def _bare_calls(answer: str, names: Collection[str]) -> Iterator[_Written]:
    """Calls that are all of an answer: an object, or a list of them, of JSON.

    None where a single one names no tool that was offered, as an answer may be JSON.
    """
    fenced = _FENCED.fullmatch(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return

    calls = [_call_of(one) for one in _listed(value)]
    # Another object may be the answer.
    if all(call is not None and call[0] in names for call in calls):
        yield from (call for call in calls if call is not None)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _call_of(value: object) -> _Written | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    given = [value[name] for name in _ARGUMENTS if name in value]
    return (value["name"], given[0]) if given else None
