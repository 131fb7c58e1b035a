"""The command `import`; its options are `Import` in `importing.options`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError, listed
from medical_tasks.guard import policy
from medical_tasks.importing.matching import Match, Questions, Way, counts
from medical_tasks.importing.options import Import
from medical_tasks.importing.published import Published, PublishedAnswer
from medical_tasks.io.output import tell
from medical_tasks.io.untrusted import is_number, is_plain, shown
from medical_tasks.options import Score, parameters
from medical_tasks.report.finished import AGAIN, report_results
from medical_tasks.runs.imported import (
    MATCHED_BY,
    PublishedSource,
    SourceAnswers,
    SourceRun,
)
from medical_tasks.runs.recipes import one_line
from medical_tasks.runs.rescoring import rescore
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import Item, TaskSpec

_READERS: Final = {
    "helm": "helm",
    "inspect": "inspect_log",
    "lm-eval": "lm_eval",
    "lighteval": "lighteval_details",
    "every-eval-ever": "every_eval_ever",
}
"""Kind to the module with its function `read(path) -> Published`."""

_WHY: Final[Mapping[Way, str]] = {
    "ambiguous": "fit several items",
    "asks otherwise": "have another question than the item of their id",
    "unknown": "fit no item of the task",
}
_LONGEST: Final = ("max_tokens", "max_new_tokens", "max_gen_toks")
_NAME: Final = 80
_LONGEST_SETTING: Final = 300
_SHOWN: Final = 5
_NOT_THERE: Final = (
    "Items that are not in the source stay unanswered. If the source should be complete, import it "
    "again."
)


def run(arguments: Import) -> int:
    """Scores the answers; exit code 5 if items are unanswered or unscored."""
    done = imported(arguments)
    if done is None:
        return 0
    folder, unanswered = done
    return report_results(folder, next_step=_NOT_THERE if unanswered else AGAIN)


def imported(arguments: Import) -> tuple[Path, bool] | None:
    """Writes the run; returns its folder and whether items are unanswered. None after a forecast."""
    path = arguments.path.expanduser()
    if not path.exists():
        raise MissingError(f"{path}: no such file or folder.")
    score_options = {
        name: getattr(arguments, name)
        for name in parameters(Score)
        if name in parameters(Import)
    }
    return rescore(Score(**score_options, responses=path), _Files(arguments, path))


class _Files(PublishedSource):
    """The files of a harness."""

    def __init__(self, arguments: Import, path: Path) -> None:
        self._kind, self._model, self._path = arguments.kind, arguments.model, path
        stated = {"address": arguments.address, "licence": arguments.licence}
        self._stated = {name: text for name, text in stated.items() if text}
        address = arguments.address or "https://"
        if not address.startswith("https://") or not is_plain(address):
            raise UsageError(f"--address {shown(address)}: must begin with https://.")
        self.name = f"{arguments.kind} {path.resolve().name}"

    def find_answers(self, task: TaskSpec, items: Sequence[Item]) -> SourceRun:
        published = self._read()
        matches = Questions(task, items).matches(published.answers)
        self._check(task, published, matches)
        repeats = self._repeats(matches)
        model = one_line(published.model or self._model or "unknown", _NAME)
        origin = _origin(self._kind, published, model, matches) | self._stated
        _tell(self._path, published, model, matches, len(repeats))
        return SourceRun(
            model=model, repeats=repeats, origin=origin, reported=published.reported
        )

    def _read(self) -> Published:
        """Reads the files with the reader of their kind; `--model` must not contradict them."""
        module = import_module(f"medical_tasks.importing.{_READERS[self._kind]}")
        if self._kind == "every-eval-ever":
            published: Published = module.read(self._path, model=self._model)
            return published

        published = module.read(self._path)
        if published.model and self._model not in (None, published.model):
            raise UsageError(
                f"--model {self._model}: the files name the model {one_line(published.model)}. "
                "Omit the option."
            )

        return published

    def _check(
        self, task: TaskSpec, published: Published, matches: Sequence[Match]
    ) -> None:
        """Reports answers that are left out; it is an error if none fits an item."""
        lost: list[str] = []
        for way, why in _WHY.items():
            positions = [_at(match.answer) for match in matches if match.way == way]
            if positions:
                lost.append(f"{len(positions):,} {why} ({listed(positions, _SHOWN)})")

        if lost and not any(match.item for match in matches):
            of = f" of {one_line(published.task)!r}" if published.task else ""
            raise UsageError(
                f"{self._path}: none of its {len(matches):,} answers{of} fits an item of "
                f"{task.name}: {'; '.join(lost)}. Check --task and --config."
            )

        if lost:
            print(
                f"note: {self._path}: answers are left out: {'; '.join(lost)}",
                file=sys.stderr,
            )

    def _repeats(self, matches: Sequence[Match]) -> list[SourceAnswers]:
        """Returns the answers of each repeat; two answers to an item in a repeat are an error.

        Example:
            A source that asked each of 100 items twice has answers with the repeats 1 and 2:
            they become two elements of 100 answers. Two answers to item 7 in repeat 1 are an
            error, since neither is better than the other.
        """
        matched = [match for match in matches if match.item is not None]
        numbers = sorted({match.answer.repeat for match in matched})
        texts: dict[int, dict[str, str]] = {number: {} for number in numbers}
        reasons: dict[int, dict[str, str]] = {number: {} for number in numbers}
        cut: dict[int, set[str]] = {number: set() for number in numbers}
        position_of: dict[tuple[int, str], str] = {}
        for match in matched:
            answer, item = match.answer, str(match.item)
            if (before := position_of.get((answer.repeat, item))) is not None:
                raise UsageError(
                    f"{self._path}: {before} and {_at(answer)} both answer item "
                    f"{item}, but one answer per item and repeat is scored. Remove one of them, or "
                    "give the files of one run."
                )

            position_of[answer.repeat, item] = _at(answer)
            if answer.text is None:
                reasons[answer.repeat][item] = answer.reason
            else:
                texts[answer.repeat][item] = answer.text

            if answer.cut:
                cut[answer.repeat].add(item)

        return [
            SourceAnswers(
                texts=texts[number],
                unanswered=reasons[number],
                cut=frozenset(cut[number]),
            )
            for number in numbers
        ]


def _at(answer: PublishedAnswer) -> str:
    """Returns the position of an answer; ids of the source are not shown for credentialed data."""
    position = answer.at.partition(" (")[0] if policy.protecting() else answer.at
    return one_line(position)


def _plain_settings(settings: Json) -> JsonDict:
    """Returns settings for a recipe: short, and without texts that may be credentialed data."""
    plain: JsonDict = {}
    for name, value in settings.items():
        if isinstance(value, bool) or is_number(value):
            plain[one_line(name)] = value
        elif not policy.protecting():
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            plain[one_line(name)] = one_line(text, _LONGEST_SETTING)
    return plain


def _origin(
    kind: str, published: Published, model: str, matches: Sequence[Match]
) -> JsonDict:
    """Describes the origin of the answers for the recipe, and what is unknown about them."""
    unknown = [] if published.prompts_known else ["prompts"]
    if not re.search(r"\d", published.harness):
        unknown.append("version of the harness")
    if "temperature" not in published.settings:
        unknown.append("temperature")
    if not any(name in published.settings for name in _LONGEST):
        unknown.append("longest answer")
    if not published.model:
        unknown.append("model")

    return {
        "kind": kind,
        "harness": one_line(published.harness),
        "task": one_line(published.task, _NAME),
        "model": model,
        "files": dict(published.files),
        "settings": _plain_settings(published.settings),
        "unknown": unknown,
        "matched": counts(matches),
    }


def _tell(
    path: Path, published: Published, model: str, matches: Sequence[Match], repeats: int
) -> None:
    """Reports the number of answers, and how they were matched."""
    ways = counts(matches)
    by_way = ", ".join(f"{ways[way]:,} by {way}" for way in MATCHED_BY if way in ways)
    several = f", {repeats} repeats" if repeats > 1 else ""
    tell(
        f"{path.name}: {len(matches):,} answers of {model} ({published.harness}): {by_way}{several}"
    )
    for note in published.notes:
        print(f"note: {path}: {note}", file=sys.stderr)
