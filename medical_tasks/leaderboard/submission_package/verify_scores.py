"""Verifying: the answers scored again by the benchmark's own scorer, through the same code as a run."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.guard.private_store import in_use, new_private_id, private_folder
from medical_tasks.io.files import read_text
from medical_tasks.leaderboard.submission_package.comparing import differences, told
from medical_tasks.leaderboard.submission_package.problems import shown
from medical_tasks.leaderboard.submission_package.row_forms import item_columns
from medical_tasks.leaderboard.submission_package.verification import Check
from medical_tasks.leaderboard.submission_package.verify_judges import Replay, judge_request, unread_replies
from medical_tasks.leaderboard.submission_package.verify_options import VerifyOptions
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import RunFolder
from medical_tasks.runs.judging import RECORDED, RunJudge
from medical_tasks.runs.results import VERDICTS_FILE, read_items
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import TaskSpec

__all__ = ["Scored", "check_results", "check_scores", "scored_again", "scratch_folder"]

_SHOWN: Final = 3
_COMPARED: Final = ("n_items", "metrics", "coverage", "breakdown")


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What scoring again has led to.

    Attributes:
        entry: of `results.json`.
        rows: of `items.parquet`.
        verdicts: of `verdicts.jsonl`.
        replay: what stood in for the judge; None when it was asked again, or there is none.
        left: metrics that could not be computed here, for want of what they need.
    """

    entry: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Mapping[str, Any]]
    replay: Replay | None
    left: tuple[str, ...]


@contextlib.contextmanager
def scratch_folder(*, private: bool) -> Iterator[Path]:
    """A folder for the length of a `with` block; in the private store, closed to everybody else, for credentialed data."""
    if not private:
        with tempfile.TemporaryDirectory(prefix="medical-tasks-verify-") as made:
            yield Path(made)
        return
    home = private_folder(new_private_id())
    try:
        with in_use(home):
            yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def scored_again(
    answered: AnsweredTask,
    reported: TaskSpec,
    recipe: Mapping[str, Any],
    verdicts: Sequence[Mapping[str, Any]],
    options: VerifyOptions,
    scratch: Path,
    *,
    private: bool,
) -> Scored:
    """Scores answers again.

    Args:
        answered: the task with its answers and the settings of its scoring.
        reported: the task with the metrics that the package reports.
        recipe: of the package.
        verdicts: of the package.
        options: what there is to score with.
        scratch: an empty folder.
        private: whether the data are credentialed.

    Raises:
        UsageError: The scorer refuses something.
        MissingError: Something it needs is not here.
    """
    run = RunFolder(scratch / "run", home=scratch if private else None, private=private)
    replay: Replay | None = None
    if recipe["judge"] is None:
        results = finish([answered], run)
    elif recipe["judge"]["name"] == "lexical":
        request = judge_request(recipe["judge"], options, name="lexical")
        with RunJudge(request, store=scratch / "verdicts.sqlite", log_dir=scratch) as judge:
            results = finish([answered], run, judge)
    else:
        file = scratch / VERDICTS_FILE
        file.write_text("".join(f"{json.dumps(dict(row))}\n" for row in verdicts), encoding="ascii")
        request = judge_request(recipe["judge"], options, name=f"{RECORDED}{file}")
        replay = Replay(request, store=scratch / "verdicts.sqlite", log_dir=scratch)
        replay.unread = unread_replies(verdicts, recipe["judge"]["votes"])
        with replay:
            results = finish([answered], run, replay)
    said = run.path / VERDICTS_FILE
    lines = read_text(said, encoding="ascii").splitlines() if said.is_file() else []
    return Scored(
        entry=results["tasks"][answered.task.name],
        rows=read_items(run.path),
        verdicts=[json.loads(line) for line in lines],
        replay=replay,
        left=tuple(
            metric.name for metric in reported.metrics if metric.needs and metric.needs not in answered.scoring_args
        ),
    )


def check_scores(reported: TaskSpec, rows: Sequence[Mapping[str, Any]], made: Scored) -> Check:
    """Compares items one by one.

    Args:
        reported: the task with the metrics that the package reports.
        rows: of the package.
        made: from `scored_again`.
    """
    title = f"{reported.name}: scores"
    here = {row["id"]: row for row in made.rows}
    columns = [name for name in item_columns(reported) if not made.rows or name in made.rows[0]]
    wrong: dict[str, str] = {}
    for row in rows:
        own = here.get(row["id"], {})
        said = {name: row[name] for name in columns}
        found = next(differences(said, {name: own.get(name) for name in columns}, (shown(row["id"]),)), None)
        if found is not None:
            wrong[row["id"]] = _told_plainly(found)
    left = f". Not checked, for want of what they need: {', '.join(made.left)}" if made.left else ""
    if wrong:
        first = "; ".join(list(wrong.values())[:_SHOWN])
        return Check(
            name=title, outcome="mismatch", detail=f"{len(wrong)} of {len(rows)} items score otherwise: {first}{left}"
        )
    return Check(name=title, outcome="match", detail=f"{len(rows):,} items score the same, metric by metric{left}")


def _told_plainly(found: tuple[tuple[str, ...], Any, Any]) -> str:
    place = found[0]
    return told(found) if place[-1] not in ("parsed", "why") else f"{', '.join(place)}: reads otherwise"


def check_results(reported: TaskSpec, entry: Mapping[str, Any], made: Scored | None) -> Check:
    """Compares metrics, intervals, bounds, breakdowns and coverage.

    Args:
        reported: the task with the metrics that the package reports.
        entry: of the package.
        made: from `scored_again`; None where that could not be done, and then the items alone say what they are.
    """
    title = f"{reported.name}: results"
    if made is None:
        detail = "values, intervals and coverage are those of the package's own items; not computed from answers"
        return Check(name=title, outcome="match", detail=detail)
    left = {*made.left, *(metric.whole for metric in reported.metrics if metric.name in made.left and metric.whole)}
    left |= {metric.name for metric in reported.metrics if metric.kind == "average" and made.left}
    found = [
        each
        for name in _COMPARED
        for each in differences(entry[name], made.entry[name], (name,))
        if not left.intersection(each[0])
    ]
    if found:
        return Check(name=title, outcome="mismatch", detail=f"{len(found)} numbers differ: {told(found[0])}")
    return Check(name=title, outcome="match", detail="values, intervals, bounds, breakdowns and coverage are the same")
