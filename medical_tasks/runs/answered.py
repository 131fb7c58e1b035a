"""A task with its answers, ready for scoring: from a model, a baseline, a file or another harness.

`runner` asks models; scoring existing answers needs nothing from it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from medical_tasks.errors import listed
from medical_tasks.runs.confidence import ASKED, RECIPE_KEY
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure
from medical_tasks.scoring.stated_confidence import split_confidence
from medical_tasks.spec import Answer, Item, Message, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.models.usage import Usage

_NAMED: Final = 5
"""How many items a message names."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One decision: the final answer of a reply, as a person or a judge read it.

    Attributes:
        text: the answer, "" where the reply gives none.
        by: `person`, or the judge's name.
    """

    text: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Adjudication:
    """A sheet's decisions on the answers to one task.

    Attributes:
        sha256: the file's hash.
        readings: the decisions by item id.
        unfilled: the number of rows without a reading, whose answers stay unclear.
    """

    sha256: str
    readings: Mapping[str, Reading]
    unfilled: int = 0

    @property
    def texts(self) -> dict[str, str]:
        """The readings in the form that `Benchmark.score_items` expects."""
        return {name: reading.text for name, reading in self.readings.items()}

    def recipe(self, used: Collection[str]) -> JsonDict:
        """Describes the decisions for the recipe.

        A reading counts only for items whose answers were unclear, the `used` ones.
        """
        by = Counter(self.readings[name].by for name in self.readings if name in used)
        return {
            "sha256": self.sha256,
            "decisions": by.total(),
            "by": dict(sorted(by.items())),
            "unfilled": self.unfilled,
            "unused": len(self.readings) - by.total(),
        }

    def note_unused(self, task: TaskSpec, used: Collection[str]) -> None:
        """Prints which readings were not used, since this version reads those answers without them."""
        unused = [name for name in self.readings if name not in used]
        if unused:
            print(
                f"note: {len(unused)} readings of answers to {task.name} are not used, since these "
                f"answers are not unclear: {listed(unused, _NAMED)}",
                file=sys.stderr,
            )


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """A task with its answers.

    Attributes:
        task: the task.
        items: all items that were asked.
        responses: item id to the model's text, for each answered item.
        unanswered: item id to the reason, for each item without an answer.
        recipe: everything that decided the answers.
        cut: ids of items whose last answer was cut at the length limit.
        thought_only: ids of those among them whose answer holds no text, since reasoning
            used up all tokens.
        sources: item id to the documents that its question was given besides the item.
        scoring_args: values of the task's `TaskSpec.scoring_arguments`.
        question_counts: item id to the number of questions answered, for a task with a
            protocol.
        usage: the model's usage for the answers, those of `repeats` included.
        repeats: the same items asked again, from the second repeat on.
        adjudication: what people or a judge decided about unclear answers.
        details: item id to JSON of what is known about its answer besides the text; empty
            for answers from a file.
        opening: renders the question of an item, where one was asked without a protocol.
        role_usage: the usage of the other roles' replies, by role.
        reported: for imported answers, the figures of the harness that collected them.
    """

    task: TaskSpec
    items: Sequence[Item]
    responses: Mapping[str, str]
    unanswered: Mapping[str, str]
    recipe: Json
    cut: frozenset[str] = frozenset()
    thought_only: frozenset[str] = frozenset()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scoring_args: Mapping[str, str] = field(default_factory=dict)
    question_counts: Mapping[str, int] = field(default_factory=dict)
    usage: Usage | None = None
    repeats: Sequence[AnsweredTask] = ()
    adjudication: Adjudication | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    opening: Callable[[Item], tuple[Message, ...]] | None = None
    role_usage: Mapping[str, Usage] = field(default_factory=dict)
    reported: Sequence[ReportedFigure] = ()

    @property
    def argument_names(self) -> frozenset[str]:
        """Names of the task and scoring arguments that were given."""
        return frozenset([*mapping(self.recipe.get("task_args")), *self.scoring_args])

    @property
    def states_confidence(self) -> bool:
        """Whether each answer ends with the model's stated confidence."""
        return self.recipe.get(RECIPE_KEY) == ASKED

    def stated_confidences(self, items: Sequence[Item]) -> dict[str, float]:
        """Returns the confidence that answers state, by item id, for those that state one."""
        if not self.states_confidence:
            return {}
        stated = {
            item.id: split_confidence(self.responses[item.id]).confidence
            for item in items
        }
        return {name: value for name, value in stated.items() if value is not None}

    def details_of(self, item: Item) -> JsonDict:
        """Returns what is known about an item's answer besides its text; empty if read from a file."""
        details: JsonDict = (
            json.loads(self.details[item.id]) if item.id in self.details else {}
        )
        return details

    def answer(self, item: Item) -> Answer:
        """Returns an item's answer as its scorer receives it."""
        text = self.responses[item.id]
        if self.states_confidence:
            text = split_confidence(text).answer

        details = self.details_of(item)
        if not details:
            return Answer(text=text)

        conversation = tuple(details.pop("conversation"))
        if "tool_calls" in details:
            details["tool_calls"] = tuple(details["tool_calls"])
        if not conversation and self.opening is not None:
            conversation = (*self.opening(item), {"role": "assistant", "content": text})

        return Answer(text=text, conversation=conversation, **details)
