"""From what the user named to a folder with a model in it: a local folder, or a repository of the Hub."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import read_text

__all__ = ["Checkpoint", "check_config", "find_checkpoint"]

_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?")
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length", "seq_length")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model on this machine's disk.

    Attributes:
        folder: absolute path, with `config.json` in it.
        label: repository, or the folder's own name: what is told about it without naming places on this machine.
        revision: commit of the repository; "" for a folder.
    """

    folder: Path
    label: str
    revision: str

    def read(self, file: str) -> Mapping[str, Any]:
        """Reads one of its JSON files; empty when it is not there.

        Raises:
            UsageError: The file is not a JSON object.
        """
        path = self.folder / file
        if not path.is_file():
            return {}
        try:
            found = json.loads(read_text(path))
        except ValueError as error:
            raise UsageError(f"{path}: not JSON ({error}). Download it again.") from None
        if not isinstance(found, dict):
            raise UsageError(f"{path}: a JSON object is expected, got {type(found).__name__}.")
        return found

    def setting(self, *names: str) -> Any:
        """Looks up `config.json`, and its `text_config` where a model has several parts; None when no name is there."""
        config = self.read("config.json")
        for part in (config, config.get("text_config") or {}):
            for name in names:
                if part.get(name) is not None:
                    return part[name]
        return None

    def own_dtype(self) -> str:
        """The type its weights were saved for, `float32` when it does not say."""
        return str(self.setting("dtype", "torch_dtype") or "float32").removeprefix("torch.")

    def context(self) -> int | None:
        """Longest prompt and answer together, in tokens; None when it does not say."""
        found = self.setting(*_CONTEXT_NAMES)
        return None if found is None else int(found)

    def end_tokens(self) -> set[int]:
        """Ids that end an answer, by its configuration files."""
        ends: set[int] = set()
        for found in (self.read("generation_config.json").get("eos_token_id"), self.setting("eos_token_id")):
            ends.update(found if isinstance(found, list) else [] if found is None else [found])
        return ends


def find_checkpoint(target: str, *, revision: str | None) -> Checkpoint:
    """Finds a model folder; downloads it when it is a repository that is not in the Hub's cache.

    Args:
        target: folder or repository.
        revision: branch, tag or commit of a repository.

    Raises:
        MissingError: Neither a folder nor a repository that can be had.
        UsageError: Neither a path nor a repository's name, a revision of a folder, or a configuration that `check_config` refuses.
    """
    path = Path(target).expanduser()
    if path.is_dir():
        if revision is not None:
            raise UsageError(f"revision={revision}: {target} is a folder, and a folder has no revisions; leave it out.")
        found = Checkpoint(folder=path.resolve(), label=path.resolve().name, revision="")
    elif path.is_absolute() or target.startswith((".", "~")) or not _REPOSITORY.fullmatch(target):
        raise MissingError(f"{target}: no such folder. Give a folder with a model in it, or a repository (org/name).")
    else:
        folder = _download(target, revision or "main")
        found = Checkpoint(folder=folder, label=target, revision=folder.name)
    if not (found.folder / "config.json").is_file():
        raise MissingError(
            f"{target}: no config.json in {found.folder}. Give a folder that save_pretrained or `hf download` wrote."
        )
    check_config(found.folder)
    return found


def check_config(folder: Path) -> None:
    """Refuses a configuration that makes transformers run code of another repository.

    It does so whatever `trust_remote_code` says: below 5.3 by CVE-2026-4372 (kernels), below 5.5 by CVE-2026-5241 (LightGlue).

    Args:
        folder: a model's or tokenizer's, with or without `config.json`.

    Raises:
        UsageError: It is such a configuration, or not a JSON object.
    """
    parts: list[Any] = [Checkpoint(folder=folder, label="", revision="").read("config.json")]
    while parts:
        part = parts.pop()
        parts += part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ()
        for name, value in part.items() if isinstance(part, Mapping) else ():
            kernel = name.strip("_").startswith(("attn_implementation", "experts_implementation")) and "/" in str(value)
            if kernel or (name == "keypoint_detector_config" and part.get("trust_remote_code")):
                raise UsageError(
                    f"{folder / 'config.json'}: {name} = {value!r} names code outside of this folder, which loading could run. "
                    "Take the line out, or another model."
                )


def _download(repository: str, revision: str) -> Path:
    """Brings a repository into the Hub's cache, or finds it there when offline; returns the snapshot's folder."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        # Weights come in one format only; other formats and copies in subfolders stay where they are.
        folder = _snapshot(repository, revision, "*.safetensors")
        if not any(folder.glob("*.safetensors")):
            folder = _snapshot(repository, revision, "pytorch_model*.bin")
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise MissingError(
            f"{repository} (revision {revision}): no folder of that name here, and not to be had from the Hub: {reason}\n"
            f"On a machine with internet: `hf download {repository}` (after `hf auth login` where it is gated); then copy the "
            "folder here and give its path."
        ) from error
    return folder


def _snapshot(repository: str, revision: str, weights: str) -> Path:
    from huggingface_hub import constants, snapshot_download

    from medical_tasks.models.fingerprint import PATTERNS

    return Path(
        snapshot_download(
            repository,
            revision=revision,
            allow_patterns=[
                *(pattern for pattern in PATTERNS if not pattern.endswith((".safetensors", ".bin"))),
                weights,
                "*.index.json",
            ],
            ignore_patterns=["*/*", "consolidated*"],
            # Without this, a commit that lies in the cache is looked up on the Hub all the same.
            local_files_only=bool(constants.HF_HUB_OFFLINE),
        )
    )
