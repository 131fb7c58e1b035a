"""T5 in the TRUE form: it reads `premise: ... hypothesis: ...` and writes `1` for entailment.

Source: DocLens, section 4 and its released code; Honovich et al. 2022. Two ways of asking:

- ours: one pass of the encoder and one step of the decoder; the larger of the logits of `1` and `0` decides.
- `official`: the premise cut at 500 words, greedy generation of at most three tokens, the text compared with `1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Label
from medical_tasks.judges.nli_batches import Row
from medical_tasks.judges.nli_form import Columns, Form

__all__ = ["OFFICIAL_WORDS", "OfficialTrueForm", "TrueForm", "answer_tokens"]

OFFICIAL_WORDS = 500
"""Words, between single spaces, that the authors keep of a premise."""

OFFICIAL_NEW_TOKENS = 3
_LABELS: tuple[Label, ...] = ("entailment", "not_entailment")


def answer_tokens(tokenizer: Any, *, model: str) -> tuple[list[int], int, int]:
    """Finds the step at which `1` and `0` part.

    T5's own vocabulary has one token for `1` and two for `0`, a blank and the digit: then the first tokens decide. Where
    both begin with the same tokens, the decoder is given those, and the step after them decides.

    Args:
        tokenizer: of transformers.
        model: its name, for messages.

    Returns:
        The tokens both begin with, and the next token of `1` and of `0`.

    Raises:
        UsageError: The tokenizer cannot tell them apart.
    """
    yes, no = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("1", "0"))
    shared = 0
    while shared < min(len(yes), len(no)) and yes[shared] == no[shared]:
        shared += 1
    unknown = tokenizer.unk_token_id
    if shared == min(len(yes), len(no)) or unknown in (yes[shared], no[shared]):
        raise UsageError(
            f"{model}: its tokenizer cannot tell the answers 1 and 0 apart (tokens {yes} and {no}), so it is no model in the "
            "TRUE form. Name another, for example google/t5_xxl_true_nli_mixture."
        )
    return yes[:shared], yes[shared], no[shared]


class TrueForm(Form):
    """One step of the decoder.

    Args:
        model: `T5ForConditionalGeneration`.
        tokenizer: of transformers.
        name: the model's name, for messages.
        max_length: most tokens at once; None for no bound.

    Raises:
        UsageError: The tokenizer cannot tell 1 and 0 apart, or the config does not say what decoding starts with.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, max_length: int | None) -> None:
        super().__init__(model, tokenizer, labels=_LABELS, max_length=max_length)
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
