"""`nli/<folder or repository>`: a local model of natural language inference as judge.

Two families, told apart by the config: T5 in the TRUE form, and sequence classifiers with two or three labels. Long premises
are read in windows, not cut; docs/judges_local.md describes forms, windows and options.
"""

from __future__ import annotations

import importlib.metadata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Backend, Budget, Call, NoReply, OnReply, Reply
from medical_tasks.judges.nli_batches import CPU_TOKENS, GPU_TOKENS, Batches, Row
from medical_tasks.judges.nli_form import Form
from medical_tasks.judges.nli_labels import combine
from medical_tasks.judges.nli_loading import load_form
from medical_tasks.judges.nli_options import find_family, read_nli_options
from medical_tasks.judges.nli_rows import SMALLEST_ROOM, make_rows
from medical_tasks.models.checkpoint import find_checkpoint
from medical_tasks.models.encoder import check_packages
from medical_tasks.models.fingerprint import fingerprint

__all__ = ["NliJudge", "open_nli"]

WINDOWS = "1"
"""Version of how premises are cut and windows combined; counts up with every change that can move a label."""

_CALLS_AT_ONCE = 4096  # sorted by length together


def open_nli(name: str, options: Mapping[str, str]) -> Backend:
    """Opens a local model as judge.

    Args:
        name: `nli/` and a folder or a repository of the Hub, which is downloaded unless `HF_HUB_OFFLINE` is set.
        options: `batch_size`, `dtype`, `labels`, `max_length`, `official`, `revision`.

    Raises:
        UsageError: Bad options, or a model of neither family, that does not load, or whose labels mean nothing.
        MissingError: A package or the model is not here; says how to get it.
    """
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
        "engine": f"transformers {importlib.metadata.version('transformers').split('.')[0]}",
    }
    if checkpoint.revision:
        identity["revision"] = checkpoint.revision
    return NliJudge(name, identity, form, batch_size=values.get("batch_size"))


class NliJudge:
    """A model of entailment in this process.

    Args:
        name: the name the user gave.
        identity: what makes its labels what they are.
        form: the loaded model.
        batch_size: most rows a batch; None: by tokens.
    """

    reads: Literal["prompt", "pair"] = "pair"
    endpoint: str | None = None
    comparable = True
    samples = False

    def __init__(self, name: str, identity: Mapping[str, str], form: Form, *, batch_size: int | None = None) -> None:
        import torch

        self.name = name
        self.identity = identity
        self._form: Form | None = form
        # Without a padding token, rows of different length cannot stand side by side.
        alone = form.tokenizer.pad_token_id is None or form.model.config.pad_token_id is None
        self._batches = Batches(
            lambda rows: self._loaded.score(rows),
            memory_full=(torch.OutOfMemoryError,),
            tokens=CPU_TOKENS if form.model.device.type == "cpu" else GPU_TOKENS,
            rows=1 if alone else batch_size,
        )

    def answer(self, calls: Sequence[Call], budget: Budget, on_reply: OnReply) -> None:
        """Labels every call's pair. Nothing is sent, so the budget is not asked.

        Raises:
            UsageError: One pair alone fills the device's memory.
        """
        for start in range(0, len(calls), _CALLS_AT_ONCE):
            self._answer(calls[start : start + _CALLS_AT_ONCE], on_reply)

    def close(self) -> None:
        """Frees the model's memory."""
        import torch

        self._form = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _answer(self, calls: Sequence[Call], on_reply: OnReply) -> None:
        form = self._loaded
        pairs = {number: call.question.pair for number, call in enumerate(calls)}
        asked = {number: pair for number, pair in pairs.items() if pair is not None}
        made = dict(zip(asked, make_rows(form, list(asked.values())), strict=True))
        groups: dict[int, list[Row]] = {}
        for number, call in enumerate(calls):
            columns = made.get(number)
            if columns is not None:
                groups[number] = [Row(pair=number, columns=row) for row in columns]
            elif number in asked:
                detail = f"the hypothesis leaves less than {SMALLEST_ROOM} of {form.max_length} tokens for the premise"
                on_reply(NoReply(key=call.key, reason="prompt too long", detail=detail))
            else:
                on_reply(NoReply(key=call.key, reason="no pair", detail="the question has no premise and hypothesis"))
        said: dict[int, list[Sequence[float]]] = defaultdict(list)
        for row, chances in self._batches.read([row for group in groups.values() for row in group]):
            said[row.pair].append(chances)
            group = groups[row.pair]
            if len(said[row.pair]) == len(group):
                label = combine(said.pop(row.pair), form.labels)
                tokens = sum(map(len, group))
                on_reply(Reply(key=calls[row.pair].key, label=label, prompt_tokens=tokens, attempts=0))

    @property
    def _loaded(self) -> Form:
        if self._form is None:
            raise RuntimeError(f"{self.name} was closed")
        return self._form
