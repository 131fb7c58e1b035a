"""K-QA's prompts: the question alone, with examples, and with retrieved passages.

Manes et al. 2024, section 5.1. Our prompts (`prompts.json`) were written from the facts
of appendix D.3, and so were the worked examples: a question, a good answer that lacks
something, and what a better one adds. The authors published theirs only in the paper,
not as files, so `--prompts official` selects the judge's prompts and does not change
the questions. A prompt is one user message.

BM25 (bm25s; Lucene's form, k1 1.5, b 0.75) retrieves passages from a folder of the user's
documents, or from the demo's own corpus. It searches title and passage; words are
case-folded, without English function words and plural s, and text without spaces is cut
every 40 characters. Ties are in document order. A passage that shares no word with the
question is never given. The paper's documents, public ones for lay readers, and its method
are not published. The recipe of a run records the user's documents and every parameter.

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
"""Worked examples: a correct but incomplete answer, and what a better one adds."""


def load_prompts(
    task: TaskSpec,
    name: str = "own",
    upstream: Path | None = None,
    arguments: Mapping[str, str] | None = None,
) -> PromptSet:
    """Builds the prompts of a task.

    `own` and `official` both give our own, named `own` (see above). The task's
    `options["shots"]` and `options["retrieval"]` say what comes with the question.

    With retrieval but without documents, rendering raises `MissingError` for a question
    outside the demo.
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
        return ({"role": "user", "content": _prompt(item, examples, retriever)},)

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


def _prompt(item: Item, examples: bool, retriever: Retriever | None) -> str:
    """An item's question: alone, or after examples, passages, or both."""
    question = str(item.fields["question"]).strip()
    if not examples and retriever is None:
        return question

    sections: list[str] = []
    if examples:
        sections.append(TEXTS["instructions"])
    if retriever is not None:
        sections.append(TEXTS["sources_too"] if examples else TEXTS["sources_only"])

    if examples:
        sections += [
            TEXTS["examples"],
            *(TEXTS["example"].format_map(exemplar) for exemplar in EXEMPLARS),
        ]

    if retriever is not None:
        sections.append(
            TEXTS["sources"].format(passages=_passages(retriever.passages(item)))
        )

    sections.append(TEXTS["question"].format(question=question))
    return "\n\n".join(sections)


def _passages(chunks: Sequence[Chunk]) -> str:
    passages = []
    for number, chunk in enumerate(chunks, start=1):
        title, url = " ".join(chunk.document.title.split()), chunk.document.url
        name = f"{title} ({url})" if url else title
        passages.append(
            TEXTS["source"].format(number=number, name=name, text=chunk.text.strip())
        )
    return "\n\n".join(passages) or TEXTS["no_source"]


def _digest(task: TaskSpec) -> str:
    """Hashes the texts of a task's prompts; the documents have a hash of their own."""
    texts: list[str] = [task.options["shots"], task.options["retrieval"]]
    if texts != ["0", "none"]:
        texts += TEXTS.values()

    if task.options["shots"] != "0":
        texts += [
            exemplar[key]
            for exemplar in EXEMPLARS
            for key in ("question", "answer", "better")
        ]

    return texts_sha256(*texts)


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer: the physicians' statements, must-have first, one per line.

    It is not their free-form answer, which lacks some statements: physicians amended
    these later (section 3.2). So every judge, even one that compares words, finds each
    statement verbatim.
    """
    statements = (*item.fields["must_have"], *item.fields["nice_to_have"])
    lines = (
        statement.strip().splitlines() for statement in statements if statement.strip()
    )

    return "\n".join(" ".join(line.strip() for line in own) for own in lines)


DOCUMENTS_VARIABLE = "MEDICAL_TASKS_DOCUMENTS"
"""The environment variable that names the folder, for harnesses without `--task-args`."""

DEMO = "demo"
"""Value of `documents` for the demo's own corpus, the default."""

# Robertson and Zaragoza 2009, with the defaults of Lucene's successors: saturation of
# counts, and weight of the length.
_K1, _B = 1.5, 0.75
_METHOD = "lucene"

# They load slowly and are not used; jax would also reserve most of the GPU memory that
# the model needs.
_UNUSED_ACCELERATORS = ("jax", "numba")
_CACHED_INDEXES = 2


class Index:
    """A BM25 index over passages.

    Words are compared as in `search_words`; a passage is found by its document's title too.
    """

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
        """Finds at most `count` passages that share a word with a question, the best first; ties keep their order."""
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
        return [self.chunks[index] for index in order[:count]]


@dataclass(frozen=True, kw_only=True)
class Retriever:
    """Retrieves a task's passages.

    Attributes:
        settings: everything about it that the recipe records.
        demo: whether the documents are the demo's.
    """

    task: str
    index: Index
    top_k: int
    settings: Row
    demo: bool

    def passages(self, item: Item) -> list[Chunk]:
        """Finds the passages for a question, the best first."""
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
    """Reads the documents and builds their index, once per process for the same documents.

    The arguments `documents`, `top_k` and `chunk_words` are optional. Without
    `documents`, the environment variable `MEDICAL_TASKS_DOCUMENTS` names the folder;
    without that, the demo's corpus is used.
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
    root = _documents_path(task, arguments.get("documents"))
    documents = tuple(demo_documents() if root is None else read_documents(root))
    index = _index(documents, chunk_words)
    if not index.searchable:
        raise UsageError(
            f"documents={root}: no word to search by in any of the {len(index.chunks)} "
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
        "corpus": "demo" if root is None else "own documents",
        "documents": len(documents),
        "chunks": len(index.chunks),
        "documents_sha256": _corpus_digest(documents),
    }
    return Retriever(
        task=task, index=index, top_k=top_k, settings=settings, demo=root is None
    )


def _documents_path(task: str, value: object) -> Path | None:
    """The path of the documents, None for the demo's; a folder named demo is given as ./demo."""
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
    """Hashes the documents' contents and names, independent of their folder's path."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(
            json.dumps(
                [document.name, document.title, document.url, document.text]
            ).encode()
            + b"\n"
        )
    return digest.hexdigest()


@lru_cache(maxsize=_CACHED_INDEXES)
def _index(documents: tuple[Document, ...], chunk_words: int) -> Index:
    """The index of documents, shared by tasks; the key is their content, so that no changed folder gets an old index."""
    return Index(list(chunk_documents(documents, chunk_words)))


def _bm25s() -> ModuleType:
    """Imports the library without the accelerators it looks for, and silences its log."""
    with _import_blocked(_UNUSED_ACCELERATORS):
        library = importlib.import_module("bm25s")
    # It logs each step, at a level that it sets itself and the user's settings do not
    # change.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return library


@contextmanager
def _import_blocked(names: Sequence[str]) -> Iterator[None]:
    """Makes imports of these packages fail meanwhile, even if they are already imported."""
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
"""Description in the recipe; its number changes whenever the rules do."""

# A decimal number is one word: 6.0 does not match 6.
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")

# Dropped because in a small folder of documents their counts are too small to show that
# they carry no meaning.
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
    """Splits a text into search words, in order and with repeats. Digits count as letters (`B12`)."""
    folded = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return [word for match in _WORD.findall(folded) if (word := _search_word(match))]


@lru_cache(maxsize=1 << 16)
def _search_word(word: str) -> str:
    """Removes a plural s, by the weakest of Harman's stemmers (1991); "" for a function word."""
    if word in _FUNCTION_WORDS:
        return ""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"

    return word[:-1]
