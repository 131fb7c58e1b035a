"""BLEURT by the user's checkpoint: a PyTorch conversion, or the authors', run by their package with TensorFlow.

Source: Sellam et al. (2020), https://aclanthology.org/2020.acl-main.704; Pu et al.
(2021) for BLEURT-20; reference implementation
https://github.com/google-research/bleurt.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import io
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.io.files import open_file
from medical_tasks.models import encoder
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    fingerprint,
    quiet_libraries,
)

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig, PreTrainedModel

_AUTHORS: Final = "bleurt_config.json"
"""The file that the authors' checkpoints have instead of config.json."""


class BleurtScorer(ABC):
    """An open checkpoint."""

    identity: dict[str, str]
    truncated: int
    """How many distinct pairs of the last `score` were too long, and were cut; -1 where unknown."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores pairs of reference and candidate, in order; numbers are around 0-1, unbounded.

        Empty texts are scored too.
        """
        for pair in pairs:
            if (
                isinstance(pair, str)
                or len(pair) != 2
                or not all(isinstance(text, str) for text in pair)
            ):
                raise ValueError(
                    "pairs must be of two texts each, reference and candidate"
                )

        distinct = list(
            dict.fromkeys((reference, candidate) for reference, candidate in pairs)
        )
        values = self._score(distinct)
        encoder.require_finite(values, self.identity["model"])
        scores = dict(zip(distinct, values, strict=True))

        return [scores[reference, candidate] for reference, candidate in pairs]

    @abstractmethod
    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[float]: ...

    @abstractmethod
    def close(self) -> None:
        """Frees its memory."""


def open_bleurt(folder: str | Path, *, max_length: int | None = None) -> BleurtScorer:
    """Opens a checkpoint.

    Args:
        folder: of the checkpoint.
        max_length: the most tokens of a pair, special ones included, instead of the
            checkpoint's limit.
    """
    checkpoint = _find(folder, max_length)
    if isinstance(checkpoint, Path):
        return _Authors(checkpoint)
    return Conversion(checkpoint, longest=_longest(checkpoint, max_length))


def bleurt_identity(
    folder: str | Path, *, max_length: int | None = None
) -> dict[str, str]:
    """Returns what decides the numbers, for the recipe; loads no weights."""
    checkpoint = _find(folder, max_length)
    return (
        _authors_identity(checkpoint)
        if isinstance(checkpoint, Path)
        else _identity(checkpoint, _longest(checkpoint, max_length))
    )


class Conversion(encoder.Measure, BleurtScorer):
    """A conversion to PyTorch in this process."""

    def __init__(self, checkpoint: Checkpoint, *, longest: int) -> None:
        import torch

        layout = check_layout(checkpoint)
        with quiet_libraries(logging.ERROR):
            self.tokens = open_tokens(checkpoint.label, checkpoint.folder)
            state = _read_weights(checkpoint)
            network = _encoder(checkpoint, layout, state)

        width = int(network.config.hidden_size)
        head = encoder.linear_layer(state, "classifier", inputs=width, outputs=1)
        if head is None:
            raise UsageError(
                f"{checkpoint.label}: no regression in it (classifier.* with one output of {width} "
                "numbers)."
            )

        super().__init__(
            torch.nn.ModuleDict({"encoder": network, "head": head}),
            _identity(checkpoint, longest),
        )
        self._longest = longest

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores pairs of reference and candidate; each distinct text is tokenized once.

        `truncated` counts the pairs that were too long for the model.
        """
        _ = self._loaded
        self.truncated = 0
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        cut = dict(zip(texts, self.tokens.cut(texts), strict=True)) if texts else {}
        rows = []
        for reference_ids, candidate_ids in (
            (cut[reference], cut[candidate]) for reference, candidate in pairs
        ):
            self.truncated += (
                len(reference_ids) + len(candidate_ids) + SPECIAL_TOKENS > self._longest
            )
            rows.append(
                make_row(
                    reference_ids,
                    candidate_ids,
                    self._longest,
                    first=self.tokens.first,
                    between=self.tokens.between,
                )
            )

        return self._read(rows, self.outputs)

    def outputs(self, rows: Sequence[encoder.Row]) -> list[float]:
        """Scores a batch of pairs."""
        import torch

        network = self._loaded
        columns = encoder.pad(rows, padding=self.tokens.padding, device=self.device)
        with torch.inference_mode():
            values: list[float] = network["head"](
                network["encoder"](**columns).pooler_output
            )[:, 0].tolist()
        return values


class _Authors(BleurtScorer):
    """A checkpoint in the authors' own form, run by their package and TensorFlow.

    `truncated` is -1: the package does not report how many pairs it cut.
    """

    def __init__(self, folder: Path) -> None:
        self.identity = _authors_identity(folder)
        self.truncated = -1
        try:
            # Hide what the package and TensorFlow log.
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                self._scorer: Any = importlib.import_module(
                    "bleurt.score"
                ).BleurtScorer(str(folder))
        except ImportError as error:
            step = MESSAGES["bleurt_authors"].format(folder=folder.name)
            raise MissingError(
                f"the package bleurt does not load: {encoder.first_line(error)}. {step}"
            ) from error
        except (OSError, ValueError, KeyError, AssertionError) as error:
            raise UsageError(
                f"{folder.name} does not load: {encoder.first_line(error)}. Download it again."
            ) from error

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        references, candidates = (
            [encoder.readable(pair[side]) for pair in pairs] for side in (0, 1)
        )
        return (
            [
                *map(
                    float,
                    self._scorer.score(references=references, candidates=candidates),
                )
            ]
            if pairs
            else []
        )

    def close(self) -> None:
        self._scorer.close()


def _find(folder: str | Path, max_length: int | None) -> Checkpoint | Path:
    """Finds a converted checkpoint, or the path of one in the authors' form."""
    path = Path(folder).expanduser()
    if (path / _AUTHORS).is_file() and not (path / "config.json").is_file():
        if importlib.util.find_spec("bleurt") is None:
            step = MESSAGES["bleurt_authors"].format(folder=path.name)
            raise MissingError(f"{path.name} is a checkpoint for TensorFlow. {step}")

        if max_length is not None:
            raise UsageError(
                f"max_length={max_length}: {path.name} says in {_AUTHORS} how long a pair can be; "
                "leave it out."
            )

        return path.resolve()

    encoder.check_packages("BLEURT")
    checkpoint = encoder.find_folder(
        folder, f", a checkpoint of BLEURT is expected. {MESSAGES['bleurt']}"
    )
    check_layout(checkpoint)

    return checkpoint


def _longest(checkpoint: Checkpoint, max_length: int | None) -> int:
    longest = encoder.longest_text(checkpoint, max_length)
    if longest < SPECIAL_TOKENS + 2:
        raise UsageError(
            f"max_length={longest}: a pair needs {SPECIAL_TOKENS + 2} tokens at least."
        )
    return longest


def _identity(checkpoint: Checkpoint, longest: int) -> dict[str, str]:
    return {
        "kind": "bleurt",
        "model": checkpoint.label,
        "fingerprint": fingerprint(checkpoint.folder),
        "max_length": str(longest),
        "dtype": "float32",
        "engine": encoder.engine(),
    }


def _authors_identity(folder: Path) -> dict[str, str]:
    """Hashes the files that decide a score: settings, variables and vocabulary."""
    whole = hashlib.sha256()
    files = [
        folder / _AUTHORS,
        *sorted((folder / "variables").glob("*")),
        *sorted(folder.glob("sent_piece.*")),
    ]
    for path in [*files, folder / "vocab.txt"]:
        if path.is_file():
            with open_file(path) as stream:
                whole.update(
                    f"{path.name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode()
                )

    return {
        "kind": "bleurt",
        "model": folder.name,
        "fingerprint": whole.hexdigest(),
        "engine": "bleurt (TensorFlow)",
    }


SPECIAL_TOKENS: Final = 3


def kept_lengths(reference: int, candidate: int, room: int) -> tuple[int, int]:
    """Returns how many tokens of each side are kept.

    The last token of the longer side is cut, again and again; at a tie the candidate's.
    """
    kept = min(candidate, max(room // 2, room - reference))
    return min(reference, room - kept), kept


def make_row(
    reference: Sequence[int],
    candidate: Sequence[int],
    longest: int,
    *,
    first: int,
    between: int,
) -> encoder.Row:
    """Makes `[CLS] reference [SEP] candidate [SEP]` from a pair."""
    reference_size, candidate_size = kept_lengths(
        len(reference), len(candidate), longest - SPECIAL_TOKENS
    )
    return {
        "input_ids": [
            first,
            *reference[:reference_size],
            between,
            *candidate[:candidate_size],
            between,
        ],
        "token_type_ids": [0] * (reference_size + 2) + [1] * (candidate_size + 1),
    }


class Tokens(NamedTuple):
    """A tokenizer.

    Attributes:
        cut: converts texts to token ids, without special tokens.
        first: the id of `[CLS]`.
        between: the id of `[SEP]`.
        padding: the id of `[PAD]`.
    """

    cut: Callable[[Sequence[str]], list[list[int]]]
    first: int
    between: int
    padding: int


def open_tokens(name: str, folder: Path) -> Tokens:
    """Opens the tokenizer of a folder.

    It is sentencepiece if the folder has a `*.model`, as BLEURT-20's, else BERT's word
    pieces.
    """
    models = sorted(folder.glob("*.model"))
    if len(models) > 1:
        names = ", ".join(path.name for path in models)
        raise UsageError(
            f"{name}: holds several tokenizers ({names}). Leave the one that is BLEURT's."
        )

    if models:
        return _sentence_pieces(name, models[0])
    if any((folder / file).is_file() for file in ("vocab.txt", "tokenizer.json")):
        return _word_pieces(name, folder)

    raise UsageError(
        f"{name}: has no tokenizer (*.model, vocab.txt or tokenizer.json). Download it again, with "
        "all of its files."
    )


def _sentence_pieces(name: str, path: Path) -> Tokens:
    """Opens the tokenizer of BLEURT-20, a sentencepiece model."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise MissingError(
            f"{name} needs sentencepiece: {install_command('local-judges')}"
        ) from error

    try:
        pieces = SentencePieceProcessor(model_file=str(path))
    except encoder.LOAD_ERRORS as error:
        raise UsageError(
            f"{name}: {path.name} does not load ({encoder.first_line(error)}). Download it again."
        ) from error

    ids = {
        token: int(pieces.piece_to_id(token)) for token in ("[CLS]", "[SEP]", "[PAD]")
    }
    lost = [token for token, number in ids.items() if number == pieces.unk_id()]
    if lost:
        raise UsageError(
            f"{name}: {path.name} knows no {', '.join(lost)}, so that it is not BLEURT's tokenizer."
        )

    def cut(texts: Sequence[str]) -> list[list[int]]:
        return [
            list(pieces.encode(encoder.readable(text), out_type=int)) for text in texts
        ]

    return Tokens(cut, first=ids["[CLS]"], between=ids["[SEP]"], padding=ids["[PAD]"])


def _word_pieces(name: str, folder: Path) -> Tokens:
    """Opens the tokenizer of the older checkpoints, BERT's."""
    import transformers

    with encoder.loading(f"{name}: its tokenizer"):
        # Not AutoTokenizer: conversions name classes of a package that need not be
        # installed.
        tokenizer = transformers.BertTokenizerFast.from_pretrained(
            str(folder), local_files_only=True
        )

    def cut(texts: Sequence[str]) -> list[list[int]]:
        encoded = tokenizer(
            [encoder.readable(text) for text in texts],
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [list(row) for row in encoded["input_ids"]]

    return Tokens(
        cut,
        first=tokenizer.cls_token_id,
        between=tokenizer.sep_token_id,
        padding=tokenizer.pad_token_id,
    )


LAYOUTS: Final = ("bleurt", "bert", "rembert")
"""Values of `model_type`: `bleurt` is bleurt-pytorch (with an `embedding_size` RemBERT's encoder, else BERT's), `bert`
BertForSequenceClassification with one label."""

_SETTINGS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
)
_PROJECTIONS = ("encoder.embedding_projection.", "encoder.embedding_hidden_mapping_in.")
"""The projection of narrow embeddings: its name in bleurt-pytorch, and in transformers."""

_NOT_LOADED = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Numbers 0, 1, 2 ... and zeros in old files; transformers makes them itself."""


def check_layout(checkpoint: Checkpoint) -> str:
    """Returns the layout of a folder; raises UsageError for an unknown one."""
    layout = checkpoint.setting("model_type")
    if layout not in LAYOUTS:
        raise UsageError(
            f"{checkpoint.label}: its config.json has model_type {layout!r}; that of BLEURT is "
            f"{', '.join(LAYOUTS)}. Give a PyTorch conversion such as lucadiliello/BLEURT-20, or a "
            "checkpoint of the authors."
        )
    return str(layout)


def _read_weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    files = sorted(checkpoint.folder.glob("*.safetensors")) or sorted(
        checkpoint.folder.glob("pytorch_model*.bin")
    )
    if not files:
        raise MissingError(
            f"{checkpoint.label}: no weights (*.safetensors or pytorch_model*.bin). Download it "
            "again, with all of its files."
        )

    state: dict[str, Tensor] = {}
    try:
        for file in files:
            state.update(encoder.read_tensors(file))
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{checkpoint.label}: its weights do not load ({encoder.first_line(error)}). Download "
            "it again."
        ) from error

    return state


def _encoder(
    checkpoint: Checkpoint, layout: str, state: Mapping[str, Tensor]
) -> PreTrainedModel:
    """Makes the network without its head, filled with weights.

    A missing or unexpected weight is an error.
    """
    prefix = f"{layout}."
    weights = {
        key.removeprefix(prefix).replace(*_PROJECTIONS): value.float()
        for key, value in state.items()
        if key.startswith(prefix) and key.removeprefix(prefix) not in _NOT_LOADED
    }
    with encoder.loading(checkpoint.label):
        model, missing, unexpected = encoder.fill_network(
            _config(checkpoint, layout), weights
        )

    if missing or unexpected:
        lost = f"{len(missing)} of its weights are missing and {len(unexpected)} have no place"
        some = ", ".join([*missing, *unexpected][:3])
        raise UsageError(
            f"{checkpoint.label}: {lost} ({some}). Download it again, with all of its files."
        )

    return model


def _config(checkpoint: Checkpoint, layout: str) -> PretrainedConfig:
    """Returns the configuration of the network.

    A conversion names a class from another package, but its numbers tell which network it
    is: only RemBERT has an `embedding_size` of its own.
    """
    import transformers

    if layout != "bleurt":
        return transformers.AutoConfig.from_pretrained(
            str(checkpoint.folder), **encoder.LOCAL
        )

    config = checkpoint.read("config.json")
    settings = {
        name: config[name] for name in _SETTINGS if config.get(name) is not None
    }
    narrow = config.get("embedding_size")
    if narrow is None:
        return transformers.BertConfig(**settings)

    return transformers.RemBertConfig(
        **settings, input_embedding_size=narrow, output_embedding_size=narrow
    )
