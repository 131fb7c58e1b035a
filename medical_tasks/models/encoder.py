"""Encoders on this machine's disk: loading one, how long its texts can be, and reading rows in batches.

Every metric that a small encoder computes (AlignScore, BERTScore) needs these. All is float32: the numbers of half precision
would differ from machine to machine. Nothing is downloaded, and code that a folder brings is never run.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.models.checkpoint import Checkpoint

Row = Mapping[str, Sequence[int]]
"""What a model reads of a text, by the name of its argument: `input_ids`, and for some models `token_type_ids`."""

LOAD_ERRORS: Final = (OSError, ValueError, ImportError, KeyError, RuntimeError)
"""What transformers raises where a folder is not what it should be."""

_T = TypeVar("_T")

UNBOUNDED = 1_000_000  # a tokenizer without a length says 10**30
AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet", "ernie_m"})
"""Families that number positions from behind the padding's, so that the first ones are lost."""

_TOKENS = {"cpu": 2048}
_TOKENS_ELSEWHERE = 32768
"""Tokens read together, padding included. More of them leave a CPU's caches."""


def check_packages(name: str, *packages: str) -> None:
    """Says how to get the packages when one is missing.

    `packages`: what it needs, all of the extra `local-judges`; torch and transformers by default.
    """
    wanted = packages or ("torch", "transformers")
    missing = [package for package in wanted if importlib.util.find_spec(package) is None]
    if missing:
        raise MissingError(f"{name} needs {', '.join(missing)}: {install_command('local-judges')}")


def device() -> Any:
    """The accelerator where there is one, else the CPU."""
    import torch

    return torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")


def load_tokenizer(name: str, folder: Path, *, fast: bool = False) -> Any:
    """Loads the tokenizer of a folder.

    `fast`: whether it must be one that says which text a token is of.
    """
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except LOAD_ERRORS as error:
        raise UsageError(
            f"{name}: its tokenizer does not load with transformers {transformers.__version__}: {first_line(error)}"
        ) from error
    if tokenizer.get_vocab().keys() <= {*tokenizer.all_special_tokens}:
        # transformers makes an empty one where the files are not there, to which all words are the same.
        raise UsageError(
            f"{name}: its tokenizer knows no words: tokenizer.json, or the vocabulary, is not in the folder. Download it again."
        )
    if fast and not tokenizer.is_fast:
        raise UsageError(
            f"{name}: its tokenizer has no fast form ({type(tokenizer).__name__}). Choose another checkpoint."
        )
    return tokenizer


def load_model(name: str, folder: Path, *, layers: int | None = None) -> Any:
    """Loads an encoder in evaluation mode, on the CPU."""
    import torch
    import transformers
    from safetensors import SafetensorError

    try:
        config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        if layers is not None:
            if not 0 <= layers <= config.num_hidden_layers:
                raise UsageError(f"{name} has layers 0 to {config.num_hidden_layers}; got {layers}.")
            config.num_hidden_layers = layers
        model, report = transformers.AutoModel.from_pretrained(
            str(folder),
            config=config,
            dtype=torch.float32,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    except (*LOAD_ERRORS, SafetensorError) as error:
        raise UsageError(
            f"{name} does not load with transformers {transformers.__version__}: {first_line(error)}"
        ) from error
    if model.config.is_encoder_decoder:
        raise UsageError(
            f"{name}: a model with a decoder ({model.config.model_type}). Choose an encoder, such as a BERT."
        )
    # BERT's own pooling of the first token is often missing, and read by nothing that loads a model here.
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise UsageError(
            f"{name}: its files lack {len(missing)} of its weights ({', '.join(missing[:3])}), which would be random. "
            "Download it again."
        )
    return model.eval()


def longest_text(checkpoint: Checkpoint, wanted: int | None = None, *, asked: int | None = None) -> int:
    """Most tokens an input can have, special ones included: what is wanted, or what tokenizer and positions allow.

    `asked`: what a layout around the checkpoint asks for, instead of its tokenizer.
    """
    positions = checkpoint.context()
    if positions is not None and checkpoint.setting("model_type") in AFTER_PADDING:
        padding = checkpoint.setting("pad_token_id")
        positions -= (1 if padding is None else int(padding)) + 1
    if wanted is not None:
        if wanted < 1 or (positions is not None and wanted > positions):
            raise UsageError(
                f"max_length={wanted}: {checkpoint.label} takes 1 to {positions or 'any number of'} tokens."
            )
        return wanted
    bounds = (positions, asked or checkpoint.read("tokenizer_config.json").get("model_max_length"))
    known = [int(bound) for bound in bounds if bound and bound < UNBOUNDED]
    if not known:
        raise UsageError(f"{checkpoint.label}: no file of it says how long a text can be. Give max_length.")
    return min(known)


def pad(rows: Sequence[Row], *, padding: int | None, device: Any) -> dict[str, Any]:
    """Pads rows on the right to the longest of them.

    `padding`: the padding's token; any one does where a tokenizer has none, since padding is masked.

    Returns:
        The columns and `attention_mask` as tensors of shape (rows, tokens of the longest).
    """
    import torch

    longest = max(len(row["input_ids"]) for row in rows)
    fill = {"input_ids": padding or 0}
    columns = {
        name: [[*row[name], *[fill.get(name, 0)] * (longest - len(row[name]))] for row in rows] for name in rows[0]
    }
    columns["attention_mask"] = [[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows]
    return {name: torch.tensor(column, device=device) for name, column in columns.items()}


def readable(text: str) -> str:
    """A text as a tokenizer can take it: halves of characters, which model answers can hold, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Batches:
    """Reads rows longest first, as many together as fit, and less where the device's memory is full."""

    def __init__(self, name: str, device: Any) -> None:
        self._name = name
        self.tokens = _TOKENS.get(device.type, _TOKENS_ELSEWHERE)
        """Tokens read together, padding included; a row that is longer is read alone."""

    def read(self, rows: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[_T]]) -> list[_T]:
        """Reads all rows."""
        import torch

        order = sorted(range(len(rows)), key=lambda number: (-len(rows[number]["input_ids"]), number))
        found: dict[int, _T] = {}
        while order:
            longest = len(rows[order[0]]["input_ids"])
            batch = order[: max(1, self.tokens // longest)]
            try:
                results = score([rows[number] for number in batch])
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    raise UsageError(
                        f"the device's memory does not suffice for one text of {longest} tokens with {self._name}. Show this "
                        "process no device (CUDA_VISIBLE_DEVICES=), or another one."
                    ) from error
                self.tokens = len(batch) // 2 * longest
                continue
            found.update(zip(batch, results, strict=True))
            order = order[len(batch) :]
        return [found[number] for number in range(len(rows))]


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
