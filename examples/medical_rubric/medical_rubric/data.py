"""The dataset, and physicians' labels of criteria, from JSON Lines as the authors publish them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat

from medical_rubric.declarations import DATASET
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.io.columns import Column
from medical_tasks.io.forms import OpenForm, form_lines
from medical_tasks.judges.rubrics import CHAT, CRITERIA, Labelled
from medical_tasks.spec import Message, Row

AGAIN: Final = "Download the file again."


class ChatMessage(OpenForm):
    """A message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Rubric(OpenForm):
    """A criterion."""

    criterion: str
    points: FiniteFloat
    tags: list[str]


def _ends_with_user(chat: list[ChatMessage]) -> list[ChatMessage]:
    if chat[-1].role != "user":
        raise ValueError("must end with a message of the user")
    return chat


def _can_be_earned(rubrics: list[Rubric]) -> list[Rubric]:
    if max(rubric.points for rubric in rubrics) <= 0:
        raise ValueError("must have points above 0")
    return rubrics


Chat = Annotated[list[ChatMessage], Field(min_length=1), AfterValidator(_ends_with_user)]
Rubrics = Annotated[list[Rubric], Field(min_length=1), AfterValidator(_can_be_earned)]


class Ideal(OpenForm):
    """A physician's reply."""

    ideal_completion: str


class Conversation(OpenForm):
    """A line of the dataset."""

    prompt_id: str
    prompt: Chat
    rubrics: Rubrics
    example_tags: list[str]
    ideal_completions_data: Ideal | None = None


class Judged(OpenForm):
    """A line of the meta-evaluation: a criterion and physicians' verdicts on a reply."""

    prompt: Chat
    completion: str
    rubric: str
    category: str
    binary_labels: Annotated[list[bool], Field(min_length=1)]


def _messages(chat: list[ChatMessage]) -> list[Message]:
    return [Message(role=message.role, content=message.content) for message in chat]


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    path = files.get("file", Path(__file__).with_name("demo.jsonl"))
    for line in form_lines(path, Conversation, again=AGAIN):
        ideal = line.ideal_completions_data
        yield {
            "id": line.prompt_id,
            "prompt": _messages(line.prompt),
            "criteria": [
                {"text": rubric.criterion, "points": rubric.points, "tags": rubric.tags}
                for rubric in line.rubrics
            ],
            "theme": [tag.removeprefix("theme:") for tag in line.example_tags],
            "reply": ideal.ideal_completion if ideal else "",
        }


def read_labels(path: Path) -> Iterator[Labelled]:
    """A criterion a line."""
    for number, line in enumerate(form_lines(path, Judged, again=AGAIN), start=1):
        yield Labelled(
            id=f"line {number}",
            conversation=_messages(line.prompt),
            reply=line.completion,
            criterion=line.rubric,
            labels=line.binary_labels,
            group=line.category,
        )


FILES: Final = {
    "full": "2025-05-07-06-14-12_oss_eval.jsonl",
    "hard": "hard_2025-05-08-21-00-10.jsonl",
    "consensus": "consensus_2025-05-09-20-00-46.jsonl",
}
SOURCES: Final = (
    DatasetSource(
        spec=DATASET,
        summary="Conversations about health, with criteria of a good reply and their points.",
        changes=("Fields beside those of the table are left out. `demo` is invented.",),
        columns=(
            Column(name="id", description="prompt_id of the conversation"),
            CHAT,
            CRITERIA,
            Column(name="theme", description="its example_tags", repeated=True),
            Column(name="reply", description="a physician's; empty where there is none"),
        ),
        key="id",
        id_names=("prompt_id",),
        splits=dict.fromkeys(DATASET.configs, ("test",)),
        files={"demo": {}}
        | {
            config: {"file": OfficialFile(places=(name,), description="JSON Lines")}
            for config, name in FILES.items()
        },
        read=_read,
        published="2025-05-12",
        creators=("OpenAI",),
    ),
)
