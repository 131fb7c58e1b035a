"""`hf/<folder or repository>`: a local model through lighteval's transformers backend, under accelerate.

One process, or several that share the work (each with the whole model)::

    medical-tasks run --tasks medcalc --model hf/models/llama
    torchrun --nproc_per_node=4 -m medical_tasks run --tasks medcalc --model hf/models/llama

lighteval's model class is used as it is, without its task registry and pipeline: nothing is scanned or downloaded, and
both major versions of huggingface_hub will do. docs/models_local.md describes the options.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.models.base import Model
from medical_tasks.models.checkpoint import find_checkpoint
from medical_tasks.models.chunks import Prompt
from medical_tasks.models.local_choices import ChoicePrompt
from medical_tasks.models.local_model import LocalModel, LocalSetup, make_identity, open_layout
from medical_tasks.models.local_options import HF_OPTIONS, LOG_LEVELS, SAMPLING
from medical_tasks.models.model_options import read_options
from medical_tasks.models.quiet import quiet_libraries, without_cache_and_bars
from medical_tasks.models.tail_logits import tail_logits

__all__ = ["CPU_BATCH", "generation_settings", "lighteval_settings", "open_hf", "start_processes"]

CPU_BATCH = 8
"""Prompts a batch where trying out how many fit would fill the machine's own memory."""

AUTO_START = 512
_WAIT = datetime.timedelta(hours=2)  # how long a process waits for the others at the end of a batch


def open_hf(name: str, *, options: Mapping[str, str]) -> Model:
    """Opens a local model on the transformers backend.

    Args:
        name: `hf/` and a folder or a repository.
        options: model arguments, see `local_options.HF_OPTIONS`.

    Raises:
        UsageError: Bad options, a model that does not load, or processes that do not see each other.
        MissingError: lighteval, the model or a package it needs is not here; says how to get it.
    """
    if importlib.util.find_spec("lighteval") is None:
        raise MissingError(f"{name} needs lighteval, torch and transformers: {install_command('lighteval')}")
    values = read_options(options, HF_OPTIONS, model=name)
    log_level = values.get("log_level", LOG_LEVELS["error"])
    checkpoint = find_checkpoint(name.removeprefix("hf/"), revision=values.get("revision"))
    if values.get("dtype") in ("4bit", "8bit") and importlib.util.find_spec("bitsandbytes") is None:
        raise MissingError(f"dtype={values['dtype']} needs bitsandbytes, and a GPU: pip install bitsandbytes")
    with quiet_libraries(log_level):
        accelerator = start_processes()
        tokenizer, layout = open_layout(checkpoint, name, values)
        dtype = values.get("dtype", "auto")
        dtype = checkpoint.own_dtype() if dtype == "auto" else dtype
        identity = make_identity(
            checkpoint,
            values,
            backend="hf",
            dtype=dtype,
            layout=layout,
            engines={"lighteval": 2, "transformers": 1},
            device=accelerator.device.type,
        )
        settings = lighteval_settings(values, device=accelerator.device.type)
        settings |= {
            "model_name": str(checkpoint.folder),
            "dtype": dtype,
            "add_special_tokens": layout.add_special_tokens,
        }
        inner = _load(name, settings, generation_settings(values))
        ends = frozenset(checkpoint.end_tokens() | {tokenizer.eos_token_id})
        _set_decoding(inner, ends, sampling=bool(values.get("temperature")))
        setup = LocalSetup(
            name=name,
            identity=identity,
            layout=layout,
            tokenizer=tokenizer,
            ends=ends,
            context=inner.max_length,
            log_level=log_level,
        )
    return _HfModel(setup, inner, accelerator, chunk_size=values.get("chunk_size"), seed=values.get("seed", 0))


def start_processes() -> Any:
    """Joins the processes that torchrun or `accelerate launch` started; returns accelerate's `Accelerator`.

    Raises:
        UsageError: Several processes were started, but each would take itself for the only one.
    """
    from accelerate import Accelerator, InitProcessGroupKwargs

    started = int(os.environ.get("WORLD_SIZE", "1"))
    accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=_WAIT)])
    if started > 1 and accelerator.num_processes == 1:
        raise UsageError(
            f"{started} processes were started (WORLD_SIZE={started}), but accelerate sees one, so that each would answer "
            "everything. On a machine without a GPU: ACCELERATE_USE_CPU=true torchrun --nproc_per_node=2 -m medical_tasks run ..."
        )
    return accelerator


def lighteval_settings(values: Mapping[str, Any], *, device: str) -> dict[str, Any]:
    """Turns model arguments into those of lighteval's `TransformersModelConfig`.

    Args:
        values: model arguments read.
        device: kind of device, `cpu` or `cuda`.
    """
    return {
        "batch_size": values.get("batch_size", None if device == "cuda" else CPU_BATCH),
        "max_length": values.get("max_length"),
        "model_parallel": values.get("model_parallel"),
        "override_chat_template": False,  # prompts come rendered
    }


def generation_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turns model arguments into those of lighteval's `GenerationParameters`.

    Never `max_new_tokens`: lighteval's transformers backend would cut the *prompt* to that length.
    """
    return {name: values[name] for name in SAMPLING if name in values}


def _load(name: str, settings: Mapping[str, Any], generation: Mapping[str, Any]) -> Any:
    import torch
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.transformers import transformers_model as backend

    config = backend.TransformersModelConfig(**settings, generation_parameters=GenerationParameters(**generation))
    with without_cache_and_bars(backend):
        try:
            return backend.TransformersModel(config)
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise UsageError(f"{name} does not load: {error}") from error
        except torch.OutOfMemoryError as error:
            raise UsageError(
                f"{name}: the model does not fit into the GPU's memory: {str(error).splitlines()[0]} With several GPUs give "
                "one process and model_parallel=true, or use vllm/ with tensor_parallel_size; with one, dtype=4bit or 8bit."
            ) from error


def _set_decoding(inner: Any, ends: frozenset[int], *, sampling: bool) -> None:
    """Makes decoding what was asked for, and ends answers at every token that ends one.

    lighteval passes the tokenizer's end token only, whereas many chat models end a turn by another. And what the model's
    own `generation_config.json` says beyond that (a repetition penalty, beams, sampling) would be added in silence.
    """
    from transformers import GenerationConfig

    generate: Callable[..., Any] = inner.model.generate
    inner.model.generation_config = GenerationConfig()

    def decode(**settings: Any) -> Any:
        # output_scores keeps batch x vocabulary numbers for each step, which nobody reads.
        settings |= {"eos_token_id": sorted(ends), "output_scores": False, "do_sample": sampling}
        if not sampling:
            settings.pop("temperature", None)
        return generate(**settings)

    inner.model.generate = decode


class _HfModel(LocalModel):
    """A model on lighteval's transformers backend; one of several processes where there are several."""

    def __init__(self, setup: LocalSetup, inner: Any, accelerator: Any, *, chunk_size: int | None, seed: int) -> None:
        super().__init__(setup, is_main=bool(accelerator.is_main_process))
        self.inner = inner
        self._accelerator = accelerator
        self._chunk = chunk_size
        self._seed = seed
        self._given_batch: int | None = inner.config.batch_size
        self._text_batch = 1

    def share(self, keys: list[str]) -> list[str]:
        from accelerate.utils import broadcast_object_list

        box: list[Any] = [keys if self.is_main else None]
        broadcast_object_list(box, from_process=0)
        shared: list[str] = box[0]
        return shared

    def close(self) -> None:
        self.inner.cleanup()

    def _chunk_size(self, prompts: Sequence[Prompt]) -> int:
        if self._given_batch is None:
            longest = max(len(prompt.tokens) + prompt.request.max_new_tokens for prompt in prompts)
            self.inner.config.batch_size = self._largest_batch(longest, len(prompts))
        # A padded batch is generated as one piece: larger chunks would be no faster, only later in the store.
        return self._chunk or int(self.inner.config.batch_size) * int(self._accelerator.num_processes)

    def _texts_at_once(self, prompts: Sequence[ChoicePrompt]) -> int:
        size = self._given_batch
        if size is None:
            texts = sum(len(prompt.continuations) for prompt in prompts)
            with tail_logits(self.inner):
                size = self._largest_batch(max(prompt.longest for prompt in prompts), texts)
        # lighteval rounds a batch of texts to 1 or a multiple of 8, upwards too; here never above what was asked for.
        self._text_batch = max(1, size // 8 * 8)
        return self._chunk or self._text_batch * int(self._accelerator.num_processes)

    def _largest_batch(self, longest: int, most: int) -> int:
        """Lets lighteval try how many of the longest texts fit; once a call, since it tries by running out of memory."""
        from accelerate.utils import gather_object

        with quiet_libraries(self.setup.log_level):
            size = self.inner._get_batch_size(longest, None, min(AUTO_START, most))
        return int(min(gather_object([size])))

    def _respond(self, chunk: Sequence[Prompt], docs: Sequence[Any]) -> Sequence[Any]:
        import torch

        # Sampled answers depend on the seed and on the chunk, not on what was asked before it.
        text = f"{self._seed}:{chunk[0].request.key}:{self._accelerator.process_index}"
        torch.manual_seed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little", signed=False) >> 1)
        return self._ask(self.inner.greedy_until, docs, batch_size=self.inner.config.batch_size)

    def _score(self, docs: Sequence[Any]) -> Sequence[Any]:
        before = self.inner.config.batch_size
        self.inner.config.batch_size = self._text_batch
        try:
            with tail_logits(self.inner):
                return self._ask(self.inner.loglikelihood, docs, batch_size=self._text_batch)
        finally:
            self.inner.config.batch_size = before

    def _ask(self, ask: Callable[[list[Any]], Any], docs: Sequence[Any], *, batch_size: int) -> Sequence[Any]:
        import torch
        from lighteval.models.transformers import transformers_model as backend

        with quiet_libraries(self.setup.log_level), without_cache_and_bars(backend):
            try:
                responses: Sequence[Any] = ask(list(docs))
            except torch.OutOfMemoryError as error:
                raise UsageError(
                    f"the GPU's memory does not suffice for batch_size={batch_size}: {str(error).splitlines()[0]} Give the "
                    f"same command with batch_size={max(1, batch_size // 2)}; what was answered is kept."
                ) from error
        return responses
