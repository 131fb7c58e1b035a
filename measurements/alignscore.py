"""Speed of AlignScore: batches of like length against padding every pair to 512 tokens, and whether the numbers agree.

    python measurements/alignscore.py [--sizes tiny,256x4] [--cases 24]

A size is width x layers of a random model; `tiny` is the smallest (32x2), 768x12 is as
large as AlignScore-base. Cases are invented and as long as ArchEHR-QA's (dataset paper,
table 2): claims of up to 75 words against a clinician's answer of 73 words, and against
the question of 102 words with essential sentences of another 80 or so. The reference
cuts texts the same way, reads eight pairs at once in their own order, and has the
tokenizer pad each to 512. Loading is not counted. Both run in turns, and processor time
is counted, in which other work on the machine has little part.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.models.alignscore import open_alignscore
from medical_tasks.models.checkpoint import quiet_libraries
from medical_tasks.scoring.content_overlap import best_and_mean, chunk_context
from medical_tasks.scoring.sentences import split_sentences
from tests.models.tiny_alignscore import make_alignscore

LONGEST = 512
BATCH = 8

Cases = tuple[list[str], list[str]]
Score = Callable[[Sequence[str], Sequence[str]], list[float]]

_DRUGS = (
    "furosemide",
    "heparin",
    "warfarin",
    "metoprolol",
    "ceftriaxone",
    "insulin",
    "aspirin",
    "potassium",
)
_EVENTS = (
    "started",
    "held",
    "continued",
    "increased",
    "stopped",
    "reduced by half",
    "given twice",
    "weaned slowly",
)


def invent(count: int) -> dict[str, Cases]:
    """Invents claims with their contexts, of both kinds."""
    draw = random.Random(7)

    def sentence() -> str:
        tail = " and ".join(draw.choice(_DRUGS) for _ in range(draw.randrange(1, 5)))
        return f"On day {draw.randrange(1, 30)} {draw.choice(_DRUGS)} was {draw.choice(_EVENTS)} because of {tail}."

    def text(words: float) -> str:
        result = sentence()
        while len(result.split()) < words:
            result += f" {sentence()}"
        return result

    claims = [text(draw.uniform(45, 65)) for _ in range(count)]
    answers = [text(66) for _ in range(count)]
    questions = [
        text(min(250, max(25, draw.gauss(95, 57)))) + " " + text(draw.gauss(75, 30))
        for _ in range(count)
    ]
    return {
        "answer": (answers, claims),
        "question": (questions, claims),
        "both": ([*answers, *questions], [*claims, *claims]),
    }


def padded(file: Path, backbone: Path) -> Score:
    """Scores as the authors do: every pair padded to 512 tokens, a few at once."""
    import torch
    import transformers

    state: dict[str, Any] = torch.load(file, weights_only=True)["state_dict"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        backbone, local_files_only=True
    )
    model = transformers.AutoModel.from_pretrained(
        backbone, local_files_only=True
    ).eval()

    def read(pairs: Sequence[tuple[str, str]]) -> list[float]:
        columns = tokenizer(
            [context for context, _ in pairs],
            [claim for _, claim in pairs],
            truncation="only_first",
            max_length=LONGEST,
            padding="max_length",
            return_tensors="pt",
        )
        with torch.inference_mode():
            outputs = torch.nn.functional.linear(
                model(**columns).pooler_output,
                state["tri_layer.weight"],
                state["tri_layer.bias"],
            )
        probabilities: list[float] = outputs.softmax(dim=-1)[:, 0].tolist()
        return probabilities

    def score(contexts: Sequence[str], claims: Sequence[str]) -> list[float]:
        results = []
        for context, claim in zip(contexts, claims, strict=True):
            chunks = chunk_context(context, split_sentences(context))
            parts = split_sentences(claim)
            pairs = [(chunk, sentence) for sentence in parts for chunk in chunks]
            values = [
                value
                for start in range(0, len(pairs), BATCH)
                for value in read(pairs[start : start + BATCH])
            ]
            results.append(
                best_and_mean(
                    [
                        values[start : start + len(chunks)]
                        for start in range(0, len(values), len(chunks))
                    ]
                )
            )
        return results

    return score


def timed(
    ways: dict[str, Score], cases: Cases, rounds: int
) -> dict[str, tuple[list[float], float]]:
    """Runs both ways in turns, so that other work on the machine slows both; returns values and best time of each."""
    best: dict[str, tuple[list[float], float]] = {}
    for _ in range(rounds):
        for way, score in ways.items():
            score(cases[0][:1], cases[1][:1])  # warm up
            start = time.process_time()
            values = score(*cases)
            seconds = time.process_time() - start
            if way not in best or seconds < best[way][1]:
                best[way] = values, seconds
    return best


def main() -> int:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="tiny,256x4")
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many")
    options = parser.parse_args()
    kinds = invent(options.cases)
    texts = [text for column in kinds["both"] for text in column]
    print(f"{options.cases} cases; CPU, {torch.get_num_threads()} threads")
    print(
        f"{'size':>8} {'context':>9} {'words':>6} {'padded to 512, s':>17} {'batched, s':>11} {'faster by':>9} {'difference':>11}"
    )
    worst = 0.0
    for size in options.sizes.split(","):
        width, layers = (
            (32, 2) if size == "tiny" else (int(number) for number in size.split("x"))
        )
        with tempfile.TemporaryDirectory() as name, quiet_libraries(logging.ERROR):
            file, backbone = make_alignscore(
                Path(name),
                width=width,
                layers=layers,
                longest=LONGEST,
                texts=texts,
                vocabulary=2000,
            )
            scorer = open_alignscore(file, backbone=backbone)
            ways = {"padded": padded(file, backbone), "batched": scorer.score}
            for kind, cases in kinds.items():
                best = timed(ways, cases, options.rounds)
                (theirs, slow), (ours, fast) = best["padded"], best["batched"]
                difference = max(
                    abs(their - our) for their, our in zip(theirs, ours, strict=True)
                )
                worst = max(worst, difference)
                words = sum(len(context.split()) for context in cases[0]) / len(
                    cases[0]
                )
                print(
                    f"{size:>8} {kind:>9} {words:>6.0f} {slow:>17.2f} {fast:>11.2f} {slow / fast:>9.1f} {difference:>11.1e}",
                    flush=True,
                )
            scorer.close()
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
