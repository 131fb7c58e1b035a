"""A model that calls tools behind an OpenAI endpoint, right or with errors planted in its calls.

caller = Caller(items, errors={"3": "unit"})
with ToolServer(caller) as server:
    ...  # each first question gets a call, each result of a tool an answer
server.calls                  # what it was sent
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from medical_tasks.benchmarks.medcalc_bench.gold import entities_of
from medical_tasks.benchmarks.medcalc_bench.tool_protocol import answered_calls
from medical_tasks.calculators import CALCULATORS, AnyCalculator, CalculatorInputError
from medical_tasks.calculators import find as find_calculator
from medical_tasks.calculators.inputs import REQUIRED, Quantity
from medical_tasks.calculators.tools import known_arguments
from medical_tasks.spec import Answer, Item, Message, ToolCall
from tests.fault_server import Call, Fault, FaultServer

Error = Literal["no_call", "tool", "value", "unit", "missing", "extra", "unused"]
"""What is planted: nothing is called, another tool, one argument is wrong, the result is not the answer."""

ARGUMENT_ERRORS: tuple[Error, ...] = ("value", "unit", "missing", "extra")
"""Those of an argument; not every call can have each."""


def right_tool(item: Item) -> AnyCalculator:
    """The calculator that an item asks for."""
    return find_calculator(int(item.fields["calculator_id"]))


def right_arguments(item: Item) -> dict[str, object]:
    """Its right arguments; none where they are not known."""
    try:
        return known_arguments(right_tool(item), entities_of(item.fields))
    except CalculatorInputError:
        return {}


def planted(item: Item, error: Error) -> dict[str, object]:
    """The right arguments with one error; unchanged where the item cannot have it."""
    arguments = right_arguments(item)
    numbers = [
        each
        for each in right_tool(item).inputs
        if isinstance(each, Quantity)
        and isinstance(arguments.get(each.parameter), float)
    ]
    chooser = random.Random(f"planted:{item.id}")
    if error == "extra":
        arguments["shoe_size"] = 42
    elif error == "missing":
        stated = [
            each.parameter
            for each in right_tool(item).inputs
            if each.absent is REQUIRED and each.parameter in arguments
        ]
        if stated:
            del arguments[chooser.choice(stated)]
    elif error == "value" and numbers:
        name = chooser.choice(numbers).parameter
        arguments[name] = round(float(str(arguments[name])) * 1.2, 3)
    elif error == "unit":
        entities = right_tool(item).values_by_parameter(entities_of(item.fields))
        for each in numbers:
            raw, right = entities[each.parameter], arguments[each.parameter]
            number = raw[0] if isinstance(raw, list) else raw
            if not math.isclose(float(str(number)), float(str(right)), rel_tol=0.1):
                arguments[each.parameter] = number
                break
    return arguments


@dataclass(frozen=True)
class Caller:
    """A model that knows the items: it calls the right tool and answers with its result.

    Attributes:
        items: what it may be asked, found by their notes.
        errors: item id to what it does wrong.
    """

    items: Sequence[Item]
    errors: Mapping[str, Error] = field(default_factory=dict)

    def item_of(self, question: str) -> Item:
        """The item that a question is about."""
        return next(
            item
            for item in self.items
            if f"{item.fields['patient_note']}\n\nQuestion:\n{item.fields['question']}"
            in question
        )

    def call(self, item: Item) -> ToolCall | None:
        """Its call, None for none."""
        error = self.errors.get(item.id)
        if error == "no_call":
            return None
        tool = right_tool(item)
        if error == "tool":
            tool = next(each for each in CALCULATORS if each is not tool)
        arguments = right_arguments(item) if error is None else planted(item, error)
        return ToolCall(id=f"call_{item.id}", name=tool.slug, arguments=arguments)

    def answer(self, item: Item) -> str:
        """Its answer when it has a result, or made no call: the gold, or something else."""
        gold = item.fields["ground_truth_answer"]
        unused = self.errors.get(item.id) == "unused"
        return json.dumps({"answer": "12345.678" if unused else gold})

    def conversation(self, item: Item) -> Answer:
        """All that comes of an item, as a scorer gets it."""
        call = self.call(item)
        text = self.answer(item)
        said: list[Message] = []
        if call is not None:
            said = answered_calls("", [call], [call["name"]])
        return Answer(
            text=text, conversation=(*said, Message(role="assistant", content=text))
        )


class ToolServer(FaultServer):
    """The caller behind HTTP."""

    def __init__(self, caller: Caller, **named: Any) -> None:
        super().__init__(**named)
        self._caller = caller

    def good(self, call: Call) -> Fault:
        """A call for a question, an answer for a tool's result."""
        messages = call.body["messages"]
        item = self._caller.item_of(messages[0]["content"])
        asked = self._caller.call(item)
        if asked is None or messages[-1]["role"] == "tool":
            answer = {"role": "assistant", "content": self._caller.answer(item)}
            return self._completed(call, answer, "stop")
        function = {
            "name": asked["name"],
            "arguments": json.dumps(asked["arguments"]),
        }
        calls = [{"id": asked["id"], "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return self._completed(call, message, "tool_calls")

    def _completed(self, call: Call, message: Mapping[str, Any], finish: str) -> Fault:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        body = {
            "id": f"chatcmpl-{call.number}",
            "created": 1_700_000_000,
            "object": "chat.completion",
            "model": call.body["model"],
            "choices": [choice],
            "usage": usage,
        }
        return Fault.json_body(body)
