"""A model's folder on this machine: how it is found, identified by a hash, and loaded without noise.

The fingerprint reads large files only in part: the header and the first bytes of every
tensor of a safetensors file, and blocks spread over the length of other files. Any
training changes it; it does not protect against deliberate forgery.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file, read_bytes, read_text, readable

MESSAGES: Final[Mapping[str, str]] = json.loads(
    Path(__file__).with_name("messages.json").read_text(encoding="utf-8")
)
"""Longer messages about models and judges: the problem, and what to do about it."""

REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?")
_CONTEXT_NAMES = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_sequence_length",
    "seq_length",
)


def read_json(
    path: Path, kind: type[Any] = dict, *, advice: str = "Download it again."
) -> Any:
    """Parses a JSON file of a checkpoint, which must be of `kind`; `advice` ends messages."""
    with readable(path, again=advice):
        text = read_text(path)

    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON ({error}). {advice}") from error

    if not isinstance(value, kind):
        expected = "list" if kind is list else "object"
        raise UsageError(
            f"{path}: a JSON {expected} is expected, got {type(value).__name__}. {advice}"
        )

    return value


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model on this machine's disk."""

    folder: Path
    label: str  # repository, or the folder's own name, for messages without local paths
    revision: str

    def read(self, file: str) -> Mapping[str, Any]:
        """Parses one of its JSON files; empty if it does not exist."""
        path = self.folder / file
        return read_json(path) if path.is_file() else {}

    def setting(self, *names: str) -> Any:
        """Returns the first of some settings in `config.json` or its `text_config`.

        None if there is none.
        """
        config = self.read("config.json")
        for section in (config, config.get("text_config") or {}):
            for name in names:
                if section.get(name) is not None:
                    return section[name]
        return None

    def own_dtype(self) -> str:
        """Returns the type of its weights; `float32` where it is not stated."""
        return str(self.setting("dtype", "torch_dtype") or "float32").removeprefix(
            "torch."
        )

    def context(self) -> int | None:
        """Returns the longest prompt and answer together, in tokens; None where not stated."""
        length = self.setting(*_CONTEXT_NAMES)
        return None if length is None else int(length)

    def end_tokens(self) -> set[int]:
        """Returns the ids that end an answer, by its configuration files."""
        ends: set[int] = set()
        for ids in (
            self.read("generation_config.json").get("eos_token_id"),
            self.setting("eos_token_id"),
        ):
            ends.update(ids if isinstance(ids, list) else [] if ids is None else [ids])
        return ends


def find_checkpoint(target: str, *, revision: str | None) -> Checkpoint:
    """Finds a model's folder; downloads a repository that is not in the Hub's cache."""
    path = Path(target).expanduser()
    if path.is_dir():
        if revision is not None:
            raise UsageError(
                f"revision={revision}: {target} is a folder, and a folder has no revisions; leave "
                "it out."
            )

        checkpoint = Checkpoint(
            folder=path.resolve(), label=path.resolve().name, revision=""
        )
    elif (
        path.is_absolute()
        or target.startswith((".", "~"))
        or not REPOSITORY.fullmatch(target)
    ):
        raise MissingError(
            f"{target}: no such folder. Give a folder with a model in it, or a repository "
            "(org/name)."
        )
    else:
        folder = _download(target, revision or "main")
        checkpoint = Checkpoint(folder=folder, label=target, revision=folder.name)

    if not (checkpoint.folder / "config.json").is_file():
        raise MissingError(
            f"{target}: no config.json in {checkpoint.folder}. Give a folder that save_pretrained or "
            "`hf download` wrote."
        )

    check_config(checkpoint.folder)
    return checkpoint


def check_config(folder: Path) -> None:
    """Rejects a configuration that makes transformers run code from another repository.

    transformers does so despite `trust_remote_code=False`: below 5.3 by CVE-2026-4372
    (kernels), below 5.5 by CVE-2026-5241 (LightGlue).
    """
    pending: list[Any] = [
        Checkpoint(folder=folder, label="", revision="").read("config.json")
    ]
    while pending:
        node = pending.pop()
        pending += (
            node.values()
            if isinstance(node, Mapping)
            else node
            if isinstance(node, list)
            else ()
        )
        for name, value in node.items() if isinstance(node, Mapping) else ():
            kernel = name.strip("_").startswith(
                ("attn_implementation", "experts_implementation")
            ) and "/" in str(value)
            if kernel or (
                name == "keypoint_detector_config" and node.get("trust_remote_code")
            ):
                path = folder / "config.json"
                raise UsageError(
                    MESSAGES["code_outside"].format(path=path, name=name, value=value)
                )


def _download(repository: str, revision: str) -> Path:
    """Downloads a repository into the Hub's cache, or finds it there when offline.

    Returns:
        The snapshot's folder.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    others = [
        pattern
        for pattern in PATTERNS
        if not pattern.endswith((".safetensors", ".bin"))
    ]
    try:
        # Weights are downloaded in one format only, and without copies in subfolders.
        for weights in ("*.safetensors", "pytorch_model*.bin"):
            snapshot = snapshot_download(
                repository,
                revision=revision,
                allow_patterns=[*others, weights, "*.index.json"],
                ignore_patterns=["*/*", "consolidated*"],
                # Without this, the Hub is asked even for a commit that is in the cache.
                local_files_only=bool(constants.HF_HUB_OFFLINE),
            )
            if any(Path(snapshot).glob("*.safetensors")):
                break
    except (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OSError,
    ) as error:
        reason = str(error).strip().splitlines()[0]
        step = MESSAGES["hub"].format(
            repository=repository, revision=revision, reason=reason
        )
        raise MissingError(step) from error

    return Path(snapshot)


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
"""Files that decide a model's answers. Cards, logs and training states do not."""

WHOLE_BYTES = 8 * 1024 * 1024
"""The largest file that is hashed as a whole."""

SAMPLE_BYTES = 4096
BLOCKS = 256
_SAFETENSORS_HEADER_LIMIT = 100 * 1024 * 1024  # the format's own limit


def model_files(folder: Path) -> list[Path]:
    """Lists the files of a model folder that decide its answers, by name."""
    return sorted(
        {
            path
            for pattern in PATTERNS
            for path in folder.glob(pattern)
            if path.is_file()
        }
    )


def fingerprint(folder: Path) -> str:
    """Hashes a model's folder; times, owners, links and the folder's name do not count."""
    files = model_files(folder)
    if not any(path.suffix in (".safetensors", ".bin") for path in files):
        raise MissingError(MESSAGES["weights"].format(folder=folder))

    whole = hashlib.sha256()
    for path in files:
        content = hashlib.sha256()
        with open_file(path) as stream:
            for block in _hashed_blocks(path, stream, path.stat().st_size):
                content.update(block)

        whole.update(
            f"{path.name}\0{path.stat().st_size}\0{content.hexdigest()}\n".encode()
        )

    return whole.hexdigest()


def hash_layout(folder: Path, files: Iterable[Path]) -> str:
    """Hashes a folder's small files that decide what a model reads."""
    layout = hashlib.sha256()
    for path in files:
        data = read_bytes(path)
        layout.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode() + data)
    return layout.hexdigest()


def _hashed_blocks(path: Path, stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yields the blocks of a file that enter its hash.

    Small files are read as a whole. Of large ones the header and samples count: at the
    start of each tensor, or in other formats at even distances.
    """
    header = b""
    offsets: list[int] = []
    if path.suffix == ".safetensors":
        header, offsets = _safetensors(path, stream, size)

    if size <= WHOLE_BYTES:
        stream.seek(0)
        yield stream.read()
        return

    yield header
    if not offsets:
        step = (size - SAMPLE_BYTES) / (BLOCKS - 1)
        offsets = [int(step * block) for block in range(BLOCKS)]

    for offset in offsets:
        stream.seek(offset)
        yield stream.read(SAMPLE_BYTES)


def _safetensors(path: Path, stream: BinaryIO, size: int) -> tuple[bytes, list[int]]:
    """Reads the header and each tensor's offset, and checks the file's size against the header."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > min(_SAFETENSORS_HEADER_LIMIT, size - 8):
        raise UsageError(
            f"{path}: not a safetensors file, or cut off: no room for its header. Download it "
            "again."
        )

    header = stream.read(length)
    try:
        tensors = {
            name: entry
            for name, entry in json.loads(header).items()
            if name != "__metadata__"
        }
        spans = [
            (int(start), int(end))
            for start, end in (entry["data_offsets"] for entry in tensors.values())
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{path}: not a safetensors file, its header cannot be read ({error}). Download it "
            "again."
        ) from None

    expected = 8 + length + max((end for _, end in spans), default=0)
    if size != expected:
        raise UsageError(
            f"{path}: its header describes {expected} bytes, the file has {size}. Download it again."
        )

    return header, sorted(8 + length + start for start, _ in spans)


_LOGGERS = ("lighteval", "accelerate", "vllm", "ray")


@contextlib.contextmanager
def quiet_libraries(level: int) -> Iterator[None]:
    """Limits lighteval, transformers, accelerate and vLLM to logs from `level` on, without progress bars."""
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    verbosity, bars = (
        transformers_logging.get_verbosity(),
        transformers_logging.is_progress_bar_enabled(),
    )
    for logger in loggers:
        logger.setLevel(level)

    transformers_logging.set_verbosity(level)
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        for logger, old in zip(loggers, before, strict=True):
            logger.setLevel(old)

        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


def without_cache_and_bars(
    module: ModuleType,
) -> contextlib.AbstractContextManager[object]:
    """Disables the response cache and the progress bars of one of lighteval's model modules.

    The cache has no switch: it writes into the model's folder, and reuses answers after
    a prompt has changed.
    """
    from unittest import mock

    bars = module.tqdm

    def no_bar(*args: object, **settings: object) -> object:
        return bars(*args, **{**settings, "disable": True})

    # lighteval skips the cache of a model that has none.
    return mock.patch.multiple(module, SampleCache=lambda _: None, tqdm=no_bar)
