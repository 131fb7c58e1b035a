"""How models of natural language inference read pairs: the form of the input, batches, and probabilities.

TRUE form: `premise: ... hypothesis: ...`, answered by `1` or `0` (DocLens, section 4; Honovich et al. 2022).
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Label, Pair
from medical_tasks.judges.windows import plan_windows
from medical_tasks.models.encoder import AFTER_PADDING, UNBOUNDED, Row, pad

Columns = dict[str, list[int]]
"""What a model reads of each token, by the name of its argument."""


class Form(ABC):
    """A loaded model with its way of being asked; `max_length` counts special tokens, and None is no bound."""

    def __init__(self, model: Any, tokenizer: Any, *, labels: tuple[Label, ...], max_length: int | None) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.max_length = max_length
        self._marks = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}

    @abstractmethod
    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[Columns]:
        """Tokenises pairs, whatever their length."""

    @abstractmethod
    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        """Reads some rows at once; returns rows x labels."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each of some texts, special ones left out."""
        return [len(columns["input_ids"]) for columns in self.tokenize(list(texts), add_special_tokens=False)]

    def tokenize(self, *texts: list[str], add_special_tokens: bool = True) -> list[Columns]:
        """Calls the tokenizer. Special tokens inside a judged text are read as text or, by tokenizers of T5's kind, left out."""
        if not texts[0]:
            return []
        made = self.tokenizer(
            *texts,
            add_special_tokens=add_special_tokens,
            split_special_tokens=True,
            truncation=False,
            verbose=False,
            return_attention_mask=False,
            return_special_tokens_mask=True,
        )
        masks = made.pop("special_tokens_mask")
        return [self._unmarked({name: made[name][row] for name in made}, mask) for row, mask in enumerate(masks)]

    def _unmarked(self, columns: Columns, mask: Sequence[int]) -> Columns:
        """Drops special tokens that the tokenizer did not add itself."""
        kept = [bool(own) or token not in self._marks for token, own in zip(columns["input_ids"], mask, strict=True)]
        return {name: list(itertools.compress(values, kept)) for name, values in columns.items()}

    def tensors(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Rows as the model reads them."""
        return pad(rows, padding=self.tokenizer.pad_token_id, device=self.model.device)


SMALLEST_ROOM = 32
"""Tokens that must be left for a window of the premise beside the hypothesis."""

_ROOM_STEP = 8  # rooms are rounded down to this, so that hypotheses of like length share a premise's windows

_Cut = Callable[[str, int], list[str]]


def make_rows(form: Form, pairs: Sequence[Pair]) -> list[list[Columns] | None]:
    """Tokenises pairs, one row a window of the premise; None where the hypothesis leaves no room for a window."""
    whole = form.encode([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
    longest = form.max_length
    if longest is None:
        return [[columns] for columns in whole]

    @lru_cache(maxsize=64)
    def cut(premise: str, room: int) -> list[str]:
        return [premise[start:end] for start, end in plan_windows(premise, room, form.count)]

    return [
        [columns] if len(columns["input_ids"]) <= longest else _windows(form, pair, longest, cut)
        for pair, columns in zip(pairs, whole, strict=True)
    ]


def _windows(form: Form, pair: Pair, longest: int, cut: _Cut) -> list[Columns] | None:
    beside = len(form.encode([""], [pair.hypothesis])[0]["input_ids"])
    room = longest - beside
    while room >= SMALLEST_ROOM:
        room -= room % _ROOM_STEP
        texts = cut(pair.premise, room)
        made = form.encode(texts, [pair.hypothesis] * len(texts))
        excess = max(len(columns["input_ids"]) for columns in made) - longest
        if excess <= 0:
            return made
        room -= excess  # sentences were counted one by one; joined they can be some tokens more
    return None


def longest_input(config: Mapping[str, Any], tokenizer: Any, wanted: int | None, *, model: str) -> int:
    """Finds how many tokens a classifier can be given, special ones included."""
    positions = config.get("max_position_embeddings")
    if positions is not None and config.get("model_type") in AFTER_PADDING:
        positions -= int(config.get("pad_token_id", 1)) + 1
    bounds = [int(bound) for bound in (positions, tokenizer.model_max_length) if bound and bound < UNBOUNDED]
    if wanted is not None:
        if positions is not None and wanted > positions:
            raise UsageError(f"max_length={wanted}: {model} has positions for {positions} tokens; give no more.")
        return wanted
    if not bounds:
        raise UsageError(
            f"{model}: neither its config nor its tokenizer says how long an input can be: give max_length."
        )
    return min(bounds)


class ClassifierForm(Form):
    """A classifier."""

    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[Columns]:
        """As the tokenizer joins two texts."""
        return self.tokenize(list(premises), list(hypotheses))

    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        """One pass; softmax over the outputs."""
        import torch

        with torch.inference_mode():
            logits = self.model(**self.tensors(rows)).logits
            chances: list[list[float]] = logits.float().softmax(dim=-1).tolist()
        return chances


OFFICIAL_WORDS = 500
"""Words, between single spaces, that the authors keep of a premise."""

OFFICIAL_NEW_TOKENS = 3
_TRUE_LABELS: tuple[Label, ...] = ("entailment", "not_entailment")


def answer_tokens(tokenizer: Any, *, model: str) -> tuple[list[int], int, int]:
    """Finds the step at which `1` and `0` part: the tokens both begin with, and the next token of each."""
    yes, no = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("1", "0"))
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(yes, no, strict=False))))
    unknown = tokenizer.unk_token_id
    if shared == min(len(yes), len(no)) or unknown in (yes[shared], no[shared]):
        raise UsageError(
            f"{model}: its tokenizer cannot tell the answers 1 and 0 apart (tokens {yes} and {no}), so it is no model in the "
            "TRUE form. Name another, for example google/t5_xxl_true_nli_mixture."
        )
    return yes[:shared], yes[shared], no[shared]


class TrueForm(Form):
    """One step of the decoder."""

    def __init__(self, model: Any, tokenizer: Any, *, name: str, max_length: int | None) -> None:
        super().__init__(model, tokenizer, labels=_TRUE_LABELS, max_length=max_length)
        start = model.config.decoder_start_token_id
        if start is None:
            raise UsageError(f"{name}: its config.json has no decoder_start_token_id; download the model again.")
        shared, yes, no = answer_tokens(tokenizer, model=name)
        self._begin = [int(start), *shared]
        self._answers = [yes, no]

    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[Columns]:
        """Tokenises pairs in the form that TRUE was trained on."""
        return self.tokenize(_in_form(premises, hypotheses))

    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        """One pass of the encoder and one step of the decoder; softmax over the two answers."""
        import torch

        begin = torch.tensor([self._begin] * len(rows), device=self.model.device)
        with torch.inference_mode():
            logits = self.model(**self.tensors(rows), decoder_input_ids=begin, use_cache=False).logits
            chances: list[list[float]] = logits[:, -1, self._answers].float().softmax(dim=-1).tolist()
        return chances


class OfficialTrueForm(TrueForm):
    """As DocLens' authors do: nothing beyond 500 words is read, and whatever is not exactly `1` is no entailment."""

    def __init__(self, model: Any, tokenizer: Any, *, name: str) -> None:
        super().__init__(model, tokenizer, name=name, max_length=None)

    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[Columns]:
        """Tokenises pairs, their premises cut. Marks that end a text are honoured, wherever they come from."""
        texts = _in_form([" ".join(premise.split(" ")[:OFFICIAL_WORDS]) for premise in premises], hypotheses)
        made = self.tokenizer(texts, truncation=False, verbose=False)["input_ids"] if texts else []
        return [{"input_ids": ids} for ids in made]

    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        """Writes greedily; 1 or 0 is all that is said of a probability."""
        import torch
        from transformers import GenerationConfig

        greedy = GenerationConfig(
            max_new_tokens=OFFICIAL_NEW_TOKENS,
            decoder_start_token_id=self.model.config.decoder_start_token_id,
            eos_token_id=self.model.config.eos_token_id,
            pad_token_id=self.model.config.pad_token_id,
        )
        with torch.inference_mode():
            written = self.model.generate(**self.tensors(rows), generation_config=greedy)
        texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        return [[1.0, 0.0] if text == "1" else [0.0, 1.0] for text in texts]


def _in_form(premises: Sequence[str], hypotheses: Sequence[str]) -> list[str]:
    return [f"premise: {premise} hypothesis: {given}" for premise, given in zip(premises, hypotheses, strict=True)]
