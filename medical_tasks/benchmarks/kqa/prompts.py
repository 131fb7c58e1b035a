"""Prompts of K-QA: the question alone, with instructions and examples, and with retrieved passages (paper, section 5.1).

Ours (`prompts.json`) are written from the facts of appendix D.3, the worked examples too: a question, an answer that is good but
lacks something, and what a better one adds. The authors publish theirs in the paper alone, not as files, so `--prompts official`
chooses the prompts of the judge, and the questions are put as always. Everything is one user message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.kqa.documents import Chunk
from medical_tasks.benchmarks.kqa.retrieval import Retriever, open_retriever
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

PROMPT_SETS = ("own", "official")

_CONTENT: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("prompts.json").read_text(encoding="utf-8"))
TEXTS: Final = {name: text for name, text in _CONTENT.items() if isinstance(text, str)}
EXEMPLARS: Final[Sequence[Mapping[str, str]]] = _CONTENT["exemplars"]
"""Worked examples: a correct answer that leaves something out, and what a better one adds."""


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None, arguments: Mapping[str, Any] | None = None
) -> PromptSet:
    """Makes the prompts of a task; `own` and `official` both give our own, by the name `own` (see above).

    `options["shots"]` and `options["retrieval"]` of the task say what stands beside the question. With retrieval, rendering
    raises `MissingError` for a question that is none of the demo's when no documents were given.
    """
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    given = dict(arguments or {})
    if unknown := [key for key in given if key not in task.arguments]:
        takes = f"It takes: {', '.join(task.arguments)}." if task.arguments else "It takes none."
        raise UsageError(f"{task.name}: {', '.join(map(repr, unknown))} is no setting of this task. {takes}")
    examples = task.options["shots"] != "0"
    retriever = open_retriever(task.name, given) if task.options["retrieval"] == "bm25" else None

    def render(item: Item) -> tuple[Message, ...]:
        return ({"role": "user", "content": _asked(item, examples, retriever)},)

    if retriever is None:
        return PromptSet(name="own", sha256=_digest(task), render=render)

    def sources(item: Item) -> tuple[str, ...]:
        return tuple(chunk.id for chunk in retriever.passages(item))

    return PromptSet(name="own", sha256=_digest(task), render=render, settings=retriever.settings, sources=sources)


def _asked(item: Item, examples: bool, retriever: Retriever | None) -> str:
    question = str(item.fields["question"]).strip()
    if not examples and retriever is None:
        return question
    parts: list[str] = []
    if examples:
        parts.append(TEXTS["instructions"])
    if retriever is not None:
        parts.append(TEXTS["sources_too"] if examples else TEXTS["sources_only"])
    if examples:
        parts += [TEXTS["examples"], *(TEXTS["example"].format_map(exemplar) for exemplar in EXEMPLARS)]
    if retriever is not None:
        parts.append(TEXTS["sources"].format(passages=_passages(retriever.passages(item))))
    parts.append(TEXTS["question"].format(question=question))
    return "\n\n".join(parts)


def _passages(chunks: Sequence[Chunk]) -> str:
    shown = []
    for number, chunk in enumerate(chunks, start=1):
        title, url = " ".join(chunk.document.title.split()), chunk.document.url
        name = f"{title} ({url})" if url else title
        shown.append(TEXTS["source"].format(number=number, name=name, text=chunk.text.strip()))
    return "\n\n".join(shown) or TEXTS["no_source"]


def _digest(task: TaskSpec) -> str:
    """Hash of the texts that a task's questions are made of; what is retrieved has a hash of its own."""
    texts: list[str] = [task.options["shots"], task.options["retrieval"]]
    if texts != ["0", "none"]:
        texts += TEXTS.values()
    if task.options["shots"] != "0":
        texts += [exemplar[part] for exemplar in EXEMPLARS for part in ("question", "answer", "better")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer: the physicians' statements, must-have first, one a line, blank ones left out.

    Not the free-form answer they were taken from: physicians amended the statements after it was taken apart (section 3.2), so it
    lacks some. Here every judge, also one that compares words, finds every statement as it stands.
    """
    statements = (*item.fields["must_have"], *item.fields["nice_to_have"])
    lines = (statement.strip().splitlines() for statement in statements if statement.strip())
    return "\n".join(" ".join(line.strip() for line in of_statement) for of_statement in lines)
