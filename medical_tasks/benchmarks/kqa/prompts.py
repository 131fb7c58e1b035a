"""Prompts of K-QA: the question alone, with examples, and with retrieved passages.

Manes et al. 2024, section 5.1. Ours (`prompts.json`) are written from the facts of
appendix D.3, the worked examples too: a question, an answer that is good but lacks
something, and what a better one adds. The authors publish theirs in the paper alone,
not as files, so `--prompts official` chooses the prompts of the judge, and the
questions are put as always. Everything is one user message.

Passages: BM25 over a folder of the user's documents, or over the demo's own corpus. The
paper retrieves from public documents for lay readers and does not publish them, nor
how; what the user's documents were stands in the recipe, with every parameter.

    medical-tasks run --tasks kqa_rag --model hf/MODEL --task-args documents=FOLDER
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Final

from medical_tasks.benchmarks.kqa.data import demo_documents, demo_ids
from medical_tasks.benchmarks.kqa.documents import (
    OVERLAP,
    Chunk,
    Document,
    chunk_documents,
    read_documents,
)
from medical_tasks.data.task_data import check_prompt_set, check_settings, whole_setting
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import packaged
from medical_tasks.spec import Item, Message, PromptSet, Row, TaskSpec, texts_sha256

_CONTENT: Final = packaged(__file__, "prompts.json")
TEXTS: Final = {name: text for name, text in _CONTENT.items() if isinstance(text, str)}
EXEMPLARS: Final[Sequence[Mapping[str, str]]] = _CONTENT["exemplars"]
"""Worked examples: a correct answer that leaves something out, and what a better one adds."""


def load_prompts(
    task: TaskSpec,
    name: str = "own",
    upstream: Path | None = None,
    arguments: Mapping[str, str] | None = None,
) -> PromptSet:
    """Makes the prompts of a task.

    `own` and `official` both give our own, by the name `own` (see above).

    `options["shots"]` and `options["retrieval"]` of the task say what stands beside the
    question. With retrieval, rendering raises `MissingError` for a question that is
    none of the demo's when no documents were given.
    """
    check_prompt_set(task, name)
    settings = dict(arguments or {})
    check_settings(task, settings)
    examples = task.options["shots"] != "0"
    retriever = (
        open_retriever(task.name, settings)
        if task.options["retrieval"] == "bm25"
        else None
    )

    def render(item: Item) -> tuple[Message, ...]:
        return ({"role": "user", "content": _asked(item, examples, retriever)},)

    def sources(item: Item) -> tuple[str, ...]:
        return (
            tuple(chunk.id for chunk in retriever.passages(item)) if retriever else ()
        )

    return PromptSet(
        name="own",
        sha256=_digest(task),
        render=render,
        settings=retriever.settings if retriever else {},
        sources=sources if retriever else None,
    )


def _asked(item: Item, examples: bool, retriever: Retriever | None) -> str:
    """An item's question: alone, behind examples, behind passages, or behind both."""
    question = str(item.fields["question"]).strip()
    if not examples and retriever is None:
        return question

    parts: list[str] = []
    if examples:
        parts.append(TEXTS["instructions"])
    if retriever is not None:
        parts.append(TEXTS["sources_too"] if examples else TEXTS["sources_only"])

    if examples:
        parts += [
            TEXTS["examples"],
            *(TEXTS["example"].format_map(exemplar) for exemplar in EXEMPLARS),
        ]

    if retriever is not None:
        parts.append(
            TEXTS["sources"].format(passages=_passages(retriever.passages(item)))
        )

    parts.append(TEXTS["question"].format(question=question))
    return "\n\n".join(parts)


def _passages(chunks: Sequence[Chunk]) -> str:
    shown = []
    for number, chunk in enumerate(chunks, start=1):
        title, url = " ".join(chunk.document.title.split()), chunk.document.url
        name = f"{title} ({url})" if url else title
        shown.append(
            TEXTS["source"].format(number=number, name=name, text=chunk.text.strip())
        )
    return "\n\n".join(shown) or TEXTS["no_source"]


def _digest(task: TaskSpec) -> str:
    """Hash of the texts that a task's questions are made of.

    What is retrieved has a hash of its own.
    """
    texts: list[str] = [task.options["shots"], task.options["retrieval"]]
    if texts != ["0", "none"]:
        texts += TEXTS.values()

    if task.options["shots"] != "0":
        texts += [
            exemplar[part]
            for exemplar in EXEMPLARS
            for part in ("question", "answer", "better")
        ]

    return texts_sha256(*texts)


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer.

    The physicians' statements, must-have first, one a line, blank ones left out.

    Not the free-form answer they were taken from: physicians amended the statements
    after it was taken apart (section 3.2), so it lacks some. Here every judge, also one
    that compares words, finds every statement as it stands.
    """
    statements = (*item.fields["must_have"], *item.fields["nice_to_have"])
    lines = (
        statement.strip().splitlines() for statement in statements if statement.strip()
    )

    return "\n".join(
        " ".join(line.strip() for line in of_statement) for of_statement in lines
    )


DOCUMENTS_VARIABLE = "MEDICAL_TASKS_DOCUMENTS"
"""Names the folder where a harness has no `--task-args`."""

DEMO = "demo"
"""Value of `documents` for the demo's own corpus, which is also what is taken when nothing is said.
"""

# Robertson and Zaragoza 2009, and the defaults of Lucene's successors: saturation of
# counts, weight of the length.
_K1, _B = 1.5, 0.75
_METHOD = "lucene"

# Loading them is slow and none is used; jax would also take most of the memory of a GPU
# that the model needs.
_UNWANTED = ("jax", "numba")
_KEPT_INDEXES = 2


class Index:
    """A BM25 index over passages."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = tuple(chunks)
        vocabulary: dict[str, int] = {}
        ids = [
            [
                vocabulary.setdefault(word, len(vocabulary))
                for word in search_words(f"{chunk.document.title}\n{chunk.text}")
            ]
            for chunk in self.chunks
        ]
        self.searchable = bool(vocabulary)
        library = _bm25s()
        self.version = str(library.__version__)
        self._bm25 = library.BM25(
            k1=_K1, b=_B, method=_METHOD, backend="numpy", csc_backend="numpy"
        )
        if self.searchable:
            self._bm25.index(
                (ids, vocabulary), create_empty_token=False, show_progress=False
            )

    def best(self, question: str, count: int) -> list[Chunk]:
        """Finds at most `count` passages that share a word with a question.

        The best come first, and equals in their order.
        """
        import numpy as np

        words = (
            [word for word in search_words(question) if word in self._bm25.vocab_dict]
            if self.searchable
            else []
        )
        if not words:
            return []

        scores = self._bm25.get_scores(words)
        if count < len(scores):
            least = np.partition(scores, -count)[-count]
            candidates = np.flatnonzero((scores >= least) & (scores > 0))
        else:
            candidates = np.flatnonzero(scores > 0)

        order = candidates[np.argsort(-scores[candidates], kind="stable")]
        return [self.chunks[place] for place in order[:count]]


@dataclass(frozen=True, kw_only=True)
class Retriever:
    """What a task retrieves.

    Attributes:
        settings: everything that the recipe should say about it.
        demo: whether the documents are the demo's.
    """

    task: str
    index: Index
    top_k: int
    settings: Row
    demo: bool

    def passages(self, item: Item) -> list[Chunk]:
        """Finds the passages a question is given, the best first."""
        if self.demo and item.id not in demo_ids():
            raise MissingError(
                f"{self.task}: question {item.id} needs documents to retrieve from, and none "
                "were given; the demo's own "
                "corpus is for the questions of the demo alone. Give --task-args "
                "documents=FOLDER, or set "
                f"{DOCUMENTS_VARIABLE}=FOLDER; without documents, run the task "
                f"{self.task.removesuffix('_rag')}."
            )

        return self.index.best(str(item.fields["question"]), self.top_k)


def open_retriever(task: str, arguments: Mapping[str, object]) -> Retriever:
    """Reads the documents and builds their index, once a process for the same documents.

    Of the arguments `documents`, `top_k` and `chunk_words` each may be absent. Without
    `documents` the environment variable `MEDICAL_TASKS_DOCUMENTS` names the folder, and
    without that the demo's corpus is taken.
    """
    top_k = whole_setting(task, "top_k", arguments.get("top_k"), usual=5, most=50)
    chunk_words = whole_setting(
        task,
        "chunk_words",
        arguments.get("chunk_words"),
        usual=150,
        lowest=20,
        most=2000,
    )
    place = _place(task, arguments.get("documents"))
    documents = tuple(demo_documents() if place is None else read_documents(place))
    index = _index(documents, chunk_words)
    if not index.searchable:
        raise UsageError(
            f"documents={place}: no word to search by in any of the {len(index.chunks)} "
            "passages. Give documents that hold text."
        )

    settings = {
        "retriever": "bm25s",
        "version": index.version,
        "method": _METHOD,
        "k1": _K1,
        "b": _B,
        "tokenizer": TOKENIZER,
        "top_k": top_k,
        "chunk_words": chunk_words,
        "overlap_words": chunk_words // OVERLAP,
        "corpus": "demo" if place is None else "own documents",
        "documents": len(documents),
        "chunks": len(index.chunks),
        "documents_sha256": _corpus_digest(documents),
    }
    return Retriever(
        task=task, index=index, top_k=top_k, settings=settings, demo=place is None
    )


def _place(task: str, value: object) -> Path | None:
    """Where the documents are; None for the demo's.

    A folder that is called demo is given as ./demo.
    """
    if value is None:
        value = os.environ.get(DOCUMENTS_VARIABLE) or DEMO

    folder = str(value)
    if not folder.strip():
        raise UsageError(
            f"{task}: documents must name a folder, or `{DEMO}` for the demo's own corpus, got "
            f"{value!r}."
        )

    try:
        return None if folder == DEMO else Path(folder).expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"{task}: documents={folder}: there is no such user. Give the folder's whole path."
        ) from error


def _corpus_digest(documents: Sequence[Document]) -> str:
    """Hash of all there is of the documents, wherever their folder lies."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(
            json.dumps(
                [document.name, document.title, document.url, document.text]
            ).encode()
            + b"\n"
        )
    return digest.hexdigest()


@lru_cache(maxsize=_KEPT_INDEXES)
def _index(documents: tuple[Document, ...], chunk_words: int) -> Index:
    """Tasks that share documents share the index.

    By content, so that a changed folder is never searched by its old one.
    """
    return Index(list(chunk_documents(documents, chunk_words)))


def _bm25s() -> ModuleType:
    """Imports the library without the accelerators it looks for, and keeps it from logging."""
    with _out_of_sight(_UNWANTED):
        library = importlib.import_module("bm25s")
    # It logs each step and sets its own level to do so, which the settings of whoever
    # runs us would not hold back.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return library


@contextmanager
def _out_of_sight(names: Sequence[str]) -> Iterator[None]:
    """Makes importing these packages fail for a while, even if they are imported already."""
    missing = object()
    before = {name: sys.modules.get(name, missing) for name in names}
    try:
        for name in names:
            sys.modules[name] = None  # type: ignore[assignment]  # the documented way to say so

        yield
    finally:
        for name, module in before.items():
            if module is missing:
                del sys.modules[name]
            else:
                sys.modules[name] = module  # type: ignore[assignment]


TOKENIZER = (
    "words-1: NFKC, case folded, English function words left out, plural s taken off"
)
"""What the recipe says; the number changes whenever the words do."""

# A decimal number is one word: 6.0 has nothing to do with 6.
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")

# Left out because in a small folder of documents no count of theirs is large enough to
# show that they mean nothing.
_FUNCTION_WORDS = frozenset(
    (
        "a about after all also am an and any are as at be because been before being but by can "
        "cant could did didnt do does "
        "doesnt dont for from had has have he her him his how i if im in into is isnt it its ive "
        "just me my no not of off on "
        "once or other our out over she should so some than that the their them then there these "
        "they this those through to "
        "too up very was we were what when where whether which while who whom whose why will "
        "with would you your"
    ).split()
)


def search_words(text: str) -> list[str]:
    """Splits a text into the words it is searched by, in order, repeats kept.

    Digits count as letters (`B12`).
    """
    folded = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return [word for match in _WORD.findall(folded) if (word := _search_word(match))]


@lru_cache(maxsize=1 << 16)
def _search_word(word: str) -> str:
    """Takes the s of a plural off, after the weakest of Harman's stemmers (1991).

    "" for a function word.
    """
    if word in _FUNCTION_WORDS:
        return ""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"

    return word[:-1]
