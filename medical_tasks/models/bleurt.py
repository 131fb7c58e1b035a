"""BLEURT by the user's checkpoint: how well a text says what its reference says, by a regression trained on people's ratings.

    bleurt_scores("models/BLEURT-20", [(reference, candidate), ...])

Source: Sellam et al. (2020), BLEURT: Learning robust metrics for text generation, https://aclanthology.org/2020.acl-main.704; Pu
et al. (2021) for BLEURT-20; reference implementation https://github.com/google-research/bleurt. A folder is either a PyTorch
conversion, which is read here and needs torch and transformers alone, or one of the authors' checkpoints, which their package
runs with TensorFlow. Numbers are around 0-1 and have no bounds. Nothing is downloaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file
from medical_tasks.models.bleurt_network import BleurtNetwork, check_layout
from medical_tasks.models.bleurt_rows import SPECIAL_TOKENS, make_row
from medical_tasks.models.checkpoint import Checkpoint, find_checkpoint
from medical_tasks.models.encoder import Batches, Row, check_packages, first_line, longest_text, readable
from medical_tasks.models.fingerprint import fingerprint

__all__ = ["BleurtScorer", "bleurt_identity", "bleurt_scores", "open_bleurt"]

_STEPS: Final = (
    "Nothing is downloaded here. On a machine with internet: `hf download lucadiliello/BLEURT-20 --local-dir models/BLEURT-20` "
    "(2.3 GB, a PyTorch conversion of the authors' checkpoint); then bring the folder here and give its path."
)
_AUTHORS: Final = "bleurt_config.json"
"""What a checkpoint of the authors has in place of config.json."""


class BleurtScorer(Protocol):
    """An open checkpoint."""

    identity: dict[str, str]
    truncated: int
    """How many distinct pairs were too long, and were cut, in the last call of `score`; -1 where nobody counts."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores pairs of reference and candidate, in order."""

    def close(self) -> None:
        """Frees the memory it holds."""


def bleurt_scores(
    folder: str | Path, pairs: Sequence[tuple[str, str]], *, max_length: int | None = None
) -> list[float]:
    """Scores candidates.

    Args:
        folder: of a checkpoint.
        pairs: reference and candidate of each item. Empty texts are scored like any other.
        max_length: most tokens of a pair, special ones included, instead of what the checkpoint says.

    Returns:
        One number a pair, without bounds.

    Raises:
        MissingError: The folder or a package is not here; says how to get it.
        UsageError: It does not load, or gives numbers that are none.
        ValueError: Something is no pair of texts.
    """
    scorer = open_bleurt(folder, max_length=max_length)
    try:
        return scorer.score(pairs)
    finally:
        scorer.close()


def open_bleurt(folder: str | Path, *, max_length: int | None = None) -> BleurtScorer:
    """Opens a checkpoint.

    Args:
        folder: as in `bleurt_scores`.
        max_length: likewise.

    Raises:
        MissingError: As `bleurt_scores`.
        UsageError: As `bleurt_scores`.
    """
    found = _find(folder, max_length)
    if isinstance(found, Path):
        return _Authors(found)
    longest = _longest(found, max_length)
    return _Conversion(BleurtNetwork(found), _identity(found, longest), longest=longest)


def bleurt_identity(folder: str | Path, *, max_length: int | None = None) -> dict[str, str]:
    """Says what makes the numbers what they are, for the recipe; reads the files and loads no weights.

    Args:
        folder: as in `bleurt_scores`.
        max_length: likewise.

    Raises:
        MissingError: As `bleurt_scores`.
        UsageError: As `bleurt_scores`.
    """
    found = _find(folder, max_length)
    return _authors_identity(found) if isinstance(found, Path) else _identity(found, _longest(found, max_length))


class _Conversion:
    """A conversion to PyTorch in this process."""

    def __init__(self, network: BleurtNetwork, identity: dict[str, str], *, longest: int) -> None:
        self.identity = identity
        self.truncated = 0
        self._network: BleurtNetwork | None = network
        self._longest = longest
        self._batches = Batches(identity["model"], network.device)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        network = self._network
        if network is None:
            raise RuntimeError(f"{self.identity['model']} was closed")
        distinct = _distinct(pairs)
        self.truncated = 0
        rows = self._rows(network, distinct)
        scores = dict(zip(distinct, self._batches.read(rows, network.score), strict=True))
        return _finite([scores[reference, candidate] for reference, candidate in pairs], self.identity["model"])

    def close(self) -> None:
        import torch

        self._network = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _rows(self, network: BleurtNetwork, pairs: Sequence[tuple[str, str]]) -> list[Row]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokens = dict(zip(texts, network.tokens.cut(texts), strict=True)) if texts else {}
        rows = []
        for reference, candidate in pairs:
            one, two = tokens[reference], tokens[candidate]
            self.truncated += len(one) + len(two) + SPECIAL_TOKENS > self._longest
            rows.append(make_row(one, two, self._longest, first=network.tokens.first, between=network.tokens.between))
        return rows


class _Authors:
    """A checkpoint of the authors, run by their package."""

    def __init__(self, folder: Path) -> None:
        self.identity = _authors_identity(folder)
        self.truncated = -1
        try:
            # What it and TensorFlow log is not ours to show.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                self._scorer: Any = importlib.import_module("bleurt.score").BleurtScorer(str(folder))
        except ImportError as error:
            raise MissingError(f"the package bleurt does not load: {first_line(error)}. {_package(folder)}") from error
        except (OSError, ValueError, KeyError, AssertionError) as error:
            raise UsageError(f"{folder.name} does not load: {first_line(error)}. Download it again.") from error

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        distinct = _distinct(pairs)
        references, candidates = ([readable(pair[side]) for pair in distinct] for side in (0, 1))
        found = self._scorer.score(references=references, candidates=candidates) if distinct else []
        scores = dict(zip(distinct, map(float, found), strict=True))
        return _finite([scores[reference, candidate] for reference, candidate in pairs], self.identity["model"])

    def close(self) -> None:
        self._scorer.close()


def _distinct(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise ValueError("pairs must be of two texts each, reference and candidate")
    return list(dict.fromkeys((reference, candidate) for reference, candidate in pairs))


def _finite(scores: list[float], name: str) -> list[float]:
    if not all(map(math.isfinite, scores)):
        raise UsageError(f"{name} gives numbers that are not finite. Download it again.")
    return scores


def _find(folder: str | Path, max_length: int | None) -> Checkpoint | Path:
    """A conversion, or the path of a checkpoint of the authors."""
    place = Path(folder).expanduser()
    if (place / _AUTHORS).is_file() and not (place / "config.json").is_file():
        if importlib.util.find_spec("bleurt") is None:
            raise MissingError(f"{place.name} is a checkpoint for TensorFlow. {_package(place)}")
        if max_length is not None:
            raise UsageError(
                f"max_length={max_length}: {place.name} says in {_AUTHORS} how long a pair can be; leave it out."
            )
        return place.resolve()
    check_packages("BLEURT")
    if not (place / "config.json").is_file():
        raise MissingError(f"{folder}: no folder with a config.json, a checkpoint of BLEURT is expected. {_STEPS}")
    found = find_checkpoint(str(place.resolve()), revision=None)
    check_layout(found)
    return found


def _package(folder: Path) -> str:
    return (
        f"It is run by the authors' package, which is not on PyPI: `pip install tensorflow tf-slim "
        f"git+https://github.com/google-research/bleurt`. Or take a PyTorch conversion in place of {folder.name}. {_STEPS}"
    )


def _longest(checkpoint: Checkpoint, max_length: int | None) -> int:
    longest = longest_text(checkpoint, max_length)
    if longest < SPECIAL_TOKENS + 2:
        raise UsageError(f"max_length={longest}: a pair needs {SPECIAL_TOKENS + 2} tokens at least.")
    return longest


def _identity(checkpoint: Checkpoint, longest: int) -> dict[str, str]:
    return {
        "kind": "bleurt",
        "model": checkpoint.label,
        "fingerprint": fingerprint(checkpoint.folder),
        "max_length": str(longest),
        "dtype": "float32",
        "engine": f"transformers {importlib.metadata.version('transformers').split('.')[0]}",
    }


def _authors_identity(folder: Path) -> dict[str, str]:
    whole = hashlib.sha256()
    files = [folder / _AUTHORS, *sorted((folder / "variables").glob("*")), *sorted(folder.glob("sent_piece.*"))]
    for path in [*files, folder / "vocab.txt"]:
        if path.is_file():
            with open_file(path) as stream:
                whole.update(f"{path.name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return {"kind": "bleurt", "model": folder.name, "fingerprint": whole.hexdigest(), "engine": "bleurt (TensorFlow)"}
