"""A model behind an OpenAI endpoint that calls tools, correctly or with planted errors.

caller = Caller(items, errors={"3": "unit"})
with ToolServer(caller) as server:
    ...  # the reply to a question is a call, the reply to a tool's result an answer
server.calls                  # the requests received
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
from tests.fault_server import Call, Fault, FaultServer, chat_completion

Error = Literal["no_call", "tool", "value", "unit", "missing", "extra", "unused"]
"""Errors to plant: no call, another tool, one wrong argument, an answer that is not the tool's result."""

ARGUMENT_ERRORS: tuple[Error, ...] = ("value", "unit", "missing", "extra")
"""Errors of an argument; not every call can have each of them."""


def right_tool(item: Item) -> AnyCalculator:
    """The calculator that an item's question needs."""
    return find_calculator(int(item.fields["calculator_id"]))


def right_arguments(item: Item) -> dict[str, object]:
    """The calculator's right arguments; none where they are not known."""
    try:
        return known_arguments(right_tool(item), entities_of(item.fields))
    except CalculatorInputError:
        return {}


def planted(item: Item, error: Error) -> dict[str, object]:
    """The right arguments with one error planted; unchanged where the item cannot have it."""
    arguments = right_arguments(item)
    numbers = [
        quantity
        for quantity in right_tool(item).inputs
        if isinstance(quantity, Quantity)
        and isinstance(arguments.get(quantity.parameter), float)
    ]
    chooser = random.Random(f"planted:{item.id}")
    if error == "extra":
        arguments["shoe_size"] = 42
    elif error == "missing":
        stated = [
            quantity.parameter
            for quantity in right_tool(item).inputs
            if quantity.absent is REQUIRED and quantity.parameter in arguments
        ]
        if stated:
            del arguments[chooser.choice(stated)]
    elif error == "value" and numbers:
        name = chooser.choice(numbers).parameter
        arguments[name] = round(float(str(arguments[name])) * 1.2, 3)
    elif error == "unit":
        entities = right_tool(item).values_by_parameter(entities_of(item.fields))
        for quantity in numbers:
            raw, right = entities[quantity.parameter], arguments[quantity.parameter]
            number = raw[0] if isinstance(raw, list) else raw
            if not math.isclose(float(str(number)), float(str(right)), rel_tol=0.1):
                arguments[quantity.parameter] = number
                break
    return arguments


@dataclass(frozen=True)
class Caller:
    """A model that has the items: it calls the right tool and answers with its result.

    Attributes:
        items: the items of its questions, found by note and question.
        errors: item id to the error to plant.
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
        """The model's call for an item; None if it makes none."""
        error = self.errors.get(item.id)
        if error == "no_call":
            return None
        tool = right_tool(item)
        if error == "tool":
            tool = next(
                calculator for calculator in CALCULATORS if calculator is not tool
            )
        arguments = right_arguments(item) if error is None else planted(item, error)
        return ToolCall(id=f"call_{item.id}", name=tool.slug, arguments=arguments)

    def answer(self, item: Item) -> str:
        """The model's answer after the result, or without a call: the gold, or a wrong number."""
        gold = item.fields["ground_truth_answer"]
        unused = self.errors.get(item.id) == "unused"
        return json.dumps({"answer": "12345.678" if unused else gold})

    def conversation(self, item: Item) -> Answer:
        """The whole conversation about an item, as a scorer receives it."""
        call = self.call(item)
        text = self.answer(item)
        messages: list[Message] = []
        if call is not None:
            messages = answered_calls("", [call], [call["name"]])
        return Answer(
            text=text, conversation=(*messages, Message(role="assistant", content=text))
        )


class ToolServer(FaultServer):
    """Serves the caller by HTTP."""

    def __init__(self, caller: Caller, **named: Any) -> None:
        super().__init__(**named)
        self._caller = caller

    def good(self, call: Call) -> Fault:
        """A call as the reply to a question, an answer as the reply to a tool's result."""
        messages = call.body["messages"]
        item = self._caller.item_of(messages[0]["content"])
        tool_call = self._caller.call(item)
        if tool_call is None or messages[-1]["role"] == "tool":
            answer = {"role": "assistant", "content": self._caller.answer(item)}
            return Fault.json_body(chat_completion(call, [(answer, "stop")]))
        function = {
            "name": tool_call["name"],
            "arguments": json.dumps(tool_call["arguments"]),
        }
        calls = [{"id": tool_call["id"], "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return Fault.json_body(chat_completion(call, [(message, "tool_calls")]))
