"""Local models through lighteval: `hf/<folder or repository>` with transformers, `vllm/<folder or repository>` with vLLM.

When lighteval's transformers backend scores texts, only the logits of the last positions
are computed, in float32: all of them would take 4 GB per text (8,000 tokens, vocabulary
of 128,000), twice, and half precision is off in the third digit.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.models.base import Model, processes
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    find_checkpoint,
    quiet_libraries,
    without_cache_and_bars,
)
from medical_tasks.models.local_model import (
    Ask,
    ChoicePrompt,
    LocalModel,
    LocalSetup,
    Prompt,
    UnloadedModel,
)
from medical_tasks.models.opener import (
    HF_OPTIONS,
    LOG_LEVELS,
    RAY_OPTIONS,
    SAMPLING,
    VLLM_OPTIONS,
    read_options,
)

if TYPE_CHECKING:
    from accelerate import Accelerator
    from lighteval.models.model_output import Batch, ModelResponse
    from lighteval.models.transformers.transformers_model import TransformersModel
    from lighteval.models.vllm.vllm_model import VLLMModel
    from lighteval.tasks.requests import Doc
    from torch import Tensor
    from transformers import PreTrainedModel
    from vllm import RequestOutput

CPU_BATCH = 8
"""Prompts per batch on the CPU, where trying larger batches would fill the machine's memory."""

AUTO_START = 512
DEFAULT_CONTEXT = 2048
"""lighteval's context for a model that states none."""
# how long a process waits for the others at the end of a batch
_WAIT = datetime.timedelta(hours=2)


def open_hf(name: str, *, options: Mapping[str, str]) -> Model:
    """Opens a local model on the transformers backend."""
    _require_lighteval(name)
    values = read_options(options, HF_OPTIONS, model=name)
    checkpoint = find_checkpoint(
        name.removeprefix("hf/"), revision=values.get("revision")
    )
    if (
        values.get("dtype") in ("4bit", "8bit")
        and importlib.util.find_spec("bitsandbytes") is None
    ):
        raise MissingError(
            f"dtype={values['dtype']} needs bitsandbytes, and a GPU: pip install bitsandbytes"
        )

    with quiet_libraries(values.get("log_level", LOG_LEVELS["error"])):
        accelerator = start_processes()
        device = accelerator.device.type
        setup = LocalSetup(name, checkpoint, values)
        dtype = _dtype(values, checkpoint)
        identity = hf_identity(setup, device=device)
        settings = lighteval_settings(values, device=device) | {
            "model_name": str(checkpoint.folder),
            "dtype": dtype,
            "add_special_tokens": setup.layout.add_special_tokens,
        }
        inner = _load_transformers(name, settings, generation_settings(values))
        _set_decoding(inner, setup.ends, sampling=bool(values.get("temperature")))

    return _HfModel(setup, identity, inner, accelerator)


def open_unloaded(name: str, *, options: Mapping[str, str]) -> UnloadedModel:
    """Opens `hf/...`, `vllm/...` or `ray/...` without its weights, to count what it would be asked.

    The workers of a cluster are assumed to be machines like this one.
    """
    _require_lighteval(name)
    kind, _, target = name.partition("/")
    engine = options.get("engine", "hf") if kind == "ray" else kind
    readers = {**(VLLM_OPTIONS if engine == "vllm" else HF_OPTIONS)}
    values = read_options(
        options, {**readers, **(RAY_OPTIONS if kind == "ray" else {})}, model=name
    )
    checkpoint = find_checkpoint(target, revision=values.get("revision"))
    with quiet_libraries(values.get("log_level", LOG_LEVELS["error"])):
        setup = LocalSetup(name, checkpoint, values)
        if engine == "vllm":
            check_vllm_ready(name)
            identity, context = vllm_identity(setup), values.get("max_model_length")
        else:
            identity = hf_identity(setup, device=start_processes().device.type)
            context = values.get("max_length")

    context = context or checkpoint.context() or DEFAULT_CONTEXT
    return UnloadedModel(setup, identity, context=context, is_main=True)


def _require_lighteval(name: str) -> None:
    """Raises MissingError where the packages of local models are not installed."""
    if importlib.util.find_spec("lighteval") is None:
        raise MissingError(
            f"{name} needs lighteval, torch and transformers: {install_command('lighteval')}"
        )


def hf_identity(setup: LocalSetup, *, device: str) -> dict[str, str]:
    """Returns what decides the answers of a model on the transformers backend."""
    engines = {"lighteval": 2, "transformers": 1}
    return setup.identity(
        backend="hf",
        dtype=_dtype(setup.values, setup.checkpoint),
        engines=engines,
        device=device,
    )


def vllm_identity(setup: LocalSetup) -> dict[str, str]:
    """Returns what decides the answers of a model on vLLM."""
    dtype = ", ".join(
        [
            _dtype(setup.values, setup.checkpoint),
            *filter(None, [setup.values.get("quantization")]),
        ]
    )
    return setup.identity(
        backend="vllm", dtype=dtype, engines={"lighteval": 2, "vllm": 2}
    )


def _dtype(values: Mapping[str, Any], checkpoint: Checkpoint) -> str:
    dtype: str = values.get("dtype", "auto")
    return checkpoint.own_dtype() if dtype == "auto" else dtype


def start_processes() -> Accelerator:
    """Joins the processes that torchrun or `accelerate launch` started."""
    from accelerate import Accelerator, InitProcessGroupKwargs

    started = processes()
    accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=_WAIT)])
    if started > 1 and accelerator.num_processes == 1:
        raise UsageError(MESSAGES["processes"].format(started=started))
    return accelerator


def lighteval_settings(
    values: Mapping[str, object], *, device: str
) -> dict[str, object]:
    """Converts model arguments to those of lighteval's `TransformersModelConfig`."""
    return {
        "batch_size": values.get("batch_size", None if device == "cuda" else CPU_BATCH),
        "max_length": values.get("max_length"),
        "model_parallel": values.get("model_parallel"),
        "override_chat_template": False,  # prompts are rendered already
    }


def generation_settings(values: Mapping[str, object]) -> dict[str, object]:
    """Converts model arguments to those of `GenerationParameters`, without `max_new_tokens`.

    Lighteval's transformers backend would cut the *prompt* to that.
    """
    return {name: values[name] for name in SAMPLING if name in values}


def _load_transformers(
    name: str, settings: Mapping[str, object], generation: Mapping[str, object]
) -> TransformersModel:
    import torch
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.transformers import transformers_model as backend

    config = backend.TransformersModelConfig(
        **settings, generation_parameters=GenerationParameters(**generation)
    )
    with without_cache_and_bars(backend):
        try:
            return backend.TransformersModel(config)
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise UsageError(f"{name} does not load: {error}") from error
        except torch.OutOfMemoryError as error:
            reason = str(error).splitlines()[0]
            raise UsageError(
                MESSAGES["memory_to_load"].format(name=name, reason=reason)
            ) from error


def _set_decoding(
    inner: TransformersModel, ends: frozenset[int], *, sampling: bool
) -> None:
    """Ends answers at every end token; lighteval passes only the tokenizer's.

    Other settings of `generation_config.json` (a repetition penalty, beams, sampling)
    are dropped: they would apply silently.
    """
    from transformers import GenerationConfig

    generate: Callable[..., Tensor] = inner.model.generate
    inner.model.generation_config = GenerationConfig()

    def decode(**settings: object) -> Tensor:
        # output_scores would keep batch x vocabulary numbers for each step, unread.
        settings |= {
            "eos_token_id": sorted(ends),
            "output_scores": False,
            "do_sample": sampling,
        }
        if not sampling:
            settings.pop("temperature", None)

        return generate(**settings)

    inner.model.generate = decode


class _HfModel(LocalModel):
    """A model that lighteval's transformers backend runs, on one or several processes.

    Attributes:
        _chunk: prompts between two writes to the store, if set (`chunk_size`).
        _given_batch: the batch size of the settings; None to try the largest that fits.
        _text_batch: how many texts are scored at once.
    """

    def __init__(
        self,
        setup: LocalSetup,
        identity: Mapping[str, str],
        inner: TransformersModel,
        accelerator: Accelerator,
    ) -> None:
        from lighteval.models.transformers import transformers_model

        self.backend = transformers_model
        is_main = bool(accelerator.is_main_process)
        super().__init__(
            setup, identity, inner, context=inner.max_length, is_main=is_main
        )
        self._accelerator = accelerator
        self._chunk: int | None = setup.values.get("chunk_size")
        self._seed: int = setup.values.get("seed", 0)
        self._given_batch: int | None = inner.config.batch_size
        self._text_batch = 1

    def share(self, keys: list[str]) -> list[str]:
        from accelerate.utils import broadcast_object_list

        # The main process's list replaces those of the others.
        box = [keys if self.is_main else []]
        broadcast_object_list(box, from_process=0)
        return box[0]

    def _chunk_size(self, prompts: Sequence[Prompt]) -> int:
        """How many prompts are answered between two writes to the store."""
        if self._given_batch is None:
            longest = max(
                len(prompt.tokens) + prompt.request.max_new_tokens for prompt in prompts
            )
            self.inner.config.batch_size = self._largest_batch(longest, len(prompts))

        # A padded batch is generated as a whole: larger chunks would be no faster, only
        # stored later.
        return self._chunk or int(self.inner.config.batch_size) * int(
            self._accelerator.num_processes
        )

    def _texts_at_once(self, prompts: Sequence[ChoicePrompt]) -> int:
        size = self._given_batch
        if size is None:
            texts = sum(len(prompt.continuations) for prompt in prompts)
            with tail_logits(self.inner):
                size = self._largest_batch(
                    max(prompt.longest for prompt in prompts), texts
                )

        # lighteval rounds a batch of texts to 1 or a multiple of 8, also upwards; here
        # never above the requested size.
        self._text_batch = max(1, size // 8 * 8)
        return self._chunk or self._text_batch * int(self._accelerator.num_processes)

    def _largest_batch(self, longest: int, most: int) -> int:
        """Lets lighteval find out how many of the longest texts fit.

        Once per call, since it does so by running out of memory.
        """
        from accelerate.utils import gather_object

        with quiet_libraries(self.setup.log_level):
            size = self.inner._get_batch_size(longest, None, min(AUTO_START, most))
        return int(min(gather_object([size])))

    def _respond(
        self, chunk: Sequence[Prompt], docs: list[Doc]
    ) -> Sequence[ModelResponse]:
        import torch

        # Sampled answers depend on the seed and the chunk, not on earlier chunks.
        text = f"{self._seed}:{chunk[0].request.key}:{self._accelerator.process_index}"
        torch.manual_seed(
            int.from_bytes(
                hashlib.sha256(text.encode()).digest()[:8], "little", signed=False
            )
            >> 1
        )

        return super()._respond(chunk, docs)

    def _score(self, docs: list[Doc]) -> Sequence[ModelResponse]:
        with (
            mock.patch.object(self.inner.config, "batch_size", self._text_batch),
            tail_logits(self.inner),
        ):
            return super()._score(docs)

    def _ask(self, ask: Ask, docs: list[Doc]) -> Sequence[ModelResponse]:
        """Asks as the base class does; an out-of-memory error suggests a smaller batch."""
        import torch

        size = self.inner.config.batch_size
        try:
            return super()._ask(ask, docs)
        except torch.OutOfMemoryError as error:
            reason = str(error).splitlines()[0]
            raise UsageError(
                MESSAGES["memory"].format(
                    size=size, reason=reason, less=max(1, size // 2)
                )
            ) from error


VLLM_CHUNK = 1024
"""Prompts per chunk: vLLM forms its own batches, and in small chunks the GPU would wait for the last answers."""

VLLM_TEXTS = 128
"""Texts per chunk whose continuations are scored: vLLM returns Python objects for every prompt token, some 0.5 kB each."""

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
    """Opens a local model on vLLM, in this process."""
    values = read_options(options, VLLM_OPTIONS, model=name)
    check_vllm_ready(name)
    checkpoint = find_checkpoint(
        name.removeprefix("vllm/"), revision=values.get("revision")
    )
    with quiet_libraries(values.get("log_level", LOG_LEVELS["error"])):
        setup = LocalSetup(name, checkpoint, values)
        settings = vllm_settings(values, checkpoint, name=name)
        settings["add_special_tokens"] = setup.layout.add_special_tokens
        identity = vllm_identity(setup)
        inner = _load_vllm(name, settings, generation_settings(values))

    chunk = values.get(
        "chunk_size", None if settings.get("data_parallel_size", 1) > 1 else VLLM_CHUNK
    )
    return _VllmModel(
        setup, identity, inner, context=settings["max_model_length"], chunk_size=chunk
    )


def check_vllm_ready(name: str) -> None:
    """Checks that vLLM can run here, before any weights are read."""
    if (
        importlib.util.find_spec("vllm") is None
        or importlib.util.find_spec("lighteval") is None
    ):
        raise MissingError(
            MESSAGES["vllm"].format(name=name, install=install_command("vllm"))
        )

    from lighteval.utils.imports import is_package_available

    if not is_package_available("vllm"):
        version = importlib.metadata.version("vllm")
        raise MissingError(
            MESSAGES["vllm_version"].format(
                name=name, version=version, install=install_command("vllm")
            )
        )

    if processes() > 1:
        raise UsageError(
            MESSAGES["vllm_processes"].format(
                name=name, started=os.environ["WORLD_SIZE"]
            )
        )

    import torch

    if not torch.cuda.is_available() and "cpu" not in importlib.metadata.version(
        "vllm"
    ):
        raise MissingError(MESSAGES["vllm_gpu"].format(name=name))


def vllm_settings(
    values: Mapping[str, object], checkpoint: Checkpoint, *, name: str
) -> dict[str, Any]:
    """Converts model arguments to those of lighteval's `VLLMModelConfig`.

    The context is always set: otherwise lighteval uses the length of vLLM's CUDA graphs,
    and cuts prompts there.
    """
    own = checkpoint.context()
    context = values.get("max_model_length", own)
    if context is None:
        raise UsageError(
            f"{name}: its config.json names no context length; give --model-args "
            "max_model_length=N."
        )

    return {
        "model_name": str(checkpoint.folder),
        "max_model_length": context,
        "dtype": _dtype(values, checkpoint),
        "override_chat_template": False,  # prompts are rendered already
        **{option: values[option] for option in _PASSED_ON if option in values},
    }


def _load_vllm(
    name: str, settings: Mapping[str, object], generation: Mapping[str, object]
) -> VLLMModel:
    """Starts vLLM's engine through lighteval, without progress bars."""
    # The engine runs in a process of its own, which reads its log level from here.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.vllm import vllm_model as backend

    config = backend.VLLMModelConfig(
        **settings, generation_parameters=GenerationParameters(**generation)
    )
    with without_cache_and_bars(backend):
        try:
            inner = backend.VLLMModel(config)
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise UsageError(f"{name} does not load: {error}") from error
        except RuntimeError as error:
            longest = settings["max_model_length"]
            raise UsageError(
                MESSAGES["vllm_start"].format(name=name, reason=error, longest=longest)
            ) from error

    # None when Ray starts one engine for each part of the data
    if inner.model is not None:
        generate: Callable[..., list[RequestOutput]] = inner.model.generate

        def without_bar(**arguments: object) -> list[RequestOutput]:
            return generate(**{**arguments, "use_tqdm": False})

        inner.model.generate = without_bar

    return inner


class _VllmModel(LocalModel):
    # vLLM generates a token after what it scores, and its scheduler would wait for ever
    # for its room.
    _spare = 1

    def __init__(
        self,
        setup: LocalSetup,
        identity: Mapping[str, str],
        inner: VLLMModel,
        *,
        context: int,
        chunk_size: int | None,
    ) -> None:
        from lighteval.models.vllm import vllm_model

        self.backend = vllm_model
        super().__init__(setup, identity, inner, context=context, is_main=True)
        self._chunk = chunk_size

    def _respond(
        self, chunk: Sequence[Prompt], docs: list[Doc]
    ) -> Sequence[ModelResponse]:
        repeat = chunk[0].request.repeat
        if repeat > 1:  # with the same seed it would answer as before
            self.inner.config.generation_parameters.seed = (
                self.setup.values.get("seed", 0) + repeat - 1
            )
        return super()._respond(chunk, docs)

    def _chunk_size(self, prompts: Sequence[Prompt]) -> int | None:
        # With data parallelism lighteval reloads the model for each chunk, so all prompts
        # are one chunk.
        return self._chunk

    def _texts_at_once(self, prompts: Sequence[ChoicePrompt]) -> int | None:
        return None if self._chunk is None else min(self._chunk, VLLM_TEXTS)


@contextlib.contextmanager
def tail_logits(inner: TransformersModel) -> Iterator[None]:
    """Lets lighteval's log-likelihood loop compute only the end of each text."""
    end = _End(inner.model, inner.prepare_batch_logprob)
    with mock.patch.multiple(inner, model=end, prepare_batch_logprob=end.prepare):
        yield


class _End:
    """A model that computes logits for the last positions of a batch only.

    Logits over a vocabulary of 150,000 for a long prompt take gigabytes, and only the
    continuation's are read. `prepare` records how many positions from the end are needed,
    and the next call keeps just those.
    """

    def __init__(self, model: PreTrainedModel, prepare: Callable[..., Batch]) -> None:
        self._model = model
        self._prepare = prepare
        accepted = inspect.signature(model.forward).parameters
        self._settings = {"use_cache": False} if "use_cache" in accepted else {}
        self._can_keep = "logits_to_keep" in accepted
        self._keep: int | None = None

    def prepare(
        self,
        tokenized_contexts: list[list[list[int]]],
        tokenized_continuations: list[list[list[int]]],
        max_context: int | None = None,
    ) -> Batch:
        """Makes lighteval's batch; its lengths count from the first position that is read."""
        batch = self._prepare(tokenized_contexts, tokenized_continuations, max_context)
        if any(batch.truncated):
            raise RuntimeError(
                "lighteval cut a text that was measured to fit the model's context"
            )

        sizes = [
            len(continuation)
            for document in tokenized_continuations
            for continuation in document
        ]
        first = min(
            length - size - 1
            for length, size in zip(batch.input_lengths, sizes, strict=True)
        )
        self._keep = batch.input_ids.shape[1] - first
        batch.input_lengths = [length - first for length in batch.input_lengths]

        return batch

    def __call__(self, input_ids: Tensor) -> SimpleNamespace:
        # Without `prepare`, lighteval is trying batch sizes: it gets all logits, to be on
        # the safe side.
        keep, self._keep = self._keep, None
        settings: dict[str, int] = dict(self._settings)
        if keep is not None and self._can_keep:
            settings["logits_to_keep"] = keep
        logits = self._model(input_ids, **settings).logits
        return SimpleNamespace(
            logits=(logits if keep is None else logits[:, -keep:]).float()
        )
