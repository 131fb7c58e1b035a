"""Whether a run's figures may stand beside the paper's, and why: the line below every table of a task's numbers.

A benchmark declares how its paper ran a task (`spec.PaperSetting`); a run's recipe says how it was run here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.runs.recipes import mapping, short
from medical_tasks.spec import PaperSetting, TaskSpec

NO_OFFICIAL_FIGURES: Final = (
    "no official figures: the judge was asked with this suite's prompts (--prompts official "
    "--upstream DIR asks with the authors')"
)
NO_PROMPTS_READ: Final = "no official figures: the judge reads no prompts, the authors' neither"
_NOT_KNOWN: Final = "not known (an earlier version made these results; score the answers again)"
_BASELINE: Final = "baseline/"


@dataclass(frozen=True, kw_only=True)
class Comparability:
    """Whether the figures of a task are comparable with its paper's.

    Attributes:
        comparable: whether they are.
        reasons: what the run does not have in common with the paper, or, where it is comparable, what it has.
        official: why the authors' figures are not reported; "" where they are, or there are none.
    """

    comparable: bool
    reasons: tuple[str, ...]
    official: str = ""

    def as_json(self) -> dict[str, Any]:
        """The entry `paper` of a task in `results.json`; `paper_lines` writes it in words."""
        told = {"official": self.official} if self.official else {}
        return {"comparable": self.comparable, "why": list(self.reasons), **told}


def comparability(task: TaskSpec, entry: Mapping[str, Any]) -> Comparability:
    """Compares how a task was run, by its entry of `results.json`, with how the paper ran it.

    Example: answers from a file, judged by words with this suite's prompts.

        >>> comparability(KQA, entry).reasons
        ("unknown prompts", "the judge was asked with own prompts", "judge lexical compares words, the paper's is gpt-4",
         "48 of 201 items answered")
    """
    paper, judge = task.paper, mapping(mapping(entry.get("recipe")).get("judge"))
    lacking = not asked_officially(judge) and any(map(task.needs_official_prompts, task.metrics))
    official = _no_official_figures(judge) if lacking else ""
    if paper is None:
        words = (_judge_said(judge),) if judge.get("comparable") is False else ()
        reasons = ("no paper has this task", *words)
        return Comparability(comparable=False, reasons=reasons, official=official)
    differences = tuple(_differences(task, paper, entry))
    if differences:
        return Comparability(comparable=False, reasons=differences, official=official)
    return Comparability(comparable=True, reasons=tuple(_shared(task, paper, entry)))


def comparability_lines(task: TaskSpec, entry: Mapping[str, Any]) -> list[str]:
    """The same lines for results that came from elsewhere: what they say of the paper themselves counts for nothing."""
    return paper_lines({"paper": comparability(task, entry).as_json()})


def paper_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes what an entry of `results.json` says of the paper: whether it is comparable, and why figures are missing."""
    told = mapping(entry.get("paper"))
    if not told:
        return [f"Comparable with the paper: {_NOT_KNOWN}."]
    answer = "yes" if told.get("comparable") else "no"
    reasons = "; ".join(map(str, told.get("why") or ()))
    line = f"Comparable with the paper: {answer} ({reasons})."
    return [line, *([f"{told['official']}."] if told.get("official") else [])]


def is_comparable(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of `results.json` is comparable with the paper; what is not known is not."""
    return mapping(entry.get("paper")).get("comparable") is True


def _differences(task: TaskSpec, paper: PaperSetting, entry: Mapping[str, Any]) -> Iterator[str]:
    recipe = mapping(entry.get("recipe"))
    if paper.differs:
        yield paper.differs
    yield from _prompts_differ(task, paper, recipe)
    if paper.judges:
        yield from _judge_differs(paper, mapping(recipe.get("judge")))
    yield from _data_differs(task, paper, entry)
    yield from _figures_missing(task, mapping(entry.get("metrics")))


def _prompts_differ(
    task: TaskSpec, paper: PaperSetting, recipe: Mapping[str, Any]
) -> Iterator[str]:
    model = str(mapping(recipe.get("model")).get("name"))
    if model.startswith(_BASELINE):
        if model != f"{_BASELINE}{task.baseline}":
            yield "no model answered"
    elif paper.prompts == "any":
        return
    elif not recipe.get("prompts"):
        yield "unknown prompts"
    elif paper.prompts == "official" and mapping(recipe["prompts"]).get("set") != "official":
        yield "own prompts"


def _judge_differs(paper: PaperSetting, judge: Mapping[str, Any]) -> Iterator[str]:
    if mapping(judge.get("prompts")).get("set") != "official":
        yield "the judge was asked with own prompts"
    elif not asked_officially(judge):
        yield "the judge reads no prompts"
    # Who gave the verdicts in a file, the file's name does not say.
    name = "" if judge.get("backend") == "recorded" else str(judge.get("name"))
    if not any(is_same_model(name, each) for each in paper.judges):
        theirs = " or ".join(paper.judges)
        yield f"{_judge_said(judge)}, the paper's is {theirs}"
    if judge.get("votes") != paper.votes and paper.votes > 1:
        yield f"{short(judge.get('votes'))} votes, the paper has {paper.votes}"


def _no_official_figures(judge: Mapping[str, Any]) -> str:
    official = mapping(judge.get("prompts")).get("set") == "official"
    return NO_PROMPTS_READ if official else NO_OFFICIAL_FIGURES


def asked_officially(judge: Mapping[str, Any]) -> bool:
    """Whether a judge, by its recipe, was asked with the authors' prompts; one of entailment reads none."""
    reads_none = judge.get("kind") in ("lexical", "nli") or judge.get("reads") == "pair"
    return not reads_none and mapping(judge.get("prompts")).get("set") == "official"


def _judge_said(judge: Mapping[str, Any]) -> str:
    said = f"judge {short(judge.get('name'))}"
    return said if judge.get("comparable") else f"{said} compares words"


def is_same_model(name: str, paper: str) -> bool:
    """Whether a judge's name is that of a paper's model, or of a dated version of it.

    What counts is the last part of the name, in any case, and nothing but digits may follow: `openai-api/host/gpt-4-0613`
    is `gpt-4`, and `gpt-4-turbo` and `gpt-4o` are other models.
    """
    last = name.rpartition("/")[2].casefold()
    return re.fullmatch(re.escape(paper.casefold()) + r"(-\d+)*", last) is not None


def _data_differs(task: TaskSpec, paper: PaperSetting, entry: Mapping[str, Any]) -> Iterator[str]:
    data = mapping(mapping(entry.get("recipe")).get("data"))
    config, split = data.get("config"), data.get("split")
    if paper.configs and config not in paper.configs:
        yield f"configuration {short(config)}, the paper's is {' or '.join(paper.configs)}"
    elif split != task.split:
        yield f"split {short(split)}, the paper's is {task.split}"
    counts = mapping(entry.get("coverage"))
    answered, scored = counts.get("answered", 0), counts.get("scored", 0)
    items = max(paper.items, int(entry.get("n_items", 0)))
    if answered < items:
        yield f"{answered:,} of {items:,} items answered"
    if scored < answered:
        yield f"{scored:,} of {answered:,} answers scored"
    if entry.get("shortened"):
        yield f"{entry['shortened']:,} questions shortened"


def _figures_missing(task: TaskSpec, metrics: Mapping[str, Any]) -> Iterator[str]:
    """What is missing of the authors' figures, where the task has some."""
    official = [metric for metric in task.metrics if metric.official is not None]
    reported = [mapping(metrics[metric.name]) for metric in official if metric.name in metrics]
    if reported and all(each.get("value") is None for each in reported):
        yield "the authors' figures are n/a"
    judged = [metric for metric in official if task.needs_official_prompts(metric)]
    settings = {metric.needs for metric in judged if metric.needs}
    if settings and not any(metric.name in metrics for metric in judged):
        yield f"the authors' figures were not asked for (--task-args {' '.join(settings)}=yes)"


def _shared(task: TaskSpec, paper: PaperSetting, entry: Mapping[str, Any]) -> Iterator[str]:
    if any(metric.official is not None for metric in task.metrics):
        yield "by the metrics that end in _official"
    if paper.prompts == "official" or paper.judges:
        yield "the authors' prompts"
    judge = mapping(mapping(entry.get("recipe")).get("judge"))
    if paper.judges:
        yield f"judge {short(judge.get('name'))}"
    if paper.votes > 1:
        yield f"{paper.votes} votes"
    yield f"all {int(entry['n_items']):,} items"
