"""The public front of text overlap: how many words a prediction shares with a reference. Import from here.

Which function for what:

    ROUGE-1/2/L/Lsum of a prediction                  rouge                 (rouge)
    its mean over a benchmark                         rouge_corpus
    BLEU as `evaluate` has it, pooled                 bleu_corpus           (bleu_and_sari)
    the same of one prediction                        bleu
    sacreBLEU, pooled                                 sacrebleu_corpus      (bleu_and_sari)
    the same of one prediction                        sacrebleu_sentence
    SARI of a prediction, its mean                    sari, sari_corpus     (bleu_and_sari)
    the same characters or not, the share             exact_match, exact_match_corpus (text_pairs)

Rules they share: values are 0-1, except SARI's, which are 0-100; references are one text or several; any text has a value, the
empty one too; `nan` is the value of no predictions at all (and of BLEU's length ratio to references without tokens); the same
texts give the same numbers. Wrong input is a ValueError that names the argument, the rule and the value.

All of it is pure Python without dependencies. docs/text_metrics.md compares it with the reference implementations.
"""

from __future__ import annotations

from medical_tasks.scoring.bleu_and_sari import (
    Bleu,
    Sari,
    bleu,
    bleu_corpus,
    sacrebleu_corpus,
    sacrebleu_sentence,
    sari,
    sari_corpus,
)
from medical_tasks.scoring.rouge import Overlap, rouge, rouge_corpus
from medical_tasks.scoring.text_pairs import References, exact_match, exact_match_corpus

__all__ = [
    "Bleu",
    "Overlap",
    "References",
    "Sari",
    "bleu",
    "bleu_corpus",
    "exact_match",
    "exact_match_corpus",
    "rouge",
    "rouge_corpus",
    "sacrebleu_corpus",
    "sacrebleu_sentence",
    "sari",
    "sari_corpus",
]
