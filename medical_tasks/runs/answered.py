"""A task with its answers, as scoring takes it: of a model, a baseline, a file or another harness.

What asks models is in `runner`: to score answers that are there needs nothing of it.
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
    """One decision: the final answer of a reply, as somebody read it.

    Attributes:
        text: "" where the reply gives none.
        by: `person`, or the judge's name.
    """

    text: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Adjudication:
    """The decisions of a sheet on the answers to one task.

    Attributes:
        sha256: of the file.
        readings: by item.
        unfilled: rows without a reading, whose answers stay unclear.
    """

    sha256: str
    readings: Mapping[str, Reading]
    unfilled: int = 0

    @property
    def texts(self) -> dict[str, str]:
        """The readings as `Benchmark.score_items` takes them."""
        return {name: reading.text for name, reading in self.readings.items()}

    def recipe(self, used: Collection[str]) -> JsonDict:
        """What the recipe says.

        `used` are the items whose answers were unclear, for which alone a reading
        counts.
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
        """Says which readings were not taken, since this version's reader finds the answers clear."""
        unused = [name for name in self.readings if name not in used]
        if unused:
            print(
                f"note: {len(unused)} readings of answers to {task.name} are not used, since these "
                f"answers are not unclear: {listed(unused, _NAMED)}",
                file=sys.stderr,
            )


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """A task with the answers there are.

    Attributes:
        task: the task.
        items: all that were asked.
        responses: item id to the model's text, for each answered item.
        unanswered: item id to the reason.
        recipe: what decided the answers.
        cut: ids of items whose last answer was cut at the length limit.
        thought_only: those of them whose answer holds no text, since reasoning took all
            of it.
        sources: item id to what its question was given beside it.
        scoring_args: `TaskSpec.scoring_arguments` that were given.
        asked: of a task with a protocol, item id to questions answered.
        usage: what the answers took of the model, those of `repeats` included.
        repeats: the same items asked again, from the second repeat on.
        adjudication: what people or a judge decided about unclear answers.
        details: item id to what is known of its answer beside the text; none for texts
            of a file.
        opening: makes the question of an item without a protocol, where one was asked.
        role_usage: what the replies of other roles took, by role.
        reported: of imported answers, the figures of the harness that collected them.
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
    asked: Mapping[str, int] = field(default_factory=dict)
    usage: Usage | None = None
    repeats: Sequence[AnsweredTask] = ()
    adjudication: Adjudication | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    opening: Callable[[Item], tuple[Message, ...]] | None = None
    role_usage: Mapping[str, Usage] = field(default_factory=dict)
    reported: Sequence[ReportedFigure] = ()

    @property
    def given(self) -> frozenset[str]:
        """Names of the settings of its questions and of its scoring that were given."""
        return frozenset([*mapping(self.recipe.get("task_args")), *self.scoring_args])

    @property
    def states_confidence(self) -> bool:
        """Whether answers end with how sure the model is."""
        return self.recipe.get(RECIPE_KEY) == ASKED

    def stated_confidences(self, items: Sequence[Item]) -> dict[str, float]:
        """How sure the answers to some items say to be, by item id, where they say it."""
        if not self.states_confidence:
            return {}
        stated = {
            item.id: split_confidence(self.responses[item.id]).confidence
            for item in items
        }
        return {name: value for name, value in stated.items() if value is not None}

    def told(self, item: Item) -> JsonDict:
        """What is known of an item's answer beside its text; empty for an answer of a file."""
        details: JsonDict = (
            json.loads(self.details[item.id]) if item.id in self.details else {}
        )
        return details

    def answer(self, item: Item) -> Answer:
        """An item's answer, as its scorer gets it."""
        text = self.responses[item.id]
        if self.states_confidence:
            text = split_confidence(text).answer

        details = self.told(item)
        if not details:
            return Answer(text=text)

        conversation = tuple(details.pop("conversation"))
        if "tool_calls" in details:
            details["tool_calls"] = tuple(details["tool_calls"])
        if not conversation and self.opening is not None:
            conversation = (*self.opening(item), {"role": "assistant", "content": text})

        return Answer(text=text, conversation=conversation, **details)
