"""Prompts of K-QA: the question alone, with instructions and examples, and with retrieved passages (paper, section 5.1).

Ours are written from the facts of appendix D.3: what is given, what an answer should cover, and that whoever cannot answer,
or finds nothing in the passages, says only that they do not know. The three worked examples are our own, in the appendix's form: a
question, an answer that is good but lacks something, and what a better one adds. The authors publish these prompts in the paper
alone, not as files, so there is no set of theirs to load: `--prompts official` chooses the prompts of the judge, and the questions
are put as always. Everything is one user message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.kqa.documents import Chunk
from medical_tasks.benchmarks.kqa.retrieval import Retriever, open_retriever
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

PROMPT_SETS = ("own", "official")

INSTRUCTIONS = """\
You are a physician who answers a patient's question in writing. Write for a layperson, directly and without padding.
- Answer what the patient wants to know first, then what else they should know even though they did not ask. There may be a \
medical worry behind the question.
- Where it matters, say what is different for children, during pregnancy and breastfeeding, with allergies and with long-term \
illnesses.
- Put several symptoms, causes or treatments into a list.
- If you do not know the answer, reply with nothing but: I don't know"""

SOURCES_ONLY = """\
Answer the patient's question from the sources below and from nothing else. If they do not hold the answer, reply with nothing \
but: I don't know"""

SOURCES_TOO = """\
Take what you say from the sources below. If they do not hold the answer, reply with nothing but: I don't know
Say each thing once."""

EXAMPLES = "Here are three answers that can be improved, and how. Write the better kind."

EXAMPLE = "Question: {question}\nAnswer: {answer}\nWhat a better answer adds: {better}"

SOURCES = "Sources:\n\n{passages}"

SOURCE = "[{number}] {name}\n{text}"

NO_SOURCE = "(no source fits the question)"

QUESTION = "Question: {question}\nAnswer:"

_TEXTS = (INSTRUCTIONS, SOURCES_ONLY, SOURCES_TOO, EXAMPLES, EXAMPLE, SOURCES, SOURCE, NO_SOURCE, QUESTION)


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
        parts.append(INSTRUCTIONS)
    if retriever is not None:
        parts.append(SOURCES_TOO if examples else SOURCES_ONLY)
    if examples:
        parts += [EXAMPLES, *(EXAMPLE.format_map(vars(exemplar)) for exemplar in EXEMPLARS)]
    if retriever is not None:
        parts.append(SOURCES.format(passages=_passages(retriever.passages(item))))
    parts.append(QUESTION.format(question=question))
    return "\n\n".join(parts)


def _passages(chunks: Sequence[Chunk]) -> str:
    if not chunks:
        return NO_SOURCE
    return "\n\n".join(
        SOURCE.format(number=number, name=_source_name(chunk), text=chunk.text.strip())
        for number, chunk in enumerate(chunks, start=1)
    )


def _source_name(chunk: Chunk) -> str:
    title = " ".join(chunk.document.title.split())
    return f"{title} ({chunk.document.url})" if chunk.document.url else title


def _digest(task: TaskSpec) -> str:
    """Hash of the texts that a task's questions are made of; what is retrieved has a hash of its own."""
    texts: list[str] = [task.options["shots"], task.options["retrieval"]]
    if texts != ["0", "none"]:
        texts += _TEXTS
    if task.options["shots"] != "0":
        texts += [part for exemplar in EXEMPLARS for part in (exemplar.question, exemplar.answer, exemplar.better)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer: the physicians' statements, must-have first, one a line, blank ones left out.

    Not the free-form answer they were taken from: physicians amended the statements after it was taken apart (section 3.2),
    so it lacks some, and says the rest in other words than they are judged by. Here every judge, also one that compares
    words, finds every statement as it stands.
    """
    statements = (*item.fields["must_have"], *item.fields["nice_to_have"])
    return "\n".join(_one_line(statement) for statement in statements if statement.strip())


def _one_line(statement: str) -> str:
    return " ".join(line.strip() for line in statement.strip().splitlines())


@dataclass(frozen=True, kw_only=True)
class Exemplar:
    """A worked example: a correct answer that leaves something out, and what a better one adds."""

    question: str
    answer: str
    better: str


EXEMPLARS: tuple[Exemplar, ...] = (
    Exemplar(
        question="can I use naproxen for my knee pain",
        answer=(
            "Yes, naproxen eases pain and inflammation. Take the lowest dose that helps, with food, and for the shortest time "
            "possible."
        ),
        better=(
            "The answer is right but does not say for whom naproxen is unsafe. A better one adds that people with a stomach "
            "ulcer, kidney disease or heart failure should avoid it, that it must not be combined with ibuprofen or taken "
            "with blood thinners without asking a doctor, and that it is to be avoided from week 20 of a pregnancy."
        ),
    ),
    Exemplar(
        question="Do I need a doctor for pink eye or will it go away?",
        answer="Pink eye from a virus clears up without treatment in one to two weeks. Cool compresses ease the itching.",
        better=(
            "The answer takes for granted that a virus is the cause. A better one explains that bacteria and allergies cause "
            "pink eye too, that bacterial pink eye may need antibiotic drops, that it spreads by hands and towels, and that "
            "pain, sensitivity to light, worse vision, contact lenses or a newborn are reasons to be seen at once."
        ),
    ),
    Exemplar(
        question="so the numbness in my hand at night is carpal tunnel right?",
        answer=(
            "It may well be. Carpal tunnel syndrome often causes numbness of the thumb and the first fingers at night, and a "
            "wrist splint helps many people."
        ),
        better=(
            "The answer settles on one cause. A better one names others, such as a pinched nerve at the elbow or the neck, "
            "diabetes, a lack of vitamin B12 or an underactive thyroid, says that pregnancy makes it more likely, and that "
            "sudden numbness of one side with weakness or trouble speaking is an emergency."
        ),
    ),
)
