"""What a package is checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["VerifyOptions"]


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What a package is checked against.

    Attributes:
        data: folder of the built datasets; the user's data home by default.
        source: what the dataset is made of, in place of `data`.
        responses: the answers, for credentialed data: a file of answers, or the folder of the run.
        upstream: the authors' checkout, for official prompts.
        task_args: settings whose value is a file or a folder, which no package names (`documents`, `bertscore`, ...).
        judge: who is asked again, for a task with a judge; only the recipe's own.
        judge_args: settings of its backend.
        sample: about how many items the judge is asked again.
        seed: which ones.
    """

    data: Path | None = None
    source: Path | None = None
    responses: Path | None = None
    upstream: Path | None = None
    task_args: Mapping[str, str] = field(default_factory=dict)
    judge: str = ""
    judge_args: Mapping[str, str] = field(default_factory=dict)
    sample: int = 20
    seed: int = 0
