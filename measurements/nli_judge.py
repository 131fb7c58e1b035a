"""Speed of the `nli` judge: batches against one pair after the other, on random T5 models, and whether they agree.

    python measurements/nli_judge.py [../shared/data/kqa/NLI_medical_annotator.csv] --sizes 64x2

A size is width x layers; 512x6 is t5-small. The reference generates up to three tokens
for one pair at a time, as DocLens' authors do. Loading is not counted.
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.judges.base import Reply
from medical_tasks.judges.nli import OFFICIAL_WORDS, open_nli
from medical_tasks.models.checkpoint import quiet_libraries
from tests.judges.tiny_nli import answers, save_true, train_pieces

VOCABULARY = 32128  # T5's
CSV = (
    Path(__file__).resolve().parents[2]
    / "shared"
    / "data"
    / "kqa"
    / "NLI_medical_annotator.csv"
)

Pairs = Sequence[tuple[str, str]]
Ask = Callable[[Pairs], list[str]]


def generate_each(folder: Path) -> Ask:
    """Judges as the authors do: one pair at a time, greedy generation, the text compared with 1."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = AutoModelForSeq2SeqLM.from_pretrained(
        str(folder), local_files_only=True
    ).eval()

    def label(premise: str, hypothesis: str) -> str:
        cut = " ".join(premise.split(" ")[:OFFICIAL_WORDS])
        ids = tokenizer(
            f"premise: {cut} hypothesis: {hypothesis}",
            return_tensors="pt",
            verbose=False,
        )["input_ids"]
        with torch.inference_mode():
            written = model.generate(ids, max_new_tokens=3, do_sample=False)
        text = tokenizer.decode(written[0], skip_special_tokens=True)
        return "entailment" if text == "1" else "not_entailment"

    return lambda pairs: [label(premise, hypothesis) for premise, hypothesis in pairs]


def judge_all(folder: Path, **options: str) -> Ask:
    judge = open_nli(f"nli/{folder}", options)

    def ask(pairs: Pairs) -> list[str]:
        return [
            str(outcome.label)
            for outcome in answers(judge, pairs)
            if isinstance(outcome, Reply)
        ]

    return ask


def timed(
    ways: Mapping[str, Ask], pairs: Pairs, rounds: int
) -> dict[str, tuple[list[str], float]]:
    """Runs the ways in turns, so that other work on the machine slows all; returns labels and best time of each."""
    best: dict[str, tuple[list[str], float]] = {}
    for _ in range(rounds):
        for way, ask in ways.items():
            ask(pairs[:8])  # warm up
            start = time.perf_counter()
            labels = ask(pairs)
            seconds = time.perf_counter() - start
            if way not in best or seconds < best[way][1]:
                best[way] = (labels, seconds)
    return best


def make(folder: Path, tokenizer: Any, pairs: Pairs, size: str) -> None:
    width, layers = (int(number) for number in size.split("x"))
    heads = max(2, width // 64)
    every = max(1, len(pairs) // 60)
    save_true(
        folder,
        tokenizer,
        pairs[::every],
        d_model=width,
        d_kv=width // heads,
        d_ff=4 * width,
        num_layers=layers,
        num_heads=heads,
        vocabulary=VOCABULARY,
    )


def main() -> int:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "source",
        type=Path,
        nargs="?",
        default=CSV,
        help="K-QA's NLI_medical_annotator.csv",
    )
    parser.add_argument("--sizes", default="64x2")
    parser.add_argument("--limit", type=int, help="pairs, from the start of the file")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many")
    options = parser.parse_args()
    with options.source.open(encoding="utf-8", newline="") as stream:
        pairs = [(row["answer"], row["claim"]) for row in csv.DictReader(stream)][
            : options.limit
        ]
    tokenizer = train_pieces([text for pair in pairs for text in pair], size=8000)
    lengths = [
        len(
            tokenizer(f"premise: {premise} hypothesis: {hypothesis}", verbose=False)[
                "input_ids"
            ]
        )
        for premise, hypothesis in pairs
    ]
    print(
        f"{len(pairs)} pairs, {sum(lengths) / len(lengths):.0f} tokens each, at most {max(lengths)}; ",
        end="",
    )
    print(f"CPU, {torch.get_num_threads()} threads")
    print(
        f"{'size':>8} {'weights':>8}  {'way':<28} {'pairs/s':>8} {'entailed':>8} {'same':>5}  batched is faster by"
    )
    same = True
    for size in options.sizes.split(","):
        with tempfile.TemporaryDirectory() as name, quiet_libraries(logging.ERROR):
            folder = Path(name) / "model"
            make(folder, tokenizer, pairs, size)
            weights = (folder / "model.safetensors").stat().st_size / 4e6
            ways: dict[str, Ask] = {
                "batched, one step": judge_all(folder),
                "one by one, one step": judge_all(folder, batch_size="1"),
                "one by one, generate": generate_each(folder),
            }
            best = timed(ways, pairs, options.rounds)
        labels, batched = best["batched, one step"]
        for way, (way_labels, seconds) in best.items():
            agree = sum(
                label == expected
                for label, expected in zip(way_labels, labels, strict=True)
            )
            same &= agree == len(pairs)
            rate, entailed = len(pairs) / seconds, way_labels.count("entailment")
            print(
                f"{size:>8} {weights:>7.1f}M  {way:<28} {rate:>8.1f} {entailed:>8} {agree:>5}  {seconds / batched:.1f}"
            )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
