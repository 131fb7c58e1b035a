"""`nli/<folder or repository>`: a local model for natural language inference as a judge.

- **TRUE form** (DocLens, section 4; Honovich et al. 2022): the input is `premise: ...
  hypothesis: ...`; the larger of the logits of `1` and `0` decides, at the first token
  where they differ. With `official=true`, as by DocLens' authors, the premise is cut at
  500 words, generation is greedy with at most three tokens, and only the text `1` is
  entailment.
- **Classifiers**: label names are read from the config in any common spelling
  (`ENTAILMENT`, `non-entailment`, `NOT ENOUGH INFO`). A model whose files lack its head
  is refused.
- **Long premises** are read whole, in windows of sentences that overlap by up to a
  quarter. Each window votes for its most likely label: entailment wins if one window is
  at least as sure of it as any window of contradiction, then contradiction, then neutral.
  With two labels, the largest probability of entailment must exceed one half.
- **Special tokens** in a judged text (`</s>`, `[SEP]`) are read as text or left out,
  except with `official`.
"""

from __future__ import annotations

import itertools
import logging
import math
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import (
    Backend,
    Call,
    Label,
    NoReply,
    OnReply,
    Pair,
    Reply,
)
from medical_tasks.judges.windows import plan_windows
from medical_tasks.models import encoder
from medical_tasks.models.budget import RunBudget
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    find_checkpoint,
    fingerprint,
    quiet_libraries,
)
from medical_tasks.models.opener import (
    COUNT,
    DTYPES,
    FLAG,
    WORD,
    Reader,
    read_options,
    words,
)

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Columns = dict[str, list[int]]
"""A model's input for each token, by the name of the argument."""


class Form(ABC):
    """A loaded model with the form of its input and output.

    `max_length` includes special tokens; None is no limit.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        labels: tuple[Label, ...],
        max_length: int | None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.max_length = max_length
        self._marks = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}

    @abstractmethod
    def encode(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> list[Columns]:
        """Tokenises pairs of any length."""

    @abstractmethod
    def score(self, rows: Sequence[encoder.Row]) -> list[list[float]]:
        """Reads rows in one pass; returns rows x labels."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Counts the tokens of each text, without special ones."""
        return [
            len(columns["input_ids"])
            for columns in self.tokenize(list(texts), add_special_tokens=False)
        ]

    def tokenize(
        self, *texts: list[str], add_special_tokens: bool = True
    ) -> list[Columns]:
        """Calls the tokenizer.

        Special tokens inside a judged text are read as text or, by tokenizers like T5's,
        left out.
        """
        if not texts[0]:
            return []

        encoded = self.tokenizer(
            *texts,
            add_special_tokens=add_special_tokens,
            split_special_tokens=True,
            truncation=False,
            verbose=False,
            return_attention_mask=False,
            return_special_tokens_mask=True,
        )
        masks = encoded.pop("special_tokens_mask")
        rows: list[Columns] = []
        for row, mask in enumerate(masks):
            # Special tokens that the tokenizer did not add itself are dropped.
            own_tokens = [
                own or token not in self._marks
                for token, own in zip(encoded["input_ids"][row], mask, strict=True)
            ]
            rows.append(
                {
                    name: list(itertools.compress(encoded[name][row], own_tokens))
                    for name in encoded
                }
            )

        return rows

    def tensors(self, rows: Sequence[encoder.Row]) -> dict[str, Tensor]:
        """Pads rows to the model's input."""
        return encoder.pad(
            rows, padding=self.tokenizer.pad_token_id, device=self.model.device
        )


SMALLEST_ROOM = 32
"""Smallest number of tokens for a window of the premise beside the hypothesis."""

_ROOM_STEP = 8  # rooms are rounded down to a multiple, so that hypotheses of similar length share a premise's windows

_Cut = Callable[[str, int], list[str]]


def make_rows(form: Form, pairs: Sequence[Pair]) -> list[list[Columns] | None]:
    """Tokenises pairs, with a row for each window of the premise.

    None for a pair whose hypothesis leaves no room for a window.
    """
    whole = form.encode(
        [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    )
    longest = form.max_length
    if longest is None:
        return [[columns] for columns in whole]

    @lru_cache(maxsize=64)
    def cut(premise: str, room: int) -> list[str]:
        return [
            premise[start:end] for start, end in plan_windows(premise, room, form.count)
        ]

    return [
        [columns]
        if len(columns["input_ids"]) <= longest
        else _windows(form, pair, longest, cut)
        for pair, columns in zip(pairs, whole, strict=True)
    ]


def _windows(form: Form, pair: Pair, longest: int, cut: _Cut) -> list[Columns] | None:
    """Tokenises a pair with the premise cut into windows; None if nothing fits.

    The room beside the hypothesis is an estimate, as the tokens of sentences need not
    add up. If a row is too long, the premise is cut again with that much less room.
    """
    beside = len(form.encode([""], [pair.hypothesis])[0]["input_ids"])
    room = longest - beside
    while room >= SMALLEST_ROOM:
        room -= room % _ROOM_STEP
        texts = cut(pair.premise, room)
        rows = form.encode(texts, [pair.hypothesis] * len(texts))
        excess = max(len(columns["input_ids"]) for columns in rows) - longest
        if excess <= 0:
            return rows

        room -= excess  # joined sentences can have more tokens than counted singly

    return None


class ClassifierForm(Form):
    """A sequence classifier."""

    def encode(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> list[Columns]:
        """Tokenises pairs as the tokenizer joins two texts."""
        return self.tokenize(list(premises), list(hypotheses))

    def score(self, rows: Sequence[encoder.Row]) -> list[list[float]]:
        """One pass; softmax over the outputs."""
        import torch

        with torch.inference_mode():
            logits = self.model(**self.tensors(rows)).logits
            chances: list[list[float]] = logits.float().softmax(dim=-1).tolist()
        return chances


OFFICIAL_WORDS = 500
"""Number of words, split at single spaces, that the authors keep of a premise."""

OFFICIAL_NEW_TOKENS = 3
_TRUE_LABELS: tuple[Label, ...] = ("entailment", "not_entailment")


def answer_tokens(
    tokenizer: PreTrainedTokenizerBase, *, model: str
) -> tuple[list[int], int, int]:
    """Finds where the tokens of `1` and `0` differ: their common prefix, and the next token of each."""
    yes, no = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("1", "0")
    )
    shared = len(
        list(
            itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(yes, no, strict=False)
            )
        )
    )
    unknown = tokenizer.unk_token_id
    if shared == min(len(yes), len(no)) or unknown in (yes[shared], no[shared]):
        raise UsageError(MESSAGES["nli_answers"].format(model=model, yes=yes, no=no))

    return yes[:shared], yes[shared], no[shared]


class TrueForm(Form):
    """A T5 in the TRUE form, scored by one step of the decoder."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str,
        max_length: int | None,
    ) -> None:
        super().__init__(model, tokenizer, labels=_TRUE_LABELS, max_length=max_length)
        start = model.config.decoder_start_token_id
        if start is None:
            raise UsageError(
                f"{name}: its config.json has no decoder_start_token_id; download the model again."
            )
        shared, yes, no = answer_tokens(tokenizer, model=name)
        self._begin = [int(start), *shared]
        self._answers = [yes, no]

    def encode(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> list[Columns]:
        """Tokenises pairs in the form that TRUE was trained on."""
        return self.tokenize(_in_form(premises, hypotheses))

    def score(self, rows: Sequence[encoder.Row]) -> list[list[float]]:
        """One pass of the encoder and one step of the decoder; softmax over the two answers."""
        import torch

        begin = torch.tensor([self._begin] * len(rows), device=self.model.device)
        with torch.inference_mode():
            logits = self.model(
                **self.tensors(rows), decoder_input_ids=begin, use_cache=False
            ).logits
            chances: list[list[float]] = (
                logits[:, -1, self._answers].float().softmax(dim=-1).tolist()
            )

        return chances


class OfficialTrueForm(TrueForm):
    """A T5 in the TRUE form, used as DocLens' authors do.

    It reads the first 500 words, and any output but exactly `1` is no entailment.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, name: str
    ) -> None:
        super().__init__(model, tokenizer, name=name, max_length=None)

    def encode(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> list[Columns]:
        """Tokenises pairs with their premises cut; end-of-text marks in the input are effective."""
        texts = _in_form(
            [" ".join(premise.split(" ")[:OFFICIAL_WORDS]) for premise in premises],
            hypotheses,
        )
        if not texts:
            return []

        encoded = self.tokenizer(texts, truncation=False, verbose=False)
        return [{"input_ids": ids} for ids in encoded["input_ids"]]

    def score(self, rows: Sequence[encoder.Row]) -> list[list[float]]:
        """Decodes greedily; probabilities are only 1 or 0."""
        import torch
        from transformers import GenerationConfig

        greedy = GenerationConfig(
            max_new_tokens=OFFICIAL_NEW_TOKENS,
            decoder_start_token_id=self.model.config.decoder_start_token_id,
            eos_token_id=self.model.config.eos_token_id,
            pad_token_id=self.model.config.pad_token_id,
        )
        with torch.inference_mode():
            written = self.model.generate(
                **self.tensors(rows), generation_config=greedy
            )

        texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        return [[1.0, 0.0] if text == "1" else [0.0, 1.0] for text in texts]


def _in_form(premises: Sequence[str], hypotheses: Sequence[str]) -> list[str]:
    return [
        f"premise: {premise} hypothesis: {hypothesis}"
        for premise, hypothesis in zip(premises, hypotheses, strict=True)
    ]


WINDOWS = "1"
"""Version of how premises are cut and windows combined; incremented with every change that can alter a label."""

_CALLS_AT_ONCE = 4096  # sorted by length together


def open_nli(name: str, options: Mapping[str, str]) -> Backend:
    """Opens `nli/` with a folder or a Hub repository, which is downloaded unless `HF_HUB_OFFLINE` is set."""
    target = name.removeprefix("nli/")
    if target == name or not target:
        raise UsageError(
            f"{name!r}: name the judge nli/ and a folder or a repository, as in nli/models/true-t5."
        )

    encoder.check_packages(name, "torch", "transformers", "accelerate")
    # The revision identifies the model, and the model decides which options are valid.
    checkpoint = find_checkpoint(target, revision=options.get("revision"))
    family = find_family(checkpoint.read("config.json"), model=name)
    values = read_nli_options(options, family, model=name)
    weights = fingerprint(checkpoint.folder)
    form, dtype = load_form(name, checkpoint, family, values)
    identity = {
        "kind": "nli",
        "model": checkpoint.label,
        "weights": weights,
        "form": family,
        "official": str(bool(values.get("official"))).lower(),
        "labels": ",".join(form.labels),
        "max_length": "500 words" if form.max_length is None else str(form.max_length),
        "windows": WINDOWS,
        "dtype": dtype,
        "device": form.model.device.type,
        "engine": encoder.engine(),
    }
    if checkpoint.revision:
        identity["revision"] = checkpoint.revision

    return NliJudge(name, identity, form, batch_size=values.get("batch_size"))


class NliJudge(encoder.Opened[Form], Backend):
    """An entailment model in this process."""

    reads = "pair"

    def __init__(
        self,
        name: str,
        identity: Mapping[str, str],
        form: Form,
        *,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(form, name)
        self.name = name
        self.identity = identity
        # Without a padding token, rows of different length cannot share a batch.
        alone = (
            form.tokenizer.pad_token_id is None
            or form.model.config.pad_token_id is None
        )
        most = 1 if alone else batch_size
        self._batches = encoder.Batches(
            name, form.model.device, rows=most, full=MESSAGES["nli_memory"]
        )

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Labels every call's pair. Nothing is sent, so the budget is not asked."""
        for start in range(0, len(calls), _CALLS_AT_ONCE):
            self._answer(calls[start : start + _CALLS_AT_ONCE], on_reply)

    def _answer(self, calls: Sequence[Call], on_reply: OnReply) -> None:
        """Labels calls' pairs, each as soon as the last window of its premise was read.

        A premise longer than the model's limit is read in windows, whose probabilities
        `combine` turns into one label. Windows of all calls are read together, those of
        similar length in one batch.
        """
        form = self._loaded
        pairs = {
            number: call.question.pair
            for number, call in enumerate(calls)
            if call.question.pair is not None
        }
        windows = dict(zip(pairs, make_rows(form, list(pairs.values())), strict=True))
        rows: list[tuple[int, Columns]] = []
        for number, call in enumerate(calls):
            if (columns := windows.get(number)) is not None:
                rows += [(number, row) for row in columns]
            else:
                reason = "prompt too long" if number in pairs else "no pair"
                on_reply(NoReply(key=call.key, reason=reason))

        outputs: dict[int, list[Sequence[float]]] = defaultdict(list)
        for position, chances in self._batches.pieces(
            [row for _, row in rows], form.score
        ):
            number = rows[position][0]
            outputs[number].append(chances)
            own_windows = windows[number] or []
            if len(outputs[number]) == len(own_windows):
                label = combine(outputs.pop(number), form.labels)
                tokens = sum(len(row["input_ids"]) for row in own_windows)
                on_reply(
                    Reply(
                        key=calls[number].key,
                        label=label,
                        prompt_tokens=tokens,
                        attempts=0,
                    )
                )


Family = Literal["true", "classifier"]

TRUE_TOKENS = 2048
"""Default of `max_length` for a T5, in tokens; its positions are relative and set no limit."""

_T5 = frozenset({"t5", "mt5", "umt5"})


NLI_OPTIONS: Mapping[str, Reader] = {
    "batch_size": COUNT,
    "dtype": words(*DTYPES),
    "labels": WORD,
    "max_length": COUNT,
    "official": FLAG,
    "revision": WORD,
}
"""The arguments of `nli/...`."""


def find_family(config: Mapping[str, Any], *, model: str) -> Family:
    """Finds a model's family in its config."""
    names = [str(name) for name in config.get("architectures") or ()]
    kind = str(config.get("model_type", ""))
    if kind in _T5 and (
        not names or any(name.endswith("ForConditionalGeneration") for name in names)
    ):
        return "true"

    if any(name.endswith("ForSequenceClassification") for name in names):
        return "classifier"

    architectures = ", ".join(names) or "no architectures"
    raise UsageError(
        MESSAGES["nli_kind"].format(
            model=model, kind=kind or "nothing", said=architectures
        )
    )


def read_nli_options(
    options: Mapping[str, str], family: Family, *, model: str
) -> dict[str, Any]:
    """Reads the arguments, and refuses those that do not apply to the family."""
    values = read_options(options, NLI_OPTIONS, model=model)
    if family == "true" and "labels" in values:
        raise UsageError(
            f"labels={options['labels']}: {model} is a T5 that answers 1 or 0; labels is for "
            "classifiers."
        )

    if values.get("official"):
        if family == "classifier":
            raise UsageError(
                f"official=true: {model} is a classifier; DocLens' method is for a T5 in the TRUE "
                "form."
            )

        if "max_length" in values:
            raise UsageError(
                "official=true cuts premises at 500 words and nowhere else; leave max_length out."
            )

    return values


_LABEL_SETS = (
    {"entailment", "neutral", "contradiction"},
    {"entailment", "not_entailment"},
)

_SPELLINGS: Mapping[Label, str] = {
    "entailment": "entailment entail entails entailed e supports support supported",
    "neutral": "neutral neutrality n neither notenoughinfo nei unknown undetermined",
    "contradiction": "contradiction contradict contradicts contradicted contradictory c refutes refute refuted",
    "not_entailment": "notentailment notentail notentails notentailed nonentailment nonentailed noentailment ne",
}
_LABELS: Mapping[str, Label] = {
    word: label for label, words in _SPELLINGS.items() for word in words.split()
}
_CAUTIOUS: Mapping[Label, int] = {
    "not_entailment": 0,
    "neutral": 0,
    "contradiction": 1,
    "entailment": 2,
}


def read_label(name: str) -> Label | None:
    """Reads one label name (`ENTAILMENT`, `non-entailment`, `Contradicts`, `NOT ENOUGH INFO`); None if unknown."""
    return _LABELS.get(re.sub(r"[\s_\-]+", "", name).casefold())


def read_labels(
    config: Mapping[str, object], option: str | None, *, model: str
) -> tuple[Label, ...]:
    """Finds the labels of a classifier's outputs, in order.

    The option `labels` overrides the config.
    """
    named = config.get("id2label")
    if isinstance(named, Mapping) and named:
        order = sorted(
            named, key=lambda key: int(key) if str(key).isdecimal() else math.inf
        )
        names = [str(named[key]) for key in order]
    else:
        # the defaults of transformers
        count = config.get("num_labels", 2)
        names = [
            f"LABEL_{number}"
            for number in range(count if isinstance(count, int) else 2)
        ]

    if option is not None:
        listed = [name.strip() for name in option.split(",")]
        if len(listed) != len(names):
            raise UsageError(
                f"{model}: labels={option} names {len(listed)} labels, the model has {len(names)} "
                "outputs."
            )

        names = listed

    labels = tuple(label for label in map(read_label, names) if label is not None)
    if len(labels) == len(names) == len(set(labels)) and set(labels) in _LABEL_SETS:
        return labels

    where = "labels" if option is not None else "the label names in its config.json"
    raise UsageError(
        MESSAGES["nli_labels"].format(model=model, where=where, names=", ".join(names))
    )


def combine(windows: Sequence[Sequence[float]], labels: Sequence[Label]) -> Label:
    """Combines a premise's windows, each of which votes for its most likely label.

    Entailment wins if its highest probability is at least that of contradiction.
    """
    surest: dict[Label, float] = {}
    for row in windows:
        chances = dict(zip(labels, row, strict=True))
        likeliest = min(chances, key=lambda label: (-chances[label], _CAUTIOUS[label]))
        surest[likeliest] = max(surest.get(likeliest, 0.0), chances[likeliest])

    entailed, denied = surest.get("entailment"), surest.get("contradiction")
    if entailed is not None and (denied is None or entailed >= denied):
        return "entailment"
    if denied is not None:
        return "contradiction"

    return "neutral" if "neutral" in labels else "not_entailment"


def load_form(
    name: str, checkpoint: Checkpoint, family: Family, values: Mapping[str, Any]
) -> tuple[Form, str]:
    """Loads tokenizer and weights, onto accelerators if there are any.

    Returns:
        The form, and the type of its weights.
    """
    import torch
    import transformers

    labels = (
        read_labels(checkpoint.read("config.json"), values.get("labels"), model=name)
        if family == "classifier"
        else ()
    )
    dtype = values.get("dtype", "auto")
    if dtype == "auto":
        # Half precision only where the hardware has it; CPUs compute in float32.
        half = torch.cuda.is_available() and torch.cuda.is_bf16_supported(
            including_emulation=False
        )
        dtype = "bfloat16" if half else "float32"

    with quiet_libraries(logging.ERROR):
        tokenizer = encoder.open_tokenizer(
            name, checkpoint.folder, MESSAGES["nli_tokenizer"]
        )
        model = encoder.load_network(
            transformers.AutoModelForSeq2SeqLM
            if family == "true"
            else transformers.AutoModelForSequenceClassification,
            name,
            checkpoint.folder,
            advice=", or name a model that was trained for natural language inference",
            dtype=getattr(torch, dtype),
            **({"device_map": "auto"} if torch.accelerator.is_available() else {}),
        )

    max_length = values.get("max_length")
    form: Form
    if family == "classifier":
        longest = encoder.longest_text(checkpoint, max_length)
        form = ClassifierForm(model, tokenizer, labels=labels, max_length=longest)
    elif values.get("official"):
        form = OfficialTrueForm(model, tokenizer, name=name)
    else:
        longest = max_length or TRUE_TOKENS
        form = TrueForm(model, tokenizer, name=name, max_length=longest)

    return form, dtype
