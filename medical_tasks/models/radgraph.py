"""F1-RadGraph by the user's RadGraph model, which the package `radgraph` runs; nothing is downloaded.

Source: Jain et al. (2021), RadGraph, https://arxiv.org/abs/2106.14463; Delbrouck et al.
(2024), RadGraph-XL; package radgraph 0.1.18
(https://github.com/Stanford-AIMI/radgraph). The folder holds what is published, and
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
from unittest import mock

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
    """Scores reports by F1, 0-1. A blank text scores 0, and no model reads it."""
    if reward not in REWARDS:
        raise ValueError(f"reward must be one of {', '.join(REWARDS)}; got {reward!r}")

    both = [pair for pair in pairs if all(text.strip() for text in pair)]
    texts = list(dict.fromkeys(text for pair in both for text in pair))
    known = dict(zip(texts, radgraph_annotate(texts, folder), strict=True))
    found: dict[tuple[str, str], float] = {}
    for reference, output in both:
        scores = radgraph_reward(known[reference], known[output], exact_case=exact_case)
        found[reference, output] = scores[REWARDS.index(reward)]

    return [found.get((reference, output), 0.0) for reference, output in pairs]


_Annotator: TypeAlias = Callable[[list[str]], Mapping[str, Mapping[str, object]]]
"""The package's model: from texts to their annotations, by number; what it cannot read is left out."""


def radgraph_annotate(
    texts: Sequence[str], folder: str | Path
) -> list[Mapping[str, object]]:
    """Finds the entities of reports and their relations, as the package gives them.

    A blank text has none.
    """
    place = _find(folder)
    found: list[Mapping[str, object]] = [{"entities": {}} for _ in texts]
    wanted = [number for number, text in enumerate(texts) if text.strip()]
    if not wanted:
        return found

    model = _load(place)
    with Progress("RadGraph, texts", len(wanted)) as progress:
        for number in wanted:
            found[number] = _annotate(
                model,
                readable(texts[number]),
                f"{place.label} cannot read text {number + 1}",
            )
            progress.step()

    return found


def radgraph_identity(
    folder: str | Path, *, reward: Reward = "partial", exact_case: bool = False
) -> dict[str, str]:
    """Says what makes the numbers what they are, for the recipe.

    Reads the files and loads no weights.
    """
    place = _find(folder)
    return {
        "model": place.label,
        **place.identity(),
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


def _load(place: RadGraphFolder) -> _Annotator:
    with _silence(), _tokenizers_as_of_old():
        try:
            package = importlib.import_module("radgraph")
        except ImportError as error:
            raise MissingError(
                f"the package radgraph does not load: {first_line(error)}. {_INSTALL}"
            ) from error

        with staged(place) as cache:
            try:
                annotator: _Annotator = package.RadGraph(
                    model_type=place.kind, model_cache_dir=str(cache)
                )
            except (
                *LOAD_ERRORS,
                AttributeError,
                TypeError,
                AssertionError,
                EOFError,
            ) as error:
                raise UsageError(
                    f"{place.label}: does not load with radgraph "
                    f"{version_of('radgraph') or 'unknown'} and transformers "
                    f"{version_of('transformers')} ({type(error).__name__}: {first_line(error)}). "
                    "Unpack the archive again."
                ) from error

            return annotator


def _annotate(model: _Annotator, text: str, unread: str) -> Mapping[str, object]:
    """Annotates one text.

    Of several the package returns those alone that it could read, and says so where
    nobody looks.
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
    """Keeps what the package prints and warns of to itself.

    Traces of failures are among it, which can hold text of a report.
    """
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
    """Lends tokenizers two methods that the package calls and transformers 5 took away."""
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
    """Puts around a piece of a text what the tokenizer puts around any."""
    made = self("a", return_special_tokens_mask=True)
    inside = [
        place
        for place, special in enumerate(made["special_tokens_mask"])
        if not special
    ]

    return [
        *made["input_ids"][: inside[0]],
        *tokens,
        *made["input_ids"][inside[-1] + 1 :],
    ]


KINDS: Final = ("radgraph", "radgraph-xl", "modern-radgraph-xl", "echograph")
"""Published models. Each cuts texts into words in its own way."""

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

    place: Path
    kind: str
    config: Mapping[str, object]

    @property
    def label(self) -> str:
        """The folder's own name: what is told about it without naming places on this machine."""
        return self.place.name

    def identity(self) -> dict[str, str]:
        """Says what decides its annotations.

        Hashes of the weights (SHA-256 of the file) and of all else that is read.
        """
        with open_file(self.place / "weights.th") as stream:
            weights = hashlib.file_digest(stream, "sha256").hexdigest()

        others = [
            path
            for name in ("vocabulary", _ENCODER)
            for path in sorted((self.place / name).iterdir())
        ]
        read = [
            path for path in others if path.is_file() and path.suffix not in _NOT_READ
        ]
        return {
            "kind": self.kind,
            "weights": weights,
            "layout": hash_layout(self.place, [self.place / "config.json", *read]),
            "encoder": str(_entry(self.config, _ENTRIES[0])["model_name"]),
        }


def find_radgraph(folder: str | Path) -> RadGraphFolder:
    """Finds a model, without reading its weights."""
    given = Path(folder).expanduser()
    place = given.resolve()
    if not place.is_dir():
        raise MissingError(
            f"{given}: no such folder, one of a RadGraph model is expected. {MESSAGES['radgraph']}"
        )

    for name in ("config.json", "weights.th", "vocabulary"):
        if not (place / name).exists():
            raise MissingError(
                f"{given}: no {name} in it, which every RadGraph model has. {MESSAGES['radgraph']}"
            )

    try:
        config = json.loads(read_text(place / "config.json"))
        encoder, other = (_entry(config, path)["model_name"] for path in _ENTRIES)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{given}: its config.json is not that of a RadGraph model. Unpack the archive again."
        ) from error

    if encoder != other:
        raise UsageError(
            f"{given}: its config.json names two encoders, {encoder} and {other}. Unpack the "
            "archive again."
        )

    kind = _find_kind(given, place)
    if not (place / _ENCODER / "config.json").is_file():
        step = MESSAGES["radgraph_encoder"].format(
            encoder=encoder, place=f"{given.name}/{_ENCODER}"
        )
        raise MissingError(f"{given}: no {_ENCODER}/config.json in it. {step}")

    check_config(place / _ENCODER)
    return RadGraphFolder(place=place, kind=kind, config=config)


@contextlib.contextmanager
def staged(found: RadGraphFolder) -> Iterator[Path]:
    """Makes the temporary `model_cache_dir` in which the package looks for a model, with the encoder named by its path."""
    changed = json.loads(json.dumps(found.config))
    for path in _ENTRIES:
        _entry(changed, path)["model_name"] = str(found.place / _ENCODER)

    with tempfile.TemporaryDirectory(prefix="radgraph-") as cache:
        model = Path(cache) / found.kind
        model.mkdir()
        (model / "config.json").write_text(json.dumps(changed), encoding="utf-8")
        (model / "weights.th").symlink_to(found.place / "weights.th")
        # the package writes a lock into it
        shutil.copytree(found.place / "vocabulary", model / "vocabulary")
        yield Path(cache)


def _find_kind(given: Path, place: Path) -> str:
    """Which of the package's models a folder holds, by its vocabulary's labels."""
    kinds = [
        kind
        for kind in KINDS
        if (place / "vocabulary" / f"{kind}__ner_labels.txt").is_file()
    ]
    if len(kinds) > 1 and place.name in kinds:
        return place.name

    if len(kinds) != 1:
        there = " and ".join(kinds) or "no model that the package knows"
        raise UsageError(
            MESSAGES["radgraph_kind"].format(
                given=given, there=there, known=", ".join(KINDS)
            )
        )

    return kinds[0]


def _entry(config: object, path: Sequence[str]) -> dict[str, object]:
    """The part of a model's configuration that names its encoder."""
    found = config
    for name in (*path, "bert"):
        if not isinstance(found, Mapping):
            raise TypeError(f"{name}: no mapping to look it up in")
        found = found[name]
    if not isinstance(found, dict) or not isinstance(found["model_name"], str):
        raise TypeError("no name of an encoder")
    return found
