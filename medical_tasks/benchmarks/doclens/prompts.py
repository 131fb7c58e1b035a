"""How the generation tasks of DocLens are put: with numbered turns or sentences, which the answer is asked to cite.

Ours (`prompt_texts`) are one message of the user: what is given, what to write, how to cite, worked examples if the task has
some, then the source. The released notes and summaries cite nothing; the citations of worked examples and gold answers are found
by a rule of ours (`citing`). With `official` the authors' messages are read from a checkout the user has (`official_prompts`).

How visits are numbered is DocLens's own: our numbered dialogue is the input of its released file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.doclens import prompt_texts
from medical_tasks.benchmarks.doclens.citing import Source, cite
from medical_tasks.benchmarks.doclens.exemplars import SEED, draw_exemplars
from medical_tasks.benchmarks.doclens.markers import remove_citations
from medical_tasks.benchmarks.doclens.official_prompts import read_official
from medical_tasks.benchmarks.doclens.sections import SECTIONS
from medical_tasks.benchmarks.doclens.sentences import numbered_question
from medical_tasks.benchmarks.doclens.turns import numbered_dialogue
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

__all__ = ["PROMPT_SETS", "asks_citations", "gold_response", "load_prompts", "numbered_source"]

PROMPT_SETS: Final = ("own", "official")

_CITATIONS: Final = "citations"
_DIALOGUES: Final = ("note", "section")


def load_prompts(
    task: TaskSpec,
    name: str = "own",
    upstream: Path | None = None,
    *,
    arguments: Mapping[str, str] | None = None,
    exemplars: Sequence[Mapping[str, Any]] = (),
) -> PromptSet:
    """Makes the prompts of a task.

    Args:
        task: `options["form"]` says what is written, `options["shots"]` how many worked examples are shown.
        name: `own` or `official`.
        upstream: for `official`, a checkout of the authors' repository.
        arguments: `citations` may be `yes` or `no`.
        exemplars: rows of the split `TaskSpec.exemplars`; not used by the authors' prompts, which have examples of their own.

    Returns:
        The prompts. `settings` say whether citations are asked for and, by seed and ids, which examples are shown.

    Raises:
        UsageError: Unknown set or argument, `official` without a checkout, for a task of which the authors released none or
            without citations, or a file of theirs that is not of its form.
        MissingError: Too few rows to draw the examples from, or a file of theirs that is not there.
    """
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    citations = asks_citations(task, arguments or {})
    if name == "official":
        return _official(task, upstream, citations=citations)
    openings, drawn = _openings(task, exemplars, citations=citations)
    form = task.options["form"]
    texts = prompt_texts.TEXTS[form]

    def render(item: Item) -> tuple[Message, ...]:
        parts = [*openings[_section(item)], _labelled(texts, numbered_source(item))]
        return ({"role": "user", "content": "\n\n".join(parts)},)

    settings: dict[str, Any] = {_CITATIONS: "yes" if citations else "no"}
    if drawn:
        settings |= {"seed": SEED, "examples": drawn}
    said = [part for section in openings for part in (section, *openings[section])]
    return PromptSet(
        name=name,
        sha256=_digest(form, *said, prompt_texts.LABELLED, texts.source, texts.answer),
        render=render,
        settings=settings,
    )


def asks_citations(task: TaskSpec, arguments: Mapping[str, str]) -> bool:
    """Reads whether the answers are asked to cite.

    Args:
        task: the task, for the message.
        arguments: settings of its questions.

    Raises:
        UsageError: A setting that the task does not have, or another value than `yes` or `no`.
    """
    if unknown := [key for key in arguments if key not in task.arguments]:
        raise UsageError(
            f"{task.name}: {', '.join(map(repr, unknown))} is no setting of this task. It takes: {', '.join(task.arguments)}."
        )
    value = arguments.get(_CITATIONS, "yes")
    if value not in ("yes", "no"):
        raise UsageError(f"{task.name}: {_CITATIONS} must be yes or no, got {value!r}.")
    return value == "yes"


def numbered_source(item: Item) -> str:
    """Writes what an item cites, a turn or sentence a line: `[0][doctor] ...` in dialogues, `[0] ...` elsewhere."""
    source: list[str] = item.fields["sentences"]
    if item.fields["form"] in _DIALOGUES:
        return numbered_dialogue(source)
    return "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(source))


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer: the reference, with citations by the rule of `citing`.

    Args:
        task: any task of this benchmark; it decides nothing here.
        item: the item.

    Returns:
        The reference with markers; "" where it is blank. A reference that is cited already keeps what it has.
    """
    return _answer(item, citations=True)


def _answer(item: Item, *, citations: bool) -> str:
    reference: str = item.fields["reference"]
    if not reference.strip():
        return ""
    return cite(reference, Source(item.fields["sentences"])) if citations else remove_citations(reference)


def _section(item: Item) -> str:
    return str(item.groups["section"]) if item.fields["form"] == "section" else ""


def _openings(
    task: TaskSpec, rows: Sequence[Mapping[str, Any]], *, citations: bool
) -> tuple[dict[str, list[str]], list[str]]:
    """Everything that stands before an item's source, by section, and the ids of the examples."""
    form = task.options["form"]
    texts = prompt_texts.TEXTS[form]
    drawn = draw_exemplars(task, rows) if task.options["shots"] != "0" else {}
    openings = {}
    for section in SECTIONS if form == "section" else ("",):
        parts = [texts.given, texts.task]
        parts += [prompt_texts.SECTION_TASKS[section]] if section else []
        parts += [texts.citing] if citations else []
        if shown := drawn.get(section):
            several = prompt_texts.AMONG.format(count=len(shown))
            parts.append(prompt_texts.ALONE if len(shown) == 1 else several)
            for item in shown:
                answer = _answer(item, citations=citations).strip()
                parts.append(f"{_labelled(texts, numbered_source(item))}\n{answer}")
            parts.append(prompt_texts.ASKED)
        openings[section] = parts
    # The examples of all sections are of the same visits.
    examples = next(iter(drawn.values()), ())
    return openings, [item.cluster if form == "section" else item.id for item in examples]


def _labelled(texts: prompt_texts.Texts, given: str) -> str:
    return prompt_texts.LABELLED.format(source=texts.source, given=given, answer=texts.answer)


def _official(task: TaskSpec, upstream: Path | None, *, citations: bool) -> PromptSet:
    before = read_official(task, upstream)
    if not citations:
        raise UsageError(
            f"{task.name}: the authors' prompts ask for citations. Leave {_CITATIONS}=no out, or use --prompts own."
        )

    # The authors' files have dialogues as released, all other sources on one line, in small letters, with a space at the end.
    spoken = task.options["form"] in _DIALOGUES

    def render(item: Item) -> tuple[Message, ...]:
        sentences: list[str] = item.fields["sentences"]
        given = numbered_dialogue(sentences) if spoken else f"{numbered_question(sentences).lower()} "
        return (*before[_section(item)], {"role": "user", "content": given})

    said = [
        part
        for section in before
        for message in before[section]
        for part in (section, message["role"], message["content"])
    ]
    if not spoken:
        said.append("small letters")
    return PromptSet(name="official", sha256=_digest(*said), render=render, settings={_CITATIONS: "yes"})


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
