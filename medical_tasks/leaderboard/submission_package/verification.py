"""What a verification finds, and its checks that need no scoring: the data, the items, the answers' hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.submission_package.contents import Package, answer_sha256, shown
from medical_tasks.leaderboard.submission_package.writing import answers_of_run
from medical_tasks.runs.responses import read_responses
from medical_tasks.runs.results import read_results
from medical_tasks.spec import Item, TaskSpec

Outcome = Literal["match", "mismatch", "not checked"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was compared, or could not be.

    Attributes:
        name: `content`, or the task and the part (`medcalc: scores`).
        outcome: whether it is the same.
        detail: one line: how much was compared, what differs, or what is needed to check it. No text of credentialed data.
    """

    name: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """All checks of a package, named by its id."""

    package: str
    checks: Sequence[Check]

    @property
    def matches(self) -> bool:
        """Whether nothing differs, and the scores of every task were computed again."""
        return not self.differs and not self.unproven

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return any(check.outcome == "mismatch" for check in self.checks)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Tasks whose scores could not be computed again; the right hash of an answer says nothing of its score."""
        proven: dict[str, bool] = {}
        for check in self.checks:
            task, colon, part = check.name.partition(": ")
            if colon:
                proven[task] = proven.get(task, False) or (part == "scores" and check.outcome != "not checked")
        return tuple(task for task, done in proven.items() if not done)

    @property
    def on_trust(self) -> tuple[str, ...]:
        """Tasks whose verdicts are the submitter's word: their judge could be asked again, and was not."""
        found = (check.name.partition(": ") for check in self.checks if check.outcome == "not checked")
        return tuple(task for task, _, part in found if part == "judge")

    def as_json(self) -> dict[str, Any]:
        """The same as JSON: `package`, `matches`, `on_trust`, `checks` with `name`, `outcome` and `detail`."""
        return {
            "package": self.package,
            "matches": self.matches,
            "on_trust": list(self.on_trust),
            "checks": [{"name": check.name, "outcome": check.outcome, "detail": check.detail} for check in self.checks],
        }


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


def check_answers(
    package: Package, task: TaskSpec, rows: Sequence[Mapping[str, Any]], options: VerifyOptions
) -> tuple[Check, Mapping[str, str] | None]:
    """Compares the answers with their hashes; also returns item id to answer, None where there are none to score."""
    title = f"{task.name}: answers"
    answers: Mapping[str, str] | None = package.answers.get(task.name)
    source = "of the package"
    if options.responses is not None:
        try:
            answers = _given_answers(task, rows, options.responses, options)
        except (MissingError, UsageError) as error:
            return Check(name=title, outcome="not checked", detail=str(error).split("\n", 1)[0]), answers
        source = "given here"
    if answers is None:
        detail = "the data are credentialed and the package holds no answers; give them with --responses FILE or RUN"
        return Check(name=title, outcome="not checked", detail=detail), None
    told = {row["id"]: row["answer_sha256"] for row in rows}
    wrong = [each for each in told if answer_sha256(answers.get(each)) != told[each]]
    wrong += [each for each in answers if each not in told]
    if wrong:
        detail = (
            f"{len(wrong)} of {len(told)} {source} are not those whose hash is told: {', '.join(map(shown, wrong[:3]))}"
        )
        return Check(name=title, outcome="mismatch", detail=detail), None
    unanswered = sum(not digest for digest in told.values())
    detail = f"{len(answers):,} {source} have the hash that is told" + (
        f", {unanswered} items have none" if unanswered else ""
    )
    return Check(name=title, outcome="match", detail=detail), answers


def _given_answers(
    task: TaskSpec, rows: Sequence[Mapping[str, Any]], place: Path, options: VerifyOptions
) -> Mapping[str, str]:
    if not place.is_dir():
        return read_responses(place, [row["id"] for row in rows])
    entries = read_results(place)["tasks"]
    if task.name not in entries:
        raise UsageError(f"{place}: has no answers to {task.name}, but to {', '.join(entries)}.")
    recipe = entries[task.name]["recipe"]
    return answers_of_run(
        task, recipe, place, responses=None, data=options.data, source=options.source, upstream=options.upstream
    )


_SHOWN: Final = 3


def check_data(name: str, recipe: Mapping[str, Any], data: TaskData | None, missing: str) -> Check:
    """Compares the data of a recipe with those here; `missing` says why there are none."""
    title, ran = f"{name}: data", recipe["data"]
    if data is None:
        return Check(name=title, outcome="not checked", detail=missing)
    here = data.revision
    wrong = [
        f"{part} {shown(ran[part])} in the package, {shown(here[part])} here"
        for part in ("version", "rows_sha256")
        if ran[part] != here[part]
    ]
    where = f"{here['name']}/{here['config']}, split {here['split']}"
    if wrong:
        return Check(name=title, outcome="mismatch", detail=f"{where}: another revision: {'; '.join(wrong)}")
    return Check(name=title, outcome="match", detail=f"{where}, rows_sha256 {here['rows_sha256'][:16]}")


def check_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]], items: Sequence[Item]) -> Check:
    """Compares a package's items with those of the split."""
    said, here = {row["id"]: row for row in rows}, {item.id: item for item in items}
    wrong = [
        f"{len(ids)} {what}: {', '.join(shown(each) for each in ids[:_SHOWN])}"
        for what, ids in (
            ("added", [each for each in said if each not in here]),
            ("missing", [each for each in here if each not in said]),
            (
                "in another cluster",
                [each for each in here if each in said and said[each]["cluster"] != here[each].cluster],
            ),
            (
                "in another group",
                [each for each in here if each in said and not _same_groups(task, said[each], here[each])],
            ),
        )
        if ids
    ]
    if not wrong and list(said) != list(here):
        wrong = ["they stand in another order"]
    title = f"{task.name}: items"
    if wrong:
        return Check(name=title, outcome="mismatch", detail="; ".join(wrong))
    return Check(name=title, outcome="match", detail=f"all {len(here):,} items asked, their groups and clusters")


def _same_groups(task: TaskSpec, row: Mapping[str, Any], item: Item) -> bool:
    for by in task.groups:
        groups = item.groups[by]
        if row[f"group_{by}"] != (groups if isinstance(groups, str) else " ".join(groups)):
            return False
    return True
