"""Which layer of a checkpoint BERTScore compares: what the reference implementation chose for its kind, or the one given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import read_text

__all__ = ["checkpoint_layer"]

_LAYERS: Final = {("deberta", 48): 40, ("roberta", 24): 17, ("distilbert", 6): 5}
"""Kind and number of layers to layer: bert_score's choices for deberta-xlarge-mnli, roberta-large, distilbert-base-uncased."""


def checkpoint_layer(given: str) -> tuple[Path, int]:
    """Reads `FOLDER` or `FOLDER@LAYER`.

    Args:
        given: as the user gave it.

    Returns:
        The folder and the layer.

    Raises:
        MissingError: There is no config.json in the folder.
        UsageError: The layer is not a number, or is not given for a checkpoint of another kind.
    """
    path, mark, written = given.rpartition("@")
    if mark and not Path(given).expanduser().is_dir():
        if not (written.isascii() and written.isdecimal()):
            raise UsageError(f"bertscore={given}: what stands behind @ is the number of a layer. Give FOLDER@LAYER.")
        return Path(path).expanduser(), int(written)
    folder = Path(given).expanduser()
    try:
        config = json.loads(read_text(folder / "config.json"))
    except OSError as error:
        raise MissingError(
            f"bertscore={given}: no checkpoint there ({system_reason(error)} for its config.json). Nothing is downloaded here. On "
            "a machine with internet: `hf download microsoft/deberta-xlarge-mnli --local-dir models/deberta-xlarge-mnli`; then "
            "bring the folder here and give its path."
        ) from error
    except ValueError as error:
        raise UsageError(f"{folder / 'config.json'}: not JSON. Download the checkpoint again.") from error
    told = config if isinstance(config, dict) else {}
    kind = str(told.get("model_type", "unknown"))
    layers = next((told[name] for name in ("num_hidden_layers", "n_layers", "n_layer") if name in told), None)
    if not isinstance(layers, int) or (kind, layers) not in _LAYERS:
        raise UsageError(
            f"bertscore={given}: no layer is usual for a checkpoint of the kind {kind} with {layers} layers. Give FOLDER@LAYER."
        )
    return folder, _LAYERS[kind, layers]
