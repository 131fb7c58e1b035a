"""How long the BM25 index of `kqa_rag` takes, to build and to ask, and what memory it needs.

    python measurements/retrieval.py [CHUNKS]

Writes an invented corpus of CHUNKS passages (default 100,000) of 150 words into a
temporary folder: words are drawn from a vocabulary of 60,000 by Zipf's law, as in real
text. Then times reading it, building the index, and the demo's questions beside
questions of ten frequent words each, the worst case.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from medical_tasks.benchmarks.kqa.data import demo_rows
from medical_tasks.benchmarks.kqa.documents import chunk_documents, read_documents
from medical_tasks.benchmarks.kqa.prompts import Index

CHUNK_WORDS = 150
VOCABULARY = 60_000
QUESTIONS = 201


def write_corpus(folder: Path, chunks: int) -> list[str]:
    import numpy as np

    generator = np.random.default_rng(20240125)
    frequent = [
        "fever",
        "pain",
        "doctor",
        "mole",
        "flu",
        "metformin",
        "pregnancy",
        "antibiotic",
        "tablet",
        "skin",
    ]
    words = np.array(
        [*frequent, *(f"w{number}" for number in range(VOCABULARY - len(frequent)))]
    )
    weights = 1 / np.arange(2, VOCABULARY + 2)
    weights /= weights.sum()
    per_file = 1000
    for start in range(0, chunks, per_file):
        drawn = generator.choice(
            words, size=(min(per_file, chunks - start), CHUNK_WORDS), p=weights
        )
        text = "\n\n".join(" ".join(passage) for passage in drawn)
        (folder / f"part-{start // per_file:05d}.txt").write_text(
            text, encoding="utf-8"
        )
    return frequent


def main() -> None:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as scratch:
        frequent = write_corpus(Path(scratch), chunks)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        passages = list(chunk_documents(read_documents(Path(scratch)), CHUNK_WORDS))
        print(
            f"read and cut   {len(passages):>9,} passages {time.perf_counter() - start:8.2f} s"
        )
        start = time.perf_counter()
        index = Index(passages)
        print(
            f"index                                   {time.perf_counter() - start:8.2f} s"
        )
    for label, questions in (
        ("the demo's questions", [str(row["question"]) for row in demo_rows()]),
        ("ten frequent words", [" ".join(frequent)]),
    ):
        start = time.perf_counter()
        for number in range(QUESTIONS):
            index.best(questions[number % len(questions)], 5)
        seconds = (time.perf_counter() - start) / QUESTIONS
        print(f"{label:<24} {QUESTIONS:>5} questions {seconds * 1000:8.2f} ms each")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"memory                                  {peak / 1e6:8.2f} GB at most, {before / 1e6:.2f} GB before"
    )


if __name__ == "__main__":
    main()
