"""Text embeddings by a checkpoint on this machine, for measures of similarity; vectors have length 1.

A folder with `modules.json` (Reimers and Gurevych 2019,
https://arxiv.org/abs/1908.10084) is read as Sentence-Transformers writes it: transformer,
pooling (mean, first token, maximum), dense layers, normalisation. Any other folder is a
plain transformer, whose states are averaged over the tokens. Texts that are too long are
cut at their end, and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models import encoder
from medical_tasks.models.checkpoint import (
    MESSAGES,
    REPOSITORY,
    Checkpoint,
    find_checkpoint,
    fingerprint,
    quiet_libraries,
    read_json,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Vectors = npt.NDArray[np.float32]

MINILM: Final = "sentence-transformers/all-MiniLM-L6-v2"
CLINICAL_BERT: Final = "emilyalsentzer/Bio_ClinicalBERT"

REVISIONS: Final[Mapping[str, str]] = {
    MINILM: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    CLINICAL_BERT: "d5892b39a4adaed74b92212a44081509db72f87b",
}
"""The recommended revision of each checkpoint, for messages. Identities hold a hash of the weights in use."""


def open_embedder(target: str | Path, *, example: str = MINILM) -> Embedder:
    """Opens a checkpoint; nothing is downloaded. If it is missing, the message suggests `example`."""
    return Embedder(*_find(target, example))


def embedder_identity(target: str | Path) -> dict[str, str]:
    """Returns what decides a checkpoint's vectors, for the recipe; loads no weights."""
    return _identity(*_find(target, MINILM))


class Embedder(encoder.Measure):
    """A checkpoint in this process, made by `open_embedder`.

    `truncated` counts over all calls, and equal texts once.
    """

    def __init__(self, checkpoint: Checkpoint, layout: Layout, max_length: int) -> None:
        import torch

        identity, name = _identity(checkpoint, layout, max_length), checkpoint.label
        with quiet_libraries(logging.ERROR):
            self._tokenizer = encoder.load_tokenizer(name, layout.transformer)
            transformer = encoder.load_model(name, layout.transformer)

        self.width = int(transformer.config.hidden_size)
        """The dimensions of a vector."""
        layers: list[Module] = []
        for layer in layout.layers:
            if not isinstance(layer, Dense):
                layers.append(torch.nn.Identity())  # stands for normalizing
                continue

            if layer.inputs != self.width:
                raise UsageError(
                    f"{name}: a dense layer expects {layer.inputs} numbers, and the layer before it "
                    f"gives {self.width}. {_AGAIN}"
                )

            layers.append(_make_dense(name, layer))
            self.width = layer.outputs

        super().__init__(torch.nn.ModuleList([transformer, *layers]), identity)
        self.max_length = max_length
        self._pooling = layout.pooling
        self._lower_case = layout.lower_case
        self._cut: set[str] = set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds texts.

        A vector is the same to 1e-5, whatever else is in the batch.

        Returns:
            An array of shape (texts, dimensions): vectors of length 1, or zeros for an
            empty text.
        """
        _ = self._loaded
        stripped = [text.strip() for text in texts]
        distinct = list(
            dict.fromkeys(
                text.lower() if self._lower_case else text for text in stripped if text
            )
        )
        index = {text: number for number, text in enumerate(distinct)}
        # the last row stands for an empty text
        vectors = np.zeros((len(distinct) + 1, self.width), dtype=np.float32)
        rows = self._rows(distinct)
        if rows:
            vectors[list(rows)] = np.stack(
                self._read(list(rows.values()), self._vectors)
            )

        row_indices = [
            index.get(text.lower() if self._lower_case else text, len(distinct))
            for text in stripped
        ]
        return vectors[row_indices]

    def _rows(self, texts: Sequence[str]) -> dict[int, encoder.Row]:
        """Tokenises texts, and cuts those that are too long; texts without tokens are omitted."""
        if not texts:
            return {}

        readable = [encoder.readable(text) for text in texts]
        options = {"return_attention_mask": False, "verbose": False}
        encoded = self._tokenizer(
            readable, truncation=True, max_length=self.max_length, **options
        )
        full = [
            number
            for number, ids in enumerate(encoded["input_ids"])
            if len(ids) >= self.max_length
        ]
        if full:
            whole = self._tokenizer(
                [readable[number] for number in full], truncation=False, **options
            )["input_ids"]
            self._cut |= {
                texts[number]
                for number, ids in zip(full, whole, strict=True)
                if len(ids) > self.max_length
            }
            self.truncated = len(self._cut)

        return {
            number: {name: encoded[name][number] for name in encoded}
            for number, ids in enumerate(encoded["input_ids"])
            if ids
        }

    def _vectors(self, rows: Sequence[encoder.Row]) -> list[Tensor]:
        """Computes the vectors of rows of tokens, each of length 1.

        Padding does not count: pooling uses the attention mask.
        """
        import torch

        transformer, *layers = self._loaded
        padding = self._tokenizer.pad_token_id
        if padding is None:
            padding = getattr(transformer.config, "pad_token_id", None)

        columns = encoder.pad(rows, padding=padding, device=self.device)
        with torch.inference_mode():
            states = transformer(**columns).last_hidden_state.float()
            pooled = _pool(states, columns["attention_mask"], self._pooling)
            for layer in (*layers, torch.nn.Identity()):
                divides = isinstance(layer, torch.nn.Identity)
                pooled = (
                    torch.nn.functional.normalize(pooled, dim=1)
                    if divides
                    else layer(pooled)
                )

            return list(pooled.cpu().numpy())


def _find(target: str | Path, example: str) -> tuple[Checkpoint, Layout, int]:
    """Finds a model by its folder, or by its name in the Hub's cache; downloads nothing.

    Returns:
        The checkpoint, its layout, and the most tokens of a text.
    """
    name = str(target)
    encoder.check_packages(name)
    folder = Path(target).expanduser()
    label, commit = folder.resolve().name, ""
    if not folder.is_dir():
        folder, label = _cached(name, example), name
        commit = folder.name

    layout = read_layout(folder)
    inner = find_checkpoint(str(layout.transformer.resolve()), revision=None)
    checkpoint = Checkpoint(folder=inner.folder, label=label, revision=commit)

    return (
        checkpoint,
        layout,
        encoder.longest_text(checkpoint, layout_limit=layout.max_length),
    )


def _cached(target: str, example: str) -> Path:
    """Returns the folder of a repository in the Hub's cache.

    Raises:
        MissingError: It is not in the cache. The message holds the command that fetches
            it, at the recommended revision.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    named = REPOSITORY.fullmatch(target) is not None and not target.startswith(".")
    if named:
        try:
            return Path(
                snapshot_download(target, revision="main", local_files_only=True)
            )
        except (HFValidationError, LocalEntryNotFoundError, OSError):
            pass  # reported below, with what to do

    repository = target if named and "/" in target else example
    pinned = f" --revision {REVISIONS[repository]}" if repository in REVISIONS else ""
    also = ", and no such repository in the cache of the Hub" if named else ""
    step = MESSAGES["embedder"].format(
        repository=f"{repository}{pinned}",
        place=f"models/{repository.rpartition('/')[2]}",
    )
    raise MissingError(f"{target}: no such folder{also}. {step}")


def _identity(checkpoint: Checkpoint, layout: Layout, longest: int) -> dict[str, str]:
    """Returns all that decides a vector, with a hash of the weights."""
    layers = (
        f"dense {fingerprint(layer.folder)}" if isinstance(layer, Dense) else layer
        for layer in layout.layers
    )
    identity = {
        "kind": "embedder",
        "model": checkpoint.label,
        "weights": fingerprint(checkpoint.folder),
        "pooling": layout.pooling,
        "layers": ", ".join(layers),
        "max_length": str(longest),
        "lower_case": str(layout.lower_case).lower(),
        "normalised": "true",
        "dtype": "float32",
        "engine": encoder.engine(),
    }

    return identity | ({"revision": checkpoint.revision} if checkpoint.revision else {})


Pooling = Literal["mean", "cls", "max"]

ACTIVATIONS: Final = ("Identity", "Tanh", "ReLU", "GELU", "Sigmoid")
"""Activations that may follow a dense layer, by their names in `torch.nn`."""

_PACKAGE = "sentence_transformers."
_AGAIN = "Download it again, with all of its folders."
_KNOWN = "Supported are Transformer, Pooling, Dense and Normalize. Choose a checkpoint with these alone."
_LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in (
        "bert",
        "roberta",
        "distilbert",
        "camembert",
        "albert",
        "xlm-roberta",
        "xlnet",
    )
)


@dataclass(frozen=True, kw_only=True)
class Dense:
    """A dense layer after the pooling."""

    folder: Path
    inputs: int
    outputs: int
    bias: bool
    activation: str


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How texts become vectors."""

    transformer: Path
    pooling: Pooling = "mean"
    # after the pooling, in order; `normalize` divides by the length
    layers: tuple[Dense | Literal["normalize"], ...] = ()
    # the longest text in tokens, special ones included; None for the transformer's limit
    max_length: int | None = None
    lower_case: bool = False  # whether texts are lower-cased before tokenization


def read_layout(folder: Path) -> Layout:
    """Reads the layout that a folder states."""
    listing = folder / "modules.json"
    if not listing.is_file():
        return Layout(transformer=folder)

    modules = [
        _module(listing, entry) for entry in read_json(listing, list, advice=_AGAIN)
    ]
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or not set(kinds[2:]) <= {
        "Dense",
        "Normalize",
    }:
        raise UsageError(
            f"{listing}: a Transformer, then Pooling, then any of Dense and Normalize are "
            f"expected, got {', '.join(kinds) or 'nothing'}. Choose another checkpoint."
        )

    transformer = modules[0][1]
    _refuse_prompts(folder / "config_sentence_transformers.json")
    settings: dict[str, object] = next(
        (
            read_json(transformer / name, advice=_AGAIN)
            for name in _LENGTH_FILES
            if (transformer / name).is_file()
        ),
        {},
    )
    lower_case = settings.get("do_lower_case", False)
    if not isinstance(lower_case, bool):
        raise UsageError(
            f"{transformer}: do_lower_case must be true or false, got {lower_case!r}. {_AGAIN}"
        )

    return Layout(
        transformer=transformer,
        pooling=_pooling(modules[1][1] / "config.json"),
        layers=tuple(
            _read_dense(path) if kind == "Dense" else "normalize"
            for kind, path in modules[2:]
        ),
        max_length=_read_count(transformer, settings, "max_seq_length")
        if settings.get("max_seq_length")
        else None,
        lower_case=lower_case,
    )


def _module(listing: Path, entry: object) -> tuple[str, Path]:
    """Returns the kind and folder of a module that `modules.json` lists.

    Raises:
        UsageError: The module is not supported, or its path leaves the model's folder.
    """
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(name), str) for name in ("type", "path")
    ):
        raise UsageError(f"{listing}: every module needs a type and a path. {_AGAIN}")

    package, _, kind = entry["type"].rpartition(".")
    if not package.startswith(_PACKAGE) or kind not in (
        "Transformer",
        "Pooling",
        "Dense",
        "Normalize",
    ):
        raise UsageError(
            f"{listing}: the module {entry['type']!r} is not known here. {_KNOWN}"
        )

    path = listing.parent / entry["path"]
    if not path.resolve().is_relative_to(listing.parent.resolve()):
        raise UsageError(
            f"{listing}: the path {entry['path']!r} leads out of the folder. {_AGAIN}"
        )

    return kind, path


def _pooling(path: Path) -> Pooling:
    """Reads the pooling, in the spelling of either generation of the library.

    Until version 5: `"pooling_mode_mean_tokens": true`.
    Since version 5: `"pooling_mode": "mean"`.
    """
    config = read_json(path, advice=_AGAIN)
    modes: dict[str, Pooling] = {
        "mean_tokens": "mean",
        "cls_token": "cls",
        "max_tokens": "max",
    }
    chosen = [
        name.removeprefix("pooling_mode_")
        for name in config
        if name.startswith("pooling_mode_") and config[name] is True
    ]
    if "pooling_mode" in config:  # since version 5
        chosen, modes = (
            [str(config["pooling_mode"])],
            {mode: mode for mode in get_args(Pooling)},
        )

    if len(chosen) != 1 or chosen[0] not in modes:
        named = ", ".join(chosen) or "none"
        raise UsageError(
            f"{path}: one pooling out of mean, cls and max is expected, got {named}. Choose another "
            "one."
        )

    return modes[chosen[0]]


def _read_dense(folder: Path) -> Dense:
    path = folder / "config.json"
    config = read_json(path, advice=_AGAIN)
    activation = str(
        config.get("activation_function", "torch.nn.modules.activation.Tanh")
    ).rpartition(".")[2]
    if activation not in ACTIVATIONS:
        raise UsageError(
            f"{path}: the activation {activation!r} is not known here; known are "
            f"{', '.join(ACTIVATIONS)}. Choose another checkpoint."
        )

    usual = (None, "sentence_embedding")
    if config.get("use_residual") or not {
        config.get(f"module_{end}_name") for end in ("input", "output")
    } <= set(usual):
        raise UsageError(
            f"{path}: a layer that works on single tokens or adds its input is not supported. "
            "Choose another one."
        )

    return Dense(
        folder=folder,
        inputs=_read_count(path, config, "in_features"),
        outputs=_read_count(path, config, "out_features"),
        bias=config.get("bias", True) is True,
        activation=activation,
    )


def _refuse_prompts(path: Path) -> None:
    """Rejects a checkpoint that requires a prompt before every text, which is not supported."""
    config = read_json(path, advice=_AGAIN) if path.is_file() else {}
    name, prompts = config.get("default_prompt_name"), config.get("prompts")
    if name is not None and not (isinstance(prompts, dict) and prompts.get(name) == ""):
        raise UsageError(
            f"{path}: puts the prompt {name!r} before every text, which is not supported. Choose "
            "another checkpoint."
        )


def _read_count(path: Path, config: Mapping[str, object], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(
            f"{path}: {name} must be a number of 1 or more, got {value!r}. {_AGAIN}"
        )
    return value


def _pool(states: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """Pools the states of each text's tokens into one vector, without padding."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "max":
        return (
            states.masked_fill(mask[:, :, None] == 0, -float("inf")).max(dim=1).values
        )
    weights = mask[:, :, None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _make_dense(name: str, layer: Dense) -> Module:
    import torch

    linear = torch.nn.Linear(layer.inputs, layer.outputs, bias=layer.bias)
    safe, other = layer.folder / "model.safetensors", layer.folder / "pytorch_model.bin"
    try:
        tensors = encoder.read_tensors(safe if safe.is_file() else other)
        linear.load_state_dict(
            {
                key.removeprefix("linear."): value.float()
                for key, value in tensors.items()
            }
        )
    except (*encoder.LOAD_ERRORS, AttributeError) as error:
        problem = f"{name}: its dense layer {layer.folder.name} does not load: {encoder.first_line(error)}"
        raise UsageError(f"{problem} {_AGAIN}") from error

    return torch.nn.Sequential(linear, getattr(torch.nn, layer.activation)()).eval()
