"""A judge by its name, ready to be asked: backend, store and session opened together and closed together."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions
from medical_tasks.judges.case import CUT, NO_PAIR, UNREADABLE
from medical_tasks.judges.opener import open_judge
from medical_tasks.judges.session import JudgeSession

__all__ = ["next_step", "open_session"]

_RECORDED = ("judge: not in the recorded verdicts", "judge: recorded ")
# What the same judge with the same settings does the same way again; an unreadable reply is kept, and not asked for anew.
_LASTING = (
    UNREADABLE,
    CUT,
    NO_PAIR,
    "judge: prompt too long",
    "judge: cannot tell",
    "judge: entails and contradicts",
    *_RECORDED,
)


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


def next_step(reasons: Collection[str]) -> str:
    """Says what can be done about questions without a verdict.

    Args:
        reasons: why they have none.
    """
    again = "Give the same command again to ask for the missing ones."
    lasting = "What cannot be read, or is too long, stays so with this judge; another one, or other --judge-args, may do better."
    if CUT in reasons:
        lasting += " Replies that were cut have room with a larger --judge-reply-tokens."
    if reasons and all(reason.startswith(_RECORDED) for reason in reasons):
        return (
            "The file of verdicts does not hold the missing ones: add them to it, or choose a judge that can be asked."
        )
    lost = [reason.startswith(_LASTING) for reason in reasons]
    return " ".join(([again] if not all(lost) else []) + ([lasting] if any(lost) else []))
