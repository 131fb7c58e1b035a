"""What a folder says of how its transformer's states become one vector a text: the layout of Sentence-Transformers, or none.

A folder with `modules.json` (Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084; https://www.sbert.net) lists a
transformer, its pooling and what comes behind. Any other folder is a transformer alone, such as ClinicalBERT: its states are
averaged over the tokens of the text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import read_text

__all__ = ["ACTIVATIONS", "Dense", "Layout", "Pooling", "read_layout"]

Pooling = Literal["mean", "cls", "max"]

ACTIVATIONS: Final = ("Identity", "Tanh", "ReLU", "GELU", "Sigmoid")
"""What can stand behind a dense layer; names of `torch.nn`."""

_PACKAGE = "sentence_transformers."
_AGAIN = "Download it again, with all of its folders."
_KNOWN = "Known are Transformer, Pooling, Dense and Normalize. Choose a checkpoint made of these."
_LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_MODES: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}


@dataclass(frozen=True, kw_only=True)
class Dense:
    """A dense layer behind the pooling.

    Attributes:
        folder: with its weights.
        inputs: numbers it takes.
        outputs: numbers it gives.
        bias: whether it has one.
        activation: one of `ACTIVATIONS`.
    """

    folder: Path
    inputs: int
    outputs: int
    bias: bool
    activation: str


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How texts become vectors.

    Attributes:
        transformer: folder of the transformer and its tokenizer.
        pooling: how the states of a text's tokens become one.
        layers: what comes behind, in order; `normalize` divides by the length.
        max_length: longest text the checkpoint asks for, in tokens with special ones; None: what the transformer takes.
        lower_case: whether texts are put into small letters before the tokenizer sees them.
    """

    transformer: Path
    pooling: Pooling = "mean"
    layers: tuple[Dense | Literal["normalize"], ...] = ()
    max_length: int | None = None
    lower_case: bool = False


def read_layout(folder: Path) -> Layout:
    """Reads what a folder says of itself.

    Args:
        folder: the checkpoint's.

    Raises:
        UsageError: A file is damaged or not there, or it asks for what this package does not do.
    """
    listing = folder / "modules.json"
    if not listing.is_file():
        return Layout(transformer=folder)
    modules = [_module(listing, entry) for entry in _read(listing, list)]
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or not set(kinds[2:]) <= {"Dense", "Normalize"}:
        raise UsageError(
            f"{listing}: a Transformer, then Pooling, then any of Dense and Normalize are expected, got "
            f"{', '.join(kinds) or 'nothing'}. Choose another checkpoint."
        )
    transformer = modules[0][1]
    _refuse_prompts(folder / "config_sentence_transformers.json")
    settings: dict[str, Any] = next(
        (_read(transformer / name, dict) for name in _LENGTH_FILES if (transformer / name).is_file()), {}
    )
    lower_case = settings.get("do_lower_case", False)
    if not isinstance(lower_case, bool):
        raise UsageError(f"{transformer}: do_lower_case must be true or false, got {lower_case!r}. {_AGAIN}")
    return Layout(
        transformer=transformer,
        pooling=_pooling(modules[1][1] / "config.json"),
        layers=tuple(_dense(path) if kind == "Dense" else "normalize" for kind, path in modules[2:]),
        max_length=_count(transformer, settings, "max_seq_length") if settings.get("max_seq_length") else None,
        lower_case=lower_case,
    )


def _module(listing: Path, entry: Any) -> tuple[str, Path]:
    """The kind of a module and its folder."""
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("type", "path")):
        raise UsageError(f"{listing}: every module needs a type and a path. {_AGAIN}")
    package, _, kind = entry["type"].rpartition(".")
    if not package.startswith(_PACKAGE) or kind not in ("Transformer", "Pooling", "Dense", "Normalize"):
        raise UsageError(f"{listing}: the module {entry['type']!r} is not known here. {_KNOWN}")
    path = listing.parent / entry["path"]
    if not path.resolve().is_relative_to(listing.parent.resolve()):
        raise UsageError(f"{listing}: the path {entry['path']!r} leads out of the folder. {_AGAIN}")
    return kind, path


def _pooling(path: Path) -> Pooling:
    config = _read(path, dict)
    chosen = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    if "pooling_mode" in config:  # how it is written since version 5
        chosen = [f"pooling_mode_{config['pooling_mode']}"]
        modes: dict[str, Pooling] = {f"pooling_mode_{mode}": mode for mode in get_args(Pooling)}
    else:
        modes = dict(_MODES)
    if len(chosen) != 1 or chosen[0] not in modes:
        said = ", ".join(name.removeprefix("pooling_mode_") for name in chosen) or "none"
        raise UsageError(f"{path}: one pooling out of mean, cls and max is expected, got {said}. Choose another one.")
    return modes[chosen[0]]


def _dense(folder: Path) -> Dense:
    path = folder / "config.json"
    config = _read(path, dict)
    activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
    if activation not in ACTIVATIONS:
        raise UsageError(
            f"{path}: the activation {activation!r} is not known here; known are {', '.join(ACTIVATIONS)}. Choose another "
            "checkpoint."
        )
    usual = (None, "sentence_embedding")
    if config.get("use_residual") or not {config.get(f"module_{end}_name") for end in ("input", "output")} <= set(
        usual
    ):
        raise UsageError(
            f"{path}: a layer that works on single tokens or adds its input is not done here. Choose another one."
        )
    return Dense(
        folder=folder,
        inputs=_count(path, config, "in_features"),
        outputs=_count(path, config, "out_features"),
        bias=config.get("bias", True) is True,
        activation=activation,
    )


def _refuse_prompts(path: Path) -> None:
    """A checkpoint that puts words of its own before every text would give other numbers without them."""
    config = _read(path, dict) if path.is_file() else {}
    name, prompts = config.get("default_prompt_name"), config.get("prompts")
    if name is not None and not (isinstance(prompts, dict) and prompts.get(name) == ""):
        raise UsageError(
            f"{path}: puts the prompt {name!r} before every text, which is not done here. Choose another checkpoint."
        )


def _count(path: Path, config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{path}: {name} must be a number of 1 or more, got {value!r}. {_AGAIN}")
    return value


def _read(path: Path, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
    try:
        found = json.loads(read_text(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}). {_AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON. {_AGAIN}") from error
    if not isinstance(found, kind):
        raise UsageError(f"{path}: a JSON {'list' if kind is list else 'object'} is expected. {_AGAIN}")
    return found
