"""`vllm/<folder or repository>`: a local model on the GPUs of this machine, through lighteval's vLLM backend.

vLLM and the newest transformers cannot be in one environment: this backend needs the second one (`make env-vllm`). It
starts its own worker processes, so it is run by the plain command, never under torchrun::

    medical-tasks run --tasks medcalc --model vllm/models/llama-70b --model-args tensor_parallel_size=4
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Model
from medical_tasks.models.checkpoint import Checkpoint, find_checkpoint
from medical_tasks.models.chunks import Prompt
from medical_tasks.models.lighteval_model import generation_settings
from medical_tasks.models.local_choices import ChoicePrompt
from medical_tasks.models.local_model import LocalModel, LocalSetup, make_identity, open_layout
from medical_tasks.models.local_options import LOG_LEVELS, VLLM_OPTIONS
from medical_tasks.models.model_options import read_options
from medical_tasks.models.quiet import quiet_libraries, without_cache_and_bars

__all__ = ["VLLM_CHUNK", "VLLM_TEXTS", "check_vllm_ready", "open_vllm", "vllm_settings"]

VLLM_CHUNK = 1024
"""Prompts a chunk: vLLM forms its own batches, and a small chunk would leave the GPU waiting for its last answers."""

VLLM_TEXTS = 128
"""Texts a chunk whose continuations are scored: vLLM gives Python objects for every token of the prompt, some 0.5 kB each."""

_PASSED_ON = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "quantization",
    "load_format",
    "seed",
)


def open_vllm(name: str, *, options: Mapping[str, str]) -> Model:
    """Opens a local model on vLLM, in this process.

    Args:
        name: `vllm/` and a folder or a repository.
        options: model arguments, see `local_options.VLLM_OPTIONS`.

    Raises:
        UsageError: Bad options, several processes, or a model that does not load.
        MissingError: vLLM, a GPU or the model is not here; says how to get it.
    """
    values = read_options(options, VLLM_OPTIONS, model=name)
    check_vllm_ready(name)
    log_level = values.get("log_level", LOG_LEVELS["error"])
    checkpoint = find_checkpoint(name.removeprefix("vllm/"), revision=values.get("revision"))
    with quiet_libraries(log_level):
        tokenizer, layout = open_layout(checkpoint, name, values)
        settings = vllm_settings(values, checkpoint, name=name)
        settings["add_special_tokens"] = layout.add_special_tokens
        identity = make_identity(
            checkpoint,
            values,
            backend="vllm",
            dtype=settings["dtype"] + (f", {values['quantization']}" if "quantization" in values else ""),
            layout=layout,
            engines={"lighteval": 2, "vllm": 2},
        )
        setup = LocalSetup(
            name=name,
            identity=identity,
            layout=layout,
            tokenizer=tokenizer,
            ends=frozenset(checkpoint.end_tokens() | {tokenizer.eos_token_id}),
            context=settings["max_model_length"],
            log_level=log_level,
        )
        inner = _load(name, settings, generation_settings(values))
    chunk = values.get("chunk_size", None if settings.get("data_parallel_size", 1) > 1 else VLLM_CHUNK)
    return _VllmModel(setup, inner, chunk_size=chunk)


def check_vllm_ready(name: str) -> None:
    """Checks that vLLM can run here, before anything large is read.

    Raises:
        MissingError: No vLLM that lighteval can use, or no GPU.
        UsageError: Started as one of several processes.
    """
    if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("lighteval") is None:
        raise MissingError(
            f"{name} needs vLLM inside this Python, and it is not installed. It has an environment of its own, because it "
            "cannot share one with the newest transformers: in a checkout of this suite, `make env-vllm` makes it "
            "(.env-vllm), or with a fresh environment\n  pip install -c constraints-vllm.txt '.[vllm]'\n"
            "A vLLM server in any environment will do as well: --model vllm-server/... or openai-api/..."
        )
    from lighteval.utils.imports import is_package_available

    if not is_package_available("vllm"):
        version = importlib.metadata.version("vllm")
        raise MissingError(
            f"{name}: lighteval cannot use vLLM {version}; it takes the versions that its extra `lighteval[vllm]` names. "
            "Install the pinned set: `make env-vllm`, or run that vLLM as a server: --model vllm-server/..."
        )
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError(
            f"{name}: vLLM starts its own workers, and several processes were started (WORLD_SIZE="
            f"{os.environ['WORLD_SIZE']}). Give the plain command, with tensor_parallel_size, pipeline_parallel_size or "
            "data_parallel_size in --model-args."
        )
    import torch

    if not torch.cuda.is_available():
        raise MissingError(
            f"{name}: vLLM needs a GPU, and torch finds none on this machine. On the CPU the transformers backend runs the "
            "same model: --model hf/..."
        )


def vllm_settings(values: Mapping[str, Any], checkpoint: Checkpoint, *, name: str) -> dict[str, Any]:
    """Turns model arguments into those of lighteval's `VLLMModelConfig`.

    The context is always stated: left out, lighteval takes the length of vLLM's CUDA graphs for it, and cuts prompts there.

    Args:
        values: model arguments read.
        checkpoint: the model's folder.
        name: the model's name, for messages.

    Raises:
        UsageError: The model does not say how long its context is, or less than was asked for.
    """
    own = checkpoint.context()
    context = values.get("max_model_length", own)
    if context is None:
        raise UsageError(f"{name}: its config.json names no context length; give --model-args max_model_length=N.")
    dtype = values.get("dtype", "auto")
    return {
        "model_name": str(checkpoint.folder),
        "max_model_length": context,
        "dtype": checkpoint.own_dtype() if dtype == "auto" else dtype,
        "override_chat_template": False,  # prompts come rendered
        **{option: values[option] for option in _PASSED_ON if option in values},
    }


def _load(name: str, settings: Mapping[str, Any], generation: Mapping[str, Any]) -> Any:
    # Its engine runs in a process of its own, which reads how much to say from here.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.vllm import vllm_model as backend

    config = backend.VLLMModelConfig(**settings, generation_parameters=GenerationParameters(**generation))
    with without_cache_and_bars(backend):
        try:
            inner = backend.VLLMModel(config)
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise UsageError(f"{name} does not load: {error}") from error
        except RuntimeError as error:
            raise UsageError(
                f"{name}: vLLM did not start: {error}\nMost often memory is short: lower max_model_length (now "
                f"{settings['max_model_length']}), raise gpu_memory_utilization or tensor_parallel_size; "
                "VLLM_LOGGING_LEVEL=INFO shows what it does."
            ) from error
    if inner.model is not None:  # None when Ray starts one engine for each part of the data
        generate: Callable[..., Any] = inner.model.generate

        def without_bar(**arguments: Any) -> Any:
            return generate(**{**arguments, "use_tqdm": False})

        inner.model.generate = without_bar
    return inner


class _VllmModel(LocalModel):
    """A model on lighteval's vLLM backend."""

    # vLLM generates a token after what it scores, and its scheduler waits for ever for room for it.
    _spare = 1

    def __init__(self, setup: LocalSetup, inner: Any, *, chunk_size: int | None) -> None:
        super().__init__(setup, is_main=True)
        self.inner = inner
        self._chunk = chunk_size

    def close(self) -> None:
        self.inner.cleanup()

    def _chunk_size(self, prompts: Sequence[Prompt]) -> int | None:
        # With data parallelism lighteval loads the model anew for each chunk: then all prompts are one chunk.
        return self._chunk

    def _texts_at_once(self, prompts: Sequence[ChoicePrompt]) -> int | None:
        return None if self._chunk is None else min(self._chunk, VLLM_TEXTS)

    def _respond(self, chunk: Sequence[Prompt], docs: Sequence[Any]) -> Sequence[Any]:
        return self._ask(self.inner.greedy_until, docs)

    def _score(self, docs: Sequence[Any]) -> Sequence[Any]:
        return self._ask(self.inner.loglikelihood, docs)

    def _ask(self, ask: Callable[[list[Any]], Any], docs: Sequence[Any]) -> Sequence[Any]:
        from lighteval.models.vllm import vllm_model as backend

        with quiet_libraries(self.setup.log_level), without_cache_and_bars(backend):
            responses: Sequence[Any] = ask(list(docs))
        return responses
