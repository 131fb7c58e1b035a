"""Encoders on this machine's disk: loading them, their longest input, and reading rows in batches.

Everything is float32: half precision gives other numbers on other machines.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.models.checkpoint import MESSAGES, Checkpoint, find_checkpoint
from medical_tasks.plugins import version_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.nn import Module
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

Row = Mapping[str, Sequence[int]]
"""A tokenised text by the names of the model's arguments: `input_ids`, and for some `token_type_ids`."""

LOCAL: Final[Mapping[str, bool]] = {
    "local_files_only": True,
    "trust_remote_code": False,
}
"""Arguments for loading from a folder: nothing is downloaded, and its code is never run."""

LOAD_ERRORS: Final = (OSError, ValueError, ImportError, KeyError, RuntimeError)
"""What transformers raises for a folder that it cannot load."""

_T = TypeVar("_T")
_Network = TypeVar("_Network")

UNBOUNDED = 1_000_000  # a tokenizer without a length says 10**30
AFTER_PADDING = frozenset(
    {
        "roberta",
        "xlm-roberta",
        "xlm-roberta-xl",
        "camembert",
        "longformer",
        "mpnet",
        "ernie_m",
    }
)
"""Families whose positions start after the padding token's, so that the first ones are lost."""

_TOKENS = {"cpu": 2048}
_TOKENS_ELSEWHERE = 32768
"""Tokens in a batch, padding included. More do not fit in a CPU's caches."""


def check_packages(name: str, *packages: str) -> None:
    """Raises MissingError with the install command if a package is missing.

    By default torch and transformers are required.
    """
    required = packages or ("torch", "transformers")
    missing = [
        package for package in required if importlib.util.find_spec(package) is None
    ]
    if missing:
        raise MissingError(
            f"{name} needs {', '.join(missing)}: {install_command('local-judges')}"
        )


def find_folder(folder: str | Path, missing: str) -> Checkpoint:
    """Finds a checkpoint's folder by its `config.json`.

    Args:
        folder: the folder.
        missing: the end of the error message, which says what to do.
    """
    path = Path(folder).expanduser()
    if not (path / "config.json").is_file():
        raise MissingError(f"{folder}: no folder with a config.json{missing}")
    return find_checkpoint(str(path.resolve()), revision=None)


def engine() -> str:
    """Names the engine for identities; only its major version changes numbers."""
    return f"transformers {version_of('transformers').split('.')[0]}"


def device() -> torch.device:
    """Returns the accelerator if there is one, else the CPU."""
    import torch

    return (
        torch.accelerator.current_accelerator()
        if torch.accelerator.is_available()
        else torch.device("cpu")
    )


@contextlib.contextmanager
def loading(what: str, hint: str = "") -> Iterator[None]:
    """Turns errors of loading into a UsageError that names transformers' version and the reason."""
    import transformers
    from safetensors import SafetensorError

    try:
        yield
    except (*LOAD_ERRORS, SafetensorError) as error:
        version = transformers.__version__
        raise UsageError(
            f"{what} does not load with transformers {version}: {first_line(error)}{hint}"
        ) from error


def open_tokenizer(name: str, folder: Path, hint: str = "") -> PreTrainedTokenizerBase:
    """Loads the tokenizer of a folder; `hint` ends the error message where that fails."""
    import transformers

    with loading(f"{name}: its tokenizer", hint):
        return transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)


def load_tokenizer(
    name: str, folder: Path, *, fast: bool = False
) -> PreTrainedTokenizerBase:
    """Loads the tokenizer of an encoder.

    Args:
        name: the encoder, for messages.
        folder: its folder.
        fast: whether it must map tokens back to texts, as fast tokenizers do.
    """
    tokenizer = open_tokenizer(name, folder)
    if tokenizer.get_vocab().keys() <= {*tokenizer.all_special_tokens}:
        # Without its files transformers makes an empty tokenizer, to which all words
        # are the same.
        raise UsageError(
            f"{name}: its tokenizer has no words: tokenizer.json, or the vocabulary, is not in "
            "the folder. Download it again."
        )

    if fast and not tokenizer.is_fast:
        raise UsageError(
            f"{name}: its tokenizer has no fast form ({type(tokenizer).__name__}). Choose another "
            "checkpoint."
        )

    return tokenizer


def load_model(
    name: str, folder: Path, *, layers: int | None = None
) -> PreTrainedModel:
    """Loads an encoder in evaluation mode, on the CPU."""
    import torch
    import transformers

    with loading(name):
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)

    if layers is not None:
        if not 0 <= layers <= config.num_hidden_layers:
            raise UsageError(
                f"{name} has layers 0 to {config.num_hidden_layers}; got {layers}."
            )

        config.num_hidden_layers = layers

    model = load_network(
        transformers.AutoModel, name, folder, config=config, dtype=torch.float32
    )
    if model.config.is_encoder_decoder:
        raise UsageError(
            f"{name}: a model with a decoder ({model.config.model_type}). Choose an encoder, such "
            "as a BERT."
        )

    return model


def load_network(
    auto: type[PreTrainedModel],
    name: str,
    folder: Path,
    *,
    advice: str = "",
    **options: object,
) -> PreTrainedModel:
    """Loads a network by a class of transformers, in evaluation mode.

    `advice` ends the error message about missing weights.
    """
    import torch

    with loading(name):
        try:
            model, report = auto.from_pretrained(
                str(folder), output_loading_info=True, **options, **LOCAL
            )
        except torch.OutOfMemoryError as error:
            raise UsageError(
                MESSAGES["memory_to_open"].format(name=name, reason=first_line(error))
            ) from error

    # BERT's pooler is often missing, and no caller reads it.
    missing = sorted(
        key for key in report["missing_keys"] if not key.startswith("pooler.")
    )
    if missing:
        some = ", ".join(missing[:3])
        raise UsageError(
            MESSAGES["weights_lacking"].format(
                name=name, count=len(missing), some=some, again=advice
            )
        )

    return model.eval()


def longest_text(
    checkpoint: Checkpoint,
    requested: int | None = None,
    *,
    layout_limit: int | None = None,
) -> int:
    """Returns the most tokens of an input.

    Args:
        checkpoint: the encoder.
        requested: the user's own limit, which the model must allow.
        layout_limit: the limit of the folder's layout, else the tokenizer's counts.
    """
    positions = checkpoint.context()
    if positions is not None and checkpoint.setting("model_type") in AFTER_PADDING:
        padding = checkpoint.setting("pad_token_id")
        positions -= (1 if padding is None else int(padding)) + 1

    if requested is not None:
        if requested < 1 or (positions is not None and requested > positions):
            raise UsageError(
                f"max_length={requested}: {checkpoint.label} accepts 1 to "
                f"{positions or 'any number of'} tokens."
            )

        return requested

    bounds = (
        positions,
        layout_limit
        or checkpoint.read("tokenizer_config.json").get("model_max_length"),
    )
    limits = [int(bound) for bound in bounds if bound and bound < UNBOUNDED]
    if not limits:
        raise UsageError(
            f"{checkpoint.label}: no file of it says how long a text can be. Give max_length."
        )

    return min(limits)


def pad(
    rows: Sequence[Row], *, padding: int | None, device: torch.device
) -> dict[str, Tensor]:
    """Pads rows on the right to the longest, as tensors with an `attention_mask`.

    Thanks to the mask, any padding token will do.
    """
    import torch

    longest = max(len(row["input_ids"]) for row in rows)
    fill = {"input_ids": padding or 0}
    columns = {
        name: [
            [*row[name], *[fill.get(name, 0)] * (longest - len(row[name]))]
            for row in rows
        ]
        for name in rows[0]
    }
    columns["attention_mask"] = [
        [1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"]))
        for row in rows
    ]

    return {
        name: torch.tensor(column, device=device) for name, column in columns.items()
    }


def readable(text: str) -> str:
    """Makes a text acceptable to tokenizers.

    Lone surrogates, which model answers may contain, become U+FFFD.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Reads the tensors of a file; torch's own format is unpickled without running code."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    refused = torch.serialization.pickle.UnpicklingError
    try:
        safe = file.suffix == ".safetensors"
        tensors: dict[str, Tensor] = (
            load_file(file)
            if safe
            else torch.load(file, map_location="cpu", weights_only=True)
        )
    except (
        *LOAD_ERRORS,
        SafetensorError,
        TypeError,
        AttributeError,
        EOFError,
        refused,
    ) as error:
        raise ValueError(first_line(error)) from error

    return tensors


def fill_network(
    config: PretrainedConfig, weights: Mapping[str, Tensor]
) -> tuple[PreTrainedModel, list[str], list[str]]:
    """Makes a network with these weights; also returns the missing and the unexpected names."""
    import torch
    import transformers

    with torch.random.fork_rng(devices=[]):  # the initial weights are random
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    return model, missing, unexpected


def linear_layer(
    state: Mapping[str, Tensor], name: str, *, inputs: int, outputs: int
) -> Module | None:
    """Makes a linear layer of a checkpoint, in float32; None if missing or if its shape differs."""
    import torch

    weight, bias = (
        state.get(f"{name}.{parameter}") for parameter in ("weight", "bias")
    )
    if (
        weight is None
        or bias is None
        or (*weight.shape, *bias.shape) != (outputs, inputs, outputs)
    ):
        return None

    layer = torch.nn.Linear(inputs, outputs)
    layer.load_state_dict({"weight": weight.float(), "bias": bias.float()})
    return layer.eval()


class Opened(Generic[_Network]):
    """A checkpoint loaded into this process, until it is closed."""

    def __init__(self, network: _Network, name: str) -> None:
        self._network: _Network | None = network
        self._named = name

    def close(self) -> None:
        """Frees its memory."""
        import torch

        self._network = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    @property
    def _loaded(self) -> _Network:
        if self._network is None:
            raise RuntimeError(f"{self._named} was closed")
        return self._network


class Measure(Opened["Module"]):
    """A network on the device, with the `identity` that decides its numbers, for the recipe."""

    def __init__(self, network: Module, identity: Mapping[str, str]) -> None:
        super().__init__(network.to(device()).eval(), identity["model"])
        self.identity = dict(identity)
        self.truncated = 0
        """How many distinct inputs of the last call were too long for the model, and were cut."""
        self.device = device()
        self._batches = Batches(self._named, self.device)

    def _read(
        self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]
    ) -> list[_T]:
        results = self._batches.read(rows, score)
        require_finite(results, self._named)
        return results


def require_finite(numbers: object, name: str) -> None:
    """Rejects numbers that are not finite, which damaged weights compute."""
    import numpy as np

    if not np.isfinite(np.asarray(numbers)).all():
        raise UsageError(
            f"{name} gives numbers that are not finite. Download it again."
        )


class Batches:
    """Processes rows in batches, longest first; smaller ones once the device's memory is full.

    Example: with 100 tokens a batch, rows of 40, 30, 20 and 10 tokens are two batches, (40,
    30) and (20, 10), since each row is padded to the longest of its batch. If the device has
    too little memory for the first, batches have 40 tokens from then on: (40), (30), (20,
    10).
    """

    def __init__(
        self,
        name: str,
        device: torch.device,
        *,
        rows: int | None = None,
        full: str = "",
    ) -> None:
        """Sets the size of a batch.

        Args:
            name: the model, for messages.
            device: where it computes.
            rows: the most rows of a batch, instead of a number of tokens.
            full: what to do when a single row fills the memory.
        """
        self.tokens = _TOKENS.get(device.type, _TOKENS_ELSEWHERE)
        """Tokens of a batch, padding included; a row that is longer is a batch alone."""
        self._rows = rows
        self._full = full or (
            f"one text of {{tokens}} tokens with {name}. Show this process no device (CUDA_VISIBLE_DEVICES=), or another one."
        )

    def read(
        self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]
    ) -> list[_T]:
        """Processes all rows; returns the results in their order."""
        results = dict(self.pieces(rows, score))
        return [results[number] for number in range(len(rows))]

    def pieces(
        self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]
    ) -> Iterator[tuple[int, _T]]:
        """Yields the number of each row with its result, batch by batch."""
        import torch

        order = sorted(
            range(len(rows)),
            key=lambda number: (-len(rows[number]["input_ids"]), number),
        )
        while order:
            longest = len(rows[order[0]]["input_ids"])
            batch = order[: self._rows or max(1, self.tokens // longest)]
            try:
                results = score([rows[number] for number in batch])
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    advice = self._full.format(tokens=longest, reason=first_line(error))
                    raise UsageError(
                        f"the device has too little memory for {advice}"
                    ) from error

                # Rows of later batches are no longer than these, so the limit holds for
                # them too.
                if self._rows is not None:
                    self._rows = len(batch) // 2
                else:
                    self.tokens = len(batch) // 2 * longest

                continue

            yield from zip(batch, results, strict=True)
            order = order[len(batch) :]


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
