"""A judge by its name, ready to be asked: backend, store and session opened together and closed together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import JudgeOptions
from medical_tasks.judges.opener import open_judge
from medical_tasks.judges.session import JudgeSession
from medical_tasks.store import Store

__all__ = ["open_session"]


@contextlib.contextmanager
def open_session(
    name: str,
    args: Mapping[str, str],
    options: JudgeOptions,
    *,
    store: Path,
    log_dir: Path,
    label: str = "",
    must_read: bool = False,
) -> Iterator[JudgeSession]:
    """Opens a judge for the length of a `with` block.

    Args:
        name: for example `openai-api/my-host/my-model`.
        args: settings of its backend.
        options: how it is asked.
        store: file of finished replies.
        log_dir: where a server started for it writes its log.
        label: what is judged, for progress and forecast.
        must_read: whether it has to read prompts, which judges of entailment do not.

    Raises:
        UsageError: Unknown kind of judge, bad options, votes of a judge that always says the same, or one that cannot read.
        MissingError: A package, key or file it needs is not there.
    """
    backend = open_judge(name, args, votes=options.votes, log_dir=log_dir)
    try:
        if must_read and backend.reads != "prompt":
            raise UsageError(
                f"the judge {name} compares two texts and reads no instructions. Choose one that does: "
                "openai-api/HOST/NAME, vllm-server/NAME, hf/PATH or inspect/PROVIDER/NAME."
            )
        with Store(store) as opened:
            yield JudgeSession(backend, options, opened, label=label)
    finally:
        backend.close()
