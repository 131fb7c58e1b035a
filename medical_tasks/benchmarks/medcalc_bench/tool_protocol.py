"""`medcalc_tools`: the model is offered calculators as tools, and its calls are answered until it gives an answer.

The tools are the published rules of `medical_tasks.calculators`. Which ones an item's
model is offered is drawn by the item's id, so that it depends on nothing else.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from medical_tasks.benchmarks.medcalc_bench import prompts
from medical_tasks.benchmarks.medcalc_bench.gold import entities_of
from medical_tasks.calculators import CALCULATORS, CalculatorInputError, find
from medical_tasks.calculators.tools import (
    call,
    known_arguments,
    tool_of,
    tools_sha256,
)
from medical_tasks.errors import UsageError
from medical_tasks.spec import (
    Answer,
    Ask,
    Asking,
    Dialogue,
    Done,
    Item,
    Message,
    MultiStep,
    PromptSet,
    Records,
    TaskSpec,
    Tool,
    ToolCall,
    Turn,
)

__all__ = ["gold_answer", "load_prompts", "open_protocol"]

ALL: Final = "all"
OFFERED: Final = 10
"""How many tools are offered: enough that the right one must be chosen, and few enough for a small context."""
TURNS: Final = 5
"""How often the model is asked: one call, an error to learn from or two, and the answer."""
_MOST_TURNS: Final = 50
_SEED: Final = 20261129
"""Decides which tools are drawn."""

TOOLS_ARGUMENT: Final = "tools"
TURNS_ARGUMENT: Final = "turns"


def load_prompts(task: TaskSpec, asking: Asking) -> PromptSet:
    """The question with the tools offered; which ones is part of the settings."""
    count = _offered(asking.arguments)
    base_prompts = prompts.load_prompts(
        task, asking.prompts, asking.upstream, config=asking.config
    )
    settings = {
        TOOLS_ARGUMENT: count,
        "tools_sha256": tools_sha256(),
        "tools_seed": _SEED,
    }

    return replace(
        base_prompts,
        settings={**base_prompts.settings, **settings},
        tools=lambda item: offered_tools(item, count),
    )


def offered_tools(item: Item, count: int) -> tuple[Tool, ...]:
    """The right tool among others, in an order that says nothing; all have the dataset's."""
    if count == len(CALCULATORS):
        return tuple(tool_of(entry) for entry in CALCULATORS)
    right = find(int(item.fields["calculator_id"]))
    others = [entry for entry in CALCULATORS if entry is not right]
    chooser = random.Random(f"{_SEED}:{item.id}")  # noqa: S311 - a draw, not a secret
    drawn = [right, *chooser.sample(others, count - 1)]
    chooser.shuffle(drawn)
    return tuple(tool_of(entry) for entry in drawn)


def _offered(arguments: Mapping[str, str]) -> int:
    text = arguments.get(TOOLS_ARGUMENT, str(OFFERED))
    most = len(CALCULATORS)
    if text == ALL:
        return most
    return _whole_number(TOOLS_ARGUMENT, text, most, f"{ALL} or a")


def _turns(arguments: Mapping[str, str]) -> int:
    text = arguments.get(TURNS_ARGUMENT, str(TURNS))
    return _whole_number(TURNS_ARGUMENT, text, _MOST_TURNS, "a")


def _whole_number(name: str, text: str, most: int, allowed: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= most:
        raise UsageError(
            f"--task-args {name}: {allowed} whole number from 1 to {most} is expected, got "
            f"{text!r}."
        )
    return number


def open_protocol(task: TaskSpec, asking: Asking) -> MultiStep:
    """Opens the protocol."""
    return ToolProtocol(
        count=_offered(asking.arguments), turns=_turns(asking.arguments)
    )


class ToolProtocol:
    """Calls, answered until the model answers without one or its turns are used up."""

    def __init__(self, *, count: int = OFFERED, turns: int = TURNS) -> None:
        self._count = count
        self._turns = turns
        self.identity: Mapping[str, object] = {
            "name": "tools",
            "turns": turns,
            "tools": count,
            "tools_sha256": tools_sha256(),
        }

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Answers each dialogue's last calls; a reply without any is final."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        if not dialogue.calls[-1] or len(dialogue.answers) >= self._turns:
            return Done(dialogue.answers[-1])
        tools = offered_tools(dialogue.item, self._count)
        chat = list(dialogue.opening)
        for text, calls in zip(dialogue.answers, dialogue.calls, strict=True):
            chat += answered_calls(text, calls, [tool.name for tool in tools])
        return Ask(tuple(chat), tools=tools)


def answered_calls(
    text: str, calls: Sequence[ToolCall], names: Sequence[str]
) -> list[Message]:
    """A reply with calls, and the result of each."""
    message: Message = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    results: list[Message] = [
        {
            "role": "tool",
            "content": result_of(tool_call, names),
            "tool_call_id": tool_call["id"],
        }
        for tool_call in calls
    ]

    return [message, *results]


def result_of(tool_call: ToolCall, names: Sequence[str]) -> str:
    """What a model reads about a call; `names` are the tools that it was offered."""
    if tool_call["name"] not in names:
        return (
            f"Error: there is no tool {tool_call['name']!r}. Tools: {', '.join(names)}."
        )
    if "raw" in tool_call:
        return "Error: the arguments are no JSON object. Write them as one, and call again."
    return call(find(tool_call["name"]), tool_call["arguments"]).text


def gold_answer(task: TaskSpec, item: Item) -> Answer:
    """The right call, its result and the gold, as a model that does all of it right would have it.

    Of a row whose arguments are not known the call has none.
    """
    text = prompts.gold_response(task, item)
    right = find(int(item.fields["calculator_id"]))
    try:
        arguments = known_arguments(right, entities_of(item.fields))
    except CalculatorInputError:
        arguments = {}

    tool_call = ToolCall(
        id="call00001",
        name=right.slug,
        arguments=json.loads(json.dumps(arguments)),
    )
    answer: Message = {"role": "assistant", "content": text}
    called = answered_calls("", [tool_call], [right.slug])

    return Answer(text=text, conversation=(*called, answer), finish="stop")
