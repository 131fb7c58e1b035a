"""The network of BLEURT from a PyTorch conversion: an encoder, BERT's pooling of the first token, one linear output.

The layouts that are read, by `model_type` of `config.json`:

    bleurt      that of bleurt-pytorch (lucadiliello/BLEURT-20 and others): `bleurt.*`, `classifier.*`. With an `embedding_size`,
                as BLEURT-20 has it, the encoder is RemBERT's, whose projection is called otherwise there; without one it is BERT's
    bert        BertForSequenceClassification with one label (Elron/bleurt-base-512): `bert.*`, `classifier.*`
    rembert     RemBertForSequenceClassification with one label: `rembert.*`, `classifier.*`
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.bleurt_rows import open_tokens
from medical_tasks.models.checkpoint import Checkpoint
from medical_tasks.models.encoder import LOAD_ERRORS, Row, device, first_line, pad
from medical_tasks.models.quiet import quiet_libraries

__all__ = ["LAYOUTS", "BleurtNetwork", "check_layout"]

LAYOUTS: Final = ("bleurt", "bert", "rembert")

_SETTINGS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
)
_PROJECTIONS = ("encoder.embedding_projection.", "encoder.embedding_hidden_mapping_in.")
"""What stands between narrow embeddings and the layers: in bleurt-pytorch, in transformers."""

_NOT_LOADED = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Numbers 0, 1, 2 ... and zeros: old files have them, transformers makes them."""


class BleurtNetwork:
    """The loaded checkpoint, in float32.

    Args:
        checkpoint: its folder.

    Raises:
        MissingError: sentencepiece is not installed.
        UsageError: It does not load, lacks weights, or is no regression.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        import torch

        layout = check_layout(checkpoint)
        self.device = device()
        with quiet_libraries(logging.ERROR):
            self.tokens = open_tokens(checkpoint.label, checkpoint.folder)
            state = _read(checkpoint)
            self._model = _encoder(checkpoint, layout, state).eval().to(self.device)
        weight, bias = (state.get(f"classifier.{part}") for part in ("weight", "bias"))
        width = int(self._model.config.hidden_size)
        if weight is None or bias is None or tuple(weight.shape) != (1, width):
            raise UsageError(
                f"{checkpoint.label}: no regression in it (classifier.* with one output of {width} numbers)."
            )
        self._head = torch.nn.Linear(width, 1)
        self._head.load_state_dict({"weight": weight.float(), "bias": bias.float()})
        self._head.eval().to(self.device)

    def score(self, rows: Sequence[Row]) -> list[float]:
        """Reads some pairs together.

        Args:
            rows: as `bleurt_rows.make_row` makes them.
        """
        import torch

        columns = pad(rows, padding=self.tokens.padding, device=self.device)
        with torch.inference_mode():
            outputs = self._head(self._model(**columns).pooler_output)[:, 0]
        found: list[float] = outputs.tolist()
        return found


def check_layout(checkpoint: Checkpoint) -> str:
    """Says which layout a folder has.

    Args:
        checkpoint: its folder.

    Raises:
        UsageError: None of `LAYOUTS`.
    """
    layout = checkpoint.setting("model_type")
    if layout not in LAYOUTS:
        raise UsageError(
            f"{checkpoint.label}: its config.json has model_type {layout!r}; that of BLEURT is {', '.join(LAYOUTS)}. Give a "
            "PyTorch conversion such as lucadiliello/BLEURT-20, or a checkpoint of the authors."
        )
    return str(layout)


def _read(checkpoint: Checkpoint) -> dict[str, Any]:
    """The tensors of all files; torch's own ones are read as tensors alone, which runs nothing."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    files = sorted(checkpoint.folder.glob("*.safetensors")) or sorted(checkpoint.folder.glob("pytorch_model*.bin"))
    if not files:
        raise MissingError(
            f"{checkpoint.label}: no weights (*.safetensors or pytorch_model*.bin). Download it again, with all of its files."
        )
    refused = torch.serialization.pickle.UnpicklingError
    state: dict[str, Any] = {}
    try:
        for file in files:
            safe = file.suffix == ".safetensors"
            state.update(load_file(file) if safe else torch.load(file, map_location="cpu", weights_only=True))
    except (*LOAD_ERRORS, SafetensorError, TypeError, AttributeError, EOFError, refused) as error:
        raise UsageError(
            f"{checkpoint.label}: its weights do not load ({first_line(error)}). Download it again."
        ) from error
    return state


def _encoder(checkpoint: Checkpoint, layout: str, state: Mapping[str, Any]) -> Any:
    """The encoder with the checkpoint's weights in it."""
    import torch
    import transformers

    prefix = f"{layout}."
    weights = {
        key.removeprefix(prefix).replace(*_PROJECTIONS): value.float()
        for key, value in state.items()
        if key.startswith(prefix) and key.removeprefix(prefix) not in _NOT_LOADED
    }
    try:
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced
            model = transformers.AutoModel.from_config(_config(checkpoint, layout), trust_remote_code=False)
        missing, strange = model.load_state_dict(weights, strict=False)
    except LOAD_ERRORS as error:
        raise UsageError(
            f"{checkpoint.label} does not load with transformers {transformers.__version__}: {first_line(error)}"
        ) from error
    if missing or strange:
        raise UsageError(
            f"{checkpoint.label}: {len(missing)} of its weights are missing and {len(strange)} have no place "
            f"({', '.join([*missing, *strange][:3])}). Download it again, with all of its files."
        )
    return model


def _config(checkpoint: Checkpoint, layout: str) -> Any:
    import transformers

    if layout != "bleurt":
        return transformers.AutoConfig.from_pretrained(
            str(checkpoint.folder), local_files_only=True, trust_remote_code=False
        )
    said = checkpoint.read("config.json")
    settings = {name: said[name] for name in _SETTINGS if said.get(name) is not None}
    narrow = said.get("embedding_size")
    if narrow is None:
        return transformers.BertConfig(**settings)
    return transformers.RemBertConfig(**settings, input_embedding_size=narrow, output_embedding_size=narrow)
