"""`nli/<folder or repository>`: a local model of natural language inference as judge; docs/judges_local.md describes its forms."""

from __future__ import annotations

import logging
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Backend, Call, Label, NoReply, OnReply, Reply
from medical_tasks.judges.budget import RunBudget
from medical_tasks.judges.nli_models import (
    ClassifierForm,
    Columns,
    Form,
    OfficialTrueForm,
    TrueForm,
    longest_input,
    make_rows,
)
from medical_tasks.models.checkpoint import Checkpoint, find_checkpoint, fingerprint, quiet_libraries
from medical_tasks.models.encoder import LOAD_ERRORS, Batches, Opened, check_packages, engine, open_tokenizer
from medical_tasks.models.opener import COUNT, DTYPES, FLAG, WORD, Reader, read_options, words

WINDOWS = "1"
"""Version of how premises are cut and windows combined; counts up with every change that can move a label."""

_CALLS_AT_ONCE = 4096  # sorted by length together


def open_nli(name: str, options: Mapping[str, str]) -> Backend:
    """Opens `nli/` and a folder or a repository of the Hub, which is downloaded unless `HF_HUB_OFFLINE` is set."""
    target = name.removeprefix("nli/")
    if target == name or not target:
        raise UsageError(f"{name!r}: name the judge nli/ and a folder or a repository, as in nli/models/true-t5.")
    check_packages(name, "torch", "transformers", "accelerate")
    # The revision finds the model, and the model decides which options there are.
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
        "engine": engine(),
    }
    if checkpoint.revision:
        identity["revision"] = checkpoint.revision
    return NliJudge(name, identity, form, batch_size=values.get("batch_size"))


class NliJudge(Opened[Form]):
    """A model of entailment in this process."""

    reads: Literal["prompt", "pair"] = "pair"
    endpoint: str | None = None
    comparable = True
    samples = False

    def __init__(self, name: str, identity: Mapping[str, str], form: Form, *, batch_size: int | None = None) -> None:
        super().__init__(form, name)
        self.name = name
        self.identity = identity
        # Without a padding token, rows of different length cannot stand side by side.
        alone = form.tokenizer.pad_token_id is None or form.model.config.pad_token_id is None
        self._batches = Batches(
            name,
            form.model.device,
            rows=1 if alone else batch_size,
            full="one pair of {tokens} tokens: {reason} Give a smaller max_length, or dtype=bfloat16; what was decided is kept.",
        )

    def answer(self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply) -> None:
        """Labels every call's pair. Nothing is sent, so the budget is not asked."""
        for start in range(0, len(calls), _CALLS_AT_ONCE):
            self._answer(calls[start : start + _CALLS_AT_ONCE], on_reply)

    def _answer(self, calls: Sequence[Call], on_reply: OnReply) -> None:
        form = self._loaded
        pairs = {number: call.question.pair for number, call in enumerate(calls)}
        asked = {number: pair for number, pair in pairs.items() if pair is not None}
        made = dict(zip(asked, make_rows(form, list(asked.values())), strict=True))
        rows: list[tuple[int, Columns]] = []
        for number, call in enumerate(calls):
            if (columns := made.get(number)) is not None:
                rows += [(number, row) for row in columns]
            else:  # the hypothesis leaves too little room for the premise, or there is none
                on_reply(NoReply(key=call.key, reason="prompt too long" if number in asked else "no pair"))
        said: dict[int, list[Sequence[float]]] = defaultdict(list)
        for place, chances in self._batches.pieces([row for _, row in rows], form.score):
            number = rows[place][0]
            said[number].append(chances)
            windows = made[number] or []
            if len(said[number]) == len(windows):
                label = combine(said.pop(number), form.labels)
                tokens = sum(len(row["input_ids"]) for row in windows)
                on_reply(Reply(key=calls[number].key, label=label, prompt_tokens=tokens, attempts=0))


Family = Literal["true", "classifier"]

TRUE_TOKENS = 2048
"""Longest input of a T5, in tokens, unless `max_length` says otherwise. Its positions are relative and set no bound."""

_T5 = frozenset({"t5", "mt5", "umt5"})


NLI_OPTIONS: Mapping[str, Reader] = {
    "batch_size": COUNT,
    "dtype": words(*DTYPES),
    "labels": WORD,
    "max_length": COUNT,
    "official": FLAG,
    "revision": WORD,
}
"""What `nli/...` takes."""


def find_family(config: Mapping[str, Any], *, model: str) -> Family:
    """Finds out how a model is asked."""
    names = [str(name) for name in config.get("architectures") or ()]
    kind = str(config.get("model_type", ""))
    if kind in _T5 and (not names or any(name.endswith("ForConditionalGeneration") for name in names)):
        return "true"
    if any(name.endswith("ForSequenceClassification") for name in names):
        return "classifier"
    said = ", ".join(names) or "no architectures"
    raise UsageError(
        f"{model}: neither a T5 in the TRUE form (T5ForConditionalGeneration) nor a classifier of pairs "
        f"(...ForSequenceClassification): its config.json says model_type {kind or 'nothing'!r} and {said}. Name a model of "
        "natural language inference; chat models judge through openai-api/ or a local server."
    )


def read_nli_options(options: Mapping[str, str], family: Family, *, model: str) -> dict[str, Any]:
    """Reads the arguments and refuses those that the family has no use for."""
    values = read_options(options, NLI_OPTIONS, model=model)
    if family == "true" and "labels" in values:
        raise UsageError(f"labels={options['labels']}: {model} is a T5 that answers 1 or 0; labels is for classifiers.")
    if values.get("official"):
        if family == "classifier":
            raise UsageError(f"official=true: {model} is a classifier; DocLens' way is for a T5 in the TRUE form.")
        if "max_length" in values:
            raise UsageError("official=true cuts premises at 500 words and nowhere else; leave max_length out.")
    return values


_LABEL_SETS = ({"entailment", "neutral", "contradiction"}, {"entailment", "not_entailment"})

_SPELLINGS: Mapping[Label, str] = {
    "entailment": "entailment entail entails entailed e supports support supported",
    "neutral": "neutral neutrality n neither notenoughinfo nei unknown undetermined",
    "contradiction": "contradiction contradict contradicts contradicted contradictory c refutes refute refuted",
    "not_entailment": "notentailment notentail notentails notentailed nonentailment nonentailed noentailment ne",
}
_LABELS: Mapping[str, Label] = {word: label for label, words in _SPELLINGS.items() for word in words.split()}
_CAUTIOUS: Mapping[Label, int] = {"not_entailment": 0, "neutral": 0, "contradiction": 1, "entailment": 2}


def read_label(name: str) -> Label | None:
    """Reads one label name (`ENTAILMENT`, `non-entailment`, `Contradicts`, `NOT ENOUGH INFO`); None when it says nothing."""
    return _LABELS.get(re.sub(r"[\s_\-]+", "", name).casefold())


def read_labels(config: Mapping[str, object], given: str | None, *, model: str) -> tuple[Label, ...]:
    """Finds what the outputs of a classifier mean, in order; the option `labels` goes before the config."""
    names = _config_names(config)
    if given is not None:
        listed = [name.strip() for name in given.split(",")]
        if len(listed) != len(names):
            raise UsageError(f"{model}: labels={given} names {len(listed)} labels, the model has {len(names)} outputs.")
        names = listed
    found = tuple(label for label in map(read_label, names) if label is not None)
    if len(found) == len(names) == len(set(found)) and set(found) in _LABEL_SETS:
        return found
    where = "labels" if given is not None else "the label names in its config.json"
    raise UsageError(
        f"{model}: {where} must be entailment, neutral and contradiction, or entailment and not_entailment; got "
        f"{', '.join(names)}. Say what its outputs mean, in their order (its card tells): labels=contradiction,neutral,entailment "
        "(in double quotes where arguments are separated by commas)."
    )


def _config_names(config: Mapping[str, object]) -> list[str]:
    names = config.get("id2label")
    if isinstance(names, Mapping) and names:
        return [
            str(names[key]) for key in sorted(names, key=lambda key: int(key) if str(key).isdecimal() else math.inf)
        ]
    count = config.get("num_labels", 2)  # what transformers takes when a config says nothing
    return [f"LABEL_{number}" for number in range(count if isinstance(count, int) else 2)]


def combine(windows: Sequence[Sequence[float]], labels: Sequence[Label]) -> Label:
    """Combines a premise's windows, each voting for its most likely label: entailment if at least as sure as contradiction."""
    surest: dict[Label, float] = {}
    for row in windows:
        chances = dict(zip(labels, row, strict=True))
        said = min(chances, key=lambda label: (-chances[label], _CAUTIOUS[label]))
        surest[said] = max(surest.get(said, 0.0), chances[said])
    entailed, denied = surest.get("entailment"), surest.get("contradiction")
    if entailed is not None and (denied is None or entailed >= denied):
        return "entailment"
    if denied is not None:
        return "contradiction"
    return "neutral" if "neutral" in labels else "not_entailment"


def load_form(name: str, checkpoint: Checkpoint, family: Family, values: Mapping[str, Any]) -> tuple[Form, str]:
    """Loads tokenizer and weights, onto the accelerators where there are any; returns the form and the type of its weights."""
    import torch

    config = checkpoint.read("config.json")
    labels = read_labels(config, values.get("labels"), model=name) if family == "classifier" else ()
    dtype = values.get("dtype", "auto")
    if dtype == "auto":  # half precision where the hardware has it and T5 bears it; CPUs compute in float32
        half = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
        dtype = "bfloat16" if half else "float32"
    with quiet_libraries(logging.ERROR):
        tokenizer = open_tokenizer(
            name,
            checkpoint.folder,
            "\nA tokenizer made of a sentencepiece file needs sentencepiece and protobuf (pip install sentencepiece protobuf); one "
            "saved by transformers 5 does not load in 4.",
        )
        model = _load_network(name, checkpoint, family, getattr(torch, dtype))
    wanted = values.get("max_length")
    if family == "classifier":
        longest = longest_input(config, tokenizer, wanted, model=name)
        return ClassifierForm(model, tokenizer, labels=labels, max_length=longest), dtype
    if values.get("official"):
        return OfficialTrueForm(model, tokenizer, name=name), dtype
    return TrueForm(model, tokenizer, name=name, max_length=wanted or TRUE_TOKENS), dtype


def _load_network(name: str, checkpoint: Checkpoint, family: Family, dtype: Any) -> Any:
    import torch
    import transformers

    auto = transformers.AutoModelForSeq2SeqLM if family == "true" else transformers.AutoModelForSequenceClassification
    place = {"device_map": "auto"} if torch.accelerator.is_available() else {}
    try:
        model, report = auto.from_pretrained(
            str(checkpoint.folder),
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **place,
        )
    except torch.OutOfMemoryError as error:
        raise UsageError(
            f"{name}: the model does not fit into the device's memory: {str(error).splitlines()[0]} Give dtype=bfloat16, or "
            "show this process more devices."
        ) from error
    except LOAD_ERRORS as error:
        raise UsageError(f"{name} does not load with transformers {transformers.__version__}: {error}") from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise UsageError(
            f"{name}: its files lack {len(missing)} of its weights ({', '.join(missing[:3])}), which would be random. "
            "Download it again, or name a model that was trained for natural language inference."
        )
    return model.eval()
