"""F1-RadGraph by the user's RadGraph model, which the package `radgraph` runs; nothing is downloaded.

Source: Jain et al. (2021), RadGraph, https://arxiv.org/abs/2106.14463; Delbrouck et al.
(2024), RadGraph-XL; package radgraph 0.1.18
(https://github.com/Stanford-AIMI/radgraph). The folder holds the published files, and
encoder/ (configuration, tokenizer).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import io
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file, read_text
from medical_tasks.io.progress import Progress
from medical_tasks.models.checkpoint import MESSAGES, check_config, hash_layout
from medical_tasks.models.encoder import (
    LOAD_ERRORS,
    engine,
    first_line,
    readable,
)
from medical_tasks.plugins import version_of
from medical_tasks.scoring.content_overlap import REWARDS, Reward, radgraph_reward

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_INSTALL = "pip install 'radgraph==0.1.18'"


def f1_radgraph(
    folder: str | Path,
    pairs: Sequence[tuple[str, str]],
    *,
    reward: Reward = "partial",
    exact_case: bool = False,
) -> list[float]:
    """Scores reports by F1, 0-1. A blank text scores 0 without the model."""
    if reward not in REWARDS:
        raise ValueError(f"reward must be one of {', '.join(REWARDS)}; got {reward!r}")

    both = [pair for pair in pairs if all(text.strip() for text in pair)]
    texts = list(dict.fromkeys(text for pair in both for text in pair))
    annotations = dict(zip(texts, radgraph_annotate(texts, folder), strict=True))
    scores_by_pair: dict[tuple[str, str], float] = {}
    for reference, output in both:
        scores = radgraph_reward(
            annotations[reference], annotations[output], exact_case=exact_case
        )
        scores_by_pair[reference, output] = scores[REWARDS.index(reward)]

    return [scores_by_pair.get((reference, output), 0.0) for reference, output in pairs]


_Annotator: TypeAlias = Callable[[list[str]], Mapping[str, Mapping[str, object]]]
"""The package's model: maps texts to annotations by number, without those it cannot read."""


def radgraph_annotate(
    texts: Sequence[str], folder: str | Path
) -> list[Mapping[str, object]]:
    """Finds the entities of reports and their relations, in the package's form.

    A blank text has none.
    """
    model_folder = _find(folder)
    annotations: list[Mapping[str, object]] = [{"entities": {}} for _ in texts]
    readable_texts = [number for number, text in enumerate(texts) if text.strip()]
    if not readable_texts:
        return annotations

    model = _load(model_folder)
    with Progress("RadGraph, texts", len(readable_texts)) as progress:
        for number in readable_texts:
            annotations[number] = _annotate(
                model,
                readable(texts[number]),
                f"{model_folder.label} cannot read text {number + 1}",
            )
            progress.step()

    return annotations


def radgraph_identity(
    folder: str | Path, *, reward: Reward = "partial", exact_case: bool = False
) -> dict[str, str]:
    """Returns what decides the numbers, for the recipe; loads no weights."""
    model_folder = _find(folder)
    return {
        "model": model_folder.label,
        **model_folder.identity(),
        "reward": reward,
        "case": "exact" if exact_case else "folded",
        "package": f"radgraph {version_of('radgraph') or 'unknown'}",
        "engine": engine(),
    }


def _find(folder: str | Path) -> RadGraphFolder:
    if importlib.util.find_spec("radgraph") is None:
        raise MissingError(
            f"F1-RadGraph needs the package radgraph, which is not installed: {_INSTALL}"
        )
    return find_radgraph(folder)


def _load(model_folder: RadGraphFolder) -> _Annotator:
    with _silence(), _tokenizers_as_of_old():
        try:
            package = importlib.import_module("radgraph")
        except ImportError as error:
            raise MissingError(
                f"the package radgraph does not load: {first_line(error)}. {_INSTALL}"
            ) from error

        with staged(model_folder) as cache:
            try:
                annotator: _Annotator = package.RadGraph(
                    model_type=model_folder.kind, model_cache_dir=str(cache)
                )
            except (
                *LOAD_ERRORS,
                AttributeError,
                TypeError,
                AssertionError,
                EOFError,
            ) as error:
                raise UsageError(
                    f"{model_folder.label}: does not load with radgraph "
                    f"{version_of('radgraph') or 'unknown'} and transformers "
                    f"{version_of('transformers')} ({type(error).__name__}: {first_line(error)}). "
                    "Unpack the archive again."
                ) from error

            return annotator


def _annotate(model: _Annotator, text: str, unread: str) -> Mapping[str, object]:
    """Annotates one text.

    The package drops texts that it cannot read from a batch, with no more than a log
    line.
    """
    why = "no annotation came back"
    try:
        with _silence(), _tokenizers_as_of_old():
            annotation = model([text]).get("0")

        if isinstance(annotation, Mapping) and isinstance(
            annotation.get("entities"), Mapping
        ):
            return annotation
    except (
        LookupError,
        RuntimeError,
        ValueError,
        TypeError,
        AttributeError,
        AssertionError,
    ) as error:
        why = type(error).__name__  # not its message: it could hold the text

    step = "Leave the argument for RadGraph out to score without it."
    raise UsageError(f"{unread}, of {len(text)} characters ({why}). {step}")


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Hides what the package prints and warns about: tracebacks can hold text of a report."""
    nothing = io.StringIO()
    with (
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _tokenizers_as_of_old() -> Iterator[None]:
    """Adds two methods to tokenizers that the package calls and transformers 5 removed."""
    from unittest import mock  # slow to import

    from transformers import PreTrainedTokenizerBase

    methods = {
        "encode_plus": lambda self, *texts, **options: self(*texts, **options),
        "build_inputs_with_special_tokens": _build_inputs,
    }
    with contextlib.ExitStack() as lent:
        for name, method in methods.items():
            if not hasattr(PreTrainedTokenizerBase, name):
                lent.enter_context(
                    mock.patch.object(
                        PreTrainedTokenizerBase, name, method, create=True
                    )
                )

        yield


def _build_inputs(self: PreTrainedTokenizerBase, tokens: Sequence[int]) -> list[int]:
    """Adds the tokenizer's special tokens around a piece of text."""
    encoded = self("a", return_special_tokens_mask=True)
    inside = [
        position
        for position, special in enumerate(encoded["special_tokens_mask"])
        if not special
    ]

    return [
        *encoded["input_ids"][: inside[0]],
        *tokens,
        *encoded["input_ids"][inside[-1] + 1 :],
    ]


KINDS: Final = ("radgraph", "radgraph-xl", "modern-radgraph-xl", "echograph")
"""Published models. Each splits texts into words in its own way."""

_ENCODER = "encoder"
_NOT_READ = (".safetensors", ".bin", ".h5", ".msgpack", ".lock")
_ENTRIES = (
    ("dataset_reader", "token_indexers"),
    ("model", "embedder", "token_embedders"),
)
"""Where config.json names the encoder."""


@dataclass(frozen=True, kw_only=True)
class RadGraphFolder:
    """A RadGraph model on this machine's disk."""

    path: Path
    kind: str
    config: Mapping[str, object]

    @property
    def label(self) -> str:
        """The folder's own name, for messages without local paths."""
        return self.path.name

    def identity(self) -> dict[str, str]:
        """Returns what decides its annotations.

        Hashes of the weights (SHA-256 of the file) and of all other files that are read.
        """
        with open_file(self.path / "weights.th") as stream:
            weights = hashlib.file_digest(stream, "sha256").hexdigest()

        others = [
            path
            for name in ("vocabulary", _ENCODER)
            for path in sorted((self.path / name).iterdir())
        ]
        read = [
            path for path in others if path.is_file() and path.suffix not in _NOT_READ
        ]
        return {
            "kind": self.kind,
            "weights": weights,
            "layout": hash_layout(self.path, [self.path / "config.json", *read]),
            "encoder": str(_entry(self.config, _ENTRIES[0])["model_name"]),
        }


def find_radgraph(folder: str | Path) -> RadGraphFolder:
    """Finds a model's folder, without reading its weights."""
    path = Path(folder).expanduser()
    resolved = path.resolve()
    if not resolved.is_dir():
        raise MissingError(
            f"{path}: no such folder, one of a RadGraph model is expected. {MESSAGES['radgraph']}"
        )

    for name in ("config.json", "weights.th", "vocabulary"):
        if not (resolved / name).exists():
            raise MissingError(
                f"{path}: no {name} in it, which every RadGraph model has. {MESSAGES['radgraph']}"
            )

    try:
        config = json.loads(read_text(resolved / "config.json"))
        encoder, other = (_entry(config, entry)["model_name"] for entry in _ENTRIES)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: its config.json is not that of a RadGraph model. Unpack the archive again."
        ) from error

    if encoder != other:
        raise UsageError(
            f"{path}: its config.json names two encoders, {encoder} and {other}. Unpack the "
            "archive again."
        )

    kind = _find_kind(path, resolved)
    if not (resolved / _ENCODER / "config.json").is_file():
        step = MESSAGES["radgraph_encoder"].format(
            encoder=encoder, place=f"{path.name}/{_ENCODER}"
        )
        raise MissingError(f"{path}: no {_ENCODER}/config.json in it. {step}")

    check_config(resolved / _ENCODER)
    return RadGraphFolder(path=resolved, kind=kind, config=config)


@contextlib.contextmanager
def staged(model_folder: RadGraphFolder) -> Iterator[Path]:
    """Makes a temporary `model_cache_dir` for the package, in which the encoder is named by its path."""
    changed = json.loads(json.dumps(model_folder.config))
    for entry in _ENTRIES:
        _entry(changed, entry)["model_name"] = str(model_folder.path / _ENCODER)

    with tempfile.TemporaryDirectory(prefix="radgraph-") as cache:
        model = Path(cache) / model_folder.kind
        model.mkdir()
        (model / "config.json").write_text(json.dumps(changed), encoding="utf-8")
        (model / "weights.th").symlink_to(model_folder.path / "weights.th")
        # copied, since the package writes a lock file into it
        shutil.copytree(model_folder.path / "vocabulary", model / "vocabulary")
        yield Path(cache)


def _find_kind(path: Path, resolved: Path) -> str:
    """Returns which of the package's models a folder holds, by its vocabulary's labels."""
    kinds = [
        kind
        for kind in KINDS
        if (resolved / "vocabulary" / f"{kind}__ner_labels.txt").is_file()
    ]
    if len(kinds) > 1 and resolved.name in kinds:
        return resolved.name

    if len(kinds) != 1:
        there = " and ".join(kinds) or "no model that the package knows"
        raise UsageError(
            MESSAGES["radgraph_kind"].format(
                given=path, there=there, known=", ".join(KINDS)
            )
        )

    return kinds[0]


def _entry(config: object, path: Sequence[str]) -> dict[str, object]:
    """Returns the section of a model's configuration that names its encoder."""
    section = config
    for name in (*path, "bert"):
        if not isinstance(section, Mapping):
            raise TypeError(f"{name}: no mapping to look it up in")
        section = section[name]
    if not isinstance(section, dict) or not isinstance(section["model_name"], str):
        raise TypeError("no name of an encoder")
    return section
