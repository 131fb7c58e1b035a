"""The record of checks: how well each judge did when it was last compared with people.

`medical-tasks judge-check` writes it, `run` and `score` show it. It is one small JSON file in the user's data home, since
it belongs to the judge and not to a run. A judge is known by its identity, its votes, the way it is asked and the prompts:
what was measured with one of them says little about another.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.dataset_store import datasets_home
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.store import content_key
from medical_tasks.whole_file import WholeFile

__all__ = ["check_key", "checks_file", "describe", "last_check", "record_check", "summary_of"]

FORMAT: Final = 1
_PREFERRED = "kqa"
"""Set of pairs whose check is shown where there are several: the only one that physicians labelled for this use."""


def checks_file() -> Path:
    """Where the record is kept: beside the built datasets."""
    return datasets_home() / "judge_checks.json"


def check_key(identity: Mapping[str, Any], *, votes: int = 1, mode: str = "single", prompts: str = "own") -> str:
    """What a check is filed under.

    Args:
        identity: the backend's.
        votes: votes a question.
        mode: `single` or `batched`.
        prompts: `own` or `official`.
    """
    return content_key({"identity": dict(identity), "votes": votes, "mode": mode, "prompts": prompts})


def record_check(key: str, check: Mapping[str, Any]) -> bool:
    """Keeps a check as the last one of its judge on its set of pairs.

    A check of fewer pairs does not take the place of one of more, so that a quick try does not wipe out the whole.

    Args:
        key: from `check_key`.
        check: from `summary_of`.

    Returns:
        Whether it was kept.

    Raises:
        UsageError: The record is damaged.
        IncompleteError: The record cannot be written.
    """
    path = checks_file()
    with _alone(path.parent):
        checks = _read(path)
        there = checks.setdefault(key, {}).get(check["set"])
        if there is not None and there["scored"] > check["scored"]:
            return False
        checks[key][check["set"]] = dict(check)
        text = json.dumps({"format": FORMAT, "checks": checks}, ensure_ascii=False, indent=1, sort_keys=True)
        with WholeFile(path) as part:
            part.write(text + "\n")
    return True


def summary_of(check: Mapping[str, Any]) -> dict[str, Any]:
    """Takes from a whole check (content of `check.json`) what is kept of it: the figures of three classes, or of two."""
    figures = check["figures"]
    way = "two_way" if figures["three_way"] is None else "three_way"
    people = figures["people"]
    return {
        "set": check["set"],
        "date": check["date"],
        "judge": check["judge"]["name"],
        "pairs": check["pairs"],
        "scored": check["scored"],
        "ways": 2 if way == "two_way" else 3,
        "accuracy": figures[way]["accuracy"],
        "kappa": figures[way]["kappa"],
        "pairwise": None if people is None else people[way]["pairwise_agreement"]["value"],
        "source": check["source"],
        "prompts": check["prompts"],
        "suite_version": check["suite_version"],
    }


def last_check(
    identity: Mapping[str, Any], *, votes: int = 1, mode: str = "single", prompts: str = "own"
) -> dict[str, Any] | None:
    """Looks up the last check of a judge: on K-QA's pairs, or on what there is.

    A record that cannot be read does not end a run: what is wrong with it is returned, for `describe` to tell.

    Args:
        identity: the backend's.
        votes: votes a question.
        mode: `single` or `batched`.
        prompts: `own` or `official`.

    Returns:
        The check as it was recorded; None when there is none; `{"problem": ...}` when the record is damaged.
    """
    try:
        found = _read(checks_file()).get(check_key(identity, votes=votes, mode=mode, prompts=prompts))
    except UsageError as error:
        return {"problem": str(error)}
    if not found:
        return None
    if _PREFERRED in found:
        return found[_PREFERRED]
    return max(found.values(), key=lambda check: str(check["date"]))


def describe(
    check: Mapping[str, Any] | None, *, judge: str, votes: int = 1, mode: str = "single", prompts: str = "own"
) -> str:
    """Says in one line how far a judge is to be trusted.

    Args:
        check: from `last_check`.
        judge: the name the user gave.
        votes: as in `last_check`; for the command that would check it.
        mode: likewise.
        prompts: likewise.
    """
    if check is None:
        asked = {"--votes": (votes, 1), "--judging": (mode, "single"), "--prompts": (prompts, "own")}
        options = "".join(f" {name} {value}" for name, (value, usual) in asked.items() if value != usual)
        return f"judge {judge} was never checked: medical-tasks judge-check kqa --judge {judge}{options}"
    if "problem" in check:
        return f"judge {judge}: its checks are not known. {check['problem']}"
    pairs = f"{check['pairs']} pairs"
    if check["scored"] < check["pairs"]:
        pairs = f"{check['scored']} of {pairs}"
    ways = "" if check["ways"] == 3 else ", entailed or not"
    parts = f"accuracy {_figure(check['accuracy'])}, kappa {_figure(check['kappa'])}"
    humans = f"; physicians agree pairwise {check['pairwise']:.3f}" if check.get("pairwise") is not None else ""
    return f"judge {judge}: checked on {check['set']} ({pairs}{ways}, {check['date']}): {parts}{humans}"


def _figure(estimate: Mapping[str, Any]) -> str:
    value, low, high = estimate["value"], estimate["ci_low"], estimate["ci_high"]
    if value is None:
        return "not defined"
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f} to {high:.2f})"


def _read(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The checks by key and set."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: the record of checks cannot be read ({system_reason(error)}).") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "not JSON") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("checks"), dict):
        raise _damaged(path, f"not an object of format {FORMAT}")
    checks: dict[str, dict[str, dict[str, Any]]] = content["checks"]
    for entry in checks.values():
        if not isinstance(entry, dict) or not all(_is_check(check) for check in entry.values()):
            raise _damaged(path, "an entry is no check")
    return checks


def _is_check(check: Any) -> bool:
    if not isinstance(check, dict):
        return False
    counts = all(isinstance(check.get(name), int) for name in ("pairs", "scored", "ways"))
    words = all(isinstance(check.get(name), str) for name in ("set", "date", "judge"))
    estimates = all(_is_estimate(check.get(name)) for name in ("accuracy", "kappa"))
    return counts and words and estimates and isinstance(check.get("pairwise"), float | int | None)


def _is_estimate(value: Any) -> bool:
    names = ("value", "ci_low", "ci_high")
    return isinstance(value, dict) and all(isinstance(value.get(name), float | int | None) for name in names)


def _damaged(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path}: the record of checks is damaged ({reason}). Delete it and run judge-check again.")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps other processes from reading and writing the record in between; frees itself when the process ends."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: the file is whole all the same, the later of two checks wins
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be used for the record of checks ({system_reason(error)}). Set MEDICAL_TASKS_DATA to a folder "
            "that can be written."
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
