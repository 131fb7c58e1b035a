from __future__ import annotations

from pathlib import Path

from medical_tasks.spec import Item, Message, PromptSet, TaskSpec


def _render(item: Item) -> tuple[Message, ...]:
    return (
        Message(
            role="user",
            content=f"Case {item.id}. Why was she admitted?\n\n{item.fields['note']}",
        ),
    )


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> PromptSet:
    return PromptSet(
        name=name,
        sha256="0" * 64,
        render=_render,
        sources=lambda item: (item.fields["note"],),
    )


def gold_response(task: TaskSpec, item: Item) -> str:
    return str(item.fields["gold"])
