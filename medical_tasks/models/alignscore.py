"""AlignScore by the authors' checkpoint: how well a context supports a claim.

Source: Zha et al. (2023), https://aclanthology.org/2023.acl-long.634; reference
implementation https://github.com/yuh-zha/AlignScore. The checkpoint is PyTorch
Lightning's, read as tensors alone, which runs nothing; `mlm_head.*` is not used.
"""

from __future__ import annotations

import hashlib
import logging
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file
from medical_tasks.models import encoder
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    hash_layout,
    model_files,
    quiet_libraries,
)
from medical_tasks.scoring.content_overlap import (
    CHUNK_WORDS,
    best_and_mean,
    chunk_context,
)
from medical_tasks.scoring.sentences import (
    Punkt,
    Rules,
    read_punkt,
    rules_name,
    split_sentences,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Mode = Literal["nli_sp", "nli", "bin_sp", "bin", "reg_sp", "reg"]
"""Which head scores; with `_sp` chunks and sentences, otherwise the whole pair."""

MODES: Final[tuple[Mode, ...]] = get_args(Mode)


def open_alignscore(
    checkpoint: str | Path,
    *,
    backbone: str | Path,
    sentences: str | Path | Punkt = "medical",
) -> AlignScore:
    """Opens a checkpoint.

    Args:
        checkpoint: the authors' file.
        backbone: the folder with configuration and tokenizer of the model it was trained
            on.
        sentences: how texts are split: `medical`, `punkt` (untrained), or a folder of
            NLTK's `punkt_tab`, as in the authors' code.
    """
    return AlignScore(_find(checkpoint, backbone, sentences))


def alignscore_identity(
    checkpoint: str | Path,
    *,
    backbone: str | Path,
    sentences: str | Path | Punkt = "medical",
) -> dict[str, str]:
    """Returns what decides the numbers, for the recipe; loads no weights."""
    return _find(checkpoint, backbone, sentences).identity()


@dataclass(frozen=True, kw_only=True)
class _Files:
    checkpoint: Path
    backbone: Checkpoint
    rules: Rules
    longest: int

    def identity(self) -> dict[str, str]:
        """Returns all that decides a score: weights, layout, sentence rules and engine."""
        with open_file(self.checkpoint) as stream:
            weights = hashlib.file_digest(stream, "sha256").hexdigest()

        folder = self.backbone.folder  # whose weights are not used
        layout = [
            path
            for path in model_files(folder)
            if path.suffix not in (".safetensors", ".bin")
        ]
        return {
            "kind": "alignscore",
            "model": self.checkpoint.stem,
            "weights": weights,
            "backbone": hash_layout(folder, layout),
            "sentences": rules_name(self.rules),
            "chunk_words": str(CHUNK_WORDS),
            "max_length": str(self.longest),
            "dtype": "float32",
            "engine": encoder.engine(),
        }


class AlignScore(encoder.Measure):
    """A checkpoint in this process, made by `open_alignscore`."""

    def __init__(self, files: _Files) -> None:
        import torch

        folder = files.backbone.folder
        state, trained_on = _read_checkpoint(files.checkpoint)
        with quiet_libraries(logging.ERROR):
            self.tokenizer = encoder.load_tokenizer(folder.name, folder, fast=True)
            backbone = _load_network(files.checkpoint, folder, state, trained_on)

        parts = {"backbone": backbone}
        for mode, (layer, outputs) in HEADS.items():
            width = int(backbone.config.hidden_size)
            parts[mode] = encoder.linear_layer(
                state, layer, inputs=width, outputs=outputs
            )
            if parts[mode] is None:
                raise UsageError(
                    f"{files.checkpoint.name}: its {layer} must have {outputs} outputs of {width} "
                    "inputs. Give a checkpoint of AlignScore and the folder of its backbone."
                )

        super().__init__(torch.nn.ModuleDict(parts), files.identity())
        self._files = files

    def score(
        self, contexts: Sequence[str], claims: Sequence[str], *, mode: Mode = "nli_sp"
    ) -> list[float]:
        """Scores claims, 0-1 (`reg` modes are unbounded).

        A claim without words scores 0. An empty context is scored like any other.
        """
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}; got {mode!r}")

        _check(contexts, claims)
        rules = self._files.rules
        splits: list[tuple[list[str], list[str]]] = []
        for context, claim in zip(contexts, claims, strict=True):
            if not claim.strip():
                splits.append(([], []))
            elif mode.endswith("_sp"):
                chunks = chunk_context(context, split_sentences(context, rules=rules))
                splits.append((chunks, split_sentences(claim, rules=rules)))
            else:
                splits.append(([context], [claim]))

        pairs = list(
            dict.fromkeys(
                (chunk, sentence)
                for chunks, sentences in splits
                for sentence in sentences
                for chunk in chunks
            )
        )
        head = mode.removesuffix("_sp")
        scores = dict(
            zip(
                pairs,
                self._read(self._rows(pairs), lambda rows: self._outputs(rows, head)),
                strict=True,
            )
        )

        return [
            best_and_mean(
                [
                    [scores[chunk, sentence] for chunk in chunks]
                    for sentence in sentences
                ]
            )
            for chunks, sentences in splits
        ]

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> list[encoder.Row]:
        """Tokenises pairs, and cuts those that are too long.

        Special tokens in the texts are read as plain text.
        """
        _ = self._loaded
        self.truncated = 0
        if not pairs:
            return []

        encoded = self.tokenizer(
            *(
                [encoder.readable(text) for text in texts]
                for texts in zip(*pairs, strict=True)
            ),
            truncation=False,
            split_special_tokens=True,
            verbose=False,
            return_attention_mask=False,
        )
        rows: list[encoder.Row] = []
        for number in range(len(pairs)):
            row = {name: encoded[name][number] for name in encoded}
            if len(row["input_ids"]) > self._files.longest:
                kept = cut_pair(encoded.sequence_ids(number), self._files.longest)
                row = {
                    name: [values[position] for position in kept]
                    for name, values in row.items()
                }
                self.truncated += 1

            rows.append(row)

        return rows

    def _outputs(self, rows: Sequence[encoder.Row], head: str) -> list[float]:
        """Scores a batch of rows.

        `nli` and `bin` give the probability of being aligned, `reg` an unbounded number.
        """
        import torch

        network = self._loaded
        columns = encoder.pad(
            rows, padding=self.tokenizer.pad_token_id, device=self.device
        )
        with torch.inference_mode():
            outputs = network[head](network["backbone"](**columns).pooler_output)
            scores = (
                outputs[:, 0]
                if head == "reg"
                else outputs.softmax(dim=-1)[:, _ALIGNED[head]]
            )

        values: list[float] = scores.tolist()
        return values


def _check(contexts: Sequence[str], claims: Sequence[str]) -> None:
    """Rejects a text instead of a list, which would be read letter by letter, and uneven lists."""
    for name, texts in (("contexts", contexts), ("claims", claims)):
        strange: object = next(
            (text for text in texts if not isinstance(text, str)), ""
        )
        if isinstance(texts, str) or strange != "":
            raise ValueError(
                f"{name} must be a list of texts; got "
                f"{type(texts if isinstance(texts, str) else strange).__name__}"
            )

    if len(contexts) != len(claims):
        raise ValueError(
            f"contexts and claims must be of the same length; got {len(contexts)} and {len(claims)}"
        )


def _find(
    checkpoint: str | Path, backbone: str | Path, sentences: str | Path | Punkt
) -> _Files:
    encoder.check_packages("AlignScore")
    file = Path(checkpoint).expanduser()
    if not file.is_file():
        raise MissingError(
            f"{checkpoint}: no such file, a checkpoint of AlignScore is expected. "
            f"{MESSAGES['alignscore']}"
        )

    folder = encoder.find_folder(
        backbone, f", a backbone of AlignScore is expected. {MESSAGES['alignscore']}"
    )
    return _Files(
        checkpoint=file,
        backbone=folder,
        rules=_rules(sentences),
        longest=encoder.longest_text(folder),
    )


def _rules(sentences: str | Path | Punkt) -> Rules:
    if isinstance(sentences, Punkt):
        return sentences
    if sentences in ("medical", "punkt"):
        return str(sentences)

    if (
        not Path(sentences).expanduser().is_dir()
        and isinstance(sentences, str)
        and "/" not in sentences
    ):
        raise UsageError(
            f"sentences must be medical, punkt, or a folder of NLTK's punkt_tab; got {sentences!r}."
        )

    return read_punkt(sentences)


def kept_lengths(context: int, claim: int, room: int) -> tuple[int, int]:
    """Returns how many tokens of each side are kept.

    The context is cut, down to one token, then the longer side until both are equal, then
    both.
    """
    if context + claim <= room:
        return context, claim
    if claim < room:
        return room - claim, claim

    shorter, longer = min(context, claim), max(context, claim)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2

    return (longer, shorter) if context > claim else (shorter, longer)


def cut_pair(sides: Sequence[int | None], longest: int) -> list[int]:
    """Returns the positions of the tokens of a pair that are kept.

    Args:
        sides: for each token 0 for the context, 1 for the claim, None for special ones.
        longest: the most tokens of a pair.
    """
    context, claim = sides.count(0), sides.count(1)
    left = dict(
        zip(
            (0, 1),
            kept_lengths(context, claim, longest - (len(sides) - context - claim)),
            strict=True,
        )
    )
    kept = []
    for position, side in enumerate(sides):
        if side is not None:
            left[side] -= 1
            if left[side] < 0:
                continue

        kept.append(position)

    return kept


HEADS: Final[Mapping[str, tuple[str, int]]] = {
    "nli": ("tri_layer", 3),
    "bin": ("bin_layer", 2),
    "reg": ("reg_layer", 1),
}
"""The layer of each mode, and the number of its outputs."""

_ALIGNED = {"nli": 0, "bin": 1}
_BACKBONE = "base_model."
_NOT_LOADED = "embeddings.position_ids"
"""Numbers 0, 1, 2 ... in old files; transformers makes them itself."""


def _read_checkpoint(checkpoint: Path) -> tuple[dict[str, Tensor], str]:
    """Returns the tensors of the file, and the model that it states as its origin."""
    import torch

    refused = torch.serialization.pickle.UnpicklingError
    try:
        # Files from before torch 1.6 are no archives, and cannot be memory-mapped.
        content = torch.load(
            checkpoint,
            map_location="cpu",
            weights_only=True,
            mmap=zipfile.is_zipfile(checkpoint),
        )
    except refused as error:
        message = MESSAGES["alignscore_unsafe"].format(
            name=checkpoint.name, reason=encoder.first_line(error)
        )
        raise UsageError(message) from error
    except (*encoder.LOAD_ERRORS, AttributeError, EOFError) as error:
        raise UsageError(
            f"{checkpoint.name}: not a file of torch ({encoder.first_line(error)}). Download it "
            "again."
        ) from error

    state = content.get("state_dict") if isinstance(content, dict) else None
    if not isinstance(state, dict) or not any(
        str(key).startswith(_BACKBONE) for key in state
    ):
        raise UsageError(
            f"{checkpoint.name}: no state_dict with base_model.* in it. Give a checkpoint of "
            "AlignScore as its authors publish it."
        )

    settings = content.get("hyper_parameters")
    return state, str(settings.get("model", "")) if isinstance(
        settings, Mapping
    ) else ""


def _load_network(
    checkpoint: Path, backbone: Path, state: Mapping[str, Tensor], trained_on: str
) -> Module:
    """Fills the backbone's network with the checkpoint's weights.

    The folder provides only the layout; its own weights are not loaded. A missing or
    unexpected weight is an error, as scores would be noise.
    """
    import transformers

    origin = f" It was trained on {trained_on}." if trained_on else ""
    unfit = f"{checkpoint.name} does not fit the backbone {backbone.name}"
    try:
        config = transformers.AutoConfig.from_pretrained(str(backbone), **encoder.LOCAL)
        weights = {
            key.removeprefix(_BACKBONE): value.float()
            for key, value in state.items()
            if key.startswith(_BACKBONE)
        }
        weights.pop(_NOT_LOADED, None)
        model, missing, unexpected = encoder.fill_network(config, weights)
    except encoder.LOAD_ERRORS as error:
        raise UsageError(
            f"{unfit}: {encoder.first_line(error)}{origin} Give that model's folder."
        ) from error

    if missing or unexpected or not any(key.startswith("pooler.") for key in weights):
        lost = f"{len(missing)} weights are missing and {len(unexpected)} have no place"
        some = ", ".join([*missing, *unexpected][:3]) or "no pooler"
        raise UsageError(f"{unfit}: {lost} ({some}).{origin} Give that model's folder.")

    return model
