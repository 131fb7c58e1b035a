"""BERTScore by any encoder on this machine's disk: the similarity of two texts' tokens in one layer.

Source: Zhang et al. (2020), https://arxiv.org/abs/1904.09675; reference implementation
https://github.com/Tiiiger/bert_score (0.3.13), without idf. A text without tokens scores
0, which is below 0 when rescaled, as in the reference.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_tasks.errors import UsageError
from medical_tasks.models import encoder
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    fingerprint,
    quiet_libraries,
)
from medical_tasks.scoring.text_pairs import References, as_segments

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_BLOCK = 128
"""Pairs whose token states are in memory together."""

_LEADING_SPACE = frozenset({"roberta", "gpt2"})
"""Families for which the reference puts a space before the first word."""


@dataclass(frozen=True, slots=True)
class BertScore:
    """The similarity of a prediction and its reference."""

    precision: float  # mean over the prediction's tokens of the closest token's cosine
    recall: float
    f1: float

    def rescaled(self, baseline: BertScore, *, floor: float | None = None) -> BertScore:
        """Rescales so that the baseline (the mean score of unrelated texts) is 0 and 1 stays 1."""

        def stretch(value: float, base: float) -> float:
            stretched = (value - base) / (1 - base)
            return stretched if floor is None else max(floor, stretched)

        return BertScore(*map(stretch, astuple(self), astuple(baseline)))


DISTILBERT_LAYER_4: Final = BertScore(
    precision=0.6019937, recall=0.6019904, f1=0.6014007
)
"""Baseline of distilbert-base-uncased, layer 4, English: bert_score 0.3.13, rescale_baseline/en/distilbert-base-uncased.tsv."""

_NOTHING: Final = BertScore(0.0, 0.0, 0.0)


def open_bertscore(folder: str | Path, *, layer: int) -> BertScorer:
    """Opens a checkpoint without downloading.

    Layers after `layer` (0 for the embeddings) are not loaded.
    """
    checkpoint, identity = _find(folder, layer)
    with quiet_libraries(logging.ERROR):
        tokenizer = encoder.load_tokenizer(
            checkpoint.label, checkpoint.folder, fast=True
        )
        model = encoder.load_model(checkpoint.label, checkpoint.folder, layers=layer)

    return BertScorer(model, tokenizer, identity)


def bertscore_identity(folder: str | Path, layer: int) -> dict[str, str]:
    """Returns what decides the numbers, for the recipe; loads no weights."""
    return _find(folder, layer)[1]


class BertScorer(encoder.Measure):
    """A checkpoint in this process, made by `open_bertscore`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        identity: Mapping[str, str],
    ) -> None:
        super().__init__(model, identity)
        self.max_length = int(identity["max_length"])
        self._tokenizer = tokenizer
        self._lead = " " if model.config.model_type in _LEADING_SPACE else ""

    def score(
        self, predictions: Sequence[str], references: Sequence[References]
    ) -> list[BertScore]:
        """Compares texts, ignoring white space at both ends.

        With several references, each number is the best one.
        """
        segments = as_segments(predictions, references)
        pairs = list(
            dict.fromkeys(
                (text.strip(), reference.strip())
                for text, alternatives in segments
                for reference in alternatives
            )
        )
        rows = self._rows(list(dict.fromkeys(text for pair in pairs for text in pair)))
        order = sorted(
            pairs, key=lambda pair: -max(len(rows[text]["input_ids"]) for text in pair)
        )
        by_pair: dict[tuple[str, str], BertScore] = {}
        for start in range(0, len(order), _BLOCK):
            block = order[start : start + _BLOCK]
            texts = list(
                dict.fromkeys(
                    text for pair in block for text in pair if any(rows[text]["counts"])
                )
            )
            states = dict(
                zip(
                    texts,
                    self._batches.read([rows[text] for text in texts], self._states),
                    strict=True,
                )
            )
            by_pair.update(
                (pair, self._compare(*(states.get(text) for text in pair)))
                for pair in block
            )

        scores = (
            [
                astuple(by_pair[text.strip(), reference.strip()])
                for reference in alternatives
            ]
            for text, alternatives in segments
        )
        return [BertScore(*map(max, zip(*values, strict=True))) for values in scores]

    def _rows(self, texts: Sequence[str]) -> dict[str, encoder.Row]:
        """Tokenises texts, and cuts those that are too long.

        `counts` marks the tokens of the text itself.
        """
        _ = self._loaded
        self.truncated = 0
        if not texts:
            return {}

        encoded = self._tokenizer(
            [f"{self._lead}{encoder.readable(text)}" if text else "" for text in texts],
            truncation=True,
            max_length=self.max_length,
            split_special_tokens=True,
            return_attention_mask=False,
            return_overflowing_tokens=False,
            return_special_tokens_mask=True,
            verbose=False,
        )
        masks = encoded.pop("special_tokens_mask")
        self.truncated = sum(
            bool(encoding.overflowing) for encoding in encoded.encodings
        )
        rows: dict[str, encoder.Row] = {}
        for number, text in enumerate(texts):
            row = {name: encoded[name][number] for name in encoded}
            rows[text] = {
                **row,
                "counts": [int(not special) for special in masks[number]],
            }

        return rows

    def _states(self, rows: Sequence[encoder.Row]) -> list[tuple[Tensor, Tensor]]:
        """Returns for each row the normalized states of its tokens, and which count; on the CPU."""
        import torch

        columns = encoder.pad(
            rows, padding=self._tokenizer.pad_token_id, device=self.device
        )
        counts = columns.pop("counts").cpu().bool()
        with torch.inference_mode():
            states = self._loaded(**columns).last_hidden_state.float()
            states = torch.nn.functional.normalize(states, dim=-1).cpu()

        encoder.require_finite(states.numpy(), self._named)
        return [
            (
                states[number, : len(row["input_ids"])].clone(),
                counts[number, : len(row["input_ids"])],
            )
            for number, row in enumerate(rows)
        ]

    @staticmethod
    def _compare(
        prediction: tuple[Tensor, Tensor] | None,
        reference: tuple[Tensor, Tensor] | None,
    ) -> BertScore:
        """Matches every token of one text with the closest of the other.

        Special tokens can be the closest, but do not count themselves.
        """
        if prediction is None or reference is None:
            return _NOTHING

        cosines = prediction[0] @ reference[0].T
        # By rounding, the cosine of equal states can be 1.0000001.
        precision = min(1.0, float(cosines.max(dim=1).values[prediction[1]].mean()))
        recall = min(1.0, float(cosines.max(dim=0).values[reference[1]].mean()))
        total = precision + recall

        return BertScore(
            precision=precision,
            recall=recall,
            f1=2 * precision * recall / total if total else 0.0,
        )


def _find(folder: str | Path, layer: int) -> tuple[Checkpoint, dict[str, str]]:
    """Finds a model's folder, and what decides its scores.

    Args:
        folder: the model's folder.
        layer: the layer whose vectors are compared; 0 for the embeddings.
    """
    encoder.check_packages("BERTScore")
    checkpoint = encoder.find_folder(folder, f". {MESSAGES['bertscore']}")
    layers = checkpoint.setting("num_hidden_layers", "n_layers", "n_layer")
    if layer < 0 or (layers is not None and layer > int(layers)):
        raise UsageError(f"layer={layer}: {checkpoint.label} has layers 0 to {layers}.")

    identity = {
        "kind": "bertscore",
        "model": checkpoint.label,
        "weights": fingerprint(checkpoint.folder),
        "layer": str(layer),
        "idf": "false",
        "max_length": str(encoder.longest_text(checkpoint)),
        "dtype": "float32",
        "engine": encoder.engine(),
    }
    return checkpoint, identity
