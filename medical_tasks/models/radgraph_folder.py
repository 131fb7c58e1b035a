"""The folder of a RadGraph model on this machine: what is in it, and how the package is made to find it there.

    config.json     settings of the model; names its encoder
    vocabulary/     the labels, a file a kind; `radgraph-xl__ner_labels.txt` says that this is radgraph-xl
    weights.th      all weights, the encoder's too
    encoder/        configuration and tokenizer of the encoder, which the package would fetch from the Hub

The first three are what the published archive holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file, read_bytes, read_text
from medical_tasks.models.checkpoint import check_config

__all__ = ["KINDS", "RadGraphFolder", "find_radgraph", "staged"]

KINDS: Final = ("radgraph", "radgraph-xl", "modern-radgraph-xl", "echograph")
"""Published models. Each cuts texts into words in its own way."""

_STEPS = (
    "Nothing is downloaded here. On a machine with internet: `hf download StanfordAIMI/RRG_scorers radgraph-xl.tar.gz --local-dir "
    "models` (416 MB), `mkdir models/radgraph-xl`, `tar xzf models/radgraph-xl.tar.gz -C models/radgraph-xl`; then bring the "
    "folder here and give its path."
)
_ENCODER = "encoder"
_NOT_READ = (".safetensors", ".bin", ".h5", ".msgpack", ".lock")
_ENTRIES = (("dataset_reader", "token_indexers"), ("model", "embedder", "token_embedders"))
"""Where config.json names the encoder."""


@dataclass(frozen=True, kw_only=True)
class RadGraphFolder:
    """A RadGraph model on this machine's disk.

    Attributes:
        place: absolute path.
        kind: one of `KINDS`.
        config: content of `config.json`.
    """

    place: Path
    kind: str
    config: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The folder's own name: what is told about it without naming places on this machine."""
        return self.place.name

    def identity(self) -> dict[str, str]:
        """Says what decides its annotations: hashes of the weights (SHA-256 of the file) and of all else that is read."""
        with open_file(self.place / "weights.th") as stream:
            weights = hashlib.file_digest(stream, "sha256").hexdigest()
        layout = hashlib.sha256()
        others = [path for name in ("vocabulary", _ENCODER) for path in sorted((self.place / name).iterdir())]
        for path in (self.place / "config.json", *others):
            if path.is_file() and path.suffix not in _NOT_READ:
                data = read_bytes(path)
                layout.update(f"{path.relative_to(self.place)}\0{len(data)}\0".encode() + data)
        return {
            "kind": self.kind,
            "weights": weights,
            "layout": layout.hexdigest(),
            "encoder": str(_entry(self.config, _ENTRIES[0])["model_name"]),
        }


def find_radgraph(folder: str | Path) -> RadGraphFolder:
    """Finds a model, without reading its weights.

    Args:
        folder: what the user named.

    Raises:
        MissingError: The folder or a file of it is not here; says how to get it.
        UsageError: It is no RadGraph model.
    """
    given = Path(folder).expanduser()
    place = given.resolve()
    if not place.is_dir():
        raise MissingError(f"{given}: no such folder, one of a RadGraph model is expected. {_STEPS}")
    for name in ("config.json", "weights.th", "vocabulary"):
        if not (place / name).exists():
            raise MissingError(f"{given}: no {name} in it, which every RadGraph model has. {_STEPS}")
    try:
        config = json.loads(read_text(place / "config.json"))
        encoder, other = (_entry(config, path)["model_name"] for path in _ENTRIES)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{given}: its config.json is not that of a RadGraph model. Unpack the archive again."
        ) from error
    if encoder != other:
        raise UsageError(
            f"{given}: its config.json names two encoders, {encoder} and {other}. Unpack the archive again."
        )
    kind = _kind(given, place)
    if not (place / _ENCODER / "config.json").is_file():
        raise MissingError(
            f"{given}: no {_ENCODER}/config.json in it. The package would fetch configuration and tokenizer of {encoder} from the "
            f"Hub. On a machine with internet: `hf download {encoder} --exclude '*.bin' '*.safetensors' '*.h5' '*.msgpack' "
            f"--local-dir {given.name}/{_ENCODER}`; then bring it here."
        )
    check_config(place / _ENCODER)
    return RadGraphFolder(place=place, kind=kind, config=config)


@contextlib.contextmanager
def staged(found: RadGraphFolder) -> Iterator[Path]:
    """Makes the cache folder in which the package looks for a model, with the encoder named by its path; it is gone behind it.

    Args:
        found: the model.

    Yields:
        What is given to the package as `model_cache_dir`.
    """
    changed = json.loads(json.dumps(found.config))
    for path in _ENTRIES:
        _entry(changed, path)["model_name"] = str(found.place / _ENCODER)
    with tempfile.TemporaryDirectory(prefix="radgraph-") as cache:
        model = Path(cache) / found.kind
        model.mkdir()
        (model / "config.json").write_text(json.dumps(changed), encoding="utf-8")
        (model / "weights.th").symlink_to(found.place / "weights.th")
        shutil.copytree(found.place / "vocabulary", model / "vocabulary")  # the package writes a lock into it
        yield Path(cache)


def _kind(given: Path, place: Path) -> str:
    kinds = [kind for kind in KINDS if (place / "vocabulary" / f"{kind}__ner_labels.txt").is_file()]
    if len(kinds) > 1 and place.name in kinds:
        return place.name
    if len(kinds) != 1:
        raise UsageError(
            f"{given}: its vocabulary has labels of {' and '.join(kinds) or 'no model that the package knows'}; expected those of "
            f"one of {', '.join(KINDS)}. Unpack the archive again, into a folder of that name."
        )
    return kinds[0]


def _entry(config: Any, path: Sequence[str]) -> dict[str, Any]:
    found = config
    for name in (*path, "bert"):
        found = found[name]
    if not isinstance(found, dict) or not isinstance(found["model_name"], str):
        raise TypeError("no name of an encoder")
    return found
