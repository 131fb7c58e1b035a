"""How fast texts are compared, beside the libraries that give the same numbers.

    python measurements/text_overlap.py [--pairs 1000] [--words 400] [--library-pairs 50]

Made-up notes of several lines; a prediction keeps about half of its reference's lines
and changes words in the rest. The libraries get fewer pairs, since they are slow; on
those their numbers are compared with ours. Milliseconds a pair, one process, in one
run.
"""

from __future__ import annotations

import argparse
import importlib
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from medical_tasks.scoring.bleu_and_sari import bleu, sacrebleu_sentence, sari
from medical_tasks.scoring.rouge import rouge
from medical_tasks.scoring.text_pairs import exact_match

LINE = 16
"""Words of a line, on average."""


def make_pairs(count: int, words: int, seed: int = 0) -> list[tuple[str, str]]:
    """Makes predictions and references, with a few frequent words and many rare ones."""
    rng = random.Random(seed)
    vocabulary = [
        "".join(rng.choice("aeioubdlmnprst") for _ in range(rng.randint(2, 9)))
        for _ in range(4000)
    ]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]

    def line() -> list[str]:
        return rng.choices(vocabulary, weights, k=rng.randint(LINE // 2, LINE * 3 // 2))

    pairs = []
    for _ in range(count):
        reference: list[list[str]] = []
        while sum(map(len, reference)) < words:
            reference.append(line())
        prediction = [
            kept
            if rng.random() < 0.5
            else [
                rng.choice(vocabulary) if rng.random() < 0.4 else word for word in kept
            ]
            for kept in reference
        ]
        pairs.append((note(prediction), note(reference)))
    return pairs


def note(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"{' '.join(words).capitalize()}." for words in lines)


def measure(
    name: str, pairs: Sequence[tuple[str, str]], work: Callable[[str, str], Any]
) -> tuple[float, list[Any]]:
    """Prints the milliseconds for each pair; returns them and the results."""
    start = time.perf_counter()
    results = [work(prediction, reference) for prediction, reference in pairs]
    milliseconds = (time.perf_counter() - start) * 1000 / len(pairs)
    print(f"{name:<44} {len(pairs):>6} pairs  {milliseconds:>9.3f} ms a pair")
    return milliseconds, results


def beside(
    name: str, ours: tuple[float, list[float]], library: tuple[float, list[float]]
) -> None:
    apart = max(abs(a - b) for a, b in zip(ours[1], library[1], strict=False))
    print(
        f"    {name}: {library[0] / ours[0]:.1f} times the speed, numbers at most {apart:.0e} apart"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--library-pairs", type=int, default=50)
    options = parser.parse_args()
    pairs = make_pairs(options.pairs, options.words)
    few = pairs[: options.library_pairs]

    scorer = importlib.import_module("rouge_score.rouge_scorer")
    for stem in (False, True):
        for variants in (
            ("rouge1", "rouge2"),
            ("rougeL",),
            ("rougeLsum",),
            ("rouge1", "rouge2", "rougeL", "rougeLsum"),
        ):
            names = f"{'+'.join(variants)}{', stemmed' if stem else ''}"
            library = scorer.RougeScorer(list(variants), use_stemmer=stem)
            milliseconds, results = measure(
                names,
                pairs,
                lambda p, r, v=variants, s=stem: rouge(p, r, variants=v, stem=s),  # type: ignore[misc]
            )
            slow, expected = measure(
                "    rouge_score",
                few,
                lambda p, r, library=library: library.score(r, p),  # type: ignore[misc]
            )
            ours = [
                row[variant].f1 for row in results[: len(few)] for variant in variants
            ]
            theirs = [row[variant].fmeasure for row in expected for variant in variants]
            beside(names, (milliseconds, ours), (slow, theirs))

    sacrebleu = importlib.import_module("sacrebleu")
    milliseconds, results = measure(
        "sacreBLEU of a sentence", pairs, sacrebleu_sentence
    )
    slow, expected = measure(
        "    sacrebleu", few, lambda p, r: sacrebleu.sentence_bleu(p, [r])
    )
    beside(
        "sacreBLEU",
        (milliseconds, [100 * row.score for row in results]),
        (slow, [row.score for row in expected]),
    )
    library = sacrebleu.BLEU(smooth_method="none", force=True)
    milliseconds, results = measure("BLEU", pairs, bleu)
    slow, expected = measure(
        "    sacrebleu without smoothing",
        few,
        lambda p, r: library.corpus_score([p], [[r]]),
    )
    beside(
        "BLEU",
        (milliseconds, [100 * row.score for row in results]),
        (slow, [row.score for row in expected]),
    )

    measure(
        "SARI (source: the reference's first line)",
        pairs,
        lambda p, r: sari(r.partition("\n")[0], p, r),
    )
    measure("exact match", pairs, exact_match)


if __name__ == "__main__":
    main()
