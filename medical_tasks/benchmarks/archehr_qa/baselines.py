"""ArchEHR-QA's own baseline: the note's sentences that are most like the questions (paper, Validation: "Heuristic").

`--model baseline/heuristic`. Sentences are taken whole, the most similar first, until the next one would make the answer longer
than 75 words; that one ends it. A sentence that has no word, or more than 75 by itself, is passed over. The answer has them in the
order of the note, one a line, each citing itself. Nothing is taken where nothing can be: the answer is "" then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.benchmarks.archehr_qa.evidence import note_sentences, open_similarity, ranked, read_arguments
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec


def heuristic_responses(task: TaskSpec, items: Sequence[Item], arguments: Mapping[str, str]) -> list[str]:
    """Answers all items by similarity, in the official form; an embedder reads the sentences of all items together."""
    similarity = open_similarity(_embedder(task, arguments))
    found = similarity.of(items)
    return [_answer(item, similarities) for item, similarities in zip(items, found, strict=True)]


def heuristic_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what decides the answers, for the recipe; loads no weights."""
    similarity = open_similarity(_embedder(task, arguments))
    return {"rule": "heuristic 1", "words": WORD_LIMIT, "similarity": dict(similarity.identity)}


def _embedder(task: TaskSpec, arguments: Mapping[str, str]) -> str | None:
    if "steps" not in task.options:
        raise UsageError(
            f"{task.name}: baseline/heuristic answers a question with sentences of the note and cites them, which is not what "
            "this task asks for. Use it with the tasks of cited answers, such as archehr_together."
        )
    return read_arguments(task, arguments).embedder


def _answer(item: Item, similarities: Sequence[float]) -> str:
    sentences = note_sentences(item)
    taken: list[int] = []
    left = WORD_LIMIT
    for place in ranked(similarities):
        words = len(sentences[place].split())
        if not 0 < words <= WORD_LIMIT:
            continue
        if words > left:
            break
        taken.append(place)
        left -= words
    ids = item.fields["sentence_ids"]
    return "\n".join(f"{sentences[place]} |{ids[place]}|" for place in sorted(taken))
