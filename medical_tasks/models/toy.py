"""A toy language model, made on the spot: a random Llama of a third of a million weights, with its own tokenizer.

It lets `make demo` and the tests run the real code path (tokenizer, chat template, batches, processes) with no download.
Its answers are nonsense. A random model seldom ends its turn, so the row of the end token is enlarged: most answers
end after some twenty tokens, and all at the length that was asked for.

A tokenizer saved by transformers 5 does not load in 4.57: make the toy in the environment that runs it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.models.quiet import quiet_libraries

__all__ = ["CONTEXT", "make_toy_model"]

CONTEXT = 4096
"""Longest prompt and answer together, in tokens."""

VOCABULARY = 2000
"""Most tokens the tokenizer learns; short texts give fewer."""

BOS, EOS, UNKNOWN = "<s>", "</s>", "<unk>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
SPECIALS = 3 + len(ROLES)

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

END_AT = 1.93
"""How likely the end token is chosen at a step: when it lies this many standard deviations up, about once in forty."""


def make_toy_model(folder: Path, texts: Sequence[str], *, seed: int = 0) -> Path:
    """Makes a tiny random causal language model that knows the words of `texts`.

    The same texts, seed and package versions give the same files, byte for byte.

    Args:
        folder: where config, tokenizer and safetensors go; made when absent, must be empty otherwise.
        texts: what the tokenizer learns its words from.
        seed: seed of the weights.

    Returns:
        The folder.

    Raises:
        UsageError: `texts` hold nothing, or the folder holds other files.
    """
    if not any(text.strip() for text in texts):
        raise UsageError("texts: the toy's tokenizer needs at least one text that is not blank; got none")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder}: a toy model goes into an empty folder, and this one holds files; name another")
    with quiet_libraries(logging.ERROR):
        tokenizer = _tokenizer(texts)
        model = _model(tokenizer, seed)
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
    return folder


def _tokenizer(texts: Sequence[str]) -> Any:
    """Byte-level BPE (nothing is unknown to it), trained on `texts`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=[UNKNOWN, BOS, EOS, *ROLES],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNKNOWN,
        additional_special_tokens=list(ROLES),
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _model(tokenizer: Any, seed: int) -> Any:
    """A two-layer Llama in float32 with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,  # heads of 32: the narrowest that vLLM's attention takes
        num_key_value_heads=1,
        max_position_embeddings=CONTEXT,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=False,
        initializer_range=0.2,  # wide enough that what comes next depends on the whole prompt, not on the last token
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        # The bytes' own tokens are no words: without this the toy would answer in broken UTF-8.
        model.lm_head.weight[SPECIALS : SPECIALS + 256] *= 0.1
        words = max(2, len(tokenizer) - SPECIALS - 256)
        # The largest of n normal numbers lies about sqrt(2 ln n) up; the end token has to reach that.
        model.lm_head.weight[tokenizer.eos_token_id] *= math.sqrt(2 * math.log(words)) / END_AT
    return model.to(torch.float32).eval()
