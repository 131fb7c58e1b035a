"""The network of AlignScore: the authors' checkpoint file on a backbone's configuration and tokenizer.

The file is a dictionary of PyTorch Lightning: `state_dict` with `base_model.*`, the three heads `bin_layer`, `tri_layer` and
`reg_layer`, and `mlm_head.*`, which scoring does not use; `hyper_parameters` with the backbone's name. It is read as tensors
alone, which runs nothing, and what training left in it is not brought into memory.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.models.encoder import LOAD_ERRORS, Row, device, first_line, load_tokenizer, pad, readable
from medical_tasks.models.quiet import quiet_libraries

__all__ = ["HEADS", "AlignNetwork"]

HEADS: Final[Mapping[str, tuple[str, int]]] = {
    "nli": ("tri_layer", 3),
    "bin": ("bin_layer", 2),
    "reg": ("reg_layer", 1),
}
"""For each mode the layer that answers, and how many outputs it has."""

_ALIGNED = {"nli": 0, "bin": 1}
_BACKBONE = "base_model."
_NOT_LOADED = "embeddings.position_ids"
"""Numbers 0, 1, 2 ...: old files have them, transformers counts for itself."""


class AlignNetwork:
    """The loaded checkpoint, in float32.

    Args:
        checkpoint: the authors' file.
        backbone: folder with the backbone's `config.json` and tokenizer; its weights, if any, are not read.

    Raises:
        UsageError: A file does not load, or the two do not fit each other.
    """

    def __init__(self, checkpoint: Path, backbone: Path) -> None:
        import torch

        state, trained_on = _read(checkpoint)
        with quiet_libraries(logging.ERROR):
            self.tokenizer = load_tokenizer(backbone.name, backbone, fast=True)
            self._model = _model(checkpoint, backbone, state, trained_on)
        self._heads: dict[str, Any] = {}
        for mode, (layer, outputs) in HEADS.items():
            weight, bias = (state.get(f"{layer}.{part}") for part in ("weight", "bias"))
            width = int(self._model.config.hidden_size)
            if (
                weight is None
                or bias is None
                or tuple(weight.shape) != (outputs, width)
                or tuple(bias.shape) != (outputs,)
            ):
                raise UsageError(
                    f"{checkpoint.name}: its {layer} must have {outputs} outputs of {width} inputs. Give a checkpoint of "
                    "AlignScore and the folder of its backbone."
                )
            self._heads[mode] = torch.nn.Linear(width, outputs)
            self._heads[mode].load_state_dict({"weight": weight.float(), "bias": bias.float()})
        self.device = device()
        for part in (self._model, *self._heads.values()):
            part.to(self.device).eval()

    def tokenize(self, contexts: Sequence[str], claims: Sequence[str]) -> Any:
        """Joins pairs to what the model reads, whatever their length; what looks like a special token is text."""
        return self.tokenizer(
            [readable(text) for text in contexts],
            [readable(text) for text in claims],
            truncation=False,
            split_special_tokens=True,
            verbose=False,
            return_attention_mask=False,
        )

    def score(self, rows: Sequence[Row], mode: str) -> list[float]:
        """Reads some rows together.

        Args:
            rows: pairs as the tokenizer made them.
            mode: `nli` and `bin`: the probability of being aligned, 0-1; `reg`: the regression's number, without bounds.
        """
        import torch

        columns = pad(rows, padding=self.tokenizer.pad_token_id, device=self.device)
        with torch.inference_mode():
            outputs = self._heads[mode](self._model(**columns).pooler_output)
            scores = outputs[:, 0] if mode == "reg" else outputs.softmax(dim=-1)[:, _ALIGNED[mode]]
        found: list[float] = scores.tolist()
        return found


def _read(checkpoint: Path) -> tuple[dict[str, Any], str]:
    """The tensors of the file, and what it says that it was trained on."""
    import torch

    refused = torch.serialization.pickle.UnpicklingError
    try:
        # Files of before torch 1.6 are no archives, and cannot be mapped.
        found = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(checkpoint))
    except refused as error:
        raise UsageError(
            f"{checkpoint.name}: holds more than tensors, and reading that could run code: {first_line(error)} Where you trust its "
            'source, write it anew with torch there: torch.save({"state_dict": c["state_dict"], "hyper_parameters": {"model": '
            '"roberta-base"}}, "AlignScore.ckpt").'
        ) from error
    except (*LOAD_ERRORS, AttributeError, EOFError) as error:
        raise UsageError(f"{checkpoint.name}: not a file of torch ({first_line(error)}). Download it again.") from error
    state = found.get("state_dict") if isinstance(found, dict) else None
    if not isinstance(state, dict) or not any(str(key).startswith(_BACKBONE) for key in state):
        raise UsageError(
            f"{checkpoint.name}: no state_dict with base_model.* in it. Give a checkpoint of AlignScore as its authors publish it."
        )
    settings = found.get("hyper_parameters")
    return state, str(settings.get("model", "")) if isinstance(settings, Mapping) else ""


def _model(checkpoint: Path, backbone: Path, state: Mapping[str, Any], trained_on: str) -> Any:
    """The backbone with the checkpoint's weights in it."""
    import torch
    import transformers

    said = f" It was trained on {trained_on}." if trained_on else ""
    try:
        config = transformers.AutoConfig.from_pretrained(str(backbone), local_files_only=True, trust_remote_code=False)
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced
            model = transformers.AutoModel.from_config(config, trust_remote_code=False)
        weights = {
            key.removeprefix(_BACKBONE): value.float() for key, value in state.items() if key.startswith(_BACKBONE)
        }
        weights.pop(_NOT_LOADED, None)
        missing, strange = model.load_state_dict(weights, strict=False)
    except LOAD_ERRORS as error:
        raise UsageError(
            f"{checkpoint.name} does not fit the backbone {backbone.name}: {first_line(error)}{said} Give that model's folder."
        ) from error
    if missing or strange or not any(key.startswith("pooler.") for key in weights):
        raise UsageError(
            f"{checkpoint.name} does not fit the backbone {backbone.name}: {len(missing)} weights are missing and {len(strange)} "
            f"have no place ({', '.join([*missing, *strange][:3]) or 'no pooler'}).{said} Give that model's folder."
        )
    return model
