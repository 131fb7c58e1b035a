"""Search words, passages and retrieval."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import medical_tasks.benchmarks.kqa.prompts as module
from medical_tasks.benchmarks.kqa.data import demo_rows, load_items
from medical_tasks.benchmarks.kqa.documents import Chunk, Document, chunk_documents
from medical_tasks.benchmarks.kqa.prompts import (
    TOKENIZER,
    Index,
    open_retriever,
    search_words,
)
from medical_tasks.benchmarks.kqa.spec import KQA_RAG
from medical_tasks.errors import UsageError
from tests.benchmarks.kqa.kqa_judges import cases

ITEMS = load_items(KQA_RAG, demo_rows())


def document(text: str, name: str = "d", title: str = "") -> Document:
    return Document(name=name, title=title, text=text)


def index_of(*texts: str) -> Index:
    return Index(
        list(
            chunk_documents(
                [document(text, f"d{number}") for number, text in enumerate(texts)], 150
            )
        )
    )


def ids(chunks: list[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


WORDS = st.lists(
    st.sampled_from("fever pain mole flu skin tablet rash".split()), max_size=12
).map(" ".join)


def test_ties_keep_the_order_and_titles_are_searched() -> None:
    index = index_of("zebra", *["a mole"] * 40, "mole", "other")
    assert ids(index.best("mole", 5)) == [f"d{number}#1" for number in range(1, 6)]
    assert len(index.best("mole", 50)) == 41
    assert ids(index.best("zebra mole", 2)) == ["d0#1", "d1#1"]
    chunks = list(
        chunk_documents([document("flu"), document("text", "e", "Mole")], 150)
    )
    assert ids(Index(chunks).best("mole", 5)) == ["e#1"]


@pytest.mark.parametrize(
    "question", ["", "?", "what is it", "giraffe", "giraffe and lion"]
)
def test_a_question_without_a_shared_word_retrieves_nothing(question: str) -> None:
    assert index_of("a mole", "a flu").best(question, 5) == []


def test_demo_questions_retrieve_their_documents() -> None:
    retriever = open_retriever("kqa_rag", {})
    first = {
        str(item.fields["question"]): [chunk.id for chunk in retriever.passages(item)][
            :1
        ]
        for item in ITEMS
    }
    about = {
        "ibuprofen": "fever-medicines",
        "athletes": "athletes-foot",
        "HbA1c": "hba1c",
        "stomach flu": "stomach-flu",
        "hay fever": "hay-fever-pregnancy",
        "metformin": "metformin",
        "a cold": "cold-or-flu",
        "mole": "moles",
    }
    for word, name in about.items():
        assert [ids for question, ids in first.items() if word in question] == [
            [f"demo/{name}#1"]
        ], word


def test_settings_describe_documents_and_retriever(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mole " * 50)
    (tmp_path / "b.txt").write_text("flu")
    arguments = {"documents": str(tmp_path), "top_k": "2", "chunk_words": 20}
    settings = dict(open_retriever("kqa_rag", arguments).settings)
    digest = settings.pop("documents_sha256")
    assert settings == {
        "retriever": "bm25s",
        "version": settings["version"],
        "method": "lucene",
        "k1": 1.5,
        "b": 0.75,
        "tokenizer": TOKENIZER,
        "top_k": 2,
        "chunk_words": 20,
        "overlap_words": 4,
        "corpus": "own documents",
        "documents": 2,
        "chunks": 4,
    }
    assert settings["version"][0].isdigit()
    json.dumps(settings)
    # The hash covers each name and text, not the folder's path.
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    arguments["documents"] = str(moved)
    assert open_retriever("kqa_rag", arguments).settings["documents_sha256"] == digest
    (moved / "b.txt").write_text("flu ")
    assert open_retriever("kqa_rag", arguments).settings["documents_sha256"] != digest
    (moved / "b.txt").write_text("flu")
    (moved / "b.txt").rename(moved / "c.txt")
    assert open_retriever("kqa_rag", arguments).settings["documents_sha256"] != digest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *cases("retrieval")["wrong_arguments"],
        ({"top_k": "9" * 5000}, r"top_k must be a whole number"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_retriever("kqa_rag", arguments)


def test_one_index_for_the_same_documents(tmp_path: Path) -> None:
    module._index.cache_clear()
    (tmp_path / "a.txt").write_text("mole")
    arguments = {"documents": str(tmp_path)}
    open_retriever("kqa_rag", arguments)
    open_retriever("kqa_icl_rag", {**arguments, "top_k": 2})
    assert module._index.cache_info().misses == 1
    (tmp_path / "b.txt").write_text("flu")
    assert open_retriever("kqa_rag", arguments).settings["documents"] == 2
    for words in (20, 30, 40):
        open_retriever("kqa_rag", {**arguments, "chunk_words": words})
    assert module._index.cache_info().currsize == 2


def test_the_library_imports_no_accelerator_and_prints_nothing(tmp_path: Path) -> None:
    """In a process of its own, in which importing one of the packages ends the program."""
    for name in ("jax", "numba"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            "raise SystemExit('imported ' + __name__)"
        )
    code = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
from medical_tasks.benchmarks.kqa.prompts import open_retriever
from medical_tasks.benchmarks.kqa.data import demo_rows
from medical_tasks.benchmarks.kqa.data import load_items
from medical_tasks.benchmarks.kqa.spec import KQA_RAG
assert "bm25s" not in sys.modules and "numpy" not in sys.modules
retriever = open_retriever("kqa_rag", {})
print(*[chunk.id for item in load_items(KQA_RAG, demo_rows()) for chunk in retriever.passages(item)])
assert "bm25s" in sys.modules
assert not {"jax", "numba", "datasets", "torch", "huggingface_hub"} & set(sys.modules)
"""
    home = tmp_path / "home"
    home.mkdir()
    outputs = []
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "HOME": str(home),
            "PYTHONHASHSEED": seed,
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("demo/fever-medicines#1 ")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(("text", "words"), cases("retrieval")["words"])
def test_search_words(text: str, words: list[str]) -> None:
    assert search_words(text) == words


def passages(text: str, size: int) -> list[str]:
    return [chunk.text for chunk in chunk_documents([document(text)], size)]


@pytest.mark.parametrize(
    ("why", "text", "parts"), cases("retrieval")["passages_of_20_words"]
)
def test_passages_of_a_text(why: str, text: str, parts: list[str]) -> None:
    assert passages(text, 20) == parts, why


def test_ids_of_passages_and_text_without_spaces() -> None:
    chunks = list(
        chunk_documents(
            [document("w " * 50, "f/a.txt"), document("x", "b.jsonl:3")], 20
        )
    )
    assert [chunk.id for chunk in chunks] == [
        "f/a.txt#1",
        "f/a.txt#2",
        "f/a.txt#3",
        "b.jsonl:3#1",
    ]
    parts = passages("x" * 10_000, 20)
    assert max(map(len, parts)) == 800
    assert len(parts) == math.ceil((250 - 20) / 16) + 1


@given(
    st.lists(st.sampled_from(["a", "b", "\n\n", "\n", " "]), max_size=200),
    st.integers(min_value=20, max_value=30),
)
def test_passages_keep_every_word_in_order_with_a_bounded_overlap(
    pieces: list[str], size: int
) -> None:
    numbered = [
        f"{piece}{index}" if piece in "ab" else piece
        for index, piece in enumerate(pieces)
    ]
    text = " ".join(numbered)
    passage_words = [words.split() for words in passages(text, size)]
    assert all(0 < len(words) <= size for words in passage_words)
    # Every word in order, and no more repeated than the overlap.
    rebuilt: list[str] = []
    for words in passage_words:
        repeated = rebuilt.index(words[0]) if words[0] in rebuilt else len(rebuilt)
        assert len(rebuilt) - repeated <= size // 5
        rebuilt[repeated:] = words
    assert rebuilt == text.split()
