"""How long a note is in tokens: by a tokenizer of transformers, or by an estimate that needs nothing.

The paper does not say which tokenizer its 3,000 and 7,000 tokens are of. Lengths of one sample are of one tokenizer, whose
identity stands in its recipe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import read_text
from medical_tasks.models.checkpoint import check_config

__all__ = ["ESTIMATE", "TokenCounter", "estimate_tokens", "open_counter"]

ESTIMATE = "estimate"

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|_{1,4}|\n|[^\w\s]")
_FILES = (
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt", "tekken.json", "*.model",
)  # fmt: skip


class TokenCounter(Protocol):
    """Counts tokens.

    Attributes:
        identity: what it is, for the recipe; the same identity gives the same numbers.
    """

    identity: Mapping[str, str]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Counts the tokens of each text, special ones left out."""
        ...


def estimate_tokens(text: str) -> int:
    """Estimates a text's tokens without a tokenizer.

    One for every six letters of a word begun, every three digits of a number, every four underscores in a row (the blanks of
    removed names), every other sign and every line end. Byte-pair tokenizers of present models come near this on English
    clinical text; it is no substitute where a limit must hold to the token.

    Args:
        text: any text.

    Returns:
        A number that depends on the text alone.
    """
    return len(_PIECE.findall(text))


class _Estimate:
    identity: Mapping[str, str] = {
        "tokenizer": ESTIMATE,
        "rule": "1 for each 6 letters of a word, 3 digits, 4 underscores, other sign, line end",
    }

    def count(self, texts: Sequence[str]) -> list[int]:
        return [estimate_tokens(text) for text in texts]


class _Transformers:
    def __init__(self, tokenizer: Any, identity: Mapping[str, str]) -> None:
        self._tokenizer = tokenizer
        self.identity = identity

    def count(self, texts: Sequence[str]) -> list[int]:
        # Not verbose: notes longer than the model's context are no fault here.
        ids = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return [len(each) for each in ids]


def open_counter(name: str) -> TokenCounter:
    """Opens a counter.

    Args:
        name: `estimate`, or a folder with a tokenizer's files.

    Raises:
        MissingError: There is no such folder, or no tokenizer in it.
        UsageError: The tokenizer cannot be read, or may not be (`check_config`).
    """
    if name == ESTIMATE:
        return _Estimate()
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise MissingError(
            f"--tokenizer {name}: no such folder. Give the folder of a model or tokenizer on this machine, or {ESTIMATE}."
        )
    files = sorted({path for pattern in _FILES for path in folder.glob(pattern) if path.is_file()})
    if not files:
        raise MissingError(
            f"--tokenizer {name}: holds no tokenizer (tokenizer.json, *.model, ...). Give the folder that save_pretrained wrote, "
            f"whole, or {ESTIMATE}."
        )
    check_config(folder)
    try:
        tokenizer = _loaded(folder)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UsageError(
            f"--tokenizer {name}: cannot be read ({type(error).__name__}: {error}). Give another folder, or {ESTIMATE}."
        ) from error
    digests = {path.name: file_sha256(path) for path in files}
    return _Transformers(tokenizer, {"tokenizer": folder.resolve().name, **digests})


def _loaded(folder: Path) -> Any:
    file = folder / "tokenizer.json"
    if not file.is_file():
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    json.loads(read_text(file))
    from transformers import PreTrainedTokenizerFast  # which needs no torch

    try:
        return PreTrainedTokenizerFast(tokenizer_file=str(file))
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise ValueError(str(error)) from error  # what is JSON and no tokenizer has no type of its own in the library
