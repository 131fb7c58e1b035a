"""The record of checks: how well each judge did when it was last compared with people (docs/judge_check.md).

A judge is known by its identity, votes, judging mode and prompts, and a check belongs
to a set of labelled pairs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import medical_tasks.catalog as catalog
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import (
    WholeFile,
    folder_lock,
    read_bytes,
    read_text,
    readable,
)
from medical_tasks.io.store import content_key
from medical_tasks.io.user_folders import datasets_home
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.spec import TaskSpec

if TYPE_CHECKING:
    from medical_tasks.judges.check_sets import CheckSetSource

FORMAT: Final = 1
CHECK_FORMAT: Final = 2
"""Of `check.json`; since 2 it holds each pair's labels."""
GENERAL = ("anli", "mednli", "nli")
"""Sets of pairs that belong to no benchmark: shown where a judge was not checked on a benchmark's own."""


def check_set_of(task: TaskSpec) -> str:
    """Names the set of labelled pairs that is a task's own.

    One for all tasks of its benchmark, else its dataset, and its format where it has
    one.
    """
    if task.benchmark.check_set:
        return task.benchmark.check_set
    return "_".join(filter(None, (task.dataset, task.options.get("format", ""))))


def asked_of(check: Mapping[str, Any]) -> dict[str, Any]:
    """The judge of a check and how it was asked, as far as it must be the same elsewhere.

    By the names of a recipe's judge.
    """
    keys = ("votes",) if check["set"] in GENERAL else ("votes", "mode", "prompts")
    judge = check["judge"]
    return {
        "name": judge["name"],
        **judge["identity"],
        **{key: check[key] for key in keys},
    }


def is_of(check: Mapping[str, Any], judge: Mapping[str, Any]) -> bool:
    """Whether a check is of a recipe's judge, asked in the same way."""
    asked = asked_of(check)
    return asked == {key: judge.get(key) for key in asked}


def _own_set(name: str) -> tuple[str, CheckSetSource] | None:
    """The set as `judge-check` calls it, and its source; None for sets of no benchmark."""
    for benchmark in catalog.benchmarks():
        for called, source in benchmark.check_sets().items():
            if name in source.commands:
                return called, source
    return None


def checks_file() -> Path:
    """Where the record is kept: beside the built datasets."""
    return datasets_home() / "judge_checks.json"


def check_key(
    identity: Mapping[str, Any],
    *,
    votes: int = 1,
    mode: str = "single",
    prompts: str = "own",
) -> str:
    """What a check is filed under."""
    return content_key(
        {"identity": dict(identity), "votes": votes, "mode": mode, "prompts": prompts}
    )


def record_check(key: str, check: Mapping[str, Any]) -> bool:
    """Keeps a check as the last one of its judge on its set of pairs, unless the one recorded has more pairs."""
    path = checks_file()
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(folder_lock(path.parent))
        except OSError as error:
            reason = system_reason(error)
            raise UsageError(
                MESSAGES["checks_folder"].format(folder=path.parent, reason=reason)
            ) from error

        checks = _read(path)
        there = checks.setdefault(key, {}).get(check["set"])
        if there is not None and there["scored"] > check["scored"]:
            return False

        checks[key][check["set"]] = dict(check)
        text = json.dumps(
            {"format": FORMAT, "checks": checks},
            ensure_ascii=False,
            indent=1,
            sort_keys=True,
        )
        with WholeFile(path) as part:
            part.write(text + "\n")

    return True


def summary_of(check: Mapping[str, Any]) -> dict[str, Any]:
    """Takes from a whole check (content of `check.json`) what is kept of it.

    The figures of its finest classes.
    """
    figures = check["figures"]
    view = next(view for view in VIEWS if figures.get(view.key) is not None)
    people, raters = figures["people"], figures.get("raters")
    summary = {
        "set": check["set"],
        "date": check["date"],
        "judge": check["judge"]["name"],
        "pairs": check["pairs"],
        "scored": check["scored"],
        "ways": len(view.classes),
        "view": view.key,
        "accuracy": figures[view.key]["accuracy"],
        "kappa": figures[view.key]["kappa"],
        "pairwise": None
        if people is None
        else people[view.key]["pairwise_agreement"]["value"],
        "source": check["source"],
        "prompts": check["prompts"],
        "suite_version": check["suite_version"],
    }
    if raters is not None:
        summary |= {
            f"{side}_kappas": [each["kappa"]["value"] for each in raters[side]]
            for side in ("judge", "among")
        }

    return summary


def last_check(
    identity: Mapping[str, Any], *, name: str, **asked: Any
) -> dict[str, Any] | None:
    """Looks up the last check of a judge asked so (`check_key`): on a benchmark's own pairs, else on pairs of no benchmark.

    Returns `{"problem": ...}` for a damaged record, which does not end a run.
    """
    try:
        found = _read(checks_file()).get(check_key(identity, **asked), {})
    except UsageError as error:
        return {"problem": str(error)}

    if name in found:
        return found[name]

    general = [check for other, check in found.items() if other in GENERAL]
    return max(general, key=lambda check: str(check["date"]), default=None)


def describe(
    check: Mapping[str, Any] | None,
    *,
    judge: str,
    votes: int = 1,
    mode: str = "single",
    prompts: str = "own",
    name: str,
) -> str:
    """Says in one line how far a judge is to be trusted."""
    if check is None:
        command = check_command(
            name, judge=judge, votes=votes, mode=mode, prompts=prompts
        )
        return f"judge {judge} was never checked" + (
            f": {command}" if _own_set(name) else ""
        )

    if "problem" in check:
        return f"judge {judge}: its checks are not known. {check['problem']}"

    pairs = f"{check['pairs']} pairs"
    if check["scored"] < check["pairs"]:
        pairs = f"{check['scored']} of {pairs}"

    two_way = (
        check.get("view", TWO_WAY.key if check["ways"] == 2 else "") == TWO_WAY.key
    )
    parts = f"accuracy {_figure(check['accuracy'])}, kappa {_figure(check['kappa'])}"
    return (
        f"judge {judge}: checked on {check['set']} "
        f"({pairs}{f', {TWO_WAY.title}' if two_way else ''}, {check['date']}): "
        f"{parts}{_people(check)}"
    )


def read_check(path: Path) -> tuple[Path, bytes, dict[str, Any]]:
    """Reads a whole check (its folder, or its file), whose pairs' labels it holds."""
    path = path.expanduser()
    path = path / "check.json" if path.is_dir() else path
    with readable(
        path, missing="Give the folder that judge-check wrote, or its check.json."
    ):
        raw = read_bytes(path)

    try:
        check = json.loads(raw)
        name, checked, version = (
            str(check["set"]),
            check["judge"],
            check["schema_version"],
        )
        how = {
            "votes": check["votes"],
            "mode": check["mode"],
            "prompts": check["prompts"]["set"],
        }
        sound = isinstance(checked["identity"], dict) and isinstance(
            check["pairs"] + check["clusters"], int
        )
        if version == CHECK_FORMAT:
            kinds: dict[str, Any] = {
                "gold": str | None,
                "judge": str | None,
                "cluster": int,
            }
            kinds |= {
                name: int if name == "words" else str
                for name in check["labels"].keys() - kinds
            }
            columns = [check["labels"][name] for name in kinds]
            sound &= len(set(map(len, columns))) == 1
            sound &= all(
                isinstance(each, kind)
                for column, kind in zip(columns, kinds.values(), strict=True)
                for each in column
            )
    except (ValueError, LookupError, TypeError, RecursionError):
        sound = False

    if not sound:
        raise UsageError(
            f"{path}: not a result of judge-check. Give its folder, or its check.json."
        )

    if version != CHECK_FORMAT:
        raise UsageError(
            f"{path}: has format {version!r}, and format {CHECK_FORMAT} is needed, which holds the "
            "label of each pair. Make it again: "
            f"{check_command(name, judge=str(checked.get('name')), **how)}"
        )

    return path, raw, check


def check_command(
    name: str, *, judge: str, votes: int = 1, mode: str = "single", prompts: str = "own"
) -> str:
    """The command that checks a judge on a set of pairs.

    On general ones where a benchmark has none of its own.
    """
    called, further, usual_votes, usual_mode = (
        name if name in GENERAL else "nli",
        " --source ANLI",
        1,
        "single",
    )
    own = _own_set(name)
    if own is not None:
        called, source = own
        further, usual_votes = source.commands[name], source.votes
        usual_mode = "single" if source.task is None else source.task(None).judging

    asked = {
        "--votes": (votes, usual_votes),
        "--judging": (mode if own else "single", usual_mode),
        "--prompts": (prompts if own else "own", "own"),
    }
    options = "".join(
        f" {option} {value}"
        for option, (value, usual) in asked.items()
        if value != usual
    )
    return f"medical-tasks judge-check {called} --judge {judge}{further}{options}"


def _people(check: Mapping[str, Any]) -> str:
    """How people agree, for one line of a table; "" where the check does not say."""
    said = [
        f"{kappa:.2f}" for kappa in check.get("judge_kappas", ()) if kappa is not None
    ]
    if said:
        theirs = [kappa for kappa in check.get("among_kappas", ()) if kappa is not None]
        among = (
            f", theirs with each other {min(theirs):.2f} to {max(theirs):.2f}"
            if theirs
            else ""
        )
        return f"; kappa with each rater {', '.join(said)}{among}"

    return (
        f"; physicians agree pairwise {check['pairwise']:.3f}"
        if check.get("pairwise") is not None
        else ""
    )


def _figure(estimate: Mapping[str, Any]) -> str:
    value, low, high = estimate["value"], estimate["ci_low"], estimate["ci_high"]
    if value is None:
        return "not defined"
    return (
        f"{value:.2f}"
        if low is None or high is None
        else f"{value:.2f} ({low:.2f} to {high:.2f})"
    )


def _read(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The record of checks, by judge and set; none where there is no file yet."""
    try:
        content = json.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(
            f"{path}: the record of checks cannot be read ({system_reason(error)})."
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "not JSON") from error

    if (
        not isinstance(content, dict)
        or content.get("format") != FORMAT
        or not isinstance(content.get("checks"), dict)
    ):
        raise _damaged(path, f"not an object of format {FORMAT}")

    checks: dict[str, dict[str, dict[str, Any]]] = content["checks"]
    for entry in checks.values():
        if not isinstance(entry, dict) or not all(
            _is_check(check) for check in entry.values()
        ):
            raise _damaged(path, "an entry is no check")

    return checks


def _is_check(check: object) -> bool:
    """Whether an entry has all that tables show, each of its kind."""
    if not isinstance(check, dict):
        return False

    kinds = {
        int: ("pairs", "scored", "ways"),
        str: ("set", "date", "judge"),
        dict: ("accuracy", "kappa"),
    }
    lists = [check.get(name, []) for name in ("judge_kappas", "among_kappas")]
    if not all(
        isinstance(check.get(name), kind)
        for kind, names in kinds.items()
        for name in names
    ):
        return False

    estimates = [
        check[name].get(end)
        for name in ("accuracy", "kappa")
        for end in ("value", "ci_low", "ci_high")
    ]
    return all(isinstance(each, list) for each in lists) and all(
        isinstance(number, float | int | None)
        for number in (check.get("pairwise"), *estimates, *lists[0], *lists[1])
    )


def _damaged(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path}: the record of checks is damaged ({reason}). Delete it and run judge-check again."
    )


@dataclass(frozen=True, kw_only=True)
class View:
    """Classes, and how labels become them."""

    key: str
    title: str
    classes: tuple[str, ...]
    # the class that every other label counts as; None where there are no others
    rest: str | None = None

    def of(self, label: str) -> str:
        """The class of a label."""
        return label if label in self.classes or self.rest is None else self.rest

    def holds(self, labels: Iterable[str | None]) -> bool:
        """Says whether every label (None: there is none) has a class here."""
        return self.rest is not None or all(
            label is None or label in self.classes for label in labels
        )


THREE_WAY: Final = View(
    key="three_way",
    title="three classes",
    classes=("entailment", "neutral", "contradiction"),
)
TWO_WAY: Final = View(
    key="two_way",
    title="entailed or not",
    classes=("entailment", "not_entailment"),
    rest="not_entailment",
)
CORRECTNESS: Final = View(
    key="correctness", title="correct or not", classes=("correct", "incorrect")
)

NLI: Final = (THREE_WAY, TWO_WAY)
"""A pair of texts: entailed, neutral or contradicted; and entailed or not, which is all that some judges know."""

VIEWS: Final = (*NLI, CORRECTNESS)
"""All there are, finer ones first."""
