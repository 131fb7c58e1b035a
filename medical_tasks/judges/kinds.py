"""The project's own kinds of judges, as it registers them.

Each module is imported when a judge of its kind is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Backend, JudgeKind


def _open_lexical(name: str, options: Mapping[str, str], log_dir: Path) -> Backend:
    from medical_tasks.judges.lexical import LexicalJudge

    if options:
        raise UsageError(
            f"the lexical judge has no arguments, got {', '.join(options)}. Leave them out."
        )
    return LexicalJudge()


def _open_nli(name: str, options: Mapping[str, str], log_dir: Path) -> Backend:
    from medical_tasks.judges.nli import open_nli

    return open_nli(name, options)


def _open_chat(name: str, options: Mapping[str, str], log_dir: Path) -> Backend:
    from medical_tasks.judges.chat import open_chat

    return open_chat(name, options, log_dir=log_dir)


def _open_local(name: str, options: Mapping[str, str], log_dir: Path) -> Backend:
    from medical_tasks.judges.chat import LocalJudge
    from medical_tasks.models.opening import open_model

    return LocalJudge(open_model(name, options, log_dir=log_dir))


def _open_inspect(name: str, options: Mapping[str, str], log_dir: Path) -> Backend:
    from medical_tasks.judges.inspect_judge import open_inspect_judge

    return open_inspect_judge(name, options)


def _refuse_recorded(name: str, options: Mapping[str, str], log_dir: Path) -> Backend:
    raise UsageError(f"{name!r} holds verdicts; they are read without opening a judge.")


KINDS: Final = (
    JudgeKind(
        name="lexical",
        summary=(
            "lexical: word overlap; offline, needs nothing, its numbers are NOT COMPARABLE with "
            "anybody's"
        ),
        opener=_open_lexical,
        alone=True,
    ),
    JudgeKind(
        name="nli",
        summary=(
            "nli/PATH_OR_REPO: a local entailment model, T5 in the TRUE form or sequence "
            "classification"
        ),
        opener=_open_nli,
    ),
    JudgeKind(
        name="openai-api",
        summary="openai-api/HOST_ALIAS/MODEL: any OpenAI-compatible server or API",
        opener=_open_chat,
        samples=True,
    ),
    JudgeKind(
        name="vllm-server",
        summary=(
            "vllm-server/NAME: a vLLM server started and stopped for the run, or with base_url "
            "one that runs"
        ),
        opener=_open_chat,
        samples=True,
    ),
    JudgeKind(
        name="transformers-server",
        summary=(
            "transformers-server/PATH: a `transformers serve` started and stopped for the run"
        ),
        opener=_open_chat,
        samples=True,
    ),
    JudgeKind(
        name="hf",
        summary="hf/PATH_OR_REPO: a local chat model through lighteval's transformers backend",
        opener=_open_local,
        samples=True,
    ),
    JudgeKind(
        name="vllm",
        summary=(
            "vllm/PATH_OR_REPO: a local chat model through lighteval's vLLM backend (second "
            "environment)"
        ),
        opener=_open_local,
        samples=True,
    ),
    JudgeKind(
        name="inspect",
        summary="inspect/PROVIDER/MODEL: any model provider of inspect_ai",
        opener=_open_inspect,
        samples=True,
    ),
    JudgeKind(
        name="recorded",
        summary="recorded/FILE: verdicts that are in a file already",
        opener=_refuse_recorded,
    ),
)
