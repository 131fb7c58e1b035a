"""A model's folder on this machine: found by what the user named, identified by one hash, loaded without noise.

The fingerprint reads large files in part: of safetensors the header and the first bytes
of every tensor, of others blocks spread over the length. object training changes it; it
does not protect against forgery on purpose.
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
"""Longer messages about models and judges: what is the matter, and what to do about it."""

REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?")
_CONTEXT_NAMES = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_sequence_length",
    "seq_length",
)


def read_json(
    path: Path, kind: type[Any] = dict, *, again: str = "Download it again."
) -> Any:
    """Reads a file of a checkpoint: an object, or a list."""
    with readable(path, again=again):
        text = read_text(path)

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON ({error}). {again}") from error

    if not isinstance(found, kind):
        expected = "list" if kind is list else "object"
        raise UsageError(
            f"{path}: a JSON {expected} is expected, got {type(found).__name__}. {again}"
        )

    return found


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model on this machine's disk."""

    folder: Path
    label: str  # repository, or the folder's own name: what is told about it without naming places on this machine
    revision: str

    def read(self, file: str) -> Mapping[str, Any]:
        """Reads one of its JSON files; empty when it is not there."""
        path = self.folder / file
        return read_json(path) if path.is_file() else {}

    def setting(self, *names: str) -> Any:
        """Looks up `config.json`, and its `text_config` where a model has several parts.

        None when no name is there.
        """
        config = self.read("config.json")
        for part in (config, config.get("text_config") or {}):
            for name in names:
                if part.get(name) is not None:
                    return part[name]
        return None

    def own_dtype(self) -> str:
        """The type its weights were saved for, `float32` when it does not say."""
        return str(self.setting("dtype", "torch_dtype") or "float32").removeprefix(
            "torch."
        )

    def context(self) -> int | None:
        """Longest prompt and answer together, in tokens; None when it does not say."""
        found = self.setting(*_CONTEXT_NAMES)
        return None if found is None else int(found)

    def end_tokens(self) -> set[int]:
        """Ids that end an answer, by its configuration files."""
        ends: set[int] = set()
        for found in (
            self.read("generation_config.json").get("eos_token_id"),
            self.setting("eos_token_id"),
        ):
            ends.update(
                found if isinstance(found, list) else [] if found is None else [found]
            )
        return ends


def find_checkpoint(target: str, *, revision: str | None) -> Checkpoint:
    """Finds a model folder; downloads it when it is a repository that is not in the Hub's cache."""
    path = Path(target).expanduser()
    if path.is_dir():
        if revision is not None:
            raise UsageError(
                f"revision={revision}: {target} is a folder, and a folder has no revisions; leave "
                "it out."
            )

        found = Checkpoint(
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
        found = Checkpoint(folder=folder, label=target, revision=folder.name)

    if not (found.folder / "config.json").is_file():
        raise MissingError(
            f"{target}: no config.json in {found.folder}. Give a folder that save_pretrained or "
            "`hf download` wrote."
        )

    check_config(found.folder)
    return found


def check_config(folder: Path) -> None:
    """Refuses a configuration that makes transformers run code of another repository.

    It does so whatever `trust_remote_code` says: below 5.3 by CVE-2026-4372 (kernels),
    below 5.5 by CVE-2026-5241 (LightGlue).
    """
    parts: list[Any] = [
        Checkpoint(folder=folder, label="", revision="").read("config.json")
    ]
    while parts:
        part = parts.pop()
        parts += (
            part.values()
            if isinstance(part, Mapping)
            else part
            if isinstance(part, list)
            else ()
        )
        for name, value in part.items() if isinstance(part, Mapping) else ():
            kernel = name.strip("_").startswith(
                ("attn_implementation", "experts_implementation")
            ) and "/" in str(value)
            if kernel or (
                name == "keypoint_detector_config" and part.get("trust_remote_code")
            ):
                place = folder / "config.json"
                raise UsageError(
                    MESSAGES["code_outside"].format(path=place, name=name, value=value)
                )


def _download(repository: str, revision: str) -> Path:
    """Brings a repository into the Hub's cache, or finds it there when offline.

    Returns the snapshot's folder.
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
        # Weights come in one format only; other formats and copies in subfolders stay
        # where they are.
        for weights in ("*.safetensors", "pytorch_model*.bin"):
            found = snapshot_download(
                repository,
                revision=revision,
                allow_patterns=[*others, weights, "*.index.json"],
                ignore_patterns=["*/*", "consolidated*"],
                # Without this, a commit that lies in the cache is looked up on the Hub
                # all the same.
                local_files_only=bool(constants.HF_HUB_OFFLINE),
            )
            if any(Path(found).glob("*.safetensors")):
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

    return Path(found)


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
    """Hashes a model folder; times, owners, links and the folder's own name do not count."""
    files = model_files(folder)
    if not any(path.suffix in (".safetensors", ".bin") for path in files):
        raise MissingError(MESSAGES["weights"].format(folder=folder))

    whole = hashlib.sha256()
    for path in files:
        part = hashlib.sha256()
        with open_file(path) as stream:
            for piece in _pieces(path, stream, path.stat().st_size):
                part.update(piece)

        whole.update(
            f"{path.name}\0{path.stat().st_size}\0{part.hexdigest()}\n".encode()
        )

    return whole.hexdigest()


def hash_layout(folder: Path, files: Iterable[Path]) -> str:
    """Hashes small files of a folder that decide what a model reads."""
    layout = hashlib.sha256()
    for path in files:
        data = read_bytes(path)
        layout.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode() + data)
    return layout.hexdigest()


def _pieces(path: Path, stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The parts of a file that its hash is made of.

    A small file is read whole. Of a large one the header and samples count: where each
    tensor begins, or, in a form without such a list, blocks at even distances.
    """
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
            f"{path}: its header asks for {expected} bytes, the file has {size}. Download it again."
        )

    return header, sorted(8 + length + start for start, _ in spans)


_LOGGERS = ("lighteval", "accelerate", "vllm", "ray")


@contextlib.contextmanager
def quiet_libraries(level: int) -> Iterator[None]:
    """Lets lighteval, transformers, accelerate and vLLM log from `level` on, and draw no bars of their own."""
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
    """Takes the response cache and the progress bars out of one of lighteval's model modules.

    The cache has no switch: it writes into the model's folder and re-uses answers after
    a prompt has changed.
    """
    from unittest import mock

    bars = module.tqdm

    def no_bar(*args: object, **settings: object) -> object:
        return bars(*args, **{**settings, "disable": True})

    # A model without a cache asks none.
    return mock.patch.multiple(module, SampleCache=lambda _: None, tqdm=no_bar)
