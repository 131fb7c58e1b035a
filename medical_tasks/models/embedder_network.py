"""From a folder to a network that turns token rows into vectors: transformer, pooling, and what comes behind."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.embedder_layout import Dense, Layout, Pooling
from medical_tasks.models.quiet import quiet_libraries

__all__ = ["Network", "check_packages"]

_LOAD_ERRORS = (OSError, ValueError, ImportError, KeyError, RuntimeError)
_UNUSED = "pooler."
"""BERT's own pooling of the first token; checkpoints often lack its weights, and nothing here reads it."""


def check_packages(name: str) -> None:
    """Says how to get the packages when one is missing.

    Args:
        name: the checkpoint's, for the message.

    Raises:
        MissingError: torch or transformers is not here.
    """
    missing = [package for package in ("torch", "transformers") if importlib.util.find_spec(package) is None]
    if missing:
        raise MissingError(f"{name} needs {', '.join(missing)}: pip install 'medical-tasks[local-judges]'")


class Network:
    """The loaded checkpoint, in float32: the numbers of half precision would differ from machine to machine.

    Args:
        name: the checkpoint's, for messages.
        layout: what it is made of.

    Raises:
        UsageError: It does not load, lacks weights, or its parts do not fit each other.
    """

    def __init__(self, name: str, layout: Layout) -> None:
        import torch

        with quiet_libraries(logging.ERROR):
            self.tokenizer = _tokenizer(name, layout.transformer)
            self._model = _model(name, layout.transformer)
        here = torch.accelerator.is_available()
        self.device = torch.accelerator.current_accelerator() if here else torch.device("cpu")
        self._model.to(self.device)
        self._pooling = layout.pooling
        self._layers: list[Any] = []
        width = int(self._model.config.hidden_size)
        for layer in layout.layers:
            if isinstance(layer, Dense):
                if layer.inputs != width:
                    raise UsageError(
                        f"{name}: a dense layer takes {layer.inputs} numbers, what comes before it gives {width}. Download it "
                        "again, with all of its folders."
                    )
                self._layers.append(_dense(name, layer).to(self.device))
                width = layer.outputs
            else:
                self._layers.append(None)
        self.width = width
        """Numbers a vector has."""

    def vectors(self, rows: Sequence[dict[str, list[int]]]) -> Any:
        """Reads some rows together, padded to the longest of them.

        Args:
            rows: what the tokenizer made of each text, at least one token each.

        Returns:
            A tensor on the CPU, float32, shape (rows, width), each of length 1 (or 0, where a network gives zeros).
        """
        import torch

        longest = max(len(row["input_ids"]) for row in rows)
        fill = {"input_ids": self._padding()}
        columns = {
            name: torch.tensor(
                [row[name] + [fill.get(name, 0)] * (longest - len(row[name])) for row in rows], device=self.device
            )
            for name in rows[0]
        }
        mask = torch.tensor(
            [[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows], device=self.device
        )
        with torch.inference_mode():
            states = self._model(**columns, attention_mask=mask).last_hidden_state.float()
            pooled = _pool(states, mask, self._pooling)
            for layer in self._layers:
                pooled = torch.nn.functional.normalize(pooled, dim=1) if layer is None else layer(pooled)
            return torch.nn.functional.normalize(pooled, dim=1).cpu()

    def _padding(self) -> int:
        """The padding's token; any one does where a tokenizer has none, since padding is masked."""
        for found in (self.tokenizer.pad_token_id, getattr(self._model.config, "pad_token_id", None)):
            if found is not None:
                return int(found)
        return 0


def _pool(states: Any, mask: Any, pooling: Pooling) -> Any:
    """Makes one vector of the states of each text's tokens, special ones included, padding not."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(mask[:, :, None] == 0, -float("inf")).max(dim=1).values
    weights = mask[:, :, None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _dense(name: str, layer: Dense) -> Any:
    """Loads a dense layer; torch's own files are read as tensors alone, which runs nothing."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    linear = torch.nn.Linear(layer.inputs, layer.outputs, bias=layer.bias)
    unreadable = torch.serialization.pickle.UnpicklingError  # what torch raises where more than tensors would be read
    safe, other = layer.folder / "model.safetensors", layer.folder / "pytorch_model.bin"
    try:
        found = load_file(safe) if safe.is_file() else torch.load(other, map_location="cpu", weights_only=True)
        linear.load_state_dict({key.removeprefix("linear."): value.float() for key, value in found.items()})
    except (*_LOAD_ERRORS, SafetensorError, AttributeError, EOFError, unreadable) as error:
        raise UsageError(
            f"{name}: its dense layer {layer.folder.name} does not load: {_first_line(error)} Download it again, with all of its "
            "folders."
        ) from error
    return torch.nn.Sequential(linear, getattr(torch.nn, layer.activation)()).eval()


def _tokenizer(name: str, folder: Path) -> Any:
    import transformers

    try:
        return transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except _LOAD_ERRORS as error:
        raise UsageError(
            f"{name}: its tokenizer does not load with transformers {transformers.__version__}: {_first_line(error)}"
        ) from error


def _model(name: str, folder: Path) -> Any:
    import torch
    import transformers

    try:
        model, report = transformers.AutoModel.from_pretrained(
            str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False, output_loading_info=True
        )
    except _LOAD_ERRORS as error:
        raise UsageError(
            f"{name} does not load with transformers {transformers.__version__}: {_first_line(error)}"
        ) from error
    if model.config.is_encoder_decoder:
        raise UsageError(
            f"{name}: a model with a decoder ({model.config.model_type}). Choose an encoder, such as a BERT."
        )
    missing = sorted(key for key in report["missing_keys"] if not key.startswith(_UNUSED))
    if missing:
        raise UsageError(
            f"{name}: its files lack {len(missing)} of its weights ({', '.join(missing[:3])}), which would be random. "
            "Download it again."
        )
    return model.eval()


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
