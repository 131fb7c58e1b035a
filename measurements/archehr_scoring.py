"""How fast answers of ArchEHR-QA are scored, beside the reference's libraries, and whether hashes of strings matter.

    python -m measurements.archehr_scoring [--cases 100] [--seeds 20] [--umls INDEX]

Synthetic cases of the paper's lengths; the answers are the clinicians', with words
changed and citations added. Scored are the metrics of words against both references,
factuality in both readings, and with `--umls` MEDCON, the opening of its index
included, the import of spaCy not. Beside it rouge_score and sacrebleu compute BLEU and
ROUGE-Lsum of the same pairs, and the numbers are compared. Then fresh processes with
PYTHONHASHSEED from 1 on score the same, and their numbers are compared to the last bit.
One process, in one run.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence

from measurements.archehr_twin import twin_cases
from medical_tasks.benchmarks.archehr_qa.data import case_row
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.prompts import gold_cited_answer
from medical_tasks.benchmarks.archehr_qa.scoring import (
    answer_comparison,
    notes_comparison,
    score_items,
)
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS
from medical_tasks.spec import Item, ItemScore


def make_items(count: int) -> list[Item]:
    """Makes cases with their key and the clinician's answer."""
    rows = [
        case_row(case.case, case.key, case.document)
        for case in twin_cases(seed=7, cases=count)
    ]
    return [
        Item(
            id=row["id"],
            fields=row,
            groups={"source": row["source"]},
            cluster=row["id"],
        )
        for row in rows
    ]


def make_answers(items: Sequence[Item]) -> list[str]:
    """Makes answers that are partly right."""
    rng = random.Random(0)
    answers = []
    for item in items:
        words = [
            [
                word if word.startswith("|") or rng.random() < 0.7 else "something"
                for word in line.split(" ")
            ]
            for line in gold_cited_answer(item).split("\n")
        ]
        answers.append(
            "\n".join(
                " ".join(line) if rng.random() < 0.8 else f"{' '.join(line)}|99|"
                for line in words
            )
        )
    return answers


def digest(scores: Sequence[ItemScore]) -> str:
    """Hashes all numbers, to the last bit."""
    rows = [
        [score.id, sorted(score.values.items()), sorted(score.weights.items())]
        for score in scores
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def libraries(
    items: Sequence[Item], answers: Sequence[str], scores: Sequence[ItemScore]
) -> None:
    """Prints the time of the reference's libraries for two of the metrics, and the largest difference in the numbers."""
    if not all(map(importlib.util.find_spec, ("rouge_score", "sacrebleu"))):
        print("rouge_score and sacrebleu are not installed: nothing to compare with")
        return
    from rouge_score import rouge_scorer  # type: ignore[import-untyped]
    from sacrebleu.metrics.bleu import BLEU

    rouge = rouge_scorer.RougeScorer(["rougeLsum"])
    bleu = BLEU(smooth_method="none")
    start = time.perf_counter()
    apart = 0.0
    for item, answer, score in zip(items, answers, scores, strict=True):
        text = read_answer(answer, item.fields["sentence_ids"]).text
        for suffix, compare in (("", answer_comparison), ("_notes", notes_comparison)):
            pair = compare(item, text)
            if pair is not None:
                theirs = (
                    bleu.corpus_score([text], [[pair.reference]]).score / 100,
                    rouge.score(pair.reference, text)["rougeLsum"].fmeasure,
                )
                ours = (
                    score.values[f"bleu{suffix}"],
                    score.values[f"rougeLsum{suffix}"],
                )
                apart = max(
                    apart, *(abs(a - b) for a, b in zip(theirs, ours, strict=True))
                )
    show(
        "BLEU and ROUGE-Lsum alone, sacrebleu and rouge_score",
        time.perf_counter() - start,
        len(items),
    )
    print(f"    largest difference {apart:.1e}")


def show(name: str, seconds: float, cases: int) -> None:
    print(
        f"{name:<56} {seconds:7.3f} s  {cases:>5} cases  {cases / seconds:9,.0f} a second"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument(
        "--seeds", type=int, default=20, help="processes with other hashes of strings"
    )
    parser.add_argument("--umls", help="folder of a UMLS index; adds MEDCON")
    parser.add_argument(
        "--digest",
        action="store_true",
        help="print the hash of all numbers and nothing else",
    )
    options = parser.parse_args()
    items = make_items(options.cases)
    answers = make_answers(items)
    arguments = {"umls": options.umls} if options.umls else {}
    if arguments:
        importlib.import_module("spacy")
    start = time.perf_counter()
    scores = score_items(ANSWER_TASKS[0], items, answers, arguments=arguments)
    seconds = time.perf_counter() - start
    if options.digest:
        print(digest(scores))
        return
    show(
        f"all but model metrics{', with MEDCON' if arguments else ''}",
        seconds,
        len(items),
    )
    libraries(items, answers, scores)
    if not options.seeds:
        return
    command = [
        sys.executable,
        "-m",
        "measurements.archehr_scoring",
        "--digest",
        "--cases",
        str(options.cases),
    ]
    command += ["--umls", options.umls] if options.umls else []
    digests = {
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout.strip()
        for seed in range(1, options.seeds + 1)
    }
    same = digests <= {digest(scores)}
    print(
        f"{options.seeds} values of PYTHONHASHSEED: {'the same numbers' if same else 'DIFFERENT NUMBERS'}"
    )


if __name__ == "__main__":
    main()
