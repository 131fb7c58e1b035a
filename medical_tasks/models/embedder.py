"""Text embeddings by a checkpoint on this machine, for measures of similarity.

    embedder = open_embedder("models/all-MiniLM-L6-v2")
    vectors = embedder.embed(["No known allergies.", "Allergic to penicillin."])
    float(vectors[0] @ vectors[1])

Vectors have length 1, so that a dot product is the cosine. Text longer than the checkpoint takes is cut at its end, as
Sentence-BERT does, and counted. A text without a word has the vector of zeros: it says nothing, so it is like nothing, and
its cosine with everything is 0 and not that of a checkpoint's idea of an empty line.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.checkpoint import Checkpoint, find_checkpoint
from medical_tasks.models.embedder_layout import Dense, Layout, read_layout
from medical_tasks.models.embedder_network import Network
from medical_tasks.models.encoder import Batches, Row, check_packages, longest_text, readable
from medical_tasks.models.fingerprint import fingerprint

__all__ = ["CLINICAL_BERT", "MINILM", "REVISIONS", "Embedder", "Vectors", "embedder_identity", "open_embedder"]

Vectors = npt.NDArray[np.float32]

MINILM: Final = "sentence-transformers/all-MiniLM-L6-v2"
CLINICAL_BERT: Final = "emilyalsentzer/Bio_ClinicalBERT"

REVISIONS: Final[Mapping[str, str]] = {
    MINILM: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    CLINICAL_BERT: "d5892b39a4adaed74b92212a44081509db72f87b",
}
"""The revision of each checkpoint that is meant; messages name it. Whichever is used, identities hold a hash of its weights."""

_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?")


def open_embedder(
    target: str | Path, *, revision: str | None = None, max_length: int | None = None, example: str = MINILM
) -> Embedder:
    """Opens a checkpoint; nothing is downloaded.

    Args:
        target: its folder, or a repository that lies in the Hub's cache.
        revision: commit, tag or branch of a repository; `main` by default.
        max_length: cut texts at this many tokens, special ones included, instead of where the checkpoint says.
        example: a repository to name where there is nothing.

    Raises:
        MissingError: The checkpoint or a package is not here; says how to get it.
        UsageError: It is none whose texts can be embedded here, or `max_length` is more than it takes.
    """
    checkpoint, layout = _find(target, revision, example)
    longest = longest_text(checkpoint, max_length, asked=layout.max_length)
    identity = _identity(checkpoint, layout, longest)
    return Embedder(Network(checkpoint.label, layout), identity, max_length=longest, lower_case=layout.lower_case)


def embedder_identity(
    target: str | Path, *, revision: str | None = None, max_length: int | None = None, example: str = MINILM
) -> dict[str, str]:
    """Says what of a checkpoint makes its vectors what they are; loads no weights.

    Args:
        target: as in `open_embedder`.
        revision: likewise.
        max_length: likewise.
        example: likewise.

    Returns:
        `model` (repository or folder's name), `weights` and the layers' fingerprints, `pooling`, `max_length`, and more. The
        device is not in it: float32 differs between devices in the last digits.

    Raises:
        MissingError: As `open_embedder`.
        UsageError: As `open_embedder`.
    """
    checkpoint, layout = _find(target, revision, example)
    return _identity(checkpoint, layout, longest_text(checkpoint, max_length, asked=layout.max_length))


class Embedder:
    """A checkpoint in this process, made by `open_embedder`.

    Args:
        network: the loaded checkpoint.
        identity: what makes its vectors what they are.
        max_length: most tokens of a text, special ones included.
        lower_case: whether texts are put into small letters first.
    """

    def __init__(self, network: Network, identity: Mapping[str, str], *, max_length: int, lower_case: bool) -> None:
        self.identity = dict(identity)
        self.max_length = max_length
        self.truncated = 0
        """How many of the texts embedded so far were longer than `max_length`, and were cut; equal texts count once."""
        self._network: Network | None = network
        self._lower_case = lower_case
        self._batches = Batches(self.identity["model"], network.device)
        self._cut: set[str] = set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds texts; equal ones are read once.

        Args:
            texts: what to embed. White space at both ends plays no part.

        Returns:
            Shape (texts, dimensions), each of length 1, and zeros where there is no text; the same numbers to 1e-5 whatever
            other texts there are.

        Raises:
            UsageError: The checkpoint gives numbers that are none, or the memory does not suffice for one text.
        """
        network = self._loaded
        stripped = [text.strip() for text in texts]
        distinct = list(dict.fromkeys(text.lower() if self._lower_case else text for text in stripped if text))
        place = {text: number for number, text in enumerate(distinct)}
        found = np.zeros((len(distinct) + 1, network.width), dtype=np.float32)  # the last one stands for no text
        rows = self._rows(distinct)
        if rows:
            found[list(rows)] = np.stack(
                self._batches.read(list(rows.values()), lambda some: list(network.vectors(some).numpy()))
            )
        if not np.isfinite(found).all():
            raise UsageError(f"{self.identity['model']} gives numbers that are not finite. Download it again.")
        wanted = [place.get(text.lower() if self._lower_case else text, len(distinct)) for text in stripped]
        return found[wanted]

    def close(self) -> None:
        """Frees the memory it holds."""
        import torch

        self._network = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _rows(self, texts: Sequence[str]) -> dict[int, Row]:
        """Tokenises texts, cut where they are too long; those without a token are not there."""
        if not texts:
            return {}
        tokenizer = self._loaded.tokenizer
        made = tokenizer(
            [readable(text) for text in texts],
            truncation=True,
            max_length=self.max_length,
            return_attention_mask=False,
            verbose=False,
        )
        full = [number for number, ids in enumerate(made["input_ids"]) if len(ids) >= self.max_length]
        if full:
            whole = tokenizer([readable(texts[number]) for number in full], truncation=False, verbose=False)[
                "input_ids"
            ]
            self._cut |= {texts[number] for number, ids in zip(full, whole, strict=True) if len(ids) > self.max_length}
            self.truncated = len(self._cut)
        return {
            number: {name: made[name][number] for name in made} for number, ids in enumerate(made["input_ids"]) if ids
        }

    @property
    def _loaded(self) -> Network:
        if self._network is None:
            raise RuntimeError(f"{self.identity['model']} was closed")
        return self._network


def _find(target: str | Path, revision: str | None, example: str) -> tuple[Checkpoint, Layout]:
    """Finds a checkpoint and reads what it is made of."""
    said = str(target)
    check_packages(said)
    folder = Path(target).expanduser()
    label, commit = "", ""
    if not folder.is_dir():
        folder, label = _cached(said, revision, example), said
        commit = folder.name
    elif revision is not None:
        raise UsageError(f"revision={revision}: {said} is a folder, and a folder has no revisions; leave it out.")
    layout = read_layout(folder)
    inner = find_checkpoint(str(layout.transformer.resolve()), revision=None)
    return Checkpoint(folder=inner.folder, label=label or folder.resolve().name, revision=commit), layout


def _cached(target: str, revision: str | None, example: str) -> Path:
    """The folder of a repository in the Hub's cache.

    Raises:
        MissingError: It is not there, or the name is none of a repository.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    named = _REPOSITORY.fullmatch(target) is not None and not target.startswith(".")
    if named:
        try:
            return Path(snapshot_download(target, revision=revision or "main", local_files_only=True))
        except (HFValidationError, LocalEntryNotFoundError, OSError):
            pass  # told below, with what to do
    wanted = target if named and "/" in target else example
    pinned = f" --revision {REVISIONS[wanted]}" if wanted in REVISIONS else ""
    place = f"models/{wanted.rpartition('/')[2]}"
    also = ", and no such repository in the cache of the Hub" if named else ""
    raise MissingError(
        f"{target}: no such folder{also}. Nothing is downloaded here. On a machine with internet: `hf download {wanted}{pinned} "
        f"--local-dir {place}`; then bring the folder {place} to this machine and give its path."
    )


def _identity(checkpoint: Checkpoint, layout: Layout, longest: int) -> dict[str, str]:
    identity: dict[str, Any] = {
        "kind": "embedder",
        "model": checkpoint.label,
        "weights": fingerprint(checkpoint.folder),
        "pooling": layout.pooling,
        "layers": ", ".join(_said(layer) for layer in layout.layers),
        "max_length": str(longest),
        "lower_case": str(layout.lower_case).lower(),
        "normalised": "true",
        "dtype": "float32",
        "engine": f"transformers {importlib.metadata.version('transformers').split('.')[0]}",
    }
    return identity | ({"revision": checkpoint.revision} if checkpoint.revision else {})


def _said(layer: Any) -> str:
    return f"dense {fingerprint(layer.folder)}" if isinstance(layer, Dense) else str(layer)
