"""What a model is, in one hash: its configuration, its tokenizer and its weights.

Small files are read whole. Of a large safetensors file the hash takes its size, its header (names, types, shapes and places
of all tensors) and the first bytes of every tensor; of another large file, blocks spread over its length. A 100 GB model
takes a second or two, and any training changes it. It is no protection against someone who forges a file on purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file

__all__ = ["fingerprint", "model_files"]

PATTERNS = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "tekken.json",
    "*.model",
    "*.jinja",
    "*.safetensors",
    "pytorch_model*.bin",
)
"""Files that decide what a model answers. Cards, logs and training states do not."""

WHOLE_BYTES = 8 * 1024 * 1024
"""A file up to this size is read whole."""

SAMPLE_BYTES = 4096
BLOCKS = 256
_HEADER_LIMIT = 100 * 1024 * 1024  # the format's own limit


def model_files(folder: Path) -> list[Path]:
    """Lists the files of a model folder that decide its answers, by name."""
    return sorted({path for pattern in PATTERNS for path in folder.glob(pattern) if path.is_file()})


def fingerprint(folder: Path) -> str:
    """Hashes a model folder.

    Times, owners, links and the folder's own name play no part.

    Args:
        folder: with `config.json`, tokenizer files and weights.

    Returns:
        64 hexadecimal digits.

    Raises:
        MissingError: There are no weights.
        UsageError: A safetensors file is broken or cut off.
    """
    files = model_files(folder)
    if not any(path.suffix in (".safetensors", ".bin") for path in files):
        raise MissingError(
            f"{folder}: no weights (*.safetensors or pytorch_model*.bin). "
            "Give the folder that save_pretrained or `hf download` wrote, with all of its files."
        )
    whole = hashlib.sha256()
    for path in files:
        part = hashlib.sha256()
        with open_file(path) as stream:
            for piece in _pieces(path, stream, path.stat().st_size):
                part.update(piece)
        whole.update(f"{path.name}\0{path.stat().st_size}\0{part.hexdigest()}\n".encode())
    return whole.hexdigest()


def _pieces(path: Path, stream: BinaryIO, size: int) -> Iterator[bytes]:
    header = b""
    places: list[int] = []
    if path.suffix == ".safetensors":
        header, places = _safetensors(path, stream, size)
    if size <= WHOLE_BYTES:
        stream.seek(0)
        yield stream.read()
        return
    yield header
    if not places:
        step = (size - SAMPLE_BYTES) / (BLOCKS - 1)
        places = [int(step * block) for block in range(BLOCKS)]
    for place in places:
        stream.seek(place)
        yield stream.read(SAMPLE_BYTES)


def _safetensors(path: Path, stream: BinaryIO, size: int) -> tuple[bytes, list[int]]:
    """Reads the header and where each tensor begins, and checks that the file is as long as the header says."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > min(_HEADER_LIMIT, size - 8):
        raise UsageError(f"{path}: not a safetensors file, or cut off: no room for its header. Download it again.")
    header = stream.read(length)
    try:
        tensors = {name: entry for name, entry in json.loads(header).items() if name != "__metadata__"}
        spans = [(int(start), int(end)) for start, end in (entry["data_offsets"] for entry in tensors.values())]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{path}: not a safetensors file, its header cannot be read ({error}). Download it again."
        ) from None
    expected = 8 + length + max((end for _, end in spans), default=0)
    if size != expected:
        raise UsageError(f"{path}: its header asks for {expected} bytes, the file has {size}. Download it again.")
    return header, sorted(8 + length + start for start, _ in spans)
