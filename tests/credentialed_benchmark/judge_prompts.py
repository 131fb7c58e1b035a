from __future__ import annotations

from pathlib import Path

from medical_tasks.judges.base import JudgePrompts
from medical_tasks.spec import TaskSpec


def load_judge_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> JudgePrompts:
    return JudgePrompts(
        name=name,
        sha256="1" * 64,
        texts={"ask": "Is the answer right? End with true or false."},
    )
