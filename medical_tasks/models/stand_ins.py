"""Models that need no download: baselines (`reference` must score the maximum), and a toy language model.

A tokenizer saved by transformers 5 does not load in 4.57: make the toy in the
environment that runs it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks.errors import UsageError
from medical_tasks.io.store import Texts
from medical_tasks.scoring.choice_orders import PLACE
from medical_tasks.spec import Item, TaskSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

COPY_EXAMPLE = "copy-example"
REFERENCE = "reference"
BASELINES = (REFERENCE, "empty", "random", COPY_EXAMPLE)
_SEED = 20240617

GoldResponse = Callable[[TaskSpec, Item], str]


def baseline_responses(
    name: str, task: TaskSpec, items: Sequence[Item], gold_response: GoldResponse
) -> Iterator[str]:
    """Answers every item by a baseline other than `copy-example`.

    `gold_response` writes an item's gold answer as a model would.
    """
    if name == REFERENCE:
        return (gold_response(task, item) for item in items)
    if name == "empty":
        return ("" for _ in items)
    return _random(task, items, gold_response)


def _random(
    task: TaskSpec, items: Sequence[Item], gold_response: GoldResponse
) -> Iterator[str]:
    """Answers each item with the gold of another item of its family, the last of `TaskSpec.groups`.

    So a random answer has the form of a right one: for a calculator another patient's
    value, not another calculator's. An item that is alone in its family gets the gold of
    any other.
    """
    # The golds of one choice position are all the same letter.
    kinds = [name for name in task.groups if name != PLACE]
    kind = kinds[-1] if kinds else None
    families: dict[str | tuple[str, ...], list[int]] = {}
    places: list[int] = []  # each item's position in its family
    for position, item in enumerate(items):
        family = families.setdefault(item.groups[kind] if kind else "", [])
        places.append(len(family))
        family.append(position)

    chosen: list[int] = []
    for position, item in enumerate(items):
        # A generator per item, so that an answer does not depend on the items before it.
        chooser = random.Random(f"{_SEED}:{item.id}")  # noqa: S311 - a baseline, not a secret
        candidates: Sequence[int] = families[item.groups[kind] if kind else ""]
        candidates, own = (
            (candidates, places[position])
            if len(candidates) > 1
            else (range(len(items)), position)
        )
        other = chooser.choice(range(max(1, len(candidates) - 1)))
        # skip the item itself
        chosen.append(candidates[(other + (other >= own)) % len(candidates)])

    # In the items' order, so that they are read from the disk in sequence.
    golds = Texts(
        (items[position].id, gold_response(task, items[position]))
        for position in sorted(set(chosen))
    )
    return (golds[items[position].id] for position in chosen)


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
"""The end token is chosen when its logit lies this many standard deviations up, about once in forty steps."""


def make_toy_model(folder: Path, texts: Sequence[str]) -> Path:
    """Makes a tiny random causal language model in an empty folder; the same bytes every time.

    Its tokenizer is trained on `texts`.
    """
    if not any(text.strip() for text in texts):
        raise UsageError(
            "texts: the toy's tokenizer needs at least one text that is not blank; got none"
        )

    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(
            f"{folder}: a toy model goes into an empty folder, and this one holds files; name "
            "another"
        )

    import logging

    from medical_tasks.models.checkpoint import quiet_libraries

    with quiet_libraries(logging.ERROR):
        tokenizer = _toy_tokenizer(texts)
        model = _toy_model(tokenizer)
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)

    return folder


def _toy_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerBase:
    """Trains a byte-level BPE tokenizer, which knows every text, on `texts`."""
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


def _toy_model(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Makes a Llama of two layers with random weights, the same each time (seed 0).

    Its answers mean nothing, but depend on the whole prompt and come to an end.
    """
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
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)

    with torch.no_grad():
        # The tokens of single bytes are no words: without this the toy would answer in
        # broken UTF-8.
        model.lm_head.weight[SPECIALS : SPECIALS + 256] *= 0.1
        words = max(2, len(tokenizer) - SPECIALS - 256)
        # The largest of n normal numbers lies about sqrt(2 ln n) up; the end token has
        # to reach that.
        model.lm_head.weight[tokenizer.eos_token_id] *= (
            math.sqrt(2 * math.log(words)) / END_AT
        )

    return model.to(torch.float32).eval()
