"""Checks a judge on answers that people scored, with the code that scores EHRNoteQA.

Kweon et al. 2024, section 4.1 and appendix E.1. The file's form (docs/judge_check.md)
is ours. As a cell may be in the wrong column, messages quote only a few characters.

    medical-tasks judge-check ehrnoteqa --source scores.csv --judge JUDGE
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.ehrnoteqa.data import load_items
from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import (
    VERDICTS,
    load_judge_prompts,
)
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.data.task_data import locate, rows_sha256
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.io.cells import plain
from medical_tasks.io.tables import folded, has_columns, read_table
from medical_tasks.judges.base import Judge, Judging, Unscored
from medical_tasks.judges.check_figures import CheckPair, subset
from medical_tasks.judges.check_sets import (
    CheckRequest,
    CheckSet,
    CheckSetSource,
    Mode,
    pair_id,
)
from medical_tasks.judges.checks import CORRECTNESS, check_set_of
from medical_tasks.judges.shuffling import Shuffle, Shuffled, shuffled_sentences
from medical_tasks.scoring.agreement import majority
from medical_tasks.spec import Item, ItemScore, TaskSpec

CORRECT, INCORRECT = CORRECTNESS.classes


def check_pairs(scores: HumanScores, items: Sequence[Item]) -> list[CheckPair]:
    """Turns each row's scores into a pair; its label is their majority, None where they are evenly divided."""
    pairs = []
    for row, item in zip(scores.rows, items, strict=True):
        ratings = tuple(None if mark is None else _label(mark) for mark in row.correct)
        pairs.append(
            CheckPair(
                id=row.id,
                gold=majority([label for label in ratings if label is not None]),
                cluster=item.cluster or item.id,
                ratings=ratings,
                group=row.model,
                model=row.model,
                words=len(row.response.split()),
                groups={"num_notes": str(item.groups["num_notes"])},
            )
        )

    return pairs


def _label(correct: bool) -> str:
    return CORRECT if correct else INCORRECT


def check_set(tasks: Sequence[TaskSpec]) -> CheckSetSource:
    """The set of answers that people scored, for checking a judge of one of `tasks`."""
    return CheckSetSource(
        read=partial(_read, tasks),
        takes=frozenset({"prompts", "upstream", "format", "raters", "data", "config"}),
        subjects=(Subject.of(DATASET, task="judge-check ehrnoteqa"),),
        task=partial(_task_of, tasks),
        commands={
            "ehrnoteqa_open": " --source SCORES.csv",
            "ehrnoteqa_mc": " --format mc --source SCORES.csv",
        },
        votes=5,
    )


def _task_of(tasks: Sequence[TaskSpec], form: str | None) -> TaskSpec:
    """The task with a judged format, `open` or `mc`; its level does not matter."""
    return next(task for task in tasks if task.options["format"] == (form or "open"))


def _read(tasks: Sequence[TaskSpec], request: CheckRequest) -> CheckSet:
    """Reads the scored answers, as many as requested."""
    form = request.format or "open"
    source = request.needed("ehrnoteqa", "people's scores, a CSV file").expanduser()
    task = _task_of(tasks, form)
    texts = load_judge_prompts(task, request.prompts, request.upstream)
    scores = read_human_scores(source, request.raters)
    levels = [task for task in tasks if task.options["format"] == form]
    questions, revision = _questions(levels, request.data, request.config)
    items = _scored_items(scores, questions, f"{revision['config']}, format {form}")
    pairs = subset(check_pairs(scores, items), request.max_pairs)
    chosen = {pair.id for pair in pairs}
    chosen_items = [item for item in items if item.id in chosen]
    responses = [row.response for row in scores.rows if row.id in chosen]

    def ask(judge: Judge, mode: Mode, backwards: bool) -> Sequence[str | Unscored]:
        prompts = texts.turned(VERDICTS) if backwards else texts
        judging = Judging(judge=judge, prompts=prompts, mode=mode)
        scores = score_items(task, chosen_items, responses, judging=judging)
        return list(map(_judged_label, scores))

    def ask_shuffled(judge: Judge, mode: Mode, shuffle: Shuffle) -> Shuffled:
        judging = Judging(judge=judge, prompts=texts, mode=mode)
        shuffled = [
            shuffled_sentences(response, item.id, shuffle)
            for item, response in zip(chosen_items, responses, strict=True)
        ]
        scores = score_items(task, chosen_items, shuffled, judging=judging)
        return Shuffled(list(map(_judged_label, scores)))

    return CheckSet(
        name=check_set_of(task),
        pairs=pairs,
        ask=ask,
        ask_shuffled=ask_shuffled,
        answers=len(questions),
        ways=len(CORRECTNESS.classes),
        views=(CORRECTNESS,),
        source={scores.path.name: file_sha256(scores.path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
        raters=scores.raters,
        about={"data": revision, "format": form, "rows_nobody_scored": scores.unscored},
    )


def _scored_items(
    scores: HumanScores, questions: Mapping[str, Item], configuration: str
) -> list[Item]:
    """The scored items, one for each row of the file and named after it."""
    unknown = [row for row in scores.rows if row.item not in questions]
    if unknown:
        raise UsageError(
            f"{scores.path}, line {unknown[0].line}, column 'id': no question of configuration "
            f"{configuration}, has this id; so on {len(unknown)} of {len(scores.rows)} rows. Give "
            "the ids of the built dataset, and its configuration with --config."
        )

    return [replace(questions[row.item], id=row.id) for row in scores.rows]


def _judged_label(score: ItemScore) -> str | Unscored:
    if "accuracy" in score.values:
        return _label(score.values["accuracy"] == 1.0)
    return Unscored(id=score.id, reason=score.unscored or "judge: no verdict")


def _questions(
    levels: Sequence[TaskSpec], data: Path | None, config: str | None
) -> tuple[dict[str, Item], dict[str, str]]:
    folder, chosen = locate(DATASET, data, config)
    rows = read_rows(folder, chosen, levels[0].split, spec=DATASET)
    items = {item.id: item for level in levels for item in load_items(level, rows)}
    revision = {
        "name": DATASET.name,
        "config": chosen,
        "version": DATASET.version,
        "rows_sha256": rows_sha256(folder, chosen, levels[0].split, spec=DATASET),
    }
    return items, revision


RATER: Final = "rater_"
"""Beginning of the names of raters' columns, unless --raters names them."""

KINDS: Final[Mapping[str, Mapping[str, bool]]] = {
    "1 and 0": {
        "1": True,
        "0": False,
        "1.0": True,
        "0.0": False,
    },  # with blanks, some programs write 1 as 1.0
    "o and x": {"o": True, "x": False},
    "correct and incorrect": {"correct": True, "incorrect": False},
}
_SHOWN: Final = 12
LONGEST_MODEL: Final = 60
"""Longest name of a model, so that no answer is taken for one."""
_FORM: Final = "It needs a header, and a row an answer: id, response, perhaps model, and a column a rater."


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """An answer with people's scores.

    Attributes:
        model: "" if the file does not say.
        correct: each rater's score; None for those who did not score it.
    """

    line: int
    item: str
    response: str
    model: str
    correct: tuple[bool | None, ...]

    @property
    def id(self) -> str:
        """Name of the answer, without its text."""
        return pair_id(self.item, self.model, self.response)


@dataclass(frozen=True, kw_only=True)
class HumanScores:
    """A file of scores."""

    path: Path
    raters: tuple[str, ...]
    rows: tuple[HumanScore, ...]
    unscored: int


def read_human_scores(path: Path, raters: Sequence[str] = ()) -> HumanScores:
    """Reads a file of scores: CSV, XLSX or any other table, with an answer per row.

    Args:
        path: the file.
        raters: names of the columns with scores; by default those that begin with
            `rater_`.
    """
    marks = "|".join(re.escape(folded(name)) for name in raters) or f"{RATER}.*"
    knows = has_columns("id", "response", numbers=marks)
    table = read_table(path, form=_FORM, knows=knows)
    columns = _columns(path, table.columns, raters)
    scores: list[HumanScore] = []
    kinds: dict[str, tuple[str, int]] = {}
    lines: dict[str, int] = {}
    for row in table.rows:
        line = row.number
        texts = {name: plain(cell or "") for name, cell in row.cells.items()}
        score = _human_score(path, line, texts, columns, kinds)
        if score.id in lines:
            raise UsageError(
                f"{path}: the rows {lines[score.id]} and {line} are the same answer to the same "
                f"question{' by the same model' if score.model else ''}. Put all raters' scores of "
                "an answer into one row."
            )

        lines[score.id] = line
        scores.append(score)

    for rater, name in enumerate(columns):
        if all(score.correct[rater] is None for score in scores):
            raise UsageError(
                f"{path}, column {name!r}: no answer is scored in it. Leave the rater out with "
                "--raters."
            )

    scored = tuple(score for score in scores if set(score.correct) != {None})
    return HumanScores(
        path=path, raters=columns, rows=scored, unscored=len(scores) - len(scored)
    )


def _human_score(
    path: Path,
    line: int,
    cells: Mapping[str, str],
    columns: Sequence[str],
    kinds: dict[str, tuple[str, int]],
) -> HumanScore:
    """Reads one row, with a mark in each rater's column."""
    if not cells["id"].strip():
        raise UsageError(
            f"{path}, row {line}, column 'id': empty; every row names its question there."
        )

    model = cells.get("model", "").strip()
    if len(model) > LONGEST_MODEL or not model.isprintable():
        raise UsageError(  # the check records it, and may hold no answer
            f"{path}, row {line}, column 'model': must be a name of at most {LONGEST_MODEL} "
            f"characters on one line, got a text of {len(model)}. Put answers into the column "
            "'response'."
        )

    return HumanScore(
        line=line,
        item=cells["id"].strip(),
        response=cells["response"],
        model=model,
        correct=tuple(_mark(path, line, name, cells[name], kinds) for name in columns),
    )


def _columns(
    path: Path, header: Sequence[str], raters: Sequence[str]
) -> tuple[str, ...]:
    """The raters' columns; messages do not quote the header, which may be a row of answers."""
    for name in ("id", "response"):
        if name not in header:
            raise UsageError(
                f"{path}: its header, of {len(header)} columns, has no column {name!r}. {_FORM}"
            )

    columns = tuple(raters) or tuple(name for name in header if name.startswith(RATER))
    for name in columns:
        if name not in header:
            raise UsageError(
                f"{path}: its header has no column {name!r}, which --raters names."
            )

        if name in ("id", "response", "model"):
            raise UsageError(
                f"--raters: {name} is no rater's column in {path}. Name those with scores."
            )

    if not columns:
        raise UsageError(
            f"{path}: no column begins with {RATER}. Name the raters' columns: --raters "
            f"NAME,NAME,... {_FORM}"
        )

    if repeated := [name for name in columns if columns.count(name) > 1]:
        raise UsageError(f"--raters: {repeated[0]} is named twice. Once is enough.")

    return columns


def _mark(
    path: Path, line: int, name: str, value: str, kinds: dict[str, tuple[str, int]]
) -> bool | None:
    """Reads a score; a column must have marks of one kind, since 0 and o are easily confused."""
    text = value.strip().lower()
    if not text:
        return None

    where = f"{path}, row {line}, column {name!r}"
    kind = next((kind for kind, marks in KINDS.items() if text in marks), None)
    if kind is None:
        received = (
            repr(value)
            if len(value) <= _SHOWN
            else f"a text of {len(value)} characters"
        )
        raise UsageError(
            f"{where}: must be {', or '.join(KINDS)}, or blank for not scored; got {received}."
        )

    first, first_line = kinds.setdefault(name, (kind, line))
    if kind != first:
        raise UsageError(
            f"{where}: {value.strip()!r} is a mark of {kind}, row {first_line} has {first}. Use one "
            "kind in a column: 0 and o look "
            "alike and mean the opposite."
        )

    return KINDS[kind][text]
