"""Encoders on this machine's disk: loading one, how long its texts can be, and reading rows in batches.

All is float32: the numbers of half precision would differ from machine to machine.
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
"""What a model reads of a text, by the name of its argument: `input_ids`, and for some models `token_type_ids`."""

LOCAL: Final[Mapping[str, bool]] = {
    "local_files_only": True,
    "trust_remote_code": False,
}
"""How anything of a folder is loaded: nothing is downloaded, and code that it brings is never run."""

LOAD_ERRORS: Final = (OSError, ValueError, ImportError, KeyError, RuntimeError)
"""What transformers raises where a folder is not what it should be."""

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
"""Families that number positions from behind the padding's, so that the first ones are lost."""

_TOKENS = {"cpu": 2048}
_TOKENS_ELSEWHERE = 32768
"""Tokens read together, padding included. More of them leave a CPU's caches."""


def check_packages(name: str, *packages: str) -> None:
    """Says how to get the packages, by default torch and transformers, when one is missing."""
    wanted = packages or ("torch", "transformers")
    missing = [
        package for package in wanted if importlib.util.find_spec(package) is None
    ]
    if missing:
        raise MissingError(
            f"{name} needs {', '.join(missing)}: {install_command('local-judges')}"
        )


def find_folder(folder: str | Path, missing: str) -> Checkpoint:
    """Finds a checkpoint's folder by its `config.json`.

    `missing` says what to do where there is none.
    """
    place = Path(folder).expanduser()
    if not (place / "config.json").is_file():
        raise MissingError(f"{folder}: no folder with a config.json{missing}")
    return find_checkpoint(str(place.resolve()), revision=None)


def engine() -> str:
    """What computes, for identities: a small update of transformers changes no number."""
    return f"transformers {version_of('transformers').split('.')[0]}"


def device() -> torch.device:
    """The accelerator where there is one, else the CPU."""
    import torch

    return (
        torch.accelerator.current_accelerator()
        if torch.accelerator.is_available()
        else torch.device("cpu")
    )


@contextlib.contextmanager
def loading(what: str, hint: str = "") -> Iterator[None]:
    """Says `what` does not load, with which transformers, and why; `hint` follows the reason."""
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
    """Loads the tokenizer of a folder; where that fails, `hint` follows the reason."""
    import transformers

    with loading(f"{name}: its tokenizer", hint):
        return transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)


def load_tokenizer(
    name: str, folder: Path, *, fast: bool = False
) -> PreTrainedTokenizerBase:
    """Loads the tokenizer of an encoder; `fast`.

    It must be one that says which text a token is of.
    """
    tokenizer = open_tokenizer(name, folder)
    if tokenizer.get_vocab().keys() <= {*tokenizer.all_special_tokens}:
        # transformers makes an empty one where the files are not there, to which all
        # words are the same.
        raise UsageError(
            f"{name}: its tokenizer knows no words: tokenizer.json, or the vocabulary, is not in "
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
    again: str = "",
    **how: object,
) -> PreTrainedModel:
    """Loads a network by a class of transformers, in evaluation mode.

    `again` follows what to do about missing weights.
    """
    import torch

    with loading(name):
        try:
            model, report = auto.from_pretrained(
                str(folder), output_loading_info=True, **how, **LOCAL
            )
        except torch.OutOfMemoryError as error:
            raise UsageError(
                MESSAGES["memory_to_open"].format(name=name, reason=first_line(error))
            ) from error

    # BERT's own pooling of the first token is often missing, and read by nothing that
    # loads a model here.
    missing = sorted(
        key for key in report["missing_keys"] if not key.startswith("pooler.")
    )
    if missing:
        some = ", ".join(missing[:3])
        raise UsageError(
            MESSAGES["weights_lacking"].format(
                name=name, count=len(missing), some=some, again=again
            )
        )

    return model.eval()


def longest_text(
    checkpoint: Checkpoint, wanted: int | None = None, *, asked: int | None = None
) -> int:
    """Most tokens an input can have.

    `wanted`, else what the layout (`asked`) or tokenizer and positions allow.
    """
    positions = checkpoint.context()
    if positions is not None and checkpoint.setting("model_type") in AFTER_PADDING:
        padding = checkpoint.setting("pad_token_id")
        positions -= (1 if padding is None else int(padding)) + 1

    if wanted is not None:
        if wanted < 1 or (positions is not None and wanted > positions):
            raise UsageError(
                f"max_length={wanted}: {checkpoint.label} takes 1 to "
                f"{positions or 'any number of'} tokens."
            )

        return wanted

    bounds = (
        positions,
        asked or checkpoint.read("tokenizer_config.json").get("model_max_length"),
    )
    known = [int(bound) for bound in bounds if bound and bound < UNBOUNDED]
    if not known:
        raise UsageError(
            f"{checkpoint.label}: no file of it says how long a text can be. Give max_length."
        )

    return min(known)


def pad(
    rows: Sequence[Row], *, padding: int | None, device: torch.device
) -> dict[str, Tensor]:
    """Pads rows on the right to the longest, as tensors with an `attention_mask`, which makes any padding token do."""
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
    """A text as a tokenizer can take it.

    Halves of characters, which model answers can hold, become U+FFFD.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_tensors(file: Path) -> dict[str, Tensor]:
    """The tensors of a file; torch's own format is read as tensors alone, which runs nothing."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    refused = torch.serialization.pickle.UnpicklingError
    try:
        safe = file.suffix == ".safetensors"
        found: dict[str, Tensor] = (
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

    return found


def fill_network(
    config: PretrainedConfig, weights: Mapping[str, Tensor]
) -> tuple[PreTrainedModel, list[str], list[str]]:
    """A network with these weights, the names of those it lacks, and of those that have no place in it."""
    import torch
    import transformers

    with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)
    missing, strange = model.load_state_dict(weights, strict=False)
    return model, missing, strange


def linear_layer(
    state: Mapping[str, Tensor], name: str, *, inputs: int, outputs: int
) -> Module | None:
    """A linear layer of a checkpoint, in float32; None where it is missing or of another shape."""
    import torch

    weight, bias = (state.get(f"{name}.{part}") for part in ("weight", "bias"))
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
    """A checkpoint in this process, until it is closed."""

    def __init__(self, network: _Network, name: str) -> None:
        self._network: _Network | None = network
        self._named = name

    def close(self) -> None:
        """Frees the memory it holds."""
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
    """A network on the device with what decides its numbers, for the recipe (`identity`)."""

    def __init__(self, network: Module, identity: Mapping[str, str]) -> None:
        super().__init__(network.to(device()).eval(), identity["model"])
        self.identity = dict(identity)
        self.truncated = 0
        """How many distinct inputs were longer than the model takes, and were cut, in the last call."""
        self.device = device()
        self._batches = Batches(self._named, self.device)

    def _read(
        self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]
    ) -> list[_T]:
        found = self._batches.read(rows, score)
        require_finite(found, self._named)
        return found


def require_finite(numbers: object, name: str) -> None:
    """Refuses what damaged weights compute."""
    import numpy as np

    if not np.isfinite(np.asarray(numbers)).all():
        raise UsageError(
            f"{name} gives numbers that are not finite. Download it again."
        )


class Batches:
    """Reads rows longest first, as many together as fit, and less where the device's memory is full.

    `rows`: most rows together, instead of tokens. `full`: what to do where one row
    alone fills the memory.
    """

    def __init__(
        self,
        name: str,
        device: torch.device,
        *,
        rows: int | None = None,
        full: str = "",
    ) -> None:
        self.tokens = _TOKENS.get(device.type, _TOKENS_ELSEWHERE)
        """Tokens read together, padding included; a row that is longer is read alone."""
        self._rows = rows
        self._full = full or (
            f"one text of {{tokens}} tokens with {name}. Show this process no device (CUDA_VISIBLE_DEVICES=), or another one."
        )

    def read(
        self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]
    ) -> list[_T]:
        """Reads all rows, and gives the results in their order."""
        found = dict(self.pieces(rows, score))
        return [found[number] for number in range(len(rows))]

    def pieces(
        self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]
    ) -> Iterator[tuple[int, _T]]:
        """Yields the number of each row with its result, as soon as it is known."""
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
                        f"the device's memory does not suffice for {advice}"
                    ) from error

                # Later batches are of rows no longer than these, so that the limit
                # holds for them.
                if self._rows is not None:
                    self._rows = len(batch) // 2
                else:
                    self.tokens = len(batch) // 2 * longest

                continue

            yield from zip(batch, results, strict=True)
            order = order[len(batch) :]


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
