"""From a judge's name to the judge. Each kind is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Backend
from medical_tasks.models.opener import NEUTRAL_ARGS

__all__ = ["JUDGE_KINDS", "NEUTRAL_JUDGE_ARGS", "open_judge"]

JUDGE_KINDS: dict[str, str] = {
    "lexical": "lexical: word overlap; offline, needs nothing, its numbers are NOT COMPARABLE with anybody's",
    "nli": "nli/PATH_OR_REPO: a local entailment model, T5 in the TRUE form or sequence classification",
    "openai-api": "openai-api/HOST_ALIAS/MODEL: any OpenAI-compatible server or API",
    "vllm-server": "vllm-server/NAME: a vLLM server started and stopped for the run, or with base_url one that runs",
    "transformers-server": "transformers-server/PATH: a `transformers serve` started and stopped for the run",
    "hf": "hf/PATH_OR_REPO: a local chat model through lighteval's transformers backend",
    "vllm": "vllm/PATH_OR_REPO: a local chat model through lighteval's vLLM backend (second environment)",
    "inspect": "inspect/PROVIDER/MODEL: any model provider of inspect_ai",
    "recorded": "recorded/FILE: verdicts that are in a file already",
}

# What changes no verdict: how much is asked at once, for how long, what it costs. A run may go on with others.
NEUTRAL_JUDGE_ARGS = NEUTRAL_ARGS | {"n_choices", "price_in", "price_out", "varies"}

_SAMPLING = ("openai-api", "vllm-server", "transformers-server", "hf", "vllm", "inspect")


def open_judge(name: str, options: Mapping[str, str], *, votes: int = 1, log_dir: Path) -> Backend:
    """Opens a judge. Nothing is sent anywhere yet, but what can be checked is checked.

    Args:
        name: for example `lexical`, or `openai-api/my-host/my-model`.
        options: arguments of its kind. With several votes and no `temperature` it is 1: votes at 0 are all the same.
        votes: votes a question.
        log_dir: where a server started for the run writes its log.

    Raises:
        UsageError: Unknown kind, or bad arguments.
        MissingError: A package, key, file or server is not there; says how to get it.
    """
    kind, slash, rest = name.partition("/")
    if kind not in JUDGE_KINDS or (kind == "lexical") == bool(slash) or (slash and not rest):
        kinds = "\n".join(f"  {line}" for line in JUDGE_KINDS.values())
        raise UsageError(f"unknown judge {name!r}. A judge is one of:\n{kinds}")
    if votes > 1 and kind in _SAMPLING:
        options = {"temperature": "1", **options}
    if kind == "lexical":
        from medical_tasks.judges.lexical import LexicalJudge

        if options:
            raise UsageError(f"the lexical judge takes no arguments, got {', '.join(options)}. Leave them out.")
        return LexicalJudge()
    if kind == "nli":
        from medical_tasks.judges.nli import open_nli

        return open_nli(name, options)
    if kind in ("hf", "vllm"):
        from medical_tasks.judges.local import LocalJudge
        from medical_tasks.models.opener import open_model

        return LocalJudge(open_model(name, options, log_dir=log_dir))
    if kind == "inspect":
        from medical_tasks.judges.inspect_judge import open_inspect

        return open_inspect(name, options)
    if kind == "recorded":
        raise UsageError(f"{name!r} holds verdicts; they are read without opening a judge.")
    from medical_tasks.judges.chat import open_chat

    return open_chat(name, options, log_dir=log_dir)
