"""Models of entailment with random weights, and pairs of texts for them.

Random weights give every pair nearly the same label; so the heads are set such that all
labels occur and few are near ties.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.judges.base import LABELS, Call, NoReply, Pair, Reply
from medical_tasks.models.budget import RunBudget
from tests.case_tables import tables
from tests.judges.scripted import answered, question

NLI_LABELS = {0: "contradiction", 1: "neutral", 2: "entailment"}

CASES = tables(__file__, "tiny_nli")


def pairs(count: int, *, seed: int = 0, longest: int = 6) -> list[tuple[str, str]]:
    """Premises of one to `longest` sentences, each with a hypothesis that may be one of them."""
    chance = random.Random(seed)

    def sentence() -> str:
        return f"{chance.choice(CASES['SUBJECTS'])} {chance.choice(CASES['FINDINGS'])}."

    return [
        (" ".join(sentence() for _ in range(chance.randint(1, longest))), sentence())
        for _ in range(count)
    ]


def answers(
    judge: Any, pairs: Sequence[tuple[str, str] | None]
) -> list[Reply | NoReply]:
    """Asks a backend; returns the outcomes in the order of the pairs. None makes a question without a pair."""
    calls = []
    for number, texts in enumerate(pairs):
        values = {label: label for label in LABELS}
        pair = (
            None
            if texts is None
            else Pair(premise=texts[0], hypothesis=texts[1], values=values)
        )
        calls.append(
            Call(
                key=f"key {number}",
                question=question(f"q{number}", pair=pair),
                messages=(),
                vote=0,
            )
        )
    budget = RunBudget()
    outcomes = answered(judge, calls, budget)
    assert budget.calls == 0  # it sends nothing, so it needs no budget
    return [outcomes[call.key] for call in calls]


def train_pieces(texts: Sequence[str], *, size: int = 400) -> Any:
    """A tokenizer like T5's: unigram pieces, a mark for blanks, an end token after each text."""
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.Unigram())
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    raw.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    raw.train_from_iterator([*texts, "premise: hypothesis:", "1 1 1 1 0"], trainer)
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=512,
    )


def make_true(folder: Path) -> Path:
    """A small T5 whose label depends on the whole pair, and which after `1` or `0` writes its end token."""
    examples = pairs(60, seed=99)
    tokenizer = train_pieces([text for pair in examples for text in pair])
    return save_true(
        folder,
        tokenizer,
        examples,
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
    )


def save_true(
    folder: Path,
    tokenizer: Any,
    examples: Sequence[tuple[str, str]],
    *,
    d_model: int,
    vocabulary: int = 0,
    **sizes: int,
) -> Path:
    """Makes and saves the T5; about half of the `examples` will be entailed."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    from medical_tasks.judges.nli import answer_tokens

    config = T5Config(
        vocab_size=max(vocabulary, len(tokenizer)),
        d_model=d_model,
        **sizes,
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = T5ForConditionalGeneration(config).eval()
        direction = torch.randn(d_model)
    begin, yes, no = answer_tokens(tokenizer, model="tiny")
    assert begin == []
    with torch.no_grad():
        # The last dimension encodes what was written before: nothing, or one of the two
        # answers.
        table = model.shared.weight
        table[:, -1] = 0
        table[[yes, no]] = 0
        table[[yes, no], -1] = 10 * d_model**0.5
        for block in model.decoder.block:
            own, other, dense = block.layer
            for out in (
                own.SelfAttention.o,
                other.EncDecAttention.o,
                dense.DenseReluDense.wo,
            ):
                out.weight[-1] = 0
        states = torch.stack(
            [_first_state(model, tokenizer, pair) for pair in examples[:60]]
        )
        direction[-1] = 0
        mean = states.mean(dim=0)
        mean[-1] = 0
        direction -= mean * (direction @ mean) / (mean @ mean)
        direction *= 6 / (states @ direction).std()
        head = torch.zeros(config.vocab_size, d_model)
        head[yes], head[no] = direction / 2, -direction / 2
        head[config.eos_token_id, -1] = 100
        model.lm_head.weight = torch.nn.Parameter(head)
    # transformers 5 sets it whatever its argument
    model.config.tie_word_embeddings = False
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _first_state(model: Any, tokenizer: Any, pair: tuple[str, str]) -> Any:
    import torch

    ids = torch.tensor(
        [tokenizer(f"premise: {pair[0]} hypothesis: {pair[1]}")["input_ids"]]
    )
    output = model(
        input_ids=ids, decoder_input_ids=torch.tensor([[0]]), output_hidden_states=True
    )
    return output.decoder_hidden_states[-1][0, -1]


def make_classifier(
    folder: Path, labels: Mapping[int, str] = NLI_LABELS, *, kind: str = "bert"
) -> Path:
    """A small BERT, RoBERTa or DeBERTa-v2 that classifies pairs."""
    import torch
    import transformers

    examples = pairs(60, seed=99)
    tokenizer = _train_words(
        [text for pair in examples for text in pair], segments=kind == "bert"
    )
    config_class, model_class = {
        "bert": (transformers.BertConfig, transformers.BertForSequenceClassification),
        "roberta": (
            transformers.RobertaConfig,
            transformers.RobertaForSequenceClassification,
        ),
        "deberta": (
            transformers.DebertaV2Config,
            transformers.DebertaV2ForSequenceClassification,
        ),
    }[kind]
    config = config_class(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=160,
        initializer_range=0.3,
        pad_token_id=0,
        id2label=dict(labels),
        label2id={name: number for number, name in labels.items()},
        **(
            {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
            if kind == "deberta"
            else {}
        ),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = model_class(config).eval()
    with torch.no_grad():
        logits = torch.cat(
            [
                model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits
                for premise, hypothesis in examples
            ]
        )
        head = model.classifier.out_proj if kind == "roberta" else model.classifier
        scale = 3 / logits.std(dim=0)
        head.weight *= scale[:, None]
        head.bias.copy_((head.bias - logits.mean(dim=0)) * scale)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _train_words(texts: Sequence[str], *, segments: bool) -> Any:
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    raw.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=400, special_tokens=special, show_progress=False
        ),
    )
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=128,
        model_input_names=[
            "input_ids",
            *["token_type_ids"] * segments,
            "attention_mask",
        ],
    )
