"""The record of checks: how well each judge last agreed with people (docs/judge_check.md).

A check is filed under the judge's identity, votes, judging mode and prompts, and under
its set of labelled pairs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
"""Format of `check.json`; since 2 it holds each pair's labels."""
JudgeCheck: TypeAlias = Mapping[str, Any]
"""A judge's check, the content of `check.json`: judge, settings, set of pairs and figures."""
GENERAL = ("anli", "mednli", "nli")
"""Sets of pairs that belong to no benchmark: shown if a judge was not checked on a benchmark's own."""


def check_set_of(task: TaskSpec) -> str:
    """Names a task's own set of labelled pairs.

    Its benchmark's set for all tasks, else the name of its dataset and, if it has one,
    of its format.
    """
    if task.benchmark.check_set:
        return task.benchmark.check_set
    return "_".join(filter(None, (task.dataset, task.options.get("format", ""))))


def asked_of(check: JudgeCheck) -> dict[str, Any]:
    """The judge of a check and its settings, as far as a recipe's judge must have the same.

    The keys are those of a recipe's judge.
    """
    keys = ("votes",) if check["set"] in GENERAL else ("votes", "mode", "prompts")
    judge = check["judge"]
    return {
        "name": judge["name"],
        **judge["identity"],
        **{key: check[key] for key in keys},
    }


def is_of(check: JudgeCheck, judge: Mapping[str, Any]) -> bool:
    """Whether a check was made with a recipe's judge and the same settings."""
    settings = asked_of(check)
    return settings == {key: judge.get(key) for key in settings}


def _own_set(name: str) -> tuple[str, CheckSetSource] | None:
    """The name of a set in `judge-check`, and its source; None for sets of no benchmark."""
    for benchmark in catalog.benchmarks():
        for command_name, source in benchmark.check_sets().items():
            if name in source.commands:
                return command_name, source
    return None


def checks_file() -> Path:
    """Path of the record, beside the built datasets."""
    return datasets_home() / "judge_checks.json"


def check_key(
    identity: Mapping[str, Any],
    *,
    votes: int = 1,
    mode: str = "single",
    prompts: str = "own",
) -> str:
    """The key under which a check is filed."""
    return content_key(
        {"identity": dict(identity), "votes": votes, "mode": mode, "prompts": prompts}
    )


def record_check(key: str, check: JudgeCheck) -> bool:
    """Records a check as its judge's last on its set of pairs, unless the recorded one has more pairs."""
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
        recorded = checks.setdefault(key, {}).get(check["set"])
        if recorded is not None and recorded["scored"] > check["scored"]:
            return False

        checks[key][check["set"]] = dict(check)
        text = json.dumps(
            {"format": FORMAT, "checks": checks},
            ensure_ascii=False,
            indent=1,
            sort_keys=True,
        )
        with WholeFile(path) as file:
            file.write(text + "\n")

    return True


def summary_of(check: JudgeCheck) -> dict[str, Any]:
    """Reduces a whole check (content of `check.json`) to what is recorded: the figures of its finest classes."""
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
            f"{side}_kappas": [pair["kappa"]["value"] for pair in raters[side]]
            for side in ("judge", "among")
        }

    return summary


def last_check(
    identity: Mapping[str, Any], *, name: str, **settings: Any
) -> dict[str, Any] | None:
    """Looks up a judge's last check, with the settings of `check_key`.

    A check on the set `name` comes first, then the newest on a set of no benchmark. A
    damaged record does not end a run: it gives `{"problem": ...}`.
    """
    try:
        checks = _read(checks_file()).get(check_key(identity, **settings), {})
    except UsageError as error:
        return {"problem": str(error)}

    if name in checks:
        return checks[name]

    general = [check for other, check in checks.items() if other in GENERAL]
    return max(general, key=lambda check: str(check["date"]), default=None)


def describe(
    check: JudgeCheck | None,
    *,
    judge: str,
    votes: int = 1,
    mode: str = "single",
    prompts: str = "own",
    name: str,
) -> str:
    """Describes in one line how well a judge agreed with people."""
    if check is None:
        command = check_command(
            name, judge=judge, votes=votes, mode=mode, prompts=prompts
        )
        return f"judge {judge} was never checked" + (
            f": {command}" if _own_set(name) else ""
        )

    if "problem" in check:
        return f"judge {judge}: its checks cannot be read. {check['problem']}"

    pairs = f"{check['pairs']} pairs"
    if check["scored"] < check["pairs"]:
        pairs = f"{check['scored']} of {pairs}"

    two_way = (
        check.get("view", TWO_WAY.key if check["ways"] == 2 else "") == TWO_WAY.key
    )
    figures = f"accuracy {_figure(check['accuracy'])}, kappa {_figure(check['kappa'])}"
    return (
        f"judge {judge}: checked on {check['set']} "
        f"({pairs}{f', {TWO_WAY.title}' if two_way else ''}, {check['date']}): "
        f"{figures}{_people(check)}"
    )


def read_check(path: Path) -> tuple[Path, bytes, dict[str, Any]]:
    """Reads a whole check, with its pairs' labels, from its folder or file."""
    path = path.expanduser()
    path = path / "check.json" if path.is_dir() else path
    with readable(
        path, missing="Give the folder that judge-check wrote, or its check.json."
    ):
        raw = read_bytes(path)

    try:
        check = json.loads(raw)
        name, version = str(check["set"]), check["schema_version"]
        settings = {
            "judge": str(check["judge"].get("name")),
            "votes": check["votes"],
            "mode": check["mode"],
            "prompts": check["prompts"]["set"],
        }
        valid = isinstance(check["judge"]["identity"], dict) and isinstance(
            check["pairs"] + check["clusters"], int
        )
        if version == CHECK_FORMAT:
            valid &= _are_columns(check["labels"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        valid = False

    if not valid:
        raise UsageError(
            f"{path}: not a result of judge-check. Give its folder, or its check.json."
        )

    if version != CHECK_FORMAT:
        raise UsageError(
            f"{path}: has format {version!r}, but format {CHECK_FORMAT} is needed, which holds the "
            f"label of each pair. Make it again: {check_command(name, **settings)}"
        )

    return path, raw, check


def _are_columns(labels: Mapping[str, Any]) -> bool:
    """Whether the labels of pairs are columns of one length and of the right types."""
    types: dict[str, Any] = {"gold": str | None, "judge": str | None, "cluster": int}
    types |= {
        name: int if name == "words" else str for name in labels.keys() - types.keys()
    }
    columns = [(labels[name], kind) for name, kind in types.items()]
    lengths = {len(column) for column, _ in columns}
    return len(lengths) == 1 and all(
        isinstance(value, kind) for column, kind in columns for value in column
    )


def check_command(
    name: str, *, judge: str, votes: int = 1, mode: str = "single", prompts: str = "own"
) -> str:
    """The command that checks a judge on a set of pairs, or on a general set if there is no such set."""
    own = _own_set(name)
    if own is None:
        set_name = name if name in GENERAL else "nli"
        source_options = " --source ANLI"
        settings: dict[str, tuple[object, object]] = {"--votes": (votes, 1)}
    else:
        set_name, source = own
        source_options = source.commands[name]
        usual_mode = "single" if source.task is None else source.task(None).judging
        settings = {
            "--votes": (votes, source.votes),
            "--judging": (mode, usual_mode),
            "--prompts": (prompts, "own"),
        }

    options = "".join(
        f" {option} {value}"
        for option, (value, usual) in settings.items()
        if value != usual
    )
    return (
        f"medical-tasks judge-check {set_name} --judge {judge}{source_options}{options}"
    )


def _people(check: JudgeCheck) -> str:
    """How people agree, for the line of `describe`; "" if the check does not say."""
    kappas = [
        f"{kappa:.2f}" for kappa in check.get("judge_kappas", ()) if kappa is not None
    ]
    if kappas:
        among = [kappa for kappa in check.get("among_kappas", ()) if kappa is not None]
        span = (
            f", theirs with each other {min(among):.2f} to {max(among):.2f}"
            if among
            else ""
        )
        return f"; kappa with each rater {', '.join(kappas)}{span}"

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
    """The record of checks, by judge and set; empty if there is no file yet."""
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
    """Whether an entry has every field that tables show, with the right type."""
    if not isinstance(check, dict):
        return False

    types = {
        int: ("pairs", "scored", "ways"),
        str: ("set", "date", "judge"),
        dict: ("accuracy", "kappa"),
    }
    if not all(
        isinstance(check.get(name), kind)
        for kind, names in types.items()
        for name in names
    ):
        return False

    estimates = [
        check[name].get(end)
        for name in ("accuracy", "kappa")
        for end in ("value", "ci_low", "ci_high")
    ]
    kappas = [check.get(name, []) for name in ("judge_kappas", "among_kappas")]
    return all(isinstance(values, list) for values in kappas) and all(
        isinstance(number, float | int | None)
        for number in (check.get("pairwise"), *estimates, *kappas[0], *kappas[1])
    )


def _damaged(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path}: the record of checks is damaged ({reason}). Delete it and run judge-check again."
    )


@dataclass(frozen=True, kw_only=True)
class View:
    """A set of classes, and how labels map to them."""

    key: str
    title: str
    classes: tuple[str, ...]
    # the class of every other label; None if there are no others
    rest: str | None = None

    def of(self, label: str) -> str:
        """The class of a label."""
        return label if label in self.classes or self.rest is None else self.rest

    def holds(self, labels: Iterable[str | None]) -> bool:
        """Whether every label has a class here; None is a missing label."""
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
"""Views of a pair of texts: entailed, neutral or contradicted; and entailed or not, for judges that know only these."""

VIEWS: Final = (*NLI, CORRECTNESS)
"""All views, finer ones first."""
