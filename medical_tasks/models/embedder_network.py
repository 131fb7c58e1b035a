"""From a folder to a network that turns token rows into vectors: transformer, pooling, and what comes behind."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.models.embedder_layout import Dense, Layout, Pooling
from medical_tasks.models.encoder import LOAD_ERRORS, Row, device, first_line, load_model, load_tokenizer, pad
from medical_tasks.models.quiet import quiet_libraries

__all__ = ["Network"]


class Network:
    """The loaded checkpoint, in float32: the numbers of half precision would differ from machine to machine.

    Args:
        name: the checkpoint's, for messages.
        layout: what it is made of.

    Raises:
        UsageError: It does not load, lacks weights, or its parts do not fit each other.
    """

    def __init__(self, name: str, layout: Layout) -> None:
        with quiet_libraries(logging.ERROR):
            self.tokenizer = load_tokenizer(name, layout.transformer)
            self._model = load_model(name, layout.transformer)
        self.device = device()
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

    def vectors(self, rows: Sequence[Row]) -> Any:
        """Reads some rows together, padded to the longest of them.

        Args:
            rows: what the tokenizer made of each text, at least one token each.

        Returns:
            A tensor on the CPU, float32, shape (rows, width), each of length 1 (or 0, where a network gives zeros).
        """
        import torch

        padding = self.tokenizer.pad_token_id
        columns = pad(
            rows,
            padding=getattr(self._model.config, "pad_token_id", None) if padding is None else padding,
            device=self.device,
        )
        with torch.inference_mode():
            states = self._model(**columns).last_hidden_state.float()
            pooled = _pool(states, columns["attention_mask"], self._pooling)
            for layer in self._layers:
                pooled = torch.nn.functional.normalize(pooled, dim=1) if layer is None else layer(pooled)
            return torch.nn.functional.normalize(pooled, dim=1).cpu()


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
    except (*LOAD_ERRORS, SafetensorError, AttributeError, EOFError, unreadable) as error:
        raise UsageError(
            f"{name}: its dense layer {layer.folder.name} does not load: {first_line(error)} Download it again, with all of its "
            "folders."
        ) from error
    return torch.nn.Sequential(linear, getattr(torch.nn, layer.activation)()).eval()
