"""Decides whether a run's figures are comparable with the paper's, and why: the line below every table.

A benchmark declares how its paper ran a task (`spec.PaperSetting`); a run's recipe says how
it was run here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from medical_tasks.runs.recipes import mapping, short
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import PaperSetting, TaskSpec

Entry: TypeAlias = Json
"""A task's entry of `results.json`, or a part of one."""

NO_OFFICIAL_FIGURES: Final = (
    "no official figures: the judge was asked with this suite's prompts (--prompts official "
    "--upstream DIR asks with the authors')"
)
NO_JUDGE: Final = "no official figures: no judge was asked"
NO_PROMPTS_READ: Final = (
    "no official figures: the judge reads no prompts, the authors' neither"
)
_NOT_KNOWN: Final = (
    "not known (an earlier version made these results; score the answers again)"
)
_BASELINE: Final = "baseline/"


@dataclass(frozen=True, kw_only=True)
class Comparability:
    """Whether the figures of a task are comparable with its paper's.

    Attributes:
        comparable: whether they are.
        reasons: how the run differs from the paper's or, if it is comparable, what they
            have in common.
        official: why the authors' figures are not reported; "" if they are, or if there
            are none.
    """

    comparable: bool
    reasons: tuple[str, ...]
    official: str = ""

    def as_json(self) -> JsonDict:
        """Makes the entry `paper` of a task in `results.json`; `paper_lines` words it."""
        official = {"official": self.official} if self.official else {}
        return {"comparable": self.comparable, "why": list(self.reasons), **official}


def comparability(task: TaskSpec, entry: Entry) -> Comparability:
    """Compares a task's run, described by its entry of `results.json`, with the paper's.

    Example: answers from a file, judged by words with this suite's prompts.

        comparability(KQA, entry).reasons == (
            "unknown prompts",
            "the judge was asked with own prompts",
            "judge lexical compares words, the paper's is gpt-4",
            "48 of 201 items answered",
        )
    """
    judge = _recipe(entry, "judge")
    official = ""
    if any(map(task.needs_official_prompts, task.metrics)) and not asked_officially(
        judge
    ):
        official = (
            NO_PROMPTS_READ if _prompts(judge) == "official" else NO_OFFICIAL_FIGURES
        )
        official = official if judge else NO_JUDGE

    differences = tuple(_differences(task, entry))
    reasons = differences or tuple(_shared(task, entry))
    return Comparability(comparable=not differences, reasons=reasons, official=official)


def comparability_lines(task: TaskSpec, entry: Entry) -> list[str]:
    """Writes the lines for results from elsewhere, ignoring their own entry `paper`."""
    return paper_lines({"paper": comparability(task, entry).as_json()})


def paper_lines(entry: Entry) -> list[str]:
    """Words the entry `paper`: whether the run is comparable, and why figures are missing."""
    paper = mapping(entry.get("paper"))
    if not paper:
        return [f"Comparable with the paper: {_NOT_KNOWN}."]

    answer = "yes" if is_comparable(entry) else "no"
    reasons = "; ".join(map(str, paper.get("why") or ()))
    line = f"Comparable with the paper: {answer} ({reasons})."

    return [line, f"{paper['official']}."] if paper.get("official") else [line]


def is_comparable(entry: Entry) -> bool:
    """Whether an entry of `results.json` is known to be comparable with the paper."""
    return mapping(entry.get("paper")).get("comparable") is True


def asked_officially(judge: Entry) -> bool:
    """Whether a judge, by its recipe, was asked with the authors' prompts.

    An entailment judge reads no prompts.
    """
    reads_none = judge.get("kind") in ("lexical", "nli") or judge.get("reads") == "pair"
    return not reads_none and _prompts(judge) == "official"


def other_questions(task: TaskSpec, recipe: Entry) -> Iterator[str]:
    """Yields how a run's questions differ from its dataset's as released.

    Example: `the patients were changed, sex=female`, `other questions by order`.
    """
    if swap := mapping(mapping(recipe.get("data")).get("swap")):
        yield f"the patients were changed, {short(swap.get('changed'))}"
    if arguments := sorted(
        mapping(recipe.get("task_args")).keys() & task.item_arguments
    ):
        yield f"other questions by {', '.join(arguments)}"


def is_same_model(name: str, paper: str) -> bool:
    """Whether a judge's name is that of a paper's model, or of a dated version of it.

    The last part of the name counts, in any case, and only digits may follow:
    `openai-api/host/gpt-4-0613` is `gpt-4`; `gpt-4-turbo` and `gpt-4o` are other models.
    """
    last = name.rpartition("/")[2].casefold()
    return re.fullmatch(re.escape(paper.casefold()) + r"(-\d+)*", last) is not None


def _differences(task: TaskSpec, entry: Entry) -> Iterator[str]:
    """Yields how the run differs from the paper's."""
    paper, judge = task.paper, _recipe(entry, "judge")
    if paper is None:
        yield "no paper has this task"
        if judge.get("comparable") is False:
            yield _judge_text(judge)

        return

    if paper.differs:
        yield paper.differs

    if imported := _recipe(entry, "imported"):
        yield f"imported from {short(imported.get('kind'))}, which asked in its own way"
    else:
        yield from _prompts_differ(task, paper, entry)

    if paper.judges:
        yield from _judge_differs(paper, judge)

    yield from _items_differ(task, paper, entry)
    figures = [metric for metric in task.metrics if task.needs_official_prompts(metric)]
    figures = figures or [
        metric for metric in task.metrics if metric.official is not None
    ]
    reported = mapping(entry.get("metrics"))
    values = [mapping(reported.get(metric.name)).get("value") for metric in figures]
    # Without the authors' prompts there are none, as another reason already says.
    if (
        figures
        and set(values) == {None}
        and (asked_officially(judge) or not paper.judges)
    ):
        yield "no figure by the authors' script"


def _prompts_differ(task: TaskSpec, paper: PaperSetting, entry: Entry) -> Iterator[str]:
    """Yields how the prompts differ, or that no model was asked."""
    model = str(_recipe(entry, "model").get("name"))
    prompts = _recipe(entry, "prompts")
    if model.startswith(_BASELINE):
        if model != f"{_BASELINE}{task.baseline}":
            yield "no model answered"
    elif not prompts and paper.prompts != "any":
        yield "unknown prompts"
    elif paper.prompts == "official" != prompts.get("set"):
        yield "own prompts"

    if mapping(entry.get("recipe")).get("confidence") and paper.prompts != "any":
        yield "the model was also asked how sure it is"


def _judge_differs(paper: PaperSetting, judge: Entry) -> Iterator[str]:
    """Yields how the judge differs: none, its prompts, another model, fewer votes.

    More votes than the paper's are no difference.
    """
    if not judge:
        yield "no judge was asked"
        return

    if _prompts(judge) != "official":
        yield "the judge was asked with own prompts"
    elif not asked_officially(judge):
        yield "the judge reads no prompts"

    # The name of a file of verdicts does not say who gave them.
    name = "" if judge.get("backend") == "recorded" else str(judge.get("name"))
    if not any(is_same_model(name, paper_judge) for paper_judge in paper.judges):
        yield f"{_judge_text(judge)}, the paper's is {' or '.join(paper.judges)}"
    if (votes := judge.get("votes") or 1) < paper.votes:
        yield f"{votes} votes, the paper has {paper.votes}"


def _items_differ(task: TaskSpec, paper: PaperSetting, entry: Entry) -> Iterator[str]:
    """Yields how the items differ: other data or questions, missing answers, shortened questions."""
    data, counts = _recipe(entry, "data"), mapping(entry.get("coverage"))
    yield from other_questions(task, mapping(entry.get("recipe")))
    if paper.configs and data.get("config") not in paper.configs:
        paper_configs = " or ".join(paper.configs)
        yield f"configuration {short(data.get('config'))}, the paper's is {paper_configs}"
    elif data.get("split") != task.split:
        yield f"split {short(data.get('split'))}, the paper's is {task.split}"

    answered, scored = counts.get("answered", 0), counts.get("scored", 0)
    items = max(paper.items, entry.get("n_items", 0))
    if answered < items:
        yield f"{answered:,} of {items:,} items answered"
    if scored < answered:
        yield f"{scored:,} of {answered:,} answers scored"
    if entry.get("shortened"):
        yield f"{entry['shortened']:,} questions shortened"


def _shared(task: TaskSpec, entry: Entry) -> Iterator[str]:
    """Yields what a comparable run has in common with the paper's."""
    paper = task.paper or PaperSetting()
    if any(metric.official is not None for metric in task.metrics):
        yield "by the metrics that end in _official"
    if paper.prompts == "official" or paper.judges:
        yield "the authors' prompts"

    if paper.judges:
        judge = _recipe(entry, "judge")
        yield _judge_text(judge)
        yield f"votes: {judge.get('votes') or 1}"

    yield f"all {entry['n_items']:,} items"


def _judge_text(judge: Entry) -> str:
    description = f"judge {short(judge.get('name'))}"
    return description if judge.get("comparable") else f"{description} compares words"


def _recipe(entry: Entry, name: str) -> Entry:
    return mapping(mapping(entry.get("recipe")).get(name))


def _prompts(judge: Entry) -> object:
    return mapping(judge.get("prompts")).get("set")
